"""Modules that are compiled: `compile(model)` wraps one, `model.compile()` changes what a call of it does.

Where the call of a module can't be recorded, the module runs as Python, and the modules that it is
made of are compiled instead: the graph breaks at the calls of its parts. Where the call of a function can't,
the modules that it calls are.
"""

import itertools

from ..nn.container import ModuleDict, ModuleList
from ..nn.module import Module
from .frontend import compile_function, replay_for

__all__ = ["OptimizedModule", "compile_function_or_modules", "compile_module"]

LISTS = ModuleList, ModuleDict  # which are not called themselves


class OptimizedModule(Module):
    """A module whose calls are compiled. It shares everything with the one that it was made of, `_orig_mod`.

    Attributes that it does not have itself are those of the original, for reading and for writing.
    Its state dict has PyTorch's names, `_orig_mod.weight`. Hooks of its own run around the compiled call; those of
    all modules run around the original's forward, once. A copy has recordings of its own, and so has one
    that was pickled.
    """

    _hears_hooks_of_all = False

    def __init__(self, module, backend, fullgraph, settings):
        super().__init__()
        del self.__dict__["training"]
        self._orig_mod = module
        self.__dict__["_how"] = backend, fullgraph, settings
        self.compile_forward()

    def compile_forward(self):
        self.__dict__["forward"] = compiled_call(self._orig_mod, *self._how)

    @property
    def training(self):
        return self._orig_mod.training

    def __getattr__(self, name):
        if name == "_orig_mod":
            raise AttributeError("OptimizedModule: has no module yet")
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name == "_orig_mod" or name in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __getstate__(self):
        state = super().__getstate__()
        del state["forward"]  # recordings and generated code stay here
        return state

    def __setstate__(self, attributes):
        super().__setstate__(attributes)
        self.compile_forward()


def compile_module(module, backend, fullgraph, settings):
    """Make `module(...)` a compiled call from now on."""
    module.__dict__["_compiled_call_impl"] = compiled_call(module, backend, fullgraph, settings)
    module.__dict__["_is_hooked"] = True


def compiled_call(module, backend, fullgraph, settings):
    def compile_parts(modules):
        compile_modules(parts_of(module), backend, settings)

    return replay_for(module._call_as_python, backend, fullgraph, settings, compile_parts)


def compile_function_or_modules(function, backend, fullgraph, settings):
    """Compile a function; if its calls can't be recorded, the modules that it calls."""

    def compile_called(modules):
        parts = [parts_of(one) if isinstance(one, LISTS) else [one] for one in modules]
        compile_modules(itertools.chain(*parts), backend, settings)

    return compile_function(function, backend, fullgraph, settings, compile_called)


def compile_modules(modules, backend, settings):
    """Compile the calls of modules in place, but for those that are compiled already."""
    for one in modules:
        if "_compiled_call_impl" not in one.__dict__ and not isinstance(one, OptimizedModule):
            compile_module(one, backend, False, settings)


def parts_of(module):
    """The modules that a module may call; those in its lists and dicts are among them."""
    for child in module.children():
        if isinstance(child, LISTS):
            yield from parts_of(child)
        else:
            yield child
