"""The functions of tensorlab.sparse."""

from tensorlab.errors import UnsupportedDType
from tensorlab.sparse import forms
from tensorlab.sparse.autograd import (
    ProductOfSparse,
    SampledProduct,
    SparseProduct,
    SparseSum,
    like_pattern,
)
from tensorlab.sparse.products import check_matrices
from tensorlab.sparse.reductions import Softmax
from tensorlab.sparse.tensors import SparseTensor


def mm(mat1, mat2, reduce=None):
    """Multiply a sparse matrix by a dense or a sparse one.

    The gradient of a sparse matrix is held where the matrix holds elements: backward doesn't make a
    dense matrix, as that of `torch.mm` does.

    Parameters
    ----------
    mat1 : Tensor, shape (n, m), sparse
    mat2 : Tensor, shape (m, p), dense, or sparse: then the result is sparse
    reduce : refused: the products of a row are added up

    Returns
    -------
    Tensor, shape (n, p)

    Raises
    ------
    RuntimeError
        If the shapes or dtypes do not go together, or both matrices are dense.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.sparse.mm(tensorlab.eye(2).to_sparse(), tensorlab.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    if reduce is not None:
        raise NotImplementedError(
            f"sparse.mm: reduce={reduce!r} is not there; scatter_reduce of the products does it"
        )
    if isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        check_matrices("sparse.mm", mat1, mat2)
        return SparseProduct.apply(mat1, mat2, None, 1, 1)
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        raise RuntimeError("sparse.mm: one of the matrices must be sparse; use mm for dense ones")
    check_matrices("sparse.mm", mat1, mat2)
    if isinstance(mat1, SparseTensor):
        return ProductOfSparse.apply(mat1, mat2)
    return SparseProduct.apply(mat2.t(), mat1.t(), None, 1, 1).t()


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta * mat + alpha * (mat1 @ mat2), with a sparse mat1; its gradient is sparse as in `mm`.

    Parameters
    ----------
    mat : Tensor, shape (n, p), dense
    mat1 : Tensor, shape (n, m), sparse
    mat2 : Tensor, shape (m, p), dense
    beta, alpha : float

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, 1)
    >>> tensorlab.sparse.addmm(x, tensorlab.eye(2).to_sparse(), x, alpha=3.0)
    tensor([[4.],
            [4.]])
    """
    if not isinstance(mat1, SparseTensor):
        raise RuntimeError("sparse.addmm: mat1 must be sparse; use addmm for dense matrices")
    check_matrices("sparse.addmm", mat1, mat2)
    return SparseProduct.apply(mat1, mat2, mat, beta, alpha)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """beta * input + alpha * (mat1 @ mat2), only where `input` holds elements.

    Parameters
    ----------
    input : Tensor of layout sparse_csr, shape (n, p)
    mat1, mat2 : dense Tensors, shapes (n, m) and (m, p)
    beta, alpha : float

    Returns
    -------
    Tensor of layout sparse_csr

    Examples
    --------
    >>> import tensorlab
    >>> places = tensorlab.eye(2).to_sparse_csr()
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.sparse.sampled_addmm(places, x, x, beta=0.0).values()
    tensor([ 7., 22.])
    """
    if not isinstance(input, SparseTensor) or input.is_sparse:
        raise RuntimeError(
            f"sampled_addmm: expected input of layout tensorlab.sparse_csr, but got {input.layout}"
        )
    check_matrices("sampled_addmm", mat1, mat2)
    if tuple(input.shape) != (mat1.shape[0], mat2.shape[1]):
        raise RuntimeError(
            f"sampled_addmm: self.shape {tuple(input.shape)} does not match the product, "
            f"{(mat1.shape[0], mat2.shape[1])}"
        )
    product = SampledProduct.apply(input.detach(), mat1, mat2)
    result = product * alpha if alpha != 1 else product
    if beta != 0:
        result = result + input * beta
    if out is not None:
        return out.assign(result)
    return result


def sum(input, dim=None, dtype=None):
    """Add up the elements of a sparse tensor; the gradient is held where the tensor holds elements.

    Parameters
    ----------
    input : Tensor of layout sparse_coo
    dim : int or sequence of int; all dimensions unless given
    dtype : dtype of the result

    Returns
    -------
    Tensor, sparse if a sparse dimension is left, else dense

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.sparse.sum(tensorlab.eye(2).to_sparse(), 0).to_dense()
    tensor([1., 1.])
    """
    if not isinstance(input, SparseTensor) or not input.is_sparse:
        raise RuntimeError(
            f"sparse.sum: expected a tensor of layout tensorlab.sparse_coo, but got {input.layout}"
        )
    if dtype is not None:
        input = input.to(dtype)
    return SparseSum.apply(input, dim)


def softmax(input, dim, *, dtype=None):
    """softmax over the held elements of a dimension, as if the others were -inf.

    Parameters
    ----------
    input : Tensor of layout sparse_coo
    dim : int
    dtype : dtype, to which the input is converted first

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[0.0, 1.0], [2.0, 2.0]]).to_sparse()
    >>> tensorlab.sparse.softmax(x, 1).values()
    tensor([1.0000, 0.5000, 0.5000])
    """
    return run_softmax(input, dim, dtype, False)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of `softmax`, over the held elements of a dimension.

    Parameters
    ----------
    input : Tensor of layout sparse_coo
    dim : int
    dtype : dtype, to which the input is converted first

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[0.0, 1.0], [2.0, 2.0]]).to_sparse()
    >>> tensorlab.sparse.log_softmax(x, 1).values()
    tensor([ 0.0000, -0.6931, -0.6931])
    """
    return run_softmax(input, dim, dtype, True)


def run_softmax(input, dim, dtype, is_log):
    """softmax or log_softmax."""
    if not isinstance(input, SparseTensor):
        raise RuntimeError("sparse.softmax: the tensor is dense; use softmax")
    if dtype is not None:
        input = input.to(dtype)
    elif not input.dtype.is_floating_point:
        raise UnsupportedDType(
            f"sparse.{'log_softmax' if is_log else 'softmax'}: not implemented for {input.dtype}; "
            f"give dtype=tensorlab.float32"
        )
    if not -input.dim() <= dim < input.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.dim()}, "
            f"{input.dim() - 1}], but got {dim})"
        )
    return Softmax.apply(input, dim, is_log)


def as_sparse_gradcheck(gradcheck):
    """Make gradcheck take sparse inputs: it changes their values, and their places stay.

    Examples
    --------
    >>> import tensorlab
    >>> check = tensorlab.sparse.as_sparse_gradcheck(tensorlab.autograd.gradcheck)
    >>> x = tensorlab.eye(2, dtype=tensorlab.float64).to_sparse().requires_grad_()
    >>> check(lambda x: x.to_dense(), x)
    True
    """

    def check(function, inputs, **kwargs):
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        patterns = [
            forms.coalesced(one.alias()) if isinstance(one, SparseTensor) and one.is_sparse else one
            for one in given
        ]
        leaves = [
            pattern._parts.values.detach().clone().requires_grad_(one.requires_grad)
            if isinstance(one, SparseTensor)
            else one
            for one, pattern in zip(given, patterns, strict=True)
        ]

        def dense(result):
            return result.to_dense() if isinstance(result, SparseTensor) else result

        def of_values(*values):
            rebuilt = [
                like_pattern(value, pattern) if isinstance(pattern, SparseTensor) else value
                for value, pattern in zip(values, patterns, strict=True)
            ]
            results = function(*rebuilt)
            if isinstance(results, (list, tuple)):
                return tuple(dense(one) for one in results)
            return dense(results)

        kwargs.pop("masked", None)
        return gradcheck(of_values, tuple(leaves), **kwargs)

    check.__name__ = getattr(gradcheck, "__name__", "gradcheck")
    return check
