"""Batching rules of random numbers: what `randomness` of vmap says of them.

    "error"         none may be drawn
    "different"     each example has its own: numbers for the whole batch are drawn at once
    "same"          all examples have the same: those of one example are drawn, and shown to all

Fills and `rand_like` only ask for the shape of a tensor. Others are drawn from a distribution
whose parameters are tensors: if these differ from example to example, no numbers could be the
same.
"""

from tensorlab.func.batching.alignment import all_whole, fold, lengthened, ndim_of, unfold
from tensorlab.func.batching.rules import Same, batching, together


def refuse_unasked(op, level):
    if level.randomness == "error":
        raise RuntimeError(
            f"vmap: called random operation {op.name} while in randomness error mode. Say whether "
            f"each example gets its own numbers, vmap(..., randomness='different'), or all get the "
            f"same, randomness='same'"
        )


def refuse_same(op):
    raise RuntimeError(
        f"vmap: {op.name} draws from distributions whose parameters differ from example to "
        f"example, so its numbers can't be the same for all, as randomness='same' says; use "
        f"randomness='different'"
    )


@batching("rand", "randn", "randint", "normal_numbers")
def factory(op, level, batched, *arguments):
    """Numbers of a size."""
    refuse_unasked(op, level)
    if level.randomness == "same":
        return Same(op(*arguments))
    named = zip(op.signature.parameters, arguments, strict=True)
    return op(*[[level.size, *value] if one.name == "size" else value for one, value in named])


@batching("randperm")
def permutation(op, level, batched, *arguments):
    refuse_unasked(op, level)
    if level.randomness == "same":
        return Same(op(*arguments))
    return together([op(*arguments) for _ in range(level.size)])


@batching(
    *("rand_like", "randn_like", "randint_like", "uniform", "normal", "log_normal", "cauchy"),
    *("exponential", "geometric", "bernoulli", "random"),
)
def shaped(op, level, batched, x, *arguments):
    """Numbers in the shape of a tensor, whose values don't matter."""
    refuse_unasked(op, level)
    if level.randomness == "different":
        return op(x if batched[0] else x.expand(level.size, *x.shape), *arguments)
    return Same(op(x.select(0, 0) if batched[0] else x, *arguments))


@batching(
    *("bernoulli_of", "bernoulli_tensor", "binomial", "poisson", "normal_means", "normal_stds"),
    *("normal_pairs", "_standard_gamma", "_sample_dirichlet"),
)
def parametrised(op, level, batched, *arguments):
    """Numbers of distributions, one for each element, or for each row."""
    refuse_unasked(op, level)
    if level.randomness == "same":
        if (any(batched) and op.name != "bernoulli_tensor") or any(batched[1:]):
            refuse_same(op)
        return Same(op(arguments[0].select(0, 0) if batched[0] else arguments[0], *arguments[1:]))
    tensors = [one for one in zip(arguments, batched, strict=True) if hasattr(one[0], "ndim")]
    longest = max(ndim_of(*one) for one in tensors)
    aligned = [
        lengthened(one, has_batch, longest) if hasattr(one, "ndim") else one
        for one, has_batch in zip(arguments, batched, strict=True)
    ]
    return op(*all_whole(aligned, batched, level.size))


@batching("multinomial")
def multinomial(op, level, batched, x, *arguments):
    """Rows of probabilities."""
    refuse_unasked(op, level)
    if level.randomness == "same":
        if batched[0]:
            refuse_same(op)
        return Same(op(x, *arguments))
    x = x if batched[0] else x.expand(level.size, *x.shape)
    return op(x, *arguments) if x.ndim == 2 else unfold(op(fold(x), *arguments), level.size)
