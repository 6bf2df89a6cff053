"""Where tensors live and how they lie there: device, layout and memory_format.

PyTorch's programs name all three, so they exist, but there is little to choose: tensors live in
the memory that the processor addresses, and every layout is strided.
"""

from tensorlab.errors import DeviceError

# Accelerators that programs name to see whether one is there; the last one holds shapes without data.
OTHER_DEVICES = ("cuda", "hip", "hpu", "ipu", "mps", "mtia", "vulkan", "xla", "xpu", "meta")


class device:
    """A place where a tensor's elements could be. They are on "cpu"; other names can only be named.

    So that a program can say `device("cuda" if cuda.is_available() else "cpu")`, or ask whether a
    tensor is on such a device, every name that PyTorch knows makes a device. A tensor that is asked
    for on it is refused.

    Parameters
    ----------
    type : str, such as "cpu" or "cuda:1"; or a device
    index : int, optional

    Raises
    ------
    RuntimeError
        For a name that no device has.

    >>> device("cpu:0").index
    0
    >>> with device("cpu"):     # what is made here is made there
    ...     pass
    """

    __slots__ = ("index", "type")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        if isinstance(type, int) and not isinstance(type, bool):
            raise DeviceError(
                f"device: a number alone, {type}, would be an accelerator, and tensorlab has none; "
                f"write 'cpu'"
            )
        if not isinstance(type, str):
            raise TypeError(f"device: a name such as 'cpu' is needed, not {type!r}")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None or not number.isdecimal():
                raise RuntimeError(f"device: {type!r} is not a device; write 'cpu'")
            index = int(number)
        if name != "cpu" and name not in OTHER_DEVICES:
            raise RuntimeError(
                f"device: {type!r} is not a device; tensors are on 'cpu', and other names are "
                f"{', '.join(OTHER_DEVICES)}"
            )
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __enter__(self):
        check_device(self, "with device")
        return self

    def __exit__(self, *error):
        return False

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
    name = device(given).type
    if name == "meta":
        raise DeviceError(
            f"{where}: tensors without data, on 'meta', are planned with chapter 39, meta-tensors; "
            f"use 'cpu'"
        )
    if name != "cpu":
        raise DeviceError(
            f"{where}: tensorlab computes on the processor, and {str(given)!r} is an accelerator; "
            f"choose it as in device('cuda' if cuda.is_available() else 'cpu')"
        )


def no_accelerator(where):
    """Return the error for something that only an accelerator does."""
    return DeviceError(
        f"{where}: tensorlab computes on the processor and has no accelerator; ask is_available() first"
    )


class memory_format(str):
    """An order of a tensor's dimensions in memory; compared by name."""

    __slots__ = ()

    def __repr__(self):
        suffix = "_format" if self in ("contiguous", "preserve") else ""
        return f"tensorlab.{str.__str__(self)}{suffix}"

    __str__ = __repr__

    def __reduce__(self):
        return memory_format, (str.__str__(self),)


contiguous_format = memory_format("contiguous")
preserve_format = memory_format("preserve")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


class layout(str):
    """How elements are found: `strided` is the only way here."""

    __slots__ = ()

    def __repr__(self):
        return f"tensorlab.{str.__str__(self)}"

    __str__ = __repr__

    def __reduce__(self):
        return layout, (str.__str__(self),)


strided = layout("strided")
