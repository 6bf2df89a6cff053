"""Guards: they hold as long as a replay would do the same, and say what is different when they don't."""

import collections
import contextlib
import functools
import gc
import importlib
import sys
import types
import weakref

import pytest
from tensorlab.compiler.capture.same_value import same_value

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler.capture import Trace, record
from tests.compiler.capture.interpreter import fetch, interpret, same_bits

ones, FORMAT = torch.ones, "{0.rate}"


def traced(function, *args, **kwargs):
    trace = record(function, args, kwargs)[1]
    assert isinstance(trace, Trace), trace
    assert trace.guards.match(args, kwargs) is not None, trace.guards.why(args, kwargs)
    assert trace.guards.why(args, kwargs) is None
    return trace


# ------------------------------------------------------------------------------------------------ values
NAN = float("nan")
DIFFERENT = [
    (1, 1.0),
    (1, True),
    (0, False),
    (0.0, -0.0),
    (1, 2),
    (2**70, 2**70 + 1),
    ("a", "b"),
    (b"a", b"b"),
    ("a", b"a"),
    ((1, 2), (1, 2.0)),
    ((1, 2), (1, 2, 3)),
    ((1, 2), [1, 2]),
    (complex(0.0, 0.0), complex(0.0, -0.0)),
    (complex(1, 0), complex(2, 0)),
    (slice(1, 2), slice(1, 3)),
    (slice(1, 2), slice(0, 2)),
    (slice(1, 2, 1), slice(1, 2, 2)),
    (range(3), range(0, 3, 2)),
    (range(0), range(1, 1)),
    (None, 0),
    (torch.Size([1]), (1,)),
    (torch.Size([1]), torch.Size([2])),
    (torch.device("cpu"), torch.device("meta")),
    (torch.device("cpu"), torch.device("cpu:0")),
    ([1, [2.0]], [1, [2]]),
    ([1], [1, 2]),
]
EQUAL = [
    (2**70, int("1180591620717411303424")),
    (1.5, float("1.5")),
    (NAN, -NAN),
    ("ab", "".join(["a", "b"])),
    (b"ab", bytes([97, 98])),
    ((1, (2.0, "c")), (1, (float("2"), "c"))),
    (complex(1, NAN), complex(1, NAN)),
    (slice(1, None), slice(1, None)),
    (range(3), range(3)),
    (torch.Size([2**40]), torch.Size([2**40])),
    (torch.device("cpu"), torch.device("cpu")),
    ([1.0, [True]], [1.0, [True]]),
]


@pytest.mark.parametrize(("x", "y"), DIFFERENT, ids=repr)
def test_values_of_another_type_or_value_differ(x, y):
    assert not same_value(x, y)
    assert not same_value(y, x)
    assert same_value(x, x)


@pytest.mark.parametrize(("x", "y"), EQUAL, ids=repr)
def test_a_value_made_again_is_the_same(x, y):
    assert same_value(x, y)


def test_objects_with_an_equality_of_their_own_are_not_asked():
    class Agreeable:
        def __eq__(self, other):
            raise AssertionError("must not be called")

        __hash__ = None

    assert not same_value(Agreeable(), Agreeable())
    trace = traced(lambda x, k: x * 2, ones(2), Agreeable())
    assert trace.guards.check((ones(2), Agreeable()), None)


@pytest.mark.parametrize(
    ("x", "y"), [pair for pair in DIFFERENT if not isinstance(pair[0], list)], ids=repr
)
def test_an_argument_is_compared_exactly(x, y):
    trace = traced(lambda t, k: t * 2, ones(2), x)
    assert not trace.guards.check((ones(2), y), None)
    assert "args[1]" in trace.guards.why((ones(2), y))


@pytest.mark.parametrize(("x", "y"), EQUAL[:-1], ids=repr)
def test_an_argument_made_again_is_the_same(x, y):
    trace = traced(lambda t, k: t * 2, ones(2), x)
    assert trace.guards.check((ones(2), y), None)


# ------------------------------------------------------------------------------------------------ arguments
def test_arguments_count_by_number_and_name():
    trace = traced(lambda *args, **kwargs: args[0] * len(args), ones(2), 1)
    assert trace.guards.why((ones(2),)) == "no longer true: len(args) == 2"
    assert not trace.guards.check((ones(2), 1, 1), None)
    assert not trace.guards.check((ones(2), 1), {"k": 1})
    assert trace.guards.check((ones(2), 1), {})
    assert trace.guards.check((ones(2), 1), None)
    assert not trace.guards.check((ones(2), 1), 5)
    keyword = traced(lambda *args, **kwargs: args[0] * 2, ones(2), a=1, b=2)
    assert keyword.guards.check((ones(2),), {"a": 1, "b": 2})
    assert not keyword.guards.check((ones(2),), {"b": 2, "a": 1})
    assert not keyword.guards.check((ones(2),), {"a": 1})
    assert not keyword.guards.check((ones(2),), {"a": 1, "b": 2, "c": 3})
    assert not keyword.guards.check((ones(2),), {"a": 1, "b": 3})
    given = {"a": 1, "b": 2}
    assert keyword.guards.check((ones(2),), given)
    assert not keyword.guards.check((ones(2),), None)


def test_tensors_in_nested_arguments_are_inputs():
    Pair = collections.namedtuple("Pair", "first second")

    def function(data, pair, *, options):
        return data["a"][0] * pair.second + options[0]["x"] * options[1]

    def arguments():
        return ({"a": [ones(2), 3]}, Pair(None, ones(2) * 2)), {"options": ({"x": ones(2)}, 4.0)}

    args, kwargs = arguments()
    trace = traced(function, *args, **kwargs)
    assert [s.text for s in trace.inputs] == [
        "args[0]['a'][0]",
        "args[1][1]",
        "kwargs['options'][0]['x']",
    ]
    args, kwargs = arguments()
    inputs = trace.guards.match(args, kwargs)
    assert [fetch(s, args, kwargs) for s in trace.inputs] == inputs
    assert same_bits(interpret(trace, inputs), function(*args, **kwargs))
    for change in (
        lambda args, kwargs: args[0]["a"].append(1),
        lambda args, kwargs: args[0].update(b=1),
        lambda args, kwargs: args[0]["a"].__setitem__(1, 3.0),
        lambda args, kwargs: kwargs["options"][0].update(x=None),
        lambda args, kwargs: kwargs.update(options=({"x": ones(2)}, 5.0)),
        lambda args, kwargs: kwargs.update(options=[{"x": ones(2)}, 4.0]),
    ):
        args, kwargs = arguments()
        change(args, kwargs)
        assert trace.guards.match(args, kwargs) is None


class Batch:
    __slots__ = ("size", "x")

    def __init__(self, size, x):
        self.size, self.x = size, x


class Open:
    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_an_object_among_the_arguments_may_be_another_one_like_it():
    slotted = traced(lambda batch: batch.x * batch.size, Batch(2, ones(2)))
    assert slotted.guards.check((Batch(2, ones(2)),), None)
    other = Batch(2, ones(2))
    assert slotted.guards.match((other,)) == [fetch(slotted.inputs[0], (other,))] == [other.x]
    assert not slotted.guards.check((Batch(3, ones(2)),), None)
    assert not slotted.guards.check((Batch(2, ones(3)),), None)
    empty, other_empty = Batch(2, ones(2)), Batch(2, ones(2))
    del empty.x, other_empty.x
    assert not slotted.guards.check((empty,), None)
    without = traced(lambda x, batch: x * getattr(batch, "x", batch.size), ones(2), empty)
    assert without.guards.check((ones(2), other_empty), None)
    assert not without.guards.check((ones(2), Batch(2, None)), None)
    trace = traced(lambda batch: batch.x * batch.size, Open(size=2, x=ones(2), other=1))
    assert trace.guards.check((Open(size=2, x=ones(2), other=5),), None)
    assert trace.guards.check((Open(size=2, x=ones(2)),), None)
    assert not trace.guards.check((Open(size=2.0, x=ones(2)),), None)
    assert not trace.guards.check((Open(x=ones(2)),), None)
    assert not trace.guards.check((Batch(2, ones(2)),), None)


def test_an_object_without_a_dict_may_stand_beside_a_module():
    net = nn.Linear(2, 2)  # whose parameters tensorlab's own code reads by names in a registry

    def function(x, batch):
        return sum(p.sum() for p in net.parameters()) * batch.size + x

    trace = traced(function, ones(2), Batch(2, ones(2)))
    assert trace.guards.check((ones(2), Batch(2, ones(2))), None)
    assert not trace.guards.check((ones(2), Batch(3, ones(2))), None)


def test_arguments_are_one_object_where_they_were_one():
    def function(x, y, first, second):
        return x * 2 if x is y else x + (first is second)

    apart = traced(function, ones(2), ones(2), [1], [1])
    same, kept = ones(2), [1]
    assert not apart.guards.check((same, same, [1], [1]), None)
    assert not apart.guards.check((ones(2), ones(2), kept, kept), None)
    assert (
        apart.guards.why((same, same, [1], [1])) == "two arguments are one object, or are no longer"
    )
    together = traced(function, same, same, kept, kept)
    assert len(together.inputs) == 1
    assert together.guards.match((ones(2), ones(2), kept, kept)) is None
    assert together.guards.match((same, same, [1], [1])) is None
    other, list_ = torch.zeros(2), [1]
    assert together.guards.match((other, other, list_, list_)) == [other]


def test_an_argument_is_a_known_object_only_where_it_was_one():
    known = [1]
    trace = traced(lambda x, k: x * 2 if k is known else x, ones(2), [1])
    assert trace.guards.check((ones(2), [1]), None)
    assert not trace.guards.check((ones(2), known), None)
    same = traced(lambda x, k: x * 2 if k is known else x, ones(2), known)
    assert same.guards.check((ones(2), known), None)
    assert not same.guards.check((ones(2), [1]), None)


# ------------------------------------------------------------------------------------------------ tensors
def base():
    return torch.arange(12.0).view(3, 4)


@pytest.mark.parametrize(
    "other",
    [
        lambda: base().double(),
        lambda: torch.arange(12.0).view(4, 3),
        lambda: torch.arange(12.0).view(4, 3).t(),
        lambda: base().reshape(1, 3, 4),
        lambda: base().requires_grad_(),
        lambda: base().requires_grad_() * 2,
        lambda: nn.Parameter(base()),
        lambda: base().clone(),
        lambda: torch.empty(3, 4, device="meta"),
        lambda: base().tolist(),
        lambda: None,
    ],
)
def test_a_tensor_of_another_class_layout_or_history_is_not_like_it(other):
    trace = traced(lambda x: x * 2, base())
    assert trace.guards.check((base(),), None)
    assert not trace.guards.check((other(),), None)


def test_guards_say_whether_only_a_size_is_another_one():
    trace = traced(lambda x, k: x * k, ones(3, 4), 2)
    for other in (ones(3, 4), ones(5, 4), ones(3, 7)):
        assert trace.guards.is_resized((other, 2))
        assert not trace.guards.is_resized((other, 3))
    for other in (ones(3), ones(3, 4).double(), ones(4, 3).t()):
        assert not trace.guards.is_resized((other, 2))


def test_a_leaf_that_follows_is_not_a_result_that_does():
    trace = traced(lambda x: x * 2, ones(2, requires_grad=True))
    assert trace.guards.check((torch.zeros(2, requires_grad=True),), None)
    assert not trace.guards.check((torch.zeros(2, requires_grad=True) * 1,), None)


def test_tensors_of_inference_mode_and_with_hooks_are_told_apart():
    trace = traced(lambda x: x * 2, ones(2, requires_grad=True))
    hooked = ones(2, requires_grad=True)
    handle = hooked.register_hook(lambda grad: grad)
    assert not trace.guards.check((hooked,), None)
    handle.remove()
    assert trace.guards.check((hooked,), None)
    hooked.register_post_accumulate_grad_hook(lambda x: None)
    assert not trace.guards.check((hooked,), None)
    plain = traced(lambda x: x * 2, ones(2))
    with torch.inference_mode():
        made = ones(2)
    assert not plain.guards.check((made,), None)


def test_an_offset_counts_only_where_an_op_was_told_it():
    data = torch.arange(8.0)
    plain = traced(lambda x: x * 2, data[2:4])
    assert plain.guards.check((data[4:6],), None)
    strided = traced(lambda x: x.as_strided((2,), (1,), 3), data[2:4])
    assert strided.guards.check((torch.zeros(8)[2:4],), None)
    assert not strided.guards.check((data[4:6],), None)
    assert strided.guards.why((data[4:6],)).endswith("requires_grad=False offset 2")


def test_memory_is_shared_as_it_was_where_an_op_writes():
    def function(x, y):
        x.add_(1)
        return x + y

    data = torch.arange(8.0)
    apart = traced(function, torch.arange(8.0)[:4], torch.arange(8.0)[4:])
    assert apart.guards.check((torch.zeros(8)[:4], torch.zeros(8)[4:]), None)
    assert not apart.guards.check((data[:4], data[4:]), None)
    assert "share their memory" in apart.guards.why((data[:4], data[4:]))
    shared = traced(function, data[:4], data[2:6])
    other = torch.zeros(9)
    assert shared.guards.check((other[1:5], other[3:7]), None)
    assert not shared.guards.check((other[1:5], other[4:8]), None)
    assert not shared.guards.check((torch.zeros(8)[:4], torch.zeros(8)[4:]), None)
    reading = traced(lambda x, y: x + y, data[:4], data[4:])
    assert reading.guards.check((torch.zeros(8)[:4], torch.zeros(8)[4:]), None)
    returned = traced(lambda x, y: (x[1:], y * 2), torch.zeros(8)[:4], torch.zeros(8)[4:])
    assert not returned.guards.check((data[:4], data[4:]), None)


def test_many_tensors_are_told_apart():
    tensors = [ones(2) for _ in range(200)]
    trace = traced(lambda xs: torch.stack(xs).sum(0), tensors)
    fresh = [ones(2) for _ in range(200)]
    assert [id(x) for x in trace.guards.match((fresh,))] == [id(x) for x in fresh]
    fresh[7] = fresh[191]
    assert trace.guards.match((fresh,)) is None


# ------------------------------------------------------------------------------------------------ modes
def test_modes_of_the_thread_count():
    trace = traced(lambda x: x * 2, ones(2))
    with torch.no_grad():
        assert not trace.guards.check((ones(2),), None)
        assert "mode" in trace.guards.why((ones(2),))
    x = ones(2)
    with torch.inference_mode():
        assert not trace.guards.check((x,), None)
    torch.set_default_dtype(torch.float64)
    try:
        assert not trace.guards.check((x,), None)
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"):
        assert not trace.guards.check((x,), None)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert not trace.guards.check((x,), None)
    assert trace.guards.check((x,), None)


def test_layers_and_modes_that_override_are_no_time_for_a_replay():
    from tensorlab._core.dispatch.recorder import Recorder

    trace, x = traced(lambda x: x * 2, ones(2)), ones(2)
    with Recorder():
        assert not trace.guards.check((x,), None)
        assert "layer" in record(lambda x: x, (x,))[1].reason
    with torch.overrides.TorchFunctionMode():
        assert not trace.guards.check((x,), None)
        assert "overrides" in record(lambda x: x, (x,))[1].reason
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert "saved_tensors_hooks" in record(lambda x: x, (x,))[1].reason


# ------------------------------------------------------------------------------------------------ modules
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.scale = nn.Linear(3, 3), nn.BatchNorm1d(3), 2.0
        self.unused = nn.Parameter(ones(2))

    def forward(self, x):
        return self.norm(self.linear(x)) * self.scale


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.eval(),
        lambda net: setattr(net, "scale", 2),
        lambda net: setattr(net, "scale", 2.5),
        lambda net: setattr(net, "linear", nn.Linear(3, 3)),
        lambda net: setattr(net, "forward", lambda x: x),
        lambda net: setattr(net.linear, "weight", nn.Parameter(ones(3, 3), requires_grad=False)),
        lambda net: setattr(net.linear, "bias", None),
        lambda net: net.linear.requires_grad_(False),
        lambda net: net.linear.register_forward_hook(lambda *args: None),
        lambda net: net.linear.register_full_backward_hook(lambda *args: None),
        lambda net: net.linear.weight.register_hook(lambda grad: None),
        lambda net: net.double(),
        lambda net: setattr(net.norm, "momentum", None),
        lambda net: setattr(net, "__class__", type("Other", (Net,), {})),
        lambda net: setattr(net, "__dict__", dict(vars(net))),
    ],
)
def test_what_a_module_has_is_guarded(change):
    net, x = Net(), torch.randn(4, 3)
    trace = traced(net, x)
    assert "linear.weight" in "".join(s.text for s in trace.inputs)
    change(net)
    assert not trace.guards.check((x,), None)
    assert trace.guards.why((x,))


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net.load_state_dict(Net().state_dict()),
        lambda net: net.linear.weight.data.zero_(),
        lambda net: setattr(net.linear, "weight", nn.Parameter(ones(3, 3))),
        lambda net: setattr(net, "unread", 5),
        lambda net: setattr(net, "unused", nn.Parameter(ones(5))),
        lambda net: setattr(net.linear, "out_features", 7),
        lambda net: net(torch.randn(4, 3)),
        lambda net: net(torch.randn(4, 3)).sum().backward(),
    ],
)
def test_what_a_module_computes_with_may_change(change):
    net, x = Net(), torch.randn(4, 3)
    trace = traced(net, x)
    change(net)
    assert trace.guards.check((x,), None), trace.guards.why((x,))
    import copy

    other = copy.deepcopy(net)
    assert same_bits(interpret(trace, trace.guards.match((x,))), other(x))
    assert same_bits(list(net.state_dict().values()), list(other.state_dict().values()))


def test_hooks_of_all_modules_and_optimizers_count():
    net, x = Net(), torch.randn(4, 3)
    trace = traced(net, x)
    handle = nn.modules.module.register_module_forward_hook(lambda *args: None)
    assert not trace.guards.check((x,), None)
    assert "all modules" in record(net, (x,))[1].reason
    handle.remove()
    assert trace.guards.check((x,), None)


def test_an_optimizer_step_is_recorded_and_guarded():
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    x = torch.randn(4, 3)
    assert not isinstance(record(step, (x,))[1], Trace)  # it makes its state
    trace = traced(step, x)
    assert [node.name for node, _ in trace.grad_assignments]
    assert trace.guards.check((x,), None)
    net.zero_grad()
    assert "grad" in trace.guards.why((x,))
    step(x)
    assert trace.guards.check((x,), None)
    optimizer.param_groups[0]["lr"] = 0.2
    expected = "no longer true: optimizer.param_groups[0]['lr'] == 0.1"
    assert trace.guards.why((x,)) == expected
    optimizer.param_groups[0]["lr"] = 0.1
    assert trace.guards.check((x,), None)
    handle = torch.optim.optimizer.register_optimizer_step_post_hook(lambda *args: None)
    assert not trace.guards.check((x,), None)
    handle.remove()
    assert trace.guards.check((x,), None)
    handle = torch.optim.optimizer.register_optimizer_step_pre_hook(lambda *args: None)
    assert "all optimizers" in record(step, (x,))[1].reason
    handle.remove()


# ------------------------------------------------------------------------------------------------ code and names
def test_code_and_defaults_of_functions_count():
    def inner(x, k=2, *, j=3):
        return x * k + j

    def other(x, k=2, *, j=3):
        return x

    trace = traced(lambda x: inner(x), ones(2))
    for attribute, value in (
        ("__defaults__", (3,)),
        ("__kwdefaults__", {"j": 3}),
        ("__code__", other.__code__),
    ):
        kept = getattr(inner, attribute)
        setattr(inner, attribute, value)
        assert not trace.guards.check((ones(2),), None), attribute
        setattr(inner, attribute, kept)
        assert trace.guards.check((ones(2),), None)
    inner.__kwdefaults__["j"] = 4
    assert not trace.guards.check((ones(2),), None)


def test_classes_count_with_all_that_they_have():
    class Base:
        def __call__(self, x):
            return x * 2

    class Derived(Base):
        rate = 1.5

    thing = Derived()
    trace = traced(lambda x: thing(x) * thing.rate, ones(2))
    for owner, name, value, why in (
        (Derived, "rate", 2.5, "Derived.rate == 1.5"),
        (Derived, "__call__", lambda self, x: x, "Derived is as it was"),
        (Base, "new", 1, "Base is as it was"),
    ):
        kept = vars(owner).get(name)
        setattr(owner, name, value)
        assert not trace.guards.check((ones(2),), None), name
        assert trace.guards.why((ones(2),)) == f"no longer true: {why}"
        delattr(owner, name) if kept is None else setattr(owner, name, kept)
        assert trace.guards.check((ones(2),), None), trace.guards.why((ones(2),))
    Derived.__bases__ = (type("Between", (Base,), {}),)
    assert not trace.guards.check((ones(2),), None)


def test_a_builtin_that_is_hidden_counts():
    scope = {}
    exec("def function(x): return x * len([1, 2])", scope)
    trace = traced(scope["function"], ones(2))
    scope["len"] = lambda items: 7
    assert not trace.guards.check((ones(2),), None)
    del scope["len"]
    assert trace.guards.check((ones(2),), None)


def test_an_attribute_that_was_missing_counts_where_code_may_notice():
    thing = Open(a=1)
    asked = traced(lambda x: x * 2 if hasattr(thing, "extra") else x, ones(2))
    by_value = traced(lambda x, t: x * 2 if hasattr(t, "extra") else x, ones(2), Open(a=1))
    thing.extra = 1
    assert not asked.guards.check((ones(2),), None)
    assert not by_value.guards.check((ones(2), Open(a=1, extra=1)), None)

    def tries(x):
        try:
            return x * thing.other
        except AttributeError:
            return x

    tried = traced(tries, ones(2))
    thing.other = 2
    assert not tried.guards.check((ones(2),), None)
    tagged = ones(2)
    plain = traced(lambda x: x * 2, ones(2))
    trace = traced(lambda x: x * getattr(x, "tag", 3), ones(2))
    assert trace.guards.check((tagged,), None)
    tagged.tag = 4
    assert plain.guards.check((tagged,), None)
    assert not trace.guards.check((tagged,), None)
    with_tag = traced(lambda x: x * x.tag, tagged)
    assert not with_tag.guards.check((ones(2),), None)
    tagged.tag = 5
    assert not with_tag.guards.check((tagged,), None)


@pytest.mark.parametrize(
    "read",
    [
        lambda thing: thing.__dict__["rate"],
        lambda thing: vars(thing)["rate"],
        lambda thing: getattr(thing, "ra" + "te"),
        lambda thing: float(FORMAT.format(thing)),
        lambda thing: max(getattr(thing, name) for name in dir(thing) if name == "rate"),
    ],
)
def test_an_attribute_that_no_code_names_counts(read):
    thing = Open(rate=2)
    trace = traced(lambda x: x * read(thing), ones(2))
    thing.rate = 3
    assert not trace.guards.check((ones(2),), None)
    thing.rate = 2
    thing.more = 1
    assert not trace.guards.check((ones(2),), None)


def test_attributes_of_functions_count():
    def helper(x):
        return x * helper.rate

    helper.rate = 2
    trace = traced(lambda x: helper(x), ones(2))
    helper.rate = 3
    assert not trace.guards.check((ones(2),), None)


def test_the_entry_that_differs_is_named_among_those_that_do_not_count():
    thing = Open(unread=0, rate=2, other=1)

    def function(x):
        try:
            return x * thing.rate
        except KeyError:
            return x

    trace = traced(function, ones(2))
    thing.unread = 5
    assert trace.guards.check((ones(2),), None)
    thing.rate = 3
    assert trace.guards.why((ones(2),)) == "no longer true: thing.rate == 2"


def test_a_cell_behind_a_decorator_of_tensorlab_counts():
    value = 2

    @torch.no_grad()
    def function(x):
        return x * value

    trace = traced(function, ones(2))
    value = 3
    assert not trace.guards.check((ones(2),), None)


def test_what_classes_hold_counts():
    class Scaled:
        rates = [1.0]  # noqa: RUF012

        def __call__(self, x, kept=[2]):  # noqa: B006
            return x * sum(self.rates) * sum(kept)

    scaled = Scaled()
    trace = traced(lambda x: scaled(x), ones(2))
    Scaled.rates.append(2.0)
    assert not trace.guards.check((ones(2),), None)
    Scaled.rates.pop()
    assert trace.guards.check((ones(2),), None)
    Scaled.__call__.__defaults__[0].append(1)
    assert not trace.guards.check((ones(2),), None)


class Decorating(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False


def test_a_cell_behind_a_wrapper_of_pythons_library_counts():
    value = 2

    @Decorating()
    def scaled(x):
        return x * value

    trace = traced(lambda x: scaled(x), ones(2))
    value = 3
    assert not trace.guards.check((ones(2),), None)


def make_scaling(value):
    def scaling(x):
        return x * value

    def put(new):
        nonlocal value
        value = new

    return scaling, put


(FIRST, _), (SECOND, PUT) = make_scaling(2), make_scaling(3)


def calling_the_second(x):
    return SECOND(x)


def test_a_function_counts_whose_code_has_run_as_another_function():
    trace = traced(lambda x: calling_the_second(FIRST(x)), ones(2))
    PUT(4)
    assert not trace.guards.check((ones(2),), None)
    PUT(3)
    assert trace.guards.check((ones(2),), None)


def test_base_classes_count_without_any_object():
    class Base:
        @staticmethod
        def scaled(x):
            return x * 2

    class Derived(Base):
        pass

    trace = traced(lambda x: Derived.scaled(x), ones(2))
    Base.scaled = staticmethod(lambda x: x * 3)
    assert not trace.guards.check((ones(2),), None)


def test_the_class_of_an_object_without_a_dict_counts():
    class Other:
        __slots__ = ("size", "x")

    batch = Batch(2, ones(2))
    trace = traced(lambda x: x * batch.size, ones(2))
    batch.__class__ = Other
    assert not trace.guards.check((ones(2),), None)


def test_a_relative_import_finds_its_package(monkeypatch):
    importlib.import_module("tests.compiler.capture.programs")
    scope = {"__name__": "tests.compiler.capture.inner", "__package__": "tests.compiler.capture"}
    exec("def function(x):\n    from .programs import SETTING\n    return x * len(SETTING)", scope)
    trace = traced(scope["function"], ones(2))
    monkeypatch.setattr("tests.compiler.capture.programs.SETTING", "changed")
    assert not trace.guards.check((ones(2),), None)


def test_sets_and_ordered_dicts_count_in_their_order():
    kept, ordered = {3, 1}, collections.OrderedDict(a=1, b=2)
    trace = traced(lambda x: x * sum(kept) + sum(ordered.values()), ones(2))
    ordered.move_to_end("a")
    assert not trace.guards.check((ones(2),), None)
    ordered.move_to_end("b")
    assert trace.guards.check((ones(2),), None)
    kept.add(5)
    assert not trace.guards.check((ones(2),), None)
    kept.remove(5)
    kept.remove(1)
    assert not trace.guards.check((ones(2),), None)


def test_cells_count():
    def make():
        value = 2

        def read(x):
            return x * value

        def write(new):
            nonlocal value
            value = new

        def clear():
            nonlocal value
            del value

        return read, write, clear

    read, write, clear = make()
    trace = traced(read, ones(2))
    write(2.0)
    assert not trace.guards.check((ones(2),), None)
    write(2)
    assert trace.guards.check((ones(2),), None)
    clear()
    assert not trace.guards.check((ones(2),), None)


def test_a_tensor_in_a_cell_is_an_input():
    kept = ones(2)
    trace = traced(lambda x: x * kept, ones(2))
    assert [s.text for s in trace.inputs] == ["args[0]", "kept"]
    assert fetch(trace.inputs[1], (ones(2),)) is kept
    assert trace.guards.match((ones(2),))[1] is kept
    first, kept = kept, torch.zeros(2)
    assert fetch(trace.inputs[1], (ones(2),)) is kept is not first
    assert trace.guards.match((ones(2),))[1] is kept


def test_a_cell_behind_a_decorator_of_pythons_library_counts():
    def make():
        value = 2

        @contextlib.contextmanager
        def context():
            yield value

        def put(new):
            nonlocal value
            value = new

        return context, put

    context, put = make()

    def function(x):
        with context() as factor:
            return x * factor

    trace = traced(function, ones(2))
    put(3)
    assert not trace.guards.check((ones(2),), None)
    put(2)
    assert trace.guards.check((ones(2),), None), trace.guards.why((ones(2),))


def test_an_attribute_that_only_pythons_library_names_counts():
    entered = contextlib.nullcontext(2.0)

    def function(x):
        with entered as factor:
            return x * factor

    trace = traced(function, ones(2))
    entered.enter_result = 3.0
    assert trace.guards.why((ones(2),)) == "no longer true: entered.enter_result == 2.0"
    entered.enter_result = 2.0
    assert trace.guards.check((ones(2),), None)


def test_a_module_that_a_function_imports_counts(monkeypatch):
    module = types.ModuleType("imported_module")
    module.rate = 2
    monkeypatch.setitem(sys.modules, "imported_module", module)

    def function(x):
        import imported_module

        return x * imported_module.rate

    trace = traced(function, ones(2))
    module.rate = 3
    assert not trace.guards.check((ones(2),), None)
    module.rate = 2
    assert trace.guards.check((ones(2),), None)
    other = types.ModuleType("imported_module")
    other.rate = 2
    monkeypatch.setitem(sys.modules, "imported_module", other)
    assert not trace.guards.check((ones(2),), None)
    monkeypatch.delitem(sys.modules, "imported_module")
    assert not trace.guards.check((ones(2),), None)
    with pytest.raises(ModuleNotFoundError):
        record(function, (ones(2),))


def test_methods_and_partials_are_followed():
    thing = Open(rate=2)
    method = Net()
    partial = functools.partial(lambda x, k: x * k.rate, k=thing)
    trace = traced(partial, ones(2))
    thing.rate = 3
    assert not trace.guards.check((ones(2),), None)
    bound = traced(method.forward, torch.randn(4, 3))
    method.scale = 3.0
    assert not bound.guards.check((torch.randn(4, 3),), None)


# ------------------------------------------------------------------------------------------------ what is kept
def test_guards_keep_no_argument_alive():
    x = torch.randn(3)
    trace = traced(lambda x: (x * 2).sum(), x)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None
    assert trace.guards.check((torch.randn(3),), None)


def test_checks_make_no_references():
    net, x = Net(), torch.randn(4, 3)
    trace = traced(net, x)
    objects = [net, x, net.linear.weight, vars(net), torch.float32, None]
    before = [sys.getrefcount(one) for one in objects]
    for _ in range(100):
        trace.guards.check((x,), None)
        trace.guards.match((x,))
        trace.guards.check((1,), None)
    after = [sys.getrefcount(one) for one in objects]
    assert all(abs(now - was) < 50 for now, was in zip(after, before, strict=True))


def test_the_text_has_a_line_for_each_record():
    trace = traced(lambda x, k: x * k, ones(2), 3)
    assert "args[1] == 3" in trace.guards.text
    assert "requires_grad=False" in trace.guards.text
    assert trace.guards.text.count("\n") + 1 == len(trace.guards.texts)


def test_each_of_many_tensors_is_told_from_the_others():
    compiled = torch.compile(lambda tensors: sum(x * i for i, x in enumerate(tensors)))
    many = [torch.full((2,), float(i)) for i in range(150)]
    expected = sum(i * i for i in range(150))
    for _ in range(3):
        assert compiled(many).tolist() == [expected] * 2
    many[149] = many[0]  # one twice is another program
    assert compiled(many).tolist() == [expected - 149 * 149] * 2
