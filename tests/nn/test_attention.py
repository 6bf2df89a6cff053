"""Multi-head attention and transformers against PyTorch's: initial values, results, gradients, text, refusals."""

import copy
import math
import warnings

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tensorlab.errors import AttentionError
from tests.oracle import assert_same_values, require_torch

LENGTH, KEYS, BATCH, FEATURES, HEADS = 5, 7, 2, 6, 3


def both():
    return tensorlab, require_torch()


def make(package, name, *args, **kwargs):
    """A module of a package from the same seed, without the warnings of its construction."""
    package.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(package.nn, name)(*args, **kwargs)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def given(package, values):
    """What a test gives: arrays become leaves that need a gradient, masks tensors."""
    if not isinstance(values, np.ndarray):
        return values
    return package.tensor(values.tolist(), requires_grad=values.dtype == np.float32)


def assert_same_parameters(ours, theirs, tolerance=0.0, of=lambda part: part):
    our_parts, their_parts = dict(ours.named_parameters()), dict(theirs.named_parameters())
    assert list(our_parts) == list(their_parts)
    for name, part in their_parts.items():
        if of(part) is None:
            assert of(our_parts[name]) is None, name
        else:
            assert_same_values(of(our_parts[name]), of(part), tolerance)


def run(package, layer, inputs, kwargs):
    """(results, gradients of the inputs) of a call; what is the same array is the same tensor."""
    layer.zero_grad()
    tensors = {id(x): given(package, x) for x in inputs}
    options = {name: given(package, x) for name, x in kwargs.items()}
    results = layer(*(tensors[id(x)] for x in inputs), **options)
    results = [x for x in (results if isinstance(results, tuple) else (results,)) if x is not None]
    sum((x * x * (i + 1)).sum() for i, x in enumerate(results)).backward()
    return results, [tensors[id(x)].grad for x in inputs]


def assert_alike(ours, theirs, inputs, kwargs, tolerance=2e-5):
    our_results, our_grads = run(tensorlab, ours, inputs, kwargs)
    their_results, their_grads = run(require_torch(), theirs, inputs, kwargs)
    for one, other in zip(our_results, their_results, strict=True):
        assert_same_values(one, other, tolerance)
    for one, other in zip(our_grads, their_grads, strict=True):
        assert_same_values(one, other, 10 * tolerance)
    assert_same_parameters(ours, theirs, 10 * tolerance, lambda part: part.grad)


# ---------------------------------------------------------------- MultiheadAttention
MADE = [
    {},
    {"bias": False},
    {"add_bias_kv": True},
    {"add_zero_attn": True},
    {"add_bias_kv": True, "add_zero_attn": True},
    {"kdim": 4},
    {"vdim": 5, "bias": False},
    {"kdim": 4, "vdim": 3, "add_bias_kv": True},
    {"batch_first": True},
]
CALLED = [
    {},
    {"need_weights": False},
    {"average_attn_weights": False},
    {"mask": "bool"},
    {"mask": "bool", "need_weights": False},
    {"mask": "float", "need_weights": False},
    {"mask": "heads"},
    {"mask": "heads", "need_weights": False},
    {"padding": "bool"},
    {"padding": "bool", "need_weights": False},
    {"padding": "float"},
    {"padding": "bool", "mask": "bool"},
    {"padding": "bool", "mask": "heads", "need_weights": False},
]


def masks(options, batch=BATCH):
    """The keyword arguments of a call: masks that leave something to see for every query."""
    options, rng = dict(options), np.random.default_rng(5)
    kind, padding = options.pop("mask", None), options.pop("padding", None)
    if kind == "float":
        options["attn_mask"] = rng.standard_normal((LENGTH, KEYS)).astype(np.float32)
    elif kind:
        shape = (batch * HEADS, LENGTH, KEYS) if kind == "heads" else (LENGTH, KEYS)
        options["attn_mask"] = rng.random(shape) < 0.3
        options["attn_mask"][..., 0] = False
    if padding:
        options["key_padding_mask"] = np.arange(KEYS) >= np.array([[KEYS], [4]])[:batch]
        if padding == "float":
            options["key_padding_mask"] = normal(batch, KEYS)
    return options


@pytest.mark.parametrize("called", CALLED, ids=str)
@pytest.mark.parametrize("made", MADE, ids=str)
def test_multi_head_attention_starts_computes_and_differentiates_as_in_pytorch(made, called):
    ours, theirs = (make(p, "MultiheadAttention", FEATURES, HEADS, **made) for p in both())
    assert_same_parameters(ours, theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    sizes = [
        (LENGTH, BATCH, FEATURES),
        (KEYS, BATCH, made.get("kdim", FEATURES)),
        (KEYS, BATCH, made.get("vdim", FEATURES)),
    ]
    if made.get("batch_first"):
        sizes = [(batch, length, features) for length, batch, features in sizes]
    inputs = [normal(*size, seed=i) for i, size in enumerate(sizes)]
    assert_alike(ours, theirs, inputs, masks(called))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("same", ["all", "key and value", "query and key"])
@pytest.mark.parametrize("is_batched", [True, False])
def test_tensors_that_are_the_same_are_projected_at_once_and_give_the_same(
    batch_first, same, is_batched
):
    x, y = (normal(KEYS, *[BATCH] * is_batched, FEATURES, seed=i) for i in range(2))
    inputs = {"all": [x, x, x], "key and value": [x, y, y], "query and key": [x, x, y]}[same]
    ours, theirs = (
        make(p, "MultiheadAttention", FEATURES, HEADS, batch_first=batch_first) for p in both()
    )
    assert_alike(ours, theirs, inputs, {})
    assert_alike(ours, theirs, inputs, {"need_weights": False})


@pytest.mark.parametrize(
    "called", [one for one in CALLED if one.get("padding") != "float"], ids=str
)
def test_multi_head_attention_without_a_batch(called):
    ours, theirs = (make(p, "MultiheadAttention", FEATURES, HEADS) for p in both())
    options = masks(called, 1)
    if "key_padding_mask" in options:
        options["key_padding_mask"] = np.arange(KEYS) > 4
    assert_alike(
        ours, theirs, [normal(LENGTH, FEATURES), *[normal(KEYS, FEATURES, seed=1)] * 2], options
    )


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", ["float", "bool"])
def test_the_hint_that_a_mask_is_causal_changes_nothing_if_it_is_true(need_weights, kind):
    mask = np.triu(np.ones((LENGTH, LENGTH), bool), 1)
    if kind == "float":
        mask = np.where(mask, np.float32(-np.inf), np.float32(0))
    ours, theirs = (make(p, "MultiheadAttention", FEATURES, HEADS) for p in both())
    x = normal(LENGTH, BATCH, FEATURES)
    padding = np.arange(LENGTH) >= np.array([[LENGTH], [3]])
    for options in ({}, {"key_padding_mask": padding}):
        expected, _ = ours(*[tensorlab.tensor(x)] * 3, attn_mask=tensorlab.tensor(mask))
        options = {**options, "attn_mask": mask, "need_weights": need_weights, "is_causal": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_alike(ours, theirs, [x] * 3, options)
            (found, *_), _ = run(tensorlab, ours, [x] * 3, options)
        assert ("key_padding_mask" in options) or found.allclose(expected, 1e-5, 1e-6)


def test_the_hint_that_a_mask_is_causal_is_believed_where_no_weights_are_needed():
    layer = make(tensorlab, "MultiheadAttention", FEATURES, HEADS)
    x = tensorlab.tensor(normal(LENGTH, BATCH, FEATURES))
    nothing = tensorlab.zeros(LENGTH, LENGTH)
    causal = nn.Transformer.generate_square_subsequent_mask(LENGTH)
    hinted, _ = layer(x, x, x, attn_mask=nothing, is_causal=True, need_weights=False)
    assert hinted.allclose(layer(x, x, x, attn_mask=causal)[0], 1e-5, 1e-6)
    unhinted, _ = layer(x, x, x, attn_mask=nothing, is_causal=True)
    assert unhinted.allclose(layer(x, x, x)[0], 1e-5, 1e-6)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_dropped_weights_are_those_that_pytorch_drops(need_weights, training):
    outs = []
    for package in both():
        layer = make(package, "MultiheadAttention", FEATURES, HEADS, 0.4).train(training)
        x = package.tensor(normal(LENGTH, BATCH, FEATURES).tolist())
        outs.append(layer(x, x, x, need_weights=need_weights))
    assert_same_values(outs[0][0], outs[1][0], 1e-5)
    if need_weights:
        assert_same_values(outs[0][1], outs[1][1], 1e-5)


@pytest.mark.parametrize("need_weights", [True, False])
def test_keys_and_values_that_are_given_replace_the_projections(need_weights):
    def call(package):
        torch = package
        layer = make(package, "MultiheadAttention", FEATURES, HEADS)
        x = torch.tensor(normal(LENGTH, BATCH, FEATURES).tolist())
        k, v = (
            torch.tensor(normal(BATCH * HEADS, 4, 2, seed=i).tolist(), requires_grad=True)
            for i in (1, 2)
        )
        out, weights = torch.nn.functional.multi_head_attention_forward(
            *[x] * 3, FEATURES, HEADS, layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0,
            layer.out_proj.weight, layer.out_proj.bias, need_weights=need_weights, static_k=k, static_v=v,
        )  # fmt: skip
        (out * out).sum().backward()
        return [out, k.grad, v.grad, *([weights] if need_weights else [])]

    for one, other in zip(*(call(package) for package in both()), strict=True):
        assert_same_values(one, other, 1e-4)


def test_masks_of_two_types_are_deprecated():
    for package in both():
        layer = make(package, "MultiheadAttention", FEATURES, HEADS)
        x = package.ones(LENGTH, BATCH, FEATURES)
        mask = package.zeros(LENGTH, LENGTH)
        padding = package.zeros(BATCH, LENGTH, dtype=package.bool)
        with pytest.warns(UserWarning, match="deprecated"):
            layer(x, x, x, key_padding_mask=padding, attn_mask=mask)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            layer(x, x, x, key_padding_mask=padding, attn_mask=mask != 0)


SEPARATE = dict.fromkeys(["q_proj_weight", "k_proj_weight", "v_proj_weight"], (6, 6))
SEPARATE["use_separate_proj_weight"] = True
FORWARD = {
    "embed_dim_to_check": FEATURES,
    "num_heads": HEADS,
    "add_zero_attn": False,
    "dropout_p": 0.0,
    **dict.fromkeys(["in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj_bias"]),
}


@pytest.mark.parametrize(
    ("query", "key", "value", "more"),
    [
        ((FEATURES,), (FEATURES,), (FEATURES,), {}),
        ((5, 2, 1, 6), (5, 2, 6), (5, 2, 6), {}),
        ((5, 2, 6), (5, 6), (5, 6), {}),
        ((5, 2, 6), (5, 2, 6), (5, 6), {}),
        ((5, 6), (5, 2, 6), (5, 2, 6), {}),
        ((5, 2, 6), (5, 2, 6), (4, 2, 6), {}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"key_padding_mask": (5,)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"key_padding_mask": (5, 2)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"key_padding_mask": (2, 4)}),
        ((5, 6), (5, 6), (5, 6), {"key_padding_mask": (1, 5)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"attn_mask": (5,)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"attn_mask": (5, 4)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"attn_mask": (2, 5, 5)}),
        ((5, 6), (5, 6), (5, 6), {"attn_mask": (2, 5, 5)}),
        ((5, 6), (5, 6), (5, 6), {"attn_mask": (5,)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"is_causal": True}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"embed_dim_to_check": 7}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"num_heads": 4}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"bias_k": (1, 1, 6)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"bias_v": (1, 1, 6)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"bias_k": (1, 1, 6), "bias_v": (1, 1, 6), "static_k": (6, 5, 2)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"bias_k": (1, 1, 6), "bias_v": (1, 1, 6), "static_v": (6, 5, 2)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"static_k": (5, 5, 2)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"static_k": (6, 5, 3)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"static_v": (5, 5, 2)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"static_v": (6, 5, 3)}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"in_proj_weight": None}),
        ((5, 2, 6), (5, 2, 6), (5, 2, 6), {"use_separate_proj_weight": True}),
        ((5, 2, 6), (5, 3, 6), (5, 2, 6), {"use_separate_proj_weight": True}),
        ((5, 2, 6), (5, 1, 6), (5, 2, 6), SEPARATE),
        ((5, 2, 6), (4, 2, 6), (5, 2, 6), SEPARATE),
        (
            (5, 2, 6),
            (5, 2, 6),
            (5, 2, 6),
            {"use_separate_proj_weight": True, "q_proj_weight": (6, 6), "k_proj_weight": (6, 5)},
        ),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_is_refused_as_in_pytorch(query, key, value, more):
    classes = []
    for package in both():
        kwargs = {**FORWARD, "in_proj_weight": (18, 6), "out_proj_weight": (6, 6), **more}
        kwargs = {
            name: package.ones(x) if isinstance(x, tuple) else x for name, x in kwargs.items()
        }
        with pytest.raises(Exception) as error:  # noqa: PT011 (which class is what we ask)
            package.nn.functional.multi_head_attention_forward(
                package.ones(query), package.ones(key), package.ones(value), **kwargs
            )
        classes.append(type(error.value))
    assert issubclass(classes[0], classes[1])


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("wide", range(3))
def test_a_batch_may_come_from_one_of_the_three(wide, is_causal):
    shapes = [(1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)]
    shapes[wide] = (6, *shapes[wide][1:])
    q, k, v = (tensorlab.rand(shape) for shape in shapes)
    attend = tensorlab.nn.functional.scaled_dot_product_attention
    alone = [
        attend(*(x[i % len(x)] for x in (q, k, v)), is_causal=is_causal).tolist() for i in range(6)
    ]
    together = attend(q, k, v, is_causal=is_causal)
    assert together.shape == (6, 2, 3, 4)
    np.testing.assert_allclose(together.numpy(), alone, rtol=1e-5)


@pytest.mark.parametrize(
    ("need_weights", "message"),
    [
        (True, "the mask has type tensorlab.float64 and the scores have type tensorlab.float32"),
        (False, "attn_mask has type tensorlab.float64; expected bool or tensorlab.float32"),
    ],
)
def test_a_mask_of_another_floating_type_is_refused(need_weights, message):
    layer, x = tensorlab.nn.MultiheadAttention(4, 2), tensorlab.ones(3, 1, 4)
    mask = tensorlab.zeros(3, 3, dtype=tensorlab.float64)
    with pytest.raises(RuntimeError, match=message):
        layer(x, x, x, attn_mask=mask, need_weights=need_weights)


def test_masks_of_whole_numbers_are_refused():
    for package in both():
        layer = make(package, "MultiheadAttention", FEATURES, HEADS)
        x = package.ones(LENGTH, BATCH, FEATURES)
        with pytest.raises(AssertionError, match="bool"):
            layer(x, x, x, attn_mask=package.zeros(LENGTH, LENGTH, dtype=package.int64))
        with pytest.raises(RuntimeError):
            layer(x, x, x, attn_mask=package.zeros(LENGTH, LENGTH, dtype=package.float64))


def test_sizes_of_an_attention_must_be_possible():
    for package in both():
        for sizes in ((0, 1), (4, 0), (-4, 2)):
            with pytest.raises(ValueError, match="embed_dim"):
                package.nn.MultiheadAttention(*sizes)
        with pytest.raises(AssertionError, match="embed_dim"):
            package.nn.MultiheadAttention(7, 2)
    with pytest.raises(AttentionError, match="embed_dim is 7 and num_heads 2; expected a divisor"):
        nn.MultiheadAttention(7, 2)


@pytest.mark.parametrize(
    "name", ["MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer"]
)
@pytest.mark.parametrize("bias", [True, False])
def test_layers_are_made_on_the_device_and_of_the_dtype_asked_for(name, bias):
    parts = []
    for package in both():
        layer = getattr(package.nn, name)(
            FEATURES, HEADS, bias=bias, device="meta", dtype=package.float64
        )
        parts.append([
            (key, tuple(part.shape), str(part.dtype).split(".")[1], part.device.type)
            for key, part in layer.state_dict().items()
        ])  # fmt: skip
    assert parts[0] == parts[1]


# ---------------------------------------------------------------- layers of transformers
LAYERS = [
    {},
    {"norm_first": True},
    {"bias": False},
    {"activation": "gelu"},
    {"activation": "relu", "layer_norm_eps": 1e-2},
    {"batch_first": True, "norm_first": True},
]


def causal(length):
    return np.triu(np.ones((length, length), bool), 1)


@pytest.mark.parametrize("masked", ["", "padding", "mask", "both", "causal"])
@pytest.mark.parametrize("made", LAYERS, ids=str)
def test_an_encoder_layer_computes_and_differentiates_as_in_pytorch(made, masked):
    ours, theirs = (
        make(p, "TransformerEncoderLayer", FEATURES, HEADS, 8, 0.0, **made) for p in both()
    )
    assert_same_parameters(ours, theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    options = {}
    if masked in ("padding", "both"):
        options["src_key_padding_mask"] = np.arange(LENGTH) >= np.array([[LENGTH], [3]])
    if masked in ("mask", "both", "causal"):
        options["src_mask"] = causal(LENGTH)
        options["is_causal"] = masked == "causal"
    size = (BATCH, LENGTH, FEATURES) if made.get("batch_first") else (LENGTH, BATCH, FEATURES)
    assert_alike(ours, theirs, [normal(*size)], options)


@pytest.mark.parametrize("masked", ["", "padding", "target", "memory", "causal"])
@pytest.mark.parametrize("made", LAYERS, ids=str)
def test_a_decoder_layer_computes_and_differentiates_as_in_pytorch(made, masked):
    ours, theirs = (
        make(p, "TransformerDecoderLayer", FEATURES, HEADS, 8, 0.0, **made) for p in both()
    )
    assert_same_parameters(ours, theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    options = {}
    if masked == "padding":
        options["tgt_key_padding_mask"] = np.arange(LENGTH) >= np.array([[LENGTH], [3]])
        options["memory_key_padding_mask"] = np.arange(KEYS) >= np.array([[4], [KEYS]])
    if masked in ("target", "causal"):
        options["tgt_mask"] = causal(LENGTH)
        options["tgt_is_causal"] = masked == "causal"
    if masked in ("memory", "causal"):
        options["memory_mask"] = np.triu(np.ones((LENGTH, KEYS), bool), 1)
        options["memory_is_causal"] = masked == "causal"
    sizes = [(LENGTH, BATCH, FEATURES), (KEYS, BATCH, FEATURES)]
    if made.get("batch_first"):
        sizes = [(batch, length, features) for length, batch, features in sizes]
    assert_alike(ours, theirs, [normal(*size, seed=i) for i, size in enumerate(sizes)], options)


@pytest.mark.parametrize("name", ["TransformerEncoderLayer", "TransformerDecoderLayer"])
def test_an_activation_is_a_name_a_function_or_a_module(name):
    x = normal(LENGTH, BATCH, FEATURES)
    for choose in (lambda T: T.tanh, lambda T: T.nn.SiLU(), lambda T: T.nn.functional.gelu):
        ours, theirs = (make(p, name, FEATURES, HEADS, 8, 0.0, choose(p)) for p in both())
        assert repr(ours) == repr(theirs)
        assert_alike(ours, theirs, [x] if "Encoder" in name else [x, x], {})
    for package in both():
        with pytest.raises(RuntimeError, match="tanh"):
            getattr(package.nn, name)(FEATURES, HEADS, activation="tanh")


def test_the_number_of_an_activation_is_pytorchs():
    for choose in (
        lambda T: T.nn.functional.relu, lambda T: T.nn.functional.gelu, lambda T: T.nn.ReLU(), lambda T: T.nn.GELU(),
        lambda T: T.tanh, lambda T: "relu", lambda T: "gelu",
    ):  # fmt: skip
        ours, theirs = (make(p, "TransformerEncoderLayer", 2, 1, 2, 0.0, choose(p)) for p in both())
        assert ours.activation_relu_or_gelu == theirs.activation_relu_or_gelu


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", ["TransformerEncoderLayer", "TransformerDecoderLayer"])
def test_every_dropout_of_a_layer_drops_what_pytorchs_drops(name, norm_first):
    outs = []
    for package in both():
        layer = make(package, name, FEATURES, HEADS, 8, 0.3, norm_first=norm_first)
        x = package.tensor(normal(LENGTH, BATCH, FEATURES).tolist())
        outs.append(layer(x) if "Encoder" in name else layer(x, x))
    assert_same_values(*outs, 2e-5)


# ---------------------------------------------------------------- stacks
def stacked(package, kind, layers=2, norm=True, *, layer_options=(), **options):
    options = {"enable_nested_tensor": False, **options} if kind == "Encoder" else options
    layer = make(package, f"Transformer{kind}Layer", FEATURES, 2, 8, 0.0, **dict(layer_options))
    last = package.nn.LayerNorm(FEATURES) if norm else None
    return getattr(package.nn, f"Transformer{kind}")(layer, layers, last, **options)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("kind", ["Encoder", "Decoder"])
@pytest.mark.parametrize("masked", ["", "bool", "float", "heads"])
def test_a_stack_computes_and_differentiates_as_in_pytorch(kind, norm, masked):
    ours, theirs = (stacked(p, kind, norm=norm) for p in both())
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    inputs = [normal(LENGTH, BATCH, FEATURES), normal(KEYS, BATCH, FEATURES, seed=1)]
    options = {}
    if masked:
        mask = causal(LENGTH)
        if masked == "float":
            mask = np.where(mask, np.float32(-np.inf), np.float32(0))
        if masked == "heads":
            mask = mask | (np.random.default_rng(0).random((BATCH * 2, 1, LENGTH)) < 0.3)
            mask[..., 0] = False
        options["mask" if kind == "Encoder" else "tgt_mask"] = mask
    if masked == "bool":
        padding = np.arange(LENGTH) >= np.array([[LENGTH], [3]])
        options["src_key_padding_mask" if kind == "Encoder" else "tgt_key_padding_mask"] = padding
    assert_alike(ours, theirs, inputs[: 1 if kind == "Encoder" else 2], options)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", ["Encoder", "Decoder"])
def test_a_stack_detects_a_causal_mask_of_its_length(kind, batch_first):
    """A layer that keeps the hint it gets."""
    hints = {}
    for package in both():

        class Listening(getattr(package.nn, f"Transformer{kind}Layer")):
            def forward(self, *args, **kwargs):
                hints.setdefault(package.__name__, []).append(  # noqa: B023 (called in this round)
                    kwargs["is_causal" if kind == "Encoder" else "tgt_is_causal"]
                )
                return super().forward(*args, **kwargs)

        layer = Listening(FEATURES, 2, 8, 0.0, batch_first=batch_first)
        more = {"enable_nested_tensor": False} if kind == "Encoder" else {}
        stack = getattr(package.nn, f"Transformer{kind}")(layer, 1, **more)
        size = (BATCH, LENGTH, FEATURES) if batch_first else (LENGTH, BATCH, FEATURES)
        mask = package.nn.Transformer.generate_square_subsequent_mask(LENGTH)
        for x in (package.ones(size), package.ones(LENGTH, FEATURES)):
            inputs = [x] if kind == "Encoder" else [x, x]
            name = "mask" if kind == "Encoder" else "tgt_mask"
            hint = "is_causal" if kind == "Encoder" else "tgt_is_causal"
            heads = 2 if x.dim() == 2 else 2 * BATCH
            for given_mask in (None, mask, mask != 0, mask + 1, mask.expand(heads, -1, -1)):
                stack(*inputs, **{name: given_mask})
            stack(*inputs, **{name: mask, hint: False})
            stack(*inputs, **{name: mask + 1, hint: True})
    assert hints["tensorlab"] == hints["torch"]
    assert {True, False} == set(hints["torch"])


def test_a_mask_for_any_length():
    for args in ((1,), (4,), (3, "cpu"), (3, "meta"), (0,)):
        masks_ = [
            package.nn.Transformer.generate_square_subsequent_mask(*args) for package in both()
        ]
        if args[-1] == "meta":
            assert masks_[0].device.type == masks_[1].device.type
        else:
            assert_same_values(*masks_, 0)
    for package in both():
        mask = package.nn.Transformer.generate_square_subsequent_mask(3, dtype=package.float64)
        assert mask.dtype == package.float64


def test_layers_of_a_stack_are_copies_that_learn_apart():
    layer = nn.TransformerEncoderLayer(FEATURES, 2, 8)
    stack = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
    first, last = stack.layers[0].linear1.weight, stack.layers[2].linear1.weight
    assert first.equal(last)
    assert first is not last
    assert layer.linear1.weight is not first
    assert copy.deepcopy(stack).state_dict().keys() == stack.state_dict().keys()
    assert len(stack.layers) == stack.num_layers == 3


# ---------------------------------------------------------------- padding that is cut off
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize(
    "layer_options", [{}, {"activation": "gelu"}, {"norm_first": True}], ids=str
)
def test_padding_at_the_end_becomes_zero_in_evaluation_without_gradients(
    norm, at_end, layer_options
):
    outs = []
    for package in both():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stack = stacked(
                package, "Encoder", norm=norm, enable_nested_tensor=True,
                layer_options={"batch_first": True, **layer_options},
            ).eval()  # fmt: skip
            x = package.tensor(normal(3, LENGTH, FEATURES).tolist())
            keep = package.arange(LENGTH) < package.tensor([[LENGTH], [3], [1]])
            padding = ~keep if at_end else keep.flip(1)
            if not at_end:
                padding[:, 0] = False
            with package.no_grad():
                outs += [stack(x, src_key_padding_mask=padding)]
                if stack.use_nested_tensor:  # elsewhere PyTorch takes numbers for True, too
                    outs += [stack(x, src_key_padding_mask=padding.float())]
            outs += [stack(x, src_key_padding_mask=padding)]
            outs += [stack.train()(x, src_key_padding_mask=padding)]
    for one, other in zip(outs[: len(outs) // 2], outs[len(outs) // 2 :], strict=True):
        assert_same_values(one, other, 2e-5)
    if norm and at_end and not layer_options:
        assert not outs[0].allclose(outs[2])  # with gradients, padding stays


END, MIDDLE = [False, False, False, True, True], [False, True, False, False, True]
SITUATIONS = [
    {"padding": None},
    {"padding": MIDDLE},
    {"mask": True},
    {"training": True},
    {"is_batched": False},
    {"grads": "enabled"},
    {"grads": "enabled", "needed": "source"},
    {"grads": "enabled", "needed": "parameters"},
    {"needed": "source"},
    {"needed": "parameters"},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_padding_is_cut_off_in_the_situations_in_which_pytorch_does(situation):
    outs = []
    for package in both():
        stack = stacked(
            package, "Encoder", enable_nested_tensor=True, layer_options={"batch_first": True}
        ).train(situation.get("training", False))
        stack.requires_grad_(situation.get("needed") == "parameters")
        x = package.tensor(normal(1, LENGTH, FEATURES).tolist())
        x.requires_grad_(situation.get("needed") == "source")
        options = {}
        if (padding := situation.get("padding", END)) is not None:
            options["src_key_padding_mask"] = package.tensor([padding])
        if "mask" in situation:
            options["mask"] = package.tensor(causal(LENGTH).tolist())
        if not situation.get("is_batched", True):
            x, options["src_key_padding_mask"] = x[0], options["src_key_padding_mask"][0]
        with package.set_grad_enabled("grads" in situation):
            outs.append(stack(x, **options))
    assert_same_values(*outs, 2e-5)


@pytest.mark.filterwarnings("ignore")
def test_padding_stays_where_the_fast_path_is_switched_off():
    outs = []
    for package in both():
        switch = package.backends.mha
        assert switch.get_fastpath_enabled() is True
        stack = stacked(
            package, "Encoder", enable_nested_tensor=True, layer_options={"batch_first": True}
        ).eval()
        x = package.tensor(normal(1, LENGTH, FEATURES).tolist())
        padding = package.arange(LENGTH).view(1, LENGTH) > 2
        with package.no_grad():
            cut = stack(x, src_key_padding_mask=padding)
            switch.set_fastpath_enabled(False)
            try:
                assert switch.get_fastpath_enabled() is False
                outs += [stack(x, src_key_padding_mask=padding)]
            finally:
                switch.set_fastpath_enabled(True)
        assert not cut.allclose(outs[-1])
    assert_same_values(*outs, 2e-5)


@pytest.mark.parametrize(
    ("layer_options", "heads"),
    [
        ({"batch_first": True}, 2),
        ({"batch_first": True}, 3),
        ({}, 2),
        ({"batch_first": True, "norm_first": True}, 2),
        ({"batch_first": True, "bias": False}, 2),
        ({"batch_first": True, "activation": lambda x: x}, 2),
    ],
)
def test_an_encoder_warns_where_padding_is_not_cut_off(layer_options, heads):
    for enable in (True, False):
        said = []
        for package in both():
            layer = package.nn.TransformerEncoderLayer(FEATURES, heads, 8, **layer_options)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                stack = package.nn.TransformerEncoder(layer, 1, enable_nested_tensor=enable)
            said.append(
                ([w.category for w in caught], stack.use_nested_tensor, stack.enable_nested_tensor)
            )
        assert said[0] == said[1]


# ---------------------------------------------------------------- Transformer
@pytest.mark.parametrize(
    "made", [{}, {"norm_first": True, "bias": False}, {"batch_first": True}], ids=str
)
def test_a_transformer_starts_computes_and_differentiates_as_in_pytorch(made):
    args = (FEATURES, 2, 2, 1, 8, 0.0)
    ours, theirs = (make(p, "Transformer", *args, **made) for p in both())
    assert_same_parameters(ours, theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)
    sizes = [(KEYS, BATCH, FEATURES), (LENGTH, BATCH, FEATURES)]
    if made.get("batch_first"):
        sizes = [(batch, length, features) for length, batch, features in sizes]
    padding = np.arange(KEYS) >= np.array([[KEYS], [3]])
    options = {
        "src_mask": causal(KEYS),
        "tgt_mask": causal(LENGTH),
        "memory_mask": np.triu(np.ones((LENGTH, KEYS), bool), 2),
        "src_key_padding_mask": padding,
        "tgt_key_padding_mask": np.arange(LENGTH) >= np.array([[3], [LENGTH]]),
        "memory_key_padding_mask": padding,
    }
    inputs = [normal(*size, seed=i) for i, size in enumerate(sizes)]
    assert_alike(ours, theirs, inputs, options, 1e-4)
    assert_alike(ours, theirs, [x[0] for x in inputs], {}, 1e-4)


def test_a_transformer_hands_each_hint_to_the_part_it_is_for():
    class Part(nn.Module):
        def forward(self, *args, **kwargs):
            self.given = kwargs
            return args[0]

    model = nn.Transformer(FEATURES, 2, custom_encoder=Part(), custom_decoder=Part())
    x = tensorlab.ones(LENGTH, BATCH, FEATURES)
    names = [
        "src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask", "tgt_key_padding_mask",
        "memory_key_padding_mask", "src_is_causal", "tgt_is_causal", "memory_is_causal",
    ]  # fmt: skip
    model(x, x, **{name: name for name in names})
    encoder = {
        "mask": "src_mask",
        "src_key_padding_mask": "src_key_padding_mask",
        "is_causal": "src_is_causal",
    }
    assert model.encoder.given == encoder
    assert model.decoder.given == {name: name for name in names if not name.startswith("src")}


@pytest.mark.parametrize("batch_first", [False, True])
def test_a_transformer_refuses_what_pytorchs_refuses(batch_first):
    for package in both():
        model = make(package, "Transformer", FEATURES, 2, 1, 1, 8, batch_first=batch_first)
        for source, target in (
            ((4, 4, FEATURES), (3, 3, FEATURES)), ((4, 4, 5), (4, 4, FEATURES)), ((4, 4, FEATURES), (4, 4, 5)),
        ):  # fmt: skip
            with pytest.raises(RuntimeError):
                model(package.ones(source), package.ones(target))
        model(package.ones(4, FEATURES), package.ones(3, FEATURES))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer"]
)
def test_defaults_are_pytorchs(name):
    args = () if name == "Transformer" else (8, 2)
    ours, theirs = (getattr(package.nn, name)(*args, device="meta") for package in both())
    assert repr(ours) == repr(theirs)


def test_attention_of_half_types_is_computed():
    layer = nn.TransformerEncoderLayer(FEATURES, 2, 8, 0.0, dtype=tensorlab.bfloat16)
    x = tensorlab.tensor(normal(LENGTH, BATCH, FEATURES))
    exact = copy.deepcopy(layer).float()
    out = layer(x.bfloat16())
    assert out.dtype == tensorlab.bfloat16
    assert math.isfinite(out.float().sum().item())
    assert out.float().allclose(exact(x.bfloat16().float()), 0.05, 0.05)


def test_a_zero_to_attend_to_has_the_dtype_of_the_others():
    layer = nn.MultiheadAttention(FEATURES, 2, add_zero_attn=True, dtype=tensorlab.bfloat16)
    x = tensorlab.tensor(normal(LENGTH, BATCH, FEATURES)).bfloat16()
    for need_weights in (False, True):
        out, _ = layer(x, x, x, need_weights=need_weights)
        assert out.dtype == tensorlab.bfloat16


HINTS = [
    ("Encoder", "is_causal", "src_mask"),
    ("Decoder", "tgt_is_causal", "tgt_mask"),
    ("Decoder", "memory_is_causal", "memory_mask"),
]


@pytest.mark.parametrize(("kind", "hint", "mask"), HINTS)
def test_a_transformer_layer_believes_the_hint_and_needs_the_mask_that_it_is_about(
    kind, hint, mask
):
    found = []
    for T in (tensorlab, require_torch()):
        T.manual_seed(0)
        layer = getattr(T.nn, f"Transformer{kind}Layer")(4, 2, 8, dropout=0.0)
        given = [T.randn(3, 2, 4)] * (2 if kind == "Decoder" else 1)
        nothing = T.zeros(3, 3)  # a mask that hides nothing, so the hint is wrong
        hinted, unhinted = (layer(*given, **{mask: nothing, hint: one}) for one in (True, False))
        assert not T.allclose(hinted, unhinted)
        found.append((hinted, unhinted))
        with pytest.raises(RuntimeError, match="hint"):
            layer(*given, **{hint: True})
    for ours, theirs in zip(*found, strict=True):
        assert_same_values(ours, theirs, 1e-5)
