"""The last valid index and the first invalid one, on both sides, wherever an op takes indices: as in PyTorch."""

import pytest

import tensorlab
from tests.ops.agreement import agree

SIZE = 4
EDGES = (-SIZE - 1, -SIZE, SIZE - 1, SIZE)


def placed(T, edge, n, where):
    """n indices that are 1, but for one."""
    index = T.ones(n, dtype=T.int64)
    index[where] = edge
    return index


def changed(x, change):
    change(x)
    return x


# Each takes the module, a tensor whose sizes are SIZE, and a function that makes an index tensor with the edge in it.
SUBSCRIPTS = {
    "first": lambda T, x, at: (at(), T.zeros_like(at())),
    "second": lambda T, x, at: (T.zeros_like(at()), at()),
    "third": lambda T, x, at: (T.zeros_like(at()), T.zeros_like(at()), at()),
    "alone": lambda T, x, at: (at(),),
    "behind a slice": lambda T, x, at: (slice(1, 3), at()),
    "around a slice": lambda T, x, at: (T.zeros_like(at()), slice(None), at()),
    "broadcast": lambda T, x, at: (at()[:, None], at()[None, :1]),
    "with an int": lambda T, x, at: (0, at()),
}
USES = {
    "read": lambda T, x, index: x[index],
    "write": lambda T, x, index: changed(x, lambda x: x.__setitem__(index, 5.0)),
    "add": lambda T, x, index: (
        x.index_put(index, T.tensor(2.0), accumulate=True)
        if all(isinstance(one, T.Tensor) for one in index)
        else x[index]
    ),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("subscript", SUBSCRIPTS)
@pytest.mark.parametrize(("n", "where"), [(1, 0), (3, 0), (3, 2), (1100, 700)])
def test_an_index_tensor_at_the_edge(subscript, use, edge, n, where):
    def program(T):
        x = T.arange(float(SIZE**3)).view(SIZE, SIZE, SIZE)
        index = SUBSCRIPTS[subscript](T, x, lambda: placed(T, edge, n, where))
        return USES[use](T, x, index)

    agree(program)


WRITES = {
    "setitem": lambda x, at: x.__setitem__(at, 5.0),
    "setitem of rows": lambda x, at: x.__setitem__(at, tensorlab.ones(len(at), SIZE)),
    "index_put_": lambda x, at: x.index_put_((at,), tensorlab.ones(SIZE), accumulate=True),
    "put_": lambda x, at: x.put_(at + SIZE * (SIZE - 1), tensorlab.ones(len(at))),
    "scatter_": lambda x, at: x.scatter_(1, at[None], 9.0),
    "scatter_add_": lambda x, at: x.scatter_add_(0, at[:, None], tensorlab.ones(len(at), 1)),
    "index_add_": lambda x, at: x.index_add_(1, at, tensorlab.ones(SIZE, len(at))),
    "index_copy_": lambda x, at: x.index_copy_(0, at, tensorlab.ones(len(at), SIZE)),
    "index_fill_": lambda x, at: x.index_fill_(1, at, 9.0),
    "index_reduce_": lambda x, at: x.index_reduce_(1, at, tensorlab.ones(SIZE, len(at)), "amin"),
}


@pytest.mark.parametrize("n", [1, 511, 512, 513, 1100])
@pytest.mark.parametrize("name", WRITES)
def test_an_index_that_is_out_of_range_anywhere_changes_nothing(name, n):
    x = tensorlab.arange(float(SIZE**2)).view(SIZE, SIZE)
    before = x.clone()
    for where in {0, 1 % n, n // 2, max(n - 2, 0), n - 1, min(511, n - 1), min(512, n - 1)}:
        with pytest.raises((IndexError, RuntimeError), match="range"):
            WRITES[name](x, placed(tensorlab, SIZE, n, where))
        assert x.equal(before), where


OPS = {
    "select": lambda T, x, at, edge: x.select(1, edge),
    "item": lambda T, x, at, edge: x[1, edge],
    "gather": lambda T, x, at, edge: x.gather(1, at[None]),
    "gather 0": lambda T, x, at, edge: x.gather(0, at[:, None]),
    "scatter": lambda T, x, at, edge: x.scatter(1, at[None], 9.0),
    "scatter_add": lambda T, x, at, edge: x.scatter_add(0, at[:, None], T.ones(len(at), 1)),
    "scatter_reduce": lambda T, x, at, edge: x.scatter_reduce(
        0, at[:, None], T.ones(len(at), 1), "amax"
    ),
    "index_select": lambda T, x, at, edge: x.index_select(1, at),
    "index_select 0": lambda T, x, at, edge: x.index_select(0, at),
    "index_add": lambda T, x, at, edge: x.index_add(1, at, T.ones(SIZE, len(at))),
    "index_copy": lambda T, x, at, edge: x.index_copy(0, at, T.ones(len(at), SIZE)),
    "index_fill": lambda T, x, at, edge: x.index_fill(1, at, 9.0),
    "index_reduce": lambda T, x, at, edge: x.index_reduce(1, at, T.ones(SIZE, len(at)), "amin"),
    "embedding": lambda T, x, at, edge: T.nn.functional.embedding(at, x),
    "embedding_bag": lambda T, x, at, edge: T.nn.functional.embedding_bag(at[None], x),
    "embedding_bag max": lambda T, x, at, edge: T.nn.functional.embedding_bag(
        at[None], x, mode="max"
    ),
    "one_hot": lambda T, x, at, edge: T.nn.functional.one_hot(at, SIZE).tolist(),
    "nll_loss": lambda T, x, at, edge: T.nn.functional.nll_loss(
        T.ones(len(at), SIZE), at, ignore_index=-7
    ),
    "take": lambda T, x, at, edge: x[0].take(at),
    "put": lambda T, x, at, edge: x[0].put(at, T.ones(len(at))).tolist(),
    "movedim": lambda T, x, at, edge: x.movedim(0, edge // 2),
    "narrow": lambda T, x, at, edge: x.narrow(1, edge, 1),
    "diagonal": lambda T, x, at, edge: x.diagonal(edge),
    "cross_entropy": lambda T, x, at, edge: T.nn.functional.cross_entropy(
        T.ones(len(at), SIZE), at, reduction="none", ignore_index=-7
    ),
}


OPS_OF_NUMBERS = {
    "gather": lambda T, x, at, y: x.gather(1, at[None]),
    "scatter": lambda T, x, at, y: x.scatter(1, at.expand(SIZE, 7), y),
    "scatter_add": lambda T, x, at, y: x.scatter_add(1, at.expand(SIZE, 7), y),
    "scatter_add 0": lambda T, x, at, y: x.scatter_add(0, at[:, None].expand(7, SIZE), y.t()),
    "scatter_reduce": lambda T, x, at, y: x.scatter_reduce(1, at.expand(SIZE, 7), y, "amin"),
    "index_select": lambda T, x, at, y: x.index_select(1, at),
    "index_add": lambda T, x, at, y: x.index_add(1, at, y),
    "index_add 0": lambda T, x, at, y: x.index_add(0, at, y.t()),
    "index_copy": lambda T, x, at, y: x.index_copy(1, at, y),
    "index_put": lambda T, x, at, y: x.index_put((at, at), y[0], accumulate=True),
    "take": lambda T, x, at, y: x[0].take(at),
    "put": lambda T, x, at, y: x[0].put(at, y[0], accumulate=True).tolist(),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("where", [0, 2])
def test_an_op_at_the_edge(name, edge, where):
    def program(T):
        x = T.arange(float(SIZE**2)).view(SIZE, SIZE)
        return OPS[name](T, x, placed(T, edge, 3, where), edge)

    agree(program, tolerance=1e-6)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", [*OPS_OF_NUMBERS, *SUBSCRIPTS])
@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int64", "int16", "uint8", "bool"]
)
def test_every_dtype_at_the_edge(name, edge, dtype):
    """Each has loops of its own."""

    def program(T):
        x = (T.arange(SIZE**3) % 2).view(SIZE, SIZE, SIZE).to(getattr(T, dtype))
        at = placed(T, edge, 7, 5)
        if name in SUBSCRIPTS:
            index = SUBSCRIPTS[name](T, x, lambda: at)
            return USES["write"](T, x.clone(), index), x[index]
        return OPS_OF_NUMBERS[name](T, x[0], at, T.ones(SIZE, 7, dtype=x.dtype))

    agree(program)


@pytest.mark.parametrize("dim", range(-3, 3))
@pytest.mark.parametrize(
    "name", ["sum", "cumsum", "softmax", "sort", "argmax", "unbind", "squeeze", "size", "logsumexp"]
)
def test_a_dimension_at_the_edge(name, dim):
    agree(lambda T: getattr(T.arange(6.0).view(2, 3), name)(dim), tolerance=1e-6)


@pytest.mark.parametrize("where", [0, 1, 511, 512, 199_999])
@pytest.mark.parametrize("accumulate", [False, True])
def test_an_index_that_is_out_of_range_changes_nothing_however_many_threads(where, accumulate):
    x, threads = tensorlab.zeros(1000), tensorlab.get_num_threads()
    index = tensorlab.arange(200_000) % 1000
    index[where] = 1000
    tensorlab.set_num_threads(2)
    try:
        with pytest.raises(IndexError):
            x.index_put_((index,), tensorlab.ones(200_000), accumulate)
    finally:
        tensorlab.set_num_threads(threads)
    assert not x.any()
