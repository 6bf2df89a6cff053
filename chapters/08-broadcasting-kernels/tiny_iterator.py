"""A tensor iterator on Python lists: broadcast, coalesce, and a loop that knows only rows."""

from itertools import product


def broadcast(*shapes):
    """Return the shape that all shapes stretch to; ValueError if there is none."""
    common = []
    for d in range(-max(map(len, shapes)), 0):
        sizes = {shape[d] for shape in shapes if len(shape) >= -d} - {1}
        if len(sizes) > 1:
            raise ValueError(f"sizes {sorted(sizes)} meet, {-d} from the right")
        common.append(sizes.pop() if sizes else 1)
    return tuple(common)


def strides_of(shape, strides, common):
    """Return an operand's strides in the common shape: 0 where it is repeated."""
    own = [0 if n == 1 else stride for n, stride in zip(shape, strides, strict=True)]
    return [0] * (len(common) - len(shape)) + own


def coalesce(sizes, *strides):
    """Return (size, strides of all operands) for as few dimensions as possible.

    `strides` has a list for each operand, the result's first.
    """
    columns = zip(*strides, strict=True)
    dims = [dim for dim in zip(sizes, columns, strict=True) if dim[0] != 1]
    dims.sort(key=lambda dim: -dim[1][0])  # the result's largest stride first
    merged = []
    for size, column in dims:
        if merged:
            outer_size, outer = merged[-1]
            if all(far == size * near for far, near in zip(outer, column, strict=True)):
                merged[-1] = outer_size * size, column
                continue
        merged.append((size, column))
    return merged


def iterate(dims, count):
    """Yield (places where a row begins, its size, its strides), for `count` operands."""
    *outer, (size, strides) = dims or [(1, (0,) * count)]
    for index in product(*(range(n) for n, _ in outer)):
        places = [0] * count
        for i, (_, column) in zip(index, outer, strict=True):
            places = [p + i * s for p, s in zip(places, column, strict=True)]
        yield places, size, strides


def pointwise(function, *operands):
    """Apply `function` to operands given as (list, shape, strides); return (list, shape)."""
    shape = broadcast(*(shape for _, shape, _ in operands))
    strides, length = [], 1
    for size in reversed(shape):
        strides.insert(0, length)
        length *= size
    result = [None] * length
    if length == 0:
        return result, shape
    inputs = [strides_of(own, stride, shape) for _, own, stride in operands]
    dims = coalesce(shape, strides, *inputs)
    for (place, *places), size, (stride, *others) in iterate(dims, 1 + len(operands)):
        for i in range(size):
            numbers = [
                data[start + i * other]
                for (data, _, _), start, other in zip(operands, places, others, strict=True)
            ]
            result[place + i * stride] = function(*numbers)
    return result, shape
