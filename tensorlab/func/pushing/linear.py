"""Forward rules of ops that are linear: the op itself, of the tangent."""

from tensorlab.func.pushing.rules import pushing


def linear(op, primals, tangents, out):
    """Of an op that is linear in its first argument, a tensor or a list of tensors."""
    first = tangents[0]
    if isinstance(first, (tuple, list)):
        pairs = zip(primals[0], first, strict=True)
        first = type(primals[0])([zeros_beside(p) if t is None else t for p, t in pairs])
    return op(first, *primals[1:])


def jointly_linear(*positions):
    """Of an op that is linear in several of its arguments at once, which are all written into one result."""

    def rule(op, primals, tangents, out):
        moved = [
            zeros_beside(p) if i in positions and t is None else t if i in positions else p
            for i, (p, t) in enumerate(zip(primals, tangents, strict=True))
        ]
        return op(*moved)

    return rule


def zeros_beside(x):
    """The tangent of an argument that has none. A number is an argument, too."""
    return x.new_zeros(x.shape) if hasattr(x, "new_zeros") else 0


def multilinear(op, primals, tangents, out):
    """Of an op that is linear in each of its tensors: the product rule."""
    total = None
    for i, tangent in enumerate(tangents):
        if tangent is None:
            continue
        one = op(*primals[:i], tangent, *primals[i + 1 :])
        total = one if total is None else total + one
    return total


def product_plus_bias(op, primals, tangents, out):
    """Of op(x, weight, bias, ...): a product, and a bias that is added to it."""
    bias, total = tangents[2], None
    for i in (0, 1):
        if tangents[i] is not None:
            moved = list(primals)
            moved[i], moved[2] = tangents[i], bias if total is None else None
            one = op(*moved)
            total = one if total is None else total + one
    return op(zeros_beside(primals[0]), primals[1], bias, *primals[3:]) if total is None else total


def sum_plus_product(op, primals, tangents, out):
    """Of op(x, a, b, beta, alpha) = beta x + alpha a b."""
    x, a, b, beta, alpha = primals
    total = None if tangents[0] is None else tangents[0] * beta
    for one, other in ((tangents[1], b), (a, tangents[2])):
        if one is not None and other is not None:
            product = op(
                x if total is None else total, one, other, 0 if total is None else 1, alpha
            )
            total = product
    return total


for _name in (
    *("sum", "mean", "sum_to_size", "cumsum", "cumsum_from_end", "trace"),
    *("reshape", "clone", "lazy_clone", "to_copy", "flip", "roll", "rot90", "repeat"),
    *("tril", "triu", "cat", "stack", "diag_embed", "block_diag", "restride"),
    *("index_select", "gather", "index", "take", "masked_select", "pad_select", "embedding"),
    *("gather_backward", "getitem_backward", "index_backward", "index_select_backward"),
    *("masked_scatter_backward", "embedding_backward", "view_backward", "nll_loss_backward"),
    *("_fft_c2c", "_fft_r2c", "_fft_c2r", "im2col", "col2im", "nll_loss"),
    *("avg_pool2d", "avg_pool3d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"),
    *("avg_pool_backward", "adaptive_avg_pool_backward"),
):
    pushing.give(_name, linear)

for _name in ("mm", "dot", "mv", "vm", "bmm", "matmul", "conv_input", "conv_weight"):
    pushing.give(_name, multilinear)

for _name, _positions in {
    "complex": (0, 1),
    "copy": (0, 1),
    "fill": (0, 1),
    "index_add": (0, 3),
    "index_copy": (0, 3),
    "index_fill": (0, 3),
    "index_put": (0, 2),
    "masked_scatter": (0, 2),
    "scatter": (0, 3),
    "scatter_add": (0, 3),
    "scatter_value": (0, 3),
    "view_scatter": (0, 1),
}.items():
    pushing.give(_name, jointly_linear(*_positions))

for _name in ("conv", "linear"):
    pushing.give(_name, product_plus_bias)
for _name in ("addmm", "baddbmm"):
    pushing.give(_name, sum_plus_product)
