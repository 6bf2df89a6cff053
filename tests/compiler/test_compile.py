"""compile: what a compiled function gives is what the function gives, whatever changes between its calls."""

import collections
import copy
import gc
import math
import pickle
import subprocess
import sys
import threading
import time
import warnings
from typing import NamedTuple

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler import frontend, logs, program, toolchain
from tensorlab.compiler.cannot_compile import CannotCompile

F = nn.functional


pytestmark = pytest.mark.usefixtures("fresh")


def equal(x, y):
    """Whether two results are alike to the last bit, nan included."""
    if isinstance(x, torch.Tensor):
        return (
            isinstance(y, torch.Tensor)
            and (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
            and x.requires_grad == y.requires_grad
            and bool(((x == y) | ((x != x) & (y != y))).all())
        )
    if isinstance(x, (tuple, list)):
        return type(x) is type(y) and len(x) == len(y) and all(map(equal, x, y))
    if isinstance(x, dict):
        return list(x) == list(y) and all(equal(x[key], y[key]) for key in x)
    return type(x) is type(y) and (x == y or (x != x and y != y))


def clones(args):
    return [
        one.detach().clone().requires_grad_(one.requires_grad)
        if isinstance(one, torch.Tensor)
        else copy.deepcopy(one)
        for one in args
    ]


def follow(function, *calls, replays=None, **options):
    """Call a function and its compiled form: results, arguments afterwards and random numbers must agree."""
    compiled = torch.compile(function, **options)
    for args in calls:
        mine, others = clones(args), clones(args)
        torch.manual_seed(7)
        expected = function(*mine)
        after = torch.rand(1)
        torch.manual_seed(7)
        found = compiled(*others)
        assert torch.equal(torch.rand(1), after), "the generator is elsewhere"
        assert equal(found, expected), f"{found} instead of {expected}"
        assert equal(others, mine), f"the arguments are {others} afterwards instead of {mine}"
    if replays is not None:
        assert compiled.compiled.counts["replayed"] == replays, compiled.compiled.counts
    return compiled.compiled


x, y = torch.randn(4, 5), torch.randn(4, 5)


# ------------------------------------------------------------------------------------------------ plain functions
def test_a_chain_of_pointwise_ops_is_replayed_bit_for_bit():
    follow(lambda a, b: torch.sigmoid(a * b + 0.5) * torch.tanh(a - b), *[(x, y)] * 4, replays=3)


def test_another_shape_dtype_or_stride_is_another_recording():
    def f(a):
        return (a * 2 + 1).exp()

    shapes = [(x,), (x[:2],), (x.double(),), (x.t(),), (x,), (x.t(),)]
    assert follow(f, *shapes, replays=2).recorded == 4


def test_python_numbers_are_compared_by_type_and_value():
    def f(a, n):
        return a / n if isinstance(n, float) else a * n

    values = [2, 2.0, True, 1, 1.0, 0.0, -0.0]
    compiled = follow(f, *[(x, n) for n in values])
    assert compiled.recorded == 7
    follow(f, *[(x, n) for n in (2, 2.0, 1, True)] * 3, replays=8)


def test_results_may_be_nested_and_hold_numbers():
    def f(a):
        return {"largest": a.amax(), "pair": (a + 1, [a * 2, None, 3])}

    follow(f, (x,), (y,), (x,), replays=2)


class Pair(NamedTuple):
    first: torch.Tensor
    second: list


def test_named_tuples_keep_their_class():
    follow(lambda a: Pair(a + 1, [a * 2]), *[(x,)] * 3, replays=2)


def test_reductions_in_rows_are_as_exact_as_those_of_the_ops():
    def f(a):
        return (
            (a * 2).sum(1),
            F.softmax(a, -1),
            F.layer_norm(a, (500,)),
            (a - a.mean(0)).square().mean(),
        )

    g = torch.compile(f)
    a = torch.randn(40, 500)
    exact = f(a.double())
    for _ in range(2):
        for mine, plain, right in zip(g(a), f(a), exact, strict=True):
            error = (plain.double() - right).abs().max().item()
            assert (mine.double() - right).abs().max().item() <= max(2 * error, 1e-7)
    assert g.compiled.counts["replayed"] == 1


def test_an_argument_that_is_returned_is_the_same_object():
    f = torch.compile(lambda a, b: (a, a + b))
    for _ in range(3):
        assert f(x, y)[0] is x


def test_one_tensor_twice_is_one_object_in_the_result():
    f = torch.compile(lambda a: (lambda b: (b, b))(a + 1))
    for _ in range(3):
        first, second = f(x)
        assert first is second


def test_keyword_arguments_and_defaults():
    def f(a, *, scale=2.0, shift=None):
        return a * scale if shift is None else a * scale + shift

    g = torch.compile(f)
    for _ in range(3):
        for options in ({}, {"scale": 3.0}, {"shift": y}, {"shift": y, "scale": 1.0}):
            assert equal(g(x, **options), f(x, **options))
    assert g.compiled.counts["replayed"] == 8


def test_a_view_of_an_argument_shares_its_memory():
    f = torch.compile(lambda a: a[1:])
    for _ in range(3):
        a = torch.zeros(3, 2)
        f(a).fill_(7)
        assert a.tolist() == [[0, 0], [7, 7], [7, 7]]


def test_results_are_never_overwritten_by_the_next_call():
    f = torch.compile(lambda a: a * 2 + 1)
    f(x)
    kept = [f(x * i) for i in range(5)]
    for i, one in enumerate(kept):
        assert equal(one, x * i * 2 + 1)


# -------------------------------------------------------------------------------- values that Python sees
def test_branches_on_values_are_followed():
    def f(a):
        return a * 2 if a.sum() > 0 else a - 1

    positive, negative = x.abs(), -x.abs()
    compiled = follow(f, *[(positive,), (negative,)] * 4, replays=6)
    assert compiled.recorded == 2


def test_a_loop_that_depends_on_a_value_runs_as_often_as_in_python():
    def f(a, n):
        for _ in range(int(n)):
            a = a * 1.5 + n
        return a

    follow(f, *[(x, torch.tensor(i % 4)) for i in range(16)], replays=12)


def test_values_that_differ_in_a_bit_are_different():
    def f(a):
        return a + 1 if math.copysign(1, a.max().item()) > 0 else a - 1

    follow(
        f, *[(torch.tensor([v]),) for v in (0.0, -0.0, math.nan, 0.0, -0.0, math.nan)], replays=3
    )


def test_a_value_can_be_used_as_a_number():
    def f(a):
        n = a.max().item()
        return a * n, n

    integers = [torch.tensor([i % 3, 1]) for i in range(9)]
    follow(f, *[(one,) for one in integers], replays=7)


def test_sizes_that_depend_on_values():
    def f(a):
        kept = a[a > 0]
        return kept * 2, kept.shape[0]

    inputs = [torch.tensor([1.0, -1, 2]), torch.tensor([3.0, -1, 2]), torch.tensor([3.0, 1, 2])]
    follow(f, *[(one,) for one in inputs] * 3, replays=7)


def test_nothing_is_written_before_the_last_value_is_known():
    def f(a):
        a.add_(1)
        return a * 2 if a.sum() > 10 else a * 3

    follow(f, *[(torch.ones(4) * (i % 5),) for i in range(15)])


def test_random_numbers_are_drawn_again_where_a_replay_is_given_up():
    def f(a):
        noise = torch.rand(4)
        return a + noise if (noise + a).sum() > 2 else a - noise

    follow(f, *[(torch.full((4,), float(i % 3)),) for i in range(9)])


# ------------------------------------------------------------------------------------------------ writes
def test_written_arguments_are_written():
    def f(a, b):
        a.mul_(2)
        a[0] = b[0]
        return a + b

    compiled = follow(f, *[(x, y)] * 4, replays=3)
    assert compiled.recorded == 1


def test_a_buffer_that_counts():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, a):
            self.calls += 1
            return a * self.calls

    plain, compiled = Counter(), Counter()
    call = torch.compile(compiled)
    for _ in range(5):
        assert equal(call(x), plain(x))
    assert compiled.calls.item() == 5


def test_batch_norm_keeps_its_averages():
    plain = nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3))
    other = copy.deepcopy(plain)
    call = torch.compile(other)
    for i in range(6):
        for one in (plain, other):
            one.train(i % 3 != 2)
        assert equal(call(x + i), plain(x + i))
    assert equal(list(other.state_dict().values()), list(plain.state_dict().values()))


def test_two_arguments_in_one_memory():
    def f(a, b):
        a.add_(1)
        return b * 2

    def run(function):
        memory = torch.arange(6.0)
        return function(memory[:4], memory[2:]), memory

    compiled = torch.compile(f)
    expected = [run(f) for _ in range(3)]
    with pytest.warns(UserWarning, match="memory another input shares"):
        found = [run(compiled) for _ in range(3)]
    assert equal(found, expected)
    for _ in range(3):
        assert equal(compiled(torch.ones(4), torch.ones(4)), f(torch.ones(4), torch.ones(4)))


def test_the_same_tensor_as_two_arguments():
    def f(a, b):
        a.add_(1)
        return a * b

    def run(function, together):
        a, b = torch.ones(3), torch.full((3,), 2.0)
        return function(a, a if together else b), a, b

    compiled = torch.compile(f)
    for together in (False, True, False, True):
        assert equal(run(compiled, together), run(f, together))


# ------------------------------------------------------------------------------------------------ what the Python reads
SCALE = 2.0
TABLE = {"factor": 3.0}


def test_a_changed_global_is_noticed(monkeypatch):
    def f(a):
        return a * SCALE

    g = torch.compile(f)
    for value in (2.0, 2.0, 5.0, 2.0, 5.0):
        monkeypatch.setitem(globals(), "SCALE", value)
        assert equal(g(x), x * value)
    assert g.compiled.counts["replayed"] == 3


def test_a_changed_dict_list_or_closure_is_noticed():
    factor, layers = 2.0, [1.0]

    def f(a):
        for one in layers:
            a = a + one
        return a * factor * TABLE["factor"]

    g = torch.compile(f)
    for change in range(6):
        assert equal(g(x), f(x))
        assert equal(g(x), f(x))
        if change == 0:
            layers.append(2.0)
        elif change == 1:
            layers[0] = 5.0
        elif change == 2:
            factor = 3.0
        elif change == 3:
            TABLE["factor"] = 4.0
        elif change == 4:
            layers.clear()
    assert g.compiled.counts["replayed"] == 6


def test_a_function_that_is_replaced_is_noticed(monkeypatch):
    def f(a):
        return helper(a)  # noqa: F821

    g = torch.compile(f)
    monkeypatch.setitem(globals(), "helper", lambda a: a + 1)
    assert equal(g(x), x + 1)
    assert equal(g(x), x + 1)
    monkeypatch.setitem(globals(), "helper", lambda a: a + 2)
    assert equal(g(x), x + 2)


def test_attributes_of_modules_are_noticed():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.inner = 2.0, nn.Linear(5, 5)

        def forward(self, a):
            return self.inner(a) * self.scale if self.training else a

    net = Net()
    call = torch.compile(net)
    for change in (
        lambda: None,
        net.eval,
        net.train,
        lambda: setattr(net, "scale", 3.0),
        lambda: setattr(net, "inner", nn.Linear(5, 5)),
        lambda: setattr(net.inner, "weight", nn.Parameter(torch.ones(5, 5))),
        lambda: net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()}),
        lambda: net.inner.requires_grad_(False),
        net.double,
    ):
        change()
        given = x.to(net.inner.weight.dtype)
        for _ in range(2):
            assert equal(call(given), net(given))
    assert call.forward.compiled.counts["replayed"] >= 9


def test_modes_are_noticed():
    weight = torch.ones(5, requires_grad=True)

    def f(a):
        return a * weight

    g = torch.compile(f)
    for _ in range(2):
        assert g(x).requires_grad
        with torch.no_grad():
            assert not g(x).requires_grad
        with torch.inference_mode():
            assert g(x).is_inference()


def test_the_default_dtype_is_noticed():
    g = torch.compile(lambda a: a.int() / 2)
    assert g(x).dtype == g(x).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert g(x).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


# -------------------------------------------------------------------------------- what can't be replayed
def effects():
    counter, seen = {"n": 0}, []

    def with_print(a):
        print("called")
        return a + 1

    def with_list(a):
        seen.append(a.shape)
        return a + 1

    def with_dict(a):
        counter["n"] += 1
        return a * counter["n"]

    return [(with_print, None), (with_list, seen), (with_dict, counter)]


@pytest.mark.parametrize("number", range(3))
def test_effects_happen_at_every_call(number, capsys):
    function, trace = effects()[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = torch.compile(function)
        for _ in range(6):
            g(x)
    assert g.compiled.counts["replayed"] == 0
    if trace is None:
        assert capsys.readouterr().out == "called\n" * 6
    else:
        assert trace == {"n": 6} or trace == [x.shape] * 6


def test_a_warning_names_the_line_once():
    def f(a):
        print(a.shape)
        return a

    g = torch.compile(f)
    with pytest.warns(
        UserWarning, match=r"test_compile\.py:\d+: the function calls print"
    ) as found:
        results = [g(x) for _ in range(5)]
    assert equal(results, [x] * 5)
    assert len(found) == 1
    assert found[0].filename == __file__


def test_fullgraph_raises_where_a_call_cannot_be_recorded():
    def f(a):
        print(a.shape)
        return a

    with pytest.raises(torch.compiler.Unsupported, match="calls print"):
        torch.compile(f, fullgraph=True)(x)


def test_parts_of_a_module_that_prints_are_compiled():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.rest = nn.Linear(5, 5), nn.ModuleList([nn.Linear(5, 5), nn.ReLU()])

        def forward(self, a):
            print("called")
            a = self.first(a)
            for one in self.rest:
                a = one(a)
            return a

    net = Net()
    call = torch.compile(net)
    with pytest.warns(UserWarning, match="Net runs as Python"):
        results = [call(x) for _ in range(6)]
    assert all(equal(one, results[0]) for one in results)
    for part in (net.first, net.rest[0], net.rest[1]):
        assert part._compiled_call_impl.compiled.counts["replayed"] >= 2


def test_modules_that_a_function_calls_are_compiled_where_it_prints():
    net, parts = nn.Sequential(nn.Linear(5, 5), nn.Tanh()), nn.ModuleList([nn.Linear(5, 5)])
    compiled, unused = torch.compile(nn.Linear(5, 5)), nn.Linear(5, 5)

    @torch.compile
    def step(a):
        print("called")
        return compiled(parts[0](net(a)) * 2).sum()

    expected = step.__wrapped__(x)
    with pytest.warns(UserWarning, match="step runs as Python"):
        results = [step(x) for _ in range(7)]  # three of them are tried as a whole
    assert all(equal(one, expected) for one in results)
    for one in (net, parts[0]):
        assert one._compiled_call_impl.compiled.counts == {
            "replayed": 3,
            "recorded": 1,
            "as Python": 0,
        }
    assert "_compiled_call_impl" not in vars(net[0])  # it is a part of one that is compiled
    assert "_compiled_call_impl" not in vars(parts)
    assert "_compiled_call_impl" not in vars(unused)
    assert "_compiled_call_impl" not in vars(compiled)
    assert step.compiled.refusals[0].modules == ()  # it keeps none of them alive


def test_after_eight_recordings_the_rest_runs_as_python():
    g = torch.compile(lambda a, n: a * n)
    with pytest.warns(UserWarning, match="was recorded 8 times") as found:
        results = [g(x, n) for n in range(20)]
    assert equal(results, [x * n for n in range(20)])
    assert len(found) == 1
    assert g.compiled.counts["recorded"] == 8
    assert equal(g(x, 3), x * 3)
    assert g.compiled.counts["replayed"] == 1


def test_sizes_may_change_more_often_than_other_things():
    g = torch.compile(lambda a, n: (a * n).tanh())
    for n in (1, 2):
        for size in range(1, 31):
            a = torch.randn(size)
            assert equal(g(a, n), (a * n).tanh())
    assert g.compiled.counts == {"replayed": 0, "recorded": 60, "as Python": 0}
    assert g.compiled.resized == 58
    a = torch.randn(7, 2)  # another number of dimensions is not another size
    assert equal(g(a, 1), a.tanh())
    assert g.compiled.resized == 58


def test_sizes_that_never_come_again_are_not_recorded_for_ever(monkeypatch):
    monkeypatch.setattr(frontend, "SIZES", 5)
    g = torch.compile(lambda a: a * 2)
    with pytest.warns(UserWarning, match="recorded 6 times, as the sizes of its tensors kept"):
        [g(torch.ones(size)) for size in range(1, 10)]
    assert g.compiled.counts == {"replayed": 0, "recorded": 6, "as Python": 3}


def test_sizes_that_do_come_again_are_recorded_and_the_oldest_is_dropped(monkeypatch):
    monkeypatch.setattr(frontend, "SIZES", 5)
    monkeypatch.setattr(frontend, "RECORDINGS", 2)
    g = torch.compile(lambda a: a * 2)
    for size in range(1, 13):
        for _ in range(10):
            assert equal(g(torch.ones(size)), torch.full((size,), 2.0))
    assert g.compiled.counts == {"replayed": 108, "recorded": 12, "as Python": 0}
    assert len(g.compiled.entries) == 7


def test_sizes_count_like_all_else_where_dynamic_is_false():
    g = torch.compile(lambda a: a * 2, dynamic=False)
    with pytest.warns(UserWarning, match="recorded 8 times, as its guards kept changing"):
        [g(torch.ones(size)) for size in range(1, 12)]
    assert g.compiled.counts["recorded"] == 8


def test_another_size_compiles_nothing(monkeypatch):
    net = nn.Sequential(nn.Linear(6, 9), nn.GELU(), nn.LayerNorm(9))
    g = torch.compile(lambda x: (net(x) * 2).exp().sum(1))
    g(torch.randn(5, 6)).sum().backward()
    monkeypatch.setattr(toolchain, "compile_text", None)
    x = torch.randn(8, 6)
    assert equal(g(x), (net(x) * 2).exp().sum(1))


def test_an_exception_in_the_middle_is_the_same_one():
    def f(a, n):
        a.add_(1)
        if n > 2:
            raise KeyError("three")
        return a * 2

    g = torch.compile(f)
    for n in (1, 1, 3, 1, 3):
        a, b = torch.zeros(2), torch.zeros(2)
        try:
            expected = f(a, n)
        except KeyError:
            with pytest.raises(KeyError, match="three"):
                g(b, n)
        else:
            assert equal(g(b, n), expected)
        assert equal(b, a)


def test_an_error_of_an_op_is_the_ops_own():
    table = torch.randn(4, 3)
    g = torch.compile(lambda i: F.embedding(i, table) * 2)
    for _ in range(2):
        assert g(torch.tensor([1, 2])).shape == (2, 3)
    with pytest.raises(IndexError, match="embedding"):
        g(torch.tensor([1, 9]))
    assert g(torch.tensor([1, 3])).shape == (2, 3)


def test_generators_recursion_and_helpers():
    def power(a, n):
        return a if n == 0 else power(a * 1.1, n - 1)

    def f(a):
        return sum(one for one in (power(a, i) for i in range(4)))

    follow(f, *[(x,)] * 3, replays=2)


# ------------------------------------------------------------------------------------------------ gradients
def gradients(function, inputs):
    leaves = [one.detach().clone().requires_grad_() for one in inputs]
    out = function(*leaves)
    out.backward(torch.ones_like(out) * 0.5)
    return [out.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager", "eager"])
def test_gradients_are_those_of_the_function(backend):
    def f(a, b):
        h = torch.tanh(a @ b.t()) * 2
        return F.softmax(h, -1).log() + h.exp().mean()

    g = torch.compile(f, backend=backend)
    for _ in range(3):
        for mine, other in zip(gradients(g, (x, y)), gradients(f, (x, y)), strict=True):
            assert equal(mine, other) or torch.allclose(mine, other, rtol=1e-5, atol=1e-6)
    assert g.compiled.counts["replayed"] == 2


def test_a_gradient_that_is_wanted_of_some_inputs_only():
    f = lambda a, b: (a * b).sin()
    g = torch.compile(f)
    for wanted in ((True, False), (False, True), (True, True), (False, False)) * 2:
        results = []
        for function in (f, g):
            a, b = x.clone().requires_grad_(wanted[0]), y.clone().requires_grad_(wanted[1])
            out = function(a, b).sum()
            if any(wanted):
                out.backward()
            results.append([out.detach(), a.grad, b.grad])
        assert equal(*results)


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager"])
@pytest.mark.parametrize("view", [lambda a: a.expand(2, *a.shape), lambda a: a.unfold(0, 2, 1)])
def test_a_result_that_shows_places_twice_has_the_gradients_of_all_its_elements(view, backend):
    f = lambda a: view(a * 2)
    g = torch.compile(f, backend=backend)
    for weigh in (
        lambda out: torch.arange(float(out.numel())).view(out.shape) * out,
        lambda out: out,
    ):
        found = []
        for function in (f, g, g):
            a = x.clone().requires_grad_()
            weigh(function(a)).sum().backward()
            found.append(a.grad)
        assert equal(found[0], found[1])
        assert equal(found[0], found[2])
    assert g.compiled.counts["replayed"] == 3


def test_only_some_results_are_used():
    f = lambda a: (a.sin(), a.cos(), a.argmax())
    g = torch.compile(f)
    for used in (0, 1, 0):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        f(a)[used].sum().backward()
        g(b)[used].sum().backward()
        assert equal(a.grad, b.grad)
        assert not g(b)[2].requires_grad


def test_what_no_used_result_depends_on_gets_no_gradient():
    """Zeros for the unused results would give zeros, and nan where a derivative is infinite."""
    f = lambda a, b: (a.sqrt(), a * b, b.exp())
    g = torch.compile(f)
    for used in ((0,), (1,), (2,), (0, 2), (0, 1, 2), (2,), (1, 2)):
        results = []
        for function in (f, g):
            a = torch.tensor([0.0, 4.0], requires_grad=True)
            b = torch.tensor([2.0, 1000.0], requires_grad=True)
            out = function(a, b)
            sum(out[i].sum() for i in used).backward()
            results.append([a.grad, b.grad])
        assert equal(*results), used
    assert g.compiled.counts["replayed"] == 6


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager"])
def test_a_gradient_that_is_always_zero_is_none_if_its_result_is_not_used(backend):
    """A pass folds it to a constant, which depends on no tangent any more."""
    f = lambda a, b: (a.sin(), (b * 1).fill_(2.0), a * 3)
    g = torch.compile(f, backend=backend)
    for used in (0, 1, 0, 2):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        g(a, b)[used].sum().backward()
        assert (a.grad is None, b.grad is None) == (used == 1, used != 1)


def test_gradients_flow_through_written_arguments():
    def f(a, b):
        a.mul_(b)
        return a.sin()

    def run(function):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        work = a * 1
        out = function(work, b)
        (out.sum() + work.sum()).backward()
        return out.detach(), work.detach(), a.grad, b.grad

    g = torch.compile(f)
    expected = [run(f) for _ in range(3)]
    with pytest.warns(UserWarning, match="changes what autograd knows of"):
        found = [run(g) for _ in range(3)]
    assert equal(found, expected)


# views that are made without grad mode, of a tensor that is computed from what requires grad
VIEWS_WITHOUT_GRAD = {
    "of a result of an op": lambda b: [b[1:]],
    "of a view": lambda b: [b[1:][1:]],
    "one of several": lambda b: [b.chunk(2)[1]],
    "with its base": lambda b: [b[1:], b],
    "two": lambda b: [b[1:], b[:2]],
    "of no history": lambda b: [b.detach()[1:]],
    "and no longer followed": lambda b: [b[1:].detach()],
    "of what is computed there": lambda b: [(b + 1)[1:]],
}


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager", "eager"])
@pytest.mark.parametrize("name", VIEWS_WITHOUT_GRAD)
def test_a_view_made_under_no_grad_requires_grad_as_its_base_does(name, backend):
    def f(a):
        b = a * 2
        with torch.no_grad():
            return VIEWS_WITHOUT_GRAD[name](b)

    def g(a):
        b = a.sort()[0]
        with torch.no_grad():
            views = VIEWS_WITHOUT_GRAD[name](b)
        return [*views, views[0].view(-1), views[0] * 3]

    for function in (f, g):
        facts = []
        compiled = torch.compile(function, backend=backend)
        compiled(torch.arange(4.0, requires_grad=True))
        for one in (function, compiled):
            a = torch.arange(4.0, requires_grad=True)
            results = one(a)
            for out in results:
                if out.requires_grad:
                    out.sum().backward(retain_graph=True)
            assert not any(out.grad is not None for out in results if out.is_leaf)
            facts.append(a.grad if a.grad is None else a.grad.tolist())
            facts += [
                (out.tolist(), out.requires_grad, out.is_leaf, out.grad_fn is None)
                for out in results
            ]
        assert facts[: len(facts) // 2] == facts[len(facts) // 2 :]
        assert compiled.compiled.counts["replayed"] == 1


def test_a_view_of_what_gets_its_history_by_a_write_is_returned_with_its_base():
    def f(a):
        b = torch.zeros(4)
        b.add_(a)
        with torch.no_grad():
            return b[1:]

    g = torch.compile(f)
    for _ in range(2):
        out = g(torch.ones(4, requires_grad=True))
        assert (out.tolist(), out.requires_grad, out.is_leaf) == ([1, 1, 1], True, True)
    assert g.compiled.counts["replayed"] == 1


def without_grad(f, a):
    with torch.no_grad():
        return f(a)


@pytest.mark.parametrize(
    ("f", "requires_grad"),
    [
        (lambda a: without_grad(lambda a: (a * 2)[1:], a), True),
        (lambda a: without_grad(lambda a: (a * 2).detach()[1:], a), True),
        (lambda a: (a * 2)[1:], True),
        (lambda a: without_grad(lambda b: b.detach(), a * 2), True),
        (lambda a: without_grad(lambda b: b[1:], a * 2), False),
    ],
)
def test_other_views_are_returned_as_they_are(f, requires_grad):
    g, a = torch.compile(f), torch.ones(3, requires_grad=requires_grad)
    g(a)
    assert equal(g(a), f(a))
    assert g.compiled.counts["replayed"] == 1
    (entry,) = g.compiled.entries
    assert [one.views for one in entry.program.functional.results] == [()]


def test_saved_values_that_are_written_are_noticed():
    g = torch.compile(lambda a: a * a)
    for _ in range(2):
        a = x.clone().requires_grad_()
        work = a * 1
        out = g(work)
    work.add_(1)
    with pytest.raises(RuntimeError, match="version"):
        out.sum().backward()


def test_hooks_and_retain_grad_on_arguments_and_results():
    g = torch.compile(lambda a: (a * 3).sin())
    seen = []
    for _ in range(3):
        a = x.clone().requires_grad_()
        a.register_hook(lambda grad: seen.append(grad.sum().item()))
        out = g(a)
        out.retain_grad()
        out.sum().backward()
        assert equal(out.grad, torch.ones_like(out))
    assert len(seen) == 3
    assert len(set(seen)) == 1


@pytest.mark.parametrize("recompute", [False, True])
def test_training_takes_the_same_steps(recompute):
    def make():
        torch.manual_seed(1)
        net = nn.Sequential(
            nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.2), nn.Linear(16, 3)
        )
        return net, torch.optim.AdamW(net.parameters(), lr=0.01)

    data, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))

    def train(compiled):
        net, optimizer = make()
        call = torch.compile(net, options={"recompute": recompute}) if compiled else net
        torch.manual_seed(2)
        losses = []
        for _ in range(10):
            loss = F.cross_entropy(call(data), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [one.detach() for one in net.parameters()]

    (mine, weights), (others, other_weights) = train(True), train(False)
    assert mine == pytest.approx(others, abs=1e-6)
    for a, b in zip(weights, other_weights, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_whole_training_step_can_be_one_recording(name):
    data, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))

    def train(compiled):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.01)

        def step(inputs, targets):
            loss = F.cross_entropy(net(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        call = torch.compile(step) if compiled else step
        losses = [call(data, labels).item() for _ in range(10)]
        gradients = [one.grad for one in net.parameters()]
        return losses, [one.detach() for one in net.parameters()], gradients, call

    mine, others = train(True), train(False)
    assert equal(mine[:3], others[:3])
    assert mine[3].compiled.counts["replayed"] >= 6


# ------------------------------------------------------------------------------------------------ the API
def test_compile_is_a_decorator_with_and_without_options():
    @torch.compile
    def f(a):
        """Adds one."""
        return a + 1

    @torch.compile(backend="eager")
    def g(a):
        return a + 1

    assert equal(f(x), x + 1)
    assert equal(g(x), x + 1)
    assert f.__name__ == "f"
    assert f.__doc__ == "Adds one."


def test_a_method_can_be_compiled():
    class Scaler:
        def __init__(self, scale):
            self.scale = scale

        @torch.compile
        def apply(self, a):
            return a * self.scale

    two, three = Scaler(2.0), Scaler(3.0)
    for _ in range(3):
        assert equal(two.apply(x), x * 2)
        assert equal(three.apply(x), x * 3)
    two.scale = 5.0
    assert equal(two.apply(x), x * 5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"backend": "nothing"}, RuntimeError, "there is no backend 'nothing'; choose from"),
        ({"backend": 3}, TypeError, "must be a name or a function, not int"),
        ({"mode": "fast"}, RuntimeError, "mode 'fast' is unknown"),
        ({"options": {"speed": 1}}, RuntimeError, "the option 'speed' is unknown"),
        ({"options": {"code": 1}}, RuntimeError, "expected a bool"),
        ({"mode": "default", "options": {}}, RuntimeError, "either mode or options"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        torch.compile(lambda a: a, **options)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="a function or a Module is needed, not int"):
        torch.compile(3)


def test_disable_returns_the_function_itself():
    f = lambda a: a
    assert torch.compile(f, disable=True) is f


def test_an_optimized_module_is_its_module():
    net = nn.Sequential(nn.Linear(5, 5), nn.ReLU())
    call = torch.compile(net)
    assert list(call.state_dict()) == [f"_orig_mod.{name}" for name in net.state_dict()]
    assert next(iter(call.parameters())) is net[0].weight
    assert call.get_submodule("_orig_mod.0") is net[0]
    call.marker = 3
    assert net.marker == 3
    assert call.marker == 3
    assert call._orig_mod is net
    call.eval()
    assert not net[0].training
    with pytest.raises(TypeError, match="can't be pickled"):
        pickle.dumps(call)


def test_a_module_compiled_in_place_copies_and_pickles_as_itself():
    net = nn.Linear(5, 5)
    net.compile()
    for _ in range(3):
        assert equal(net(x), net.forward(x))
    assert net._compiled_call_impl.compiled.counts["replayed"] == 2
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        with torch.no_grad():
            other.weight.zero_()
        assert equal(other(x), other.forward(x))
        assert "_compiled_call_impl" not in other.__dict__
    handle = net.register_forward_hook(lambda module, args, out: out * 2)
    assert equal(net(x), net.forward(x) * 2)
    handle.remove()
    assert equal(net(x), net.forward(x))


def test_a_backend_of_ones_own_gets_the_graph():
    seen = []

    def backend(module, examples):
        seen.append(
            (
                [node.target.name for node in module.graph.nodes if node.op == "call_function"],
                len(examples),
            )
        )
        return module.forward

    g = torch.compile(lambda a, b: ((a + b).relu(), a), backend=backend)
    for _ in range(3):
        assert equal(g(x, y), ((x + y).relu(), x))
    assert seen == [(["add", "relu"], 2)]
    a = x.clone().requires_grad_()
    for _ in range(2):
        a.grad = None
        g(a, y)[0].sum().backward()
        assert equal(a.grad, ((x + y) > 0).float())


def test_a_backend_that_fails_is_named_with_the_function():
    def backend(module, examples):
        raise ValueError("no such chip")

    class Net(nn.Module):
        def forward(self, a):
            return a + 1

    def f(a):
        return a + 1

    for given in (f, Net()):
        line = (f if given is f else Net.forward).__code__.co_firstlineno
        reason = "the function was recorded, but its backend raised ValueError: no such chip"
        message = rf"test_compile\.py:{line}: {reason}"
        with pytest.warns(UserWarning, match=message):
            assert equal(torch.compile(given, backend=backend)(x), x + 1)
        with pytest.raises(ValueError, match="no such chip"):
            torch.compile(given, backend=backend, fullgraph=True)(x)


def test_backends_are_listed_and_registered():
    assert {"tensorlab", "inductor", "eager", "aot_eager"} <= set(torch.compiler.list_backends())

    @torch.compiler.register_backend(name="mine")
    def backend(module, examples):
        return module.forward

    g = torch.compile(lambda a: a + 1, backend="mine")
    assert equal(g(x), x + 1)
    assert equal(g(x), x + 1)


def test_a_stance_runs_everything_as_python():
    g = torch.compile(lambda a: a + 1)
    g(x)
    with torch.compiler.set_stance("force_eager"):
        g(x)
    assert g.compiled.counts["replayed"] == 0
    g(x)
    assert g.compiled.counts["replayed"] == 1
    with pytest.raises(RuntimeError, match="'fast' is unknown"):
        torch.compiler.set_stance("fast")


def test_reset_forgets_recordings():
    g = torch.compile(lambda a: a + 1)
    g(x)
    g(x)
    torch.compiler.reset()
    assert g.compiled.counts == {"replayed": 0, "recorded": 0, "as Python": 0}
    assert equal(g(x), x + 1)


def test_compiled_functions_call_compiled_functions():
    inner = torch.compile(lambda a: a * 2)
    outer = torch.compile(lambda a: inner(a) + 1)
    for _ in range(3):
        assert equal(outer(x), x * 2 + 1)
    assert outer.compiled.counts["replayed"] == 2


def test_threads_share_recordings():
    g, wrong = torch.compile(lambda a: (a * 2).tanh() + 1), []

    def work(n):
        a = torch.full((n + 1,), 0.5)
        expected = (a * 2).tanh() + 1
        for _ in range(50):
            wrong.extend([n] * (not equal(g(a), expected)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_calls_leave_no_tensors_behind():
    net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))
    call = torch.compile(net)

    def step():
        call(x).sum().backward()
        net.zero_grad()

    for _ in range(3):
        step()
    before = torch.live_tensors()
    for _ in range(50):
        step()
    assert torch.live_tensors() == before


def test_layers_of_other_tools_see_the_ops():
    from tensorlab._core.recorder import Counter

    g = torch.compile(lambda a: (a * 2).tanh())
    g(x)
    g(x)
    with Counter() as counter:
        g(x)
    assert counter.counts == {"mul": 1, "tanh": 1}


def test_without_a_compiler_the_ops_run_one_by_one(monkeypatch):
    monkeypatch.setenv("TENSORLAB_CC", "/nowhere/cc")
    from tensorlab.compiler import program

    monkeypatch.setattr(program, "warned", set())
    g = torch.compile(lambda a: (a * 7.25).tanh() - 0.125)
    with pytest.warns(UserWarning, match="/nowhere/cc"):
        first = g(x)
    assert equal(first, (x * 7.25).tanh() - 0.125)
    assert equal(g(x), first)
    assert g.compiled.counts["replayed"] == 1


def test_callbacks_of_the_garbage_collector_are_no_part_of_a_call():
    """They can run anywhere: those of hypothesis look at the clock."""
    seen = []

    def callback(phase, info):
        seen.append(time.perf_counter())

    @torch.compile(fullgraph=True)
    def f(x):
        for _ in range(20):
            cycle = [x]
            cycle.append(cycle)
        return x + 1

    before = gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(5)
    try:
        assert torch.equal(f(torch.ones(3)), torch.full((3,), 2.0))
        assert gc.isenabled()
        seen.clear()
        [[] for _ in range(100)]
        assert seen  # the collector runs again
    finally:
        gc.callbacks.remove(callback)
        gc.set_threshold(*before)


def test_the_first_matrix_product_of_a_process_loads_its_library_and_is_recorded():
    program = """
import tensorlab, sys
before = set(sys.modules)
f = tensorlab.compile(lambda x: x @ x, fullgraph=True)
x = tensorlab.ones(300, 300)
assert tensorlab.equal(f(x), x @ x)
assert "scipy" in set(sys.modules) - before
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a.max(0),
        lambda a: {"best": a.topk(2)},
        lambda a: (a * 2).sort(),
        lambda a: a.mode(),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_results_with_names_keep_their_class(f, requires_grad):
    a = torch.randn(4, 5, requires_grad=requires_grad)
    g = torch.compile(f, fullgraph=True)
    g(a)
    found, expected = g(a), f(a)
    assert equal(found, expected)
    if type(found) is not dict:
        assert type(found) is type(expected)
        assert torch.equal(found.values, expected.values)
    assert g.compiled.counts["replayed"] == 1


def test_a_backend_of_ones_own_gives_back_what_the_function_returns():
    Pair = collections.namedtuple("Pair", "first second")

    def f(a):
        return Pair(a + 1, [a.max(0), {"x": a, "n": 3}])

    g = torch.compile(f, backend=lambda module, examples: module.forward)
    a = torch.randn(3, 4)
    g(a)
    found, expected = g(a), f(a)
    assert g.compiled.counts["replayed"] == 1
    assert equal(found, expected)
    assert type(found.second[0]) is type(expected.second[0])


def test_a_branch_that_was_not_seen_draws_what_the_program_draws():
    """The replay has drawn numbers before it finds that it doesn't know the branch."""

    def f(a, limit):
        noise = torch.rand(3)
        if bool(a.sum() > limit):
            return a + noise
        return a - noise

    g = torch.compile(f)
    calls = [1.0, 1.0, 9.0, 9.0, 1.0]
    torch.manual_seed(5)
    expected = [f(torch.ones(3), torch.tensor(limit)) for limit in calls]
    torch.manual_seed(5)
    assert equal([g(torch.ones(3), torch.tensor(limit)) for limit in calls], expected)
    assert g.compiled.counts == {"replayed": 3, "recorded": 2, "as Python": 0}


def test_the_option_recompute_saves_less():
    def f(a):
        for _ in range(4):
            a = (a * 2).sigmoid()
        return a

    a = torch.randn(5, requires_grad=True)
    saved = []
    for recompute in (False, True):
        g = torch.compile(f, options={"recompute": recompute})
        g(a)
        assert equal(
            torch.autograd.grad(g(a).sum(), a), torch.autograd.grad(f(a).sum(), a)
        )  # fmt: skip
        (entry,) = g.compiled.entries
        saved.append(len(entry.program.plans.forward.outputs))
    assert saved[0] > saved[1]


def test_without_a_backward_graph_autograd_records_the_calls(monkeypatch, capsys):
    def joint(*given):
        raise CannotCompile("no formula")

    monkeypatch.setattr(program, "joint", joint)
    logs.set_logs("graph")
    a = torch.randn(5, requires_grad=True)
    g = torch.compile(lambda a: (a * 2).exp())
    try:
        g(a)
    finally:
        logs.set_logs()
    assert "backward is not compiled: no formula" in capsys.readouterr().err
    assert equal(torch.autograd.grad(g(a).sum(), a), torch.autograd.grad((a * 2).exp().sum(), a))
    assert g.compiled.counts["replayed"] == 1


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_resizing_is_recorded_with_its_tables(mode):
    a = torch.randn(1, 2, 6, 6, requires_grad=True)

    def f(a):
        return F.interpolate(a * 2, scale_factor=2, mode=mode)

    g = torch.compile(f, fullgraph=True)
    g(a)
    assert equal(g(a), f(a))
    assert g.compiled.counts["replayed"] == 1
    assert torch.allclose(*(torch.autograd.grad(one(a).sum(), a)[0] for one in (f, g)))
