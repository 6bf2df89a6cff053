"""recurrent_layer and its backward agree with the plain formula, and check what they are given."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.ops.recurrent.layer import recurrent_layer

import tensorlab
from tensorlab.ops.recurrent import formula

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}
# rows of each step, batch, features of the input and of the state: smaller and larger than blocks and panels
SIZES = [
    ((1,), 1, 1, 40),
    ((3, 2, 0), 5, 3, 9),
    ((9, 9, 7, 3, 3, 1), 9, 11, 17),
    ((20,) * 4, 20, 32, 64),
    ((48,) * 7, 48, 300, 70),
]


def tensors_of(kind, has_bias, projection, sizes, dtype):
    steps, batch, inputs, width = sizes
    tensorlab.manual_seed(0)
    outputs, rows = projection or width, GATES[kind] * width
    made = [tensorlab.randn(sum(steps), inputs), tensorlab.randn(batch, outputs)]
    made += [tensorlab.randn(rows, inputs) * 0.3, tensorlab.randn(rows, outputs) * 0.3]
    made += [tensorlab.randn(rows), tensorlab.randn(rows)] if has_bias else []
    made += [tensorlab.randn(batch, width)] if kind == "LSTM" else []
    made += [tensorlab.randn(projection, width)] if projection else []
    return [x.to(dtype).requires_grad_() for x in made]


def results_and_gradients(function, tensors, *options):
    results = [y for y in function(tensors, *options) if y is not None and y.numel()]
    tensorlab.manual_seed(1)
    weights = [tensorlab.randn(y.shape, dtype=y.dtype) for y in results]
    return [*results, *tensorlab.autograd.grad(results, tensors, weights)]


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: f"{sizes[1]}x{sizes[3]}")
@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_the_op_agrees_with_the_formula(kind, sizes, is_reverse, has_bias):
    for projection in (0, 5) if kind == "LSTM" else (0,):
        for dtype, tolerance in ((tensorlab.float32, 3e-5), (tensorlab.float64, 1e-12)):
            tensors = tensors_of(kind, has_bias, projection, sizes, dtype)
            options = (kind, has_bias, is_reverse, sizes[0])
            ours = results_and_gradients(recurrent_layer, tensors, *options)
            plain = results_and_gradients(formula.recurrent_layer, tensors, *options)
            assert len(ours) == len(plain)
            for mine, other in zip(ours, plain, strict=True):
                assert mine.shape == other.shape
                assert mine.dtype == other.dtype
                scale = max(1.0, other.abs().max().item())
                assert (mine - other).abs().max().item() <= tolerance * scale


@pytest.mark.parametrize(("kind", "projection"), [*((kind, 0) for kind in GATES), ("LSTM", 30)])
def test_threads_do_not_change_the_result(kind, projection):
    before, found = tensorlab.get_num_threads(), []
    tensors = tensors_of(kind, True, projection, ((48,) * 7, 48, 300, 70), tensorlab.float64)
    try:
        for threads in (1, 2, 3):
            tensorlab.set_num_threads(threads)
            found.append(
                results_and_gradients(recurrent_layer, tensors, kind, True, False, (48,) * 7)
            )
    finally:
        tensorlab.set_num_threads(before)
    for others in found[1:]:
        for mine, other in zip(others, found[0], strict=True):
            assert (mine - other).abs().max().item() < 1e-11


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("is_reverse", [False, True])
def test_second_derivatives_are_right(kind, is_reverse):
    tensors = tensors_of(
        kind, True, 2 if kind == "LSTM" else 0, ((3, 2), 3, 2, 4), tensorlab.float64
    )
    call = lambda *given: [
        y for y in recurrent_layer(list(given), kind, True, is_reverse, (3, 2)) if y.numel()
    ]
    assert tensorlab.autograd.gradcheck(call, tensors)
    if kind != "RNN_RELU":
        assert tensorlab.autograd.gradgradcheck(call, tensors)


def test_gradients_of_what_depends_on_each_other_are_apart():
    x, h, w_ih, w_hh = tensors_of("GRU", False, 0, ((3,), 3, 4, 4), tensorlab.float64)
    found = []
    for function in (recurrent_layer, formula.recurrent_layer):
        out = function([x, h * x.sum(), w_ih, w_hh], "GRU", False, False, (3,))[0]
        (first,) = tensorlab.autograd.grad(out.pow(2).sum(), x, create_graph=True)
        found.append(tensorlab.autograd.grad(first.pow(2).sum(), [x, h, w_ih]))
    for mine, other in zip(*found, strict=True):
        assert (mine - other).abs().max().item() < 1e-9 * max(1, other.abs().max().item())


@pytest.mark.parametrize("kind", ["RNN_TANH", "GRU", "LSTM"])
def test_third_derivatives_are_those_of_the_formula(kind):
    tensors = tensors_of(kind, True, 0, ((3, 2), 3, 4, 4), tensorlab.float64)
    found = []
    for function in (recurrent_layer, formula.recurrent_layer):
        out = function(tensors, kind, True, False, (3, 2))[0].square().sum()
        for wanted in (tensors[0], tensors[2]):
            (grad,) = tensorlab.autograd.grad(out, wanted, create_graph=True)
            out = grad.square().sum()
        found.append(tensorlab.autograd.grad(out, tensors))
    for mine, other in zip(*found, strict=True):
        assert (mine - other).abs().max().item() < 1e-9 * max(1, other.abs().max().item())


def test_an_input_without_gradient_costs_none():
    tensors = tensors_of("LSTM", True, 0, ((3, 2), 3, 2, 4), tensorlab.float32)
    tensors[0].requires_grad_(False)
    last, cell = recurrent_layer(tensors, "LSTM", True, False, (3, 2))[1:]
    (last * cell).sum().backward()
    assert tensors[0].grad is None
    assert all(x.grad is not None and x.grad.shape == x.shape for x in tensors[1:])
    assert tensors[4].grad is not tensors[5].grad
    assert tensors[4].grad.tolist() == tensors[5].grad.tolist()


def with_one(position, change):
    tensors = [
        x.detach() for x in tensors_of("LSTM", True, 2, ((3, 2), 3, 2, 4), tensorlab.float32)
    ]
    tensors[position] = change(tensors[position])
    return tensors


@pytest.mark.parametrize("position", range(8))
@pytest.mark.parametrize("change", ["dimension", "rows", "columns"])
def test_shapes_are_checked(position, change):
    changes = {
        "dimension": lambda x: x.unsqueeze(0),
        "rows": lambda x: x[:-1],
        "columns": lambda x: x[..., :-1],
    }
    with pytest.raises(RuntimeError, match=r"recurrent_layer: (\w+ has|batch_sizes)"):
        recurrent_layer(with_one(position, changes[change]), "LSTM", True, False, (3, 2))


def test_types_kinds_and_counts_are_checked():
    good = with_one(0, lambda x: x)
    with pytest.raises(RuntimeError, match="another tensor tensorlab.float64"):
        recurrent_layer(with_one(3, lambda x: x.double()), "LSTM", True, False, (3, 2))
    with pytest.raises(NotImplementedError, match="convert with .float"):
        recurrent_layer([x.long() for x in good], "LSTM", True, False, (3, 2))
    with pytest.raises(ValueError, match="'LSMT'; expected one of RNN_TANH, RNN_RELU, GRU, LSTM"):
        recurrent_layer(good, "LSMT", True, False, (3, 2))
    for kind, has_bias, count in (("LSTM", False, 5), ("GRU", True, 6), ("GRU", False, 4)):
        with pytest.raises(RuntimeError, match=f"8 tensors are given; expected {count}:"):
            recurrent_layer(good, kind, has_bias, False, (3, 2))
    wrong = [tensorlab.ones(*s) for s in ((5, 2), (3, 8), (21, 2), (21, 8))]
    with pytest.raises(RuntimeError, match="expected 24, 3 times the 8 features"):
        recurrent_layer(wrong, "GRU", False, False, (3, 2))
    for sizes, text in (
        ((2, 3), "do not rise"),
        ((4, 1), "at most 3"),
        ((3, 3, -1), "do not rise"),
        ((3, 1), "adds up to 4; expected 5"),
    ):
        with pytest.raises(RuntimeError, match=text):
            recurrent_layer(good, "LSTM", True, False, sizes)


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
@pytest.mark.parametrize("wrong", range(6))
def test_backward_checks_gradients_and_results(kind, wrong):
    tensors = [x.detach() for x in tensors_of(kind, True, 0, ((3, 2), 3, 2, 4), tensorlab.float32)]
    options = (kind, True, False, (3, 2))
    hidden, last, cell, gates, cells = REGISTRY["recurrent_layer"](tensors, *options)
    saved = [hidden, last, cell, hidden, gates, cells]
    backward = REGISTRY["recurrent_layer_backward"]
    assert len(backward([*saved[:3], *tensors], *options, *saved[3:])) == len(tensors)
    assert backward([*saved[:3], *tensors], *options, *saved[3:], False)[0] is None
    saved[wrong] = saved[wrong].new_zeros(7, 9)
    name = ["grad_hidden", "grad_last", "grad_cell", "hidden", "gates", "cells"][wrong]
    with pytest.raises(RuntimeError, match=f"{name} has shape"):
        backward([*saved[:3], *tensors], *options, *saved[3:])
    meta = [[x.to("meta") for x in part] for part in (saved[:3], tensors, saved[3:])]
    with pytest.raises(RuntimeError, match=f"{name} has shape"):
        backward([*meta[0], *meta[1]], *options, *meta[2])


def test_nan_goes_through_relu():
    tensors = tensors_of("RNN_RELU", False, 0, ((1,), 1, 1, 3), tensorlab.float32)
    out = recurrent_layer([tensors[0] * float("nan"), *tensors[1:]], "RNN_RELU", False, False, (1,))
    assert out[0].isnan().all()


def test_an_input_may_have_no_features():
    tensors = [tensorlab.ones(*s) for s in ((3, 0), (3, 4), (12, 0), (12, 4))]
    ours = recurrent_layer(tensors, "GRU", False, False, (3,))[0]
    plain = formula.recurrent_layer(tensors, "GRU", False, False, (3,))[0]
    assert (ours - plain).abs().max().item() < 1e-6


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"input": None}, "input is of type NoneType; expected a Tensor"),
        ({"hx": None}, "hx is of type NoneType; expected a Tensor"),
        ({"num_layers": 1.0}, "num_layers is of type float; expected an int"),
        ({"dropout": "0"}, "dropout is of type str; expected a number"),
    ],
)
def test_types_of_the_function_are_checked(change, text):
    options = {
        "input": tensorlab.ones(2, 3, 5),
        "hx": tensorlab.ones(1, 3, 4),
        "num_layers": 1,
        "params": [tensorlab.ones(12, 5), tensorlab.ones(12, 4)],
        "has_biases": False,
        "dropout": 0,
        "train": True,
        "bidirectional": False,
        "batch_first": False,
    }
    assert tensorlab.gru(**options)[0].shape == (2, 3, 4)
    with pytest.raises(TypeError, match=text):
        tensorlab.gru(**{**options, **change})
