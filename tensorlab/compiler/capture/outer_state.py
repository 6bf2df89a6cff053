"""OuterState: what a function could read and write outside of itself, as it was before the function could change it.

It starts with the arguments and the function, and grows while the function runs. Each executed
piece of code names globals and attributes; what these names lead to, from the objects that are
known already, could be read. Each object that is reached this way is *tracked* (tracked.py): it
is copied, one level deep, when it is reached, and compared with the copy after the call. A
difference is a side effect, and the call can't be replayed. What was followed becomes guards.

More is followed than the code reads: if it says `.scale`, that attribute of every tracked
object counts as read. The price is a few guards that were not needed.
"""

import collections
import types

from .guard_check import MISSING
from .kinds import Unknown, is_always_one_object, is_of_tensorlab, kind_of
from .pure import is_higher_order, is_library, is_reader, is_unseen_reader
from .sources import Source
from .tracked_kinds import CLASSES, TrackedGlobals, TrackedModule

__all__ = ["OuterState"]

MOST_OBJECTS = 20_000  # of a larger state, the guards would take longer than most functions


class OuterState:
    """All tracked objects of a recording, and which of their attributes executed code could read.

    Parameters
    ----------
    refuse : function of a reason, called for what can't be replayed
    """

    def __init__(self, refuse):
        self.refuse = refuse
        self.objects = {}  # id of the object: Tracked
        # attributes
        self.names = set()  # that executed code has
        # name: list of Tracked that have such an attribute, until it is named
        self.waiting = collections.defaultdict(list)
        self.reads_all = False  # attributes may be read whose names are not in the code
        self.reads_registered = False  # so may the parameters, buffers and parts of modules
        self.assigns = False  # executed code assigns attributes
        # functions
        self.code = set()  # executed
        # code: list of TrackedFunction, until it is executed
        self.functions = collections.defaultdict(list)
        # tensorlab's own Python: id of its globals: (globals, {name: object})
        self.library_globals = {}
        # calls that builtins make, and that are not seen
        self.hidden_call = None  # text of a builtin at hand whose calls matter
        self.hidden_caller = None  # text of a builtin at hand that calls what it is given
        self.hidden_reader = False  # a builtin is at hand that reads attributes by computed names

    # ------------------------------------------------------------ reaching objects
    def reach(self, value, source, by_identity=True):
        """Track an object, and what it leads to without the name of an attribute; returns its Tracked.

        None if it is a value or a constant, as there is nothing in it. `by_identity`: whether
        no other object would do.
        """
        tracked = self.objects.get(id(value))
        if tracked is not None:
            return tracked
        try:
            kind = kind_of(value)
        except Unknown as error:
            self.refuse(f"{source.text} is {error}")
            return None
        if kind == "constant":
            self.reach_constant(value, source)
        if kind in ("value", "constant"):
            return None
        by_identity = by_identity or is_always_one_object(value, kind)
        by_identity &= kind != "tensor"  # of which another one always does, if it is like this one
        tracked = CLASSES[kind](value, source, by_identity)
        self.objects[id(value)] = tracked
        if len(self.objects) > MOST_OBJECTS:
            self.refuse(
                f"the function may use more than {MOST_OBJECTS} objects of its surroundings"
            )
        else:
            tracked.explore(self)
        return tracked

    def reach_constant(self, value, source):
        self.note_c_function(value, source.text)
        if type(value) is types.MethodWrapperType:
            owner = value.__self__
            self.reach(owner, Source.constant(owner, f"{source.text}.__self__"))

    def reach_class(self, cls):
        if id(cls) not in self.objects:
            self.reach(cls, Source.constant(cls, cls.__name__))

    def follow(self, tracked, name, value, source):
        """Note that an attribute or a global could be read."""
        if name not in tracked.reads:
            tracked.reads[name] = value
            self.reach(value, source, tracked.by_identity)

    # ------------------------------------------------------------ globals and functions
    def read_global(self, scope, name):
        """Note that executed code may read or write a global; returns what a lookup of its name would find."""
        tracked = self.objects.get(id(scope))
        if tracked is None:
            tracked = TrackedGlobals(scope, Source.constant(scope, "the globals"), True)
            self.objects[id(scope)] = tracked
        value = scope.get(name, MISSING)
        self.follow(tracked, name, value, tracked.source.name(name, name))
        return value

    def use_library_globals(self, scope, names):
        """Note that tensorlab's own code reads these of its globals."""
        values = self.library_globals.setdefault(id(scope), (scope, {}))[1]
        for name in names:
            if name in scope:
                values.setdefault(name, scope[name])

    def execute(self, code):
        """Note that code is executed: cells and defaults of its functions could be read."""
        self.code.add(code)
        for tracked in self.functions.pop(code, ()):
            tracked.follow_execution(self)

    def wait_for_execution(self, tracked):
        """Follow what a function refers to once its code is executed."""
        code = tracked.value.__code__
        if code in self.code:
            tracked.follow_execution(self)
        else:
            self.functions[code].append(tracked)

    # ------------------------------------------------------------ attributes
    def name_attributes(self, names):
        """Note that executed code names these attributes: those of all tracked objects could be read."""
        for name in names:
            if name not in self.names:
                self.names.add(name)
                for tracked in self.waiting.pop(name, ()):
                    tracked.follow_attribute(self, name)

    def wait_for(self, tracked, name):
        """Follow an attribute once it could be read."""
        if name in self.names or tracked.is_read_unnamed(name, self):
            tracked.follow_attribute(self, name)
        else:
            self.waiting[name].append(tracked)

    def read_unnamed(self, only_registered):
        """Note that executed code may read attributes that it does not name."""
        if self.reads_all or (only_registered and self.reads_registered):
            return
        self.reads_registered, self.reads_all = True, not only_registered
        for tracked in list(self.objects.values()):
            for name in tracked.attribute_names():
                if tracked.is_read_unnamed(name, self):
                    tracked.follow_attribute(self, name)

    def assign(self):
        """Note that executed code assigns attributes: those of tensorlab's modules might be meant."""
        if not self.assigns:
            self.assigns = True
            for tracked in list(self.objects.values()):
                if isinstance(tracked, TrackedModule) and tracked.attributes_before is None:
                    tracked.snapshot_attributes(self)

    def read_dynamically(self):
        """Note that attributes may be read, and assigned, that no code names."""
        self.read_unnamed(only_registered=False)
        self.assign()

    # ------------------------------------------------------------ calls that are not seen
    def note_c_function(self, value, text):
        """Note what a builtin that is at hand may do, if it calls what it is given or reads attributes."""
        if is_higher_order(value):
            self.note_hidden_caller(text)
        if is_unseen_reader(value):
            self.read_dynamically()
        elif is_reader(value):
            self.note_hidden_reader()

    def note_hidden_caller(self, text):
        """A builtin that calls what it is given is at hand."""
        self.hidden_caller = text
        if self.hidden_reader:
            self.read_dynamically()

    def note_hidden_reader(self):
        """A builtin that reads attributes is at hand: where another one may call it, that is not seen."""
        self.hidden_reader = True
        if self.hidden_caller:
            self.read_dynamically()

    # ------------------------------------------------------------ after the call
    def hidden_reads(self):
        """Yield a sentence for each thing that the function may have read, and that no guard can compare."""
        if self.hidden_call and self.hidden_caller:
            yield f"may call {self.hidden_call} by {self.hidden_caller}, where it can't be seen"
        if not self.reads_all:
            return
        for tracked in self.objects.values():
            if isinstance(tracked, TrackedModule) and not is_trusted(tracked.value.__name__):
                yield f"reads attributes by names that it computes, maybe of the module {tracked.source.text}"

    def side_effects(self):
        """Yield (reason, names) for each object of the outside that is not as it was, with the names in question."""
        for tracked in self.objects.values():
            yield from tracked.side_effects()


def is_trusted(module):
    """Is what this module has taken for constant: that of tensorlab, and of Python's library?"""
    return is_of_tensorlab(module) or is_library(module)
