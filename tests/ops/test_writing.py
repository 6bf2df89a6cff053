"""What a call writes, without PyTorch: nothing of its inputs; in place and with out=, the functional result.

PyTorch's own answers are compared in test_all_samples.py; here an op is compared with itself.
"""

import warnings

import numpy as np
import pytest

import tensorlab
from tensorlab.errors import MemoryLayoutError
from tests.ops.every_sample import (
    SAMPLES,
    call_quietly,
    dtype_name,
    each_sample,
    tensors_of,
)
from tests.ops.samples import is_floating, make_tensor

IN_PLACE = [sample for sample in SAMPLES if sample.inplace]
WITH_OUT = [sample for sample in SAMPLES if sample.out]
# Give int64 of bool, which bool takes back in place all the same.
SUMMED_IN_THEIR_TYPE = {"cumsum", "cumprod"}


def bits(x):
    """Everything that a tensor holds, nan and the sign of zero included."""
    return (tuple(x.shape), dtype_name(x), repr(x.detach().tolist()))


def result_of(sample, tensors):
    """The only result of a call; in-place and out= forms have no others."""
    (result,) = call_quietly(sample.call, tensorlab, *tensors)
    return result


# ------------------------------------------------------------------------------------------------ inputs and views
@each_sample()
def test_a_call_changes_none_of_its_inputs(sample):
    tensors = tensors_of(sample.arrays())
    before = [(bits(x), x.stride(), x._version) for x in tensors]
    call_quietly(sample.call, tensorlab, *tensors)
    assert [(bits(x), x.stride(), x._version) for x in tensors] == before


@each_sample()
def test_a_result_that_shares_memory_is_a_view_or_the_input_itself(sample):
    tensors = tensors_of(sample.arrays())
    owned = {x.untyped_storage().data_ptr() for x in tensors if x.numel()}
    for y in call_quietly(sample.call, tensorlab, *tensors):
        if isinstance(y, tensorlab.Tensor) and y.numel():
            shares = y.untyped_storage().data_ptr() in owned
            is_input = any(y is x for x in tensors)
            from_input = y._is_view() and any(y._base is x for x in tensors)
            assert shares == (is_input or from_input)


# ------------------------------------------------------------------------------------------------ in place
@each_sample(IN_PLACE, dtype=lambda sample: ("float64", *sample.dtypes))
def test_in_place_it_writes_what_the_functional_form_gives(sample, dtype):
    """Where the type cannot hold the result, it refuses and writes nothing."""
    tensors = tensors_of(sample.arrays(), dtype)
    x = tensors[0]
    before, version = bits(x), x._version
    try:
        expected = result_of(sample, tensors_of(sample.arrays(), dtype))
        fits = tensorlab.can_cast(expected.dtype, x.dtype) or sample.op in SUMMED_IN_THEIR_TYPE
        fits = fits and (sample.op != "float_power" or x.dtype is tensorlab.float64)
    except (RuntimeError, TypeError):
        fits = False
    if not fits:
        with pytest.raises((RuntimeError, TypeError)):
            sample.inplace(tensorlab, *tensors)
        assert (bits(x), x._version) == (before, version)
        return
    assert sample.inplace(tensorlab, *tensors) is x
    assert x._version == version + 1
    assert bits(x) == bits(expected.to(x.dtype))


@each_sample(IN_PLACE)
def test_in_place_on_a_view_it_leaves_the_gaps_alone(sample):
    """The tensor written to is every other column of a wider one."""
    first, *rest = sample.arrays()
    wide = tensorlab.from_numpy(np.repeat(first, 2, axis=-1) if first.ndim else first.copy())
    view = wide[..., ::2] if first.ndim else wide
    gaps = bits(wide[..., 1::2]) if first.ndim else None
    expected = tensors_of([first, *rest])
    sample.inplace(tensorlab, *expected)
    sample.inplace(tensorlab, view, *tensors_of(rest))
    assert bits(view) == bits(expected[0])
    assert gaps is None or bits(wide[..., 1::2]) == gaps
    assert wide._version == view._version == 1


@each_sample([s for s in IN_PLACE if s.derivatives])
def test_in_place_it_has_the_gradients_of_the_functional_form(sample):
    arrays = sample.arrays()

    def gradients(call):
        tensors = [make_tensor(tensorlab, a, requires_grad=is_floating(a)) for a in arrays]
        y = call(tensors[0] * 1, *tensors[1:])
        weights = tensorlab.tensor(np.random.default_rng(1).standard_normal(tuple(y.shape)))
        leaves = [x for x in tensors if x.requires_grad]
        return tensorlab.autograd.grad(y, leaves, weights, allow_unused=True)

    in_place = gradients(lambda *tensors: sample.inplace(tensorlab, *tensors))
    for x, y in zip(in_place, gradients(lambda *ts: result_of(sample, ts)), strict=True):
        np.testing.assert_allclose(
            *[np.zeros(()) if g is None else g.numpy() for g in (x, y)], rtol=1e-12, atol=1e-12
        )


@each_sample([s for s in IN_PLACE if s.derivatives])
def test_in_place_it_refuses_a_leaf_that_requires_grad(sample):
    tensors = tensors_of(sample.arrays())
    tensors[0].requires_grad_()
    before = bits(tensors[0])
    with pytest.raises(RuntimeError, match="leaf"):
        sample.inplace(tensorlab, *tensors)
    assert bits(tensors[0]) == before


# ------------------------------------------------------------------------------------------------ out=
def written(sample, out, tensors):
    """What out= holds after the call, which must give out= itself back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sample.out(tensorlab, *tensors, out=out) is out
    return out


@each_sample(WITH_OUT, dtype=lambda sample: ("float64", *sample.dtypes))
def test_out_holds_what_the_functional_form_gives(sample, dtype):
    tensors = tensors_of(sample.arrays(), dtype)
    try:
        expected = result_of(sample, tensors)
    except (RuntimeError, TypeError):
        with pytest.raises((RuntimeError, TypeError)):
            written(sample, tensorlab.zeros(0, dtype=tensors[0].dtype), tensors)
        return
    assert bits(written(sample, tensorlab.empty_like(expected), tensors)) == bits(expected)


@each_sample(WITH_OUT)
def test_out_of_another_shape_is_resized_with_a_warning_unless_empty(sample):
    tensors = tensors_of(sample.arrays())
    expected = result_of(sample, tensors)
    empty = tensorlab.zeros(0, dtype=expected.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample.out(tensorlab, *tensors, out=empty)
    assert bits(empty) == bits(expected)
    other = tensorlab.zeros(7, 5, dtype=expected.dtype)
    with pytest.warns(UserWarning, match="resized"):
        sample.out(tensorlab, *tensors, out=other)
    assert bits(other) == bits(expected)


@pytest.mark.parametrize("name", ["sort", "max", "min", "mode", "median", "topk", "kthvalue"])
def test_each_out_of_two_is_resized_with_a_warning(name):
    x, arguments = tensorlab.rand(3, 4), (2,) if name in ("topk", "kthvalue") else (1,)
    expected = getattr(tensorlab, name)(x, *arguments)
    out = (tensorlab.zeros(7, 5), tensorlab.zeros(7, 5, dtype=tensorlab.int64))
    with pytest.warns(UserWarning, match=f"{name}.*resized") as caught:
        getattr(tensorlab, name)(x, *arguments, out=out)
    assert len(caught) == 2
    assert [bits(y) for y in out] == [bits(y) for y in expected]


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_out_of_a_quantile_is_resized_with_a_warning(name):
    x, out = tensorlab.rand(3, 4), tensorlab.zeros(7, 5)
    with pytest.warns(UserWarning, match=f"{name}.*resized"):
        getattr(tensorlab, name)(x, 0.5, 1, out=out)
    assert bits(out) == bits(getattr(tensorlab, name)(x, 0.5, 1))


@each_sample(WITH_OUT)
def test_out_with_gaps_keeps_them(sample):
    tensors = tensors_of(sample.arrays())
    expected = result_of(sample, tensors)
    wide = tensorlab.ones((*expected.shape, 2), dtype=expected.dtype)
    assert bits(written(sample, wide[..., 0], tensors)) == bits(expected)
    assert (wide[..., 1] == 1).all()


@each_sample([s for s in WITH_OUT if s.derivatives])
def test_out_refuses_what_needs_a_gradient(sample):
    tensors = tensors_of(sample.arrays())
    out = tensorlab.zeros_like(result_of(sample, tensors))
    before = bits(out)
    next(x for x in tensors if x.is_floating_point()).requires_grad_()
    with pytest.raises(RuntimeError, match="out="):
        sample.out(tensorlab, *tensors, out=out)
    assert bits(out) == before


@each_sample(WITH_OUT)
def test_out_may_be_one_of_the_inputs(sample):
    """As far as it has the result's shape and type: an op that reads what it has written would show.

    Those that PyTorch refuses are in test_out.py.
    """
    expected = result_of(sample, tensors_of(sample.arrays()))
    for number, x in enumerate(tensors_of(sample.arrays())):
        if (x.shape, x.dtype) == (expected.shape, expected.dtype):
            tensors = tensors_of(sample.arrays())
            try:
                assert bits(written(sample, tensors[number], tensors)) == bits(expected)
            except MemoryLayoutError:
                assert bits(tensors[number]) == bits(x)
