"""rnn_tanh, rnn_relu, gru and lstm, with all layers and directions, and their cells: made of `recurrent_layer`.

A layer of a bidirectional network is two, one of them in reverse; their outputs are joined and go
into the next. Sequences that are not packed become so: with equal lengths it is a matter of
shape.
"""

from ..._core.tensor import TensorBase
from ...errors import ShapeError
from ..dropout import dropout as drop_out
from ..joining import cat, stack
from .layer import recurrent_layer

__all__ = [
    "gru",
    "gru_cell",
    "lstm",
    "lstm_cell",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
]

TENSORS = ("input", "data", "batch_sizes")
EXPECTED = {TensorBase: "a Tensor", int: "an int", (int, float): "a number"}
SETTINGS = ("params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
PADDED = ("input", "hx", *SETTINGS, "batch_first")
PACKED = ("data", "batch_sizes", "hx", *SETTINGS)


def bind(where, args, kwargs, is_packed):
    """The arguments by name. Both forms have as many, and differ in what stands where."""
    names = PACKED if is_packed else PADDED
    given = dict(zip(names, args, strict=False))
    missing = [name for name in names if name not in given and name not in kwargs]
    unknown = [name for name in kwargs if name not in names or name in given]
    if missing or unknown or len(args) > len(names):
        what = f"{missing[0]!r} is missing" if missing else f"{len(args)} and {unknown} are given"
        raise TypeError(f"{where}: {what}; expected {', '.join(names)}")
    return {**given, **kwargs}


def require(where, kind, **values):
    """Raise unless each of the values is of this kind."""
    for name, value in values.items():
        if not isinstance(value, kind):
            raise TypeError(
                f"{where}: {name} is of type {type(value).__name__}; expected {EXPECTED[kind]}"
            )


# ---------------------------------------------------------------- all layers
def run_layers(where, kind, rows, batch_sizes, states, settings):
    """Run packed rows through all layers; return the output and the last states.

    `states` holds the first state and, for an LSTM, the first cell, (layers * directions, batch,
    features) each.
    """
    params, has_bias = list(settings["params"]), settings["has_biases"]
    directions = 2 if settings["bidirectional"] else 1
    count = settings["num_layers"] * directions
    each = 2 + 2 * bool(has_bias)
    if kind == "LSTM" and states[0].size(2) != states[1].size(2):
        each += 1  # a projection
    if len(params) != count * each:
        raise ShapeError(
            f"{where}: {len(params)} params are given; expected {each} for each of {count} layers and "
            "directions"
        )
    for state in states:
        if state.size(0) != count:
            raise ShapeError(
                f"{where}: hx has shape {tuple(state.shape)}; expected {count} states, one for each "
                "layer and direction"
            )
    last = [[] for _ in states]
    for first in range(0, count, directions):
        outputs = []
        for i in range(first, first + directions):
            weights = params[i * each : (i + 1) * each]
            tensors = [rows, states[0][i], *weights[: 2 + 2 * bool(has_bias)]]
            if kind == "LSTM":
                tensors += [states[1][i], *weights[2 + 2 * bool(has_bias) :]]
            found = recurrent_layer(tensors, kind, has_bias, i > first, batch_sizes)
            outputs.append(found[0])
            for k, state in enumerate(found[1 : 1 + len(states)]):
                last[k].append(state)
        rows = outputs[0] if directions == 1 else cat(outputs, 1)
        if settings["dropout"] and settings["train"] and first + directions < count:
            rows = drop_out(rows, settings["dropout"], True)
    return rows, *[stack(one) for one in last]


def run_network(where, kind, args, kwargs, is_packed):
    """Bind the arguments, pack what is padded, and run all layers."""
    settings = bind(where, args, kwargs, is_packed)
    require(where, int, num_layers=settings["num_layers"])
    require(where, (int, float), dropout=settings["dropout"])
    require(where, TensorBase, **{name: settings[name] for name in settings if name in TENSORS})
    states = settings["hx"] if kind == "LSTM" else [settings["hx"]]
    for state in states:
        require(where, TensorBase, hx=state)
    if kind == "LSTM" and len(states) != 2:
        raise ShapeError(f"{where}: hx has {len(states)} states; expected two, state and cell")
    for state in states:
        if state.dim() != 3:
            raise ShapeError(
                f"{where}: hx has {state.dim()} dimensions; expected (layers * directions, batch, features)"
            )
    if is_packed:
        sizes = tuple(settings["batch_sizes"].tolist())
        return run_layers(where, kind, settings["data"], sizes, states, settings)
    x = settings["input"]
    if x.dim() != 3:
        raise ShapeError(
            f"{where}: input has {x.dim()} dimensions; expected steps, batch and features"
        )
    if settings["batch_first"]:
        x = x.transpose(0, 1)
    steps, batch, features = x.shape
    if steps == 0:
        raise ShapeError(f"{where}: input has no steps; expected at least one")
    rows = x.reshape(steps * batch, features)
    rows, *last = run_layers(where, kind, rows, (batch,) * steps, states, settings)
    rows = rows.reshape(steps, batch, rows.size(1))
    return rows.transpose(0, 1) if settings["batch_first"] else rows, *last


def is_tensor(args, kwargs, position):
    """Whether the argument at this position is a Tensor, or `batch_sizes` is named: the sequences are packed."""
    return "batch_sizes" in kwargs or (
        len(args) > position and isinstance(args[position], TensorBase)
    )


def lstm(*args, **kwargs):
    """Run sequences through the layers of an LSTM, as `nn.LSTM` does.

    The arguments of padded sequences are input, hx, params, has_biases, num_layers, dropout,
    train, bidirectional and batch_first; those of packed sequences are data, batch_sizes, hx,
    params, has_biases, num_layers, dropout, train and bidirectional.

    Parameters
    ----------
    input : Tensor, shape (steps, batch, features), or (batch, steps, features) with `batch_first`
    data, batch_sizes : Tensor, the fields of a PackedSequence
    hx : pair of Tensor, states and cells, shape (layers * directions, batch, hidden) each
    params : list of Tensor: for each layer and direction weight_ih, weight_hh, then bias_ih and
        bias_hh if `has_biases`, then weight_hr if the states are projected
    dropout : float, between layers if `train`

    Returns
    -------
    (Tensor, Tensor, Tensor) : output, last states, last cells

    Raises
    ------
    ShapeError
        If something does not fit.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> layer = nn.LSTM(3, 2)
    >>> x, h = tensorlab.ones(5, 1, 3), tensorlab.zeros(1, 1, 2)
    >>> y, h, c = lstm(x, (h, h), layer._flat_weights, True, 1, 0.0, False, False, False)
    >>> y.shape, h.shape, c.shape
    (tensorlab.Size([5, 1, 2]), tensorlab.Size([1, 1, 2]), tensorlab.Size([1, 1, 2]))
    """
    return run_network("lstm", "LSTM", args, kwargs, is_tensor(args, kwargs, 1))


def gru(*args, **kwargs):
    """Run sequences through the layers of a GRU, as `nn.GRU` does; see `lstm` for the arguments. `hx` is one Tensor.

    Returns
    -------
    (Tensor, Tensor) : output, last states

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> layer = nn.GRU(3, 2)
    >>> x, h = tensorlab.ones(5, 1, 3), tensorlab.zeros(1, 1, 2)
    >>> y, last = gru(x, h, layer._flat_weights, True, 1, 0.0, False, False, False)
    >>> y.shape, last.shape
    (tensorlab.Size([5, 1, 2]), tensorlab.Size([1, 1, 2]))
    """
    return run_network("gru", "GRU", args, kwargs, is_tensor(args, kwargs, 2))


def rnn_tanh(*args, **kwargs):
    """Run sequences through plain recurrent layers with tanh, as `nn.RNN` does; see `gru`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> layer = nn.RNN(3, 2)
    >>> x, h = tensorlab.ones(5, 1, 3), tensorlab.zeros(1, 1, 2)
    >>> y, last = rnn_tanh(x, h, layer._flat_weights, True, 1, 0.0, False, False, False)
    >>> y.shape
    tensorlab.Size([5, 1, 2])
    """
    return run_network("rnn_tanh", "RNN_TANH", args, kwargs, is_tensor(args, kwargs, 2))


def rnn_relu(*args, **kwargs):
    """Run sequences through plain recurrent layers with relu; see `gru`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> layer = nn.RNN(3, 2, nonlinearity="relu")
    >>> x, h = tensorlab.ones(5, 1, 3), tensorlab.zeros(1, 1, 2)
    >>> y, last = rnn_relu(x, h, layer._flat_weights, True, 1, 0.0, False, False, False)
    >>> y.min() >= 0
    tensor(True)
    """
    return run_network("rnn_relu", "RNN_RELU", args, kwargs, is_tensor(args, kwargs, 2))


# ---------------------------------------------------------------- cells
def run_cell(where, kind, input, states, w_ih, w_hh, biases):
    """One step of one layer."""
    check_cell(where, input, states, w_ih, w_hh)
    has_bias = any(bias is not None for bias in biases)
    if has_bias:
        biases = [input.new_zeros(w_ih.size(0)) if bias is None else bias for bias in biases]
    tensors = [input, states[0], w_ih, w_hh, *(biases if has_bias else ()), *states[1:]]
    return recurrent_layer(tensors, kind, has_bias, False, (input.size(0),))[1:]


def check_cell(where, input, states, w_ih, w_hh):
    """Raise unless the shapes fit."""
    require(where, TensorBase, input=input, w_ih=w_ih, w_hh=w_hh)
    for x in (input, *states, w_ih, w_hh):
        require(where, TensorBase, hx=x)
        if x.dim() != 2:
            raise ShapeError(f"{where}: a tensor has shape {tuple(x.shape)}; expected 2 dimensions")
    if input.size(1) != w_ih.size(1):
        raise ShapeError(
            f"{where}: input has {input.size(1)} features; expected {w_ih.size(1)}, the columns of w_ih"
        )
    for state in states:
        if tuple(state.shape) != (input.size(0), w_hh.size(1)):
            raise ShapeError(
                f"{where}: hx has shape {tuple(state.shape)}; expected {(input.size(0), w_hh.size(1))}: "
                "the rows of input, the columns of w_hh"
            )


def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM.

    Parameters
    ----------
    input : Tensor, shape (batch, features)
    hx : pair of Tensor, state and cell, shape (batch, hidden) each
    w_ih, w_hh : Tensor, shape (4 * hidden, features) and (4 * hidden, hidden)
    b_ih, b_hh : Tensor, shape (4 * hidden,), or None

    Returns
    -------
    (Tensor, Tensor) : the next state and cell

    Raises
    ------
    ShapeError
        If shapes do not fit.

    Examples
    --------
    >>> import tensorlab
    >>> x, h, c = tensorlab.ones(1, 3), tensorlab.zeros(1, 2), tensorlab.zeros(1, 2)
    >>> h, c = lstm_cell(x, (h, c), tensorlab.zeros(8, 3), tensorlab.zeros(8, 2))
    >>> h.shape, c.shape
    (tensorlab.Size([1, 2]), tensorlab.Size([1, 2]))
    """
    if len(hx) != 2:
        raise ShapeError(f"lstm_cell: hx has {len(hx)} states; expected two, state and cell")
    return run_cell("lstm_cell", "LSTM", input, hx, w_ih, w_hh, (b_ih, b_hh))


def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a GRU: the next state, (batch, hidden).

    The arguments are those of `lstm_cell`, but `hx` is one Tensor, and there are 3 gates.

    Examples
    --------
    >>> import tensorlab
    >>> x, h = tensorlab.ones(1, 3), tensorlab.ones(1, 2)
    >>> gru_cell(x, h, tensorlab.zeros(6, 3), tensorlab.zeros(6, 2))
    tensor([[0.5000, 0.5000]])
    """
    return run_cell("gru_cell", "GRU", input, [hx], w_ih, w_hh, (b_ih, b_hh))[0]


def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a plain layer with tanh: the next state. See `gru_cell`; there is 1 gate.

    Examples
    --------
    >>> import tensorlab
    >>> x, h = tensorlab.ones(1, 3), tensorlab.zeros(1, 2)
    >>> rnn_tanh_cell(x, h, tensorlab.ones(2, 3), tensorlab.zeros(2, 2))
    tensor([[0.9951, 0.9951]])
    """
    return run_cell("rnn_tanh_cell", "RNN_TANH", input, [hx], w_ih, w_hh, (b_ih, b_hh))[0]


def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a plain layer with relu: the next state. See `rnn_tanh_cell`.

    Examples
    --------
    >>> import tensorlab
    >>> x, h = tensorlab.ones(1, 3), tensorlab.zeros(1, 2)
    >>> rnn_relu_cell(x, h, tensorlab.ones(2, 3), tensorlab.zeros(2, 2))
    tensor([[3., 3.]])
    """
    return run_cell("rnn_relu_cell", "RNN_RELU", input, [hx], w_ih, w_hh, (b_ih, b_hh))[0]
