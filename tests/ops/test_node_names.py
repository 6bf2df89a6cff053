"""The graph reads as PyTorch's: the name of each result's node, and the nodes that its gradients go to."""

import warnings

import pytest

import tensorlab
from tests.ops.every_sample import IN_PYTORCH, each_sample
from tests.ops.samples import make_tensor
from tests.oracle import require_torch

# Ops, and samples, that are made of others here and of one piece, or of other pieces, in PyTorch.
COMPOSED = {
    *("polar", "sgn real", "norm of complex"),  # of other ops: sign, abs and so on
    *("fft.ifft", "fft.fft padded", "fft.rfft padded", "fft.rfftn sizes"),
    *("fft.fft2", "fft.fftn"),  # there the results lie by columns
    *(
        "celu",
        "prelu",
        "glu",
        "deg2rad",
        "rad2deg",
        "rsub",
        "nansum",
        "nanmean",
        "aminmax",
        "var_mean",
        "std_mean",
    ),
    *("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "adaptive_avg_pool2d", "pad"),
    *("max_unpool1d", "max_unpool2d", "max_unpool3d"),
    *(
        "matmul",
        "linear",
        "addbmm",
        "addmv",
        "addr",
        "outer",
        "kron",
        "scaled_dot_product_attention",
    ),
    # a layer is one op here, and several of each step there
    *("lstm", "gru", "rnn_tanh", "rnn_relu"),
    *("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
    *("cross_entropy", "mse_loss", "smooth_l1_loss", "huber_loss", "kl_div", "pairwise_distance"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "group_norm"),
    *(
        "sum_to_size",
        "mode",
        "quantile",
        "nanquantile",
        "mvlgamma",
        "trapezoid",
        "cumulative_trapezoid",
    ),
    *(
        "index_reduce",
        "put",
        "select_scatter",
        "slice_scatter",
        "diagonal_scatter",
        "narrow_copy",
        "gradient",
    ),
    *(
        "reshape",
        "reshape_as",
        "diag",
        "combinations",
        "ndtr",
        "pixel_shuffle",
        "bilinear",
        "embedding_bag max",
    ),
    *("pixel_unshuffle", "channel_shuffle", "conv_tbc"),
    *("cross", "dist", "cdist", "renorm", "norm nuc"),
    *("linalg.lu", "lu_unpack", "triangular_solve", "logdet", "cholesky", "cholesky_inverse"),
    *("linalg.lstsq", "linalg.cond", "linalg.matrix_power", "matrix_power", "linalg.cross"),
    *("frobenius_norm", "linalg.multi_dot", "chain_matmul", "linalg.tensorinv"),
}


# What these ops save is another thing here: what their formulas need.
SAVE_OTHERWISE = {
    *("real", "imag", "sgn real"),
    *(
        "logsigmoid",
        "nll_loss",
        "max_pool2d",
        "avg_pool2d",
        "max_pool3d",
        "avg_pool3d",
        "adaptive_avg_pool3d",
        "adaptive_max_pool2d",
        "adaptive_max_pool3d",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "erfinv",
        "ldexp",
        "angle",
        "cummax",
        "cummin",
        "frexp",
        "batch_norm",
        "embedding_bag",
    ),
    *("linalg.slogdet", "slogdet", "cholesky_solve"),
    *("linalg.householder_product", "orgqr", "ormqr"),
    *("mul number", "div number", "div reflected"),  # a number is kept as one
    *("div trunc", "div floor"),  # the gradient is 0
}


def nodes(T, sample):
    """The node of each result."""
    inputs = [make_tensor(T, array) for array in sample.arrays()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = sample.call(
            T, *[x.requires_grad_() if x.is_floating_point() else x for x in inputs]
        )
    return [
        one.grad_fn
        for one in (results if isinstance(results, (tuple, list)) else [results])
        if getattr(one, "grad_fn", None) is not None
    ]


def read(T, sample):
    """Name and next names of the node of each result."""
    return [
        (short(node), [(short(child), i) for child, i in node.next_functions if child])
        for node in nodes(T, sample)
    ]


def saved(T, sample):
    """The names of the tensors that the first result's node has saved."""
    node = next(iter(nodes(T, sample)), None)
    names = [name for name in dir(node) if name.startswith("_saved_")]
    return [name for name in names if hasattr(getattr(node, name), "storage_offset")]


def short(node):
    """A node's name without the namespace of C++, and without the number that PyTorch gives to an overload."""
    return node.name().rpartition(":")[2].rstrip("0123456789")


SAME = [one for one in IN_PYTORCH if one.derivatives and not {one.op, one.name} & COMPOSED]


@each_sample(SAME)
def test_nodes_have_the_names_of_pytorch(sample):
    assert read(tensorlab, sample) == read(require_torch(), sample)


@pytest.mark.parametrize("name", sorted(COMPOSED))
def test_the_exceptions_are_ones(name):
    torch = require_torch()
    samples = [one for one in IN_PYTORCH if name in (one.op, one.name) and one.derivatives]
    assert any(read(tensorlab, one) != read(torch, one) for one in samples)


@each_sample([one for one in SAME if not {one.op, one.name} & SAVE_OTHERWISE])
def test_saved_tensors_have_the_names_of_pytorch(sample):
    assert saved(tensorlab, sample) == saved(require_torch(), sample)


@pytest.mark.parametrize("exponent", [2, 3, 0.5, -0.5, -1, -2, 1.5, 4])
def test_a_power_has_saved_its_exponent(exponent):
    for T in (tensorlab, require_torch()):
        x = T.ones(2, requires_grad=True)
        node = (x**exponent).grad_fn
        assert node._saved_exponent == exponent
        assert {"_saved_exponent", "_saved_self"} <= set(dir(node))


def test_a_power_of_a_number_leads_to_the_exponent_alone():
    for T in (tensorlab, require_torch()):
        x = T.tensor([0.0, 2.0], requires_grad=True)
        y = 3**x
        assert [short(node) for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad"]
        assert y.grad_fn._saved_self == 3
        assert y.grad_fn._saved_exponent is x


# PyTorch counts a call with a number, and one in place, as other overloads. Here they have one name.
OVERLOADS = """
x + 2; 2 + x; x - 2; 2 - x; x * 2; 2 * x; x / 2; 2 / x; x % 2; x**2; 2**x; T.fmod(x, 2);
T.fmod(x, c); T.remainder(x, 2); T.remainder(x, c); x.copysign(2); x.copysign(c);
T.xlogy(x, 2); T.xlogy(x, c); T.where(x > 0, x, 2.0); x.lerp(c, 0.5); x.clamp(0);
x.clamp(max=1); x.clamp(0, 1); x.clamp_min(0); x.clamp(c, c); x.clip(0); x.clamp_(0);
x.clamp_(max=1); x.clamp_(0, 1); x.clamp_max_(1); x.add_(2); x.sub_(2); x.mul_(2);
x.div_(2); x.pow_(2); x.fmod_(2); x.remainder_(c); x.eq_(2); x.eq_(c); x.lt_(2); x.ge_(c);
x.copysign_(2); x.xlogy_(2); x.neg_(); x.acosh_(); x.asinh_(); x.atanh_(); x.tanh_();
x.relu_(); T.nn.functional.elu_(x); T.nn.functional.threshold_(x, 0.5, 1.0);
T.nn.functional.leaky_relu_(x); T.nn.functional.hardtanh_(x); x.fill_(2);
x.fill_(T.tensor(2.0)); T.fill(x, 2); x.zero_(); x.normal_(); x.uniform_(); x.bernoulli_();
x.exponential_(); x.random_(1, 3); x.masked_fill_(x > 1, 2); x.squeeze_(); x.squeeze_(0);
x.squeeze_((0,)); x.unsqueeze_(0); x.t_(); x.swapaxes_(0, 1); x.transpose_(0, 1);
x.as_strided_((3,), (1,)); x.tril_(); x.cumsum_(0); x.sub(c, alpha=2); x.sub(2, alpha=3);
x.sub_(c, alpha=2); x.add(2, alpha=3); x.add_(c, alpha=3); T.sub(c, x, alpha=2)
"""


@pytest.mark.parametrize("call", OVERLOADS.replace("\n", " ").strip().split("; "))
def test_overloads_lead_to_the_nodes_that_they_lead_to_in_pytorch(call):
    def edges(T):
        leaf, c = T.tensor([[0.25, 0.5, 0.75]], requires_grad=True), T.tensor([[1.0, 2.0, 3.0]])
        node = eval(call, {"T": T, "x": leaf * 1, "c": c}).grad_fn
        return short(node), [(short(child), i) for child, i in node.next_functions if child]

    assert edges(tensorlab) == edges(require_torch())


def test_a_stable_sort_has_a_node_of_its_own():
    for T in (tensorlab, require_torch()):
        x = T.rand(3, requires_grad=True)
        assert x.sort(stable=True).values.grad_fn.name() == "SortBackward1"
        assert x.sort().values.grad_fn.name() == "SortBackward0"
