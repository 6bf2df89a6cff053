"""Comparisons of pairs of elements (== != < <= > >=), tests for nan and inf, and closeness. Results are bool."""
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memchr

from tensorlab._core.dispatch cimport (
    run_binary,
    run_binary_inplace,
    run_out_1,
    run_out_2,
    run_quaternary,
    run_unary,
)
from tensorlab._core.op cimport Op, floating_loops, integer_loops
from tensorlab._core.operands cimport is_operand
from tensorlab._core.dtypes cimport BOOL, number, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase, memory_of
from tensorlab.ops.pointwise.common cimport check_tensor

from tensorlab.errors import DTypeError


# ---------------------------------------------------------------- eq
cdef void eq_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] == y[i]

cdef Op EQ = Op("eq(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(EQ, <void*>eq_loop[float], <void*>eq_loop[double])
integer_loops(EQ, <void*>eq_loop[uint8_t], <void*>eq_loop[int8_t], <void*>eq_loop[int16_t],
              <void*>eq_loop[int32_t], <void*>eq_loop[int64_t])
EQ.loops[BOOL] = <void*>eq_loop[uint8_t]

def eq(TensorBase input not None, other, *, out=None):
    """Is each element of `input` equal to that of `other`? `input == other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.eq(tensorlab.tensor([1, 2, 3]), 2)
    tensor([False,  True, False])
    """
    return run_binary(EQ, input, other) if out is None else run_out_2(EQ, input, other, out)

def eq_(TensorBase input not None, other):
    """`eq`, written over `input` as ones and zeros."""
    return run_binary_inplace(EQ, input, other)

def eq_operator(TensorBase x not None, y):
    """`x == y`; leaves foreign operands to their own class."""
    return run_binary(EQ, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- ne
cdef void ne_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] != y[i]

cdef Op NE = Op("ne(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(NE, <void*>ne_loop[float], <void*>ne_loop[double])
integer_loops(NE, <void*>ne_loop[uint8_t], <void*>ne_loop[int8_t], <void*>ne_loop[int16_t],
              <void*>ne_loop[int32_t], <void*>ne_loop[int64_t])
NE.loops[BOOL] = <void*>ne_loop[uint8_t]

def ne(TensorBase input not None, other, *, out=None):
    """Is each element of `input` different from that of `other`? `input != other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.ne(tensorlab.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return run_binary(NE, input, other) if out is None else run_out_2(NE, input, other, out)

def ne_(TensorBase input not None, other):
    """`ne`, written over `input` as ones and zeros."""
    return run_binary_inplace(NE, input, other)

def ne_operator(TensorBase x not None, y):
    """`x != y`; leaves foreign operands to their own class."""
    return run_binary(NE, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- lt
cdef void lt_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] < y[i]

cdef Op LT = Op("lt(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(LT, <void*>lt_loop[float], <void*>lt_loop[double])
integer_loops(LT, <void*>lt_loop[uint8_t], <void*>lt_loop[int8_t], <void*>lt_loop[int16_t],
              <void*>lt_loop[int32_t], <void*>lt_loop[int64_t])
LT.loops[BOOL] = <void*>lt_loop[uint8_t]

def lt(TensorBase input not None, other, *, out=None):
    """Is each element of `input` less than that of `other`? `input < other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.lt(tensorlab.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
    return run_binary(LT, input, other) if out is None else run_out_2(LT, input, other, out)

def lt_(TensorBase input not None, other):
    """`lt`, written over `input` as ones and zeros."""
    return run_binary_inplace(LT, input, other)

def lt_operator(TensorBase x not None, y):
    """`x < y`; leaves foreign operands to their own class."""
    return run_binary(LT, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- le
cdef void le_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] <= y[i]

cdef Op LE = Op("le(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(LE, <void*>le_loop[float], <void*>le_loop[double])
integer_loops(LE, <void*>le_loop[uint8_t], <void*>le_loop[int8_t], <void*>le_loop[int16_t],
              <void*>le_loop[int32_t], <void*>le_loop[int64_t])
LE.loops[BOOL] = <void*>le_loop[uint8_t]

def le(TensorBase input not None, other, *, out=None):
    """Is each element of `input` at most that of `other`? `input <= other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.le(tensorlab.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
    return run_binary(LE, input, other) if out is None else run_out_2(LE, input, other, out)

def le_(TensorBase input not None, other):
    """`le`, written over `input` as ones and zeros."""
    return run_binary_inplace(LE, input, other)

def le_operator(TensorBase x not None, y):
    """`x <= y`; leaves foreign operands to their own class."""
    return run_binary(LE, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- gt
cdef void gt_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] > y[i]

cdef Op GT = Op("gt(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(GT, <void*>gt_loop[float], <void*>gt_loop[double])
integer_loops(GT, <void*>gt_loop[uint8_t], <void*>gt_loop[int8_t], <void*>gt_loop[int16_t],
              <void*>gt_loop[int32_t], <void*>gt_loop[int64_t])
GT.loops[BOOL] = <void*>gt_loop[uint8_t]

def gt(TensorBase input not None, other, *, out=None):
    """Is each element of `input` greater than that of `other`? `input > other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.gt(tensorlab.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return run_binary(GT, input, other) if out is None else run_out_2(GT, input, other, out)

def gt_(TensorBase input not None, other):
    """`gt`, written over `input` as ones and zeros."""
    return run_binary_inplace(GT, input, other)

def gt_operator(TensorBase x not None, y):
    """`x > y`; leaves foreign operands to their own class."""
    return run_binary(GT, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- ge
cdef void ge_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] >= y[i]

cdef Op GE = Op("ge(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(GE, <void*>ge_loop[float], <void*>ge_loop[double])
integer_loops(GE, <void*>ge_loop[uint8_t], <void*>ge_loop[int8_t], <void*>ge_loop[int16_t],
              <void*>ge_loop[int32_t], <void*>ge_loop[int64_t])
GE.loops[BOOL] = <void*>ge_loop[uint8_t]

def ge(TensorBase input not None, other, *, out=None):
    """Is each element of `input` at least that of `other`? `input >= other`; broadcast, with a result of bools.

    >>> import tensorlab
    >>> tensorlab.ge(tensorlab.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return run_binary(GE, input, other) if out is None else run_out_2(GE, input, other, out)

def ge_(TensorBase input not None, other):
    """`ge`, written over `input` as ones and zeros."""
    return run_binary_inplace(GE, input, other)

def ge_operator(TensorBase x not None, y):
    """`x >= y`; leaves foreign operands to their own class."""
    return run_binary(GE, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- isnan
cdef void isnan_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if number is float or number is double:
            out[i] = x[i] != x[i]
        else:
            out[i] = False

cdef Op ISNAN = Op("isnan(Tensor x) -> Tensor", dtype="compare")
floating_loops(ISNAN, <void*>isnan_loop[float], <void*>isnan_loop[double])
integer_loops(ISNAN, <void*>isnan_loop[uint8_t], <void*>isnan_loop[int8_t], <void*>isnan_loop[int16_t],
              <void*>isnan_loop[int32_t], <void*>isnan_loop[int64_t])
ISNAN.loops[BOOL] = <void*>isnan_loop[uint8_t]

def isnan(TensorBase input not None):
    """Is each element nan?

    >>> import tensorlab
    >>> tensorlab.isnan(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False,  True, False])
    """
    return run_unary(ISNAN, input)


# ---------------------------------------------------------------- isinf
cdef void isinf_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if number is float or number is double:
            out[i] = (x[i] == INFINITY) | (x[i] == -INFINITY)
        else:
            out[i] = False

cdef Op ISINF = Op("isinf(Tensor x) -> Tensor", dtype="compare")
floating_loops(ISINF, <void*>isinf_loop[float], <void*>isinf_loop[double])
integer_loops(ISINF, <void*>isinf_loop[uint8_t], <void*>isinf_loop[int8_t], <void*>isinf_loop[int16_t],
              <void*>isinf_loop[int32_t], <void*>isinf_loop[int64_t])
ISINF.loops[BOOL] = <void*>isinf_loop[uint8_t]

def isinf(TensorBase input not None):
    """Is each element inf or -inf?

    >>> import tensorlab
    >>> tensorlab.isinf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False,  True])
    """
    return run_unary(ISINF, input)


# ---------------------------------------------------------------- isfinite
cdef void isfinite_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if number is float or number is double:
            out[i] = (x[i] < INFINITY) & (x[i] > -INFINITY)
        else:
            out[i] = True

cdef Op ISFINITE = Op("isfinite(Tensor x) -> Tensor", dtype="compare")
floating_loops(ISFINITE, <void*>isfinite_loop[float], <void*>isfinite_loop[double])
integer_loops(ISFINITE, <void*>isfinite_loop[uint8_t], <void*>isfinite_loop[int8_t], <void*>isfinite_loop[int16_t],
              <void*>isfinite_loop[int32_t], <void*>isfinite_loop[int64_t])
ISFINITE.loops[BOOL] = <void*>isfinite_loop[uint8_t]

def isfinite(TensorBase input not None):
    """Is each element neither inf nor nan?

    >>> import tensorlab
    >>> tensorlab.isfinite(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([ True, False, False])
    """
    return run_unary(ISFINITE, input)


# ---------------------------------------------------------------- isposinf
cdef void isposinf_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if number is float or number is double:
            out[i] = x[i] == INFINITY
        else:
            out[i] = False

cdef Op ISPOSINF = Op("isposinf(Tensor x) -> Tensor", dtype="compare", exact_out=True)
floating_loops(ISPOSINF, <void*>isposinf_loop[float], <void*>isposinf_loop[double])
integer_loops(ISPOSINF, <void*>isposinf_loop[uint8_t], <void*>isposinf_loop[int8_t], <void*>isposinf_loop[int16_t],
              <void*>isposinf_loop[int32_t], <void*>isposinf_loop[int64_t])
ISPOSINF.loops[BOOL] = <void*>isposinf_loop[uint8_t]

def isposinf(TensorBase input not None, *, out=None):
    """Is each element inf?

    >>> import tensorlab
    >>> tensorlab.isposinf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False, False])
    """
    return run_unary(ISPOSINF, input) if out is None else run_out_1(ISPOSINF, input, out)


# ---------------------------------------------------------------- isneginf
cdef void isneginf_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if number is float or number is double:
            out[i] = x[i] == -INFINITY
        else:
            out[i] = False

cdef Op ISNEGINF = Op("isneginf(Tensor x) -> Tensor", dtype="compare", exact_out=True)
floating_loops(ISNEGINF, <void*>isneginf_loop[float], <void*>isneginf_loop[double])
integer_loops(ISNEGINF, <void*>isneginf_loop[uint8_t], <void*>isneginf_loop[int8_t], <void*>isneginf_loop[int16_t],
              <void*>isneginf_loop[int32_t], <void*>isneginf_loop[int64_t])
ISNEGINF.loops[BOOL] = <void*>isneginf_loop[uint8_t]

def isneginf(TensorBase input not None, *, out=None):
    """Is each element -inf?

    >>> import tensorlab
    >>> tensorlab.isneginf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False,  True])
    """
    return run_unary(ISNEGINF, input) if out is None else run_out_1(ISNEGINF, input, out)


# ---------------------------------------------------------------- isclose
cdef void isclose_loop(uint8_t* out, real* x, real* y, real* rtol, real* atol, ssize n) noexcept nogil:
    cdef ssize i
    cdef real distance
    for i in range(n):
        distance = <real>fabs(x[i] - y[i])
        out[i] = (x[i] == y[i]) | ((distance <= atol[i] + <real>fabs(rtol[i] * y[i])) & (distance < INFINITY))

cdef Op ISCLOSE = Op("isclose(Tensor x, Tensor y, Scalar rtol, Scalar atol) -> Tensor", dtype="compare")
floating_loops(ISCLOSE, <void*>isclose_loop[float], <void*>isclose_loop[double])

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
