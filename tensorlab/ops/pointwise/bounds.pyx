"""Bounds and extremes of pairs: clamp, maximum, minimum, fmax, fmin. nan wins in all but the last two."""
from cpython.object cimport PyObject

from tensorlab._core.dispatch.dispatch cimport (
    run_binary, run_binary_inplace, run_quaternary, run_ternary, run_ternary_inplace
)
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport promoted_dtype
from tensorlab._core.dispatch.out_argument cimport check_out_dtype
from tensorlab._core.tensor cimport TensorBase

cdef extern from "bounds_loops.h":          # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- clamp
cdef Op CLAMP = Op("clamp(Tensor x, Tensor min, Tensor max) -> Tensor",
                   aten=None, dtype="promote",
                   scalar={"real": "clamp#(x, min, max)"}, node="ClampBackward1")

@CLAMP.derivative("x")
def clamp_derivative_x(grad, x, min, max):
    return run_quaternary(CLAMP_BACKWARD, x, min, max, grad)

@CLAMP.derivative("min")
def clamp_derivative_min(grad, x, min, max):
    return grad.masked_fill(~((x < min) & (min < max)), 0)

@CLAMP.derivative("max")
def clamp_derivative_max(grad, x, min, max):
    return grad.masked_fill(~((x > max) | (min > max)), 0)

cdef object run_clamp(object x, object low, object high, object out):
    """The op for the bounds that are given."""
    cdef PyObject* operands[3]
    if low is None and high is None:
        raise RuntimeError("clamp: min and max are both None; give at least one bound")
    if out is not None and not isinstance(low, TensorBase) and not isinstance(high, TensorBase):
        operands[0] = <PyObject*>x
        operands[1] = <PyObject*>(high if low is None else low)
        operands[2] = <PyObject*>(low if high is None else high)
        check_out_dtype("clamp", promoted_dtype(operands, 3, "clamp"), out)             # with numbers nothing is cast
    if low is None:
        return run_binary(CLAMP_HIGH, x, high, out)
    if high is None:
        return run_binary(CLAMP_LOW, x, low, out)
    return run_ternary(CLAMP, x, low, high, out)

def clamp(TensorBase input not None, min=None, max=None, *, out=None):
    """Each element, moved to the nearer bound if it lies outside of [min, max].

    Parameters
    ----------
    min, max : number or Tensor, broadcast; None for no bound. Where min > max, the result is max.

    Returns
    -------
    Tensor of the broadcast shape and the promoted dtype. The derivative is 1 at the bounds themselves.

    >>> import tensorlab
    >>> tensorlab.clamp(tensorlab.tensor([-2., 0.5, 2.]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    return run_clamp(input, min, max, out)

def clamp_(TensorBase input not None, min=None, max=None):
    """`clamp`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([-3.0, 0.5]).clamp_(-1, 1)
    tensor([-1.0000,  0.5000])
    """
    if min is None and max is None:
        raise RuntimeError("clamp_: min and max are both None; give at least one bound")
    if min is None:
        return run_binary_inplace(CLAMP_HIGH, input, max)
    if max is None:
        return run_binary_inplace(CLAMP_LOW, input, min)
    return run_ternary_inplace(CLAMP, input, min, max)


# ---------------------------------------------------------------- clamp_backward
# x comes first, because the gradient takes over its order of dimensions, as in PyTorch.
cdef Op CLAMP_BACKWARD = Op(
    "clamp_backward(Tensor x, Tensor min, Tensor max, Tensor grad) -> Tensor",
    dtype="promote",
    scalar={"floating": "(x >= min) & (x <= max) ? grad : 0"},
    wraps_numbers=True)

@CLAMP_BACKWARD.derivative("grad")
def clamp_backward_derivative(grad, x, min, max):
    return run_quaternary(CLAMP_BACKWARD, x, min, max, grad)


# ---------------------------------------------------------------- clamp_min
cdef Op CLAMP_MIN = Op("clamp_min(Tensor x, Tensor min) -> Tensor",
                       aten="clamp_min.Tensor", dtype="promote",
                       scalar="at_least#(x, min)", wraps_numbers=False)

# The same, as clamp runs it with this bound alone: PyTorch's node has another name then.
cdef Op CLAMP_LOW = Op("clamp_low(Tensor x, Tensor min) -> Tensor", aten=None, dtype="promote",
                       scalar="at_least#(x, min)", node="ClampBackward1", wraps_numbers=False)

@CLAMP_LOW.derivative("x")
@CLAMP_MIN.derivative("x")
def clamp_min_derivative_x(grad, x, min):
    return run_ternary(KEEP_GRAD, min, x, grad)

@CLAMP_LOW.derivative("min")
@CLAMP_MIN.derivative("min")
def clamp_min_derivative_min(grad, x, min):
    return grad.masked_fill(x >= min, 0)

def clamp_min(TensorBase input not None, min, *, out=None):
    """Each element, but at least `min`.

    >>> import tensorlab
    >>> tensorlab.clamp_min(tensorlab.tensor([-2., 2.]), 0)
    tensor([0., 2.])
    """
    return run_binary(CLAMP_MIN, input, min, out)

def clamp_min_(TensorBase input not None, min):
    """`clamp_min`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([-3.0, 0.5]).clamp_min_(0)
    tensor([0.0000, 0.5000])
    """
    return run_binary_inplace(CLAMP_MIN, input, min)


# ---------------------------------------------------------------- clamp_max
cdef Op CLAMP_MAX = Op("clamp_max(Tensor x, Tensor max) -> Tensor",
                       aten="clamp_max.Tensor", dtype="promote",
                       scalar="at_most#(x, max)", wraps_numbers=False)

# The same, as clamp runs it with this bound alone: PyTorch's node has another name then.
cdef Op CLAMP_HIGH = Op("clamp_high(Tensor x, Tensor max) -> Tensor",
                        aten=None, dtype="promote",
                        scalar="at_most#(x, max)", node="ClampBackward1", wraps_numbers=False)

@CLAMP_HIGH.derivative("x")
@CLAMP_MAX.derivative("x")
def clamp_max_derivative_x(grad, x, max):
    return run_ternary(KEEP_GRAD, x, max, grad)

@CLAMP_HIGH.derivative("max")
@CLAMP_MAX.derivative("max")
def clamp_max_derivative_max(grad, x, max):
    return grad.masked_fill(x <= max, 0)

def clamp_max(TensorBase input not None, max, *, out=None):
    """Each element, but at most `max`.

    >>> import tensorlab
    >>> tensorlab.clamp_max(tensorlab.tensor([-2., 2.]), 0)
    tensor([-2.,  0.])
    """
    return run_binary(CLAMP_MAX, input, max, out)

def clamp_max_(TensorBase input not None, max):
    """`clamp_max`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([-3.0, 0.5]).clamp_max_(0)
    tensor([-3.,  0.])
    """
    return run_binary_inplace(CLAMP_MAX, input, max)


# ---------------------------------------------------------------- keep_grad
cdef Op KEEP_GRAD = Op("keep_grad(Tensor low, Tensor high, Tensor grad) -> Tensor", aten=None,
                       dtype="promote", scalar={"floating": "low <= high ? grad : 0"})

@KEEP_GRAD.derivative("grad")
def keep_grad_derivative(grad, low, high):
    return run_ternary(KEEP_GRAD, low, high, grad)


# ---------------------------------------------------------------- maximum
cdef Op MAXIMUM = Op("maximum(Tensor x, Tensor y) -> Tensor", dtype="promote",
                     scalar="at_least#(x, y)")

@MAXIMUM.derivative("x")
def maximum_derivative_x(grad, x, y):
    return winners_grad(grad, x == y, x < y)

@MAXIMUM.derivative("y")
def maximum_derivative_y(grad, x, y):
    return winners_grad(grad, x == y, x > y)

def maximum(TensorBase input not None, TensorBase other not None, *, out=None):
    """Larger element of each pair; nan if one is nan. Equal elements share the gradient.

    >>> import tensorlab
    >>> tensorlab.maximum(tensorlab.tensor([1., 5.]), tensorlab.tensor([3., 2.]))
    tensor([3., 5.])
    """
    return run_binary(MAXIMUM, input, other, out)


# ---------------------------------------------------------------- minimum
cdef Op MINIMUM = Op("minimum(Tensor x, Tensor y) -> Tensor", dtype="promote",
                     scalar="at_most#(x, y)")

@MINIMUM.derivative("x")
def minimum_derivative_x(grad, x, y):
    return winners_grad(grad, x == y, x > y)

@MINIMUM.derivative("y")
def minimum_derivative_y(grad, x, y):
    return winners_grad(grad, x == y, x < y)

def minimum(TensorBase input not None, TensorBase other not None, *, out=None):
    """Smaller element of each pair; nan if one is nan. Equal elements share the gradient.

    >>> import tensorlab
    >>> tensorlab.minimum(tensorlab.tensor([1., 5.]), tensorlab.tensor([3., 2.]))
    tensor([1., 2.])
    """
    return run_binary(MINIMUM, input, other, out)


# ---------------------------------------------------------------- winners_grad
cdef object winners_grad(object grad, object equal, object loses):
    """The gradient where an operand was chosen; half of it where both are equal."""
    return (grad / 2).where(equal, grad).masked_fill_(loses, 0)


# ---------------------------------------------------------------- fmax
cdef Op FMAX = Op("fmax(Tensor x, Tensor y) -> Tensor", dtype="promote",
                  scalar="(x >= y) | (y != y) ? x : y")

@FMAX.derivative("x")
def fmax_derivative_x(grad, x, y):
    return grad.masked_fill(~((x >= y) | y.isnan()), 0)

@FMAX.derivative("y")
def fmax_derivative_y(grad, x, y):
    return grad.masked_fill((x >= y) | y.isnan(), 0)

def fmax(TensorBase input not None, TensorBase other not None, *, out=None):
    """Larger element of each pair; if one is nan, the other.

    >>> import tensorlab
    >>> tensorlab.fmax(tensorlab.tensor([1., float("nan")]), tensorlab.tensor([3., 2.]))
    tensor([3., 2.])
    """
    return run_binary(FMAX, input, other, out)


# ---------------------------------------------------------------- fmin
cdef Op FMIN = Op("fmin(Tensor x, Tensor y) -> Tensor", dtype="promote",
                  scalar="(x <= y) | (y != y) ? x : y")

@FMIN.derivative("x")
def fmin_derivative_x(grad, x, y):
    return grad.masked_fill(~((x <= y) | y.isnan()), 0)

@FMIN.derivative("y")
def fmin_derivative_y(grad, x, y):
    return grad.masked_fill((x <= y) | y.isnan(), 0)

def fmin(TensorBase input not None, TensorBase other not None, *, out=None):
    """Smaller element of each pair; if one is nan, the other.

    >>> import tensorlab
    >>> tensorlab.fmin(tensorlab.tensor([1., float("nan")]), tensorlab.tensor([3., 2.]))
    tensor([1., 2.])
    """
    return run_binary(FMIN, input, other, out)


# another name that PyTorch has for the same function
clip, clip_ = clamp, clamp_


set_loops(tl_loops)
