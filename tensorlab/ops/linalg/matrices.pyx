"""Matrix products: mm, bmm, mv, dot, and matmul, which chooses among them.

All are one formula, out[..., i, j] = sum over k of x[..., i, k] * y[..., k, j], and so are their derivatives:

    grad_x = grad @ y'        grad_y = x' @ grad        (' swaps the last two dimensions)

What is broadcast over the batch is not copied: it has stride 0 there. Nor is a matrix that meets a batch: if the batch can be
read as one tall matrix, a single product does it all.
"""
from tensorlab._core.dispatch.autocast cimport in_lower, thread_autocast
from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype, check_same_place
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.dtypes cimport NUMBER
from tensorlab._core.graph.graph cimport bump_version, should_record
from tensorlab._core.layout cimport MAX_NDIM, broadcast_into, shape_text, ssize, view_strides
from tensorlab._core.loops.iterator cimport plain, plain_result, put_back
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport VIEW_NO_GRAD, TensorBase, alias_as, memory_of, result_beside
from tensorlab.ops.linalg.blas cimport inner_product, multiply_batch

from tensorlab.errors import DTypeError, ShapeError, uncalled


# ---------------------------------------------------------------- checks
cdef TensorBase as_tensor_argument(object x, str where, str name):
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(x).__name__}{uncalled(x)}")
    return <TensorBase>x


cdef int check_product(str where, TensorBase x, TensorBase y) except -1:
    """Both of one type, which can be multiplied, and on one device."""
    check_same_place(x, y, where)
    if x.dtype_ != y.dtype_:
        raise DTypeError(f"{where}: the operands have types {x.dtype} and {y.dtype}; convert one with .to() first")
    return check_dtype(where, x, NUMBER)


cdef int check_inner(str where, TensorBase x, TensorBase y, ssize n, ssize m) except -1:
    cdef str advice = ""
    if n == m:
        return 0
    if x.ndim_ == 2 and y.ndim_ == 2:
        if x.sizes[1] == y.sizes[1]:
            advice = ". Did you mean x @ y.T?"
        elif x.sizes[0] == y.sizes[0]:
            advice = ". Did you mean x.T @ y?"
    raise ShapeError(f"{where}: x is {shape_text(x.ndim_, x.sizes)} and y is {shape_text(y.ndim_, y.sizes)}; the inner sizes "
                     f"{n} and {m} must match{advice}")


# ---------------------------------------------------------------- transposed
cdef TensorBase transposed(TensorBase x):
    """x with its last two dimensions swapped: by an op if autograd or a layer follows x, else a bare alias."""
    if active_layers or should_record(x):
        return x.transpose(-2, -1)
    return flipped(x)


cdef TensorBase flipped(TensorBase x):
    """An alias of x with its last two dimensions swapped, which autograd does not see."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i, n = x.ndim_
    for i in range(n - 2):
        sizes[i] = x.sizes[i]
        strides[i] = x.strides[i]
    sizes[n - 2], sizes[n - 1] = x.sizes[n - 1], x.sizes[n - 2]
    strides[n - 2], strides[n - 1] = x.strides[n - 1], x.strides[n - 2]
    return alias_as(x, n, sizes, strides, x.data_)


# ---------------------------------------------------------------- mm
# The gradient of an operand that lies in memory column after column, as a transposed matrix does, is
# made so too (as the transpose of another product), and after the transpose's own gradient it is
# row-major again: the gradient of w in x @ w.T need not be copied to fit w. VM, MATMUL, ADDMM and
# LINEAR do the same.
cdef Op MM = Op("mm(Tensor x, Tensor y) -> Tensor", public={"y": "mat2"})

@MM.infer
def mm_infer(TensorBase x, TensorBase y):
    cdef ssize[2] sizes
    if x.ndim_ != 2 or y.ndim_ != 2:
        raise ShapeError(f"mm: two matrices are needed, not tensors of shapes {shape_text(x.ndim_, x.sizes)} and "
                         f"{shape_text(y.ndim_, y.sizes)}; matmul takes other dimensions")
    check_product("mm", x, y)
    check_inner("mm", x, y, x.sizes[1], y.sizes[0])
    sizes[0] = x.sizes[0]
    sizes[1] = y.sizes[1]
    return result_beside(x, x.dtype_, 2, sizes)

@MM.kernel
def mm_kernel(TensorBase out, TensorBase x, TensorBase y):
    multiply_batch(out, x, y, 1, 0)

@MM.derivative("x")
def mm_derivative_x(grad, y, x_is_transposed):
    if x_is_transposed:
        return run_mm(y, transposed(grad)).t()
    return run_mm(grad, transposed(y))

@MM.derivative("y")
def mm_derivative_y(grad, x, y_is_transposed):
    if y_is_transposed:
        return run_mm(transposed(grad), x).t()
    return run_mm(transposed(x), grad)

cdef object run_mm(TensorBase x, TensorBase y, object out=None):
    return run_2(MM, x, y, out)

def mm(TensorBase input not None, mat2, *, out=None):
    """Product of two matrices; nothing is broadcast.

    Parameters
    ----------
    input : Tensor, shape (n, m)
    mat2 : Tensor, shape (m, p), of the same dtype
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor, shape (n, p)

    Raises
    ------
    ShapeError
        If one is not a matrix, or the inner sizes differ.
    DTypeError
        If the dtypes differ.

    >>> import tensorlab
    >>> tensorlab.mm(tensorlab.tensor([[1., 2.]]), tensorlab.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    cdef TensorBase y = as_tensor_argument(mat2, "mm", "mat2")
    return run_mm(input, y, out)


# ---------------------------------------------------------------- dot
cdef Op DOT = Op("dot(Tensor x, Tensor y) -> Tensor", public={"y": "tensor"})

@DOT.derivative("x")
def dot_derivative_x(grad, y):
    return grad * y

@DOT.derivative("y")
def dot_derivative_y(grad, x):
    return grad * x

@DOT.infer
def dot_infer(TensorBase x, TensorBase y):
    if x.ndim_ != 1 or y.ndim_ != 1:
        raise ShapeError(f"dot: two vectors are needed, not tensors of {x.ndim_} and {y.ndim_} dimensions")
    check_product("dot", x, y)
    if x.numel_ != y.numel_:
        raise ShapeError(f"dot: the vectors have {x.numel_} and {y.numel_} elements; they must be equally long")
    return result_beside(x, x.dtype_, 0, NULL)

@DOT.kernel
def dot_kernel(TensorBase out, TensorBase x, TensorBase y):
    cdef TensorBase product = plain_result(out)
    if product is not out:                              # half types
        x, y = plain(x), plain(y)
    inner_product(product.dtype_, memory_of(product), memory_of(x), x.strides[0], memory_of(y), y.strides[0], x.numel_)
    put_back(out, product)

def dot(TensorBase input not None, tensor, *, out=None):
    """Inner product of two vectors.

    Parameters
    ----------
    input, tensor : Tensor, shape (n,), of the same dtype

    Returns
    -------
    Tensor without dimensions

    Raises
    ------
    ShapeError
        If one is no vector, or their lengths differ.

    >>> import tensorlab
    >>> tensorlab.dot(tensorlab.tensor([1., 2.]), tensorlab.tensor([3., 4.]))
    tensor(11.)
    """
    cdef TensorBase y = as_tensor_argument(tensor, "dot", "tensor")
    return run_2(DOT, input, y, out)


# ---------------------------------------------------------------- mv
cdef int multiply_vector(TensorBase out, TensorBase x, TensorBase y) except -1:
    """A matrix times a vector, as a product of matrices, the second of one column."""
    cdef ssize[2] sizes, strides
    sizes[1] = strides[1] = 1
    sizes[0] = y.sizes[0]
    strides[0] = y.strides[0]
    y = alias_as(y, 2, sizes, strides, y.data_)
    sizes[0] = out.sizes[0]
    strides[0] = 1
    return multiply_batch(alias_as(out, 2, sizes, strides, out.data_), x, y, 1, 0)

cdef Op MV = Op("mv(Tensor x, Tensor y) -> Tensor", public={"y": "vec"})

@MV.infer
def mv_infer(TensorBase x, TensorBase y):
    if x.ndim_ != 2 or y.ndim_ != 1:
        raise ShapeError(f"mv: a matrix and a vector are needed, not tensors of shapes {shape_text(x.ndim_, x.sizes)} and "
                         f"{shape_text(y.ndim_, y.sizes)}")
    check_product("mv", x, y)
    check_inner("mv", x, y, x.sizes[1], y.sizes[0])
    return result_beside(x, x.dtype_, 1, x.sizes)

@MV.kernel
def mv_kernel(TensorBase out, TensorBase x, TensorBase y):
    multiply_vector(out, x, y)

@MV.derivative("x")
def mv_derivative_x(grad, y):
    return grad.unsqueeze(1) * y

@MV.derivative("y")
def mv_derivative_y(grad, x):
    return run_mv(transposed(x), grad)

cdef object run_mv(TensorBase x, TensorBase y):
    return run_2(MV, x, y)

def mv(TensorBase input not None, vec, *, out=None):
    """Product of a matrix and a vector.

    Parameters
    ----------
    input : Tensor, shape (n, m)
    vec : Tensor, shape (m,), of the same dtype

    Returns
    -------
    Tensor, shape (n,)

    >>> import tensorlab
    >>> tensorlab.mv(tensorlab.tensor([[1., 2.], [3., 4.]]), tensorlab.tensor([1., 1.]))
    tensor([3., 7.])
    """
    cdef TensorBase y = as_tensor_argument(vec, "mv", "vec")
    return run_2(MV, input, y, out)


# ---------------------------------------------------------------- vm
cdef Op VM = Op("vm(Tensor x, Tensor y) -> Tensor", aten=None, node="SqueezeBackward4")

@VM.infer
def vm_infer(TensorBase x, TensorBase y):
    cdef TensorBase out
    if x.ndim_ != 1 or y.ndim_ != 2:
        raise ShapeError(f"vm: a vector and a matrix are needed, not tensors of shapes {shape_text(x.ndim_, x.sizes)} and "
                         f"{shape_text(y.ndim_, y.sizes)}")
    check_product("vm", x, y)
    check_inner("vm", x, y, x.sizes[0], y.sizes[0])
    out = result_beside(x, x.dtype_, 1, &y.sizes[1])
    bump_version(out)                                   # PyTorch drops a dimension of its result in place, and its version tells
    return out

@VM.kernel
def vm_kernel(TensorBase out, TensorBase x, TensorBase y):
    """A vector times a matrix."""
    multiply_vector(out, flipped(y), x)

@VM.derivative("x")
def vm_derivative_x(grad, y):
    gradient = run_mv(y, grad)
    return gradient.view(gradient.shape)                # a view, as PyTorch's is: the engine adds nothing in its place

@VM.derivative("y")
def vm_derivative_y(grad, x, y_is_transposed):
    if y_is_transposed:
        return (grad.unsqueeze(1) * x).t()
    return x.unsqueeze(1) * grad

cdef object run_vm(TensorBase x, TensorBase y):
    if x.creation == VIEW_NO_GRAD and should_record(x):
        return run_matmul(x.unsqueeze(0), y).squeeze_(0)        # as PyTorch, which saves y though no gradient leaves x
    return run_2(VM, x, y)


# ---------------------------------------------------------------- bmm
cdef TensorBase batch_result(TensorBase x, TensorBase y, int ndim, const ssize* batch):
    """Of the product of matrices for each index of the `ndim` batch dimensions, to which both are broadcast."""
    cdef ssize[MAX_NDIM] sizes
    cdef int i
    for i in range(ndim):
        sizes[i] = batch[i]
    sizes[ndim] = x.sizes[x.ndim_ - 2]
    sizes[ndim + 1] = y.sizes[y.ndim_ - 1]
    return result_beside(x, x.dtype_, ndim + 2, sizes)

cdef TensorBase broadcast_batch(TensorBase x, TensorBase out):
    """x with the batch dimensions of `out`; stride 0 where it is broadcast."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i, n = out.ndim_, shift = n - x.ndim_
    for i in range(n):
        sizes[i] = out.sizes[i] if i < n - 2 else x.sizes[i - shift]
        strides[i] = 0 if i < shift or (i < n - 2 and x.sizes[i - shift] == 1) else x.strides[i - shift]
    return alias_as(x, n, sizes, strides, x.data_)

cdef Op BMM = Op("bmm(Tensor x, Tensor y) -> Tensor", public={"y": "mat2"})

@BMM.infer
def bmm_infer(TensorBase x, TensorBase y):
    if x.ndim_ != 3 or y.ndim_ != 3:
        raise ShapeError(f"bmm: two batches of matrices are needed, not tensors of shapes {shape_text(x.ndim_, x.sizes)} and "
                         f"{shape_text(y.ndim_, y.sizes)}")
    check_product("bmm", x, y)
    if x.sizes[0] != y.sizes[0]:
        raise ShapeError(f"bmm: batches of {x.sizes[0]} and {y.sizes[0]} matrices; they must be equally large (matmul "
                         f"broadcasts)")
    check_inner("bmm", x, y, x.sizes[2], y.sizes[1])
    return batch_result(x, y, 1, x.sizes)

@BMM.kernel
def bmm_kernel(TensorBase out, TensorBase x, TensorBase y):
    multiply_batch(out, x, y, 1, 0)

@BMM.derivative("x")
def bmm_derivative_x(grad, y):
    return run_2(BMM, grad, transposed(y))

@BMM.derivative("y")
def bmm_derivative_y(grad, x):
    return run_2(BMM, transposed(x), grad)

def bmm(TensorBase input not None, mat2, *, out=None):
    """Products of two batches of matrices, pair by pair; nothing is broadcast.

    Parameters
    ----------
    input : Tensor, shape (batch, n, m)
    mat2 : Tensor, shape (batch, m, p), of the same dtype

    Returns
    -------
    Tensor, shape (batch, n, p)

    Raises
    ------
    ShapeError
        If one has not three dimensions, or the batch or inner sizes differ.

    >>> import tensorlab
    >>> tensorlab.bmm(tensorlab.ones(2, 3, 4), tensorlab.ones(2, 4, 5)).shape
    tensorlab.Size([2, 3, 5])
    """
    cdef TensorBase y = as_tensor_argument(mat2, "bmm", "mat2")
    return run_2(BMM, input, y, out)


# ---------------------------------------------------------------- matmul
cdef int multiply_broadcast(TensorBase out, TensorBase x, TensorBase y) except -1:
    """The product of two tensors of at least two dimensions."""
    cdef ssize[2] folded, strides
    cdef int i
    if y.ndim_ == 2:                                    # (..., n, m) @ (m, p): one tall matrix, if strides allow
        folded[0] = 1
        for i in range(x.ndim_ - 1):
            folded[0] *= x.sizes[i]
        folded[1] = x.sizes[x.ndim_ - 1]
        if x.numel_ > 0 and view_strides(x.ndim_, x.sizes, x.strides, 2, folded, strides):
            x = alias_as(x, 2, folded, strides, x.data_)
            folded[1] = y.sizes[1]
            strides[0] = y.sizes[1]
            strides[1] = 1
            return multiply_batch(alias_as(out, 2, folded, strides, out.data_), x, y, 1, 0)
    return multiply_batch(out, broadcast_batch(x, out), broadcast_batch(y, out), 1, 0)

cdef Op MATMUL = Op("matmul(Tensor x, Tensor y) -> Tensor")

@MATMUL.infer
def matmul_infer(TensorBase x, TensorBase y):
    cdef ssize[MAX_NDIM] batch
    cdef int ndim = 0
    if x.ndim_ < 2 or y.ndim_ < 2:
        raise ShapeError(f"matmul: as an op it takes matrices and batches of them, not tensors of {x.ndim_} and {y.ndim_} "
                         f"dimensions; the public function takes vectors, too")
    check_product("matmul", x, y)
    check_inner("matmul", x, y, x.sizes[x.ndim_ - 1], y.sizes[y.ndim_ - 2])
    broadcast_into(x.ndim_ - 2, x.sizes, &ndim, batch)
    if broadcast_into(y.ndim_ - 2, y.sizes, &ndim, batch) < 0:
        raise ShapeError(f"matmul: the batch dimensions of {shape_text(x.ndim_, x.sizes)} and {shape_text(y.ndim_, y.sizes)} "
                         f"cannot be broadcast together: counted from the right, sizes must be equal or 1")
    return batch_result(x, y, ndim, batch)

@MATMUL.kernel
def matmul_kernel(TensorBase out, TensorBase x, TensorBase y):
    multiply_broadcast(out, x, y)

@MATMUL.derivative("x")
def matmul_derivative_x(grad, y):
    return run_matmul(grad, transposed(y))

@MATMUL.derivative("y")
def matmul_derivative_y(grad, x, y_is_transposed, y_shape):
    if len(y_shape) == 2:                               # sum over the batch inside the product
        if y_is_transposed:
            return run_mm(transposed(as_rows(grad)), as_rows(x)).t()
        return run_mm(transposed(as_rows(x)), as_rows(grad))
    return run_matmul(transposed(x), grad)

cdef TensorBase as_rows(TensorBase x):
    """All dimensions but the last as one."""
    cdef ssize rows = 1
    cdef int d
    if x.ndim_ == 2:
        return x
    for d in range(x.ndim_ - 1):
        rows *= x.sizes[d]
    return x.reshape(rows, x.sizes[x.ndim_ - 1])

cdef object run_matmul(TensorBase x, TensorBase y, object out=None):
    """matmul of tensors of at least two dimensions."""
    if x.ndim_ == 2 and y.ndim_ == 2:
        return run_mm(x, y, out)
    return run_2(MATMUL, x, y, out)

cdef object run_any(TensorBase x, TensorBase y):
    """matmul of tensors of any dimensions; vectors become a row or a column, which is dropped again from the result."""
    if x.ndim_ == 2 and y.ndim_ == 2 and x.sizes[1] == y.sizes[0] and x.dtype_ == y.dtype_:
        return run_mm(x, y)                             # which looks at the rest
    if thread_autocast().dtype >= 0:
        x, y = in_lower((x, y))                         # also the products of vectors, which autocast leaves alone elsewhere
    if not (x.keys or y.keys):                          # else a layer gets the call first
        check_product("matmul", x, y)
    if x.ndim_ == 0 or y.ndim_ == 0:
        raise ShapeError(f"matmul: both need at least one dimension, but they have {x.ndim_} and {y.ndim_}; use x * y")
    check_inner("matmul", x, y, x.sizes[x.ndim_ - 1], y.sizes[max(y.ndim_ - 2, 0)])
    if x.ndim_ > 1 and y.ndim_ > 1:
        return run_matmul(x, y)
    if x.ndim_ == 1 and y.ndim_ == 1:
        return run_2(DOT, x, y)
    if x.ndim_ == 2:
        return run_mv(x, y)
    if y.ndim_ == 2:
        return run_vm(x, y)
    if x.ndim_ == 1:
        return run_matmul(transposed(y), x.unsqueeze(-1)).squeeze(-1)
    return run_matmul(x, y.unsqueeze(-1)).squeeze(-1)

def matmul(TensorBase input not None, other, *, out=None):
    """Matrix product over the last two dimensions, broadcast over the others; `input @ other`.

    Parameters
    ----------
    input : Tensor, shape (..., n, m) or (m,)
    other : Tensor, shape (..., m, p) or (m,), of the same dtype
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor, shape (..., n, p); n or p is missing where the operand is a vector, and two vectors give their inner product

    Raises
    ------
    ShapeError
        If the inner sizes differ, or the batch dimensions cannot be broadcast together, or one has no dimensions.
    DTypeError
        If the dtypes differ.

    >>> import tensorlab
    >>> x = tensorlab.tensor([[1., 2.], [3., 4.]])
    >>> tensorlab.matmul(x, x)
    tensor([[ 7., 10.],
            [15., 22.]])
    """
    cdef TensorBase y = as_tensor_argument(other, "matmul", "other")
    if out is None:
        return run_any(input, y)
    if input.ndim_ > 1 and y.ndim_ > 1:
        check_inner("matmul", input, y, input.sizes[input.ndim_ - 1], y.sizes[y.ndim_ - 2])
        return run_matmul(input, y, out)
    return store_out("matmul", run_any(input, y), out, (input, y))

def matmul_operator(TensorBase x not None, y):
    """`x @ y`; leaves foreign operands to their own class."""
    return run_any(x, <TensorBase>y) if isinstance(y, TensorBase) else NotImplemented

def matmul_reflected(TensorBase x not None, y):
    """`y @ x`, asked of x"""
    return run_any(<TensorBase>y, x) if isinstance(y, TensorBase) else NotImplemented
