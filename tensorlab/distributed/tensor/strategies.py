"""Strategies: in which ways an op can run on parts, and which of them costs the least.

A rule (rules.py) lists for an op the candidates along one dimension of a mesh: with these
placements of the operands, each rank can compute on its own, and the results are placed so. One
candidate is chosen for each dimension of the mesh, by the bytes that have to be exchanged to
bring the operands there.
"""

import dataclasses
import math
from typing import Any

from tensorlab.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    _StridedShard,
)

WHOLE = Replicate()
SUM = Partial()

RULES: dict = {}  # name of an op, without the `_` of its form in place: the function that lists its candidates
HANDLERS: dict = {}  # name of an op: function(func, args, kwargs, around) that does everything itself
ON_PARTS: dict = {}  # name of an op: function(func, *args, **kwargs) that computes it on parts


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One way to run an op.

    Attributes
    ----------
    outputs : tuple of Placement, one for each result; with one alone, it's that of all
    inputs : tuple of Placement, one for each operand that is a DTensor
    even : int or None: a size that the ranks must divide, where a dimension is cut in two or
        joined with another
    run : function(func, args, kwargs, first) or None, what runs instead of the op on the parts;
        it's told the first row that a rank has of the first operand
    """

    outputs: tuple
    inputs: tuple
    even: int | None = None
    run: Any = None


@dataclasses.dataclass
class OpCall:
    """A call of an op as a rule sees it.

    Attributes
    ----------
    name : str, such as "add"
    func : OpOverload
    args, kwargs : the arguments, with a Spec instead of each DTensor; lists are tuples
    operands : list of Spec, the DTensors in their order
    mesh : DeviceMesh
    """

    name: str
    func: Any
    args: tuple
    kwargs: dict
    operands: list
    mesh: Any

    def argument(self, name, default=None):
        """Return an argument by its name in the schema, or what it is when it's left out."""
        if name in self.kwargs:
            return self.kwargs[name]
        for place, one in enumerate(self.func._schema.arguments):
            if one.name == name:
                return self.args[place] if place < len(self.args) else default
        return default


def rule(*names):
    """Register the decorated function as the rule of the ops of these names."""

    def register(function):
        for name in names:
            RULES[name] = function
        return function

    return register


def handler(*names):
    """Register the decorated function as what runs the ops of these names."""

    def register(function):
        for name in names:
            HANDLERS[name] = function
        return function

    return register


def on_parts(*names):
    """Register the decorated function as what computes the ops of these names on parts."""

    def register(function):
        for name in names:
            ON_PARTS[name] = function
        return function

    return register


def replicated(call):
    """Return the candidate that is right for any op: every rank computes everything."""
    return Candidate((WHOLE,), (WHOLE,) * len(call.operands))


def as_it_is(call):
    """Return the candidates of an op whose result is placed as its one operand, whatever that is."""
    kinds = dict.fromkeys(call.operands[0].placements)
    return [Candidate((one,), (one,)) for one in kinds]


def by_letters(inputs, outputs, free=None, addends=(), linear=True):
    """List the candidates of an op whose dimensions have letters, as in einsum.

    Parameters
    ----------
    inputs, outputs : lists of str, a letter for each dimension. Where a letter is in no output,
        the op sums over it
    free : str, the letters that may be cut; by default all. `*` never is
    addends : collection of int, the operands that are added to the sum
    linear : bool, whether the op is linear in each operand

    Examples
    --------
    >>> by_letters(["mk", "kn"], ["mn"])[1]
    Candidate(outputs=(Shard(dim=0),), inputs=(Shard(dim=0), Replicate()), even=None, run=None)
    """
    n = len(inputs)
    found = [Candidate((WHOLE,) * len(outputs), (WHOLE,) * n)]
    letters = dict.fromkeys("".join(inputs))
    for letter in letters:
        if letter == "*" or (free is not None and letter not in free):
            continue
        placed = [Shard(one.index(letter)) if letter in one else WHOLE for one in inputs]
        if any(letter in one for one in outputs):
            if not all(letter in one for one in outputs):
                continue
            results = tuple(Shard(one.index(letter)) for one in outputs)
        else:
            results = (SUM,) * len(outputs)
            placed = [SUM if k in addends else one for k, one in enumerate(placed)]
        found.append(Candidate(results, tuple(placed)))
    if linear:
        for k in range(n):
            if k not in addends:
                placed = [SUM if j == k or j in addends else WHOLE for j in range(n)]
                found.append(Candidate((SUM,) * len(outputs), tuple(placed)))
    return found


def choose(call, candidates, written=None):
    """Choose one candidate for each dimension of the mesh.

    Parameters
    ----------
    call : OpCall
    candidates : list of Candidate
    written : int or None, an operand that the op writes to, and that has to come back to where
        it is

    Returns
    -------
    list of Candidate
    """
    chosen, evenly = [], {}
    for i in range(call.mesh.ndim):
        best, least = replicated(call), math.inf
        for one in [*candidates, *cut_later(call, candidates, i)]:
            price = cost(call, one, i, written)
            if one.even is not None and one.even % (evenly.get(one.even, 1) * call.mesh.shape[i]):
                price = math.inf
            if price < least:
                best, least = one, price
        if best.even is not None:
            evenly[best.even] = evenly.get(best.even, 1) * call.mesh.shape[i]
        chosen.append(best)
    return chosen


def cut_later(call, candidates, i):
    """Return the candidates once more, cut after other dimensions of the mesh, if an operand is."""
    strided = [
        one.placements[i] for one in call.operands if isinstance(one.placements[i], _StridedShard)
    ]
    if not strided:
        return []

    def later(placements):
        return tuple(
            _StridedShard(one.dim, split_factor=strided[0].split_factor) if one.is_shard() else one
            for one in placements
        )

    return [
        dataclasses.replace(one, outputs=later(one.outputs), inputs=later(one.inputs))
        for one in candidates
    ]


def cost(call, candidate, i, written):
    """Return how many bytes a rank exchanges to bring all operands to a candidate's placements."""
    size, total = call.mesh.shape[i], 0.0
    for k, (spec, wanted) in enumerate(zip(call.operands, candidate.inputs, strict=True)):
        current = spec.placements[i]
        if current == wanted:
            continue
        nbytes = math.prod(spec.shape) * spec.dtype.itemsize + 1
        total += price_of(current, wanted, nbytes, size)
        if k == written:
            total += price_of(wanted, current, nbytes, size)
    return total


def price_of(current: Placement, wanted: Placement, nbytes, size):
    """Return the price of one change: bytes, and a little for what is copied locally."""
    share = nbytes * (size - 1) / size + 0.03
    if current.is_replicate():
        return 0.01 * nbytes if wanted.is_shard() else 0.02 * nbytes
    if wanted.is_partial():
        return math.inf
    if current.is_partial():
        return share if wanted.is_shard() else 2 * share
    return share / size if wanted.is_shard() else share
