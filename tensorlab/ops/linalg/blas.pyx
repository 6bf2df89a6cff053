"""Products of strided matrices: out = alpha * a @ b + beta * out, by loops of our own or by BLAS.

Who does the work:

    up to 16 columns and 32 x 32 rows and inner    a loop of our own, its row of sums in registers: half the time of BLAS
    other float32 and float64, of four rows on     packed_products.pyx, if the package is built for a processor with FMA
    complex64, complex128, and what is left        gemm; gemv if there is a single row or column
    integers                                       a plain loop
    float16, bfloat16                              as float32, converted before and after

In the first two, equal rows of a give equal rows, and the bits don't depend on threads. In BLAS rounding may differ at the
last rows and columns of a product, or of a thread's part of it.

BLAS is column-major. A row-major out = a @ b is, read column-major, out' = b' @ a': the operands change places, and
each is passed as it lies in memory. A transposed operand is only a flag; it is copied only if neither its rows nor its
columns are next to each other.

Large products are split over our threads, and each piece is computed in one (blas_library.pyx says why BLAS's are): a batch
into products, a product into blocks of rows of the result, or of columns if there are more of them.

    out         a                  out             b
    |-----|   |-----|             |--|--|   |--|  |--|--|
    |     | = |     | |--|   or   |  |  | = |  |  |  |  |
    |-----|   |-----| |  |        |  |  |   |  |  |  |  |
    |     |   |     | |--|        |--|--|   |--|  |--|--|
    |-----|   |-----|   b                    a

A block is multiplied by the whole other operand, so it holds the same sums, however many blocks there are.
"""
from libc.limits cimport INT_MAX
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tensorlab._core.dtypes cimport (
    COMPLEX, COMPLEX64, FLOAT32, FLOAT64, complex64, complex128, is_in, item_size, kernel_dtype
)
from tensorlab._core.layout cimport MAX_NDIM, contiguous_strides, ssize
from tensorlab._core.loops.iterator cimport copy_into, put_back
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, count_along, next_index, skip_indices, start_counter, start_like
)
from tensorlab._core.loops.parallel cimport grain_of, parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, memory_of
from tensorlab.ops.linalg.blas_library cimport (
    cgemm, cgemv, ddot, dgemm, dgemv, gemm_function, gemv_function, hold_blas, load_blas,
    release_blas, sdot, sgemm, sgemv, zgemm, zgemv
)
from tensorlab.ops.linalg.packed_products cimport is_packed, packed_multiply
from tensorlab.ops.linalg.product_loops cimport (
    SMALL_COLUMNS, SMALL_SIDE, plain_inner, plain_multiply, small_multiply
)

cdef enum:
    IN_BLAS = 1 << FLOAT32 | 1 << FLOAT64 | COMPLEX
    BLOCK = 32                  # rows or columns that stay together: a multiple of what BLAS's kernels compute at once
    GEMM_GRAIN = 1 << 18        # multiplications that make a thread worth starting,
    GRAIN = 1 << 16             # and where gemm does not do them
    DOT_GRAIN = 1 << 15         # elements of two vectors that are summed at a time


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


cdef inline bint has_blas(int dtype) noexcept nogil:
    """Does BLAS know the type?"""
    return is_in(dtype, IN_BLAS)


cdef union Element:
    float of_float
    double of_double
    complex64 of_complex64
    complex128 of_complex128


cdef inline Element element_of(double value, int dtype) noexcept nogil:
    """A factor as BLAS takes it: an element of the matrices' type."""
    cdef Element out
    if dtype == FLOAT32:
        out.of_float = <float>value
    elif dtype == FLOAT64:
        out.of_double = value
    elif dtype == COMPLEX64:
        out.of_complex64 = <float>value
    else:
        out.of_complex128 = value
    return out


cdef void gemm(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    """By BLAS. `out` has contiguous rows, and both operands fit."""
    cdef char flag_a, flag_b
    cdef int stride_a, stride_b, stride_out, m = <int>a.rows, n = <int>b.columns, k = <int>a.columns
    cdef Element factor = element_of(alpha, dtype), keep = element_of(beta, dtype)
    cdef gemm_function multiply_by = (sgemm if dtype == FLOAT32 else dgemm if dtype == FLOAT64 else
                                      cgemm if dtype == COMPLEX64 else zgemm)
    blas_form(a, &flag_a, &stride_a)
    blas_form(b, &flag_b, &stride_b)
    stride_out = <int>max(out.row_stride, n, 1)
    multiply_by(&flag_b, &flag_a, &n, &m, &k, &factor, b.data, &stride_b, a.data, &stride_a,
                &keep, out.data, &stride_out)


cdef void gemv(int dtype, char* out, ssize out_stride, Matrix* a, char* x, ssize x_stride, double alpha,
               double beta) noexcept nogil:
    """out = alpha * a @ x + beta * out for vectors: gemm with a side of 1 runs at a quarter of this speed."""
    cdef char flag
    cdef int stride_a, stride_x = <int>x_stride, stride_out = <int>out_stride, m = <int>a.columns, n = <int>a.rows
    cdef Element factor = element_of(alpha, dtype), keep
    cdef gemv_function multiply_by = (sgemv if dtype == FLOAT32 else dgemv if dtype == FLOAT64 else
                                      cgemv if dtype == COMPLEX64 else zgemv)
    blas_form(a, &flag, &stride_a)
    if beta == 0:                   # BLAS would multiply what lies there by 0, and nan stays nan
        beta = 1
        fill_zero(dtype, out, out_stride, a.rows)
    if flag == b'N':
        flag = b'T'                 # rows of a are the columns that BLAS sees
    else:
        flag = b'N'
        m, n = n, m
    keep = element_of(beta, dtype)
    multiply_by(&flag, &m, &n, &factor, a.data, &stride_a, x, &stride_x, &keep, out, &stride_out)


cdef void fill_zero(int dtype, char* out, ssize stride, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        memset(out + i * stride * item_size[dtype], 0, item_size[dtype])


cdef inline bint is_line(ssize n, ssize stride) noexcept nogil:
    """Can BLAS take n elements, so far apart, as a vector?"""
    return n == 1 or 0 < stride <= INT_MAX


cdef void multiply_large(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    """A product that is not small, or a block of one."""
    cdef Matrix transposed
    if not has_blas(dtype):
        plain_multiply(dtype, out, a, b, alpha, beta)
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
    else:
        plain_multiply(dtype, out, a, b, alpha, beta)


cdef struct Product:
    int dtype
    Matrix out
    Matrix a
    Matrix b
    double alpha
    double beta
    bint by_columns                 # blocks of the result's columns, not of its rows
    bint is_packed


cdef inline void narrow(Matrix* matrix, int dtype, bint by_columns, ssize begin, ssize end) noexcept nogil:
    """Keep the columns, or rows, from `begin` to `end`."""
    if by_columns:
        matrix.columns = end - begin
        matrix.data += begin * matrix.column_stride * item_size[dtype]
    else:
        matrix.rows = end - begin
        matrix.data += begin * matrix.row_stride * item_size[dtype]


cdef void multiply_blocks(void* context, ssize begin, ssize end) noexcept nogil:
    """The blocks `begin` to `end` of a product."""
    cdef Product product = (<Product*>context)[0]
    cdef ssize whole = product.out.columns if product.by_columns else product.out.rows
    begin, end = begin * BLOCK, min(end * BLOCK, whole)
    narrow(&product.out, product.dtype, product.by_columns, begin, end)
    narrow(&product.b if product.by_columns else &product.a, product.dtype, product.by_columns, begin, end)
    multiply_piece(&product)


cdef void multiply_piece(Product* product) noexcept nogil:
    """In panels if the whole product is done so, unless there is no memory for them."""
    if not product.is_packed or not packed_multiply(product.dtype, &product.out, &product.a, &product.b, product.alpha,
                                                    product.beta):
        multiply_large(product.dtype, &product.out, &product.a, &product.b, product.alpha, product.beta)


cdef void multiply_one(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) noexcept nogil:
    """One product of matrices that fit, of a type that loops and BLAS know; BLAS is loaded and held unless it is small.

    It is split over threads unless that has been done already with the batch it belongs to.
    """
    cdef Product product
    cdef ssize work = a.rows * a.columns * b.columns, blocks
    cdef bint is_gemm
    cdef int threads
    if is_small(a, b) and (dtype == FLOAT32 or dtype == FLOAT64):
        small_multiply(dtype, out, a, b, alpha, beta)
        return
    is_gemm = a.rows > 1 and b.columns > 1 and has_blas(dtype)
    threads = thread_count(work, GEMM_GRAIN if is_gemm else GRAIN)
    product.dtype, product.alpha, product.beta = dtype, alpha, beta
    product.out, product.a, product.b = out[0], a[0], b[0]
    product.is_packed = out.column_stride == 1 and is_packed(dtype, a, b)
    if threads == 1:
        multiply_piece(&product)
        return
    product.by_columns = out.columns > out.rows
    blocks = (max(out.rows, out.columns) + BLOCK - 1) // BLOCK
    parallel_for(multiply_blocks, &product, blocks, max(1, blocks // threads))


cdef int multiply(int dtype, Matrix* out, Matrix* a, Matrix* b, double alpha, double beta) except -1:
    """One product, small or not. Operands must fit BLAS to be fast; half types must have been converted."""
    if out.rows == 0 or out.columns == 0:
        return 0
    if is_small(a, b) and (dtype == FLOAT32 or dtype == FLOAT64):
        multiply_one(dtype, out, a, b, alpha, beta)
        return 0
    load_blas()
    hold_blas()
    with nogil:
        multiply_one(dtype, out, a, b, alpha, beta)
    release_blas()
    return 0


# ---------------------------------------------------------------- many products
cdef TensorBase operand_of(TensorBase x, int dtype, bint for_blas):
    """x in the type that is computed in; for BLAS copied, too, if neither its rows nor its columns are next to each other.

    Another type alone leaves columns that lie so where they are, as those of a weight that is transposed: a copy in the order
    of rows would take as long as a product with 64 rows.
    """
    cdef Matrix matrix
    cdef ssize[MAX_NDIM] sizes, strides
    cdef TensorBase out
    cdef int i
    set_matrix(&matrix, x, False)
    if x.dtype_ == dtype and (not for_blas or fits_blas(&matrix)):
        return x
    for i in range(x.ndim_):                            # what is broadcast over the batch is copied once
        sizes[i] = 1 if i < x.ndim_ - 2 and x.strides[i] == 0 else x.sizes[i]
    contiguous_strides(x.ndim_, sizes, strides)
    if fits_blas(&matrix) and not has_plain_rows(&matrix):
        strides[x.ndim_ - 2], strides[x.ndim_ - 1] = 1, max(<ssize>1, sizes[x.ndim_ - 2])
    out = empty_beside(x, dtype, x.ndim_, sizes, strides)
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


cdef struct Batch:
    IndexCounter start                  # over the dimensions of the batch: out, a and b of the first product
    Product first


cdef void set_batch(Batch* batch, TensorBase out, TensorBase a, TensorBase b, double alpha, double beta) noexcept:
    cdef int size = item_size[out.dtype_]
    start_counter(&batch.start, out.ndim_ - 2, out.sizes)
    count_along(&batch.start, 0, out.data_, out.strides, size)
    count_along(&batch.start, 1, a.data_, a.strides, size)
    count_along(&batch.start, 2, b.data_, b.strides, size)
    set_matrix(&batch.first.out, out, False)
    set_matrix(&batch.first.a, a, False)
    set_matrix(&batch.first.b, b, False)
    batch.first.dtype, batch.first.alpha, batch.first.beta = out.dtype_, alpha, beta


cdef void multiply_products(void* context, ssize begin, ssize end) noexcept nogil:
    """Products `begin` to `end` of the batch, counted in row-major order of the batch dimensions."""
    cdef Batch* batch = <Batch*>context
    cdef Product product = batch.first
    cdef IndexCounter at
    cdef ssize _i
    start_like(&at, &batch.start)
    skip_indices(&at, 3, begin)
    for _i in range(begin, end):
        product.out.data, product.a.data, product.b.data = at.data[0], at.data[1], at.data[2]
        multiply_one(product.dtype, &product.out, &product.a, &product.b, product.alpha, product.beta)
        next_index(&at, 3)


cdef int multiply_batch(TensorBase out, TensorBase a, TensorBase b, double alpha, double beta) except -1:
    """out = alpha * a @ b + beta * out over the last two dimensions of three tensors with equally many dimensions.

    The batch dimensions of a and b have the sizes of out's, with stride 0 where they are broadcast.
    """
    cdef int dtype = kernel_dtype(out.dtype_), n = out.ndim_, d
    cdef ssize products = 1, work
    cdef Batch batch
    cdef TensorBase target = out
    cdef bint for_blas
    if out.numel_ == 0:
        return 0
    memory_of(a), memory_of(b)                          # raise if one of them has none
    if (n == 2 and out.numel_ <= 256 and a.sizes[1] <= 16 and out.sizes[0] <= 16 and out.sizes[1] <= 16 and out.is_contiguous_
            and dtype == out.dtype_):                   # so small that nothing has to be prepared
        set_matrix(&batch.first.out, out, False)
        set_matrix(&batch.first.a, a, False)
        set_matrix(&batch.first.b, b, False)
        return multiply(dtype, &batch.first.out, &batch.first.a, &batch.first.b, alpha, beta)
    for d in range(n - 2):
        products *= out.sizes[d]
    if dtype != out.dtype_ or not (out.strides[n - 1] == 1 or out.sizes[n - 1] == 1):
        target = empty_beside(out, dtype, n, out.sizes)
        if beta != 0:
            copy_into(target, out)
    set_matrix(&batch.first.a, a, False)
    set_matrix(&batch.first.b, b, False)
    for_blas = has_blas(dtype) and not is_packed(dtype, &batch.first.a, &batch.first.b)
    a, b = operand_of(a, dtype, for_blas), operand_of(b, dtype, for_blas)
    set_batch(&batch, target, a, b, alpha, beta)
    if products == 1:
        multiply(dtype, &batch.first.out, &batch.first.a, &batch.first.b, alpha, beta)
    else:
        load_blas()
        work = batch.first.a.rows * batch.first.a.columns * batch.first.b.columns
        hold_blas()
        with nogil:
            if products < thread_count(products * work, GEMM_GRAIN) and work > GEMM_GRAIN:
                multiply_products(&batch, 0, products)  # few large products: each is split
            else:
                parallel_for(multiply_products, &batch, products, grain_of(GRAIN, work))
        release_blas()
    return put_back(out, target)


# ---------------------------------------------------------------- inner product
cdef struct Vectors:
    int dtype
    const char* x
    const char* y
    ssize x_stride
    ssize y_stride
    ssize n
    double* sums                        # one for each piece of DOT_GRAIN elements


cdef double blas_inner(int dtype, const char* x, ssize x_stride, const char* y, ssize y_stride, ssize n) noexcept nogil:
    cdef int length = <int>n, stride_x = <int>x_stride, stride_y = <int>y_stride
    if dtype == FLOAT32:
        return sdot(&length, <float*>x, &stride_x, <float*>y, &stride_y)
    return ddot(&length, <double*>x, &stride_x, <double*>y, &stride_y)


cdef void inner_pieces(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Vectors* v = <Vectors*>context
    cdef ssize i, at, size = item_size[v.dtype]
    for i in range(begin, end):
        at = i * DOT_GRAIN
        v.sums[i] = blas_inner(v.dtype, v.x + at * v.x_stride * size, v.x_stride, v.y + at * v.y_stride * size, v.y_stride,
                               min(<ssize>DOT_GRAIN, v.n - at))


cdef int large_inner(int dtype, void* out, const void* x, ssize x_stride, const void* y, ssize y_stride, ssize n) except -1:
    """By BLAS, in pieces whose sums are added in order, so that the result does not depend on threads."""
    cdef Vectors v
    cdef ssize i, pieces = (n + DOT_GRAIN - 1) // DOT_GRAIN
    cdef double total = 0
    v.dtype, v.n = dtype, n
    v.x, v.y, v.x_stride, v.y_stride = <const char*>x, <const char*>y, x_stride, y_stride
    load_blas()
    v.sums = <double*>malloc(pieces * sizeof(double))
    if v.sums == NULL:
        raise MemoryError()
    hold_blas()
    with nogil:
        parallel_for(inner_pieces, &v, pieces, 1)
        for i in range(pieces):
            total += v.sums[i]
    release_blas()
    free(v.sums)
    if dtype == FLOAT32:
        (<float*>out)[0] = <float>total
    else:
        (<double*>out)[0] = total
    return 0


cdef int inner_product(int dtype, void* out, const void* x, ssize x_stride, const void* y, ssize y_stride, ssize n) except -1:
    """The sum of the products of two rows, written to `out`."""
    if (dtype == FLOAT32 or dtype == FLOAT64) and n > SMALL_SIDE and is_line(n, x_stride) and is_line(n, y_stride):
        return large_inner(dtype, out, x, x_stride, y, y_stride, n)
    plain_inner(dtype, out, x, x_stride, y, y_stride, n)
    return 0
