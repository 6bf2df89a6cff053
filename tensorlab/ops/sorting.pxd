"""The order of one slice, all of it or one rank, as sort, kthvalue and median need it."""
from libc.stdint cimport uint32_t, uint64_t

from tensorlab._core.dtypes cimport NUM_DTYPES, number
from tensorlab._core.interop.arrays cimport sort_function
from tensorlab._core.layout cimport ssize
from tensorlab.ops.dim_iterator cimport dim_loop

ctypedef fused sortable:        # the types whose order ops look for
    number
    uint64_t

# Fills `order` (uint32) with the indices that sort the n elements of x; `scratch` has `scratch_bytes(n)` bytes.
ctypedef void (*order_loop)(uint32_t* order, void* x, ssize n, bint descending, void* scratch) noexcept nogil

# The index of the element that a stable sort would put at position k.
ctypedef ssize (*rank_loop)(void* x, ssize n, ssize k, void* scratch) noexcept nogil

cdef struct ValueParameters:    # of the sort of values alone
    sort_function sort_short    # NumPy's, for slices of at most `short` elements; NULL if there is none
    ssize short

cdef order_loop[NUM_DTYPES] order_loops
cdef rank_loop[NUM_DTYPES] rank_loops
cdef dim_loop[NUM_DTYPES] value_loops                   # operands: sorted slice, slice; ValueParameters
cdef dim_loop[NUM_DTYPES] ranked_loops                  # slice, values, ranks as int64; how many
cdef int check_length(ssize n, int dim) except -1
cdef ssize scratch_bytes(ssize n) noexcept nogil
