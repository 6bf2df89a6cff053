"""Replacing functions and methods for as long as a program is traced."""

import builtins
import functools
import inspect

from tensorlab.fx.naming import public_name
from tensorlab.fx.proxy import find_proxy
from tensorlab.fx.wrapping import _wrapped_fns_to_patch

_MISSING = object()


class Patcher:
    """A block that replaces attributes of classes and globals of modules, and puts everything back at its end."""

    def __init__(self):
        self._undo = []
        self._visited = set()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        while self._undo:
            self._undo.pop()()

    def patch_method(self, cls, name, method):
        """Replace a method of a class; one that it inherits is inherited again afterwards."""
        before = vars(cls).get(name, _MISSING)
        setattr(cls, name, method)
        self._undo.append(
            lambda: delattr(cls, name) if before is _MISSING else setattr(cls, name, before)
        )

    def patch_global(self, scope, name, function):
        """Replace a global of a module, given the dict of its globals; a builtin counts as one."""
        before = scope.get(name, _MISSING)
        scope[name] = function
        self._undo.append(
            lambda: scope.pop(name) if before is _MISSING else scope.__setitem__(name, before)
        )

    def wrap_declared(self):
        """Wrap the functions that `fx.wrap` has been told of."""
        for scope, names in list(_wrapped_fns_to_patch.values()):
            for name in names:
                original = scope.get(name, getattr(builtins, name, _MISSING))
                if original is _MISSING:
                    raise NameError(
                        f"wrap({name!r}): {scope.get('__name__')} has no such function, nor has Python"
                    )
                if not getattr(original, "__fx_wrapped__", False):
                    self.patch_global(scope, name, _wrapped(original))

    def wrap_known(self, scope, functions):
        """Wrap those globals of a module that are among `functions`, a dict from id to function."""
        if id(scope) in self._visited:
            return
        self._visited.add(id(scope))
        for name, value in list(scope.items()):
            if not name.startswith("_") and id(value) in functions:
                self.patch_global(scope, name, _wrapped(value))


def _wrapped(function):
    """A function that makes a node of a call that gets a proxy, and runs any other."""
    is_public = public_name(function) is not None  # asked before its place is taken

    @functools.wraps(function)
    def call(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        if is_public:
            args, kwargs = _spelled_out(inspect.signature(function), args, kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        if not is_public:  # the generated source must wrap it again
            result.node.meta["is_wrapped"] = True
        return result

    call.__fx_wrapped__ = True
    return call


def _spelled_out(signature, args, kwargs):
    """The arguments of a call as passes find them: what has a default by name, and the rest by position."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional, named = [], {}
    for name, value in bound.arguments.items():
        if signature.parameters[name].default is inspect.Parameter.empty:
            positional.append(value)
        else:
            named[name] = value
    return tuple(positional), named
