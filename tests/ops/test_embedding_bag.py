"""embedding_bag: what it means by a plain loop, every option against PyTorch, and what it refuses."""

import numpy as np
import pytest

import tensorlab
from tensorlab import autograd
from tensorlab.nn.functional import embedding_bag
from tests.ops.agreement import agree
from tests.oracle import assert_same_values, require_torch, two_threads

MODES = ("sum", "mean", "max")
every_mode = pytest.mark.parametrize("mode", MODES)


def plain(rows, table, offsets, mode, factors=None, padding_idx=None):
    """One bag at a time, in double precision."""
    reduce = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    ends = [*offsets[1:], len(rows)]
    out = np.zeros((len(offsets), table.shape[1]))
    for bag, (begin, end) in enumerate(zip(offsets, ends, strict=True)):
        kept = [k for k in range(begin, end) if rows[k] != padding_idx]
        picked = np.array([table[rows[k]] * (1 if factors is None else factors[k]) for k in kept])
        if kept:
            out[bag] = reduce(picked, 0)
    return out


@every_mode
@pytest.mark.parametrize("padding_idx", [None, 0, 3])
@pytest.mark.parametrize("offsets", [[0], [0, 0, 4, 9, 9, 12], [0, 12]], ids=str)
@pytest.mark.parametrize("width", [1, 16, 37])
def test_bags_are_reduced_one_by_one(mode, padding_idx, offsets, width):
    rng = np.random.default_rng(0)
    rows, table = rng.integers(0, 5, 12), rng.standard_normal((5, width))
    found = embedding_bag(
        tensorlab.tensor(rows.tolist()),
        tensorlab.tensor(table.tolist(), dtype=tensorlab.float64),
        tensorlab.tensor(offsets),
        mode=mode,
        padding_idx=padding_idx,
    )
    expected = plain(rows, table, offsets, mode, padding_idx=padding_idx)
    np.testing.assert_allclose(found.tolist(), expected, 1e-12, 1e-15)


def program(T, mode, dtype="float32", index="int64", shape=None, factors=False, width=5, **options):
    """The result and gradients of one call."""
    rng = np.random.default_rng(1)
    dtype = getattr(T, dtype)
    weight = T.tensor(rng.standard_normal((6, width)).tolist(), dtype=dtype, requires_grad=True)
    rows = T.tensor(rng.integers(0, 6, 12).tolist(), dtype=getattr(T, index))
    inputs = [weight]
    if factors:
        drawn = rng.standard_normal(12).tolist()
        inputs.append(T.tensor(drawn, dtype=dtype, requires_grad=True))
        options["per_sample_weights"] = inputs[1]
    if shape:
        rows = rows.view(shape)
        if factors:
            options["per_sample_weights"] = inputs[1].view(shape)
    else:
        offsets = [0, 3, 3, 4, 9] + [12] * options.get("include_last_offset", False)
        options["offsets"] = T.tensor(offsets, dtype=getattr(T, index))
    out = T.nn.functional.embedding_bag(rows, weight, mode=mode, **options)
    scale = T.arange(out.numel(), dtype=T.float64).cos().to(dtype).view(out.shape)
    return [out.detach(), weight.detach(), *T.autograd.grad((out * scale).sum(), inputs)]


def as_lists(results):
    """The result as it is, and the others without their layout."""
    out, *others = results
    return [out, *[other.tolist() for other in others]]


OPTIONS = {
    "plain": {},
    "rows of a matrix": {"shape": (4, 3)},
    "one matrix of one row": {"shape": (1, 12)},
    "double": {"dtype": "float64"},
    "int32": {"index": "int32"},
    "padding": {"padding_idx": 2},
    "padding from behind": {"padding_idx": -1, "shape": (3, 4)},
    "last offset": {"include_last_offset": True},
    "max_norm": {"max_norm": 1.0},
    "max_norm of another norm": {"max_norm": 1.0, "norm_type": 1.0, "padding_idx": 3},
    "wide": {"width": 70},
    "sparse is dense": {"width": 1},
}


@every_mode
@pytest.mark.parametrize("name", OPTIONS)
def test_results_and_gradients_are_pytorchs(mode, name):
    agree(lambda T: as_lists(program(T, mode, **OPTIONS[name])), tolerance=3e-6)


@pytest.mark.parametrize("name", OPTIONS)
def test_factors_and_their_gradients_are_pytorchs(name):
    agree(lambda T: as_lists(program(T, "sum", factors=True, **OPTIONS[name])), tolerance=5e-6)


@every_mode
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("padding_idx", [None, 2])
def test_half_types_are_summed_in_float32(mode, dtype, padding_idx):
    torch = require_torch()
    factors = mode == "sum"
    options = {"dtype": dtype, "factors": factors, "padding_idx": padding_idx}
    ours, theirs = program(tensorlab, mode, **options), program(torch, mode, **options)
    for one, other in zip(ours, theirs, strict=True):
        assert str(one.dtype).endswith(dtype)
        assert_same_values(one.float(), other.float(), 2e-2 if dtype == "bfloat16" else 2e-3)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_are_divided_by_how_often_a_row_is_used(mode):
    """PyTorch divides by the count of another row where rows come more than once, so this is by the formula."""
    rows = [0, 0, 1, 2, 2, 2]
    weight = tensorlab.zeros(4, 1, requires_grad=True)
    embedding_bag(
        tensorlab.tensor([rows]), weight, mode=mode, scale_grad_by_freq=True
    ).sum().backward()
    share = 1.0 if mode == "sum" else 1 / 6
    np.testing.assert_allclose(weight.grad.view(-1).tolist(), [share] * 3 + [0], 1e-6)


@every_mode
def test_derivatives_of_every_order_are_those_of_the_formula(mode):
    rng = np.random.default_rng(2)
    weight = tensorlab.tensor(
        rng.standard_normal((4, 3)).tolist(), dtype=tensorlab.float64, requires_grad=True
    )
    rows, offsets = tensorlab.tensor([1, 3, 3, 0, 2]), tensorlab.tensor([0, 2, 2])
    call = lambda weight: embedding_bag(rows, weight, offsets, mode=mode, padding_idx=0)
    if mode == "sum":
        factors = tensorlab.tensor(
            rng.standard_normal(5).tolist(), dtype=tensorlab.float64, requires_grad=True
        )
        weighted = lambda weight, factors: embedding_bag(
            rows, weight, offsets, mode="sum", per_sample_weights=factors
        )
        assert autograd.gradcheck(weighted, (weight, factors))
        assert autograd.gradgradcheck(weighted, (weight, factors))
    else:
        used = weight.detach()[1:].requires_grad_()  # the row of padding has no gradient
        call = lambda used: embedding_bag(
            rows, tensorlab.cat([weight.detach()[:1], used]), offsets, mode=mode, padding_idx=0
        )
        assert autograd.gradcheck(call, (used,))
        assert autograd.gradgradcheck(call, (used,))


def test_the_first_of_equal_maxima_gets_the_gradient_and_nan_wins_only_in_front():
    weight = tensorlab.tensor([[1.0, 5.0], [1.0, 5.0], [float("nan"), 0.0]], requires_grad=True)
    embedding_bag(tensorlab.tensor([[1, 0]]), weight, mode="max").sum().backward()
    assert weight.grad.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert embedding_bag(tensorlab.tensor([[0, 2]]), weight, mode="max").tolist() == [[1, 5]]
    assert embedding_bag(tensorlab.tensor([[2, 0]]), weight, mode="max")[0, 0].isnan()


@every_mode
def test_large_bags_in_several_threads_are_as_in_one(mode):
    rng = np.random.default_rng(3)
    rows, table = rng.integers(0, 900, 60_000), rng.standard_normal((900, 8))
    offsets = np.sort(rng.integers(0, 60_000, 2000))
    offsets[0] = 0
    weight = tensorlab.tensor(table.tolist(), dtype=tensorlab.float64, requires_grad=True)
    out = embedding_bag(
        tensorlab.tensor(rows.tolist()), weight, tensorlab.tensor(offsets.tolist()), mode=mode
    )
    np.testing.assert_allclose(
        out.tolist(), plain(rows, table, offsets.tolist(), mode), 1e-10, 1e-12
    )
    if mode == "sum":
        out.sum().backward()
        counts = np.bincount(rows, minlength=900)
        np.testing.assert_array_equal(weight.grad.tolist(), np.repeat(counts, 8).reshape(900, 8))


def test_a_table_that_is_not_row_major_is_read_as_it_is():
    table = tensorlab.arange(12.0).view(3, 4).t()
    found = embedding_bag(tensorlab.tensor([[0, 3]]), table, mode="sum")
    assert found.tolist() == [[3.0, 11.0, 19.0]]


@every_mode
def test_meta_knows_the_shape_and_needs_no_values(mode):
    with tensorlab.device("meta"):
        weight = tensorlab.empty(5, 3, requires_grad=True)
        rows = tensorlab.empty(4, dtype=tensorlab.int64)
        out = embedding_bag(
            rows, weight, rows[:3], mode=mode, max_norm=1.0, include_last_offset=True
        )
        (grad,) = autograd.grad(out.sum(), weight)
        assert (out.shape, grad.shape) == ((2, 3), (5, 3))


CALLS = {
    "offsets missing": lambda T, F, i, w, o: F(i, w),
    "offsets 0-d": lambda T, F, i, w, o: F(i, w, o[0]),
    "offsets of a matrix": lambda T, F, i, w, o: F(i[None], w, o),
    "offsets not from 0": lambda T, F, i, w, o: F(i, w, o + 1),
    "offsets falling": lambda T, F, i, w, o: F(i, w, T.tensor([0, 4, 2]), mode="sum"),
    "offsets too large": lambda T, F, i, w, o: F(i, w, T.tensor([0, 6])),
    "offset at the end": lambda T, F, i, w, o: F(i, w, T.tensor([0, 5])),
    "offsets floating": lambda T, F, i, w, o: F(i, w, o.float()),
    "last offset too large": lambda T, F, i, w, o: F(
        i, w, T.tensor([0, 6]), include_last_offset=True
    ),
    "last offset at the end": lambda T, F, i, w, o: F(
        i, w, T.tensor([0, 5]), include_last_offset=True
    ),
    "last offset missing": lambda T, F, i, w, o: F(i, w, o[:0], include_last_offset=True),
    "last offset only": lambda T, F, i, w, o: F(i, w, o[:1], include_last_offset=True),
    "no bags": lambda T, F, i, w, o: F(i, w, o[:0]),
    "no bags in a matrix": lambda T, F, i, w, o: F(i.view(1, 5)[:0], w),
    "no indices": lambda T, F, i, w, o: F(i[:0], w, T.tensor([0, 0]), mode="max"),
    "no width": lambda T, F, i, w, o: F(i, w[:, :0], o, mode="max"),
    "index too large": lambda T, F, i, w, o: F(i + 1, w, o),
    "index too large for max": lambda T, F, i, w, o: F(i + 1, w, o, mode="max"),
    "index negative": lambda T, F, i, w, o: F(i - 1, w, o, mode="sum"),
    "index of a half table": lambda T, F, i, w, o: F(i + 1, w.half(), o, mode="sum"),
    "indices floating": lambda T, F, i, w, o: F(i.float(), w, o),
    "indices of three dimensions": lambda T, F, i, w, o: F(i[None, None], w),
    "indices 0-d": lambda T, F, i, w, o: F(i[0], w),
    "weight of integers": lambda T, F, i, w, o: F(i, w.int(), o),
    "weight of int64": lambda T, F, i, w, o: F(i, w.long(), o),
    "weight a vector": lambda T, F, i, w, o: F(i, w[0], o),
    "mode unknown": lambda T, F, i, w, o: F(i, w, o, mode="min"),
    "max by frequency": lambda T, F, i, w, o: F(i, w, o, mode="max", scale_grad_by_freq=True),
    "max sparse": lambda T, F, i, w, o: F(i, w, o, mode="max", sparse=True),
    "factors of a mean": lambda T, F, i, w, o: F(i, w, o, per_sample_weights=i.float()),
    "factors of a maximum": lambda T, F, i, w, o: F(
        i, w, o, mode="max", per_sample_weights=i.float()
    ),
    "factors too few": lambda T, F, i, w, o: F(
        i, w, o, mode="sum", per_sample_weights=i[1:].float()
    ),
    "factors of another type": lambda T, F, i, w, o: F(
        i, w, o, mode="sum", per_sample_weights=i.double()
    ),
    "padding too large": lambda T, F, i, w, o: F(i, w, o, padding_idx=4),
    "padding too small": lambda T, F, i, w, o: F(i, w, o, padding_idx=-5),
    "padding the first": lambda T, F, i, w, o: F(i, w, o, padding_idx=-4),
    "all by position": lambda T, F, i, w, o: F(
        i, w, T.tensor([0, 2, 5]), 2.0, 1.0, False, "sum", False, i.float(), True, 3
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_pytorch_gives_or_is_refused(name):
    def called(T):
        rows, offsets = T.tensor([0, 1, 3, 3, 2]), T.tensor([0, 2])
        weight = T.arange(12.0).view(4, 3)
        return CALLS[name](T, T.nn.functional.embedding_bag, rows, weight, offsets)

    with two_threads():  # with one, PyTorch reads other memory where offsets fall
        agree(called, tolerance=1e-6)
    assert message_of(lambda: called(tensorlab)).startswith("embedding_bag: ")


def message_of(call):
    try:
        call()
    except Exception as error:
        return str(error)
    return "embedding_bag: nothing is wrong"


def test_offsets_below_0_are_refused():
    with pytest.raises(RuntimeError, match="embedding_bag: offset 0 is 0, which is more than what"):
        embedding_bag(tensorlab.tensor([0]), tensorlab.ones(1, 1), tensorlab.tensor([0, -1]))


def test_the_old_order_of_arguments_warns():
    rows, weight = tensorlab.tensor([[0, 1]]), tensorlab.arange(6.0).view(2, 3)
    with pytest.warns(UserWarning, match="embedding_bag: the weight came first"):
        assert embedding_bag(weight, rows, mode="sum").tolist() == [[3.0, 5.0, 7.0]]


def test_factors_on_meta_are_no_factors_of_a_table_in_memory():
    rows, factors = tensorlab.tensor([[0, 1]]), tensorlab.ones(1, 2, device="meta")
    with pytest.raises((NotImplementedError, RuntimeError), match="meta"):
        embedding_bag(rows, tensorlab.ones(2, 3), mode="sum", per_sample_weights=factors)
