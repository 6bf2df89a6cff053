"""The names that a function uses, told before it runs.

What is imported on demand must be there before a call is recorded: the module's own code would be
recorded with it. Names are enough to go by, for a module that no code names is not asked for either.
"""

import functools
import inspect
from types import CellType, CodeType, FunctionType, MethodType

from tensorlab.nn.module import Module

from .pure import is_library

__all__ = ["names_ahead"]


def names_ahead(function):
    """The names in the code of a function, and of what it calls as far as globals, closures and `self` tell."""
    names, seen, waiting = set(), set(), [function]
    while waiting:
        one = waiting.pop()
        key = one if isinstance(one, MethodType) else id(one)  # methods are made anew, and compared
        if key not in seen:
            seen.add(key)
            waiting += leads_to(one)
            if isinstance(one, CodeType):
                names.update(one.co_names)
    return names


def leads_to(one):
    """What is called or used where this is called: nothing more for an object of a library."""
    if isinstance(one, CodeType):
        return one.co_consts  # the code of a function in a function, too
    if isinstance(one, FunctionType):
        return [vars(one).get("__wrapped__"), *(used_by(one) if is_of_program(one) else ())]
    if isinstance(one, MethodType):
        return [one.__func__, one.__self__, *used_of_self(one)]
    if isinstance(one, functools.partial):
        return [one.func, *one.args]
    if isinstance(one, CellType):
        return [one.cell_contents] if one != CellType() else ()
    if isinstance(one, Module):
        parts = {type(part): part for part in one.modules()}
        return [MethodType(kind.forward, part) for kind, part in parts.items()]
    if isinstance(one, type) and is_of_program(one):
        return vars(one).values()
    return ()


def used_by(function):
    """The code of a function, and what it finds in its closure and in its globals."""
    code = function.__code__
    return [code, *(function.__closure__ or ()), *map(function.__globals__.get, code.co_names)]


def used_of_self(method):
    """What the code of a method may use of its object: the methods and attributes that it names."""
    if not isinstance(method.__func__, FunctionType) or not is_of_program(method.__func__):
        return
    owner = method.__self__
    for name in method.__func__.__code__.co_names:
        found = inspect.getattr_static(owner, name, None)
        yield MethodType(found, owner) if isinstance(found, FunctionType) else found


def is_of_program(value):
    """Is a function or a class the program's, and not a library's?"""
    module = getattr(value, "__module__", None) or ""
    return not is_library(module) and module.partition(".")[0] != "tensorlab"
