"""Walking n dimensions when an op works along one of them: softmax, running sums, sorting, index of the maximum."""
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    MAX_DIM_OPERANDS = 6
    STRIP = 128                 # lines that a strip loop gets at most: memory is read in runs of eight cache lines

# One line: rows[k] is operand k along the dimension, its elements next to each other in the type it is computed in;
# rows[operands] is scratch memory, aligned to 64 bytes. n is the length of operand 0's line.
ctypedef void (*dim_loop)(void** data, ssize n, void* parameter) noexcept nogil

# Many lines at once, where they run across memory and neighbours lie next to each other: element i of line j of operand
# k is data[k][i * steps[k] + j], i < n, j < width (at most STRIP). An op may have such a loop besides the other.
ctypedef void (*strip_loop)(void** data, ssize* strides, ssize n, ssize width) noexcept nogil

cdef struct DimOperand:
    char* data
    int dtype                   # as stored
    int kernel_dtype            # as the loop wants it
    bint is_output
    ssize length                # of a line
    ssize stride                # from one element of a line to the next
    ssize[MAX_NDIM] strides     # from one line to the next, for each other dimension

cdef struct DimIterator:
    bint writes_meta            # a result is on "meta": there is nothing to walk over
    bint reads_meta             # an input is
    int operands
    int ndim                    # dimensions besides the one that lines run along
    ssize[MAX_NDIM] sizes
    ssize scratch               # bytes of scratch memory that a line needs
    strip_loop strip            # NULL if there is none
    DimOperand[MAX_DIM_OPERANDS] operand

cdef void start_iterator(DimIterator* iter, TensorBase x, int dim) noexcept
cdef void add_operand(DimIterator* iter, TensorBase x, int dim, int kernel_dtype, bint is_output) noexcept
cdef void add_point_operand(DimIterator* iter, TensorBase x, int dim) noexcept
cdef int dim_apply(DimIterator* iter, dim_loop loop, void* parameter, ssize grain) except -1
