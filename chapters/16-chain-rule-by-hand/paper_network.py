"""A network small enough for paper, in lists of floats: one line of code for each line on paper.

    z = W x + b        h = tanh z        y = v . h + c        loss = (y - t)^2

`forward` keeps every value by its name, and `backward` goes through the same lines from the last
to the first. Both work for any number of inputs and hidden units. Nothing here knows of graphs.
"""

from math import tanh


def dot(a, b):
    """Return the sum of the products of two lists."""
    return sum(p * q for p, q in zip(a, b, strict=True))


def outer(a, b):
    """Return the matrix of all products: row i, column j is a[i] * b[j]."""
    return [[p * q for q in b] for p in a]


def transposed(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def forward(values):
    """Return `values` (W, b, v, c, x, t) together with everything that follows from them."""
    W, b, v, c, x, t = (values[name] for name in "Wbvcxt")
    z = [dot(row, x) + bias for row, bias in zip(W, b, strict=True)]
    h = [tanh(number) for number in z]
    y = dot(v, h) + c
    loss = (y - t) ** 2
    return {**values, "z": z, "h": h, "y": y, "loss": loss}


def backward(values):
    """Return the gradient of the loss by each value, under the value's name."""
    W, v, x, t, h, y = (values[name] for name in "Wvxthy")
    grad = {"loss": 1.0}
    grad["y"] = grad["loss"] * 2 * (y - t)
    grad["c"] = grad["y"]
    grad["v"] = [grad["y"] * number for number in h]
    grad["h"] = [grad["y"] * weight for weight in v]
    grad["z"] = [g * (1 - number * number) for g, number in zip(grad["h"], h, strict=True)]
    grad["b"] = grad["z"]
    grad["W"] = outer(grad["z"], x)
    grad["x"] = [dot(column, grad["z"]) for column in transposed(W)]
    return grad
