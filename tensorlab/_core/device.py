"""Where tensors live and how they lie there: device, layout and memory_format.

PyTorch's programs name all three, so they exist, but there is little to choose: tensors live in
the memory that the processor addresses, on "meta" in no memory at all, or on a device that a
program has registered (devices.pyx); every layout is strided.
"""

import operator
import threading

from tensorlab._core.state.devices import device_names, get_default_device, set_default_device
from tensorlab.errors import DeviceError

# Accelerators, which programs name to see whether one is there.
ACCELERATORS = ("cuda", "hip", "hpu", "ipu", "mps", "mtia", "vulkan", "xla", "xpu")

outer_devices = threading.local()  # .defaults: what each `with device` block of a thread found


def is_plain_number(text):
    """0, or digits that do not begin with 0."""
    return text.isascii() and text.isdecimal() and (text == "0" or text[0] != "0")


class device:
    """A place where a tensor's elements could be.

    On "cpu" a tensor has its elements in memory. On "meta" it has none: it is a shape, a dtype and
    strides, and operations on it compute those of their results. So that a program can say
    `device("cuda" if cuda.is_available() else "cpu")`, or ask whether a tensor is on such a device,
    every other name that PyTorch knows makes a device, too. A tensor that is asked for on it is refused.

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
    >>> import tensorlab
    >>> with device("meta"):     # what is made here is made there
    ...     x = tensorlab.empty(1000000, 1000000)
    >>> x.sum(0)
    tensor(..., device='meta', size=(1000000,))
    """

    __slots__ = ("index", "type")

    def __init__(self, type, index=None):
        if isinstance(type, device) and index is None:
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
            if index is not None or not is_plain_number(number):
                raise RuntimeError(f"device: {type!r} is not a device; write 'cpu'")
            index = int(number)
        elif index is not None:
            index = checked_index(index)
        if name not in device_names() and name not in ACCELERATORS:
            raise RuntimeError(
                f"device: {type!r} is not a device; tensors are on "
                f"{' or '.join(map(repr, device_names()))}, and other names are {', '.join(ACCELERATORS)}. "
                f"A device of your own is there once register_backend(name, backend) has run "
                f"(tensorlab.utils.backend_registration)"
            )
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __enter__(self):
        if not hasattr(outer_devices, "defaults"):
            outer_devices.defaults = []
        outer_devices.defaults.append(set_default(self, "with device"))
        return self

    def __exit__(self, *error):
        set_default(outer_devices.defaults.pop(), "with device")
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


def checked_index(given):
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"device: index must be an int such as 0, not {given!r}")
    number = operator.index(given)
    if number < 0:
        raise RuntimeError(f"device: index is {number}, but devices are counted from 0")
    return number


CPU = device("cpu")
META = device("meta")


def device_code(given, where):
    """Return the code of a device (devices.pyx); None stands for the default.

    Raises
    ------
    DeviceError
        For a device that no tensor can be made on.
    """
    if given is None:
        return get_default_device()
    if given is CPU or given == "cpu":
        return 0
    given = device(given)
    name = given.type
    if name not in device_names():
        raise DeviceError(
            f"{where}: tensorlab computes on the processor, and {str(given)!r} is an accelerator; "
            f"choose it as in device('cuda' if cuda.is_available() else 'cpu')"
        )
    code = device_names().index(name)
    if code > 1 and given.index:
        raise DeviceError(
            f"{where}: {str(given)!r} is not there; there is one such device, '{name}:0'"
        )
    return code


def device_of_code(code):
    """Return the device of a code."""
    return CPU if code == 0 else META if code == 1 else device(device_names()[code], 0)


def check_device(given, where):
    """Raise unless tensors can be made on that device."""
    device_code(given, where)


def get_default():
    """Return the device where this thread makes tensors where none is named."""
    return device_of_code(get_default_device())


def set_default(given, where):
    """Make it the one, the processor for None; return the one before."""
    before = get_default()
    set_default_device(device_code(given or CPU, where))
    return before


def no_accelerator(where):
    """Return the error for something that only an accelerator does."""
    return DeviceError(
        f"{where}: tensorlab computes on the processor and has no accelerator; ask is_available() first"
    )


class memory_format(str):
    """An order of a tensor's dimensions in memory; compared by name.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(1, 3, 4, 4).contiguous(memory_format=tensorlab.channels_last)
    >>> x.stride()
    (48, 1, 12, 3)
    """

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
    """How elements are found: by strides (`strided`), or by the indices of those that are not 0.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2).layout, tensorlab.zeros(2).to_sparse().layout
    (tensorlab.strided, tensorlab.sparse_coo)
    """

    __slots__ = ()

    def __repr__(self):
        return f"tensorlab.{str.__str__(self)}"

    __str__ = __repr__

    def __reduce__(self):
        return layout, (str.__str__(self),)


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
