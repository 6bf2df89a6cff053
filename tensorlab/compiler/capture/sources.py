"""Where an object of the outside comes from: a path from the arguments, or from an object that is known."""

import types
from typing import Any, NamedTuple

__all__ = ["Source", "named", "shortened"]


class Source(NamedTuple):
    """The way to an object. `fetch` goes it again, with other arguments.

    Attributes
    ----------
    kind : "constant", "argument", "keyword", "entry", "item", "cell", "dict", "slot" or "gradient"
    parent : Source of what it is fetched from; None for a constant and for arguments
    key : the name or index there; of a slot, its descriptor
    text : str, as one would write it: `args[0]`, `self.linear.weight`
    """

    kind: str
    parent: Any
    key: Any
    text: str

    @classmethod
    def constant(cls, value, text):
        """An object that stays the same one."""
        return cls("constant", None, value, text)

    def fetch(self, args, kwargs):
        """Return the object that is there now."""
        if self.kind == "constant":
            return self.key
        if self.kind == "argument":
            return args[self.key]
        if self.kind == "keyword":
            return kwargs
        container = self.parent.fetch(args, kwargs)
        if self.kind in ("entry", "item"):
            return container[self.key]
        if self.kind == "cell":
            return container.cell_contents
        if self.kind == "dict":
            return object.__getattribute__(container, "__dict__")
        if self.kind == "slot":
            return self.key.__get__(container)
        return container.grad

    @property
    def is_constant(self):
        """Whether it is one object, whatever the arguments are and whatever was assigned meanwhile."""
        return self.kind == "constant"

    def attribute(self, name):
        """The source of an attribute whose value is in the `__dict__` of this object."""
        return Source("entry", Source("dict", self, None, self.text), name, f"{self.text}.{name}")

    def entry(self, key):
        """The source of an entry of this dict."""
        return Source("entry", self, key, f"{self.text}[{shortened(key)}]")

    def item(self, index):
        """The source of an item of this list or tuple."""
        return Source("item", self, index, f"{self.text}[{index}]")


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
    return text if len(text) < 60 else text[:57] + "..."
