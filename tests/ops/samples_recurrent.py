"""Samples of recurrent layers and cells, and what they mean in NumPy."""

import numpy as np

from tests.ops.references import REFERENCES
from tests.ops.samples import Sample, normal

GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}
STEPS, BATCH, FEATURES, HIDDEN = 3, 2, 4, 5


# ------------------------------------------------------------------------------------------------ references
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell(kind, x, states, w_ih, w_hh, b_ih=0.0, b_hh=0.0):
    """The states after a step of one layer."""
    sums_x, sums_h = x @ w_ih.T + b_ih, states[0] @ w_hh.T + b_hh
    if kind == "lstm":
        i, f, g, o = np.split(sums_x + sums_h, 4, 1)
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if kind == "gru":
        (x_r, x_z, x_n), (h_r, h_z, h_n) = np.split(sums_x, 3, 1), np.split(sums_h, 3, 1)
        z, n = sigmoid(x_z + h_z), np.tanh(x_n + sigmoid(x_r + h_r) * h_n)
        return ((1 - z) * n + z * states[0],)
    total = sums_x + sums_h
    return (np.tanh(total) if kind == "rnn_tanh" else np.maximum(total, 0),)


def layer(kind, x, states, w_ih, w_hh, *biases, is_reverse=False):
    """The output of all steps and the last states."""
    outputs = [None] * len(x)
    for t in reversed(range(len(x))) if is_reverse else range(len(x)):
        states = cell(kind, x[t], states, w_ih, w_hh, *biases)
        outputs[t] = states[0]
    return np.stack(outputs), states


def network(kind, x, *rest):
    """Both directions of a layer, with biases."""
    count = 2 if kind == "lstm" else 1
    states, params = rest[:count], rest[count:]
    results = [
        layer(kind, x, [s[d] for s in states], *params[4 * d : 4 * d + 4], is_reverse=d == 1)
        for d in (0, 1)
    ]
    output = np.concatenate([output for output, _ in results], 2)
    return output, *[np.stack([last[k] for _, last in results]) for k in range(count)]


def plain_network(kind, x, *rest):
    """One direction, without biases."""
    count = 2 if kind == "lstm" else 1
    output, states = layer(kind, x, [s[0] for s in rest[:count]], *rest[count:])
    return output, *[state[None] for state in states]


# ------------------------------------------------------------------------------------------------ samples
def shapes(kind, directions, biases):
    rows, count = GATES[kind] * HIDDEN, 2 if kind == "lstm" else 1
    params = [normal(rows, FEATURES), normal(rows, HIDDEN), *[normal(rows)] * biases]
    states = [normal(directions, BATCH, HIDDEN)] * count
    return [normal(STEPS, BATCH, FEATURES), *states, *params * directions]


def call_network(kind, directions, biases):
    count = 2 if kind == "lstm" else 1

    def call(T, x, *rest):
        hx = rest[:2] if kind == "lstm" else rest[0]
        options = (biases > 0, 1, 0.0, True, directions == 2, False)
        return getattr(T, kind)(x, hx, list(rest[count:]), *options)

    return call


def call_cell(kind):
    def call(T, x, *rest):
        count = 2 if kind == "lstm" else 1
        hx = rest[:2] if kind == "lstm" else rest[0]
        return getattr(T, f"{kind}_cell")(x, hx, *rest[count:])

    return call


SAMPLES = []
for kind, gates in GATES.items():
    common = {"dtypes": ["float32"], "same_strides": False, "tolerance": 20}
    SAMPLES += [
        Sample(kind, call_network(kind, 2, 2), *shapes(kind, 2, 2), **common),
        Sample(f"{kind} plain", call_network(kind, 1, 0), *shapes(kind, 1, 0), **common),
        Sample(
            f"{kind}_cell",
            call_cell(kind),
            normal(BATCH, FEATURES),
            *[normal(BATCH, HIDDEN)] * (2 if kind == "lstm" else 1),
            normal(gates * HIDDEN, FEATURES),
            normal(gates * HIDDEN, HIDDEN),
            *[normal(gates * HIDDEN)] * 2,
            **common,
        ),
    ]
    count = 2 if kind == "lstm" else 1
    REFERENCES[kind] = lambda *arrays, kind=kind: network(kind, *arrays)
    REFERENCES[f"{kind} plain"] = lambda *arrays, kind=kind: plain_network(kind, *arrays)
    REFERENCES[f"{kind}_cell"] = lambda x, *rest, kind=kind, count=count: cell(
        kind, x, rest[:count], *rest[count:]
    )
