"""The rules of ops: which placements of operands let each rank compute on its own.

Ops on elements and ops that are like matrix products say it by the letters of their dimensions;
views say where each dimension goes (view_rules.py). An op that has no rule computes on whole
tensors.
"""

import string

from tensorlab.distributed.tensor.placement_types import Partial, Replicate, Shard, _NormPartial
from tensorlab.distributed.tensor.strategies import (
    SUM,
    WHOLE,
    Candidate,
    as_it_is,
    by_letters,
    replicated,
    rule,
)

ADDITIVE = {"add", "sub", "add_", "sub_"}  # of two tensors: linear in both together
SCALING = {"neg", "clone", "to_copy", "mul", "div", "contiguous", "real", "imag", "lerp"}


# ---------------------------------------------------------------- ops on elements
def pointwise(call):
    """List the candidates of an op on elements: any dimension of the result can be cut."""
    ndim = max(spec.ndim for spec in call.operands)
    sizes = broadcast_sizes(call, ndim)
    found = [replicated(call)]
    for dim in range(ndim):
        if sizes[dim] > 1:
            placed = tuple(aligned(spec, dim, ndim) for spec in call.operands)
            found.append(Candidate((Shard(dim),), placed))
    return found + linear_candidates(call)


def broadcast_sizes(call, ndim):
    """Return the sizes of the result of broadcasting all operands."""
    padded = [(1,) * (ndim - spec.ndim) + tuple(spec.shape) for spec in call.operands]
    return [max(column) for column in zip(*padded, strict=True)]


def aligned(spec, dim, ndim):
    """Return the placement of an operand where dimension `dim` of the result is cut."""
    own = dim - (ndim - spec.ndim)
    return Shard(own) if own >= 0 and spec.shape[own] > 1 else WHOLE


def linear_candidates(call):
    """List the candidates on partial values, for the ops on elements that are linear."""
    n, name = len(call.operands), call.name
    kinds = {
        p for spec in call.operands for p in spec.placements if p.is_partial() and p.is_linear()
    }
    found = []
    for kind in kinds:
        if name in ADDITIVE and n == 2:
            found.append(Candidate((kind,), (kind, kind)))
        elif name in SCALING and n == 1 and not number_over_tensor(call):
            found.append(Candidate((kind,), (kind,)))
        elif name == "mul" and n == 2:
            found += [Candidate((kind,), (kind, WHOLE)), Candidate((kind,), (WHOLE, kind))]
        elif name == "div" and n == 2:
            found.append(Candidate((kind,), (kind, WHOLE)))
    return found


def number_over_tensor(call):
    """Return whether a division has the tensor below the line."""
    return call.name == "div" and not hasattr(call.args[0], "placements")


@rule("detach", "data", "clone", "to_copy", "_lazy_clone", "to_integers")
def same_place(call):
    """A copy, or the same tensor seen anew; rounding to integers isn't linear."""
    return pointwise(call) if rounds(call) else as_it_is(call)


def rounds(call):
    """Return whether an op converts numbers to integers, which isn't linear."""
    wanted = call.argument("dtype")
    if wanted is None or wanted.is_floating_point or wanted.is_complex:
        return False
    return call.operands[0].dtype.is_floating_point


@rule("copy", "fill", "zero", "masked_fill", "masked_fill.Tensor", "update_average")
def writing(call):
    """What is written in place, part by part."""
    found = pointwise(call)
    if call.name in ("copy", "zero"):
        kinds = {p for p in call.operands[0].placements if p.is_partial()}
        found += [Candidate((p,), (p,) * len(call.operands)) for p in kinds]
    return found


@rule("zeros_like", "ones_like", "full_like", "empty_like")
def like(call):
    """A new tensor, cut as the one whose shape it has."""
    spec = call.operands[0]
    return [replicated(call)] + [
        Candidate((p if p.is_shard() else WHOLE,), (p,)) for p in dict.fromkeys(spec.placements)
    ]


@rule("new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided")
def new(call):
    """A new tensor of any shape, whole on each rank; its operand stays as it is."""
    return [Candidate((WHOLE,), (p,)) for p in dict.fromkeys(call.operands[0].placements)]


# ---------------------------------------------------------------- products
LETTERS = string.ascii_lowercase


@rule("mm")
def mm(call):
    return by_letters(["mk", "kn"], ["mn"])


@rule("bmm")
def bmm(call):
    return by_letters(["bmk", "bkn"], ["bmn"])


@rule("mv")
def mv(call):
    return by_letters(["mk", "k"], ["m"])


@rule("vm")
def vm(call):
    return by_letters(["k", "kn"], ["n"])


@rule("dot")
def dot(call):
    return by_letters(["k", "k"], [""])


@rule("addmm", "baddbmm")
def addmm(call):
    """A product and an addend, which is broadcast."""
    added, *factors = call.operands
    if len(factors) != 2:
        return [replicated(call)]
    inputs, output = (["mk", "kn"], "mn") if call.name == "addmm" else (["bmk", "bkn"], "bmn")
    sizes = [max(f.shape[s.index(c)] for f, s in zip(factors, inputs, strict=True) if c in s)
             for c in output]  # fmt: skip
    return by_letters([broadcast_letters(added, output, sizes), *inputs], [output], addends=(0,))


def broadcast_letters(spec, letters, sizes):
    """Return the letters of a tensor that is broadcast to a shape; `*` where its size is 1."""
    first = len(letters) - spec.ndim
    return "".join(
        letters[first + k] if n == sizes[first + k] else "*" for k, n in enumerate(spec.shape)
    )


@rule("matmul")
def matmul(call):
    """A product of matrices, and of batches of them, which are broadcast."""
    x, y = call.operands
    m = "" if x.ndim == 1 else "y"
    n = "" if y.ndim == 1 else "z"
    batch_x, batch_y = tuple(x.shape[:-2]), tuple(y.shape[:-2])
    ndim = max(len(batch_x), len(batch_y))
    padded = [(1,) * (ndim - len(one)) + one for one in (batch_x, batch_y)]
    sizes = [max(column) for column in zip(*padded, strict=True)]
    named = [
        "".join(LETTERS[k] if size == sizes[k] else "*" for k, size in enumerate(one))[
            ndim - given :
        ]
        for one, given in zip(padded, (len(batch_x), len(batch_y)), strict=True)
    ]
    return by_letters([named[0] + m + "x", named[1] + "x" + n], [LETTERS[:ndim] + m + n])


@rule("linear")
def linear(call):
    """x @ weight.T + bias: the weight's rows cut give the result's last dimension, its columns
    a sum over the ranks, to which one of them adds the bias."""
    x, _, *bias = call.operands
    batch = LETTERS[: x.ndim - 1]
    return by_letters(
        [batch + "x", "yx"] + ["y"] * len(bias), [batch + "y"], addends=(2,) if bias else ()
    )


@rule("conv")
def conv(call):
    """A convolution: its batch can be cut, and its weight by the channels that come out."""
    x, _, *bias = call.operands
    rest = "*" * (x.ndim - 2)
    return by_letters(["bi" + rest, "oi" + rest] + ["o"] * len(bias), ["bo" + rest],
                      free="b", linear=False)  # fmt: skip


@rule("conv_input")
def conv_input(call):
    rest = "*" * (call.operands[0].ndim - 2)
    return by_letters(["bo" + rest, "oi" + rest], ["bi" + rest], free="b")


@rule("conv_weight")
def conv_weight(call):
    rest = "*" * (call.operands[0].ndim - 2)
    return by_letters(["bi" + rest, "bo" + rest], ["oi" + rest], free="b")


# ---------------------------------------------------------------- reductions
def reduced_dims(call, ndim):
    """Return the dimensions that an op reduces, as a set."""
    dims = call.argument("dim")
    if dims is None or dims == ():
        return set(range(ndim))
    dims = (dims,) if isinstance(dims, int) else dims
    return {dim % max(ndim, 1) for dim in dims}


def reduction(call, across=None, passes=False):
    """List the candidates of a reduction.

    Parameters
    ----------
    across : function of a dimension to a Partial or None: what the results of parts of a
        dimension that is reduced are
    passes : bool, whether partial values stay partial
    """
    spec = call.operands[0]
    reduced, keep = reduced_dims(call, spec.ndim), call.argument("keepdim", False)
    found, kept = [replicated(call)], 0
    for dim in range(spec.ndim):
        if dim not in reduced:
            found.append(Candidate((Shard(dim if keep else kept),), (Shard(dim),)))
            kept += 1
        elif across is not None and (result := across(dim)) is not None:
            found.append(Candidate((result,), (Shard(dim),)))
    if passes:
        found += [
            Candidate((p,), (p,)) for p in set(spec.placements) if p.is_partial() and p.is_linear()
        ]
    return found


def is_even(spec, dim, call):
    """Return whether all ranks have equally many rows of a dimension, and so some."""
    return spec.shape[dim] > 0 and spec.shape[dim] % call.mesh.size() == 0


@rule("sum")
def sum_rule(call):
    return reduction(call, lambda dim: SUM, passes=not rounds(call))


@rule("count_nonzero")
def count_nonzero(call):
    return reduction(call, lambda dim: SUM)


@rule("mean")
def mean(call):
    """The mean of means, where all ranks have equally many."""
    spec = call.operands[0]

    def across(dim):
        return Partial("avg") if is_even(spec, dim, call) else None

    return reduction(call, across, passes=not rounds(call))


@rule("amax", "amin", "max", "min", "any", "all")
def extremum(call):
    """The largest of the largest; with a dimension, max and min return places as well."""
    if call.func._overloadname == "dim":
        return reduction(call)
    spec = call.operands[0]
    kind = Partial("max" if call.name in ("amax", "max", "any") else "min")

    def across(dim):  # each rank has something to compare
        return kind if is_even(spec, dim, call) and not spec.dtype.is_complex else None

    return reduction(call, across)


@rule("prod")
def prod(call):
    return reduction(call, lambda dim: Partial("product"))


@rule("std", "var", "argmax", "argmin", "logsumexp", "median", "nanmedian")
def along_whole_dimensions(call):
    return reduction(call)


@rule("linalg_vector_norm")
def vector_norm(call):
    """The norm of a vector of norms is a norm."""
    spec = call.operands[0]
    order = float(call.argument("ord", 2))
    kind = _NormPartial(order)
    of_some = order < 0 or order == float("inf")  # it isn't defined for no elements
    found = reduction(call, lambda dim: kind if not of_some or is_even(spec, dim, call) else None)
    if len(reduced_dims(call, spec.ndim)) == spec.ndim and order != 0:
        found.append(Candidate((kind,), (kind,)))
    return found


# ---------------------------------------------------------------- along one dimension
@rule(
    *("softmax", "log_softmax", "_safe_softmax", "softmax_backward", "log_softmax_backward"),
    *(
        "cumsum",
        "cumprod",
        "cumsum_from_end",
        "cumprod_backward",
        "logcumsumexp",
        "cummax",
        "cummin",
    ),
    *("sort", "stable_sort", "sorted_values", "topk", "kthvalue"),
)
def along_one_dimension(call):
    """An op that needs one dimension whole, and any other as it is."""
    spec = call.operands[0]
    dim = call.argument("dim", -1) % max(spec.ndim, 1)
    n = len(call.operands)
    return [replicated(call)] + [
        Candidate((Shard(k),), (Shard(k),) * n) for k in range(spec.ndim) if k != dim
    ]


@rule("triu", "tril")
def triangle(call):
    spec = call.operands[0]
    return (
        [replicated(call)]
        + [Candidate((Shard(k),), (Shard(k),)) for k in range(spec.ndim - 2)]
        + [
            one
            for one in as_it_is(call)
            if one.inputs[0].is_partial() and one.inputs[0].is_linear()
        ]
    )


@rule("cat", "stack")
def joined(call):
    """Tensors that are joined: along the other dimensions, all can be cut alike."""
    specs, n = call.operands, len(call.operands)
    if len({spec.ndim for spec in specs}) > 1:
        return [replicated(call)]
    extra = call.name == "stack"
    ndim = specs[0].ndim
    dim = call.argument("dim", 0) % max(ndim + extra, 1)
    found = [replicated(call)] + [
        Candidate((Shard(k + (extra and k >= dim)),), (Shard(k),) * n)
        for k in range(ndim)
        if extra or k != dim
    ]
    kinds = {p for spec in specs for p in spec.placements if p.is_partial()}
    return found + [Candidate((p,), (p,) * n) for p in kinds]


@rule("gather", "index_select")
def picked(call):
    """Elements that are picked along one dimension."""
    spec, index = call.operands[:2]
    dim = call.argument("dim", 0) % max(spec.ndim, 1)
    found = [replicated(call)]
    for k in range(spec.ndim):
        if k == dim:
            continue
        if call.name == "index_select":
            found.append(Candidate((Shard(k),), (Shard(k), WHOLE)))
        elif spec.shape[k] == index.shape[k]:
            found.append(Candidate((Shard(k),), (Shard(k), Shard(k))))
    return found


@rule("scatter", "scatter_add", "scatter_reduce", "gather_backward")
def scattered(call):
    """Elements that are put along one dimension: the others can be cut, where all have the same size."""
    ndim = call.operands[0].ndim
    dim = call.argument("dim", 0) % max(ndim, 1)
    n, shape = len(call.operands), call.argument("shape") or call.operands[0].shape
    return [replicated(call)] + [
        Candidate((Shard(k),), (Shard(k),) * n)
        for k in range(ndim)
        if k != dim and all(spec.shape[k] == shape[k] for spec in call.operands)
    ]


def is_whole(placements):
    """Return whether every rank holds everything."""
    return all(isinstance(one, Replicate) for one in placements)
