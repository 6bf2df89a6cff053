"""New tensors: empty, zeros, ones, full, their *_like and new_* forms.

All are an allocation and a fill. They share their arguments (`dtype`, `device`, `requires_grad`, `out`), which
`start_factory` reads.
"""
from cpython.long cimport PyLong_Check

from tensorlab._core.dispatch cimport run_tuple
from tensorlab._core.modes cimport active_layers
from tensorlab._core.op cimport Op
from tensorlab._core.operands cimport as_number, number_dtype, refuse_internal_overlap, resize_tensor, same_numbers
from tensorlab._core.dtypes cimport NO_DTYPE, default_float, dtype_code, dtype_object, is_differentiable
from tensorlab._core.graph cimport bump_version, should_record
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, read_sizes, shape_text, ssize
from tensorlab._core.out_argument cimport store_out
from tensorlab._core.placement cimport is_meta_by_default
from tensorlab._core.tensor cimport (
    TensorBase,
    check_writable,
    empty_beside,
    empty_like as empty_tensor_like,
    empty_strided_tensor,
    empty_tensor,
    is_meta,
    meta_tensor,
    tensor_class,
)
from tensorlab.ops.filling cimport check_number, fill_number, fill_zero
from tensorlab.ops.memory_formats cimport as_ints, format_strides

from tensorlab._core.device import CPU, META, check_device, is_meta_device
from tensorlab._core.device import strided as strided_layout
from tensorlab._core.exchange import tensor as make_tensor
from tensorlab._core.subclass import make_subclass
from tensorlab._core.tensor import Size
from tensorlab.errors import DTypeError, GradientError, ShapeError


# ---------------------------------------------------------------- what all factories share
cdef int check_sizes(int ndim, const ssize* sizes, str where) except -1:
    cdef int i
    for i in range(ndim):
        if sizes[i] < 0:
            raise ShapeError(f"{where}: size {sizes[i]} in {shape_text(ndim, sizes)} is negative; sizes must be at "
                             f"least 0")
    return 0


cdef object given_size(tuple given, object size, str where):
    """The sizes of f(2, 3), f((2, 3)) or f(size=(2, 3)), as an op gets them, which checks them."""
    if size is not None:
        if given:
            raise TypeError(f"{where}: sizes are given twice, by position and as size=")
        given = (size,)
    elif len(given) == 0:
        raise TypeError(f"{where}: a size is needed, as in {where}(2, 3); {where}(()) makes a 0-d tensor")
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return plain_ints(given[0])
    return plain_ints(given)


cdef int factory_sizes(tuple given, object size, ssize* sizes, str where) except -1:
    """The same as numbers; returns how many."""
    cdef int ndim = read_sizes(given_size(given, size, where), sizes, where)
    check_sizes(ndim, sizes, where)
    return ndim


cdef bint check_place(object layout, object device, str where) except -1:
    """Is the tensor to be made on "meta"?"""
    if layout is not None and layout is not strided_layout:
        raise RuntimeError(f"{where}: every tensor is strided here; leave layout= out")
    return is_meta_by_default() if device is None else is_meta_device(device, where)


cdef object place_beside(TensorBase x, object device):
    """Where a tensor like x is made: on x's device unless another is named."""
    return device if device is not None else META if is_meta(x) else CPU


cdef TensorBase make_empty(bint on_meta, int dtype, int ndim, const ssize* sizes, const ssize* strides):
    """A new tensor; `strides` may be NULL for a row-major one."""
    if on_meta:
        return meta_tensor(dtype, ndim, sizes, strides)
    return empty_tensor(dtype, ndim, sizes) if strides == NULL else empty_strided_tensor(dtype, ndim, sizes, strides)


cdef int check_flags(int dtype, bint requires_grad, str where) except -1:
    if requires_grad and not is_differentiable(dtype):
        raise GradientError(f"{where}: only floating tensors can require grad, not {dtype_object(dtype)}")
    return 0


cdef TensorBase apply_flags(TensorBase out, bint requires_grad, str where):
    if requires_grad:
        check_flags(out.dtype_, requires_grad, where)
        out.wants_grad = True
    return out


cdef TensorBase start_factory(int ndim, const ssize* sizes, object out, object dtype, int default, object layout,
                              object device, bint requires_grad, str where):
    """The tensor that a factory fills: a new one, or the caller's `out`, resized."""
    cdef TensorBase target
    cdef bint on_meta = check_place(layout, device, where)
    if out is None:
        return apply_flags(make_empty(on_meta, dtype_code(dtype, default), ndim, sizes, NULL), requires_grad, where)
    target = start_out(ndim, sizes, out, dtype, requires_grad, where)
    bump_version(target)
    return apply_flags(target, requires_grad, where)


cdef TensorBase start_out(int ndim, const ssize* sizes, object out, object dtype, bint requires_grad, str where):
    """The caller's `out`, resized, for an op that then writes to it. (The caller applies the flags, after that.)"""
    cdef TensorBase target
    cdef int code
    if not isinstance(out, TensorBase):
        raise TypeError(f"{where}: out must be a Tensor, not {type(out).__name__}")
    target = <TensorBase>out
    code = dtype_code(dtype, target.dtype_)
    if code != target.dtype_:
        raise DTypeError(f"{where}: dtype {dtype_object(code)} is asked for, but out has {target.dtype}")
    check_writable(target, where)
    if should_record(target):
        raise GradientError(f"{where}: out= requires grad, and such a call cannot be differentiated; leave out= "
                            f"away, or call it under no_grad")
    check_flags(code, requires_grad, where)
    if target.ndim_ != ndim or not same_numbers(ndim, target.sizes, sizes):
        resize_tensor(target, ndim, sizes)
    return target


cdef object finish_factory(object made, object out, bint requires_grad, str where):
    """What a factory returns: the tensor that its op made, or the caller's `out` with the same values."""
    cdef TensorBase target, source
    if out is None:
        return apply_flags(made, True, where) if requires_grad else made
    if isinstance(out, TensorBase):
        refuse_internal_overlap(<TensorBase>out, where)
    source = <TensorBase?>made
    target = start_out(source.ndim_, source.sizes, out, made.dtype, requires_grad, where)
    (<object>target).copy_(made)
    return apply_flags(target, requires_grad, where)


# ---------------------------------------------------------------- the ops: what layers see of factories
# A factory calls its op only while layers are active: autograd has nothing to do here.
cdef object run_factory(Op op, tuple arguments, object out, object dtype, int default, object layout, object device,
                        bint requires_grad):
    """Call an op with these arguments, and with dtype and device, which are its last ones."""
    cdef bint on_meta = check_place(layout, device, op.name)
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase target, made
    if out is None:
        made = run_tuple(op, (*arguments, dtype_object(dtype_code(dtype, default)), META if on_meta else CPU))
        return apply_flags(made, requires_grad, op.name)
    target = start_out(read_sizes(arguments[0], sizes, op.name), sizes, out, dtype, requires_grad, op.name)
    made = run_tuple(op, (*arguments, target.dtype, META if is_meta(target) else CPU))
    return apply_flags(store_out(op.name, made, target, ()), requires_grad, op.name)


cdef object run_like(Op op, tuple arguments, object dtype, object layout, object device, bint requires_grad,
                     object memory_format):
    check_place(layout, device, op.name)
    return apply_flags(run_tuple(op, (*arguments, dtype, device, memory_format)), requires_grad, op.name)


cdef TensorBase start_kernel(object size, object dtype, int default, object device, str where):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(size, sizes, where)
    check_sizes(ndim, sizes, where)
    return start_factory(ndim, sizes, None, dtype, default, None, device, False, where)


cdef Op EMPTY = Op("empty(int[] size, *, MemoryFormat? memory_format=None, ScalarType? dtype=None, Device? device=None) "
                   "-> Tensor")

cdef TensorBase empty_kernel(object size, object memory_format, object dtype, object device):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int ndim
    if memory_format is None:
        return start_kernel(size, dtype, default_float(), device, "empty")
    ndim = read_sizes(size, sizes, "empty")
    check_sizes(ndim, sizes, "empty")
    if not format_strides(memory_format, None, ndim, sizes, strides, "empty"):
        return start_kernel(size, dtype, default_float(), device, "empty")
    return make_empty(check_place(None, device, "empty"), dtype_code(dtype, default_float()), ndim, sizes, strides)

EMPTY.kernel = <void*>empty_kernel


cdef Op ZEROS = Op("zeros(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor")

cdef TensorBase zeros_kernel(object size, object dtype, object device):
    cdef TensorBase made = start_kernel(size, dtype, default_float(), device, "zeros")
    fill_zero(made)
    return made

ZEROS.kernel = <void*>zeros_kernel


cdef Op ONES = Op("ones(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor")

cdef TensorBase ones_kernel(object size, object dtype, object device):
    cdef TensorBase made = start_kernel(size, dtype, default_float(), device, "ones")
    fill_number(made, 1, "ones")
    return made

ONES.kernel = <void*>ones_kernel


cdef Op FULL = Op("full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None) -> Tensor")

cdef TensorBase full_kernel(object size, object fill_value, object dtype, object device):
    cdef object value = read_fill_value(fill_value, "full")
    cdef TensorBase made = start_kernel(size, dtype, number_dtype(value), device, "full")
    fill_number(made, value, "full")
    return made

FULL.kernel = <void*>full_kernel


cdef TensorBase full_beside(TensorBase x, object value):
    """A 0-d tensor of x's dtype and place."""
    cdef TensorBase made
    if active_layers:
        return run_tuple(FULL, ((), value, dtype_object(x.dtype_), META if is_meta(x) else CPU))
    made = empty_beside(x, x.dtype_, 0, NULL)
    fill_number(made, value, "full")
    return made


cdef Op EMPTY_STRIDED = Op("empty_strided(int[] size, int[] stride, *, ScalarType? dtype=None, Device? device=None) -> Tensor")

cdef TensorBase empty_strided_kernel(object size, object stride, object dtype, object device):
    return make_strided(size, stride, dtype_code(dtype, default_float()), check_place(None, device, "empty_strided"),
                        "empty_strided")

EMPTY_STRIDED.kernel = <void*>empty_strided_kernel


cdef str LIKE = "*, ScalarType? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor"
cdef Op EMPTY_LIKE = Op("empty_like(Tensor x, " + LIKE)
cdef Op ZEROS_LIKE = Op("zeros_like(Tensor x, " + LIKE)
cdef Op ONES_LIKE = Op("ones_like(Tensor x, " + LIKE)
cdef Op FULL_LIKE = Op("full_like(Tensor x, Scalar fill_value, " + LIKE)

cdef TensorBase empty_like_kernel(TensorBase x, object dtype, object device, object memory_format):
    return start_like(x, dtype, None, device, False, memory_format, "empty_like")

cdef TensorBase zeros_like_kernel(TensorBase x, object dtype, object device, object memory_format):
    cdef TensorBase out = start_like(x, dtype, None, device, False, memory_format, "zeros_like")
    fill_zero(out)
    return out

cdef TensorBase ones_like_kernel(TensorBase x, object dtype, object device, object memory_format):
    cdef TensorBase out = start_like(x, dtype, None, device, False, memory_format, "ones_like")
    fill_number(out, 1, "ones_like")
    return out

cdef TensorBase full_like_kernel(TensorBase x, object fill_value, object dtype, object device, object memory_format):
    cdef TensorBase out = start_like(x, dtype, None, device, False, memory_format, "full_like")
    fill_number(out, read_fill_value(fill_value, "full_like"), "full_like")
    return out

EMPTY_LIKE.kernel, ZEROS_LIKE.kernel = <void*>empty_like_kernel, <void*>zeros_like_kernel
ONES_LIKE.kernel, FULL_LIKE.kernel = <void*>ones_like_kernel, <void*>full_like_kernel


# ---------------------------------------------------------------- empty, zeros, ones, full
def empty(*sizes, size=None, out=None, dtype=None, layout=None, device=None, bint requires_grad=False, pin_memory=False,
          memory_format=None):
    """A tensor whose values are whatever was in its memory.

    Parameters
    ----------
    sizes : ints, or one sequence of them
    out : Tensor, optional; it is resized and returned
    dtype : dtype; the default floating type unless given
    device : "cpu" or "meta" (see `device`)
    requires_grad : bool; autograd shall follow it
    memory_format : order of the dimensions in memory

    Raises
    ------
    ShapeError
        If a size is negative.

    >>> import tensorlab
    >>> tensorlab.empty(2, 3).shape
    tensorlab.Size([2, 3])
    """
    cdef ssize[MAX_NDIM] numbers, strides
    cdef int ndim = factory_sizes(sizes, size, numbers, "empty")
    cdef TensorBase made
    if memory_format is not None and out is not None:
        raise RuntimeError("empty: memory_format and out= are both given, but out= keeps its own; leave one out")
    if active_layers:
        return run_factory(EMPTY, (as_ints(ndim, numbers), memory_format), out, dtype, default_float(), layout, device,
                           requires_grad)
    if memory_format is not None and format_strides(memory_format, None, ndim, numbers, strides, "empty"):
        made = make_empty(check_place(layout, device, "empty"), dtype_code(dtype, default_float()), ndim, numbers, strides)
        return apply_flags(made, requires_grad, "empty")
    return start_factory(ndim, numbers, out, dtype, default_float(), layout, device, requires_grad, "empty")


def zeros(*sizes, size=None, out=None, dtype=None, layout=None, device=None, bint requires_grad=False,
          pin_memory=False):
    """A tensor of zeros; its arguments are those of `empty`.

    >>> import tensorlab
    >>> tensorlab.zeros(2)
    tensor([0., 0.])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim = factory_sizes(sizes, size, numbers, "zeros")
    cdef TensorBase made
    if active_layers:
        return run_factory(ZEROS, (as_ints(ndim, numbers),), out, dtype, default_float(), layout, device, requires_grad)
    made = start_factory(ndim, numbers, out, dtype, default_float(), layout, device, requires_grad, "zeros")
    fill_zero(made)
    return made


def ones(*sizes, size=None, out=None, dtype=None, layout=None, device=None, bint requires_grad=False, pin_memory=False):
    """A tensor of ones; its arguments are those of `empty`.

    >>> import tensorlab
    >>> tensorlab.ones(2, dtype=tensorlab.int64)
    tensor([1, 1])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim = factory_sizes(sizes, size, numbers, "ones")
    cdef TensorBase made
    if active_layers:
        return run_factory(ONES, (as_ints(ndim, numbers),), out, dtype, default_float(), layout, device, requires_grad)
    made = start_factory(ndim, numbers, out, dtype, default_float(), layout, device, requires_grad, "ones")
    fill_number(made, 1, "ones")
    return made


cdef object read_fill_value(object value, str where):
    """The Python number in a number or a 0-d tensor."""
    cdef object number
    if isinstance(value, TensorBase):
        if (<TensorBase>value).ndim_ != 0:
            raise TypeError(f"{where}: fill_value must be a number, not a tensor of shape {tuple(value.shape)}")
        return value.item()
    number = as_number(value)
    if number is None:
        raise TypeError(f"{where}: fill_value must be a number, not {type(value).__name__}")
    return number


def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, bint requires_grad=False,
         pin_memory=False):
    """A tensor with the same number everywhere.

    Parameters
    ----------
    size : sequence of int
    fill_value : number; decides the dtype unless that is given: bool, int64 or the default floating type

    Raises
    ------
    DTypeError
        If the number does not fit in `dtype`.

    >>> import tensorlab
    >>> tensorlab.full((2,), 7)
    tensor([7, 7])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim
    cdef object value = read_fill_value(fill_value, "full")
    cdef TensorBase made
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full: size must be a tuple of ints, not {type(size).__name__}; write ({size},)")
    ndim = factory_sizes((), size, numbers, "full")
    check_number(value, dtype_code(dtype, number_dtype(value)), "full")
    if active_layers:
        return run_factory(FULL, (as_ints(ndim, numbers), value), out, dtype, number_dtype(value), layout, device,
                           requires_grad)
    made = start_factory(ndim, numbers, out, dtype, number_dtype(value), layout, device, requires_grad, "full")
    fill_number(made, value, "full")
    return made


def scalar_tensor(s, *, dtype=None, layout=None, device=None, bint requires_grad=False, pin_memory=False):
    """A 0-d tensor with the value of a number, of the default floating type unless `dtype` is given."""
    cdef object value = read_fill_value(s, "scalar_tensor")
    cdef TensorBase made
    if active_layers:
        return run_factory(FULL, ((), value), None, dtype, default_float(), layout, device, requires_grad)
    made = start_factory(0, NULL, None, dtype, default_float(), layout, device, requires_grad, "scalar_tensor")
    fill_number(made, value, "scalar_tensor")
    return made


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, bint requires_grad=False, pin_memory=False):
    """A tensor with these sizes and strides, whose values are whatever was in its memory.

    Raises
    ------
    ShapeError
        If a size or a stride is negative, or their numbers differ.
    """
    if active_layers:
        return run_factory(EMPTY_STRIDED, (plain_ints(size), plain_ints(stride)), None, dtype, default_float(), layout, device,
                           requires_grad)
    return apply_flags(make_strided(size, stride, dtype_code(dtype, default_float()),
                                    check_place(layout, device, "empty_strided"), "empty_strided"), requires_grad,
                       "empty_strided")


cdef TensorBase make_strided(object size, object stride, int dtype, bint on_meta, str where):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i, ndim
    if not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        raise TypeError(f"{where}: size and stride must be tuples of ints")
    ndim = read_sizes(size, sizes, where)
    check_sizes(ndim, sizes, where)
    if read_sizes(stride, strides, where) != ndim:
        raise ShapeError(f"{where}: {ndim} sizes and {len(stride)} strides are given; each dimension needs one of both")
    for i in range(ndim):
        if strides[i] < 0:
            raise ShapeError(f"{where}: stride {strides[i]} is negative; strides must be at least 0")
    return make_empty(on_meta, dtype, ndim, sizes, strides)


# ---------------------------------------------------------------- like another tensor
cdef TensorBase start_like(TensorBase x, object dtype, object layout, object device, bint requires_grad,
                           object memory_format, str where):
    """A new tensor of x's shape and, unless told otherwise, of its dtype and order of dimensions."""
    cdef ssize[MAX_NDIM] strides
    cdef int code = dtype_code(dtype, x.dtype_)
    cdef bint on_meta = check_place(layout, place_beside(x, device), where)
    cdef const ssize* order = NULL
    if on_meta == is_meta(x) and (memory_format is None or memory_format == "preserve"):
        return apply_flags(empty_tensor_like(x, code), requires_grad, where)
    if format_strides("preserve" if memory_format is None else memory_format, x, x.ndim_, x.sizes, strides, where):
        order = strides
    return apply_flags(make_empty(on_meta, code, x.ndim_, x.sizes, order), requires_grad, where)


def empty_like(TensorBase input not None, *, dtype=None, layout=None, device=None, bint requires_grad=False,
               pin_memory=False, memory_format=None):
    """`empty` of the shape of `input`, and of its dtype and order of dimensions unless told otherwise."""
    if active_layers:
        return run_like(EMPTY_LIKE, (input,), dtype, layout, device, requires_grad, memory_format)
    return start_like(input, dtype, layout, device, requires_grad, memory_format, "empty_like")


def zeros_like(TensorBase input not None, *, dtype=None, layout=None, device=None, bint requires_grad=False,
               pin_memory=False, memory_format=None):
    """Zeros of the shape of `input`, and of its dtype and order of dimensions unless told otherwise."""
    cdef TensorBase out
    if active_layers:
        return run_like(ZEROS_LIKE, (input,), dtype, layout, device, requires_grad, memory_format)
    out = start_like(input, dtype, layout, device, requires_grad, memory_format, "zeros_like")
    fill_zero(out)
    return out


def ones_like(TensorBase input not None, *, dtype=None, layout=None, device=None, bint requires_grad=False,
              pin_memory=False, memory_format=None):
    """Ones of the shape of `input`, and of its dtype and order of dimensions unless told otherwise."""
    cdef TensorBase out
    if active_layers:
        return run_like(ONES_LIKE, (input,), dtype, layout, device, requires_grad, memory_format)
    out = start_like(input, dtype, layout, device, requires_grad, memory_format, "ones_like")
    fill_number(out, 1, "ones_like")
    return out


def full_like(TensorBase input not None, fill_value, *, dtype=None, layout=None, device=None, bint requires_grad=False,
              pin_memory=False, memory_format=None):
    """One number everywhere, in the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise."""
    cdef object value = read_fill_value(fill_value, "full_like")
    cdef TensorBase out
    if active_layers:
        return run_like(FULL_LIKE, (input, value), dtype, layout, device, requires_grad, memory_format)
    out = start_like(input, dtype, layout, device, requires_grad, memory_format, "full_like")
    fill_number(out, value, "full_like")
    return out


# ---------------------------------------------------------------- of the dtype of another tensor
def new_empty(TensorBase self not None, *sizes, size=None, dtype=None, layout=None, device=None,
              bint requires_grad=False, pin_memory=False):
    """`empty` of the dtype of `self`."""
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim = factory_sizes(sizes, size, numbers, "new_empty")
    device = place_beside(self, device)
    if active_layers:
        return run_factory(EMPTY, (as_ints(ndim, numbers), None), None, dtype, self.dtype_, layout, device, requires_grad)
    return start_factory(ndim, numbers, None, dtype, self.dtype_, layout, device, requires_grad, "new_empty")


def new_zeros(TensorBase self not None, *sizes, size=None, dtype=None, layout=None, device=None,
              bint requires_grad=False, pin_memory=False):
    """`zeros` of the dtype of `self`."""
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim = factory_sizes(sizes, size, numbers, "new_zeros")
    cdef TensorBase out
    device = place_beside(self, device)
    if active_layers:
        return run_factory(ZEROS, (as_ints(ndim, numbers),), None, dtype, self.dtype_, layout, device, requires_grad)
    out = start_factory(ndim, numbers, None, dtype, self.dtype_, layout, device, requires_grad, "new_zeros")
    fill_zero(out)
    return out


def new_ones(TensorBase self not None, *sizes, size=None, dtype=None, layout=None, device=None,
             bint requires_grad=False, pin_memory=False):
    """`ones` of the dtype of `self`."""
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim = factory_sizes(sizes, size, numbers, "new_ones")
    cdef TensorBase out
    device = place_beside(self, device)
    if active_layers:
        return run_factory(ONES, (as_ints(ndim, numbers),), None, dtype, self.dtype_, layout, device, requires_grad)
    out = start_factory(ndim, numbers, None, dtype, self.dtype_, layout, device, requires_grad, "new_ones")
    fill_number(out, 1, "new_ones")
    return out


def new_full(TensorBase self not None, size, fill_value, *, dtype=None, layout=None, device=None,
             bint requires_grad=False, pin_memory=False):
    """`full` of the dtype of `self`."""
    cdef ssize[MAX_NDIM] numbers
    cdef object value = read_fill_value(fill_value, "new_full")
    cdef int ndim
    cdef TensorBase out
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"new_full: size must be a tuple of ints, not {type(size).__name__}; write ({size},)")
    ndim = factory_sizes((), size, numbers, "new_full")
    check_number(value, dtype_code(dtype, self.dtype_), "new_full")
    device = place_beside(self, device)
    if active_layers:
        return run_factory(FULL, (as_ints(ndim, numbers), value), None, dtype, self.dtype_, layout, device, requires_grad)
    out = start_factory(ndim, numbers, None, dtype, self.dtype_, layout, device, requires_grad, "new_full")
    fill_number(out, value, "new_full")
    return out


def new_empty_strided(TensorBase self not None, size, stride, dtype=None, layout=None, device=None,
                      bint requires_grad=False, pin_memory=False):
    """`empty_strided` of the dtype of `self`."""
    device = place_beside(self, device)
    if active_layers:
        return run_factory(EMPTY_STRIDED, (plain_ints(size), plain_ints(stride)), None, dtype, self.dtype_, layout, device,
                           requires_grad)
    return apply_flags(make_strided(size, stride, dtype_code(dtype, self.dtype_),
                                    check_place(layout, device, "new_empty_strided"), "new_empty_strided"), requires_grad,
                       "new_empty_strided")


cdef TensorBase new_of_dtype(tuple args, object data, object device, int dtype, bint any_dtype, str where):
    """What `Tensor(...)` makes: an empty tensor of some sizes, a copy of a sequence, or a view of another tensor."""
    check_device(device, where)
    if data is not None:
        args += (data,)
    if len(args) != 1 or PyLong_Check(args[0]) or isinstance(args[0], Size):
        return empty(*(args or (0,)), dtype=dtype_object(dtype), device=device)
    data = args[0]
    if isinstance(data, TensorBase):
        if (<TensorBase>data).dtype_ != dtype and not any_dtype:
            raise TypeError(f"{where}: makes tensors of {dtype_object(dtype)}, and the tensor given is of {data.dtype}; "
                            f"convert it with .to({dtype_object(dtype)})")
        return data[...]
    if as_number(data) is not None or isinstance(data, str):
        raise TypeError(f"{where}: data must be a sequence of numbers or sizes, not {type(data).__name__} {data!r}; "
                        f"tensorlab.tensor({data!r}) makes a 0-d tensor of a number")
    return make_tensor(data, dtype=dtype_object(dtype), device=device)


def new_of_class(cls, *args, data=None, device=None):
    """`Tensor(2, 3)`, an empty tensor of that shape, or `Tensor([2, 3])`, these numbers; prefer `empty` and `tensor`."""
    cdef TensorBase made = new_of_dtype(args, data, device, default_float(), True, cls.__name__)
    return made if cls is tensor_class else make_subclass(cls, made)


class TypedTensor(type):
    """The kind of class that FloatTensor is: calling it makes a Tensor of its dtype, which counts as its instance."""

    def __call__(cls, *args, data=None, device=None):
        return new_of_dtype(args, data, device, dtype_code(cls.dtype, NO_DTYPE), False, cls.__name__)

    def __instancecheck__(cls, x):
        return isinstance(x, TensorBase) and x.dtype is cls.dtype


def new(TensorBase self not None, *args, data=None, device=None):
    """What `Tensor(...)` makes, of the dtype of `self`; prefer `new_empty` and `new_tensor`."""
    return new_of_dtype(args, data, place_beside(self, device), self.dtype_, False, "new")


def new_tensor(TensorBase self not None, data, *, dtype=None, device=None, bint requires_grad=False, pin_memory=False):
    """A tensor with a copy of the values of `data`, of the dtype of `self`."""
    return make_tensor(data, dtype=dtype_object(dtype_code(dtype, self.dtype_)), device=place_beside(self, device),
                       requires_grad=requires_grad)
