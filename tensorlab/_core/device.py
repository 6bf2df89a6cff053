"""Where tensors live and how they lie there: device, layout and memory_format.

PyTorch's programs name all three, so they exist, but there is little to choose: tensors live in
the memory that the processor addresses, and every layout is strided.
"""


class device:
    """The place where a tensor's elements are: "cpu", or "meta" for a tensor that has none.

    Parameters
    ----------
    type : str, "cpu", "cpu:0" or "meta"; or a device
    index : int, optional; 0 is the only one

    Raises
    ------
    RuntimeError
        For a device that tensorlab does not have.

    >>> device("cpu:0").index
    0
    """

    __slots__ = ("index", "type")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        if not isinstance(type, str):
            raise TypeError(f"device: a name such as 'cpu' is needed, not {type!r}")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None or not number.isdecimal():
                raise RuntimeError(f"device: {type!r} is not a device; write 'cpu'")
            index = int(number)
        if name not in ("cpu", "meta"):
            raise RuntimeError(
                f"device: tensorlab computes on the processor, and {type!r} is not 'cpu'; choose "
                f"it as in device('cuda' if cuda.is_available() else 'cpu')"
            )
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name, value):
        raise AttributeError(f"device: {name} cannot be changed; make another device")

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __reduce__(self):
        return device, (self.type, self.index)


CPU = device("cpu")


def check_device(given, where):
    """Raise unless tensors can be made on that device."""
    if given is None or given is CPU or given == "cpu":
        return
    if isinstance(given, int) and not isinstance(given, bool):
        raise RuntimeError(
            f"{where}: device {given} would be an accelerator, and tensorlab has none; use 'cpu'"
        )
    if device(given).type != "cpu":
        raise RuntimeError(f"{where}: tensors can be made on 'cpu' only, not on {str(given)!r}")


class memory_format(str):
    """An order of a tensor's dimensions in memory; compared by name."""

    __slots__ = ()

    def __repr__(self):
        return (
            f"tensorlab.{self}_format"
            if self in ("contiguous", "preserve")
            else f"tensorlab.{self}"
        )

    def __reduce__(self):
        return memory_format, (str(self),)


contiguous_format = memory_format("contiguous")
preserve_format = memory_format("preserve")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


class layout(str):
    """How elements are found: `strided` is the only way here."""

    __slots__ = ()

    def __repr__(self):
        return f"tensorlab.{self}"

    def __reduce__(self):
        return layout, (str(self),)


strided = layout("strided")
