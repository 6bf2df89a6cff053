"""Every sample with each argument spoiled in turn: results and errors are PyTorch's, but for listed differences."""

import json

import pytest

from tests.ops import spoiled
from tests.ops.every_sample import IN_PYTORCH, each_sample
from tests.oracle import require_torch

KNOWN = json.loads(spoiled.FILE.read_text(encoding="utf-8"))
REFUSERS = json.loads(spoiled.REFUSERS.read_text(encoding="utf-8"))


@each_sample(IN_PYTORCH)
def test_a_spoiled_argument_does_what_it_does_in_pytorch(sample):
    require_torch()
    known = KNOWN.get(sample.name, {})
    found, refusers = spoiled.differences(sample)
    assert {title: one for title, one in found.items() if known.get(title) != one} == {}
    for function, names in refusers.items():
        assert names <= set(REFUSERS.get(function, ())), (
            f"{function} leaves it to another to refuse"
        )


def test_a_tap_spoils_what_it_is_told_to():
    sample = next(one for one in IN_PYTORCH if one.name == "softmax")
    title = "softmax(1: large)"
    plan = next(one[:3] for one in spoiled.plans_of(sample) if one[3] == title)
    result, _ = spoiled.outcome(spoiled.tensorlab, sample, plan)
    with pytest.raises(IndexError, match="dimension"):
        raise result
