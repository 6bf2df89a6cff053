"""Batching rules of embeddings: the tables of all examples are one long table.

    weight (size, rows, width)      (size * rows, width)
    indices (size, ...)             + rows * example

The indices of a table that all examples share stay as they are. A row of padding has one number
in the op: all examples take that of the first for it where its values don't matter.
"""

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab.func.batching.alignment import all_whole, fold, needs_an_example, unfold
from tensorlab.func.batching.rules import batching


def shifted(indices, rows, padding_idx=-1):
    """The indices of a batch, in the long table."""
    size = indices.shape[0]
    checked = REGISTRY["wrap_index"](indices.long(), rows, False, "embedding")
    starts = rows * REGISTRY["arange"](0, size, 1, indices.dtype, indices.device)
    out = checked.to(indices.dtype) + starts.reshape(size, *[1] * (indices.ndim - 1))
    return out.where(indices != padding_idx, indices) if padding_idx >= 0 else out


@batching("embedding")
@needs_an_example
def embedding(op, size, batched, weight, indices, padding_idx, scale_grad_by_freq):
    """The padding has values here, of each table its own, and only no gradient."""
    if not batched[0] and not scale_grad_by_freq:
        return op(weight, indices, padding_idx, False)
    weight, indices = all_whole((weight, indices), batched[:2], size)
    out = op(fold(weight), shifted(indices, weight.shape[1]), -1, scale_grad_by_freq)
    if padding_idx < 0:
        return out
    return out.where((indices != padding_idx).unsqueeze(-1), out.detach())


@batching("embedding_backward")
@needs_an_example
def embedding_backward(op, size, batched, grad, indices, rows, padding_idx):
    grad, indices = all_whole((grad, indices), batched[:2], size)
    return unfold(op(grad, shifted(indices, rows, padding_idx), rows * size, padding_idx), size)


@batching("embedding_uses")
@needs_an_example
def embedding_uses(op, size, batched, indices, rows):
    return unfold(op(shifted(indices, rows), rows * size), size)


# ---------------------------------------------------------------- bags
@needs_an_example
def of_bags(op, size, batched, *arguments):
    """Bags of all examples, one after the other."""
    names = [one.name for one in op.signature.parameters]
    found = dict(zip(names, all_whole(arguments, batched, size), strict=True))
    shares_table = "weight" in found and not batched[names.index("weight")]
    rows = found["rows"] if "rows" in found else found["weight"].shape[1]
    places = found["indices"].shape[1]
    starts = places * REGISTRY["arange"](
        0, size, 1, found["offsets"].dtype, found["offsets"].device
    )
    for name in ("weight", "grad_out", "per_sample_weights"):
        if found.get(name) is not None:
            found[name] = fold(found[name])
    if shares_table:
        found["weight"] = arguments[names.index("weight")]
    else:
        found["indices"] = shifted(found["indices"], rows, found["padding_idx"])
    found["indices"] = fold(found["indices"])
    found["offsets"] = fold(found["offsets"] + starts.unsqueeze(1))
    if "rows" in found:
        found["rows"] = rows * size
    return unfold(op(*found.values()), size)


for _name in ("embedding_bag", "embedding_bag_backward", "embedding_bag_weights_backward"):
    batching.give(_name, of_bags)


@batching("embedding_bag_largest")
def embedding_bag_largest(op, size, batched, weight, indices, offsets, padding_idx):
    """It returns numbers of rows, which are those of one table again; -1 stands for none."""
    out = of_bags(op, size, batched, weight, indices, offsets, padding_idx)
    if not batched[0]:
        return out
    rows = weight.shape[1]
    return (out % rows).where(out >= 0, out)


@batching("one_hot")
def one_hot(op, size, batched, x, num_classes):
    if num_classes < 0:
        raise RuntimeError(
            "vmap: one_hot without num_classes makes as many columns as the largest value says, "
            "which may differ from "
            "example to example; give num_classes"
        )
    return op(x, num_classes)
