"""Comparisons of pairs of elements (== != < <= > >=), tests for nan and inf, and closeness. Results are bool."""
from libc.string cimport memchr

from tensorlab._core.dispatch.dispatch cimport run_binary, run_quaternary, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport comparable, is_operand
from tensorlab._core.dtypes cimport COMPLEX, is_in
from tensorlab._core.state.devices cimport FIRST_OF_OTHERS
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase, memory_of
from tensorlab.ops.pointwise.common cimport check_tensor

from tensorlab.errors import DTypeError
from tensorlab.ops.pointwise.common import inplace_function

cdef extern from "comparison_loops.h":      # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- eq
cdef Op EQ = Op("eq(Tensor x, Tensor y) -> Tensor",
                aten="eq.Tensor", dtype="compare", scalar={"any": "x == y"}, takes_float8=True)

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
cdef Op NE = Op("ne(Tensor x, Tensor y) -> Tensor",
                aten="ne.Tensor", dtype="compare", scalar={"any": "x != y"}, takes_float8=True)

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
cdef Op LT = Op("lt(Tensor x, Tensor y) -> Tensor",
                aten="lt.Tensor", dtype="compare", scalar="x < y")

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
cdef Op LE = Op("le(Tensor x, Tensor y) -> Tensor",
                aten="le.Tensor", dtype="compare", scalar="x <= y")

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
cdef Op GT = Op("gt(Tensor x, Tensor y) -> Tensor",
                aten="gt.Tensor", dtype="compare", scalar="x > y")

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
cdef Op GE = Op("ge(Tensor x, Tensor y) -> Tensor",
                aten="ge.Tensor", dtype="compare", scalar="x >= y")

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
cdef Op ISNAN = Op("isnan(Tensor x) -> Tensor", dtype="compare",
                   scalar={"inexact": "x != x", "any": "0"}, takes_float8=True)

def isnan(TensorBase input not None):
    """Is each element nan?

    >>> import tensorlab
    >>> tensorlab.isnan(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False,  True, False])
    """
    return run_unary(ISNAN, input)


# ---------------------------------------------------------------- isinf
cdef Op ISINF = Op("isinf(Tensor x) -> Tensor", dtype="compare",
                   scalar={"floating": "(x == INFINITY) | (x == -INFINITY)",
                           "complex": "isinf(creal@(x)) | isinf(cimag@(x))",
                           "any": "0"}, takes_float8=True)

def isinf(TensorBase input not None):
    """Is each element inf or -inf?

    >>> import tensorlab
    >>> tensorlab.isinf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False,  True])
    """
    return run_unary(ISINF, input)


# ---------------------------------------------------------------- isfinite
cdef Op ISFINITE = Op("isfinite(Tensor x) -> Tensor", dtype="compare",
                      scalar={"floating": "(x < INFINITY) & (x > -INFINITY)",
                              "complex": "isfinite(creal@(x)) & isfinite(cimag@(x))",
                              "any": "1"}, takes_float8=True)

def isfinite(TensorBase input not None):
    """Is each element neither inf nor nan?

    >>> import tensorlab
    >>> tensorlab.isfinite(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([ True, False, False])
    """
    return run_unary(ISFINITE, input)


# ---------------------------------------------------------------- isposinf
cdef Op ISPOSINF = Op("isposinf(Tensor x) -> Tensor", dtype="compare",
                      scalar={"floating": "x == INFINITY", "ordered": "0"}, exact_out=True)

def isposinf(TensorBase input not None, *, out=None):
    """Is each element inf?

    >>> import tensorlab
    >>> tensorlab.isposinf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False, False])
    """
    return run_unary(ISPOSINF, input, out)


# ---------------------------------------------------------------- isneginf
cdef Op ISNEGINF = Op("isneginf(Tensor x) -> Tensor", dtype="compare",
                      scalar={"floating": "x == -INFINITY", "ordered": "0"}, exact_out=True)

def isneginf(TensorBase input not None, *, out=None):
    """Is each element -inf?

    >>> import tensorlab
    >>> tensorlab.isneginf(tensorlab.tensor([1., float("nan"), -float("inf")]))
    tensor([False, False,  True])
    """
    return run_unary(ISNEGINF, input, out)


# ---------------------------------------------------------------- isclose
cdef Op ISCLOSE = Op(
    "isclose(Tensor x, Tensor y, float rtol=1e-05, float atol=1e-08) -> Tensor",
    fixed="bool equal_nan=False",
    dtype="compare", scalar={"floating": "is_close#(x, y, rtol, atol)"})

cdef object close(str where, TensorBase x, object y, double rtol, double atol, bint equal_nan):
    check_tensor(where, "other", y)
    if (<TensorBase>y).dtype_ != x.dtype_:
        raise DTypeError(f"{where}: input is {x.dtype} and other is {y.dtype}; they must have one type. Convert with .to()")
    if not rtol >= 0 or not atol >= 0:
        raise RuntimeError(f"{where}: rtol is {rtol} and atol is {atol}; tolerances must not be negative")
    if is_in(x.dtype_, COMPLEX):                # finite numbers are as near as their difference is short
        out = run_binary(EQ, x, y) | ((x - y).abs() <= atol + rtol * y.abs()) & (x - y).isfinite() & y.isfinite()
    else:
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
    if x.storage_.device >= FIRST_OF_OTHERS:            # whose memory its device reads
        return (<object>x).all().item()
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


set_loops(tl_loops)
