"""Element types: one small integer code each, their sizes, and the table of promotions."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t

cdef enum:
    BOOL = 0
    UINT8 = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    FLOAT16 = 6         # stored as such, computed in FLOAT32
    BFLOAT16 = 7        # stored as such, computed in FLOAT32
    FLOAT32 = 8
    FLOAT64 = 9
    NUM_DTYPES = 10
    NO_DTYPE = 10       # "not known yet" while promoting
    MAX_ITEMSIZE = 8    # bytes of the widest element: what buffers for elements of any type reserve for each

ctypedef fused number:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double

ctypedef fused integer:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef fused real:
    float
    double

cdef class dtype:
    cdef readonly str name
    cdef readonly int itemsize          # bytes of one element
    cdef int code

cdef int item_size[NUM_DTYPES]
cdef unsigned char promotion[NUM_DTYPES][NUM_DTYPES]

cdef inline bint is_floating(int code) noexcept nogil:
    return code >= FLOAT16

cdef inline bint is_differentiable(int code) noexcept nogil:
    """May tensors of this type require grad?"""
    return is_floating(code)

cdef inline int kernel_dtype(int code) noexcept nogil:
    """The type that kernels compute in: half types are converted block by block."""
    return FLOAT32 if code == FLOAT16 or code == BFLOAT16 else code

cdef dtype dtype_object(int code)
cdef int default_float() noexcept
cdef int dtype_code(object given, int default) except -1
