"""Reductions under a mask give what PyTorch's give, and what they give of the elements that are left."""

import warnings

import numpy as np
import pytest

import tensorlab
from tensorlab import masked
from tests.ops.agreement import agree
from tests.oracle import require_torch

REDUCTIONS = ["amax", "amin", "logsumexp", "mean", "norm", "prod", "std", "sum", "var"]
INDICES = ["argmax", "argmin"]
KEEPING = ["cumprod", "cumsum", "log_softmax", "softmax", "softmin"]
SHAPE = (3, 4, 2)
DTYPES = ["float64", "float32", "bfloat16", "int64", "int32", "uint8"]


def numbers(T, dtype, shape=SHAPE):
    x = np.random.default_rng(0).integers(0, 9, shape).astype("float64")
    return T.from_numpy(x / (4 if "float" in dtype else 1)).to(getattr(T, dtype))


def mask(T, name):
    """Masks: none, full, with gaps, with whole rows missing, and smaller ones that broadcast."""
    some = np.random.default_rng(1).random(SHAPE) < 0.6
    rows = some.copy()
    rows[1] = False
    masks = {
        "full": np.ones(SHAPE, bool),
        "some": some,
        "rows": rows,
        "broadcast": some[:1, :, :1],
        "fewer dimensions": some[0],
        "single": np.array(True),
    }
    return None if name == "none" else T.from_numpy(masks[name])


MASKS = ["none", "full", "some", "rows", "broadcast", "fewer dimensions", "single"]


def test_each_function_has_its_test():
    named = [*REDUCTIONS, *INDICES, *KEEPING, "logaddexp", "median", "normalize"]
    assert sorted(named) == masked.__all__


def values(result):
    """Shape, type and numbers; the strides are those of the op below, which is another one."""
    return [tuple(result.shape), str(result.dtype).rpartition(".")[2], result.tolist()]


def same(call, dtype="float64"):
    tolerance = {"bfloat16": 3e-2, "float64": 1e-9}.get(dtype, 1e-5)
    agree(lambda T: values(call(T)), tolerance)


# ------------------------------------------------------------------------------ as in PyTorch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_those_of_pytorch(name, dtype):
    for given in MASKS:
        for dim in (None, (), 0, -1, (0, 2), (-1, 1)):
            for keepdim in (False, True):
                same(
                    lambda T, given=given, dim=dim, keepdim=keepdim: getattr(T.masked, name)(
                        numbers(T, dtype), dim=dim, keepdim=keepdim, mask=mask(T, given)
                    ),
                    dtype,
                )


def complex_numbers(T):
    rng = np.random.default_rng(0)
    return T.from_numpy(rng.normal(size=SHAPE) + 1j * rng.normal(size=SHAPE))


@pytest.mark.parametrize("name", ["cumprod", "cumsum", *REDUCTIONS[2:]])  # no amax, no amin
def test_complex_numbers_keep_both_parts(name):
    def parts(T, given, dim):
        result = getattr(T.masked, name)(complex_numbers(T), dim=dim, mask=mask(T, given))
        return T.view_as_real(result.contiguous()) if result.is_complex() else result

    for given in MASKS:
        for dim in (0, -1):
            same(lambda T, given=given, dim=dim: parts(T, given, dim))


def test_a_median_of_complex_numbers_is_refused():
    with pytest.raises(RuntimeError, match="has no order"):
        masked.median(complex_numbers(tensorlab))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", INDICES)
def test_indices_are_those_of_pytorch(name, dtype):
    for given in MASKS:
        for dim in (None, 0, -1):
            same(
                lambda T, given=given, dim=dim: getattr(T.masked, name)(
                    numbers(T, dtype), dim, mask=mask(T, given)
                ),
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KEEPING)
def test_functions_that_keep_the_shape_are_those_of_pytorch(name, dtype):
    for given in MASKS:
        for dim in (0, -1):
            same(
                lambda T, given=given, dim=dim: getattr(T.masked, name)(
                    numbers(T, dtype), dim, mask=mask(T, given)
                ),
                dtype,
            )


@pytest.mark.parametrize("dtype", DTYPES)
def test_medians_are_those_of_pytorch(dtype):
    for given in MASKS:
        for dim in (0, 1, -1):
            for keepdim in (False, True):
                same(
                    lambda T, given=given, dim=dim, keepdim=keepdim: T.masked.median(
                        numbers(T, dtype), dim, keepdim=keepdim, mask=mask(T, given)
                    ),
                )


@pytest.mark.parametrize("ord", [2.0, 1.0, 3.0, 0.5, float("inf"), -float("inf")])
@pytest.mark.parametrize("given", MASKS)
def test_norms_are_those_of_pytorch(given, ord):
    for dim in (None, 1, (0, 2)):
        same(lambda T, dim=dim: T.masked.norm(numbers(T, "float64"), ord, dim, mask=mask(T, given)))
    for dim in (0, -1):
        same(
            lambda T, dim=dim: T.masked.normalize(
                numbers(T, "float64") + 1, ord, dim, mask=mask(T, given)
            )
        )


@pytest.mark.parametrize("name", ["var", "std"])
def test_corrections_are_those_of_pytorch(name):
    for options in ({"unbiased": False}, {"unbiased": True}, {"correction": 0}, {"correction": 2}):
        for given in MASKS:
            same(
                lambda T, given=given, options=options: getattr(T.masked, name)(
                    numbers(T, "float64"), 1, **options, mask=mask(T, given)
                )
            )


@pytest.mark.parametrize("first", MASKS)
@pytest.mark.parametrize("second", MASKS)
def test_sums_of_exponentials_are_those_of_pytorch(first, second):
    same(
        lambda T: T.masked.logaddexp(
            numbers(T, "float64"),
            numbers(T, "float64") - 1,
            input_mask=mask(T, first),
            other_mask=mask(T, second),
        )
    )


DTYPED = [name for name in masked.__all__ if name not in ("logaddexp", "median", "normalize")]


@pytest.mark.parametrize("name", DTYPED)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_results_of_another_type_are_those_of_pytorch(name, dtype):
    same(
        lambda T: getattr(T.masked, name)(
            numbers(T, "float32"), dim=1, dtype=getattr(T, dtype), mask=mask(T, "some")
        ),
        "float32",
    )


# ------------------------------------------------------------------------------ what is left
@pytest.mark.parametrize("name", [*REDUCTIONS, "median"])
def test_a_reduction_is_that_of_the_elements_that_are_left(name):
    x = numbers(tensorlab, "float64", (5, 30)) + 0.25
    some = tensorlab.from_numpy(np.random.default_rng(4).random((5, 30)) < 0.5)
    got = getattr(masked, name)(x, dim=1, mask=some)
    rows = [getattr(masked, name)(row[keep], dim=0) for row, keep in zip(x, some, strict=True)]
    assert tensorlab.allclose(got, tensorlab.stack(rows), rtol=1e-12)


GRADIENTS = [*REDUCTIONS, *KEEPING, "median"]


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_pytorch_and_0_where_the_mask_is_false(name):
    torch, grads = require_torch(), []
    for T in (tensorlab, torch):
        x = (numbers(T, "float64") + T.arange(24).reshape(SHAPE) / 100).requires_grad_()
        result = getattr(T.masked, name)(x, dim=1, mask=mask(T, "some"))
        result = result.masked_fill(~result.isfinite(), 0)
        (result * (T.arange(result.numel()).reshape(result.shape) + 1)).sum().backward()
        grads.append(x.grad.numpy())
    np.testing.assert_allclose(*grads, rtol=1e-9, atol=1e-12)
    assert (grads[0][~mask(tensorlab, "some").numpy()] == 0).all()


# ------------------------------------------------------------------------------ bad input
BAD = {
    "a mask that is too large": lambda T: T.masked.sum(T.ones(2), mask=T.ones(2, 2).bool()),
    "a mask of another shape": lambda T: T.masked.sum(T.ones(2), mask=T.ones(3).bool()),
    "a dimension twice": lambda T: T.masked.sum(T.ones(2, 2), (0, 0)),
    "a dimension out of range": lambda T: T.masked.amax(T.ones(2, 2), 2),
    "a mean of whole numbers": lambda T: T.masked.mean(T.ones(2).long()),
    "a mean to whole numbers": lambda T: T.masked.mean(T.ones(2), dtype=T.int64),
    "a median without numbers": lambda T: T.masked.median(
        T.ones(2, 2).long(), 1, mask=T.tensor([[True, True], [False, False]])
    ),
    "two corrections": lambda T: T.masked.var(T.ones(3), unbiased=True, correction=1),
    "no dimension": lambda T: T.masked.softmax(T.ones(3)),
    "a word": lambda T: T.masked.sum("abc"),
    "a mask that is a list": lambda T: T.masked.sum(T.ones(3), mask=[True, False, True]),
    "a number": lambda T: T.masked.amax(3.0),
    "bools under a mask": lambda T: T.masked.amax(
        T.tensor([True, False]), mask=T.tensor([True, False])
    ),
    "the smallest of bools under a mask": lambda T: T.masked.amin(
        T.tensor([True, False]), mask=T.tensor([True, False])
    ),
    "a dimension that is a fraction": lambda T: T.masked.sum(T.ones(3), 0.5),
    "a dimension that is a word": lambda T: T.masked.cumsum(T.ones(3), "a"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_class_of_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(lambda T: values(BAD[name](T)))


@pytest.mark.parametrize("name", ["MaskedTensor", "masked_tensor", "as_masked_tensor"])
def test_what_is_left_out_is_refused_by_name(name):
    with pytest.raises(AttributeError, match=name):
        getattr(masked, name)
