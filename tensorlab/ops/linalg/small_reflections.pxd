"""QR factorisations of many small matrices, several at a time."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport range_body
from tensorlab.ops.linalg.matrix_batches cimport Job

cdef void reflect_in_lanes(range_body rest, Job* job, ssize begin, ssize end) noexcept nogil
cdef void multiply_in_lanes(range_body rest, Job* job, ssize begin, ssize end) noexcept nogil
