"""ReduceOp: how a collective makes one value of the values of all ranks."""

import enum

from tensorlab._core.dtypes import BY_NAME
from tensorlab.errors import DTypeError

__all__ = ["ReduceOp", "reduce_op"]

BOOL = BY_NAME["bool"]


class RedOpType(enum.IntEnum):
    """The names of the reductions, numbered as in PyTorch."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    @property
    def op(self):
        """The member itself, as for a ReduceOp with a factor."""
        return self

    def __repr__(self):
        return f"<RedOpType.{self.name}: {self.value}>"


class ReduceOp:
    """A reduction for collectives: `ReduceOp.SUM`, `AVG`, `PRODUCT`, `MIN`, `MAX`, `BAND`,
    `BOR`, `BXOR` or `PREMUL_SUM`.

    The bitwise ones, from `BAND` to `BXOR`, are for integers and bool. With bool, `SUM` and
    `MAX` are true where any rank is, `PRODUCT` and `MIN` where all are.

    Parameters
    ----------
    op : ReduceOp.RedOpType, a member
    factor : number or Tensor, only with PREMUL_SUM: what each rank's values are multiplied with
        before the sum

    Examples
    --------
    >>> ReduceOp.SUM
    <RedOpType.SUM: 0>
    >>> ReduceOp(ReduceOp.MAX) == ReduceOp.MAX
    True
    """

    RedOpType = RedOpType
    SUM, AVG, PRODUCT = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT
    MIN, MAX = RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op, factor=None):
        if (op == RedOpType.PREMUL_SUM) != (factor is not None):
            raise ValueError("ReduceOp: a factor is given with PREMUL_SUM, and only with it")
        self.op, self.factor = RedOpType(op), factor

    def __eq__(self, other):
        if isinstance(other, ReduceOp):
            return self.op == other.op and self.factor is other.factor
        return self.op == other if isinstance(other, RedOpType) else NotImplemented

    def __hash__(self):
        return hash(self.op)

    def __repr__(self):
        return repr(self.op)

    @property
    def name(self):
        return self.op.name


class reduce_op:
    """The older name of ReduceOp: `reduce_op.SUM`, `PRODUCT`, `MIN` and `MAX`.

    Examples
    --------
    >>> reduce_op.SUM == ReduceOp.SUM
    True
    """

    SUM, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX


BITWISE = {
    RedOpType.BAND: "bitwise_and_",
    RedOpType.BOR: "bitwise_or_",
    RedOpType.BXOR: "bitwise_xor_",
}
OF_BOOL = {
    RedOpType.SUM: "logical_or_",
    RedOpType.MAX: "logical_or_",
    RedOpType.PRODUCT: "logical_and_",
    RedOpType.MIN: "logical_and_",
}


def checked_op(op, where, dtype):
    """Return the RedOpType and the factor of a reduction; refuse what the dtype can't do.

    Raises
    ------
    TypeError
        If `op` is no reduction.
    ValueError
        If values are complex, and the reduction isn't defined for them.
    DTypeError
        If bits are asked of numbers that aren't integers.
    """
    if not isinstance(op, (RedOpType, ReduceOp)):
        raise TypeError(
            f"{where}: op is {op!r}; expected a member of ReduceOp, such as ReduceOp.SUM"
        )
    kind, factor = op.op, getattr(op, "factor", None)
    if dtype.is_complex and kind not in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM):
        raise ValueError(f"{where} does not support {kind.name} on complex tensors")
    if kind in BITWISE and (dtype.is_floating_point or dtype.is_complex):
        raise DTypeError(
            f"{where}: {kind.name} works on the bits of integers and bool, not on {dtype}; "
            f"use SUM, MIN or MAX"
        )
    if kind == RedOpType.PREMUL_SUM and factor is None:
        raise ValueError(
            f"{where}: PREMUL_SUM needs a factor: give ReduceOp(ReduceOp.PREMUL_SUM, 0.5)"
        )
    return kind, factor


def combine(kind, total, other):
    """Bring the values of one more rank into `total`, in place."""
    name = BITWISE.get(kind) or (OF_BOOL.get(kind) if total.dtype is BOOL else None)
    if name is not None:
        getattr(total, name)(other)
    elif kind == RedOpType.PRODUCT:
        total.mul_(other)
    elif kind == RedOpType.MIN:
        total.copy_(total.minimum(other))
    elif kind == RedOpType.MAX:
        total.copy_(total.maximum(other))
    else:  # SUM, AVG, and PREMUL_SUM, whose factor was applied before
        total.add_(other)


def divide_average(kind, total, size):
    """Turn a sum over `size` ranks into the average, in place, where that is what is asked for."""
    if kind == RedOpType.AVG:
        if total.dtype.is_floating_point or total.dtype.is_complex:
            total.div_(size)
        else:
            total.copy_(total.div(size, rounding_mode="trunc"))
