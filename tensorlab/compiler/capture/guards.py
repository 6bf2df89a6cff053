"""Guards: what was true when a call was recorded, and has to be true when the recording is replayed."""

import functools
from typing import Any, NamedTuple

from .guard_check import GuardCheck
from .kinds import is_compared_by_value
from .sources import Source

__all__ = ["Guard", "Guards"]


class Guard(NamedTuple):
    """Where an object is found, how it is compared, and the same as a line of Python.

    Attributes
    ----------
    source : Source
    check : "identity", "equal", "type", "tensor", "same", "length", "keys", "order" or "code";
        guard_check.pyx says what each asks
    expected : what it is compared with: an object, a type, a TensorState, a Source, a length, a
        tuple of keys or values
    why : str, such as `args[1] == 3`
    """

    source: Source
    check: str
    expected: Any
    why: str

    @property
    def demand(self):
        """What the guard demands, in a form that is equal for the same demand of another recording."""
        if self.check == "same":
            expected = place_of(self.expected)
        elif self.check == "tensor":
            expected = self.why
        elif self.check == "length":
            expected = self.expected
        else:
            expected = exact(self.expected)
        return place_of(self.source), self.check, expected


class Guards:
    """The guards of a recording, checked in C (guard_check.pyx).

    Parameters
    ----------
    guards : list of Guard
    slots : dict, id of a Source: where later guards find what it leads to
    inputs : list of int, the slots of the tensors of the graph's placeholders
    aliasing : Aliasing
    library : LibraryState

    Attributes
    ----------
    check : function of args and kwargs: whether all guards hold
    match : function of args and kwargs: the input tensors, or None if a guard does not hold
    why : function of args and kwargs: the first guard that does not hold, in words; None if all do
    is_resized : function of args and kwargs: whether nothing but sizes and strides of tensors
        is different
    first_sharers : list of int, for each input the first one that shares its memory; empty if
        that does not matter
    guards : list of Guard, in the order in which they are checked
    """

    def __init__(self, guards, slots, inputs, aliasing, library):
        self.library, self.first_sharers = library, aliasing.first_sharers
        self.guards = guards
        self.checker = GuardCheck(guards, slots, inputs, aliasing, library)
        self.check, self.match = self.checker.check, self.checker.match
        self.why, self.is_resized = self.checker.why, self.checker.is_resized

    @property
    def texts(self):
        """What must hold, as lines of Python."""
        return list(dict.fromkeys(guard.why for guard in self.guards))

    @property
    def text(self):
        return "\n".join(self.texts)

    @functools.cached_property
    def demands(self):
        return {guard.demand for guard in self.guards}

    def covers(self, other):
        """Whether other guards demand nothing of objects that these do not: where these hold, those do."""
        shares = not other.first_sharers or self.first_sharers == other.first_sharers
        return shares and other.demands <= self.demands

    def join(self, other):
        """Let these stand for a branch, too, whose guards `other` they cover; it may use more of tensorlab."""
        self.library.join(other.library)


# ---------------------------------------------------------------- demands, compared with those of another recording
def place_of(source):
    """A path in a form that is equal for the same path of another recording."""
    if source.parent is None:
        return source.kind, source.key if source.kind == "arguments" else id(source.key)
    return source.kind, exact(source.key), place_of(source.parent)


def exact(value):
    """A number, a string or a tuple of such, exactly; the identity of anything else."""
    if isinstance(value, tuple):
        return (type(value), *map(exact, value))
    return (type(value), repr(value)) if is_compared_by_value(value) else id(value)
