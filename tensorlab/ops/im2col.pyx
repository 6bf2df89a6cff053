"""im2col: what a convolution's kernel sees at each place (a patch), as the columns of a matrix; and back, col2im.

    x  1 2 3 4        kernel of 2        columns  1 2 3       a row for each weight of the kernel,
                                                  2 3 4       a column for each place of it

With them a convolution is a product of matrices: weights (out_channels, patch) @ columns (patch, places). Its gradient by the
input goes the other way: columns are added back to where they were read from.

A band of output rows is done at a time, so that its columns stay in the cache until they are multiplied. Source: Chellapilla,
Puri, Simard 2006, "High performance convolutional neural networks for document processing".

Other loops read the image itself. A copy with its padding needs no conditions at the borders. With a stride of s it is dealt
out into s x s phases, the rows 0, s, 2 s, ... and columns 0, s, 2 s, ...; each weight of the kernel, a tap, then lies in one
phase, and what it sees at the places of a row of the output is a line of elements next to each other. Dilation only changes
where taps begin.

    a row, stride 2:    . 1 2 3 4 5 .       phases   . 2 4 .   1 3 5        a kernel of 3: tap 0 sees . 2 4, the first phase,
                                                                                           tap 1 sees 1 3 5, the second,
                                                                                           tap 2 sees 2 4 ., the first again
"""
from libc.string cimport memset

from tensorlab._core.dtypes cimport number, real
from tensorlab._core.layout cimport ssize

cdef enum:
    MOST_PADDING = 16           # a copy may be so many times as large as what it is made for


cdef ssize plane_size(const ssize* sizes) noexcept nogil:
    return sizes[0] * sizes[1] * sizes[2]


cdef ssize column_size(Geometry* geometry) noexcept nogil:
    """Weights of one output channel."""
    return geometry.in_channels * plane_size(geometry.kernel)


cdef void start_sums(number* out, Geometry* geometry, ssize first, ssize last, ssize places) noexcept nogil:
    """Fill the channels `first` to `last`, counted through all groups, of an image with what their
    sums begin with. Done just before they are added to, this finds them in the cache later."""
    cdef const number* bias = <const number*>geometry.bias
    cdef ssize channel, i
    cdef number start
    for channel in range(first, last):
        start = bias[channel] if bias != NULL else <number>0
        for i in range(places):
            out[i] = start
        out += places


cdef void start_image(number* x, number* out, Geometry* geometry, int mode, ssize group) noexcept nogil:
    """Fill one image and group of the result, unless that is the weight."""
    cdef ssize filters = geometry.out_channels
    if mode == FORWARD:
        start_sums(out, geometry, group * filters, (group + 1) * filters, plane_size(geometry.out))
    elif mode == BY_INPUT:
        start_sums(x, geometry, 0, geometry.in_channels, plane_size(geometry.sizes))


cdef inline void inside(ssize size, ssize out, ssize stride, ssize start, ssize* begin, ssize* end) noexcept nogil:
    """Which places i have 0 <= start + i * stride < size: from `begin` to before `end`."""
    begin[0] = 0 if start >= 0 else (-start + stride - 1) // stride
    end[0] = 0 if start >= size else (size - start + stride - 1) // stride
    begin[0] = min(begin[0], out)
    end[0] = max(min(end[0], out), begin[0])


cdef inline ssize row_start(Geometry* geometry, ssize channel, ssize depth, ssize height) noexcept nogil:
    """Where a row of the image begins."""
    return ((channel * geometry.sizes[0] + depth) * geometry.sizes[1] + height) * geometry.sizes[2]


cdef void mirror(Geometry* geometry) noexcept nogil:
    """Make it that of the convolution that computes the gradient by the input of one with stride 1."""
    cdef int d
    geometry.in_channels, geometry.out_channels = geometry.out_channels, geometry.in_channels
    for d in range(3):
        geometry.sizes[d], geometry.out[d] = geometry.out[d], geometry.sizes[d]
        geometry.padding[d] = geometry.dilation[d] * (geometry.kernel[d] - 1) - geometry.padding[d]


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


# ---------------------------------------------------------------- padded copies
cdef bint is_copy_small(Geometry* geometry) noexcept nogil:
    """Is there much more padding than image? Its size is a product of large numbers, which may not fit in an integer."""
    cdef double elements = 1
    cdef int d
    for d in range(3):
        elements *= <double>geometry.out[d] * geometry.stride[d] + <double>(geometry.kernel[d] - 1) * geometry.dilation[d]
    return elements <= MOST_PADDING * <double>(plane_size(geometry.sizes) + plane_size(geometry.out))


cdef void measure(Wide* wide, Geometry* geometry) noexcept nogil:
    cdef int d
    for d in range(3):
        wide.size[d] = geometry.out[d] + (geometry.kernel[d] - 1) * geometry.dilation[d] // geometry.stride[d]
        wide.phases[d] = min(geometry.stride[d], (geometry.kernel[d] - 1) * geometry.dilation[d] + 1)
    wide.phase = plane_size(wide.size)
    wide.plane = wide.phase * plane_size(geometry.stride)
    wide.reach = ((wide.size[0] - geometry.out[0]) * wide.size[1] + wide.size[1] - geometry.out[1]) * wide.size[2]
    wide.reach += wide.size[2] - geometry.out[2]
    wide.places = wide.phase - wide.reach


cdef ssize find_tap(Wide* wide, Geometry* geometry, ssize tap, ssize* phase) noexcept nogil:
    """Where the line of a tap begins; `phase` receives the phase in which it lies."""
    cdef ssize at, start = 0, unit = 1, phase_unit = 1
    cdef int d
    phase[0] = 0
    for d in range(2, -1, -1):
        at = tap % geometry.kernel[d] * geometry.dilation[d]
        tap = tap // geometry.kernel[d]
        start += at // geometry.stride[d] * unit
        phase[0] += at % geometry.stride[d] * phase_unit
        unit *= wide.size[d]
        phase_unit *= geometry.stride[d]
    return start + phase[0] * wide.phase


cdef bint has_padding(Geometry* geometry, Wide* wide) noexcept nogil:
    """Does a copy differ from the planes?"""
    cdef int d
    for d in range(3):
        if geometry.stride[d] != 1 or geometry.padding[d] != 0 or wide.size[d] != geometry.sizes[d]:
            return True
    return False


cdef void list_places(ssize* at, Geometry* geometry, Wide* wide, ssize factor) noexcept nogil:
    """Where the places of the output lie in a plane."""
    cdef ssize z, y, i
    cdef ssize* out = geometry.out
    for z in range(out[0]):
        for y in range(out[1]):
            for i in range(out[2]):
                at[0] = factor * ((z * wide.size[1] + y) * wide.size[2] + i)
                at += 1


cdef void list_weights(ssize* at, Geometry* geometry, Wide* wide, bint channels_last) noexcept nogil:
    """What each weight of a filter adds to that."""
    cdef ssize tap, channel, start, phase, taps = plane_size(geometry.kernel), channels = geometry.in_channels
    for tap in range(taps):
        start = find_tap(wide, geometry, tap, &phase)
        for channel in range(channels):
            if channels_last:
                at[tap * channels + channel] = start * channels + channel
            else:
                at[channel * taps + tap] = channel * wide.plane + start


cdef void copy_plane(real* line, real* plane, const ssize* sizes, const ssize* stride, const ssize* padding, Wide* wide,
                     bint is_back) noexcept nogil:
    """From a plane into phases; or back, added. What the kernel never sees is left out."""
    cdef ssize phase, z, y, i, rest, size = plane_size(wide.size), step = stride[2]
    cdef ssize[3] first                                 # element of the plane that comes first in the phase,
    cdef ssize[3] at                                    # its place there,
    cdef ssize[3] n                                     # and how many there are
    cdef real* lane
    cdef real* elements
    cdef bint is_seen
    cdef int d
    for phase in range(plane_size(stride)):
        rest = phase
        is_seen = True
        for d in range(2, -1, -1):
            is_seen = is_seen and rest % stride[d] < wide.phases[d]
            first[d] = (rest % stride[d] - padding[d] % stride[d] + stride[d]) % stride[d]
            at[d] = (first[d] + padding[d]) // stride[d]
            n[d] = min((sizes[d] - first[d] + stride[d] - 1) // stride[d], wide.size[d] - at[d])
            rest = rest // stride[d]
        for z in range(n[0] if is_seen else 0):
            for y in range(n[1]):
                lane = line + phase * size + ((at[0] + z) * wide.size[1] + at[1] + y) * wide.size[2] + at[2]
                elements = plane + first[2] + sizes[2] * (
                    (first[0] + z * stride[0]) * sizes[1] + first[1] + y * stride[1])
                if is_back:
                    for i in range(n[2]):
                        elements[i * step] += lane[i]
                elif step == 2:
                    for i in range(n[2]):               # a step that the compiler knows
                        lane[i] = elements[i * 2]
                else:
                    for i in range(n[2]):
                        lane[i] = elements[i * step]
