"""The names that a function uses, told before it runs.

What is imported on demand must be there before a call is recorded: the module's own code would be
recorded with it. Names are enough to go by, for a module that no code names is not asked for either.
"""

import functools
from types import CellType, CodeType, FunctionType, MethodType

from tensorlab.nn.module import Module

from .pure import is_library

__all__ = ["names_ahead"]


def names_ahead(function):
    """The names in the code of a function, and of what it calls as far as globals and closures tell."""
    names, seen, waiting = set(), set(), [function]
    while waiting:
        one = waiting.pop()
        if isinstance(one, CodeType):  # of a function in a function, too
            names.update(one.co_names)
            waiting += one.co_consts
        elif isinstance(one, FunctionType) and id(one) not in seen:
            seen.add(id(one))
            waiting.append(vars(one).get("__wrapped__"))
            if is_of_program(one):
                waiting += (one.__code__, *(one.__closure__ or ()))
                waiting += [one.__globals__.get(name) for name in one.__code__.co_names]
        elif isinstance(one, MethodType):
            waiting += (one.__func__, one.__self__)
        elif isinstance(one, functools.partial):
            waiting += (one.func, *one.args)
        elif isinstance(one, CellType) and one != CellType():
            waiting.append(one.cell_contents)
        elif isinstance(one, Module) and id(one) not in seen:
            seen.update(map(id, one.modules()))
            waiting += {type(part).forward for part in one.modules()}
        elif isinstance(one, type) and id(one) not in seen and is_of_program(one):
            seen.add(id(one))
            waiting += vars(one).values()
    return names


def is_of_program(value):
    """Is a function or a class the program's, and not a library's?"""
    module = getattr(value, "__module__", None) or ""
    return not is_library(module) and module.partition(".")[0] != "tensorlab"
