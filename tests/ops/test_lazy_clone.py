"""Lazy clones: no write through either tensor, or a view of it, is ever seen through the other."""

import gc
import weakref

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import require_torch


def write_in_backward(t, x):
    """Let the engine accumulate into a gradient that is the tensor."""
    weight = t.zeros(2, 3, requires_grad=True)
    weight.grad = x
    weight.sum().backward()


def sgd(t, x):
    parameter = t.nn.Parameter(x)
    parameter.grad = t.ones(2, 3)
    t.optim.SGD([parameter], lr=0.5).step()


def adam_moments(t, x):
    parameter = t.nn.Parameter(t.ones(2, 3))
    parameter.grad = t.ones(2, 3)
    optimizer = t.optim.Adam([parameter], lr=0.5)
    optimizer.step()
    optimizer.state[parameter]["exp_avg"] = x
    optimizer.step()


def set_buffer(t, x):
    memoryview(x.numpy())[0, 0] = 9.0


WRITES = {
    "add_": lambda t, x: x.add_(1),
    "add_ of another type": lambda t, x: x.add_(t.ones(3, dtype=t.int32)),
    "add_ of itself": lambda t, x: x.add_(x),
    "add_ of its transpose": lambda t, x: x[:, :2].add_(x[:, :2].t().clone()),
    "mul_ through a view": lambda t, x: x.t()[1:].mul_(2),
    "exp_": lambda t, x: x.exp_(),
    "clamp_": lambda t, x: x.clamp_(1, 3),
    "addcmul_": lambda t, x: x.addcmul_(x, x),
    "where out=": lambda t, x: t.add(x, 1, out=x),
    "sum out=": lambda t, x: t.sum(t.ones(2, 3, 2), 2, out=x),
    "matmul out=": lambda t, x: t.matmul(t.ones(2, 2), t.ones(2, 3), out=x),
    "zeros out=": lambda t, x: t.zeros(2, 3, out=x),
    "fill_": lambda t, x: x.fill_(7),
    "zero_": lambda t, x: x.zero_(),
    "copy_": lambda t, x: x.copy_(t.ones(3)),
    "setitem": lambda t, x: x.__setitem__((0, slice(1)), 9),
    "setitem, mask": lambda t, x: x.__setitem__(x > 2, 9),
    "setitem, list": lambda t, x: x.__setitem__(([0, 1], [0, 2]), t.tensor([8.0, 9.0])),
    "index_add_": lambda t, x: x.index_add_(0, t.tensor([1]), t.ones(1, 3)),
    "index_put_": lambda t, x: x.index_put_((t.tensor([1]),), t.tensor(3.0)),
    "scatter_": lambda t, x: x.scatter_(0, t.zeros(1, 3, dtype=t.int64), 5.0),
    "masked_fill_": lambda t, x: x.masked_fill_(x > 2, 0),
    "uniform_": lambda t, x: x.uniform_(),
    "normal_": lambda t, x: x.normal_(),
    "cumsum_": lambda t, x: x.cumsum_(0),
    "tril_": lambda t, x: x.tril_(),
    "relu_": lambda t, x: x.relu_(),
    "dropout": lambda t, x: nn.functional.dropout(x, 0.5, True, True) if t is tensorlab else None,
    "numpy": lambda t, x: x.numpy().__setitem__((0, 0), 9.0),
    "dlpack": lambda t, x: np.from_dlpack(x).__setitem__((0, 0), 9.0),
    "buffer": set_buffer,
    "data": lambda t, x: x.data.add_(1),
    "detach": lambda t, x: x.detach().add_(1),
    "resize_": lambda t, x: x.resize_(3).add_(1),
    "storage": lambda t, x: x.untyped_storage().copy_(t.ones(6).untyped_storage()),
    "assigned data": lambda t, x: setattr(y := t.zeros(1), "data", x) or y.add_(1),
    "set_": lambda t, x: t.zeros(1).set_(x).add_(1),
    "backward": write_in_backward,
    "SGD": sgd,
    "Adam": adam_moments,
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(t.ones(4, 3), x[0], x[1], training=True),
}


@pytest.mark.parametrize("side", ["the clone", "the original", "a clone of the clone"])
@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_seen_as_after_a_real_clone(name, side):
    def run(clone):
        tensorlab.manual_seed(0)
        x = tensorlab.arange(6.0).reshape(2, 3)
        view_of_x = x[1]
        y = clone(x)
        view_of_y = y[:, 1]
        z = clone(y)
        written = {"the clone": y, "the original": x, "a clone of the clone": z}[side]
        WRITES[name](tensorlab, written)
        return [one.tolist() for one in (x, view_of_x, y, view_of_y, z)]

    assert run(lambda x: x._lazy_clone()) == run(lambda x: x.clone())


def test_nothing_is_copied_before_the_first_write():
    x = tensorlab.zeros(1000)
    before = tensorlab.memory_stats()["allocated_bytes"]
    clones = [x._lazy_clone() for _ in range(10)]
    assert tensorlab.memory_stats()["allocated_bytes"] == before
    assert sum(one.sum().item() for one in clones) == 0.0
    clones[3].add_(1)
    assert tensorlab.memory_stats()["allocated_bytes"] - before < 8192
    assert x._is_lazy_clone()
    assert not clones[3]._is_lazy_clone()
    x.add_(2)
    assert not x._is_lazy_clone()
    assert [one[0].item() for one in clones] == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_the_last_user_takes_the_bytes_over():
    x = tensorlab.zeros(1000)
    address = x.data_ptr()
    y = x._lazy_clone()
    del x
    y.add_(1)
    assert y.data_ptr() == address
    assert not y._is_lazy_clone()


def test_memory_goes_with_the_last_tensor():
    gc.collect()  # what other tests left behind
    before = tensorlab.memory_stats()["allocated_bytes"]
    x = tensorlab.zeros(1000)
    y = x._lazy_clone()
    z = y._lazy_clone()
    watched = weakref.ref(y[1:])
    del x, y
    z.add_(1)
    del z
    gc.collect()
    assert watched() is None
    assert tensorlab.memory_stats()["allocated_bytes"] == before


def test_an_original_without_clones_is_plain_again():
    x = tensorlab.zeros(3)
    y = x._lazy_clone()
    assert x._is_lazy_clone()
    del y
    assert not x._is_lazy_clone()


def test_memory_that_others_can_write_is_copied_at_once():
    array = np.zeros(3)
    x = tensorlab.from_numpy(array)
    y = x._lazy_clone()
    lent = tensorlab.zeros(3)
    view = lent.numpy()
    z = lent._lazy_clone()
    array += 1
    view += 1
    assert y.tolist() == z.tolist() == [0.0, 0.0, 0.0]
    assert tensorlab.zeros(0)._lazy_clone().numel() == 0


def test_the_layout_stays_but_the_version_is_its_own():
    x = tensorlab.arange(12).reshape(3, 4)[1:, ::2]
    y = x._lazy_clone()
    assert (y.stride(), y.storage_offset(), y.shape) == (x.stride(), x.storage_offset(), x.shape)
    y.add_(1)
    assert (x._version, y._version) == (0, 1)
    assert x.tolist() == [[4, 6], [8, 10]]
    assert y.tolist() == [[5, 7], [9, 11]]


def test_gradients_flow_through_a_lazy_clone():
    x = tensorlab.ones(3, requires_grad=True)
    y = x._lazy_clone()
    assert y.grad_fn.name() == "LazyCloneBackward0"
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_change_of_a_clone_that_backward_needs_is_noticed():
    x = tensorlab.ones(3, requires_grad=True)
    y = x._lazy_clone()
    z = y * y
    with tensorlab.no_grad():
        x.add_(1)  # moves y's values, and changes none of them
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_who_shares_when_is_as_in_pytorch():
    torch = require_torch()

    def run(library, shares):
        x = library.zeros(3)
        y = x._lazy_clone()
        states = [shares(x), shares(y)]
        view = y[1:]
        states.append(shares(view))
        view.add_(1)
        states += [shares(view), shares(y), x.tolist(), y.tolist()]
        z = y._lazy_clone()
        z.data_ptr()
        return [*states, shares(z), z._version]

    assert run(tensorlab, tensorlab.Tensor._is_lazy_clone) == run(torch, torch._C._is_cow_tensor)
