"""Subscripts with tensors, and the indices of triangles, are ops that a recorder sees and that can be replayed."""

import pytest

import tensorlab
from tensorlab._core.dispatch.recorder import Recorder
from tests.ops.replay import replay


@pytest.mark.parametrize("index", [[0, 2], ([0, 1], [1, 0]), (slice(None), [True, False, True])])
def test_what_is_read_and_written_by_tensors_can_be_replayed(index):
    def inputs(first):
        parts = index if isinstance(index, tuple) else (index,)
        parts = [tensorlab.tensor(one) if isinstance(one, list) else one for one in parts]
        return [tensorlab.arange(first, first + 12).reshape(4, 3), tensorlab.tensor(7), *parts]

    def program(x, value, *index):
        y = x[index]
        x[index] = value
        y += 1
        return x, y

    old, new = inputs(0), inputs(100)
    with Recorder() as recorder:
        results = program(*old)
    given = [(a, b) for a, b in zip(old, new, strict=True) if isinstance(a, tensorlab.Tensor)]
    now = replay(recorder.calls, given)
    for found, expected in zip(results, program(*inputs(100)), strict=True):
        assert now(found).equal(expected)


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_indices_of_triangles_are_ops(name):
    with Recorder() as recorder:
        found = getattr(tensorlab, name)(3, 4, 1, dtype=tensorlab.int32)
    (call,) = recorder.calls
    assert call.op.name == name
    assert call.op(*call.arguments).equal(found)
