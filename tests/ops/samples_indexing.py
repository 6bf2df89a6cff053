"""Samples of indexing by tensors; what stands between brackets is compared in test_getitem.py."""

import numpy as np

from tests.ops.samples import Sample, booleans, integers, normal

MOVED = ("float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")


def exactly(numbers):
    """These indices, in their shape."""
    return lambda rng: np.array(numbers)


def functional(name):
    """A function of torch.nn.functional."""
    return lambda T, *tensors, **options: getattr(T.nn.functional, name)(*tensors, **options)


SAMPLES = [
    Sample(
        "gather",
        lambda T, x, i: T.gather(x, 0, i),
        normal(3, 4),
        exactly([[0, 1, 2, 0], [1, 1, 0, 2]]),
        out=lambda T, x, i, out: T.gather(x, 0, i, out=out),
        more=[
            [normal(3), exactly([2, 2])],
            [normal(), exactly(0)],
            [normal(3, 4), exactly(np.zeros((0, 4), int))],
            [normal(300, 40), integers(0, 300, 300, 40)],
        ],
        bad=[
            lambda T, x, i: T.gather(x, 0, -i - 1),
            lambda T, x, i: T.gather(x, 2, i),
            lambda T, x, i: T.gather(x, 0, i[0]),
            lambda T, x, i: T.gather(x, 0, i.double()),
            lambda T, x, i: T.gather(x, 1, i.repeat(2, 1)),
        ],
    ),
    Sample("gather last", lambda T, x, i: x.gather(-1, i), normal(3, 4), exactly([[3], [0], [0]])),
    Sample(
        "scatter",
        lambda T, x, i, src: T.scatter(x, 1, i, src),
        normal(3, 4),
        exactly([[0, 3], [1, 0]]),
        normal(2, 2),
        inplace=lambda T, x, i, src: x.scatter_(1, i, src),
        more=[
            [normal(4, 4), exactly(np.zeros((0, 2), int)), normal(0, 2)],
        ],
        bad=[
            lambda T, x, i, src: T.scatter(x, 1, i + 3, src),
            lambda T, x, i, src: T.scatter(x, 1, i, src[:1]),
            lambda T, x, i, src: T.scatter(x, 1, i, src.float()),
            lambda T, x, i, src: x.scatter_(1, i - 1, src),
        ],
    ),
    Sample(
        "scatter value",
        lambda T, x, i: T.scatter(x, 0, i, 2),
        normal(3, 4),
        exactly([[0, 1, 2, 0]]),
        inplace=lambda T, x, i: x.scatter_(0, i, 2),
    ),
    Sample(
        "scatter_add",
        lambda T, x, i, src: T.scatter_add(x, 0, i, src),
        normal(3, 4),
        exactly([[0, 1, 2, 0], [0, 1, 0, 2]]),
        normal(2, 4),
        inplace=lambda T, x, i, src: x.scatter_add_(0, i, src),
        more=[
            [normal(30), integers(0, 30, 500), normal(500)],
            [normal(300, 40), integers(0, 40, 300, 40), normal(300, 40)],
        ],
        bad=[
            lambda T, x, i, src: T.scatter_add(x, 0, i + 1, src),
            lambda T, x, i, src: T.scatter_add(x, 0, i, 2.0),
        ],
    ),
    Sample(
        "take_along_dim",
        lambda T, x, i: T.take_along_dim(x, i, 1),
        normal(3, 4),
        exactly([[0, -1]]),
        more=[[normal(1, 4), exactly([[0], [1]])]],
        bad=[
            lambda T, x, i: T.take_along_dim(x, i[0], 1),
            lambda T, x, i: T.take_along_dim(x, i.int(), 1),
        ],
    ),
    Sample(
        "index_select",
        lambda T, x, i: T.index_select(x, 1, i),
        normal(3, 4),
        exactly([3, 0, 0]),
        out=lambda T, x, i, out: T.index_select(x, 1, i, out=out),
        more=[
            [normal(3, 4), exactly(np.zeros(0, int))],
            [normal(3, 4, 2), exactly(1)],
            [normal(50, 400), integers(0, 400, 300)],
        ],
        bad=[
            lambda T, x, i: T.index_select(x, 1, i + 1),
            lambda T, x, i: T.index_select(x, 1, -i),
            lambda T, x, i: T.index_select(x, 1, i[None]),
            lambda T, x, i: T.index_select(x, 1, i.double()),
        ],
    ),
    Sample(
        "index_add",
        lambda T, x, i, src: T.index_add(x, 0, i, src, alpha=2),
        normal(3, 4),
        exactly([2, 0, 2, 2]),
        normal(4, 4),
        dtypes=MOVED[:8],
        inplace=lambda T, x, i, src: x.index_add_(0, i, src, alpha=2),
        more=[
            [normal(3), exactly([1, 1]), normal(2)],
            [normal(3, 4), exactly(np.zeros(0, int)), normal(0, 4)],
            [normal(20, 70), integers(0, 20, 300), normal(300, 70)],
        ],
        bad=[
            lambda T, x, i, src: T.index_add(x, 0, i + 1, src),
            lambda T, x, i, src: T.index_add(x, 0, i, src[:3]),
            lambda T, x, i, src: T.index_add(x, 0, i, src[:, :3]),
            lambda T, x, i, src: T.index_add(x, 0, i, src.float()),
        ],
    ),
    Sample(
        "index_copy",
        lambda T, x, i, src: T.index_copy(x, 1, i, src),
        normal(3, 4),
        exactly([2, 0]),
        normal(3, 2),
        inplace=lambda T, x, i, src: x.index_copy_(1, i, src),
        bad=[
            lambda T, x, i, src: T.index_copy(x, 1, i + 2, src),
            lambda T, x, i, src: T.index_copy(x, 1, i, src[:2]),
        ],
    ),
    Sample(
        "index_fill",
        lambda T, x, i: T.index_fill(x, 1, i, 2),
        normal(3, 4),
        exactly([2, -1, 2]),
        inplace=lambda T, x, i: x.index_fill_(1, i, 2),
        bad=[
            lambda T, x, i: T.index_fill(x, 1, i + 2, 2),
            lambda T, x, i: T.index_fill(x, 1, i[None], 2),
        ],
    ),
    Sample(
        "index_fill tensor",
        lambda T, x, i, value: T.index_fill(x, 1, i, value),
        normal(3, 4),
        exactly([2, 3, 2]),
        normal(),
    ),
    Sample(
        "take",
        lambda T, x, i: T.take(x, i),
        normal(3, 4),
        exactly([[11, 0], [-1, 0]]),
        more=[[normal(), exactly([0, 0])], [normal(0), exactly(np.zeros(0, int))]],
        bad=[lambda T, x, i: T.take(x, i + 1), lambda T, x, i: T.take(x, i.int())],
    ),
    Sample(
        "masked_select",
        lambda T, x, m: T.masked_select(x, m),
        normal(3, 4),
        booleans(3, 4),
        more=[
            [normal(4), booleans(3, 4)],
            [normal(3, 4), booleans(4)],
            [normal(1, 4), booleans(3, 4)],
            [normal(3, 4), booleans(3, 1)],
            [normal(3, 1), booleans(1, 4)],
            [normal(), exactly(True)],
            [normal(0, 4), booleans(0, 4)],
            [normal(100, 70), booleans(100, 70)],
        ],
        bad=[
            lambda T, x, m: T.masked_select(x, m.int()),
            lambda T, x, m: T.masked_select(x, m[:, :2]),
        ],
    ),
    Sample(
        "masked_scatter",
        lambda T, x, m, src: T.masked_scatter(x, m, src),
        normal(3, 4),
        booleans(3, 4),
        normal(20),
        inplace=lambda T, x, m, src: x.masked_scatter_(m, src),
        more=[
            [normal(3, 4), booleans(1, 4), normal(12)],
            [normal(3, 4), booleans(3, 1), normal(12)],
            [normal(3, 4), booleans(4), normal(4, 3)],
        ],
        bad=[
            lambda T, x, m, src: T.masked_scatter(x, m | True, src[:3]),
            lambda T, x, m, src: T.masked_scatter(x, m, src.float()),
        ],
    ),
    Sample(
        "index_put",
        lambda T, x, i, j, v: T.index_put(x, (i, j), v, accumulate=True),
        normal(3, 4),
        exactly([0, 2, 0]),
        exactly([-1, 1, 3]),
        normal(3),
        inplace=lambda T, x, i, j, v: x.index_put_((i, j), v, accumulate=True),
        more=[[normal(3, 4, 2), exactly([[0], [2]]), exactly([0, 1, 1]), normal(3, 2)]],
        bad=[
            lambda T, x, i, j, v: T.index_put(x, (i + 1, j), v),
            lambda T, x, i, j, v: T.index_put(x, (i, j), v[:2]),
            lambda T, x, i, j, v: T.index_put(x, (i, j), v.float()),
            lambda T, x, i, j, v: T.index_put(x, (i, j, j), v),
            lambda T, x, i, j, v: T.index_put(x, i, v),
        ],
    ),
    Sample(
        "index_put replace",
        lambda T, x, m, v: T.index_put(x, (m,), v),
        normal(3, 4),
        exactly([True, False, True]),
        normal(2, 4),
        inplace=lambda T, x, m, v: x.index_put_((m,), v),
    ),
    Sample(
        "nonzero",
        lambda T, x: T.nonzero(x),
        lambda rng: rng.integers(-1, 2, (3, 4)).astype(float),
        derivatives=0,
        more=[[normal()], [normal(0, 3)], [lambda rng: rng.integers(0, 2, (50, 70)).astype(float)]],
    ),
    Sample(
        "nonzero tuple",
        lambda T, x: T.nonzero(x, as_tuple=True),
        lambda rng: rng.integers(-1, 2, (3, 4)).astype(float),
        derivatives=0,
        more=[[normal()]],
    ),
    Sample(
        "argwhere",
        lambda T, x: T.argwhere(x),
        lambda rng: rng.integers(-1, 2, (3, 4)).astype(float),
        derivatives=0,
    ),
    Sample(
        "embedding",
        lambda T, w, i: T.nn.functional.embedding(i, w, padding_idx=1),
        normal(4, 3),
        exactly([[0, 1, 3], [3, 3, 1]]),
        dtypes=MOVED[:3],
        more=[[normal(4, 3), exactly(2)]],
        bad=[
            lambda T, w, i: T.nn.functional.embedding(i + 1, w),
            lambda T, w, i: T.nn.functional.embedding(-i, w),
            lambda T, w, i: T.nn.functional.embedding(i, w[0]),
            lambda T, w, i: T.nn.functional.embedding(i.double(), w),
        ],
    ),
    Sample(
        "embedding frequency",
        lambda T, w, i: T.nn.functional.embedding(i, w, scale_grad_by_freq=True),
        normal(4, 3),
        exactly([0, 3, 3]),
        derivatives=1,
        dtypes=MOVED[:1],
    ),
    Sample(  # PyTorch reads outside of its memory where offsets are wrong: test_embedding_bag.py has them
        "embedding_bag",
        lambda T, w, i, f: T.nn.functional.embedding_bag(i, w, mode="sum", per_sample_weights=f),
        normal(4, 3),
        exactly([[0, 3, 3], [1, 0, 2]]),
        normal(2, 3),
        dtypes=MOVED[:3],
        derivatives=1,
        more=[[normal(4, 3), exactly(np.zeros((0, 2), int)), normal(0, 2)]],
        bad=[
            lambda T, w, i, f: T.nn.functional.embedding_bag(i + 1, w),
            lambda T, w, i, f: T.nn.functional.embedding_bag(i, w, i[0]),
            lambda T, w, i, f: T.nn.functional.embedding_bag(i, w, mode="least"),
            lambda T, w, i, f: T.nn.functional.embedding_bag(i, w, per_sample_weights=f),
        ],
    ),
    Sample(
        "embedding_bag mean",
        lambda T, w, i: T.nn.functional.embedding_bag(i, w, padding_idx=0),
        normal(4, 3),
        exactly([[1, 3, 3], [0, 2, 1]]),
        dtypes=MOVED[:3],
        derivatives=1,
    ),
    Sample(
        "embedding_bag max",
        lambda T, w, i: T.nn.functional.embedding_bag(i, w, mode="max"),
        normal(4, 3),
        exactly([[0, 3, 3], [0, 2, 1]]),
        dtypes=MOVED[:3],
        derivatives=1,
    ),
    Sample(
        "embedding_bag frequency",
        lambda T, w, i: T.nn.functional.embedding_bag(i, w, mode="sum", scale_grad_by_freq=True),
        normal(4, 3),
        exactly([[0], [1], [2], [3]]),
        dtypes=MOVED[:1],
        derivatives=1,
    ),
    Sample(
        "one_hot",
        lambda T, i: T.nn.functional.one_hot(i),
        exactly([[0, 2], [1, 0]]),
        derivatives=0,
        dtypes=(),
        bad=[
            lambda T, i: T.nn.functional.one_hot(-i),
            lambda T, i: T.nn.functional.one_hot(i, 2),
            lambda T, i: T.nn.functional.one_hot(i.double()),
        ],
    ),
]
