"""im2col: what a convolution's kernel sees at each place (a patch), as the columns of a matrix; and back, col2im.

    x  1 2 3 4        kernel of 2        columns  1 2 3       a row for each weight of the kernel,
                                                  2 3 4       a column for each place of it

With them a convolution is a product of matrices: weights (out_channels, patch) @ columns (patch, places). Its gradient by the
input goes the other way: columns are added back to where they were read from.

A band of output rows is done at a time, so that its columns stay in the cache until they are multiplied. Source: Chellapilla,
Puri, Simard 2006, "High performance convolutional neural networks for document processing".
"""
from libc.string cimport memset

from tensorlab._core.dtypes cimport number
from tensorlab._core.layout cimport ssize


cdef ssize plane_size(const ssize* sizes) noexcept nogil:
    return sizes[0] * sizes[1] * sizes[2]


cdef ssize column_size(Geometry* geometry) noexcept nogil:
    """Weights of one output channel."""
    return geometry.in_channels * plane_size(geometry.kernel)


cdef inline void inside(ssize size, ssize out, ssize stride, ssize start, ssize* begin, ssize* end) noexcept nogil:
    """Which places i have 0 <= start + i * stride < size: from `begin` to before `end`."""
    begin[0] = 0 if start >= 0 else (-start + stride - 1) // stride
    end[0] = 0 if start >= size else (size - start + stride - 1) // stride
    begin[0] = min(begin[0], out)
    end[0] = max(min(end[0], out), begin[0])


cdef inline ssize row_start(Geometry* geometry, ssize channel, ssize depth, ssize height) noexcept nogil:
    """Where a row of the image begins."""
    return ((channel * geometry.sizes[0] + depth) * geometry.sizes[1] + height) * geometry.sizes[2]


cdef void im2col(number* columns, const number* x, Geometry* geometry, ssize first, ssize last) noexcept nogil:
    """Columns of the output rows `first` to `last` (rows of all planes counted through) of one image and group."""
    cdef ssize channel, a, b, c, row, i, depth, height, start, begin, end, width = geometry.out[2]
    cdef ssize stride = geometry.stride[2]
    cdef number* to = columns
    cdef const number* line
    for channel in range(geometry.in_channels):
        for a in range(geometry.kernel[0]):
            for b in range(geometry.kernel[1]):
                for c in range(geometry.kernel[2]):
                    start = c * geometry.dilation[2] - geometry.padding[2]
                    inside(geometry.sizes[2], width, stride, start, &begin, &end)
                    for row in range(first, last):
                        depth = row // geometry.out[1] * geometry.stride[0] + a * geometry.dilation[0] - geometry.padding[0]
                        height = row % geometry.out[1] * geometry.stride[1] + b * geometry.dilation[1] - geometry.padding[1]
                        if not (0 <= depth < geometry.sizes[0] and 0 <= height < geometry.sizes[1]):
                            memset(to, 0, width * sizeof(number))
                        else:
                            line = x + start + row_start(geometry, channel, depth, height)
                            for i in range(begin):
                                to[i] = 0
                            if stride == 1:
                                for i in range(begin, end):
                                    to[i] = line[i]
                            else:
                                for i in range(begin, end):
                                    to[i] = line[i * stride]
                            for i in range(end, width):
                                to[i] = 0
                        to += width


cdef void col2im(number* x, const number* columns, Geometry* geometry, ssize first, ssize last) noexcept nogil:
    """Add such columns to the image they would have been read from."""
    cdef ssize channel, a, b, c, row, i, depth, height, start, begin, end, width = geometry.out[2]
    cdef ssize stride = geometry.stride[2]
    cdef const number* source = columns
    cdef number* line
    for channel in range(geometry.in_channels):
        for a in range(geometry.kernel[0]):
            for b in range(geometry.kernel[1]):
                for c in range(geometry.kernel[2]):
                    start = c * geometry.dilation[2] - geometry.padding[2]
                    inside(geometry.sizes[2], width, stride, start, &begin, &end)
                    for row in range(first, last):
                        depth = row // geometry.out[1] * geometry.stride[0] + a * geometry.dilation[0] - geometry.padding[0]
                        height = row % geometry.out[1] * geometry.stride[1] + b * geometry.dilation[1] - geometry.padding[1]
                        if 0 <= depth < geometry.sizes[0] and 0 <= height < geometry.sizes[1]:
                            line = x + start + row_start(geometry, channel, depth, height)
                            if stride == 1:
                                for i in range(begin, end):
                                    line[i] += source[i]
                            else:
                                for i in range(begin, end):
                                    line[i * stride] += source[i]
                        source += width
