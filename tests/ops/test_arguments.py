"""Arguments at the edge of what is allowed: empty shapes, strides that lead nowhere, huge ints, types of losses."""

import pytest

import tensorlab
from tests.ops.agreement import agree

HUGE = 2**65
EDGES = {
    "an empty batch of pictures": lambda T: T.nn.functional.grid_sample(
        T.ones(0, 2, 3, 3), T.ones(0, 4, 4, 2), align_corners=False
    ),
    "an empty batch of volumes": lambda T: T.nn.functional.grid_sample(
        T.ones(0, 2, 3, 3, 3), T.ones(0, 4, 4, 4, 3), mode="nearest", align_corners=False
    ),
    "a grid without rows": lambda T: T.nn.functional.grid_sample(
        T.ones(1, 2, 3, 3), T.ones(1, 0, 4, 2), mode="bicubic", align_corners=False
    ),
    "pictures without channels": lambda T: T.nn.functional.grid_sample(
        T.ones(1, 0, 3, 3), T.ones(1, 4, 4, 2), align_corners=False
    ),
    "batch_norm of nothing": lambda T: T.nn.functional.batch_norm(
        T.empty(0), None, None, training=True
    ),
    "batch_norm of no channels": lambda T: T.nn.functional.batch_norm(
        T.empty(0), T.zeros(0), T.ones(0)
    ),
    "no rows of fractional windows": lambda T: T.nn.functional.fractional_max_pool2d(
        T.ones(1, 1, 4, 4), 2, output_size=(0, 1)
    ),
    "no fractional windows": lambda T: T.nn.functional.fractional_max_pool3d(
        T.ones(1, 1, 4, 4, 4), 2, output_size=(1, 0, 1)
    ),
    "a share of windows below one": lambda T: T.nn.functional.fractional_max_pool2d(
        T.ones(1, 1, 4, 4), 2, output_ratio=(0.1, 0.5)
    ),
    "fewer than no windows": lambda T: T.nn.functional.fractional_max_pool2d(
        T.ones(1, 1, 4, 4), 2, output_size=(-1, 1)
    ),
    "extremes of an empty dimension": lambda T: T.aminmax(T.ones(2, 0), dim=1),
    "extremes of nothing": lambda T: T.aminmax(T.ones(0)),
    "extremes beside an empty dimension": lambda T: T.aminmax(T.ones(2, 0), dim=0),
    "a matrix of slopes": lambda T: T.nn.functional.prelu(T.ones(2, 3), T.ones(3, 1)),
    "narrow from a vector": lambda T: T.ones(3).narrow(0, T.tensor([1]), 1),
    "narrow from a float": lambda T: T.ones(3).narrow(0, T.tensor(1.0), 1),
    "narrow from a scalar": lambda T: T.ones(3).narrow(0, T.tensor(1), 1),
    "narrow far away": lambda T: T.ones(3).narrow(0, HUGE, 1),
    "narrow far": lambda T: T.ones(3).narrow(0, 0, HUGE),
    "narrow a far dimension": lambda T: T.ones(3).narrow(HUGE, 0, 1),
    "huge number of threads": lambda T: T.set_num_threads(HUGE),
    "large number of threads": lambda T: T.set_num_threads(2**31),
    "float number of threads": lambda T: T.set_num_threads(2.0),
    "no threads": lambda T: T.set_num_threads(0),
    "wrong size of repeated indices": lambda T: T.repeat_interleave(
        T.tensor([1, 2, 3]), output_size=2
    ),
    "right size of repeated indices": lambda T: T.repeat_interleave(
        T.tensor([1, 2, 3]), output_size=6
    ),
    "negative size of repeated indices": lambda T: T.repeat_interleave(
        T.tensor([1, 2]), output_size=-1
    ),
    "float size of repeated indices": lambda T: T.repeat_interleave(
        T.tensor([1, 2]), output_size=3.0
    ),
    "wrong size of a repeated dimension": lambda T: T.ones(2, 3).repeat_interleave(
        2, dim=1, output_size=5
    ),
    "wrong size by a tensor": lambda T: T.ones(2).repeat_interleave(
        T.tensor([1, 2]), output_size=2
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_what_is_at_the_edge_is_as_in_pytorch(name):
    threads = tensorlab.get_num_threads()
    try:
        agree(EDGES[name])
    finally:
        tensorlab.set_num_threads(threads)


TAKES_AN_INT = "select roll chunk split unfold unsqueeze squeeze sum cumsum diag diagonal transpose movedim size"
TAKES_AN_INT += " topk kthvalue stride flatten unbind tensor_split repeat_interleave view reshape expand repeat tile"
BEFORE = {"select": (0,), "transpose": (0,), "movedim": (0,), "unfold": (0, 1)}


@pytest.mark.parametrize("number", [HUGE, -HUGE, 2**63])
@pytest.mark.parametrize("name", TAKES_AN_INT.split())
def test_ints_beyond_64_bits_raise_what_they_raise_in_pytorch(name, number):
    agree(lambda T: getattr(T.ones(3), name)(*BEFORE.get(name, ()), number))


# ---------------------------------------------------------------- view as another type
LAYOUTS = [
    ((1, 2), (5, 1), "float64"),
    ((1, 2, 1), (5, 1, 3), "int16"),
    ((1,), (5,), "int16"),
    ((2, 1), (1, 7), "int8"),
    ((0, 2), (3, 1), "float64"),
    ((0, 0), (1, 7), "int8"),
]


@pytest.mark.parametrize(("sizes", "strides", "dtype"), LAYOUTS)
def test_a_stride_that_leads_nowhere_does_not_keep_from_viewing(sizes, strides, dtype):
    """PyTorch refuses, and contiguous() doesn't help: it returns the tensor as it is."""
    x = tensorlab.arange(8, dtype=tensorlab.float32).as_strided(sizes, strides)
    assert x.numel() == 0 or x.squeeze().is_contiguous()
    seen = x.view(getattr(tensorlab, dtype))
    expected = x.clone(memory_format=tensorlab.contiguous_format).numpy().copy().view(dtype)
    assert seen.numpy().tobytes() == expected.tobytes()
    assert seen.shape == expected.shape
    assert seen.data_ptr() == x.data_ptr()


def test_bytes_of_a_contiguous_tensor_can_be_viewed():
    x = tensorlab.arange(8).reshape(1, 1, 8).transpose(1, 2).contiguous()[0]
    assert x.is_contiguous()
    assert x.view(tensorlab.int8).shape == (8, 8)
    assert x.view(tensorlab.int8)[:, 0].tolist() == list(range(8))


@pytest.mark.parametrize(
    ("sizes", "strides"), [((2, 2), (3, 1)), ((1, 2), (1, 2)), ((2, 3), (3, 1))]
)
def test_a_stride_that_leads_somewhere_does(sizes, strides):
    agree(lambda T: T.ones(8).as_strided(sizes, strides).view(T.float64))


# ---------------------------------------------------------------- types of losses
LOSSES = """binary_cross_entropy binary_cross_entropy_with_logits kl_div huber_loss smooth_l1_loss
    soft_margin_loss hinge_embedding_loss mse_loss l1_loss poisson_nll_loss"""


@pytest.mark.parametrize("name", LOSSES.split())
@pytest.mark.parametrize("target", ["float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_loss_takes_the_types_that_it_takes_in_pytorch(name, dtype, target):
    def program(T):
        x, y = (
            T.tensor([0.5, 0.25]).to(getattr(T, dtype)),
            T.tensor([0.5, 1]).to(getattr(T, target)),
        )
        return getattr(T.nn.functional, name)(x, y)

    agree(program, 1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
@pytest.mark.parametrize("name", ["binary_cross_entropy", "binary_cross_entropy_with_logits"])
def test_a_weight_leaves_the_type_of_a_loss(name, dtype):
    x = tensorlab.tensor([0.5, 0.25])
    weight = tensorlab.tensor([1, 2]).to(getattr(tensorlab, dtype))
    function = getattr(tensorlab.nn.functional, name)
    assert function(x, x, weight=weight).dtype == tensorlab.float32
    if "logits" in name:
        assert function(x, x, pos_weight=weight).dtype == tensorlab.float32


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_a_weight_of_classes_has_the_type_of_the_scores(dtype):
    def program(T):
        weight = T.ones(2, dtype=getattr(T, dtype))
        return T.nn.functional.multi_margin_loss(T.ones(1, 2), T.tensor([0]), weight=weight)

    agree(program)
