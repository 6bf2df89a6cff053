"""Classes of tensors with a layer of their own: what they cost others, and a wrapper inside a wrapper."""

import subprocess
import sys

import pytest
from tensorlab._core.dispatch.layers import Layer, handle_class

import tensorlab as torch
from tests.core.wrappers import Wrapper, mapped, wrapper_class


class Wrapped(Wrapper):
    """One whose layer notes what it handled."""


class Unwrap(Layer):
    """Does what is asked with what is inside, and wraps the result."""

    def __init__(self):
        super().__init__("mode")
        self.handled = []

    def call(self, op, arguments):
        self.handled.append(op.name)
        inner = mapped(arguments, lambda x: x.inner if isinstance(x, Wrapped) else x)
        result = op(*inner)
        if op.writes:
            return arguments[0]
        return mapped(result, lambda x: Wrapped.around(x) if isinstance(x, torch.Tensor) else x)


UNWRAP = Unwrap()
handle_class(Wrapped, UNWRAP)


@pytest.fixture(autouse=True)
def nothing_handled_yet():
    UNWRAP.handled.clear()


def wrap(x, depth):
    for _ in range(depth):
        x = Wrapped.around(x)
    return x


def unwrap(x, depth):
    for _ in range(depth):
        assert type(x) is Wrapped
        x = x.inner
    assert type(x) is torch.Tensor
    return x


CALLS = {
    "exp": lambda x, y: x.exp(),
    "x + y": lambda x, y: x + y,
    "x * 2": lambda x, y: x * 2,
    "sum": lambda x, y: x.sum(1),
    "matmul": lambda x, y: x @ y,
    "transpose": lambda x, y: x.transpose(0, 1),
    "cat": lambda x, y: torch.cat([x, y]),
    "softmax": lambda x, y: torch.softmax(x, 1),
    "x[0]": lambda x, y: x[0],
}


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("call", CALLS)
def test_a_wrapper_computes_with_what_is_inside_at_any_depth(call, depth):
    x, y = torch.arange(4.0).view(2, 2), torch.ones(2, 2) / 3
    with torch.DisableTorchFunctionSubclass():
        result = CALLS[call](wrap(x, depth), wrap(y, depth))
    expected = CALLS[call](x, y)
    assert result.shape == expected.shape
    assert unwrap(result, depth).tolist() == expected.tolist()
    assert len(UNWRAP.handled) % depth == 0
    assert UNWRAP.handled


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_write_reaches_what_is_inside(depth):
    x = torch.ones(2)
    wrapped = wrap(x, depth)
    with torch.DisableTorchFunctionSubclass():
        assert wrapped.mul_(3.0).add_(1) is wrapped
    assert x.tolist() == [4.0, 4.0]
    assert wrapped._version == 2


@pytest.mark.parametrize("depth", [1, 2])
def test_autograd_is_above_and_differentiates_through(depth):
    x = wrap(torch.tensor([1.0, 2.0]), depth).requires_grad_()
    with torch.DisableTorchFunctionSubclass():
        (grad,) = torch.autograd.grad(x * x, x, wrap(torch.ones(2), depth))
    assert unwrap(grad, depth).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("depth", [1, 2])
def test_an_output_that_is_saved_stays_a_wrapper(depth):
    def computed(x):
        y, z = x * 1, x * 2
        y[0].exp_()  # its output is a part of y
        z[:, 1].sigmoid_()
        return (y * z).tanh()

    def penalty(x, ones):
        (grad,) = torch.autograd.grad(computed(x), x, ones, create_graph=True)
        (second,) = torch.autograd.grad(grad, x, ones)
        return grad, second

    x, ones = torch.tensor([[0.1, 0.2], [0.3, 0.4]]), torch.ones(2, 2)
    expected = penalty(x.clone().requires_grad_(), ones)
    with torch.DisableTorchFunctionSubclass():
        found = penalty(wrap(x, depth).requires_grad_(), wrap(ones, depth))
    for one, other in zip(found, expected, strict=True):
        assert unwrap(one.detach(), depth).tolist() == other.tolist()


def test_a_call_with_the_tensors_that_a_layer_was_given_goes_below():
    class Bare(torch.Tensor):
        pass

    class PassOn(Layer):
        def call(self, op, arguments):
            seen.append(op.name)
            return op(*arguments)

    seen = []
    handle_class(Bare, PassOn("mode"))
    x, y = (torch.ones(2).as_subclass(Bare) for _ in range(2))
    seen.clear()
    with torch.DisableTorchFunctionSubclass():
        torch.stack([x, y])
        assert (x + y).tolist() == [2.0, 2.0]
    assert seen.count("add") == 1
    assert seen.count("stack") == 1


def test_two_classes_in_one_place_both_see_a_call():
    class One(torch.Tensor):
        pass

    class Other(torch.Tensor):
        pass

    class Note(Layer):
        def __init__(self, name):
            super().__init__("mode")
            self.name = name

        def call(self, op, arguments):
            seen.append((self.name, op.name))
            return op(*arguments)

    seen = []
    handle_class(One, Note("one"))
    handle_class(Other, Note("other"))
    x, y = torch.ones(2).as_subclass(One), torch.ones(2).as_subclass(Other)
    seen.clear()
    with torch.DisableTorchFunctionSubclass():
        x * y
    assert [name for name, op in seen if op == "mul"] == ["one", "other"]


def test_tensors_that_exist_before_their_class_gets_a_layer_are_seen_too():
    class Late(torch.Tensor):
        pass

    class Note(Layer):
        def call(self, op, arguments):
            seen.append(op.name)
            return op(*arguments)

    seen = []
    x = torch.ones(2).as_subclass(Late)
    handle_class(Late, Note("mode"))
    with torch.DisableTorchFunctionSubclass():
        x.exp()
    assert "exp" in seen


def test_calls_without_such_a_tensor_take_the_short_way_beside_one():
    UNWRAP.handled.clear()
    held = Wrapped.around(torch.ones(2))
    UNWRAP.handled.clear()
    x, y = torch.ones(2), torch.full((2,), 2.0)
    assert layers_take_part()
    assert (x + y).tolist() == [3.0, 3.0]
    assert x.exp_().add_(y).mul_(2)[0].item() == pytest.approx(2 * (2.718281828 + 2))
    assert torch.cat([x, y]).sum().item() == pytest.approx(x.sum().item() + 4)
    assert torch.add(x, y, out=torch.empty(2)).shape == (2,)
    assert UNWRAP.handled == []
    assert held.inner.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: y + x,
        lambda x, y: torch.cat([y, x]),
        lambda x, y: torch.where(y > 0, y, x),
        lambda x, y: torch.stack((y, y, x)),
        lambda x, y: torch.addcmul(y, y, x),
    ],
)
def test_a_key_is_found_in_any_place(call):
    x, y = (torch.ones(2, device="meta") for _ in range(2))
    with torch.DisableTorchFunctionSubclass():
        result = call(Wrapped.around(x), y)
    assert type(result) is Wrapped
    assert type(result.inner) is torch.Tensor


def test_a_class_without_tensors_leaves_every_call_as_it_is():
    """In a process of its own: tensors that other tests have left alive would count."""
    program = """
import tensorlab as torch
from tests.core.wrappers import Wrapper, mapped, wrapper_class
from tensorlab._core.dispatch.layers import Layer, handle_class, takes_part

class Unused(torch.Tensor):
    pass

handle_class(Unused, Layer("mode"))
x = torch.ones(2)
seen = [takes_part()]
held = x.as_subclass(Unused)
seen.append(takes_part())
del held
print(*seen, takes_part())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "False"]


def layers_take_part():
    """Whether calls look for layers at all."""
    from tensorlab._core.dispatch.layers import takes_part

    return takes_part()


def test_a_layer_of_a_class_can_not_be_entered_and_the_other_way_round():
    class Another(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="entered already, or belongs to a class"):
        UNWRAP.__enter__()
    with Unwrap() as layer, pytest.raises(RuntimeError, match="make another one"):
        handle_class(Another, layer)


def test_a_layer_that_is_refused_leaves_the_one_before():
    class Kept(torch.Tensor):
        pass

    class PassOn(Layer):
        def call(self, op, arguments):
            seen.append(op.name)
            return op(*arguments)

    class WithoutAPlace(Layer):
        def __init__(self):
            pass

    seen = []
    handle_class(Kept, PassOn("mode"))
    with pytest.raises(ValueError, match="place is None"):
        handle_class(Kept, WithoutAPlace())
    with torch.DisableTorchFunctionSubclass():
        torch.ones(2).as_subclass(Kept).exp()
    assert "exp" in seen


def test_a_tensor_that_is_given_another_class_is_what_it_seems():
    x = Wrapped.around(torch.ones(2))
    x.__class__ = torch.Tensor
    UNWRAP.handled.clear()
    with pytest.raises(RuntimeError, match="a kernel was given a wrapper"):
        x.exp()
    assert UNWRAP.handled == []


# ------------------------------------------------------------------------------------------------ without memory
def test_a_wrapper_says_where_and_what_it_is():
    inner = torch.ones(2, 3, dtype=torch.float64).T
    x = Wrapped.around(inner)
    assert (x.shape, x.stride(), x.dtype) == (inner.shape, inner.stride(), inner.dtype)
    assert x.device == torch.device("cpu")
    assert not x.is_meta
    assert Wrapped.around(inner.to("meta")).is_meta
    y = torch.Tensor._make_wrapper_subclass(Wrapped, (2, 3), storage_offset=4)
    assert (y.stride(), y.storage_offset(), y.dtype) == ((3, 1), 4, torch.float32)
    y = torch.Tensor._make_wrapper_subclass(
        Wrapped, (1, 2, 3, 4), memory_format=torch.channels_last, requires_grad=True
    )
    assert y.stride() == (24, 1, 8, 2)
    assert y.requires_grad
    assert y.is_leaf


class Bare(torch.Tensor):
    """A class of tensors that has no layer."""


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + 1,
        lambda x: 1 + x.exp(),
        lambda x: x.add_(1),
        lambda x: x.sum(),
        lambda x: x.cumsum(0),
        lambda x: x.cumsum_(0),
        lambda x: x @ x,
        lambda x: x @ torch.ones(2, 2),
        lambda x: torch.ones(2, 2) + x,
        lambda x: torch.ones(2, 2).copy_(x),
        lambda x: torch.ones(2, 2).index_put_((torch.tensor([0]),), x),
        lambda x: x.index_put_((torch.tensor([0]),), torch.ones(2)),
        lambda x: torch.cat([x, x]),
        lambda x: torch.cat([torch.ones(2, 2), x]),
        lambda x: x.clone(),
        lambda x: x.double(),
        lambda x: x.to("meta").to("cpu"),
        lambda x: x.tolist(),
        lambda x: x[0, 0].item(),
        lambda x: int(x[0, 0]),
        lambda x: bool(x[0, 0]),
        lambda x: x.nonzero(),
        lambda x: x.zero_(),
        lambda x: x.fill_(2),
        lambda x: torch.zeros_like(x),
        lambda x: x.new_zeros(2),
        lambda x: x.new_empty(2),
        lambda x: x.sort(),
        lambda x: x.uniform_(),
        lambda x: torch.nn.functional.conv1d(x[None], x[None]),
        lambda x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
        lambda x: torch.nn.functional.dropout(x),
        lambda x: x.untyped_storage().tolist(),
        lambda x: x.untyped_storage().clone(),
        lambda x: x.untyped_storage().copy_(torch.ones(2, 2).untyped_storage()),
        lambda x: torch.ones(2, 2).untyped_storage().copy_(x.untyped_storage()),
        lambda x: x.resize_(10, 10).sum(),
        lambda x: torch.optim.SGD([torch.nn.Parameter(x)], 1).step(),
    ],
)
def test_a_kernel_that_is_given_a_wrapper_refuses(call):
    x = torch.Tensor._make_wrapper_subclass(Bare, (2, 2))
    with (
        torch.DisableTorchFunctionSubclass(),
        pytest.raises((RuntimeError, TypeError, BufferError)),
    ):
        call(x)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((int, (2,)), {}, TypeError, "the class is <class 'int'>"),
        ((Wrapped, (-1,)), {}, RuntimeError, "negative"),
        ((Wrapped, (2,), (-1,)), {}, RuntimeError, "negative"),
        ((Wrapped, (2,), (1, 1)), {}, RuntimeError, "1 sizes and 2 strides"),
        ((Wrapped, (2,)), {"storage_offset": -1}, RuntimeError, "storage_offset is -1"),
        (
            (Wrapped, (2,)),
            {"dtype": torch.int64, "requires_grad": True},
            RuntimeError,
            "only floating",
        ),
        ((Wrapped, (2,)), {"device": "cuda"}, RuntimeError, "accelerator"),
    ],
)
def test_a_wrapper_that_cannot_be_is_refused(arguments, options, error, message):
    with pytest.raises(error, match=f"^_make_wrapper_subclass: .*{message}"):
        torch.Tensor._make_wrapper_subclass(*arguments, **options)


class Comparing(type):
    """A class of classes that can't be compared, and so not hashed."""

    def __eq__(cls, other):
        raise AssertionError("must not be called")


def test_a_class_is_handled_beside_classes_that_cannot_be_compared():
    bystander = Comparing("Bystander", (), {})()
    cls = wrapper_class("mode")
    assert (cls.around(torch.ones(2)) + 1).inner.tolist() == [2, 2]
    del bystander
