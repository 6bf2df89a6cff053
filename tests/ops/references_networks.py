"""What the samples of convolutions, pooling, normalisation, losses and attention mean: formulas, by plain loops."""

import itertools
import math

import numpy as np

from tests.ops.references import REFERENCES, softmax, softplus


# ------------------------------------------------------------------------------------------------ convolution
def per_dim(value, count):
    return value if isinstance(value, tuple) else (value,) * count


def convolution(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    """Correlate by one window at a time; `x` may lack the batch."""
    if x.ndim < w.ndim:
        return convolution(x[None], w, b, stride, padding, dilation, groups)[0]
    ndim = w.ndim - 2
    stride, dilation = per_dim(stride, ndim), per_dim(dilation, ndim)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    if padding == "same":
        around = [((r - 1) // 2, r - 1 - (r - 1) // 2) for r in reach]
    else:
        around = [(p, p) for p in per_dim(padding, ndim)]
    x = np.pad(x, [(0, 0), (0, 0), *around])
    sizes = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    out = np.zeros((len(x), len(w), *sizes))
    per_group, given = len(w) // groups, w.shape[1]
    for place in itertools.product(*map(range, sizes)):
        window = x[
            (
                ...,
                *[
                    slice(p * s, p * s + r, d)
                    for p, s, r, d in zip(place, stride, reach, dilation, strict=True)
                ],
            )
        ]
        for g in range(groups):
            filters = w[g * per_group : (g + 1) * per_group]
            part = window[:, g * given : (g + 1) * given]
            out[(slice(None), slice(g * per_group, (g + 1) * per_group), *place)] = np.tensordot(
                part, filters, (range(1, part.ndim), range(1, part.ndim))
            )
    return out if b is None else out + b.reshape(-1, *[1] * ndim)


def transposed_convolution(x, w, b, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Each element of x adds its multiple of the filter to the window that a convolution would read."""
    ndim = w.ndim - 2
    per_group, given = w.shape[1], x.shape[1] // groups
    reach = [dilation * (k - 1) + 1 for k in w.shape[2:]]
    sizes = [(n - 1) * stride + r for n, r in zip(x.shape[2:], reach, strict=True)]
    out = np.zeros((len(x), per_group * groups, *sizes))
    for place in itertools.product(*map(range, x.shape[2:])):
        window = [
            slice(p * stride, p * stride + r, dilation) for p, r in zip(place, reach, strict=True)
        ]
        for g in range(groups):
            channels = slice(g * given, (g + 1) * given)
            added = np.tensordot(x[(slice(None), channels, *place)], w[channels], (1, 0))
            out[(slice(None), slice(g * per_group, (g + 1) * per_group), *window)] += added
    out = np.pad(out, [(0, 0), (0, 0), *[(0, output_padding)] * ndim])
    ends = [slice(padding, n + output_padding - padding) for n in sizes]
    return out[(..., *ends)] + b.reshape(-1, *[1] * ndim)


REFERENCES |= {
    "conv1d": convolution,
    "conv1d strided": lambda *a: convolution(*a, stride=2, padding=1, dilation=2),
    "conv1d same": lambda *a: convolution(*a, padding="same", dilation=2),
    "conv1d groups": lambda *a: convolution(*a, groups=2),
    "conv1d pointwise": convolution,
    "conv2d": lambda *a: convolution(*a, padding=1),
    "conv2d uneven": lambda *a: convolution(*a, stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
    "conv2d depthwise": lambda *a: convolution(*a, groups=4),
    "conv2d large": lambda *a: convolution(*a, padding="same"),
    "conv3d": lambda *a: convolution(*a, stride=(1, 2, 1)),
    "conv_transpose1d": lambda *a: transposed_convolution(*a, 2, 1, 1),
    "conv_transpose2d": lambda *a: transposed_convolution(*a, 2, groups=2),
    "conv_transpose3d": lambda *a: transposed_convolution(*a, dilation=2),
}


# ------------------------------------------------------------------------------------------------ pooling and padding
def pool(x, reduce, kernel, stride=None, padding=0, fill=0.0, ceil_mode=False):
    """Reduce one window at a time over the last dimensions; `reduce` gets the flat window of each channel."""
    ndim = len(kernel)
    stride = per_dim(kernel if stride is None else stride, ndim)
    n, around = x.shape[-ndim:], per_dim(padding, ndim)
    sizes = [(a + 2 * p - k) // s + 1 for a, p, k, s in zip(n, around, kernel, stride, strict=True)]
    x = np.pad(x, [(0, 0)] * (x.ndim - ndim) + [(p, p) for p in around], constant_values=fill)
    out = np.zeros((*x.shape[:-ndim], *sizes))
    for place in itertools.product(*map(range, sizes)):
        ends = [slice(p * s, p * s + k) for p, s, k in zip(place, stride, kernel, strict=True)]
        window = x[(..., *ends)]
        out[(..., *place)] = reduce(window.reshape(*window.shape[:-ndim], -1), -1)
    return out


def adaptive_mean(x, *sizes, reduce=np.mean):
    """Window i of n reaches from floor(i * size / n) to ceil((i + 1) * size / n)."""
    out = np.zeros((*x.shape[: -len(sizes)], *sizes))
    for place in itertools.product(*map(range, sizes)):
        given = x.shape[-len(sizes) :]
        ends = [
            slice(i * size // n, -(-(i + 1) * size // n))
            for i, n, size in zip(place, sizes, given, strict=True)
        ]
        out[(..., *place)] = reduce(x[(..., *ends)], tuple(range(-len(sizes), 0)))
    return out


def unpool(x, places, *sizes):
    """Put each number at its place of a plane of zeros."""
    out = np.zeros((*x.shape[:2], np.prod(sizes)))
    np.put_along_axis(out, places, x, -1)
    return out.reshape(*x.shape[:2], *sizes)


REFERENCES |= {
    "max_pool3d": lambda x: pool(x, np.max, (2, 2, 2)),
    "avg_pool3d": lambda x: pool(x, np.mean, (2, 2, 2)),
    "avg_pool3d divisor": lambda x: pool(x, np.sum, (2, 2, 2)) / 3,
    "adaptive_avg_pool3d": lambda x: adaptive_mean(x, 2, 1, 3),
    "adaptive_max_pool1d": lambda x: adaptive_mean(x, 4, reduce=np.max),
    "lp_pool1d": lambda x: pool(abs(x) ** 3, np.sum, (3,), 2) ** (1 / 3),
    "lp_pool2d": lambda x: pool(x**2, np.sum, (3, 2), 1) ** 0.5,
    "lp_pool3d": lambda x: pool(x**2, np.sum, (2, 1, 2)) ** 0.5,
    "max_unpool1d": lambda x, places: unpool(x, places, 11),
    "max_unpool2d": lambda x, places: unpool(x, places, 8, 1),
    "max_unpool3d": lambda x, places: unpool(x, places, 8, 2, 2),
    "max_pool2d": lambda x: pool(x, np.max, (2, 2)),
    "max_pool1d": lambda x: pool(x, np.max, (3,), 2, 1, -np.inf),
    "avg_pool2d": lambda x: pool(x, np.mean, (2, 2)),
    "avg_pool2d divisor": lambda x: pool(x, np.sum, (2, 2)) / 3,
    "avg_pool1d": lambda x: pool(x, np.mean, (3,), 2, 1),
    "adaptive_avg_pool2d": lambda x: adaptive_mean(x, 3, 4),
    "adaptive_avg_pool2d all": lambda x: adaptive_mean(x, 1, 1),
    "adaptive_avg_pool1d": lambda x: adaptive_mean(x, 4),
    "pad": lambda x: np.pad(x, [(0, 0), (1, 2)], constant_values=0.5),
    "pad cut": lambda x: np.pad(x, [(0, 0), (0, 2)])[:-1, 1:],
    "pad reflect": lambda x: np.pad(x, [(0, 0), (0, 3), (2, 1)], "reflect"),
    "pad replicate": lambda x: np.pad(x, [(0, 0), (0, 0), (2, 1)], "edge"),
    "pad circular": lambda x: np.pad(x, [(0, 0), (0, 0), (2, 4)], "wrap"),
}


# ------------------------------------------------------------------------------------------------ normalisation
def standardised(x, axes, eps=1e-5):
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)


def channels(v, x):
    """A row of one number per channel, to be broadcast over x."""
    return v.reshape(-1, *[1] * (x.ndim - 2))


def group_norm(x, groups):
    size = math.prod(x.shape[1:]) // groups
    return standardised(x.reshape(len(x), groups, size), 2).reshape(x.shape)


def instance_norm(x, w=None, b=None):
    out = standardised(x, tuple(range(2, x.ndim)))
    return out if w is None else out * channels(w, x) + channels(b, x)


def batch_norm(x, mean, variance, w, b, training):
    """The result and the running averages; these take the variance with n - 1."""
    axes = (0, *range(2, x.ndim))
    count = x.size // x.shape[1]
    if training:
        out = standardised(x, axes)
        mean = 0.7 * mean + 0.3 * x.mean(axes)
        variance = 0.7 * variance + 0.3 * x.var(axes) * count / (count - 1)
    else:
        out = (x - channels(mean, x)) / np.sqrt(channels(variance, x) + 1e-5)
    return out * channels(w, x) + channels(b, x), mean, variance


def length(x, axis, p=2):
    return (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)


def cosine_similarity(x, y, axis=1):
    x, y = np.broadcast_arrays(x, y)
    return (x * y).sum(axis) / (length(x, axis) * length(y, axis)).squeeze(axis)


REFERENCES |= {
    "layer_norm": lambda x: standardised(x, -1),
    "layer_norm weight": lambda x, w: standardised(x, -1, 0.1) * w,
    "layer_norm bias": lambda x, b: standardised(x, -1) + b,
    "layer_norm both": lambda x, w, b: standardised(x, -1) * w + b,
    "layer_norm of two dims": lambda x, w, b: standardised(x, (-2, -1)) * w + b,
    "rms_norm": lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.1) * w,
    "rms_norm default": lambda x: x / np.sqrt((x * x).mean((-2, -1), keepdims=True)),
    "group_norm": lambda x, w, b: group_norm(x, 2) * channels(w, x) + channels(b, x),
    "group_norm plain": lambda x: group_norm(x, 4),
    "instance_norm": instance_norm,
    "instance_norm affine": instance_norm,
    "batch_norm plain": lambda x: standardised(x, (0, 2)),
    "batch_norm evaluation plain": lambda x, m, v: (
        (x - channels(m, x)) / np.sqrt(channels(v, x) + 1e-5)
    ),
    "batch_norm evaluation without bias": lambda x, m, v, w: (
        (x - channels(m, x)) / np.sqrt(channels(v, x) + 1e-5) * channels(w, x)
    ),
    "normalize": lambda x: x / length(x, 1),
    "normalize 1": lambda x: x / length(x, 0, 1),
    "cosine_similarity": cosine_similarity,
    "cosine_similarity broadcast along": cosine_similarity,
    "cosine_similarity of a row": lambda x, y: cosine_similarity(x, y, -1),
    "bilinear": lambda x, y, w, b: np.einsum("...i,oij,...j->...o", x, w, y) + b,
    "bilinear plain": lambda x, y, w: np.einsum("...i,oij,...j->...o", x, w, y),
    "pairwise_distance": lambda x, y: length(x - y + 1e-6, -1).squeeze(-1),
}
for shape in ((5, 3), (2, 3, 4), (2, 3, 4, 40)):
    REFERENCES[f"batch_norm training of {shape}"] = lambda *a: batch_norm(*a, True)
    REFERENCES[f"batch_norm evaluation of {shape}"] = lambda *a: batch_norm(*a, False)


# ------------------------------------------------------------------------------------------------ pixel_shuffle
def pixel_shuffle(x, r):
    """Each channel of the result takes every r-th row and column from one of r * r channels."""
    *batch, channels, height, width = x.shape
    out = np.empty((*batch, channels // (r * r), height * r, width * r), x.dtype)
    for a, b in itertools.product(range(r), range(r)):
        out[..., a::r, b::r] = x[..., r * a + b :: r * r, :, :]
    return out


REFERENCES["pixel_shuffle"] = REFERENCES["pixel_shuffle of nothing"] = lambda x: pixel_shuffle(x, 2)
REFERENCES["pixel_shuffle by 1"] = lambda x: pixel_shuffle(x, 1)


def pixel_unshuffle(x, r):
    """Every r-th row and column of each channel is a channel of its own."""
    parts = [x[..., a::r, b::r] for a, b in itertools.product(range(r), range(r))]
    *batch, channels, height, width = parts[0].shape
    return np.stack(parts, -3).reshape(*batch, channels * r * r, height, width)


REFERENCES["pixel_unshuffle"] = lambda x: pixel_unshuffle(x, 2)
REFERENCES["pixel_unshuffle of nothing"] = lambda x: x
REFERENCES["channel_shuffle"] = lambda x: np.concatenate(
    [x[:, c :: x.shape[1] // 2] for c in range(x.shape[1] // 2)], 1
)  # channel c of each of the two groups


def local_response_norm(x, size, alpha, beta, k):
    """Each channel by the squares of those from size // 2 before it."""
    out, count = np.empty_like(x), x.shape[1]
    for c in range(count):
        first = c - size // 2
        squares = x[:, max(first, 0) : min(first + size, count)] ** 2
        out[:, c] = x[:, c] / (k + alpha * squares.sum(1) / size) ** beta
    return out


REFERENCES["local_response_norm"] = lambda x: local_response_norm(x, 4, 0.5, 0.6, 2.0)


def patches(x, kernel, dilation, padding, stride):
    """The indices of an image, padded, that each place of the kernel sees; and the padded image."""
    height, width = x.shape[-2:]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    rows = range(0, height + 2 * padding[0] - reach[0] + 1, stride[0])
    columns = range(0, width + 2 * padding[1] - reach[1] + 1, stride[1])
    return [
        (..., slice(i, i + reach[0], dilation[0]), slice(j, j + reach[1], dilation[1]))
        for i, j in itertools.product(rows, columns)
    ]


def unfold(x, kernel, dilation, padding, stride):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p) for p in padding])
    seen = patches(x, kernel, dilation, padding, stride)
    size = x.shape[-3] * math.prod(kernel)
    return np.stack([padded[place].reshape(*x.shape[:-3], size) for place in seen], -1)


def fold(x, size, kernel, dilation, padding, stride):
    channels = x.shape[-2] // math.prod(kernel)
    image = np.zeros((*x.shape[:-2], channels, *size))
    padded = np.pad(image, [(0, 0)] * (image.ndim - 2) + [(p, p) for p in padding])
    for k, place in enumerate(patches(image, kernel, dilation, padding, stride)):
        padded[place] += x[..., k].reshape(*x.shape[:-2], channels, *kernel)
    return padded[..., padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]


WINDOWS = ((2, 3), (1, 2), (1, 0), (2, 1))
REFERENCES["im2col"] = lambda x: unfold(x, *WINDOWS)
REFERENCES["col2im"] = lambda x: fold(x, (5, 6), *WINDOWS)
REFERENCES["conv_tbc"] = lambda x, w, b: convolution(
    x.transpose(1, 2, 0), w.transpose(2, 1, 0), b, padding=1
).transpose(2, 0, 1)


# ------------------------------------------------------------------------------------------------ attention
def attention(q, k, v, bias=0, scale=None):
    scores = (
        q @ k.swapaxes(-1, -2) * (max(1, q.shape[-1]) ** -0.5 if scale is None else scale) + bias
    )
    return softmax(scores, -1) @ v


def causal(q, k, v):
    return attention(q, k, v, np.triu(np.full((q.shape[-2], k.shape[-2]), -np.inf), 1), 0.3)


REFERENCES |= {
    "scaled_dot_product_attention": attention,
    "scaled_dot_product_attention causal": causal,
    "scaled_dot_product_attention mask": lambda q, k, v, m: attention(
        q, k, v, np.where(m, 0, -np.inf)
    ),
    "scaled_dot_product_attention bias": attention,
    "scaled_dot_product_attention grouped": lambda q, k, v: attention(
        q, k.repeat(2, 1), v.repeat(2, 1)
    ),
}


# ------------------------------------------------------------------------------------------------ losses
def log_softmax(x):
    axis = 1 if x.ndim > 1 else 0
    return x - np.logaddexp.reduce(x, axis, keepdims=True)


def class_terms(log_p, y, w=None, ignored=-100):
    """The loss of each label, and its weight: 0 for those ignored."""
    axis = 1 if log_p.ndim > 1 else 0
    is_counted, labels = y != ignored, np.where(y == ignored, 0, y)
    weight = (np.ones(log_p.shape[axis]) if w is None else w)[labels] * is_counted
    return -np.take_along_axis(log_p, np.expand_dims(labels, axis), axis).squeeze(
        axis
    ) * weight, weight


def smoothed_terms(log_p, y, w=None, smoothing=0.2):
    """A share of the label goes to all classes alike."""
    axis = 1 if log_p.ndim > 1 else 0
    terms, weight = class_terms(log_p, y, w)
    count = log_p.shape[axis]
    weights = (np.ones(count) if w is None else w).reshape(-1, *[1] * (log_p.ndim - 1 - axis))
    spread = -(log_p * weights).sum(axis) * (y != -100)
    return (1 - smoothing) * terms + smoothing / count * spread, weight


def probability_terms(log_p, y, w=1.0, smoothing=0.0):
    axis = 1 if log_p.ndim > 1 else 0
    y = (1 - smoothing) * y + smoothing / log_p.shape[axis]
    return -(log_p * y * w).sum(axis)


def smooth_l1(x, y, beta=0.7):
    distance = np.abs(x - y)
    return np.where(distance < beta, distance**2 / (2 * beta), distance - beta / 2)


def with_logits(x, y, w=1.0, positive=1.0):
    return w * (positive * y * softplus(-x) + (1 - y) * softplus(x))


def poisson(x, y):
    n = np.maximum(y, 1)
    stirling = n * np.log(n) - n + np.log(2 * np.pi * n) / 2
    return np.exp(x) - y * x + np.where(y > 1, stirling, 0)


def binary(x, y, w=1.0):
    return -w * (y * np.log(x) + (1 - y) * np.log(1 - x))


# Each gives the terms, or the terms and their weights, over whose sum a mean is taken.
TERMS = {
    "cross_entropy": lambda x, y: class_terms(log_softmax(x), y),
    "cross_entropy ignoring": lambda x, y: class_terms(log_softmax(x), y),
    "cross_entropy ignoring a class": lambda x, y: class_terms(log_softmax(x), y, None, 1),
    "cross_entropy weighted": lambda x, y, w: class_terms(log_softmax(x), y, w),
    "cross_entropy smoothed": lambda x, y: smoothed_terms(log_softmax(x), y),
    "cross_entropy smoothed and weighted": lambda x, y, w: smoothed_terms(log_softmax(x), y, w),
    "cross_entropy of probabilities": lambda x, y: probability_terms(log_softmax(x), y),
    "cross_entropy of probabilities, all": lambda x, y, w: probability_terms(
        log_softmax(x), y, w, 0.2
    ),
    "nll_loss": class_terms,
    "nll_loss weighted": lambda x, y, w: class_terms(x, y, w, 2),
    "mse_loss": lambda x, y: (x - y) ** 2,
    "l1_loss": lambda x, y: np.abs(x - y),
    "smooth_l1_loss": smooth_l1,
    "huber_loss": lambda x, y: 0.7 * smooth_l1(x, y),
    "binary_cross_entropy": binary,
    "binary_cross_entropy weighted": binary,
    "binary_cross_entropy_with_logits": with_logits,
    "binary_cross_entropy_with_logits weighted": with_logits,
    "poisson_nll_loss": lambda x, y: np.exp(x) - y * x,
    "poisson_nll_loss full": poisson,
    "poisson_nll_loss of the mean": lambda x, y: x - y * np.log(x + 0.1),
    "kl_div": lambda x, y: y * (np.log(y) - x),
    "kl_div log_target": lambda x, y: np.exp(y) * (y - x),
}


def reduced(terms_of, reduction):
    def loss(*arrays):
        made = terms_of(*arrays)
        terms, weights = made if isinstance(made, tuple) else (made, np.ones_like(made))
        if reduction == "none":
            return terms
        return terms.sum() / (weights.sum() if reduction == "mean" else 1)

    return loss


for name, terms_of in TERMS.items():
    for reduction in ("mean", "sum", "none"):
        REFERENCES[f"{name} {reduction}"] = reduced(terms_of, reduction)
REFERENCES["kl_div batchmean"] = lambda x, y: TERMS["kl_div"](x, y).sum() / len(x)
