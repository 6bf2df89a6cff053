"""Copies that put elements in other places, or in several: flip, roll, rot90, repeat, tile, repeat_interleave.

A flip is a copy from a layout with a negative stride; `repeat` is a copy from one with stride 0. So the iterator of
_core/loops/iterator.pyx does all the work, and what is left here is to describe the layouts.
"""
from cpython.number cimport PyIndex_Check
from libc.stdint cimport int64_t

from tensorlab._core.dispatch.dispatch cimport run_2, run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport INT32, INT64, item_size
from tensorlab._core.graph.graph cimport dim_of, ndim_of
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, int_argument, read_sizes, ssize, wrap_dim
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_into
from tensorlab._core.tensor cimport (
    TensorBase, alias, alias_as, empty_beside, empty_tensor, memory_of, result_beside,
    result_like, set_layout
)
from tensorlab.ops.copying cimport run_row_major_clone
from tensorlab.ops.dimensions cimport expand_to, read_dims, unsqueeze_dim
from tensorlab.ops.memory_formats cimport as_ints
from tensorlab.ops.reshaping cimport reshape_to
from tensorlab.ops.slicing cimport part_of

from tensorlab._core.interop.exchange import tolist
from tensorlab.errors import DimensionError, ShapeError, UnsupportedDType


# ---------------------------------------------------------------- flip
cdef Op FLIP = Op("flip(Tensor x, int[] dims) -> Tensor",
                  rearranges=True)

@FLIP.derivative("x")
def flip_derivative(grad, dims):
    return flip(grad, dims)

@FLIP.infer
def flip_infer(TensorBase x, dims):
    cdef int[MAX_NDIM] numbers
    read_dims(dims, ndim_of(x), numbers, "flip")
    return result_like(x, x.dtype_)

@FLIP.kernel
def flip_kernel(TensorBase out, TensorBase x, dims):
    cdef int[MAX_NDIM] numbers
    flip_to(out, x, read_dims(dims, x.ndim_, numbers, "flip"), numbers)

cdef int flip_to(TensorBase out, TensorBase x, int n, const int* dims) except -1:
    """Copy x with some dimensions reversed."""
    cdef ssize[MAX_NDIM] strides
    cdef char* data = memory_of(x)
    cdef int i
    for i in range(x.ndim_):
        strides[i] = x.strides[i]
    if x.numel_ == 0:
        return 0
    if x.ndim_ > 0:
        for i in range(n):                      # begin at the last index and go backwards
            data += (x.sizes[dims[i]] - 1) * x.strides[dims[i]] * item_size[x.dtype_]
            strides[dims[i]] = -strides[dims[i]]
    return copy_into(out, alias_as(x, x.ndim_, x.sizes, strides, data))

def flip(TensorBase input not None, *order, dims=None):
    """A copy with the order of some dimensions reversed.

    Parameters
    ----------
    dims : ints, or one tuple of them; each dimension at most once

    >>> import tensorlab
    >>> tensorlab.flip(tensorlab.tensor([[1, 2], [3, 4]]), (0,))
    tensor([[3, 4],
            [1, 2]])
    """
    if dims is None:
        if len(order) == 0:
            raise TypeError("flip: the dimensions to reverse are needed, as in flip(0)")
        dims = order[0] if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
    return run_2(FLIP, input, plain_ints((dims,) if PyIndex_Check(dims) else dims))


def fliplr(TensorBase input not None):
    """A copy with dimension 1 reversed: left and right exchanged.

    Parameters
    ----------
    input : Tensor of two or more dimensions

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.fliplr(x)
    tensor([[2, 1, 0],
            [5, 4, 3]])
    """
    if input.ndim_ < 2:
        raise ShapeError(f"fliplr: a tensor with at least 2 dimensions is needed, not {input.ndim_}")
    return flip(input, 1)


def flipud(TensorBase input not None):
    """A copy with dimension 0 reversed: top and bottom exchanged.

    Parameters
    ----------
    input : Tensor of one or more dimensions

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.flipud(x)
    tensor([[3, 4, 5],
            [0, 1, 2]])
    """
    if input.ndim_ < 1:
        raise ShapeError("flipud: a tensor with at least 1 dimension is needed, not a 0-d one")
    return flip(input, 0)


# ---------------------------------------------------------------- rot90
cdef Op ROT90 = Op("rot90(Tensor x, int k=1, int[] dims=[0,1]) -> Tensor")

@ROT90.derivative("x")
def rot90_derivative(grad, k, dims):
    return rot90(grad, -k, dims)

@ROT90.infer
def rot90_infer(TensorBase x, k, dims):
    cdef int[MAX_NDIM] plane
    cdef int turns = int_argument(k, "rot90", "k") & 3
    cdef TensorBase out
    if not isinstance(dims, tuple) or len(dims) != 2:
        raise ShapeError(f"rot90: dims must name two dimensions, not {dims}")
    if x.ndim_ < 2:
        raise ShapeError(f"rot90: a tensor with at least 2 dimensions is needed, not {x.ndim_}")
    read_dims(dims, ndim_of(x), plane, "rot90")
    if turns == 0:
        return result_beside(x, x.dtype_, x.ndim_, x.sizes)
    out = result_like(x, x.dtype_)
    return with_exchanged(out, plane[0], plane[1]) if turns != 2 else out

@ROT90.kernel
def rot90_kernel(TensorBase out, TensorBase x, k, dims):
    cdef int[MAX_NDIM] plane
    cdef int turns = int_argument(k, "rot90", "k") & 3
    read_dims(dims, x.ndim_, plane, "rot90")
    if turns == 0:
        copy_into(out, x)
    elif turns == 2:
        flip_to(out, x, 2, plane)
    else:
        flip_to(with_exchanged(alias(out), plane[0], plane[1]), x, 1, &plane[1] if turns == 1 else &plane[0])

cdef TensorBase with_exchanged(TensorBase x, int first, int second):
    """x itself, with two dimensions exchanged."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i
    for i in range(x.ndim_):
        sizes[i], strides[i] = x.sizes[i], x.strides[i]
    sizes[first], sizes[second] = sizes[second], sizes[first]
    strides[first], strides[second] = strides[second], strides[first]
    set_layout(x, x.ndim_, sizes, strides)
    return x

def rot90(TensorBase input not None, k=1, dims=(0, 1)):
    """A copy turned by `k` times 90 degrees in a plane, from the first of two dimensions towards the second.

    >>> import tensorlab
    >>> tensorlab.rot90(tensorlab.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    return run_3(ROT90, input, plain_ints(k), plain_ints(dims))


# ---------------------------------------------------------------- roll
cdef Op ROLL = Op("roll(Tensor x, int[] shifts, int[] dims=[]) -> Tensor", rearranges=True)

@ROLL.derivative("x")
def roll_derivative(grad, shifts, dims):
    return roll(grad, tuple([-shift for shift in shifts]), dims)

cdef int roll_to(TensorBase out, TensorBase x, ssize shift, int dim) except -1:
    """Copy x, shifted along one dimension."""
    cdef ssize size = x.sizes[dim], first
    if x.numel_ == 0:
        return 0
    first = shift % size                        # where index 0 goes; C's remainder may be negative
    if first < 0:
        first += size
    copy_into(part_of(out, dim, first, size - first, 1), part_of(x, dim, 0, size - first, 1))
    if first > 0:
        copy_into(part_of(out, dim, 0, first, 1), part_of(x, dim, size - first, first, 1))
    return 0


@ROLL.infer
def roll_infer(TensorBase x, shifts, dims):
    if not isinstance(shifts, (tuple, list)) or not isinstance(dims, (tuple, list)):
        raise TypeError(f"roll: shifts and dims must be ints or tuples of ints, not {type(shifts).__name__} and "
                        f"{type(dims).__name__}")
    by = [int_argument(shift, "roll", "a shift") for shift in shifts]
    if (len(dims) != len(by) and not (len(dims) == 0 and len(by) == 1)) or len(by) == 0:
        raise ShapeError(f"roll: {len(by)} shifts and {len(dims)} dims are given; each dimension needs one shift")
    for dim in dims:
        dim_of(dim, x, "roll")
        if x.ndim_ == 0:
            raise DimensionError(f"roll: the tensor is 0-d and has no dimension {dim}; leave dims out")
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@ROLL.kernel
def roll_kernel(TensorBase out, TensorBase x, shifts, dims):
    cdef TensorBase step
    cdef int i, last = len(shifts) - 1
    if len(dims) == 0:
        roll_to(flat(out), flat(x), shifts[0], 0)
        return
    for i in range(last + 1):
        step = out if i == last else empty_beside(x, x.dtype_, x.ndim_, x.sizes)
        roll_to(step, x, shifts[i], dim_of(dims[i], x, "roll"))
        x = step

def roll(TensorBase input not None, shifts, dims=None):
    """A copy with elements shifted along dimensions; what goes out at one end comes in at the other.

    Parameters
    ----------
    shifts : int, or one for each of `dims`
    dims : int or tuple of int; without them, all elements in row-major order are shifted together

    >>> import tensorlab
    >>> tensorlab.roll(tensorlab.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = plain_ints((shifts,) if PyIndex_Check(shifts) else shifts)
    dims = () if dims is None else plain_ints((dims,) if PyIndex_Check(dims) else dims)
    return run_3(ROLL, input, shifts, dims)


cdef TensorBase flat(TensorBase x):
    """All elements of x in one row-major dimension, perhaps over x's memory; unknown to autograd."""
    cdef TensorBase out = alias(x) if x.is_contiguous_ else contiguous_copy(x)
    cdef ssize n = x.numel_
    set_layout(out, 1, &n, NULL)
    return out


# ---------------------------------------------------------------- repeat
cdef Op REPEAT = Op("repeat(Tensor x, int[] repeats) -> Tensor",
                    rearranges=True)

@REPEAT.derivative("x")
def repeat_derivative(grad, x_shape, repeats):
    cdef list shape = [], summed = []
    cdef int shift = len(repeats) - len(x_shape)
    if 0 in repeats:
        return grad.new_zeros(x_shape)
    for i in range(len(repeats)):
        if repeats[i] > 1 or i < shift:
            summed.append(len(shape))
            shape.append(repeats[i])
        if i >= shift:
            shape.append(x_shape[i - shift])
    return grad.reshape(shape).sum(summed) if summed else grad


cdef int repeat_to(TensorBase out, TensorBase x, int ndim, const ssize* repeats) except -1:
    """Copy x, seen with a stride of 0 for each repetition, into (repeats[0], sizes[0], repeats[1], sizes[1], ...)."""
    cdef ssize[2 * MAX_NDIM] sizes, out_strides, x_strides
    cdef ssize size
    cdef int i, n = 0, shift = ndim - x.ndim_
    if out.numel_ == 0:
        return 0
    for i in range(ndim):
        size = x.sizes[i - shift] if i >= shift else 1
        if repeats[i] > 1:
            sizes[n] = repeats[i]
            out_strides[n] = out.strides[i] * size
            x_strides[n] = 0
            n += 1
        if size > 1:
            sizes[n] = size
            out_strides[n] = out.strides[i]
            x_strides[n] = x.strides[i - shift]
            n += 1
    if n > MAX_NDIM:
        raise ShapeError(f"repeat: {ndim} dimensions are too many to repeat at once; repeat in two steps")
    return copy_into(alias_as(out, n, sizes, out_strides, out.data_), alias_as(x, n, sizes, x_strides, x.data_))


@REPEAT.infer
def repeat_infer(TensorBase x, repeats):
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim = read_sizes(repeats, numbers, "repeat"), i, shift = ndim - x.ndim_
    for i in range(ndim):
        if numbers[i] < 0:
            raise ShapeError(f"repeat: {numbers[i]} repetitions are asked for; the number must be at least 0")
    if ndim < x.ndim_:
        raise ShapeError(f"repeat: {ndim} numbers of repetitions are given for {x.ndim_} dimensions; each needs one")
    for i in range(shift, ndim):
        numbers[i] *= x.sizes[i - shift]
    return result_beside(x, x.dtype_, ndim, numbers)

@REPEAT.kernel
def repeat_kernel(TensorBase out, TensorBase x, repeats):
    cdef ssize[MAX_NDIM] numbers
    repeat_to(out, x, read_sizes(repeats, numbers, "repeat"), numbers)

def repeat(TensorBase self not None, *sizes, repeats=None):
    """A copy that repeats the tensor along each dimension.

    Parameters
    ----------
    repeats : ints, or one tuple of them; one for each dimension, and for each new one in front

    >>> import tensorlab
    >>> tensorlab.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim
    if len(sizes) == 0 and repeats is None:
        raise TypeError("repeat: the numbers of repetitions are needed, as in repeat(2, 1)")
    ndim = read_sizes(sizes if repeats is None else repeats, numbers, "repeat")
    return run_2(REPEAT, self, as_ints(ndim, numbers))


def tile(TensorBase input not None, *sizes, dims=None):
    """`repeat` with numbers for the last dimensions only; the others are kept.

    >>> import tensorlab
    >>> tensorlab.tile(tensorlab.tensor([[1], [2]]), (2,))
    tensor([[1, 1],
            [2, 2]])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim, i, shift
    if len(sizes) == 0 and dims is None:
        raise TypeError("tile: the numbers of repetitions are needed, as in tile((2,))")
    ndim = read_sizes(sizes if dims is None else dims, numbers, "tile")
    shift = input.ndim_ - ndim
    if shift > 0:
        for i in range(input.ndim_ - 1, -1, -1):
            numbers[i] = numbers[i - shift] if i >= shift else 1
        ndim = input.ndim_
    return run_2(REPEAT, input, as_ints(ndim, numbers))


# ---------------------------------------------------------------- repeat_interleave
cdef Op REPEAT_INTERLEAVE = Op("repeat_interleave(Tensor repeats, *, int? output_size=None) -> Tensor",
                               aten="repeat_interleave.Tensor", checks_values=True)

@REPEAT_INTERLEAVE.kernel
def repeat_interleave_kernel(TensorBase repeats, output_size):
    """0 repeats[0] times, 1 repeats[1] times, and so on."""
    cdef ssize total, at = 0, count
    cdef TensorBase out
    cdef int64_t* to
    cdef ssize index
    cdef list counts
    if repeats.ndim_ != 1:
        raise ShapeError(f"repeat_interleave: repeats must be 0-d or 1-d, not of shape {tuple(repeats.shape)}")
    if repeats.dtype_ != INT64 and repeats.dtype_ != INT32:
        raise UnsupportedDType(f"repeat_interleave: repeats must be of an integer type, not {repeats.dtype}; convert "
                               f"it with .long() first")
    counts = tolist(repeats)
    if any(count < 0 for count in counts):
        raise ShapeError("repeat_interleave: a number of repetitions is negative; it must be at least 0")
    total = sum(counts)
    check_output_size(output_size, total)
    out = empty_tensor(INT64, 1, &total)
    to = <int64_t*>memory_of(out)
    for index in range(len(counts)):
        count = counts[index]
        for _ in range(count):
            to[at] = index
            at += 1
    return out


cdef TensorBase one_for_each(TensorBase repeats, ssize n):
    """The numbers of repetitions of n elements; one may be given for all."""
    if repeats.ndim_ > 1:
        raise ShapeError(f"repeat_interleave: repeats must be 0-d or 1-d, not of shape {tuple(repeats.shape)}")
    if repeats.numel_ == 1:
        return expand_to(repeats, 1, &n)
    if repeats.numel_ != n:
        raise ShapeError(f"repeat_interleave: {repeats.numel_} numbers of repetitions are given for {n} elements; each "
                         f"needs one")
    return repeats


def repeat_interleave(TensorBase input not None, repeats=None, dim=None, *, output_size=None):
    """A copy that repeats each index of a dimension in place.

    Parameters
    ----------
    repeats : int, or an integer tensor with a number for each index
    dim : int; without it, all elements in row-major order are repeated
    output_size : int; the size of `dim` in the result, checked if given

    Notes
    -----
    `repeat_interleave(counts)` with one argument gives the indices: 0 as often as counts[0] says, and so on.

    >>> import tensorlab
    >>> tensorlab.repeat_interleave(tensorlab.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase x = input, wide, out
    cdef ssize total, n
    cdef int at, i
    dim, output_size = plain_ints(dim), plain_ints(output_size)
    if repeats is None:
        total = input.numel_
        return run_2(REPEAT_INTERLEAVE, reshape_to(input, 1, &total) if input.ndim_ == 0 else input, output_size)
    n = 0 if isinstance(repeats, TensorBase) else int_argument(repeats, "repeat_interleave", "repeats")
    if dim is None or x.ndim_ == 0:
        if dim is not None:
            wrap_dim(dim, 0, "repeat_interleave")
        total = x.numel_
        x = reshape_to(x, 1, &total)
        dim = 0
    at = dim_of(dim, x, "repeat_interleave")
    if isinstance(repeats, TensorBase):
        repeats = one_for_each(<TensorBase>repeats, x.sizes[at])
        return x.index_select(at, run_2(REPEAT_INTERLEAVE, repeats, output_size))
    if n < 0:
        raise ShapeError(f"repeat_interleave: repeats must be at least 0, not {n}")
    check_output_size(output_size, n * x.sizes[at])
    wide = unsqueeze_dim(x, at + 1)             # raises where there is no room for one dimension more
    for i in range(x.ndim_ + 1):
        sizes[i] = n if i == at + 1 else x.sizes[i - (i > at)]
    out = run_row_major_clone(expand_to(wide, x.ndim_ + 1, sizes))
    sizes[at] *= n
    for i in range(at + 1, x.ndim_):
        sizes[i] = x.sizes[i]
    return reshape_to(out, x.ndim_, sizes)


cdef int check_output_size(object given, ssize size) except -1:
    if given is not None and int_argument(given, "repeat_interleave", "output_size") != size:
        raise ShapeError(f"repeat_interleave: output_size is {given}, but the result has size {size}")
    return 0
