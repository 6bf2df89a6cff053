"""Planes copied with their padding and dealt out into phases, so that every weight of a kernel sees them as lines."""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab.ops.im2col cimport Geometry

cdef struct Wide:               # a plane with its padding, dealt out into phases
    ssize[3] size               # of a phase: depth, rows and columns
    ssize phase                 # elements of a phase,
    ssize plane                 # and of all phases
    ssize reach                 # from the first tap of a phase to its last
    ssize places                # from the first place of the output to its last

cdef bint is_copy_small(Geometry* geometry) noexcept nogil
cdef void measure(Wide* wide, Geometry* geometry) noexcept nogil
cdef ssize find_tap(Wide* wide, Geometry* geometry, ssize tap, ssize* phase) noexcept nogil
cdef void copy_plane(real* line, real* plane, const ssize* sizes, const ssize* stride, const ssize* padding, Wide* wide,
                     bint is_back) noexcept nogil
