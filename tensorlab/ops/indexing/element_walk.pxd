"""The walk along an index that has one entry for each element, for gather.pyx and scatter_reduce.pyx."""
from libc.stdint cimport int64_t

from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase

cdef struct Lines:
    int ndim                    # dimensions of the index, but for those of size 1
    ssize[MAX_NDIM] sizes
    ssize[MAX_NDIM] x_steps     # 0 for `dim`
    ssize[MAX_NDIM] index_steps
    ssize[MAX_NDIM] flat_steps  # of the result, or the source
    int dim                     # where `dim` stands among them; -1 if its size is 1
    ssize jump                  # elements of x from one index to the next
    ssize bound                 # size of x in `dim`

ctypedef bint (*line_loop)(void* x, const int64_t* index, void* flat, ssize n, ssize x_step, ssize index_step,
                           ssize flat_step, ssize jump, ssize bound) noexcept nogil

cdef void set_lines(Lines* lines, TensorBase x, int dim, TensorBase index, TensorBase flat) noexcept nogil
cdef line_loop line_for(int mode, int dtype) noexcept nogil
cdef bint run_lines(Lines* lines, line_loop loop, bint writes, TensorBase x, TensorBase index, TensorBase flat) noexcept
cdef bint check_line(void* x, const int64_t* index, void* flat, ssize n, ssize x_step, ssize index_step, ssize flat_step,
                     ssize jump, ssize bound) noexcept nogil
cdef int raise_bad_index(TensorBase x, int dim, TensorBase index, str where) except -1
cdef TensorBase check_index(TensorBase x, int dim, object index, str where)
cdef TensorBase check_source(TensorBase x, TensorBase index, object src, str where)
cdef int write_lines(TensorBase x, int dim, TensorBase index, TensorBase flat, int mode, str where) except -1
cdef TensorBase contiguous_clone(TensorBase x)
