"""Sources: where an object of the outside is found, as a path from the arguments or from an object that is known."""

import types
from typing import Any, NamedTuple

__all__ = ["ARGS", "KWARGS", "Source", "cut", "named", "shortened"]


class Source(NamedTuple):
    """One step on the way to an object, and the steps before it.

    Attributes
    ----------
    kind : "constant" or "arguments", where a path begins; else how the object is fetched from the one before: "item",
        "value", "name", "cell", "attributes", "member", "gradient" or "ancestors"
    parent : Source of the object before; None where a path begins
    key : the index or the name there; the descriptor of a member; the object itself, if it is constant
    text : str, the path as one would write it: `args[0]`, `self.linear.weight`
    """

    kind: str
    parent: Any
    key: Any
    text: str

    @classmethod
    def constant(cls, value, text):
        """One and the same object, whatever the arguments are and whatever has been assigned meanwhile."""
        return cls("constant", None, value, text)

    @property
    def is_constant(self):
        return self.kind == "constant"

    def item(self, index):
        """An item of this list or tuple."""
        return Source("item", self, index, f"{self.text}[{index}]")

    def value(self, index, text):
        """The value at this position of this dict: no key of the user's has to be hashed for it."""
        return Source("value", self, index, text)

    def name(self, name, text):
        """What a name stands for in this dict of attributes or globals."""
        return Source("name", self, name, text)

    def attribute(self, name):
        """An attribute whose value is in the `__dict__` of this object."""
        return self.attributes().name(name, f"{self.text}.{name}")

    def attributes(self):
        """The `__dict__` of this object."""
        return Source("attributes", self, None, f"{self.text}.__dict__")

    def member(self, name, descriptor):
        """An attribute in the `__slots__` of this object."""
        return Source("member", self, descriptor, f"{self.text}.{name}")

    def gradient(self):
        """The `.grad` of this tensor."""
        return Source("gradient", self, None, f"{self.text}.grad")

    def ancestors(self):
        """The method resolution order of this class."""
        return Source("ancestors", self, None, f"{self.text}.__mro__")

    def content(self):
        """What this cell of a closure holds; it is called what the cell is called, as in the code."""
        return Source("cell", self, None, self.text)


ARGS = Source("arguments", None, 0, "args")
KWARGS = Source("arguments", None, 1, "kwargs")


def named(value):
    """What to call an object, without running its code."""
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)):
        return value.__name__
    return f"the same {type(value).__name__}"


def shortened(value):
    """A number, a string or a tuple of such as one would write it, if that is short; else what to call it."""
    if isinstance(value, tuple):
        text = f"({', '.join(map(shortened, value))})"
    elif type(value) in (int, float, bool, complex, type(None), str, bytes, slice, range):
        text = repr(value)
    else:
        return named(value)
    return cut(text)


def cut(text):
    return text if len(text) < 60 else text[:57] + "..."
