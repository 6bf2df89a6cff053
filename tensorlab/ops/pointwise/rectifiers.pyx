"""Rectifiers: relu and its relatives, which pass positive numbers on and hold back negative ones.

Each has one loop for the function and one for the gradient, so that a layer costs one pass over memory each way. What bends
smoothly everywhere (gelu, silu, ...) is in smooth.pyx, what is made of other straight pieces (hardtanh, ...) in piecewise.pyx.
"""
from tensorlab._core.dispatch.autocast cimport in_lower
from tensorlab._core.dispatch.dispatch cimport (
    run_binary, run_binary_inplace, run_quaternary, run_quaternary_inplace, run_ternary,
    run_unary
)
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dtypes cimport FLOATING
from tensorlab._core.tensor cimport TensorBase

from tensorlab._core.loops.scalar import Searched
from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.pointwise.common import inplace_function, zero_gradient

cdef extern from "rectifiers_loops.h":      # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 8192                # these loops cost several times what a sum costs


# ---------------------------------------------------------------- relu
cdef Op RELU = Op("relu(Tensor x) -> Tensor", dtype="promote",
                  scalar={"real": "x < 0 ? 0 : x"})         # -0. stays, as in PyTorch

@RELU.derivative("x")
def relu_derivative(grad, out):
    return run_binary(RELU_BACKWARD, out, grad)

def relu(TensorBase input not None):
    """max(x, 0) of each element. Its derivative at 0 is taken as 0.

    >>> import tensorlab
    >>> tensorlab.relu(tensorlab.tensor([-1., 0., 2.]))
    tensor([0., 0., 2.])
    """
    return run_unary(RELU, input)

relu_ = inplace_function(RELU, relu)


# ---------------------------------------------------------------- relu_backward
# The result comes first, because the gradient takes over its order of dimensions, as in PyTorch.
cdef Op RELU_BACKWARD = Op("relu_backward(Tensor y, Tensor grad) -> Tensor", dtype="promote",
                           scalar={"floating": "y <= 0 ? 0 : grad"})

@RELU_BACKWARD.derivative("grad")
def relu_backward_derivative(grad, y):
    return run_binary(RELU_BACKWARD, y, grad)

RELU_BACKWARD.derivative("y")(zero_gradient)


# ---------------------------------------------------------------- leaky_relu, prelu
cdef Op LEAKY_RELU = Op("leaky_relu(Tensor x, Tensor negative_slope=0.01) -> Tensor",
                        dtype="promote", scalar={"floating": "x > 0 ? x : x * negative_slope"},
                        wraps_numbers=False)

@LEAKY_RELU.derivative("x")
def leaky_relu_derivative_x(grad, x, negative_slope):
    return run_ternary(LEAKY_RELU_BACKWARD, grad, x, negative_slope)

@LEAKY_RELU.derivative("negative_slope")
def leaky_relu_derivative_slope(grad, x):
    return grad * x.clamp_max(0)

def leaky_relu(TensorBase input not None, double negative_slope=0.01, bint inplace=False):
    """x where it is positive, `negative_slope * x` elsewhere.

    Source: Maas et al. 2013, Rectifier nonlinearities improve neural network acoustic models.

    >>> import tensorlab
    >>> tensorlab.nn.functional.leaky_relu(tensorlab.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    check_dtype("leaky_relu", input, FLOATING)
    return run_binary_inplace(LEAKY_RELU, input, negative_slope) if inplace else run_binary(LEAKY_RELU, input, negative_slope)

def leaky_relu_(TensorBase input not None, double negative_slope=0.01):
    """`leaky_relu`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.leaky_relu_(tensorlab.tensor([-1.0]), 0.5)
    tensor([-0.5000])
    """
    return leaky_relu(input, negative_slope, True)

def leaky_relu_by(TensorBase input not None, TensorBase slope not None):
    """leaky_relu with a slope for each element, or one that is broadcast: what prelu and rrelu are."""
    return run_binary(LEAKY_RELU, input, slope)

def prelu(TensorBase input not None, TensorBase weight not None):
    """leaky_relu whose slope is a parameter: one number, or one for each channel (dimension 1).

    Parameters
    ----------
    weight : Tensor of input's dtype, with 1 or input.shape[1] elements

    Raises
    ------
    ShapeError
        If `weight` has another number of elements.

    Source: He et al. 2015, Delving deep into rectifiers.

    >>> import tensorlab
    >>> tensorlab.prelu(tensorlab.tensor([-4., 2.]), tensorlab.tensor([0.25]))
    tensor([-1.,  2.])
    """
    cdef object channels = input.sizes[1] if input.ndim_ > 1 else 1
    input, weight = in_lower((input, weight))
    check_dtype("prelu", input, FLOATING)
    if weight.dtype_ != input.dtype_:
        raise DTypeError(f"prelu: input is {input.dtype} and weight is {weight.dtype}; they must have one type")
    if weight.ndim_ > 1:
        raise ShapeError(f"prelu: weight has shape {tuple(weight.shape)}; it must be a vector or 0-d")
    if weight.numel_ != 1 and weight.numel_ != channels:
        raise ShapeError(f"prelu: weight has {weight.numel_} elements, but input, of shape {tuple(input.shape)}, has "
                         f"{channels} channels; weight needs one element, or one for each channel")
    slope = weight.reshape([1, weight.numel_] + [1] * (input.ndim_ - 2)) if weight.numel_ != 1 else weight.reshape([])
    return leaky_relu_by(input, slope)


# ---------------------------------------------------------------- leaky_relu_backward
cdef Op LEAKY_RELU_BACKWARD = Op(
    "leaky_relu_backward(Tensor grad, Tensor x, Tensor negative_slope) -> Tensor",
    dtype="promote",
    scalar={"floating": "x > 0 ? grad : grad * negative_slope"})

@LEAKY_RELU_BACKWARD.derivative("grad")
def leaky_relu_backward_derivative_grad(grad, x, negative_slope):
    return run_ternary(LEAKY_RELU_BACKWARD, grad, x, negative_slope)

LEAKY_RELU_BACKWARD.derivative("x")(zero_gradient)

@LEAKY_RELU_BACKWARD.derivative("negative_slope")
def leaky_relu_backward_derivative_slope(grad, grad_, x):
    return (grad * grad_).masked_fill(x > 0, 0)


# ---------------------------------------------------------------- elu, selu, celu
cdef Op ELU = Op("elu(Tensor x, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
                 dtype="promote",
                 scalar={"float32": Searched("scale * x", unless="!(x > 0)",
                                             otherwise="elu#(x, alpha, scale, input_scale)"),
                         "floating": "elu#(x, alpha, scale, input_scale)"},
                 grain=GRAIN)

@ELU.derivative("x")
def elu_derivative(grad, x, alpha, scale, input_scale):
    return grad * run_quaternary(ELU_SLOPE, x, alpha * scale * input_scale, scale, input_scale)

cdef object run_elu(str where, TensorBase x, double alpha, double scale, double input_scale, bint inplace):
    """scale * x where that is positive, scale * alpha * (exp(input_scale * x) - 1) elsewhere"""
    check_dtype(where, x, FLOATING)
    if inplace:
        return run_quaternary_inplace(ELU, x, alpha, scale, input_scale)
    return run_quaternary(ELU, x, alpha, scale, input_scale)

def elu(TensorBase input not None, double alpha=1.0, bint inplace=False):
    """x where it is positive, `alpha * (exp(x) - 1)` elsewhere.

    Source: Clevert et al. 2016, Fast and accurate deep network learning by exponential linear units.

    >>> import tensorlab
    >>> tensorlab.nn.functional.elu(tensorlab.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """
    return run_elu("elu", input, alpha, 1, 1, inplace)

def elu_(TensorBase input not None, double alpha=1.0):
    """`elu`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.elu_(tensorlab.tensor([1.0]))
    tensor([1.])
    """
    return run_elu("elu_", input, alpha, 1, 1, True)

cdef double SELU_ALPHA = 1.6732632423543772848170429916717
cdef double SELU_SCALE = 1.0507009873554804934193349852946

def selu(TensorBase input not None, bint inplace=False):
    """elu, scaled so that layers keep mean 0 and variance 1.

    Source: Klambauer et al. 2017, Self-normalizing neural networks.

    >>> import tensorlab
    >>> tensorlab.selu(tensorlab.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    return run_elu("selu", input, SELU_ALPHA, SELU_SCALE, 1, inplace)

def selu_(TensorBase input not None):
    """`selu`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.selu_(tensorlab.zeros(1))
    tensor([0.])
    """
    return run_elu("selu_", input, SELU_ALPHA, SELU_SCALE, 1, True)

def celu(TensorBase input not None, double alpha=1.0, bint inplace=False):
    """x where it is positive, `alpha * (exp(x / alpha) - 1)` elsewhere: smooth at 0 for every `alpha`.

    Source: Barron 2017, Continuously differentiable exponential linear units.

    >>> import tensorlab
    >>> tensorlab.celu(tensorlab.tensor([-1., 2.]), 2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("celu: alpha is 0; it must not be")
    return run_elu("celu", input, alpha, 1, 1 / alpha, inplace)

def celu_(TensorBase input not None, double alpha=1.0):
    """`celu`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.celu_(tensorlab.tensor([1.0]))
    tensor([1.])
    """
    return celu(input, alpha, True)


# ---------------------------------------------------------------- elu_slope
cdef Op ELU_SLOPE = Op(
    "elu_slope(Tensor x, Scalar negative, Scalar positive, Scalar rate) -> Tensor", aten=None,
    dtype="promote",
    scalar={"floating": "elu_slope#(x, negative, positive, rate)"},
    grain=GRAIN)

@ELU_SLOPE.derivative("x")
def elu_slope_derivative(grad, x, negative, rate):
    return grad * run_quaternary(ELU_SLOPE, x, negative * rate, 0.0, rate)


set_loops(tl_loops)
