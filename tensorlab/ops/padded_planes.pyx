"""Planes copied with their padding and dealt out into phases, so that every weight of a kernel sees them as lines.

A copy with padding needs no conditions at the borders. With a stride of s it is dealt out into s x s phases, the rows 0, s,
2 s, ... and columns 0, s, 2 s, ...; each weight of the kernel, a tap, then lies in one phase, and what it sees at the places of
a row of the output is a line of elements next to each other. Dilation only changes where taps begin.

    a row, stride 2:    . 1 2 3 4 5 .       phases   . 2 4 .   1 3 5        a kernel of 3: tap 0 sees . 2 4, the first phase,
                                                                                           tap 1 sees 1 3 5, the second,
                                                                                           tap 2 sees 2 4 ., the first again
"""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab.ops.im2col cimport Geometry, plane_size

cdef enum:
    MOST_PADDING = 16           # a copy may be so many times as large as what it is made for


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


cdef void copy_plane(real* line, real* plane, const ssize* sizes, const ssize* stride, const ssize* padding, Wide* wide,
                     bint is_back) noexcept nogil:
    """From a plane into phases; or back, added. What the kernel never sees is left out."""
    cdef ssize phase, z, y, i, rest, size = plane_size(wide.size), step = stride[2]
    cdef ssize[3] first                                 # element of the plane that comes first in the phase,
    cdef ssize[3] at                                    # its place there,
    cdef ssize[3] n                                     # and how many there are
    cdef real* lane
    cdef real* elements
    cdef int d
    for phase in range(plane_size(stride)):
        rest = phase
        for d in range(2, -1, -1):
            first[d] = (rest % stride[d] - padding[d] % stride[d] + stride[d]) % stride[d]
            at[d] = (first[d] + padding[d]) // stride[d]
            n[d] = min((sizes[d] - first[d] + stride[d] - 1) // stride[d], wide.size[d] - at[d])
            rest = rest // stride[d]
        for z in range(n[0]):
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
