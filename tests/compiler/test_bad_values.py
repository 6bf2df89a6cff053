"""Values that an op refuses: a replay raises the error of the program, whether or not what the op gives is used."""

import json
import pathlib

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab as torch
import tensorlab.nn.functional as F
from tensorlab._core.dispatch.facets import checks_values

pytestmark = pytest.mark.usefixtures("fresh")
T = torch.tensor
ONES, HALVES = torch.ones(2, 3), torch.full((2,), 0.5)
FIRST, PLACES, OUTSIDE = T([4, 5]), T([0, 1]), T([1, 2])


def written(x, y):
    x = x.clone()
    x[y] = 1
    return x


# a function, arguments that are well, and arguments that it refuses
REFUSALS = {
    "floor_divide": (lambda x, y: x // y, (FIRST, T([1, 2])), (FIRST, T([1, 0]))),
    "floor_divide of a number": (lambda y: 7 // y, (T([1, 2]),), (T([1, 0]),)),
    "floor_divide by a bool": (
        lambda x, y: x // y,
        (FIRST, T([True, True])),
        (FIRST, T([True, False])),
    ),
    "floor_divide by one number": (lambda x, y: x // y, (FIRST, T(3)), (FIRST, T(0))),
    "floor_divide in a column": (
        lambda x, y: x // y[:, 1],
        (FIRST, T([[0, 1], [0, 2]])),
        (FIRST, T([[1, 1], [1, 0]])),
    ),
    "floor_divide_": (
        lambda x, y: x.clone().floor_divide_(y),
        (FIRST, T([1, 2])),
        (FIRST, T([1, 0])),
    ),
    "remainder": (lambda x, y: x % y, (FIRST, T([1, 2])), (FIRST, T([1, 0]))),
    "remainder of a number": (lambda y: 7 % y, (T([1, 2]),), (T([1, 0]),)),
    "remainder_": (
        lambda x, y: x.clone().remainder_(y),
        (FIRST, T([1, 2])),
        (FIRST, T([1, 0])),
    ),
    "fmod": (torch.fmod, (FIRST, T([1, 2])), (FIRST, T([1, 0]))),
    "fmod_": (lambda x, y: x.clone().fmod_(y), (FIRST, T([1, 2])), (FIRST, T([1, 0]))),
    "div, floor": (
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        (FIRST, T([1, 2])),
        (FIRST, T([1, 0])),
    ),
    "div, trunc": (
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
        (FIRST, T([1, 2])),
        (FIRST, T([1, 0])),
    ),
    "div_, trunc": (
        lambda x, y: x.clone().div_(y, rounding_mode="trunc"),
        (FIRST, T([1, 2])),
        (FIRST, T([1, 0])),
    ),
    "of a number that was made inside": (
        lambda x, y: (x + 1) // (y * 2 - 4),
        (FIRST, T([3, 5])),
        (FIRST, T([3, 2])),
    ),
    "index": (lambda x, y: x[y], (FIRST, PLACES), (FIRST, OUTSIDE)),
    "index_put": (written, (FIRST, PLACES), (FIRST, OUTSIDE)),
    "index_select": (
        lambda x, y: torch.index_select(x, 0, y),
        (FIRST, PLACES),
        (FIRST, OUTSIDE),
    ),
    "index_add": (lambda x, y: torch.index_add(x, 0, y, x), (FIRST, PLACES), (FIRST, OUTSIDE)),
    "index_copy": (lambda x, y: torch.index_copy(x, 0, y, x), (FIRST, PLACES), (FIRST, OUTSIDE)),
    "index_fill": (lambda x, y: torch.index_fill(x, 0, y, 3), (FIRST, PLACES), (FIRST, OUTSIDE)),
    "take": (torch.take, (FIRST, PLACES), (FIRST, OUTSIDE)),
    "take_along_dim": (
        lambda x, y: torch.take_along_dim(x, y, 0),
        (FIRST, PLACES),
        (FIRST, OUTSIDE),
    ),
    "put": (lambda x, y: torch.put(x, y, x), (FIRST, PLACES), (FIRST, OUTSIDE)),
    "gather": (lambda x, y: torch.gather(x, 0, y), (FIRST, PLACES), (FIRST, OUTSIDE)),
    "scatter": (lambda x, y: torch.scatter(x, 0, y, x), (FIRST, PLACES), (FIRST, OUTSIDE)),
    "scatter a number": (
        lambda x, y: torch.scatter(x, 0, y, 7),
        (FIRST, PLACES),
        (FIRST, OUTSIDE),
    ),
    "scatter_add": (
        lambda x, y: torch.scatter_add(x, 0, y, x),
        (FIRST, PLACES),
        (FIRST, OUTSIDE),
    ),
    "scatter_reduce": (
        lambda x, y: torch.scatter_reduce(x, 0, y, x, "amax"),
        (FIRST, PLACES),
        (FIRST, OUTSIDE),
    ),
    "masked_scatter": (
        lambda x, y: torch.masked_scatter(x, y, T([1])),
        (FIRST, T([True, False])),
        (FIRST, T([True, True])),
    ),
    "embedding": (lambda x, y: F.embedding(y, x), (ONES, PLACES), (ONES, OUTSIDE)),
    "embedding_bag": (
        lambda x, y: F.embedding_bag(y, x, T([0])),
        (ONES, PLACES),
        (ONES, OUTSIDE),
    ),
    "embedding_bag, offsets": (
        lambda x, y: F.embedding_bag(PLACES, x, y),
        (ONES, PLACES),
        (ONES, T([1, 0])),
    ),
    "one_hot": (lambda y: F.one_hot(y, 2), (PLACES,), (OUTSIDE,)),
    "one_hot of a negative number": (lambda y: F.one_hot(y, 2), (PLACES,), (T([0, -1]),)),
    "bincount": (torch.bincount, (PLACES,), (T([0, -1]),)),
    "repeat_interleave": (torch.repeat_interleave, (FIRST, PLACES), (FIRST, T([0, -1]))),
    "nll_loss": (F.nll_loss, (ONES, PLACES), (ONES, T([0, 3]))),
    "cross_entropy": (F.cross_entropy, (ONES, PLACES), (ONES, T([0, 3]))),
    "multi_margin_loss": (F.multi_margin_loss, (ONES, PLACES), (ONES, T([0, 3]))),
    "ctc_loss": (
        lambda x, y: F.ctc_loss(x, T([[1, 2]]), y, T([2])),
        (torch.ones(5, 1, 4), T([5])),
        (torch.ones(5, 1, 4), T([9])),
    ),
    "binary_cross_entropy": (
        lambda x: F.binary_cross_entropy(x, HALVES),
        (HALVES,),
        (HALVES * 4,),
    ),
    "bernoulli": (torch.bernoulli, (HALVES,), (HALVES * 4,)),
    "multinomial": (lambda x: torch.multinomial(x, 1), (HALVES,), (-HALVES,)),
    "normal": (lambda x: torch.normal(0.0, x), (HALVES,), (-HALVES,)),
    "histc": (lambda x: torch.histc(x, 4), (HALVES,), (HALVES * torch.nan,)),
    "max_unpool1d": (
        lambda x, y: F.max_unpool1d(x, y, 2),
        (torch.ones(1, 1, 2), T([[[0, 2]]])),
        (torch.ones(1, 1, 2), T([[[0, 9]]])),
    ),
    "a size": (lambda x: torch.zeros(x.item()), (T(2),), (T(-1),)),
    "lengths": (
        lambda x, y: torch.nn.utils.rnn.pack_padded_sequence(x, y).data,
        (torch.ones(2, 2, 2), T([2, 1])),
        (torch.ones(2, 2, 2), T([2, 0])),
    ),
}
FORMS = {
    "code": {},
    "blocks": {"options": {"code": False}},
    "reduce-overhead": {"mode": "reduce-overhead"},
    "decomposed": {"options": {"without": ()}},
    "calls": {"backend": "aot_eager"},
    "autograd": {"backend": "eager"},
}


def used(function):
    return lambda w, *args: function(*args)


def unused(function):
    def program(w, *args):
        function(*args)
        return w * 2

    return program


def unused_in_training(function):
    def program(w, *args):
        function(*args)
        return (w * w).sin()

    return program


def writes_then_fails(function):
    def program(w, *args):
        w.detach().add_(1)
        function(*args)
        return w * 1

    return program


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("shape", [used, unused, unused_in_training])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", REFUSALS)
def test_a_replay_raises_what_the_program_raises(name, form, shape):
    function, good, bad = REFUSALS[name]
    program = shape(function)
    w = torch.full((2,), 1.5, requires_grad=shape is unused_in_training)
    with pytest.raises(Exception) as expected:  # noqa: PT011
        program(w, *[one.clone() for one in bad])
    compiled = torch.compile(program, **FORMS[form])
    for _ in range(3):
        compiled(w, *[one.clone() for one in good])
    replayed = compiled.compiled.counts["replayed"]
    with pytest.raises(Exception) as found:  # noqa: PT011
        compiled(w, *[one.clone() for one in bad])
    assert (type(found.value), str(found.value)) == (type(expected.value), str(expected.value))
    compiled(w, *[one.clone() for one in good])
    assert compiled.compiled.counts["replayed"] == replayed + (replayed > 0)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_before_the_error_is_what_the_program_writes(form):
    function, good, bad = REFUSALS["floor_divide"]
    compiled = torch.compile(writes_then_fails(function), **FORMS[form])
    w = torch.zeros(2)
    for _ in range(3):
        compiled(w, *good)
    with pytest.raises(RuntimeError, match="holds a 0"):
        compiled(w, *bad)
    assert w.tolist() == [4, 4]  # the program has added 1 before it failed


def test_an_empty_dividend_needs_no_divisor():
    compiled = torch.compile(lambda x, y: x // y)
    for _ in range(3):
        assert compiled(torch.zeros(0, dtype=torch.int64), T(0)).shape == (0,)
    assert compiled.compiled.counts["replayed"] == 2


def test_every_op_that_refuses_values_is_kept():
    """What tests/ops has recorded of spoiled arguments: a tensor of the same form with other values was refused."""
    recorded = json.loads(
        pathlib.Path(__file__).parents[1].joinpath("ops/refused.json").read_text()
    )
    refusing = {
        name
        for name, samples in recorded.items()
        for sample in samples.values()
        for error, spoils in sample.items()
        if error != "TypeError" and any(one.endswith((": larger", ": nan")) for one in spoils)
    }
    of_backward = {name for name in refusing if name.endswith("_backward")}
    of_backward |= {"embedding_bag_largest", "embedding_uses"}  # beside an op that has looked
    numbers = {
        name for name in refusing if name.endswith("_")
    }  # their functional forms are replayed
    rest = refusing - of_backward - numbers
    assert {name for name in rest if not checks_values.of(REGISTRY[name])} == set()
