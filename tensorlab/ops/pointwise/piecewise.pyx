"""Activation functions made of straight pieces: hardtanh, hardsigmoid, hardswish, threshold, the shrinking functions.

At a corner the derivative is PyTorch's choice of the two slopes; of a straight piece the second one is 0. softsign, tanhshrink
and glu, which are written in terms of other ops, stand at the end.
"""
from tensorlab._core.dispatch.dispatch cimport (
    run_binary, run_quaternary, run_ternary, run_ternary_inplace, run_unary, run_unary_inplace
)
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dtypes cimport BOOL, FLOATING, INTEGRAL, UINT8, is_in
from tensorlab._core.tensor cimport TensorBase

from tensorlab.errors import DTypeError
from tensorlab.ops.pointwise.common import zero_gradient

cdef extern from "piecewise_loops.h":       # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- hardtanh
cdef Op HARDTANH = Op("hardtanh(Tensor x, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
                      dtype="promote", scalar={"real": "clamp#(x, min_val, max_val)"})

@HARDTANH.derivative("x")
def hardtanh_derivative(grad, x, min_val, max_val):
    return run_quaternary(HARDTANH_BACKWARD, grad, x, min_val, max_val)

cdef object run_hardtanh(str where, TensorBase x, object low, object high, bint inplace):
    if low > high:
        raise ValueError(f"{where}: min_val is {low} and max_val is {high}; min_val must not be above max_val")
    if x.dtype_ == BOOL:
        raise DTypeError(f"{where}: not implemented for tensorlab.bool; convert with .to(float) first")
    low, high = in_category(x, low), in_category(x, high)
    if x.dtype_ == UINT8 and low < 0:
        raise DTypeError(f"{where}: min_val is {low}, but input is tensorlab.uint8, which has no negative numbers")
    return run_ternary_inplace(HARDTANH, x, low, high) if inplace else run_ternary(HARDTANH, x, low, high)

cdef object in_category(TensorBase x, object value):
    """A number that does not change the type of the result: cut to an integer if x holds integers."""
    return float(value) if is_in(x.dtype_, FLOATING) else int(value)

def hardtanh(TensorBase input not None, min_val=-1.0, max_val=1.0, bint inplace=False):
    """Each element, moved to the nearer bound if it lies outside of [min_val, max_val]; no gradient at the bounds.

    Raises
    ------
    ValueError
        If min_val > max_val.

    >>> import tensorlab
    >>> tensorlab.nn.functional.hardtanh(tensorlab.tensor([-2., 0.5, 2.]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    return run_hardtanh("hardtanh", input, min_val, max_val, inplace)

def hardtanh_(TensorBase input not None, min_val=-1.0, max_val=1.0):
    """`hardtanh`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.hardtanh_(tensorlab.tensor([3.0]))
    tensor([1.])
    """
    return run_hardtanh("hardtanh_", input, min_val, max_val, True)

def relu6(TensorBase input not None, bint inplace=False):
    """`hardtanh` from 0 to 6.

    >>> import tensorlab
    >>> tensorlab.nn.functional.relu6(tensorlab.tensor([-1., 3., 9.]))
    tensor([0., 3., 6.])
    """
    return run_hardtanh("relu6", input, 0.0, 6.0, inplace)


# ---------------------------------------------------------------- hardtanh_backward
cdef Op HARDTANH_BACKWARD = Op(
    "hardtanh_backward(Tensor grad, Tensor x, Scalar min_val, Scalar max_val) -> Tensor",
    public={"grad": "grad_output"}, aten="hardtanh_backward", dtype="promote",
    scalar={"floating": "(x > min_val) & (x < max_val) ? grad : 0"})

@HARDTANH_BACKWARD.derivative("grad")
def hardtanh_backward_derivative(grad, x, min_val, max_val):
    return run_quaternary(HARDTANH_BACKWARD, grad, x, min_val, max_val)

HARDTANH_BACKWARD.derivative("x")(zero_gradient)


# ---------------------------------------------------------------- hardsigmoid
cdef Op HARDSIGMOID = Op("hardsigmoid(Tensor x) -> Tensor", dtype="promote",
                         scalar={"floating": "clamp#(x + (T)3, (T)0, (T)6) / (T)6"})

@HARDSIGMOID.derivative("x")
def hardsigmoid_derivative(grad, x):
    return run_quaternary(HARDTANH_BACKWARD, grad, x, -3.0, 3.0) / 6

def hardsigmoid(TensorBase input not None, bint inplace=False):
    """(x + 3) / 6, clamped to [0, 1].

    >>> import tensorlab
    >>> tensorlab.nn.functional.hardsigmoid(tensorlab.tensor([-4., 0., 4.]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return run_unary_inplace(HARDSIGMOID, input) if inplace else run_unary(HARDSIGMOID, input)


# ---------------------------------------------------------------- hardswish
cdef Op HARDSWISH = Op("hardswish(Tensor x) -> Tensor", dtype="promote",
                       scalar={"floating": "x * clamp#(x + (T)3, (T)0, (T)6) / (T)6"})

@HARDSWISH.derivative("x")
def hardswish_derivative(grad, x):
    return run_binary(HARDSWISH_BACKWARD, grad, x)

def hardswish(TensorBase input not None, bint inplace=False):
    """x times hardsigmoid(x).

    Source: Howard et al. 2019, Searching for MobileNetV3.

    >>> import tensorlab
    >>> tensorlab.nn.functional.hardswish(tensorlab.tensor([-4., 1., 4.]))
    tensor([-0.0000,  0.6667,  4.0000])
    """
    return run_unary_inplace(HARDSWISH, input) if inplace else run_unary(HARDSWISH, input)


# ---------------------------------------------------------------- hardswish_backward
cdef Op HARDSWISH_BACKWARD = Op(
    "hardswish_backward(Tensor grad, Tensor x) -> Tensor",
    public={"grad": "grad_output"}, aten="hardswish_backward", dtype="promote",
    scalar={"floating": "x <= -3 ? 0 : x < 3 ? grad * (x / (T)3 + (T)0.5) : grad"})

@HARDSWISH_BACKWARD.derivative("grad")
def hardswish_backward_derivative_grad(grad, x):
    return run_binary(HARDSWISH_BACKWARD, grad, x)

@HARDSWISH_BACKWARD.derivative("x")
def hardswish_backward_derivative_x(grad, grad_, x):
    return run_quaternary(HARDTANH_BACKWARD, grad * grad_, x, -3.0, 3.0) / 3


# ---------------------------------------------------------------- threshold
cdef Op THRESHOLD = Op("threshold(Tensor x, Scalar threshold, Scalar value) -> Tensor",
                       dtype="promote", scalar={"real": "x <= threshold ? value : x"})

@THRESHOLD.derivative("x")
def threshold_derivative(grad, x, threshold):
    return run_ternary(THRESHOLD_BACKWARD, grad, x, threshold)

cdef object run_threshold(str where, TensorBase x, object threshold, object value, bint inplace, object out):
    check_dtype(where, x, INTEGRAL | FLOATING)
    threshold, value = in_category(x, threshold), in_category(x, value)
    if inplace and out is None:
        return run_ternary_inplace(THRESHOLD, x, threshold, value)
    return run_ternary(THRESHOLD, x, threshold, value, out)

def threshold(TensorBase input not None, threshold, value, bint inplace=False, *, out=None):
    """x where it is above `threshold`, `value` elsewhere.

    >>> import tensorlab
    >>> tensorlab.threshold(tensorlab.tensor([0., 1., 2.]), 1, -5)
    tensor([-5., -5.,  2.])
    """
    return run_threshold("threshold", input, threshold, value, inplace, out)

def threshold_(TensorBase input not None, threshold, value):
    """`threshold`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.threshold_(tensorlab.tensor([-1.0, 2.0]), 0.5, 0.0)
    tensor([0., 2.])
    """
    return run_threshold("threshold_", input, threshold, value, True, None)


# ---------------------------------------------------------------- threshold_backward
cdef Op THRESHOLD_BACKWARD = Op(
    "threshold_backward(Tensor grad, Tensor x, Scalar threshold) -> Tensor",
    public={"grad": "grad_output"}, aten="threshold_backward", dtype="promote",
    scalar={"floating": "x <= threshold ? 0 : grad"})

@THRESHOLD_BACKWARD.derivative("grad")
def threshold_backward_derivative(grad, x, threshold):
    return run_ternary(THRESHOLD_BACKWARD, grad, x, threshold)

THRESHOLD_BACKWARD.derivative("x")(zero_gradient)


# ---------------------------------------------------------------- softshrink
cdef Op SOFTSHRINK = Op(
    "softshrink(Tensor x, Scalar lambd=0.5) -> Tensor", dtype="promote",
    scalar={"floating": "softshrink#(x, lambd)"},
    wraps_numbers=False, exact_out=True)

@SOFTSHRINK.derivative("x")
def softshrink_derivative(grad, x, lambd):
    return run_ternary(SHRINK_BACKWARD, grad, x, lambd)

def softshrink(TensorBase input not None, double lambd=0.5, *, out=None):
    """x moved towards 0 by `lambd`, and 0 where it is nearer than that.

    Raises
    ------
    RuntimeError
        If `lambd` is negative.

    >>> import tensorlab
    >>> tensorlab.nn.functional.softshrink(tensorlab.tensor([-2., 0.1, 2.]))
    tensor([-1.5000,  0.0000,  1.5000])
    """
    check_dtype("softshrink", input, FLOATING)
    if not lambd >= 0:
        raise RuntimeError(f"softshrink: lambd is {lambd}; it must not be negative")
    return run_binary(SOFTSHRINK, input, lambd, out)


# ---------------------------------------------------------------- hardshrink
cdef Op HARDSHRINK = Op("hardshrink(Tensor x, Scalar lambd=0.5) -> Tensor", dtype="promote",
                        scalar={"floating": "(x >= -lambd) & (x <= lambd) ? 0 : x"},
                        wraps_numbers=False, exact_out=True)

@HARDSHRINK.derivative("x")
def hardshrink_derivative(grad, x, lambd):
    return run_ternary(SHRINK_BACKWARD, grad, x, lambd)

def hardshrink(TensorBase input not None, double lambd=0.5, *, out=None):
    """x, and 0 where it is within `lambd` of 0.

    >>> import tensorlab
    >>> tensorlab.hardshrink(tensorlab.tensor([-2., 0.1, 2.]))
    tensor([-2.,  0.,  2.])
    """
    check_dtype("hardshrink", input, FLOATING)
    return run_binary(HARDSHRINK, input, lambd, out)


# ---------------------------------------------------------------- shrink_backward
cdef Op SHRINK_BACKWARD = Op("shrink_backward(Tensor grad, Tensor x, Scalar lambd) -> Tensor",
                             dtype="promote",
                             scalar={"floating": "(x > lambd) | (x < -lambd) ? grad : 0"})

@SHRINK_BACKWARD.derivative("grad")
def shrink_backward_derivative(grad, x, lambd):
    return run_ternary(SHRINK_BACKWARD, grad, x, lambd)

SHRINK_BACKWARD.derivative("x")(zero_gradient)


# ---------------------------------------------------------------- composites
def softsign(TensorBase input not None):
    """x / (1 + |x|).

    >>> import tensorlab
    >>> tensorlab.nn.functional.softsign(tensorlab.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """
    x = <object>input
    return x / (x.abs() + 1)

def tanhshrink(TensorBase input not None):
    """x - tanh(x).

    >>> import tensorlab
    >>> tensorlab.nn.functional.tanhshrink(tensorlab.tensor([0., 2.]))
    tensor([0.0000, 1.0360])
    """
    x = <object>input
    return x - x.tanh()

def glu(TensorBase input not None, int dim=-1):
    """The first half of a dimension times the sigmoid of its second half.

    Raises
    ------
    RuntimeError
        If the size of the dimension is odd.

    Source: Dauphin et al. 2017, Language modeling with gated convolutional networks.

    >>> import tensorlab
    >>> tensorlab.nn.functional.glu(tensorlab.tensor([4., 0.]))
    tensor([2.])
    """
    x = <object>input
    check_dtype("glu", input, FLOATING)
    if input.ndim_ == 0:
        raise RuntimeError("glu: input has no dimensions; it needs one of even size")
    if x.size(dim) % 2 != 0:
        raise RuntimeError(f"glu: dimension {dim} of input has size {x.size(dim)}; it must be even")
    values, gates = x.chunk(2, dim)
    return values * gates.sigmoid()


set_loops(tl_loops)
