"""Norms: the length of a vector, measured in several ways."""
from libc.stdint cimport int64_t

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.dispatch.dispatch cimport run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.dtypes cimport (
    COMPLEX, FLOAT32, FLOAT64, FLOATING, HALF, INEXACT, dtype_code, dtype_object, is_double, is_in, item_size,
    kernel_dtype, real
)
from tensorlab._core.graph.graph cimport ndim_of
from tensorlab._core.layout cimport plain_ints, ssize, wrap_dim
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.linalg.nuclear cimport run_nuclear_norm
from tensorlab.ops.reduction_iterator cimport Reducer, finalize_loop, read_dims, reduced_count, reduced_result, run_reduction
from tensorlab.ops.reductions cimport keep_dims, set_reducer

from tensorlab.errors import DTypeError, ShapeError

cdef enum:
    LANES = 32
    BLOCK = 8192

cdef extern from *:
    float INFINITY

cdef int64_t zero = 0


# ---------------------------------------------------------------- norm: loops
cdef enum:                      # kinds of norm, which have loops of their own
    SQUARES = 0
    ABSOLUTES = 1
    LARGEST = 2
    SMALLEST = 3
    NONZEROS = 4
    POWERS = 5

cdef inline int kind_of(double p) noexcept nogil:
    return (SQUARES if p == 2 else ABSOLUTES if p == 1 else NONZEROS if p == 0 else
            LARGEST if p == INFINITY else SMALLEST if p == -INFINITY else POWERS)

cdef inline real fold_one(real total, real x, int kind, real p) noexcept nogil:
    if kind == SQUARES:
        return total + x * x
    if kind == ABSOLUTES:
        return total + c_math.fabs(x)
    if kind == LARGEST:
        total = c_math.fabs(x) if c_math.fabs(x) > total else total
        return x if x != x else total
    if kind == SMALLEST:
        total = c_math.fabs(x) if c_math.fabs(x) < total else total
        return x if x != x else total
    if kind == NONZEROS:
        return total + (x != 0)
    return total + c_math.pow(c_math.fabs(x), p)

cdef inline real merge_one(real total, real x, int kind) noexcept nogil:
    """Totals are not negative, so sums of absolute values merge all sums."""
    return fold_one(total, x, kind if kind == LARGEST or kind == SMALLEST else ABSOLUTES, 1)

cdef inline void norm_row(real* total, real* x, ssize n, int kind, real p) noexcept nogil:
    cdef real[LANES] lane
    cdef ssize j = 0, stop
    cdef int k
    while j + LANES <= n:                               # in blocks, as inner_loops.pxd does
        stop = min(n - LANES, j + BLOCK)
        for k in range(LANES):
            lane[k] = <real>INFINITY if kind == SMALLEST else <real>0
        while j <= stop:
            for k in range(LANES):
                lane[k] = fold_one(lane[k], x[j + k], kind, p)
            j += LANES
        for k in range(16):                             # loops of constant length, in pairs: none waits for all others
            lane[k] = merge_one(lane[k], lane[k + 16], kind)
        for k in range(4):
            lane[k] = merge_one(merge_one(lane[k], lane[k + 8], kind), merge_one(lane[k + 4], lane[k + 12], kind), kind)
        lane[0] = merge_one(merge_one(lane[0], lane[1], kind), merge_one(lane[2], lane[3], kind), kind)
        total[0] = merge_one(total[0], lane[0], kind)
    while j < n:
        total[0] = fold_one(total[0], x[j], kind, p)
        j += 1

cdef void norm_rows(real* totals, real* x, ssize m, ssize row_stride, ssize n, const double* p) noexcept nogil:
    cdef int kind = kind_of(p[0])
    cdef ssize i
    for i in range(m):
        if kind == SQUARES:
            norm_row(totals + i, x + i * row_stride, n, SQUARES, 2)
        elif kind == ABSOLUTES:
            norm_row(totals + i, x + i * row_stride, n, ABSOLUTES, 1)
        elif kind == LARGEST:
            norm_row(totals + i, x + i * row_stride, n, LARGEST, 1)
        else:
            norm_row(totals + i, x + i * row_stride, n, kind, <real>p[0])

cdef void norm_columns(real* totals, real* x, ssize m, ssize row_stride, ssize n, const double* p) noexcept nogil:
    cdef int kind = kind_of(p[0])
    cdef ssize i, j
    for i in range(m):
        if kind == SQUARES:
            for j in range(n):
                totals[j] += x[i * row_stride + j] * x[i * row_stride + j]
        else:
            for j in range(n):
                totals[j] = fold_one(totals[j], x[i * row_stride + j], kind, <real>p[0])

cdef void norm_merge(real* totals, real* x, ssize m, ssize row_stride, ssize n, const double* p) noexcept nogil:
    cdef int kind = kind_of(p[0])
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] = merge_one(totals[j], x[i * row_stride + j], kind)

cdef void norm_root_loop(real* totals, ssize n, double p) noexcept nogil:
    for i in range(n):
        totals[i] = c_math.sqrt(totals[i]) if p == 2 else c_math.pow(totals[i], <real>(1 / p))

cdef Reducer[2] norm_reducers, smallest_reducers    # of float32, of float64; those for p = -inf start from infinity
cdef float infinite_float = INFINITY
cdef double infinite_double = INFINITY

cdef void set_norm_reducers(int k, int dtype, const real* infinite) noexcept:
    set_reducer(&norm_reducers[k], dtype, &norm_rows[real], &norm_columns[real], &zero, &norm_merge[real])
    set_reducer(&smallest_reducers[k], dtype, &norm_rows[real], &norm_columns[real], infinite, &norm_merge[real])

set_norm_reducers[float](0, FLOAT32, &infinite_float)
set_norm_reducers[double](1, FLOAT64, &infinite_double)


# ---------------------------------------------------------------- norm
cdef finalize_loop norm_root(double p, int kernel) except? NULL:
    """What turns the sum into the norm: a root, or nothing."""
    if kind_of(p) != SQUARES and kind_of(p) != POWERS:
        return NULL
    return <finalize_loop>norm_root_loop[double] if is_double(kernel) else <finalize_loop>norm_root_loop[float]

cdef Op NORM = Op("norm(Tensor x, Scalar p=2, int[]? dim=None, bool keepdim=False, *, "
                  "ScalarType? dtype=None) -> Tensor",
                  public={"p": "ord"}, aten="linalg_vector_norm",
                  node="LinalgVectorNormBackward0")

@NORM.infer
def norm_infer(TensorBase x, double p, dim, bint keepdim, dtype):
    cdef unsigned int mask = read_dims(dim, ndim_of(x), "norm")
    cdef int code = dtype_code(dtype, x.dtype_)
    if not is_in(x.dtype_, FLOATING) or not is_in(code, FLOATING):
        raise DTypeError(f"norm: needs a floating tensor, not "
                         f"{dtype_object(x.dtype_ if is_in(code, FLOATING) else code)}; convert it with .float()")
    if code != x.dtype_ and item_size[code] <= item_size[x.dtype_]:
        raise DTypeError(f"norm: dtype={dtype_object(code)} can't hold every "
                         f"{dtype_object(x.dtype_)}; convert the norm instead")
    if x.numel_ == 0 and (p < 0 or p == INFINITY) and reduced_count(x, mask) == 0:
        raise ShapeError(f"norm: the norm for p={p} of no elements is not defined; reduce dimensions that have "
                         "elements")
    return reduced_result(code, x, mask, keepdim)

@NORM.kernel
def norm_kernel(TensorBase out, TensorBase x, double p, dim, keepdim, dtype):
    cdef int kernel = kernel_dtype(out.dtype_)
    cdef int k = is_double(kernel)
    cdef Reducer* reducer = &smallest_reducers[k] if kind_of(p) == SMALLEST else &norm_reducers[k]
    run_reduction(reducer, out, x, read_dims(dim, x.ndim_, "norm"), None, norm_root(p, kernel), p)

@NORM.derivative("x")
def norm_derivative(grad, x, out, p, dim, keepdim, dtype):
    if dtype is not None:
        x = x.to(dtype)
    grad = keep_dims(grad, x.shape, dim, keepdim)
    out = keep_dims(out, x.shape, dim, keepdim)
    kind = kind_of(p)
    if kind == NONZEROS:
        return x.new_zeros(x.shape)
    if kind == ABSOLUTES:
        return grad * x.sign()
    if kind == SQUARES:
        return grad * (x / out).where(out != 0, 0)          # where, unlike masked_fill, keeps the order of dimensions of x
    if kind == LARGEST or kind == SMALLEST:             # all elements that have the extreme share it
        chosen = x.abs() == out
        return x.sign() * ((grad * chosen) / chosen.sum(dim, True))
    if p < 1:
        return (x.sign() * x.abs().pow(p - 1)).masked_fill(x == 0, 0) * grad * out.pow(1 - p)
    slope = x.sign() * x.abs().pow(p - 1) if p < 2 else x * x.abs().pow(p - 2)
    return slope * (grad / out.pow(p - 1)).masked_fill(out == 0, 0)

def norm(TensorBase input not None, p="fro", dim=None, bint keepdim=False, out=None, dtype=None):
    """The p-norm of the elements, of all or along dimensions: sum(abs(x)**p)**(1/p).

    Parameters
    ----------
    input : Tensor, floating
    p : number or "fro", which is 2; inf: the largest absolute value, -inf: the smallest, 0: how many are not 0;
        "nuc": the sum of the singular values of a matrix of float32 or float64
    dim : int, tuple of int or None; None means all dimensions; "nuc" needs two
    keepdim : bool, keep the reduced dimensions with size 1
    out : Tensor, optional; the result is written there
    dtype : the floating type to compute in

    Raises
    ------
    DTypeError
        If the type is not floating.
    ShapeError
        If nothing is reduced and the norm of nothing is not defined (p < 0 or infinite).

    >>> import tensorlab
    >>> tensorlab.tensor([3., -4.]).norm(), tensorlab.tensor([3., -4.]).norm(1)
    (tensor(5.), tensor(7.))
    """
    dim = plain_ints(dim)
    if p is None or p == "fro":
        p = 2
    elif p == "nuc":
        return nuclear_norm(input, dim, keepdim, out, dtype)
    elif isinstance(p, str):
        raise ValueError(f"norm: p is {p!r}; expected a number, 'fro' or 'nuc'")
    x = input
    if is_in(input.dtype_, COMPLEX):                    # the norm of the absolute values
        if dtype is not None and not dtype.is_complex:
            raise DTypeError(f"norm: dtype is {dtype} for a tensor of {input.dtype}; expected a complex type")
        x, dtype = input.abs(), None if dtype is None else dtype.to_real()
    return run_tuple(NORM, (x, <double>p, dim, keepdim, dtype), out)


cdef object nuclear_norm(TensorBase x, object dim, bint keepdim, object out, object dtype):
    """`norm` for p="nuc"."""
    cdef tuple dims = tuple(range(x.ndim_)) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    cdef TensorBase matrices = x if dtype is None else (<object>x).to(dtype)
    if len(dims) != 2:
        raise ShapeError(f"norm: dim is {dim} for a tensor of shape {tuple(x.shape)}; p='nuc' needs two dimensions, of a matrix")
    dims = tuple([wrap_dim(one, x.ndim_, "norm") for one in dims])
    if dims[0] == dims[1]:
        raise ShapeError(f"norm: dim is {dim}; expected two different dimensions")
    if not is_in(matrices.dtype_, INEXACT) or is_in(matrices.dtype_, HALF):
        raise DTypeError(f"norm: p='nuc' needs float32, float64 or a complex type, not {dtype_object(matrices.dtype_)}; convert "
                         f"it with .float()")
    result = run_nuclear_norm((<object>matrices).movedim(dims, (-2, -1)))
    if keepdim:
        for one in sorted(dims):
            result = result.unsqueeze(one)
    return store_out("norm", result, out, (x,))
