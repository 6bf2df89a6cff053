"""Conversion: a row of numbers copied into another row, of the same type or of any other.

`convert` knows every pair of types; a row of the same type is only moved. Types that little is computed in have no loops to all
the others: half types and those of 8 bits go by way of float32, uint16 and uint32 by way of wider integers, complex32 by way
of complex64. The iterator, the reductions and the indexing ops meet other types and strides through this one function.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tensorlab._core.dtypes cimport (
    BOOL, BOOLEAN, COMPLEX, COMPLEX128, COMPLEX32, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, FLOAT8,
    FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ, FLOAT8_E5M2, FLOAT8_E5M2FNUZ, FLOAT8_E8M0FNU, HALF, INT16, INT32,
    INT64, INT8, MAX_ITEMSIZE, NUM_DTYPES, UINT16, UINT32, UINT64, UINT8, complex128, complex64,
    complex_number, is_in, item_size, kernel_dtype, number, real, real_dtype, two_words, word
)
from tensorlab._core.layout cimport ssize

import warnings

cdef extern from "float8.h" nogil:
    float tl_float_of_float8(uint8_t code, int kind)
    uint8_t tl_float8_of_float(float x, int kind)

cdef extern from "half.h" nogil:
    float tl_float_of_half(uint16_t)
    uint16_t tl_half_of_float(float)
    float tl_float_of_bfloat(uint16_t)
    uint16_t tl_bfloat_of_float(float)
    void tl_floats_of_halves(float* out, const uint16_t* x, ssize n)
    void tl_halves_of_floats(uint16_t* out, const float* x, ssize n)
    void tl_floats_of_bfloats(float* out, const uint16_t* x, ssize n)
    void tl_bfloats_of_floats(uint16_t* out, const float* x, ssize n)

cdef enum:
    PIECE = 512                 # elements that go through another type at once


# ---------------------------------------------------------------- the same type
ctypedef void (*row_loop)(void* out, const void* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil

cdef void copy_words(word* out, const word* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride]

cdef void reverse_words(word* out, const word* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[-i]

cdef row_loop[MAX_ITEMSIZE + 1] copy_loops, reverse_loops           # by the size of an element

cdef void set_loops(const word* as_this) noexcept:
    copy_loops[sizeof(word)], reverse_loops[sizeof(word)] = <row_loop>copy_words[word], <row_loop>reverse_words[word]

set_loops[uint8_t](NULL)
set_loops[uint16_t](NULL)
set_loops[int32_t](NULL)
set_loops[int64_t](NULL)
set_loops[two_words](NULL)

cdef void copy_elements(void* out, ssize out_stride, const void* x, ssize x_stride, int size, ssize n) noexcept nogil:
    """Move elements of `size` bytes as they are."""
    if out_stride == 1 and x_stride == 1:
        memcpy(out, x, n * size)
    elif out_stride == 1 and x_stride == -1:
        reverse_loops[size](out, x, 1, -1, n)
    else:
        copy_loops[size](out, x, out_stride, x_stride, n)


# ---------------------------------------------------------------- numbers
ctypedef fused source_number:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double


cdef void convert_pair(number* out, const source_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    if out_stride == 1 and x_stride == 1:
        for i in range(n):
            out[i] = cast_one[number, source_number](out[i], x[i])
    else:
        for i in range(n):
            out[i * out_stride] = cast_one[number, source_number](out[0], x[i * x_stride])


cdef inline number cast_one(number as_this, source_number x) noexcept nogil:
    """C leaves a float outside an integer type's range undefined. Through a wider type small
    integers wrap, and x86 gives the lowest number for what that type cannot hold: PyTorch goes
    through the same types, so both wrap alike."""
    if source_number is float or source_number is double:
        if number is uint8_t:
            return <number><int64_t>x
        elif number is int8_t or number is int16_t:
            return <number><int32_t>x
        else:
            return <number>x
    else:
        return <number>x


# ---------------------------------------------------------------- truth values
cdef void convert_to_bool(uint8_t* out, const source_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride] != 0


cdef row_loop[NUM_DTYPES][NUM_DTYPES] converters    # by the type of the result and that of x. Half types have none

cdef void set_converters(int x_dtype, source_number as_this) noexcept:
    """From one type to all."""
    converters[BOOL][x_dtype] = <row_loop>convert_to_bool[source_number]
    converters[UINT8][x_dtype] = <row_loop>convert_pair[uint8_t, source_number]
    converters[INT8][x_dtype] = <row_loop>convert_pair[int8_t, source_number]
    converters[INT16][x_dtype] = <row_loop>convert_pair[int16_t, source_number]
    converters[INT32][x_dtype] = <row_loop>convert_pair[int32_t, source_number]
    converters[INT64][x_dtype] = <row_loop>convert_pair[int64_t, source_number]
    converters[FLOAT32][x_dtype] = <row_loop>convert_pair[float, source_number]
    converters[FLOAT64][x_dtype] = <row_loop>convert_pair[double, source_number]

set_converters[uint8_t](BOOL, 0)
set_converters[uint8_t](UINT8, 0)
set_converters[int8_t](INT8, 0)
set_converters[int16_t](INT16, 0)
set_converters[int32_t](INT32, 0)
set_converters[int64_t](INT64, 0)
set_converters[float](FLOAT32, 0)
set_converters[double](FLOAT64, 0)


# ---------------------------------------------------------------- complex numbers
# A real number is the real part. The other way the imaginary part is left out; check_convertible warns of that. Parts are
# written one by one: re + im * i, which C has for a complex number, makes nan of an infinite part and 0 of -0.
cdef void widen_to_complex(complex_number* out, const source_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if complex_number is complex64:
            (<float*>out)[2 * i * out_stride] = <float>x[i * x_stride]
            (<float*>out)[2 * i * out_stride + 1] = 0
        else:
            (<double*>out)[2 * i * out_stride] = <double>x[i * x_stride]
            (<double*>out)[2 * i * out_stride + 1] = 0

cdef void take_real_part(number* out, const complex_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = cast_one[number, double](out[0], x[i * x_stride].real)

cdef void complex_to_bool(uint8_t* out, const complex_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride].real != 0 or x[i * x_stride].imag != 0

cdef void widen_complex(double* out, const float* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[2 * i * out_stride] = x[2 * i * x_stride]
        out[2 * i * out_stride + 1] = x[2 * i * x_stride + 1]

cdef void narrow_complex(float* out, const double* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[2 * i * out_stride] = <float>x[2 * i * x_stride]
        out[2 * i * out_stride + 1] = <float>x[2 * i * x_stride + 1]

cdef void set_widening(int x_dtype, source_number as_this) noexcept:
    """From a real type to both complex ones."""
    converters[COMPLEX64][x_dtype] = <row_loop>widen_to_complex[complex64, source_number]
    converters[COMPLEX128][x_dtype] = <row_loop>widen_to_complex[complex128, source_number]

cdef void set_narrowing(int x_dtype, complex_number as_this) noexcept:
    """From a complex type to all real ones."""
    converters[BOOL][x_dtype] = <row_loop>complex_to_bool[complex_number]
    converters[UINT8][x_dtype] = <row_loop>take_real_part[uint8_t, complex_number]
    converters[INT8][x_dtype] = <row_loop>take_real_part[int8_t, complex_number]
    converters[INT16][x_dtype] = <row_loop>take_real_part[int16_t, complex_number]
    converters[INT32][x_dtype] = <row_loop>take_real_part[int32_t, complex_number]
    converters[INT64][x_dtype] = <row_loop>take_real_part[int64_t, complex_number]
    converters[FLOAT32][x_dtype] = <row_loop>take_real_part[float, complex_number]
    converters[FLOAT64][x_dtype] = <row_loop>take_real_part[double, complex_number]

set_widening[uint8_t](BOOL, 0)
set_widening[uint8_t](UINT8, 0)
set_widening[int8_t](INT8, 0)
set_widening[int16_t](INT16, 0)
set_widening[int32_t](INT32, 0)
set_widening[int64_t](INT64, 0)
set_widening[float](FLOAT32, 0)
set_widening[double](FLOAT64, 0)
set_narrowing[complex64](COMPLEX64, 0)
set_narrowing[complex128](COMPLEX128, 0)
converters[COMPLEX128][COMPLEX64] = <row_loop>widen_complex
converters[COMPLEX64][COMPLEX128] = <row_loop>narrow_complex


# ---------------------------------------------------------------- half types
cdef void halves_to_floats(float* out, ssize out_stride, const uint16_t* x, int x_dtype,
                           ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    if out_stride == 1 and x_stride == 1:
        if x_dtype == FLOAT16:
            tl_floats_of_halves(out, x, n)
        else:
            tl_floats_of_bfloats(out, x, n)
    elif x_dtype == FLOAT16:
        for i in range(n):
            out[i * out_stride] = tl_float_of_half(x[i * x_stride])
    else:
        for i in range(n):
            out[i * out_stride] = tl_float_of_bfloat(x[i * x_stride])


cdef void floats_to_halves(uint16_t* out, int out_dtype, ssize out_stride, const float* x,
                           ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    if out_stride == 1 and x_stride == 1:
        if out_dtype == FLOAT16:
            tl_halves_of_floats(out, x, n)
        else:
            tl_bfloats_of_floats(out, x, n)
    elif out_dtype == FLOAT16:
        for i in range(n):
            out[i * out_stride] = tl_half_of_float(x[i * x_stride])
    else:
        for i in range(n):
            out[i * out_stride] = tl_bfloat_of_float(x[i * x_stride])


# ---------------------------------------------------------------- unsigned numbers of more than 8 bits
# What C's conversion keeps are the low bits, whatever the sign of the type: so they have the loops of signed types of the same
# size, but where a floating type is at the other side.
cdef void share_loops(int dtype, int signed_dtype) noexcept:
    """The loops of integers from all types, and to integers and bool."""
    cdef int other
    for other in (BOOL, UINT8, INT8, INT16, INT32, INT64):
        converters[dtype][other] = converters[signed_dtype][other]
        converters[other][dtype] = converters[other][signed_dtype]

cdef void floats_of_uint64(real* out, const uint64_t* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = <real>x[i * x_stride]

ctypedef fused wide_unsigned:
    uint32_t
    uint64_t

cdef void unsigned_of_floats(wide_unsigned* out, const real* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    """By way of a signed type of the same size, so that numbers out of range become what they do in PyTorch on x86."""
    cdef ssize i
    cdef real one
    for i in range(n):
        one = x[i * x_stride]
        if wide_unsigned is uint32_t:
            if one >= <real>2147483648.0:
                out[i * out_stride] = <uint32_t><int32_t>(one - <real>2147483648.0) ^ <uint32_t>0x80000000
            else:
                out[i * out_stride] = <uint32_t><int32_t>one
        else:
            if one >= <real>9223372036854775808.0:
                out[i * out_stride] = <uint64_t><int64_t>(one - <real>9223372036854775808.0) ^ <uint64_t>0x8000000000000000
            else:
                out[i * out_stride] = <uint64_t><int64_t>one

cdef void widen_uint16(int32_t* out, const uint16_t* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride]

cdef void widen_uint32(int64_t* out, const uint32_t* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride]

# The other way they go through INT32 and INT64: see convert_through.
converters[INT32][UINT16] = <row_loop>widen_uint16
converters[INT64][UINT32] = <row_loop>widen_uint32
converters[UINT16][INT32] = converters[INT16][INT32]
converters[UINT32][INT64] = converters[INT32][INT64]
converters[UINT32][FLOAT32] = <row_loop>unsigned_of_floats[uint32_t, float]
converters[UINT32][FLOAT64] = <row_loop>unsigned_of_floats[uint32_t, double]
converters[UINT64][FLOAT32] = <row_loop>unsigned_of_floats[uint64_t, float]
converters[UINT64][FLOAT64] = <row_loop>unsigned_of_floats[uint64_t, double]
converters[FLOAT32][UINT64] = <row_loop>floats_of_uint64[float]
converters[FLOAT64][UINT64] = <row_loop>floats_of_uint64[double]
share_loops(UINT64, INT64)


# ---------------------------------------------------------------- floating types of 8 bits
cdef int[NUM_DTYPES] float8_kinds                   # what float8.h calls them
float8_kinds[FLOAT8_E4M3FN] = 0
float8_kinds[FLOAT8_E5M2] = 1
float8_kinds[FLOAT8_E4M3FNUZ] = 2
float8_kinds[FLOAT8_E5M2FNUZ] = 3
float8_kinds[FLOAT8_E8M0FNU] = 4
cdef float[5][256] floats_of_float8                 # by kind and bits

cdef int kind, bits
for kind in range(5):
    for bits in range(256):
        floats_of_float8[kind][bits] = tl_float_of_float8(<uint8_t>bits, kind)

cdef void convert_float8(void* out, int out_dtype, ssize out_stride, const void* x, int x_dtype, ssize x_stride,
                         ssize n) noexcept nogil:
    """From or to float32, the other one of the two types."""
    cdef ssize i
    if out_dtype == FLOAT32:
        for i in range(n):
            (<float*>out)[i * out_stride] = floats_of_float8[float8_kinds[x_dtype]][(<uint8_t*>x)[i * x_stride]]
    else:
        for i in range(n):
            (<uint8_t*>out)[i * out_stride] = tl_float8_of_float((<float*>x)[i * x_stride], float8_kinds[out_dtype])


# ---------------------------------------------------------------- complex32
cdef void convert_complex32(char* out, int out_dtype, ssize out_stride, const char* x, int x_dtype, ssize x_stride,
                            ssize n) noexcept nogil:
    """From or to complex64, the other one of the two types: the parts one by one."""
    cdef int part, out_part = real_dtype(out_dtype), x_part = real_dtype(x_dtype)
    if out_stride == 1 and x_stride == 1:
        convert(out, out_part, 1, x, x_part, 1, 2 * n)
        return
    for part in range(2):
        convert(out + part * item_size[out_part], out_part, 2 * out_stride, x + part * item_size[x_part], x_part, 2 * x_stride, n)


# ---------------------------------------------------------------- any types
cdef int check_convertible(int out_dtype, int x_dtype) except -1:
    """Warn of what the conversion of one type to another loses. To be asked before the first row of operands of any types."""
    if is_in(x_dtype, COMPLEX) and not is_in(out_dtype, COMPLEX | BOOLEAN):
        warnings.warn("Casting complex values to real discards the imaginary part; take .real if that is meant", UserWarning)
    return 0


cdef void convert(void* out, int out_dtype, ssize out_stride, const void* x, int x_dtype, ssize x_stride, ssize n) noexcept nogil:
    """Copy n elements from one row to another, casting."""
    if out_dtype == x_dtype:
        copy_elements(out, out_stride, x, x_stride, item_size[x_dtype], n)
    elif out_dtype == FLOAT32 and is_in(x_dtype, HALF):
        halves_to_floats(<float*>out, out_stride, <uint16_t*>x, x_dtype, x_stride, n)
    elif x_dtype == FLOAT32 and is_in(out_dtype, HALF):
        floats_to_halves(<uint16_t*>out, out_dtype, out_stride, <float*>x, x_stride, n)
    elif converters[out_dtype][x_dtype] != NULL:
        converters[out_dtype][x_dtype](out, x, out_stride, x_stride, n)
    elif (out_dtype == FLOAT32 and is_in(x_dtype, FLOAT8)) or (x_dtype == FLOAT32 and is_in(out_dtype, FLOAT8)):
        convert_float8(out, out_dtype, out_stride, x, x_dtype, x_stride, n)
    elif (out_dtype == COMPLEX64 and x_dtype == COMPLEX32) or (x_dtype == COMPLEX64 and out_dtype == COMPLEX32):
        convert_complex32(<char*>out, out_dtype, out_stride, <char*>x, x_dtype, x_stride, n)
    else:
        convert_through(out, out_dtype, out_stride, <char*>x, x_dtype, x_stride, n)


cdef int between(int dtype) noexcept nogil:
    """The type by way of which a type that has few loops is converted; one that has loops is its own."""
    return FLOAT32 if is_in(dtype, FLOAT8) else kernel_dtype(dtype)


cdef void convert_through(void* out, int out_dtype, ssize out_stride, const char* x, int x_dtype, ssize x_stride,
                          ssize n) noexcept nogil:
    """Convert twice, by way of a type that holds what one of the two does."""
    cdef int64_t[PIECE] piece               # of elements of 8 bytes at most
    cdef ssize i, m
    cdef int dtype = between(x_dtype)
    if dtype == x_dtype:
        dtype = between(out_dtype) if between(out_dtype) != out_dtype else FLOAT64      # uint64 and a complex type
    for i in range(0, n, 512):      # PIECE; but with a step that is no literal, range is a Python object
        m = min(n - i, PIECE)
        convert(piece, dtype, 1, x + i * x_stride * item_size[x_dtype], x_dtype, x_stride, m)
        convert(<char*>out + i * out_stride * item_size[out_dtype], out_dtype, out_stride, piece, dtype, 1, m)
