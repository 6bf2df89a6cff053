"""Changing what a tensor is over: resize_, resize_as_, set_.

These look past autograd at the storage itself; a tensor that requires grad refuses them.
"""
from tensorlab._core.dispatch.dispatch cimport run_2, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport resize_tensor
from tensorlab._core.dtypes cimport NO_DTYPE, dtype_code, dtype_object, item_size
from tensorlab._core.graph.graph cimport bump_version, needs_grad, should_record
from tensorlab._core.graph.inplace cimport check_inplace
from tensorlab._core.layout cimport MAX_NDIM, contiguous_strides, extent, plain_ints, read_sizes, shape_text, ssize
from tensorlab._core.storage cimport BORROWED, Storage, new_storage
from tensorlab._core.tensor cimport (
    VIEW_DEFAULT, TensorBase, new_tensor, note_borrower, offset_of, set_layout, set_lazy_bits
)
from tensorlab.ops.memory_formats cimport as_ints

from tensorlab.errors import DTypeError, GradientError, MemoryLayoutError, ShapeError


# ---------------------------------------------------------------- resize_
cdef Op RESIZE_ = Op("resize_(Tensor(a!) x, int[] size) -> Tensor(a!)",
                     fixed="*, MemoryFormat? memory_format=None", records_itself=True)

@RESIZE_.compose
def resize_in_place(TensorBase x, size):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(size, sizes, "resize_"), i
    cdef bint same = ndim == x.ndim_
    for i in range(ndim):
        if sizes[i] < 0:
            raise ShapeError(f"resize_: size {sizes[i]} in {shape_text(ndim, sizes)} is negative; sizes must be at "
                             f"least 0")
        same = same and sizes[i] == x.sizes[i]
    if needs_grad(x) and x.counter is not None:         # an inference tensor has no history
        raise GradientError("resize_: a tensor that requires grad cannot be resized, because its history would no "
                            "longer fit; resize its detach()")
    check_inplace(x, False, "resize_")
    if not same:
        resize_tensor(x, ndim, sizes)
        bump_version(x)
    return x

def resize_(TensorBase self not None, *sizes, memory_format=None):
    """Give the tensor another shape, row-major, over its storage, which grows if it must.

    Elements keep their place in memory, so a shape with as many elements shows the same ones. New elements are zeros.

    Raises
    ------
    GradientError
        If the tensor requires grad.
    MemoryLayoutError
        If the storage must grow, but other tensors or NumPy arrays look at it, or it belongs to another object.

    >>> import tensorlab
    >>> tensorlab.tensor([1, 2, 3, 4]).resize_(2, 1)
    tensor([[1],
            [2]])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim
    if len(sizes) == 0:
        raise TypeError("resize_: sizes are needed, as in resize_(2, 3)")
    ndim = read_sizes(sizes, numbers, "resize_")
    return run_2(RESIZE_, self, as_ints(ndim, numbers))


def resize_as_(TensorBase input not None, TensorBase the_template not None, *, memory_format=None):
    """`resize_` to the shape of another tensor.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.arange(6.0).resize_as_(tensorlab.zeros(2, 2))
    tensor([[0., 1.],
            [2., 3.]])
    """
    return run_2(RESIZE_, input, as_ints(the_template.ndim_, the_template.sizes))


# ---------------------------------------------------------------- set_
cdef Op SET_ = Op("set_(Tensor(a!) x, Any source=None, int storage_offset=0, int[]? size=None, int[]? stride=None) -> Tensor(a!)",
                  aten=None, records_itself=True, counts_from_storage=True)

@SET_.compose
def set_in_place(TensorBase x, source, storage_offset, size, stride):
    if should_record(x):
        raise GradientError("set_: a tensor that requires grad cannot be given other memory; do it under no_grad, or "
                            "to its detach()")
    check_inplace(x, False, "set_")
    set_lazy_bits(x, 0)
    if isinstance(source, TensorBase):
        if (<TensorBase>source).dtype_ != x.dtype_:
            raise DTypeError(f"set_: the source has type {source.dtype}, but the tensor has "
                             f"{dtype_object(x.dtype_)}; they must be equal")
        if size is None:
            storage_offset, size, stride = offset_of(<TensorBase>source), source.shape, source.stride()
        source = (<TensorBase>source).storage_
    elif source is None:
        source = new_storage(0)
        size = (0,)
    elif not isinstance(source, Storage):
        raise TypeError(f"set_: source must be a Tensor or an UntypedStorage, not {type(source).__name__}")
    look_at(x, <Storage>source, storage_offset, size, stride, "set_")
    x.base = None                        # it is no view of its old base any more
    x.accumulator = NULL                 # a leaf's node is for gradients of the old shape; the next graph makes a new one
    x.creation = VIEW_DEFAULT
    bump_version(x)
    return x

def set_(TensorBase self not None, source=None, storage_offset=0, size=None, stride=None):
    """Make the tensor show other memory: that of a tensor, or a storage with a layout; nothing if no source is given.

    Parameters
    ----------
    source : Tensor of the same dtype, or UntypedStorage
    storage_offset : int; elements to the first one
    size, stride : tuple of int; for a storage all of its elements in one dimension, unless given

    Raises
    ------
    MemoryLayoutError
        If the layout reaches outside the storage.

    Examples
    --------
    >>> import tensorlab
    >>> x, y = tensorlab.zeros(2), tensorlab.arange(6.0)
    >>> x.set_(y).shape, x.data_ptr() == y.data_ptr()
    (tensorlab.Size([6]), True)
    """
    storage_offset, size, stride = plain_ints(storage_offset), plain_ints(size), plain_ints(stride)
    return run_tuple(SET_, (self, source, storage_offset, size, stride))


cdef int look_at(TensorBase x, Storage storage, ssize offset, object size, object stride, str where) except -1:
    """Give x a storage and a layout over it; without `size` all of it in one dimension."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef ssize reach
    cdef int ndim, i
    if size is None:
        size = (storage.nbytes_ // item_size[x.dtype_] - offset,)
    ndim = read_sizes(size, sizes, where)
    if stride is None:
        contiguous_strides(ndim, sizes, strides)
    elif read_sizes(stride, strides, where) != ndim:
        raise ShapeError(f"{where}: {ndim} sizes and {len(stride)} strides are given; each dimension needs one of both")
    for i in range(ndim):
        if sizes[i] < 0 or strides[i] < 0:
            raise ShapeError(f"{where}: sizes {shape_text(ndim, sizes)} and strides {shape_text(ndim, strides)} must "
                             f"be at least 0")
    reach = extent(ndim, sizes, strides)
    if offset < 0 or (reach > 0 and reach > storage.nbytes_ // item_size[x.dtype_] - offset):
        raise MemoryLayoutError(f"{where}: sizes {shape_text(ndim, sizes)} and strides {shape_text(ndim, strides)} "
                                f"from offset {offset} reach outside a storage of {storage.nbytes_} bytes")
    set_layout(x, ndim, sizes, strides)
    x.storage_ = storage
    if storage.guard == BORROWED:
        note_borrower(x)
    x.data_ = storage.address + offset * item_size[x.dtype_]
    return 0


def tensor_over(Storage storage not None, dtype, Py_ssize_t offset, size, stride):
    """A new tensor over a storage; how pickles and deep copies are put together. Like `set_`, it counts as a write."""
    cdef TensorBase x = new_tensor()
    x.dtype_ = dtype_code(dtype, NO_DTYPE)
    look_at(x, storage, offset, size, stride, "tensor_over")
    bump_version(x)
    return x
