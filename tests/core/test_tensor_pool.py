"""Tensors that are kept when they go and used again: nothing of the last life shows in the next."""

import gc
import sys
import threading
import weakref

import pytest
from tensorlab._core.tensor import TensorBase

import tensorlab as T


def view_of_leaf():
    return T.ones(4, requires_grad=True)[1:]


def written():
    return T.ones(3).add_(1).mul_(2)


def with_gradient():
    x = T.ones(2, 3, requires_grad=True)
    (x * x).sum().backward()
    return x


def retaining():
    x = T.ones(3, requires_grad=True) * 2
    x.retain_grad()
    x.sum().backward()
    return x


def hooked():
    x = T.ones(3, requires_grad=True) * 2
    x.register_hook(lambda grad: grad)
    return x


def named():
    x = T.ones(3)
    x.name_of_mine = [x]  # a cycle: the collector frees it
    return x


def of_inference_mode():
    with T.inference_mode():
        return T.ones(3)


def with_other_data():
    x = T.ones(3)
    x.data = T.zeros(2, 2)
    return x


def view_under_no_grad():
    x = T.ones(4, requires_grad=True)
    with T.no_grad():
        return x.view(2, 2)


def view_of_inference_mode():
    with T.inference_mode():
        return T.ones(4).view(2, 2)


def part_of_split():
    return (T.ones(4, requires_grad=True) * 1).split(2)[1]


LIVES = [
    lambda: T.ones(2, 3).t(),
    lambda: T.tensor(7, dtype=T.int16),
    lambda: T.ones(3, dtype=T.complex64).conj(),
    lambda: T.empty(3, device="meta"),
    lambda: T.ones(3)._lazy_clone(),
    *(view_of_leaf, written, with_gradient, retaining, hooked, named, of_inference_mode),
    *(with_other_data, part_of_split, view_under_no_grad, view_of_inference_mode),
]


def looks(x):
    return {
        "shape": x.shape,
        "stride": x.stride(),
        "dtype": x.dtype,
        "device": x.device,
        "requires_grad": x.requires_grad,
        "grad": x.grad,
        "grad_fn": x.grad_fn,
        "base": x._base,
        "version": x._version,
        "output_nr": x.output_nr,
        "retains_grad": x.retains_grad,
        "is_inference": x.is_inference(),
        "is_conj": x.is_conj(),
        "attributes": x.__dict__,
    }


@pytest.mark.parametrize("live", LIVES)
def test_nothing_of_the_last_life_shows(live):
    gc.collect()
    expected = looks(T.zeros(2, 2).detach())
    many = [live() for _ in range(3)]
    del many
    gc.collect()
    made = [T.zeros(2, 2).detach() for _ in range(6)]
    assert [looks(x) for x in made] == [expected] * 6
    assert all(x.equal(T.zeros(2, 2)) for x in made)
    leaves = [T.ones(4, requires_grad=True) for _ in range(6)]
    views = [(leaf * 1)[1:] for leaf in leaves]
    for leaf, view in zip(leaves, views, strict=True):
        view.mul_(3)
        view.sum().backward()
        assert leaf.grad.tolist() == [0, 3, 3, 3]


def test_an_object_is_used_again():
    x = T.ones(3)
    first = id(x)
    del x
    kept = [T.ones(2) + 1, T.ones(5)]  # one takes it, and then it's in use
    assert [id(x) for x in kept].count(first) == 1


def test_a_tensor_that_is_used_again_counts_its_writes_anew():
    x = T.ones(3).add_(1)
    first = id(x)
    del x
    y = T.ones(3)
    assert id(y) == first
    assert y._version == 0
    view = y[1:]
    del y
    z = T.ones(3)
    z.add_(1)
    assert (view._version, z._version) == (0, 1)


def test_weak_references_end_with_a_tensor():
    ended = []
    x = T.ones(3)
    known = weakref.ref(x, ended.append)
    first = id(x)
    del x
    assert known() is None
    assert ended == [known]
    y = T.ones(3)
    assert id(y) == first
    assert known() is None


def test_more_tensors_than_are_kept_are_counted():
    gc.collect()
    before, bytes_before = T.live_tensors(), T.memory_stats()["allocated_bytes"]
    many = [T.ones(16) for _ in range(1000)]
    assert T.live_tensors() - before == 1000
    del many
    assert T.live_tensors() == before
    assert T.memory_stats()["allocated_bytes"] == bytes_before


def test_tensors_in_cycles_are_collected():
    gc.collect()
    before = T.live_tensors()
    for _ in range(10):
        x = T.ones(3, requires_grad=True)
        x.grad = T.ones(3)
        x.grad.back = x
    del x
    gc.collect()
    assert T.live_tensors() == before


class Label:
    pass


def test_classes_that_inherit_free_what_they_have_added():
    class Labelled(T.Tensor):
        __slots__ = ("label",)

        def __del__(self):
            ended.append(self.label)

    gc.collect()
    ended = []
    label = Label()
    known = weakref.ref(label)
    before = T.live_tensors()
    x = T.ones(3).as_subclass(Labelled)
    x.label = label
    del x, label
    assert len(ended) == 1
    assert T.live_tensors() == before
    ended.clear()
    assert known() is None


def test_a_tensor_may_become_of_another_class_and_back():
    class Labelled(T.Tensor):
        pass

    x = T.ones(3)
    x.__class__ = Labelled
    x.label = "a"
    assert isinstance(x + 1, Labelled)
    x.__class__ = T.Tensor
    assert type(x + 1) is T.Tensor
    assert x.label == "a"


def test_a_destructor_that_is_given_to_the_class_runs():
    ended, kept = [], []

    def revive(x):
        ended.append(x.shape[0])
        if x.shape[0] == 5:
            kept.append(x)

    T.Tensor.__del__ = revive
    try:
        for size in (3, 5, 3):
            T.ones(size)
        kept[0].add_(1)
    finally:
        del T.Tensor.__del__
    assert [n for n in ended if n in (3, 5)] == [3, 5, 3]
    assert kept.pop().tolist() == [2.0] * 5
    assert T.ones(5).tolist() == [1.0] * 5


def test_a_tensor_that_was_revived_may_end_again():
    kept = []
    T.Tensor.__del__ = lambda x: kept.append(x)
    try:
        T.ones(5)
    finally:
        del T.Tensor.__del__
    kept.clear()  # its object has the mark that a __del__ has run

    class Ending(T.Tensor):
        def __del__(self):
            ended.append(1)

    ended = []
    many = [T.ones(5) for _ in range(300)]
    for x in many:
        x.__class__ = Ending
    del many, x
    assert len(ended) == 300


def test_a_destructor_may_change_the_class():
    class Other(T.Tensor):
        pass

    def change(x):
        x.__class__ = Other

    gc.collect()
    before = sys.getrefcount(T.Tensor), sys.getrefcount(Other)
    T.Tensor.__del__ = change
    try:
        for _ in range(300):
            T.ones(1)
    finally:
        del T.Tensor.__del__
    gc.collect()
    now = sys.getrefcount(T.Tensor), sys.getrefcount(Other)
    assert abs(now[0] - before[0]) < 280  # tensors that are kept have a reference each
    assert now[1] == before[1]


@pytest.mark.parametrize("name", ["prev", "grad"])
@pytest.mark.parametrize("wrap", [lambda x: x, T.nn.Parameter], ids=["Tensor", "Parameter"])
def test_a_long_chain_of_tensors_is_freed(name, wrap):
    gc.collect()
    before = T.live_tensors()
    x = wrap(T.ones(1))
    for _ in range(200_000):
        y = wrap(T.ones(1))
        setattr(y, name, x)
        x = y
    del x, y
    assert T.live_tensors() == before


@pytest.mark.parametrize("wrap", [lambda x: x, T.nn.Parameter], ids=["Tensor", "Parameter"])
def test_attributes_are_as_of_any_object(wrap):
    x = wrap(T.ones(2))
    x.label = "a"
    attributes, state = x.__dict__, x.__reduce_ex__(4)
    del x
    assert attributes == {"label": "a"}
    assert "'label': 'a'" in repr(state)
    x = wrap(T.ones(2))
    x.__dict__ = {"other": 1}
    assert x.other == 1
    del x.__dict__
    assert x.__dict__ == {}


def test_what_the_collector_is_clearing_can_be_looked_at():
    seen = []

    def look(_):
        seen.extend([thing.shape for thing in gc.get_objects() if id(thing) in ids])

    x, y = T.ones(3), T.ones(4)
    x.other, y.other = y, x
    x.marker = Label()
    ids = {id(x), id(y)}
    known = weakref.ref(x.marker, look)
    del x, y
    gc.collect()
    assert known() is None
    assert all(isinstance(shape, T.Size) for shape in seen)


def test_instances_of_the_base_are_counted():
    gc.collect()
    before = T.live_tensors()
    for _ in range(5):
        TensorBase()
    assert T.live_tensors() == before


def test_threads_share_what_is_kept():
    wrong = []

    def work(number):
        for _ in range(300):
            x = T.full((3,), number)
            y = x + x
            del x
            if y.tolist() != [2 * number] * 3:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
