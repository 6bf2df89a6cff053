"""Conversion: a row of numbers copied into another row, of the same type or of any other.

`convert` knows every pair of types. Half types go by way of float32; a row of the same type is only moved. The iterator, the
reductions and the indexing ops meet other types and strides through this one function.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy

from tensorlab._core.dtypes cimport (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    item_size,
    number,
)
from tensorlab._core.layout cimport ssize

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
cdef void copy_elements(void* out, ssize out_stride, const void* x, ssize x_stride, int size, ssize n) noexcept nogil:
    """Move elements of `size` bytes as they are."""
    cdef ssize i
    if out_stride == 1 and x_stride == 1:
        memcpy(out, x, n * size)
    elif size == 1:
        for i in range(n):
            (<uint8_t*>out)[i * out_stride] = (<uint8_t*>x)[i * x_stride]
    elif size == 2:
        for i in range(n):
            (<uint16_t*>out)[i * out_stride] = (<uint16_t*>x)[i * x_stride]
    elif size == 4:
        for i in range(n):
            (<int32_t*>out)[i * out_stride] = (<int32_t*>x)[i * x_stride]
    else:
        for i in range(n):
            (<int64_t*>out)[i * out_stride] = (<int64_t*>x)[i * x_stride]


# ---------------------------------------------------------------- numbers
ctypedef fused source_number:
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double


cdef void convert_pair(number* out, source_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
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


cdef void convert_numbers(number* out, void* x, int x_dtype, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    """Rows of any type that is not half, to a row of numbers."""
    if x_dtype == BOOL or x_dtype == UINT8:
        convert_pair[number, uint8_t](out, <uint8_t*>x, out_stride, x_stride, n)
    elif x_dtype == INT8:
        convert_pair[number, int8_t](out, <int8_t*>x, out_stride, x_stride, n)
    elif x_dtype == INT16:
        convert_pair[number, int16_t](out, <int16_t*>x, out_stride, x_stride, n)
    elif x_dtype == INT32:
        convert_pair[number, int32_t](out, <int32_t*>x, out_stride, x_stride, n)
    elif x_dtype == INT64:
        convert_pair[number, int64_t](out, <int64_t*>x, out_stride, x_stride, n)
    elif x_dtype == FLOAT32:
        convert_pair[number, float](out, <float*>x, out_stride, x_stride, n)
    else:
        convert_pair[number, double](out, <double*>x, out_stride, x_stride, n)


# ---------------------------------------------------------------- truth values
cdef void convert_to_bool(uint8_t* out, source_number* x, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i * out_stride] = x[i * x_stride] != 0


cdef void convert_any_to_bool(uint8_t* out, void* x, int x_dtype, ssize out_stride, ssize x_stride, ssize n) noexcept nogil:
    if x_dtype == BOOL or x_dtype == UINT8:
        convert_to_bool(out, <uint8_t*>x, out_stride, x_stride, n)
    elif x_dtype == INT8:
        convert_to_bool(out, <int8_t*>x, out_stride, x_stride, n)
    elif x_dtype == INT16:
        convert_to_bool(out, <int16_t*>x, out_stride, x_stride, n)
    elif x_dtype == INT32:
        convert_to_bool(out, <int32_t*>x, out_stride, x_stride, n)
    elif x_dtype == INT64:
        convert_to_bool(out, <int64_t*>x, out_stride, x_stride, n)
    elif x_dtype == FLOAT32:
        convert_to_bool(out, <float*>x, out_stride, x_stride, n)
    else:
        convert_to_bool(out, <double*>x, out_stride, x_stride, n)


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
cdef bint is_half(int dtype) noexcept nogil:
    return dtype == FLOAT16 or dtype == BFLOAT16


cdef void convert(void* out, int out_dtype, ssize out_stride, const void* x, int x_dtype, ssize x_stride, ssize n) noexcept nogil:
    """Copy n elements from one row to another, casting; half types go through float32."""
    cdef float[PIECE] between
    cdef ssize i, m
    if out_dtype == x_dtype:
        copy_elements(out, out_stride, x, x_stride, item_size[x_dtype], n)
    elif out_dtype == FLOAT32 and is_half(x_dtype):
        halves_to_floats(<float*>out, out_stride, <uint16_t*>x, x_dtype, x_stride, n)
    elif x_dtype == FLOAT32 and is_half(out_dtype):
        floats_to_halves(<uint16_t*>out, out_dtype, out_stride, <float*>x, x_stride, n)
    elif is_half(x_dtype) or is_half(out_dtype):
        for i in range(0, n, 512):      # PIECE; but with a step that is no literal, range is a Python object
            m = min(n - i, PIECE)
            convert(between, FLOAT32, 1, <char*>x + i * x_stride * item_size[x_dtype], x_dtype, x_stride, m)
            convert(<char*>out + i * out_stride * item_size[out_dtype], out_dtype, out_stride, between, FLOAT32, 1, m)
    elif out_dtype == BOOL:
        convert_any_to_bool(<uint8_t*>out, <void*>x, x_dtype, out_stride, x_stride, n)
    elif out_dtype == UINT8:
        convert_numbers(<uint8_t*>out, <void*>x, x_dtype, out_stride, x_stride, n)
    elif out_dtype == INT8:
        convert_numbers(<int8_t*>out, <void*>x, x_dtype, out_stride, x_stride, n)
    elif out_dtype == INT16:
        convert_numbers(<int16_t*>out, <void*>x, x_dtype, out_stride, x_stride, n)
    elif out_dtype == INT32:
        convert_numbers(<int32_t*>out, <void*>x, x_dtype, out_stride, x_stride, n)
    elif out_dtype == INT64:
        convert_numbers(<int64_t*>out, <void*>x, x_dtype, out_stride, x_stride, n)
    elif out_dtype == FLOAT32:
        convert_numbers(<float*>out, <void*>x, x_dtype, out_stride, x_stride, n)
    else:
        convert_numbers(<double*>out, <void*>x, x_dtype, out_stride, x_stride, n)
