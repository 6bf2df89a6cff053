"""Factorisations of many small matrices, several at a time."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport range_body
from tensorlab._core.loops.vectors cimport lanes
from tensorlab.ops.linalg.matrix_batches cimport Job

cdef enum:
    FEW = 8                     # matrices from which on that is worth it
    LARGEST = 12                # rows up to which that is faster than LAPACK

# Works on matrices `first` to `first` + `count`; returns a bit for each that LAPACK has to do, and hasn't touched these.
ctypedef unsigned int (*lanes_function)(Job* job, ssize first, ssize count, void* space) noexcept nogil

cdef void in_lanes(lanes_function function, range_body rest, Job* job, ssize begin, ssize end) noexcept nogil
cdef void in_lanes_with(lanes_function function, range_body rest, Job* job, ssize begin, ssize end, ssize vectors) noexcept nogil
cdef unsigned int lanes_with_nan(lanes* x, ssize count) noexcept nogil
cdef void load(lanes* out, Job* job, int tensor, ssize first, ssize count, ssize elements) noexcept nogil
cdef void store(lanes* x, Job* job, int tensor, ssize first, ssize count, ssize elements, unsigned int left_out) noexcept nogil
cdef unsigned int factor_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil
cdef unsigned int solve_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil
cdef unsigned int invert_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil
cdef unsigned int cholesky_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil
cdef unsigned int eigen_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil
cdef unsigned int singular_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil
