"""Every op on inputs that do not lie in rows, without PyTorch: values, strides, derivatives, memory.

A layout must not show in the values: transposed inputs, inputs with gaps and inputs that begin within a storage give
what contiguous ones give, forward and backward. In the strides it may show, as it does in PyTorch.
"""

import numpy as np
import pytest

import tensorlab
from tests.ops.every_sample import (
    DIFFERENTIABLE,
    SAMPLES,
    call_quietly,
    dtype_name,
    each_sample,
)
from tests.ops.record import LAYOUTS, RECORDED, strides
from tests.ops.samples import is_floating, to_dtype

TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
# as_strided reads the storage and not the elements, so a layout is one of its arguments.
INDEPENDENT = [sample for sample in SAMPLES if not sample.op.startswith("as_strided")]


def shifted(array):
    """The same values from the second element of a storage on: vector loads are not aligned."""
    longer = np.zeros(array.size + 1, array.dtype)
    longer[1:] = array.reshape(-1)
    return longer[1:].reshape(array.shape)


def assert_same_results(found, expected, sample):
    for x, y in zip(found, expected, strict=True):
        if not isinstance(y, tensorlab.Tensor):
            assert x == y
            continue
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        tolerance = TOLERANCE.get(dtype_name(y), 0.0) * sample.tolerance
        np.testing.assert_allclose(
            x.detach().numpy(), y.detach().numpy(), rtol=tolerance, atol=tolerance
        )


# ------------------------------------------------------------------------------------------------ values and strides
@each_sample(
    INDEPENDENT,
    layout=(LAYOUTS["transposed"], LAYOUTS["stepped"], shifted),
    dtype=("float64", "float32"),
)
def test_strided_inputs_give_the_values_of_contiguous_ones(sample, layout, dtype):
    arrays = [to_dtype(array, dtype) for array in sample.arrays()]
    assert_same_results(
        call_quietly(sample.call, tensorlab, *[tensorlab.from_numpy(layout(a)) for a in arrays]),
        call_quietly(sample.call, tensorlab, *[tensorlab.from_numpy(a.copy()) for a in arrays]),
        sample,
    )


@each_sample([s for s in SAMPLES if s.same_strides], layout=LAYOUTS)
def test_results_have_the_recorded_strides(sample, layout):
    answers = dict(zip(LAYOUTS, RECORDED[sample.name]["strides"], strict=True))
    assert strides(tensorlab, sample, layout) == answers[layout]


# ------------------------------------------------------------------------------------------------ derivatives
def gradients(sample, arrays):
    """Gradients by all floating inputs, of the results weighted at random."""
    tensors = [tensorlab.from_numpy(a).requires_grad_(is_floating(a)) for a in arrays]
    results = call_quietly(sample.call, tensorlab, *tensors)
    results = [y for y in results if isinstance(y, tensorlab.Tensor) and y.requires_grad]
    rng = np.random.default_rng(1)
    weights = [tensorlab.tensor(rng.standard_normal(tuple(y.shape))).to(y.dtype) for y in results]
    leaves = [x for x in tensors if x.requires_grad]
    return tensorlab.autograd.grad(results, leaves, weights, allow_unused=True)


@each_sample([s for s in DIFFERENTIABLE if s in INDEPENDENT], layout=("transposed", "stepped"))
def test_strided_inputs_get_the_gradients_of_contiguous_ones(sample, layout):
    arrays = sample.arrays()
    found = gradients(sample, [LAYOUTS[layout](array) for array in arrays])
    for x, y in zip(found, gradients(sample, arrays), strict=True):
        assert (x is None) == (y is None)
        if y is not None:
            assert_same_results([x], [y], sample)


def along_each_dim_in_any_order(test):
    orders = [(2, 1, 0, 3), (3, 0, 2, 1), (1, 3, 0, 2), (0, 3, 2, 1)]
    test = pytest.mark.parametrize("dim", range(4))(test)
    return pytest.mark.parametrize("order", orders)(test)


@along_each_dim_in_any_order
@pytest.mark.parametrize(
    "call",
    [
        lambda x, dim: x.cumsum(dim),
        lambda x, dim: x.softmax(dim),
        lambda x, dim: x.sort(dim).values,
        lambda x, dim: x.median(dim).values,
        lambda x, dim: x.cummax(dim).indices,
        lambda x, dim: x.argmax(dim),
        lambda x, dim: x.std(dim),
    ],
    ids=["cumsum", "softmax", "sort", "median", "cummax", "argmax", "std"],
)
def test_slices_of_four_dimensions_in_any_order_are_those_of_a_copy(call, dim, order):
    rng = np.random.default_rng(5)
    x = tensorlab.from_numpy(rng.standard_normal((3, 4, 5, 2))).permute(order)
    np.testing.assert_allclose(
        call(x, dim).numpy(), call(x.contiguous(), dim).numpy(), rtol=1e-12, atol=1e-14
    )
    out = call(x.contiguous(), dim)
    written = (
        tensorlab.empty(x.shape, dtype=x.dtype).permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    )
    np.testing.assert_allclose(
        call(written.copy_(x), dim).numpy(), out.numpy(), rtol=1e-12, atol=1e-14
    )


@along_each_dim_in_any_order
@pytest.mark.parametrize(
    "call",
    [
        lambda x, dim: x.softmax(dim),
        lambda x, dim: x.log_softmax(dim),
        lambda x, dim: x.logcumsumexp(dim),
        lambda x, dim: x.cumprod(dim),
        lambda x, dim: tensorlab.nn.functional.normalize(x, dim=dim),
    ],
    ids=["softmax", "log_softmax", "logcumsumexp", "cumprod", "normalize"],
)
def test_gradients_of_four_dimensions_in_any_order_are_those_of_a_copy(call, dim, order):
    rng = np.random.default_rng(6)
    x = tensorlab.from_numpy(rng.standard_normal((3, 4, 5, 2))).permute(order).contiguous()
    shape = [x.shape[order.index(d)] for d in range(4)]
    grad = tensorlab.from_numpy(rng.standard_normal(shape)).permute(order)
    found = []
    for one in (grad, grad.contiguous()):
        leaf = x.clone().requires_grad_()
        call(leaf, dim).backward(one)
        found.append(leaf.grad.numpy())
    assert not grad.is_contiguous()
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-14)
