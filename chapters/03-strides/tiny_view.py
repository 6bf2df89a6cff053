"""The machinery of views, on a Python list: four fields and one equation."""


class View:
    """A reading of `data`: x[i, j] is data[offset + i * stride_0 + j * stride_1]."""

    def __init__(self, data, shape, strides, offset=0):
        self.data, self.shape = data, shape
        self.strides, self.offset = strides, offset

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
        """x[start:stop:step]: i becomes start + i * step; multiply it out."""
        length, stride = len(range(start, stop, step)), self.strides[dim]
        return self.replace(dim, length, step * stride, start * stride)

    def expand(self, dim, n):
        """Repeat a dimension of size 1: with stride 0, i does not matter."""
        assert self.shape[dim] == 1
        return self.replace(dim, n, 0)

    def diagonal(self):
        """x[i, i]: both indices are i, so their strides add up."""
        shape, strides = (min(self.shape),), (sum(self.strides),)
        return View(self.data, shape, strides, self.offset)

    def unfold(self, size, step):
        """Windows over the last dimension: [..., i, k] is i * step + k of it."""
        *others, n = self.shape
        *steps, stride = self.strides
        shape = (*others, (n - size) // step + 1, size)
        return View(self.data, shape, (*steps, step * stride, stride), self.offset)

    def with_dims(self, dims, offset):
        """The dimensions `dims` of this view, in that order."""
        shape = tuple(self.shape[d] for d in dims)
        strides = tuple(self.strides[d] for d in dims)
        return View(self.data, shape, strides, offset)

    def replace(self, dim, size, stride, further=0):
        """Other numbers for one dimension, and an offset moved by `further`."""
        shape, strides = list(self.shape), list(self.strides)
        shape[dim], strides[dim] = size, stride
        offset = self.offset + further
        return View(self.data, tuple(shape), tuple(strides), offset)


def chunks(shape, strides):
    """Merge neighbouring dimensions that continue one another in memory.

    Returns a list of (size, stride).
    """
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
    """Strides for the shape `wanted` over the same memory, or None.

    For tensors that are not empty, and as many elements in both shapes.
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
