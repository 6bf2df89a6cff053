"""Forward rules of ops that are linear: the op itself, of the tangent."""

from tensorlab.func.pushing.rules import pushing


def linear(op, primals, tangents, out):
    """Of an op that is linear in its first argument, a tensor or a list of tensors."""
    first = tangents[0]
    if isinstance(first, (tuple, list)):
        first = type(primals[0])(
            [
                p.new_zeros(p.shape) if t is None else t
                for p, t in zip(primals[0], first, strict=True)
            ]
        )
    return op(first, *primals[1:])


def multilinear(op, primals, tangents, out):
    """Of an op that is linear in each of its tensors: the product rule."""
    total = None
    for i, tangent in enumerate(tangents):
        if tangent is None:
            continue
        one = op(*primals[:i], tangent, *primals[i + 1 :])
        total = one if total is None else total + one
    return total


for _name in (
    *("sum", "mean", "sum_to_size", "cumsum", "cumsum_from_end", "trace"),
    *("reshape", "clone", "to_copy", "flip", "roll", "rot90", "repeat", "tril", "triu"),
    *("cat", "stack", "diag_embed", "index_select", "gather", "index", "block_diag"),
):
    pushing.give(_name, linear)

for _name in ("mm", "dot", "mv", "vm", "bmm", "matmul"):
    pushing.give(_name, multilinear)
