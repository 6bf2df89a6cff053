"""Batching rules of matrix products: all are matmul, which has room for dimensions of a batch."""

from tensorlab.func.batching.rules import batching


@batching("mm", "bmm", "mv", "vm", "dot", "matmul")
def product(op, size, batched, x, y):
    x_is_vector = x.ndim - batched[0] == 1
    y_is_vector = y.ndim - batched[1] == 1
    if (
        not batched[0] and y_is_vector and not x_is_vector
    ):  # x @ y for each y: one product with all of them
        return (y @ x.mT) if x.ndim == 2 else (x @ y.mT).movedim(-1, 0)
    if not batched[1] and x.ndim == 3 and y.ndim == 2:  # rows of all examples in one product
        return x @ y
    if not batched[1] and x_is_vector:
        return x @ y if y.ndim <= 2 else (x @ y).movedim(-2, 0)
    if x_is_vector:
        x = x.unsqueeze(-2)
    if y_is_vector:
        y = y.unsqueeze(-1)
    longest = max(x.ndim - batched[0], y.ndim - batched[1])
    out = _aligned(x, batched[0], longest) @ _aligned(y, batched[1], longest)
    if x_is_vector:
        out = out.squeeze(-2)
    return out.squeeze(-1) if y_is_vector else out


def _aligned(x, has_batch, longest):
    """The batch before all dimensions that the other operand has."""
    if has_batch:
        while x.ndim - 1 < longest:
            x = x.unsqueeze(1)
    return x


@batching("linear")
def linear(op, size, batched, x, weight, bias):
    if not batched[1] and not batched[2]:
        return op(x, weight, bias)
    out = product(
        None, size, batched[:2], x, weight.mT if weight.ndim - batched[1] == 2 else weight
    )
    if bias is None:
        return out
    if batched[2]:
        while bias.ndim < out.ndim:
            bias = bias.unsqueeze(1)
    return out + bias


@batching("addmm", "baddbmm")
def addmm(op, size, batched, x, a, b, beta, alpha):
    out = product(None, size, batched[1:3], a, b)
    if batched[0]:
        while x.ndim < out.ndim:
            x = x.unsqueeze(1)
    out = out if alpha == 1 else out * alpha
    return out if beta == 0 else out + (x if beta == 1 else x * beta)
