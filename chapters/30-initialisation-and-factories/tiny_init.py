"""Starts for the weights of deep networks, and what they do to signals: the small program of chapter 30.

A network here is the one of chapter 28 with more layers: a list of weights, and relu between them.
"""

import math

import tensorlab as torch


def fans(weight):
    """Return how many inputs an output sums over, and how many outputs an input goes to."""
    outputs, inputs, *kernel = weight.shape
    places = math.prod(kernel)
    return inputs * places, outputs * places


def he_(weight):
    """Fill with normal numbers of variance 2 / fan-in, which keeps sizes through relu."""
    std = math.sqrt(2 / fans(weight)[0])
    with torch.no_grad():
        return weight.normal_(0, std)


def forward(weights, x):
    """Return the activations of all layers."""
    found = []
    for weight in weights:
        x = (x @ weight.T).relu()
        found.append(x)
    return found


def size(x):
    """Return the root of the mean square: how large the numbers of a tensor are."""
    return x.double().square().mean().sqrt().item()  # in float32, large squares are inf


def difference(x):
    """Return how much the rows of a batch differ from each other, next to how large they are."""
    return (x - x.mean(0)).square().mean().sqrt().item() / (size(x) + 1e-30)
