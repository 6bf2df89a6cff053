"""float16 and bfloat16 through every op: stored as such, computed in float32, rounded once.

What an op gives is compared with its result in float64 on the same half numbers: it must be as close to that as one
rounding allows. test_half_types_oracle.py compares with PyTorch.
"""

import warnings

import numpy as np

import tensorlab
from tests.ops.every_sample import FLOATING, as_tuple, dtype_name, each_sample
from tests.ops.record import recorded_types
from tests.ops.samples import make_tensor

EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126}
# Ops that round more often, and why; the number is how many units in the last place they may be off.
ROUNDED_TWICE = {
    "scatter_add": 2,  # duplicate indices add up where the sum is stored
    "addmv": 1.5,  # the product is rounded, then the sum
    "trapezoid": 2.5,  # each step of the formula is
    "cross_entropy": 1.5,  # the terms of a smoothed target are
    "binary_cross_entropy_with_logits": 1.5,  # the loss is rounded, then multiplied by the weight
    "binary_cross_entropy": 1,  # the same
    **dict.fromkeys(
        ("lp_pool1d", "lp_pool2d", "lp_pool3d", "local_response_norm"), 2
    ),  # powers and their mean are
    "gradient": 6,  # differences and their quotients are, one by one
    "smooth_l1_loss": 1,  # the piece near 0 is rounded, then divided
}
# Made of several ops whose results are rounded one by one, as PyTorch's are; off by less than a unit of the largest.
COMPOSED = {
    *(
        "bilinear",
        "addr",
        "cosine_similarity",
        "cumulative_trapezoid",
        "diff",
        "einsum",
        "histogram",
    ),
    *("index_add", "kl_div", "normalize", "pairwise_distance", "pow of negative numbers", "put"),
    *("lp_pool1d", "lp_pool2d", "lp_pool3d"),
    *("poisson_nll_loss", "softsign", "tanhshrink", "trapezoid"),
    *("corrcoef", "cov", "cross", "renorm"),
    *("linalg.matrix_power", "matrix_power", "linalg.multi_dot", "chain_matmul"),
    *("linalg.vecdot", "linalg.cross"),
}
# Samples that compute before they call the op, such as 1e7 x: that is rounded to a half first.
COMPUTE_BEFORE = {
    *("exp of large numbers", "sin of large numbers", "cos of large numbers"),
    *("sinh of 20 x", "cosh of 20 x", "asinh of 20 x"),
    *("var around a large mean", "log_softmax of large numbers"),
}
CANCELLING_GRADIENTS = {
    "cosine_similarity broadcast along"
}  # 0 but for what each term is rounded by
HALF_TYPES = ("float16", "bfloat16")


def spacing(values, dtype):
    """The distance from each number to the next larger one of that type."""
    values = np.nan_to_num(values, posinf=0, neginf=0)
    size = np.maximum(np.abs(values), SMALLEST_NORMAL[dtype])
    return 2.0 ** np.floor(np.log2(size)) * EPSILON[dtype]


def numbers(x):
    return np.array(x.tolist(), dtype="float64")


def call(sample, T, tensors):
    """What the sample gives, or None where the package refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return as_tuple(sample.call(T, *tensors))
    except (RuntimeError, TypeError):
        return None


def exact_numbers(sample, dtype):
    """The half numbers of the inputs, as doubles."""
    halves = [make_tensor(tensorlab, array, dtype) for array in sample.arrays()]
    return [x.double() if x.is_floating_point() else x for x in halves]


def assert_rounded(x, exact, dtype, units, of_the_largest):
    """x is the exact result to within so many units in the last place, its own or that of the largest."""
    assert dtype_name(x) == dtype
    x, exact = numbers(x), numbers(exact)
    unit = spacing(exact, dtype)
    # Float32 sums of large terms that cancel are off by more than the small result's last place.
    share = 2e-6 + of_the_largest * EPSILON[dtype]
    cancelled = share * np.max(np.abs(exact), initial=0, where=np.isfinite(exact))
    largest = 65504 if dtype == "float16" else 3.39e38
    same = (x == exact) | (np.isnan(x) & np.isnan(exact))
    same |= np.isinf(x) & (np.sign(x) == np.sign(exact)) & (np.abs(exact) >= largest)
    worst = np.max(np.where(same, 0, np.abs(x - exact) / unit), initial=0)
    assert np.all(same | (np.abs(x - exact) <= units * unit + cancelled)), f"off by {worst:.3g}"


@np.errstate(invalid="ignore", over="ignore")
@each_sample([s for s in FLOATING if s.name not in COMPUTE_BEFORE], dtype=HALF_TYPES)
def test_a_half_result_is_the_exact_one_rounded_once(sample, dtype):
    tensors = [make_tensor(tensorlab, array, dtype) for array in sample.arrays()]
    ours = call(sample, tensorlab, tensors)
    if ours is None:
        assert dtype not in sample.dtypes or recorded_types(sample)[dtype].endswith("Error")
        return
    exact = call(sample, tensorlab, exact_numbers(sample, dtype))
    for x, y in zip(ours, exact, strict=True):
        if hasattr(x, "dtype") and dtype_name(x) == dtype:
            is_composed = sample.op in COMPOSED or sample.name in COMPOSED
            assert_rounded(x, y, dtype, ROUNDED_TWICE.get(sample.op, 0.51), 2 * is_composed)


def test_every_half_number_goes_to_float32_and_back_unchanged():
    for dtype in ("float16", "bfloat16"):
        bits = tensorlab.arange(2**16, dtype=tensorlab.int32).to(tensorlab.int16)
        halves = bits.view(getattr(tensorlab, dtype))
        back = halves.float().to(getattr(tensorlab, dtype))
        same = back.view(tensorlab.int16) == bits
        assert (same | halves.isnan()).all()
        assert back.isnan().equal(halves.isnan())


def test_float32_rounds_to_the_nearest_half_and_ties_to_even():
    """Every pair of neighbouring halves: a quarter, the middle and three quarters of the way between them."""
    for dtype in ("float16", "bfloat16"):
        bits = tensorlab.arange(2**16, dtype=tensorlab.int32).to(tensorlab.int16)
        halves = bits.view(getattr(tensorlab, dtype))
        order = np.argsort(numbers(halves), kind="stable")
        values, patterns = numbers(halves)[order], bits.numpy()[order]
        finite = np.isfinite(values)
        values, patterns = values[finite], patterns[finite]
        low, high = values[:-1], values[1:]
        for share in (0.25, 0.5, 0.75):
            between = (low + (high - low) * share).astype("float32")
            is_even = patterns[:-1] % 2 == 0
            nearest = np.where((share < 0.5) | ((share == 0.5) & is_even), low, high)
            ours = tensorlab.from_numpy(between).to(getattr(tensorlab, dtype))
            np.testing.assert_array_equal(numbers(ours), nearest)


# ---------------------------------------------------------------- gradients, in place, out=
def gradients(sample, dtype):
    """The gradients by all floating inputs, weighted at random, of the half numbers in half or in double."""
    found = []
    for wide in (False, True):
        tensors = [make_tensor(tensorlab, array, dtype) for array in sample.arrays()]
        if wide:
            tensors = exact_numbers(sample, dtype)
        leaves = [x.requires_grad_() for x in tensors if x.is_floating_point()]
        results = [
            y for y in call(sample, tensorlab, tensors) or () if getattr(y, "requires_grad", 0)
        ]
        if not results:
            return ()
        rng = np.random.default_rng(1)
        weights = [
            make_tensor(tensorlab, rng.standard_normal(tuple(y.shape)), dtype) for y in results
        ]
        weights = [w.to(y.dtype) for w, y in zip(weights, results, strict=True)]
        found.append(tensorlab.autograd.grad(results, leaves, weights, allow_unused=True))
    return zip(*found, strict=True)


@np.errstate(invalid="ignore", over="ignore")
@each_sample(
    [s for s in FLOATING if s.derivatives and s.name not in COMPUTE_BEFORE | CANCELLING_GRADIENTS],
    dtype=HALF_TYPES,
)
def test_a_half_gradient_is_that_of_float64(sample, dtype):
    for x, y in gradients(sample, dtype):
        assert (x is None) == (y is None)
        if x is None:
            continue
        assert (dtype_name(x), x.shape) == (dtype, y.shape)
        x, y = numbers(x), numbers(y)
        allowed = 8 * EPSILON[dtype] * np.maximum(np.abs(y), np.nanmax(np.abs(y), initial=1e-3))
        assert np.all((x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= allowed))
