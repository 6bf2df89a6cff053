"""The iterator along an index that has one entry for each element, for gather.pyx and scatter_reduce.pyx."""
from libc.stdint cimport int64_t

from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase

cdef struct ScatterGather:
    int ndim                    # dimensions of the index, but for those of size 1
    ssize[MAX_NDIM] sizes
    ssize[MAX_NDIM] x_strides   # 0 for `dim`
    ssize[MAX_NDIM] index_strides
    ssize[MAX_NDIM] flat_strides  # of the result, or the source
    int dim                     # where `dim` stands among them; -1 if its size is 1
    ssize dim_stride            # elements of x from one index to the next
    ssize bound                 # size of x in `dim`

ctypedef bint (*scatter_gather_loop)(void* x, const int64_t* index, void* flat, ssize n, ssize x_stride, ssize index_stride,
                                     ssize flat_stride, ssize dim_stride, ssize bound) noexcept nogil

cdef void set_up_iterator(ScatterGather* iter, TensorBase x, int dim, TensorBase index, TensorBase flat) noexcept nogil
cdef scatter_gather_loop loop_for(int mode, int dtype, str where) except NULL
cdef bint run_iterator(ScatterGather* iter, scatter_gather_loop loop, bint writes, TensorBase x, TensorBase index,
                       TensorBase flat) noexcept
cdef bint check_loop(void* x, const int64_t* index, void* flat, ssize n, ssize x_stride, ssize index_stride, ssize flat_stride,
                     ssize dim_stride, ssize bound) noexcept nogil
cdef int raise_bad_index(TensorBase x, int dim, TensorBase index, str where) except -1
cdef TensorBase check_index(TensorBase x, int dim, TensorBase given, str where)
cdef int check_source(TensorBase x, TensorBase index, TensorBase source, str where) except -1
cdef int scatter_into(TensorBase x, int dim, TensorBase index, TensorBase flat, int mode, str where,
                      bint is_new=*) except -1
