"""The observer: it sees every Python frame that a recorded function enters, and every builtin that it calls.

It tells `OuterState` which names the executed code has, and refuses what can't be replayed. It rests on
`sys.setprofile`, whose events "call" and "c_call" are documented; code is read with `dis`. tensorlab's own
Python is trusted to do what it does by calls of ops, but the objects that it reads are outer state like any other.
"""

import contextlib
import dis
import functools
import importlib.util
import os
import sys
import types

from .guard_check import MISSING
from .pure import (
    DYNAMIC,
    SETTING,
    is_library,
    is_pure,
    reads_attributes,
    reads_by_name,
    refusal_of_module,
    refusal_of_name,
)

__all__ = ["Observer", "place_of_store", "user_frame"]

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
OWN = "tensorlab.compiler"
GLOBAL_INSTRUCTIONS = {
    "LOAD_GLOBAL",
    "STORE_GLOBAL",
    "DELETE_GLOBAL",
    "LOAD_NAME",
    "LOAD_FROM_DICT_OR_GLOBALS",
}


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
    while frame is not None and (
        is_own_frame(frame) or frame.f_code.co_filename.startswith("<frozen importlib")
    ):
        frame = frame.f_back
    return frame


@functools.lru_cache(maxsize=4096)
def names_of(code):
    """What code names: globals; modules that it imports, as (name, level); attributes; and whether it assigns any."""
    instructions = list(dis.get_instructions(code))
    scope = dict.fromkeys(one.argval for one in instructions if one.opname in GLOBAL_INSTRUCTIONS)
    modules = [
        (one.argval, instructions[i - 2].argval)
        for i, one in enumerate(instructions)
        if one.opname == "IMPORT_NAME"
    ]
    attributes = list(code.co_names)
    if any(one.opname == "MATCH_CLASS" for one in instructions):  # case Point(x=0)
        names = [name for one in code.co_consts if isinstance(one, tuple) for name in one]
        attributes += [name for name in names if isinstance(name, str)]
    assigns = any(one.opname in ("STORE_ATTR", "DELETE_ATTR") for one in instructions)
    return scope, modules, attributes, assigns


STORES = {
    "STORE_GLOBAL",
    "DELETE_GLOBAL",
    "STORE_ATTR",
    "DELETE_ATTR",
    "STORE_DEREF",
    "DELETE_DEREF",
}


def place_of_store(codes, names):
    """(file, line) where one of these pieces of code assigns to or deletes one of the names; None if none does."""
    for code in codes:
        for one in dis.get_instructions(code):
            if one.opname in STORES and one.argval in names:
                return code.co_filename, one.positions.lineno
    return None


class Observer:
    """While it is entered, it watches this thread.

    Parameters
    ----------
    state : OuterState
    refuse : function of a reason and of the frame where it is
    """

    def __init__(self, state, refuse):
        self.state, self.refuse = state, refuse
        self.entered = set()  # (code, id of its globals)
        self.strings = []  # of executed user code: attributes may be named by them
        self.catches = False  # executed code may notice that something is missing
        self.modules = set()  # of tensorlab, whose code is executed
        self.code = []  # that is the user's
        self.asks_abstract_classes = False  # isinstance, of which class is registered with which
        self.ignored = 0  # depth of calls that are taken for granted

    def __enter__(self):
        sys.setprofile(self.see)
        return self

    def __exit__(self, *exception):
        if sys.getprofile() != self.see:
            self.refuse("calls sys.setprofile", sys._getframe(1))
        sys.setprofile(None)

    def see(self, frame, event, argument):
        """What `sys.setprofile` calls."""
        if self.ignored:
            return
        if event == "call":
            self.enter(frame)
        elif event == "c_call":
            self.call(frame, argument)

    @contextlib.contextmanager
    def looking_away(self):
        """While it is entered, what runs is taken for granted."""
        self.ignored += 1
        try:
            yield
        finally:
            self.ignored -= 1

    # ------------------------------------------------------------ frames
    def enter(self, frame):
        key = frame.f_code, id(frame.f_globals)
        if key not in self.entered and not is_numpy_for_own(frame):
            self.entered.add(key)
            module = frame.f_globals.get("__name__", "")
            if is_own_frame(frame):
                self.enter_own(frame, module)
            else:
                self.enter_user(frame, module)

    def enter_own(self, frame, module):
        if module.startswith(OWN):
            return
        self.modules.add(module)
        reason = refusal_of_module(module)
        if reason is not None:
            self.refuse(reason, frame)
        if (
            refusal_of_name(frame.f_code.co_name) == SETTING
        ):  # by whatever name the program knows it
            self.check_name(frame.f_code.co_name, frame)
        if "__dict__" in frame.f_code.co_names:
            self.state.read_unnamed(only_registered=True)
        self.state.name(frame.f_code.co_names)
        self.state.trust_globals(frame.f_globals, names_of(frame.f_code)[0])
        self.state.execute(frame.f_code)

    def enter_user(self, frame, module):
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or module.startswith("namedtuple_"):
            return
        reason = refusal_of_module(module)
        if reason is not None:
            self.refuse(reason, frame.f_back)
            return
        if is_library(module):
            if "__dict__" in code.co_names:
                self.read_dynamically(frame)
            self.state.name(code.co_names)
            self.state.execute(code)
            if module == "abc":
                self.asks_abstract_classes = True
                if code.co_name == "register":
                    self.refuse("registers a class with an abstract class", frame.f_back)
            return
        self.catches = self.catches or bool(code.co_exceptiontable)
        for name in code.co_names:
            self.check_name(name, frame)
        self.strings += [one for one in code.co_consts if isinstance(one, str)]
        if self.state.reads_all:
            self.name_strings(frame)
        if "__dict__" in code.co_names or reads_by_name(code.co_names, is_hidden=False):
            self.read_dynamically(frame)
        if reads_by_name(code.co_names, is_hidden=True):
            self.state.note_hidden_reader()
        if "sort" in code.co_names:
            self.state.note_hidden_caller("list.sort")
        self.code.append(code)
        scope, modules, attributes, assigns = names_of(code)
        if assigns:
            self.state.assign()
        for name in scope:
            if self.state.read_global(frame.f_globals, name) is MISSING:
                self.state.read_global(frame.f_builtins, name)
        for name, level in modules:
            self.import_module(name, level, frame)
        self.state.name(attributes)
        self.state.execute(code)

    def check_name(self, name, frame):
        reason = refusal_of_name(name)
        if reason is not None:
            self.refuse(f"uses {name}, which {reason}", frame)

    def import_module(self, name, level, frame):
        """An import statement: it finds the module in sys.modules, or has side effects."""
        if level:
            name = importlib.util.resolve_name(
                "." * level + name, frame.f_globals.get("__package__")
            )
        module = sys.modules.get(name)
        if module is None:
            self.refuse(f"imports {name} for the first time", frame)
            return
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            self.state.read_global(sys.modules, ".".join(parts[:end]))

    # ------------------------------------------------------------ builtins
    def call(self, frame, builtin):
        if is_own_frame(frame):
            if builtin in DYNAMIC:
                self.state.read_unnamed(only_registered=True)
        elif is_numpy_for_own(frame):
            pass
        elif not is_pure(builtin):
            self.refuse(f"calls {name_of_builtin(builtin)}", frame)
        elif reads_attributes(builtin, is_hidden=True):
            self.read_dynamically(frame)

    def read_dynamically(self, frame):
        """Attributes may be read that no code names."""
        self.state.read_dynamically()
        self.name_strings(frame)

    def name_strings(self, frame):
        strings, self.strings = self.strings, []
        for one in strings:
            self.check_name(one, frame)
        self.state.name(strings)


def name_of_builtin(builtin):
    owner = builtin.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(builtin, "__module__", None) or "builtins"
        return (
            builtin.__name__ if module == "builtins" else f"{module.lstrip('_')}.{builtin.__name__}"
        )
    kind = owner if isinstance(owner, type) else type(owner)
    return f"{kind.__name__}.{builtin.__name__}"
