"""The programs that courses write, with their models compiled: the same losses, one recording for each kind of call."""

import gc
import warnings

import pytest

import tensorlab
from tests.programs import PROGRAMS

STEPS = 4
# Python looks at how many tokens each expert gets, which is another number at every step.
LOOKS_AT_VALUES = {"mixture_of_experts"}


def modules_alive():
    """All modules of the process. An object's class is asked, as some objects warn when they are asked for theirs."""
    return [one for one in gc.get_objects() if issubclass(type(one), tensorlab.nn.Module)]


def networks(before):
    """The modules made since those with the ids in `before` that no other module contains."""
    modules = [one for one in modules_alive() if id(one) not in before]
    parts = {id(part) for one in modules for part in one.children()}
    return [one for one in modules if id(one) not in parts]


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_models_train_as_they_do_without(name):
    step = PROGRAMS[name](tensorlab)
    expected = [float(step()) for _ in range(STEPS)]
    gc.collect()
    before = {id(one) for one in modules_alive()}
    step = PROGRAMS[name](tensorlab)
    compiled = networks(before)
    for one in compiled:
        one.compile(fullgraph=name not in LOOKS_AT_VALUES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name in LOOKS_AT_VALUES else "error")
        found = [float(step()) for _ in range(STEPS)]
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
    calls = [one._compiled_call_impl.compiled.counts for one in compiled]
    assert sum(one["replayed"] for one in calls) >= STEPS - 2
    if name not in LOOKS_AT_VALUES:
        assert all(one["as Python"] == 0 for one in calls)
    tensorlab.compiler.reset()
