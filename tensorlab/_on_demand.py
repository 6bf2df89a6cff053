"""Modules that a package imports when a program asks for them, so that it does not pay for those that it never uses.

    __getattr__, __dir__ = on_demand(__name__, ("optim", "utils"), {"save": "serialization"})

at the end of a package's file: Python calls both for names that it does not find (PEP 562). `dir`, completion and
`from package import name` work as if all had been imported, and what goes wrong in an import is raised as it is.
"""

import importlib
import sys
from typing import Any

from tensorlab import _missing

waiting: list = []  # pairs of a package's `__getattr__` and the names that it may not have been asked for yet


def on_demand(package, modules, homes=None):
    """Make the functions `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str, its dotted name
    modules : collection of str, the modules in it that are imported on demand
    homes : dict of str, optional: other names, and the module in the package that each of them comes from; no
        module is called as a name in it, which would stand in its place

    Returns
    -------
    two functions. The first raises AttributeError for a name that is not there, and says what is known of it
    """
    homes = homes or {}
    namespace = vars(sys.modules[package])

    def __getattr__(name) -> Any:  # type checkers take it for what a stub doesn't name
        if name in modules:
            return importlib.import_module(f"{package}.{name}")  # which makes it an attribute, too
        if name in homes:
            namespace[name] = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
            return namespace[name]
        raise _missing.refuse(package, name)

    def __dir__():
        return sorted({*namespace, *modules, *homes})

    waiting.append((__getattr__, (*modules, *homes)))
    return __getattr__, __dir__


def import_all():
    """Import everything that is on demand, for who must not be interrupted by an import."""
    while waiting:
        get, names = waiting.pop()
        for name in names:
            get(name)
