"""A small network with two faults, for chapter 25: the lines that anomaly mode names are in this file."""

import tensorlab as torch


def spread(x):
    """The standard deviation of each column."""
    centred = x - x.mean(0)
    return (centred * centred).mean(0).sqrt()


def normalised(x):
    """Columns with mean 0 and standard deviation 1."""
    return (x - x.mean(0)) / (spread(x) + 1e-5)


def network(x, first, second):
    """Two layers with a normalisation between them."""
    hidden = normalised(x @ first)
    return hidden.tanh() @ second


def shifted_network(x, first, second):
    """Two layers, and a shift to keep the units away from zero."""
    hidden = (x @ first).tanh()
    hidden += 0.1
    return hidden @ second


def weights():
    """Return an input and two weights; one hidden unit is dead."""
    torch.manual_seed(0)
    first, second = torch.randn(3, 4), torch.randn(4, 1)
    first[:, 2] = 0.0
    return torch.randn(8, 3), first.requires_grad_(), second.requires_grad_()
