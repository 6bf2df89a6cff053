"""Placements: how the ranks along one dimension of a mesh hold a tensor.

    Shard(d)      each has a part of dimension d, cut as by `Tensor.chunk`
    Replicate()   each has all of it
    Partial(op)   each has a tensor of the full shape; the values are these reduced by `op`

A DTensor has one placement for each dimension of its mesh.
"""

from tensorlab.distributed.reduce_ops import ReduceOp

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

REDUCTIONS = {
    "sum": ReduceOp.SUM,
    "avg": ReduceOp.AVG,
    "product": ReduceOp.PRODUCT,
    "min": ReduceOp.MIN,
    "max": ReduceOp.MAX,
}


class Placement:
    """The base of `Shard`, `Replicate` and `Partial`.

    Examples
    --------
    >>> Shard(0).is_shard(), Shard(0).is_replicate(), Replicate().is_replicate()
    (True, False, True)
    """

    def is_shard(self, dim=None):
        """Return whether it cuts the tensor, in dimension `dim` if that is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self):
        """Return whether each rank holds everything."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        """Return whether the values are a reduction, by `reduce_op` if that is given."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self):
        return hash((type(self), *vars(self).values()))

    def __setattr__(self, name, value):
        raise AttributeError(f"a placement is a value: make a new {type(self).__name__}")


class Shard(Placement):
    """Each rank has a part of dimension `dim`: the first ranks ceil(n / ranks) rows, later ones
    fewer, or none, as `chunk` cuts.

    Parameters
    ----------
    dim : int; one from the end is counted from the front once it meets a tensor

    Examples
    --------
    >>> Shard(0), str(Shard(1)), Shard(0).is_shard(1)
    (Shard(dim=0), 'S(1)', False)
    """

    def __init__(self, dim):
        if not isinstance(dim, int) or isinstance(dim, bool):
            raise TypeError(f"Shard: dim is {dim!r}; expected the number of a dimension")
        self.__dict__["dim"] = dim

    def __repr__(self):
        return f"Shard(dim={self.dim})"

    def __str__(self):
        return f"S({self.dim})"


class _StridedShard(Shard):
    """A Shard that cuts after the shards of the same dimension at later dimensions of the mesh
    have cut: what `fully_shard` does to parameters that tensor parallel has cut before.

    Parameters
    ----------
    dim : int
    split_factor : int, how many parts there are already
    """

    def __init__(self, dim, *, split_factor):
        super().__init__(dim)
        self.__dict__["split_factor"] = split_factor

    def __repr__(self):
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"


class Replicate(Placement):
    """Each rank has the whole tensor.

    Examples
    --------
    >>> Replicate(), str(Replicate())
    (Replicate(), 'R')
    """

    def __repr__(self):
        return "Replicate()"

    def __str__(self):
        return "R"


class Partial(Placement):
    """Each rank has a tensor of the full shape, and the values are their reduction.

    Parameters
    ----------
    reduce_op : "sum", "avg", "product", "min" or "max"

    Examples
    --------
    >>> Partial(), str(Partial("max"))
    (Partial(sum), 'P(max)')
    """

    def __init__(self, reduce_op="sum"):
        self.__dict__["reduce_op"] = reduce_op
        if type(self) is Partial and reduce_op not in REDUCTIONS:
            raise ValueError(
                f"Partial: reduce_op is {reduce_op!r}; expected one of {list(REDUCTIONS)}"
            )

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"

    def is_linear(self):
        """Return whether sums and multiples may be computed before the reduction."""
        return self.reduce_op in ("sum", "avg")

    def reduce(self, reduction, x):
        """Reduce `x` by `reduction(x, op)`, a collective."""
        return reduction(x, REDUCTIONS[self.reduce_op])

    def part_of(self, x, rank):
        """Return what a rank contributes, so that the reduction is `x`."""
        return x if rank == 0 or self.reduce_op != "sum" else x.new_zeros(x.shape)


class _NormPartial(Partial):
    """Norms of parts: the value is the norm of the vector of all ranks' values.

    Parameters
    ----------
    norm_type : float, the order of the norm
    """

    def __init__(self, norm_type=2.0):
        super().__init__({float("inf"): "max", float("-inf"): "min"}.get(norm_type, "sum"))
        self.__dict__["norm_type"] = norm_type

    def __repr__(self):
        return f"_NormPartial(reduce_op={self.reduce_op}, norm_type={self.norm_type})"

    def __str__(self):
        return f"_NormP({self.reduce_op}, {self.norm_type})"

    def is_linear(self):
        return False

    def reduce(self, reduction, x):
        if self.reduce_op != "sum":
            return reduction(x, REDUCTIONS[self.reduce_op])
        if self.norm_type == 0:
            return reduction(x, ReduceOp.SUM)
        return reduction(x.pow(self.norm_type), ReduceOp.SUM).pow(1 / self.norm_type)
