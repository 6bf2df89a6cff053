"""The kinds of tracked objects: what each leads to, how it can change, and what guards it needs."""

import functools
import types

from .guard_check import MISSING
from .kinds import (
    COMPILED_FUNCTION,
    attributes_of,
    copy_of_class,
    is_of_tensorlab,
    is_python_class,
    slots_of,
)
from .pure import is_pure, refusal_of_module
from .sources import Source, shortened
from .tensor_state import history_of, memory_layout_of, writes_to
from .tracked import Tracked, is_same_dict, is_same_list

__all__ = [
    "CLASSES",
    "TrackedClass",
    "TrackedGlobals",
    "TrackedModule",
    "TrackedTensor",
    "TrackedTuple",
]

# Entries of classes that the interpreter does not call by itself.
_PASSIVE = """
    __annotations__ __annotations_cache__ __annotate_func__ __doc__ __module__ __qualname__ __dict__ __weakref__
    __orig_bases__ __parameters__ __dataclass_fields__ __match_args__ __dataclass_params__ __firstlineno__
    __static_attributes__ __abstractmethods__ __slots__
"""
PASSIVE = frozenset(_PASSIVE.split())
PARTS = {
    types.MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}


# ---------------------------------------------------------------- tensors
class TrackedTensor(Tracked):
    """A tensor: its values may be others at the next call. `TensorEffects` finds out what was done to it."""

    __slots__ = ()

    def explore(self, state):
        x, source = self.value, self.source
        self.snapshot = history_of(x), memory_layout_of(x), writes_to(x)
        state.reach(self.gradient_before, source.gradient())
        state.reach_class(type(x))
        self.snapshot_attributes(state)

    @property
    def gradient_before(self):
        return self.snapshot[0][2]

    def add_guards(self, guards, source):
        """The guard that leads to the tensor has compared it; here is what the tensor holds."""
        if guards.matters.gradients and self.value.is_leaf:
            guards.demand(source.gradient(), self.gradient_before)
        if self.attributes_before or guards.matters.absence:
            self.guard_attributes(guards, source)


# ---------------------------------------------------------------- containers
class TrackedTuple(Tracked):
    """A tuple that holds more than values and constants: it stays as it is, but what is in it may change."""

    __slots__ = ("items",)

    def explore(self, state):
        self.items = list(self.value)
        for i, value in enumerate(self.items):
            state.reach(value, self.source.item(i), self.by_identity)

    def add_guards(self, guards, source):
        count = len(self.items)
        guards.add(source, "length", count, f"len({source.text}) == {count}")
        for i, value in enumerate(self.items):
            guards.demand(source.item(i), value)


class TrackedList(TrackedTuple):
    __slots__ = ()

    def has_same_content(self):
        return is_same_list(self.items, self.value)


class TrackedDict(Tracked):
    __slots__ = ("items",)

    def explore(self, state):
        self.items = list(self.value.items())
        for key, _ in self.items:
            state.reach(key, Source.constant(key, f"a key of {self.source.text}"))
        for i, (key, value) in enumerate(self.items):
            state.reach(value, self.source.value(i, self.text_of(key)), self.by_identity)

    def text_of(self, key):
        return f"{self.source.text}[{shortened(key)}]"

    def has_same_content(self):
        keys, values = [key for key, _ in self.items], [value for _, value in self.items]
        return is_same_list(keys, self.value.keys()) and is_same_list(values, self.value.values())

    def add_guards(self, guards, source):
        guards.demand_dict(source, self.items, self.text_of)


class TrackedOrderedDict(TrackedDict):
    """An OrderedDict: its order need not be that of the dict which it is for C, so both are compared."""

    __slots__ = ()

    def add_guards(self, guards, source):
        if self.items:
            guards.demand_order(source, [key for key, _ in self.items])
        super().add_guards(guards, source)


class TrackedSet(Tracked):
    """A set of numbers and strings; others are refused."""

    __slots__ = ()

    def explore(self, state):
        self.snapshot = list(self.value)
        for value in self.snapshot:
            if state.reach(value, Source.constant(value, f"an item of {self.source.text}")):
                state.refuse(
                    f"{self.source.text} is a set of something else than numbers and strings"
                )

    def has_same_content(self):
        return is_same_list(self.snapshot, self.value)

    def add_guards(self, guards, source):
        guards.demand_order(source, self.snapshot)


class TrackedCell(Tracked):
    """A variable of a function around the one that reads it."""

    __slots__ = ()

    def explore(self, state):
        self.snapshot = self.content()
        state.reach(self.snapshot, self.source.content(), self.by_identity)

    def content(self):
        try:
            return self.value.cell_contents
        except ValueError:
            return MISSING

    def has_same_content(self):
        return self.content() is self.snapshot

    def add_guards(self, guards, source):
        guards.demand(source.content(), self.snapshot)


class TrackedWrapper(Tracked):
    """A method or a descriptor: it holds other objects, always the same ones."""

    __slots__ = ()

    def explore(self, state):
        for name in PARTS[type(self.value)]:
            self.reach_part(state, getattr(self.value, name), name)


class TrackedPartial(TrackedWrapper):
    """A `functools.partial`, which calls what it holds, and that is not seen."""

    __slots__ = ()

    def explore(self, state):
        state.note_hidden_caller(self.source.text)
        super().explore(state)


class TrackedBuiltin(Tracked):
    """A builtin function or method, perhaps one of a list."""

    __slots__ = ()

    def explore(self, state):
        value, owner = self.value, self.value.__self__
        state.note_c_function(value, self.source.text)
        if not is_pure(value):
            state.hidden_call = self.source.text
        if not isinstance(owner, (types.ModuleType, type)):
            self.reach_part(state, owner, "__self__")


# ---------------------------------------------------------------- code
class TrackedFunction(Tracked):
    """A function of Python; its snapshot is taken when its code is executed."""

    __slots__ = ()

    def explore(self, state):
        self.snapshot_attributes(state)
        state.wait_for_execution(self)

    def follow_execution(self, state):
        """Reach the cells and the defaults, which executed code could read."""
        function = self.value
        self.snapshot = code_and_defaults(function)
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            state.reach(cell, Source.constant(cell, name))
        self.reach_part(state, function.__defaults__, "__defaults__")
        self.reach_part(state, function.__kwdefaults__, "__kwdefaults__")

    def has_same_content(self):
        return self.snapshot is None or is_same_list(self.snapshot, code_and_defaults(self.value))

    def add_guards(self, guards, source):
        if self.snapshot is not None:
            guards.add(source, "code", self.snapshot, f"{source.text} has its code and defaults")
        if self.attributes_before or guards.matters.absence:
            self.guard_attributes(guards, source)


class TrackedGlobals(Tracked):
    """The globals of a module, of which only those count that code has named: `reads`."""

    __slots__ = ()

    def side_effects(self):
        for name, before in self.reads.items():
            if self.value.get(name, MISSING) is not before:
                yield f"assigns the global {name}", [name]

    def add_guards(self, guards, source):
        guards.demand_names(source, self.reads, "")


class TrackedModule(Tracked):
    """A module. Those of tensorlab are trusted to stay as they are; what a program puts into them is followed."""

    __slots__ = ()

    @property
    def is_own(self):
        return is_of_tensorlab(self.value.__name__)

    def explore(self, state):
        name = self.value.__name__
        reason = refusal_of_module(name)
        if reason is not None and not self.is_own:
            state.refuse(f"uses the module {name}, which {reason}")
        elif state.assigns or not self.is_own:
            self.snapshot_attributes(state)
        else:
            for one, value in vars(self.value).items():
                if is_users(value):
                    state.wait_for(self, one)

    def is_read_unnamed(self, name, state):
        return False

    def follow_attribute(self, state, name):
        if not self.is_own:
            super().follow_attribute(state, name)
            return
        value = vars(self.value)[name]
        if isinstance(value, (type, types.ModuleType)) or is_users(value):
            state.follow(self, name, value, self.source.attribute(name))

    def add_guards(self, guards, source):
        if self.is_own:
            return
        before, names = self.attributes_before, list(self.reads)
        if guards.matters.absence:
            names += [name for name in guards.state.names if name not in before]
        own = Source.constant(self.attributes, source.text)
        found = {name: before.get(name, MISSING) for name in names}
        guards.demand_names(own, found, f"{source.text}.")


# ---------------------------------------------------------------- classes and their objects
class TrackedClass(Tracked):
    """A class. Those of tensorlab are trusted to stay as they are, unless the function assigns to them."""

    __slots__ = ()

    def explore(self, state):
        cls = self.value
        for base in cls.__mro__:
            state.reach_class(base)
        if type(cls) is not type:
            state.reach_class(type(cls))
        attributes = attributes_of(cls)
        if is_of_tensorlab(cls.__module__):
            self.attributes, self.attributes_before = attributes, copy_of_class(cls)
            for name, value in attributes.items():
                if is_users(value):
                    state.wait_for(self, name)
            return
        self.snapshot_attributes(state, attributes)
        for name in attributes:
            if name.startswith("__") and name not in PASSIVE:
                self.follow_attribute(state, name)
        state.name_attributes(attributes.get("__match_args__", ()))

    def add_guards(self, guards, source):
        cls, text = self.value, source.text
        if is_of_tensorlab(cls.__module__):
            return
        guards.add(source.ancestors(), "identity", cls.__mro__, f"{text}.__mro__ is the same")
        names = Source.constant(self.attributes, text)
        guards.demand_class(names, self.attributes_before, self.reads)


class TrackedInstance(Tracked):
    """An object of a class that was made in Python, perhaps a subclass of list, tuple or dict."""

    __slots__ = ("content",)

    def explore(self, state):
        value = self.value
        for cls in type(value).__mro__:
            state.reach_class(cls)
        self.content = None
        if isinstance(value, (dict, list, tuple)):
            kind = TrackedDict if isinstance(value, dict) else TrackedList
            self.content = kind(value, self.source, self.by_identity)
            self.content.explore(state)
        else:
            self.slots = slots_of(type(value))
            self.snapshot = self.members()
        self.snapshot_attributes(state)

    def members(self):
        """{name: value} of the attributes in `__slots__` that are there."""
        found = {}
        for name, descriptor in self.slots.items():
            try:
                found[name] = descriptor.__get__(self.value)
            except AttributeError:
                pass
        return found

    def has_same_content(self):
        if self.content is not None:
            return self.content.has_same_content()
        return is_same_dict(self.snapshot, self.members())

    def add_guards(self, guards, source):
        if self.by_identity:  # its class can be assigned
            cls = type(self.value)
            guards.add(source, "type", cls, f"type({source.text}) is {cls.__name__}")
        if self.content is not None:
            self.content.add_guards(guards, source)
        for name, descriptor in self.slots.items():
            if name in self.reads:
                guards.demand(source.member(name, descriptor), self.reads[name])
        self.guard_attributes(guards, source)


CLASSES = {
    "tensor": TrackedTensor,
    "tuple": TrackedTuple,
    "list": TrackedList,
    "dict": TrackedDict,
    "ordered": TrackedOrderedDict,
    "set": TrackedSet,
    "cell": TrackedCell,
    "method": TrackedWrapper,
    "descriptor": TrackedWrapper,
    "partial": TrackedPartial,
    "builtin": TrackedBuiltin,
    "function": TrackedFunction,
    "module": TrackedModule,
    "class": TrackedClass,
    "instance": TrackedInstance,
}


def code_and_defaults(function):
    return function.__code__, function.__defaults__, function.__kwdefaults__


def is_users(value):
    """Is this a function that a program has put into a module or a class of tensorlab, or an object with switches?"""
    if isinstance(value, types.FunctionType):
        return not is_of_tensorlab(value.__module__ or "")
    if type(value) is COMPILED_FUNCTION:  # which most of them are
        return False
    return is_python_class(type(value)) and not isinstance(value, (type, types.ModuleType))
