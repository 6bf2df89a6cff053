"""What forward saves for backward, and what backward computes again."""

import pytest

import tensorlab
from tensorlab.compiler.joint.functionalize import functionalize
from tensorlab.compiler.joint.interpreter import is_alias, run, value_on_meta
from tensorlab.compiler.joint.joint import joint
from tensorlab.compiler.joint.min_cut import min_cut
from tensorlab.compiler.joint.partition import partition
from tensorlab.compiler.passes import run_passes
from tests.compiler.agreement import assert_agrees, close, record_program
from tests.compiler.passes.graphs import names_in

X = tensorlab.arange(12.0).view(3, 4) / 7


def leaves():
    return [X.clone().requires_grad_(), (X + 1).clone().requires_grad_(), X.clone()]


def made(program, mode="save", make=leaves):
    recorded = record_program(program, make)
    return joint(functionalize(recorded.graph), recorded.wants_grad, mode)


def saved(one):
    """The names of what forward saves."""
    outputs = one.forward.output_node().args[0]
    return [node.name for node in outputs[len(outputs) - one.saved :]]


def bytes_saved(one):
    outputs = one.forward.output_node().args[0]
    kept = [node for node in outputs[len(outputs) - one.saved :] if node.op != "placeholder"]
    return sum(node.meta["val"].numel() * node.meta["val"].dtype.itemsize for node in kept)


# ------------------------------------------------------------------------------------------------ save
def test_what_backward_reads_is_saved_once():
    assert saved(made(lambda x, y, z: x.exp() * x.exp().detach())) == ["exp", "exp_1"]
    assert saved(made(lambda x, y, z: x.tanh())) == ["tanh"]
    assert saved(made(lambda x, y, z: x * y)) == ["input_0", "input_1"]
    assert saved(made(lambda x, y, z: x + y)) == []
    assert saved(made(lambda x, y, z: (w := x.exp()) * w)) == ["exp"]


def test_views_are_taken_again_of_their_base():
    one = made(lambda x, y, z: (x.exp().t()[1:] * y.t()[1:]) @ z[:, :3])
    assert sorted(saved(one)) == ["exp", "input_1", "input_2"]
    assert "t" in names_in(one.backward)
    assert_agrees(lambda x, y, z: (x.exp().t()[1:] * y.t()[1:]) @ z[:, :3], leaves)


def test_what_depends_on_nothing_is_made_again():
    one = made(lambda x, y, z: x * tensorlab.arange(4.0).exp())
    assert saved(one) == ["exp"]
    one = made(lambda x, y, z: x * tensorlab.full((4,), 2.0))
    assert saved(one) == []
    assert "full" in names_in(one.backward)
    one = made(lambda x, y, z: x * tensorlab.rand(4))
    assert saved(one) == ["rand"]


def test_inputs_that_are_written_later_are_copied():
    def program(x, y, z):
        w = x * z
        v = y * z[1:].sum() + (y * z.t()[0, 0])
        z.add_(1)
        return w, v

    one = made(program)
    assert names_in(one.forward).count("clone") >= 1
    for node in [node for node in one.forward.nodes if node.op == "call_function"]:
        assert node.meta["val"].shape == value_on_meta(node.target, node.args).shape
    outputs = one.forward.output_node().args[0]
    for node in outputs[len(outputs) - one.saved :]:
        while is_alias(node):
            node = node.args[0]
        assert node.name != "input_2"
    x, y, z = leaves()
    outputs = run(one.forward, [x, y, z])
    z.copy_(outputs[2])
    gradients = run(one.backward, [*outputs[3:], tensorlab.ones(3, 4), tensorlab.ones(3, 4)])
    assert gradients[0].equal(X)
    assert close(gradients[1], tensorlab.full((3, 4), float(X[1:].sum() + X[0, 0])))


def test_draws_stay_in_forward_even_if_nothing_uses_them():
    def program(x, y, z):
        tensorlab.rand(3)
        return x * tensorlab.rand(4)

    one = made(program)
    assert names_in(one.forward).count("rand") == 2
    assert names_in(one.backward).count("rand") == 0
    assert_agrees(program, leaves)


def test_gradients_that_are_tangents_or_saved_values_are_returned():
    def program(x, y, z):
        return x + 0.0, y.sum() * z.sum()

    one = made(program)
    assert_agrees(program, leaves)
    assert len(one.backward.output_node().args[0]) == 3
    assert_agrees(lambda x, y, z: (x.view(12), x.t() + 0), leaves)


def test_the_mode_must_be_known():
    with pytest.raises(ValueError, match="mode is 'both'; it must be one of save, recompute"):
        made(lambda x, y, z: x * y, "both")
    one = made(lambda x, y, z: x * y)
    with pytest.raises(ValueError, match="it must be one of"):
        partition(one.whole, 1, 3, (), "fast")


# ------------------------------------------------------------------------------------------------ recompute
def test_pointwise_ops_are_computed_again_where_that_saves_memory():
    def program(x, y, z):
        return (x.exp().sin().cos().tanh() * y).exp()

    assert sorted(saved(made(program))) == ["exp", "exp_1", "input_1", "sin", "tanh"]
    one = made(program, "recompute")
    assert sorted(saved(one)) == ["input_0", "input_1"]
    assert "tanh" in names_in(one.backward)
    assert_agrees(program, leaves, mode="recompute")


def test_what_is_no_pointwise_op_is_never_computed_again():
    def program(x, y, z):
        return ((x @ y.t()).exp().sin() @ z).tanh().sum(1).exp().cos()

    one = made(program, "recompute")
    forward, backward = names_in(one.forward), names_in(one.backward)
    assert forward.count("sum") == 1
    assert sorted(saved(one)) == ["exp", "exp_1", "input_0", "input_1", "input_2", "tanh"]
    assert backward.count("sum") == 0
    assert "sin" in backward
    assert_agrees(program, leaves, mode="recompute")


def test_the_smallest_of_several_values_is_saved():
    """Between two products the chain is narrow in the middle: that is where it is cut."""

    def program(x, y, z):
        wide = (x @ y.t()).exp().half().sin().float().exp()
        return wide @ z

    one = made(program, "recompute")
    assert bytes_saved(one) <= bytes_saved(made(program))
    assert_agrees(program, leaves, mode="recompute")


def test_draws_are_saved_and_not_drawn_again():
    def program(x, y, z):
        return x * tensorlab.rand(3, 4).sin().cos()

    one = made(program, "recompute")
    assert saved(one) in (["rand"], ["sin"], ["cos"])
    assert "rand" not in names_in(one.backward)
    assert_agrees(program, leaves, mode="recompute")


def test_an_input_that_is_written_costs_its_bytes():
    def program(x, y, z):
        w = x * z.exp().sin()
        z.add_(1)
        return w

    one = made(program, "recompute")
    assert len(saved(one)) == 1
    assert saved(one) != ["input_2"]
    x, y, z = leaves()
    outputs = run(one.forward, [x, y, z])
    z.copy_(outputs[1])
    (gradient, _, _) = run(one.backward, [*outputs[2:], tensorlab.ones(3, 4)])
    assert gradient.equal(X.exp().sin())


@pytest.mark.parametrize("rows", [1, 40])
def test_recompute_never_saves_more_than_save(rows):
    def program(x, y, z):
        w = (x @ y.t()).softmax(-1).exp()
        return (w.sum(0).sin() * w).tanh().mean() + (x * z).exp().sum()

    def make():
        tensorlab.manual_seed(1)
        return [tensorlab.rand(rows, 8).requires_grad_() for _ in range(3)]

    assert bytes_saved(made(program, "recompute", make)) <= bytes_saved(made(program, "save", make))
    assert_agrees(program, make, mode="recompute")


# ------------------------------------------------------------------------------------------------ min-cut
def cut_of(edges, source="s", sink="t"):
    """The value of the cheapest cut, and its edges."""
    side = min_cut(edges, source, sink)
    assert sink in side
    assert source not in side
    cut = [edge for edge in edges if edge[0] not in side and edge[1] in side]
    return sum(capacity for _, _, capacity in cut), {(a, b) for a, b, _ in cut}


def test_a_chain_is_cut_at_its_weakest_edge():
    assert cut_of([("s", "a", 5), ("a", "b", 2), ("b", "t", 4)]) == (2, {("a", "b")})


def test_of_equal_cuts_the_one_nearest_to_the_sink_is_taken():
    assert cut_of([("s", "a", 3), ("a", "b", 3), ("b", "t", 3)]) == (3, {("b", "t")})


def test_flow_must_be_sent_back():
    """The shortest path blocks both others: a cut of 2 is found only by taking flow back."""
    edges = [("s", "a", 1), ("s", "b", 1), ("a", "c", 1), ("a", "d", 1), ("b", "c", 1)]
    assert cut_of([*edges, ("c", "t", 1), ("d", "t", 1)])[0] == 2


def test_an_edge_with_room_for_several_paths_is_used_by_all_of_them():
    branches = [("a", "b", 1), ("a", "c", 2), ("a", "d", 3)]
    edges = [("s", "a", 7), *branches, ("b", "t", 9), ("c", "t", 9), ("d", "t", 9)]
    assert cut_of(edges) == (6, {("a", "b"), ("a", "c"), ("a", "d")})


def test_each_of_several_separate_paths_is_cut_whatever_its_length():
    short, long = [("s", "t", 4)], [("s", "a", 5), ("a", "b", 1), ("b", "c", 5), ("c", "t", 5)]
    assert cut_of([*short, *long, ("s", "d", 2), ("d", "t", 3)]) == (
        7,
        {("s", "t"), ("a", "b"), ("s", "d")},
    )


def test_no_path_and_free_edges_cost_nothing():
    assert cut_of([("s", "a", 1), ("b", "t", 1)])[0] == 0
    assert cut_of([("s", "a", float("inf")), ("a", "t", 0)]) == (0, {("a", "t")})


@pytest.mark.parametrize("seed", range(20))
def test_cuts_of_random_networks_are_the_cheapest(seed):
    """Against all ways to put the places on two sides."""
    import itertools
    import random

    draw = random.Random(seed)
    places = ["s", *"abcde", "t"]
    edges = [
        (a, b, draw.randint(0, 9))
        for a, b in itertools.permutations(places, 2)
        if b != "s" and a != "t" and draw.random() < 0.45
    ]
    best = min(
        sum(c for a, b, c in edges if a not in side and b in side)
        for n in range(6)
        for chosen in itertools.combinations("abcde", n)
        for side in [{*chosen, "t"}]
    )
    assert cut_of(edges)[0] == best


def test_what_forward_and_backward_have_in_common_is_computed_once():
    def program(x, y, z):
        return (x * 1).exp() * x.exp() * (y / 1)

    def make():
        return [tensorlab.rand(3, 4).requires_grad_(), tensorlab.rand(3, 4).requires_grad_(), X]

    recorded = record_program(program, make)
    functional = functionalize(recorded.graph)
    plain = joint(functional, recorded.wants_grad)
    prepared = joint(functional, recorded.wants_grad, prepare=run_passes)
    assert names_in(prepared.forward).count("exp") == 1
    assert prepared.saved < plain.saved
    assert_agrees(program, leaves, prepare=run_passes)


def test_inputs_cost_nothing():
    """Not even as much as the smallest value that could be saved in their place, a bool."""

    def program(x, y, z):
        return tensorlab.where(x * y * z > 0, x, y)

    def make():
        return [tensorlab.tensor(number, requires_grad=True) for number in (1.0, 2.0, 3.0)]

    one = made(program, "recompute", make)
    assert sorted(saved(one)) == ["input_0", "input_1", "input_2"]
    assert_agrees(program, make, mode="recompute")


def test_a_value_that_is_used_twice_costs_its_bytes_once():
    def program(x, y, z):
        w = x @ y.t()
        return (w + 1).tanh() * 2 + (w + 2).tanh()

    one = made(program, "recompute")
    assert sorted(saved(one)) == ["input_0", "input_1", "mm"]
    assert_agrees(program, leaves, mode="recompute")
