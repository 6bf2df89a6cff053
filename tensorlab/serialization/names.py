"""What the names in a checkpoint stand for: files name PyTorch's classes and functions, also those written here.

A file is read with this table alone. A name that is not in it, or that a program has not allowed by
`add_safe_globals`, is never imported.
"""

import collections
import contextlib
import importlib

from .._core.device import device, layout
from .._core.dtypes import BY_NAME
from .._core.tensor import Size
from .._tensor import Tensor
from ..errors import FileFormatError
from ..nn.parameter import Parameter
from ..ops.creation import empty_strided
from ..ops.pickling import with_bits
from ..ops.resizing import tensor_over

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "safe_globals",
]

LAYOUTS = (
    *("strided", "jagged"),
    *("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"),
)
STORAGES = {  # the class that a file names for the bytes of a dtype
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
AS_FLOAT = "save x.dequantize()"
NOT_HERE = {  # names for what PyTorch has and there is not here: what it is, and what to do in PyTorch
    "torch.QInt8Storage": ("qint8 numbers", AS_FLOAT),
    "torch.QUInt8Storage": ("quint8 numbers", AS_FLOAT),
    "torch.QInt32Storage": ("qint32 numbers", AS_FLOAT),
    **{f"torch.{kind}": (f"{kind} numbers", AS_FLOAT) for kind in ("qint8", "quint8", "qint32")},
    "torch._utils._rebuild_qtensor": ("quantized numbers", AS_FLOAT),
    "torch._utils._rebuild_nested_tensor": (
        "nested tensors of the strided layout",
        "save x.unbind(), or make them with layout=torch.jagged",
    ),
}


def refuse_missing(module, name):
    """Raise FileFormatError if this names what PyTorch has and there is not here."""
    known = NOT_HERE.get(f"{module}.{name}")
    if known is not None:
        what, remedy = known
        raise FileFormatError(
            f"load: the file holds {what}, which are not supported yet. In PyTorch, {remedy}"
        )


class StorageType:
    """A class of storages in a file: its name, and the dtype of what it holds (None: bytes)."""

    def __init__(self, name, dtype):
        self.name: str = name
        self.dtype: object = dtype

    def __repr__(self):
        return f"torch.{self.name}"


def rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata=None):
    """Return a tensor over a storage that was read; `storage` is (bytes, dtype)."""
    data, dtype = storage
    x = with_bits(tensor_over(data, dtype, offset, tuple(size), tuple(stride)), metadata)
    return x.requires_grad_(requires_grad) if requires_grad else x


def rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    """Return a tensor over a storage that was read, for dtypes that have no class of storages."""
    return rebuild_tensor_v2((storage, dtype), offset, size, stride, requires_grad, hooks, metadata)


def rebuild_tensor(storage, offset, size, stride):
    """Return a tensor over a storage that was read, for files of the first versions."""
    return rebuild_tensor_v2(storage, offset, size, stride, False, None)


def rebuild_meta_tensor(dtype, size, stride, requires_grad):
    """Return a tensor on meta, which has no storage in the file."""
    x = empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return x.requires_grad_(requires_grad)


def rebuild_parameter(data, requires_grad, hooks):
    return Parameter(data, requires_grad)


def rebuild_parameter_with_state(data, requires_grad, hooks, state):
    return with_attributes(Parameter(data, requires_grad), state)


def rebuild_from_type(function, kind, args, state):
    made = function(*args)
    if kind is NestedTensorOfFile:  # the state has its parts once more
        return made
    if type(made) is not kind:
        made = made.as_subclass(kind)
    return with_attributes(made, state)


class NestedTensorOfFile:
    """Stands for the class of nested tensors, which is imported when a file holds one."""


class CompilerNote:
    """What PyTorch's compiler notes of a nested tensor in a file; it isn't read."""

    def __setstate__(self, state):
        """Leave out what is noted."""


def get_layout(name):
    """Return a layout by PyTorch's name of it, such as "torch.sparse_coo"."""
    if name.removeprefix("torch.") not in LAYOUTS:
        raise ValueError(f"{name!r} is no layout")
    return layout(name.removeprefix("torch."))


def rebuild_dtensor(*parts):
    """Return a tensor that several ranks hold; the package for it is imported when a file has one."""
    package = importlib.import_module("tensorlab.distributed.tensor.tensors")
    return package.rebuild_dtensor(*parts)


def rebuild_sparse_tensor(kind, data):
    """Return a sparse tensor of its layout and its parts, which are checked."""
    from ..sparse.creation import sparse_compressed_tensor, sparse_coo_tensor

    if kind != "sparse_coo":
        return sparse_compressed_tensor(*data, layout=kind, check_invariants=True)
    indices, values, size, *is_coalesced = data
    known = is_coalesced[0] if is_coalesced else None
    return sparse_coo_tensor(indices, values, size, is_coalesced=known, check_invariants=True)


def rebuild_nested_tensor(parts):
    """Return a nested tensor of the parts that PyTorch's has."""
    from ..nested.creation import nested_tensor_from_jagged

    made = nested_tensor_from_jagged(
        parts["values"], parts["offsets"], parts["lengths"], jagged_dim=parts["_ragged_idx"]
    )
    return made.requires_grad_(parts["requires_grad"])


def with_attributes(made, state):
    """Set what a tensor had as attributes: a dict, or a dict and the slots."""
    parts = state if isinstance(state, tuple) else (state,)
    for part in parts:
        for name, value in (part or {}).items():
            setattr(made, name, value)
    return made


def encode(text, encoding):
    """Bytes, which protocol 2 writes as text."""
    if encoding != "latin1":
        raise ValueError(f"bytes are encoded as {encoding!r}; expected 'latin1'")
    return text.encode("latin1")


def plain_bytes(data=b""):
    """Some bytes; of a number, Python would make as many as a file asks for."""
    if not isinstance(data, bytes):
        raise ValueError(f"bytes are made of a {type(data).__name__}; expected bytes")
    return data


def changeable_bytes(data=b""):
    """Some bytes as a bytearray; of a number, Python would make as many as a file asks for."""
    return bytearray(plain_bytes(data))


TABLE: dict = {
    "torch._utils._rebuild_tensor_v2": rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": rebuild_tensor_v3,
    "torch._utils._rebuild_tensor": rebuild_tensor,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": rebuild_from_type,
    "torch._utils._rebuild_sparse_tensor": rebuild_sparse_tensor,
    "torch.serialization._get_layout": get_layout,
    "torch.nested._internal.nested_tensor._rebuild_njt": rebuild_nested_tensor,
    "torch.nested._internal.nested_tensor.NestedTensor": NestedTensorOfFile,
    "torch._dynamo.decorators._DimRange": CompilerNote,
    "tensorlab.distributed.tensor.tensors.rebuild_dtensor": rebuild_dtensor,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.Tensor": Tensor,
    "torch.Size": Size,
    "torch.device": device,
    "torch.UntypedStorage": StorageType("UntypedStorage", None),
    "torch.storage.UntypedStorage": StorageType("UntypedStorage", None),
    "collections.OrderedDict": collections.OrderedDict,
    "collections.Counter": collections.Counter,
    "_codecs.encode": encode,
    **{
        f"{module}.{kind.__name__}": kind
        for module in ("builtins", "__builtin__")
        for kind in (set, frozenset, complex)
    },
    "builtins.bytearray": changeable_bytes,
    "__builtin__.bytearray": changeable_bytes,
    "builtins.bytes": plain_bytes,
    "__builtin__.bytes": plain_bytes,
    **{f"torch.{name}": dtype for name, dtype in BY_NAME.items()},
    **{f"torch.{name}": StorageType(name, BY_NAME[dtype]) for name, dtype in STORAGES.items()},
}
# What may be called: classes and functions of the table; dtypes and storages are only values.
CALLABLE = {
    *(value for value in TABLE.values() if callable(value)),
}
allowed: dict = {}  # names that the program has allowed, and what they stand for
own: dict = {}  # the same for classes in files that a part of the package writes


def name_of(thing):
    """Return the dotted name under which a file has a class or function."""
    return f"{thing.__module__}.{thing.__qualname__}"


def add_safe_globals(safe_globals):
    """Allow classes and functions in files that are loaded with `weights_only=True`.

    Parameters
    ----------
    safe_globals : list of classes and functions, or of pairs of one and its name in files; a
        file can call them with arguments of its choice, so allow only what is harmless then

    Examples
    --------
    >>> import fractions
    >>> import io
    >>> import tensorlab
    >>> file = io.BytesIO()
    >>> tensorlab.save(fractions.Fraction(1, 3), file)
    >>> _ = file.seek(0)
    >>> with safe_globals([]):  # at its end, what is added within is forgotten
    ...     add_safe_globals([fractions.Fraction])
    ...     print(tensorlab.load(file))
    1/3
    """
    for entry in safe_globals:
        thing, name = entry if isinstance(entry, tuple) else (entry, name_of(entry))
        allowed[name] = thing


def add_own_classes(classes):
    """Allow classes of the package in its own files; no program sees them, or can forget them."""
    own.update((name_of(one), one) for one in classes)


def get_safe_globals():
    """Return the list of what `add_safe_globals` has allowed.

    Examples
    --------
    >>> import fractions
    >>> with safe_globals([fractions.Fraction]):
    ...     print(get_safe_globals()[-1])
    <class 'fractions.Fraction'>
    """
    return [thing if name == name_of(thing) else (thing, name) for name, thing in allowed.items()]


def clear_safe_globals():
    """Forget what `add_safe_globals` has allowed.

    Examples
    --------
    >>> import fractions
    >>> with safe_globals([fractions.Fraction]):  # at its end, what was allowed before is again
    ...     clear_safe_globals()
    ...     print(get_safe_globals())
    []
    """
    allowed.clear()


@contextlib.contextmanager
def safe_globals(safe_globals):
    """Allow classes and functions while the context is active, as `add_safe_globals` does.

    Examples
    --------
    >>> import fractions
    >>> import io
    >>> import tensorlab
    >>> file = io.BytesIO()
    >>> tensorlab.save(fractions.Fraction(1, 3), file)
    >>> _ = file.seek(0)
    >>> with safe_globals([fractions.Fraction]):
    ...     print(tensorlab.load(file))
    1/3
    """
    before = dict(allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        allowed.clear()
        allowed.update(before)
