"""Views that reorder, add, drop or repeat dimensions: permute, transpose, squeeze, unsqueeze, expand, and relatives.

None of them touches an element. With the row-major strides (3, 1) of a 2 x 3 tensor:

    transpose    sizes (3, 2)       strides (1, 3)
    unsqueeze    sizes (1, 2, 3)    strides (6, 3, 1)
    expand       sizes (4, 2, 3)    strides (0, 3, 1)       stride 0: all four show the same elements

The forms that end in _ change the tensor itself and count as in-place operations, though they write no element.
"""
from cpython.number cimport PyIndex_Check
from cpython.object cimport PyObject

from tensorlab._core.dispatch.dispatch cimport run_1, run_2, run_3
from tensorlab._core.dispatch.op cimport MAX_ARGUMENTS, Op, inplace_op
from tensorlab._core.dispatch.recording cimport OpNode, begin_record
from tensorlab._core.graph.graph cimport (
    as_view, bump_version, dim_of, ndim_of, set_history, should_record, write_metadata
)
from tensorlab._core.graph.inplace cimport check_layout_change
from tensorlab._core.layout cimport MAX_NDIM, is_contiguous, plain_ints, read_sizes, shape_text, ssize, wrap_dim
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase, alias_as, set_layout
from tensorlab.ops.memory_formats cimport as_ints

from tensorlab._core.state.warning import warn_once
from tensorlab.errors import ShapeError


# ---------------------------------------------------------------- what these ops share
cdef int read_dims(object dims, int ndim, int* out, str where) except -1:
    """Dimension numbers from an int or a sequence of different ones, counted from 0; returns how many."""
    cdef int i, j, n
    if PyIndex_Check(dims):
        out[0] = wrap_dim(dims, ndim, where)
        return 1
    if not isinstance(dims, (tuple, list)):
        raise TypeError(f"{where}: dimensions must be ints, not {type(dims).__name__}")
    n = len(dims)
    if n > MAX_NDIM:
        raise ShapeError(f"{where}: {n} dimensions are named, but a tensor has at most {MAX_NDIM}")
    for i in range(n):
        out[i] = wrap_dim(dims[i], ndim, where)
        for j in range(i):
            if out[j] == out[i]:
                raise ShapeError(f"{where}: dimension {out[i]} is named twice in {tuple(dims)}; name each once")
    return n


cdef object change_layout(Op op, TensorBase x, tuple arguments, int ndim, const ssize* sizes, const ssize* strides,
                          char* data):
    """Give x itself another layout over its memory, and record that. `arguments[0]` is x."""
    cdef PyObject* pointers[MAX_ARGUMENTS]
    cdef OpNode node = None
    cdef int i
    if should_record(x):
        for i in range(len(arguments)):
            pointers[i] = <PyObject*>arguments[i]
        node = begin_record(op, pointers, <int>len(arguments))
    set_layout(x, ndim, sizes, strides)
    x.data_ = data
    bump_version(x)
    if node is not None:
        write_metadata(&node.first_metadata, x)
        set_history(x, node, 0)             # of this tensor alone: no element has changed, so its base keeps its own
    return x


# ---------------------------------------------------------------- permute
cdef Op PERMUTE = Op("permute(Tensor(a) x, int[] dims) -> Tensor(a)")

@PERMUTE.derivative("x")
def permute_derivative(grad, dims):
    cdef int[MAX_NDIM] inverse
    cdef int i
    for i in range(len(dims)):
        inverse[wrap_dim(dims[i], <int>len(dims), "permute")] = i
    return permute_to(<TensorBase?>grad, inverse)

cdef int read_order(TensorBase x, object dims, int* order) except -1:
    if not isinstance(dims, (tuple, list)):
        raise TypeError(f"permute: the dimensions must be a tuple of ints, not {type(dims).__name__}")
    if len(dims) != ndim_of(x):             # before any number is looked at, as PyTorch
        raise ShapeError(f"permute: {dims} names {len(dims)} dimensions, but the tensor has {x.ndim_}; name each once")
    return read_dims(dims, x.ndim_, order, "permute")

cdef TensorBase permuted(TensorBase x, const int* order):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i
    for i in range(x.ndim_):
        sizes[i] = x.sizes[order[i]]
        strides[i] = x.strides[order[i]]
    return alias_as(x, x.ndim_, sizes, strides, x.data_)

@PERMUTE.infer
def permute_infer(TensorBase x, dims):
    cdef int[MAX_NDIM] order
    read_order(x, dims, order)
    return permuted(x, order)

cdef TensorBase permute_to(TensorBase x, const int* order):
    """The view whose dimension i is dimension order[i] of x."""
    if is_unwatched(x):
        return as_view(x, permuted(x, order), VIEW_DEFAULT)
    return run_2(PERMUTE, x, tuple([order[i] for i in range(x.ndim_)]))


def permute(TensorBase input not None, *order, dims=None):
    """A view with the dimensions in another order.

    Parameters
    ----------
    dims : ints, or one tuple of them; each dimension of `input` once

    Raises
    ------
    ShapeError
        If some dimension is missing or named twice.

    >>> import tensorlab
    >>> tensorlab.permute(tensorlab.zeros(2, 3, 4), (2, 0, 1)).shape
    tensorlab.Size([4, 2, 3])
    """
    cdef int[MAX_NDIM] numbers
    if dims is None:
        if len(order) == 0:
            raise TypeError("permute: the dimensions in their new order are needed, as in permute(1, 0)")
        dims = order[0] if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
    elif len(order) > 0:
        raise TypeError("permute: dims is given twice")
    read_order(input, plain_ints((dims,) if PyIndex_Check(dims) else dims), numbers)
    return permute_to(input, numbers)


def reversed_dims(TensorBase self not None):
    """A view with the dimensions in reverse order: the transpose of a matrix.

    Of other than two dimensions, it warns once: x.mT transposes matrices in a batch.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[1, 2], [3, 4]]).T
    tensor([[1, 3],
            [2, 4]])
    """
    cdef int[MAX_NDIM] order
    cdef int i
    if self.ndim_ != 2:
        warn_once(f"x.T: x has {self.ndim_} dimensions, not 2; write x.mT for a batch of matrices, or "
                  f"x.permute(*range(x.ndim - 1, -1, -1)) to reverse the dimensions")
    for i in range(self.ndim_):
        order[i] = self.ndim_ - 1 - i
    return permute_to(self, order)


def movedim(TensorBase input not None, source, destination):
    """A view with some dimensions moved to other positions; the others keep their order.

    Parameters
    ----------
    source, destination : int or tuple of int; where the dimensions are, and where they go

    >>> import tensorlab
    >>> tensorlab.movedim(tensorlab.zeros(2, 3, 4), 0, -1).shape
    tensorlab.Size([3, 4, 2])
    """
    cdef int[MAX_NDIM] sources, destinations, order
    cdef bint[MAX_NDIM] is_moved
    cdef int i, next_free, n
    source, destination = plain_ints(source), plain_ints(destination)
    n = read_dims(source, input.ndim_, sources, "movedim")
    if read_dims(destination, input.ndim_, destinations, "movedim") != n:
        raise ShapeError(f"movedim: source {source} and destination {destination} must name equally many dimensions")
    if input.ndim_ == 0:
        return permute_to(input, order)
    for i in range(input.ndim_):
        order[i] = -1
        is_moved[i] = False
    for i in range(n):
        order[destinations[i]] = sources[i]
        is_moved[sources[i]] = True
    next_free = 0
    for i in range(input.ndim_):
        if order[i] < 0:
            while is_moved[next_free]:
                next_free += 1
            order[i] = next_free
            next_free += 1
    return permute_to(input, order)


# ---------------------------------------------------------------- transpose
cdef Op TRANSPOSE = Op("transpose(Tensor(a) x, int dim0, int dim1) -> Tensor(a)",
                       aten="transpose.int")

@TRANSPOSE.derivative("x")
def transpose_derivative(grad, dim0, dim1):
    return transpose(grad, dim0, dim1)

cdef TensorBase transposed(TensorBase x, int dim0, int dim1):
    cdef TensorBase out = alias_as(x, x.ndim_, x.sizes, x.strides, x.data_)
    if dim0 != dim1:
        out.sizes[dim0], out.sizes[dim1] = out.sizes[dim1], out.sizes[dim0]
        out.strides[dim0], out.strides[dim1] = out.strides[dim1], out.strides[dim0]
        out.is_contiguous_ = is_contiguous(out.ndim_, out.sizes, out.strides)
    return out

@TRANSPOSE.infer
def transpose_infer(TensorBase x, dim0, dim1):
    cdef int ndim = ndim_of(x)
    return transposed(x, wrap_dim(dim0, ndim, "transpose"), wrap_dim(dim1, ndim, "transpose"))

cdef TensorBase transpose_dims(TensorBase x, object dim0, object dim1):
    dim0, dim1 = plain_ints(dim0), plain_ints(dim1)
    if is_unwatched(x):
        return as_view(x, transposed(x, wrap_dim(dim0, x.ndim_, "transpose"), wrap_dim(dim1, x.ndim_, "transpose")), VIEW_DEFAULT)
    return run_3(TRANSPOSE, x, dim0, dim1)

def transpose(TensorBase input not None, dim0, dim1):
    """A view with two dimensions exchanged.

    >>> import tensorlab
    >>> tensorlab.transpose(tensorlab.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    return transpose_dims(input, dim0, dim1)


def swapaxes(TensorBase input not None, axis0, axis1):
    """`transpose`, under NumPy's name.

    Parameters
    ----------
    input : Tensor
    axis0, axis1 : int

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.swapaxes(x, 0, 1).shape
    tensorlab.Size([3, 2])
    """
    return transpose_dims(input, axis0, axis1)


def swapdims(TensorBase input not None, dim0, dim1):
    """`transpose`."""
    return transpose_dims(input, dim0, dim1)


cdef Op TRANSPOSE_ = inplace_op(TRANSPOSE)

@TRANSPOSE_.compose
def transpose_in_place(TensorBase self, dim0, dim1):
    cdef int first, second
    cdef TensorBase out
    check_layout_change(self, "transpose_")
    dim0, dim1 = plain_ints(dim0), plain_ints(dim1)
    first = dim_of(dim0, self, "transpose_")
    second = dim_of(dim1, self, "transpose_")
    out = transposed(self, first, second)
    return change_layout(TRANSPOSE, self, (self, first, second), out.ndim_, out.sizes, out.strides, self.data_)

TRANSPOSE_.records_itself = True
TRANSPOSE_.aten = "transpose_"

def transpose_(TensorBase self not None, dim0, dim1):
    """`transpose` of the tensor itself.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, 3, 4)
    >>> x.transpose_(0, 2).shape, x.shape
    (tensorlab.Size([4, 3, 2]), tensorlab.Size([4, 3, 2]))
    """
    return run_3(TRANSPOSE_, self, dim0, dim1)


def matrix_transpose(TensorBase self not None):
    """A view with the last two dimensions exchanged.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(5, 2, 3).mT.shape
    tensorlab.Size([5, 3, 2])
    """
    if self.ndim_ < 2:
        raise ShapeError(f"mT: a matrix or a batch of matrices is needed, not a tensor with {self.ndim_} dimensions")
    return transpose_dims(self, -2, -1)


def adjoint(TensorBase input not None):
    """`mT`, conjugated if it is complex.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.adjoint(x).shape
    tensorlab.Size([3, 2])
    """
    return matrix_transpose(input).conj()


def get_h(TensorBase self not None):
    """The transpose of a matrix, conjugated if it is complex.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[1 + 2j, 3]]).H
    tensor([[1.-2.j],
            [3.-0.j]])
    """
    if self.ndim_ != 2 and self.ndim_ != 0:
        raise ShapeError(f"H: a matrix is needed, not a tensor with {self.ndim_} dimensions; use mH for batches of "
                         f"them")
    return reversed_dims(self).conj()


cdef Op T = Op("t(Tensor(a) x) -> Tensor(a)")

@T.derivative("x")
def t_derivative(grad):
    return t(grad)

cdef int last_of(TensorBase x, str where) except -1:
    """The dimension that `t` exchanges with dimension 0."""
    if x.ndim_ > 2:
        raise ShapeError(f"{where}: a tensor with at most 2 dimensions is needed, not {x.ndim_}; use transpose or mT")
    return 1 if x.ndim_ == 2 else 0

cdef TensorBase t_kernel(TensorBase x):
    return transposed(x, 0, last_of(x, "t"))

@T.infer
def t_infer(TensorBase x):
    return t_kernel(x)

def t(TensorBase input not None):
    """A view of a matrix with its dimensions exchanged; of a tensor with fewer dimensions as it is.

    >>> import tensorlab
    >>> tensorlab.t(tensorlab.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    return as_view(input, t_kernel(input), VIEW_DEFAULT) if is_unwatched(input) else run_1(T, input)


cdef Op T_ = inplace_op(T)

@T_.compose
def t_in_place(TensorBase self):
    cdef TensorBase out
    check_layout_change(self, "t_")
    out = transposed(self, 0, last_of(self, "t_"))
    return change_layout(T, self, (self,), out.ndim_, out.sizes, out.strides, self.data_)

T_.records_itself = True

def t_(TensorBase self not None):
    """`t` of the tensor itself.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, 3)
    >>> x.t_().shape, x.shape
    (tensorlab.Size([3, 2]), tensorlab.Size([3, 2]))
    """
    return run_1(T_, self)


# ---------------------------------------------------------------- squeeze
cdef Op SQUEEZE = Op("squeeze(Tensor(a) x, int[]? dim=None) -> Tensor(a)", aten="squeeze.dims")

@SQUEEZE.derivative("x")
def squeeze_derivative(grad, x_shape, dim):
    cdef bint[MAX_NDIM] named
    cdef int d, ndim = <int>len(x_shape)
    name_dims(dim, ndim, named, "squeeze")
    for d in range(ndim):
        if named[d] and x_shape[d] == 1:
            grad = unsqueeze_dim(grad, d)
    return grad

cdef int name_dims(object dims, int ndim, bint* named, str where) except -1:
    """Say of each dimension whether it is among `dims`; all of them are if that is None."""
    cdef int[MAX_NDIM] chosen
    cdef int i, n
    for i in range(ndim):
        named[i] = dims is None
    if dims is not None:
        n = read_dims(dims, ndim, chosen, where)
        for i in range(n):
            named[chosen[i]] = True
    return 0

cdef int squeezed(TensorBase x, object dims, ssize* sizes, ssize* strides, str where) except -1:
    """The layout without the dimensions of size 1 (among `dims`, unless that is None)."""
    cdef bint[MAX_NDIM] named
    cdef int i, ndim = 0
    name_dims(dims, ndim_of(x), named, where)
    for i in range(x.ndim_):
        if not (named[i] and x.sizes[i] == 1):
            sizes[ndim] = x.sizes[i]
            strides[ndim] = x.strides[i]
            ndim += 1
    return ndim

cdef TensorBase squeeze_kernel(TensorBase x, object dim):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int ndim = squeezed(x, dim, sizes, strides, "squeeze")
    return alias_as(x, ndim, sizes, strides, x.data_)

@SQUEEZE.infer
def squeeze_infer(TensorBase x, dim):
    return squeeze_kernel(x, dim)

def squeeze(TensorBase input not None, *dims, dim=None):
    """A view without the dimensions of size 1.

    Parameters
    ----------
    dim : int or tuple of int; only these, where their size is 1

    >>> import tensorlab
    >>> tensorlab.squeeze(tensorlab.zeros(1, 3, 1)).shape
    tensorlab.Size([3])
    """
    if len(dims) > 0:
        dim = dims[0] if len(dims) == 1 else dims
    dim = plain_ints(dim)
    return as_view(input, squeeze_kernel(input, dim), VIEW_DEFAULT) if is_unwatched(input) else run_2(SQUEEZE, input, dim)


cdef Op SQUEEZE_ = inplace_op(SQUEEZE)

@SQUEEZE_.compose
def squeeze_in_place(TensorBase self, dim):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int ndim
    check_layout_change(self, "squeeze_")
    dim = plain_ints(dim)
    ndim = squeezed(self, dim, sizes, strides, "squeeze_")
    return change_layout(SQUEEZE, self, (self, dim), ndim, sizes, strides, self.data_)

SQUEEZE_.records_itself = True

def squeeze_(TensorBase self not None, *dims, dim=None):
    """`squeeze` of the tensor itself.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(1, 3, 1)
    >>> x.squeeze_(0).shape, x.shape
    (tensorlab.Size([3, 1]), tensorlab.Size([3, 1]))
    """
    if len(dims) > 0:
        dim = dims[0] if len(dims) == 1 else dims
    return run_2(SQUEEZE_, self, dim)


# ---------------------------------------------------------------- unsqueeze
cdef Op UNSQUEEZE = Op("unsqueeze(Tensor(a) x, int dim) -> Tensor(a)")

@UNSQUEEZE.derivative("x")
def unsqueeze_derivative(grad, dim):
    return squeeze(grad, dim)               # of the gradient, which has a dimension more: -1 is the same in both

cdef int unsqueezed(TensorBase x, int dim, ssize* sizes, ssize* strides, str where) except -1:
    cdef int i
    if x.ndim_ == MAX_NDIM:
        raise ShapeError(f"{where}: the tensor has {MAX_NDIM} dimensions already, which is the most there can be")
    for i in range(x.ndim_ + 1):
        if i == dim:
            sizes[i] = 1
            strides[i] = x.sizes[i] * x.strides[i] if i < x.ndim_ else 1
        else:
            sizes[i] = x.sizes[i - (i > dim)]
            strides[i] = x.strides[i - (i > dim)]
    return 0

cdef TensorBase with_dim(TensorBase x, int dim):
    cdef ssize[MAX_NDIM] sizes, strides
    unsqueezed(x, dim, sizes, strides, "unsqueeze")
    return alias_as(x, x.ndim_ + 1, sizes, strides, x.data_)

@UNSQUEEZE.infer
def unsqueeze_infer(TensorBase x, dim):
    return with_dim(x, wrap_dim(dim, ndim_of(x) + 1, "unsqueeze"))

cdef TensorBase unsqueeze_dim(TensorBase x, int dim):
    """`dim` counts from 0 and is in range."""
    return as_view(x, with_dim(x, dim), VIEW_DEFAULT) if is_unwatched(x) else run_2(UNSQUEEZE, x, dim)


def unsqueeze(TensorBase input not None, dim):
    """A view with a dimension of size 1 put in at position `dim`.

    >>> import tensorlab
    >>> tensorlab.unsqueeze(tensorlab.zeros(3), -1).shape
    tensorlab.Size([3, 1])
    """
    return unsqueeze_dim(input, wrap_dim(plain_ints(dim), ndim_of(input) + 1, "unsqueeze"))


cdef Op UNSQUEEZE_ = inplace_op(UNSQUEEZE)

@UNSQUEEZE_.compose
def unsqueeze_in_place(TensorBase self, dim):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int at
    check_layout_change(self, "unsqueeze_")
    at = wrap_dim(plain_ints(dim), ndim_of(self) + 1, "unsqueeze_")
    unsqueezed(self, at, sizes, strides, "unsqueeze_")
    return change_layout(UNSQUEEZE, self, (self, at), self.ndim_ + 1, sizes, strides, self.data_)

UNSQUEEZE_.records_itself = True

def unsqueeze_(TensorBase self not None, dim):
    """`unsqueeze` of the tensor itself.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(3)
    >>> x.unsqueeze_(0).shape, x.shape
    (tensorlab.Size([1, 3]), tensorlab.Size([1, 3]))
    """
    return run_2(UNSQUEEZE_, self, dim)


# ---------------------------------------------------------------- expand
cdef Op EXPAND = Op("expand(Tensor(a) x, int[] size) -> Tensor(a)",
                    fixed="*, bool implicit=False")

@EXPAND.derivative("x")
def expand_derivative(grad, x_shape):
    return grad if x_shape else grad.sum()  # the engine sums it over what was repeated

cdef TensorBase expanded(TensorBase x, int ndim, const ssize* sizes):
    """Sizes of -1 keep the size of x."""
    cdef ssize[MAX_NDIM] out_sizes, strides
    cdef ssize size, stride
    cdef int i, shift = ndim - x.ndim_
    if shift < 0:
        raise ShapeError(f"expand: {shape_text(ndim, sizes)} has {ndim} dimensions, and the tensor's shape "
                         f"{shape_text(x.ndim_, x.sizes)} has more; give it at least {x.ndim_} sizes")
    for i in range(ndim - 1, -1, -1):
        if i >= shift:
            size = x.sizes[i - shift]
            stride = x.strides[i - shift]
        else:
            size = 1
            stride = out_sizes[i + 1] * strides[i + 1] if x.ndim_ > 0 else 0
        if sizes[i] == -1 and i >= shift or sizes[i] == size:
            out_sizes[i] = size
            strides[i] = stride
        elif sizes[i] < 0:
            raise ShapeError(f"expand: size {sizes[i]} at position {i} of {shape_text(ndim, sizes)} is negative"
                             f"{'; -1 keeps a size, and this dimension is new' if sizes[i] == -1 else ''}")
        elif size != 1:
            raise ShapeError(f"expand: shape {shape_text(x.ndim_, x.sizes)} cannot become {shape_text(ndim, sizes)}: "
                             f"only dimensions of size 1 can be repeated, and dimension {i - shift} has size {size}")
        else:
            out_sizes[i] = sizes[i]
            strides[i] = 0
    return alias_as(x, ndim, out_sizes, strides, x.data_)

@EXPAND.infer
def expand_infer(TensorBase x, size):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(size, sizes, "expand")
    return expanded(x, ndim, sizes)

cdef TensorBase expand_to(TensorBase x, int ndim, const ssize* sizes):
    if is_unwatched(x):
        return as_view(x, expanded(x, ndim, sizes), VIEW_DEFAULT)
    return run_2(EXPAND, x, as_ints(ndim, sizes))


def expand(TensorBase self not None, *sizes, size=None, implicit=False):
    """A view in which dimensions of size 1 are repeated, without copying.

    Parameters
    ----------
    sizes : ints, or one tuple of them; -1 keeps a size; further dimensions are put in front

    Raises
    ------
    ShapeError
        If a dimension of another size than 1 would change.

    >>> import tensorlab
    >>> tensorlab.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim
    if len(sizes) == 0 and size is None:
        raise TypeError("expand: sizes are needed, as in expand(2, 3)")
    ndim = read_sizes(sizes if size is None else size, numbers, "expand")
    return expand_to(self, ndim, numbers)


def expand_as(TensorBase self not None, TensorBase other not None):
    """`expand` to the shape of another tensor.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([[1], [2]]).expand_as(tensorlab.zeros(2, 3))
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expand_to(self, other.ndim_, other.sizes)


def broadcast_to(TensorBase input not None, size):
    """`expand`, under NumPy's name.

    Parameters
    ----------
    input : Tensor
    size : sequence of int

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.broadcast_to(tensorlab.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim = read_sizes(size, numbers, "broadcast_to")
    return expand_to(input, ndim, numbers)
