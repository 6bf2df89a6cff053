"""Views that show a part of a tensor: select, slices (narrow), diagonal, unfold.

They share one gradient, view_backward: a tensor of zeros in which the same view, taken of it, is filled with the
gradient.

    x        0 1 2 3 4 5        grad_x    0 0 g g g 0
    view         2 3 4          grad          g g g
"""

from tensorlab._core.op cimport Op
from tensorlab._core.dtypes cimport item_size, kernel_dtype
from tensorlab._core.graph cimport dim_of, should_record
from tensorlab._core.layout cimport (
    MAX_NDIM,
    int_argument,
    may_have_internal_overlap,
    plain_ints,
    read_sizes,
    shape_text,
    ssize,
    wrap_dim,
)
from tensorlab._core.iterator cimport copy_into
from tensorlab._core.recording cimport record, run_view
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside
from tensorlab.ops.filling cimport zeros_beside
from tensorlab.ops.strided cimport accumulate_into

from tensorlab.errors import DimensionError, IndexOutOfRange, ShapeError


# ---------------------------------------------------------------- view_backward
cdef Op VIEW_BACKWARD = Op("view_backward(Tensor grad, int[] shape, Any view, Any where) -> Tensor")

@VIEW_BACKWARD.derivative("grad")
def view_backward_derivative(grad, view, where):
    return view(grad, *where)

cdef object run_view_backward(TensorBase grad, object shape, object view, tuple where):
    """Zeros, but for the part `view(zeros, *where)`, which is `grad`; places that it shows twice get the sum."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, "view_backward")
    cdef TensorBase out = zeros_beside(grad, grad.dtype_, ndim, sizes), part, wide, kept
    part = view(out, *where)
    if not may_have_internal_overlap(part.ndim_, part.sizes, part.strides):
        copy_into(part, grad)
    elif kernel_dtype(grad.dtype_) == grad.dtype_:
        accumulate_into(part, grad)
    else:                                               # half types are summed in float32
        wide = zeros_beside(grad, kernel_dtype(grad.dtype_), ndim, sizes)
        kept = empty_beside(wide, wide.dtype_, grad.ndim_, grad.sizes)
        copy_into(kept, grad)
        accumulate_into(view(wide, *where), kept)
        copy_into(out, wide)
    return record(VIEW_BACKWARD, out, (grad, shape, view, where))


# ---------------------------------------------------------------- select
cdef Op SELECT = Op("select(Tensor x, int dim, int index) -> Tensor")

@SELECT.derivative("x")
def select_derivative(grad, x_shape, dim, index):
    return run_view_backward(<TensorBase?>grad, x_shape, select, (dim, index))

cdef TensorBase select_index(TensorBase x, int dim, ssize index):
    """Both arguments count from 0 and are in range."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i
    for i in range(x.ndim_ - 1):
        sizes[i] = x.sizes[i + (i >= dim)]
        strides[i] = x.strides[i + (i >= dim)]
    return run_view(SELECT, x, alias_as(x, x.ndim_ - 1, sizes, strides,
                                        x.data_ + index * x.strides[dim] * item_size[x.dtype_]),
                    (x, dim, index) if should_record(x) else None)


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
    cdef ssize i = int_argument(index, "select", "index")
    dim = plain_ints(dim)
    if input.ndim_ == 0:
        raise DimensionError("select: a 0-d tensor has no dimension to select from; use item() for its value")
    at = dim_of(dim, input, "select")
    if not -input.sizes[at] <= i < input.sizes[at]:
        raise IndexOutOfRange(f"select: index {i} is out of range: dimension {at} of shape "
                              f"{shape_text(input.ndim_, input.sizes)} has size {input.sizes[at]}")
    return select_index(input, at, i + input.sizes[at] if i < 0 else i)


# ---------------------------------------------------------------- slice
cdef Op SLICE = Op("slice(Tensor x, int dim, int start, int length, int step) -> Tensor")

@SLICE.derivative("x")
def slice_derivative(grad, x_shape, dim, start, length, step):
    return run_view_backward(<TensorBase?>grad, x_shape, slice_, (dim, start, length, step))

cdef TensorBase part_of(TensorBase x, int dim, ssize start, ssize length, ssize step):
    """An alias that shows `length` indices of a dimension; unknown to autograd."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i
    for i in range(x.ndim_):
        sizes[i] = x.sizes[i]
        strides[i] = x.strides[i]
    sizes[dim] = length
    strides[dim] *= step
    return alias_as(x, x.ndim_, sizes, strides, x.data_ + start * x.strides[dim] * item_size[x.dtype_])


cdef TensorBase slice_dim(TensorBase x, int dim, ssize start, ssize length, ssize step):
    """start, start + step, ...: `length` indices, all in range."""
    return run_view(SLICE, x, part_of(x, dim, start, length, step),
                    (x, dim, start, length, step) if should_record(x) else None)


def slice_(TensorBase x not None, int dim, ssize start, ssize length, ssize step):
    """`slice_dim` for Python: the arguments are in range."""
    return slice_dim(x, dim, start, length, step)


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
cdef Op DIAGONAL = Op("diagonal(Tensor x, int offset, int dim1, int dim2) -> Tensor")

@DIAGONAL.derivative("x")
def diagonal_derivative(grad, x_shape, offset, dim1, dim2):
    return run_view_backward(<TensorBase?>grad, x_shape, diagonal, (offset, dim1, dim2))

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
    cdef int first, second, i, ndim = 0
    cdef ssize above = int_argument(offset, "diagonal", "offset"), start, rows, columns, n
    cdef ssize[MAX_NDIM] sizes, strides
    cdef char* data
    dim1, dim2 = plain_ints(dim1), plain_ints(dim2)
    first, second = dim_of(dim1, input, "diagonal"), dim_of(dim2, input, "diagonal")
    data = input.data_
    if first == second:
        raise ShapeError(f"diagonal: dim1 and dim2 are both dimension {first}; they must differ")
    rows = input.sizes[first] + min(above, 0)
    columns = input.sizes[second] - max(above, 0)
    n = max(min(rows, columns), 0)
    if n > 0:
        start = above * input.strides[second] if above >= 0 else -above * input.strides[first]
        data += start * item_size[input.dtype_]
    for i in range(input.ndim_):
        if i != first and i != second:
            sizes[ndim] = input.sizes[i]
            strides[ndim] = input.strides[i]
            ndim += 1
    sizes[ndim] = n
    strides[ndim] = input.strides[first] + input.strides[second]
    return run_view(DIAGONAL, input, alias_as(input, ndim + 1, sizes, strides, data), (input, above, first, second))


# ---------------------------------------------------------------- unfold
cdef Op UNFOLD = Op("unfold(Tensor x, int dimension, int size, int step) -> Tensor")

@UNFOLD.derivative("x")
def unfold_derivative(grad, x_shape, dimension, size, step):
    return run_view_backward(<TensorBase?>grad, x_shape, unfold, (dimension, size, step))

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
    cdef ssize window = int_argument(size, "unfold", "size"), by = int_argument(step, "unfold", "step"), there
    cdef int at = dim_of(dimension, self, "unfold"), i
    cdef ssize[MAX_NDIM] sizes, strides
    there = self.sizes[at] if self.ndim_ > 0 else 1
    if window < 0:
        raise ShapeError(f"unfold: size {window} is negative")
    if window > there:
        raise ShapeError(f"unfold: a window of {window} does not fit in dimension {at}, which has size {there}")
    if by <= 0:
        raise ShapeError(f"unfold: step {by} must be at least 1")
    if self.ndim_ == MAX_NDIM:
        raise ShapeError(f"unfold: the tensor has {MAX_NDIM} dimensions already, which is the most there can be")
    for i in range(self.ndim_):
        sizes[i] = self.sizes[i]
        strides[i] = self.strides[i]
    sizes[self.ndim_] = window
    strides[self.ndim_] = self.strides[at] if self.ndim_ > 0 else 1
    if self.ndim_ > 0:
        sizes[at] = (there - window) // by + 1
        strides[at] = self.strides[at] * by
    return run_view(UNFOLD, self, alias_as(self, self.ndim_ + 1, sizes, strides, self.data_), (self, at, window, by))
