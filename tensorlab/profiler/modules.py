"""Rows of modules: each call of an nn.Module, while a profile with `with_modules` is recorded."""

from tensorlab._core import profiling
from tensorlab.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleRanges"]


class ModuleRanges:
    """Hooks around the forward of all modules, which begin and end a range."""

    def __init__(self):
        self.hooks: list = []
        self.open: dict = {}  # id of a module: records of its calls, the innermost last

    def begin(self):
        """Begin to watch."""
        self.open.clear()
        self.hooks = [
            register_module_forward_pre_hook(self.before),
            register_module_forward_hook(self.after, always_call=True),
        ]

    def finish(self):
        """Stop watching."""
        for hook in self.hooks:
            hook.remove()
        self.hooks.clear()

    def before(self, module, args):
        record = profiling.begin_range(f"nn.Module: {type(module).__name__}", True)
        self.open.setdefault(id(module), []).append(record)

    def after(self, module, args, outputs):
        if self.open.get(id(module)):
            profiling.end_range(self.open[id(module)].pop())
