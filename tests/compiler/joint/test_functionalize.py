"""Functional graphs have no writes, and give what the writes gave."""

import operator

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import optim
from tensorlab.compiler.cannot_compile import CannotCompile
from tensorlab.compiler.joint.functionalize import Slot, functionalize, run_functional
from tensorlab.compiler.joint.interpreter import is_write, run
from tensorlab.fx.graph import Graph
from tests.compiler.agreement import assert_agrees, assert_forward, record_program
from tests.compiler.passes.graphs import names_in

X = tensorlab.arange(12.0).view(3, 4)


def inputs():
    return [X.clone(), (X + 1).t().clone()]


def functional_of(program, make_inputs=inputs, shared=()):
    recorded = record_program(program, make_inputs)
    functional = functionalize(recorded.graph, shared)
    assert not any(is_write(node) for node in functional.graph.nodes)
    assert_forward(recorded, functional)
    return functional


# ------------------------------------------------------------------------------------------------ writes
@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x.add_(1),
        lambda x, y: x.mul_(y.t()),
        lambda x, y: x.copy_(y.t()),
        lambda x, y: x[1].copy_(y[:, 0]),
        lambda x, y: x.t().add_(y),
        lambda x, y: x.t()[1:].zero_(),
        lambda x, y: x.view(2, 6)[1].fill_(3),
        lambda x, y: x.view(12).view(4, 3).neg_(),
        lambda x, y: x.unsqueeze(1).squeeze(1).exp_(),
        lambda x, y: x[None].sin_(),
        lambda x, y: x.permute(1, 0).cumsum_(0),
        lambda x, y: x.diagonal().zero_(),
        lambda x, y: x.split(1)[1].zero_(),
        lambda x, y: x.split([1, 2], 0)[1].add_(5),
        lambda x, y: x.unbind(1)[2].add_(1),
        lambda x, y: x[::2, 1::2].mul_(-1),
        lambda x, y: x.unfold(1, 2, 1)[0, 1].fill_(9),
        lambda x, y: x.expand(2, 3, 4)[1].add_(1),
        lambda x, y: tensorlab.as_strided(x, (2, 2), (4, 1), 5).zero_(),
        lambda x, y: x[1].as_strided((2,), (3,), 4).zero_(),
        lambda x, y: x.detach().add_(1),
        lambda x, y: x.data.view(-1)[3:].add_(1),
        lambda x, y: x.view(tensorlab.int32).zero_(),
        lambda x, y: x.view(tensorlab.int32)[1].zero_(),
        lambda x, y: x.__setitem__((1, slice(None, None, 2)), 5.0),
        lambda x, y: x.__setitem__(x > 4, -1.0),
        lambda x, y: x.index_put_((tensorlab.tensor([0, 2]), tensorlab.tensor([1, 1])), y[0, :2]),
        lambda x, y: x.scatter_(1, tensorlab.tensor([[0, 1]]), 7.0),
        lambda x, y: x.eq_(y.t()),
        lambda x, y: x.bernoulli_(0.5),
        lambda x, y: x.t().uniform_(),
        lambda x, y: x[:, :2].normal_(),
        lambda x, y: tensorlab.add(x, 1, out=x),
        lambda x, y: x.clamp_(2, 7).sub_(y.t()).mul_(2),
        lambda x, y: (x.add_(y.t()), y.add_(x.t())),
        lambda x, y: (x.copy_(x + 1), x.t().copy_(x.t() * 2)),
    ],
)
def test_a_write_reaches_the_input_all_its_views_and_what_reads_them_later(write):
    def program(x, y):
        before, row, column = x.sum(), x[0], x.t()[1]
        write(x, y)
        return before, x.sum(), row * 1, column * 1, row, x, y.exp()

    functional_of(program)


def test_writes_to_what_was_computed_are_not_given_back():
    functional = functional_of(lambda x, y: [z := x * 2, z.t().add_(y), z[0].neg_()])
    assert functional.writes == []
    functional = functional_of(lambda x, y: y.add_(1).sum())
    assert [i for i, _ in functional.writes] == [1]
    assert functional.graph.output_node().args[0][functional.made :] == (functional.writes[0][1],)


def test_each_write_of_a_type_that_differs_is_cast_to_the_type_of_its_target():
    def make():
        return [X.int(), X.clone()]

    functional_of(lambda x, y: (x.t().copy_(y.t() + 0.7), x.add_(3)), make)
    functional_of(lambda x, y: (x > 3, y.gt_(2), y), make)
    functional_of(lambda x, y: y.add_(x.double()), make)


def test_an_average_is_updated_as_its_kernel_does():
    for dtype, other in ((tensorlab.float32,) * 2, (tensorlab.float64,) * 2, (tensorlab.bfloat16,) * 2,
                         (tensorlab.float16, tensorlab.float32), (tensorlab.float32, tensorlab.float64)):  # fmt: skip

        def make(dtype=dtype, other=other):
            tensorlab.manual_seed(4)
            return [tensorlab.rand(100).to(dtype), tensorlab.rand(100).to(other)]

        functional_of(lambda x, y: REGISTRY["update_average_"](x, y, 0.3), make)


def test_a_part_written_with_itself_is_no_write():
    def program(x, y):
        x[0] += 1

    functional = functional_of(program)
    assert names_in(functional.graph) == ["getitem_select", "add", "view_scatter"]


@pytest.mark.parametrize(
    "write, ops",
    [
        (lambda x: x.t().neg_(), ["t", "neg", "t"]),
        (lambda x: x.transpose(0, 1).neg_(), ["transpose", "neg", "transpose"]),
        (lambda x: x.permute(1, 0).neg_(), ["permute", "neg", "permute"]),
        (lambda x: x.view(12).neg_(), ["view", "neg", "view"]),
        (lambda x: x[None].neg_(), ["getitem_unsqueeze", "neg", "view"]),
        (lambda x: x.detach().neg_(), ["detach", "neg", "detach"]),
        (lambda x: x[1].neg_(), ["getitem_select", "neg", "view_scatter"]),
    ],
)
def test_a_view_of_everything_is_undone_without_a_copy(write, ops):
    assert names_in(functional_of(lambda x, y: [write(x), None][1:]).graph) == ops


def test_numbers_are_drawn_in_the_order_of_memory():
    def program(x, y):
        z = x.t()
        z.cumsum_(0)
        return z.bernoulli_(0.5)

    functional_of(program)


# ------------------------------------------------------------------------------------------------ what is returned
def test_results_that_are_inputs_are_these_tensors():
    functional = functional_of(lambda x, y: {"a": x, "b": [y, x], "c": (None, 3, x.add_(1))})
    assert functional.made == 0
    given = inputs()
    found = run_functional(functional, given, run)
    assert found["a"] is given[0]
    assert found["b"] == [given[1], given[0]]
    assert found["c"][:2] == (None, 3)
    assert found["c"][2] is given[0]
    assert [one.kind for one in functional.aliases.values()] == ["input"] * 4


def test_a_view_of_an_input_lies_in_its_memory():
    functional = functional_of(lambda x, y: (x[1:], y.t()[0].detach()))
    given = inputs()
    first, second = run_functional(functional, given, run)
    first.zero_()
    assert given[0][1:].sum() == 0
    second.zero_()
    assert given[1][:, 0].sum() == 0
    assert set(functional.aliases) == {0, 1}


def test_results_that_share_memory_share_it_again():
    def program(x, y):
        z = x + 1
        return z[0], z, z.t(), y * 2, z

    functional = functional_of(program)
    assert functional.made == 2
    row, z, turned, other, again = run_functional(functional, inputs(), run)
    assert again is z
    z.zero_()
    assert row.sum() == turned.sum() == 0
    assert other.sum() > 0
    assert set(functional.aliases) == {0, 1, 2, 4} - {0} | {0}


def test_two_views_without_their_base_share_memory():
    functional = functional_of(lambda x, y: (x + 1).chunk(2, 1))
    assert functional.made == 1
    first, second = run_functional(functional, inputs(), run)
    assert first._base is second._base or first.untyped_storage().data_ptr() == (
        second.untyped_storage().data_ptr()
    )


def test_one_view_of_what_was_computed_is_returned_as_it_is():
    functional = functional_of(lambda x, y: (x + 1).t())
    assert functional.made == 1
    assert functional.results[0].views == ()
    assert functional.aliases == {}
    assert functional.structure == Slot(0)


def test_a_tensor_of_its_own_is_returned_for_each_result():
    first, second = run_functional(functional_of(lambda x, y: (x + 1, x + 1)), inputs(), run)
    assert first is not second


# ------------------------------------------------------------------------------------------------ refusals
def leaf():
    return [X.clone().requires_grad_(), X.clone()]


@pytest.mark.parametrize(
    "program, reason",
    [
        (lambda x, y: x.t_(), "it changes what an input is"),
        (lambda x, y: x.squeeze_(), "it changes what an input is"),
        (lambda x, y: x.detach_(), "it changes what an input is"),
        (lambda x, y: x.as_strided_((2,), (1,)), "it changes what an input is"),
        (lambda x, y: (x + 1).set_(y), "it gives a tensor other memory"),
        (lambda x, y: (x + 1).resize_(2), "it gives a tensor other memory"),
        (lambda x, y: x.unfold(1, 2, 1).neg_(), "several elements of what it writes to"),
        (lambda x, y: (x + 1)[:, 1:].as_strided((3,), (4,), 0).unfold(0, 2, 1)[0].neg_(), None),
        (lambda x, y: y.as_strided((2,), (1,), 1), None),
        (lambda x, y: (x * 2)[::2].as_strided((3,), (4,), 1).neg_(), None),
    ],
)
def test_what_has_no_form_without_writes_is_refused_with_op_and_line(program, reason):
    recorded = record_program(program, inputs)
    if reason is None:
        assert_forward(recorded, functionalize(recorded.graph))
        return
    with pytest.raises(CannotCompile, match=reason) as caught:
        functionalize(recorded.graph)
    assert "test_functionalize.py:" in str(caught.value)
    assert str(caught.value).split(":")[0].endswith("_")
    assert caught.value.reason.startswith(reason)


def test_as_strided_of_an_input_must_begin_and_stay_where_the_input_is():
    def make(offset, n):
        return lambda: [tensorlab.arange(20.0)[offset:n]]

    def shifted(x):
        return tensorlab.as_strided(x, (2,), (1,), x.storage_offset() + 1) * 2

    functional_of(shifted, make(0, 9))
    with pytest.raises(CannotCompile, match="does not begin where its storage begins"):
        functionalize(record_program(shifted, make(3, 9)).graph)
    with pytest.raises(CannotCompile, match="reaches outside of the tensor"):
        functionalize(record_program(lambda x: x.as_strided((12,), (1,)) * 2, make(0, 9)).graph)
    with pytest.raises(CannotCompile, match="gaps or overlaps"):
        functionalize(
            record_program(lambda x: x.as_strided((2,), (1,)) * 2, lambda: [X[:, ::2]]).graph
        )
    functional_of(lambda x: x.as_strided((9,), (1,)) * 2, make(0, 9))
    with pytest.raises(CannotCompile, match="reaches outside"):
        functionalize(
            record_program(lambda x: x[4:].as_strided((4,), (2,), 3) * 2, make(0, 9)).graph
        )


def written(x):
    y = x * 1
    part = y[1:]
    part.mul_(2)
    return part


@pytest.mark.parametrize("offset", [None, 0, 3])
def test_as_strided_of_what_was_written_counts_from_the_start_of_the_storage(offset):
    def program(x):
        return written(x).as_strided((2,), (1,), offset) + 0

    recorded = record_program(program, lambda: [tensorlab.arange(5.0)])
    assert_forward(recorded, functionalize(recorded.graph))
    compiled, x = tensorlab.compile(program), tensorlab.arange(5.0)
    for _ in range(3):
        assert compiled(x).tolist() == program(x).tolist()


def test_as_strided_without_an_offset_is_refused_if_it_is_called_as_an_op():
    recorded = record_program(
        lambda x: REGISTRY["as_strided"](written(x), (2,), (1,)), lambda: [tensorlab.arange(5.0)]
    )
    with pytest.raises(CannotCompile, match="storage offset of the tensor"):
        functionalize(recorded.graph)


def test_inputs_whose_memory_is_shared_may_be_read_but_not_written():
    functional_of(lambda x, y: x + y.t(), shared=[{0, 1}])
    recorded = record_program(lambda x, y: y.add_(1), inputs)
    with pytest.raises(CannotCompile, match="whose memory another input shares"):
        functionalize(recorded.graph, [{0, 1}])
    assert_forward(recorded, functionalize(recorded.graph, [{0}]))


# ------------------------------------------------------------------------------------------------ optimizers
def train(x, y, reads=False, prepare=None):
    parameter = x if prepare is None else prepare(x)
    parameter.grad = y * 2
    optim.SGD([parameter], lr=0.1).step()
    return parameter.detach().sum() if reads else (parameter.detach(), y + 1)


def test_a_step_stays_and_comes_after_everything_that_reads_its_targets():
    recorded = record_program(train, leaf)
    functional = functionalize(recorded.graph)
    assert_forward(recorded, functional)
    assert functional.writes == []
    assert names_in(functional.graph).count("sgd_step_") == 1


def test_what_a_step_has_written_can_not_be_read_again():
    recorded = record_program(lambda x, y: train(x, y, reads=True), leaf)
    with pytest.raises(CannotCompile, match="what sgd_step_ has written is read again"):
        functionalize(recorded.graph)


def test_a_step_writes_to_nothing_that_is_needed_elsewhere():
    """A parameter that was written before, and one that was computed, are copied first."""

    def program(x, y):
        with tensorlab.no_grad():
            x.mul_(2)
        z = x.detach() + 0
        return train(x, y), z

    recorded = record_program(program, leaf)
    functional = functionalize(recorded.graph)
    assert_forward(recorded, functional)
    assert "clone" in names_in(functional.graph)
    assert [i for i, _ in functional.writes] == [0]

    def computed(x, y):
        z = y * 3
        return train(z, y), z.detach()

    recorded = record_program(computed, leaf)
    assert_forward(recorded, functionalize(recorded.graph))
    recorded = record_program(lambda x, y: train((y * 3)[1:], y[1:]), leaf)
    with pytest.raises(CannotCompile, match="it writes to a view"):
        functionalize(recorded.graph)


def test_results_of_a_step_are_its_parameters():
    graph = Graph()
    nodes = [graph.placeholder(name) for name in "pg"]
    for node in nodes:
        node.meta["val"] = tensorlab.empty(3, device="meta")
    args = ([nodes[0]], [nodes[1]], [], 0.5, 0.0, 0.0, 0.0, False, False, False)
    step = graph.call_function(REGISTRY["sgd_step_"], args)
    first = graph.call_function(operator.getitem, (step, 0))
    first.meta["val"] = nodes[0].meta["val"]
    graph.output((first, nodes[0]))
    functional = functionalize(graph)
    given = [tensorlab.ones(3), tensorlab.ones(3)]
    one, other = run_functional(functional, given, run)
    assert one is other is given[0]
    assert one.tolist() == [0.5] * 3


# ------------------------------------------------------------------------------------------------ numbers
def test_a_number_that_was_read_stays_with_what_python_saw():
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = tensorlab.empty(1, device="meta")
    op = REGISTRY.get("item") or type(REGISTRY["abs"])("item(Tensor x) -> Scalar")
    read = graph.call_function(op, (x,))
    read.meta["val"] = 3.5
    graph.output((read, x))
    functional = functionalize(graph)
    (found,) = functional.graph.output_node().args[0]
    assert found.meta["val"] == 3.5
    assert functional.results[0].kind == "made"


# ------------------------------------------------------------------------------------------------ metadata
def test_views_change_in_place_where_they_are_not_inputs():
    def program(x, y):
        z, w = x + 1, x.view(12)
        z.t_()
        z.unsqueeze_(0)
        z[0, 1].mul_(2)
        w.unsqueeze_(1)
        w.add_(1)
        v = x.view(3, 4)
        v.as_strided_((2, 2), (4, 1), 1)
        v.zero_()
        z.squeeze_()
        return z, w * 1, v, x.sum()

    functional_of(program)


def test_a_value_that_nothing_has_written_to_is_shown_in_another_way():
    def program(x, y):
        z = x * 2
        z.as_strided_((2, 2), (4, 1), 1)
        return z + 1

    functional_of(program)


def test_histories_are_those_of_the_program():
    def program(x, y):
        z, w = x * 2, x.t()
        z.detach_()
        with tensorlab.no_grad():
            v = w * 2
        return z * y, v, w * 3

    assert_agrees(program, leaf)
