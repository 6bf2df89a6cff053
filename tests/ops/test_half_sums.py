"""Sums into few places: in a half type, each is rounded once, at the end.

In bfloat16 a sum of ones that is rounded at every step gets no further than 256."""

import pytest

import tensorlab
from tensorlab.nn import functional as F

N = 600  # even in bfloat16
PLACES = tensorlab.zeros(N, dtype=tensorlab.int64)


def gradient(function, *shape):
    """The gradient of the sum of what a function makes of ones, at the first element."""

    def of(dtype):
        x = tensorlab.ones(*shape, dtype=dtype, requires_grad=True)
        y = function(x)
        y.backward(tensorlab.ones_like(y))
        return x.grad.flatten()[0]

    return of


def peak(x):
    """Ones where x is, and a larger number amid them, which each window of a pooling meets."""
    return F.pad(2 * x, (N - 1, N - 1), value=1.0)


SUMS = {
    "scatter_add": lambda d: tensorlab.zeros(2, dtype=d).scatter_add(
        0, PLACES, tensorlab.ones(N, dtype=d)
    )[0],
    "scatter_reduce": lambda d: tensorlab.zeros(2, dtype=d).scatter_reduce(
        0, PLACES, tensorlab.ones(N, dtype=d), "sum"
    )[0],
    "index_add": lambda d: tensorlab.zeros(2, dtype=d).index_add(
        0, PLACES, tensorlab.ones(N, dtype=d)
    )[0],
    "index_add_ of columns": lambda d: tensorlab.zeros(3, 2, dtype=d).index_add_(
        1, PLACES, tensorlab.ones(3, N, dtype=d)
    )[2, 0],
    "put": lambda d: tensorlab.zeros(2, dtype=d).put(
        PLACES, tensorlab.ones(N, dtype=d), accumulate=True
    )[0],
    "index_put": lambda d: tensorlab.zeros(2, dtype=d).index_put(
        (PLACES,), tensorlab.ones(N, dtype=d), accumulate=True
    )[0],
    "index_put, one number": lambda d: tensorlab.zeros(2, dtype=d).index_put_(
        (PLACES,), tensorlab.tensor(1, dtype=d), accumulate=True
    )[0],
    "fold": lambda d: F.fold(tensorlab.ones(1, N, N, dtype=d), (1, 2 * N - 1), (1, N)).max(),
    "index_select": gradient(lambda x: x.index_select(0, PLACES), 2),
    "gather": gradient(lambda x: x.gather(0, PLACES), 2),
    "x[index]": gradient(lambda x: x[PLACES], 2),
    "x[..., index]": gradient(lambda x: x[..., PLACES], 2, 2),
    "take": gradient(lambda x: x.take(PLACES), 2),
    "embedding": gradient(lambda x: F.embedding(PLACES, x), 2, 3),
    "embedding_bag": gradient(lambda x: F.embedding_bag(PLACES[None], x, mode="sum"), 2, 3),
    "interpolate, nearest": gradient(
        lambda x: F.interpolate(x, scale_factor=N, mode="nearest"), 1, 1, 1
    ),
    "interpolate, linear": gradient(
        lambda x: F.interpolate(x, scale_factor=N, mode="linear"), 1, 1, 1
    ),
    "interpolate, bilinear": gradient(
        lambda x: F.interpolate(x, size=(30, 20), mode="bilinear"), 1, 1, 1, 1
    ),
    "max_pool1d": gradient(lambda x: F.max_pool1d(peak(x), N, 1) / 2, 1, 1, 1),
    "avg_pool1d": gradient(lambda x: F.avg_pool1d(peak(x), N, 1) * (N / 2), 1, 1, 1),
    "unfold": gradient(lambda x: F.unfold(x, (24, 25), padding=(23, 24)), 1, 1, 1, 1),
    "Tensor.unfold": gradient(lambda x: F.pad(x, (N - 1, N - 1)).unfold(0, N, 1), 1),
    "expand": gradient(lambda x: x.expand(N), 1),
    "repeat": gradient(lambda x: x.repeat(N), 1),
    "repeat_interleave": gradient(lambda x: x.repeat_interleave(N), 1),
    "pad": gradient(lambda x: F.pad(x, (N // 2, N // 2 - 1), mode="replicate"), 1, 1, 1),
    "grid_sample": gradient(
        lambda x: F.grid_sample(x, x.detach().new_zeros(1, 30, 20, 2), align_corners=True),
        1,
        1,
        1,
        1,
    ),
    "as_strided": gradient(lambda x: x.as_strided((N,), (0,)), 1),
    "a filter": gradient(lambda x: F.conv1d(x.detach().new_ones(1, 1, N), x), 1, 1, 1),
    "a bias": gradient(
        lambda x: F.linear(x.detach().new_ones(N, 1), x.detach().new_ones(1, 1), x), 1
    ),
}


@pytest.mark.parametrize("dtype", [tensorlab.bfloat16, tensorlab.float16], ids=str)
@pytest.mark.parametrize("name", SUMS)
def test_sums_into_few_places_are_rounded_once(name, dtype):
    assert SUMS[name](dtype) == N


@pytest.mark.parametrize("name", ["index_add_", "scatter_add_", "put_"])
def test_a_bad_index_changes_nothing(name):
    x, index = tensorlab.ones(3, dtype=tensorlab.bfloat16), tensorlab.tensor([0, 1, 5])
    dims = () if name == "put_" else (0,)
    more = {"accumulate": True} if name == "put_" else {}
    with pytest.raises((IndexError, RuntimeError), match="5"):
        getattr(x, name)(*dims, index, tensorlab.ones(3, dtype=tensorlab.bfloat16), **more)
    assert x.tolist() == [1, 1, 1]
