"""einsum: sums of products in index notation; and tensordot and kron.

    einsum("bij,bjk->bik", x, y)        out[b, i, k] = sum over j of x[b, i, j] * y[b, j, k]

Each letter names a dimension. All operands are first brought to the same dimensions: those of the result, then those that
are summed over; an operand has size 1 where it lacks a letter. Then they are combined from left to right, two at a time. For
a pair, each dimension is one of

    batch   in both operands, and kept          left    only in the first, and kept
    sum     in both, and not needed later       right   only in the second, and kept

(one that only one of the two has, and that is not needed later, is summed at once). Permuted to (batch, left, sum) and
(batch, sum, right), the pair is a matrix product over the last two. Batch dimensions stay apart, so that a permuted
operand need not be copied: the product takes them as they are.
"""
from tensorlab._core.dispatch.out_argument cimport CASTS, store_out
from tensorlab._core.layout cimport int_argument, wrap_dim
from tensorlab._core.tensor cimport TensorBase, make_size

from tensorlab.errors import ShapeError
from tensorlab.ops.linalg.matrices import bmm, dot, matmul

cdef str LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
cdef str ELLIPSIS = "..."


cdef object sizes_of(TensorBase x):
    """The shape of x, whatever a subclass says of that."""
    return make_size(x.ndim_, x.sizes)


cdef Py_ssize_t size_of(TensorBase x, int d) except -1:
    """The size of x in dimension d, which it has."""
    return x.sizes[d]


# ---------------------------------------------------------------- reading the equation
cdef list read_labels(str text, str what):
    """The labels of one operand: letters, and at most one ellipsis."""
    cdef list labels = []
    cdef Py_ssize_t i = 0
    while i < len(text):
        letter = text[i]
        if letter == " ":
            i += 1
        elif letter == ".":
            if text[i:i + 3] != ELLIPSIS:
                raise ShapeError(f"einsum: {what} has a '.' that is not part of an ellipsis '...'")
            if ELLIPSIS in labels:
                raise ShapeError(f"einsum: {what} has two ellipses")
            labels.append(ELLIPSIS)
            i += 3
        elif letter in LETTERS:
            labels.append(letter)
            i += 1
        else:
            raise ShapeError(f"einsum: {what} has {letter!r}; subscripts are letters from a to z and A to Z")
    return labels


cdef list read_sublist(object numbers, str what):
    """Labels given as numbers from 0 to 51, as in einsum(x, [0, 1], y, [1, 2], [0, 2])."""
    cdef list labels = []
    for number in numbers:
        if number is Ellipsis:
            if ELLIPSIS in labels:
                raise ShapeError(f"einsum: {what} has two ellipses")
            labels.append(ELLIPSIS)
        elif isinstance(number, int) and 0 <= number < 52:
            labels.append(LETTERS[number])
        else:
            raise ShapeError(f"einsum: {what} has {number!r}; subscripts are numbers from 0 to 51")
    return labels


cdef tuple read_call(tuple arguments):
    """(operands, labels of each, labels of the result or None) of either form of the call."""
    cdef list operands = [], inputs = []
    cdef object output = None
    if len(arguments) < 2:
        raise ValueError("einsum: an equation and at least one operand are needed")
    if isinstance(arguments[0], TensorBase):
        while len(arguments) >= 2:
            operands.append(arguments[0])
            inputs.append(read_sublist(arguments[1], f"operand {len(inputs)}"))
            arguments = arguments[2:]
        if arguments:
            output = read_sublist(arguments[0], "the result")
        return operands, inputs, output
    if not isinstance(arguments[0], str):
        raise TypeError("einsum: the first argument must be the equation, a str such as 'ij,jk->ik'")
    operands = list(arguments[1:])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
        if not operands:
            raise ValueError("einsum: at least one operand is needed")
    left, arrow, right = arguments[0].partition("->")
    inputs = [read_labels(part, f"operand {i}") for i, part in enumerate(left.split(","))]
    if arrow:
        output = read_labels(right, "the result")
    if len(inputs) != len(operands):
        raise ShapeError(f"einsum: the equation has {len(inputs)} operands, but {len(operands)} are given")
    return operands, inputs, output


cdef list name_dims(list labels, TensorBase x, int number):
    """A name for each dimension; those of an ellipsis are counted from the right: -1, -2, ..."""
    cdef Py_ssize_t at, hidden = x.ndim_ - len(labels) + 1
    if ELLIPSIS not in labels:
        if len(labels) != x.ndim_:
            raise ShapeError(f"einsum: operand {number} has {x.ndim_} dimensions, but {len(labels)} subscripts and no ellipsis")
        return labels
    if hidden < 0:
        raise ShapeError(f"einsum: operand {number} has {x.ndim_} dimensions, but {len(labels) - 1} subscripts")
    at = labels.index(ELLIPSIS)
    return labels[:at] + [-i for i in range(hidden, 0, -1)] + labels[at + 1:]


cdef list name_result(list names, object output):
    """The dimensions of the result. Unless given: the ellipsis, then letters that occur once, in alphabetical order."""
    cdef list every = [name for one in names for name in one]
    cdef list hidden = sorted({name for name in every if isinstance(name, int)})
    cdef list out = []
    if output is None:
        return hidden + sorted([name for name in set(every) if isinstance(name, str) and every.count(name) == 1])
    for name in output:
        if name == ELLIPSIS:
            out.extend(hidden)
        elif name in out:
            raise ShapeError(f"einsum: subscript {name} appears twice in the result")
        elif name not in every:
            raise ShapeError(f"einsum: subscript {name} of the result is in no operand")
        else:
            out.append(name)
    return out


# ---------------------------------------------------------------- preparing operands
cdef tuple take_diagonals(object x, list names):
    """x with each name once: a repeated one is read along the diagonal."""
    cdef list out = []
    cdef Py_ssize_t i = 0
    while i < len(names):
        name = names[i]
        if name in out:
            j = out.index(name)
            if size_of(x, i) != size_of(x, j):
                raise ShapeError(f"einsum: subscript {name} is repeated for sizes {size_of(x, j)} and {size_of(x, i)}")
            x = x.diagonal(0, j, i).movedim(-1, j)
            names = names[:i] + names[i + 1:]
        else:
            out.append(name)
            i += 1
    return x, out


cdef int check_sizes(list operands, list names) except -1:
    """Each name must mean the same size everywhere; 1 gives way to others."""
    cdef dict sizes = {}
    for number, (x, own) in enumerate(zip(operands, names)):
        for name, size in zip(own, sizes_of(x)):
            known = sizes.get(name, 1)
            if known != 1 and size != 1 and size != known:
                raise ShapeError(f"einsum: subscript {name} has size {size} in operand {number}, but size {known} before")
            sizes[name] = size if known == 1 else known
    return 0


cdef object arrange(object x, list names, list order):
    """x with its dimensions in this order, and size 1 for those it does not have."""
    cdef list own = list(names)
    for name in order:
        if name not in own:
            own.append(name)
            x = x.unsqueeze(-1)
    return x.permute([own.index(name) for name in order])


# ---------------------------------------------------------------- a pair
cdef long product_of(object sizes):
    cdef long n = 1
    for size in sizes:
        n *= size
    return n


cdef object as_matrices(object x, list batch, list rows, list columns, list rest):
    """x permuted to (batch, rows, columns), each joined to one dimension."""
    shape = [product_of([size_of(x, d) for d in dims]) for dims in (batch, rows, columns)]
    return x.permute(batch + rows + columns + rest).reshape(shape)


cdef object multiply_pair(object x, object y, list summed):
    """The product of two operands, summed over the dimensions `summed`, which keep size 1."""
    cdef list batch = [], left = [], right = [], order
    cdef int d, ndim = (<TensorBase?>x).ndim_
    if not summed:
        return x * y
    for d in range(ndim):
        if d in summed:
            continue
        if size_of(x, d) != 1 and size_of(y, d) != 1:
            batch.append(d)
        elif size_of(x, d) != 1:
            left.append(d)
        else:
            right.append(d)
    if left and right and right[len(right) - 1] < left[0]:          # so the result comes out in the order that is asked for
        x, y, left, right = y, x, right, left
    out = bmm(as_matrices(x, batch, left, summed, right), as_matrices(y, batch, summed, right, left))
    order = batch + left + summed + right
    out = out.reshape([size_of(x, d) for d in batch + left] + [1] * len(summed) + [size_of(y, d) for d in right])
    return out.permute([order.index(d) for d in range(ndim)])


cdef object combine(object x, object y, list uses, int kept):
    """The product of two operands, summed over the dimensions from `kept` on that no later operand has.

    `uses` counts, for each dimension, the operands that have it: x and y become one.
    """
    cdef list summed = [], x_alone = [], y_alone = []
    cdef int d
    for d in range(kept, (<TensorBase?>x).ndim_):
        if size_of(x, d) != 1 and size_of(y, d) != 1:
            uses[d] -= 1
            if uses[d] == 1:
                summed.append(d)
        elif uses[d] == 1 and (size_of(x, d) != 1 or size_of(y, d) != 1):
            (x_alone if size_of(x, d) != 1 else y_alone).append(d)
    if x_alone:
        x = x.sum(x_alone, keepdim=True)
    if y_alone:
        y = y.sum(y_alone, keepdim=True)
    return multiply_pair(x, y, summed)


# ---------------------------------------------------------------- einsum
def einsum(*args):
    """Sums of products in index notation.

    Parameters
    ----------
    equation : str; for each operand the letters of its dimensions, separated by commas, and after -> those of the result.
        `...` stands for any further dimensions, which are broadcast. Without -> the result has the letters that occur once,
        in alphabetical order
    *operands : Tensor, or one sequence of them

    Returns
    -------
    Tensor; what is not in the result is summed over. A letter that an operand has twice means its diagonal

    Raises
    ------
    ShapeError
        If the equation is malformed, or does not fit the operands.

    Notes
    -----
    Instead of an equation, each operand may be followed by a list of numbers:
    ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` is ``einsum("ij,jk->ik", x, y)``.

    >>> import tensorlab
    >>> x = tensorlab.tensor([[1., 2.], [3., 4.]])
    >>> tensorlab.einsum("ij,kj->ik", x, x)
    tensor([[ 5., 11.],
            [11., 25.]])
    >>> tensorlab.einsum("ii", x)
    tensor(5.)
    """
    cdef list operands, inputs, names, output, order, uses
    cdef Py_ssize_t i, kept
    operands, inputs, given = read_call(args)
    for i in range(len(operands)):
        if not isinstance(operands[i], TensorBase):
            raise TypeError(f"einsum: operand {i} must be a Tensor, not {type(operands[i]).__name__}")
    names = [name_dims(inputs[i], <TensorBase>operands[i], i) for i in range(len(operands))]
    output = name_result(names, given)
    for i in range(len(operands)):
        operands[i], names[i] = take_diagonals(operands[i], names[i])
    check_sizes(operands, names)
    kept = len(output)
    rest = {name for own in names for name in own if name not in output}
    order = output + sorted([name for name in rest if isinstance(name, int)]) + sorted(
        [name for name in rest if isinstance(name, str)])
    for i in range(len(operands)):
        operands[i] = arrange(operands[i], names[i], order)
    uses = [sum([size_of(x, d) != 1 for x in operands]) for d in range(len(order))]
    out = operands[0]
    for i in range(1, len(operands)):
        out = combine(out, operands[i], uses, kept)
    if len(order) == kept:
        return out
    if len(operands) == 1:
        return out.sum(list(range(kept, len(order))))
    return out.reshape(sizes_of(out)[:kept])            # what was summed over has size 1 now


# ---------------------------------------------------------------- tensordot and kron
cdef int check_pair(object dims) except -1:
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        raise ShapeError(f"tensordot: dims must be an int or two sequences of ints, not {dims!r}")
    for one in dims:
        if not isinstance(one, (tuple, list)):
            raise TypeError(f"tensordot: dims must be an int or two sequences of ints, not a pair with {one!r}")
    return 0


def tensordot(TensorBase a not None, TensorBase b not None, dims=2, out=None):
    """Sum of products over some dimensions of two tensors.

    Parameters
    ----------
    dims : int n, for the last n dimensions of `a` and the first n of `b`; or two sequences of dimensions, one for each

    Returns
    -------
    Tensor; the other dimensions of `a`, then those of `b`

    Raises
    ------
    ShapeError
        If the dimensions do not fit.

    >>> import tensorlab
    >>> tensorlab.tensordot(tensorlab.ones(2, 3), tensorlab.ones(3, 4), 1).shape
    tensorlab.Size([2, 4])
    """
    cdef list a_dims, b_dims, a_free, b_free
    cdef Py_ssize_t count
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    if isinstance(dims, int):
        count = int_argument(dims, "tensordot", "dims")
        if count < 0 or count > min(a.ndim_, b.ndim_):
            raise ShapeError(f"tensordot: dims is {count}, but the tensors have {a.ndim_} and {b.ndim_} dimensions")
        a_dims, b_dims = list(range(a.ndim_ - count, a.ndim_)), list(range(count))
    else:
        check_pair(dims)
        a_dims = [wrap_dim(dim, a.ndim_, "tensordot") for dim in dims[0]]
        b_dims = [wrap_dim(dim, b.ndim_, "tensordot") for dim in dims[1]]
    if len(a_dims) != len(b_dims) or len(set(a_dims)) != len(a_dims) or len(set(b_dims)) != len(b_dims):
        raise ShapeError(f"tensordot: dims {a_dims} and {b_dims} must be equally many and all different")
    for i, j in zip(a_dims, b_dims):
        if size_of(a, i) != size_of(b, j) and size_of(a, i) != 1 and size_of(b, j) != 1:
            raise ShapeError(f"tensordot: dimension {i} of the first has size {size_of(a, i)}, but dimension {j} of the second "
                             f"has {size_of(b, j)}")
    x, y = a, b
    for i, j in zip(a_dims, b_dims):                    # a size of 1 is broadcast: sum the other one first
        if size_of(x, i) != size_of(y, j):
            x = x.sum(i, keepdim=True)
            y = y.sum(j, keepdim=True)
    a_free = [i for i in range(a.ndim_) if i not in a_dims]
    b_free = [i for i in range(b.ndim_) if i not in b_dims]
    inner = product_of([size_of(x, i) for i in a_dims])
    rows, columns = product_of([size_of(a, i) for i in a_free]), product_of([size_of(b, i) for i in b_free])
    x, y = x.permute(a_free + a_dims), y.permute(b_dims + b_free)
    if rows == columns == 1:
        result = dot(x.reshape(inner), y.reshape(inner))
    else:
        result = matmul(x.reshape(rows, inner), y.reshape(inner, columns))
    result = result.reshape([size_of(a, i) for i in a_free] + [size_of(b, i) for i in b_free])
    return store_out("tensordot", result, out, (a, b))


def kron(TensorBase input not None, TensorBase other not None, *, out=None):
    """Kronecker product: each element of `input` times all of `other`, as one block.

    Returns
    -------
    Tensor whose sizes are the products of theirs, aligned at the last dimension

    >>> import tensorlab
    >>> tensorlab.kron(tensorlab.tensor([1, 10]), tensorlab.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    cdef int ndim = max(input.ndim_, other.ndim_)
    x_shape = [1] * (ndim - input.ndim_) + list(sizes_of(input))
    y_shape = [1] * (ndim - other.ndim_) + list(sizes_of(other))
    x = input.reshape([size for one in x_shape for size in (one, 1)])
    y = other.reshape([size for one in y_shape for size in (1, one)])
    result = (x * y).reshape([a * b for a, b in zip(x_shape, y_shape)])
    return store_out("kron", result, out, (input, other), CASTS)
