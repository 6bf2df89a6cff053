"""Each sample of each op, recorded, made functional, differentiated and cut in two, is what it was."""

import warnings
from contextlib import nullcontext

import pytest

from tensorlab.compiler.cannot_compile import CannotCompile
from tests.compiler.agreement import assert_agrees
from tests.compiler.programs import READS_VALUES, forms_of, inputs_of, wants_grad
from tests.ops.every_sample import each_sample


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@each_sample(form=forms_of, mode=("save", "recompute"))
def test_a_sample_keeps_its_values_and_its_gradients(sample, form, mode):
    requires_grad = wants_grad(sample, form)
    reason = READS_VALUES.get(sample.name) if requires_grad else None
    refusal = pytest.raises(CannotCompile, match=reason) if reason else nullcontext()
    with refusal:
        assert_agrees(form(sample), lambda: inputs_of(sample, requires_grad), mode=mode)
