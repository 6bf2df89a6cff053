"""Powers and roots: pow in all its forms, square, sqrt, rsqrt.

The powers that programs use most (2, 3, 1/2 and their inverses) are ops of their own, each a product or a root; the rest
goes through logarithm and exponential.
"""
from libc.math cimport INFINITY, NAN

from tensorlab._core.dispatch.dispatch cimport (
    run_binary, run_binary_inplace, run_unary, run_unary_inplace
)
from tensorlab._core.dispatch.levels cimport will_differentiate_again
from tensorlab._core.dispatch.op cimport NamedLoops, Op, inplace_op, set_loops
from tensorlab._core.dispatch.operands cimport check_fits, is_operand
from tensorlab._core.dispatch.out_argument cimport check_out_dtype
from tensorlab._core.dtypes cimport BOOL, COMPLEX, COMPLEX128, FLOAT64, INEXACT, dtype_object, is_in
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pointwise.power_derivatives cimport derivative_of_power

import math

from tensorlab.errors import DTypeError
from tensorlab.ops.creation import zeros_like
from tensorlab._core.loops.scalar import Guarded
from tensorlab.ops.pointwise.common import inplace_function

cdef extern from "powers_loops.h":          # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- pow
cdef Op POW = Op("pow(Tensor x, Tensor exponent) -> Tensor",
                 aten="pow.Tensor_Tensor", dtype="promote",
                 scalar={"floating": "pow_real#(x, exponent)",
                         "integer": "pow_integer#(x, exponent)",
                         "complex64": Guarded("complex_pow_near#(x, exponent)",
                                              unless="is_far_power#(x, exponent)",
                                              otherwise="complex_pow#(x, exponent)"),
                         "complex": "complex_pow#(x, exponent)"},
                 grain=4096, wraps_numbers=False)
inplace_op(POW).aten = "pow_.Tensor"

@POW.derivative("x")
def pow_derivative_x(grad, x, exponent):
    if not isinstance(exponent, TensorBase):
        return grad * (exponent * x ** (exponent - 1)) if exponent != 0 else grad * 0
    if is_differentiated_again(x, exponent):
        return grad * derivative_of_power(x, exponent, 1, 0)
    # a constant, x ** 0, has the derivative 0, also at x = 0, where the formula has 0 * inf
    return grad * (exponent * x ** (exponent - 1).masked_fill(exponent == 0, 0))

@POW.derivative("exponent")
def pow_derivative_exponent(grad, x, exponent, out):
    if is_differentiated_again(x, exponent):
        return grad * derivative_of_power(x, exponent, 0, 1)
    # 0 ** exponent is constant above 0; a logarithm that is finite keeps 0 * inf out of a complex derivative of this formula.
    # At 0 it jumps: the slope is 0 by convention, and has none itself.
    is_zero = x == 0
    logarithm = x.masked_fill(is_zero & (exponent.real > 0), 1).log()
    return grad * (out * logarithm).masked_fill(is_zero & (exponent == 0), 0)

cdef bint is_differentiated_again(object x, object exponent):
    """Is the derivative of a real power recorded? Then it takes the op that has all derivatives."""
    return will_differentiate_again() and not x.is_complex() and not exponent.is_complex()


# ---------------------------------------------------------------- pow of a number
cdef Op POW_OF_NUMBER = Op("pow_of_number(Tensor exponent, Scalar x) -> Tensor", aten=None,
                           dtype="promote",
                           scalar={"floating": "pow_real#(x, exponent)",
                                   "integer": "pow_integer#(x, exponent)",
                                   "complex64": Guarded("complex_pow_near#(x, exponent)",
                                                        unless="is_far_power#(x, exponent)",
                                                        otherwise="complex_pow#(x, exponent)"),
                                   "complex": "complex_pow#(x, exponent)"},
                           grain=4096, wraps_numbers=False, is_modular=True,
                           node="PowBackward2")

@POW_OF_NUMBER.derivative("exponent")
def pow_of_number_derivative(grad, exponent, x, out):
    if x == 0:
        return grad * (out * zeros_like(exponent).masked_fill_(exponent.real < 0, -INFINITY))
    if is_complex(x) or is_complex(exponent):
        import cmath  # only here: `import tensorlab` is to load little

        return grad * (out * cmath.log(x))
    return grad * (out * (math.log(x) if x > 0 else NAN))


# ---------------------------------------------------------------- fixed powers
cdef Op SQUARE = Op("square(Tensor x) -> Tensor", dtype="promote", scalar={"number": "x * x"},
                    node="PowBackward0", constants={"exponent": 2})

@SQUARE.derivative("x")
def square_derivative(grad, x):
    return grad * (x * 2)

cdef Op CUBE = Op("pow_3(Tensor x) -> Tensor",
                  aten=None, dtype="promote", scalar={"number": "x * x * x"},
                  node="PowBackward0", constants={"exponent": 3})

@CUBE.derivative("x")
def cube_derivative(grad, x):
    return grad * (run_unary(SQUARE, x) * 3)

cdef Op ROOT = Op("pow_half(Tensor x) -> Tensor",
                  aten=None, dtype="floating",
                  scalar={"floating": "tl_sqrt@(x)", "complex": "csqrt@(x)"},
                  node="PowBackward0", constants={"exponent": 0.5})

@ROOT.derivative("x")
def root_derivative(grad, x):
    return grad * (run_unary(INVERSE_ROOT, x) * 0.5)

cdef Op INVERSE_ROOT = Op("pow_minus_half(Tensor x) -> Tensor", aten=None, dtype="floating",
                          scalar={"floating": "tl_rsqrt@(x)",
                                  "complex": "(T)1 / csqrt@(x)"},
                          node="PowBackward0",
                          constants={"exponent": -0.5})

@INVERSE_ROOT.derivative("x")
def inverse_root_derivative(grad, x):
    return grad * (x ** -1.5 * -0.5)

cdef Op INVERSE = Op("pow_minus_1(Tensor x) -> Tensor",
                     aten=None, dtype="floating", scalar={"inexact": "(T)1 / x"},
                     node="PowBackward0", constants={"exponent": -1})

@INVERSE.derivative("x")
def inverse_derivative(grad, x):
    return grad * -run_unary(INVERSE_SQUARE, x)

cdef Op INVERSE_SQUARE = Op("pow_minus_2(Tensor x) -> Tensor", aten=None, dtype="floating",
                            scalar={"inexact": "(T)1 / (x * x)"}, node="PowBackward0",
                            constants={"exponent": -2})

@INVERSE_SQUARE.derivative("x")
def inverse_square_derivative(grad, x):
    return grad * (x ** -3 * -2)


# ---------------------------------------------------------------- choosing among them
cdef Op fixed_power(TensorBase x, object y):
    """The op for a number y as exponent, if it has one."""
    if y == 2:
        return SQUARE
    if y == 3:
        return CUBE
    if not is_in(x.dtype_, INEXACT):
        return None
    if y == 0.5:
        return ROOT
    if y == -0.5:
        return INVERSE_ROOT
    if y == -1:
        return INVERSE
    return INVERSE_SQUARE if y == -2 else None

cdef Op power_op(str where, object x, object y):
    """A unary op, or POW; raises for powers that integers do not have."""
    if not isinstance(x, TensorBase) or isinstance(y, TensorBase) or not is_operand(y):
        return POW
    if not is_in((<TensorBase>x).dtype_, INEXACT):
        if isinstance(y, float):
            return POW
        if isinstance(y, complex):
            return POW
        if y < 0:
            raise DTypeError(f"{where}: the base is {x.dtype} and the exponent {y}; integers have no negative powers. "
                             f"Convert with .to(float) first")
        if (<TensorBase>x).dtype_ == BOOL:
            return POW
        check_fits(y, (<TensorBase>x).dtype_, where)
    return fixed_power(<TensorBase>x, y) or POW

cdef object power(str where, object x, object y):
    cdef Op op = power_op(where, x, y)
    if not isinstance(x, TensorBase) and isinstance(y, TensorBase):
        return run_binary(POW_OF_NUMBER, y, x)
    return run_binary(POW, x, y) if op is POW else run_unary(op, <TensorBase>x)

def pow(input, exponent, *, out=None):
    """Power of each element; `input ** exponent`.

    Parameters
    ----------
    input, exponent : Tensor or number, one of them a Tensor; broadcast
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the broadcast shape and the promoted dtype. A negative base gives nan unless the exponent is whole.

    Raises
    ------
    DTypeError
        If `input` holds integers and `exponent` is a negative integer.

    >>> import tensorlab
    >>> tensorlab.pow(tensorlab.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    >>> tensorlab.pow(2, tensorlab.tensor([1, 2, 3]))
    tensor([2, 4, 8])
    """
    cdef Op op = power_op("pow", input, exponent)
    if not isinstance(input, TensorBase) and not isinstance(exponent, TensorBase):
        raise TypeError(f"pow: input is {type(input).__name__} and exponent {type(exponent).__name__}; one must be a Tensor")
    if out is None:
        return power("pow", input, exponent)
    return run_binary(POW, input, exponent, out) if op is POW else run_unary(op, input, out)

def pow_(TensorBase input not None, exponent):
    """`pow`, written over `input`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1.0, 2.0, 3.0]).pow_(2)
    tensor([1., 4., 9.])
    """
    cdef Op op = power_op("pow_", input, exponent)
    return run_binary_inplace(POW, input, exponent) if op is POW else run_unary_inplace(op, input)

def pow_operator(TensorBase x not None, y, modulo=None):
    """`x ** y`; leaves foreign operands to their own class."""
    return power("pow", x, y) if is_operand(y) and modulo is None else NotImplemented

def pow_reflected(TensorBase y not None, x, modulo=None):
    """`x ** y` where x is not a tensor."""
    return power("pow", x, y) if is_operand(x) and modulo is None else NotImplemented

def pow_operator_(TensorBase x not None, y):
    """`x **= y`"""
    return pow_(x, y) if is_operand(y) else NotImplemented

def float_power(input, exponent, *, out=None):
    """`pow`, calculated in float64 whatever the types are.

    >>> import tensorlab
    >>> tensorlab.float_power(tensorlab.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=tensorlab.float64)
    """
    if out is not None:
        check_out_dtype("float_power", COMPLEX128 if is_complex(input) or is_complex(exponent) else FLOAT64, out)
    return pow(wide(input), wide(exponent), out=out)

def float_power_(TensorBase input not None, exponent):
    """`float_power`, written over `input`, which must be float64.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([2.0], dtype=tensorlab.float64).float_power_(0.5)
    tensor([1.4142], dtype=tensorlab.float64)
    """
    if input.dtype_ != FLOAT64 and input.dtype_ != COMPLEX128:
        raise DTypeError(f"float_power_: input is {input.dtype}, but the result is tensorlab.float64; use float_power")
    return pow_(input, wide(exponent))

cdef object wide(object x):
    """A tensor as float64 or complex128, a number as float or complex."""
    if isinstance(x, TensorBase):
        return x.to(dtype_object(COMPLEX128 if is_complex(x) else FLOAT64))
    return x if is_complex(x) or not is_operand(x) else float(x)

cdef bint is_complex(object x) noexcept:
    if isinstance(x, TensorBase):
        return is_in((<TensorBase>x).dtype_, COMPLEX)
    return isinstance(x, complex)


# ---------------------------------------------------------------- square
def square(TensorBase input not None, *, out=None):
    """Square of each element.

    >>> import tensorlab
    >>> tensorlab.square(tensorlab.tensor([2., -3.]))
    tensor([4., 9.])
    """
    return pow(input, 2, out=out)

def square_(TensorBase input not None):
    """`square`, written over `input`."""
    return pow_(input, 2)


# ---------------------------------------------------------------- sqrt
cdef Op SQRT = Op("sqrt(Tensor x) -> Tensor", dtype="floating",
                  scalar={"floating": "tl_sqrt@(x)", "complex": "csqrt@(x)"})

@SQRT.derivative("x")
def sqrt_derivative(grad, out):
    return grad / (out * 2)

def sqrt(TensorBase input not None, *, out=None):
    """Square root of each element; nan for negative ones. Its derivative at 0 is inf.

    >>> import tensorlab
    >>> tensorlab.sqrt(tensorlab.tensor([4., 9.]))
    tensor([2., 3.])
    """
    return run_unary(SQRT, input, out)

sqrt_ = inplace_function(SQRT, sqrt)


# ---------------------------------------------------------------- rsqrt
cdef Op RSQRT = Op("rsqrt(Tensor x) -> Tensor", dtype="floating",
                   scalar={"floating": "tl_rsqrt@(x)", "complex": "(T)1 / csqrt@(x)"})

@RSQRT.derivative("x")
def rsqrt_derivative(grad, out):
    return grad * (run_unary(CUBE, out) * -0.5)

def rsqrt(TensorBase input not None, *, out=None):
    """1 over the square root of each element.

    >>> import tensorlab
    >>> tensorlab.rsqrt(tensorlab.tensor([4., 16.]))
    tensor([0.5000, 0.2500])
    """
    return run_unary(RSQRT, input, out)

rsqrt_ = inplace_function(RSQRT, rsqrt)


set_loops(tl_loops)
