"""A recorder sees all that a sample computes, with backward: its calls give the same with other tensors."""

from tensorlab._core.backward import grad

import tensorlab
from tensorlab._core.recorder import Recorder
from tests.ops.every_sample import as_tuple, call_quietly, every_sample
from tests.ops.samples import is_floating, make_tensor

# These make tensors of Python's numbers, or of NumPy's, which no op computes.
WITH_CONSTANTS = {
    *("combinations", "gradient", "histogram edges", "put replace", "unravel_index"),
    *("quantile all", "repeat_interleave counts", "nanquantile"),
    *(f"quantile {rule}" for rule in ("higher", "linear", "lower", "midpoint", "nearest")),
}


def tensors_in(value):
    if isinstance(value, tensorlab.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [x for item in value for x in tensors_in(item)]
    return []


def run(sample, inputs):
    """The results of a sample, and its gradients."""
    tensorlab.manual_seed(0)
    results = call_quietly(sample.call, tensorlab, *inputs)
    followed = [y for y in results if isinstance(y, tensorlab.Tensor) and y.requires_grad]
    if not followed:
        return tensors_in(results)
    leaves = [x for x in inputs if x.requires_grad]
    ones = [tensorlab.ones_like(y) for y in followed]
    return tensors_in(results) + tensors_in(
        as_tuple(grad(followed, leaves, ones, allow_unused=True))
    )


def replay(calls, inputs, others):
    """Run the calls with `others` in the place of `inputs`; did they meet a tensor that none had made?"""
    new = {id(x): y for x, y in zip(inputs, others, strict=True)}
    has_unknown = False

    def renewed(value):
        nonlocal has_unknown
        if type(value) in (tuple, list):
            return type(value)([renewed(item) for item in value])
        if isinstance(value, tensorlab.Tensor):
            has_unknown = has_unknown or id(value) not in new
            return new.get(id(value), value)
        return value

    tensorlab.manual_seed(0)
    for call in calls:
        result = call.op(*renewed(call.arguments))
        for x, y in zip(tensors_in(call.result), tensors_in(result), strict=True):
            new[id(x)] = y
    return new, has_unknown


@every_sample
def test_the_calls_of_a_sample_can_be_replayed(sample):
    def inputs():
        return [
            make_tensor(
                tensorlab, array, requires_grad=bool(sample.derivatives) and is_floating(array)
            )
            for array in sample.arrays()
        ]

    first, second = inputs(), inputs()
    with Recorder() as recorder:
        results = run(sample, first)
    new, has_unknown = replay(recorder.calls, first, second)
    assert has_unknown == (sample.name in WITH_CONSTANTS)
    for x in results:
        y = new[id(x)]
        assert (x.shape, x.dtype, x.stride()) == (y.shape, y.dtype, y.stride())
        tensorlab.testing.assert_close(y.detach(), x.detach(), rtol=0, atol=0, equal_nan=True)


def test_what_no_op_made_is_noticed():
    x = tensorlab.ones(2)
    with Recorder() as recorder:
        x + tensorlab.tensor([1.0, 2.0])
    assert replay(recorder.calls, [x], [x])[1]
