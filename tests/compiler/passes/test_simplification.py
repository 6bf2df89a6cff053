"""Each rule of simplification applies where it says, and no special number notices."""

from collections import defaultdict

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.compiler.passes.dead_code import eliminate_dead_code
from tensorlab.compiler.passes.rules import rules
from tensorlab.compiler.passes.simplification import simplify
from tests.compiler.passes.graphs import graph_of, names_in, run_on, same_bits, special

INTEGERS = tensorlab.tensor([0, 1, -1, 127, -128, 5], dtype=tensorlab.int8)
MATRIX = tensorlab.arange(12.0).view(3, 4)

# (function, input, ops that are left)
SIMPLER = {
    "x * 1": (lambda x: x * 1, special(), []),
    "1 * x": (lambda x: 1.0 * x, special(), []),
    "x / 1": (lambda x: x / 1, special(), []),
    "1 * x, as a function": (lambda x: tensorlab.mul(1.0, x), special(), []),
    "-0.0 + x, as a function": (lambda x: tensorlab.add(-0.0, x), special(), []),
    "x - 0": (lambda x: x - 0, special(), []),
    "x + -0.0": (lambda x: x + -0.0, special(), []),
    "-0.0 + x": (lambda x: -0.0 + x, special(), []),
    "integer + 0": (lambda x: x + 0, INTEGERS, []),
    "--x": (lambda x: x.neg().neg(), special(), []),
    "--integer": (lambda x: x.neg().neg(), INTEGERS, []),
    "~~integer": (lambda x: ~~x, INTEGERS, []),
    "not not bool": (lambda x: (x > 0).logical_not().logical_not(), special(), ["gt"]),
    "abs abs": (lambda x: x.abs().abs(), special(), ["abs"]),
    "abs neg": (lambda x: (-x).abs(), special(), ["abs"]),
    "x + -y": (lambda x: x.exp() + -x, special(), ["exp", "sub"]),
    "x - -y": (lambda x: x.exp() - -x, special(), ["exp", "add"]),
    "-x * -y": (lambda x: -x * -(x.exp()), special(), ["exp", "mul"]),
    "x / 4": (lambda x: x / 4, special(), ["mul"]),
    "x / 256": (lambda x: x / 2**8, special(), ["mul"]),
    "x / -0.125": (lambda x: x / -0.125, special(), ["mul"]),
    "x / 2**-10": (lambda x: x / 2**-10, special(), ["mul"]),
    "where of the same": (lambda x: tensorlab.where(x > 0, x, x), special(), []),
    "floor floor": (lambda x: x.floor().floor(), special(), ["floor"]),
    "relu relu": (lambda x: x.relu().relu(), special(), ["relu"]),
    "ceil ceil": (lambda x: x.ceil().ceil(), special(), ["ceil"]),
    "trunc trunc": (lambda x: x.trunc().trunc(), special(), ["trunc"]),
    "round round": (lambda x: x.round().round(), special(), ["round"]),
    "clone": (lambda x: x.clone(), special(), []),
    "half to wider and back": (
        lambda x: x.float().half(),
        special(tensorlab.float16),
        [],
    ),
    "bfloat16 to the widest and back": (
        lambda x: x.double().bfloat16(),
        special(tensorlab.bfloat16),
        [],
    ),
    "to wider and back": (lambda x: x.double().float(), special(), []),
    "copy over": (lambda x: tensorlab.zeros(16).copy_(x), special(), []),
    "over wider integers and back": (
        lambda x: tensorlab.zeros(3, dtype=tensorlab.int64).copy_(x).float(),
        tensorlab.tensor([1.5, -0.0, 2.0]),
        ["to_copy", "to_copy"],
    ),
    "copy over another type": (
        lambda x: tensorlab.zeros(16, dtype=tensorlab.float64).copy_(x),
        special(),
        ["to_copy"],
    ),
    "x.t().t()": (lambda x: x.t().t(), MATRIX, []),
    "transpose twice": (lambda x: x.transpose(0, 1).transpose(0, 1), MATRIX, []),
    "view of view": (lambda x: x.view(2, 6).view(12), MATRIX, ["view"]),
    "view and back": (lambda x: x.view(2, 6).view(3, 4), MATRIX, []),
    "permute of permute": (
        lambda x: x.view(3, 2, 2).permute(1, 2, 0).permute(2, 0, 1),
        MATRIX,
        ["view"],
    ),
    "another permutation": (
        lambda x: x.view(3, 2, 2).permute(1, 2, 0).permute(1, 2, 0),
        MATRIX,
        ["view", "permute"],
    ),
    "permutations that do not commute": (
        lambda x: x.view(3, 2, 2, 1).permute(1, 2, 0, 3).permute(3, 1, 0, 2),
        MATRIX,
        ["view", "permute"],
    ),
    "three permutations": (
        lambda x: x.view(3, 2, 2).permute(1, 2, 0).permute(1, 0, 2).permute(0, 2, 1),
        MATRIX,
        ["view", "permute"],
    ),
    "a permutation from the end": (
        lambda x: x.view(3, 2, 2).permute(1, -1, 0).permute(-2, 0, -1),
        MATRIX,
        ["view", "permute"],
    ),
    "expand to the same": (lambda x: x.expand(3, 4), MATRIX, []),
    "the whole": (lambda x: x[:], MATRIX, []),
    "the whole of a part": (lambda x: x[:2][:], MATRIX, ["getitem_slice"]),
    "detach of a transpose": (lambda x: x.t().detach(), MATRIX[:, :3], ["t"]),
    "detach of other types": (lambda x: x.view(tensorlab.int32).detach(), MATRIX, ["view_dtype"]),
    "detach": (lambda x: x.detach(), MATRIX, []),
    "sum to the same": (lambda x: REGISTRY["sum_to_size"](x, (3, 4)), MATRIX, []),
}

# What looks simple and isn't: each of these a special number notices, or its type, or its layout.
AS_IT_WAS = {
    "x + 0": (lambda x: x + 0, special(), ["add"]),
    "x - -0.0": (lambda x: x - -0.0, special(), ["sub"]),
    "0 - x": (lambda x: 0 - x, special(), ["rsub"]),
    "x * 0": (lambda x: x * 0, special(), ["mul"]),
    "x - x": (lambda x: x - x, special(), ["sub"]),
    "x / 512": (lambda x: x / 2**9, special(), ["div"]),
    "x / 1024": (lambda x: x / 2**10, special(), ["div"]),
    "x / 2**-11": (lambda x: x / 2**-11, special(), ["div"]),
    "-x * y": (lambda x: -x * x.exp(), special(), ["neg", "exp", "mul"]),
    "x * -y": (lambda x: x.exp() * -x, special(), ["exp", "neg", "mul"]),
    "x / 3": (lambda x: x / 3, special(), ["div"]),
    "x / 0.0": (lambda x: x / 0.0, special(), ["div"]),
    "x * -1": (lambda x: x * -1, special(), ["mul"]),
    "integer * 1.0": (lambda x: x * 1.0, INTEGERS, ["mul"]),
    "integer / 1": (lambda x: x / 1, INTEGERS, ["div"]),
    "integer / 4": (lambda x: x / 4, INTEGERS, ["div"]),
    "not not number": (lambda x: x.logical_not().logical_not(), special(), ["logical_not"] * 2),
    "abs neg of integers": (lambda x: (-x).abs(), INTEGERS, ["neg", "abs"]),
    "to narrower and back": (lambda x: x.half().float(), special(), ["to_copy", "to_copy"]),
    "to another of the same width and back": (
        lambda x: x.bfloat16().half(),
        special(tensorlab.float16),
        ["to_copy", "to_copy"],
    ),
    "to another of the same width and back, the other way": (
        lambda x: x.half().bfloat16(),
        special(tensorlab.bfloat16),
        ["to_copy", "to_copy"],
    ),
    "to wider and to another": (
        lambda x: x.float().bfloat16(),
        special(tensorlab.float16),
        ["to_copy", "to_copy"],
    ),
    "integers to another type and back": (
        lambda x: x.float().to(tensorlab.int8),
        INTEGERS,
        ["to_copy", "to_integers"],
    ),
    "to integers and back": (
        lambda x: x.to(tensorlab.int64).float(),
        tensorlab.tensor([1.5, -0.0, 2.0]),
        ["to_integers", "to_copy"],
    ),
    "copy of a row over a matrix": (
        lambda x: tensorlab.zeros(2, 4).copy_(x[0]),
        MATRIX,
        ["zeros", "getitem_select", "copy"],
    ),
    "sum to another form": (
        lambda x: REGISTRY["sum_to_size"](x, (1, 4)),
        MATRIX,
        ["sum_to_size"],
    ),
    "view of a view with gaps": (
        lambda x: x[:, :2].view(3, 2, 1).view(3, 1, 2),
        MATRIX,
        ["getitem_slice", "view", "view"],
    ),
    "to half and to another": (
        lambda x: x.half().bfloat16(),
        special(),
        ["to_copy", "to_copy"],
    ),
    "copy in another order": (lambda x: x.t().contiguous(), MATRIX, ["t", "clone"]),
    "one transpose": (lambda x: x.t(), MATRIX, ["t"]),
    "another row": (lambda x: x[1:2].expand(3, 4), MATRIX, ["getitem_slice", "expand"]),
    "where of two": (lambda x: tensorlab.where(x > 0, x, -x), special(), ["gt", "neg", "where"]),
    "floor ceil": (lambda x: x.floor().ceil(), special(), ["floor", "ceil"]),
}  # fmt: skip


def simplified(function, x):
    """What is left of the ops; every bit of the result is compared."""
    graph = graph_of(lambda x: itself(function(x)), x)
    wanted = run_on(graph, x)
    changes = simplify(graph)
    eliminate_dead_code(graph)
    assert same_bits(wanted[0], run_on(graph, x)[0])
    return changes, names_in(graph)[:-1]


def itself(y):
    """The same elements, by an op that no rule takes: so that a result may be what was given."""
    return tensorlab.maximum(y, y)


@pytest.mark.parametrize("name", SIMPLER)
def test_a_rule_applies_and_keeps_every_bit(name):
    function, x, ops = SIMPLER[name]
    changes, left = simplified(function, x)
    assert changes > 0
    assert left == ops


@pytest.mark.parametrize("name", ["x * 1", "--x", "x / 4", "x + -y", "-x * -y", "abs neg"])
@pytest.mark.parametrize("dtype", [tensorlab.float64, tensorlab.float16, tensorlab.bfloat16])
def test_a_rule_keeps_every_bit_of_other_types(name, dtype):
    function, _, ops = SIMPLER[name]
    changes, left = simplified(function, special(dtype))
    assert changes > 0
    assert left == ops


@pytest.mark.parametrize("name", AS_IT_WAS)
def test_what_a_special_number_notices_stays(name):
    function, x, ops = AS_IT_WAS[name]
    assert simplified(function, x) == (0, ops)


def test_every_rule_gives_a_reason_and_is_tried():
    tried = set()
    for function, x, _ in SIMPLER.values():
        tried |= set(names_in(graph_of(function, x)))
    ops_of = defaultdict(set)
    for name, op in REGISTRY.items():
        for one in rules.of(op):
            ops_of[one].add(name)
    assert len(ops_of) >= 20
    for one, ops in ops_of.items():
        assert len(one.reason) > 10
        assert tried & ops, one


def test_a_result_that_the_caller_gets_stays_a_tensor_of_its_own():
    """It may be written to later: it must be neither an input nor another result."""
    graph = graph_of(lambda x: (x.clone(), x * 1, x + 1), special())
    assert simplify(graph) == 0
    graph = graph_of(lambda x: [(y := x + 1), y * 1, (y * 1).view(4, 4)], special())
    assert simplify(graph) == 0


def test_a_view_of_a_result_may_be_taken_of_an_older_one():
    graph = graph_of(lambda x: (x + 1).view(4, 4).view(2, 8), special())
    assert simplify(graph) == 1
    eliminate_dead_code(graph)
    assert names_in(graph) == ["add", "view"]
