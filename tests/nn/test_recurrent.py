"""Recurrent layers and cells: as in PyTorch, with every option."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch

KINDS = ["RNN", "GRU", "LSTM"]
OPTIONS = [
    {},
    {"num_layers": 2, "bidirectional": True},
    {"bias": False, "num_layers": 2},
    {"batch_first": True, "bidirectional": True},
    {"num_layers": 3, "dropout": 0.4, "batch_first": True},
    {"num_layers": 2, "dropout": 1.0},
]


def tensors_of(state):
    return list(state) if isinstance(state, tuple) else [state]


def pair(kind, *args, **options):
    """The same layer of both packages, with equal initial values."""
    torch = require_torch()
    modules = []
    for T in (tensorlab, torch):
        T.manual_seed(3)
        modules.append(getattr(T.nn, kind)(*args, **options))
    ours, theirs = modules
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in ours.state_dict().items():
        assert value.tolist() == theirs.state_dict()[name].tolist(), name
    assert repr(ours) == repr(theirs)
    return ours, theirs


def numbers(T, seed, *shape):
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return T.tensor(values).requires_grad_()


def first_states(T, kind, shape, features=None):
    if kind != "LSTM":
        return numbers(T, 5, *shape)
    return numbers(T, 5, *shape[:-1], features or shape[-1]), numbers(T, 6, *shape)


def compare(modules, inputs, states):
    """Compare outputs, last states and all gradients; inputs and states are pairs, the second of PyTorch's."""
    torch = require_torch()
    results = []
    for T, module, x, hx in zip((tensorlab, torch), modules, inputs, states, strict=True):
        T.manual_seed(7)
        output, last = module(x) if hx is None else module(x, hx)
        data = output.data if isinstance(output, T.nn.utils.rnn.PackedSequence) else output
        found = [data, *tensors_of(last)]
        loss = 0
        for k, y in enumerate(found):
            loss = loss + (y * numbers(T, 20 + k, *y.shape).detach()).sum()
        loss.backward()
        leaf = x.data if isinstance(x, T.nn.utils.rnn.PackedSequence) else x
        grads = [p.grad for p in module.parameters()]
        grads += [leaf.grad] if leaf.is_leaf and leaf.grad is not None else []
        grads += [] if hx is None else [state.grad for state in tensors_of(hx)]
        results.append((output, found, grads))
    for k in (1, 2):
        assert len(results[0][k]) == len(results[1][k])
        for mine, other in zip(results[0][k], results[1][k], strict=True):
            assert_same_values(mine, other, 2e-5)
    return results[0][0], results[1][0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("with_state", [False, True])
def test_sequences_go_through_as_in_pytorch(kind, options, with_state):
    torch = require_torch()
    modules = pair(kind, 5, 6, **options)
    shape = (3, 4, 5) if options.get("batch_first") else (4, 3, 5)
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    states = [
        first_states(T, kind, (count, 3, 6)) if with_state else None for T in (tensorlab, torch)
    ]
    ours, theirs = compare(modules, [numbers(T, 1, *shape) for T in (tensorlab, torch)], states)
    assert ours.stride() == theirs.stride()


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}])
def test_the_states_of_an_lstm_can_be_projected(options):
    torch = require_torch()
    modules = pair("LSTM", 5, 6, proj_size=2, **options)
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    for states in (
        [first_states(T, "LSTM", (count, 3, 6), 2) for T in (tensorlab, torch)],
        [None, None],
    ):
        compare(modules, [numbers(T, 1, 4, 3, 5) for T in (tensorlab, torch)], states)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True, "dropout": 0.3}])
def test_packed_sequences_go_through_as_in_pytorch(kind, is_sorted, options):
    torch = require_torch()
    modules = pair(kind, 5, 6, **options)
    lengths = [4, 3, 3, 1] if is_sorted else [3, 1, 4, 3]
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    inputs, states = [], []
    for T in (tensorlab, torch):
        x = numbers(T, 1, 4, 4, 5).detach()
        packed = T.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=is_sorted)
        inputs.append(packed)
        states.append(first_states(T, kind, (count, 4, 6)))
    ours, theirs = compare(modules, inputs, states)
    assert type(ours) is nn.utils.rnn.PackedSequence
    for name in ("batch_sizes", "sorted_indices", "unsorted_indices"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert (mine is None) == (other is None)
        if mine is not None:
            assert mine.tolist() == other.tolist()
    compare(modules, inputs, [None, None])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_first", [False, True])
def test_a_single_sequence_needs_no_batch(kind, batch_first):
    torch = require_torch()
    modules = pair(kind, 5, 6, batch_first=batch_first, bidirectional=True)
    inputs = [numbers(T, 1, 4, 5) for T in (tensorlab, torch)]
    for states in (
        [first_states(T, kind, (2, 6)) for T in (tensorlab, torch)],
        [None, None],
    ):
        ours, theirs = compare(modules, inputs, states)
        assert tuple(ours.shape) == tuple(theirs.shape) == (4, 12)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", KINDS)
def test_other_types_go_through(kind, dtype):
    reference = getattr(nn, kind)(5, 6, bidirectional=True)
    layer = copy.deepcopy(reference).to(getattr(tensorlab, dtype))
    x = numbers(tensorlab, 1, 4, 3, 5)
    expected, _ = reference(x)
    found, state = layer(x.detach().to(layer.weight_hh_l0.dtype))
    assert str(found.dtype).endswith(dtype)
    assert tensors_of(state)[-1].dtype == found.dtype
    tolerance = 1e-6 if dtype == "float64" else 3e-2
    np.testing.assert_allclose(
        found.float().detach().numpy(), expected.detach().numpy(), atol=tolerance
    )
    found.float().sum().backward()
    expected.sum().backward()
    for mine, other in zip(layer.parameters(), reference.parameters(), strict=True):
        assert mine.grad.dtype == mine.dtype
        np.testing.assert_allclose(mine.grad.float().numpy(), other.grad.numpy(), atol=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_relu_meta_and_empty_batches(kind):
    layer = getattr(nn, kind)(5, 6, num_layers=2)
    output, state = layer(tensorlab.zeros(4, 0, 5))
    assert output.shape == (4, 0, 6)
    assert tensors_of(state)[0].shape == (2, 0, 6)
    output, state = layer.to("meta")(tensorlab.zeros(4, 3, 5, device="meta"))
    assert output.shape == (4, 3, 6)
    assert tensors_of(state)[-1].shape == (2, 3, 6)
    assert str(output.device) == "meta"


def test_the_nonlinearity_can_be_relu():
    torch = require_torch()
    modules = pair("RNN", 5, 6, 2, "relu")
    assert modules[0].mode == modules[1].mode == "RNN_RELU"
    assert modules[0].nonlinearity == "relu"
    inputs = [numbers(T, 1, 4, 3, 5) for T in (tensorlab, torch)]
    compare(modules, inputs, [None, None])
    compare(pair("RNN", 5, 6, nonlinearity="relu"), inputs, [None, None])
    assert nn.RNN(5, 6, 1, "tanh", False).bias is False


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_keeps_its_options_and_parameters(kind):
    options = {"num_layers": 2, "bidirectional": True, "batch_first": True, "dropout": 0.5}
    ours, theirs = pair(kind, 5, 6, bias=False, **options)
    names = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout"]
    for name in [*names, "bidirectional", "proj_size", "_flat_weights_names", "_all_weights"]:
        assert getattr(ours, name) == getattr(theirs, name), name
    shapes = [[tuple(w.shape) for w in weights] for weights in ours.all_weights]
    assert shapes == [[tuple(w.shape) for w in weights] for weights in theirs.all_weights]
    assert all(a is b for a, b in zip(ours._flat_weights, ours.parameters(), strict=True))
    assert ours.flatten_parameters() is None
    x = numbers(tensorlab, 1, 3, 4, 5)
    ours.eval()
    for other in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert other(x)[0].tolist() == ours(x)[0].tolist()
        assert repr(other) == repr(ours)
    ours.weight_hh_l1 = nn.Parameter(tensorlab.zeros_like(ours.weight_hh_l1))
    assert ours._flat_weights[5] is ours.weight_hh_l1
    assert ours(x)[0].tolist() != other(x)[0].tolist()
    meta = getattr(nn, kind)(5, 6, device="meta", dtype=tensorlab.float64)
    assert str(meta.weight_hh_l0.device) == "meta"
    assert meta.bias_hh_l0.dtype == tensorlab.float64


CELLS = ["RNNCell", "GRUCell", "LSTMCell"]


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("with_state", [False, True])
def test_cells_take_a_step_as_in_pytorch(kind, bias, batch, with_state):
    torch = require_torch()
    modules = pair(kind, 5, 6, bias)
    results = []
    for T, module in zip((tensorlab, torch), modules, strict=True):
        x = numbers(T, 1, *batch, 5)
        hx = first_states(T, kind[:-4], (*batch, 6)) if with_state else None
        last = tensors_of(module(x, hx))
        loss = sum(((k + 1) * y * y).sum() for k, y in enumerate(last))
        loss.backward()
        grads = [x.grad, *[p.grad for p in module.parameters()]]
        grads += [state.grad for state in tensors_of(hx)] if with_state else []
        results.append([*last, *grads])
    for mine, other in zip(*results, strict=True):
        assert_same_values(mine, other, 1e-5)


def test_a_cell_can_use_relu():
    modules = pair("RNNCell", 5, 6, nonlinearity="relu")
    torch = require_torch()
    found = [m(numbers(T, 1, 3, 5)) for T, m in zip((tensorlab, torch), modules, strict=True)]
    assert_same_values(*found)
    modules[0].nonlinearity = "sine"
    with pytest.raises(RuntimeError, match="'sine'"):
        modules[0](numbers(tensorlab, 1, 3, 5))


@pytest.mark.parametrize("kind", ["lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"])
@pytest.mark.parametrize("given", [(), (0,), (1,), (0, 1)])
def test_the_functions_of_cells_take_biases_or_none(kind, given):
    torch = require_torch()
    gates = {"lstm": 4, "gru": 3}.get(kind.split("_")[0], 1)
    results = []
    for T in (tensorlab, torch):
        hx = numbers(T, 2, 3, 6)
        hx = (hx, numbers(T, 3, 3, 6)) if kind == "lstm_cell" else hx
        weights = [numbers(T, 4, gates * 6, 5), numbers(T, 5, gates * 6, 6)]
        biases = [numbers(T, 6 + k, gates * 6) if k in given else None for k in (0, 1)]
        # PyTorch itself wants both or none
        if T is torch and len(given) == 1:
            biases = [T.zeros(gates * 6) if b is None else b for b in biases]
        results.append(tensors_of(getattr(T, kind)(numbers(T, 1, 3, 5), hx, *weights, *biases)))
    for mine, other in zip(*results, strict=True):
        assert_same_values(mine, other, 1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_the_functions_take_names_and_positions(kind):
    torch = require_torch()
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    results = []
    for T in (tensorlab, torch):
        hx = numbers(T, 2, 2, 3, 6)
        hx = (hx, numbers(T, 3, 2, 3, 6)) if kind == "lstm" else hx
        params = [numbers(T, 4, gates * 6, 5), numbers(T, 5, gates * 6, 6)]
        params += [numbers(T, 6, gates * 6, 6), numbers(T, 7, gates * 6, 6)]
        function, x = getattr(T, kind), numbers(T, 1, 4, 3, 5)
        found = [
            *function(x, hx, params, False, 2, 0.0, False, False, False),
            *function(x, hx, params, False, 2, 0.5, False, False, batch_first=False),
        ]
        packed = T.nn.utils.rnn.pack_padded_sequence(x, [4, 2, 1])
        rest = (packed.data, packed.batch_sizes, hx, params, False, 2, 0.0, False)
        found += [*function(*rest, False), *function(*rest, bidirectional=False)]
        results.append(found)
    for mine, other in zip(*results, strict=True):
        assert_same_values(mine, other, 1e-5)
    for args, kwargs in (((x,), {}), ((x, hx, params, False, 2, 0.0, False, False), {"more": 1})):
        with pytest.raises(TypeError, match=kind):
            getattr(tensorlab, kind)(*args, **kwargs)


ONES = tensorlab.ones
REFUSED_LAYERS = [
    (lambda T: T.nn.LSTM(5, 6, dropout=1.5), "from 0 to 1"),
    (lambda T: T.nn.LSTM(5, 6, dropout=-0.5), "from 0 to 1"),
    (lambda T: T.nn.LSTM(5, 6, dropout=True), "from 0 to 1"),
    (lambda T: T.nn.LSTM(5, 6, bias=1), "bias should be of type bool"),
    (lambda T: T.nn.LSTM(5, 6, batch_first=0), "batch_first should be of type bool"),
    (lambda T: T.nn.LSTM(5.0, 6), "input_size should be of type int"),
    (lambda T: T.nn.LSTM(5, 6.0), "hidden_size should be of type int"),
    (lambda T: T.nn.LSTM(0, 6), "input_size is 0"),
    (lambda T: T.nn.LSTM(5, 0), "hidden_size is 0"),
    (lambda T: T.nn.LSTM(5, 6, 0), "num_layers is 0"),
    (lambda T: T.nn.LSTM(5, 6, proj_size=6), "smaller than hidden_size"),
    (lambda T: T.nn.LSTM(5, 6, proj_size=-1), "proj_size is -1"),
    (lambda T: T.nn.GRU(5, 6, proj_size=2), "option of LSTM"),
    (lambda T: T.nn.RNN(5, 6, proj_size=2), "option of LSTM"),
    (lambda T: T.nn.RNN(5, 6, nonlinearity="sine"), "'sine'"),
    (lambda T: T.nn.RNNBase("SINE", 5, 6), "SINE"),
    (lambda T: T.nn.LSTM(5, 6)(T.ones(5)), "1D"),
    (lambda T: T.nn.GRU(5, 6)(T.ones(1, 1, 1, 5)), "4D"),
    (lambda T: T.nn.RNN(5, 6)(T.ones(4, 3, 4)), "expected input_size, 5"),
    (lambda T: T.nn.RNN(5, 6)(T.ones(4, 3, 5).double()), "convert with"),
    (lambda T: T.nn.RNN(5, 6)(T.ones(4, 3, 5), T.ones(1, 6)), "batched 3-D"),
    (lambda T: T.nn.GRU(5, 6)(T.ones(4, 5), T.ones(1, 1, 6)), "unbatched 2-D"),
    (lambda T: T.nn.LSTM(5, 6)(T.ones(4, 5), (T.ones(1, 6), T.ones(1, 1, 6))), "unbatched 2-D"),
    (
        lambda T: T.nn.GRU(5, 6)(T.ones(4, 3, 5), T.ones(1, 2, 6)),
        r"Expected hidden size \(1, 3, 6\)",
    ),
    (
        lambda T: T.nn.LSTM(5, 6)(T.ones(4, 3, 5), (T.ones(1, 2, 6), T.ones(1, 3, 6))),
        r"hidden\[0\]",
    ),
    (
        lambda T: T.nn.LSTM(5, 6)(T.ones(4, 3, 5), (T.ones(1, 3, 6), T.ones(1, 3, 5))),
        r"hidden\[1\]",
    ),
    (lambda T: T.nn.GRU(5, 6)(T.ones(0, 3, 5)), "no steps"),
    (lambda T: T.nn.GRUCell(5, 6)(T.ones(1, 3, 5)), "1D or 2D, got 3D"),
    (lambda T: T.nn.RNNCell(5, 6)(T.ones(3, 5), T.ones(1, 3, 6)), "1D or 2D, got 3D"),
    (lambda T: T.nn.RNNCell(5, 6)(T.ones(3, 4)), "expected 5"),
    (lambda T: T.nn.RNNCell(5, 6)(T.ones(3, 5), T.ones(2, 6)), r"expected \(3, 6\)"),
    (
        lambda T: T.lstm_cell(T.ones(3, 5), [T.ones(3, 6)], T.ones(24, 5), T.ones(24, 6)),
        "expected two",
    ),
    (
        lambda T: T.lstm(
            T.ones(4, 3, 5), [T.ones(1, 3, 6)], [], False, 1, 0.0, False, False, False
        ),
        "expected two",
    ),
    (
        lambda T: T.gru(T.ones(4, 3, 5), T.ones(1, 3, 6), [], False, 1, 0.0, False, False, False),
        "expected 2 for each of 1",
    ),
]


@pytest.mark.filterwarnings("ignore:.*dropout")
@pytest.mark.parametrize("case", range(len(REFUSED_LAYERS)))
def test_what_does_not_fit_is_refused(case):
    torch = require_torch()
    call, text = REFUSED_LAYERS[case]
    with pytest.raises(Exception) as theirs:  # noqa: PT011  its class is what the test asks for
        call(torch)
    with pytest.raises(type(theirs.value), match=text):
        call(tensorlab)


def test_the_classes_have_the_path_of_pytorch():
    assert nn.modules.rnn.LSTMCell is nn.LSTMCell
    assert nn.modules.rnn.RNNCellBase in nn.LSTMCell.__mro__


def test_dropout_of_a_single_layer_is_warned_of():
    with pytest.warns(UserWarning, match="between layers only") as found:
        nn.GRU(5, 6, dropout=0.5)
    assert found[0].filename == __file__


def test_what_the_function_is_given_is_checked():
    x, h = ONES(4, 3, 5), ONES(2, 3, 6)
    with pytest.raises(RuntimeError, match="expected 1 states"):
        tensorlab.gru(x, h, [ONES(18, 5), ONES(18, 6)], False, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="input has 2 dimensions"):
        tensorlab.gru(x[0], h, [ONES(18, 5), ONES(18, 6)] * 2, False, 2, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="hx has 2 dimensions"):
        tensorlab.gru(x, h[0], [ONES(18, 5), ONES(18, 6)], False, 1, 0.0, False, False, False)
    for rows, columns in itertools.product((17, 18), (5, 4)):
        if (rows, columns) != (18, 5):
            with pytest.raises(RuntimeError, match="weight_ih has shape"):
                tensorlab.gru_cell(
                    ONES(3, columns), ONES(3, 6), ONES(rows, columns), ONES(18, 6)
                ) if columns == 5 else tensorlab.gru(
                    x, h[:1], [ONES(rows, 4), ONES(18, 6)], False, 1, 0.0, False, False, False
                )


def test_a_dropout_that_is_an_int_is_kept_as_a_float():
    found = []
    for T in (tensorlab, require_torch()):
        layer = T.nn.LSTM(5, 6, num_layers=2, dropout=1)
        found.append((repr(layer), type(layer.dropout), layer.dropout))
    assert found[0] == found[1]


def test_what_a_layer_checks_of_its_input_can_be_asked_for():
    for T in (tensorlab, require_torch()):
        layer = T.nn.GRU(5, 6)
        layer.weight_ih_l0 = T.nn.Parameter(layer.weight_ih_l0.double())  # the type that counts
        x, sizes = T.zeros(3, 2, 5, dtype=T.float64), T.tensor([2, 1])
        layer.check_input(x, None)
        layer.check_input(x[0], sizes)
        with pytest.raises(ValueError, match=r"(?i)input"):
            layer.check_input(x.float(), None)
        for wrong, batch_sizes in ((x[0], None), (x, sizes), (x[..., :4], None)):
            with pytest.raises(RuntimeError, match=r"input"):
                layer.check_input(wrong, batch_sizes)
