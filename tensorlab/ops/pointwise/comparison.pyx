"""Comparisons of pairs of elements (== != < <= > >=), tests for nan and inf, and closeness. Results are bool."""
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memchr

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.dispatch.dispatch cimport run_binary, run_quaternary, run_unary
from tensorlab._core.dispatch.op cimport Op, floating_loops, number_loops
from tensorlab._core.dispatch.operands cimport comparable, is_operand
from tensorlab._core.dtypes cimport number, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase, memory_of
from tensorlab.ops.pointwise.common cimport check_tensor

from tensorlab.errors import DTypeError
from tensorlab.ops.pointwise.common import inplace_function


# ---------------------------------------------------------------- eq
cdef void eq_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] == y[i]

cdef Op EQ = Op("eq(Tensor x, Tensor y) -> Tensor", dtype="compare")
number_loops(EQ, &eq_loop[uint8_t], &eq_loop[int8_t], &eq_loop[int16_t], &eq_loop[int32_t],
             &eq_loop[int64_t], &eq_loop[float], &eq_loop[double], &eq_loop[uint8_t])

def eq(TensorBase input not None, other, *, out=None):
    """Is each element of `input` equal to that of `other`? `input == other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.eq(tensorlab.tensor([1, 2, 3]), 2)
    tensor([False,  True, False])
    """
    return run_binary(EQ, input, comparable(input, other), out)

eq_ = inplace_function(EQ, eq)

def eq_operator(TensorBase x not None, y):
    """`x == y`; leaves foreign operands to their own class."""
    return run_binary(EQ, x, comparable(x, y)) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- ne
cdef void ne_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] != y[i]

cdef Op NE = Op("ne(Tensor x, Tensor y) -> Tensor", dtype="compare")
number_loops(NE, &ne_loop[uint8_t], &ne_loop[int8_t], &ne_loop[int16_t], &ne_loop[int32_t],
             &ne_loop[int64_t], &ne_loop[float], &ne_loop[double], &ne_loop[uint8_t])

def ne(TensorBase input not None, other, *, out=None):
    """Is each element of `input` different from that of `other`? `input != other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.ne(tensorlab.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return run_binary(NE, input, comparable(input, other), out)

ne_ = inplace_function(NE, ne)

def ne_operator(TensorBase x not None, y):
    """`x != y`; leaves foreign operands to their own class."""
    return run_binary(NE, x, comparable(x, y)) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- lt
cdef void lt_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] < y[i]

cdef Op LT = Op("lt(Tensor x, Tensor y) -> Tensor", dtype="compare")
number_loops(LT, &lt_loop[uint8_t], &lt_loop[int8_t], &lt_loop[int16_t], &lt_loop[int32_t],
             &lt_loop[int64_t], &lt_loop[float], &lt_loop[double], &lt_loop[uint8_t])

def lt(TensorBase input not None, other, *, out=None):
    """Is each element of `input` less than that of `other`? `input < other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.lt(tensorlab.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
    return run_binary(LT, input, comparable(input, other), out)

lt_ = inplace_function(LT, lt)

def lt_operator(TensorBase x not None, y):
    """`x < y`; leaves foreign operands to their own class."""
    return run_binary(LT, x, comparable(x, y)) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- le
cdef void le_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] <= y[i]

cdef Op LE = Op("le(Tensor x, Tensor y) -> Tensor", dtype="compare")
number_loops(LE, &le_loop[uint8_t], &le_loop[int8_t], &le_loop[int16_t], &le_loop[int32_t],
             &le_loop[int64_t], &le_loop[float], &le_loop[double], &le_loop[uint8_t])

def le(TensorBase input not None, other, *, out=None):
    """Is each element of `input` at most that of `other`? `input <= other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.le(tensorlab.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
    return run_binary(LE, input, comparable(input, other), out)

le_ = inplace_function(LE, le)

def le_operator(TensorBase x not None, y):
    """`x <= y`; leaves foreign operands to their own class."""
    return run_binary(LE, x, comparable(x, y)) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- gt
cdef void gt_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] > y[i]

cdef Op GT = Op("gt(Tensor x, Tensor y) -> Tensor", dtype="compare")
number_loops(GT, &gt_loop[uint8_t], &gt_loop[int8_t], &gt_loop[int16_t], &gt_loop[int32_t],
             &gt_loop[int64_t], &gt_loop[float], &gt_loop[double], &gt_loop[uint8_t])

def gt(TensorBase input not None, other, *, out=None):
    """Is each element of `input` greater than that of `other`? `input > other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.gt(tensorlab.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return run_binary(GT, input, comparable(input, other), out)

gt_ = inplace_function(GT, gt)

def gt_operator(TensorBase x not None, y):
    """`x > y`; leaves foreign operands to their own class."""
    return run_binary(GT, x, comparable(x, y)) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- ge
cdef void ge_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    for i in range(n):
        out[i] = x[i] >= y[i]

cdef Op GE = Op("ge(Tensor x, Tensor y) -> Tensor", dtype="compare")
number_loops(GE, &ge_loop[uint8_t], &ge_loop[int8_t], &ge_loop[int16_t], &ge_loop[int32_t],
             &ge_loop[int64_t], &ge_loop[float], &ge_loop[double], &ge_loop[uint8_t])

def ge(TensorBase input not None, other, *, out=None):
    """Is each element of `input` at least that of `other`? `input >= other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.ge(tensorlab.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return run_binary(GE, input, comparable(input, other), out)

ge_ = inplace_function(GE, ge)

def ge_operator(TensorBase x not None, y):
    """`x >= y`; leaves foreign operands to their own class."""
    return run_binary(GE, x, comparable(x, y)) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- isnan
cdef void isnan_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    for i in range(n):
        if number is float or number is double:
            out[i] = x[i] != x[i]
        else:
            out[i] = False

cdef Op ISNAN = Op("isnan(Tensor x) -> Tensor", dtype="compare")
number_loops(ISNAN, &isnan_loop[uint8_t], &isnan_loop[int8_t], &isnan_loop[int16_t],
             &isnan_loop[int32_t], &isnan_loop[int64_t], &isnan_loop[float],
             &isnan_loop[double], &isnan_loop[uint8_t])

def isnan(TensorBase input not None):
    """Is each element nan?

    >>> import tensorlab
    >>> tensorlab.isnan(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False,  True, False])
    """
    return run_unary(ISNAN, input)


# ---------------------------------------------------------------- isinf
cdef void isinf_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    for i in range(n):
        if number is float or number is double:
            out[i] = (x[i] == INFINITY) | (x[i] == -INFINITY)
        else:
            out[i] = False

cdef Op ISINF = Op("isinf(Tensor x) -> Tensor", dtype="compare")
number_loops(ISINF, &isinf_loop[uint8_t], &isinf_loop[int8_t], &isinf_loop[int16_t],
             &isinf_loop[int32_t], &isinf_loop[int64_t], &isinf_loop[float],
             &isinf_loop[double], &isinf_loop[uint8_t])

def isinf(TensorBase input not None):
    """Is each element inf or -inf?

    >>> import tensorlab
    >>> tensorlab.isinf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False,  True])
    """
    return run_unary(ISINF, input)


# ---------------------------------------------------------------- isfinite
cdef void isfinite_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    for i in range(n):
        if number is float or number is double:
            out[i] = (x[i] < INFINITY) & (x[i] > -INFINITY)
        else:
            out[i] = True

cdef Op ISFINITE = Op("isfinite(Tensor x) -> Tensor", dtype="compare")
number_loops(ISFINITE, &isfinite_loop[uint8_t], &isfinite_loop[int8_t], &isfinite_loop[int16_t],
             &isfinite_loop[int32_t], &isfinite_loop[int64_t], &isfinite_loop[float],
             &isfinite_loop[double], &isfinite_loop[uint8_t])

def isfinite(TensorBase input not None):
    """Is each element neither inf nor nan?

    >>> import tensorlab
    >>> tensorlab.isfinite(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([ True, False, False])
    """
    return run_unary(ISFINITE, input)


# ---------------------------------------------------------------- isposinf
cdef void isposinf_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    for i in range(n):
        if number is float or number is double:
            out[i] = x[i] == INFINITY
        else:
            out[i] = False

cdef Op ISPOSINF = Op("isposinf(Tensor x) -> Tensor", dtype="compare", exact_out=True)
number_loops(ISPOSINF, &isposinf_loop[uint8_t], &isposinf_loop[int8_t], &isposinf_loop[int16_t],
             &isposinf_loop[int32_t], &isposinf_loop[int64_t], &isposinf_loop[float],
             &isposinf_loop[double], &isposinf_loop[uint8_t])

def isposinf(TensorBase input not None, *, out=None):
    """Is each element inf?

    >>> import tensorlab
    >>> tensorlab.isposinf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False, False])
    """
    return run_unary(ISPOSINF, input, out)


# ---------------------------------------------------------------- isneginf
cdef void isneginf_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    for i in range(n):
        if number is float or number is double:
            out[i] = x[i] == -INFINITY
        else:
            out[i] = False

cdef Op ISNEGINF = Op("isneginf(Tensor x) -> Tensor", dtype="compare", exact_out=True)
number_loops(ISNEGINF, &isneginf_loop[uint8_t], &isneginf_loop[int8_t], &isneginf_loop[int16_t],
             &isneginf_loop[int32_t], &isneginf_loop[int64_t], &isneginf_loop[float],
             &isneginf_loop[double], &isneginf_loop[uint8_t])

def isneginf(TensorBase input not None, *, out=None):
    """Is each element -inf?

    >>> import tensorlab
    >>> tensorlab.isneginf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False,  True])
    """
    return run_unary(ISNEGINF, input, out)


# ---------------------------------------------------------------- isclose
cdef void isclose_loop(uint8_t* out, real* x, real* y, real* rtol, real* atol, ssize n) noexcept nogil:
    cdef real distance
    for i in range(n):
        distance = c_math.fabs(x[i] - y[i])
        out[i] = (x[i] == y[i]) | ((distance <= atol[i] + c_math.fabs(rtol[i] * y[i])) & (distance < INFINITY))

cdef Op ISCLOSE = Op("isclose(Tensor x, Tensor y, Scalar rtol=1e-05, Scalar atol=1e-08) -> Tensor", dtype="compare")
floating_loops(ISCLOSE, &isclose_loop[float], &isclose_loop[double])

cdef object close(str where, TensorBase x, object y, double rtol, double atol, bint equal_nan):
    check_tensor(where, "other", y)
    if (<TensorBase>y).dtype_ != x.dtype_:
        raise DTypeError(f"{where}: input is {x.dtype} and other is {y.dtype}; they must have one type. Convert with .to()")
    if not rtol >= 0 or not atol >= 0:
        raise RuntimeError(f"{where}: rtol is {rtol} and atol is {atol}; tolerances must not be negative")
    out = run_quaternary(ISCLOSE, x, y, rtol, atol)
    return out | (run_unary(ISNAN, x) & run_unary(ISNAN, y)) if equal_nan else out

def isclose(TensorBase input not None, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Is each element within `atol + rtol * |other|` of that of `other`?

    Parameters
    ----------
    input, other : Tensor of one dtype, broadcast
    rtol, atol : float, relative and absolute tolerance
    equal_nan : bool, nan is close to nan

    Raises
    ------
    DTypeError
        If the dtypes differ.

    >>> import tensorlab
    >>> tensorlab.isclose(tensorlab.tensor([1., 2.]), tensorlab.tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
    return close("isclose", input, other, rtol, atol, equal_nan)

cdef bint is_true_everywhere(TensorBase x) except -1:
    """Is no element of a new, dense bool tensor False?"""
    if active_layers:
        return bool((<object>x).all())
    return x.numel_ == 0 or memchr(memory_of(x), 0, x.numel_) == NULL

def allclose(TensorBase input not None, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Is every element close to that of `other`, as `isclose` says? Returns a Python bool.

    >>> import tensorlab
    >>> tensorlab.allclose(tensorlab.tensor([1., 2.]), tensorlab.tensor([1., 2.]))
    True
    """
    return is_true_everywhere(close("allclose", input, other, rtol, atol, equal_nan))

def equal(TensorBase input not None, other):
    """Have both tensors the same shape and the same elements? Returns a Python bool.

    >>> import tensorlab
    >>> tensorlab.equal(tensorlab.tensor([1, 2]), tensorlab.tensor([1, 2]))
    True
    """
    check_tensor("equal", "other", other)
    return tuple(input.shape) == tuple(other.shape) and is_true_everywhere(run_binary(EQ, input, other))


# other names that PyTorch has for the same functions
not_equal, not_equal_ = ne, ne_
less, less_ = lt, lt_
less_equal, less_equal_ = le, le_
greater, greater_ = gt, gt_
greater_equal, greater_equal_ = ge, ge_
