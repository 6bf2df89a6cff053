"""Modules that are compiled: `compile(model)` wraps one, `model.compile()` changes what a call of it does.

Where the call of a module can't be recorded, the module runs as Python, and the modules that it is
made of are compiled instead: the graph breaks at the calls of its parts.
"""

from ..nn.container import ModuleDict, ModuleList
from ..nn.module import Module
from .frontend import compile_function

__all__ = ["OptimizedModule", "compile_module"]


class OptimizedModule(Module):
    """A module whose calls are compiled. It shares everything with the one that it was made of, `_orig_mod`.

    Attributes that it does not have itself are those of the original, for reading and for writing.
    Its state dict has PyTorch's names, `_orig_mod.weight`.
    """

    def __init__(self, module, backend, fullgraph, settings):
        super().__init__()
        self._orig_mod = module
        self.__dict__["training"] = module.training
        self.__dict__["forward"] = compiled_call(module, backend, fullgraph, settings)

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

    def __reduce__(self):
        raise TypeError(
            "OptimizedModule: generated code can't be pickled; pickle the module that was compiled, or its state_dict()"
        )


def compile_module(module, backend, fullgraph, settings):
    """Make `module(...)` a compiled call from now on."""
    module.__dict__["_compiled_call_impl"] = compiled_call(module, backend, fullgraph, settings)
    module.__dict__["_is_hooked"] = True


def compiled_call(module, backend, fullgraph, settings):
    def compile_parts():
        for part in parts_of(module):
            if "_compiled_call_impl" not in part.__dict__:
                compile_module(part, backend, False, settings)

    return compile_function(module._call_as_python, backend, fullgraph, settings, compile_parts)


def parts_of(module):
    """The modules that a module may call; those in its lists and dicts are among them."""
    for child in module.children():
        if isinstance(child, (ModuleList, ModuleDict)):
            yield from parts_of(child)
        else:
            yield child
