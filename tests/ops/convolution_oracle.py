"""The definition of a convolution and its gradients, weight after weight, by NumPy."""

import itertools

import numpy as np

import tensorlab

F = tensorlab.nn.functional


def tuple_of(number, n):
    return (number,) * n if isinstance(number, int) else number


def patches_of(padded, tap, out_sizes, stride, dilation):
    """Index what one weight of the kernel sees at all places."""
    return (
        slice(None),
        slice(None),
        *(
            slice(at * far, at * far + (size - 1) * step + 1, step)
            for at, far, size, step in zip(tap, dilation, out_sizes, stride, strict=True)
        ),
    )


def definition(x, weight, grad, stride, padding, dilation, groups):
    """The output and both gradients, weight after weight."""
    n = x.ndim - 2
    stride, padding, dilation = (tuple_of(each, n) for each in (stride, padding, dilation))
    out_channels, channels = weight.shape[0] // groups, weight.shape[1]
    margins = [(0, 0), (0, 0), *((size, size) for size in padding)]
    padded = np.pad(x, margins)
    grad_padded, grad_weight = np.zeros_like(padded), np.zeros_like(weight)
    out = np.zeros_like(grad)
    for tap in itertools.product(*map(range, weight.shape[2:])):
        seen = patches_of(padded, tap, grad.shape[2:], stride, dilation)
        for group in range(groups):
            rows = slice(group * out_channels, (group + 1) * out_channels)
            columns = slice(group * channels, (group + 1) * channels)
            matrix = weight[(rows, slice(None), *tap)]
            out[:, rows] += np.einsum("oc,nc...->no...", matrix, padded[seen][:, columns])
            grad_padded[seen][:, columns] += np.einsum("oc,no...->nc...", matrix, grad[:, rows])
            grad_weight[(rows, slice(None), *tap)] += np.einsum(
                "nop,ncp->oc",
                grad[:, rows].reshape(len(x), out_channels, -1),
                padded[seen][:, columns].reshape(len(x), channels, -1),
            )
    inner = tuple(
        slice(a, size - a) for (a, _), size in zip(margins[2:], grad_padded.shape[2:], strict=True)
    )
    return out, grad_padded[(slice(None), slice(None), *inner)], grad_weight


def numbers_for(case, make):
    shape, out_channels, kernel, stride, padding, dilation, groups = case
    n = len(kernel)
    reach = [far * (size - 1) for far, size in zip(tuple_of(dilation, n), kernel, strict=True)]
    out_sizes = [
        (size + 2 * pad - far - 1) // step + 1
        for size, pad, far, step in zip(
            shape[2:], tuple_of(padding, n), reach, tuple_of(stride, n), strict=True
        )
    ]
    weight_shape = (out_channels, shape[1] // groups, *kernel)
    return make(shape), make(weight_shape), make((shape[0], out_channels, *out_sizes))


def whole_numbers():
    rng = np.random.default_rng(0)
    return lambda shape: rng.integers(-4, 5, shape).astype("float64")


def normal_numbers():
    rng = np.random.default_rng(0)
    return lambda shape: rng.standard_normal(shape)


def results(x, weight, grad, dtype, **settings):
    """The same by tensorlab."""
    x, weight = (tensorlab.from_numpy(each.astype(dtype)).requires_grad_() for each in (x, weight))
    out = getattr(F, f"conv{x.ndim - 2}d")(x, weight, **settings)
    out.backward(tensorlab.from_numpy(grad.astype(dtype)))
    return [each.detach().numpy() for each in (out, x.grad, weight.grad)]


def settings_of(case):
    return dict(zip(("stride", "padding", "dilation", "groups"), case[3:], strict=True))
