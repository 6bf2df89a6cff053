"""Frames and code: whose they are, where they are, and which names they use.

A frame is one running call of a Python function. Its code object has the names of the globals
and attributes that it may use.
"""

import dis
import functools
import os
from typing import NamedTuple

__all__ = [
    "is_import",
    "is_numpy_for_own",
    "is_own_frame",
    "names_of",
    "place_of",
    "place_of_store",
    "user_frame",
]

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
GLOBAL_INSTRUCTIONS = frozenset(
    ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
)
STORES = frozenset(
    ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "STORE_DEREF", "DELETE_DEREF")
)


# ---------------------------------------------------------------- frames
def is_own_frame(frame):
    """Does a frame run code of tensorlab, and not of the user?"""
    return frame.f_code.co_filename.startswith(PACKAGE)


def is_numpy_for_own(frame):
    """Does a frame run NumPy's code because tensorlab's own called it, to make a table of indices for instance?"""
    began = frame
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "numpy":
        frame = frame.f_back
    return frame is not began and frame is not None and is_own_frame(frame)


def user_frame(frame):
    """The innermost frame, from this one outwards, that runs the user's code; None if there is none."""
    while frame is not None and (is_own_frame(frame) or is_import(frame.f_code)):
        frame = frame.f_back
    return frame


def is_import(code):
    """Is this code of Python's import system?"""
    return code.co_filename.startswith("<frozen importlib")


def place_of(frame):
    """(file, line, function) of a frame; there may be none, in a callback from C."""
    if frame is None:
        return "?", 0, "?"
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


# ---------------------------------------------------------------- code
class Names(NamedTuple):
    """What code names: globals; modules that it imports, as (name, level); attributes; and whether it assigns any."""

    globals: tuple
    modules: tuple
    attributes: tuple
    assigns: bool


@functools.lru_cache(maxsize=4096)
def names_of(code):
    """The Names of a piece of code."""
    instructions = list(dis.get_instructions(code))
    scope = dict.fromkeys(one.argval for one in instructions if one.opname in GLOBAL_INSTRUCTIONS)
    modules = tuple(
        (one.argval, instructions[i - 2].argval)
        for i, one in enumerate(instructions)
        if one.opname == "IMPORT_NAME"
    )
    attributes = [one.argval for one in instructions if is_attribute(one)]
    if any(one.opname == "MATCH_CLASS" for one in instructions):  # case Point(x=0)
        names = [name for one in code.co_consts if isinstance(one, tuple) for name in one]
        attributes += [name for name in names if isinstance(name, str)]
    assigns = any(one.opname in ("STORE_ATTR", "DELETE_ATTR") for one in instructions)
    return Names(tuple(scope), modules, tuple(dict.fromkeys(attributes)), assigns)


def is_attribute(instruction):
    """Does an instruction have a name that is neither a global's nor a module's?"""
    is_other = instruction.opname in GLOBAL_INSTRUCTIONS or instruction.opname == "IMPORT_NAME"
    return instruction.opcode in dis.hasname and not is_other


def place_of_store(codes, names):
    """(file, line) where one of these pieces of code assigns to or deletes one of the names; None if none does."""
    for code in codes:
        for one in dis.get_instructions(code):
            if one.opname in STORES and one.argval in names:
                return code.co_filename, one.positions.lineno
    return None
