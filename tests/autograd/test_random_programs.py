"""Random programs about the engine: see random_programs.py."""

import importlib
import os

import pytest

from tests.autograd.random_programs import run, run_apart
from tests.cases import by_day
from tests.oracle import require_torch


@pytest.mark.parametrize("block", by_day(range(10), every=2))
def test_random_programs_run_as_with_pytorch(block):
    for seed in range(15 * block, 15 * (block + 1)):
        run(seed)


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that share memory")
@pytest.mark.parametrize("block", range(20))
def test_many_random_programs_run_as_with_pytorch(block):
    require_torch()
    for name in ("torch.utils.checkpoint", "sympy"):  # else PyTorch loads them in every child
        importlib.import_module(name)
    first = 1000 * (block + 1)
    assert [text for seed in range(first, first + 200) if (text := run_apart(seed))] == []
