"""Every layer against PyTorch's: initial weights, results, gradients, text."""

import inspect
import math

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.nn.test_margin_losses import MODULES as MARGIN_LOSSES
from tests.ops.agreement import agree
from tests.oracle import assert_same_values, require_torch

# name, arguments, shape of the input
LAYERS = [
    ("Linear", (3, 4), {}, (5, 3)),
    ("Linear", (3, 4), {"bias": False}, (2, 5, 3)),
    ("Linear", (30, 40), {}, (30,)),
    ("Linear", (3, 2), {"dtype": "float64"}, (5, 3)),
    ("Identity", (54,), {"unused": 1}, (2, 3)),
    ("ReLU", (), {}, (5, 3)),
    ("ReLU", (True,), {}, (5, 3)),
    ("Tanh", (), {}, (5, 3)),
    ("Sigmoid", (), {}, (5, 3)),
    ("GELU", (), {}, (5, 3)),
    ("GELU", (), {"approximate": "tanh"}, (5, 3)),
    ("Softmax", (1,), {}, (5, 3)),
    ("LogSoftmax", (-1,), {}, (5, 3)),
    ("LayerNorm", (3,), {}, (5, 3)),
    ("LayerNorm", ((4, 3), 1e-3), {}, (5, 4, 3)),
    ("LayerNorm", (3,), {"bias": False}, (5, 3)),
    ("LayerNorm", (3,), {"elementwise_affine": False}, (5, 3)),
    ("Flatten", (), {}, (2, 3, 4)),
    ("Flatten", (0, 1), {}, (2, 3, 4)),
    ("Unflatten", (1, (2, -1)), {}, (3, 6)),
    ("PixelShuffle", (2,), {}, (2, 8, 3, 5)),
    ("PixelShuffle", (1,), {}, (3, 4, 5)),
    ("PixelUnshuffle", (2,), {}, (2, 3, 4, 6)),
    ("ChannelShuffle", (3,), {}, (2, 6, 4, 2)),
    ("Softmax2d", (), {}, (2, 3, 4, 5)),
    ("Unfold", (2,), {}, (2, 3, 4, 5)),
    ("Unfold", ((2, 3), 1, (1, 0), 2), {}, (2, 3, 4, 5)),
    ("Fold", ((4, 5), (2, 3), (1, 2), (1, 0), (2, 1)), {}, (2, 6, 3)),
    ("LocalResponseNorm", (2,), {}, (2, 5, 3)),
    ("LocalResponseNorm", (3, 0.5, 0.6, 2.0), {}, (2, 5, 3, 2)),
    ("Dropout", (0.0,), {}, (5, 3)),
    ("Dropout", (1.0,), {}, (5, 3)),
    ("LeakyReLU", (), {}, (5, 3)),
    ("LeakyReLU", (0.2, True), {}, (5, 3)),
    ("ReLU6", (True,), {}, (5, 3)),
    ("Hardtanh", (), {}, (5, 3)),
    ("Hardtanh", (-0.5, 0.25, True), {}, (5, 3)),
    ("Hardsigmoid", (), {}, (5, 3)),
    ("Hardswish", (), {}, (5, 3)),
    ("Hardshrink", (0.3,), {}, (5, 3)),
    ("Softshrink", (), {}, (5, 3)),
    ("Threshold", (0.1, 20.0), {}, (5, 3)),
    ("PReLU", (), {}, (5, 3)),
    ("PReLU", (3, 0.1), {}, (5, 3, 2)),
    ("RReLU", (), {}, (5, 3)),
    ("RReLU", (0.1, 0.9, True), {}, (5, 3)),
    ("ELU", (2.0,), {}, (5, 3)),
    ("CELU", (2.0, True), {}, (5, 3)),
    ("SELU", (), {}, (5, 3)),
    ("SiLU", (True,), {}, (5, 3)),
    ("Mish", (), {}, (5, 3)),
    ("Softplus", (2.0, 1.0), {}, (5, 3)),
    ("Softsign", (), {}, (5, 3)),
    ("LogSigmoid", (), {}, (5, 3)),
    ("Tanhshrink", (), {}, (5, 3)),
    ("Softmin", (1,), {}, (5, 3)),
    ("GLU", (), {}, (5, 4)),
    ("RMSNorm", (3,), {}, (5, 3)),
    ("RMSNorm", ((4, 3), 1e-2, False), {}, (5, 4, 3)),
    ("GroupNorm", (2, 6), {}, (3, 6, 5)),
    ("GroupNorm", (3, 6, 1e-2, False), {}, (3, 6)),
    ("GroupNorm", (3, 6), {"bias": False}, (3, 6)),
    ("BatchNorm1d", (4,), {}, (5, 4)),
    ("BatchNorm1d", (4, 1e-2, None), {}, (5, 4, 3)),
    ("BatchNorm1d", (4,), {"affine": False, "track_running_stats": False}, (5, 4)),
    ("BatchNorm2d", (3,), {}, (2, 3, 4, 5)),
    ("BatchNorm2d", (3,), {"bias": False}, (2, 3, 4, 5)),
    ("BatchNorm3d", (2,), {}, (2, 2, 3, 2, 2)),
    ("SyncBatchNorm", (4,), {}, (5, 4)),
    ("SyncBatchNorm", (2, 1e-2, None), {"bias": False}, (2, 2, 3, 2, 2)),
    ("InstanceNorm1d", (3,), {}, (2, 3, 5)),
    ("InstanceNorm1d", (3,), {"affine": True, "track_running_stats": True}, (3, 5)),
    ("InstanceNorm2d", (3,), {"affine": True}, (2, 3, 4, 5)),
    ("InstanceNorm2d", (3,), {"track_running_stats": True, "momentum": 0.5}, (2, 3, 4, 5)),
    ("InstanceNorm3d", (2,), {}, (2, 2, 2, 3, 2)),
    ("Conv1d", (4, 6, 3), {}, (2, 4, 9)),
    ("Conv1d", (4, 6, 3, 2, 1, 2, 2), {}, (4, 9)),
    ("Conv2d", (3, 4, 3), {"padding": "same", "dilation": 2}, (2, 3, 6, 7)),
    ("Conv2d", (3, 4, (3, 2)), {"stride": (2, 1), "bias": False}, (2, 3, 6, 7)),
    ("Conv2d", (2, 2, 3), {"padding": 2, "padding_mode": "circular"}, (2, 2, 6, 7)),
    ("Conv2d", (2, 2, 3), {"padding": (1, 0), "padding_mode": "reflect"}, (2, 2, 6, 7)),
    ("Conv2d", (2, 2, 4), {"padding": "same", "padding_mode": "replicate"}, (2, 2, 6, 7)),
    ("Conv2d", (2, 2, 3), {"padding": "valid", "padding_mode": "reflect"}, (2, 2, 6, 7)),
    ("Conv3d", (2, 3, 2), {"padding": 1}, (1, 2, 3, 4, 3)),
    ("ConvTranspose1d", (4, 6, 3, 2), {"groups": 2}, (2, 4, 5)),
    ("ConvTranspose2d", (3, 4, 3, 2, 1, 1), {}, (2, 3, 4, 5)),
    ("ConvTranspose3d", (2, 3, 2), {"bias": False}, (1, 2, 2, 3, 2)),
    ("MaxPool1d", (2,), {}, (2, 3, 7)),
    ("MaxPool1d", (3, 2, 1), {"ceil_mode": True}, (3, 8)),
    ("MaxPool2d", (2,), {}, (2, 3, 7, 6)),
    ("MaxPool2d", ((3, 2), 2, 1), {"dilation": (1, 2)}, (2, 3, 7, 6)),
    ("MaxPool3d", (2,), {"stride": 1}, (2, 3, 4, 3, 5)),
    ("MaxPool3d", ((3, 2, 2), 2, 1), {"dilation": (1, 2, 1), "ceil_mode": True}, (2, 5, 6, 5)),
    ("AvgPool3d", ((2, 1, 3),), {}, (2, 3, 4, 3, 5)),
    ("AvgPool3d", (3, 2, 1, True, False, 5), {}, (3, 4, 3, 5)),
    ("LPPool1d", (2, 3), {}, (2, 3, 7)),
    ("LPPool2d", (4, (2, 3), 1), {}, (2, 3, 7, 6)),
    ("LPPool3d", (2, 2, 3), {"ceil_mode": True}, (2, 3, 4, 3, 5)),
    ("AdaptiveAvgPool3d", ((2, None, 1),), {}, (2, 3, 4, 3, 5)),
    ("AdaptiveMaxPool1d", (3,), {}, (2, 3, 7)),
    ("AdaptiveMaxPool2d", ((None, 4),), {}, (2, 3, 7, 6)),
    ("AdaptiveMaxPool3d", (2,), {}, (2, 3, 4, 3, 5)),
    ("AvgPool1d", (3, 2, 1), {"count_include_pad": False}, (2, 3, 7)),
    ("AvgPool2d", (2,), {}, (2, 3, 7, 6)),
    ("AvgPool2d", (3, 2, 1, True, False), {}, (3, 7, 6)),
    ("AvgPool2d", (2, 1), {"divisor_override": 3}, (2, 3, 7, 6)),
    ("AdaptiveAvgPool1d", (3,), {}, (2, 3, 7)),
    ("AdaptiveAvgPool2d", (1,), {}, (2, 3, 7, 6)),
    ("AdaptiveAvgPool2d", ((None, 4),), {}, (2, 3, 7, 6)),
    ("ConstantPad1d", ((1, 2), 0.5), {}, (2, 3, 4)),
    ("ConstantPad2d", ((1, -1, 0, 2), 3.5), {}, (2, 3, 4, 5)),
    ("ConstantPad3d", ((1, -1, 0, 2, 3, 1), -2.0), {}, (2, 3, 4, 5, 2)),
    ("ZeroPad3d", (1,), {}, (3, 4, 2, 5)),
    ("ReflectionPad3d", ((1, 2, 3, 0, 1, 1),), {}, (2, 3, 4, 5, 3)),
    ("ReplicationPad3d", ((1, 0, 2, 3, 0, 1),), {}, (3, 4, 2, 5)),
    ("CircularPad1d", ((3, 1),), {}, (2, 3, 4)),
    ("CircularPad1d", (2,), {}, (3, 4)),
    ("CircularPad2d", ((1, 2, 3, 0),), {}, (2, 3, 4, 5)),
    ("CircularPad3d", ((1, 0, 2, 3, -1, 1),), {}, (3, 4, 3, 5)),
    ("ZeroPad1d", (2,), {}, (2, 3, 4)),
    ("ZeroPad2d", (1,), {}, (2, 3, 4, 5)),
    ("ReflectionPad1d", (2,), {}, (3, 4)),
    ("ReflectionPad2d", ((1, 2, 3, 0),), {}, (2, 3, 4, 5)),
    ("ReplicationPad1d", ((3, 1),), {}, (2, 3, 4)),
    ("ReplicationPad2d", (2,), {}, (2, 3, 4, 5)),
    ("Dropout1d", (0.0,), {}, (2, 5, 3)),
    ("Dropout2d", (1.0,), {}, (2, 5, 3, 3)),
    ("Dropout3d", (0.0, True), {}, (2, 5, 3, 3, 2)),
    ("AlphaDropout", (0.0,), {}, (5, 3)),
    ("FeatureAlphaDropout", (0.0,), {}, (5, 3, 2)),
]


REFUSED_WHEN_EMPTY_BY_PYTORCH = {
    *["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "MaxPool1d", "AvgPool2d"],
}


def build(package, name, args, kwargs):
    package.manual_seed(0)
    if "dtype" in kwargs:
        kwargs = {**kwargs, "dtype": getattr(package, kwargs["dtype"])}
    return getattr(package.nn, name)(*args, **kwargs)


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS, ids=str)
def test_a_layer_starts_computes_and_differentiates_as_in_pytorch(name, args, kwargs, shape, seed):
    torch = require_torch()
    ours, theirs = build(tensorlab, name, args, kwargs), build(torch, name, args, kwargs)
    for (our_name, our_part), (their_name, their_part) in zip(
        ours.named_parameters(), theirs.named_parameters(), strict=True
    ):
        assert our_name == their_name
        assert_same_values(our_part, their_part, 0)

    dtype = kwargs.get("dtype", "float32")
    values = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    x = tensorlab.tensor(values.tolist(), dtype=getattr(tensorlab, dtype), requires_grad=True)
    y = torch.tensor(values, requires_grad=True)
    out, expected = ours(x * 1), theirs(y * 1)
    assert_same_values(out, expected, 1e-5)
    (out * out).sum().backward()
    (expected * expected).sum().backward()
    assert_same_values(x.grad, y.grad, 1e-4)
    for our_part, their_part in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert_same_values(our_part.grad, their_part.grad, 1e-4)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Constant", "Zero", "Reflection", "Replication", "Circular"])
def test_one_number_pads_all_sides(kind, axes):
    layer, value = getattr(nn, f"{kind}Pad{axes}d"), (1.5,) if kind == "Constant" else ()
    one, each = layer(2, *value), layer((2,) * 2 * axes, *value)
    assert one.padding == each.padding
    x = tensorlab.randn((2, 3) + (5,) * axes)
    assert one(x).shape == (2, 3) + (9,) * axes
    assert tensorlab.equal(one(x), each(x))


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS, ids=str)
def test_a_layer_prints_as_in_pytorch(name, args, kwargs, shape):
    assert repr(build(tensorlab, name, args, kwargs)) == repr(
        build(require_torch(), name, args, kwargs)
    )


def called(package, layer, shape):
    """The builtin class of the error of a call, or the shape and values of its result and what became of its input."""
    x = package.arange(math.prod(shape), dtype=package.float32).reshape(shape)
    try:
        out = layer(x)
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins")
    return tuple(out.shape), out.tolist(), x.tolist(), out is x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS, ids=str)
def test_a_layer_takes_the_shapes_that_pytorchs_takes(name, args, kwargs, shape, train):
    torch = require_torch()
    shapes = {shape[1:], (2, *shape[1:])}
    if name != "AdaptiveAvgPool2d":  # PyTorch's takes images with any number of other dimensions
        shapes |= {shape[2:], shape[:-1], (2, *shape), (3, 2, *shape)}
    if name not in REFUSED_WHEN_EMPTY_BY_PYTORCH:
        shapes |= {(0, *shape[1:])}
    for other in shapes:  # layers of their own: PyTorch's batch_norm counts batches that it refuses
        ours = build(tensorlab, name, args, kwargs).train(train)
        theirs = build(torch, name, args, kwargs).train(train)
        found, expected = called(tensorlab, ours, other), called(torch, theirs, other)
        if isinstance(expected, type):
            assert isinstance(found, type), other
            assert issubclass(found, (expected, RuntimeError)), other
            continue
        assert not isinstance(found, type), other
        assert found[0] == expected[0]
        assert found[3] == expected[3]
        for one, another in zip(found[1:3], expected[1:3], strict=True):
            np.testing.assert_allclose(one, another, 1e-4, 1e-4)
    for key, value in theirs.state_dict().items():
        assert_same_values(ours.state_dict()[key], value, 1e-4)


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS, ids=str)
def test_a_layer_is_made_on_the_device_and_of_the_dtype_asked_for(name, args, kwargs, shape):
    parts = []
    for package in (tensorlab, require_torch()):
        wanted = {**kwargs, "device": "meta", "dtype": package.float64}
        try:
            layer = getattr(package.nn, name)(*args, **wanted)
        except TypeError:
            parts.append("it has no such arguments")
            continue
        parts.append({
            key: (tuple(part.shape), str(part.dtype).split(".")[1], part.device.type)
            for key, part in layer.state_dict().items()
        })  # fmt: skip
    assert parts[0] == parts[1]


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS, ids=str)
def test_a_layer_that_is_reset_is_as_a_new_one(name, args, kwargs, shape):
    torch = require_torch()
    states = []
    for package in (tensorlab, torch):
        layer = build(package, name, args, kwargs)
        for part in layer.state_dict().values():
            part.fill_(7)
        package.manual_seed(0)
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
        states.append(layer.state_dict())
    ours, theirs = states
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        assert_same_values(ours[key], value, 0)


@pytest.mark.parametrize(("r", "shape"), [(1, (2, 3, 4)), (2, (4, 1, 1)), (2, (1, 4, 2, 2))])
def test_what_pixel_shuffle_gives_has_memory_of_its_own(r, shape):
    x = tensorlab.ones(shape)
    nn.PixelShuffle(r)(x).zero_()
    assert x.equal(tensorlab.ones(shape))


# ---------------------------------------------------------------- two inputs
PAIRS = [
    ("CosineSimilarity", (), {}, (4, 3)),
    ("CosineSimilarity", (0,), {"eps": 3.0}, (4, 3)),
    ("CosineSimilarity", (-1, 1e-8), {}, (2, 4, 3)),
    ("PairwiseDistance", (), {}, (4, 3)),
    ("PairwiseDistance", (1.0,), {"eps": 0.5}, (4, 3)),
    ("PairwiseDistance", (3.0, 1e-6), {"keepdim": True}, (4, 3)),
    ("PairwiseDistance", (2.0, 0.25, True), {}, (3,)),
    ("Bilinear", (3, 3, 2), {}, (4, 3)),
    ("Bilinear", (3, 3, 1, False), {}, (2, 4, 3)),
    ("Bilinear", (3, 3, 2), {}, (3,)),
    ("Bilinear", (1, 1, 2), {}, (4, 1)),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "shape"), PAIRS, ids=str)
def test_a_layer_of_two_inputs_computes_and_differentiates_as_in_pytorch(name, args, kwargs, shape):
    values = np.random.default_rng(0).standard_normal((2, *shape))

    def run(package):
        layer = build(package, name, args, kwargs)
        x, y = (package.tensor(one.tolist(), requires_grad=True) for one in values)
        out = layer(
            8 * x, 8 * y
        )  # no length is below eps: there PyTorch's gradient is not the derivative
        (out * out).sum().backward()
        parts = list(layer.state_dict().items())
        grads = [part.grad for part in layer.parameters()]
        return repr(layer), parts, [layer(x, y), out, x.grad, y.grad, *grads]

    ours, theirs = run(tensorlab), run(require_torch())
    assert ours[0] == theirs[0]
    for (key, one), (their_key, other) in zip(ours[1], theirs[1], strict=True):
        assert key == their_key
        assert_same_values(one, other, 0)
    for one, other in zip(ours[2], theirs[2], strict=True):
        assert_same_values(one, other, 1e-5 if name == "Bilinear" else 2e-6)


def test_a_bilinear_layer_can_be_reset_and_needs_features():
    layer = nn.Bilinear(3, 4, 2)
    first = [part.detach().clone() for part in layer.parameters()]
    layer.reset_parameters()
    for old, new in zip(first, layer.parameters(), strict=True):
        assert not old.equal(new)
        assert new.abs().max().item() <= 1 / math.sqrt(3)
    with pytest.raises(ValueError, match="^Bilinear: in1_features is 0; expected"):
        nn.Bilinear(0, 4, 2)
    assert nn.Bilinear(3, 4, 2, device="meta", dtype=tensorlab.float64).bias.device.type == "meta"


def test_every_layer_is_compared():
    elsewhere = {"Module", "Sequential", "ModuleList", "ModuleDict", "DataParallel"}
    elsewhere |= {"Embedding", "EmbeddingBag"}  # tests/nn/test_embedding.py
    elsewhere |= {"AdaptiveLogSoftmaxWithLoss"}  # tests/nn/test_adaptive.py
    elsewhere |= {"Container", "ParameterList", "ParameterDict"}  # tests/nn/test_container.py
    elsewhere |= {"NLLLoss2d"}  # tests/nn/test_loss_arguments.py
    elsewhere |= {name for name in nn.__all__ if name.startswith("Lazy")}  # tests/nn/test_lazy.py
    elsewhere |= {f"{name}{kind}" for name in ("RNN", "LSTM", "GRU") for kind in ("", "Cell")}
    elsewhere |= {"RNNBase", "RNNCellBase"} & set(nn.__all__)  # tests/nn/test_recurrent.py
    elsewhere |= {"MultiheadAttention"} | {name for name in nn.__all__ if "Transformer" in name}
    elsewhere |= {"CrossMapLRN2d"}  # below
    # tests/ops/test_pooling.py
    elsewhere |= {name for name in nn.__all__ if name.startswith(("MaxUnpool", "FractionalMax"))}
    elsewhere |= {"CTCLoss", "LinearCrossEntropyLoss", *(name for name, *_ in MARGIN_LOSSES)}
    elsewhere |= {name for name in nn.__all__ if name.startswith("Upsampl")}  # test_upsampling.py
    compared = {name for name, *_ in [*LAYERS, *LOSSES, *PAIRS]} | elsewhere
    public = {name: getattr(nn, name) for name in nn.__all__}
    layers = {
        name for name, x in public.items() if isinstance(x, type) and issubclass(x, nn.Module)
    }
    assert layers == compared


# ---------------------------------------------------------------- dropout
def test_dropout_keeps_the_mean_and_scales_what_it_keeps():
    x = tensorlab.ones(10_000, requires_grad=True)
    out = nn.Dropout(0.25)(x)
    kept = out != 0
    assert abs(kept.float().mean().item() - 0.75) < 0.02
    assert sorted(set(out.tolist())) == [0.0, pytest.approx(4 / 3)]
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()


def test_dropout_does_nothing_in_evaluation():
    x = tensorlab.ones(3)
    assert nn.Dropout().eval()(x) is x


def test_dropout_in_place_writes_over_its_input():
    x = tensorlab.ones(100)
    out = nn.Dropout(0.5, inplace=True)(x)
    assert out is x
    assert set(x.tolist()) == {0.0, 2.0}


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *[("Dropout", (200,)), ("Dropout1d", (200, 2)), ("Dropout2d", (200, 1, 2, 1))],
        *[("Dropout3d", (200, 1, 2, 1)), ("AlphaDropout", (200,))],
        ("FeatureAlphaDropout", (200, 1, 2)),
    ],
)
def test_every_kind_of_dropout_works_in_place_and_only_in_training(name, shape):
    ones = tensorlab.ones(shape)
    for inplace in (False, True):
        for train in (False, True):
            x = ones.clone()
            out = getattr(nn, name)(0.5, inplace).train(train)(x)
            assert not train or (out is x) is inplace
            assert x.equal(ones) is not (train and inplace)
            assert out.equal(ones) is not train


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_dropout_refuses_what_is_no_probability(p):
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        nn.Dropout(p)
    with pytest.raises(ValueError, match="expected a number from 0 to 1"):
        nn.functional.dropout(tensorlab.ones(1), p)


# ---------------------------------------------------------------- losses
LOGITS = [[0.5, -1.0, 2.0], [0.1, 0.2, 0.3], [-3.0, 40.0, 1.0], [1.0, 1.0, 1.0]]
CLASSES = [2, 0, 1, -100]
WEIGHT = [0.5, 1.0, 2.0]
LOSSES = [
    ("MSELoss", {}, LOGITS, [[1.0, 0.0, 1.0]] * 4),
    ("L1Loss", {}, LOGITS, [[1.0, 0.0, 1.0]] * 4),
    ("BCEWithLogitsLoss", {}, LOGITS, [[1.0, 0.0, 0.25]] * 4),
    ("BCEWithLogitsLoss", {"weight": WEIGHT, "pos_weight": WEIGHT}, LOGITS, [[1.0, 0.0, 1.0]] * 4),
    ("SmoothL1Loss", {"beta": 0.5}, LOGITS, [[1.0, 0.0, 1.0]] * 4),
    ("HuberLoss", {"delta": 2.0}, LOGITS, [[1.0, 0.0, 1.0]] * 4),
    ("KLDivLoss", {}, LOGITS, [[0.5, 0.25, 0.25]] * 4),
    ("KLDivLoss", {"log_target": True}, LOGITS, [[-0.5, -2.0, -1.0]] * 4),
    ("BCELoss", {}, [[0.5, 0.1, 0.9]] * 2, [[1.0, 0.0, 0.25]] * 2),
    ("BCELoss", {"weight": WEIGHT}, [[0.5, 0.1, 0.9]] * 2, [[1.0, 0.0, 0.25]] * 2),
    ("PoissonNLLLoss", {}, LOGITS, [[1.0, 0.0, 3.0]] * 4),
    ("PoissonNLLLoss", {"full": True}, LOGITS, [[1, 0, 3]] * 4),
    (
        "PoissonNLLLoss",
        {"log_input": False, "eps": 0.5},
        [[0.5, 0.0, 0.9]] * 2,
        [[1.0, 2.0, 0.0]] * 2,
    ),
    ("NLLLoss", {}, LOGITS, CLASSES),
    ("NLLLoss", {"weight": WEIGHT, "ignore_index": 0}, LOGITS[:3], CLASSES[:3]),
    ("CrossEntropyLoss", {}, LOGITS, CLASSES),
    ("CrossEntropyLoss", {"weight": WEIGHT}, LOGITS, CLASSES),
    ("CrossEntropyLoss", {"label_smoothing": 0.1}, LOGITS, CLASSES),
]


@pytest.mark.filterwarnings("ignore:.*batchmean")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "options", "values", "target"), LOSSES, ids=str)
def test_a_loss_and_its_gradient_are_those_of_pytorch(name, options, values, target, reduction):
    def run(package):
        given = {
            key: package.tensor(value) if isinstance(value, list) else value
            for key, value in options.items()
        }
        loss = getattr(package.nn, name)(**given, reduction=reduction)
        x = package.tensor(values, requires_grad=True)
        out = loss(x, package.tensor(target))
        out.sum().backward()
        return repr(loss), out, x.grad

    text, out, grad = run(tensorlab)
    expected_text, expected_out, expected_grad = run(require_torch())
    assert text == expected_text
    assert_same_values(out, expected_out, 1e-5)
    assert_same_values(grad, expected_grad, 1e-5)


@pytest.mark.parametrize("loss", [nn.L1Loss(reduction="none"), nn.MSELoss(reduction="none")])
def test_a_loss_warns_of_shapes_that_it_broadcasts(loss):
    with pytest.warns(UserWarning, match=r"target has shape \(3, 1\), but the input \(3,\)"):
        assert loss(tensorlab.ones(3), tensorlab.ones(3, 1)).shape == (3, 3)


def test_binary_cross_entropy_refuses_shapes_that_differ():
    with pytest.raises(ValueError, match=r"target has shape \(3, 1\), but the input \(3,\)"):
        nn.BCEWithLogitsLoss()(tensorlab.ones(3), tensorlab.ones(3, 1))


def test_a_loss_refuses_an_unknown_reduction():
    with pytest.raises(ValueError, match="reduction is 'average'; expected 'mean'"):
        nn.L1Loss(reduction="average")(tensorlab.ones(1), tensorlab.ones(1))


# ---------------------------------------------------------------- functions
def test_softmax_without_dim_warns_and_chooses_as_pytorch_did():
    functional = nn.functional
    x = tensorlab.ones(2, 4)
    with pytest.warns(UserWarning, match="softmax: implicit dimension choice"):
        assert functional.softmax(x).tolist() == [[0.25] * 4] * 2
    with pytest.warns(UserWarning, match="log_softmax: implicit"):
        assert functional.log_softmax(tensorlab.ones(1)).tolist() == [0.0]


# ---------------------------------------------------------------- running averages
@pytest.mark.parametrize(
    ("name", "options", "shape"),
    [
        ("BatchNorm1d", {}, (5, 3)),
        ("BatchNorm2d", {"momentum": None}, (2, 3, 4, 5)),
        ("BatchNorm2d", {"affine": False, "momentum": 0.3}, (2, 3, 4, 5)),
        ("InstanceNorm1d", {"track_running_stats": True}, (2, 3, 5)),
        ("InstanceNorm1d", {"track_running_stats": True, "momentum": None}, (2, 3, 5)),
    ],
)
def test_running_averages_are_kept_and_used_as_in_pytorch(name, options, shape):
    torch = require_torch()
    layers = [getattr(package.nn, name)(3, **options) for package in (tensorlab, torch)]
    rng = np.random.default_rng(0)
    for _ in range(3):
        values = (rng.standard_normal(shape) * 2 + 1).astype("float32")
        layers[0](tensorlab.from_numpy(values))
        layers[1](torch.from_numpy(values))
    ours, theirs = (layer.state_dict() for layer in layers)
    assert list(ours) == list(theirs)
    for key in ours:
        assert_same_values(ours[key], theirs[key], 1e-6)
    out = layers[0].eval()(tensorlab.from_numpy(values))
    assert_same_values(out, layers[1].eval()(torch.from_numpy(values)), 1e-5)


@pytest.mark.parametrize("name", ["BatchNorm1d", "InstanceNorm1d"])
def test_averages_that_are_no_longer_tracked_are_used_but_not_changed(name):
    found = []
    for package in (tensorlab, require_torch()):
        layer = getattr(package.nn, name)(3, track_running_stats=True)
        x = package.arange(24.0).reshape(2, 3, 4) ** 2
        layer(x)
        layer.track_running_stats = False
        results = [layer.train(train)(x).tolist() for train in (True, False)]
        found.append((results, [part.tolist() for part in layer.state_dict().values()]))
    for ours, theirs in zip(*found, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_transposed_convolution_makes_the_size_asked_for():
    torch = require_torch()
    ours, theirs = (
        build(package, "ConvTranspose2d", (2, 3, 3, 2, 1), {}) for package in (tensorlab, torch)
    )
    for size in ((9, 9), (10, 9), (2, 3, 10, 10)):
        out = ours(tensorlab.ones(2, 2, 5, 5), output_size=size)
        assert_same_values(out, theirs(torch.ones(2, 2, 5, 5), output_size=list(size)), 1e-5)
    with pytest.raises(ValueError, match="asks for 12 elements where 9 to 10 are possible"):
        ours(tensorlab.ones(2, 2, 5, 5), output_size=(12, 9))


@pytest.mark.parametrize("name", ["Dropout1d", "Dropout2d", "Dropout3d"])
def test_channel_dropout_drops_whole_channels(name):
    axes = int(name[-2])
    out = getattr(nn, name)(0.5)(tensorlab.ones(40, 50, *[3] * axes))
    channels = out.flatten(2)
    assert (channels == channels[:, :, :1]).all()
    assert sorted(set(channels[:, :, 0].flatten().tolist())) == [0.0, 2.0]
    assert abs(channels.mean().item() - 1) < 0.1


def test_alpha_dropout_keeps_mean_and_variance():
    x = tensorlab.randn(200_000, generator=tensorlab.Generator().manual_seed(0))
    out = nn.AlphaDropout(0.3)(x)
    assert abs(out.mean().item()) < 0.02
    assert abs(out.var().item() - 1) < 0.02


def test_data_parallel_calls_its_module():
    module = nn.DataParallel(nn.Linear(2, 3))
    x = tensorlab.ones(4, 2)
    assert module(x).equal(module.module(x))
    assert list(module.state_dict()) == ["module.weight", "module.bias"]
    assert module.device_ids == require_torch().nn.DataParallel(module=None).device_ids == []
    with pytest.raises(RuntimeError, match="no accelerator"):
        nn.DataParallel(nn.Linear(2, 3), device_ids=[0, 1])


# ---------------------------------------------------------------- bad arguments
@pytest.mark.parametrize(
    "make",
    [
        lambda T: T.nn.Conv2d(3, 4, 3, groups=2),
        lambda T: T.nn.Conv2d(3, 4, 3, padding_mode="mirror"),
        lambda T: T.nn.Conv2d(3, 4, 3, padding="foo"),
        lambda T: T.nn.Conv1d(3, 4, 3, padding="same", stride=2),
        lambda T: T.nn.Conv3d(3, 4, 3, padding="same", stride=(1, 1, 2)),
        lambda T: T.nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"),
        lambda T: T.nn.Softmax2d()(T.ones(3, 3)),
        lambda T: T.nn.Softmax2d()(T.ones(3, 3, 1, 1, 1)),
        lambda T: T.nn.CrossMapLRN2d(3)(T.ones(3, 3, 1)),
        lambda T: T.nn.LocalResponseNorm(3)(T.ones(3, 3)),
        lambda T: T.nn.CircularPad1d(1)(T.ones(3)),
        lambda T: T.nn.CircularPad2d(1)(T.ones(3, 3)),
        lambda T: T.nn.CircularPad2d(1)(T.ones(1, 1, 3, 3, 3)),
        lambda T: T.nn.CircularPad3d(1)(T.ones(3, 3, 3)),
        lambda T: T.nn.GroupNorm(4, 6),
        lambda T: T.nn.BatchNorm2d(3)(T.ones(2, 3)),
        lambda T: T.nn.BatchNorm1d(3)(T.ones(1, 3)),
        lambda T: T.nn.InstanceNorm2d(3)(T.ones(2, 3)),
        lambda T: T.nn.InstanceNorm1d(3)(T.ones(2, 3, 1)),
        lambda T: T.nn.MaxPool2d(2, padding=2)(T.ones(1, 1, 4, 4)),
        lambda T: T.nn.MaxPool2d(5)(T.ones(1, 1, 4, 4)),
        lambda T: T.nn.MaxPool2d(2)(T.ones(4, 4)),
        lambda T: T.nn.AdaptiveAvgPool2d(-1)(T.ones(1, 1, 4, 4)),
        lambda T: T.nn.ReflectionPad2d(4)(T.ones(1, 1, 4, 4)),
        lambda T: T.nn.functional.pad(T.ones(2, 2), (1, 2, 3)),
        lambda T: T.nn.functional.pad(T.ones(2, 2), (-2, -1)),
        lambda T: T.nn.functional.pad(T.ones(2, 2, 3), (1, 1), mode="mirror"),
        lambda T: T.nn.functional.pad(T.ones(2), (1, 1), mode="reflect"),
        lambda T: T.nn.functional.dropout1d(T.ones(2)),
        lambda T: T.nn.functional.scaled_dot_product_attention(
            *[T.ones(2, 3)] * 3, attn_mask=T.ones(2, 2), is_causal=True
        ),
    ],
)
def test_a_layer_refuses_what_pytorch_refuses(make):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (which class is what we ask)
        make(require_torch())
    builtin = next(c for c in type(theirs.value).__mro__ if c.__module__ == "builtins")
    with pytest.raises(builtin):
        make(tensorlab)


def test_running_averages_start_again_after_a_reset():
    layer = nn.BatchNorm1d(2)
    fresh = {name: value.tolist() for name, value in layer.state_dict().items()}
    layer(tensorlab.arange(6.0).view(3, 2))
    assert {name: value.tolist() for name, value in layer.state_dict().items()} != fresh
    layer.reset_running_stats()
    assert {name: value.tolist() for name, value in layer.state_dict().items()} == fresh


def test_resetting_a_batch_norm_forgets_its_averages():
    layer = nn.BatchNorm1d(2)
    layer(tensorlab.arange(6.0).view(3, 2))
    assert layer.running_mean.tolist() != [0.0, 0.0]
    layer.reset_parameters()
    assert layer.running_mean.tolist() == [0.0, 0.0]
    assert layer.running_var.tolist() == [1.0, 1.0]
    assert layer.num_batches_tracked.item() == 0


WRITE_OVER = [
    name
    for name in nn.__all__
    if isinstance(layer := getattr(nn, name), type)
    and "inplace" in inspect.signature(layer).parameters
    and "Dropout" not in name
]


@pytest.mark.parametrize("name", WRITE_OVER)
def test_an_activation_in_place_writes_over_its_input(name):
    x = tensorlab.tensor([-1.5, -0.5, 0.5, 7.0])
    numbers = (0.1, 20.0) if name == "Threshold" else ()
    expected = getattr(nn, name)(*numbers).eval()(x)
    assert expected is not x
    found = getattr(nn, name)(*numbers, inplace=True).eval()(x)
    assert found is x
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("spoiled", ["running_mean", "running_var"])
def test_an_average_whose_places_share_memory_is_refused(spoiled):
    averages = {"running_mean": tensorlab.zeros(3), "running_var": tensorlab.ones(3)}
    averages[spoiled] = tensorlab.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="batch_norm: .*share"):
        nn.functional.batch_norm(tensorlab.randn(4, 3), **averages, training=True)
    assert averages[spoiled].tolist() == [1.0, 1.0, 1.0]


# ---------------------------------------------------------------- CrossMapLRN2d
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("channels", [1, 2, 5, 8])
def test_cross_map_lrn_has_pytorchs_values_and_text(size, channels, seed):
    torch = require_torch()
    values = np.random.default_rng(seed).standard_normal((2, channels, 3, 2))
    for arguments in ((size,), (size, 0.5, 0.6, 2)):
        ours, theirs = nn.CrossMapLRN2d(*arguments), torch.nn.CrossMapLRN2d(*arguments)
        assert repr(ours) == repr(theirs)
        found = ours(tensorlab.tensor(values.tolist(), dtype=tensorlab.float64))
        assert_same_values(found, theirs(torch.tensor(values)), 1e-12)


def test_cross_map_lrn_has_a_gradient(seed):
    values = np.random.default_rng(seed).standard_normal((1, 6, 2, 1)).tolist()
    x = tensorlab.tensor(values, dtype=tensorlab.float64, requires_grad=True)
    assert tensorlab.autograd.gradcheck(nn.CrossMapLRN2d(3, 0.5), x)


def test_a_shuffle_of_no_channels_is_a_view():
    x = tensorlab.ones(2, 0, 3, requires_grad=True)
    out = nn.ChannelShuffle(3)(x)
    assert out.shape == (2, 0, 3)
    assert out.requires_grad
    with pytest.raises(RuntimeError, match="3 channels; expected a multiple of groups, 2"):
        nn.ChannelShuffle(2)(tensorlab.ones(0, 3, 3))


def test_a_shuffle_says_which_factor_it_cannot_take():
    x = tensorlab.ones(1, 4, 4, 6)
    with pytest.raises(
        TypeError, match=r"pixel_unshuffle: downscale_factor is 2\.0; expected an int"
    ):
        nn.PixelUnshuffle(2.0)(x)
    with pytest.raises(RuntimeError, match="height 4; expected a multiple of downscale_factor, 3"):
        nn.PixelUnshuffle(3)(x)
    with pytest.raises(RuntimeError, match="local_response_norm: size is -1; expected a number ab"):
        nn.LocalResponseNorm(-1)(x)


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
def test_a_softmax_converts_before_it_computes(name):
    x = tensorlab.tensor([[1, 3, 2]])
    function = getattr(nn.functional, name)
    found = function(x, 1, dtype=tensorlab.float64)
    assert found.dtype is tensorlab.float64
    assert tensorlab.equal(found, function(x.double(), 1))


# ------------------------------------------------------------------------------ SyncBatchNorm
def with_batch_norms(T):
    T.manual_seed(0)
    nn = T.nn
    inner = nn.Sequential(nn.BatchNorm1d(3, 1e-3, None, affine=False), nn.ReLU())
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, bias=False), inner)
    model[1].eval()
    return model


def test_batch_norms_are_replaced_by_ones_that_share_their_tensors():
    model = with_batch_norms(tensorlab)
    weight, mean, expected = model[1].weight, model[2][0].running_mean, repr(model)
    converted = tensorlab.nn.SyncBatchNorm.convert_sync_batchnorm(model, "group")
    assert converted is model
    assert repr(converted) == expected.replace("BatchNorm1d", "SyncBatchNorm")
    assert converted[1].weight is weight
    assert converted[2][0].running_mean is mean
    assert converted[1].process_group == "group"
    assert not converted[1].training
    assert converted[2][0].training


def test_a_model_with_replaced_batch_norms_trains_as_in_pytorch():
    def trained(T):
        model = T.nn.SyncBatchNorm.convert_sync_batchnorm(with_batch_norms(T)).train()
        x = T.arange(20.0).view(5, 4).cos()
        for _ in range(2):
            loss = (model(x) * T.arange(3)).sum()
            loss.backward()
        state = model.state_dict().values()
        return [x.tolist() for x in (loss, model[0].weight.grad, *state)]

    agree(trained, tolerance=1e-5)


@pytest.mark.parametrize("shape", [(3,), (2, 0), (2, 4)])
def test_a_sync_batch_norm_refuses_what_pytorchs_refuses(shape):
    agree(lambda T: T.nn.SyncBatchNorm(3)(T.ones(shape)))


def test_a_batch_norm_by_itself_becomes_another_module():
    model = tensorlab.nn.BatchNorm2d(2)
    converted = tensorlab.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert type(converted) is tensorlab.nn.SyncBatchNorm
    assert converted.bias is model.bias
