"""Recurrent cells: RNNCell, LSTMCell and GRUCell take one step, with a state that the program carries on."""

import math

from ..ops.creation import empty
from ..ops.recurrent import functions
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


def reset_uniformly(module):
    """Draw all parameters uniform within 1 / sqrt(hidden_size)."""
    bound = 1 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


class RNNCellBase(Module):
    """What the cells have in common: parameters, and a call with or without a batch.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
    num_chunks : int, gates
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given
    """

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name, shape in {**shapes, "bias_ih": (rows,), "bias_hh": (rows,)}.items():
            if len(shape) == 2 or bias:
                setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
            else:
                self.register_parameter(name, None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new initial values, uniform within 1 / sqrt(hidden_size)."""
        reset_uniformly(self)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _step(self, function, input, states):
        """The next states, for an input and states with or without a batch; without states from zeros."""
        where = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{where}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for state in states or ():
            if state.dim() not in (1, 2):
                raise ValueError(f"{where}: Expected hx to be 1D or 2D, got {state.dim()}D instead")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
            states = states and [state.unsqueeze(0) for state in states]
        if states is None:
            states = [input.new_zeros(input.size(0), self.hidden_size)] * 2
        parameters = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        new = function(input, states, *parameters)
        return new if is_batched else tuple(state.squeeze(0) for state in new)


class RNNCell(RNNCellBase):
    """One step of an RNN.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
    nonlinearity : "tanh" or "relu"
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Notes
    -----
    Called with `input`, (batch, input_size) or (input_size,), and perhaps the state, (batch,
    hidden_size), zeros by default. Returns the next state.

    Examples
    --------
    >>> import tensorlab
    >>> cell = RNNCell(3, 5)
    >>> state = None
    >>> for x in tensorlab.randn(6, 2, 3):  # 6 steps of a batch of 2
    ...     state = cell(x, state)
    >>> state.shape
    tensorlab.Size([2, 5])
    """

    def __init__(
        self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None
    ):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        cells = {"tanh": functions.rnn_tanh_cell, "relu": functions.rnn_relu_cell}
        if self.nonlinearity not in cells:
            raise RuntimeError(
                f"RNNCell: nonlinearity is {self.nonlinearity!r}; expected 'tanh' or 'relu'"
            )
        return _single_step(self, cells[self.nonlinearity], input, hx)


class GRUCell(RNNCellBase):
    """One step of a GRU: called as RNNCell is.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Examples
    --------
    >>> import tensorlab
    >>> cell = GRUCell(3, 5)
    >>> cell(tensorlab.randn(2, 3)).shape
    tensorlab.Size([2, 5])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return _single_step(self, functions.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: called as RNNCell is, but with a pair (state, cell), and it returns one.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Examples
    --------
    >>> import tensorlab
    >>> cell = LSTMCell(3, 5)
    >>> state, memory = cell(tensorlab.randn(2, 3))
    >>> state.shape, memory.shape
    (tensorlab.Size([2, 5]), tensorlab.Size([2, 5]))
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        if hx is not None and not isinstance(hx, (tuple, list)):
            raise TypeError(f"LSTMCell: hx is a {type(hx).__name__}; expected two tensors, (h, c)")
        return self._step(functions.lstm_cell, input, hx)


def _single_step(cell, function, input, hx):
    """The step of a cell whose state is one tensor."""
    return cell._step(
        lambda x, states, *parameters: (function(x, states[0], *parameters),),
        input,
        None if hx is None else (hx,),
    )[0]
