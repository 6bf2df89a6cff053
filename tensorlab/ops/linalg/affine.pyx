"""Products of matrices with something added: addmm and its relatives, and linear, the layer.

    addmm       beta * x + alpha * a @ b
    linear      x @ weight' + bias

What is added is written into the result first; BLAS then adds the product to it, so the result is passed over once.
"""
from tensorlab._core.dispatch.autocast cimport in_lower
from tensorlab._core.dispatch.dispatch cimport run_3, run_tuple
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport (
    as_number, can_cast, check_fits, check_same_place, factor_of_type, same_numbers
)
from tensorlab._core.dispatch.out_argument cimport CASTS, NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.dtypes cimport BOOL, INEXACT, dtype_code, is_in
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize, view_strides
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_into, put_back
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, result_beside
from tensorlab.ops.linalg.blas cimport multiply_batch
from tensorlab.ops.linalg.matrices cimport as_rows, check_product, flipped, run_matmul, run_mm, transposed

from tensorlab._core.dispatch.operands import result_type
from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.linalg.matrices import dot, matmul, mm_derivative_x, mm_derivative_y, mv


# ---------------------------------------------------------------- checks
cdef TensorBase as_tensor_argument(object x, str where, str name):
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(x).__name__}")
    return <TensorBase>x


cdef int check_ndim(TensorBase x, int ndim, str where, str name) except -1:
    if x.ndim_ != ndim:
        raise ShapeError(f"{where}: {name} must have {ndim} dimensions, not {x.ndim_}")
    return 0


cdef int check_sizes(TensorBase a, TensorBase b, str where) except -1:
    """Do the last two dimensions fit, and do batches agree?"""
    if a.sizes[a.ndim_ - 1] != b.sizes[max(b.ndim_ - 2, 0)] or (a.ndim_ == 3 and a.sizes[0] != b.sizes[0]):
        raise ShapeError(f"{where}: shapes {shape_text(a.ndim_, a.sizes)} and {shape_text(b.ndim_, b.sizes)} do not fit")
    return 0


cdef int check_added(TensorBase x, TensorBase out, str where, str name) except -1:
    """Can x, of the type of the result, be broadcast to its shape?"""
    check_same_place(x, out, where)
    if x.dtype_ != out.dtype_:
        raise DTypeError(f"{where}: {name} has type {x.dtype}, but the product has type {out.dtype}; convert one with .to()")
    return check_broadcast(x, out, where, name)


cdef int check_broadcast(TensorBase x, TensorBase out, str where, str name) except -1:
    """Can x be broadcast to the shape of the result?"""
    cdef int d, shift = out.ndim_ - x.ndim_
    for d in range(x.ndim_):
        if shift < 0 or (x.sizes[d] != 1 and x.sizes[d] != out.sizes[d + shift]):
            raise ShapeError(f"{where}: {name} of shape {shape_text(x.ndim_, x.sizes)} cannot be broadcast to "
                             f"{shape_text(out.ndim_, out.sizes)}, the shape of the result")
    return 0


cdef int check_factor(object factor, str where, str name) except -1:
    if as_number(factor) is None:
        raise TypeError(f"{where}: {name} must be a number, not {type(factor).__name__}")
    return 0


cdef object as_factor(object factor, TensorBase x, str where, str name):
    """alpha or beta; whole for whole numbers, whose type must hold it."""
    check_factor(factor, where, name)
    check_fits(factor, x.dtype_, where)
    return factor if is_in(x.dtype_, INEXACT) else int(factor)


cdef object plain_factor(object factor):
    """beta or alpha as a Python number; what is none is left to as_factor."""
    number = as_number(factor)
    return factor if number is None else number


cdef object write_over(str where, TensorBase input, TensorBase result):
    """The end of a function in place: what it has computed, written over its first argument."""
    if not can_cast(result.dtype_, input.dtype_):
        raise DTypeError(f"{where}: the result has type {result.dtype}, which cannot be written into a tensor of "
                         f"type {input.dtype}")
    if not same_numbers(input.ndim_, input.sizes, result.sizes) or input.ndim_ != result.ndim_:
        raise ShapeError(f"{where}: the result has shape {shape_text(result.ndim_, result.sizes)}, and input "
                         f"{shape_text(input.ndim_, input.sizes)}; they must be equal")
    return (<object>input).copy_(result)


cdef object scaled(object x, object factor):
    return x if factor == 1 else x * factor


# ---------------------------------------------------------------- addmm and baddbmm
cdef TensorBase added_result(TensorBase x, TensorBase a, TensorBase b, object beta, object alpha, int n, tuple names, str where):
    """Of beta * x + alpha * a @ b for matrices or batches of them."""
    cdef ssize[3] sizes
    cdef TensorBase out
    check_ndim(a, n, where, names[0])
    check_ndim(b, n, where, names[1])
    check_product(where, a, b)
    as_factor(beta, a, where, "beta")
    as_factor(alpha, a, where, "alpha")
    check_sizes(a, b, where)
    sizes[0] = a.sizes[0]
    sizes[n - 2] = a.sizes[n - 2]
    sizes[n - 1] = b.sizes[n - 1]
    out = result_beside(a, a.dtype_, n, sizes)
    check_added(x, out, where, "input")
    return out

cdef int add_product(TensorBase out, TensorBase x, TensorBase a, TensorBase b, object beta, object alpha) except -1:
    """With beta 0, x is not read: its nan do not count. In place `out` is x, which a and b may lie over."""
    cdef TensorBase product = empty_beside(a, a.dtype_, out.ndim_, out.sizes) if out is x else out
    cdef double keep, factor
    if isinstance(beta, complex) or isinstance(alpha, complex):
        multiply_batch(product, a, b, 1, 0)
        total = <object>product * alpha
        return copy_into(out, <TensorBase?>(total + <object>x * beta if beta != 0 else total))
    keep, factor = as_factor(beta, a, "addmm", "beta"), as_factor(alpha, a, "addmm", "alpha")
    if keep != 0:
        copy_into(product, x)
    multiply_batch(product, a, b, factor, keep)
    return put_back(out, product)

cdef Op ADDMM = Op("addmm(Tensor x, Tensor a, Tensor b, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                   public={"a": "mat1", "b": "mat2"})
cdef Op BADDBMM = Op("baddbmm(Tensor x, Tensor a, Tensor b, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                     public={"a": "batch1", "b": "batch2"})
cdef Op ADDMM_ = inplace_op(ADDMM), BADDBMM_ = inplace_op(BADDBMM)
cdef tuple MATRICES = ("mat1", "mat2")
cdef tuple BATCHES = ("batch1", "batch2")

@ADDMM.infer
def addmm_infer(TensorBase x, TensorBase a, TensorBase b, beta, alpha):
    return added_result(x, a, b, beta, alpha, 2, MATRICES, "addmm")

@ADDMM.kernel
def addmm_kernel(TensorBase out, TensorBase x, TensorBase a, TensorBase b, beta, alpha):
    add_product(out, x, a, b, beta, alpha)

@BADDBMM.infer
def baddbmm_infer(TensorBase x, TensorBase a, TensorBase b, beta, alpha):
    return added_result(x, a, b, beta, alpha, 3, BATCHES, "baddbmm")

@BADDBMM.kernel
def baddbmm_kernel(TensorBase out, TensorBase x, TensorBase a, TensorBase b, beta, alpha):
    add_product(out, x, a, b, beta, alpha)

@ADDMM.derivative("x")
@BADDBMM.derivative("x")
def addmm_derivative_x(grad, beta):
    return scaled(grad, beta)                           # the engine sums it to the shape of x

@ADDMM.derivative("a")
def addmm_derivative_a(grad, b, alpha, a_is_transposed):
    return scaled(mm_derivative_x(grad, b, a_is_transposed), alpha)

@ADDMM.derivative("b")
def addmm_derivative_b(grad, a, alpha, b_is_transposed):
    return scaled(mm_derivative_y(grad, a, b_is_transposed), alpha)

@BADDBMM.derivative("a")
def baddbmm_derivative_a(grad, b, alpha):
    return scaled(matmul(grad, transposed(b)), alpha)

@BADDBMM.derivative("b")
def baddbmm_derivative_b(grad, a, alpha):
    return scaled(matmul(transposed(a), grad), alpha)

cdef object run_addmm(Op op, TensorBase x, object mat1, object mat2, object beta, object alpha, object out=None):
    cdef TensorBase a = as_tensor_argument(mat1, op.name, "mat1"), b = as_tensor_argument(mat2, op.name, "mat2")
    return run_tuple(op, (x, a, b, plain_factor(beta), plain_factor(alpha)), out)

cdef object run_baddbmm(Op op, TensorBase x, object batch1, object batch2, object beta, object alpha, object out=None):
    return run_tuple(op, (x, as_tensor_argument(batch1, op.name, "batch1"), as_tensor_argument(batch2, op.name, "batch2"),
                          plain_factor(beta), plain_factor(alpha)), out)

def addmm(TensorBase input not None, mat1, mat2, *, beta=1, alpha=1, out=None):
    """`beta * input + alpha * mat1 @ mat2`.

    Parameters
    ----------
    input : Tensor, which is broadcast to the shape of the product; not read if `beta` is 0
    mat1 : Tensor, shape (n, m)
    mat2 : Tensor, shape (m, p)
    beta, alpha : number

    Returns
    -------
    Tensor, shape (n, p)

    >>> import tensorlab
    >>> x = tensorlab.ones(2, 2)
    >>> tensorlab.addmm(tensorlab.tensor([10., 20.]), x, x)
    tensor([[12., 22.],
            [12., 22.]])
    """
    return run_addmm(ADDMM, input, mat1, mat2, beta, alpha, out)

def addmm_(TensorBase input not None, mat1, mat2, *, beta=1, alpha=1):
    """`addmm`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, 2)
    >>> x.addmm_(tensorlab.eye(2), tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]), beta=10)
    tensor([[11., 12.],
            [13., 14.]])
    """
    return run_addmm(ADDMM_, input, mat1, mat2, beta, alpha)

def baddbmm(TensorBase input not None, batch1, batch2, *, beta=1, alpha=1, out=None):
    """`beta * input + alpha * batch1 @ batch2` for batches of matrices.

    Parameters
    ----------
    input : Tensor, which is broadcast to the shape of the product; not read if `beta` is 0
    batch1 : Tensor, shape (batch, n, m)
    batch2 : Tensor, shape (batch, m, p)

    Returns
    -------
    Tensor, shape (batch, n, p)

    >>> import tensorlab
    >>> tensorlab.baddbmm(tensorlab.zeros(1), tensorlab.ones(2, 1, 3), tensorlab.ones(2, 3, 1), alpha=2)
    tensor([[[6.]],
    <BLANKLINE>
            [[6.]]])
    """
    return run_baddbmm(BADDBMM, input, batch1, batch2, beta, alpha, out)

def baddbmm_(TensorBase input not None, batch1, batch2, *, beta=1, alpha=1):
    """`baddbmm`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(5, 2, 2)
    >>> x.baddbmm_(tensorlab.ones(5, 2, 3), tensorlab.ones(5, 3, 2)).sum()
    tensor(60.)
    """
    return run_baddbmm(BADDBMM_, input, batch1, batch2, beta, alpha)

def addbmm(TensorBase input not None, batch1, batch2, *, beta=1, alpha=1, out=None):
    """`beta * input` plus `alpha` times the sum over the batch of `batch1 @ batch2`.

    Parameters
    ----------
    input : Tensor, which is broadcast to (n, p)
    batch1 : Tensor, shape (batch, n, m)
    batch2 : Tensor, shape (batch, m, p)

    Returns
    -------
    Tensor, shape (n, p)

    Examples
    --------
    >>> import tensorlab
    >>> a = tensorlab.ones(5, 2, 3)
    >>> tensorlab.addbmm(tensorlab.zeros(2, 4), a, tensorlab.ones(5, 3, 4))
    tensor([[15., 15., 15., 15.],
            [15., 15., 15., 15.]])
    """
    cdef TensorBase a = as_tensor_argument(batch1, "addbmm", "batch1"), b = as_tensor_argument(batch2, "addbmm", "batch2")
    input, a, b = in_lower((input, a, b))
    check_ndim(a, 3, "addbmm", "batch1")
    check_ndim(b, 3, "addbmm", "batch2")
    check_sizes(a, b, "addbmm")
    # the sum over the batch is part of the inner sum of one product
    result = addmm(input, a.transpose(0, 1).reshape(a.sizes[1], a.sizes[0] * a.sizes[2]),
                   b.reshape(b.sizes[0] * b.sizes[1], b.sizes[2]), beta=beta, alpha=alpha)
    return store_out("addbmm", result, out, (input, a, b))

def addbmm_(TensorBase input not None, batch1, batch2, *, beta=1, alpha=1):
    """`addbmm`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, 2)
    >>> x.addbmm_(tensorlab.ones(5, 2, 3), tensorlab.ones(5, 3, 2))
    tensor([[15., 15.],
            [15., 15.]])
    """
    return write_over("addbmm_", input, addbmm(input, batch1, batch2, beta=beta, alpha=alpha))


# ---------------------------------------------------------------- addmv, outer, addr, inner
def addmv(TensorBase input not None, mat, vec, *, beta=1, alpha=1, out=None):
    """`beta * input + alpha * mat @ vec`.

    Parameters
    ----------
    input : Tensor, which is broadcast to (n,); not read if `beta` is 0
    mat : Tensor, shape (n, m)
    vec : Tensor, shape (m,)

    Examples
    --------
    >>> import tensorlab
    >>> A = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.addmv(tensorlab.tensor([10.0, 20.0]), A, tensorlab.ones(2))
    tensor([13., 27.])
    """
    cdef TensorBase product = mv(as_tensor_argument(mat, "addmv", "mat"), vec)
    keep, factor = as_factor(beta, product, "addmv", "beta"), as_factor(alpha, product, "addmv", "alpha")
    check_added(input, product, "addmv", "input")
    result = scaled(product, factor) if keep == 0 else scaled(input, keep) + scaled(product, factor)
    return store_out("addmv", result, out, (input, mat, vec))

def addmv_(TensorBase input not None, mat, vec, *, beta=1, alpha=1):
    """`addmv`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2)
    >>> x.addmv_(tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]]), tensorlab.ones(2))
    tensor([3., 7.])
    """
    return write_over("addmv_", input, addmv(input, mat, vec, beta=beta, alpha=alpha))

def outer(TensorBase input not None, vec2, *, out=None):
    """Every element of one vector times every element of another.

    Parameters
    ----------
    input : Tensor, shape (n,)
    vec2 : Tensor, shape (m,)

    Returns
    -------
    Tensor, shape (n, m)

    >>> import tensorlab
    >>> tensorlab.outer(tensorlab.tensor([1, 2]), tensorlab.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    cdef TensorBase y = as_tensor_argument(vec2, "outer", "vec2")
    check_ndim(input, 1, "outer", "input")
    check_ndim(y, 1, "outer", "vec2")
    result = input.unsqueeze(1) * y
    return store_out("outer", result, out, (input, y), CASTS)

def addr(TensorBase input not None, vec1, vec2, *, beta=1, alpha=1, out=None):
    """`beta * input + alpha * outer(vec1, vec2)`, in their common type; for bool it is the logical or.

    Raises
    ------
    DTypeError
        If `beta` or `alpha` is of a kind that the result is not: a float for integers, or a bool for numbers.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 10.0])
    >>> tensorlab.addr(tensorlab.zeros(2, 3), x, tensorlab.arange(3.0))
    tensor([[ 0.,  1.,  2.],
            [ 0., 10., 20.]])
    """
    cdef TensorBase x = as_tensor_argument(vec1, "addr", "vec1"), y = as_tensor_argument(vec2, "addr", "vec2"), product
    cdef int dtype
    check_factor(beta, "addr", "beta")
    check_factor(alpha, "addr", "alpha")
    kind = result_type(input, x.to(result_type(x, y)))
    product = outer(x.to(kind), y.to(kind))
    check_broadcast(input, product, "addr", "input")
    dtype = dtype_code(kind, BOOL)
    beta, alpha = factor_of_type(beta, dtype, "addr", "beta"), factor_of_type(alpha, dtype, "addr", "alpha")
    result = product * alpha if beta == 0 else input.to(kind) * beta + product * alpha
    return store_out("addr", result, out, (input, vec1, vec2), CASTS | NO_PARTIAL_OVERLAP)

def addr_(TensorBase input not None, vec1, vec2, *, beta=1, alpha=1):
    """`addr`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, 2)
    >>> x.addr_(tensorlab.tensor([1.0, 2.0]), tensorlab.tensor([1.0, 2.0]))
    tensor([[2., 3.],
            [3., 5.]])
    """
    return write_over("addr_", input, addr(input, vec1, vec2, beta=beta, alpha=alpha))

def inner(TensorBase input not None, other, *, out=None):
    """Sum of products over the last dimension of both.

    Parameters
    ----------
    input : Tensor, shape (..., n)
    other : Tensor, shape (..., n)

    Returns
    -------
    Tensor, shape (*input.shape[:-1], *other.shape[:-1])

    >>> import tensorlab
    >>> tensorlab.inner(tensorlab.tensor([1., 2.]), tensorlab.tensor([[3., 4.], [5., 6.]]))
    tensor([11., 17.])
    """
    cdef TensorBase y = as_tensor_argument(other, "inner", "other")
    if input.ndim_ == 0 or y.ndim_ == 0:
        result = input * y
    else:
        check_product("inner", input, y)
        if input.sizes[input.ndim_ - 1] != y.sizes[y.ndim_ - 1]:
            raise ShapeError(f"inner: the last dimensions of {shape_text(input.ndim_, input.sizes)} and "
                             f"{shape_text(y.ndim_, y.sizes)} must be equally large")
        if input.ndim_ == 1 and y.ndim_ == 1:
            return store_out("inner", dot(input, y), out, (input, y))
        result = matmul(as_rows(input), as_rows(y).transpose(0, 1))
        result = result.reshape([input.sizes[d] for d in range(input.ndim_ - 1)] + [y.sizes[d] for d in range(y.ndim_ - 1)])
    return store_out("inner", result, out, (input, y))

def vdot(TensorBase input not None, other, *, out=None):
    """Inner product of two vectors, the first of which is conjugated; `dot` if it is real.

    Parameters
    ----------
    input, other : Tensor, shape (n,)
    out : Tensor that is filled

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.vdot(tensorlab.tensor([1, 2]), tensorlab.tensor([3, 4]))
    tensor(11)
    """
    return dot(input.conj(), other, out=out)


# ---------------------------------------------------------------- linear
cdef Op LINEAR = Op("linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor",
                    public={"x": "input"}, node="AddmmBackward0")

@LINEAR.infer
def linear_infer(TensorBase x, TensorBase weight, TensorBase bias):
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase out
    cdef int d
    check_ndim(weight, 2, "linear", "weight")
    check_product("linear", x, weight)
    if x.ndim_ == 0:
        raise ShapeError("linear: input has no dimensions; expected (..., in_features)")
    if x.sizes[x.ndim_ - 1] != weight.sizes[1]:
        raise ShapeError(f"linear: input is {shape_text(x.ndim_, x.sizes)} and weight is {shape_text(2, weight.sizes)}; the last "
                         f"sizes {x.sizes[x.ndim_ - 1]} and {weight.sizes[1]} must match")
    for d in range(x.ndim_ - 1):
        sizes[d] = x.sizes[d]
    sizes[x.ndim_ - 1] = weight.sizes[0]
    out = result_beside(x, x.dtype_, x.ndim_, sizes)
    if bias is not None:
        check_added(bias, out, "linear", "bias")
    return out

@LINEAR.kernel
def linear_kernel(TensorBase out, TensorBase x, TensorBase weight, TensorBase bias):
    """All rows of x, whatever their dimensions, in one product if strides allow."""
    cdef ssize[2] folded, strides
    cdef double keep = 0 if bias is None else 1
    if bias is not None and out.numel_ > 0:
        copy_into(out, bias)
    if x.ndim_ == 2:
        multiply_batch(out, x, flipped(weight), 1, keep)
        return
    folded[1] = x.sizes[x.ndim_ - 1]
    folded[0] = x.numel_ // folded[1] if folded[1] > 0 else out.numel_ // max(weight.sizes[0], 1)
    if x.numel_ == 0 or not view_strides(x.ndim_, x.sizes, x.strides, 2, folded, strides):
        x = contiguous_copy(x)
        strides[0] = folded[1]
        strides[1] = 1
    x = alias_as(x, 2, folded, strides, x.data_)
    folded[1] = weight.sizes[0]
    strides[0] = weight.sizes[0]
    strides[1] = 1
    multiply_batch(alias_as(out, 2, folded, strides, out.data_), x, flipped(weight), 1, keep)

@LINEAR.derivative("x")
def linear_derivative_x(grad, weight):
    if grad.ndim == 1:
        return mv(transposed(weight), grad)
    return run_matmul(grad, weight)

@LINEAR.derivative("weight")
def linear_derivative_weight(grad, x, weight_is_row_major):
    if weight_is_row_major:
        return run_mm(transposed(as_rows(grad)), as_rows(x))
    return run_mm(transposed(as_rows(x)), as_rows(grad)).t()

@LINEAR.derivative("bias")
def linear_derivative_bias(grad):
    return grad                                         # the engine sums it over the rows

def linear(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, *, out=None):
    """`input @ weight.T + bias`, the layer.

    Parameters
    ----------
    input : Tensor, shape (..., in_features)
    weight : Tensor, shape (out_features, in_features) or (in_features,)
    bias : Tensor, shape (out_features,), or any that is broadcast to the result

    Returns
    -------
    Tensor, shape (..., out_features); without the last dimension if `weight` is a vector

    Raises
    ------
    ShapeError
        If the sizes do not fit.
    DTypeError
        If the dtypes differ.

    >>> import tensorlab
    >>> weight = tensorlab.tensor([[1., 0.], [0., 2.], [1., 1.]])
    >>> tensorlab.nn.functional.linear(tensorlab.tensor([3., 4.]), weight)
    tensor([3., 8., 7.])
    """
    if out is not None:
        return store_out("linear", linear(input, weight, bias), out, (input, weight, bias))
    if weight.ndim_ == 1 or weight.ndim_ == 0 or input.ndim_ == 0:
        product = matmul(input, weight)
        return product if bias is None else product + bias
    return run_3(LINEAR, input, weight, bias)
