"""The nuclear norm of matrices: the sum of their singular values.

With x = U S V^H its gradient is U V^H, the polar factor of x, which is an op of its own and so has a derivative, too. LAPACK
computes them, through NumPy, for each matrix of a batch.
"""
from tensorlab._core.dispatch.dispatch cimport run_1, run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport real_dtype
from tensorlab._core.tensor cimport TensorBase, alias, result_beside

import numpy as np

from tensorlab._core.interop.arrays import numpy
from tensorlab.errors import GradientError


cdef tuple decompose(TensorBase x):
    """U, S and V^H of the matrices in the last two dimensions, as arrays."""
    try:
        return tuple(np.linalg.svd(numpy(alias(x)), full_matrices=False))
    except np.linalg.LinAlgError:
        raise RuntimeError("norm: the singular values can't be computed; are there infinities or nan "
                           "among the elements?") from None


# ---------------------------------------------------------------- nuclear_norm
cdef Op NUCLEAR_NORM = Op("nuclear_norm(Tensor x) -> Tensor", fixed="bool keepdim=False",
                          checks_values=True, holomorphic=False)

@NUCLEAR_NORM.infer
def nuclear_norm_infer(TensorBase x):
    return result_beside(x, real_dtype(x.dtype_), x.ndim_ - 2, x.sizes)

@NUCLEAR_NORM.kernel
def nuclear_norm_kernel(TensorBase out, TensorBase x):
    numpy(out)[...] = decompose(x)[1].sum(-1)

@NUCLEAR_NORM.derivative("x")
def nuclear_norm_derivative(grad, x):
    return grad[..., None, None] * run_1(POLAR_FACTOR, x)


cdef object run_nuclear_norm(TensorBase x):
    """The nuclear norm of each matrix in the last two dimensions."""
    return run_1(NUCLEAR_NORM, x)


# ---------------------------------------------------------------- polar_factor
cdef Op POLAR_FACTOR = Op("polar_factor(Tensor x) -> Tensor", aten=None, checks_values=True, holomorphic=False)

@POLAR_FACTOR.infer
def polar_factor_infer(TensorBase x):
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@POLAR_FACTOR.kernel
def polar_factor_kernel(TensorBase out, TensorBase x):
    u, _, v_h = decompose(x)
    numpy(out)[...] = u @ v_h

@POLAR_FACTOR.derivative("x")
def polar_factor_derivative(grad, x):
    return run_2(POLAR_FACTOR_BACKWARD, grad, x)


# ---------------------------------------------------------------- polar_factor_backward
cdef Op POLAR_FACTOR_BACKWARD = Op("polar_factor_backward(Tensor grad, Tensor x) -> Tensor", holomorphic=False)

@POLAR_FACTOR_BACKWARD.infer
def polar_factor_backward_infer(TensorBase grad, TensorBase x):
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@POLAR_FACTOR_BACKWARD.kernel
def polar_factor_backward_kernel(TensorBase out, TensorBase grad, TensorBase x):
    """What turns within the space of U and V, and what leaves it: of that, the longer side of the matrix has some."""
    u, s, v_h = decompose(x)
    g = numpy(alias(grad))
    u_h, v = adjoint(u), adjoint(v_h)
    turned = u_h @ g @ v
    sums = s[..., :, None] + s[..., None, :]
    inner = (turned - adjoint(turned)) * inverse(sums)
    shares = inverse(s)[..., None]
    left = (g @ v - u @ turned) @ (shares * v_h)
    right = (u * shares.swapaxes(-1, -2)) @ (u_h @ g - turned @ v_h)
    numpy(out)[...] = u @ inner @ v_h + left + right

cdef object adjoint(object array):
    return array.swapaxes(-1, -2).conj()

cdef object inverse(object numbers):
    """1 / x, and 0 for 0, where the norm has a kink."""
    return np.divide(1, numbers, out=np.zeros_like(numbers), where=numbers != 0)

@POLAR_FACTOR_BACKWARD.derivative("grad")
def polar_factor_backward_derivative_grad(grad, x):
    return run_2(POLAR_FACTOR_BACKWARD, grad, x)            # a matrix of second derivatives is symmetric

@POLAR_FACTOR_BACKWARD.derivative("x")
def polar_factor_backward_derivative_x(grad, grad_, x):
    raise GradientError("polar_factor_backward: the nuclear norm has no third derivative here; detach() what needs none")
