"""Samples of pooling, padding, attention and other functions of networks that tests/nn does not differentiate twice."""

import numpy as np

from tests.ops.samples import ALL_DTYPES, FLOATING_DTYPES, Sample, booleans, normal


def network(name, call, *inputs, **options):
    """A sample of T.nn.functional.name; PyTorch keeps no promise on strides here."""
    function = lambda T, *tensors: call(T.nn.functional, *tensors)
    options.setdefault("dtypes", FLOATING_DTYPES)
    return Sample(name, function, *inputs, same_strides=False, **options)


IMAGE = normal(2, 3, 7, 6)
VOLUME = normal(2, 2, 4, 3, 5)
WIDE = ["float32"]


def draws(x, axes):
    """For each plane one number for each axis, as fractional pooling draws them, and not quite at random."""
    return (x.detach().flatten(2)[..., :axes] > 0).to(x.dtype) * 0.5 + 0.25


def places(rng):
    """Four of the first eight places of each plane."""
    return rng.permuted(np.tile(np.arange(8), (2, 3, 1)), axis=-1)[..., :4]


SAMPLES = [
    network("max_pool2d", lambda F, x: F.max_pool2d(x, 2), IMAGE, more=[[normal(3, 4, 4)]]),
    network("max_pool2d windows", lambda F, x: F.max_pool2d(x, (3, 2), 1, 1, (1, 2)), IMAGE),
    network(
        "max_pool2d indices", lambda F, x: F.max_pool2d(x, 2, 2, 1, return_indices=True), IMAGE
    ),
    network("max_pool1d", lambda F, x: F.max_pool1d(x, 3, 2, 1), normal(2, 3, 9)),
    network("avg_pool2d", lambda F, x: F.avg_pool2d(x, 2), IMAGE, more=[[normal(3, 4, 4)]]),
    network("avg_pool2d padded", lambda F, x: F.avg_pool2d(x, 3, 2, 1, True, False), IMAGE),
    network("avg_pool2d divisor", lambda F, x: F.avg_pool2d(x, 2, divisor_override=3), IMAGE),
    network("avg_pool1d", lambda F, x: F.avg_pool1d(x, 3, 2, 1), normal(2, 3, 9)),
    network("adaptive_avg_pool2d", lambda F, x: F.adaptive_avg_pool2d(x, (3, 4)), IMAGE),
    network("adaptive_avg_pool2d all", lambda F, x: F.adaptive_avg_pool2d(x, 1), IMAGE),
    network("adaptive_avg_pool1d", lambda F, x: F.adaptive_avg_pool1d(x, 4), normal(2, 3, 9)),
    network("adaptive_avg_pool3d", lambda F, x: F.adaptive_avg_pool3d(x, (2, 1, 3)), VOLUME),
    network(
        "max_pool2d of integers",
        lambda F, x: F.max_pool2d(x, (2, 3), 1, 1, return_indices=True),
        IMAGE,
        derivatives=0,
        dtypes=["uint8", "int8", "int16", "int32", "int64"],
    ),
    network("max_pool3d", lambda F, x: F.max_pool3d(x, 2), VOLUME, more=[[normal(3, 4, 2, 2)]]),
    network("max_pool3d windows", lambda F, x: F.max_pool3d(x, (3, 2, 2), 1, 1, (1, 2, 1)), VOLUME),
    network(
        "max_pool3d indices",
        lambda F, x: F.max_pool3d(x, 2, (2, 1, 3), return_indices=True),
        VOLUME,
    ),
    network("avg_pool3d", lambda F, x: F.avg_pool3d(x, 2), VOLUME, dtypes=WIDE),
    network(
        "avg_pool3d padded",
        lambda F, x: F.avg_pool3d(x, (3, 2, 2), (2, 1, 3), (1, 0, 1), True, False),
        VOLUME,
        dtypes=WIDE,
    ),
    network(
        "avg_pool3d divisor",
        lambda F, x: F.avg_pool3d(x, 2, None, 0, False, True, 3),
        VOLUME,
        dtypes=WIDE,
    ),
    network("adaptive_max_pool1d", lambda F, x: F.adaptive_max_pool1d(x, 4), normal(2, 3, 9)),
    network("adaptive_max_pool2d", lambda F, x: F.adaptive_max_pool2d(x, (3, 4), True), IMAGE),
    network("adaptive_max_pool3d", lambda F, x: F.adaptive_max_pool3d(x, (2, 1, 3), True), VOLUME),
    network(
        "fractional_max_pool2d",
        lambda F, x: F.fractional_max_pool2d(x, (2, 3), (4, 3), None, True, draws(x, 2)),
        IMAGE,
        dtypes=WIDE,
    ),
    network(
        "fractional_max_pool3d",
        lambda F, x: F.fractional_max_pool3d(x, (1, 2, 1), (3, 1, 3), None, True, draws(x, 3)),
        VOLUME,
        dtypes=WIDE,
    ),
    network("lp_pool1d", lambda F, x: F.lp_pool1d(x.abs(), 3, 3, 2), normal(2, 3, 9), dtypes=WIDE),
    network("lp_pool2d", lambda F, x: F.lp_pool2d(x, 2, (3, 2), 1), IMAGE, dtypes=WIDE),
    network("lp_pool3d", lambda F, x: F.lp_pool3d(x, 2, (2, 1, 2)), VOLUME, dtypes=WIDE),
    network(
        "max_unpool1d",
        lambda F, x, i: F.max_unpool1d(x, i, 2, 3),
        normal(2, 3, 4),
        places,
        dtypes=WIDE,
    ),
    network(
        "max_unpool2d",
        lambda F, x, i: F.max_unpool2d(x[..., None], i[..., None], (2, 3), 2, (0, 1)),
        normal(2, 3, 4),
        places,
        dtypes=WIDE,
    ),
    network(
        "max_unpool3d",
        lambda F, x, i: F.max_unpool3d(x[..., None, None], i[..., None, None], 2),
        normal(2, 3, 4),
        places,
        dtypes=WIDE,
    ),
    network("pad", lambda F, x: F.pad(x, (1, 2), value=0.5), normal(2, 3), dtypes=["float32"]),
    network("pad cut", lambda F, x: F.pad(x, (-1, 2, 0, -1)), normal(3, 4)),
    network("pad reflect", lambda F, x: F.pad(x, (2, 1, 0, 3), "reflect"), normal(2, 4, 4)),
    network("pad replicate", lambda F, x: F.pad(x, (2, 1), "replicate"), normal(2, 3, 4)),
    network("pad circular", lambda F, x: F.pad(x, (2, 4), "circular"), normal(2, 3, 4)),
    network(
        "pixel_shuffle",
        lambda F, x: F.pixel_shuffle(x, 2),
        normal(2, 8, 3, 5),
        dtypes=ALL_DTYPES,
        more=[[normal(4, 2, 1)], [normal(3, 2, 4, 2, 2)]],
        bad=[
            lambda T, x: T.nn.functional.pixel_shuffle(x, 3),
            lambda T, x: T.nn.functional.pixel_shuffle(x, 0),
            lambda T, x: T.nn.functional.pixel_shuffle(x, -2),
            lambda T, x: T.nn.functional.pixel_shuffle(x, 2.0),
            lambda T, x: T.nn.functional.pixel_shuffle(x[0, 0], 2),
        ],
    ),
    network(
        "pixel_shuffle of nothing",
        lambda F, x: F.pixel_shuffle(x, 2),
        normal(0, 4, 2, 3),
        derivatives=0,  # PyTorch's have a wrong shape
        dtypes=["float32"],
        more=[[normal(2, 0, 2, 3)], [normal(2, 4, 0, 3)]],
    ),
    network("pixel_shuffle by 1", lambda F, x: F.pixel_shuffle(x, 1), normal(2, 3, 4)),
    network(
        "pixel_unshuffle",
        lambda F, x: F.pixel_unshuffle(x, 2),
        normal(2, 3, 4, 6),
        dtypes=ALL_DTYPES,
        more=[[normal(1, 2, 2)], [normal(3, 2, 4, 2, 2)]],
        bad=[
            lambda T, x: T.nn.functional.pixel_unshuffle(x[..., 1:], 2),
            lambda T, x: T.nn.functional.pixel_unshuffle(x[:, :, 1:], 2),
            lambda T, x: T.nn.functional.pixel_unshuffle(x, 0),
            lambda T, x: T.nn.functional.pixel_unshuffle(x, -2),
            lambda T, x: T.nn.functional.pixel_unshuffle(x, 2.0),
            lambda T, x: T.nn.functional.pixel_unshuffle(x[0, 0], 2),
        ],
    ),
    network(
        "pixel_unshuffle of nothing",
        lambda F, x: F.pixel_unshuffle(x, 2),
        normal(0, 1, 2, 4),
        derivatives=0,  # PyTorch's fail
        dtypes=["float32"],
    ),
    network(
        "channel_shuffle",
        lambda F, x: F.channel_shuffle(x, 2),
        normal(2, 6, 3),
        dtypes=ALL_DTYPES,
        more=[[normal(1, 4, 2, 3)], [normal(2, 2, 1, 2, 2)], [normal(0, 4, 3)]],
        bad=[
            lambda T, x: T.nn.functional.channel_shuffle(x, 4),
            lambda T, x: T.nn.functional.channel_shuffle(x, 0),
            lambda T, x: T.nn.functional.channel_shuffle(x, -2),
            lambda T, x: T.nn.functional.channel_shuffle(x, 2.0),
            lambda T, x: T.nn.functional.channel_shuffle(x[0], 2),
        ],
    ),
    network(
        "local_response_norm",
        lambda F, x: F.local_response_norm(x, 4, 0.5, 0.6, 2.0),
        normal(2, 7, 3),
        dtypes=WIDE,
        more=[[normal(2, 3, 4, 5)], [normal(1, 5, 2, 2, 2)], [normal(0, 3, 2)]],
        bad=[
            lambda T, x: T.nn.functional.local_response_norm(x[0], 2),
            lambda T, x: T.nn.functional.local_response_norm(x, 0),
        ],
        tolerance=4,
    ),
    network(
        "im2col",
        lambda F, x: F.unfold(x, (2, 3), (1, 2), (1, 0), (2, 1)),
        normal(2, 3, 5, 6),
        more=[[normal(3, 4, 5)], [normal(0, 1, 4, 7)], [normal(40, 5, 30, 31)]],
        bad=[
            lambda T, x: T.nn.functional.unfold(x[0, 0, 0], 2),
            lambda T, x: T.nn.functional.unfold(x[None], 2),
            lambda T, x: T.nn.functional.unfold(x[:, :0], 2),
            lambda T, x: T.nn.functional.unfold(x[:, :, :, :0], 2, 1, 1),
            lambda T, x: T.nn.functional.unfold(x, 6),
            lambda T, x: T.nn.functional.unfold(x, (1, 7)),
            lambda T, x: T.nn.functional.unfold(x, (2,)),
            lambda T, x: T.nn.functional.unfold(x, (2, 2, 2)),
            lambda T, x: T.nn.functional.unfold(x, 2.0),
            lambda T, x: T.nn.functional.unfold(x, 0),
            lambda T, x: T.nn.functional.unfold(x, 2, 0),
            lambda T, x: T.nn.functional.unfold(x, 2, 1, -1),
            lambda T, x: T.nn.functional.unfold(x, 2, 1, 0, 0),
        ],
    ),
    network(
        "col2im",
        lambda F, x: F.fold(x, (5, 6), (2, 3), (1, 2), (1, 0), (2, 1)),
        normal(2, 18, 6),
        more=[[normal(6, 6)], [normal(0, 12, 6)], [normal(70, 60, 6)]],
        bad=[
            lambda T, x: T.nn.functional.fold(x[0, 0], (5, 6), (2, 3)),
            lambda T, x: T.nn.functional.fold(x[None], (5, 6), (2, 3)),
            lambda T, x: T.nn.functional.fold(x[:, :0], (5, 6), (2, 3)),
            lambda T, x: T.nn.functional.fold(x, (5, 6), (2, 5)),
            lambda T, x: T.nn.functional.fold(x, (5, 6), (2, 3)),
            lambda T, x: T.nn.functional.fold(x, (1, 6), (2, 3)),
            lambda T, x: T.nn.functional.fold(x, (5, 6, 1), (2, 3)),
            lambda T, x: T.nn.functional.fold(x, (5, 6), 0),
            lambda T, x: T.nn.functional.fold(x, (5.0, 6), (2, 3)),
        ],
        tolerance=4,
    ),
    network(
        "conv_tbc",
        lambda F, x, w, b: F.conv_tbc(x.contiguous(), w.contiguous(), b, 1),  # PyTorch views them
        *[normal(5, 2, 3), normal(3, 3, 4), normal(4)],
        dtypes=WIDE,
        bad=[
            lambda T, x, w, b: T.nn.functional.conv_tbc(x[0], w, b),
            lambda T, x, w, b: T.nn.functional.conv_tbc(x, w[0], b),
            lambda T, x, w, b: T.nn.functional.conv_tbc(x, w, w),
            lambda T, x, w, b: T.nn.functional.conv_tbc(x, w[:, 1:], b),
            lambda T, x, w, b: T.nn.functional.conv_tbc(x, w, b[1:]),
            lambda T, x, w, b: T.nn.functional.conv_tbc(x[:1], w, b),
        ],
        tolerance=20,
    ),
    network("normalize", lambda F, x: F.normalize(x), normal(3, 4)),
    network("normalize 1", lambda F, x: F.normalize(x, 1, 0), normal(3, 4), tolerance=2),
    network(
        "cosine_similarity", lambda F, x, y: F.cosine_similarity(x, y), normal(3, 4), normal(3, 4)
    ),
    network(
        "cosine_similarity broadcast along",
        lambda F, x, y: F.cosine_similarity(x, y),
        normal(3, 1),
        normal(3, 4),
        tolerance=4,
    ),
    network(
        "cosine_similarity of a row",
        lambda F, x, y: F.cosine_similarity(x, y, -1),
        normal(3, 4),
        normal(4),
        tolerance=4,
    ),
    network(
        "pairwise_distance",
        lambda F, x, y: F.pairwise_distance(x, y),
        normal(3, 4),
        normal(3, 4),
        tolerance=4,
    ),
    network(
        "bilinear",
        lambda F, x, y, w, b: F.bilinear(x, y, w, b),
        *[normal(2, 3), normal(2, 4), normal(5, 3, 4), normal(5)],
        more=[
            [normal(3), normal(4), normal(5, 3, 4), normal(5)],
            [normal(0, 3), normal(0, 4), normal(5, 3, 4), normal(5)],
            [normal(2, 6, 3), normal(2, 6, 1), normal(1, 3, 1), normal(1)],
        ],
        bad=[
            lambda T, x, y, w, b: T.nn.functional.bilinear(x[:1], y, w, b),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x[0], y, w, b),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x[:, 1:], y, w, b),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x, y[:, 1:], w, b),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x, y, w[0], b),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x, y, w, b[1:]),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x, y, w, b[None]),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x, y, w.half(), b),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x[0, 0], y, w, b),
            lambda T, x, y, w, b: T.nn.functional.bilinear(x, y[0, 0], w, b),
        ],
        tolerance=2,
    ),
    network(
        "bilinear plain",
        lambda F, x, y, w: F.bilinear(x, y, w),
        *[normal(2, 3), normal(2, 4), normal(5, 3, 4)],
        dtypes=[*FLOATING_DTYPES, "int64"],
        tolerance=2,
    ),
    network("instance_norm", lambda F, x: F.instance_norm(x), normal(2, 3, 5), tolerance=4),
    network(
        "instance_norm affine",
        lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b),
        normal(2, 3, 5),
        normal(3),
        normal(3),
        tolerance=4,
    ),
    network(
        "scaled_dot_product_attention",
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v),
        *[normal(2, 3, 4)] * 3,
        more=[[normal(2, 3, 0), normal(2, 5, 0), normal(2, 5, 4)]],
        tolerance=4,
    ),
    network(
        "scaled_dot_product_attention causal",
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        normal(2, 2, 3, 4),
        normal(2, 2, 3, 4),
        normal(2, 2, 3, 5),
        tolerance=4,
    ),
    network(
        "scaled_dot_product_attention mask",
        lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        normal(2, 3, 4),
        normal(2, 5, 4),
        normal(2, 5, 4),
        booleans(3, 5),
        tolerance=4,
    ),
    network(
        "scaled_dot_product_attention bias",
        lambda F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        *[normal(2, 3, 4)] * 3,
        normal(3, 3),
        tolerance=4,
    ),
    network(
        "scaled_dot_product_attention grouped",
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        normal(1, 4, 3, 4),
        normal(1, 2, 3, 4),
        normal(1, 2, 3, 4),
        derivatives=1,  # PyTorch has no second one here
        tolerance=4,
    ),
]
