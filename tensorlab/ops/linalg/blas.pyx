"""Products of strided matrices: out = alpha * a @ b + beta * out, by BLAS where it pays.

Who does the work:

    up to 16 columns and 32 x 32 rows and inner    a loop of our own, its row of sums in registers: half the time of BLAS
    float32, float64                               gemm; gemv if there is a single row or column
    integers                                       a plain loop
    float16, bfloat16                              as float32, converted before and after

BLAS is SciPy's OpenBLAS, called through the C functions that scipy.linalg.cython_blas offers to other Cython modules.
They are looked up when first needed: importing scipy.linalg costs 100 to 300 ms, loading that one file 7 ms.

BLAS is column-major. A row-major out = a @ b is, read column-major, out' = b' @ a': the operands change places, and
each is passed as it lies in memory. A transposed operand is only a flag; it is copied only if neither its rows nor its
columns are next to each other.
"""
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.limits cimport INT_MAX
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from tensorlab._core.dtypes cimport (
    FLOAT32, FLOAT64, INT8, INT16, INT32, UINT8, item_size, kernel_dtype,
)
from tensorlab._core.iterator cimport copy_into, thread_count
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, is_meta, memory_of
from tensorlab.ops.linalg.product_loops cimport (
    SMALL_COLUMNS,
    SMALL_SIDE,
    integer_multiply,
    plain_inner,
    plain_product,
    small_product,
)

import importlib.machinery
import importlib.util
import os
import sys

from tensorlab import threads as thread_control

cdef enum:
    BATCH_GRAIN = 65536         # multiplications that make a thread worth starting

ctypedef void (*gemm_function)(char*, char*, int*, int*, int*, void*, void*, int*, void*, int*, void*, void*,
                               int*) noexcept nogil
ctypedef void (*gemv_function)(char*, int*, int*, void*, void*, int*, void*, int*, void*, void*, int*) noexcept nogil
ctypedef float (*sdot_function)(int*, float*, int*, float*, int*) noexcept nogil
ctypedef double (*ddot_function)(int*, double*, int*, double*, int*) noexcept nogil

cdef bint is_loaded = False
cdef gemm_function sgemm = NULL
cdef gemm_function dgemm = NULL
cdef gemv_function sgemv = NULL
cdef gemv_function dgemv = NULL
cdef sdot_function sdot = NULL
cdef ddot_function ddot = NULL


# ---------------------------------------------------------------- loading BLAS
def find_cython_blas():
    """The module scipy.linalg.cython_blas, without running scipy/linalg/__init__.py."""
    import scipy

    name = "scipy.linalg.cython_blas"
    if name in sys.modules:
        return sys.modules[name]
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = os.path.join(scipy.__path__[0], "linalg", "cython_blas" + suffix)
        if os.path.exists(path):
            specification = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(specification)
            specification.loader.exec_module(module)
            sys.modules.pop(name, None)         # so that a real import binds it to its package as usual
            return module
    return importlib.import_module(name)


cdef void* function_pointer(object module, str name) except NULL:
    cdef object capsule = module.__pyx_capi__[name]
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


cdef int load_blas() except -1:
    """Look the functions up, once."""
    global is_loaded, sgemm, dgemm, sgemv, dgemv, sdot, ddot
    if is_loaded:
        return 0
    module = find_cython_blas()
    sgemm = <gemm_function>function_pointer(module, "sgemm")
    dgemm = <gemm_function>function_pointer(module, "dgemm")
    sgemv = <gemv_function>function_pointer(module, "sgemv")
    dgemv = <gemv_function>function_pointer(module, "dgemv")
    sdot = <sdot_function>function_pointer(module, "sdot")
    ddot = <ddot_function>function_pointer(module, "ddot")
    thread_control.blas_is_loaded()
    is_loaded = True
    return 0


# ---------------------------------------------------------------- matrices
cdef void set_matrix(Matrix* matrix, TensorBase x, bint is_transposed) noexcept nogil:
    """The last two dimensions of x, or their transpose."""
    cdef int n = x.ndim_
    matrix.data = x.data_               # multiply_batch has asked whether there is memory
    matrix.rows = x.sizes[n - 1 if is_transposed else n - 2]
    matrix.columns = x.sizes[n - 2 if is_transposed else n - 1]
    matrix.row_stride = x.strides[n - 1 if is_transposed else n - 2]
    matrix.column_stride = x.strides[n - 2 if is_transposed else n - 1]


cdef bint has_plain_rows(Matrix* a) noexcept nogil:
    """Can BLAS take it as rows: elements of a row next to each other, rows that do not overlap?"""
    return ((a.column_stride == 1 or a.columns == 1) and (a.row_stride >= max(1, a.columns) or a.rows == 1)
            and a.row_stride <= INT_MAX)


cdef bint fits_blas(Matrix* a) noexcept nogil:
    """Can BLAS take it as it lies in memory, as rows or as columns?"""
    cdef Matrix transposed
    transposed.rows, transposed.columns = a.columns, a.rows
    transposed.row_stride, transposed.column_stride = a.column_stride, a.row_stride
    return a.rows <= INT_MAX and a.columns <= INT_MAX and (has_plain_rows(a) or has_plain_rows(&transposed))


cdef void blas_form(Matrix* a, char* flag, int* leading) noexcept nogil:
    """How BLAS is told of a matrix: flag 'N' if its rows lie next to each other, else 'T', and the stride between them."""
    cdef ssize columns = a.columns, stride = a.row_stride
    flag[0] = b'N'
    if not has_plain_rows(a):
        flag[0] = b'T'
        columns, stride = a.rows, a.column_stride
    leading[0] = <int>max(stride, columns, 1)


# ---------------------------------------------------------------- one product
cdef inline bint is_small(Matrix* a, Matrix* b) noexcept nogil:
    return b.columns <= SMALL_COLUMNS and b.rows <= SMALL_SIDE and a.rows <= SMALL_SIDE


cdef void gemm(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    """By BLAS. `out` has contiguous rows, and both operands fit."""
    cdef char flag_a, flag_b
    cdef int stride_a, stride_b, stride_out, m = <int>a.rows, n = <int>b.columns, k = <int>a.columns
    cdef float alpha_32 = <float>alpha, beta_32 = <float>beta
    blas_form(a, &flag_a, &stride_a)
    blas_form(b, &flag_b, &stride_b)
    stride_out = <int>max(out.row_stride, n, 1)
    if dtype == FLOAT32:
        sgemm(&flag_b, &flag_a, &n, &m, &k, &alpha_32, b.data, &stride_b, a.data, &stride_a, &beta_32, out.data, &stride_out)
    else:
        dgemm(&flag_b, &flag_a, &n, &m, &k, &alpha, b.data, &stride_b, a.data, &stride_a, &beta, out.data, &stride_out)


cdef void gemv(int dtype, char* out, ssize out_stride, Matrix* a, char* x, ssize x_stride, double alpha,
               double beta) noexcept nogil:
    """out = alpha * a @ x + beta * out for vectors: gemm with a side of 1 runs at a quarter of this speed."""
    cdef char flag
    cdef int stride_a, stride_x = <int>x_stride, stride_out = <int>out_stride, m = <int>a.columns, n = <int>a.rows
    cdef float alpha_32 = <float>alpha, beta_32 = <float>beta
    blas_form(a, &flag, &stride_a)
    if beta == 0:                   # BLAS would multiply what lies there by 0, and nan stays nan
        beta_32 = beta = 1
        fill_zero(dtype, out, out_stride, a.rows)
    if flag == b'N':
        flag = b'T'                 # rows of a are the columns that BLAS sees
    else:
        flag = b'N'
        m, n = n, m
    if dtype == FLOAT32:
        sgemv(&flag, &m, &n, &alpha_32, a.data, &stride_a, x, &stride_x, &beta_32, out, &stride_out)
    else:
        dgemv(&flag, &m, &n, &alpha, a.data, &stride_a, x, &stride_x, &beta, out, &stride_out)


cdef void fill_zero(int dtype, char* out, ssize stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        memset(out + i * stride * item_size[dtype], 0, item_size[dtype])


cdef inline bint is_line(ssize n, ssize stride) noexcept nogil:
    """Can BLAS take n elements, so far apart, as a vector?"""
    return n == 1 or 0 < stride <= INT_MAX


cdef void multiply_one(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    """One product of matrices that fit, of a type that loops and BLAS know; BLAS is loaded unless it is small."""
    cdef Matrix transposed
    if dtype != FLOAT32 and dtype != FLOAT64:
        integer_multiply(dtype, out, a, b, alpha, beta)
    elif is_small(a, b):
        if dtype == FLOAT32:
            small_product[float](<float*>out.data, <float*>a.data, <float*>b.data, out, a, b, alpha, beta)
        else:
            small_product[double](<double*>out.data, <double*>a.data, <double*>b.data, out, a, b, alpha, beta)
    elif (a.columns > 0 and b.columns == 1 and fits_blas(a) and is_line(b.rows, b.row_stride)
            and is_line(out.rows, out.row_stride)):
        gemv(dtype, out.data, max(out.row_stride, 1), a, b.data, max(b.row_stride, 1), alpha, beta)
    elif a.columns > 0 and a.rows == 1 and fits_blas(b) and is_line(a.columns, a.column_stride) and (
            is_line(out.columns, out.column_stride)):
        transposed.data = b.data                # a row times b is b' times a column
        transposed.rows, transposed.columns = b.columns, b.rows
        transposed.row_stride, transposed.column_stride = b.column_stride, b.row_stride
        gemv(dtype, out.data, max(out.column_stride, 1), &transposed, a.data, max(a.column_stride, 1), alpha, beta)
    elif has_plain_rows(out) and fits_blas(a) and fits_blas(b):
        gemm(dtype, out, a, b, alpha, beta)
    elif dtype == FLOAT32:
        plain_product[float](<float*>out.data, <float*>a.data, <float*>b.data, out, a, b, alpha, beta)
    else:
        plain_product[double](<double*>out.data, <double*>a.data, <double*>b.data, out, a, b, alpha, beta)


cdef int multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) except -1:
    """One product, small or not. Operands must fit BLAS to be fast; half types must have been converted."""
    cdef ssize work = a.rows * a.columns * b.columns
    if out.rows == 0 or out.columns == 0:
        return 0
    if not is_small(a, b):
        load_blas()
    if work <= 8192:
        multiply_one(dtype, out, a, b, alpha, beta)
    else:
        with nogil:
            multiply_one(dtype, out, a, b, alpha, beta)
    return 0


# ---------------------------------------------------------------- many products
cdef TensorBase operand_for_blas(TensorBase x, int dtype):
    """x in the type that is computed in, copied only if neither its rows nor its columns are next to each other."""
    cdef Matrix matrix
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase out
    cdef int i
    set_matrix(&matrix, x, False)
    if x.dtype_ == dtype and (fits_blas(&matrix) or not (dtype == FLOAT32 or dtype == FLOAT64)):
        return x
    for i in range(x.ndim_):                            # what is broadcast over the batch is copied once
        sizes[i] = 1 if i < x.ndim_ - 2 and x.strides[i] == 0 else x.sizes[i]
    out = empty_beside(x, dtype, x.ndim_, sizes)
    if same_sizes(x, sizes):
        copy_into(out, x)
        return out
    copy_into(out, narrowed(x, sizes))
    for i in range(x.ndim_):
        if sizes[i] != x.sizes[i]:
            out.sizes[i] = x.sizes[i]
            out.strides[i] = 0
    return out


cdef bint same_sizes(TensorBase x, const ssize* sizes) noexcept:
    cdef int i
    for i in range(x.ndim_):
        if x.sizes[i] != sizes[i]:
            return False
    return True


cdef TensorBase narrowed(TensorBase x, const ssize* sizes):
    """The first part of x, of these sizes."""
    return alias_as(x, x.ndim_, sizes, x.strides, x.data_)


cdef void batch_part(TensorBase out, TensorBase a, TensorBase b, double alpha, double beta, ssize begin,
                     ssize end) noexcept nogil:
    """Products `begin` to `end` of the batch, counted in row-major order of the batch dimensions."""
    cdef Matrix to, left, right
    cdef ssize[MAX_NDIM] index
    cdef ssize _i, rest = begin
    cdef int d, batch_dims = out.ndim_ - 2, size = item_size[out.dtype_]
    set_matrix(&to, out, False)
    set_matrix(&left, a, False)
    set_matrix(&right, b, False)
    for d in range(batch_dims - 1, -1, -1):
        index[d] = rest % out.sizes[d]
        rest = rest // out.sizes[d]
        to.data += index[d] * out.strides[d] * size
        left.data += index[d] * a.strides[d] * size
        right.data += index[d] * b.strides[d] * size
    for _i in range(begin, end):
        multiply_one(out.dtype_, &to, &left, &right, alpha, beta)
        d = batch_dims - 1
        while d >= 0:                                   # the odometer
            index[d] += 1
            to.data += out.strides[d] * size
            left.data += a.strides[d] * size
            right.data += b.strides[d] * size
            if index[d] < out.sizes[d]:
                break
            to.data -= out.sizes[d] * out.strides[d] * size
            left.data -= out.sizes[d] * a.strides[d] * size
            right.data -= out.sizes[d] * b.strides[d] * size
            index[d] = 0
            d -= 1


cdef int multiply_batch(TensorBase out, TensorBase a, TensorBase b, double alpha, double beta) except -1:
    """out = alpha * a @ b + beta * out over the last two dimensions of three tensors with equally many dimensions.

    The batch dimensions of a and b have the sizes of out's, with stride 0 where they are broadcast. A large batch is split
    over threads, and BLAS keeps to one meanwhile; a single product is left to the threads of BLAS.
    """
    cdef int dtype = kernel_dtype(out.dtype_), n = out.ndim_, threads
    cdef ssize batch = 1, work, part
    cdef Matrix to, left, right
    cdef TensorBase target = out
    if out.numel_ == 0 or is_meta(out):
        return 0
    memory_of(a), memory_of(b)                          # raise if one of them has none
    for part in range(n - 2):
        batch *= out.sizes[part]
    if dtype != out.dtype_ or not (out.strides[n - 1] == 1 or out.sizes[n - 1] == 1):
        target = empty_beside(out, dtype, n, out.sizes)
        if beta != 0:
            copy_into(target, out)
    a = operand_for_blas(a, dtype)
    b = operand_for_blas(b, dtype)
    if batch == 1:
        set_matrix(&to, target, False)
        set_matrix(&left, a, False)
        set_matrix(&right, b, False)
        multiply(dtype, &to, &left, &right, alpha, beta)
    else:
        set_matrix(&left, a, False)
        set_matrix(&right, b, False)
        work = batch * left.rows * left.columns * right.columns
        if not is_small(&left, &right):
            load_blas()
        threads = <int>min(batch, thread_count(work, BATCH_GRAIN))
        if threads == 1:
            with nogil:
                batch_part(target, a, b, alpha, beta, 0, batch)
        else:
            thread_control.limit_blas(1)
            try:
                for part in prange(threads, nogil=True, num_threads=threads, schedule="static"):
                    batch_part(target, a, b, alpha, beta, batch * part // threads, batch * (part + 1) // threads)
            finally:
                thread_control.restore_blas()
    if target is not out:
        copy_into(out, target)
    return 0


# ---------------------------------------------------------------- inner product
cdef int inner_product(int dtype, void* out, const void* x, ssize x_stride, const void* y, ssize y_stride, ssize n) except -1:
    """The sum of the products of two rows, written to `out`."""
    cdef int length = <int>n, stride_x = <int>x_stride, stride_y = <int>y_stride
    cdef bint fits = n > SMALL_SIDE and n <= INT_MAX and is_line(n, x_stride) and is_line(n, y_stride)
    if fits and (dtype == FLOAT32 or dtype == FLOAT64):
        load_blas()
    if dtype == FLOAT32:
        if fits:
            with nogil:
                (<float*>out)[0] = sdot(&length, <float*>x, &stride_x, <float*>y, &stride_y)
        else:
            (<float*>out)[0] = plain_inner(<float*>x, x_stride, <float*>y, y_stride, n)
    elif dtype == FLOAT64:
        if fits:
            with nogil:
                (<double*>out)[0] = ddot(&length, <double*>x, &stride_x, <double*>y, &stride_y)
        else:
            (<double*>out)[0] = plain_inner(<double*>x, x_stride, <double*>y, y_stride, n)
    elif dtype == UINT8:
        (<uint8_t*>out)[0] = plain_inner(<uint8_t*>x, x_stride, <uint8_t*>y, y_stride, n)
    elif dtype == INT8:
        (<int8_t*>out)[0] = plain_inner(<int8_t*>x, x_stride, <int8_t*>y, y_stride, n)
    elif dtype == INT16:
        (<int16_t*>out)[0] = plain_inner(<int16_t*>x, x_stride, <int16_t*>y, y_stride, n)
    elif dtype == INT32:
        (<int32_t*>out)[0] = plain_inner(<int32_t*>x, x_stride, <int32_t*>y, y_stride, n)
    else:
        (<int64_t*>out)[0] = plain_inner(<int64_t*>x, x_stride, <int64_t*>y, y_stride, n)
    return 0
