"""compile: what a compiled function gives is what the function gives, whatever changes between its calls."""

import copy
import gc
import math
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import pytest

import tensorlab as torch
from tensorlab import nn
from tests.compiler.comparing import equal, follow

F = nn.functional

pytestmark = pytest.mark.usefixtures("fresh")

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


def test_generators_recursion_and_helpers():
    def power(a, n):
        return a if n == 0 else power(a * 1.1, n - 1)

    def f(a):
        return sum(one for one in (power(a, i) for i in range(4)))

    follow(f, *[(x,)] * 3, replays=2)


# -------------------------------------------------------------------------------- what is around a call
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
    gc.collect()  # what others left would go meanwhile
    before = torch.live_tensors()
    for _ in range(50):
        step()
    assert torch.live_tensors() == before


def test_layers_of_other_tools_see_the_ops():
    from tensorlab._core.dispatch.recorder import Counter

    g = torch.compile(lambda a: (a * 2).tanh())
    g(x)
    g(x)
    with Counter() as counter:
        g(x)
    assert counter.counts == {"mul": 1, "tanh": 1}


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
