"""Every op against NumPy, SciPy or the formula of its definition, in float64 and float32 and for other shapes."""

import warnings

import numpy as np

import tensorlab
from tests.ops import references_networks, references_reductions  # noqa: F401 (they fill REFERENCES)
from tests.ops.every_sample import SAMPLES, call_quietly, each_sample, other_inputs
from tests.ops.references import REFERENCES
from tests.ops.samples import make_tensor
from tests.ops.test_each_dtype import BY_TYPE

TOLERANCE = {"float64": 1e-10, "float32": 1e-5}
REFERENCED = [sample for sample in SAMPLES if sample.name in REFERENCES]


def expected_results(sample, arrays):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # means of nothing, which are nan
        results = REFERENCES[sample.name](*arrays)
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def assert_as_expected(sample, arrays, dtype):
    """The results of the call in that dtype are those of the reference on the same numbers in float64."""
    tensors = [make_tensor(tensorlab, array, dtype) for array in arrays]
    held = [x.numpy().astype("float64") if x.is_floating_point() else x.numpy() for x in tensors]
    found, expected = call_quietly(sample.call, tensorlab, *tensors), expected_results(sample, held)
    tolerance = TOLERANCE[dtype] * sample.tolerance
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert tuple(x.shape) == np.shape(y)
        np.testing.assert_allclose(x.numpy(), y, rtol=tolerance, atol=tolerance)


@each_sample(
    REFERENCED,
    dtype=lambda sample: [t for t in TOLERANCE if t not in BY_TYPE.get(sample.name, ("",))[0]],
)
def test_a_value_is_that_of_the_reference(sample, dtype):
    assert_as_expected(sample, sample.arrays(), dtype)


@each_sample([s for s in REFERENCED if s.pointwise or s.more])
def test_other_shapes_have_the_values_of_the_reference(sample):
    for arrays in other_inputs(sample):
        assert_as_expected(sample, arrays, "float64")


def test_every_reference_belongs_to_a_sample():
    assert REFERENCES.keys() - {sample.name for sample in SAMPLES} == set()
