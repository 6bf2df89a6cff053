"""The same elements in another shape: view, reshape, flatten, unflatten, and view(dtype).

`view` never copies and raises where it would have to; `reshape` copies there. The rule that tells them apart is
`view_strides` in _core/layout.pyx.
"""
from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport NO_DTYPE, dtype as dtype_class, dtype_code, dtype_object, item_size
from tensorlab._core.graph.graph cimport as_view
from tensorlab._core.layout cimport (
    MAX_NDIM, contiguous_strides, plain_ints, read_sizes, shape_text, ssize, view_strides,
    wrap_dim
)
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.tensor cimport CONJ, LAZY, VIEW_DEFAULT, TensorBase, alias_as, result_beside
from tensorlab.ops.copying cimport run_contiguous
from tensorlab.ops.dimensions cimport is_unwatched
from tensorlab.ops.memory_formats cimport as_ints

from tensorlab.errors import MemoryLayoutError, ShapeError, UnsupportedDType


# ---------------------------------------------------------------- the shape that is asked for
cdef int infer_sizes(TensorBase x, int ndim, ssize* sizes, str where) except -1:
    """Replace a size of -1 by what makes the product x's number of elements; raise if none does."""
    cdef ssize known = 1
    cdef int i, missing = -1
    for i in range(ndim):
        if sizes[i] == -1:
            if missing >= 0:
                raise ShapeError(f"{where}: {shape_text(ndim, sizes)} has more than one -1; only one size can be "
                                 f"inferred")
            missing = i
        elif sizes[i] < 0:
            raise ShapeError(f"{where}: size {sizes[i]} at position {i} of {shape_text(ndim, sizes)} is negative")
        else:
            known *= sizes[i]
    if missing >= 0:
        if known == 0 and x.numel_ == 0:
            raise ShapeError(f"{where}: the -1 in {shape_text(ndim, sizes)} could be any number, for there are no "
                             f"elements; give the size")
        if known != 0 and x.numel_ % known == 0:
            sizes[missing] = x.numel_ // known
            return 0
    elif known == x.numel_:
        return 0
    raise ShapeError(f"{where}: shape {shape_text(x.ndim_, x.sizes)} has {x.numel_} elements, which do not fill "
                     f"{shape_text(ndim, sizes)}")


cdef int read_shape(TensorBase x, tuple given, object by_name, ssize* sizes, str where) except -1:
    """The sizes of f(2, 3), f((2, 3)) or f(shape=(2, 3)); returns how many."""
    cdef int ndim
    if by_name is not None:
        given = (by_name,)
    elif len(given) == 0:
        raise TypeError(f"{where}: a shape is needed, as in {where}(2, 3) or {where}(-1)")
    ndim = read_sizes(given, sizes, where)
    infer_sizes(x, ndim, sizes, where)
    return ndim


# ---------------------------------------------------------------- view
cdef Op VIEW = Op("view(Tensor(a) x, int[] size) -> Tensor(a)")

@VIEW.derivative("x")
def view_derivative(grad, x_shape):
    cdef ssize[MAX_NDIM] sizes
    return reshape_to(<TensorBase?>grad, read_sizes(x_shape, sizes, "view"), sizes)

cdef TensorBase viewed(TensorBase x, int ndim, const ssize* sizes, str where):
    cdef ssize[MAX_NDIM] strides
    if not view_strides(x.ndim_, x.sizes, x.strides, ndim, sizes, strides):
        raise MemoryLayoutError(f"{where}: shape {shape_text(x.ndim_, x.sizes)} with strides "
                                f"{shape_text(x.ndim_, x.strides)} cannot be seen as {shape_text(ndim, sizes)} without "
                                f"copying; use reshape")
    return alias_as(x, ndim, sizes, strides, x.data_)

@VIEW.infer
def view_infer(TensorBase x, size):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(size, sizes, "view")
    infer_sizes(x, ndim, sizes, "view")
    return viewed(x, ndim, sizes, "view")

cdef TensorBase view_to(TensorBase x, int ndim, const ssize* sizes, str where):
    """The product of the sizes is x's number of elements."""
    if is_unwatched(x):
        return as_view(x, viewed(x, ndim, sizes, where), VIEW_DEFAULT)
    return run_2(VIEW, x, as_ints(ndim, sizes))


def view(TensorBase self not None, *shape, size=None, dtype=None):
    """The same memory in another shape, or as elements of another dtype.

    Parameters
    ----------
    shape : ints, or one tuple of them; one may be -1 and is inferred
    dtype : dtype (`x.view(dtype)`); the bytes are read as elements of it, and autograd does not follow

    Raises
    ------
    ShapeError
        If the number of elements differs.
    MemoryLayoutError
        If the elements lie in an order that the shape cannot show without copying.

    >>> import tensorlab
    >>> tensorlab.tensor([1, 2, 3, 4]).view(2, -1)
    tensor([[1, 2],
            [3, 4]])
    """
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim
    if dtype is None and len(shape) == 1 and isinstance(shape[0], dtype_class):
        dtype = shape[0]
    if dtype is not None:
        return run_2(VIEW_DTYPE, self, dtype_object(dtype_code(dtype, NO_DTYPE)))
    if not is_unwatched(self) and len(shape) > 0 and size is None:
        return run_2(VIEW, self, plain_ints(shape[0] if isinstance(shape[0], (tuple, list)) and len(shape) == 1 else shape))
    ndim = read_shape(self, shape, size, sizes, "view")
    return view_to(self, ndim, sizes, "view")


def view_as(TensorBase self not None, TensorBase other not None):
    """`view` in the shape of another tensor.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.arange(4).view_as(x)
    tensor([[0, 1],
            [2, 3]])
    """
    cdef ssize[MAX_NDIM] sizes
    cdef int i
    for i in range(other.ndim_):
        sizes[i] = other.sizes[i]
    infer_sizes(self, other.ndim_, sizes, "view_as")
    return view_to(self, other.ndim_, sizes, "view_as")


cdef Op VIEW_DTYPE = Op("view_dtype(Tensor(a) x, ScalarType dtype) -> Tensor(a)",
                        aten="view.dtype", records_itself=True)    # that is, not at all

@VIEW_DTYPE.infer
def view_dtype_infer(TensorBase x, dtype):
    """The bytes of x as elements of another type; the last dimension takes up the difference in size."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int code = dtype_code(dtype, NO_DTYPE)
    cdef int old = item_size[x.dtype_], new = item_size[code], i, last = x.ndim_ - 1
    cdef ssize ratio
    cdef TensorBase out
    cdef str what = f"view: {dtype_object(x.dtype_)} cannot be seen as {dtype_object(code)}, of another size"
    if x.keys & LAZY and code != x.dtype_:
        held, remedy = ("conjugate", "resolve_conj") if x.keys & CONJ else ("negative", "resolve_neg")
        raise UnsupportedDType(f"view: the memory of this tensor holds its {held}, so it cannot be seen as {dtype_object(code)}; "
                               f"say .{remedy}() first")
    for i in range(x.ndim_):
        sizes[i] = x.sizes[i]
        strides[i] = x.strides[i]
    if old != new:
        if x.ndim_ == 0:
            raise ShapeError(f"{what}, because the tensor is 0-d; view it as (1,) first")
        if sizes[last] <= 1 or x.numel_ == 0:
            strides[last] = 1                           # it leads nowhere
        if strides[last] != 1:
            raise MemoryLayoutError(f"{what}, because the last dimension has stride {strides[last]}; it must be 1")
        if new < old:
            ratio = old // new
            sizes[last] *= ratio
            for i in range(last):
                strides[i] *= ratio
        else:
            ratio = new // old
            if sizes[last] % ratio != 0 or (x.data_ - x.storage_.address) % new != 0:
                raise ShapeError(f"{what}, because size and offset of the last dimension must be multiples of {ratio}")
            sizes[last] //= ratio
            for i in range(last):
                if strides[i] % ratio != 0 and sizes[i] > 1 and x.numel_ > 0:
                    raise MemoryLayoutError(f"{what}, because stride {strides[i]} is no multiple of {ratio}")
                strides[i] //= ratio
    out = alias_as(x, x.ndim_, sizes, strides, x.data_)
    out.dtype_ = code
    return out


# ---------------------------------------------------------------- reshape
# where it has to copy
cdef Op RESHAPE = Op("reshape(Tensor x, int[] size) -> Tensor",
                     aten="_reshape_copy", node="UnsafeViewBackward0", rearranges=True)

@RESHAPE.derivative("x")
def reshape_derivative(grad, x_shape):
    return view_derivative(grad, x_shape)

@RESHAPE.infer
def reshape_infer(TensorBase x, shape):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, "reshape")
    infer_sizes(x, ndim, sizes, "reshape")
    return result_beside(x, x.dtype_, ndim, sizes)

@RESHAPE.kernel
def reshape_kernel(TensorBase out, TensorBase x, shape):
    cdef ssize[MAX_NDIM] strides
    contiguous_strides(x.ndim_, x.sizes, strides)
    copy_into(alias_as(out, x.ndim_, x.sizes, strides, out.data_), x)

cdef TensorBase reshape_to(TensorBase x, int ndim, const ssize* sizes):
    """A view if there is one, else a copy."""
    cdef ssize[MAX_NDIM] strides
    if not view_strides(x.ndim_, x.sizes, x.strides, ndim, sizes, strides):
        return run_2(RESHAPE, x, as_ints(ndim, sizes))
    if is_unwatched(x):
        return as_view(x, alias_as(x, ndim, sizes, strides, x.data_), VIEW_DEFAULT)
    return run_2(VIEW, x, as_ints(ndim, sizes))


def reshape(TensorBase input not None, *dims, shape=None):
    """The elements in another shape: a view where their order in memory allows it, else a copy.

    Parameters
    ----------
    shape : ints, or one tuple of them; one may be -1 and is inferred

    Raises
    ------
    ShapeError
        If the number of elements differs.

    >>> import tensorlab
    >>> tensorlab.reshape(tensorlab.tensor([[1, 2], [3, 4]]).t(), (-1,))
    tensor([1, 3, 2, 4])
    """
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_shape(input, dims, shape, sizes, "reshape")
    return reshape_to(input, ndim, sizes)


def reshape_as(TensorBase self not None, TensorBase other not None):
    """`reshape` to the shape of another tensor.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.arange(6).reshape_as(tensorlab.zeros(2, 3))
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    cdef ssize[MAX_NDIM] sizes
    cdef int i
    for i in range(other.ndim_):
        sizes[i] = other.sizes[i]
    infer_sizes(self, other.ndim_, sizes, "reshape_as")
    return reshape_to(self, other.ndim_, sizes)


# ---------------------------------------------------------------- flatten and unflatten
def flatten(TensorBase input not None, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` as one; a view where possible, else a copy.

    >>> import tensorlab
    >>> tensorlab.flatten(tensorlab.zeros(2, 3, 4), 1).shape
    tensorlab.Size([2, 12])
    """
    cdef ssize[MAX_NDIM] sizes
    cdef int start, end, i, ndim = 0
    start_dim, end_dim = plain_ints(start_dim), plain_ints(end_dim)
    start, end = wrap_dim(start_dim, input.ndim_, "flatten"), wrap_dim(end_dim, input.ndim_, "flatten")
    if start > end:
        raise ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    if input.ndim_ == 0:
        sizes[0] = 1
        return reshape_to(input, 1, sizes)
    if start == end:
        return input
    for i in range(input.ndim_):
        if start < i <= end:
            sizes[ndim - 1] *= input.sizes[i]
        else:
            sizes[ndim] = input.sizes[i]
            ndim += 1
    return reshape_to(input, ndim, sizes)


def ravel(TensorBase input not None):
    """All elements in one dimension; a view if they lie in row-major order, else a copy.

    Parameters
    ----------
    input : Tensor

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.ravel(x.t())
    tensor([0, 3, 1, 4, 2, 5])
    """
    cdef ssize n = input.numel_
    return view_to(run_contiguous(input), 1, &n, "ravel")


def unflatten(TensorBase input not None, dim, sizes):
    """A view with one dimension split into several.

    Parameters
    ----------
    dim : int
    sizes : tuple of int, whose product is the size of `dim`; one may be -1

    >>> import tensorlab
    >>> tensorlab.unflatten(tensorlab.zeros(2, 12), 1, (3, -1)).shape
    tensorlab.Size([2, 3, 4])
    """
    cdef ssize[MAX_NDIM] parts, numbers
    cdef ssize known = 1
    cdef int at, i, n, missing = -1
    dim, sizes = plain_ints(dim), plain_ints(sizes)
    at = wrap_dim(dim, input.ndim_, "unflatten")
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflatten: sizes must be a tuple of ints, not {type(sizes).__name__}")
    n = read_sizes(sizes, parts, "unflatten")
    if n == 0:
        raise ShapeError("unflatten: sizes is empty; give at least one")
    if input.ndim_ == 0 or input.ndim_ - 1 + n > MAX_NDIM:
        raise ShapeError(f"unflatten: a tensor with {input.ndim_} dimensions cannot get {n} instead of one")
    for i in range(n):
        if parts[i] == -1 and missing < 0:
            missing = i
        else:
            known *= parts[i]
    if missing >= 0 and known > 0 and input.sizes[at] % known == 0:
        parts[missing] = input.sizes[at] // known
    elif missing >= 0 or known != input.sizes[at]:
        raise ShapeError(f"unflatten: sizes {tuple(sizes)} do not multiply up to {input.sizes[at]}, the size of "
                         f"dimension {at}")
    for i in range(at):
        numbers[i] = input.sizes[i]
    for i in range(n):
        numbers[at + i] = parts[i]
    for i in range(at + 1, input.ndim_):
        numbers[i + n - 1] = input.sizes[i]
    return view_to(input, input.ndim_ - 1 + n, numbers, "unflatten")
