"""Every bad call of the samples, without PyTorch: it raises the recorded class, says something, and changes nothing."""

import builtins

import pytest

import tensorlab
from tests.ops.every_sample import SAMPLES, identifier, tensors_of
from tests.ops.record import RECORDED

BAD_CALLS = [
    pytest.param(sample, number, id=f"{identifier(sample)}-{number}")
    for sample in SAMPLES
    for number in range(len(sample.bad))
]


@pytest.mark.filterwarnings("ignore")  # some warn before they raise
@pytest.mark.parametrize("sample, number", BAD_CALLS)
def test_a_bad_call_raises_the_recorded_class_and_changes_nothing(sample, number):
    classes = RECORDED[sample.name]["bad"].split()
    assert len(classes) == len(sample.bad)
    tensors = tensors_of(sample.arrays())
    before = [(repr(x.tolist()), x.stride(), x._version) for x in tensors]
    with pytest.raises(getattr(builtins, classes[number])) as caught:
        sample.bad[number](tensorlab, *tensors)
    assert len(str(caught.value)) > 10
    assert [(repr(x.tolist()), x.stride(), x._version) for x in tensors] == before
