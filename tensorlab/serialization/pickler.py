"""Writes objects as a pickle that PyTorch reads: with its names, and with tensors that name their storage."""

import io
import pickle
from collections import OrderedDict
from types import FunctionType

from .._core.device import device, layout, strided
from .._core.storage import Storage
from .._core.tensor import Size
from .._tensor import Tensor
from ..nn.parameter import Parameter, is_lazy
from ..ops.creation import zeros
from ..ops.pickling import bits_of
from . import names

__all__ = ["dumps"]

# PyTorch's names of ours.
NAMES = {
    names.rebuild_tensor_v2: ("torch._utils", "_rebuild_tensor_v2"),
    names.rebuild_tensor_v3: ("torch._utils", "_rebuild_tensor_v3"),
    names.rebuild_parameter: ("torch._utils", "_rebuild_parameter"),
    names.rebuild_parameter_with_state: ("torch._utils", "_rebuild_parameter_with_state"),
    names.rebuild_sparse_tensor: ("torch._utils", "_rebuild_sparse_tensor"),
    names.get_layout: ("torch.serialization", "_get_layout"),
    names.rebuild_nested_tensor: ("torch.nested._internal.nested_tensor", "_rebuild_njt"),
    names.NestedTensorOfFile: ("torch.nested._internal.nested_tensor", "NestedTensor"),
    names.rebuild_from_type: ("torch._tensor", "_rebuild_from_type_v2"),
    Tensor: ("torch", "Tensor"),
    Parameter: ("torch.nn.parameter", "Parameter"),
    Size: ("torch", "Size"),
    device: ("torch", "device"),
    **{dtype: ("torch", name) for name, dtype in names.BY_NAME.items()},
}
TYPE_OF_STORAGE = {
    kind.dtype: kind for kind in names.TABLE.values() if type(kind) is names.StorageType
}
DTYPE = type(names.BY_NAME["float32"])


class StoredAs:
    """Stands for a storage with a dtype; the pickle has its key instead."""

    def __init__(self, storage, dtype):
        self.storage, self.dtype = storage, dtype


class Pickler(pickle._Pickler):  # the one in Python: the one in C looks up each name that it writes
    """A pickler that collects the storages that it comes across."""

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages, self.keys = [], {}

    def save_global(self, obj, name=None):
        if type(obj) is names.StorageType:
            module, known = "torch" if obj.dtype else "torch.storage", obj.name
        else:
            module, known = NAMES.get(obj, (None, None))
        if known is None:
            super().save_global(obj, name)
            return
        self.write(pickle.GLOBAL + f"{module}\n{known}\n".encode())
        self.memoize(obj)

    dispatch = {**pickle._Pickler.dispatch, FunctionType: save_global}  # type: ignore[dict-item]  # noqa: RUF012

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            whole = is_lazy(obj) or hasattr(type(obj), "placements")  # one that several ranks hold
            return obj.__reduce_ex__(2) if whole else reduce_tensor(obj)
        if type(obj) is names.StorageType or type(obj) is DTYPE:
            return "a name"  # which save_global writes
        if isinstance(obj, device):
            return device, (str(obj),)
        if isinstance(obj, layout):
            return names.get_layout, (str(obj).replace("tensorlab.", "torch."),)
        return NotImplemented

    def persistent_id(self, obj):
        if type(obj) is Storage:
            obj = StoredAs(obj, None)
        if type(obj) is not StoredAs:
            return None
        place = obj.storage.data_ptr() or id(obj.storage), len(obj.storage)
        if place not in self.keys or not place[1]:
            self.keys[place] = str(len(self.storages))
            self.storages.append(obj.storage)
        size = 1 if obj.dtype is None else obj.dtype.itemsize
        kind = TYPE_OF_STORAGE[obj.dtype]
        return "storage", kind, self.keys[place], str(obj.storage.device), len(obj.storage) // size


def reduce_tensor(x):
    """Take a tensor apart as PyTorch does."""
    if x.is_meta:
        raise NotImplementedError(
            "save: a tensor on meta has no data; save its shape and dtype, or move it with to_empty first"
        )
    if x.layout != strided:
        return reduce_parts(x)
    state, rebuild = x.__dict__ or None, names.rebuild_tensor_v2
    storage = StoredAs(x.untyped_storage(), x.dtype)
    hooks = OrderedDict()
    if isinstance(x, Parameter):
        plain = x.detach()
        if state:
            return names.rebuild_parameter_with_state, (plain, x.requires_grad, hooks, state)
        return names.rebuild_parameter, (plain, x.requires_grad, hooks)
    parts = [storage, x.storage_offset(), tuple(x.shape), x.stride(), x.requires_grad, hooks]
    if x.dtype not in TYPE_OF_STORAGE:
        rebuild, parts = names.rebuild_tensor_v3, [x.untyped_storage(), *parts[1:], x.dtype]
    if bits := bits_of(x):
        parts.append(bits)
    if type(x) is not Tensor or state:
        return names.rebuild_from_type, (rebuild, type(x), tuple(parts), state)
    return rebuild, tuple(parts)


def reduce_parts(x):
    """Take apart a tensor that holds others: a sparse or a nested one."""
    if not x.is_nested:
        return names.rebuild_sparse_tensor, (x.layout, x.parts_of_file())
    lengths = x.sequence_lengths().tolist()
    parts = {
        "values": x.values(),
        "offsets": x.offsets(),
        "lengths": x.lengths(),
        "_ragged_idx": x._ragged_idx,
        # PyTorch keeps these numbers as the sizes of empty tensors
        "_metadata_cache": {
            "max_seqlen": zeros(max(lengths, default=0), 0),
            "min_seqlen": zeros(min(lengths, default=0), 0),
        },
        "requires_grad": x.requires_grad,
    }
    form = names.rebuild_nested_tensor, names.NestedTensorOfFile, (parts,), None
    return names.rebuild_from_type, form


def dumps(obj):
    """Return the pickle of an object, and the list of its storages."""
    out = io.BytesIO()
    pickler = Pickler(out)
    pickler.dump(obj)
    return out.getvalue(), pickler.storages
