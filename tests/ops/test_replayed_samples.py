"""Samples of indexing and sorting, recorded with their backward pass and run again from the record alone.

Every tensor of a recorded call is an input, or comes from an earlier call; otherwise something was computed unseen by layers.
"""

import numpy as np
import pytest

import tensorlab
from tensorlab._core.recorder import Recorder
from tests.ops.every_sample import SAMPLES
from tests.ops.samples import make_tensor

NAMES = """
    argsort argwhere bincount block_diag bucketize diag diag_embed diagflat diagonal_scatter embedding gather histc histogram
    index_add index_copy index_fill index_put index_reduce index_select isin kthvalue masked_fill masked_scatter masked_select
    median mode msort nanmedian nonzero nonzero_static one_hot put scatter scatter_add scatter_reduce searchsorted
    select_scatter slice_scatter sort take take_along_dim topk trace tril triu unique unique_consecutive where
""".split()
MAKES_CONSTANTS = {"put replace"}  # from a shape, with tensor()


def tensors(value):
    if isinstance(value, tensorlab.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors(one)


class Replay:
    """Runs recorded calls, with the tensors it has computed in the places of those that were recorded."""

    def __init__(self, inputs):
        self.now = {id(x): x.detach().clone() for x in inputs}
        self.unknown = []

    def value(self, recorded):
        if type(recorded) in (tuple, list):
            return type(recorded)(self.value(one) for one in recorded)
        if not isinstance(recorded, tensorlab.Tensor):
            return recorded
        if id(recorded) not in self.now:
            self.unknown.append(recorded)
            self.now[id(recorded)] = recorded.detach().clone()
        return self.now[id(recorded)]

    def run(self, calls):
        for call in calls:
            with tensorlab.no_grad():
                result = call.op(*[self.value(one) for one in call.arguments])
            for old, new in zip(tensors(call.result), tensors(result), strict=True):
                self.now[id(old)] = new


def record(call, inputs):
    """The calls, the results, and the gradients if there are any."""
    with Recorder() as recorder:
        results = list(tensors(call(tensorlab, *inputs)))
        ends = [y for y in results if y.requires_grad]
        leaves = [x for x in inputs if x.requires_grad and x.grad_fn is None]
        if ends and leaves:
            starts = [tensorlab.ones_like(y) for y in ends]
            results += tensors(tensorlab.autograd.grad(ends, leaves, starts, allow_unused=True))
    return recorder.calls, results


def check(sample, call, requires_grad):
    inputs = [make_tensor(tensorlab, array) for array in sample.arrays()]
    for x in inputs:
        x.requires_grad_(requires_grad and x.is_floating_point())
    replay = Replay(inputs)
    calls, results = record(call, inputs)
    replay.run(calls)
    if sample.name not in MAKES_CONSTANTS:
        assert replay.unknown == []
    for y in results:
        assert np.array_equal(replay.now[id(y)].numpy(), y.detach().numpy(), equal_nan=True)


MINE = [one for one in SAMPLES if one.op in NAMES]


def test_each_of_these_has_a_sample():
    assert sorted({one.op for one in MINE}) == sorted(NAMES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sample", [one for one in MINE if one.name != "histogram edges"], ids=str)
def test_a_recorded_sample_can_be_replayed(sample):
    check(sample, sample.call, bool(sample.derivatives))


@pytest.mark.parametrize("sample", [one for one in MINE if one.inplace], ids=str)
def test_a_recorded_write_can_be_replayed(sample):
    check(sample, sample.inplace, False)


@pytest.mark.parametrize("index", [[0, 2], ([0, 1], [1, 0]), (slice(None), [True, False, True])])
def test_subscripts_with_tensors_can_be_replayed(index):
    x = tensorlab.arange(12.0).reshape(4, 3)
    value = tensorlab.tensor(7.0)
    index = tuple(
        tensorlab.tensor(one) if isinstance(one, list) else one
        for one in (index if isinstance(index, tuple) else (index,))
    )
    replay = Replay([x, value, *tensors(index)])
    with Recorder() as recorder:
        y = x[index]
        x[index] = value
        y += 1
    replay.run(recorder.calls)
    assert not replay.unknown
    assert replay.now[id(x)].equal(x)
    assert replay.now[id(y)].equal(y)


def test_indices_of_triangles_are_ops():
    with Recorder() as recorder:
        for f in (tensorlab.tril_indices, tensorlab.triu_indices):
            found = f(3, 4, 1, dtype=tensorlab.int32)
            call = recorder.calls.pop()
            assert call.op.name == f.__name__
            assert call.op(*call.arguments).equal(found)
