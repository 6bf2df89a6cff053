"""pad: more elements around a tensor, a constant or copies of its own.

A constant is written around a copy of the tensor; copies of its own are picked by index, one dimension after another.
Both are made of other operations, which know their gradients.
"""

from tensorlab._core.dispatch.autocast import in_float32
from tensorlab._core.graph.saved import call_unpacked
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.indexing.index_along_dim import index_select, pad_select
from tensorlab.ops.ranges import arange


def pad(input, pad, mode="constant", value=None):
    """Put elements before and behind those of the last dimensions.

    Parameters
    ----------
    input : Tensor
    pad : sequence of int (before, behind) for the last dimension, then for the one before it,
        ...; a negative number takes elements away
    mode : "constant"; or, for all dimensions behind batch and channels, "reflect" (a mirror at
        the outermost element), "replicate" (the outermost element) or "circular" (the other end
        of what negative numbers leave)
    value : number, the constant; 0 unless given

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        If there are more pairs than dimensions, a size would be negative, or there are fewer
        elements than the mode copies.
    NotImplementedError
        If `mode` is none of these, or is not made for so many dimensions.

    >>> import tensorlab
    >>> tensorlab.nn.functional.pad(tensorlab.tensor([1, 2, 3]), (1, 2))
    tensor([0, 1, 2, 3, 0, 0])
    """
    pairs = list(zip(pad[::2], pad[1::2], strict=False))
    if len(pad) % 2 or len(pairs) > input.dim():
        raise ShapeError(
            f"pad: {len(pad)} numbers for an input of shape {tuple(input.shape)}; expected two for "
            f"each dimension, the last one first"
        )
    if mode == "constant":
        return pad_with_constant(input, pairs, 0 if value is None else value)
    if mode not in INDICES:
        raise NotImplementedError(
            f"pad: mode is {mode!r}; expected 'constant', 'reflect', 'replicate' or 'circular'"
        )
    if value is not None and value != 0:
        raise RuntimeError(f"pad: mode {mode!r} takes its values from the input; leave value out")
    if input.dim() - len(pairs) not in (1, 2) or len(pairs) > 3:
        raise UnsupportedDimensions(
            f"pad: mode {mode!r} pads one to three dimensions behind batch and channels, or "
            f"channels alone; the input has shape {tuple(input.shape)} and {len(pairs)} pair(s)"
        )
    if mode != "circular" and 0 in input.shape[-len(pairs) - 1 :]:
        raise ShapeError(
            f"pad: mode {mode!r} has nothing to copy in an input of shape {tuple(input.shape)}; only a "
            f"batch may be empty"
        )
    if mode != "circular":
        (input,) = in_float32((input,))
    for k, (before, behind) in enumerate(pairs):
        input = pad_by_index(input, input.dim() - 1 - k, before, behind, mode)
    return input


class UnsupportedDimensions(UnsupportedDType):
    """The mode is not made for so many dimensions."""


def pad_with_constant(input, pairs, value):
    shape = list(input.shape)
    part, whole = input, []
    for k, (before, behind) in enumerate(pairs):
        d = input.dim() - 1 - k
        size = shape[d] + before + behind
        if size < 0 or shape[d] + min(before, 0) + min(behind, 0) < 0:
            raise ShapeError(
                f"pad: ({before}, {behind}) would leave {size} of the {shape[d]} elements in "
                f"dimension {d}"
            )
        inner = shape[d] + min(before, 0) + min(behind, 0)
        if inner < shape[d]:
            part = part.narrow(d, max(-before, 0), inner)
        whole.append((d, max(before, 0), inner))
        shape[d] = size
    out = input.new_full(tuple(shape), value)
    place = out
    for d, start, length in whole:
        place = place.narrow(d, start, length)
    place.copy_(part)
    return out


def pad_by_index(input, d, before, behind, mode):
    size = input.size(d)
    if size + before + behind < (0 if mode == "circular" else 1):
        raise ShapeError(
            f"pad: ({before}, {behind}) leaves nothing of the {size} elements in dimension {d}"
        )
    if mode == "circular":  # negative widths cut first, and what is left goes around
        start, stop = min(max(-before, 0), size), size - max(-behind, 0)
        input = input.narrow(d, start, max(stop - start, 0))
        size, before, behind = input.size(d), max(before, 0), max(behind, 0)
    most = {"reflect": size - 1, "circular": size}.get(mode)
    if most is not None and max(before, behind) > most:
        raise ShapeError(
            f"pad: mode {mode!r} can copy {most} elements in dimension {d}, which has {size}, but "
            f"({before}, {behind}) are asked for"
        )
    index = INDICES[mode](arange(-before, size + behind), size)
    select = index_select if mode == "circular" else pad_select
    return call_unpacked(select, input, d, index)


INDICES = {
    "reflect": lambda place, n: (n - 1) - ((n - 1) - place.abs()).abs(),
    "replicate": lambda place, n: place.clamp(0, n - 1),
    "circular": lambda place, n: place % n,
}
