"""Recurrent layers: RNN, LSTM and GRU over sequences.

The parameters of layer k and direction d are named weight_ih_lk, weight_hh_lk, bias_ih_lk,
bias_hh_lk, and with _reverse behind it for the second direction. What is computed with them is in
ops/recurrent/.
"""

import numbers
import warnings

from .._pitfalls import pointed
from ..errors import HiddenStateError
from ..ops.creation import empty
from ..ops.recurrent import functions
from .module import Module, check_copies
from .parameter import Parameter
from .recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase, reset_uniformly
from .utils.rnn import PackedSequence

__all__ = [  # with the cells, which pickles of earlier versions name under this path
    "GRU",
    "LSTM",
    "RNN",
    "GRUCell",
    "LSTMCell",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
]

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


class RNNBase(Module):
    """What RNN, LSTM and GRU have in common: options, parameters and the way of a call.

    Parameters
    ----------
    mode : "RNN_TANH", "RNN_RELU", "GRU" or "LSTM"
    input_size : int, features of the input
    hidden_size : int, features of the state
    num_layers : int; each layer reads the output of the one before
    bias : bool
    batch_first : bool; input and output are (batch, steps, features) instead of (steps, batch, features)
    dropout : float, probability of dropout between layers, in training
    bidirectional : bool; a second network reads the steps in reverse
    proj_size : int; an LSTM maps its state to so many features. 0: it does not
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Raises
    ------
    ValueError, TypeError
        If an option is out of its range or of a wrong type.
    """

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_options()
        self.dropout = float(dropout)
        rows = GATES[mode] * hidden_size
        outputs = proj_size or hidden_size
        directions = ["", "_reverse"] if bidirectional else [""]
        self._all_weights = []
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else outputs * len(directions)
            shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, outputs)}
            if bias:
                shapes.update(bias_ih=(rows,), bias_hh=(rows,))
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in directions:
                names = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(names))
        self.reset_parameters()

    def _check_options(self):
        """Raise unless each option is in its range."""
        where, dropout = type(self).__name__, self.dropout
        if (
            isinstance(dropout, bool)
            or not isinstance(dropout, numbers.Number)
            or not 0 <= dropout <= 1
        ):
            raise ValueError(
                f"{where}: dropout is {dropout!r}; expected a probability, from 0 to 1"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                f"{where}: dropout is {dropout}, but it is applied between layers only, and num_layers is 1",
                stacklevel=4,
            )
        for name, kind in (
            ("bias", bool),
            ("batch_first", bool),
            ("input_size", int),
            ("hidden_size", int),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"{where}: {name} should be of type {kind.__name__}, got: {type(value).__name__}"
                )
        check_copies(where, "num_layers", self.num_layers)
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(
                    f"{where}: {name} is {getattr(self, name)}; it must be greater than zero"
                )
        if not 0 <= self.proj_size < self.hidden_size:
            raise ValueError(
                f"{where}: proj_size is {self.proj_size}; expected 0, for none, or a number smaller than "
                f"hidden_size, {self.hidden_size}"
            )
        if self.mode not in GATES:
            raise ValueError(f"{where}: mode is {self.mode!r}; expected one of {', '.join(GATES)}")

    def reset_parameters(self):
        """Draw new initial values, uniform within 1 / sqrt(hidden_size)."""
        reset_uniformly(self)

    # ------------------------------------------------------------ parameters
    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self):
        """The parameters in a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Do nothing: PyTorch's GPU library wants parameters next to each other, and there is none here."""

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False}
        for name, default in {**defaults, "dropout": 0, "bidirectional": False}.items():
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    # ------------------------------------------------------------ what a call checks
    def check_input(self, input, batch_sizes):
        """Raise unless type and shape of the input are right."""
        where, weight = type(self).__name__, self._flat_weights[0]
        if input.dtype != weight.dtype:
            raise ValueError(
                f"{where}: input is {input.dtype} and the weights are {weight.dtype}; convert with "
                f"input.to({weight.dtype}) or model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"{where}: input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise pointed(
                RuntimeError(
                    f"{where}: input.size(-1) is {input.size(-1)}; expected input_size, {self.input_size}"
                )
            )

    def _batch_of(self, input, batch_sizes):
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0 if self.batch_first else 1)

    def get_expected_hidden_size(self, input, batch_sizes):
        """Return the shape that the first state must have."""
        states = self.num_layers * (2 if self.bidirectional else 1)
        return states, self._batch_of(input, batch_sizes), self.proj_size or self.hidden_size

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        """Raise unless a state has the expected shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input, hidden, batch_sizes):
        """Raise unless input and state fit this layer."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """Bring the sequences of a state into another order; None leaves it as it is."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ------------------------------------------------------------ the call
    def forward(self, input, hx=None):
        """Return (output, last state); see the class."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        where = type(self).__name__
        if input.dim() not in (2, 3):
            raise ValueError(f"{where}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        is_batched = input.dim() == 3
        if hx is not None:
            for state in self._states(hx):
                if state.dim() != input.dim():
                    raise RuntimeError(
                        f"{where}: for {'batched 3-D' if is_batched else 'unbatched 2-D'} input, hx "
                        f"should also be {input.dim()}-D but got {state.dim()}-D"
                    )
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else self._map(hx, lambda state: state.unsqueeze(1))
        if hx is None:
            hx = self._first_state(input, None)
        self.check_forward_args(input, hx, None)
        output, hx = self._run(input, hx, batch_first=self.batch_first)
        if is_batched:
            return output, hx
        return output.squeeze(batch_dim), self._map(hx, lambda state: state.squeeze(1))

    def _forward_packed(self, packed, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        if hx is None:
            hx = self._first_state(data, batch_sizes)
        else:
            self._states(hx)
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, hx = self._run(data, hx, batch_sizes=batch_sizes)
        output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return output, self.permute_hidden(hx, unsorted_indices)

    def _run(self, input, hx, batch_sizes=None, **layout):
        """Call the function of this kind of network."""
        packed = () if batch_sizes is None else (batch_sizes,)
        output, *last = getattr(functions, self.mode.lower())(
            input,
            *packed,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            **layout,
        )
        return output, last[0] if len(last) == 1 else tuple(last)

    def _first_state(self, input, batch_sizes):
        """Zeros."""
        return input.new_zeros(self.get_expected_hidden_size(input, batch_sizes))

    def _states(self, hx):
        """The tensors that make up a state."""
        return [hx]

    def _map(self, hx, function):
        return function(hx)


class RNN(RNNBase):
    """A plain recurrent network: h' = tanh(x W_ih' + b_ih + h W_hh' + b_hh).

    Parameters
    ----------
    input_size, hidden_size : int
    num_layers : int, 1 by default
    nonlinearity : "tanh" or "relu"
    bias, batch_first, dropout, bidirectional, device, dtype : as in RNNBase

    Notes
    -----
    Called with `input`, (steps, batch, input_size), unbatched (steps, input_size) or a
    PackedSequence, and perhaps `hx`, the first state, (layers * directions, batch, hidden_size),
    zeros by default. Returns the output, (steps, batch, directions * hidden_size), and the last
    state. Source: Elman 1990, "Finding structure in time".

    >>> import tensorlab
    >>> from tensorlab import nn
    >>> output, state = nn.RNN(3, 4)(tensorlab.ones(5, 2, 3))
    >>> output.shape, state.shape
    (tensorlab.Size([5, 2, 4]), tensorlab.Size([1, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        _refuse_projection(self, kwargs)
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity is {nonlinearity!r}; expected 'tanh' or 'relu'")
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """A network of gated recurrent units: h' = (1 - z) n + z h, n = tanh(x W_in' + b_in + r (h W_hn' + b_hn)).

    r and z are sigmoids of sums like that of RNN. The rows of weights and biases are those of r,
    z and n.

    Parameters
    ----------
    input_size, hidden_size : int
    num_layers, bias, batch_first, dropout, bidirectional, device, dtype : as in RNNBase

    Notes
    -----
    Called as RNN is. Source: Cho et al. 2014, "Learning phrase representations using RNN encoder-
    decoder"; the place of r is that of PyTorch.

    >>> import tensorlab
    >>> from tensorlab import nn
    >>> nn.GRU(3, 4, bidirectional=True)(tensorlab.ones(5, 2, 3))[0].shape
    tensorlab.Size([5, 2, 8])
    """

    def __init__(self, *args, **kwargs):
        _refuse_projection(self, kwargs)
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: c' = f c + i g, h' = o tanh(c'), with three sigmoids i, f, o and a tanh g.

    The rows of weights and biases are those of i, f, g and o.

    Parameters
    ----------
    input_size, hidden_size : int
    num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype : as in RNNBase

    Notes
    -----
    Called as RNN is, but a state is a pair (h, c): h has proj_size features if that is not 0, c
    always hidden_size. Sources: Hochreiter and Schmidhuber 1997, "Long short-term memory"; Gers
    et al. 2000, "Learning to forget"; Sak et al. 2014 (projections).

    >>> import tensorlab
    >>> from tensorlab import nn
    >>> output, (h, c) = nn.LSTM(3, 4, num_layers=2)(tensorlab.ones(5, 2, 3))
    >>> output.shape, c.shape
    (tensorlab.Size([5, 2, 4]), tensorlab.Size([2, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        """Return the shape that the first cell must have."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        """Raise unless input, state and cell fit this layer."""
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size, self.get_expected_cell_size
        for k, (state, size) in enumerate(zip(hidden, sizes, strict=True)):
            self.check_hidden_size(
                state, size(input, batch_sizes), f"Expected hidden[{k}] size {{}}, got {{}}"
            )

    def permute_hidden(self, hx, permutation):
        """Bring the sequences of state and cell into another order; None leaves them as they are."""
        return self._map(hx, lambda state: RNNBase.permute_hidden(self, state, permutation))

    def _first_state(self, input, batch_sizes):
        cell = input.new_zeros(self.get_expected_cell_size(input, batch_sizes))
        return super()._first_state(input, batch_sizes), cell

    def _states(self, hx):
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            length = f" of length {len(hx)}" if isinstance(hx, (tuple, list)) else ""
            raise HiddenStateError(
                f"LSTM: hx is a {type(hx).__name__}{length}; expected two tensors, (h_0, c_0)"
            )
        return hx

    def _map(self, hx, function):
        return function(hx[0]), function(hx[1])


def _refuse_projection(layer, options):
    if "proj_size" in options:
        raise ValueError(f"{type(layer).__name__}: proj_size is an option of LSTM only")
