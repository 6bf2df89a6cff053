"""Batching rules of matrix products: all are matmul, which has room for dimensions of a batch."""

from tensorlab.func.batching.alignment import lengthened
from tensorlab.func.batching.rules import batching


@batching("mm", "bmm", "mv", "vm", "dot", "matmul")
def product(op, size, batched, x, y):
    x_is_vector = x.ndim - batched[0] == 1
    y_is_vector = y.ndim - batched[1] == 1
    if not batched[0] and y_is_vector and x.ndim == 2:  # one product with the vectors of all
        return y @ x.mT
    if not batched[1] and x.ndim == 3 and y.ndim == 2:  # rows of all examples in one product
        return x @ y
    if not batched[1] and x_is_vector:
        return x @ y if y.ndim <= 2 else (x @ y).movedim(-2, 0)
    if x_is_vector:
        x = x.unsqueeze(-2)
    if y_is_vector:
        y = y.unsqueeze(-1)
    longest = max(x.ndim - batched[0], y.ndim - batched[1])
    out = lengthened(x, batched[0], longest) @ lengthened(y, batched[1], longest)
    if x_is_vector:
        out = out.squeeze(-2)
    return out.squeeze(-1) if y_is_vector else out


@batching("linear")
def linear(op, size, batched, x, weight, bias):
    if not batched[1] and not batched[2]:
        return op(x, weight, bias)
    if batched[0] or batched[1]:
        matrix = weight.mT if weight.ndim - batched[1] == 2 else weight
        out, has_batch = product(None, size, batched[:2], x, matrix), True
    else:
        out, has_batch = op(x, weight, None), False
    if bias is None:
        return out
    return out + (lengthened(bias, True, out.ndim - has_batch) if batched[2] else bias)


@batching("addmm", "baddbmm")
def addmm(op, size, batched, x, a, b, beta, alpha):
    if batched[1] or batched[2]:
        out, has_batch = product(None, size, batched[1:3], a, b), True
    else:
        out, has_batch = a @ b, False
    if batched[0]:
        x = lengthened(x, True, out.ndim - has_batch)
    out = out if alpha == 1 else out * alpha
    return out if beta == 0 else out + (x if beta == 1 else x * beta)
