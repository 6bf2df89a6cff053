"""Rounding to whole numbers, fractions, and the removal of nan and inf.

Rounding is flat between its steps, so its derivative is 0 everywhere. Integers are returned as they are.
"""
from tensorlab._core.dispatch.dispatch cimport (
    run_quaternary, run_quaternary_inplace, run_ternary, run_ternary_inplace, run_unary,
    run_unary_inplace
)
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.dtypes cimport COMPLEX, FLOATING, is_in
from tensorlab._core.tensor cimport TensorBase

from tensorlab._core.dtypes import finfo
from tensorlab.errors import UnsupportedDType
from tensorlab.ops.complex_views import view_as_complex, view_as_real
from tensorlab.ops.pointwise.common import inplace_function, same_gradient, zero_gradient

cdef extern from "rounding_loops.h":        # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- floor
cdef Op FLOOR = Op("floor(Tensor x) -> Tensor", dtype="promote",
                   scalar={"floating": "floor@(x)", "integer": "x"}, exact_out=True)

FLOOR.derivative("x")(zero_gradient)

def floor(TensorBase input not None, *, out=None):
    """Largest whole number not above each element.

    >>> import tensorlab
    >>> tensorlab.floor(tensorlab.tensor([1.7, -1.7]))
    tensor([ 1., -2.])
    """
    return run_unary(FLOOR, input, out)

floor_ = inplace_function(FLOOR, floor)


# ---------------------------------------------------------------- ceil
cdef Op CEIL = Op("ceil(Tensor x) -> Tensor", dtype="promote",
                  scalar={"floating": "ceil@(x)", "integer": "x"}, exact_out=True)

CEIL.derivative("x")(zero_gradient)

def ceil(TensorBase input not None, *, out=None):
    """Smallest whole number not below each element.

    >>> import tensorlab
    >>> tensorlab.ceil(tensorlab.tensor([1.7, -1.7]))
    tensor([ 2., -1.])
    """
    return run_unary(CEIL, input, out)

ceil_ = inplace_function(CEIL, ceil)


# ---------------------------------------------------------------- trunc
cdef Op TRUNC = Op("trunc(Tensor x) -> Tensor", dtype="promote",
                   scalar={"floating": "trunc@(x)", "integer": "x"}, exact_out=True)

TRUNC.derivative("x")(zero_gradient)

def trunc(TensorBase input not None, *, out=None):
    """Whole part of each element: rounded towards zero.

    >>> import tensorlab
    >>> tensorlab.trunc(tensorlab.tensor([1.7, -1.7]))
    tensor([ 1., -1.])
    """
    return run_unary(TRUNC, input, out)

trunc_ = inplace_function(TRUNC, trunc)


# ---------------------------------------------------------------- round
cdef Op ROUND = Op("round(Tensor x) -> Tensor", dtype="promote",
                   scalar={"floating": "rint@(x)", "integer": "x"}, exact_out=True)

ROUND.derivative("x")(zero_gradient)

cdef Op ROUND_DECIMALS = Op(
    "round_decimals(Tensor x, Scalar factor, Scalar divisor) -> Tensor", aten=None,
    dtype="promote",
    scalar={"floating": "rint@(x * factor / divisor) / factor * divisor"},
    node="RoundBackward1", exact_out=True)

ROUND_DECIMALS.derivative("x")(zero_gradient)

cdef tuple powers_of_ten(str where, TensorBase x, int decimals):
    """What to multiply and divide by before rounding; one of them is 1, so that both are exact."""
    if not is_in(x.dtype_, FLOATING):
        raise UnsupportedDType(f"{where}: decimals is {decimals}, which is not implemented for {x.dtype}; convert with "
                               f".to(float) first")
    return 10.0 ** max(decimals, 0), 10.0 ** max(-decimals, 0)

def round(TensorBase input not None, *, int decimals=0, out=None):
    """Nearest whole number to each element; halves go to the even one.

    Parameters
    ----------
    decimals : int, digits after the point that are kept; negative: digits before it that become 0

    >>> import tensorlab
    >>> tensorlab.round(tensorlab.tensor([0.5, 1.5, -1.7]))
    tensor([ 0.,  2., -2.])
    >>> tensorlab.round(tensorlab.tensor([3.14159]), decimals=2)
    tensor([3.1400])
    """
    if decimals == 0:
        return run_unary(ROUND, input, out)
    factor, divisor = powers_of_ten("round", input, decimals)
    return run_ternary(ROUND_DECIMALS, input, factor, divisor, out)

def round_(TensorBase input not None, *, int decimals=0):
    """`round`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.25]).round_(decimals=1)
    tensor([1.2000])
    """
    if decimals == 0:
        return run_unary_inplace(ROUND, input)
    factor, divisor = powers_of_ten("round_", input, decimals)
    return run_ternary_inplace(ROUND_DECIMALS, input, factor, divisor)


# ---------------------------------------------------------------- frac
cdef Op FRAC = Op("frac(Tensor x) -> Tensor", dtype="promote",
                  scalar={"floating": "x - trunc@(x)"}, exact_out=True)

FRAC.derivative("x")(same_gradient)

def frac(TensorBase input not None, *, out=None):
    """What `trunc` cuts off each element, with its sign.

    >>> import tensorlab
    >>> tensorlab.frac(tensorlab.tensor([1.5, -1.5]))
    tensor([ 0.5000, -0.5000])
    """
    return run_unary(FRAC, input, out)

frac_ = inplace_function(FRAC, frac)


# ---------------------------------------------------------------- nan_to_num
cdef Op NAN_TO_NUM = Op(
    "nan_to_num(Tensor x, Scalar nan, Scalar posinf, Scalar neginf) -> Tensor", aten=None,
    dtype="promote",
    scalar={"floating": "nan_to_num#(x, nan, posinf, neginf)", "ordered": "x"},
    exact_out=True)

@NAN_TO_NUM.derivative("x")
def nan_to_num_derivative(grad, x):
    return grad * x.isfinite()

cdef dict largest = {}          # number of each type: finfo would take longer than a short loop

cdef tuple replacements(TensorBase x, object nan, object posinf, object neginf):
    """The three numbers; the limits of the type where none is given."""
    if not is_in(x.dtype_, FLOATING):
        return False, False, False
    most = largest.get(x.dtype_)
    if most is None:
        most = largest[x.dtype_] = finfo(x.dtype).max
    return (0.0 if nan is None else float(nan), most if posinf is None else float(posinf),
            -most if neginf is None else float(neginf))

def nan_to_num(TensorBase input not None, nan=None, posinf=None, neginf=None, *, out=None):
    """Each element, or a number in its place if it is nan or infinite.

    Parameters
    ----------
    nan : float, 0 unless given
    posinf, neginf : float, the largest and the smallest number of the type unless given

    >>> import tensorlab
    >>> tensorlab.nan_to_num(tensorlab.tensor([float("nan"), float("inf"), 2.]), posinf=9)
    tensor([0., 9., 2.])
    """
    if is_in(input.dtype_, COMPLEX):        # each of the two parts
        parts = view_as_real((<object>input).resolve_conj())
        return store_out("nan_to_num", view_as_complex(nan_to_num(parts, nan, posinf, neginf)), out, (input,))
    nan, posinf, neginf = replacements(input, nan, posinf, neginf)
    return run_quaternary(NAN_TO_NUM, input, nan, posinf, neginf, out)

def nan_to_num_(TensorBase input not None, nan=None, posinf=None, neginf=None):
    """`nan_to_num`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([float("nan"), 1.0]).nan_to_num_()
    tensor([0., 1.])
    """
    if is_in(input.dtype_, COMPLEX):
        if (<object>input).is_conj():       # whose imaginary part is a view of its own
            nan_to_num_((<object>input).imag, nan, posinf, neginf)
            nan_to_num_((<object>input).real, nan, posinf, neginf)
        else:
            nan_to_num_(view_as_real(input), nan, posinf, neginf)
        return input
    nan, posinf, neginf = replacements(input, nan, posinf, neginf)
    return run_quaternary_inplace(NAN_TO_NUM, input, nan, posinf, neginf)


# another name that PyTorch has for the same function
fix, fix_ = trunc, trunc_


set_loops(tl_loops)
