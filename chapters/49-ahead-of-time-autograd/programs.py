"""Four programs whose gradients chapter 49 takes apart. With `import torch` below they run in PyTorch, too."""

import tensorlab as torch


def gelu(x):
    """An activation, written out in pointwise ops."""
    y = 0.8 * (x + 0.045 * x**3)
    return 0.5 * x * (1 + torch.tanh(y))


def normalized(x, w):
    """A layer whose rows get mean 0 and variance 1, and an activation."""
    h = x @ w
    mean, var = h.mean(1, keepdim=True), h.var(1, keepdim=True)
    z = (h - mean) * torch.rsqrt(var + 1e-5)
    return torch.tanh(z) * torch.sigmoid(z)


def layers(x, w, v):
    """Two layers with a tanh after each."""
    return torch.tanh(torch.tanh(x @ w) @ v)


def noisy(x):
    """Multiply by random numbers, of which only a function is used."""
    return torch.sin(x) * torch.exp(torch.rand_like(x))


# name: (function, shapes of its inputs)
PROGRAMS = {
    "gelu": (gelu, [(64, 16)]),
    "normalized": (normalized, [(64, 32), (32, 16)]),
    "layers": (layers, [(64, 32), (32, 16), (16, 16)]),
    "noisy": (noisy, [(64, 16)]),
}


def leaves(name):
    """Return inputs for a program, all of which want a gradient."""
    return [torch.randn(*shape, requires_grad=True) for shape in PROGRAMS[name][1]]
