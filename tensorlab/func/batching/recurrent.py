"""The batching rule of a recurrent layer: the sequences of all examples side by side.

Sequences are packed step after step (ops/recurrent/layer.pyx). The rows of a step of all
examples lie together, so that a row becomes `size` rows, one for each example, and a step has
`size` times as many.

Where weights differ from example to example, or their gradients do, one layer runs after the
other. That's faster than products of batches of matrices: per-sample gradients of an LSTM, 256
sequences of 20 steps, width 16, take 18 ms so, and 35 ms by one loop over the steps.
"""

from tensorlab.func.batching.alignment import whole
from tensorlab.func.batching.rules import batching, for_each


@batching("recurrent_layer")
def recurrent_layer(op, size, batched, tensors, kind, has_bias, is_reverse, batch_sizes):
    """Only if all examples share the weights; else each has a layer of its own."""
    cell = 4 + 2 * has_bias if kind == "LSTM" else None
    if any(batched[0][i] for i in range(len(tensors)) if i > 1 and i != cell):
        return for_each(op, size, batched, tensors, kind, has_bias, is_reverse, batch_sizes)
    tensors = [
        whole(x, has_batch, size).transpose(0, 1).flatten(0, 1) if i in (0, 1, cell) else x
        for i, (x, has_batch) in enumerate(zip(tensors, batched[0], strict=True))
    ]
    results = op(tensors, kind, has_bias, is_reverse, [n * size for n in batch_sizes])
    return tuple([_parted(x, size) for x in results])


def _parted(x, size):
    return x.unflatten(0, (-1, size)).transpose(0, 1) if x.numel() else x.expand(size, *x.shape)


batching.give("recurrent_layer_backward", for_each)
