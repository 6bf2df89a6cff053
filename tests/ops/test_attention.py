"""Attention in blocks: against its formula and PyTorch, over block borders, masks and layouts, in linear memory."""

import math
import warnings

import numpy as np
import pytest

import tensorlab
from tensorlab.nn import functional as F
from tensorlab.nn.attention import SDPBackend, sdpa_kernel
from tests.oracle import assert_same_values, require_torch

INF = math.inf


def normal(*shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def leaf(values, package=tensorlab):
    return package.tensor(
        values.tolist(), dtype=getattr(package, str(values.dtype)), requires_grad=True
    )


def by_formula(call):
    """What a call gives where blocks are not allowed."""
    with sdpa_kernel(SDPBackend.MATH):
        return call()


def differentiated(arrays, attend, grad_seed=9):
    """Result and gradients of an attention of arrays."""
    leaves = [leaf(one) for one in arrays]
    out = attend(*leaves)
    grads = tensorlab.autograd.grad(
        out, leaves, tensorlab.tensor(normal(*out.shape, seed=grad_seed)).to(out.dtype)
    )
    return [out, *grads]


def assert_blocks_agree_with_the_formula(arrays, tolerance=1e-11, **options):
    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, **options)

    found = differentiated(arrays, attend)
    assert found[0].grad_fn.name() == "ScaledDotProductFlashAttentionForCpuBackward0"
    expected = by_formula(lambda: differentiated(arrays, attend))
    assert "Flash" not in expected[0].grad_fn.name()
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(
            one.detach().numpy(), other.detach().numpy(), tolerance, tolerance
        )


# Lengths around the borders of blocks of 128.
LENGTHS = [(1, 1), (1, 300), (127, 129), (128, 128), (129, 257), (130, 127), (300, 1), (257, 140)]


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "numbers", "column", "row"])
@pytest.mark.parametrize(("queries", "keys"), LENGTHS)
def test_blocks_compute_and_differentiate_the_formula(queries, keys, kind):
    arrays = [normal(2, queries, 5), normal(2, keys, 5, seed=1), normal(2, keys, 3, seed=2)]
    rng = np.random.default_rng(4)
    options = {"is_causal": True} if kind == "causal" else {}
    if kind == "bool":
        options = {"attn_mask": tensorlab.tensor(rng.random((queries, keys)) < 0.7)}
    elif kind == "numbers":
        options = {"attn_mask": tensorlab.tensor(3 * normal(2, queries, keys, seed=5))}
    elif kind == "column":
        options = {"attn_mask": tensorlab.tensor(normal(2, 1, keys, seed=5))}
    elif kind == "row":
        options = {"attn_mask": tensorlab.tensor(rng.random((queries, 1)) < 0.7)}
    assert_blocks_agree_with_the_formula(arrays, **options)


@pytest.mark.parametrize("scale", [0.0, 0.3, -2.0, None])
def test_scores_are_scaled(scale):
    arrays = [normal(3, 140, 4, seed=i) for i in range(3)]
    assert_blocks_agree_with_the_formula(arrays, scale=scale)
    assert_blocks_agree_with_the_formula(arrays, scale=scale, is_causal=True)


def test_scores_that_grow_from_block_to_block_do_not_overflow():
    q, k, v = normal(1, 3, 2), normal(1, 600, 2, seed=1), normal(1, 600, 2, seed=2)
    k *= np.linspace(1, 2000, 600)[:, None]
    assert_blocks_agree_with_the_formula([q, k, v], 1e-9)
    assert_blocks_agree_with_the_formula([q, k[:, ::-1], v], 1e-9)


@pytest.mark.parametrize("queries", [5, 200])
def test_float32_is_as_exact_as_the_formula(queries):
    arrays = [normal(2, 2, queries, 16, seed=i, dtype="float32") for i in range(3)]
    assert_blocks_agree_with_the_formula(arrays, 2e-5)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_result_does_not_depend_on_threads(threads):
    arrays = [normal(3, 4, 150, 32, seed=i, dtype="float32") for i in range(3)]
    found = differentiated(arrays, lambda *x: F.scaled_dot_product_attention(*x, is_causal=True))
    before = tensorlab.get_num_threads()
    tensorlab.set_num_threads(threads)
    try:
        again = differentiated(
            arrays, lambda *x: F.scaled_dot_product_attention(*x, is_causal=True)
        )
    finally:
        tensorlab.set_num_threads(before)
    for one, other in zip(found, again, strict=True):
        assert one.equal(other)


# ---------------------------------------------------------------- rows that see nothing, nan and infinity
@pytest.mark.parametrize("keys", [3, 200])
@pytest.mark.parametrize("kind", ["bool", "numbers"])
@pytest.mark.parametrize("dims", [3, 4])
def test_a_query_that_may_look_nowhere_gets_zeros_and_gives_no_gradient(kind, keys, dims):
    arrays = [normal(*(1, 2)[-dims + 2 :], n, 4, seed=n, dtype="float32") for n in (3, keys, keys)]
    hides = np.zeros((3, keys), bool)
    hides[1] = True
    hides[2, : keys - 1] = True  # sees the last one only
    mask = ~hides if kind == "bool" else np.where(hides, np.float32(-INF), np.float32(0))
    outs = []
    for package in (tensorlab, require_torch()):
        leaves = [leaf(one, package) for one in arrays]
        out = package.nn.functional.scaled_dot_product_attention(
            *leaves, package.tensor(mask.tolist())
        )
        out.sum().backward()
        outs.append([out, *(x.grad for x in leaves)])
    for one, other in zip(*outs, strict=True):
        assert_same_values(one, other, 2e-6)
    assert (outs[0][0][..., 1, :] == 0).all()
    assert_blocks_agree_with_the_formula([x.astype("float64") for x in arrays], attn_mask=tensorlab.tensor(mask).to(
        tensorlab.bool if kind == "bool" else tensorlab.float64))  # fmt: skip


@pytest.mark.parametrize("keys", [2, 200])
def test_nan_in_a_score_reaches_its_row_only(keys):
    q, k, v = normal(1, 3, 2), normal(1, keys, 2), normal(1, keys, 2)
    q[0, 1, 0] = math.nan
    assert_blocks_agree_with_the_formula([q, k, v])
    out = F.scaled_dot_product_attention(*map(tensorlab.tensor, (q, k, v)))
    assert out.isnan().any(-1).tolist() == [[False, True, False]]
    k[0, keys - 1] = [INF, 1]
    assert_blocks_agree_with_the_formula([np.abs(q), k, v])
    k[0, :] = -INF
    q[0, 1, 0] = 1
    out = F.scaled_dot_product_attention(*map(tensorlab.tensor, (np.abs(q), k, v)))
    assert out.abs().max().item() == 0


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3, 4), (2, 0, 4), (2, 0, 5)],
        [(2, 0, 4), (2, 3, 4), (2, 3, 5)],
        [(0, 3, 4), (0, 2, 4), (0, 2, 4)],
        [(2, 3, 0), (2, 5, 0), (2, 5, 4)],
        [(2, 3, 4), (2, 5, 4), (2, 5, 0)],
    ],
)
def test_without_keys_or_queries_or_features_there_is_nothing_to_weigh(shapes):
    outs = []
    for package in (tensorlab, require_torch()):
        leaves = [package.ones(shape, requires_grad=True) for shape in shapes]
        out = package.nn.functional.scaled_dot_product_attention(*leaves)
        out.sum().backward()
        outs.append([out, *(x.grad for x in leaves)])
    for one, other in zip(*outs, strict=True):
        assert_same_values(one, other, 1e-6)


# ---------------------------------------------------------------- layouts and batches
LAYOUTS = [
    lambda T, x: x,
    lambda T, x: x.transpose(1, 2).contiguous().transpose(1, 2),
    lambda T, x: x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
    lambda T, x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    lambda T, x: T.cat([x, x, x], -1).chunk(3, -1)[1],
    lambda T, x: T.cat([x, x], -2)[..., ::2, :],
]


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
def test_any_layout_is_taken_and_the_result_lies_in_memory_as_in_pytorch(layout):
    arrays = [normal(2, 3, n, 4, seed=n, dtype="float32") for n in (5, 6, 6)]
    outs = []
    for package in (tensorlab, require_torch()):
        leaves = [
            LAYOUTS[layout](package, leaf(one, package)).detach().requires_grad_() for one in arrays
        ]
        out = package.nn.functional.scaled_dot_product_attention(*leaves)
        out.square().sum().backward()
        outs.append([out, *(x.grad for x in leaves)])
    assert outs[0][0].stride() == outs[1][0].stride()
    for one, other in zip(*outs, strict=True):
        assert_same_values(one, other, 1e-5)


@pytest.mark.parametrize(
    "overlap",
    [
        lambda x: x[:, :1].expand(2, 140, 4),
        lambda x: x[:, :, :1].expand(2, 140, 4),
        lambda x: x[:1].expand(2, 140, 4),
        lambda x: x.as_strided((2, 140, 4), (560, 1, 1)),
        lambda x: x.as_strided((2, 140, 4), (560, 3, 1)),
    ],
)
def test_rows_that_overlap_in_memory_are_copied_first(overlap):
    x, weight = leaf(normal(2, 140, 4)), tensorlab.tensor(normal(2, 140, 4, seed=1))
    for place in range(3):
        found, expected = [], []
        for grads, copied in ((found, lambda y: y), (expected, tensorlab.Tensor.contiguous)):
            inputs = [x, x * 2, x * 3]
            inputs[place] = copied(overlap(x))
            out = F.scaled_dot_product_attention(*inputs)
            grads += [out, *tensorlab.autograd.grad((out * weight).sum(), x)]
        for one, other in zip(found, expected, strict=True):
            assert one.allclose(other, 1e-10, 1e-12)


def test_a_gradient_that_is_one_number_everywhere_is_taken():
    leaves = [leaf(normal(2, 3, 4, seed=i)) for i in range(3)]
    out = F.scaled_dot_product_attention(*leaves)
    one = tensorlab.ones(()).double()
    found = tensorlab.autograd.grad(out, leaves, one.expand(out.shape), retain_graph=True)
    expected = tensorlab.autograd.grad(out, leaves, tensorlab.ones_like(out))
    for grad, other in zip(found, expected, strict=True):
        assert grad.equal(other)


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 4), (5, 4), (5, 2)],
        [(2, 3, 4), (5, 4), (5, 2)],
        [(3, 4), (2, 5, 4), (1, 5, 2)],
        [(2, 1, 3, 4), (1, 3, 5, 4), (5, 2)],
        [(2, 3, 1, 3, 4), (2, 3, 2, 5, 4), (2, 1, 2, 5, 4)],
    ],
)
def test_batches_are_broadcast_as_in_pytorch(shapes):
    outs = []
    for package in (tensorlab, require_torch()):
        leaves = [leaf(normal(*shape, seed=i), package) for i, shape in enumerate(shapes)]
        out = package.nn.functional.scaled_dot_product_attention(*leaves)
        out.square().sum().backward()
        outs.append([out, *(x.grad for x in leaves)])
    for one, other in zip(*outs, strict=True):
        assert_same_values(one, other, 1e-10)


@pytest.mark.parametrize("heads", [(2, 2), (4, 2), (1, 4)])
def test_heads_are_shared_as_in_pytorch(heads):
    shapes = [(2, 4, 3, 5), (2, heads[0], 6, 5), (2, heads[1], 6, 5)]
    outs = []
    for package in (tensorlab, require_torch()):
        leaves = [leaf(normal(*shape, seed=i), package) for i, shape in enumerate(shapes)]
        out = package.nn.functional.scaled_dot_product_attention(*leaves, enable_gqa=True)
        out.square().sum().backward()
        outs.append([out, *(x.grad for x in leaves)])
    for one, other in zip(*outs, strict=True):
        assert_same_values(one, other, 1e-10)


# ---------------------------------------------------------------- gradients
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.7}])
def test_second_derivatives_are_those_of_the_formula(options):
    leaves = [leaf(normal(2, n, 3, seed=n)) for n in (3, 4, 4)]
    assert tensorlab.autograd.gradcheck(
        lambda *x: F.scaled_dot_product_attention(*x, **options), leaves
    )
    assert tensorlab.autograd.gradgradcheck(
        lambda *x: F.scaled_dot_product_attention(*x, **options), leaves
    )


@pytest.mark.parametrize("kind", ["bool", "numbers"])
def test_a_mask_is_part_of_second_derivatives(kind):
    mask = (
        tensorlab.tensor(normal(3, 4))
        if kind == "numbers"
        else tensorlab.tensor(normal(3, 4) < 0.5)
    )
    leaves = [leaf(normal(n, 3, seed=n)) for n in (3, 4, 4)]
    assert tensorlab.autograd.gradgradcheck(
        lambda *x: F.scaled_dot_product_attention(*x, mask), leaves
    )


@pytest.mark.parametrize("create_graph", [False, True])
def test_only_what_needs_a_gradient_gets_one(create_graph):
    arrays = [normal(2, 3, 4, seed=i) for i in range(3)]
    everything = differentiated(arrays, F.scaled_dot_product_attention)[1:]
    grad = tensorlab.tensor(normal(2, 3, 4, seed=9))
    for needed in ([0], [1], [2], [0, 2], [1, 2]):
        x = [tensorlab.tensor(one) for one in arrays]
        for i in needed:
            x[i].requires_grad_()
        F.scaled_dot_product_attention(*x).backward(grad, create_graph=create_graph)
        for i in range(3):
            assert (x[i].grad is not None) == (i in needed)
            assert i not in needed or x[i].grad.allclose(everything[i])
    x = [leaf(one) for one in arrays]
    (found,) = tensorlab.autograd.grad(F.scaled_dot_product_attention(*x), x[1], grad)
    assert found.allclose(everything[1])
    assert all(one.grad is None for one in x)


def test_a_mask_that_learns_gets_the_gradient_that_pytorch_gives_it():
    grads = []
    for package in (tensorlab, require_torch()):
        x = leaf(normal(2, 3, 4), package)
        mask = leaf(normal(3, 3), package)
        package.nn.functional.scaled_dot_product_attention(x, x, x, mask).square().sum().backward()
        grads.append((x.grad, mask.grad))
    for one, other in zip(*grads, strict=True):
        assert_same_values(one, other, 1e-10)


def test_writing_over_what_was_saved_is_refused():
    for i in range(4):
        leaves = [leaf(normal(2, 3, 4, seed=j)) for j in range(3)]
        x = [one * 1 for one in leaves]
        out = F.scaled_dot_product_attention(*x)
        (x[i] if i < 3 else out).mul_(2)
        with pytest.raises(RuntimeError, match="version"):
            out.sum().backward()


def test_a_result_is_freed_with_its_last_reference():
    import gc
    import weakref

    x = leaf(normal(2, 3, 4))
    out = F.scaled_dot_product_attention(x, x, x)
    gc.disable()
    try:
        node = weakref.ref(out)
        del out
        assert node() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------- memory
def peak_of(run):
    tensorlab.reset_peak_memory_stats()
    before = tensorlab.memory_stats()["allocated_bytes"]
    run()
    return tensorlab.memory_stats()["peak_bytes"] - before


def test_memory_grows_with_the_length_and_not_with_its_square():
    def train(length):
        x = [tensorlab.ones(1, 2, length, 8, requires_grad=True) for _ in range(3)]
        return peak_of(lambda: F.scaled_dot_product_attention(*x, is_causal=True).sum().backward())

    train(128)
    assert train(2048) < 2.5 * train(1024)


# ---------------------------------------------------------------- dropout and types
def test_dropped_weights_are_those_that_pytorch_drops():
    outs = []
    for package in (tensorlab, require_torch()):
        package.manual_seed(5)
        x = leaf(normal(2, 4, 6, 4, dtype="float32"), package)
        out = package.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.4)
        out.sum().backward()
        outs.append((out, x.grad))
    for one, other in zip(*outs, strict=True):
        assert_same_values(one, other, 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mask_dtype", [None, "float32", "half", "bool"])
def test_half_types_are_rounded_once(dtype, mask_dtype):
    dtype = getattr(tensorlab, dtype)
    x = [tensorlab.tensor(normal(2, 5, 4, seed=i)).to(dtype) for i in range(3)]
    mask = None if mask_dtype is None else tensorlab.tensor(normal(5, 5))
    if mask is not None:
        mask = (
            mask > 0
            if mask_dtype == "bool"
            else mask.to(dtype if mask_dtype == "half" else tensorlab.float32)
        )
    out = F.scaled_dot_product_attention(*x, mask)
    wide = mask if mask is None or mask_dtype == "bool" else mask.double()
    exact = F.scaled_dot_product_attention(*(one.double() for one in x), wide)
    assert out.dtype == dtype
    assert out.double().allclose(exact, 2**-7 if dtype == tensorlab.bfloat16 else 2**-10, 1e-3)


def test_meta_tensors_have_the_shape_and_the_gradients_shapes():
    x = [tensorlab.ones(2, 3, n, 4, device="meta", requires_grad=True) for n in (5, 6, 6)]
    out = F.scaled_dot_product_attention(*x)
    assert (tuple(out.shape), out.device.type) == ((2, 3, 5, 4), "meta")
    out.sum().backward()
    assert [tuple(one.grad.shape) for one in x] == [(2, 3, n, 4) for n in (5, 6, 6)]


# ---------------------------------------------------------------- refusals
def ones(T, *shape, dtype="float32"):
    return T.ones(shape, dtype=getattr(T, dtype))


REFUSED = [
    lambda T, F, x: F(x, x, x, ones(T, 3, 3), is_causal=True),
    lambda T, F, x: F(x, x.double(), x),
    lambda T, F, x: F(x, x, x.double()),
    lambda T, F, x: F(x[0, 0], x[0, 0], x[0, 0]),
    lambda T, F, x: F(x, x[0, 0], x),
    lambda T, F, x: F(x, x, x, ones(T, 3, 3, dtype="int32")),
    lambda T, F, x: F(x, x, x, ones(T, 3, 3, dtype="float64")),
    lambda T, F, x: F(x.int(), x.int(), x.int()),
    lambda T, F, x: F(x, x[..., :3], x),
    lambda T, F, x: F(x, x, x[:, :2]),
    lambda T, F, x: F(x, x[:, :2], x),
    lambda T, F, x: F(x, ones(T, 3, 3, 4), x),
    lambda T, F, x: F(x, x, x, ones(T, 4, 3, 3)),
    lambda T, F, x: F(x, x, x, ones(T, 5, 2, 3, 3)),
    lambda T, F, x: F(x, x, x, ones(T, 3, 2)),
    lambda T, F, x: F(x, x, x, dropout_p=1.5),
    lambda T, F, x: F(ones(T, 1, 3, 3, 4), x[None], x[None], enable_gqa=True),
    lambda T, F, x: F(x, x, x, None, 0.0, False, 0.5),
]


@pytest.mark.parametrize("shape", [(3, 2), (4, 3, 3), (5, 2, 3, 3), (2, 2, 3)])
def test_a_mask_of_another_shape_is_refused_by_name(shape):
    x = tensorlab.ones(2, 3, 4)
    with pytest.raises(RuntimeError, match=r"attn_mask has shape .* broadcast to \(2, 3, 3\)"):
        F.scaled_dot_product_attention(x, x, x, tensorlab.ones(shape))


@pytest.mark.parametrize("other", ["float16", "bfloat16", "float64", "int64"])
@pytest.mark.parametrize("place", range(3))
def test_types_that_differ_are_refused_by_name(place, other):
    matrices = [tensorlab.ones(2, 3, 4) for _ in range(3)]
    matrices[place] = matrices[place].to(getattr(tensorlab, other))
    with pytest.raises(RuntimeError, match=rf"query has type .*{other}.*; they must be equal"):
        F.scaled_dot_product_attention(*matrices)


@pytest.mark.parametrize("which", range(len(REFUSED)))
def test_what_pytorch_refuses_is_refused(which):
    torch = require_torch()
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (which class is what we ask)
        REFUSED[which](torch, torch.nn.functional.scaled_dot_product_attention, torch.ones(2, 3, 4))
    with pytest.raises(type(theirs.value)):
        REFUSED[which](tensorlab, F.scaled_dot_product_attention, tensorlab.ones(2, 3, 4))


def test_the_mean_of_nothing_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = tensorlab.ones(1, 2, 3)
        assert F.scaled_dot_product_attention(x, x, x, dropout_p=-0.5).equal(x)
