"""`__torch_dispatch__`: modes and classes below autograd."""

import contextlib

import pytest
from tensorlab._core.dispatch.layers import entered_layers

import tensorlab as torch
from tensorlab import Tensor, nn, ops
from tensorlab.utils._python_dispatch import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass,
    is_traceable_wrapper_subclass_type,
    return_and_correct_aliasing,
    transform_subclass,
)
from tensorlab.utils._pytree import tree_map_only
from tests.core.test_wrapped_samples import (
    NO_WRAPPERS,
    assert_same,
    gradients,
    inputs_of,
    results_of,
)
from tests.ops.every_sample import SAMPLES, each_sample


class Names(TorchDispatchMode):
    """Notes what it is told."""

    def __init__(self, label=""):
        super().__init__()
        self.label, self.told = label, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.told.append(f"{self.label}{func}")
        return func(*args, **(kwargs or {}))


class Wrapped(Tensor):
    """Holds a tensor, and computes with it."""

    __torch_function__ = torch.overrides.disabled_tensor_function

    @staticmethod
    def __new__(cls, elem):
        made = Tensor._make_wrapper_subclass(
            cls,
            elem.shape,
            elem.stride(),
            elem.storage_offset(),
            dtype=elem.dtype,
            device=elem.device,
        )
        made.elem = elem
        return made

    def __init__(self, elem):
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args_inside, kwargs_inside = tree_map_only(cls, lambda x: x.elem, (args, kwargs or {}))
        out = func(*args_inside, **kwargs_inside)
        if func.op.writes and func.op.functional is not None and func.op.functional.is_view:
            func(*args, **(kwargs or {}))  # the wrapper is laid out as what it holds
        return return_and_correct_aliasing(
            func, args, kwargs, tree_map_only(Tensor, around(cls), out)
        )

    def __tensor_flatten__(self):
        return ["elem"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["elem"])


def around(cls):
    return lambda x: x if isinstance(x, cls) else cls(x)


# ---------------------------------------------------------------- modes
def test_a_mode_hears_forward_backward_and_higher_orders():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    with Names() as names:
        y = x * x
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [2.0, 2.0]
    assert names.told[:2] == ["aten.mul.Tensor", "aten.sum.dim_IntList"]
    assert names.told.count("aten.mul.Tensor") > 2


def test_hooks_checkpoints_and_optimizer_steps_are_heard():
    net = nn.Linear(2, 2)
    net.weight.register_hook(lambda grad: grad.neg())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with Names() as names:
        out = torch.utils.checkpoint.checkpoint(net, torch.ones(1, 2), use_reentrant=False)
        out.sum().backward()
        heard = list(names.told)
        optimizer.step()
    assert heard.count("aten.linear.default") == 2
    assert "aten.neg.default" in heard
    assert names.told[len(heard) :]


def test_arguments_come_by_position_without_defaults_and_names_where_the_schema_has_them():
    class Arguments(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append((str(func), len(args), sorted(kwargs), types))
            return func(*args, **kwargs)

    told = []
    x = torch.ones(2, 2)
    with Arguments():
        x.sum()
        x.sum(0, keepdim=True, dtype=torch.float64)
        torch.sort(x)
        torch.full((2,), 1.0)
    assert told == [
        ("aten.sum.dim_IntList", 1, [], ()),
        ("aten.sum.dim_IntList", 3, ["dtype"], ()),
        ("aten.sort.default", 2, [], ()),  # dim is counted from the front
        ("aten.full.default", 2, ["device", "dtype"], ()),
    ]


def test_modes_lie_in_each_other_and_may_be_entered_again():
    told = []
    outer, inner = Names("outer "), Names("inner ")
    outer.told = inner.told = told
    with outer, inner, inner:
        assert _get_current_dispatch_mode_stack() == [outer, inner, inner]
        torch.ones(2).neg()
    assert told[-3:] == ["inner aten.neg.default"] * 2 + ["outer aten.neg.default"]
    assert _get_current_dispatch_mode_stack() == []


def test_what_a_mode_calls_it_does_not_hear():
    class Doubles(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **kwargs) * 2

    with Doubles():
        y = torch.ones(2) + 0
    assert y.tolist() == [4.0, 4.0]  # ones is doubled, and the sum


def test_an_error_inside_leaves_everything_as_it_was():
    class Refuses(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError(f"no {func}")

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(ValueError, match=r"no aten\.neg\.default"), Refuses():
        x.neg()
    assert entered_layers() == ()
    assert torch.is_grad_enabled()
    with pytest.raises(ValueError, match="no "), Refuses():
        y.add_(1)
    assert y._version == 0
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_modes_can_be_left_out_for_a_while():
    with Names() as names:
        with _disable_current_modes():
            torch.ones(2)
        assert names.told == []
        torch.ones(2)
        assert names.told == ["aten.ones.default"]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            3,
            r"neg: Answers.__torch_dispatch__ \(.*test_python_dispatch.py:\d+\) must return a Tensor, "
            r"and came back with 3 \(int\)",
        ),
        (None, "returned None; return what func"),
        (NotImplemented, "the mode Answers returned NotImplemented"),
    ],
)
def test_nonsense_is_refused_with_what_was_promised(returned, message):
    class Answers(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return returned

    x = torch.ones(2)
    with pytest.raises(TypeError, match=message), Answers():
        x.neg()
    with pytest.raises(TypeError, match="a tuple of 2 results|NotImplemented"), Answers():
        x.sort()


@pytest.mark.parametrize(
    ("returned", "call", "message"),
    [
        (
            torch.ones(2),
            lambda x: x.sort(),
            "sort: .* a tuple of 2 results, and came back with ten",
        ),
        ((torch.ones(2),), lambda x: x.sort(), "sort: .* came back with 1 of them"),
        (
            torch.ones(2),
            lambda x: x.unbind(0),
            "unbind: .* a list of Tensors, and came back with te",
        ),
        (
            [1, 2],
            lambda x: x.split(1),
            r"split.*: .* a list of Tensors, and came back with \[1, 2\]",
        ),
        (None, lambda x: x.unbind(0), "unbind: .* returned None"),
        ([torch.ones(2)], lambda x: x + 1, "add: .* a Tensor, and came back with \\[ten"),
        (3, lambda x: torch.ones(2), "ones: .* a Tensor, and came back with 3"),
    ],
)
def test_a_result_of_another_form_is_refused(returned, call, message):
    class Answers(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return returned

    x = torch.ones(2)
    with pytest.raises(TypeError, match=message), Answers():
        call(x)
    with Answers():  # what was written to is known without the mode
        assert x.add_(1) is x
    assert x.tolist() == [1.0, 1.0]


def test_a_mode_is_left_as_often_as_it_was_entered():
    mode = Names()
    with mode:
        pass
    with pytest.raises(RuntimeError, match="Names: the mode is to be left, and was not entered"):
        mode.__exit__(None, None, None)


def test_compiled_functions_are_right_inside_a_mode():
    f = torch.compile(lambda x: (x * 2).tanh().sum())
    x = torch.rand(3)
    expected = f(x)
    with BaseTorchDispatchMode():
        assert torch.equal(f(x), expected)


# ---------------------------------------------------------------- classes
@each_sample([one for one in SAMPLES if one.name not in NO_WRAPPERS])
def test_a_wrapper_class_runs_every_sample(sample):
    inputs = inputs_of(sample)
    expected = results_of(sample.call, inputs)
    expected_grads = gradients(expected, inputs)
    inputs = inputs_of(sample)
    wrapped = [Wrapped(x.detach()).requires_grad_(x.requires_grad) for x in inputs]
    got = results_of(sample.call, wrapped)
    grads = gradients(got, wrapped)
    for one, other in zip([*got, *grads], [*expected, *expected_grads], strict=True):
        if isinstance(other, Tensor):
            assert type(one) is Wrapped
            assert_same(one.detach().elem, other)
        else:
            assert one == other


def test_gradients_of_wrappers_are_not_added_up_in_what_another_one_holds():
    """The gradient of the sum goes to a view and to q; the view's is added to another one later."""

    def gradients_of(make):
        q, p = make(torch.ones(4)), make(torch.ones(2, 2))
        w = make(torch.arange(4.0).view(2, 2)).detach()
        scaled, used = q * 3, p * 1
        twice = used * w
        added = used.view(4) + scaled
        (twice.sum() + (added * w.view(4)).sum()).backward()
        return q.grad, p.grad

    expected = gradients_of(lambda x: x.requires_grad_())
    found = gradients_of(lambda x: Wrapped(x).requires_grad_())
    assert [one.elem.tolist() for one in found] == [one.tolist() for one in expected]


def test_a_mode_comes_before_a_class():
    class Types(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append((str(func), types))
            return func(*args, **kwargs)

    told = []
    x = Wrapped(torch.ones(2))
    with Types():
        assert type(x.neg()) is Wrapped
    assert told == [("aten.neg.default", (Wrapped,))]


def test_the_class_that_inherits_is_asked_first():
    class Polite(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(types)
            return NotImplemented

    told = []
    x, y = Wrapped(torch.ones(2)), Polite(torch.ones(2))
    assert type(x + y) is Wrapped
    assert told == [(Polite, Wrapped)]
    with pytest.raises(
        TypeError, match="no class handles the call; Polite returned NotImplemented"
    ):
        y.neg()


def test_a_wrapper_is_taken_apart_and_put_together():
    x = Wrapped(torch.ones(2))
    assert is_traceable_wrapper_subclass(x)
    assert not is_traceable_wrapper_subclass(torch.ones(2))
    made = transform_subclass(x, lambda name, inner: inner * 3)
    assert made.elem.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match=r"must make a Wrapped of size \(2,\)"):
        transform_subclass(x, lambda name, inner: torch.ones(3))


def test_what_was_written_is_returned():
    x, y = torch.ones(2), torch.ones(2)
    assert return_and_correct_aliasing(ops.aten.add_.Tensor, (x, y), {}, y) is x
    assert return_and_correct_aliasing(ops.aten.add.Tensor, (x, y), {}, y) is y
    with pytest.raises(TypeError, match="func must be what the hook was told"):
        return_and_correct_aliasing(torch.add, (x, y), {}, y)


def test_a_parameter_of_a_wrapper_learns():
    net = nn.Linear(2, 1)
    net.weight = nn.Parameter(Wrapped(net.weight.detach()))
    assert isinstance(net.weight, nn.Parameter)
    net(torch.ones(1, 2)).sum().backward()
    assert net.weight.grad.elem.tolist() == [[1.0, 1.0]]


def test_questions_about_modes_and_classes():
    assert _get_current_dispatch_mode() is None
    with Names("outer"), Names("inner") as inner:
        assert _get_current_dispatch_mode() is inner
        with inner:
            assert _get_current_dispatch_mode() is inner
        assert _get_current_dispatch_mode() is inner
    with Names() as only:
        assert _get_current_dispatch_mode() is only
    assert is_traceable_wrapper_subclass_type(Wrapped)
    assert not is_traceable_wrapper_subclass_type(Tensor)
    assert not is_traceable_wrapper_subclass_type(list)
    assert TorchDispatchMode.supports_higher_order_operators is False


def test_a_mode_whose_init_calls_no_other_can_be_entered():
    class Bare(BaseTorchDispatchMode):
        def __init__(self):
            pass

    with Bare():
        assert torch.ones(2).tolist() == [1.0, 1.0]


def test_a_wrapper_may_be_put_together_with_another_layout():
    class Strided(Wrapped):
        @classmethod
        def __tensor_unflatten__(cls, inner, context, size, stride):
            strides.append(stride)
            return cls(inner["elem"])

    strides = []
    x = Strided(torch.ones(2, 3))
    transform_subclass(x, lambda name, elem: elem)
    transform_subclass(x, lambda name, elem: elem, outer_stride=(1, 2))
    assert strides == [(3, 1), (1, 2)]


# ------------------------------------------------------------------------------------------------ as without a mode
def test_integers_that_are_filled_with_a_gradient_require_grad_in_a_mode_too():
    number = torch.tensor(-1.9).requires_grad_()
    with BaseTorchDispatchMode():
        filled, copied = torch.tensor([-3, 1]), torch.tensor([-3, 1])
        filled[1:] = number
        copied.copy_(number)
    assert filled.requires_grad
    assert not copied.requires_grad


def test_what_backward_makes_below_a_mode_is_nobodys_view():
    x = torch.ones(3, 2, requires_grad=True)
    with BaseTorchDispatchMode():
        part = x.as_strided((1, 1), (1, 2), 2)
        (grad,) = torch.autograd.grad((part * part).sum(), x, create_graph=True)
        assert not grad._is_view()
        grad.zero_()
    assert grad.grad_fn.name() == "ZeroBackward0"


def test_a_stale_view_is_complained_of_before_a_bad_dimension_in_a_mode_too():
    x = torch.ones(4, requires_grad=True) * 2
    with BaseTorchDispatchMode():
        with torch.no_grad():
            view = x[:]
        x += 1
        with pytest.raises(RuntimeError, match="no_grad"):
            view.cumsum(-2)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.t_(),
        lambda x: x.transpose_(0, 1),
        lambda x: x.squeeze_(),
        lambda x: x.unsqueeze_(0),
        lambda x: x.as_strided_((2,), (1,)),
    ],
)
def test_integers_that_require_grad_keep_their_layout_in_a_mode_too(change):
    for mode in (contextlib.nullcontext(), BaseTorchDispatchMode()):
        with mode:
            x = torch.tensor([[1, 2], [3, 4]])
            x[0] = torch.tensor(1.5, requires_grad=True)
            with pytest.raises(RuntimeError, match="_: integers have no gradient"):
                change(x)
        assert x.shape == (2, 2)
        assert x.stride() == (2, 1)


def test_a_gradient_that_is_a_view_is_one_in_a_mode_too():
    for mode in (contextlib.nullcontext(), BaseTorchDispatchMode()):
        x = torch.ones(3, 2, requires_grad=True)
        with mode:
            (grad,) = torch.autograd.grad(x.as_strided((1, 1), (1, 2), 2).sum(), x)
        assert grad._is_view()
        with pytest.raises(RuntimeError, match="detach_: a view"):
            grad.detach_()


def test_views_of_a_wrapper_count_writes_with_it():
    x = Wrapped(torch.zeros(2, 3))
    aliases = [x, x.view(6), x[0], x.detach(), *x.unbind(0)]
    x.view(3, 2).mul_(2)
    aliases[1].add_(1)
    assert [one._version for one in aliases] == [2] * len(aliases)
    apart = x.data
    apart.add_(1)
    assert x._version == 2
    assert x.elem.tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("call", [lambda x: x.view(2), lambda x: x.unbind(0)])
def test_a_view_is_another_tensor_than_its_argument(call):
    class Lazy(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return args[0]

    x = torch.ones(2, requires_grad=True)
    with (
        Lazy(),
        pytest.raises((RuntimeError, TypeError), match=r"(view|unbind): .*__torch_dispatch__"),
    ):
        call(x)
    assert x._base is None
