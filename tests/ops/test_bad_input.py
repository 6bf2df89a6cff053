"""Every bad call of the samples, without PyTorch: it raises the recorded class, says something, and changes nothing."""

import builtins
import re

import pytest

import tensorlab
from tests.ops.every_sample import each_sample, tensors_of
from tests.ops.record import RECORDED

OF_OTHER_OPS = {  # which the op is made of
    "clamp": "clamp_low",
    "conv_tbc": "conv1d",
    "cross_entropy": "nll_loss",
    "glu": "size",
    "poisson_nll_loss": "mul",
    "select_scatter": "select",
}


def begins_with_the_op(message, sample, call):
    """Does a message say first which op refuses the call, or is it Python's or Cython's own about a type?"""
    if message.startswith(("Argument '", "unsupported operand type")):
        return True
    first = sample.name.split()[0]
    names = {*call.__code__.co_names, first, OF_OTHER_OPS.get(first, first)}
    said = re.match(r"\w*", message)[0]
    return said.strip("_") in {name.strip("_") for name in names}


@pytest.mark.filterwarnings("ignore")  # some warn before they raise
@each_sample(number=lambda sample: range(len(sample.bad)))
def test_a_bad_call_raises_the_recorded_class_and_changes_nothing(sample, number):
    classes = RECORDED[sample.name]["bad"].split()
    assert len(classes) == len(sample.bad)
    tensors = tensors_of(sample.arrays())
    before = [(repr(x.tolist()), x.stride(), x._version) for x in tensors]
    with pytest.raises(getattr(builtins, classes[number])) as caught:
        sample.bad[number](tensorlab, *tensors)
    message = str(caught.value)
    assert len(message) > 10
    assert begins_with_the_op(message, sample, sample.bad[number])
    assert [(repr(x.tolist()), x.stride(), x._version) for x in tensors] == before
