"""The order of one line, as sort, kthvalue and median need it."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t

from tensorlab._core.dtypes cimport NUM_DTYPES, number
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

ctypedef fused sortable:        # the types whose order ops look for
    number
    uint64_t

# Fills `order` (uint32) with the indices that sort the n elements of x; `scratch` has `scratch_bytes(n)` bytes.
ctypedef void (*order_loop)(uint32_t* order, void* x, ssize n, bint descending, void* scratch) noexcept nogil

cdef order_loop[NUM_DTYPES] order_loops
cdef ssize scratch_bytes(ssize n) noexcept nogil
cdef tuple sort_along_dim(TensorBase x, int dim, bint descending)
