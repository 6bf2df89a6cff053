"""Products, and the products and sums of truth: prod, all, any."""
from libc.stdint cimport int64_t, uint8_t

from tensorlab._core.dispatch.dispatch cimport run_3, run_4
from tensorlab._core.dispatch.levels cimport has_hidden_values
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport NO_DERIVATIVE, dtype_or_that_of, store_out
from tensorlab._core.dtypes cimport (
    BOOL, COMPLEX128, COMPLEX64, FLOAT32, FLOAT64, INT64, NUM_DTYPES, UINT8, complex128,
    complex64, kernel_dtype, sum_dtype
)
from tensorlab._core.graph.graph cimport dim_of, ndim_of
from tensorlab._core.layout cimport plain_ints, ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.reduction_iterator cimport Reducer, read_dims, reduced_result, run_reduction
from tensorlab.ops.reductions cimport keep_dims, set_reducer, summed_dtype

from tensorlab.ops import joining

ctypedef fused factor:
    float
    double
    int64_t
    complex64
    complex128

cdef enum:
    LANES = 16


# ---------------------------------------------------------------- prod: loops
cdef void prod_rows(factor* totals, factor* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef factor[LANES] lane
    cdef ssize i, j
    cdef int k
    cdef factor product
    for i in range(m):
        j = 0
        product = 1
        if n >= LANES:
            for k in range(LANES):
                lane[k] = 1
            while j + LANES <= n:
                for k in range(LANES):
                    lane[k] *= x[i * row_stride + j + k]
                j += LANES
            for k in range(LANES):
                product *= lane[k]
        while j < n:
            product *= x[i * row_stride + j]
            j += 1
        totals[i] *= product

cdef void prod_columns(factor* totals, factor* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] *= x[i * row_stride + j]

cdef Reducer[NUM_DTYPES] prod_reducers              # by the type that is multiplied in
cdef float one_float = 1
cdef double one_double = 1
cdef int64_t one_integer = 1
cdef complex64 one_complex64 = 1
cdef complex128 one_complex128 = 1
set_reducer(&prod_reducers[FLOAT32], FLOAT32, &prod_rows[float], &prod_columns[float], &one_float)
set_reducer(&prod_reducers[FLOAT64], FLOAT64, &prod_rows[double], &prod_columns[double], &one_double)
set_reducer(&prod_reducers[INT64], INT64, &prod_rows[int64_t], &prod_columns[int64_t], &one_integer)
set_reducer(&prod_reducers[COMPLEX64], COMPLEX64, &prod_rows[complex64], &prod_columns[complex64], &one_complex64)
set_reducer(&prod_reducers[COMPLEX128], COMPLEX128, &prod_rows[complex128], &prod_columns[complex128], &one_complex128)


# ---------------------------------------------------------------- prod
cdef Op PROD = Op("prod(Tensor x, int? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                  aten="prod.dim_int")

@PROD.infer
def prod_infer(TensorBase x, dim, bint keepdim, dtype):
    return reduced_result(summed_dtype(x, dtype, "prod"), x, prod_mask(x, dim), keepdim)

@PROD.kernel
def prod_kernel(TensorBase out, TensorBase x, dim, keepdim, dtype):
    if out.dtype_ == BOOL and x.dtype_ != BOOL:
        x = <TensorBase>(x != 0)                        # cast first: 0.5 * 0.5 is True
    run_reduction(&prod_reducers[kernel_dtype(sum_dtype(out.dtype_))], out, x, prod_mask(x, dim),
                  None, NULL, 0)

cdef unsigned int prod_mask(TensorBase x, object dim) except? 0xffffffff:
    """A bit for each dimension: all of them, or one. (A tuple is refused.)"""
    return read_dims(None, ndim_of(x), "prod") if dim is None else <unsigned int>1 << dim_of(dim, x, "prod")

@PROD.derivative("x")
def prod_derivative(grad, x, out, dim, keepdim, dtype):
    if dtype is not None:
        x = x.to(dtype)
    if x.dim() == 0:
        return grad
    if not has_hidden_values(out) and (out.isfinite() & (out != 0)).all():
        # so is every factor, and the others are out / x
        return keep_dims(grad * out, x.shape, dim, keepdim) / x
    if dim is None:
        return (grad * products_of_others(x.reshape(-1), 0)).view(x.shape)
    grad = keep_dims(grad, x.shape, dim, keepdim)
    return grad if x.size(dim) == 1 else grad * products_of_others(x, dim)

def prod(TensorBase input not None, dim=None, bint keepdim=False, *, dtype=None, out=None):
    """Product of the elements, of all or along one dimension.

    Parameters
    ----------
    input : Tensor
    dim : int or None; None means all dimensions
    keepdim : bool, keep the reduced dimension with size 1
    dtype : the type to multiply in; integers and bools are multiplied in int64 if it is not given
    out : Tensor, optional; the result is written there

    Raises
    ------
    DimensionError
        If the dimension is out of range.

    >>> import tensorlab
    >>> tensorlab.tensor([[1., 2.], [3., 4.]]).prod(1)
    tensor([ 2., 12.])
    """
    return run_4(PROD, input, plain_ints(dim), keepdim, dtype_or_that_of(dtype, out), out)


# ---------------------------------------------------------------- products of the others
def products_of_others(x, dim):
    """For each element the product of the other elements along `dim`: the gradient of `prod`, right with zeros too.

    It is the product of what stands before the element, times that of what stands after it. Made of ops, so that it can
    be differentiated again. If one of the two overflows and a factor in the other is 0, their product is nan; of finite
    factors it is 0.
    """
    n = x.size(dim)
    one = x.new_ones([1 if d == dim % x.dim() else size for d, size in enumerate(x.shape)])
    before = joining.cat([one, x.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    after = joining.cat([one, x.narrow(dim, 1, n - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    product, zeros = before * after, x == 0
    has_other_zero = zeros.sum(dim, keepdim=True) > zeros
    return product.masked_fill(product.isnan() & has_other_zero & x.isfinite().all(dim, keepdim=True), 0)


# ---------------------------------------------------------------- any and all: loops over bools
cdef void any_rows(uint8_t* totals, uint8_t* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    """In blocks, so that a long row is left soon after the first True."""
    cdef ssize i, j, stop
    cdef uint8_t found
    for i in range(m):
        j = 0
        found = totals[i]
        while j < n and not found:
            stop = min(n, j + 4096)
            while j < stop:
                found |= x[i * row_stride + j]
                j += 1
        totals[i] = found

cdef void any_columns(uint8_t* totals, uint8_t* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] |= x[i * row_stride + j]

cdef void all_rows(uint8_t* totals, uint8_t* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i, j, stop
    cdef uint8_t found
    for i in range(m):
        j = 0
        found = totals[i]
        while j < n and found:
            stop = min(n, j + 4096)
            while j < stop:
                found &= x[i * row_stride + j]
                j += 1
        totals[i] = found

cdef void all_columns(uint8_t* totals, uint8_t* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] &= x[i * row_stride + j]

cdef Reducer any_reducer, all_reducer
cdef uint8_t no = 0, yes = 1
set_reducer(&any_reducer, BOOL, &any_rows, &any_columns, &no)
set_reducer(&all_reducer, BOOL, &all_rows, &all_columns, &yes)

cdef TensorBase truth_result(TensorBase x, object dim, bint keepdim, str where):
    """uint8 was PyTorch's type of masks before bool was, and stays uint8 here."""
    return reduced_result(UINT8 if x.dtype_ == UINT8 else BOOL, x, read_dims(dim, x.ndim_, where), keepdim)

cdef object run_truth(Op op, TensorBase x, object dim, bint keepdim, object out):
    cdef object result = run_3(op, x, plain_ints(dim), keepdim)
    if out is None:
        return result
    if isinstance(out, TensorBase) and ((<TensorBase>out).dtype_ == BOOL or (<TensorBase>out).dtype_ == UINT8):
        result = result.to(out.dtype)                   # either type of truth may be written
    return store_out(op.name, result, out, (x,), NO_DERIVATIVE)


# ---------------------------------------------------------------- any
cdef Op ANY = Op("any(Tensor x, int[]? dim=None, bool keepdim=False) -> Tensor",
                 aten="any.dims")

@ANY.infer
def any_infer(TensorBase x, dim, bint keepdim):
    return truth_result(x, dim, keepdim, "any")

@ANY.kernel
def any_kernel(TensorBase out, TensorBase x, dim, keepdim):
    run_reduction(&any_reducer, out, x, read_dims(dim, x.ndim_, "any"), None, NULL, 0)

def any(TensorBase input not None, dim=None, bint keepdim=False, *, out=None):
    """Is any element not 0, of all or along dimensions? nan counts as not 0.

    Parameters
    ----------
    input : Tensor
    dim : int, tuple of int or None
    keepdim : bool, keep the reduced dimensions with size 1
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of bool (of uint8 for an input of uint8); False where there is no element

    >>> import tensorlab
    >>> tensorlab.tensor([[0, 0], [0, 3]]).any(1)
    tensor([False,  True])
    """
    return run_truth(ANY, input, dim, keepdim, out)


# ---------------------------------------------------------------- all
cdef Op ALL = Op("all(Tensor x, int[]? dim=None, bool keepdim=False) -> Tensor",
                 aten="all.dims")

@ALL.infer
def all_infer(TensorBase x, dim, bint keepdim):
    return truth_result(x, dim, keepdim, "all")

@ALL.kernel
def all_kernel(TensorBase out, TensorBase x, dim, keepdim):
    run_reduction(&all_reducer, out, x, read_dims(dim, x.ndim_, "all"), None, NULL, 0)

def all(TensorBase input not None, dim=None, bint keepdim=False, *, out=None):
    """Are all elements not 0, of all or along dimensions? See `any`; True where there is no element.

    >>> import tensorlab
    >>> tensorlab.tensor([[0, 0], [2, 3]]).all(1)
    tensor([False,  True])
    """
    return run_truth(ALL, input, dim, keepdim, out)
