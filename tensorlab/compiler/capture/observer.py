"""Observer: it sees every Python frame that a recorded function enters, and every builtin that it calls.

It tells `OuterState` which names the executed code has, and refuses what can't be replayed. It
rests on `sys.setprofile`, whose events "call" and "c_call" are documented. tensorlab's own
Python is trusted to do what it does by calls of ops, but the objects that it reads are outer
state like any other.
"""

import contextlib
import importlib.util
import sys
import types

from .frames import is_import, is_numpy_for_own, is_own_frame, names_of
from .guard_check import MISSING
from .pure import (
    DYNAMIC,
    READERS,
    SETTING,
    UNSEEN_READERS,
    is_library,
    is_pure,
    is_reader,
    refusal_of_module,
    refusal_of_name,
)

__all__ = ["Observer"]


class Observer:
    """While it is entered, it watches this thread.

    Parameters
    ----------
    state : OuterState
    refuse : function of a reason and of the frame where it is

    Attributes
    ----------
    code : list of the user's code that was executed
    modules : set of str, the modules of tensorlab whose code was executed
    catches : bool, whether executed code may notice that something is missing
    asks_abstract_classes : bool, whether it asks which class is registered with which, as
        `isinstance` does
    ignored : int, depth of calls that are taken for granted
    """

    def __init__(self, state, refuse):
        self.state, self.refuse = state, refuse
        self.code, self.modules = [], set()
        self.catches = self.asks_abstract_classes = False
        self.ignored = 0
        self.entered = set()  # (code, id of its globals)
        self.strings = []  # of the user's code: with them it may name attributes

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
        if key in self.entered or is_numpy_for_own(frame):
            return
        self.entered.add(key)
        module = frame.f_globals.get("__name__", "")
        if is_own_frame(frame):
            self.enter_own(frame, module)
        elif not is_import(frame.f_code) and not module.startswith("namedtuple_"):
            reason = refusal_of_module(module)
            if reason is not None:
                self.refuse(reason, frame.f_back)
            elif is_library(module):
                self.enter_library(frame, module)
            else:
                self.enter_user(frame)

    def enter_own(self, frame, module):
        """Code of tensorlab."""
        code = frame.f_code
        if module.startswith("tensorlab.compiler"):
            return
        self.modules.add(module)
        reason = refusal_of_module(module)
        if reason is not None:
            self.refuse(reason, frame)
        if refusal_of_name(code.co_name) == SETTING:  # by whatever name the program knows it
            self.check_name(code.co_name, frame)
        if "__dict__" in code.co_names:
            self.state.read_unnamed(only_registered=True)
        names = names_of(code)
        self.state.name_attributes(names.attributes)
        self.state.use_library_globals(frame.f_globals, names.globals)
        self.state.execute(code)

    def enter_library(self, frame, module):
        """Code of Python's own library, whose globals are taken for constants."""
        code = frame.f_code
        if "__dict__" in code.co_names:
            self.read_dynamically(frame)
        self.state.name_attributes(names_of(code).attributes)
        self.state.execute(code)
        if module == "abc":
            self.asks_abstract_classes = True
            if code.co_name == "register":
                self.refuse("registers a class with an abstract class", frame.f_back)

    def enter_user(self, frame):
        """Code of the program."""
        code = frame.f_code
        self.catches = self.catches or bool(code.co_exceptiontable)
        for name in code.co_names:
            self.check_name(name, frame)
        self.note_dynamic_names(frame)
        self.code.append(code)
        names = names_of(code)
        if names.assigns:
            self.state.assign()
        for name in names.globals:
            if self.state.read_global(frame.f_globals, name) is MISSING:
                self.state.read_global(frame.f_builtins, name)
        for name, level in names.modules:
            self.import_module(name, level, frame)
        self.state.name_attributes(names.attributes)
        self.state.execute(code)

    def check_name(self, name, frame):
        reason = refusal_of_name(name)
        if reason is not None:
            self.refuse(f"uses {name}, which {reason}", frame)

    def import_module(self, name, level, frame):
        """An import statement: it finds the module in sys.modules, or has side effects."""
        if level:
            package = frame.f_globals.get("__package__")
            name = importlib.util.resolve_name("." * level + name, package)
        if sys.modules.get(name) is None:
            self.refuse(f"imports {name} for the first time", frame)
            return
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            self.state.read_global(sys.modules, ".".join(parts[:end]))

    # ------------------------------------------------------------ names that are computed
    def note_dynamic_names(self, frame):
        """Take note of what lets code read attributes that it does not name."""
        code = frame.f_code
        self.strings += [one for one in code.co_consts if isinstance(one, str)]
        if self.state.reads_all:
            self.name_strings(frame)
        if "__dict__" in code.co_names or not UNSEEN_READERS.isdisjoint(code.co_names):
            self.read_dynamically(frame)
        if not READERS.isdisjoint(code.co_names):
            self.state.note_hidden_reader()
        if "sort" in code.co_names:
            self.state.note_hidden_caller("list.sort")

    def read_dynamically(self, frame):
        """Attributes may be read that no code names."""
        self.state.read_dynamically()
        self.name_strings(frame)

    def name_strings(self, frame):
        """Take the strings of executed code for names of attributes."""
        strings, self.strings = self.strings, []
        for one in strings:
            self.check_name(one, frame)
        self.state.name_attributes(strings)

    # ------------------------------------------------------------ builtins
    def call(self, frame, builtin):
        if is_own_frame(frame):
            if builtin in DYNAMIC:
                self.state.read_unnamed(only_registered=True)
        elif is_numpy_for_own(frame):
            pass
        elif not is_pure(builtin):
            self.refuse(f"calls {name_of_builtin(builtin)}", frame)
        elif is_reader(builtin):
            self.read_dynamically(frame)


def name_of_builtin(builtin):
    owner, name = builtin.__self__, builtin.__name__
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(builtin, "__module__", None) or "builtins"
        return name if module == "builtins" else f"{module.lstrip('_')}.{name}"
    kind = owner if isinstance(owner, type) else type(owner)
    return f"{kind.__name__}.{name}"
