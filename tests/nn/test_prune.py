"""Pruned modules: masks, state dicts and errors are PyTorch's."""

import importlib
import math

import pytest

import tensorlab
from tensorlab import nn
from tests.ops.agreement import agree
from tests.oracle import require_torch

CALLS = [
    ("identity", (), {}),
    ("random_unstructured", (5,), {}),
    ("random_unstructured", (), {"amount": 0.3}),
    ("l1_unstructured", (0.4,), {}),
    ("l1_unstructured", (0,), {}),
    ("l1_unstructured", (0.9,), {}),
    ("random_structured", (2, 0), {}),
    ("random_structured", (), {"amount": 0.5, "dim": 1}),
    ("random_structured", (0.0, -1), {}),
    ("ln_structured", (0.5, 2, 0), {}),
    ("ln_structured", (1,), {"n": 1, "dim": 1}),
    ("ln_structured", (1,), {"n": math.inf, "dim": -1}),
    ("ln_structured", (0.0, 1, 1), {}),
]


def prune_of(T):
    return importlib.import_module(f"{T.__name__}.nn.utils.prune")


def layer_of(T, shape=None):
    T.manual_seed(3)
    return T.nn.Conv2d(4, 6, 2) if shape == "conv" else T.nn.Linear(5, 6)


def state(layer, name="weight"):
    return (
        [round(v, 5) for v in getattr(layer, name).flatten().tolist()],
        list(layer.state_dict()),
        [key for key, _ in layer.named_parameters()],
        {key: b.flatten().tolist() for key, b in layer.named_buffers()},
    )


@pytest.mark.parametrize("shape", ["linear", "conv"])
@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=str)
def test_what_is_pruned_is_what_pytorch_prunes(name, args, kwargs, shape):
    torch = require_torch()
    found = []
    for T in (tensorlab, torch):
        layer = layer_of(T, shape)
        prune = prune_of(T)
        assert getattr(prune, name)(layer, "weight", *args, **kwargs) is layer
        first = state(layer)
        prune.l1_unstructured(layer, "weight", 3)  # on top of it
        found.append((first, state(layer), prune.is_pruned(layer)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "second", ["ln_structured", "random_structured", "random_unstructured", "identity"]
)
def test_a_second_pruning_counts_among_what_is_left(second):
    torch = require_torch()
    arguments = {
        "ln_structured": (1, 2, 0),
        "random_structured": (0.5, 0),
        "random_unstructured": (4,),
        "identity": (),
    }
    found = []
    for T in (tensorlab, torch):
        layer = layer_of(T)
        prune = prune_of(T)
        prune.ln_structured(layer, "weight", 2, 2, 0)
        getattr(prune, second)(layer, "weight", *arguments[second])
        prune.custom_from_mask(layer, "weight", T.ones(6, 5).tril())
        prune.ln_structured(layer, "weight", 1, 2, -1)
        found.append(state(layer))
        assert len(layer._forward_pre_hooks) == 1
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("amount", [0, 0.0, 2])
@pytest.mark.parametrize("name", ["random_unstructured", "random_structured"])
def test_as_many_random_numbers_are_drawn_as_in_pytorch(name, amount, dtype):
    torch = require_torch()
    found = []
    for T in (tensorlab, torch):
        layer = layer_of(T).to(getattr(T, dtype))
        dims = (0,) if name == "random_structured" else ()
        getattr(prune_of(T), name)(layer, "weight", amount, *dims)
        found.append((layer.weight_mask.tolist(), T.rand(3).tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["RandomStructured", "LnStructured"])
def test_slices_that_are_pruned_already_stay_so(name):
    method = getattr(nn.utils.prune, name)(1, **({"n": 2} if name == "LnStructured" else {}), dim=0)
    known = tensorlab.ones(3, 4)
    known[:, 2] = 0
    pruned = method.prune(tensorlab.ones(3, 4), default_mask=known)
    assert sorted(pruned.tolist()) == [[0] * 4, [1, 1, 0, 1], [1, 1, 0, 1]]


def test_hooks_that_are_no_pruning_are_left_alone():
    layer = layer_of(tensorlab)
    layer.register_forward_pre_hook(lambda module, inputs: None)
    assert not nn.utils.prune.is_pruned(layer)
    nn.utils.prune.l1_unstructured(layer, "weight", 3)
    nn.utils.prune.l1_unstructured(layer, "weight", 3)
    assert nn.utils.prune.is_pruned(layer)
    nn.utils.prune.remove(layer, "weight")
    assert len(layer._forward_pre_hooks) == 1


@pytest.mark.parametrize("amount", [-1, 1.5, -0.5, "a"])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        *[("RandomUnstructured", ()), ("L1Unstructured", ())],
        *[("RandomStructured", ()), ("LnStructured", (2,))],
    ],
)
def test_an_amount_is_refused_before_anything_is_pruned(name, more, amount):
    for T in (tensorlab, require_torch()):
        with pytest.raises(TypeError if amount == "a" else ValueError, match="amount"):
            getattr(prune_of(T), name)(amount, *more)


def test_scores_decide_in_place_of_the_values():
    torch = require_torch()
    found = []
    for T in (tensorlab, torch):
        layer = layer_of(T)
        scores = T.arange(30.0).sin().view(6, 5)
        prune_of(T).l1_unstructured(layer, "weight", 7, importance_scores=scores)
        prune_of(T).ln_structured(layer, "weight", 1, 1, 1, importance_scores=scores)
        found.append(state(layer))
    assert found[0] == found[1]


@pytest.mark.parametrize("method", ["L1Unstructured", "RandomUnstructured"])
def test_parameters_compete(method):
    torch = require_torch()
    found = []
    for T in (tensorlab, torch):
        T.manual_seed(2)
        model = T.nn.Sequential(T.nn.Linear(5, 6), T.nn.Linear(6, 3))
        prune = prune_of(T)
        prune.l1_unstructured(model[0], "weight", 2)
        pairs = [(model[0], "weight"), (model[1], "weight"), (model[1], "bias")]
        prune.global_unstructured(pairs, getattr(prune, method), amount=10)
        scores = {(model[1], "weight"): T.arange(18.0).view(3, 6)}
        prune.global_unstructured(
            pairs, getattr(prune, method), importance_scores=scores, amount=0.25
        )
        found.append([state(model[0]), state(model[1]), state(model[1], "bias")])
    assert found[0] == found[1]


def test_removing_makes_the_product_the_parameter():
    layer = layer_of(tensorlab)
    weight = layer.weight
    nn.utils.prune.l1_unstructured(layer, "weight", 10)
    assert nn.utils.prune.is_pruned(nn.Sequential(layer))
    values = layer.weight.detach().clone()
    assert nn.utils.prune.remove(layer, "weight") is layer
    assert layer.weight is weight
    assert tensorlab.equal(weight, values)
    assert int((weight == 0).sum()) == 10
    assert list(layer.state_dict()) == ["bias", "weight"]
    assert not nn.utils.prune.is_pruned(layer)
    assert len(layer._forward_pre_hooks) == 0
    with pytest.raises(ValueError, match="has to be pruned before"):
        nn.utils.prune.remove(layer, "weight")


def test_gradients_reach_the_original_through_the_mask():
    layer = layer_of(tensorlab)
    nn.utils.prune.l1_unstructured(layer, "weight", 0.5)
    layer(tensorlab.ones(1, 5)).sum().backward()
    assert tensorlab.equal(layer.weight_orig.grad, layer.weight_mask)
    with tensorlab.no_grad():
        layer.weight_orig.add_(1)
    layer(tensorlab.ones(1, 5))
    assert tensorlab.equal(layer.weight, layer.weight_orig * layer.weight_mask)
    assert int((layer.weight == 0).sum()) == 15


def test_a_tensor_is_pruned_without_a_module():
    torch = require_torch()
    for T in (tensorlab, torch):
        method = prune_of(T).L1Unstructured(2)
        x = T.tensor([3.0, -1.0, 2.0, 0.5])
        assert method.prune(x).tolist() == [3.0, 0.0, 2.0, 0.0]
        scores = T.tensor([0.0, 1.0, 2.0, 3.0])
        assert method.prune(x, importance_scores=scores).tolist() == [0.0, 0.0, 2.0, 0.5]
        known = T.tensor([0.0, 1.0, 1.0, 1.0])
        assert method.prune(x, default_mask=known).tolist() == [0.0, 0.0, 2.0, 0.0]
        with pytest.raises(AssertionError):
            method.prune(x, importance_scores=scores[:2])


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "amount is -1", lambda p, m: p.l1_unstructured(m, "weight", -1)),
        (ValueError, "amount is 1.5", lambda p, m: p.random_unstructured(m, "weight", 1.5)),
        (TypeError, "amount is 'a'", lambda p, m: p.l1_unstructured(m, "weight", "a")),
        (ValueError, "to prune, 30", lambda p, m: p.l1_unstructured(m, "weight", 31)),
        (ValueError, "found a 1D tensor", lambda p, m: p.ln_structured(m, "bias", 1, 2, 0)),
        (ValueError, "found a 1D tensor", lambda p, m: p.random_structured(m, "bias", 1, 0)),
        (IndexError, "invalid dim 2", lambda p, m: p.random_structured(m, "weight", 1, 2)),
        (IndexError, "invalid dim -3", lambda p, m: p.ln_structured(m, "weight", 1, 2, -3)),
        (
            AssertionError,
            r"shape \(2, 2\)",
            lambda p, m: p.custom_from_mask(m, "weight", tensorlab.ones(2, 2)),
        ),
        (
            AssertionError,
            "importance_scores should have",
            lambda p, m: p.l1_unstructured(m, "weight", 1, importance_scores=tensorlab.ones(2)),
        ),
        (
            TypeError,
            'only "unstructured"',
            lambda p, m: p.global_unstructured([(m, "weight")], p.LnStructured, amount=1, n=1),
        ),
    ],
)
def test_bad_calls_say_what_is_wrong_and_change_nothing(error, message, call):
    layer = layer_of(tensorlab)
    before = layer.weight
    with pytest.raises(error, match=message):
        call(nn.utils.prune, layer)
    assert layer.weight is before
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_a_container_takes_methods_of_its_own_parameter_only():
    prune = nn.utils.prune
    layer = layer_of(tensorlab)
    first = prune.L1Unstructured.apply(layer, "weight", 1)
    second = prune.L1Unstructured.apply(layer, "weight", 1)
    assert isinstance(second, prune.PruningContainer)
    assert len(second) == 2
    assert second[0] is first
    assert list(second) == [second[0], second[1]]
    with pytest.raises(ValueError, match="the parameter named 'weight'"):
        second.add_pruning_method(prune.L1Unstructured.apply(layer, "bias", 1))
    with pytest.raises(TypeError, match="is not a BasePruningMethod"):
        second.add_pruning_method(3)
    with pytest.raises(ValueError, match="to prune"):
        prune.l1_unstructured(layer, "weight", 31)
    assert len(second) == 2
    first.PRUNING_TYPE = second._pruning_methods[-1].PRUNING_TYPE = "other"
    with pytest.raises(ValueError, match="unrecognized PRUNING_TYPE other"):
        second.compute_mask(tensorlab.ones(2), tensorlab.ones(2))
    unused = prune.L1Unstructured(1)
    with pytest.raises(AssertionError, match="has to be pruned"):
        unused.apply_mask(layer)


# Helpers that programs call, and arguments with nothing in them.
HELPERS = {
    "amount, share": lambda p, T: p._validate_pruning_amount_init(1.5),
    "amount, fits": lambda p, T: p._validate_pruning_amount_init(0.5),
    "amount, text": lambda p, T: p._validate_pruning_amount_init("half"),
    "amount, too many": lambda p, T: p._validate_pruning_amount(8, 7),
    "amount, all": lambda p, T: p._validate_pruning_amount(7, 7),
    "number": lambda p, T: [p._compute_nparams_toprune(n, 7) for n in (0.5, 3, 10, 0.0)],
    "vector": lambda p, T: p._validate_structured_pruning(T.ones(3)),
    "matrix": lambda p, T: p._validate_structured_pruning(T.ones(3, 2)),
    "dim": lambda p, T: p._validate_pruning_dim(T.ones(3, 2), 2),
    "norm": lambda p, T: p._compute_norm(T.arange(6.0).view(3, 2), 1, -1).tolist(),
    "nothing to prune": lambda p, T: p.global_unstructured([], p.L1Unstructured, amount=1),
    "nothing to go through": lambda p, T: p.global_unstructured(3, p.L1Unstructured, amount=1),
    "scores in a list": lambda p, T: p.global_unstructured(
        [(T.nn.Linear(2, 2), "weight")], p.L1Unstructured, importance_scores=[1], amount=1
    ),
}


@pytest.mark.parametrize("call", HELPERS)
def test_a_helper_answers_or_refuses_as_pytorchs(call):
    require_torch()
    agree(lambda T: HELPERS[call](importlib.import_module(f"{T.__name__}.nn.utils.prune"), T))
