"""The whole machinery of views, on a Python list: four fields and one equation."""


class View:
    """A reading of `data`: index (i, j) is data[offset + i * strides[0] + j * strides[1]]."""

    def __init__(self, data, shape, strides, offset=0):
        self.data, self.shape, self.strides, self.offset = data, shape, strides, offset

    def tolist(self):
        if not self.shape:
            return self.data[self.offset]
        return [self.select(0, i).tolist() for i in range(self.shape[0])]

    def select(self, dim, i):
        """x[i]: one index is fixed, so its term moves into the offset."""
        rest = [d for d in range(len(self.shape)) if d != dim]
        return self.with_dims(rest, self.offset + i * self.strides[dim])

    def transpose(self):
        """Dimensions in reverse order: their terms change places."""
        return self.with_dims(range(len(self.shape))[::-1], self.offset)

    def slice(self, dim, start, stop, step=1):
        """x[start:stop:step]: index i of the view is start + i * step of x; multiply it out."""
        length = len(range(start, stop, step))
        return self.replace(dim, length, step * self.strides[dim], start * self.strides[dim])

    def expand(self, dim, n):
        """Repeat a dimension of size 1: stride 0, so every index lands on the same element."""
        assert self.shape[dim] == 1
        return self.replace(dim, n, 0)

    def diagonal(self):
        """x[i, i]: both indices are i, so their strides add up."""
        return View(self.data, (min(self.shape),), (sum(self.strides),), self.offset)

    def unfold(self, size, step):
        """Windows over the last dimension: index (..., i, k) is element i * step + k."""
        starts = (self.shape[-1] - size) // step + 1
        shape = (*self.shape[:-1], starts, size)
        strides = (*self.strides[:-1], step * self.strides[-1], self.strides[-1])
        return View(self.data, shape, strides, self.offset)

    def with_dims(self, dims, offset):
        """The dimensions `dims` of this view, in that order."""
        shape = tuple(self.shape[d] for d in dims)
        return View(self.data, shape, tuple(self.strides[d] for d in dims), offset)

    def replace(self, dim, size, stride, further=0):
        """Another size and stride for one dimension, and an offset moved by `further`."""
        shape, strides = list(self.shape), list(self.strides)
        shape[dim], strides[dim] = size, stride
        return View(self.data, tuple(shape), tuple(strides), self.offset + further)


def chunks(shape, strides):
    """Merge neighbouring dimensions that continue one another in memory: [(size, stride), ...]."""
    found = []
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if found and found[-1][1] == size * stride:
            found[-1] = (found[-1][0] * size, stride)
        else:
            found.append((size, stride))
    return found or [(1, 1)]


def view_strides(shape, strides, wanted):
    """Strides for the shape `wanted` over the same memory, or None: cut chunks into whole sizes.

    For tensors that are not empty, and with as many elements in `wanted` as in `shape`.
    """
    found, sizes = [], list(wanted)
    for size, stride in reversed(chunks(shape, strides)):
        count = 1
        while sizes and (count < size or sizes[-1] == 1):
            found.append(count * stride)
            count *= sizes.pop()
        if count != size:
            return None
    return tuple(reversed(found))
