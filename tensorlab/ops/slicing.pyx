"""Views that show a part of a tensor: select, slices (narrow), diagonal, unfold.

They share one gradient, view_backward: a tensor of zeros in which the same view, taken of it, is filled with the
gradient.

    x        0 1 2 3 4 5        grad_x    0 0 g g g 0
    view         2 3 4          grad          g g g
"""
from tensorlab._core.dispatch.dispatch cimport run_3, run_4, run_5, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_same_place
from tensorlab._core.dtypes cimport INTEGRAL, is_in, item_size, kernel_dtype
from tensorlab._core.graph.graph cimport as_view, dim_of
from tensorlab._core.layout cimport (
    MAX_NDIM, int_argument, may_have_internal_overlap, plain_ints, read_sizes, shape_text,
    ssize, wrap_dim
)
from tensorlab._core.loops.iterator cimport copy_as, copy_into
from tensorlab._core.state.devices cimport ON_META
from tensorlab._core.tensor cimport (
    VIEW_DEFAULT, TensorBase, alias_as, result_beside, result_like, tensor_on
)
from tensorlab.ops.dimensions cimport is_unwatched
from tensorlab.ops.filling cimport fill_zero, refuse_negative, zeros_beside
from tensorlab.ops.strided cimport accumulate_into

from tensorlab.errors import ArgumentTypeError, DimensionError, IndexOutOfRange, MemoryLayoutError, ShapeError


# ---------------------------------------------------------------- view_backward
cdef Op VIEW_BACKWARD = Op("view_backward(Tensor grad, int[] shape, Any view, Any where) -> Tensor",
                           counts_from_storage=True, holomorphic=False)

@VIEW_BACKWARD.derivative("grad")
def view_backward_derivative(grad, view, where):
    return run_tuple(view, (grad, *where))

cdef TensorBase checked_part(TensorBase out, TensorBase source, object view, object where, str op, str name):
    """The part `view(out, *where)`, which must have the shape of `source`."""
    cdef TensorBase part
    if not isinstance(view, Op) or not (<Op>view).is_view or not (<Op>view).is_computable():
        raise TypeError(f"{op}: view must be an op that makes a view, such as select, not {view!r}")
    if not isinstance(where, (tuple, list)) or (<Op>view).arity != 1 + len(where):
        raise TypeError(f"{op}: where must hold the arguments of {(<Op>view).schema} after the tensor, not {where!r}")
    part = run_tuple(<Op>view, (out, *where))
    if part.shape != source.shape:
        raise ShapeError(f"{op}: {name} has shape {shape_text(source.ndim_, source.sizes)}, but {(<Op>view).name} of "
                         f"a tensor of shape {shape_text(out.ndim_, out.sizes)} has {shape_text(part.ndim_, part.sizes)}")
    return part

cdef TensorBase part_of_zeros(TensorBase out, TensorBase grad, object view, object where):
    return checked_part(out, grad, view, where, "view_backward", "the gradient")

@VIEW_BACKWARD.infer
def view_backward_infer(TensorBase grad, shape, view, where):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, "view_backward")
    refuse_negative(ndim, sizes)
    part_of_zeros(tensor_on(ON_META, grad.dtype_, ndim, sizes, NULL), grad, view, where)
    return result_beside(grad, grad.dtype_, ndim, sizes)

@VIEW_BACKWARD.kernel
def view_backward_kernel(TensorBase out, TensorBase grad, shape, view, where):
    """Zeros, but for the part `view(zeros, *where)`, which is `grad`; places that it shows twice get the sum."""
    cdef TensorBase part, wide
    fill_zero(out)
    part = part_of_zeros(out, grad, view, where)
    if not may_have_internal_overlap(part.ndim_, part.sizes, part.strides):
        copy_into(part, grad)
    elif kernel_dtype(grad.dtype_) == grad.dtype_:
        accumulate_into(part, grad)
    else:                                               # half types are summed in float32
        wide = zeros_beside(grad, kernel_dtype(grad.dtype_), out.ndim_, out.sizes)
        accumulate_into(part_of_zeros(wide, grad, view, where), copy_as(grad, wide.dtype_))
        copy_into(out, wide)


# ---------------------------------------------------------------- view_scatter
# A write through a view, as an op that makes a new tensor: what the compiler's graphs have in its place. The view may be of the
# real parts of complex numbers: elements are moved only, and no formula needs a conjugate.
cdef Op VIEW_SCATTER = Op("view_scatter(Tensor x, Tensor source, Any view, Any where) -> Tensor",
                          aten=None, holomorphic=False)

@VIEW_SCATTER.derivative("x")
def view_scatter_derivative_x(grad, view, where):
    hidden = run_tuple(view, (grad, *where))
    return run_4(VIEW_SCATTER, grad, hidden.new_zeros(hidden.shape), view, where)

@VIEW_SCATTER.derivative("source")
def view_scatter_derivative_source(grad, view, where):
    return run_tuple(view, (grad, *where))

@VIEW_SCATTER.infer
def view_scatter_infer(TensorBase x, TensorBase source, view, where):
    cdef TensorBase out = result_like(x, x.dtype_), part
    check_same_place(x, source, "view_scatter")
    part = checked_part(tensor_on(ON_META, x.dtype_, x.ndim_, out.sizes, out.strides), source, view, where, "view_scatter",
                        "the source")
    if may_have_internal_overlap(part.ndim_, part.sizes, part.strides):
        raise MemoryLayoutError(f"view_scatter: {(<Op>view).name} shows places of x several times; which element of the source "
                                f"they should get is not defined")
    return out

@VIEW_SCATTER.kernel
def view_scatter_kernel(TensorBase out, TensorBase x, TensorBase source, view, where):
    """A copy of x in which the part `view(x, *where)` is `source`."""
    copy_into(out, x)
    copy_into(checked_part(out, source, view, where, "view_scatter", "the source"), source)


# ---------------------------------------------------------------- select
cdef Op SELECT = Op("select(Tensor(a) x, int dim, int index) -> Tensor(a)", aten="select.int")

@SELECT.derivative("x")
def select_derivative(grad, x_shape, dim, index):
    return run_4(VIEW_BACKWARD, grad, x_shape, SELECT, (dim, index))

cdef TensorBase selected(TensorBase x, int dim, ssize index):
    """Both arguments count from 0 and are in range."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i
    for i in range(x.ndim_ - 1):
        sizes[i] = x.sizes[i + (i >= dim)]
        strides[i] = x.strides[i + (i >= dim)]
    return alias_as(x, x.ndim_ - 1, sizes, strides, x.data_ + index * x.strides[dim] * item_size[x.dtype_])

cdef int read_place(TensorBase x, object dim, object index, int* at, ssize* i) except -1:
    """The dimension and the index, counted from 0."""
    i[0] = int_argument(index, "select", "index")
    dim = plain_ints(dim)
    if x.ndim_ == 0:
        raise DimensionError("select: a 0-d tensor has no dimension to select from; use item() for its value")
    at[0] = dim_of(dim, x, "select")
    if not -x.sizes[at[0]] <= i[0] < x.sizes[at[0]]:
        raise IndexOutOfRange(f"select: index {i[0]} is out of range: dimension {at[0]} of shape "
                              f"{shape_text(x.ndim_, x.sizes)} has size {x.sizes[at[0]]}")
    if i[0] < 0:
        i[0] += x.sizes[at[0]]
    return 0

@SELECT.infer
def select_infer(TensorBase x, dim, index):
    cdef int at
    cdef ssize i
    read_place(x, dim, index, &at, &i)
    return selected(x, at, i)


def select(TensorBase input not None, dim, index):
    """A view of one index of a dimension, which disappears.

    Raises
    ------
    IndexOutOfRange
        If the dimension has no such index.

    >>> import tensorlab
    >>> tensorlab.select(tensorlab.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    cdef int at
    cdef ssize i
    read_place(input, dim, index, &at, &i)
    return as_view(input, selected(input, at, i), VIEW_DEFAULT) if is_unwatched(input) else run_3(SELECT, input, at, i)


# ---------------------------------------------------------------- slice
cdef Op SLICE = Op("slice(Tensor(a) x, int dim=0, int? start=None, int? end=None, "
                   "int step=1) -> Tensor(a)", aten="slice.Tensor")

@SLICE.derivative("x")
def slice_derivative(grad, x_shape, dim, start, end, step):
    return run_4(VIEW_BACKWARD, grad, x_shape, SLICE, (dim, start, end, step))

cdef TensorBase part_of(TensorBase x, int dim, ssize start, ssize length, ssize step):
    """An alias that shows `length` indices of a dimension; unknown to autograd."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i
    for i in range(x.ndim_):
        sizes[i] = x.sizes[i]
        strides[i] = x.strides[i]
    sizes[dim] = length
    strides[dim] *= step
    return alias_as(x, x.ndim_, sizes, strides,
                    x.data_ + start * x.strides[dim] * item_size[x.dtype_])


@SLICE.infer
def slice_infer(TensorBase x, dim, start, end, ssize step):
    cdef ssize size, first, behind
    cdef int at = wrap_dim(dim, x.ndim_, "slice")
    if x.ndim_ == 0:
        raise DimensionError("slice: a 0-d tensor has no dimension to slice")
    if step < 1:
        raise ShapeError(f"slice: step is {step}; it must be at least 1")
    size = x.sizes[at]
    first = 0 if start is None else clip_bound(start, size)
    behind = max(first, size if end is None else clip_bound(end, size))
    return part_of(x, at, first, behind - first if step == 1 else (behind - first + step - 1) // step, step)

cdef ssize clip_bound(ssize bound, ssize size) noexcept:
    """A bound of a slice, which may count from the end or lie outside, as one from 0 to `size`."""
    return min(max(bound + size if bound < 0 else bound, 0), size)

cdef TensorBase slice_dim(TensorBase x, int dim, ssize start, ssize length, ssize step):
    """start, start + step, ...: `length` indices, all in range."""
    if is_unwatched(x):
        return as_view(x, part_of(x, dim, start, length, step), VIEW_DEFAULT)
    return run_5(SLICE, x, dim, start, start + (length - 1) * step + 1 if length > 0 else start, step)


def narrow(TensorBase input not None, dim, start, length):
    """A view of `length` indices of a dimension, from `start` on.

    Raises
    ------
    IndexOutOfRange
        If `start` is outside the dimension.
    ShapeError
        If `start + length` is, or `length` is negative.

    >>> import tensorlab
    >>> tensorlab.narrow(tensorlab.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    cdef int at
    cdef ssize first, n = int_argument(length, "narrow", "length")
    if isinstance(start, TensorBase):
        if (<TensorBase>start).ndim_ > 0 or not is_in((<TensorBase>start).dtype_, INTEGRAL):
            raise ArgumentTypeError(f"narrow: start must be an int or a 0-d tensor of integers, not a tensor of shape "
                                    f"{tuple(start.shape)} and {start.dtype}")
        start = start.item()
    first = int_argument(start, "narrow", "start")
    dim = plain_ints(dim)
    if input.ndim_ == 0:
        raise ShapeError("narrow: a 0-d tensor has no dimension to narrow")
    at = wrap_dim(dim, input.ndim_, "narrow")
    if n < 0:
        raise ShapeError(f"narrow: length {n} is negative")
    if not -input.sizes[at] <= first <= input.sizes[at]:
        raise IndexOutOfRange(f"narrow: start {first} is out of range for dimension {at}, which has size "
                              f"{input.sizes[at]}")
    if first < 0:
        first += input.sizes[at]
    if first > input.sizes[at] - n:
        raise ShapeError(f"narrow: start {first} and length {n} go beyond dimension {at}, which has size "
                         f"{input.sizes[at]}")
    return slice_dim(input, at, first, n, 1)


# ---------------------------------------------------------------- diagonal
cdef Op DIAGONAL = Op("diagonal(Tensor(a) x, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")

@DIAGONAL.derivative("x")
def diagonal_derivative(grad, x_shape, offset, dim1, dim2):
    return run_4(VIEW_BACKWARD, grad, x_shape, DIAGONAL, (offset, dim1, dim2))

cdef TensorBase diagonal_kernel(TensorBase x, object offset, object dim1, object dim2):
    cdef int first, second, i, ndim = 0
    cdef ssize above = int_argument(offset, "diagonal", "offset"), start, rows, columns, n
    cdef ssize[MAX_NDIM] sizes, strides
    cdef char* data
    dim1, dim2 = plain_ints(dim1), plain_ints(dim2)
    first, second = dim_of(dim1, x, "diagonal"), dim_of(dim2, x, "diagonal")
    data = x.data_
    if first == second:
        raise ShapeError(f"diagonal: dim1 and dim2 are both dimension {first}; they must differ")
    rows = x.sizes[first] + min(above, 0)
    columns = x.sizes[second] - max(above, 0)
    n = max(min(rows, columns), 0)
    if n > 0:
        start = above * x.strides[second] if above >= 0 else -above * x.strides[first]
        data += start * item_size[x.dtype_]
    for i in range(x.ndim_):
        if i != first and i != second:
            sizes[ndim] = x.sizes[i]
            strides[ndim] = x.strides[i]
            ndim += 1
    sizes[ndim] = n
    strides[ndim] = x.strides[first] + x.strides[second]
    return alias_as(x, ndim + 1, sizes, strides, data)

@DIAGONAL.infer
def diagonal_infer(TensorBase x, offset, dim1, dim2):
    return diagonal_kernel(x, offset, dim1, dim2)

def diagonal(TensorBase input not None, offset=0, dim1=0, dim2=1):
    """A view of a diagonal of two dimensions, which come together as the last one.

    Parameters
    ----------
    offset : int; above the main diagonal if positive, below if negative
    dim1, dim2 : int

    >>> import tensorlab
    >>> tensorlab.diagonal(tensorlab.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return run_4(DIAGONAL, input, plain_ints(offset), plain_ints(dim1), plain_ints(dim2))


# ---------------------------------------------------------------- unfold
cdef Op UNFOLD = Op("unfold(Tensor(a) x, int dimension, int size, int step) -> Tensor(a)")

@UNFOLD.derivative("x")
def unfold_derivative(grad, x_shape, dimension, size, step):
    return run_4(VIEW_BACKWARD, grad, x_shape, UNFOLD, (dimension, size, step))

cdef TensorBase unfold_kernel(TensorBase x, object dimension, object size, object step):
    cdef ssize window = int_argument(size, "unfold", "size"), by = int_argument(step, "unfold", "step"), there
    cdef int at = dim_of(dimension, x, "unfold"), i
    cdef ssize[MAX_NDIM] sizes, strides
    there = x.sizes[at] if x.ndim_ > 0 else 1
    if window < 0:
        raise ShapeError(f"unfold: size {window} is negative")
    if window > there:
        raise ShapeError(f"unfold: a window of {window} does not fit in dimension {at}, which has size {there}")
    if by <= 0:
        raise ShapeError(f"unfold: step {by} must be at least 1")
    if x.ndim_ == MAX_NDIM:
        raise ShapeError(f"unfold: the tensor has {MAX_NDIM} dimensions already, which is the most there can be")
    for i in range(x.ndim_):
        sizes[i] = x.sizes[i]
        strides[i] = x.strides[i]
    sizes[x.ndim_] = window
    strides[x.ndim_] = x.strides[at] if x.ndim_ > 0 else 1
    if x.ndim_ > 0:
        sizes[at] = (there - window) // by + 1
        strides[at] = x.strides[at] * by
    return alias_as(x, x.ndim_ + 1, sizes, strides, x.data_)

@UNFOLD.infer
def unfold_infer(TensorBase x, dimension, size, step):
    return unfold_kernel(x, dimension, size, step)

def unfold(TensorBase self not None, dimension, size, step):
    """A view of all windows of a dimension; the windows' elements become the last dimension.

    Parameters
    ----------
    dimension : int
    size : int, elements of a window
    step : int, from the start of a window to that of the next

    >>> import tensorlab
    >>> tensorlab.tensor([1, 2, 3, 4]).unfold(0, 2, 1)
    tensor([[1, 2],
            [2, 3],
            [3, 4]])
    """
    return run_4(UNFOLD, self, plain_ints(dimension), plain_ints(size), plain_ints(step))
