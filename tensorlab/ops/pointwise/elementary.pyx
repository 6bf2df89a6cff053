"""Exponentials, logarithms, trigonometric and hyperbolic functions of each element."""
from tensorlab._core.dispatch cimport (
    Op,
    floating_loops,
    run_binary,
    run_out_1,
    run_unary,
    run_unary_inplace,
)
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef extern from "tl_math.h" nogil:
    float tl_tanhf(float)
    double tl_tanh(double)


# ---------------------------------------------------------------- tanh
cdef inline real tanh_scalar(real x) noexcept nogil:
    return tl_tanhf(x) if real is float else tl_tanh(x)

cdef void tanh_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = tanh_scalar(x[i])

cdef Op TANH = Op("tanh(x: Tensor) -> Tensor", dtype="floating", grain=8192)
floating_loops(TANH, <void*>tanh_loop[float], <void*>tanh_loop[double])

@TANH.derivative("x")
def tanh_derivative(grad, out):
    return run_binary(TANH_BACKWARD, grad, out)         # grad * (1 - out * out) in one pass over memory

def tanh(TensorBase input not None, *, out=None):
    """Hyperbolic tangent of each element.

    Returns
    -------
    Tensor of the same shape; integers become the default floating type

    >>> import tensorlab
    >>> tensorlab.tanh(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """
    return run_unary(TANH, input) if out is None else run_out_1(TANH, input, out)

def tanh_(TensorBase input not None):
    """`tanh`, written over `input`."""
    return run_unary_inplace(TANH, input)


# ---------------------------------------------------------------- tanh_backward
cdef void tanh_backward_loop(real* out, real* grad, real* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = grad[i] * (1 - y[i] * y[i])

cdef Op TANH_BACKWARD = Op("tanh_backward(grad: Tensor, y: Tensor) -> Tensor", dtype="floating")
floating_loops(TANH_BACKWARD, <void*>tanh_backward_loop[float], <void*>tanh_backward_loop[double])

@TANH_BACKWARD.derivative("grad")
def tanh_backward_derivative_grad(grad, y):
    return run_binary(TANH_BACKWARD, grad, y)

@TANH_BACKWARD.derivative("y")
def tanh_backward_derivative_y(grad, grad_, y):
    return grad * grad_ * y * -2
