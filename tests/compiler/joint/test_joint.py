"""Forward and backward graphs: which gradients there are, and what they are made of."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.compiler.cannot_compile import CannotCompile, LostHistory
from tensorlab.compiler.joint.functionalize import functionalize
from tensorlab.compiler.joint.interpreter import run, value_on_meta
from tensorlab.compiler.joint.joint import check_histories, joint
from tensorlab.fx import Graph
from tests.compiler.agreement import assert_agrees, record_program
from tests.compiler.passes.graphs import names_in

X = tensorlab.arange(12.0).view(3, 4) / 7


def leaves():
    return [X.clone().requires_grad_(), (X + 1).clone().requires_grad_(), X.clone()]


def made(program, make=leaves, mode="save"):
    recorded = record_program(program, make)
    return joint(functionalize(recorded.graph), recorded.wants_grad, mode)


def test_there_is_a_gradient_for_each_input_that_is_reached():
    one = made(lambda x, y, z: (x * z).sin())
    gradients = one.backward.output_node().args[0]
    assert [value is None for value in gradients] == [False, True, True]
    assert len(gradients) == 3
    assert one.tangents == [0]


def test_inputs_that_are_not_wanted_have_none():
    recorded = record_program(lambda x, y, z: x * y, leaves)
    one = joint(functionalize(recorded.graph), [False, True, False])
    assert [value is None for value in one.backward.output_node().args[0]] == [True, False, True]
    assert joint(functionalize(recorded.graph), [False] * 3) is None


def test_results_without_gradient_have_no_tangent():
    one = made(lambda x, y, z: (z + 1, x > 1, x.detach() * 2, x * 2, y.argmax(), y.exp()))
    assert one.tangents == [3, 5]
    assert len(one.backward.find_nodes(op="placeholder")) == one.saved + 2
    assert made(lambda x, y, z: (z + 1, x.detach() * 2)) is None


def test_what_ran_without_grad_mode_has_no_gradient():
    def program(x, y, z):
        with tensorlab.no_grad():
            w = x.exp()
        return w * y

    one = made(program)
    assert [value is None for value in one.backward.output_node().args[0]] == [True, False, True]
    assert_agrees(program, leaves)


def test_a_tangent_has_the_layout_of_its_result():
    one = made(lambda x, y, z: (x * 2).t())
    tangent = one.backward.find_nodes(op="placeholder")[-1]
    assert tangent.meta["val"].stride() == (1, 4)


@pytest.mark.parametrize(
    "view",
    [lambda x: x.expand(2, 3, 4), lambda x: x.unfold(1, 2, 1), lambda x: x[None].expand(5, 3, 4)],
)
def test_a_tangent_has_a_place_for_each_of_its_elements(view):
    """Where the result shows a place several times: a gradient written there would lose some of it."""
    one = made(lambda x, y, z: view(x * 2))
    tangent = one.backward.find_nodes(op="placeholder")[-1].meta["val"]
    assert tangent.shape == view(X).shape
    assert tangent.is_contiguous()


def test_writes_to_an_input_carry_its_new_history():
    def program(x, y, z):
        z.mul_(x)
        z[1] = y[0]
        return (z * 2).sum(), z

    functional, one = assert_agrees(program, leaves)
    assert one.tangents == [0, 1]
    assert functional.made == 1


def test_backward_knows_where_the_program_called():
    one = made(lambda x, y, z: x.sin() * y)
    assert all(
        "test_joint.py" in node.stack_trace for node in one.forward.nodes if node.stack_trace
    )
    calls = [node for node in one.backward.nodes if node.op == "call_function"]
    assert any(node.meta.get("is_backward") for node in calls)
    assert all(
        node.meta["val"] is not None
        for node in (*calls, *one.forward.nodes)
        if node.op == "call_function"
    )
    for graph in (one.forward, one.backward):
        for node in [one for one in graph.nodes if one.op == "call_function"]:
            value, again = node.meta["val"], value_on_meta(node.target, node.args)
            assert value.shape == again.shape
            assert value.stride() == again.stride()
        graph.lint()


def test_what_depends_on_values_has_the_size_that_was_recorded():
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = tensorlab.empty(3, device="meta")
    recorded = tensorlab.empty(2, 1, device="meta")
    assert value_on_meta(REGISTRY["nonzero"], (x,), recorded) is recorded
    with pytest.raises(RuntimeError, match="meta"):
        value_on_meta(REGISTRY["nonzero"], (x,))


def test_new_tensors_of_backward_are_on_the_processor():
    one = made(lambda x, y, z: x[0] * 2)
    gradients = run(one.backward, [tensorlab.ones(4)])
    assert gradients[0].device.type == "cpu"
    assert gradients[0].sum() == 8


# ------------------------------------------------------------------------------------------------ refusals
def doubled(x):
    class Double(tensorlab.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double.apply(x)


def written_below(x, y, z):
    w = x * 2
    w.detach().add_(1)
    return w * y


def written_without_grad(x, y, z):
    with tensorlab.no_grad():
        x.add_(1)
    return x * y


@pytest.mark.parametrize(
    "program, reason",
    [
        (lambda x, y, z: doubled(x).exp(), "its history comes from something that is no op"),
        (written_below, "it reads a tensor with a history that was written"),
        (written_without_grad, "it reads a tensor with a history that was written"),
        (lambda x, y, z: x.prod(), "a derivative depends on values"),
        (lambda x, y, z: x[x > 1] * 2, "its result depends on values"),
    ],
)
def test_histories_that_no_op_has_made_are_refused(program, reason):
    with pytest.raises(CannotCompile, match=reason) as caught:
        made(program)
    recorded = record_program(program, leaves)
    functional = functionalize(recorded.graph)
    if isinstance(caught.value, LostHistory):  # its gradients would be wrong op by op, too
        with pytest.raises(LostHistory, match=reason):
            check_histories(functional, recorded.wants_grad)
    else:
        check_histories(functional, recorded.wants_grad)
    check_histories(functional, [False] * 3)


def test_histories_after_a_value_that_was_read_are_checked():
    def program(x, y, z):
        w = x[z > 1] * 2
        return w.sum(), doubled(w.exp()).sin()

    recorded = record_program(program, leaves)
    with pytest.raises(LostHistory, match="no op"):
        check_histories(functionalize(recorded.graph), recorded.wants_grad)
    recorded = record_program(lambda x, y, z: (x[z > 1] * 2 + tensorlab.ones(1)).exp(), leaves)
    check_histories(functionalize(recorded.graph), recorded.wants_grad)


def test_a_write_without_grad_mode_is_fine_if_no_one_asks_for_gradients():
    recorded = record_program(written_without_grad, leaves)
    assert joint(functionalize(recorded.graph), [False] * 3) is None


def test_a_write_after_the_last_read_hides_nothing():
    def program(x, y, z):
        w = (x * y).sum()
        with tensorlab.no_grad():
            x.add_(1)
        return w

    one = made(program)
    assert names_in(one.forward).count("clone") == 1  # y's gradient needs the old x


def test_a_window_of_a_part_has_another_gradient_than_one_of_the_whole():
    """Autograd drops what the part doesn't show."""
    with pytest.raises(LostHistory, match="a history"):
        made(lambda x, y, z: x[:2].as_strided((3,), (4,)).sin())
    assert_agrees(lambda x, y, z: x.view(12).as_strided((3,), (4,), 1).sin(), leaves)

    def without_grad(x, y, z):
        with tensorlab.no_grad():
            w = x.view(12)
        return w.as_strided((3,), (4,)).sin(), y * 2

    with pytest.raises(LostHistory, match="a history"):
        made(without_grad)


def test_a_leaf_that_is_written_without_grad_mode_keeps_no_history_of_that():
    def program(x, y, z):
        w = (x * 2).sum()
        x.data.mul_(y.detach())
        with tensorlab.no_grad():
            y.add_(z)
        return w

    assert made(program).tangents == [0]
    assert_agrees(program, leaves)


def test_a_step_of_an_optimizer_is_no_part_of_a_graph_with_gradients():
    def program(x, y, z):
        w = (x * y).sum()
        y.grad = z
        tensorlab.optim.SGD([y], lr=0.1).step()
        return w

    with pytest.raises(CannotCompile, match="it can't be part of a graph with gradients"):
        made(program)
