"""The ops refuse spoiled arguments themselves, not only in the public functions before them."""

import json

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.errors import DTypeError, ShapeError
from tests.ops import refused

KNOWN = json.loads(refused.FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def calls():
    return refused.recorded_calls()


@pytest.mark.parametrize("name", KNOWN)
def test_an_op_refuses_what_it_is_recorded_to_refuse(name, calls):
    """If the op or its samples have changed on purpose: `python -m tests.ops.refused` writes the list anew."""
    for kind, known in KNOWN[name].items():
        if kind in calls.get(name, ()):
            assert refused.refusals(*calls[name][kind]) == known


def test_most_of_what_is_recorded_is_still_called(calls):
    kinds = [(name, kind) for name, kinds in KNOWN.items() for kind in kinds]
    assert sum(kind in calls.get(name, ()) for name, kind in kinds) > 0.9 * len(kinds)


@pytest.mark.parametrize("shape", [(-2, -3), (2, -3)])
def test_a_negative_size_is_refused_before_memory_is_taken(shape):
    with pytest.raises(RuntimeError, match="negative"):
        REGISTRY["index_backward"](tensorlab.ones(2), [tensorlab.tensor([0, 1])], shape)


@pytest.mark.parametrize("widths", [(3, -2), (-2, 3), (-3, 2), (-5, 1), (1, -5), (-4, 4)])
def test_padding_around_takes_no_more_than_a_cut_leaves(widths):
    # PyTorch returns memory that it never wrote, or says that tensors overlap.
    x = tensorlab.arange(4.0).reshape(1, 4)
    with pytest.raises(RuntimeError, match="^pad: mode 'circular' can copy "):
        tensorlab.nn.functional.pad(x, widths, mode="circular")


@pytest.mark.parametrize(
    ("pivots", "error"),
    [
        (tensorlab.tensor(1, dtype=tensorlab.int32), ShapeError),
        (tensorlab.ones(5, dtype=tensorlab.int32), ShapeError),
        (tensorlab.ones(3, dtype=tensorlab.int8), DTypeError),
    ],
)
def test_pivots_are_a_row_of_int32_for_each_matrix(pivots, error):
    with pytest.raises(error, match="^lu_permutation: pivots "):
        REGISTRY["lu_permutation"](pivots, 3)
