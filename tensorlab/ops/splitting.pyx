"""One tensor into several views: split, chunk, unbind, tensor_split, hsplit, vsplit, dsplit.

Several views that one call returns cannot be changed in place while autograd watches, because a write to one would
have to rewrite the history that it shares with the others. (tensor_split makes its views one by one; they can.)
"""
from cpython.exc cimport PyErr_CheckSignals
from cpython.number cimport PyIndex_Check

from tensorlab._core.dispatch.dispatch cimport run_2, run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport INT64, item_size
from tensorlab._core.graph.graph cimport dim_of
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, int_argument, ssize, wrap_dim
from tensorlab._core.tensor cimport VIEW_MULTI_OUTPUT, TensorBase, alias_as
from tensorlab.ops.joining cimport run_cat, run_stack
from tensorlab.ops.slicing cimport part_of, slice_dim

from tensorlab._core.interop.exchange import tolist
from tensorlab.errors import DimensionError, DTypeError, ShapeError


cdef inline int let_interrupt(ssize i) except -1:
    """Look for Ctrl-C now and then in a loop that runs as often as the caller likes."""
    return PyErr_CheckSignals() if i & 1023 == 0 else 0


cdef list filled(list grads, object like, object shapes):
    """The gradients of several results, with zeros for those that were not used."""
    return [like.new_zeros(shapes[i]) if grads[i] is None else grads[i] for i in range(len(grads))]


cdef object join_gradients(list grads, object x_shape, int dim, object lengths):
    """Put the gradients of pieces together again."""
    cdef list shapes = []
    dim = wrap_dim(dim, <int>len(x_shape), "split")
    for length in lengths:
        shapes.append(tuple(x_shape[:dim]) + (length,) + tuple(x_shape[dim + 1:]))
    return run_cat(filled(grads, next(one for one in grads if one is not None), shapes), dim)


# ---------------------------------------------------------------- split
cdef Op SPLIT = Op("split(Tensor(a) x, int split_size, int dim=0) -> Tensor(a)[]",
                   aten="split.Tensor")
SPLIT.creation = VIEW_MULTI_OUTPUT

@SPLIT.derivative("x")
def split_derivative(grads, x_shape, split_size, dim):
    return join_gradients(grads, x_shape, dim, even_sizes(x_shape[dim], split_size))

cdef Op SPLIT_WITH_SIZES = Op("split_with_sizes(Tensor(a) x, int[] split_sizes, "
                              "int dim=0) -> Tensor(a)[]")
SPLIT_WITH_SIZES.creation = VIEW_MULTI_OUTPUT

@SPLIT_WITH_SIZES.derivative("x")
def split_with_sizes_derivative(grads, x_shape, split_sizes, dim):
    return join_gradients(grads, x_shape, dim, split_sizes)


@SPLIT.infer
def split_infer(TensorBase x, split_size, dim):
    cdef ssize length = split_size
    cdef int at = piece_dim(x, length, dim)
    return views_of_pieces(x, even_sizes(x.sizes[at], length), at)

@SPLIT_WITH_SIZES.infer
def split_with_sizes_infer(TensorBase x, split_sizes, dim):
    return views_of_pieces(x, split_sizes, dim)

cdef tuple views_of_pieces(TensorBase x, object lengths, object dim):
    """Views of `lengths` indices each, one after the other."""
    cdef list outputs = []
    cdef ssize start = 0, length, size
    cdef int at
    if not isinstance(lengths, (tuple, list)):
        raise TypeError(f"split: the sizes must be a list of ints, not {type(lengths).__name__}")
    if x.ndim_ == 0:
        raise ShapeError("split_with_sizes: a 0-d tensor has no dimension to split")
    at = dim_of(dim, x, "split_with_sizes")
    size = x.sizes[at]
    for length in lengths:
        let_interrupt(len(outputs))
        if length < 0 or length > size - start:
            break
        outputs.append(part_of(x, at, start, length, 1))
        start += length
    else:
        if start == size:
            return tuple(outputs)
    raise ShapeError(f"split_with_sizes: the sizes {lengths} must be at least 0 and add up to {size}, the size of dimension "
                     f"{at}")


cdef int piece_dim(TensorBase x, ssize length, object dim) except -1:
    """The dimension to cut into pieces of `length` indices, counted from 0."""
    cdef int at
    if x.ndim_ == 0:
        raise ShapeError("split: a 0-d tensor has no dimension to split")
    at = dim_of(dim, x, "split")
    if length < 0 or (length == 0 and x.sizes[at] > 0):
        raise ShapeError(f"split: pieces of size {length} cannot make up dimension {at}, which has size {x.sizes[at]}")
    return at


cdef list even_sizes(ssize left, ssize length):
    """The sizes of pieces of `length` indices each; the last one may be shorter."""
    cdef list sizes = []
    if left == 0:
        sizes.append(0)
    while left > 0:
        let_interrupt(len(sizes))
        sizes.append(min(left, length))
        left -= length
    return sizes


def split(TensorBase tensor not None, split_size_or_sections, dim=0):
    """Views of consecutive pieces of a dimension.

    Parameters
    ----------
    split_size_or_sections : int, the size of all pieces but perhaps the last; or a list with the size of each
    dim : int

    Returns
    -------
    tuple of Tensor

    Raises
    ------
    ShapeError
        If a size is negative, or the sizes in a list do not add up.

    >>> import tensorlab
    >>> tensorlab.split(tensorlab.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    cdef ssize length
    if not PyIndex_Check(split_size_or_sections):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    length = int_argument(split_size_or_sections, "split", "split_size")
    return run_3(SPLIT, tensor, length, piece_dim(tensor, length, plain_ints(dim)))


def split_with_sizes(TensorBase input not None, split_sizes, dim=0):
    """`split` into pieces of given sizes.

    Parameters
    ----------
    input : Tensor
    split_sizes : sequence of int that sum to the size of the dimension
    dim : int

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.split_with_sizes(x, [1, 2], dim=1)
    (tensor([[0],
            [3]]), tensor([[1, 2],
            [4, 5]]))
    """
    if not isinstance(split_sizes, (tuple, list)):
        raise TypeError(f"split: split_size must be an int or a list of ints, not {type(split_sizes).__name__}")
    dim = plain_ints(dim)
    return run_3(SPLIT_WITH_SIZES, input, [int_argument(length, "split_with_sizes", "a size") for length in split_sizes], dim)


def chunk(TensorBase input not None, chunks, dim=0):
    """At most `chunks` views of consecutive pieces of a dimension, of equal size but for the last.

    >>> import tensorlab
    >>> [len(part) for part in tensorlab.chunk(tensorlab.zeros(7), 3)]
    [3, 3, 1]
    """
    cdef int at
    cdef ssize n = int_argument(chunks, "chunk", "chunks"), length, i
    cdef list nothing = []
    dim = plain_ints(dim)
    if input.ndim_ == 0:
        raise ShapeError("chunk: a 0-d tensor has no dimension to split")
    if n <= 0:
        raise ShapeError(f"chunk: chunks must be at least 1, not {n}")
    at = wrap_dim(dim, input.ndim_, "chunk")
    length = input.sizes[at] // n + (input.sizes[at] % n > 0)
    if length == 0:
        for i in range(n):
            let_interrupt(i)
            nothing.append(0)
        return run_3(SPLIT_WITH_SIZES, input, nothing, at)
    return run_3(SPLIT, input, length, at)


# ---------------------------------------------------------------- unbind
cdef Op UNBIND = Op("unbind(Tensor(a) x, int dim=0) -> Tensor(a)[]", aten="unbind.int")
UNBIND.creation = VIEW_MULTI_OUTPUT

@UNBIND.derivative("x")
def unbind_derivative(grads, x_shape, dim):
    cdef int at = wrap_dim(dim, <int>len(x_shape), "unbind")
    cdef object shape = tuple(x_shape[:at]) + tuple(x_shape[at + 1:])
    cdef object like = next(one for one in grads if one is not None)
    return run_stack(filled(grads, like, [shape] * len(grads)), at)

@UNBIND.infer
def unbind_infer(TensorBase x, dim):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef list outputs = []
    cdef int at, i
    cdef ssize k
    if x.ndim_ == 0:
        raise DimensionError("unbind: a 0-d tensor has no dimension to take apart")
    at = dim_of(dim, x, "unbind")
    for i in range(x.ndim_ - 1):
        sizes[i] = x.sizes[i + (i >= at)]
        strides[i] = x.strides[i + (i >= at)]
    for k in range(x.sizes[at]):
        let_interrupt(k)
        outputs.append(alias_as(x, x.ndim_ - 1, sizes, strides, x.data_ + k * x.strides[at] * item_size[x.dtype_]))
    return tuple(outputs)

def unbind(TensorBase input not None, dim=0):
    """Views of all indices of a dimension, which disappears.

    >>> import tensorlab
    >>> tensorlab.unbind(tensorlab.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return run_2(UNBIND, input, plain_ints(dim))


# ---------------------------------------------------------------- tensor_split
cdef object cut_points(object given, str where):
    """The number of sections as an int, or the cut points as a tuple of ints."""
    if isinstance(given, TensorBase):
        if (<TensorBase>given).dtype_ != INT64 or (<TensorBase>given).ndim_ > 1:
            raise DTypeError(f"{where}: a tensor of sections or cut points must be of int64 with at most one dimension, not "
                             f"{given.dtype} with {given.ndim}")
        given = tolist(given)
        return given if isinstance(given, int) else tuple(given)
    if PyIndex_Check(given):
        return int_argument(given, where, "the number of sections")
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{where}: the number of sections or a tuple of cut points is needed, not "
                        f"{type(given).__name__}")
    return tuple([int_argument(point, where, "a cut point") for point in given])


cdef object split_at(TensorBase x, int dim, object cuts, str where):
    """Views between cut points, or of sizes that differ by at most 1, each made on its own."""
    cdef list parts = []
    cdef ssize n, i, start = 0, end, size = x.sizes[dim]
    if isinstance(cuts, int):
        n = cuts
        if n <= 0:
            raise ShapeError(f"{where}: the number of sections must be at least 1, not {n}")
        for i in range(n):
            let_interrupt(i)
            end = size // n + (i < size % n)
            parts.append(slice_dim(x, dim, start, end, 1))
            start += end
        return tuple(parts)
    for end in cuts + (size,):
        end = min(max(end + size if end < 0 else end, 0), size)
        start = min(start, size)
        parts.append(slice_dim(x, dim, start, max(end - start, 0), 1))
        start = end
    return tuple(parts)


def tensor_split(TensorBase input not None, indices_or_sections, dim=0):
    """Views of a dimension's pieces: so many of almost equal size, or those between cut points.

    Parameters
    ----------
    indices_or_sections : int, tuple of int, or a 0-d or 1-d integer tensor

    >>> import tensorlab
    >>> tensorlab.tensor_split(tensorlab.tensor([1, 2, 3, 4]), (1, 3))
    (tensor([1]), tensor([2, 3]), tensor([4]))
    """
    cdef object cuts = cut_points(indices_or_sections, "tensor_split")
    dim = plain_ints(dim)
    if input.ndim_ == 0:
        raise ShapeError("tensor_split: a 0-d tensor has no dimension to split")
    return split_at(input, wrap_dim(dim, input.ndim_, "tensor_split"), cuts, "tensor_split")


cdef object split_along(TensorBase x, int dim, int least, object given, str where):
    """`dim` counts from 0; -1 stands for dimension 1, or 0 of a 1-d tensor."""
    cdef object cuts = cut_points(given, where)
    if x.ndim_ < least:
        raise ShapeError(f"{where}: a tensor with at least {least} dimensions is needed, not {x.ndim_}")
    if dim < 0:
        dim = 0 if x.ndim_ == 1 else 1
    if isinstance(cuts, int) and (cuts <= 0 or x.sizes[dim] % <ssize>cuts != 0):
        raise ShapeError(f"{where}: dimension {dim} has size {x.sizes[dim]}, which cannot be split into {cuts} "
                         f"equal parts")
    return split_at(x, dim, cuts, where)


def hsplit(TensorBase input not None, indices_or_sections):
    """`tensor_split` along dimension 1, or 0 of a 1-d tensor, into equal parts.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.hsplit(x, [1])
    (tensor([[0],
            [3]]), tensor([[1, 2],
            [4, 5]]))
    """
    return split_along(input, -1, 1, indices_or_sections, "hsplit")


def vsplit(TensorBase input not None, indices_or_sections):
    """`tensor_split` along dimension 0 into equal parts.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.vsplit(x, 2)
    (tensor([[0, 1, 2]]), tensor([[3, 4, 5]]))
    """
    return split_along(input, 0, 2, indices_or_sections, "vsplit")


def dsplit(TensorBase input not None, indices_or_sections):
    """`tensor_split` along dimension 2 into equal parts.

    Examples
    --------
    >>> import tensorlab
    >>> [part.shape for part in tensorlab.dsplit(tensorlab.ones(1, 1, 4), 2)]
    [tensorlab.Size([1, 1, 2]), tensorlab.Size([1, 1, 2])]
    """
    return split_along(input, 2, 3, indices_or_sections, "dsplit")
