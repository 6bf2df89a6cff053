"""Shapes and strides as plain C arrays. Strides count elements, not bytes, as PyTorch's do."""
from cpython.long cimport PyLong_CheckExact

cdef enum:
    MAX_NDIM = 16

ctypedef Py_ssize_t ssize

cdef ssize count_elements(int ndim, const ssize* sizes) except -1
cdef void contiguous_strides(int ndim, const ssize* sizes, ssize* strides) noexcept nogil
cdef bint is_contiguous(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil
cdef bint is_dense(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil
cdef bint has_internal_overlap(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil
cdef bint is_canonical(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil
cdef bint may_have_internal_overlap(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil
cdef void channels_last_strides(const ssize* sizes, ssize* strides) noexcept nogil
cdef bint is_channels_last(const ssize* sizes, const ssize* strides) noexcept nogil
cdef ssize extent(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil
cdef bint view_strides(int ndim, const ssize* sizes, const ssize* strides, int new_ndim, const ssize* new_sizes,
                       ssize* new_strides) noexcept nogil
cdef void dense_strides(int ndim, const ssize* sizes, int operands, const ssize** operand_strides,
                        ssize* strides) noexcept nogil
cdef int broadcast_into(int ndim, const ssize* sizes, int* out_ndim, ssize* out_sizes) noexcept nogil
cdef object as_plain_ints(object given)
cdef ssize int_argument(object given, str where, str name) except? -1
cdef int wrap_dim(object dim, int ndim, str where=*) except -1
cdef int read_sizes(object sizes, ssize* out, str where) except -1
cdef str shape_text(int ndim, const ssize* sizes)

cdef inline object plain_ints(object given):
    """An int, or a sequence of ints, as Python's own ints in a tuple; anything else, and what else is in it, as it is.

    An `__index__` can do anything, such as giving the tensor at hand another layout, and a subclass of tuple may lie
    about its length. So arguments become plain ints before the layout of any tensor is looked at: these can be read
    without running other code.
    """
    return given if PyLong_CheckExact(given) or given is None else as_plain_ints(given)
