"""Tracked: an object that a recorded function could read or change outside of itself.

Each kind of object is a subclass (tracked_kinds.py), and all answer the same three questions:

    explore         what does it lead to? Asked when the function reaches the object; it takes a snapshot, too
    side_effects    is it still as in the snapshot? Asked after the call
    add_guards      what must be in it at the next call? Asked if the call can be replayed

Attributes lead further only when they are used, that is, when executed code names them.
`OuterState` says when that is.
"""

from .guard_check import MISSING
from .kinds import dict_of
from .sources import Source

__all__ = ["Tracked", "is_same_dict", "is_same_list"]

REGISTRIES = "_parameter_names", "_buffer_names", "_module_names"  # of a Module


class Tracked:
    """An object of the outside; one that only holds others and can't be changed, unless a subclass says more.

    Attributes
    ----------
    value : the object
    source : Source, the first way that led to it
    by_identity : bool, whether a replay needs this very object, or one that is like it
    snapshot : what was in it when it was reached
    attributes : dict, its `__dict__` or that of the class; None if it has none or none counts
    attributes_before : dict, a copy of `attributes` from when it was reached
    slots : dict, {name: descriptor} of what it has in `__slots__`
    reads : dict, {name: object} of the attributes or globals that could be read
    guarded : Source, where the guards find it; None as long as there is no guard, and if it is
        compared by identity
    """

    __slots__ = (
        *("value", "source", "by_identity", "snapshot", "attributes", "attributes_before"),
        *("slots", "reads", "guarded"),
    )

    def __init__(self, value, source, by_identity):
        self.value, self.source, self.by_identity = value, source, by_identity
        self.snapshot = self.attributes = self.attributes_before = self.guarded = None
        self.slots, self.reads = {}, {}

    # ------------------------------------------------------------ the three questions
    def explore(self, state):
        """Take a snapshot, and reach what the object leads to without the name of an attribute."""

    def side_effects(self):
        """Yield (reason, names) for each difference from the snapshot, with the names that a culprit would use."""
        text = self.source.text
        if not self.has_same_content():
            yield f"changes {text}, which comes from outside", [text, *self.slots]
        before, now = self.attributes_before, self.attributes
        if before is not None and not is_same_dict(before, now):
            names = difference(before, now)
            reason = f"changes attributes of {text}, which comes from outside: {', '.join(names)}"
            yield reason, names

    def has_same_content(self):
        """Is what it holds, attributes apart, as it was?"""
        return True

    def add_guards(self, guards, source):
        """Demand that what is in it at the source is as it was; `guards` is a GuardBuilder."""

    # ------------------------------------------------------------ what it holds
    def reach_part(self, state, value, name):
        """Reach an object that this one holds for good."""
        state.reach(value, Source.constant(value, f"{self.source.text}.{name}"))

    # ------------------------------------------------------------ attributes
    def snapshot_attributes(self, state, attributes=None):
        """Copy the attributes; those that executed code names are followed, at once or later."""
        self.attributes = dict_of(self.value) if attributes is None else attributes
        if self.attributes is not None:
            self.attributes_before = dict(self.attributes)
        for name in self.attribute_names():
            state.wait_for(self, name)

    def attribute_names(self):
        return (*(self.attributes or ()), *self.slots)

    def is_read_unnamed(self, name, state):
        """Could executed code read this attribute without naming it?"""
        if state.reads_all or not state.reads_registered:
            return state.reads_all
        own = self.attributes or {}
        return any(name in own.get(registry, ()) for registry in REGISTRIES)

    def follow_attribute(self, state, name):
        """Note that an attribute could be read, and reach what it stands for."""
        if self.attributes_before is not None and name in self.attributes_before:
            value, source = self.attributes_before[name], self.source.attribute(name)
        else:
            value = self.snapshot.get(name, MISSING)
            source = self.source.member(name, self.slots[name])
        state.follow(self, name, value, source)

    def guard_attributes(self, guards, source):
        """Demand the attributes that could be read, and that nothing hides or replaces them."""
        if self.attributes_before is None:
            return
        text, before, own = self.source.text, self.attributes_before, source.attributes()
        if self.by_identity:
            guards.add(own, "identity", self.attributes, f"{text} has its __dict__")
            own = Source.constant(self.attributes, own.text)
        else:
            guards.add_slot(own)
            guards.add(own, "type", dict, f"{text} has a __dict__")
        if guards.matters.absence:
            guards.demand_dict(own, before.items(), lambda name: f"{text}.{name}", self.reads)
            return
        found = {name: value for name, value in before.items() if name in self.reads}
        for name in guards.names_in_class(type(self.value)):
            if name not in before:  # the object could hide what its class has
                found[name] = MISSING
        guards.demand_names(own, found, f"{text}.")


# ---------------------------------------------------------------- comparing with a snapshot
def is_same_list(old, new):
    return len(old) == len(new) and all(x is y for x, y in zip(old, new, strict=True))


def is_same_dict(old, new):
    """Are these the same names, in the same order, for the same objects?"""
    return is_same_list(old, new) and all(old[name] is new[name] for name in old)


def difference(old, new):
    """The names of what differs."""
    names = [
        name for name in {**old, **new} if old.get(name, MISSING) is not new.get(name, MISSING)
    ]
    return list(map(str, names)) or ["their order"]
