"""The rules of what networks are made of: normalisation, attention, embedding, losses."""

from tensorlab.distributed.tensor.placement_types import Shard
from tensorlab.distributed.tensor.rules import LETTERS
from tensorlab.distributed.tensor.strategies import (
    SUM,
    WHOLE,
    Candidate,
    by_letters,
    on_parts,
    replicated,
    rule,
)


def is_tensor(value):
    """Return whether an argument was a DTensor: its Spec stands there."""
    return hasattr(value, "placements")


@rule("layer_norm", "layer_norm_backward")
def layer_norm(call):
    """Each row is normalised by itself: the dimensions before the rows can be cut."""
    x = call.operands[0]
    rows = x.ndim - len(call.argument("normalized_shape"))
    found = [replicated(call)]
    statistics = ("mean", "rstd")
    for dim in range(rows):
        placed = []
        for one in call.func._schema.arguments:
            value = call.argument(one.name)
            if is_tensor(value):
                is_row = one.name in ("x", "grad", *statistics)
                placed.append(Shard(dim) if is_row else WHOLE)
        found.append(Candidate((Shard(dim),), tuple(placed)))
    return found


@on_parts("layer_norm")
def normalise_rows(func, x, normalized_shape, *args, **kwargs):
    """Return mean and deviation with the dimensions of the rows, which can be cut as those of x
    are; the op returns them in one dimension."""
    out, mean, rstd = func(x, normalized_shape, *args, **kwargs)
    rows = x.shape[: x.dim() - len(normalized_shape)]
    return out, mean.view(rows), rstd.view(rows)


@on_parts("layer_norm_backward", "layer_norm_backward_weight")
def backward_of_rows(func, *args, **kwargs):
    """Give mean and deviation to the op as it returns them."""
    *others, mean, rstd = args
    return func(*others, mean.reshape(-1), rstd.reshape(-1), **kwargs)


@rule("layer_norm_backward_weight")
def layer_norm_backward_weight(call):
    """The gradient of the weight is a sum over the rows."""
    rows = call.operands[0].ndim - len(call.argument("normalized_shape"))
    n = len(call.operands)
    return [replicated(call)] + [Candidate((SUM,), (Shard(k),) * n) for k in range(rows)]


@rule(
    *("batch_norm", "batch_norm_with"),
    *("batch_norm_backward", "batch_norm_backward_weight", "batch_norm_gradients"),
)
def batch_norm(call):
    """Channels are normalised apart from each other; with given statistics, so are rows."""
    rows = "bc" + "*" * (call.operands[0].ndim - 2)
    inputs = [rows if spec.ndim > 1 else "c" for spec in call.operands]
    outputs = {
        "batch_norm": [rows, "c", "c", "c"],
        "batch_norm_backward_weight": ["c"],
        "batch_norm_gradients": [rows, "c", "c"],
    }
    free = "bc" if call.name == "batch_norm_with" else "c"
    return by_letters(inputs, outputs.get(call.name, [rows]), free=free, linear=False)


@rule("attention", "attention_backward")
def attention(call):
    """Scaled dot-product attention: batches and heads are computed apart from each other."""
    q = call.argument("q")
    batch = LETTERS[: q.ndim - 2]
    sizes = tuple(q.shape[:-2])
    inputs = []
    for one in call.func._schema.arguments:
        value = call.argument(one.name)
        if not is_tensor(value):
            continue
        if one.name == "mask":
            first = len(batch) - (value.ndim - 2)
            named = "".join(batch[first + k] if first + k >= 0 and n == sizes[first + k] > 1 else "*"
                            for k, n in enumerate(value.shape[:-2]))  # fmt: skip
        elif one.name in ("k", "v") and tuple(value.shape[:-2]) != sizes:
            return [replicated(call)]
        else:
            named = batch
        inputs.append(named + "*" * (value.ndim - len(named)))
    outputs = [batch] * 3
    return by_letters(inputs, outputs, free=batch, linear=False)


@rule("embedding")
def embedding(call):
    """Rows that are looked up. Where the table is cut by rows, each rank finds those it has."""
    indices = call.operands[1]
    last = indices.ndim
    found = [replicated(call), Candidate((Shard(last),), (Shard(1), WHOLE))]
    found += [Candidate((Shard(k),), (WHOLE, Shard(k))) for k in range(last)]
    if not call.argument("scale_grad_by_freq", False):
        found.append(Candidate((SUM,), (Shard(0), WHOLE), run=rows_that_are_here))
    return found


def rows_that_are_here(func, args, kwargs, first):
    """Look up the rows of a part of the table; zeros for those that other ranks have."""
    weight, indices = args[:2]
    rows = weight.shape[0]
    if rows == 0:
        return weight.new_zeros((*indices.shape, weight.shape[1]))
    own = indices - first
    is_here = (own >= 0).logical_and(own < rows)
    found = func(weight, own.clamp(0, rows - 1), *args[2:], **kwargs)
    return found.mul(is_here.unsqueeze(-1).to(found.dtype))


@rule("embedding_backward")
def embedding_backward(call):
    """The gradient of the table: a sum over the places where a row was looked up."""
    last = call.operands[0].ndim - 1
    found = [replicated(call), Candidate((Shard(1),), (Shard(last), WHOLE))]
    found += [Candidate((SUM,), (Shard(k), Shard(k))) for k in range(last)]
    return [*found, Candidate((SUM,), (SUM, WHOLE))]


@rule("cross_entropy", "nll_loss")
def cross_entropy(call):
    """A loss of each row. Its mean depends on how many rows count, so that is taken of all."""
    x, target = call.operands[:2]
    n, kind = len(call.operands), call.argument("reduction", "mean")
    found = [replicated(call)]
    if kind == "mean" or x.ndim != 2 or target.ndim != 1:
        return found
    results = (SUM if kind == "sum" else Shard(0),)
    if call.name == "cross_entropy":
        results = (*results, Shard(0))
    return [*found, Candidate(results, (Shard(0), Shard(0)) + (WHOLE,) * (n - 2))]


@rule("cross_entropy_backward", "nll_loss_backward")
def cross_entropy_backward(call):
    kind, n = call.argument("reduction", "mean"), len(call.operands)
    name = "probabilities" if call.name == "cross_entropy_backward" else "target"
    x = call.argument(name)
    if kind != "sum" or x.ndim > 2 or call.argument("weight") is not None or name == "target":
        return [replicated(call)]
    return [replicated(call), Candidate((Shard(0),), (WHOLE,) + (Shard(0),) * (n - 1))]


@rule(
    *("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d"),
    *("adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool2d", "adaptive_max_pool3d"),
    *("max_pool2d_with_indices_backward", "adaptive_avg_pool_backward", "avg_pool_backward"),
)
def pooling(call):
    """Images of a batch are pooled apart from each other."""
    spatial = call.argument("kernel_size") or call.argument("output_size")
    n = len(call.operands)
    is_batch = call.operands[0].ndim > len(spatial) + 1
    return [replicated(call)] + ([Candidate((Shard(0),), (Shard(0),) * n)] if is_batch else [])
