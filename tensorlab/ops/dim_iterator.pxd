"""The iterator of ops that work along one dimension: softmax, running sums, sorting, index of the maximum."""
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    MAX_DIM_OPERANDS = 6
    STRIP = 2048                # slices that a strip loop gets at most: memory is read in long runs

# One slice: data[k] is operand k along the dimension, its elements next to each other in the type it is computed in;
# data[operands] is scratch memory, aligned to 64 bytes. n is the length of operand 0's slice.
ctypedef void (*dim_loop)(void** data, ssize n, void* parameter) noexcept nogil

# Many slices at once, where they run across memory and neighbours lie next to each other: element i of slice j of operand
# k is data[k][i * strides[k] + j], i < n, j < width (at most STRIP). An op may have such a loop besides the other.
ctypedef void (*strip_loop)(void** data, ssize* strides, ssize n, ssize width) noexcept nogil

# Several slices at once, which run along memory: element i of slice j of operand k is data[k][i + j * strides[k]]. An op
# may have such a loop, too.
ctypedef void (*rows_loop)(void** data, ssize* strides, ssize n, ssize count) noexcept nogil

cdef struct DimOperand:
    char* data
    int dtype                   # as stored
    int kernel_dtype            # as the loop wants it
    bint is_output
    ssize length                # of a slice
    ssize stride                # from one element of a slice to the next
    ssize[MAX_NDIM] strides     # from one slice to the next, for each other dimension

cdef struct DimIterator:
    int operands
    int ndim                    # dimensions besides the one that slices run along
    ssize[MAX_NDIM] sizes
    bint one_by_one             # slices of the result may overlap: each is read after those before it were written
    ssize scratch               # bytes of scratch memory that a slice needs
    strip_loop strip            # NULL if there is none
    ssize shared_rows           # rows that it gives to a thread, if it shares out rows itself; 0: it doesn't
    rows_loop rows              # likewise
    DimOperand[MAX_DIM_OPERANDS] operand

cdef void start_iterator(DimIterator* iter, TensorBase x, int dim) noexcept
cdef int add_operand(DimIterator* iter, TensorBase x, int dim, int kernel_dtype, bint is_output) except -1
cdef int add_point_operand(DimIterator* iter, TensorBase x, int dim) except -1
cdef int dim_apply(DimIterator* iter, dim_loop loop, void* parameter, ssize grain) except -1
