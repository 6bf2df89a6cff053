"""Ops that write by an index, where what they read is what they write: refused as in PyTorch."""

import pytest

import tensorlab
from tests.ops.agreement import agree

VALUES = (5, 6, 7)


def values(T):
    return T.tensor(VALUES)


def index(T):
    return T.tensor([0, 1, 2])


def returned(x, _):
    return x


# Each is given the module and the tensor that is written, which is one of its arguments as well.
CALLS = {
    "put_ by itself": lambda T, x: x.put_(x, values(T)),
    "put_ by itself, adding": lambda T, x: x.put_(x, values(T), accumulate=True),
    "put_ of itself": lambda T, x: x.put_(index(T), x),
    "put_ by a part": lambda T, x: x[1:].put_(x[:2], values(T)[:2]),
    "index_put_ by itself": lambda T, x: x.index_put_((x,), values(T)),
    "index_put_ of itself": lambda T, x: x.index_put_((index(T),), x),
    "setitem by itself": lambda T, x: returned(x, x.__setitem__(x, values(T))),
    "scatter_ by itself": lambda T, x: x.scatter_(0, x, values(T)),
    "scatter_ of itself": lambda T, x: x.scatter_(0, index(T), x),
    "scatter_ of a number": lambda T, x: x.scatter_(0, x, 7),
    "scatter_add_ by itself": lambda T, x: x.scatter_add_(0, x, values(T)),
    "scatter_reduce_ by itself": lambda T, x: x.scatter_reduce_(0, x, values(T), "amax"),
    "index_add_ by itself": lambda T, x: x.index_add_(0, x, values(T)),
    "index_add_ of itself": lambda T, x: x.index_add_(0, index(T), x),
    "index_copy_ by itself": lambda T, x: x.index_copy_(0, x, values(T)),
    "index_fill_ by itself": lambda T, x: x.index_fill_(0, x, 5),
    "index_fill_ by a part": lambda T, x: x[1:].index_fill_(0, x[:2], 5),
    "index_reduce_ by itself": lambda T, x: x.index_reduce_(0, x, values(T), "prod"),
    "scatter into the index": lambda T, x: T.scatter(values(T), 0, x, values(T), out=x),
    "scatter into the source": lambda T, x: T.scatter(values(T), 0, index(T), x, out=x),
    "scatter into the input": lambda T, x: T.scatter(x, 0, index(T), values(T), out=x),
    "scatter_add into the index": lambda T, x: T.scatter_add(values(T), 0, x, values(T), out=x),
    "scatter_add into the source": lambda T, x: T.scatter_add(values(T), 0, index(T), x, out=x),
    "index_add into the source": lambda T, x: T.index_add(values(T), 0, index(T), x, out=x),
    "index_add into the index": lambda T, x: T.index_add(values(T), 0, x, values(T), out=x),
    "index_add into the input": lambda T, x: T.index_add(x, 0, index(T), values(T), out=x),
    "index_copy into the source": lambda T, x: T.index_copy(values(T), 0, index(T), x, out=x),
    "index_copy into the index": lambda T, x: T.index_copy(values(T), 0, x, values(T), out=x),
    "index_reduce into the source": lambda T, x: T.index_reduce(
        values(T), 0, index(T), x, "amax", out=x
    ),
    "scatter_reduce into the source": lambda T, x: T.scatter_reduce(
        values(T), 0, index(T), x, "amax", out=x
    ),
    "take into the index": lambda T, x: T.take(values(T), x, out=x),
    "index_select into the index": lambda T, x: T.index_select(values(T), 0, x, out=x),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_that_is_written_is_refused_where_pytorch_refuses_it(name):
    agree(lambda T: CALLS[name](T, index(T)))


@pytest.mark.parametrize("name", [name for name in CALLS if "_ " in name and "part" not in name])
def test_nothing_has_changed_after_a_refusal(name):
    x = index(tensorlab)
    with pytest.raises(RuntimeError, match="clone"):
        CALLS[name](tensorlab, x)
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda T, x: x.__setitem__(x, T.tensor([False])),
        lambda T, x: x[1:].__setitem__(x[:2], T.tensor([True])),
        lambda T, x: x.__setitem__(x, T.tensor([False, False])),
        lambda T, x: x.index_put_((x,), T.tensor([False, False])),
        lambda T, x: x.__setitem__(x, False),
    ],
)
def test_a_mask_may_be_what_it_masks_where_it_may_in_pytorch(change):
    def program(T):
        x = T.tensor([True, False, True])
        change(T, x)
        return x

    agree(program)
