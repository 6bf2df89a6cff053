"""Logic: and, or, xor and not of truth values, the same of bits (& | ^ ~), and shifts (<< >>)."""
from tensorlab._core.dispatch.dispatch cimport run_binary, run_binary_inplace, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport is_operand
from tensorlab._core.dtypes cimport FLOAT8, INEXACT, is_in
from tensorlab._core.tensor cimport TensorBase

from tensorlab.ops.pointwise.common import inplace_function

cdef extern from "logic_loops.h":           # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops


# ---------------------------------------------------------------- logical_not
cdef Op LOGICAL_NOT = Op("logical_not(Tensor x) -> Tensor", dtype="compare",
                         scalar={"any": "x == 0"})

def logical_not(TensorBase input not None, *, out=None):
    """Is each element zero (False)?

    >>> import tensorlab
    >>> tensorlab.logical_not(tensorlab.tensor([0, 1, 2]))
    tensor([ True, False, False])
    """
    return run_unary(LOGICAL_NOT, input, out)

logical_not_ = inplace_function(LOGICAL_NOT, logical_not)


# ---------------------------------------------------------------- logical_and
cdef Op LOGICAL_AND = Op("logical_and(Tensor x, Tensor y) -> Tensor", dtype="compare",
                         scalar={"any": "(x != 0) & (y != 0)"})

def logical_and(TensorBase input not None, TensorBase other not None, *, out=None):
    """Are both elements of a pair nonzero (True)?

    >>> import tensorlab
    >>> tensorlab.logical_and(tensorlab.tensor([1, 1, 0]), tensorlab.tensor([2, 0, 3]))
    tensor([ True, False, False])
    """
    return run_binary(LOGICAL_AND, input, other, out)

logical_and_ = inplace_function(LOGICAL_AND, logical_and, tensors_only=True)


# ---------------------------------------------------------------- logical_or
cdef Op LOGICAL_OR = Op("logical_or(Tensor x, Tensor y) -> Tensor", dtype="compare",
                        scalar={"any": "(x != 0) | (y != 0)"})

def logical_or(TensorBase input not None, TensorBase other not None, *, out=None):
    """Is an element of a pair nonzero (True)?

    >>> import tensorlab
    >>> tensorlab.logical_or(tensorlab.tensor([1, 1, 0]), tensorlab.tensor([2, 0, 3]))
    tensor([True, True, True])
    """
    return run_binary(LOGICAL_OR, input, other, out)

logical_or_ = inplace_function(LOGICAL_OR, logical_or, tensors_only=True)


# ---------------------------------------------------------------- logical_xor
cdef Op LOGICAL_XOR = Op("logical_xor(Tensor x, Tensor y) -> Tensor", dtype="compare",
                         scalar={"any": "(x != 0) != (y != 0)"})

def logical_xor(TensorBase input not None, TensorBase other not None, *, out=None):
    """Is exactly one element of a pair nonzero (True)?

    >>> import tensorlab
    >>> tensorlab.logical_xor(tensorlab.tensor([1, 1, 0]), tensorlab.tensor([2, 0, 3]))
    tensor([False,  True,  True])
    """
    return run_binary(LOGICAL_XOR, input, other, out)

logical_xor_ = inplace_function(LOGICAL_XOR, logical_xor, tensors_only=True)


# ---------------------------------------------------------------- bitwise_not
cdef Op BITWISE_NOT = Op("bitwise_not(Tensor x) -> Tensor", dtype="promote",
                         scalar={"bool": "x ^ 1", "integer": "~x"}, exact_out=True)

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
    return run_unary(BITWISE_NOT, input, out)

bitwise_not_ = inplace_function(BITWISE_NOT, bitwise_not)

def bitwise_not_operator(TensorBase x not None):
    """`~x`"""
    if is_in(x.dtype_, INEXACT | FLOAT8):
        raise TypeError(f"bitwise_not: ~ is for integers and bools, not for {x.dtype}; did you mean -x or 1 - x?")
    return run_unary(BITWISE_NOT, x)


# ---------------------------------------------------------------- bitwise_and
cdef Op BITWISE_AND = Op("bitwise_and(Tensor x, Tensor y) -> Tensor",
                         aten="bitwise_and.Tensor", dtype="promote",
                         scalar={"whole": "x & y"}, is_modular=True)

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
    return run_binary(BITWISE_AND, input, other, out)

bitwise_and_ = inplace_function(BITWISE_AND, bitwise_and)

def bitwise_and_operator(TensorBase x not None, y):
    """`x & y` and `y & x`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_AND, x, y) if is_operand(y) else NotImplemented

def bitwise_and_operator_(TensorBase x not None, y):
    """`x &= y`"""
    return run_binary_inplace(BITWISE_AND, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- bitwise_or
cdef Op BITWISE_OR = Op("bitwise_or(Tensor x, Tensor y) -> Tensor",
                        aten="bitwise_or.Tensor", dtype="promote",
                        scalar={"whole": "x | y"}, is_modular=True)

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
    return run_binary(BITWISE_OR, input, other, out)

bitwise_or_ = inplace_function(BITWISE_OR, bitwise_or)

def bitwise_or_operator(TensorBase x not None, y):
    """`x | y` and `y | x`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_OR, x, y) if is_operand(y) else NotImplemented

def bitwise_or_operator_(TensorBase x not None, y):
    """`x |= y`"""
    return run_binary_inplace(BITWISE_OR, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- bitwise_xor
cdef Op BITWISE_XOR = Op("bitwise_xor(Tensor x, Tensor y) -> Tensor",
                         aten="bitwise_xor.Tensor", dtype="promote",
                         scalar={"whole": "x ^ y"}, is_modular=True)

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
    return run_binary(BITWISE_XOR, input, other, out)

bitwise_xor_ = inplace_function(BITWISE_XOR, bitwise_xor)

def bitwise_xor_operator(TensorBase x not None, y):
    """`x ^ y` and `y ^ x`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_XOR, x, y) if is_operand(y) else NotImplemented

def bitwise_xor_operator_(TensorBase x not None, y):
    """`x ^= y`"""
    return run_binary_inplace(BITWISE_XOR, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- bitwise_left_shift
cdef Op BITWISE_LEFT_SHIFT = Op("bitwise_left_shift(Tensor x, Tensor y) -> Tensor",
                                aten="bitwise_left_shift.Tensor",
                                dtype="promote", scalar={"integer": "left_shift#(x, y)"})

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
    return run_binary(BITWISE_LEFT_SHIFT, input, other, out)

bitwise_left_shift_ = inplace_function(BITWISE_LEFT_SHIFT, bitwise_left_shift)

def bitwise_left_shift_operator(TensorBase x not None, y):
    """`x << y`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_LEFT_SHIFT, x, y) if is_operand(y) else NotImplemented

def bitwise_left_shift_reflected(TensorBase y not None, x):
    """`x << y` where x is not a tensor."""
    return run_binary(BITWISE_LEFT_SHIFT, x, y) if is_operand(x) else NotImplemented

def bitwise_left_shift_operator_(TensorBase x not None, y):
    """`x <<= y`"""
    return run_binary_inplace(BITWISE_LEFT_SHIFT, x, y) if is_operand(y) else NotImplemented


# ---------------------------------------------------------------- bitwise_right_shift
cdef Op BITWISE_RIGHT_SHIFT = Op("bitwise_right_shift(Tensor x, Tensor y) -> Tensor",
                                 aten="bitwise_right_shift.Tensor",
                                 dtype="promote", scalar={"integer": "right_shift#(x, y)"})

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
    return run_binary(BITWISE_RIGHT_SHIFT, input, other, out)

bitwise_right_shift_ = inplace_function(BITWISE_RIGHT_SHIFT, bitwise_right_shift)

def bitwise_right_shift_operator(TensorBase x not None, y):
    """`x >> y`; leaves foreign operands to their own class."""
    return run_binary(BITWISE_RIGHT_SHIFT, x, y) if is_operand(y) else NotImplemented

def bitwise_right_shift_reflected(TensorBase y not None, x):
    """`x >> y` where x is not a tensor."""
    return run_binary(BITWISE_RIGHT_SHIFT, x, y) if is_operand(x) else NotImplemented

def bitwise_right_shift_operator_(TensorBase x not None, y):
    """`x >>= y`"""
    return run_binary_inplace(BITWISE_RIGHT_SHIFT, x, y) if is_operand(y) else NotImplemented


set_loops(tl_loops)
