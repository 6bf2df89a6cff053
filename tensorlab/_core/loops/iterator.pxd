"""The tensor iterator: it serves every pointwise op, every copy and every cast."""
from tensorlab._core.dtypes cimport word
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    MAX_OPERANDS = 5            # the result and up to four inputs

# An inner loop sees contiguous rows: n elements next to each other, in the type it computes in. The iterator brings
# everything else (strides, broadcasting, casts) into that form.
ctypedef void (*unary_loop)(void* out, void* x, ssize n) noexcept nogil
ctypedef void (*binary_loop)(void* out, void* x, void* y, ssize n) noexcept nogil
ctypedef void (*ternary_loop)(void* out, void* x, void* y, void* z, ssize n) noexcept nogil
ctypedef void (*quaternary_loop)(void* out, void* x, void* y, void* z, void* w, ssize n) noexcept nogil

cdef struct Operand:            # operand 0 is the result
    char* data                  # first element
    int dtype                   # as stored
    int kernel_dtype            # as the loop wants it
    ssize[MAX_NDIM] strides     # in elements, for each dimension of the iterator; 0: broadcast

cdef struct TensorIterator:
    int ndim
    int operands
    bint one_by_one             # the result's elements overlap: tiles of one element, in one thread
    ssize[MAX_NDIM] sizes
    Operand[MAX_OPERANDS] operand

cdef void set_operand(TensorIterator* iter, int k, char* data, int dtype, int kernel_dtype, int ndim, const ssize* sizes,
                      const ssize* strides) noexcept nogil
cdef int for_each(TensorIterator* iter, void* loop, ssize grain) except -1

# what brings operands into that form
cdef void broadcast_value(char* buffer, const char* value, int size, ssize n) noexcept nogil
cdef void gather_row(char* buffer, Operand* operand, char* data, ssize stride, ssize n) noexcept nogil
cdef void repeat(char* buffer, ssize filled, ssize nbytes) noexcept nogil

cdef inline void call_loop(void* loop, int operands, void** data, ssize n) noexcept nogil:
    if operands == 2:
        (<unary_loop>loop)(data[0], data[1], n)
    elif operands == 3:
        (<binary_loop>loop)(data[0], data[1], data[2], n)
    elif operands == 4:
        (<ternary_loop>loop)(data[0], data[1], data[2], data[3], n)
    else:
        (<quaternary_loop>loop)(data[0], data[1], data[2], data[3], data[4], n)

cdef int copy_into(TensorBase out, TensorBase x) except -1
cdef TensorBase plain(TensorBase x)
cdef TensorBase plain_result(TensorBase out)
cdef TensorBase moved(TensorBase x, int device)
cdef TensorBase copy_as(TensorBase x, int dtype)

cdef inline TensorBase plain_as(TensorBase x, int dtype):
    """x row-major and of this type: x itself, or a copy. None stays None."""
    return x if x is None or (x.is_contiguous_ and x.dtype_ == dtype) else copy_as(x, dtype)

cdef inline int put_back(TensorBase out, TensorBase computed) except -1:
    """Copy what a kernel computed in a tensor of its own to the result."""
    return 0 if computed is out else copy_into(out, computed)

cdef TensorBase contiguous_copy(TensorBase x)
cdef int fill_with(TensorBase out, const void* value, int value_dtype) except -1

cdef void transpose_tile(word* buffer, const word* data, ssize stride, ssize m, ssize n) noexcept nogil
