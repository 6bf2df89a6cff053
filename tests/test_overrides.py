"""Classes and modes that take part in calls: PyTorch's protocol, compared with PyTorch's own."""

import operator
import subprocess
import sys
import threading
from typing import ClassVar

import pytest

import tensorlab
from tensorlab import nn, overrides
from tests.oracle import require_torch


def make_logger(library):
    """A subclass that notes the name of every function that its hook is told."""

    class Logger(library.Tensor):
        log: ClassVar = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    return Logger


def outcome(library, program):
    """What the hook was told, the class of the result (or the error), for one small program."""
    logger = make_logger(library)
    x = library.ones(3, 3).as_subclass(logger)
    logger.log.clear()
    try:
        result = program(library, x, library.ones(3, 3) * 2)
        kind = type(result).__name__
    except Exception as error:  # the class of the error is what is compared
        kind = type(error).__name__
    return logger.log, kind


ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
COMPARISON = ["eq", "ne", "lt", "le", "gt", "ge"]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]
IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ipow"]
PROGRAMS = {
    **{
        f"x {name} y": lambda t, x, y, name=name: getattr(operator, name)(x, y)
        for name in ARITHMETIC + COMPARISON + IN_PLACE
    },
    **{
        f"y {name} x": lambda t, x, y, name=name: getattr(operator, name)(y, x)
        for name in ARITHMETIC + COMPARISON
    },
    **{
        f"2 {name} x": lambda t, x, y, name=name: getattr(operator, name)(2, x)
        for name in ARITHMETIC + COMPARISON
        if name != "matmul"
    },
    **{
        f"x {name} y, integers": lambda t, x, y, name=name: getattr(operator, name)(
            x.int(), y.int()
        )
        for name in BITS
    },
    "-x": lambda t, x, y: -x,
    "+x": lambda t, x, y: +x,
    "abs(x)": lambda t, x, y: abs(x),
    "~x": lambda t, x, y: ~x.int(),
    "x[0]": lambda t, x, y: x[0],
    "y[x.long()]": lambda t, x, y: y[x.long()],
    "x[0] = 1": lambda t, x, y: operator.setitem(x, 0, 1),
    "x.size()": lambda t, x, y: x.size(),
    "x.T": lambda t, x, y: x.T,
    "x.requires_grad": lambda t, x, y: x.requires_grad,
    "x.grad": lambda t, x, y: x.grad,
    "x.data": lambda t, x, y: x.data,
    "x.requires_grad = True": lambda t, x, y: setattr(x, "requires_grad", True),
    "x.grad = y": lambda t, x, y: setattr(x, "grad", y),
    "x.data = y": lambda t, x, y: setattr(x, "data", y),
    "repr(x)": lambda t, x, y: repr(x),
    "bool": lambda t, x, y: bool(x[0, 0]),
    "item": lambda t, x, y: x[0, 0].item(),
    "numpy": lambda t, x, y: x.numpy(),
    "cat": lambda t, x, y: t.cat([y, x]),
    "max": lambda t, x, y: t.max(x, 0),
    "split": lambda t, x, y: x.split(1),
    "where": lambda t, x, y: t.where(y > 0, x, y),
    "zeros_like": lambda t, x, y: t.zeros_like(x),
    "new_zeros": lambda t, x, y: x.new_zeros(2),
    "out=": lambda t, x, y: t.add(y, y, out=x),
    "x.float()": lambda t, x, y: x.float(),
    "to": lambda t, x, y: x.to(t.float64),
    "F.linear": lambda t, x, y: t.nn.functional.linear(x, y),
    "x + object()": lambda t, x, y: x + object(),
    "x == None": lambda t, x, y: x == None,  # noqa: E711
    "parameter + x": lambda t, x, y: t.nn.Parameter(y) + x,
    "parameter + 1": lambda t, x, y: t.nn.Parameter(y) + 1,
    "backward": lambda t, x, y: x.clone().requires_grad_().sum().backward(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks_are_told_the_same_functions_as_in_pytorch(name):
    torch = require_torch()
    ours, theirs = outcome(tensorlab, PROGRAMS[name]), outcome(torch, PROGRAMS[name])
    if name == "x == None":  # decided before anybody is asked
        theirs = ([], theirs[1])
    assert ours == theirs


# ---------------------------------------------------------------- who is asked
class Left(tensorlab.Tensor):
    pass


class LeftChild(Left):
    pass


class Right(tensorlab.Tensor):
    pass


def test_results_are_of_the_most_derived_class():
    parent, child = tensorlab.ones(2).as_subclass(Left), tensorlab.ones(2).as_subclass(LeftChild)
    assert type(parent + child) is LeftChild
    assert type(child + parent) is LeftChild
    assert type(tensorlab.ones(2) + parent) is Left


def test_unrelated_classes_do_not_mix():
    left, right = tensorlab.ones(2).as_subclass(Left), tensorlab.ones(2).as_subclass(Right)
    with pytest.raises(TypeError, match="unsupported operand"):
        left + right
    with pytest.raises(TypeError, match="no implementation found on the types"):
        tensorlab.add(left, right)


def test_the_next_class_is_asked_if_the_first_does_not_know():
    class Modest(tensorlab.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Clever(tensorlab.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    modest, clever = (tensorlab.ones(2).as_subclass(kind) for kind in (Modest, Clever))
    assert tensorlab.add(modest, clever) == tensorlab.add(clever, modest) == "add"
    with pytest.raises(TypeError, match=r"no implementation found on the types \['Modest'\]"):
        tensorlab.add(modest, modest)


def test_both_names_of_the_hook_mean_the_same():
    told = []

    class Own(tensorlab.Tensor):
        @classmethod
        def __tensor_function__(cls, function, types, args=(), kwargs=None):
            told.append((function, types))
            return super().__tensor_function__(function, types, args, kwargs)

    result = tensorlab.exp(tensorlab.zeros(2).as_subclass(Own))
    assert told == [(tensorlab.exp, (Own,))]
    assert type(result) is Own


def test_keywords_reach_the_hook_by_name():
    seen = {}

    class Own(tensorlab.Tensor):
        @classmethod
        def __tensor_function__(cls, function, types, args=(), kwargs=None):
            seen.update(args=args, kwargs=kwargs)
            return super().__tensor_function__(function, types, args, kwargs)

    x = tensorlab.ones(2, 3).as_subclass(Own)
    assert x.sum(dim=1, keepdim=True).shape == (2, 1)
    assert seen["args"] == (x,)
    assert seen["kwargs"] == {"dim": 1, "keepdim": True}


def test_errors_of_a_hook_reach_the_caller():
    class Picky(tensorlab.Tensor):
        @classmethod
        def __tensor_function__(cls, function, types, args=(), kwargs=None):
            raise ValueError("not today")

    x = tensorlab.ones(2).as_subclass(Picky)
    with pytest.raises(ValueError, match="not today"):
        x + 1
    with pytest.raises(ValueError, match="not today"):
        tensorlab.cat([tensorlab.ones(2), x])


def test_functions_taken_before_the_class_was_defined_are_intercepted():
    add, method = tensorlab.add, tensorlab.Tensor.mul

    class Late(tensorlab.Tensor):
        pass

    x = tensorlab.ones(2).as_subclass(Late)
    assert type(add(1, x)) is Late
    assert type(method(tensorlab.ones(2), x)) is Late


def test_a_disabled_hook_makes_plain_results():
    class Quiet(tensorlab.Tensor):
        __tensor_function__ = overrides.disabled_tensor_function

    assert type(tensorlab.ones(2).as_subclass(Quiet) + 1) is tensorlab.Tensor


def test_a_foreign_class_takes_part_once_registered():
    @overrides.register
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    class Stranger:
        __torch_function__ = Duck.__torch_function__

    with pytest.raises(TypeError, match="must be a Tensor or a number, not Stranger"):
        tensorlab.add(tensorlab.ones(2), Stranger())
    assert not overrides.has_torch_function((Stranger(),))
    assert tensorlab.add(tensorlab.ones(2), Duck()) == "add"
    assert tensorlab.ones(2) + Duck() == "add"
    assert overrides.is_tensor_like(Duck())
    assert overrides.is_tensor_like(tensorlab.ones(2))
    assert not overrides.is_tensor_like(3)
    with pytest.raises(TypeError, match="register: int defines neither"):
        overrides.register(int)


def test_a_foreign_class_that_disables_the_hook_it_inherits_takes_no_part():
    @overrides.register
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    class Quiet(Duck):
        __torch_function__ = overrides.disabled_tensor_function

    assert not overrides.has_torch_function((Quiet(),))
    for call in (lambda x: tensorlab.add(x, Quiet()), lambda x: x + Quiet()):
        with pytest.raises(TypeError, match="Quiet") as error:
            call(tensorlab.ones(2))
        assert "defines neither" not in str(error.value)


def test_called_for_tensor_the_default_hook_leaves_a_result_as_it_is():
    given = [tensorlab.ones(2).as_subclass(Left), (tensorlab.ones(2),)]
    hook = tensorlab.Tensor.__torch_function__
    assert hook(lambda: given, (tensorlab.Tensor,)) is given


# ---------------------------------------------------------------- autograd
def test_gradients_flow_through_subclasses():
    x = tensorlab.ones(3).as_subclass(Left).requires_grad_()
    y = (x * x).sum()
    assert type(y) is Left
    assert y.grad_fn.name() == "AliasBackward0"
    y.backward()
    assert type(x.grad) is tensorlab.Tensor
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_no_one_hears_of_the_formulas_of_backward():
    logger = make_logger(tensorlab)
    x = tensorlab.ones(3).as_subclass(logger).requires_grad_()
    y = (x * x).sum()
    logger.log.clear()
    y.backward()
    assert logger.log == ["backward"]


def test_no_one_hears_how_a_gradient_is_converted_or_filled():
    heir = make_logger(tensorlab)
    x = tensorlab.ones(3, dtype=tensorlab.float64, requires_grad=True)
    grad = tensorlab.ones(3).as_subclass(heir)
    y, z = x * 2, (x * 3).sum().as_subclass(heir)
    heir.log.clear()
    with Record() as record:
        tensorlab.autograd.backward([y, z], [grad, None])
    assert heir.log == ["backward"]
    assert record.names == ["backward"]
    assert x.grad.tolist() == [5.0, 5.0, 5.0]
    heir.log.clear()
    for batched, given in ((False, grad), (True, tensorlab.ones(2, 3).as_subclass(heir))):
        y = x * 2
        heir.log.clear()
        (found,) = tensorlab.autograd.grad(y, x, given, is_grads_batched=batched)
        assert heir.log == []
        assert found.dtype is tensorlab.float64
    tensorlab.autograd.backward([x * 2], [grad])
    assert heir.log == []


def test_as_subclass_is_a_view_that_shares_the_version():
    x = tensorlab.ones(3)
    y = x.as_subclass(Left)
    y.add_(1)
    assert x.tolist() == [2.0, 2.0, 2.0]
    assert x._version == y._version == 1
    with pytest.raises(TypeError, match="as_subclass: the class is <class 'int'>"):
        x.as_subclass(int)


# ---------------------------------------------------------------- blocks without overrides, and modes
def test_with_overrides_disabled_tensors_are_plain():
    x = tensorlab.ones(2).as_subclass(Left)
    with overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is tensorlab.Tensor
        assert not overrides.has_torch_function((x,))
    assert type(x + 1) is Left
    assert overrides.has_torch_function((1, x))


def test_with_overrides_disabled_backward_and_grad_ask_no_hook():
    logger = make_logger(tensorlab)
    x = tensorlab.ones(2).as_subclass(logger).requires_grad_()
    with overrides.DisableTorchFunctionSubclass():
        y = (x * 3).sum()
        tensorlab.autograd.backward([y], inputs=[x], retain_graph=True)
        (grad,) = tensorlab.autograd.grad(y, x)
    assert logger.log == ["requires_grad_"]
    assert x.grad.tolist() == grad.tolist() == [3, 3]


def test_a_property_that_no_hook_will_set_raises():
    class Unwilling(tensorlab.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return NotImplemented

    x = tensorlab.ones(2).as_subclass(Unwilling)
    with pytest.raises(TypeError):
        x.requires_grad = True
    with overrides.DisableTorchFunctionSubclass():
        assert not x.requires_grad


def test_backward_reaches_no_mode_where_modes_are_disabled_too():
    x = tensorlab.ones(2, requires_grad=True)
    with Record() as mode, overrides.DisableTorchFunction():
        (x * 3).sum().backward()
    assert mode.names == []
    assert x.grad.tolist() == [3, 3]


def test_data_of_a_factory_are_not_intercepted():
    logger = make_logger(tensorlab)
    x = tensorlab.ones(2).as_subclass(logger)
    with pytest.warns(UserWarning, match=r"clone\(\).detach\(\)"):
        assert type(tensorlab.tensor(x)) is tensorlab.Tensor
    assert logger.log == []


class Record(overrides.TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_hears_every_call_of_its_block_and_thread():
    with Record() as record:
        x = tensorlab.ones(2)
        y = (x + x).sum()
        thread = threading.Thread(target=lambda: tensorlab.zeros(2))
        thread.start()
        thread.join()
    y.exp()
    assert record.names == ["ones", "add", "sum"]


def test_a_pass_asks_the_classes_of_its_roots_before_those_of_its_inputs():
    def asked(library):
        log = []

        def made(name):
            def hear(cls, func, types, args=(), kwargs=None):
                log.append((name, [one.__name__ for one in types]))
                return name

            return type(name, (library.Tensor,), {"__torch_function__": classmethod(hear)})

        root, given = (library.ones(2).as_subclass(made(name)) for name in ("Root", "Input"))
        return library.autograd.grad([root], [given]), log

    assert asked(tensorlab) == asked(require_torch()) == ("Root", [("Root", ["Root", "Input"])])


def test_a_pass_for_which_no_hook_has_an_answer_is_an_error():
    class Silent(tensorlab.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    root = tensorlab.ones(2).as_subclass(Silent)
    with pytest.raises(TypeError, match="^grad: no implementation found on the types"):
        tensorlab.autograd.grad([root], [tensorlab.ones(2)])


def test_a_mode_hears_nothing_of_settings():
    with Record() as record:
        tensorlab.get_default_dtype()
        tensorlab.is_grad_enabled()
        tensorlab.broadcast_shapes((2, 1), (3,))
        tensorlab.is_tensor(tensorlab.ones(2))
        tensorlab.get_num_threads()
    assert record.names == ["ones"]


@pytest.mark.parametrize("name", ["T", "grad", "requires_grad"])
def test_an_attribute_for_which_no_hook_has_an_answer_is_an_error(name):
    class Silent(tensorlab.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = tensorlab.ones(2, 2).as_subclass(Silent)
    with pytest.raises(TypeError, match="NotImplemented"):
        getattr(x, name)


@pytest.mark.parametrize("kind", [overrides.TorchFunctionMode, overrides.BaseTorchFunctionMode])
def test_a_mode_without_a_hook_of_its_own_changes_nothing(kind):
    x = tensorlab.ones(2, 3)
    with kind():
        assert x.sum(dim=1, keepdim=True).tolist() == [[3.0], [3.0]]
        assert tensorlab.add(x, x, alpha=2)[0, 0].item() == 3.0
    assert kind().__tensor_function__(tensorlab.add, (), (x, 1)).tolist() == (x + 1).tolist()


def test_inside_a_mode_everything_has_a_hook():
    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    assert not overrides.has_torch_function((1, tensorlab.ones(1)))
    with Mode():
        assert overrides.has_torch_function((1, tensorlab.ones(1)))
    assert not overrides.has_torch_function((1, tensorlab.ones(1)))


def test_an_inner_mode_is_asked_before_an_outer_one():
    class Double(overrides.TorchFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is tensorlab.exp else result

    x = tensorlab.zeros(2)
    with Record() as outer, Double():
        y = x.exp()
    assert y.tolist() == [2.0, 2.0]
    assert outer.names == ["exp", "mul"]


def test_a_mode_leaves_at_an_error():
    class Refuse(overrides.TorchFunctionMode):
        def __tensor_function__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"), Refuse():
        tensorlab.ones(2)
    assert tensorlab.ones(2).tolist() == [1.0, 1.0]


def test_modes_nest_as_in_pytorch():
    def run(library):
        log = []

        class Mode(library.overrides.TorchFunctionMode):
            def __init__(self, name):
                self.name = name

            def __torch_function__(self, func, types, args=(), kwargs=None):
                log.append((self.name, func.__name__, len(types), kwargs or {}))
                return func(*args, **(kwargs or {}))

        class Sub(library.Tensor):
            pass

        x = library.ones(2).as_subclass(Sub)
        with Mode("outer"), Mode("inner"):
            y = x * 2 + library.ones(2)
            y.sum(dim=0, keepdim=True).item()
        return log, type(y).__name__

    assert run(tensorlab) == run(require_torch())


# ---------------------------------------------------------------- Python functions
def test_a_function_in_python_can_be_overridable():
    def double(x):
        if overrides.has_torch_function_unary(x):
            return overrides.handle_torch_function(double, (x,), x)
        return x + x

    @overrides.wrap_torch_function(lambda x: (x,))
    def triple(x):
        return x + x + x

    logger = make_logger(tensorlab)
    x = tensorlab.ones(2).as_subclass(logger)
    assert double(x).tolist() == [2.0, 2.0]
    assert triple(x).tolist() == [3.0, 3.0]
    assert logger.log == ["double", "tolist", "triple", "tolist"]


def test_overridable_functions_have_names():
    listed = overrides.get_overridable_functions()
    assert tensorlab.add in listed[tensorlab]
    assert tensorlab.ones not in listed[tensorlab]
    assert overrides.resolve_name(tensorlab.matmul) == "tensorlab.matmul"
    assert overrides.resolve_name(tensorlab.Tensor.T.__get__) == "tensorlab.Tensor.T.__get__"
    assert overrides.is_tensor_method_or_property(tensorlab.Tensor.view)
    assert not overrides.is_tensor_method_or_property(nn.functional.linear)
    assert tensorlab.tensor in overrides.get_ignored_functions()
    names = [overrides.resolve_name(function) for group in listed.values() for function in group]
    assert None not in names


def test_programs_without_overrides_do_not_turn_the_switch():
    program = """
import tensorlab
from tensorlab import nn
from tensorlab._core.dispatch.overrides import is_interception_enabled
model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
model(tensorlab.ones(4, 2)).sum().backward()
assert not is_interception_enabled()
class Sub(tensorlab.Tensor): pass
assert is_interception_enabled()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_hook_that_was_defined_before_the_functions_were_listed_is_called_all_the_same():
    program = """
import tensorlab
from tensorlab._core.dispatch import overrides
class Sub(tensorlab.Tensor): pass
asked = []
overrides.set_collector(lambda: asked.append(True) or [])
assert asked == [True]
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_foreign_class_is_heard_where_it_is_the_first_with_a_hook():
    program = """
import tensorlab
@tensorlab.overrides.register
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__
assert tensorlab.add(tensorlab.ones(2), Duck()) == "add"
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_items_of_a_subclass_are_of_that_class():
    called = []

    class Mine(tensorlab.Tensor):
        pass

    class Seen(tensorlab.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            called.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    for kind in (Mine, Seen):
        items = list(tensorlab.ones(3, 2).as_subclass(kind))
        assert [type(item) for item in items] == [kind] * 3
    assert called == ["unbind"]


def test_functions_are_listed_again_only_when_names_have_come(monkeypatch):
    class Same(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    listed = []
    monkeypatch.setattr(overrides, "_collect", lambda: listed.append(1) or [])
    with Same():
        pass
    before = len(listed)
    with Same(), Same():
        pass
    assert len(listed) == before
    monkeypatch.setattr(tensorlab.Tensor, "a_new_name", lambda self: self, raising=False)
    with Same():
        pass
    assert len(listed) == before + 1
