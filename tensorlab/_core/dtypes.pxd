"""Element types: one small integer code each, classes of types, and tables of what is known of each type."""
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
    COMPLEX64 = 10      # two numbers of FLOAT32: the real and the imaginary part
    COMPLEX128 = 11     # two of FLOAT64
    UINT16 = 12         # computed in INT32, which holds all its numbers
    UINT32 = 13         # computed in INT64
    UINT64 = 14         # computed as such, where an op has a loop for it
    FLOAT8_E4M3FN = 15  # these five are stored and converted; the few ops that take them compute in FLOAT32
    FLOAT8_E5M2 = 16
    FLOAT8_E4M3FNUZ = 17
    FLOAT8_E5M2FNUZ = 18
    FLOAT8_E8M0FNU = 19
    COMPLEX32 = 20      # two of FLOAT16; computed in COMPLEX64
    NUM_DTYPES = 21
    NO_DTYPE = 21       # "not known yet" while promoting; in the table of promotions: the two have no common type
    MAX_ITEMSIZE = 16   # bytes of the widest element that can be moved: what buffers for any type reserve for each

# Classes of types are sets of them, with a bit for each code: is_in(x.dtype_, INTEGRAL | FLOATING). Nothing but the table of
# promotions (dtypes.pyx) depends on the order of the codes.
cdef enum:
    BOOLEAN = 1 << BOOL
    INTEGRAL = 1 << UINT8 | 1 << INT8 | 1 << INT16 | 1 << INT32 | 1 << INT64
    HALF = 1 << FLOAT16 | 1 << BFLOAT16
    FLOATING = HALF | 1 << FLOAT32 | 1 << FLOAT64
    COMPLEX = 1 << COMPLEX32 | 1 << COMPLEX64 | 1 << COMPLEX128
    INEXACT = FLOATING | COMPLEX                # what division gives
    NUMBER = INTEGRAL | FLOATING | 1 << COMPLEX64 | 1 << COMPLEX128     # what products and convolutions have loops for
    ORDERED = BOOLEAN | INTEGRAL | FLOATING | 1 << UINT16 | 1 << UINT32  # what can be compared with <, and has loops for it
    # Types that few ops take, and classes with them in it
    WIDE_UNSIGNED = 1 << UINT16 | 1 << UINT32 | 1 << UINT64
    FLOAT8 = 1 << FLOAT8_E4M3FN | 1 << FLOAT8_E5M2 | 1 << FLOAT8_E4M3FNUZ | 1 << FLOAT8_E5M2FNUZ | 1 << FLOAT8_E8M0FNU
    UNSIGNED = 1 << UINT8 | WIDE_UNSIGNED
    ANY_INTEGRAL = INTEGRAL | WIDE_UNSIGNED
    ANY_FLOATING = FLOATING | FLOAT8

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

ctypedef float complex complex64
ctypedef double complex complex128

ctypedef fused complex_number:
    complex64
    complex128

ctypedef fused inexact:         # types in which sums, products and quotients are what they are in mathematics
    float
    double
    complex64
    complex128

ctypedef fused summand:         # all types that have a loop of their own for sums and products
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double
    complex64
    complex128

cdef struct two_words:
    int64_t first
    int64_t second

ctypedef fused word:            # elements that are only moved need no type, only a size
    uint8_t
    uint16_t
    int32_t
    int64_t
    two_words

cdef class dtype:
    cdef readonly str name
    cdef readonly int itemsize          # bytes of one element
    cdef int code
    cdef bytes letter                   # in the module struct; None if it has none

# by code; dtypes.pyx fills these
cdef int item_size[NUM_DTYPES]
cdef unsigned char category[NUM_DTYPES]         # 0 bool, 1 integral, 2 floating, 3 complex
cdef unsigned char promotion[NUM_DTYPES][NUM_DTYPES]

cdef inline bint is_in(int code, int types) noexcept nogil:
    """Is the type one of these?"""
    return types >> code & 1

cdef inline bint is_differentiable(int code) noexcept nogil:
    """May tensors of this type require grad?"""
    return is_in(code, INEXACT | FLOAT8)

cdef inline int kernel_dtype(int code) noexcept nogil:
    """The type that kernels compute in: half types, and others that have no loops, are converted block by block."""
    if is_in(code, HALF):
        return FLOAT32
    if not is_in(code, 1 << UINT16 | 1 << UINT32 | 1 << COMPLEX32):
        return code
    return INT32 if code == UINT16 else INT64 if code == UINT32 else COMPLEX64

cdef inline int real_dtype(int code) noexcept nogil:
    """The type of a complex number's parts; a real type is its own."""
    if not is_in(code, COMPLEX):
        return code
    return FLOAT32 if code == COMPLEX64 else FLOAT64 if code == COMPLEX128 else FLOAT16

cdef inline int sum_dtype(int code) noexcept nogil:
    """The type of a sum or product of elements of this type: integers and bools become int64."""
    return INT64 if is_in(code, BOOLEAN | ANY_INTEGRAL) else code

cdef int refuse_loop(int code) except -1

cdef inline bint is_double(int kernel) except -1:
    """Which of the two loops of `real`: float64's or float32's? A type that has neither is an error."""
    if kernel != FLOAT64 and kernel != FLOAT32:
        refuse_loop(kernel)
    return kernel == FLOAT64

cdef int refuse_promotion(int a, int b) except -1

cdef inline int common_dtype(int a, int b) except -1:
    """The type that holds the numbers of both. Where no such type is, an error."""
    if promotion[a][b] == NO_DTYPE:
        refuse_promotion(a, b)
    return promotion[a][b]

cdef int complex_dtype(int code) except -1
cdef dtype dtype_object(int code)
cdef int default_float() noexcept
cdef int dtype_code(object given, int default) except -1
