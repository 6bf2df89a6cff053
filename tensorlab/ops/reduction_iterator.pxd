"""The iterator of reductions: it serves sums, products, maxima, norms and variances."""
from tensorlab._core.dtypes cimport MAX_ITEMSIZE
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    MAX_TOTALS = 1024           # totals that are folded at a time: 8 KiB of them

# Both kinds of loop fold the elements x[i * row_stride + j], i < m, j < n, into totals that have been started:
#   rows      totals[i] gets row i
#   columns   totals[j] gets column j
# `extra` is one value for each total (of the totals' type), or the reduction's parameter (a double).
ctypedef void (*fold_loop)(void* totals, void* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil
# What is done to totals at the end: divide by a count, take a root.
ctypedef void (*finalize_loop)(void* totals, ssize n, double parameter) noexcept nogil

cdef struct Reducer:            # how one op folds elements of one type
    int dtype                   # of the elements, as the loops read them
    int total_dtype             # of the totals
    fold_loop rows
    fold_loop columns
    fold_loop merge             # folds rows of totals (from several threads) into totals, by columns
    char[MAX_ITEMSIZE] start               # a total before anything is folded into it, such as 0 for sums

cdef unsigned int read_dims(object dim, int ndim, str where) except? 0xffffffff
cdef TensorBase reduced_result(int dtype, TensorBase x, unsigned int mask, bint keepdim)
cdef TensorBase reduced_tensor(int dtype, TensorBase x, unsigned int mask, bint keepdim)
cdef ssize reduced_count(TensorBase x, unsigned int mask) noexcept
cdef int run_reduction(const Reducer* reducer, TensorBase out, TensorBase x, unsigned int mask, TensorBase extra,
                       finalize_loop finalize, double parameter) except -1
