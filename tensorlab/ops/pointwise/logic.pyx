"""Logic: and, or, xor and not of truth values, the same of bits (& | ^ ~), and shifts (<< >>)."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from tensorlab._core.dispatch cimport (
    run_binary,
    run_binary_inplace,
    run_out_1,
    run_out_2,
    run_unary,
    run_unary_inplace,
)
from tensorlab._core.op cimport Op, floating_loops, integer_loops
from tensorlab._core.operands cimport is_operand
from tensorlab._core.dtypes cimport BOOL, integer, is_floating, number
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase


# ---------------------------------------------------------------- logical_not
cdef void logical_not_loop(uint8_t* out, number* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] == 0

cdef Op LOGICAL_NOT = Op("logical_not(Tensor x) -> Tensor", dtype="compare")
floating_loops(LOGICAL_NOT, <void*>logical_not_loop[float], <void*>logical_not_loop[double])
integer_loops(LOGICAL_NOT, <void*>logical_not_loop[uint8_t], <void*>logical_not_loop[int8_t], <void*>logical_not_loop[int16_t],
              <void*>logical_not_loop[int32_t], <void*>logical_not_loop[int64_t])
LOGICAL_NOT.loops[BOOL] = <void*>logical_not_loop[uint8_t]

def logical_not(TensorBase input not None, *, out=None):
    """Is each element zero (False)?

    >>> import tensorlab
    >>> tensorlab.logical_not(tensorlab.tensor([0, 1, 2]))
    tensor([ True, False, False])
    """
    return run_unary(LOGICAL_NOT, input) if out is None else run_out_1(LOGICAL_NOT, input, out)

def logical_not_(TensorBase input not None):
    """`logical_not`, written over `input` as ones and zeros."""
    return run_unary_inplace(LOGICAL_NOT, input)


# ---------------------------------------------------------------- logical_and
cdef void logical_and_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = (x[i] != 0) & (y[i] != 0)

cdef Op LOGICAL_AND = Op("logical_and(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(LOGICAL_AND, <void*>logical_and_loop[float], <void*>logical_and_loop[double])
integer_loops(LOGICAL_AND, <void*>logical_and_loop[uint8_t], <void*>logical_and_loop[int8_t], <void*>logical_and_loop[int16_t],
              <void*>logical_and_loop[int32_t], <void*>logical_and_loop[int64_t])
LOGICAL_AND.loops[BOOL] = <void*>logical_and_loop[uint8_t]

def logical_and(TensorBase input not None, TensorBase other not None, *, out=None):
    """Are both elements of a pair nonzero (True)?

    >>> import tensorlab
    >>> tensorlab.logical_and(tensorlab.tensor([1, 1, 0]), tensorlab.tensor([2, 0, 3]))
    tensor([ True, False, False])
    """
    return run_binary(LOGICAL_AND, input, other) if out is None else run_out_2(LOGICAL_AND, input, other, out)

def logical_and_(TensorBase input not None, TensorBase other not None):
    """`logical_and`, written over `input` as ones and zeros."""
    return run_binary_inplace(LOGICAL_AND, input, other)


# ---------------------------------------------------------------- logical_or
cdef void logical_or_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = (x[i] != 0) | (y[i] != 0)

cdef Op LOGICAL_OR = Op("logical_or(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(LOGICAL_OR, <void*>logical_or_loop[float], <void*>logical_or_loop[double])
integer_loops(LOGICAL_OR, <void*>logical_or_loop[uint8_t], <void*>logical_or_loop[int8_t], <void*>logical_or_loop[int16_t],
              <void*>logical_or_loop[int32_t], <void*>logical_or_loop[int64_t])
LOGICAL_OR.loops[BOOL] = <void*>logical_or_loop[uint8_t]

def logical_or(TensorBase input not None, TensorBase other not None, *, out=None):
    """Is an element of a pair nonzero (True)?

    >>> import tensorlab
    >>> tensorlab.logical_or(tensorlab.tensor([1, 1, 0]), tensorlab.tensor([2, 0, 3]))
    tensor([True, True, True])
    """
    return run_binary(LOGICAL_OR, input, other) if out is None else run_out_2(LOGICAL_OR, input, other, out)

def logical_or_(TensorBase input not None, TensorBase other not None):
    """`logical_or`, written over `input` as ones and zeros."""
    return run_binary_inplace(LOGICAL_OR, input, other)


# ---------------------------------------------------------------- logical_xor
cdef void logical_xor_loop(uint8_t* out, number* x, number* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = (x[i] != 0) != (y[i] != 0)

cdef Op LOGICAL_XOR = Op("logical_xor(Tensor x, Tensor y) -> Tensor", dtype="compare")
floating_loops(LOGICAL_XOR, <void*>logical_xor_loop[float], <void*>logical_xor_loop[double])
integer_loops(LOGICAL_XOR, <void*>logical_xor_loop[uint8_t], <void*>logical_xor_loop[int8_t], <void*>logical_xor_loop[int16_t],
              <void*>logical_xor_loop[int32_t], <void*>logical_xor_loop[int64_t])
LOGICAL_XOR.loops[BOOL] = <void*>logical_xor_loop[uint8_t]

def logical_xor(TensorBase input not None, TensorBase other not None, *, out=None):
    """Is exactly one element of a pair nonzero (True)?

    >>> import tensorlab
    >>> tensorlab.logical_xor(tensorlab.tensor([1, 1, 0]), tensorlab.tensor([2, 0, 3]))
    tensor([False,  True,  True])
    """
    return run_binary(LOGICAL_XOR, input, other) if out is None else run_out_2(LOGICAL_XOR, input, other, out)

def logical_xor_(TensorBase input not None, TensorBase other not None):
    """`logical_xor`, written over `input` as ones and zeros."""
    return run_binary_inplace(LOGICAL_XOR, input, other)


# ---------------------------------------------------------------- bitwise_not
cdef void bitwise_not_loop(integer* out, integer* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = ~x[i]

cdef void bitwise_not_bool_loop(uint8_t* out, uint8_t* x, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] ^ 1

cdef Op BITWISE_NOT = Op("bitwise_not(Tensor x) -> Tensor", dtype="promote", exact_out=True)
integer_loops(BITWISE_NOT, <void*>bitwise_not_loop[uint8_t], <void*>bitwise_not_loop[int8_t], <void*>bitwise_not_loop[int16_t],
              <void*>bitwise_not_loop[int32_t], <void*>bitwise_not_loop[int64_t])
BITWISE_NOT.loops[BOOL] = <void*>bitwise_not_bool_loop

def bitwise_not(TensorBase input not None, *, out=None):
    """Every bit of each integer inverted, or each bool; `~input`.

    Raises
    ------
    UnsupportedDType
        If `input` is floating.

    >>> import tensorlab
    >>> tensorlab.bitwise_not(tensorlab.tensor([True, False]))
    tensor([False,  True])
    """
    return run_unary(BITWISE_NOT, input) if out is None else run_out_1(BITWISE_NOT, input, out)

def bitwise_not_(TensorBase input not None):
    """`bitwise_not`, written over `input`."""
    return run_unary_inplace(BITWISE_NOT, input)

def bitwise_not_operator(TensorBase x not None):
    """`~x`"""
    if is_floating(x.dtype_):
        raise TypeError(f"bitwise_not: ~ is for integers and bools, not for {x.dtype}; did you mean -x or 1 - x?")
    return run_unary(BITWISE_NOT, x)


# ---------------------------------------------------------------- bitwise_and
cdef void bitwise_and_loop(integer* out, integer* x, integer* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] & y[i]

cdef Op BITWISE_AND = Op("bitwise_and(Tensor x, Tensor y) -> Tensor", dtype="promote")
integer_loops(BITWISE_AND, <void*>bitwise_and_loop[uint8_t], <void*>bitwise_and_loop[int8_t], <void*>bitwise_and_loop[int16_t],
              <void*>bitwise_and_loop[int32_t], <void*>bitwise_and_loop[int64_t])
BITWISE_AND.loops[BOOL] = <void*>bitwise_and_loop[uint8_t]

def bitwise_and(input, other, *, out=None):
    """The bits that are set in both of a pair of integers or bools; `input & other`.

    Raises
    ------
    UnsupportedDType
        If an operand is floating.

    >>> import tensorlab
    >>> tensorlab.bitwise_and(tensorlab.tensor([5, 10]), tensorlab.tensor([3, 2]))
    tensor([1, 2])
    """
    return run_binary(BITWISE_AND, input, other) if out is None else run_out_2(BITWISE_AND, input, other, out)

def bitwise_and_(TensorBase input not None, other):
    """`bitwise_and`, written over `input`."""
    return run_binary_inplace(BITWISE_AND, input, other)

def bitwise_and_operator(TensorBase x not None, y):
    """`x & y` and `y & x`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_AND, x, y) if is_operand(y) else NotImplemented

def bitwise_and_operator_(TensorBase x not None, y):
    """`x &= y`"""
    return run_binary_inplace(BITWISE_AND, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- bitwise_or
cdef void bitwise_or_loop(integer* out, integer* x, integer* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] | y[i]

cdef Op BITWISE_OR = Op("bitwise_or(Tensor x, Tensor y) -> Tensor", dtype="promote")
integer_loops(BITWISE_OR, <void*>bitwise_or_loop[uint8_t], <void*>bitwise_or_loop[int8_t], <void*>bitwise_or_loop[int16_t],
              <void*>bitwise_or_loop[int32_t], <void*>bitwise_or_loop[int64_t])
BITWISE_OR.loops[BOOL] = <void*>bitwise_or_loop[uint8_t]

def bitwise_or(input, other, *, out=None):
    """The bits that are set in one or both of a pair of integers or bools; `input | other`.

    Raises
    ------
    UnsupportedDType
        If an operand is floating.

    >>> import tensorlab
    >>> tensorlab.bitwise_or(tensorlab.tensor([5, 10]), tensorlab.tensor([3, 2]))
    tensor([ 7, 10])
    """
    return run_binary(BITWISE_OR, input, other) if out is None else run_out_2(BITWISE_OR, input, other, out)

def bitwise_or_(TensorBase input not None, other):
    """`bitwise_or`, written over `input`."""
    return run_binary_inplace(BITWISE_OR, input, other)

def bitwise_or_operator(TensorBase x not None, y):
    """`x | y` and `y | x`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_OR, x, y) if is_operand(y) else NotImplemented

def bitwise_or_operator_(TensorBase x not None, y):
    """`x |= y`"""
    return run_binary_inplace(BITWISE_OR, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- bitwise_xor
cdef void bitwise_xor_loop(integer* out, integer* x, integer* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = x[i] ^ y[i]

cdef Op BITWISE_XOR = Op("bitwise_xor(Tensor x, Tensor y) -> Tensor", dtype="promote")
integer_loops(BITWISE_XOR, <void*>bitwise_xor_loop[uint8_t], <void*>bitwise_xor_loop[int8_t], <void*>bitwise_xor_loop[int16_t],
              <void*>bitwise_xor_loop[int32_t], <void*>bitwise_xor_loop[int64_t])
BITWISE_XOR.loops[BOOL] = <void*>bitwise_xor_loop[uint8_t]

def bitwise_xor(input, other, *, out=None):
    """The bits that are set in exactly one of a pair of integers or bools; `input ^ other`.

    Raises
    ------
    UnsupportedDType
        If an operand is floating.

    >>> import tensorlab
    >>> tensorlab.bitwise_xor(tensorlab.tensor([5, 10]), tensorlab.tensor([3, 2]))
    tensor([6, 8])
    """
    return run_binary(BITWISE_XOR, input, other) if out is None else run_out_2(BITWISE_XOR, input, other, out)

def bitwise_xor_(TensorBase input not None, other):
    """`bitwise_xor`, written over `input`."""
    return run_binary_inplace(BITWISE_XOR, input, other)

def bitwise_xor_operator(TensorBase x not None, y):
    """`x ^ y` and `y ^ x`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_XOR, x, y) if is_operand(y) else NotImplemented

def bitwise_xor_operator_(TensorBase x not None, y):
    """`x ^= y`"""
    return run_binary_inplace(BITWISE_XOR, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- shifts
cdef inline integer left_shift_scalar(integer x, integer y) noexcept nogil:
    """C leaves a shift by a negative number, or by all bits, undefined; here nothing remains of x."""
    return <integer>(<uint64_t><int64_t>x << y) if y >= 0 and y < 8 * <int>sizeof(integer) else 0

cdef inline integer right_shift_scalar(integer x, integer y) noexcept nogil:
    """Shifted by too much, only the sign remains."""
    if integer is uint8_t:
        return x >> y if y < 8 else 0
    else:
        return x >> (y if y >= 0 and y < 8 * <int>sizeof(integer) else 8 * <int>sizeof(integer) - 1)


# ---------------------------------------------------------------- bitwise_left_shift
cdef void left_shift_loop(integer* out, integer* x, integer* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = left_shift_scalar(x[i], y[i])

cdef Op BITWISE_LEFT_SHIFT = Op("bitwise_left_shift(Tensor x, Tensor y) -> Tensor", dtype="promote")
integer_loops(BITWISE_LEFT_SHIFT, <void*>left_shift_loop[uint8_t], <void*>left_shift_loop[int8_t],
              <void*>left_shift_loop[int16_t], <void*>left_shift_loop[int32_t], <void*>left_shift_loop[int64_t])

def bitwise_left_shift(input, other, *, out=None):
    """Each integer times 2 to the power of `other`; `input << other`. Its bits move to the left.

    Raises
    ------
    UnsupportedDType
        If an operand is floating, or both are bool.

    >>> import tensorlab
    >>> tensorlab.bitwise_left_shift(tensorlab.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """
    if out is not None:
        return run_out_2(BITWISE_LEFT_SHIFT, input, other, out)
    return run_binary(BITWISE_LEFT_SHIFT, input, other)

def bitwise_left_shift_(TensorBase input not None, other):
    """`bitwise_left_shift`, written over `input`."""
    return run_binary_inplace(BITWISE_LEFT_SHIFT, input, other)

def bitwise_left_shift_operator(TensorBase x not None, y):
    """`x << y`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_LEFT_SHIFT, x, y) if is_operand(y) else NotImplemented

def bitwise_left_shift_reflected(TensorBase y not None, x):
    """`x << y` where x is no tensor."""
    return run_binary(BITWISE_LEFT_SHIFT, x, y) if is_operand(x) else NotImplemented

def bitwise_left_shift_operator_(TensorBase x not None, y):
    """`x <<= y`"""
    return run_binary_inplace(BITWISE_LEFT_SHIFT, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- bitwise_right_shift
cdef void right_shift_loop(integer* out, integer* x, integer* y, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = right_shift_scalar(x[i], y[i])

cdef Op BITWISE_RIGHT_SHIFT = Op("bitwise_right_shift(Tensor x, Tensor y) -> Tensor", dtype="promote")
integer_loops(BITWISE_RIGHT_SHIFT, <void*>right_shift_loop[uint8_t], <void*>right_shift_loop[int8_t],
              <void*>right_shift_loop[int16_t], <void*>right_shift_loop[int32_t], <void*>right_shift_loop[int64_t])

def bitwise_right_shift(input, other, *, out=None):
    """Each integer over 2 to the power of `other`, rounded down; `input >> other`. Its bits move to the right.

    Raises
    ------
    UnsupportedDType
        If an operand is floating, or both are bool.

    >>> import tensorlab
    >>> tensorlab.bitwise_right_shift(tensorlab.tensor([4, -13]), 2)
    tensor([ 1, -4])
    """
    if out is not None:
        return run_out_2(BITWISE_RIGHT_SHIFT, input, other, out)
    return run_binary(BITWISE_RIGHT_SHIFT, input, other)

def bitwise_right_shift_(TensorBase input not None, other):
    """`bitwise_right_shift`, written over `input`."""
    return run_binary_inplace(BITWISE_RIGHT_SHIFT, input, other)

def bitwise_right_shift_operator(TensorBase x not None, y):
    """`x >> y`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_RIGHT_SHIFT, x, y) if is_operand(y) else NotImplemented

def bitwise_right_shift_reflected(TensorBase y not None, x):
    """`x >> y` where x is no tensor."""
    return run_binary(BITWISE_RIGHT_SHIFT, x, y) if is_operand(x) else NotImplemented

def bitwise_right_shift_operator_(TensorBase x not None, y):
    """`x >>= y`"""
    return run_binary_inplace(BITWISE_RIGHT_SHIFT, x, y) if is_operand(y) else NotImplemented
