"""Replay: which recording a call finds, what a replay leaves behind, and when a function is left alone."""

import copy
import threading

import pytest
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.compiler.joint.write_back import write_back
from tensorlab.compiler.plan import CallStep, ItemStep, Plan, Slot

import tensorlab as torch
from tensorlab import nn
from tensorlab._core.dispatch.recorder import Counter
from tensorlab.compiler.program import ByCalls, Differentiable

F = nn.functional

pytestmark = pytest.mark.usefixtures("fresh")


# ------------------------------------------------------------------------------------------------ finding a recording
def test_a_recording_that_is_far_back_comes_to_the_front_when_it_is_used():
    g = torch.compile(lambda a: a * 2)
    for size in range(1, 7):
        g(torch.ones(size))
    newest_first = list(g.compiled.entries)
    g(torch.ones(3))  # the fourth
    assert list(g.compiled.entries) == newest_first
    g(torch.ones(2))  # the fifth
    assert list(g.compiled.entries) == [newest_first[4], *newest_first[:4], newest_first[5]]
    assert [one.calls for one in g.compiled.entries] == [1, 0, 0, 0, 1, 0]


@pytest.fixture
def given_up():
    """A compiled function of (tensor, number) that is not recorded any more; it has been for the numbers 0 to 7."""
    g = torch.compile(lambda a, n: a * n)
    with pytest.warns(UserWarning, match="recorded 8 times"):
        [g(torch.ones(2), n) for n in range(9)]
    return g


def is_replayed(g, n):
    before = g.compiled.counts
    assert g(torch.ones(2), n).tolist() == [n, n]
    after = g.compiled.counts
    assert after["recorded"] == before["recorded"]
    assert sum(after.values()) == sum(before.values()) + 1
    return after["replayed"] > before["replayed"]


def test_a_function_that_has_given_up_is_compared_less_and_less_often(given_up):
    assert not any(is_replayed(given_up, n) for n in range(100, 115))  # that makes 16
    for rest in (1, 3, 7, 15, 31, 63, 64, 64):
        assert not is_replayed(given_up, 200)  # it was compared
        assert [is_replayed(given_up, 200) for _ in range(rest)] == [False] * rest
    assert is_replayed(given_up, 3)
    assert is_replayed(given_up, 4)


def test_while_it_takes_a_rest_it_is_not_compared(given_up):
    for n in range(100, 116):
        given_up(torch.ones(2), n)
    assert [is_replayed(given_up, 3) for _ in range(3)] == [False, True, True]


def test_fewer_calls_that_nothing_fits_do_not_count(given_up):
    for _ in range(3):
        assert not any(is_replayed(given_up, n) for n in range(100, 115))
        assert is_replayed(given_up, 5)


def test_a_replay_ends_the_rests_that_grow(given_up):
    for n in range(100, 120):
        given_up(torch.ones(2), n)
    while not is_replayed(given_up, 3):
        pass
    for n in range(100, 117):
        given_up(torch.ones(2), n)
    assert [is_replayed(given_up, 3) for _ in range(3)] == [False, True, True]


def test_reset_ends_a_rest(given_up):
    for n in range(100, 130):
        given_up(torch.ones(2), n)
    torch.compiler.reset()
    assert given_up(torch.ones(2), 3).tolist() == [3, 3]
    assert given_up(torch.ones(2), 3).tolist() == [3, 3]
    assert given_up.compiled.counts == {"replayed": 1, "recorded": 1, "as Python": 0}


@pytest.mark.parametrize(("misses", "rest"), [(16, 0), (17, 1)])
def test_after_a_reset_all_begins_anew(given_up, misses, rest):
    for n in range(100, 130):
        given_up(torch.ones(2), n)
    torch.compiler.reset()
    with pytest.warns(UserWarning, match="recorded 8 times"):
        [given_up(torch.ones(2), n) for n in range(8 + misses)]
    assert [is_replayed(given_up, 3) for _ in range(2)] == [False] * rest + [True] * (2 - rest)


def test_a_stance_counts_no_calls(given_up):
    before = given_up.compiled.counts
    with torch.compiler.set_stance("force_eager"):
        for _ in range(40):
            given_up(torch.ones(2), 3)
    assert given_up.compiled.counts == before
    assert is_replayed(given_up, 3)


def test_a_layer_of_another_thread_does_not_matter():
    g, a = torch.compile(lambda a: a * 2), torch.ones(2)
    g(a)
    entered, done = threading.Event(), threading.Event()

    def hold_a_layer():
        with Counter():
            entered.set()
            done.wait(10)

    thread = threading.Thread(target=hold_a_layer)
    thread.start()
    try:
        assert entered.wait(10)
        g(a)
        assert g.compiled.counts == {"replayed": 1, "recorded": 1, "as Python": 0}
    finally:
        done.set()
        thread.join()
    with Counter() as counter:
        g(a)
    assert counter.counts == {"mul": 1}
    assert g.compiled.counts == {"replayed": 1, "recorded": 1, "as Python": 0}


def test_replays_that_fail_take_a_rest_too():
    table, good, bad = torch.randn(4, 3), torch.tensor([1, 2]), torch.tensor([1, 9])
    g = torch.compile(lambda i: F.embedding(i, table) * 2)
    g(good)
    for _ in range(17):
        with pytest.raises(IndexError, match="embedding"):
            g(bad)
    for _ in range(3):
        g(good)
    assert g.compiled.counts == {"replayed": 2, "recorded": 1, "as Python": 18}


def test_a_function_that_can_not_be_recorded_takes_a_rest(monkeypatch):
    seen, tried = [], []
    g = torch.compile(lambda a: print(end="") or seen.append(1) or a + 1)
    record = g.compiled.record
    monkeypatch.setattr(g.compiled, "record", lambda *given: tried.append(1) or record(*given))
    with pytest.warns(UserWarning, match="runs as Python"):
        [g(torch.ones(2)) for _ in range(100)]
    assert len(seen) == 100
    assert len(tried) == 3 + 16 + 6  # the last six, before rests of 1, 3, 7, 15, 31 and 63 calls
    assert g.compiled.counts == {"replayed": 0, "recorded": 0, "as Python": 100}


# ------------------------------------------------------------------------------------------------ random numbers
@pytest.mark.parametrize("drawn_before", [0, 5, 620])
def test_what_a_failed_replay_has_drawn_is_drawn_again(drawn_before):
    """Normal numbers come in pairs, of which one waits; 624 words are made at a time."""
    table, good, bad = torch.randn(4, 3), torch.tensor([1, 2]), torch.tensor([1, 9])

    def f(i):
        noise = torch.randn(5, dtype=torch.float64).float() + torch.rand(700)[:5]
        return F.embedding(i, table) + noise[:3]

    g, found = torch.compile(f), []
    g(good)
    for function in (f, g):
        torch.manual_seed(11)
        torch.randn(drawn_before, dtype=torch.float64)
        with pytest.raises(IndexError):
            function(bad)
        found.append((torch.randn(7, dtype=torch.float64), torch.rand(700), torch.get_rng_state()))
    for mine, other in zip(*found, strict=True):
        assert torch.equal(mine, other)
    assert g.compiled.counts == {"replayed": 0, "recorded": 1, "as Python": 1}


def test_a_normal_number_that_waits_is_still_there_when_a_branch_is_not_known():
    def f(a):
        noise = torch.randn(3, dtype=torch.float64)
        if a.sum() > 0:
            return a + noise
        return a - noise

    g, found = torch.compile(f), []
    g(torch.ones(3, dtype=torch.float64))
    for function in (f, g):
        torch.manual_seed(3)
        torch.randn(1, dtype=torch.float64)
        found.append(function(-torch.ones(3, dtype=torch.float64)))
    assert torch.equal(*found)
    assert g.compiled.counts == {"replayed": 0, "recorded": 2, "as Python": 0}


def test_a_replay_draws_the_next_numbers():
    f = lambda a: (a + torch.randn_like(a), a.sum())
    g = torch.compile(f)
    a = torch.randn(5)
    g(a)
    found = []
    for function in (f, g):
        torch.manual_seed(3)
        found.append(torch.stack([function(a)[0] for _ in range(3)]))
    assert torch.equal(*found)
    assert not torch.equal(found[0][0], found[0][1])
    assert g.compiled.counts["replayed"] == 3


# ------------------------------------------------------------------------------------------------ writes
def test_the_last_outputs_are_written_to_the_inputs():
    inputs = [torch.zeros(2), torch.zeros(3), torch.zeros(2)]
    outputs = [torch.full((2,), float(i)) for i in range(3)]
    write_back(inputs, outputs, (2, 0))
    assert [one.tolist() for one in inputs] == [[2, 2], [0, 0, 0], [1, 1]]
    write_back(inputs, outputs, ())
    assert [one.tolist() for one in inputs] == [[2, 2], [0, 0, 0], [1, 1]]


@pytest.mark.parametrize("is_enabled", [False, True])
def test_a_value_that_needs_gradients_is_written_with_its_history(is_enabled):
    a = torch.ones(2, requires_grad=True)
    followed, plain = torch.zeros(2), torch.ones(2, requires_grad=True)
    with torch.set_grad_enabled(True):
        value = a * 3
    with torch.set_grad_enabled(is_enabled):
        write_back([followed, plain], [value, torch.zeros(2)], (0, 1))  # no error: plain is a leaf
        assert torch.is_grad_enabled() == is_enabled
    assert followed.grad_fn is not None
    assert plain.tolist() == [0, 0]
    assert plain.is_leaf
    followed.sum().backward()
    assert a.grad.tolist() == [3, 3]


def test_what_can_not_be_written_is_refused():
    with pytest.raises(ValueError, match="there are 2 inputs to write, and 1 outputs"):
        write_back([torch.ones(1)] * 2, [torch.ones(1)], (0, 1))
    with pytest.raises(TypeError):
        write_back([torch.ones(1)], [None], (0,))
    assert torch.is_grad_enabled()
    with pytest.raises(RuntimeError):
        write_back([torch.ones(2)], [torch.ones(3)], (0,))
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    "result",
    [
        lambda a, b: b,
        lambda a, b: (b,),
        lambda a, b: (b, a.sum(), b),
        lambda a, b: (),
        lambda a, b: None,
        lambda a, b: [b, a],
        lambda a, b: (b, (a.sum(), 3)),
        lambda a, b: (b, b[1:]),
    ],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_results_of_every_form_are_given_back_after_the_writes(result, requires_grad):
    def f(a, weight):
        a.mul_(2)
        return result(a, a.detach() * weight)

    def shown(one):
        if isinstance(one, (tuple, list)):
            return type(one)(map(shown, one))
        return (one.tolist(), one.requires_grad) if isinstance(one, torch.Tensor) else one

    weight = torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
    g = torch.compile(f)
    mine, others = torch.ones(3), torch.ones(3)
    for _ in range(3):
        assert shown(g(mine, weight)) == shown(f(others, weight))
        assert mine.tolist() == others.tolist()
    assert g.compiled.counts["replayed"] == 2


# ------------------------------------------------------------------------------------------------ programs
def test_results_of_one_op_are_used_on_both_sides_of_a_look_at_a_value():
    def f(a):
        largest, places = a.topk(2)
        if largest.sum() > 0:
            return places * 2
        return places - 1, largest

    g = torch.compile(f)
    positive, negative = torch.tensor([1.0, 3.0, 2.0]), torch.tensor([-1.0, -3.0, -2.0])
    for _ in range(3):
        assert g(positive).tolist() == [2, 4]
        places, largest = g(negative)
        assert (places.tolist(), largest.tolist()) == ([-1, 1], [-1, -2])
    assert g.compiled.counts == {"replayed": 4, "recorded": 2, "as Python": 0}


def test_one_op_is_recorded_by_autograd_itself():
    net = nn.Linear(3, 2)
    call = torch.compile(net)
    a = torch.randn(4, 3, requires_grad=True)
    call(a)
    (entry,) = call.forward.compiled.entries
    assert type(entry.program) is ByCalls
    assert [len(piece.steps) for piece in entry.program.pieces] == [1]
    out = call(a)
    assert type(out.grad_fn).__name__ == type(net(a).grad_fn).__name__
    for one, other in zip(
        torch.autograd.grad(out.sum(), [a, *net.parameters()]),
        torch.autograd.grad(net(a).sum(), [a, *net.parameters()]),
        strict=True,
    ):
        assert torch.equal(one, other)
    assert call.forward.compiled.counts["replayed"] == 1


WEIGHT = torch.randn(3, 3)


@pytest.mark.parametrize(
    ("f", "how"),
    [
        (lambda a: a.exp(), {}),
        (lambda a: F.linear(F.linear(a, WEIGHT), WEIGHT), {}),
        (lambda a: F.linear(a, WEIGHT), {"backend": "aot_eager"}),
        (lambda a: F.linear(a, WEIGHT), {"options": {"code": False}}),
        (lambda a: F.linear(a, WEIGHT), {"mode": "max-autotune"}),  # which compares plans
    ],
)
def test_more_than_one_op_or_a_generated_loop_is_a_program_of_two_plans(f, how):
    g, a = torch.compile(f, **how), torch.randn(3, 3, requires_grad=True)
    g(a)
    (entry,) = g.compiled.entries
    assert type(entry.program) is Differentiable


def test_a_module_compiled_within_a_compiled_one_is_part_of_its_recording():
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    plain = copy.deepcopy(net)
    net[0].compile()
    call, a = torch.compile(net, fullgraph=True), torch.randn(2, 3)
    for _ in range(3):
        assert torch.equal(call(a), plain(a))
    assert call.forward.compiled.counts["replayed"] == 2
    assert net[0]._compiled_call_impl.compiled.counts["recorded"] == 0
    nn.Module.compile(net[0])  # it goes to another Replay now
    assert torch.equal(call(a), plain(a))
    assert call.forward.compiled.counts == {"replayed": 2, "recorded": 2, "as Python": 0}


def test_a_plan_takes_tensors_and_the_results_of_a_call():
    plan = Plan(1, 3, [ItemStep(0, 1, 1), CallStep(REGISTRY["add"], [Slot(1), 2], 2)], [2])
    a, b = torch.ones(2), torch.zeros(2)
    for given in ((a, b), [a, b]):
        assert plan.run([given])[0].tolist() == [2, 2]
    with pytest.raises(TypeError, match="a Tensor is needed here, not NoneType"):
        plan.run([None])
