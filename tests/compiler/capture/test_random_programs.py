"""Random programs: what the guards accept, the graph computes to the last bit, whatever has changed meanwhile."""

import random

import pytest

import tensorlab as torch
from tensorlab.compiler.capture import Trace, record
from tests.cases import by_day
from tests.compiler.capture.interpreter import Diverged, fetch, interpret, same_bits
from tests.compiler.capture.programs import (
    CHANGES,
    SETTING,
    lines,
    make_arguments,
    write_program,
)


class Outside:
    """The values of all tensors that a program can reach without its arguments."""

    def __init__(self, scope):
        self.tensors = [scope["T"], scope["THING"].t, *scope["NET"].state_dict().values()]
        self.values = [x.detach().clone() for x in self.tensors]

    def now(self):
        return [x.detach().clone() for x in self.tensors]

    def restore(self):
        for x, value in zip(self.tensors, self.values, strict=True):
            x.detach().copy_(value)


def attempt(function, *args, **kwargs):
    """What a function returns, or the exception that it raises."""
    try:
        return function(*args, **kwargs), None
    except Diverged:
        raise
    except Exception as error:
        return None, error


def run_program(seed, has_effects):
    """Call a random program several times; returns (calls replayed, calls recorded, refusals)."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    scope = {"__name__": "program"}
    exec(compile(SETTING, "setting.py", "exec"), scope)
    source = write_program(rng, has_effects)
    exec(compile(source, "program.py", "exec"), scope)
    traces, counts = [], [0, 0, []]
    history = []
    make = make_arguments(rng, torch)
    for _ in range(8):
        call(scope["f"], make, scope, traces, counts, source, history)
        if rng.random() < 0.6:
            change = rng.choice(lines(CHANGES))
            history.append(change)
            with torch.no_grad():
                attempt(exec, change, scope)
        if rng.random() < 0.4:
            make = make_arguments(rng, torch)
    return counts


def call(function, make, scope, traces, counts, source, history):
    args, kwargs = make()
    outside = Outside(scope)
    for trace in traces:
        inputs = trace.guards.match(args, kwargs)
        assert (inputs is not None) == trace.guards.check(args, kwargs)
        if inputs is None:
            assert trace.guards.why(args, kwargs)
            continue
        assert [id(fetch(s, args, kwargs)) for s in trace.inputs] == [id(x) for x in inputs]
        try:
            found, error = attempt(interpret, trace, inputs)
        except Diverged:
            outside.restore()
            args, kwargs = make()
            continue
        after, written = outside.now(), args
        outside.restore()
        args, kwargs = make()
        expected, expected_error = attempt(function, *args, **kwargs)
        about = f"{source}\nafter {history}\n{trace.graph}\n{trace.guards.text}"
        assert (error is None) == (expected_error is None), (about, error, expected_error)
        assert same_bits(found, expected), (about, found, expected)
        assert same_bits(after, outside.now()), about
        assert same_bits(list(written), list(args)), about
        counts[0] += 1
        history.append("replayed")
        return
    pair, error = attempt(record, function, args, kwargs)
    if error is None:
        outcome = pair[1]
        history.append("recorded" if isinstance(outcome, Trace) else f"refused: {outcome}")
        if isinstance(outcome, Trace):
            traces.append(outcome)
            counts[1] += 1
        else:
            counts[2].append(outcome)


@pytest.mark.parametrize("block", by_day(range(20), every=10))
def test_what_guards_accept_is_replayed_to_the_last_bit(block):
    accepted = replayed = 0
    for seed in range(100 * block, 100 * block + 100):
        has_effects = seed % 4 == 3
        again, recorded, _ = run_program(seed, has_effects)
        if not has_effects:
            accepted += recorded > 0
            replayed += again
    assert accepted >= 0.6 * 75
    assert replayed >= 75
