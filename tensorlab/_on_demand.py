"""Modules that a package imports when a program asks for them, so that it does not pay for those that it never uses.

    __getattr__, __dir__ = on_demand(__name__, ("optim", "utils"), {"save": "serialization"})

at the end of a package's file: Python calls both for names that it does not find (PEP 562).
`dir`, completion and `from package import name` work as if all had been imported, and what goes
wrong in an import is raised as it is.
"""

import functools
import importlib
import sys
from typing import Any

from tensorlab import _missing
from tensorlab._core.dispatch.numpy_aliases import accept_numpy_names

waiting: list = []  # pairs of a package's `__getattr__` and the set of names that it may not have been asked for yet
imports = 0  # that were made on demand


def on_demand(package, modules, homes=None, prefixes=None):
    """Make the functions `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str, its dotted name
    modules : collection of str, the modules in it that are imported on demand
    homes : dict of str, optional: other names, and the module in the package that each of them
        comes from; no module is called as a name in it, which would stand in its place
    prefixes : dict of str, optional: how names begin that aren't listed, and the module that
        they come from

    Returns
    -------
    two functions. The first raises AttributeError for a name that is not there, and says what
    is known of it
    """
    homes, prefixes = homes or {}, prefixes or {}
    namespace = vars(sys.modules[package])

    def home_of(name):
        found = (home for prefix, home in prefixes.items() if name.startswith(prefix))
        return homes.get(name) or next(found, None)

    def __getattr__(name) -> Any:  # type checkers take it for what a stub doesn't name
        if name in modules:
            return import_counted(f"{package}.{name}")  # which makes it an attribute, too
        home = home_of(name)
        if home is not None:
            namespace[name] = function_of(f"{package}.{home}", name)
            return namespace[name]
        raise _missing.refuse(package, name)

    def __dir__():
        return sorted({*namespace, *modules, *homes})

    waiting.append((__getattr__, {*modules, *homes}))
    return __getattr__, __dir__


def import_counted(module):
    global imports
    imports += 1
    return importlib.import_module(module)


def function_of(module, name):
    """Import a module, and return a function in it that takes NumPy's names of arguments as well."""
    function = getattr(import_counted(module), name)
    accept_numpy_names([function])
    return function


class ModuleOnDemand:
    """What stands for a module in a class, some of whose methods are its functions.

    bessel = ModuleOnDemand("tensorlab.ops.pointwise.bessel")

    class Tensor:
        i0 = bessel.i0      # imports the module when a program asks for Tensor.i0 or x.i0
    """

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        return MethodOnDemand(self.name, attribute)


class MethodOnDemand:
    """A method that replaces itself by the function that it stands for."""

    def __init__(self, module, function):
        self.module, self.function = module, function
        self.names = []  # it may have several in the class

    def __set_name__(self, owner, name):
        self.owner = owner
        self.names.append(name)
        waiting.append((functools.partial(getattr, owner), {name}))

    def __get__(self, instance, owner=None):
        function = function_of(self.module, self.function)
        for name in self.names:
            setattr(self.owner, name, function)
        return function if instance is None else function.__get__(instance, owner)


def import_all():
    """Import everything that is on demand."""
    while waiting:
        get, names = waiting.pop()
        for name in sorted(names):
            get(name)


def import_named(names):
    """Import what is on demand under one of these names, and what that has on demand in its turn."""
    for get, offered in waiting:  # which grows meanwhile
        named = sorted(offered & names)
        offered.difference_update(named)
        for name in named:
            get(name)


def imports_made():
    """How many imports there have been on demand."""
    return imports
