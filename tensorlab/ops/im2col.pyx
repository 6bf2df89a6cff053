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

cdef extern from "copy_row.h" nogil:
    void tl_copy_row(float* to, const float* row, ssize n, ssize step)

cdef enum:
    MOST_PADDING = 16           # a copy may be so many times as large as what it is made for

cdef struct Part:               # of a plane, which lies in one phase
    ssize[3] first              # element of the plane that comes first in the phase,
    ssize[3] at                 # its place there,
    ssize[3] n                  # and how many there are


cdef ssize plane_size(const ssize* sizes) noexcept nogil:
    return sizes[0] * sizes[1] * sizes[2]


cdef ssize column_size(Geometry* geometry) noexcept nogil:
    """Weights of one output channel."""
    return geometry.in_channels * plane_size(geometry.kernel)


cdef ssize image_count(Geometry* geometry) noexcept nogil:
    """Images, each counted once for each group."""
    return geometry.batch * geometry.groups


cdef ssize multiplications(Geometry* geometry) noexcept nogil:
    return image_count(geometry) * geometry.out_channels * column_size(geometry) * plane_size(geometry.out)


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
cdef bint is_small(double elements, Geometry* geometry) noexcept nogil:
    """Is there not much more padding than image in a copy of so many elements?"""
    return elements <= MOST_PADDING * <double>(plane_size(geometry.sizes) + plane_size(geometry.out))


cdef bint is_copy_small(Geometry* geometry) noexcept nogil:
    """The same of a copy in phases. Its size is a product of large numbers, which may not fit in an integer."""
    cdef double elements = 1
    cdef int d
    for d in range(3):
        elements *= <double>geometry.out[d] * geometry.stride[d] + <double>(geometry.kernel[d] - 1) * geometry.dilation[d]
    return is_small(elements, geometry)


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


cdef inline ssize place_of(Part* part, Wide* wide, ssize phase, ssize z) noexcept nogil:
    """Where the first row of slice z begins in the phases,"""
    return phase * wide.phase + ((part.at[0] + z) * wide.size[1] + part.at[1]) * wide.size[2] + part.at[2]


cdef inline ssize pixel_of(Part* part, const ssize* sizes, const ssize* stride, ssize z) noexcept nogil:
    """and in the plane."""
    return ((part.first[0] + z * stride[0]) * sizes[1] + part.first[1]) * sizes[2] + part.first[2]


cdef inline void copy_row(real* to, const real* row, ssize n, ssize step) noexcept nogil:
    """n elements, `step` apart."""
    cdef ssize i
    if real is float:
        tl_copy_row(to, row, n, step)
    else:
        for i in range(n):
            to[i] = row[i * step]


cdef bint find_part(Part* part, const ssize* sizes, const ssize* stride, const ssize* padding, Wide* wide,
                    ssize phase) noexcept nogil:
    """The part of a plane that lies in a phase; False if the kernel never sees it."""
    cdef bint is_seen = True
    cdef int d
    for d in range(2, -1, -1):
        part.first[d], part.at[d], part.n[d] = 0, padding[d], min(sizes[d], wide.size[d] - padding[d])
        if stride[d] > 1:                               # else the same, but divisions take longer than a small plane
            is_seen = is_seen and phase % stride[d] < wide.phases[d]
            part.first[d] = (phase % stride[d] - padding[d] % stride[d] + stride[d]) % stride[d]
            part.at[d] = (part.first[d] + padding[d]) // stride[d]
            part.n[d] = min((sizes[d] - part.first[d] + stride[d] - 1) // stride[d], wide.size[d] - part.at[d])
            phase = phase // stride[d]
    return is_seen


cdef void copy_planes(real* lines, real* planes, ssize count, const ssize* sizes, const ssize* stride,
                      const ssize* padding, Wide* wide) noexcept nogil:
    """From planes into phases. What the kernel never sees is left out."""
    cdef ssize phase, plane, z, _y
    cdef real* lane
    cdef real* row
    cdef Part part
    for phase in range(plane_size(stride)):
        if find_part(&part, sizes, stride, padding, wide, phase):
            for plane in range(count):
                for z in range(part.n[0]):
                    lane = lines + plane * wide.plane + place_of(&part, wide, phase, z)
                    row = planes + plane * plane_size(sizes) + pixel_of(&part, sizes, stride, z)
                    for _y in range(part.n[1]):
                        copy_row(lane, row, part.n[2], stride[2])
                        lane += wide.size[2]
                        row += stride[1] * sizes[2]


cdef void add_phases(real* plane, const real* line, const ssize* sizes, const ssize* stride, const ssize* padding,
                     Wide* wide) noexcept nogil:
    """Back: what lies in phases is added to a plane."""
    cdef ssize phase, z, _y, i, step = stride[2]
    cdef const real* lane
    cdef real* row
    cdef Part part
    for phase in range(plane_size(stride)):
        if find_part(&part, sizes, stride, padding, wide, phase):
            for z in range(part.n[0]):
                lane = line + place_of(&part, wide, phase, z)
                row = plane + pixel_of(&part, sizes, stride, z)
                for _y in range(part.n[1]):
                    for i in range(part.n[2]):
                        row[i * step] += lane[i]
                    lane += wide.size[2]
                    row += stride[1] * sizes[2]


# ---------------------------------------------------------------- lists, for a copy of stride 1
cdef const ssize* out_sizes(Geometry* geometry, int mode) noexcept nogil:
    """Of an image that is the result, or BY_WEIGHT of its gradient."""
    return &geometry.sizes[0] if mode == BY_INPUT else &geometry.out[0]


cdef ssize copy_extent(Geometry* geometry, int mode, int d, ssize* lead) noexcept nogil:
    """How far a copy of the source reaches in a dimension; `lead` receives the padding before it."""
    cdef ssize reach = (geometry.kernel[d] - 1) * geometry.dilation[d], stride = geometry.stride[d]
    if mode != BY_INPUT:
        lead[0] = geometry.padding[d]
        return (geometry.out[d] - 1) * stride + reach + 1
    lead[0] = max(reach // stride - geometry.padding[d] // stride, 0)
    return lead[0] + max((geometry.sizes[d] - 1 + geometry.padding[d]) // stride + 1, geometry.out[d])


cdef ssize list_rows(ssize* at, ssize* out_at, Geometry* geometry, int mode, const ssize* wide, const ssize* lead,
                     const ssize* phase) noexcept nogil:
    """Where the places of a phase lie in the source and in the result. Returns how many there are.

    BY_INPUT these are pixels: pixel i and tap t meet where i + padding = place * stride + t * dilation.
    """
    cdef ssize[3] places, first, step, out, out_step
    cdef const ssize* sizes = out_sizes(geometry, mode)
    cdef ssize z, y, i, row, out_row, n = 0
    cdef int d
    for d in range(3):
        places[d], first[d], step[d], out[d], out_step[d] = geometry.out[d], 0, geometry.stride[d], 0, 1
        if mode == BY_INPUT:
            out[d] = ((phase[d] - geometry.padding[d]) % step[d] + step[d]) % step[d]
            places[d] = (geometry.sizes[d] - out[d] + step[d] - 1) // step[d]
            first[d] = lead[d] + (out[d] + geometry.padding[d] - phase[d]) // step[d]
            step[d], out_step[d] = 1, step[d]
    for z in range(places[0]):
        for y in range(places[1]):
            row = ((first[0] + z * step[0]) * wide[1] + first[1] + y * step[1]) * wide[2] + first[2]
            out_row = ((out[0] + z * out_step[0]) * sizes[1] + out[1] + y * out_step[1]) * sizes[2] + out[2]
            for i in range(places[2]):
                at[n], out_at[n] = row + i * step[2], out_row + i * out_step[2]
                n += 1
    return n


cdef ssize list_taps(ssize* at, ssize* tap_at, Geometry* geometry, int mode, const ssize* wide,
                     const ssize* phase) noexcept nogil:
    """How far from a place the taps of a phase look, and which they are. Returns how many there are."""
    cdef ssize taps = plane_size(geometry.kernel), tap, rest, far, start, unit, n = 0, i
    cdef bint by_input = mode == BY_INPUT, is_seen
    cdef int d
    for i in range(taps):
        tap = rest = taps - 1 - i if by_input else i
        start, unit, is_seen = 0, 1, True
        for d in range(2, -1, -1):
            far = rest % geometry.kernel[d] * geometry.dilation[d]
            rest = rest // geometry.kernel[d]
            if by_input:
                is_seen = is_seen and far % geometry.stride[d] == phase[d]
                far = -(far // geometry.stride[d])
            start += far * unit
            unit *= wide[d]
        if is_seen:
            at[n], tap_at[n] = start, tap
            n += 1
    return n
