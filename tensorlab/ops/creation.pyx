"""New tensors: empty, zeros, ones, full, their *_like and new_* forms.

All are an allocation and a fill. What they share, their arguments and `out`, is in
factories.pyx.
"""
from cpython.float cimport PyFloat_CheckExact

from tensorlab._core.dispatch.dispatch cimport run_1, run_2, run_3, run_4, run_5
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport number_dtype
from tensorlab._core.dtypes cimport NO_DTYPE, default_float, dtype_code, dtype_object
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, read_sizes, ssize
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase, empty_tensor, pending_tensor
from tensorlab.ops.factories cimport (
    apply_flags, check_layout, check_like_layout, check_out, code_of, device_beside, device_or_default, dtype_beside,
    dtype_or_default, factory_sizes, given_size, factory_result, like_result, place_beside,
    read_number, start_out, strided_result
)
from tensorlab.ops.filling cimport FILL_, ZERO_, check_number, fill_number, fill_zero
from tensorlab.ops.memory_formats cimport format_strides
from tensorlab.ops.sparse.methods cimport empty_sparse, is_sparse_layout

from tensorlab._core.dispatch.op import LEAVES_MEMORY
from tensorlab.errors import ShapeError


# ---------------------------------------------------------------- empty, zeros, ones, full
cdef TensorBase new_unseen(object size, object dtype, object device, str where):
    """A new tensor on the cpu without the call of an op, which is two fifths of the time of a small `empty`; None if a layer
    is to see that call, or the device is another one."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim
    if active_layers or code_of(device, where) != ON_CPU:
        return None
    ndim = factory_sizes(size, sizes, where)
    return empty_tensor(dtype_code(dtype, default_float()), ndim, sizes)


cdef Op EMPTY = Op("empty(int[] size, *, ScalarType? dtype=None, Device? device=None, "
                   "MemoryFormat? memory_format=None) -> Tensor", aten="empty.memory_format")

@EMPTY.infer
def empty_infer(size, dtype, device, memory_format):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef const ssize* order = NULL
    cdef int ndim
    if memory_format is None:
        return factory_result(size, dtype, default_float(), device, "empty")
    ndim = factory_sizes(size, sizes, "empty")
    if format_strides(memory_format, None, ndim, sizes, strides, "empty"):
        order = strides
    return strided_result(dtype_code(dtype, default_float()), ndim, sizes, order, device,
                          "empty")

EMPTY.kernel(LEAVES_MEMORY)

def empty(*sizes, size=None, out=None, dtype=None, layout=None, device=None,
          bint requires_grad=False, pin_memory=False, memory_format=None):
    """A tensor whose values are whatever was in its memory.

    Parameters
    ----------
    sizes : ints, or one sequence of them
    out : Tensor, optional; it is resized and returned
    dtype : dtype; the default floating type unless given
    device : "cpu" or "meta" (see `device`)
    requires_grad : bool; autograd is to follow it
    memory_format : order of the dimensions in memory

    Raises
    ------
    ShapeError
        If a size is negative.

    >>> import tensorlab
    >>> tensorlab.empty(2, 3).shape
    tensorlab.Size([2, 3])
    """
    size = given_size(sizes, size, "empty")
    if layout is not None and is_sparse_layout(layout):
        return empty_sparse("empty", size, layout, dtype, device, requires_grad)
    check_layout(layout, "empty")
    if out is None:
        made = new_unseen(size, dtype, device, "empty") if memory_format is None else None
        if made is None:
            made = run_4(EMPTY, size, dtype_or_default(dtype), device_or_default(device),
                         memory_format)
        return apply_flags(made, requires_grad, "empty")
    if memory_format is not None:
        raise RuntimeError("empty: memory_format and out= are both given, but out= keeps its "
                           "own; leave one out")
    return apply_flags(start_out(size, out, dtype, device, requires_grad, "empty"),
                       requires_grad, "empty")


cdef Op ZEROS = Op("zeros(int[] size, *, ScalarType? dtype=None, Device? device=None) "
                   "-> Tensor",
                   fills_with=0)

@ZEROS.infer
def zeros_infer(size, dtype, device):
    return factory_result(size, dtype, default_float(), device, "zeros")

@ZEROS.kernel
def zeros_kernel(TensorBase out, size, dtype, device):
    fill_zero(out)

def zeros(*sizes, size=None, out=None, dtype=None, layout=None, device=None,
          bint requires_grad=False, pin_memory=False):
    """A tensor of zeros; its arguments are those of `empty`.

    >>> import tensorlab
    >>> tensorlab.zeros(2)
    tensor([0., 0.])
    """
    size = given_size(sizes, size, "zeros")
    if layout is not None and is_sparse_layout(layout):
        return empty_sparse("zeros", size, layout, dtype, device, requires_grad)
    check_layout(layout, "zeros")
    if out is None:
        made = new_unseen(size, dtype, device, "zeros")
        if made is not None:
            fill_zero(made)
        else:
            made = run_3(ZEROS, size, dtype_or_default(dtype), device_or_default(device))
    else:
        made = run_1(ZERO_, start_out(size, out, dtype, device, requires_grad, "zeros"))
    return apply_flags(made, requires_grad, "zeros")


cdef Op ONES = Op("ones(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
                  fills_with=1)

@ONES.infer
def ones_infer(size, dtype, device):
    return factory_result(size, dtype, default_float(), device, "ones")

@ONES.kernel
def ones_kernel(TensorBase out, size, dtype, device):
    fill_number(out, 1, "ones")

def ones(*sizes, size=None, out=None, dtype=None, layout=None, device=None,
         bint requires_grad=False, pin_memory=False):
    """A tensor of ones; its arguments are those of `empty`.

    >>> import tensorlab
    >>> tensorlab.ones(2, dtype=tensorlab.int64)
    tensor([1, 1])
    """
    size = given_size(sizes, size, "ones")
    check_layout(layout, "ones")
    if out is None:
        made = run_3(ONES, size, dtype_or_default(dtype), device_or_default(device))
    else:
        made = run_2(FILL_, start_out(size, out, dtype, device, requires_grad, "ones"), 1)
    return apply_flags(made, requires_grad, "ones")


cdef Op FULL = Op("full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, "
                  "Device? device=None) -> Tensor",
                  fills_with="fill_value")

@FULL.infer
def full_infer(size, fill_value, dtype, device):
    cdef object value = read_number(fill_value, "fill_value", "full", False)
    cdef int default = number_dtype(value) if dtype is None else NO_DTYPE
    cdef TensorBase out = factory_result(size, dtype, default, device, "full")
    check_number(value, out.dtype_, "full")
    return out

@FULL.kernel
def full_kernel(TensorBase out, size, fill_value, dtype, device):
    fill_number(out, read_number(fill_value, "fill_value", "full", False), "full")

cdef object full_size(object size, str where):
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"{where}: size must be a tuple of ints, not {type(size).__name__}; "
                        f"write ({size},)")
    return plain_ints(size)

def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None,
         bint requires_grad=False, pin_memory=False):
    """A tensor with the same number everywhere.

    Parameters
    ----------
    size : sequence of int
    fill_value : number; decides the dtype unless that is given: bool, int64 or the default
        floating type

    Raises
    ------
    DTypeError
        If the number does not fit in `dtype`.

    >>> import tensorlab
    >>> tensorlab.full((2,), 7)
    tensor([7, 7])
    """
    cdef object value = read_number(fill_value, "fill_value", "full", False)
    size = full_size(size, "full")
    check_layout(layout, "full")
    if out is None:
        if PyFloat_CheckExact(value):
            dtype = dtype_or_default(dtype)
        made = run_4(FULL, size, value, dtype, device_or_default(device))
    else:
        check_number(value, check_out(out, dtype, device, requires_grad, "full").dtype_, "full")
        made = run_2(FILL_, start_out(size, out, dtype, device, requires_grad, "full"), value)
    return apply_flags(made, requires_grad, "full")


def scalar_tensor(s, *, dtype=None, layout=None, device=None, bint requires_grad=False,
                  pin_memory=False):
    """A 0-d tensor with the value of a number, of the default floating type unless `dtype` is
    given.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.scalar_tensor(3)
    tensor(3.)
    """
    cdef object value = read_number(s, "s", "scalar_tensor", False)
    check_layout(layout, "scalar_tensor")
    if dtype is None:
        dtype = dtype_object(default_float())
    made = run_4(FULL, (), value, dtype, device_or_default(device))
    return apply_flags(made, requires_grad, "scalar_tensor")


cdef TensorBase full_beside(TensorBase x, object value):
    """A 0-d tensor of x's dtype and device."""
    return run_4(FULL, (), value, dtype_beside(x, None), device_beside(x, None))


# ---------------------------------------------------------------- empty_strided
cdef int read_layout(object size, object stride, ssize* sizes, ssize* strides,
                     str where) except -1:
    """Read sizes and as many strides; returns how many."""
    cdef int i, ndim
    if not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        raise TypeError(f"{where}: size and stride must be tuples of ints")
    ndim = factory_sizes(size, sizes, where)
    if read_sizes(stride, strides, where) != ndim:
        raise ShapeError(f"{where}: {ndim} sizes and {len(stride)} strides are given; each "
                         f"dimension needs one of both")
    for i in range(ndim):
        if strides[i] < 0:
            raise ShapeError(f"{where}: stride {strides[i]} is negative; strides must be at "
                             f"least 0")
    return ndim


cdef Op EMPTY_STRIDED = Op("empty_strided(int[] size, int[] stride, *, ScalarType? dtype=None, "
                           "Device? device=None) -> Tensor")

@EMPTY_STRIDED.infer
def empty_strided_infer(size, stride, dtype, device):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int ndim = read_layout(size, stride, sizes, strides, "empty_strided")
    return strided_result(dtype_code(dtype, default_float()), ndim, sizes, strides, device,
                          "empty_strided")

EMPTY_STRIDED.kernel(LEAVES_MEMORY)

def empty_strided(size, stride, *, dtype=None, layout=None, device=None,
                  bint requires_grad=False, pin_memory=False):
    """A tensor with these sizes and strides, whose values are whatever was in its memory.

    Raises
    ------
    ShapeError
        If a size or a stride is negative, or their numbers differ.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.empty_strided((2, 3), (1, 2))
    >>> x.shape, x.stride(), x.is_contiguous()
    (tensorlab.Size([2, 3]), (1, 2), False)
    """
    check_layout(layout, "empty_strided")
    dtype, device = dtype_or_default(dtype), device_or_default(device)
    made = run_4(EMPTY_STRIDED, plain_ints(size), plain_ints(stride), dtype, device)
    return apply_flags(made, requires_grad, "empty_strided")


# ---------------------------------------------------------------- like another tensor
cdef str LIKE = ("*, ScalarType? dtype=None, Device? device=None, "
                 "MemoryFormat? memory_format=None) -> Tensor")
cdef Op EMPTY_LIKE = Op("empty_like(Tensor x, " + LIKE)
cdef Op ZEROS_LIKE = Op("zeros_like(Tensor x, " + LIKE,
                        fills_with=0)
cdef Op ONES_LIKE = Op("ones_like(Tensor x, " + LIKE,
                       fills_with=1)
cdef Op FULL_LIKE = Op("full_like(Tensor x, Scalar fill_value, " + LIKE,
                       fills_with="fill_value")

@EMPTY_LIKE.infer
def empty_like_infer(TensorBase x, dtype, device, memory_format):
    return like_result(x, dtype, device, memory_format, "empty_like")

EMPTY_LIKE.kernel(LEAVES_MEMORY)

@ZEROS_LIKE.infer
def zeros_like_infer(TensorBase x, dtype, device, memory_format):
    return like_result(x, dtype, device, memory_format, "zeros_like")

@ZEROS_LIKE.kernel
def zeros_like_kernel(TensorBase out, x, dtype, device, memory_format):
    fill_zero(out)

@ONES_LIKE.infer
def ones_like_infer(TensorBase x, dtype, device, memory_format):
    return like_result(x, dtype, device, memory_format, "ones_like")

@ONES_LIKE.kernel
def ones_like_kernel(TensorBase out, x, dtype, device, memory_format):
    fill_number(out, 1, "ones_like")

@FULL_LIKE.infer
def full_like_infer(TensorBase x, fill_value, dtype, device, memory_format):
    cdef TensorBase out = like_result(x, dtype, device, memory_format, "full_like")
    check_number(read_number(fill_value, "fill_value", "full_like", False), out.dtype_, "full_like")
    return out

@FULL_LIKE.kernel
def full_like_kernel(TensorBase out, x, fill_value, dtype, device, memory_format):
    fill_number(out, read_number(fill_value, "fill_value", "full_like", False), "full_like")


def empty_like(TensorBase input not None, *, dtype=None, layout=None, device=None,
               bint requires_grad=False, pin_memory=False, memory_format=None):
    """`empty` of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise.

    Parameters
    ----------
    input : Tensor
    dtype : dtype, that of `input` if not given
    layout : layout, that of `input` if not given
    device : "cpu", "meta" or None for that of `input`
    requires_grad : bool
    memory_format : preserve_format keeps the order of dimensions in memory

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.empty_like(x).shape
    tensorlab.Size([2, 2])
    """
    if layout is not None and layout != input.layout:
        if is_sparse_layout(layout):
            return empty_sparse("empty_like", input, layout, dtype or input.dtype, device, requires_grad)
        if input.keys:
            return zeros(input.shape, dtype=dtype or input.dtype, device=device, layout=layout, requires_grad=requires_grad)
    check_like_layout(input, layout, "empty_like")
    return apply_flags(run_4(EMPTY_LIKE, input, dtype, device, memory_format), requires_grad,
                       "empty_like")


def zeros_like(TensorBase input not None, *, dtype=None, layout=None, device=None,
               bint requires_grad=False, pin_memory=False, memory_format=None):
    """Zeros of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise.

    Parameters
    ----------
    input : Tensor
    dtype : dtype, that of `input` if not given
    layout : layout, that of `input` if not given
    device : "cpu", "meta" or None for that of `input`
    requires_grad : bool
    memory_format : preserve_format keeps the order of dimensions in memory

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.zeros_like(x)
    tensor([[0., 0.],
            [0., 0.]])
    """
    if layout is not None and layout != input.layout:
        if is_sparse_layout(layout):
            return empty_sparse("zeros_like", input, layout, dtype or input.dtype, device, requires_grad)
        if input.keys:
            return zeros(input.shape, dtype=dtype or input.dtype, device=device, layout=layout, requires_grad=requires_grad)
    check_like_layout(input, layout, "zeros_like")
    return apply_flags(run_4(ZEROS_LIKE, input, dtype, device, memory_format), requires_grad,
                       "zeros_like")


def ones_like(TensorBase input not None, *, dtype=None, layout=None, device=None,
              bint requires_grad=False, pin_memory=False, memory_format=None):
    """Ones of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise.

    Parameters
    ----------
    input : Tensor
    dtype : dtype, that of `input` if not given
    layout : layout, that of `input` if not given
    device : "cpu", "meta" or None for that of `input`
    requires_grad : bool
    memory_format : preserve_format keeps the order of dimensions in memory

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.ones_like(x, dtype=tensorlab.int64)
    tensor([[1, 1],
            [1, 1]])
    """
    check_like_layout(input, layout, "ones_like")
    return apply_flags(run_4(ONES_LIKE, input, dtype, device, memory_format), requires_grad,
                       "ones_like")


def full_like(TensorBase input not None, fill_value, *, dtype=None, layout=None, device=None,
              bint requires_grad=False, pin_memory=False, memory_format=None):
    """One number everywhere, in the shape of `input`, and of its dtype and order of dimensions
    unless told otherwise.

    Parameters
    ----------
    input : Tensor
    fill_value : number
    dtype : dtype, that of `input` if not given
    layout : layout, that of `input` if not given
    device : "cpu", "meta" or None for that of `input`
    requires_grad : bool
    memory_format : preserve_format keeps the order of dimensions in memory

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.full_like(x, 7.0)
    tensor([[7., 7.],
            [7., 7.]])
    """
    cdef object value = read_number(fill_value, "fill_value", "full_like", False)
    check_like_layout(input, layout, "full_like")
    return apply_flags(run_5(FULL_LIKE, input, value, dtype, device, memory_format),
                       requires_grad, "full_like")


# ---------------------------------------------------------------- with another tensor's dtype
# Ops of their own, so that a layer sees the tensor that they are made beside.
cdef Op NEW_EMPTY = Op("new_empty(Tensor x, int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
cdef Op NEW_ZEROS = Op("new_zeros(Tensor x, int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
                       fills_with=0)
cdef Op NEW_ONES = Op("new_ones(Tensor x, int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
                      fills_with=1)
cdef Op NEW_FULL = Op("new_full(Tensor x, int[] size, Scalar fill_value, *, ScalarType? dtype=None, "
                      "Device? device=None) -> Tensor",
                      fills_with="fill_value")
cdef Op NEW_EMPTY_STRIDED = Op("new_empty_strided(Tensor x, int[] size, int[] stride, *, "
                               "ScalarType? dtype=None, Device? device=None) -> Tensor")

cdef TensorBase new_result(TensorBase x, object size, object dtype, object device, str where):
    """What they infer: a row-major result of x's dtype and on its device, unless told otherwise."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = factory_sizes(size, sizes, where)
    return pending_tensor(place_beside(x, device, where), dtype_code(dtype, x.dtype_), ndim, sizes,
                          NULL)

@NEW_EMPTY.infer
def new_empty_infer(TensorBase x, size, dtype, device):
    return new_result(x, size, dtype, device, "new_empty")

NEW_EMPTY.kernel(LEAVES_MEMORY)

@NEW_ZEROS.infer
def new_zeros_infer(TensorBase x, size, dtype, device):
    return new_result(x, size, dtype, device, "new_zeros")

@NEW_ZEROS.kernel
def new_zeros_kernel(TensorBase out, x, size, dtype, device):
    fill_zero(out)

@NEW_ONES.infer
def new_ones_infer(TensorBase x, size, dtype, device):
    return new_result(x, size, dtype, device, "new_ones")

@NEW_ONES.kernel
def new_ones_kernel(TensorBase out, x, size, dtype, device):
    fill_number(out, 1, "new_ones")

@NEW_FULL.infer
def new_full_infer(TensorBase x, size, fill_value, dtype, device):
    cdef TensorBase out = new_result(x, size, dtype, device, "new_full")
    check_number(read_number(fill_value, "fill_value", "new_full", False), out.dtype_, "new_full")
    return out

@NEW_FULL.kernel
def new_full_kernel(TensorBase out, x, size, fill_value, dtype, device):
    fill_number(out, read_number(fill_value, "fill_value", "new_full", False), "new_full")

@NEW_EMPTY_STRIDED.infer
def new_empty_strided_infer(TensorBase x, size, stride, dtype, device):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int ndim = read_layout(size, stride, sizes, strides, "new_empty_strided")
    return pending_tensor(place_beside(x, device, "new_empty_strided"),
                          dtype_code(dtype, x.dtype_), ndim, sizes, strides)

NEW_EMPTY_STRIDED.kernel(LEAVES_MEMORY)


def new_empty(TensorBase self not None, *sizes, size=None, dtype=None, layout=None, device=None,
              bint requires_grad=False, pin_memory=False):
    """`empty` of the dtype of `self`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(3).new_empty(2, 3)
    >>> x.shape, x.dtype
    (tensorlab.Size([2, 3]), tensorlab.int64)
    """
    size = given_size(sizes, size, "new_empty")
    check_like_layout(self, layout, "new_empty")
    return apply_flags(run_4(NEW_EMPTY, self, size, dtype, device), requires_grad, "new_empty")


def new_zeros(TensorBase self not None, *sizes, size=None, dtype=None, layout=None, device=None,
              bint requires_grad=False, pin_memory=False):
    """`zeros` of the dtype of `self`.

    Parameters
    ----------
    *sizes : int, or one sequence of int
    dtype : dtype, that of `self` if not given
    device : "cpu", "meta" or None for that of `self`
    requires_grad : bool

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.new_zeros(2)
    tensor([0., 0.])
    """
    size = given_size(sizes, size, "new_zeros")
    check_like_layout(self, layout, "new_zeros")
    return apply_flags(run_4(NEW_ZEROS, self, size, dtype, device), requires_grad, "new_zeros")


def new_ones(TensorBase self not None, *sizes, size=None, dtype=None, layout=None, device=None,
             bint requires_grad=False, pin_memory=False):
    """`ones` of the dtype of `self`.

    Parameters
    ----------
    *sizes : int, or one sequence of int
    dtype : dtype, that of `self` if not given
    device : "cpu", "meta" or None for that of `self`
    requires_grad : bool

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.new_ones(2)
    tensor([1., 1.])
    """
    size = given_size(sizes, size, "new_ones")
    check_like_layout(self, layout, "new_ones")
    return apply_flags(run_4(NEW_ONES, self, size, dtype, device), requires_grad, "new_ones")


def new_full(TensorBase self not None, size, fill_value, *, dtype=None, layout=None,
             device=None, bint requires_grad=False, pin_memory=False):
    """`full` of the dtype of `self`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.arange(3.0).new_full((2, 2), 7)
    tensor([[7., 7.],
            [7., 7.]])
    """
    cdef object value = read_number(fill_value, "fill_value", "new_full", False)
    size = full_size(size, "new_full")
    check_layout(layout, "new_full")
    return apply_flags(run_5(NEW_FULL, self, size, value, dtype, device), requires_grad, "new_full")


def new_empty_strided(TensorBase self not None, size, stride, *, dtype=None, layout=None,
                      device=None, bint requires_grad=False, pin_memory=False):
    """`empty_strided` of the dtype of `self`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(3).new_empty_strided((2, 3), (1, 2))
    >>> x.stride(), x.dtype
    ((1, 2), tensorlab.int64)
    """
    check_layout(layout, "new_empty_strided")
    made = run_5(NEW_EMPTY_STRIDED, self, plain_ints(size), plain_ints(stride), dtype, device)
    return apply_flags(made, requires_grad, "new_empty_strided")
