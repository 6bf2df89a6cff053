"""Matrix products: mm, bmm, mv, dot, and matmul, which chooses among them.

All are one formula, out[..., i, j] = sum over k of x[..., i, k] * y[..., k, j], and so are their derivatives:

    grad_x = grad @ y'        grad_y = x' @ grad        (' swaps the last two dimensions)

What is broadcast over the batch is not copied: it has stride 0 there. Nor is a matrix that meets a batch: if the batch can be
read as one tall matrix, a single product does it all.
"""
from tensorlab._core.out_argument cimport store_out
from tensorlab._core.op cimport Op
from tensorlab._core.operands cimport check_same_place
from tensorlab._core.dtypes cimport BOOL, kernel_dtype
from tensorlab._core.graph cimport bump_version, should_record
from tensorlab._core.layout cimport MAX_NDIM, broadcast_into, shape_text, ssize, view_strides
from tensorlab._core.recording cimport OpNode, begin_record, end_record, record
from tensorlab._core.tensor cimport VIEW_NO_GRAD, TensorBase, alias_as, empty_beside, is_meta, memory_of
from tensorlab.ops.linalg.blas cimport Matrix, inner_product, multiply, multiply_batch, set_matrix

from cpython.object cimport PyObject

from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType


# ---------------------------------------------------------------- checks
cdef TensorBase as_tensor_argument(object x, str where, str name):
    if not isinstance(x, TensorBase):
        raise TypeError(f"{where}: argument {name!r} must be a Tensor, not {type(x).__name__}")
    return <TensorBase>x


cdef int check_product(str where, TensorBase x, TensorBase y) except -1:
    """Both of one type, which can be multiplied, and on one device."""
    check_same_place(x, y, where)
    if x.dtype_ != y.dtype_:
        raise DTypeError(f"{where}: the operands have types {x.dtype} and {y.dtype}; convert one with .to() first")
    if x.dtype_ == BOOL:
        raise UnsupportedDType(f"{where}: not implemented for {x.dtype}; convert with .to() first")
    return 0


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
    """x with its last two dimensions swapped: recorded if autograd follows x, else a bare alias."""
    if should_record(x):
        return x.transpose(-2, -1)
    return flipped(x)


cdef TensorBase flipped(TensorBase x):
    """The same, unseen by autograd."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i, n = x.ndim_
    for i in range(n - 2):
        sizes[i] = x.sizes[i]
        strides[i] = x.strides[i]
    sizes[n - 2], sizes[n - 1] = x.sizes[n - 1], x.sizes[n - 2]
    strides[n - 2], strides[n - 1] = x.strides[n - 1], x.strides[n - 2]
    return alias_as(x, n, sizes, strides, x.data_)


# ---------------------------------------------------------------- mm
cdef TensorBase mm_forward(TensorBase x, TensorBase y):
    cdef ssize[2] sizes
    cdef Matrix to, left, right
    cdef TensorBase out
    sizes[0] = x.sizes[0]
    sizes[1] = y.sizes[1]
    out = empty_beside(x, x.dtype_, 2, sizes)
    if is_meta(out):
        return out
    if (out.numel_ <= 256 and x.sizes[1] <= 16 and sizes[0] <= 16 and sizes[1] <= 16 and not is_meta(y)
            and kernel_dtype(x.dtype_) == x.dtype_):
        set_matrix(&to, out, False)
        set_matrix(&left, x, False)
        set_matrix(&right, y, False)
        multiply(x.dtype_, &to, &left, &right, 1, 0)    # so small that nothing has to be prepared
    else:
        multiply_batch(out, x, y, 1, 0)
    return out

# The last two arguments say whether an operand lies in memory column after column, as a transposed matrix does. Its gradient is
# then made so too (as the transpose of another product), and after the transpose's own gradient it is row-major again: the
# gradient of w in x @ w.T need not be copied to fit w.
cdef Op MM = Op("mm(Tensor x, Tensor y, bool x_is_transposed, bool y_is_transposed) -> Tensor", public={"y": "mat2"})

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

cdef object YES = True
cdef object NO = False

cdef inline bint is_transposed(TensorBase x) noexcept:
    return x.strides[0] == 1 and x.strides[1] == x.sizes[0]

cdef object run_mm(TensorBase x, TensorBase y):
    cdef PyObject* operands[4]
    cdef OpNode node
    cdef TensorBase out = mm_forward(x, y)
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>YES if is_transposed(x) else <PyObject*>NO
    operands[3] = <PyObject*>YES if is_transposed(y) else <PyObject*>NO
    node = begin_record(MM, operands, 4)
    if node is not None:
        end_record(node, out)
    return out

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
        If one is no matrix, or the inner sizes differ.
    DTypeError
        If the dtypes differ.

    >>> import tensorlab
    >>> tensorlab.mm(tensorlab.tensor([[1., 2.]]), tensorlab.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    cdef TensorBase y = as_tensor_argument(mat2, "mm", "mat2")
    if input.ndim_ != 2 or y.ndim_ != 2:
        raise ShapeError(f"mm: two matrices are needed, not tensors of shapes {shape_text(input.ndim_, input.sizes)} and "
                         f"{shape_text(y.ndim_, y.sizes)}; matmul takes other dimensions")
    check_product("mm", input, y)
    check_inner("mm", input, y, input.sizes[1], y.sizes[0])
    if out is not None:
        return store_out("mm", mm_forward(input, y), out, (input, y))
    return run_mm(input, y)


# ---------------------------------------------------------------- dot
cdef Op DOT = Op("dot(Tensor x, Tensor y) -> Tensor", public={"y": "tensor"})

@DOT.derivative("x")
def dot_derivative_x(grad, y):
    return grad * y

@DOT.derivative("y")
def dot_derivative_y(grad, x):
    return grad * x

cdef TensorBase dot_forward(TensorBase x, TensorBase y):
    cdef TensorBase out = empty_beside(x, x.dtype_, 0, NULL), left, right
    if is_meta(out):
        return out
    if kernel_dtype(x.dtype_) == x.dtype_:
        inner_product(x.dtype_, memory_of(out), memory_of(x), x.strides[0], memory_of(y), y.strides[0], x.numel_)
        return out
    left = x.float()                                    # half types
    right = y.float()
    return dot_forward(left.detach(), right.detach()).to(x.dtype)

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
    if input.ndim_ != 1 or y.ndim_ != 1:
        raise ShapeError(f"dot: two vectors are needed, not tensors of {input.ndim_} and {y.ndim_} dimensions")
    check_product("dot", input, y)
    if input.numel_ != y.numel_:
        raise ShapeError(f"dot: the vectors have {input.numel_} and {y.numel_} elements; they must be equally long")
    if out is not None:
        return store_out("dot", dot_forward(input, y), out, (input, y))
    return record(DOT, dot_forward(input, y), (input, y))


# ---------------------------------------------------------------- mv
cdef TensorBase mv_forward(TensorBase x, TensorBase y):
    """As a product of matrices, the second of one column."""
    cdef TensorBase out = empty_beside(x, x.dtype_, 1, x.sizes)
    cdef ssize[2] sizes, strides
    sizes[1] = strides[1] = 1
    sizes[0] = y.sizes[0]
    strides[0] = y.strides[0]
    y = alias_as(y, 2, sizes, strides, y.data_)
    sizes[0] = out.sizes[0]
    strides[0] = 1
    multiply_batch(alias_as(out, 2, sizes, strides, out.data_), x, y, 1, 0)
    return out

cdef Op MV = Op("mv(Tensor x, Tensor y) -> Tensor", public={"y": "vec"})

@MV.derivative("x")
def mv_derivative_x(grad, y):
    return grad.unsqueeze(1) * y

@MV.derivative("y")
def mv_derivative_y(grad, x):
    return run_mv(transposed(x), grad)

cdef object run_mv(TensorBase x, TensorBase y):
    return record(MV, mv_forward(x, y), (x, y))

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
    if input.ndim_ != 2 or y.ndim_ != 1:
        raise ShapeError(f"mv: a matrix and a vector are needed, not tensors of shapes "
                         f"{shape_text(input.ndim_, input.sizes)} and {shape_text(y.ndim_, y.sizes)}")
    check_product("mv", input, y)
    check_inner("mv", input, y, input.sizes[1], y.sizes[0])
    if out is not None:
        return store_out("mv", mv_forward(input, y), out, (input, y))
    return run_mv(input, y)


# ---------------------------------------------------------------- vm
cdef Op VM = Op("vm(Tensor x, Tensor y) -> Tensor", node="SqueezeBackward4")

@VM.derivative("x")
def vm_derivative_x(grad, y):
    return run_mv(y, grad)

@VM.derivative("y")
def vm_derivative_y(grad, x):
    return x.unsqueeze(1) * grad

cdef object run_vm(TensorBase x, TensorBase y):
    """A vector times a matrix."""
    cdef TensorBase out
    if x.creation == VIEW_NO_GRAD and should_record(x):
        return run_matmul(x.unsqueeze(0), y).squeeze_(0)        # as PyTorch, which saves y though no gradient leaves x
    out = mv_forward(flipped(y), x)
    bump_version(out)                                   # PyTorch drops a dimension of its result in place, and its version tells
    return record(VM, out, (x, y))


# ---------------------------------------------------------------- bmm
cdef TensorBase batch_forward(TensorBase x, TensorBase y, int ndim, const ssize* batch):
    """The product of matrices for each index of the `ndim` batch dimensions, to which both are broadcast."""
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase out
    cdef int i
    for i in range(ndim):
        sizes[i] = batch[i]
    sizes[ndim] = x.sizes[x.ndim_ - 2]
    sizes[ndim + 1] = y.sizes[y.ndim_ - 1]
    out = empty_beside(x, x.dtype_, ndim + 2, sizes)
    multiply_batch(out, broadcast_batch(x, out), broadcast_batch(y, out), 1, 0)
    return out

cdef TensorBase broadcast_batch(TensorBase x, TensorBase out):
    """x with the batch dimensions of `out`; stride 0 where it is broadcast."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i, n = out.ndim_, shift = n - x.ndim_
    for i in range(n):
        sizes[i] = out.sizes[i] if i < n - 2 else x.sizes[i - shift]
        strides[i] = 0 if i < shift or (i < n - 2 and x.sizes[i - shift] == 1) else x.strides[i - shift]
    return alias_as(x, n, sizes, strides, x.data_)

cdef Op BMM = Op("bmm(Tensor x, Tensor y) -> Tensor", public={"y": "mat2"})

@BMM.derivative("x")
def bmm_derivative_x(grad, y):
    return run_bmm(grad, transposed(y))

@BMM.derivative("y")
def bmm_derivative_y(grad, x):
    return run_bmm(transposed(x), grad)

cdef object run_bmm(TensorBase x, TensorBase y):
    return record(BMM, batch_forward(x, y, 1, x.sizes), (x, y))

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
    if input.ndim_ != 3 or y.ndim_ != 3:
        raise ShapeError(f"bmm: two batches of matrices are needed, not tensors of shapes "
                         f"{shape_text(input.ndim_, input.sizes)} and {shape_text(y.ndim_, y.sizes)}")
    check_product("bmm", input, y)
    if input.sizes[0] != y.sizes[0]:
        raise ShapeError(f"bmm: batches of {input.sizes[0]} and {y.sizes[0]} matrices; they must be equally large (matmul "
                         f"broadcasts)")
    check_inner("bmm", input, y, input.sizes[2], y.sizes[1])
    if out is not None:
        return store_out("bmm", batch_forward(input, y, 1, input.sizes), out, (input, y))
    return run_bmm(input, y)


# ---------------------------------------------------------------- matmul
cdef TensorBase matmul_forward(TensorBase x, TensorBase y):
    """Two tensors of at least two dimensions, one of them with more."""
    cdef ssize[MAX_NDIM] batch, sizes
    cdef ssize[2] folded, strides
    cdef TensorBase out
    cdef int i, ndim = 0
    if y.ndim_ == 2:                                    # (..., n, m) @ (m, p): one tall matrix, if strides allow
        folded[0] = 1
        for i in range(x.ndim_ - 1):
            folded[0] *= x.sizes[i]
            sizes[i] = x.sizes[i]
        folded[1] = x.sizes[x.ndim_ - 1]
        if x.numel_ > 0 and view_strides(x.ndim_, x.sizes, x.strides, 2, folded, strides):
            sizes[x.ndim_ - 1] = y.sizes[1]
            out = empty_beside(x, x.dtype_, x.ndim_, sizes)
            x = alias_as(x, 2, folded, strides, x.data_)
            folded[1] = y.sizes[1]
            strides[0] = y.sizes[1]
            strides[1] = 1
            multiply_batch(alias_as(out, 2, folded, strides, out.data_), x, y, 1, 0)
            return out
    broadcast_into(x.ndim_ - 2, x.sizes, &ndim, batch)
    if broadcast_into(y.ndim_ - 2, y.sizes, &ndim, batch) < 0:
        raise ShapeError(f"matmul: the batch dimensions of {shape_text(x.ndim_, x.sizes)} and {shape_text(y.ndim_, y.sizes)} "
                         f"cannot be broadcast together: counted from the right, sizes must be equal or 1")
    return batch_forward(x, y, ndim, batch)

cdef Op MATMUL = Op("matmul(Tensor x, Tensor y, bool y_is_transposed) -> Tensor")

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
    return x.reshape(-1, x.sizes[x.ndim_ - 1])

cdef object run_matmul(TensorBase x, TensorBase y):
    """matmul of checked tensors of at least two dimensions."""
    if x.ndim_ == 2 and y.ndim_ == 2:
        return run_mm(x, y)
    return record(MATMUL, matmul_forward(x, y), (x, y, y.ndim_ == 2 and is_transposed(y)))

cdef object run_any(TensorBase x, TensorBase y):
    """matmul of tensors of any dimensions; vectors become a row or a column, which is dropped again from the result."""
    check_product("matmul", x, y)
    if x.ndim_ == 0 or y.ndim_ == 0:
        raise ShapeError(f"matmul: both need at least one dimension, but they have {x.ndim_} and {y.ndim_}; use x * y")
    check_inner("matmul", x, y, x.sizes[x.ndim_ - 1], y.sizes[max(y.ndim_ - 2, 0)])
    if x.ndim_ > 1 and y.ndim_ > 1:
        return run_matmul(x, y)
    if x.ndim_ == 1 and y.ndim_ == 1:
        return record(DOT, dot_forward(x, y), (x, y))
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
    if out is not None:
        return store_out("matmul", run_any(input, y), out, (input, y))
    return run_any(input, y)

def matmul_operator(TensorBase x not None, y):
    """`x @ y`; leaves foreign operands to their own class."""
    return run_any(x, <TensorBase>y) if isinstance(y, TensorBase) else NotImplemented

def matmul_reflected(TensorBase x not None, y):
    """`y @ x`, asked of x"""
    return run_any(<TensorBase>y, x) if isinstance(y, TensorBase) else NotImplemented
