"""Conversion: a row of numbers copied into another row, of the same type or of any other.

`convert` knows every pair of types. Half types go by way of float32; a row of the same type is only moved. The iterator, the
reductions and the indexing ops meet other types and strides through this one function.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy

from tensorlab._core.dtypes cimport (
    BOOL, BOOLEAN, COMPLEX, COMPLEX128, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, HALF, INT16,
    INT32, INT64, INT8, MAX_ITEMSIZE, NUM_DTYPES, UINT8, complex128, complex64, complex_number,
    dtype_object, is_in, item_size, kernel_dtype, number, two_words, word
)
from tensorlab._core.layout cimport ssize

import warnings

from tensorlab.errors import UnsupportedDType

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
    PIECE = 512                 # elements of half types that go through float32 at once


# ---------------------------------------------------------------- the same type
ctypedef void (*row_loop)(void* out, const void* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil

cdef void copy_words(word* out, const word* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride]

cdef row_loop[MAX_ITEMSIZE + 1] copy_loops          # by the size of an element
copy_loops[1] = <row_loop>copy_words[uint8_t]
copy_loops[2] = <row_loop>copy_words[uint16_t]
copy_loops[4] = <row_loop>copy_words[int32_t]
copy_loops[8] = <row_loop>copy_words[int64_t]
copy_loops[16] = <row_loop>copy_words[two_words]

cdef void copy_elements(void* out, ssize out_stride, const void* x, ssize x_stride, int size, ssize n) noexcept nogil:
    """Move elements of `size` bytes as they are."""
    if out_stride == 1 and x_stride == 1:
        memcpy(out, x, n * size)
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
# A real number is the real part. The other way the imaginary part is left out; check_convertible warns of that.
cdef void widen_to_complex(complex_number* out, const source_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if complex_number is complex64:
            out[i * out_stride] = <float>x[i * x_stride]
        else:
            out[i * out_stride] = <double>x[i * x_stride]

cdef void take_real_part(number* out, const complex_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = cast_one[number, double](out[0], x[i * x_stride].real)

cdef void complex_to_bool(uint8_t* out, const complex_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride].real != 0 or x[i * x_stride].imag != 0

cdef void widen_complex(complex128* out, const complex64* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride]

cdef void narrow_complex(complex64* out, const complex128* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = <complex64>x[i * x_stride]

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


# ---------------------------------------------------------------- any types
cdef int check_convertible(int out_dtype, int x_dtype) except -1:
    """Raise unless `convert` knows this pair of types. To be asked before the first row of operands of any types."""
    if out_dtype != x_dtype and converters[kernel_dtype(out_dtype)][kernel_dtype(x_dtype)] == NULL:
        raise UnsupportedDType(f"{dtype_object(x_dtype)} cannot be converted to {dtype_object(out_dtype)}")
    if is_in(x_dtype, COMPLEX) and not is_in(out_dtype, COMPLEX | BOOLEAN):
        warnings.warn("Casting complex values to real discards the imaginary part; take .real if that is meant", UserWarning)
    return 0


cdef void convert(void* out, int out_dtype, ssize out_stride, const void* x, int x_dtype, ssize x_stride, ssize n) noexcept nogil:
    """Copy n elements from one row to another, casting; half types go through float32."""
    cdef float[PIECE] between
    cdef ssize i, m
    if out_dtype == x_dtype:
        copy_elements(out, out_stride, x, x_stride, item_size[x_dtype], n)
    elif out_dtype == FLOAT32 and is_in(x_dtype, HALF):
        halves_to_floats(<float*>out, out_stride, <uint16_t*>x, x_dtype, x_stride, n)
    elif x_dtype == FLOAT32 and is_in(out_dtype, HALF):
        floats_to_halves(<uint16_t*>out, out_dtype, out_stride, <float*>x, x_stride, n)
    elif is_in(x_dtype, HALF) or is_in(out_dtype, HALF):
        for i in range(0, n, 512):      # PIECE; but with a step that is no literal, range is a Python object
            m = min(n - i, PIECE)
            convert(between, FLOAT32, 1, <char*>x + i * x_stride * item_size[x_dtype], x_dtype, x_stride, m)
            convert(<char*>out + i * out_stride * item_size[out_dtype], out_dtype, out_stride, between, FLOAT32, 1, m)
    else:
        converters[out_dtype][x_dtype](out, x, out_stride, x_stride, n)
