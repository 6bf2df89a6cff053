"""Sums, products and their relatives: the ops behind + - * and what is made of them.

Division has its own file, and so have powers.
"""
from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tensorlab._core.dispatch cimport (
    run_binary,
    run_binary_inplace,
    run_out,
    run_out_1,
    run_out_2,
    run_quaternary,
    run_quaternary_inplace,
    run_ternary,
    run_ternary_inplace,
    run_unary,
    run_unary_inplace,
)
from tensorlab._core.modes cimport set_grad_mode
from tensorlab._core.op cimport Op, floating_loops, integer_loops
from tensorlab._core.operands cimport is_operand
from tensorlab._core.recording cimport finish
from tensorlab._core.dtypes cimport BOOL, number, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pointwise.common cimport is_bool, is_floating_operand, zeros_as

from tensorlab._core.operands import result_type
from tensorlab.errors import DTypeError, UnsupportedDType


# ---------------------------------------------------------------- add
cdef void add_loop(number* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] + y[i]

cdef void add_bool_loop(uint8_t* out, uint8_t* x, uint8_t* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] | y[i]

cdef Op ADD = Op("add(x: Tensor, y: Tensor) -> Tensor", dtype="promote")
floating_loops(ADD, <void*>add_loop[float], <void*>add_loop[double])
integer_loops(ADD, <void*>add_loop[uint8_t], <void*>add_loop[int8_t], <void*>add_loop[int16_t], <void*>add_loop[int32_t],
              <void*>add_loop[int64_t])
ADD.loops[BOOL] = <void*>add_bool_loop

@ADD.derivative("x")
def add_derivative_x(grad):
    return grad

@ADD.derivative("y")
def add_derivative_y(grad):
    return grad

def add(input, other, *, alpha=1, out=None):
    """Sum of each pair of elements, broadcast: `input + alpha * other`.

    Parameters
    ----------
    input, other : Tensor or number
    alpha : number that multiplies `other`; an integer if the result is one
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the broadcast shape and the promoted dtype; for bool it is the logical or

    Raises
    ------
    ShapeError
        If the shapes cannot be broadcast together.
    DTypeError
        If `alpha` is a float and the result an integer.

    >>> import tensorlab
    >>> tensorlab.add(tensorlab.tensor([1., 2.]), 3, alpha=2)
    tensor([7., 8.])
    """
    if is_one(alpha):
        return run_binary(ADD, input, other) if out is None else run_out_2(ADD, input, other, out)
    return run_scaled(input, other, checked_alpha("add", input, other, alpha), out)

def add_(TensorBase input not None, other, *, alpha=1):
    """`add`, written over `input`."""
    if is_one(alpha):
        return run_binary_inplace(ADD, input, other)
    return run_ternary_inplace(ADD_SCALED, input, other, checked_alpha("add_", input, other, alpha))

def add_operator(TensorBase x not None, y):
    """`x + y` and `y + x`; leaves foreign operands to their own class."""
    return run_binary(ADD, x, y) if is_operand(y) else NotImplemented

def add_operator_(TensorBase x not None, y):
    """`x += y`"""
    return run_binary_inplace(ADD, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- add_scaled
cdef void add_scaled_loop(number* out, number* x, number* y, number* alpha, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] + alpha[i] * y[i]

cdef void add_scaled_bool_loop(uint8_t* out, uint8_t* x, uint8_t* y, uint8_t* alpha, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] | (alpha[i] & y[i])

cdef Op ADD_SCALED = Op("add_scaled(x: Tensor, y: Tensor, alpha: number) -> Tensor", dtype="promote", node="AddBackward0")
floating_loops(ADD_SCALED, <void*>add_scaled_loop[float], <void*>add_scaled_loop[double])
integer_loops(ADD_SCALED, <void*>add_scaled_loop[uint8_t], <void*>add_scaled_loop[int8_t], <void*>add_scaled_loop[int16_t],
              <void*>add_scaled_loop[int32_t], <void*>add_scaled_loop[int64_t])
ADD_SCALED.loops[BOOL] = <void*>add_scaled_bool_loop

@ADD_SCALED.derivative("x")
def add_scaled_derivative_x(grad):
    return grad

@ADD_SCALED.derivative("y")
def add_scaled_derivative_y(grad, alpha):
    return run_binary(MUL, grad, alpha)

cdef inline bint is_one(object alpha):
    """Is alpha the integer 1, which leaves every type as it is?"""
    return alpha is not True and isinstance(alpha, int) and alpha == 1

cdef object checked_alpha(str where, object x, object y, object alpha):
    """The factor of `y` as a number that does not change the type of the result."""
    if not is_operand(x) or not is_operand(y):
        return alpha                                    # the runner will say what is wrong
    kind = result_type(x, y)
    if isinstance(alpha, bool) and not kind.name == "bool":
        raise DTypeError(f"{where}: alpha is {alpha}, but the result is {kind}; a bool alpha is for bool results only")
    if isinstance(alpha, float) and not kind.is_floating_point:
        raise DTypeError(f"{where}: alpha is {alpha}, but the result is {kind}; alpha must then be an integer")
    return bool(alpha) if kind.name == "bool" else alpha

cdef object run_scaled(object x, object y, object alpha, object out):
    """x + alpha * y"""
    cdef PyObject* operands[3]
    if out is None:
        return run_ternary(ADD_SCALED, x, y, alpha)
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>alpha
    return run_out(ADD_SCALED, operands, 3, out)


# ---------------------------------------------------------------- sub
cdef void sub_loop(number* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] - y[i]

cdef Op SUB = Op("sub(x: Tensor, y: Tensor) -> Tensor", dtype="promote")
floating_loops(SUB, <void*>sub_loop[float], <void*>sub_loop[double])
integer_loops(SUB, <void*>sub_loop[uint8_t], <void*>sub_loop[int8_t], <void*>sub_loop[int16_t], <void*>sub_loop[int32_t],
              <void*>sub_loop[int64_t])

@SUB.derivative("x")
def sub_derivative_x(grad):
    return grad

@SUB.derivative("y")
def sub_derivative_y(grad):
    return run_unary(NEG, grad)

cdef int refuse_bool(str where, object x, object y) except -1:
    """A bool has no difference: which of ~, ^ and logical_not is meant, only the caller knows."""
    if is_bool(x) or is_bool(y):
        raise DTypeError(f"{where}: one of the operands is bool, and bools cannot be subtracted. Use ~x or logical_not(x) "
                         f"to invert a mask, x ^ y to compare two, or x.to(int) to calculate")
    return 0

def sub(input, other, *, alpha=1, out=None):
    """Difference of each pair of elements, broadcast: `input - alpha * other`.

    Raises
    ------
    DTypeError
        If an operand is bool, or `alpha` is a float and the result an integer.

    >>> import tensorlab
    >>> tensorlab.sub(tensorlab.tensor([1., 2.]), tensorlab.tensor([3.]))
    tensor([-2., -1.])
    """
    refuse_bool("sub", input, other)
    if is_one(alpha):
        return run_binary(SUB, input, other) if out is None else run_out_2(SUB, input, other, out)
    return run_scaled(input, other, -checked_alpha("sub", input, other, alpha), out)

def sub_(TensorBase input not None, other, *, alpha=1):
    """`sub`, written over `input`."""
    refuse_bool("sub_", input, other)
    if is_one(alpha):
        return run_binary_inplace(SUB, input, other)
    return run_ternary_inplace(ADD_SCALED, input, other, -checked_alpha("sub_", input, other, alpha))

def rsub(TensorBase input not None, other, *, alpha=1):
    """Difference the other way round: `other - alpha * input`.

    >>> import tensorlab
    >>> tensorlab.rsub(tensorlab.tensor([1., 2.]), 10)
    tensor([9., 8.])
    """
    refuse_bool("rsub", input, other)
    if is_one(alpha) and is_operand(other):
        return run_rsub(input, other)
    return sub(other, input, alpha=alpha)

# The same numbers as those of SUB; as a node it leads to x first, and nowhere else if y is a number.
cdef Op RSUB = Op("rsub(x: Tensor, y: Tensor) -> Tensor", wraps_numbers=False, node=("RsubBackward1", "RsubBackward0"))

@RSUB.derivative("x")
def rsub_derivative_x(grad):
    return run_unary(NEG, grad)

@RSUB.derivative("y")
def rsub_derivative_y(grad):
    return grad

cdef object run_rsub(TensorBase x, object y):
    """y - x"""
    cdef bint was_enabled = set_grad_mode(False)
    try:
        out = run_binary(SUB, y, x)
    finally:
        set_grad_mode(was_enabled)
    return finish(RSUB, out, (x, y))

def sub_operator(TensorBase x not None, y):
    """`x - y`"""
    if not is_operand(y):
        return NotImplemented
    refuse_bool("sub", x, y)
    return run_binary(SUB, x, y)

def sub_reflected(TensorBase y not None, x):
    """`x - y` where x is no tensor."""
    if not is_operand(x):
        return NotImplemented
    refuse_bool("sub", x, y)
    return run_rsub(y, x)

def sub_operator_(TensorBase x not None, y):
    """`x -= y`"""
    if not is_operand(y):
        return NotImplemented
    refuse_bool("sub_", x, y)
    return run_binary_inplace(SUB, x, y)


# ---------------------------------------------------------------- mul
cdef void mul_loop(number* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] * y[i]

cdef void mul_bool_loop(uint8_t* out, uint8_t* x, uint8_t* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] & y[i]

cdef Op MUL = Op("mul(x: Tensor, y: Tensor) -> Tensor", dtype="promote")
floating_loops(MUL, <void*>mul_loop[float], <void*>mul_loop[double])
integer_loops(MUL, <void*>mul_loop[uint8_t], <void*>mul_loop[int8_t], <void*>mul_loop[int16_t], <void*>mul_loop[int32_t],
              <void*>mul_loop[int64_t])
MUL.loops[BOOL] = <void*>mul_bool_loop

@MUL.derivative("x")
def mul_derivative_x(grad, y):
    return run_binary(MUL, grad, y)

@MUL.derivative("y")
def mul_derivative_y(grad, x):
    return run_binary(MUL, grad, x)

def mul(input, other, *, out=None):
    """Product of each pair of elements, broadcast; `input * other`.

    Parameters
    ----------
    input, other : Tensor or number
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the broadcast shape and the promoted dtype; for bool it is the logical and

    Raises
    ------
    ShapeError
        If the shapes cannot be broadcast together.

    >>> import tensorlab
    >>> tensorlab.mul(tensorlab.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """
    if out is not None:
        return run_out_2(MUL, input, other, out)
    return run_binary(MUL, input, other)

def mul_(TensorBase input not None, other):
    """`mul`, written over `input`."""
    return run_binary_inplace(MUL, input, other)

def mul_operator(TensorBase x not None, y):
    """`x * y`; leaves foreign operands to their own class."""
    return run_binary(MUL, x, y) if is_operand(y) else NotImplemented

def mul_operator_(TensorBase x not None, y):
    """`x *= y`"""
    return run_binary_inplace(MUL, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- neg, positive
cdef void neg_loop(number* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = -x[i]

cdef Op NEG = Op("neg(x: Tensor) -> Tensor", dtype="promote")
floating_loops(NEG, <void*>neg_loop[float], <void*>neg_loop[double])
integer_loops(NEG, <void*>neg_loop[uint8_t], <void*>neg_loop[int8_t], <void*>neg_loop[int16_t], <void*>neg_loop[int32_t],
              <void*>neg_loop[int64_t])

@NEG.derivative("x")
def neg_derivative(grad):
    return run_unary(NEG, grad)

cdef int refuse_bool_sign(str where, TensorBase x) except -1:
    if x.dtype_ == BOOL:
        raise DTypeError(f"{where}: input is bool, which has no sign; use ~x or logical_not(x) to invert a mask")
    return 0

def neg(TensorBase input not None, *, out=None):
    """Negative of each element; `-input`. Unsigned integers wrap.

    Raises
    ------
    DTypeError
        If `input` is bool.

    >>> import tensorlab
    >>> tensorlab.neg(tensorlab.tensor([1., -2.]))
    tensor([-1.,  2.])
    """
    refuse_bool_sign("neg", input)
    return run_unary(NEG, input) if out is None else run_out_1(NEG, input, out)

def neg_(TensorBase input not None):
    """`neg`, written over `input`."""
    refuse_bool_sign("neg_", input)
    return run_unary_inplace(NEG, input)

def positive(TensorBase input not None):
    """`input` itself; `+input`.

    Raises
    ------
    DTypeError
        If `input` is bool.

    >>> import tensorlab
    >>> tensorlab.positive(tensorlab.tensor([1., -2.]))
    tensor([ 1., -2.])
    """
    refuse_bool_sign("positive", input)
    return input


# ---------------------------------------------------------------- abs
cdef void abs_loop(number* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if number is float or number is double:
            out[i] = fabs(x[i])
        else:
            out[i] = -x[i] if x[i] < 0 else x[i]

cdef extern from "math.h" nogil:
    double fabs(double)             # of a float it compiles to the same: the sign bit is cleared

cdef Op ABS = Op("abs(x: Tensor) -> Tensor", dtype="promote")
floating_loops(ABS, <void*>abs_loop[float], <void*>abs_loop[double])
integer_loops(ABS, <void*>abs_loop[uint8_t], <void*>abs_loop[int8_t], <void*>abs_loop[int16_t], <void*>abs_loop[int32_t],
              <void*>abs_loop[int64_t])

@ABS.derivative("x")
def abs_derivative(grad, x):
    return run_binary(MUL, grad, run_unary(SIGN, x))

def abs(TensorBase input not None, *, out=None):
    """Absolute value of each element; `abs(input)`. Its derivative at 0 is taken as 0.

    >>> import tensorlab
    >>> tensorlab.abs(tensorlab.tensor([1., -2.]))
    tensor([1., 2.])
    """
    return run_unary(ABS, input) if out is None else run_out_1(ABS, input, out)

def abs_(TensorBase input not None):
    """`abs`, written over `input`."""
    return run_unary_inplace(ABS, input)


# ---------------------------------------------------------------- sign
cdef void sign_loop(number* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = <number>((x[i] > 0) - (x[i] < 0))

cdef Op SIGN = Op("sign(x: Tensor) -> Tensor", dtype="promote")
floating_loops(SIGN, <void*>sign_loop[float], <void*>sign_loop[double])
integer_loops(SIGN, <void*>sign_loop[uint8_t], <void*>sign_loop[int8_t], <void*>sign_loop[int16_t],
              <void*>sign_loop[int32_t], <void*>sign_loop[int64_t])
SIGN.loops[BOOL] = <void*>sign_loop[uint8_t]

@SIGN.derivative("x")
def sign_derivative(grad):
    return zeros_as(grad)

def sign(TensorBase input not None, *, out=None):
    """-1, 0 or 1 after the sign of each element; 0 for nan.

    >>> import tensorlab
    >>> tensorlab.sign(tensorlab.tensor([-3., 0., 5.]))
    tensor([-1.,  0.,  1.])
    """
    return run_unary(SIGN, input) if out is None else run_out_1(SIGN, input, out)

def sign_(TensorBase input not None):
    """`sign`, written over `input`."""
    return run_unary_inplace(SIGN, input)


# ---------------------------------------------------------------- addcmul
cdef void addcmul_loop(number* out, number* x, number* a, number* b, number* value, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] + value[i] * a[i] * b[i]

cdef Op ADDCMUL = Op("addcmul(x: Tensor, tensor1: Tensor, tensor2: Tensor, value: number) -> Tensor", dtype="promote")
floating_loops(ADDCMUL, <void*>addcmul_loop[float], <void*>addcmul_loop[double])
integer_loops(ADDCMUL, <void*>addcmul_loop[uint8_t], <void*>addcmul_loop[int8_t], <void*>addcmul_loop[int16_t],
              <void*>addcmul_loop[int32_t], <void*>addcmul_loop[int64_t])

@ADDCMUL.derivative("x")
def addcmul_derivative_x(grad):
    return grad

@ADDCMUL.derivative("tensor1")
def addcmul_derivative_tensor1(grad, tensor2, value):
    return grad * (tensor2 * value)

@ADDCMUL.derivative("tensor2")
def addcmul_derivative_tensor2(grad, tensor1, value):
    return grad * (tensor1 * value)

cdef object fitting_value(object x, object a, object b, object value):
    """The factor, cut to an integer if all tensors are integers, so that it does not change the type of the result."""
    if is_floating_operand(x) or is_floating_operand(a) or is_floating_operand(b) or isinstance(value, TensorBase):
        return value
    if is_bool(x) and is_bool(a) and is_bool(b):
        raise UnsupportedDType("addcmul: not implemented for tensorlab.bool; use input | (tensor1 & tensor2)")
    return int(value)

cdef object run_out_4(Op op, object x, object a, object b, object value, object out):
    cdef PyObject* operands[4]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>a
    operands[2] = <PyObject*>b
    operands[3] = <PyObject*>value
    return run_out(op, operands, 4, out)

def addcmul(TensorBase input not None, TensorBase tensor1 not None, TensorBase tensor2 not None, *, value=1, out=None):
    """`input + value * tensor1 * tensor2`, element by element, broadcast.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1., 2.])
    >>> tensorlab.addcmul(x, x, x, value=10)
    tensor([11., 42.])
    """
    value = fitting_value(input, tensor1, tensor2, value)
    if out is not None:
        return run_out_4(ADDCMUL, input, tensor1, tensor2, value, out)
    return run_quaternary(ADDCMUL, input, tensor1, tensor2, value)

def addcmul_(TensorBase input not None, TensorBase tensor1 not None, TensorBase tensor2 not None, *, value=1):
    """`addcmul`, written over `input`."""
    return run_quaternary_inplace(ADDCMUL, input, tensor1, tensor2, fitting_value(input, tensor1, tensor2, value))


# ---------------------------------------------------------------- addcdiv
cdef void addcdiv_loop(real* out, real* x, real* a, real* b, real* value, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] + value[i] * a[i] / b[i]

cdef Op ADDCDIV = Op("addcdiv(x: Tensor, tensor1: Tensor, tensor2: Tensor, value: number) -> Tensor", dtype="promote")
floating_loops(ADDCDIV, <void*>addcdiv_loop[float], <void*>addcdiv_loop[double])

@ADDCDIV.derivative("x")
def addcdiv_derivative_x(grad):
    return grad

@ADDCDIV.derivative("tensor1")
def addcdiv_derivative_tensor1(grad, tensor2, value):
    return grad * (value / tensor2)

@ADDCDIV.derivative("tensor2")
def addcdiv_derivative_tensor2(grad, tensor1, tensor2, value):
    return -grad * (value * tensor1 / (tensor2 * tensor2))

cdef int refuse_integer_quotient(str where, object a, object b) except -1:
    if not is_floating_operand(a) and not is_floating_operand(b):
        raise DTypeError(f"{where}: tensor1 is {a.dtype} and tensor2 is {b.dtype}; one of them must be floating. Write "
                         f"input + value * (tensor1 / tensor2), or div with rounding_mode='trunc' for whole numbers")
    return 0

def addcdiv(TensorBase input not None, TensorBase tensor1 not None, TensorBase tensor2 not None, *, value=1, out=None):
    """`input + value * tensor1 / tensor2`, element by element, broadcast.

    Raises
    ------
    DTypeError
        If neither `tensor1` nor `tensor2` is floating.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1., 2.])
    >>> tensorlab.addcdiv(x, x, x, value=10)
    tensor([11., 12.])
    """
    refuse_integer_quotient("addcdiv", tensor1, tensor2)
    if out is not None:
        return run_out_4(ADDCDIV, input, tensor1, tensor2, value, out)
    return run_quaternary(ADDCDIV, input, tensor1, tensor2, value)

def addcdiv_(TensorBase input not None, TensorBase tensor1 not None, TensorBase tensor2 not None, *, value=1):
    """`addcdiv`, written over `input`."""
    refuse_integer_quotient("addcdiv_", tensor1, tensor2)
    return run_quaternary_inplace(ADDCDIV, input, tensor1, tensor2, value)


# ---------------------------------------------------------------- lerp
cdef void lerp_loop(real* out, real* x, real* end, real* weight, ssize n) noexcept nogil:
    cdef ssize i
    cdef real difference, from_start, from_end
    for i in range(n):
        # measured from the nearer end, so that a weight of 0 or 1 gives exactly x or `end`
        difference = end[i] - x[i]
        from_start = x[i] + weight[i] * difference
        from_end = end[i] - difference * (<real>1 - weight[i])
        out[i] = from_start if (weight[i] > <real>-0.5) & (weight[i] < <real>0.5) else from_end

cdef Op LERP = Op("lerp(x: Tensor, end: Tensor, weight: Tensor) -> Tensor", dtype="promote",
                  node=("LerpBackward0", "LerpBackward1"))
floating_loops(LERP, <void*>lerp_loop[float], <void*>lerp_loop[double])

@LERP.derivative("x")
def lerp_derivative_x(grad, weight):
    return grad * (1 - weight)

@LERP.derivative("end")
def lerp_derivative_end(grad, weight):
    return grad * weight

@LERP.derivative("weight")
def lerp_derivative_weight(grad, x, end):
    return grad * (end - x)

cdef int check_lerp(str where, TensorBase x, TensorBase end, object weight) except -1:
    if end.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: input is {x.dtype} and end is {end.dtype}; they must have one type. Convert with .to()")
    if isinstance(weight, TensorBase) and (<TensorBase>weight).dtype_ != x.dtype_ and (<TensorBase>weight).ndim_ > 0:
        raise DTypeError(f"{where}: input is {x.dtype} and weight is {weight.dtype}; they must have one type. Convert with "
                         f".to()")
    if not is_floating_operand(x):
        raise UnsupportedDType(f"{where}: not implemented for {x.dtype}; convert with .to(float) first")
    return 0

def lerp(TensorBase input not None, TensorBase end not None, weight, *, out=None):
    """Point on the line from `input` to `end`: `input + weight * (end - input)`.

    Parameters
    ----------
    input, end : Tensor, floating, of one dtype
    weight : number or Tensor; 0 gives `input` and 1 gives `end`

    Raises
    ------
    DTypeError
        If the tensors differ in dtype.

    >>> import tensorlab
    >>> tensorlab.lerp(tensorlab.tensor([0., 10.]), tensorlab.tensor([4., 20.]), 0.25)
    tensor([ 1.0000, 12.5000])
    """
    cdef PyObject* operands[3]
    check_lerp("lerp", input, end, weight)
    if out is None:
        return run_ternary(LERP, input, end, weight)
    operands[0] = <PyObject*>input
    operands[1] = <PyObject*>end
    operands[2] = <PyObject*>weight
    return run_out(LERP, operands, 3, out)

def lerp_(TensorBase input not None, TensorBase end not None, weight):
    """`lerp`, written over `input`."""
    check_lerp("lerp_", input, end, weight)
    return run_ternary_inplace(LERP, input, end, weight)


# other names that PyTorch has for the same functions
absolute, absolute_ = abs, abs_
multiply, multiply_ = mul, mul_
negative, negative_ = neg, neg_
subtract, subtract_ = sub, sub_
sgn, sgn_ = sign, sign_
