"""A recurrent layer in tensor operations: what layer.pyx computes in one op, as textbooks write it.

The derivative of the op goes through here if it is to be differentiated again, and the tests of
the op compare with it.
"""

from ..._core.engine.backward import grad
from ..joining import cat
from ..pointwise.elementary import sigmoid, tanh
from ..pointwise.rectifiers import relu


def lstm_step(sums_x, sums_h, state, cell):
    """The state and the cell after a step, from the sums of the input and of the state."""
    i, f, g, o = (sums_x + sums_h).chunk(4, 1)
    cell = sigmoid(f) * cell + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(cell), cell


def gru_step(sums_x, sums_h, state, cell):
    """A GRU's state after a step. Its reset gate is between the state and the candidate."""
    x_r, x_z, x_n = sums_x.chunk(3, 1)
    h_r, h_z, h_n = sums_h.chunk(3, 1)
    new = tanh(x_n + sigmoid(x_r + h_r) * h_n)
    return new + sigmoid(x_z + h_z) * (state - new), cell


def tanh_step(sums_x, sums_h, state, cell):
    """The state of a plain layer after a step."""
    return tanh(sums_x + sums_h), cell


def relu_step(sums_x, sums_h, state, cell):
    """The state of a plain layer with relu after a step."""
    return relu(sums_x + sums_h), cell


STEPS = {"RNN_TANH": tanh_step, "RNN_RELU": relu_step, "GRU": gru_step, "LSTM": lstm_step}


def recurrent_layer(tensors, kind, has_bias, is_reverse, batch_sizes):
    """Return (output, last state, last cell or None); the arguments are those of the op in layer.pyx."""
    x, state, weight_ih, weight_hh, *rest = tensors
    biases = rest[:2] if has_bias else (0, 0)
    cell, projection = [*rest[2 * has_bias :], None, None][:2]
    sums_x = (x @ weight_ih.t() + biases[0]).split(list(batch_sizes))
    outputs = [None] * len(batch_sizes)
    order = range(len(batch_sizes))
    for t in reversed(order) if is_reverse else order:
        n = batch_sizes[t]
        sums_h = state[:n] @ weight_hh.t() + biases[1]
        new, new_cell = STEPS[kind](
            sums_x[t], sums_h, state[:n], None if cell is None else cell[:n]
        )
        if projection is not None:
            new = new @ projection.t()
        outputs[t] = new
        state = cat([new, state[n:]])  # those that have ended, or not begun, keep their state
        cell = None if cell is None else cat([new_cell, cell[n:]])
    return cat(outputs), state, cell


def second_gradients(grads, grads_of_results, tensors, options, create_graph):
    """The derivative of the layer's backward: by the gradients of its results, and by its tensors.

    `grads` belongs to the gradients of the tensors; None stands where one did not matter, or where
    nothing depends on an input.
    """
    # views: so the gradient of one tensor does not go on into another from which it was computed
    inputs = [
        x.view_as(x) if x.requires_grad else x.detach() for x in (*grads_of_results, *tensors)
    ]
    inputs = [x if x.requires_grad else x.requires_grad_() for x in inputs]
    results = [y for y in recurrent_layer(inputs[3:], *options) if y is not None]
    first = grad(results, inputs[3:], inputs[: len(results)], create_graph=True)
    pairs = [(y, g) for y, g in zip(first, grads, strict=True) if g is not None]
    return grad(
        [y for y, _ in pairs],
        inputs,
        [g for _, g in pairs],
        create_graph=create_graph,
        allow_unused=True,
    )
