"""The programs of chapter 38: the dispatcher in sixty lines, the reader's first device, and what its pages compare."""

import importlib.util
import itertools
import json
from pathlib import Path

import pytest
from tensorlab._core.dispatch.layers import Layer

import tensorlab as T

FOLDER = Path(__file__).resolve().parents[2] / "chapters/38-dispatcher"


def program(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


tiny, first_backend = program("tiny_dispatch"), program("first_backend")


# ---------------------------------------------------------------- the tiny dispatcher
def noting(base, seen, name, place):
    """A layer of the tiny dispatcher, or of the real one, that notes its name."""

    class Noting(base):
        def call(self, op, arguments):
            seen.append(name)
            return op(*arguments)

    return Noting(place)


LAYERS = [("a", "transform"), ("b", "recorder"), ("c", "mode"), ("d", "mode")]
ONES = T.ones(2)


@pytest.mark.parametrize("order", list(itertools.permutations(LAYERS)))
def test_layers_are_asked_in_the_order_of_the_real_dispatcher(order):
    seen, truth = [], []
    with tiny_and_real(order, seen, truth):
        tiny.add(tiny.Array([1]), tiny.Array([2]))
        ONES.add(ONES)
    assert seen == truth
    assert len(seen) == 4


class tiny_and_real:
    """Enters the same layers in both."""

    def __init__(self, order, seen, truth):
        self.layers = [noting(tiny.Layer, seen, *one) for one in order]
        self.layers += [noting(Layer, truth, *one) for one in order]

    def __enter__(self):
        for one in self.layers:
            one.__enter__()

    def __exit__(self, *exception):
        for one in reversed(self.layers):
            one.__exit__(*exception)


def test_a_layer_does_not_see_its_own_calls_and_an_error_leaves_no_ceiling():
    class Failing(tiny.Layer):
        def call(self, op, arguments):
            tiny.NEG(arguments[0])
            raise KeyError(tiny.ceiling)

    with pytest.raises(KeyError, match="1000"), Failing("mode"):
        tiny.add(tiny.Array([1]), tiny.Array([2]))
    assert tiny.ceiling == tiny.NOWHERE
    assert tiny.entered == []


def test_the_short_way_and_the_long_way_give_the_same():
    x, y = tiny.Array([1, 2]), tiny.Array([30, 40])
    with tiny.Layer("mode"):
        long = tiny.add(x, y)
    assert repr(long) == repr(tiny.add(x, y)) == "[31, 42] on cpu"


# ---------------------------------------------------------------- the device
SUMS = {
    "same": lambda x: x + x,
    "in place": lambda x: x.clone().add_(x),
    "transposed": lambda x: x.T + x.T,
    "sliced": lambda x: x[1:, ::2] + x[:-1, 1:],
    "broadcast": lambda x: x + x[0],
    "both ways": lambda x: x[:, :1] + x[:1],
    "a number": lambda x: x + 2,
    "a number first": lambda x: 2.5 + x,
    "no dimensions": lambda x: x[0, 0] + x[1, 1],
    "no elements": lambda x: x[:0] + x[:0],
    "out=": lambda x: T.add(x, x, out=T.empty(2, 3, dtype=x.dtype, device=x.device)),
}


@pytest.mark.parametrize(
    "dtype", [T.float32, T.float64, T.float16, T.bfloat16, T.int64, T.int8, T.bool]
)
@pytest.mark.parametrize("name", SUMS)
def test_the_kernel_adds_what_the_cpu_adds(name, dtype):
    x = T.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    came, truth = SUMS[name](x.to("mine")), SUMS[name](x)
    assert str(came.device) == "mine:0"
    assert came.dtype == truth.dtype
    assert T.equal(came.cpu(), truth)


def test_types_are_promoted_over_there():
    for one, other in itertools.product([T.int8, T.int64, T.float32, T.float64, T.bool], repeat=2):
        x, y = T.tensor([1, 0]).to(one), T.tensor([[1], [100]]).to(other)
        came = x.to("mine") + y.to("mine")
        assert came.dtype == (x + y).dtype
        assert T.equal(came.cpu(), x + y)


def test_what_has_no_kernel_is_noted_and_gradients_need_none():
    first_backend.BACKEND.fallbacks.clear()
    w = T.tensor([1.0, 2.0], device="mine", requires_grad=True)
    z = w + T.ones(2).to("mine")
    z.backward(T.tensor([3.0, 4.0]).to("mine"))
    assert w.grad.cpu().tolist() == [3.0, 4.0]
    assert "add" not in first_backend.BACKEND.fallbacks
    z * z
    assert first_backend.BACKEND.fallbacks[-1] == "mul"


# ---------------------------------------------------------------- what was recorded
def test_a_mode_hears_in_pytorch_what_the_chapter_says():
    recorded = json.loads((FOLDER / "recorded.json").read_text(encoding="utf-8"))["heard"]
    heard = program("heard").heard(T)
    assert {name for name in heard if heard[name] != recorded[name]} == {
        "x.softmax(0)",
        "x[0]",
        "backward",
    }


def test_both_costs_were_recorded_of_the_same_states():
    recorded = json.loads((FOLDER / "recorded.json").read_text(encoding="utf-8"))
    assert list(recorded["PyTorch"]) == list(recorded["tensorlab"])
