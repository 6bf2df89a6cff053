"""float16 and bfloat16 through every op, against PyTorch.

What an op gives is compared with PyTorch's result in float64 on the same half numbers. It must be as close to that as
one rounding allows, or at least as close as PyTorch's own half result is.
"""

import warnings

import numpy as np
from tensorlab._core.engine.backward import grad as tensorlab_grad

import tensorlab
from tests.ops import samples_complex
from tests.ops.every_sample import FLOATING as ALL_FLOATING
from tests.ops.every_sample import dtype_name, each_sample
from tests.ops.samples import is_floating, make_tensor
from tests.ops.test_half_types import EPSILON, HALF_TYPES, ROUNDED_TWICE, call, numbers, spacing
from tests.oracle import require_torch

torch = require_torch()

# Of half numbers PyTorch makes complex ones of 32 bits, a type that is not here.
COMPLEX = {sample.name for sample in samples_complex.SAMPLES}
FLOATING = [s for s in ALL_FLOATING if s.in_pytorch and s.name not in COMPLEX]


@np.errstate(invalid="ignore", over="ignore")
@each_sample(FLOATING, dtype=HALF_TYPES)
def test_a_half_result_is_as_near_to_the_exact_one_as_pytorchs(sample, dtype):
    arrays = sample.arrays()
    halves = [make_tensor(torch, array, dtype) for array in arrays]
    doubles = [x.double() if x.is_floating_point() else x for x in halves]
    ours = call(sample, tensorlab, [make_tensor(tensorlab, array, dtype) for array in arrays])
    theirs, exact = call(sample, torch, halves), call(sample, torch, doubles)
    if theirs is None or exact is None:
        assert ours is None or dtype not in sample.dtypes, "PyTorch refuses this type"
        return
    assert ours is not None, "PyTorch takes this type"
    for x, y, z in zip(ours, theirs, exact, strict=True):
        if not hasattr(y, "dtype") or dtype_name(y) not in EPSILON:
            continue
        assert dtype_name(x) == dtype_name(y)
        x, y, z = numbers(x), numbers(y), numbers(z)
        y = without_wrong_nan(x, y, z)
        unit = spacing(z, dtype)
        # Float32 sums of large terms that cancel are off by more than the small result's last place.
        cancelled = 2e-6 * np.max(np.abs(z), initial=0, where=np.isfinite(z))
        allowed = np.maximum(ROUNDED_TWICE.get(sample.op, 0.51) * unit + cancelled, np.abs(y - z))
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        worst = np.max(np.where(same, 0, np.abs(x - z) / unit), initial=0)
        assert np.all(same | (np.abs(x - z) <= allowed)), f"off by {worst:.3g} units"


def without_wrong_nan(x, y, exact):
    """PyTorch's matrix_exp of half numbers is nan where ours and the exact one are numbers; that one counts, then."""
    return np.where(np.isnan(y) & ~np.isnan(x), exact, y)


# ---------------------------------------------------------------- gradients, in place, out=
def half_gradients(T, grad, sample, arrays, dtype):
    """The gradients by all floating inputs, weighted at random."""
    tensors = [make_tensor(T, array, dtype, is_floating(array)) for array in arrays]
    results = [y for y in call(sample, T, tensors) or () if getattr(y, "requires_grad", False)]
    rng = np.random.default_rng(1)
    weights = [make_tensor(T, rng.standard_normal(tuple(y.shape)), dtype_name(y)) for y in results]
    leaves = [x for x in tensors if x.requires_grad]
    return grad(results, leaves, weights, allow_unused=True) if results else ()


@np.errstate(invalid="ignore", over="ignore")
@each_sample(
    [sample for sample in FLOATING if sample.derivatives and sample.name != "topk many"],  # ties
    dtype=HALF_TYPES,
)
def test_a_half_gradient_is_pytorchs_or_that_of_float64(sample, dtype):
    arrays = sample.arrays()
    try:
        theirs = half_gradients(torch, torch.autograd.grad, sample, arrays, dtype)
    except (RuntimeError, TypeError):
        return
    if not theirs:  # PyTorch refuses this type
        return
    ours = half_gradients(tensorlab, tensorlab_grad, sample, arrays, dtype)
    exact = half_gradients(torch, torch.autograd.grad, sample, arrays, "float64")
    for x, y, z in zip(ours, theirs, exact, strict=True):
        if y is None:
            assert x is None
            continue
        assert (dtype_name(x), tuple(x.shape)) == (dtype_name(y), tuple(y.shape))
        x, y, z = numbers(x), numbers(y), numbers(z)
        y = without_wrong_nan(x, y, z)
        allowed = 8 * EPSILON[dtype] * np.maximum(np.abs(y), np.nanmax(np.abs(y), initial=1e-3))
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        assert np.all(same | (np.abs(x - y) <= allowed) | (np.abs(x - z) <= allowed))


def written(sample, how, T, dtype, in_double=False):
    """What is in the tensor that was written, or None where the package refuses."""
    tensors = [make_tensor(T, array, dtype) for array in sample.arrays()]
    if in_double:
        tensors = [x.double() if x.is_floating_point() else x for x in tensors]
    results = call(sample, T, tensors)
    if results is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if how == "inplace":
                return sample.inplace(T, *tensors)
            out = T.empty(0, dtype=results[0].dtype)
            sample.out(T, *tensors, out=out)
            return out
    except (RuntimeError, TypeError):
        return None


@np.errstate(invalid="ignore", over="ignore")
@each_sample(
    FLOATING,
    how=lambda sample: [how for how in ("inplace", "out") if getattr(sample, how)],
    dtype=HALF_TYPES,
)
def test_what_is_written_over_a_half_tensor_is_what_pytorch_writes(sample, how, dtype):
    """Or nearer to the result in doubles: PyTorch rounds a quotient before it truncates it, in its vector code only."""
    x, y = written(sample, how, tensorlab, dtype), written(sample, how, torch, dtype)
    if y is None:
        assert x is None or dtype not in sample.dtypes
        return
    assert (dtype_name(x), tuple(x.shape)) == (dtype_name(y), tuple(y.shape))
    x, y = numbers(x), numbers(y)
    scale = np.max(np.abs(y), initial=1e-3, where=np.isfinite(y))
    if not np.allclose(
        x, y, rtol=8 * EPSILON[dtype], atol=8 * EPSILON[dtype] * scale, equal_nan=True
    ):
        y = numbers(written(sample, how, torch, dtype, in_double=True))
    np.testing.assert_allclose(x, y, rtol=8 * EPSILON[dtype], atol=8 * EPSILON[dtype] * scale)
