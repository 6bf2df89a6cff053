"""einsum: sums of products in index notation; and tensordot and kron.

    einsum("bij,bjk->bik", x, y)        out[b, i, k] = sum over j of x[b, i, j] * y[b, j, k]

Each letter names a dimension. Operands are combined from left to right, two at a time. For a pair, each letter is one of

    batch   in both operands, and needed later (in the result, or in an operand still to come)
    sum     in both, and not needed later
    left    only in the first, needed later         right   only in the second
    (a letter in one operand only that is not needed later is summed at once)

With the dimensions permuted to (batch, left, sum) and (batch, sum, right), the pair is a matrix product over the last two
of them. Batch dimensions stay apart, so that a permuted operand need not be copied: the product takes them as they are.
"""
from tensorlab._core.layout cimport wrap_dim
from tensorlab._core.tensor cimport TensorBase

from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.linalg.matrices import matmul

cdef str LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
cdef str ELLIPSIS = "..."


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
    if len(arguments) > 0 and isinstance(arguments[0], TensorBase):
        while len(arguments) >= 2:
            operands.append(arguments[0])
            inputs.append(read_sublist(arguments[1], f"operand {len(inputs)}"))
            arguments = arguments[2:]
        if arguments:
            output = read_sublist(arguments[0], "the result")
        return operands, inputs, output
    if len(arguments) == 0 or not isinstance(arguments[0], str):
        raise TypeError("einsum: the first argument must be the equation, a str such as 'ij,jk->ik'")
    operands = list(arguments[1:])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
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
            if x.shape[i] != x.shape[j]:
                raise ShapeError(f"einsum: subscript {name} is repeated for sizes {x.shape[j]} and {x.shape[i]}")
            x = x.diagonal(0, j, i).movedim(-1, j)
            names = names[:i] + names[i + 1:]
        else:
            out.append(name)
            i += 1
    return x, out


cdef dict measure(list operands, list names):
    """The size of each name; 1 gives way to others."""
    cdef dict sizes = {}
    for number, (x, own) in enumerate(zip(operands, names)):
        for name, size in zip(own, x.shape):
            known = sizes.get(name, 1)
            if known != 1 and size != 1 and size != known:
                raise ShapeError(f"einsum: subscript {name} has size {size} in operand {number}, but size {known} before")
            sizes[name] = size if known == 1 else known
    return sizes


cdef tuple drop(object x, list names, object unwanted):
    """Sum over the named dimensions."""
    cdef list dims = [i for i, name in enumerate(names) if name in unwanted]
    if not dims:
        return x, names
    # a dimension of size 1 is only left out, by a view: what is saved of it then notices writes to x
    long = [i for i in dims if x.shape[i] != 1]
    x = x.sum(long, keepdim=True) if long else x
    return x.squeeze(tuple(dims)), [name for name in names if name not in unwanted]


cdef tuple squeeze_ones(object x, list names, dict sizes):
    """x without the dimensions of size 1 that are larger elsewhere: they are broadcast."""
    cdef Py_ssize_t i
    for i in range(len(names) - 1, -1, -1):
        if x.shape[i] == 1 and sizes[names[i]] != 1:
            x = x.squeeze(i)
            names = names[:i] + names[i + 1:]
    return x, names


cdef object arrange(object x, list names, list order):
    """x with its dimensions in this order, and size 1 for those it does not have."""
    x = x.permute([names.index(name) for name in order if name in names])
    for i, name in enumerate(order):
        if name not in names:
            x = x.unsqueeze(i)
    return x


# ---------------------------------------------------------------- a pair
cdef object merged(object x, int batch, tuple group_sizes):
    """x with its dimensions after the batch joined to two: one for each of two groups."""
    shape = tuple(x.shape[:batch]) + group_sizes
    return x if tuple(x.shape) == shape else x.reshape(shape)


cdef long product_of(object sizes):
    cdef long n = 1
    for size in sizes:
        n *= size
    return n


cdef tuple combine(object x, list x_names, object y, list y_names, list needed, dict sizes):
    """The product of two operands, summed over what is not needed later."""
    cdef list batch, left, right, inner
    x, x_names = drop(x, x_names, [name for name in x_names if name not in y_names and name not in needed])
    y, y_names = drop(y, y_names, [name for name in y_names if name not in x_names and name not in needed])
    inner = [name for name in x_names if name in y_names and name not in needed]
    batch = [name for name in needed if name in x_names and name in y_names]
    left = [name for name in needed if name in x_names and name not in y_names]
    right = [name for name in needed if name in y_names and name not in x_names]
    if not inner:
        order = [name for name in needed if name in x_names or name in y_names]
        return arrange(x, x_names, order) * arrange(y, y_names, order), order
    if x.dtype != y.dtype:
        raise DTypeError(f"einsum: operands have types {x.dtype} and {y.dtype}; convert one with .to() first")
    x = arrange(x, x_names, batch + left + inner)
    y = arrange(y, y_names, batch + inner + right)
    summed = product_of([sizes[name] for name in inner])
    out = matmul(merged(x, len(batch), (product_of([sizes[name] for name in left]), summed)),
                 merged(y, len(batch), (summed, product_of([sizes[name] for name in right]))))
    names = batch + left + right
    shape = tuple([sizes[name] for name in names])
    return out if tuple(out.shape) == shape else out.reshape(shape), names


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
    cdef list operands, inputs, names, output, needed
    cdef dict sizes
    cdef Py_ssize_t i
    operands, inputs, given = read_call(args)
    if not operands:
        raise ShapeError("einsum: at least one operand is needed")
    for i in range(len(operands)):
        if not isinstance(operands[i], TensorBase):
            raise TypeError(f"einsum: operand {i} must be a Tensor, not {type(operands[i]).__name__}")
    names = [name_dims(inputs[i], <TensorBase>operands[i], i) for i in range(len(operands))]
    output = name_result(names, given)
    for i in range(len(operands)):
        operands[i], names[i] = take_diagonals(operands[i], names[i])
    sizes = measure(operands, names)
    for i in range(len(operands)):
        operands[i], names[i] = squeeze_ones(operands[i], names[i], sizes)
    out, own = operands[0], names[0]
    for i in range(1, len(operands)):
        needed = list(output)
        for later in names[i + 1:]:
            needed.extend([name for name in later if name not in needed])
        out, own = combine(out, own, operands[i], names[i], needed, sizes)
    out, own = drop(out, own, [name for name in own if name not in output])
    return arrange(out, own, output)


# ---------------------------------------------------------------- tensordot and kron
def tensordot(TensorBase a not None, TensorBase b not None, dims=2):
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
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim_, b.ndim_):
            raise ShapeError(f"tensordot: dims is {dims}, but the tensors have {a.ndim_} and {b.ndim_} dimensions")
        a_dims, b_dims = list(range(a.ndim_ - dims, a.ndim_)), list(range(dims))
    else:
        first, second = dims
        a_dims = [wrap_dim(dim, a.ndim_, "tensordot") for dim in ([first] if isinstance(first, int) else first)]
        b_dims = [wrap_dim(dim, b.ndim_, "tensordot") for dim in ([second] if isinstance(second, int) else second)]
    if len(a_dims) != len(b_dims) or len(set(a_dims)) != len(a_dims) or len(set(b_dims)) != len(b_dims):
        raise ShapeError(f"tensordot: dims {a_dims} and {b_dims} must be equally many and all different")
    for i, j in zip(a_dims, b_dims):
        if a.shape[i] != b.shape[j] and a.shape[i] != 1 and b.shape[j] != 1:
            raise ShapeError(f"tensordot: dimension {i} of the first has size {a.shape[i]}, but dimension {j} of the second has "
                             f"{b.shape[j]}")
    x, y = a, b
    for i, j in zip(a_dims, b_dims):                    # a size of 1 is broadcast: sum the other one first
        if x.shape[i] != y.shape[j]:
            x = x.sum(i, keepdim=True)
            y = y.sum(j, keepdim=True)
    a_free = [i for i in range(a.ndim_) if i not in a_dims]
    b_free = [i for i in range(b.ndim_) if i not in b_dims]
    inner = product_of([x.shape[i] for i in a_dims])
    out = matmul(x.permute(a_free + a_dims).reshape(product_of([a.shape[i] for i in a_free]), inner),
                 y.permute(b_dims + b_free).reshape(inner, product_of([b.shape[i] for i in b_free])))
    return out.reshape([a.shape[i] for i in a_free] + [b.shape[i] for i in b_free])


def kron(TensorBase input not None, TensorBase other not None):
    """Kronecker product: each element of `input` times all of `other`, as one block.

    Returns
    -------
    Tensor whose sizes are the products of theirs, aligned at the last dimension

    >>> import tensorlab
    >>> tensorlab.kron(tensorlab.tensor([1, 10]), tensorlab.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    cdef int ndim = max(input.ndim_, other.ndim_)
    x_shape = [1] * (ndim - input.ndim_) + list(input.shape)
    y_shape = [1] * (ndim - other.ndim_) + list(other.shape)
    x = input.reshape([size for one in x_shape for size in (one, 1)])
    y = other.reshape([size for one in y_shape for size in (1, one)])
    return (x * y).reshape([a * b for a, b in zip(x_shape, y_shape)])
