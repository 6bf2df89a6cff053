"""Sums, products and their relatives: the ops behind + - * /."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tensorlab._core.dispatch cimport (
    Op,
    floating_loops,
    integer_loops,
    is_operand,
    run_binary,
    run_binary_inplace,
    run_out_2,
)
from tensorlab._core.dtypes cimport BOOL, number
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase


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

def mul(TensorBase input not None, other, *, out=None):
    """Product of each pair of elements, broadcast; `input * other`.

    Parameters
    ----------
    input : Tensor
    other : Tensor or number
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the broadcast shape and the promoted dtype

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
