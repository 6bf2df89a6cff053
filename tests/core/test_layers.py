"""Layers: who sees a call of an op, in which order, and what it can do with it."""

import gc
import itertools
import threading
import weakref

import pytest
from tensorlab._core.dispatch.layers import PLACES, Layer, entered_layers, handle_class
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab as torch
from tensorlab._core.dispatch.recorder import Counter, Recorder


class Noting(Layer):
    """Passes everything on, and notes which layer saw which op."""

    def __init__(self, place, notes):
        super().__init__(place)
        self.notes = notes

    def call(self, op, arguments):
        self.notes.append((self.place, op.name))
        return op(*arguments)


def test_layers_see_a_call_in_the_order_of_the_places():
    notes = []
    places = [place for place in PLACES if place != "autograd"]
    layers = [Noting(place, notes) for place in reversed(places)]
    for layer in layers:
        layer.__enter__()
    assert [layer.place for layer in entered_layers()] == places
    torch.ones(2).mul_(3.0)
    for layer in layers:
        layer.__exit__()
    assert [place for place, name in notes if name == "mul_"] == places
    assert entered_layers() == ()


@pytest.mark.parametrize("order", list(itertools.permutations(["transform", "recorder", "mode"])))
def test_the_order_of_places_counts_and_not_that_of_entering(order):
    notes = []
    layers = [Noting(place, notes) for place in order]
    for layer in layers:
        layer.__enter__()
    torch.ones(2).exp()
    for layer in reversed(layers):
        layer.__exit__()
    places = [place for place in PLACES if place in order]
    assert [place for place, name in notes if name == "exp"] == places


def test_of_two_layers_in_one_place_the_one_entered_last_is_asked_first():
    x, notes = torch.ones(2), []
    outer, inner = Noting("mode", notes), Noting("mode", notes)
    outer.call = None  # would raise if it were asked first
    inner.call = lambda op, arguments: "answered"
    with outer, inner:
        assert torch.exp(x) == "answered"


def test_a_layer_does_not_see_what_it_calls_itself():
    class Doubling(Layer):
        def call(self, op, arguments):
            return op(*arguments) * 2

    x = torch.ones(2)
    with Doubling("mode"):
        y = torch.add(x, 1)
    assert y.tolist() == [4.0, 4.0]


def test_what_a_layer_above_autograd_calls_is_recorded_for_backward():
    class Squaring(Layer):
        def call(self, op, arguments):
            return op(op(*arguments))

    x = torch.tensor([2.0], requires_grad=True)
    with Squaring("transform"):
        y = x.square()
    y.backward()
    assert x.grad.tolist() == [32.0]


def test_below_autograd_grad_mode_is_off_and_the_call_is_recorded_above():
    modes = []

    class Looking(Layer):
        def call(self, op, arguments):
            modes.append(torch.is_grad_enabled())
            return op(*arguments)

    x = torch.tensor([2.0], requires_grad=True)
    with Looking("mode"):
        y = x * x
    assert modes == [False]
    assert y.grad_fn.name() == "MulBackward0"
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("place", ["recorder", "mode"])
def test_an_in_place_call_counts_one_version(place):
    x = torch.ones(2)
    with Counter(place) as counter:
        x.add_(1).mul_(2)
        x += 1
    assert counter.counts == {"add_": 2, "mul_": 1}
    assert x.tolist() == [5.0, 5.0]
    assert x._version == 3


WRITES = {
    "zero_": lambda x, y: x.zero_(),
    "fill_": lambda x, y: x.fill_(y[0, 0]),
    "copy_": lambda x, y: x.copy_(y * 2),
    "copy_ of a row": lambda x, y: x.copy_(y[0]),
    "a row": lambda x, y: x[0].copy_(y[1]),
    "index_put_": lambda x, y: x.index_put_((torch.tensor([1, 0, 1]),), y[0], accumulate=True),
    "index_fill_": lambda x, y: x.index_fill_(0, torch.tensor([1]), y[0, 1]),
    "fill_diagonal_": lambda x, y: x.fill_diagonal_(2),
    "transpose_": lambda x, y: x.transpose_(0, 1).mul_(y),
    "t_": lambda x, y: x.t_().mul_(y),
    "unsqueeze_": lambda x, y: x.unsqueeze_(0).mul_(y),
    "squeeze_": lambda x, y: x.unsqueeze_(0).squeeze_(0).mul_(y),
    "as_strided_": lambda x, y: x.as_strided_((2, 2), (1, 2)).mul_(y),
    "detach_": lambda x, y: x.detach_() * y,
}


@pytest.mark.parametrize("place", ["functionalize", "mode"])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_recorded_above_a_layer_that_passes_it_on(write, place):
    """These record themselves, each in a way of its own, and their kernels run below the layer."""

    def computed():
        x, y = (
            torch.tensor(rows, requires_grad=True)
            for rows in ([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]])
        )
        z = x * 3
        result = WRITES[write](z, y)
        weights = torch.arange(1.0, 1.0 + result.numel()).reshape(result.shape)
        grads = torch.autograd.grad(result, (x, y), weights, allow_unused=True)
        return [None if one is None else one.tolist() for one in (result, *grads)], z._version

    expected = computed()
    with Noting(place, []):
        assert computed() == expected


@pytest.mark.parametrize("write", ["zero_", "fill_", "copy_", "t_"])
def test_a_leaf_is_not_written_below_a_layer_either(write):
    x = torch.ones(2, 2, requires_grad=True)
    with Noting("mode", []), pytest.raises(RuntimeError, match=f"^{write}: a leaf that requires"):
        WRITES[write](x, torch.ones(2, 2))
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_layer_sees_beside_which_tensor_another_is_made():
    x = torch.ones(2, dtype=torch.int16)
    made = {
        "new_empty": lambda: x.new_empty(2, 3),
        "new_zeros": lambda: x.new_zeros(2, 3),
        "new_ones": lambda: x.new_ones((2, 3)),
        "new_full": lambda: x.new_full((2, 3), 7),
        "new_empty_strided": lambda: x.new_empty_strided((2, 3), (3, 1)),
    }

    class Look(Layer):
        def call(self, op, arguments):
            seen.append((op.name, arguments[0] is x, arguments[1]))
            return op(*arguments)

    seen = []
    with Look("mode"):
        results = [make() for make in made.values()]
    assert seen == [(name, True, (2, 3)) for name in made]
    assert {(tuple(y.shape), y.dtype) for y in results} == {((2, 3), torch.int16)}


def test_a_layer_sees_only_its_own_thread():
    x = torch.ones(2)
    with Counter() as counter:
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
        assert counter.counts == {}
        x.exp()
    assert counter.counts == {"exp": 1}


def test_an_error_in_a_layer_leaves_the_thread_as_it_was():
    class Failing(Layer):
        def call(self, op, arguments):
            raise ValueError("no")

    x = torch.ones(2)
    with Failing("mode"):
        with pytest.raises(ValueError, match="no"):
            x.exp()
        assert torch.is_grad_enabled()
    assert x.add(1).tolist() == [2.0, 2.0]


def test_what_backward_calls_is_seen():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.tanh().sum()
    with Recorder() as recorder:
        y.backward()
    assert [call.op.name for call in recorder.calls].count("tanh_backward") == 1


def test_out_is_two_calls_to_a_layer():
    x, out = torch.ones(2), torch.empty(2)
    with Recorder() as recorder:
        assert torch.exp(x, out=out) is out
    assert [call.op.name for call in recorder.calls] == ["exp", "copy_"]
    assert out.tolist() == torch.exp(x).tolist()


def test_out_of_an_op_without_a_derivative_takes_what_requires_grad():
    x, flags = torch.ones(2, requires_grad=True), torch.zeros(2, dtype=torch.bool)
    with Recorder():
        torch.gt(x, 0.5, out=flags)
    assert flags.tolist() == [True, True]


def test_a_class_of_tensors_can_have_a_layer_below_autograd():
    class Logged(torch.Tensor):
        pass

    seen = []

    class Log(Layer):
        def call(self, op, arguments):
            seen.append(op.name)
            return op(*arguments)

    handle_class(Logged, Log("mode"))
    x = torch.ones(2).as_subclass(Logged)
    torch.ones(2) * 2
    assert "mul" not in seen
    with torch.DisableTorchFunctionSubclass():
        x * 2
    assert seen.count("mul") == 1


def test_a_recorded_call_is_shown_with_its_arguments():
    x = torch.zeros(2, 3)
    with Recorder() as recorder:
        torch.cat([x, x], 1)
        x.sum(0, dtype=torch.float64)
    assert [str(call) for call in recorder.calls] == [
        "cat([Tensor(2, 3), Tensor(2, 3)], 1)",
        "sum(Tensor(2, 3), 0, False, tensorlab.float64)",
    ]


def test_the_layer_of_the_nearest_class_hides_those_of_its_bases():
    class Base(torch.Tensor):
        pass

    class Derived(Base):
        pass

    class WithoutItsOwn(Base):
        pass

    notes = []
    handle_class(Base, Noting("recorder", notes))
    handle_class(Derived, Noting("mode", notes))
    expected = {Base: ["recorder"], Derived: ["mode"], WithoutItsOwn: ["recorder"]}
    for cls, places in expected.items():
        x = torch.ones(2).as_subclass(cls)
        notes.clear()
        with torch.DisableTorchFunctionSubclass():
            x.exp()
        assert [place for place, name in notes if name == "exp"] == places


def test_an_in_place_op_needs_a_tensor_to_write_to():
    x = torch.ones(2).add_(0)
    with Counter():
        x.add_(1)  # now the op is in the registry
    with pytest.raises(TypeError, match="add_: the argument 'x' must be a Tensor, not int"):
        REGISTRY["add_"](2, x)


@pytest.mark.parametrize("odd", ["text", None, [1, 2]])
@pytest.mark.parametrize("call", [lambda x: x.exp(), lambda x: x.transpose(0, 1)])
def test_a_layer_below_autograd_that_returns_no_tensor_is_an_error(call, odd):
    class Odd(Layer):
        def call(self, op, arguments):
            return odd

    x = torch.ones(2, 2, requires_grad=True)
    with Odd("mode"), pytest.raises(TypeError):
        call(x)


def test_errors_of_layers():
    with pytest.raises(ValueError, match="place is 'cellar'; it must be one of autocast"):
        Layer("cellar")
    with pytest.raises(ValueError, match="place is 'autograd'"):
        Layer("autograd")
    layer = Counter()
    with layer, pytest.raises(RuntimeError, match="entered already"):
        layer.__enter__()
    with pytest.raises(RuntimeError, match="left in the thread that entered it"):
        layer.__exit__()
    with Layer("mode"), pytest.raises(NotImplementedError, match="must define call"):
        torch.ones(2).exp()
    with pytest.raises(TypeError, match="a class that inherits Tensor"):
        handle_class(int, layer)


def test_an_op_can_be_called_with_the_arguments_of_its_schema():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert REGISTRY["sum"](x, [1], True).tolist() == [[3.0], [7.0]]
    assert REGISTRY["sum"](x, dtype=torch.float64, dim=0).dtype is torch.float64
    assert REGISTRY["add"](x, 2).grad_fn.name() == "AddBackward0"
    assert REGISTRY["transpose"](x, 0, 1)._base is x
    with pytest.raises(TypeError, match="sum: the argument 'x' must be a Tensor, not str"):
        REGISTRY["sum"]("x")
    with pytest.raises(TypeError, match="sum: the argument 'x' is missing"):
        REGISTRY["sum"](dim=0)
    with pytest.raises(TypeError, match="sum: the argument 'axis' is unknown"):
        REGISTRY["sum"](x, axis=0)
    with pytest.raises(TypeError, match="sum: the argument 'x' is given twice"):
        REGISTRY["sum"](x, x=x)
    with pytest.raises(TypeError, match="5 arguments were given, and the op takes 4"):
        REGISTRY["sum"](x, 0, True, torch.float64, 1)


# ---------------------------------------------------------------- results with gradients that formulas name
def test_a_saved_second_result_is_freed_with_its_node_and_leads_back_to_the_input():
    scores = torch.tensor([[2.0, 1.0, 0.5]], requires_grad=True)
    loss, probabilities = REGISTRY["cross_entropy"](scores, torch.tensor([0]))
    assert loss.grad_fn is probabilities.grad_fn
    (by_both,) = torch.autograd.grad(loss + probabilities[0, 0], scores, create_graph=True)
    softmax = scores.softmax(1)
    (expected,) = torch.autograd.grad(
        -softmax[0, 0].log() + softmax[0, 0], scores, create_graph=True
    )
    assert torch.allclose(by_both, expected)
    (second,) = torch.autograd.grad(by_both[0, 0], scores)
    (expected,) = torch.autograd.grad(expected[0, 0], scores)
    assert torch.allclose(second, expected, atol=1e-6)

    gc.disable()
    try:
        alive = weakref.ref(loss.grad_fn)
        del loss, probabilities, by_both, second
        assert alive() is None
    finally:
        gc.enable()


def test_cross_entropy_without_its_softmax_refuses_a_gradient():
    scores = torch.tensor([[2.0, 1.0]], requires_grad=True)
    loss = REGISTRY["cross_entropy"](scores, torch.tensor([0]), keeps_softmax=False)[0]
    with pytest.raises(RuntimeError, match="keeps_softmax=False"):
        loss.backward()


@pytest.mark.parametrize("op", ["nll_loss_backward", "cross_entropy_backward"])
def test_gradients_of_losses_refuse_a_gradient_of_another_shape(op):
    rows = torch.ones(2, 3).softmax(1)
    given = (rows, torch.tensor([0, 2])) if op.startswith("cross") else (torch.tensor([0, 2]), None)
    rest = (None,) if op.startswith("cross") else ((2, 3),)
    with pytest.raises(RuntimeError, match="without dimensions"):
        REGISTRY[op](torch.ones(2), *given, *rest, -100, "mean")
    with pytest.raises(RuntimeError, match="expected that of the target"):
        REGISTRY[op](torch.ones(3), *given, *rest, -100, "none")


def test_the_first_gradient_of_a_pass_is_on_the_device_of_its_root():
    x = torch.ones(3, requires_grad=True, device="meta")
    with Recorder():
        x.sum().backward()
    assert x.grad.is_meta
