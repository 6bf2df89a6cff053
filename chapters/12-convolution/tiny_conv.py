"""Convolution of one image by hand, and its gradients: the small program of chapter 12.

An image is a tensor of shape (channels, height, width), a bank of filters (out, channels, k, k).
The stride is 1 and there is no padding; the library does the rest.
"""

import tensorlab as torch


def direct(image, weight):
    """Compute each output number as a sum over its patch, with nothing but loops."""
    channels, height, width = image.shape
    out_channels, _, k, _ = weight.shape
    rows, columns = height - k + 1, width - k + 1
    x, w = image.tolist(), weight.tolist()
    out = [[[0.0] * columns for _ in range(rows)] for _ in range(out_channels)]
    for o in range(out_channels):
        for i in range(rows):
            for j in range(columns):
                for c in range(channels):
                    for a in range(k):
                        for b in range(k):
                            out[o][i][j] += w[o][c][a][b] * x[c][i + a][j + b]
    return torch.tensor(out, dtype=image.dtype)


def patches(image, k):
    """Return a view of shape (channels, k, k, rows, columns): [c, a, b, i, j] is x[c, i + a, j + b]."""
    channels, height, width = image.shape
    by_channel, by_row, by_column = image.stride()
    return image.as_strided(
        (channels, k, k, height - k + 1, width - k + 1),
        (by_channel, by_row, by_column, by_row, by_column),
        image.storage_offset(),
    )


def im2col(image, k):
    """Copy the patches into the columns of a matrix of shape (channels * k * k, rows * columns)."""
    return patches(image, k).flatten(0, 2).flatten(1)


def col2im(columns, shape, k):
    """Add columns back to an image of this shape, each number to where it was read from."""
    image = torch.zeros(shape, dtype=columns.dtype)
    channels, height, width = shape
    rows, places = height - k + 1, width - k + 1
    parts = columns.reshape(channels, k, k, rows, places)
    for a in range(k):
        for b in range(k):
            image[:, a : a + rows, b : b + places] += parts[:, a, b]
    return image


def convolve(image, weight):
    """Do the same as `direct`, with one product of matrices."""
    k = weight.shape[-1]
    rows, columns = image.shape[1] - k + 1, image.shape[2] - k + 1
    return (weight.flatten(1) @ im2col(image, k)).reshape(-1, rows, columns)


def grad_image(grad, weight, shape):
    """Return the gradient of the image, from that of the output."""
    columns = weight.flatten(1).T @ grad.flatten(1)
    return col2im(columns, shape, weight.shape[-1])


def grad_weight(grad, image, weight):
    """Return the gradient of the weights, from that of the output."""
    k = weight.shape[-1]
    return (grad.flatten(1) @ im2col(image, k).T).reshape(weight.shape)
