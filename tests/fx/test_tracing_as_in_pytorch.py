"""Programs give the same graphs, source and results here and in PyTorch; see programs.py."""

import copy
import pickle

import numpy as np
import pytest

import tensorlab
from tensorlab import fx
from tests.fx.programs import PROGRAMS
from tests.fx.texts import describe, without_package
from tests.oracle import require_torch


def made(name, T):
    """A program, its positional and its keyword arguments."""
    root, args, *kwargs = PROGRAMS[name](T)
    return root, args, kwargs[0] if kwargs else {}


def plain(value):
    """A result as plain numbers and text, whichever package it comes from."""
    if hasattr(value, "detach"):
        return ("tensor", without_package(str(value.dtype)), value.detach().numpy().tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, int | float | str | None) else without_package(str(value))


def assert_alike(ours, theirs):
    if isinstance(ours, float):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)
    elif isinstance(ours, list | tuple | dict):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        pairs = (
            zip(ours.values(), theirs.values(), strict=True)
            if isinstance(ours, dict)
            else zip(ours, theirs, strict=True)
        )
        for one, other in pairs:
            assert_alike(one, other)
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_same_graph_source_and_result(name):
    torch = require_torch()
    ours, args, kwargs = made(name, tensorlab)
    theirs, their_args, _ = made(name, torch)
    our_module, their_module = fx.symbolic_trace(ours), torch.fx.symbolic_trace(theirs)
    assert describe(our_module.graph) == describe(their_module.graph)
    assert without_package(our_module.code) == without_package(their_module.code)
    result = plain(our_module(*args, **kwargs))
    assert_alike(result, plain(their_module(*their_args, **kwargs)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_program_gives_what_the_program_gives(name):
    ours, args, kwargs = made(name, tensorlab)
    traced = fx.symbolic_trace(ours)
    traced.graph.lint()
    assert_alike(plain(traced(*args, **kwargs)), plain(ours(*args, **kwargs)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_keep_graph_source_and_result(name):
    ours, args, kwargs = made(name, tensorlab)
    traced = fx.symbolic_trace(ours)
    for copied in (copy.deepcopy(traced), copy.copy(traced), pickle.loads(pickle.dumps(traced))):
        copied.graph.lint()
        assert copied.graph is not traced.graph
        assert str(copied.graph) == str(traced.graph)
        assert copied.code == traced.code
        assert type(copied).__name__ == type(traced).__name__
        assert plain(copied(*args, **kwargs)) == plain(traced(*args, **kwargs))
