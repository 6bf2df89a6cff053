"""Loaders that are stopped in the middle of a pass and resumed: what comes then is what would have come."""

import io
import itertools
import multiprocessing
import pickle
import random

import numpy as np
import pytest

import tensorlab
from tensorlab.utils import data
from tests.cases import by_day

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
)


class Noisy(data.Dataset):
    """Samples hold random numbers of all three kinds."""

    def __init__(self, size=13):
        self.size, self.read = size, []

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        self.read.append(i)
        return i, tensorlab.rand(2), random.random(), np.random.rand(1)  # noqa: NPY002


class NoisyStream(data.IterableDataset):
    def __init__(self, size=13):
        self.size = size

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, self.size, step):
            yield i, tensorlab.rand(2), random.random()


def loader_of(kind, **options):
    """Make a loader; equal calls make equal loaders."""
    dataset = NoisyStream() if kind == "stream" else Noisy()
    own = tensorlab.Generator().manual_seed(3)
    extra = {
        "plain": {},
        "stream": {},
        "shuffled": {"shuffle": True},
        "own generator": {"shuffle": True, "generator": own},
        "subset": {"sampler": data.SubsetRandomSampler(range(2, 13), generator=own)},
        "weighted": {"sampler": data.WeightedRandomSampler(range(1, 14), 13)},
        "replaced": {"sampler": data.RandomSampler(range(13), True, 40, generator=own)},
        "batches": {
            "batch_sampler": data.BatchSampler(
                data.RandomSampler(range(13), generator=own), 3, True
            )
        },
    }[kind]
    if kind != "batches":
        options.setdefault("batch_size", 3)
    return data.DataLoader(dataset, **extra, **options)


def plain(batch):
    """Return a batch with the program's own random number of that step."""
    return [part.tolist() if hasattr(part, "tolist") else part for part in batch]


def step(batch):
    return plain(batch), tensorlab.rand(1).item(), random.random(), np.random.rand()  # noqa: NPY002


def set_seeds(seed):
    tensorlab.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


def save_all(loader):
    """Write what a training program writes to a file; return its bytes."""
    file = io.BytesIO()
    tensorlab.save({"loader": loader.state_dict(), "random": tensorlab.get_rng_state()}, file)
    return file.getvalue(), random.getstate(), np.random.get_state()  # noqa: NPY002


def load_all(loader, saved):
    set_seeds(99)
    state = tensorlab.load(io.BytesIO(saved[0]))  # weights_only
    loader.load_state_dict(state["loader"])
    tensorlab.set_rng_state(state["random"])
    random.setstate(saved[1])
    np.random.set_state(saved[2])  # noqa: NPY002


def stopped_and_resumed(make, epochs, stop):
    """Return all steps of a run that is stopped before step `stop` and goes on in a new loader."""
    set_seeds(5)
    loader, seen, batches = make(), [], None
    for epoch in range(epochs):
        batches = iter(loader)
        while True:
            if len(seen) == stop:
                saved = save_all(loader)
                stop = None
                del batches
                loader = make()
                load_all(loader, saved)
                batches = iter(loader)
            try:
                batch = next(batches)
            except StopIteration:
                break
            seen.append((epoch, step(batch)))
    return seen


KINDS = [
    "plain",
    "shuffled",
    "own generator",
    "subset",
    "weighted",
    "replaced",
    "batches",
    "stream",
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_is_what_would_have_come(kind):
    whole = stopped_and_resumed(lambda: loader_of(kind), 2, None)
    assert len(whole) >= 8
    for stop in range(len(whole)):
        assert stopped_and_resumed(lambda: loader_of(kind), 2, stop) == whole, stop


@needs_fork
@pytest.mark.parametrize("case", by_day(itertools.product(KINDS, [1, 2]), every=3), ids=str)
def test_so_it_does_with_workers(case):
    kind, workers = case

    def make():
        return loader_of(kind, num_workers=workers, prefetch_factor=3 - workers)

    whole = stopped_and_resumed(make, 2, None)
    for stop in (1, 3, len(whole) - 2):
        assert stopped_and_resumed(make, 2, stop) == whole, stop


@pytest.mark.parametrize("options", [{"batch_size": None}, {"drop_last": True}])
@pytest.mark.parametrize("kind", ["plain", "stream"])
def test_samples_and_whole_batches(kind, options):
    whole = stopped_and_resumed(lambda: loader_of(kind, **options), 2, None)
    for stop in (1, 3, len(whole) - 1):
        assert stopped_and_resumed(lambda: loader_of(kind, **options), 2, stop) == whole


def test_without_workers_what_was_given_is_not_read_again():
    loader = loader_of("shuffled")
    batches = iter(loader)
    next(batches), next(batches)
    again = loader_of("shuffled")
    again.load_state_dict(loader.state_dict())
    assert len(list(again)) == 3
    assert len(again.dataset.read) == 13 - 6
    assert sorted(again.dataset.read + loader.dataset.read) == list(range(13))


def test_a_loop_that_was_left_can_be_resumed_and_a_new_pass_is_a_new_one():
    loader = loader_of("plain")
    for _batch in loader:
        break
    state = loader.state_dict()
    assert state["given"] == 1
    assert [b[0].tolist() for b in loader][0] == [0, 1, 2]  # noqa: RUF015
    assert loader.state_dict()["given"] is None
    loader.load_state_dict(state)
    assert [b[0].tolist() for b in loader][0] == [3, 4, 5]  # noqa: RUF015
    assert [b[0].tolist() for b in loader][0] == [0, 1, 2]  # noqa: RUF015


def test_a_state_that_is_loaded_can_be_saved_again_after_some_batches():
    whole = stopped_and_resumed(lambda: loader_of("shuffled"), 1, None)
    set_seeds(5)
    loader = loader_of("shuffled")
    seen = []
    for _ in range(len(whole)):
        seen.append((0, step(next(iter(loader)))))  # one batch, then a new loader
        saved = save_all(loader)
        loader = loader_of("shuffled")
        load_all(loader, saved)
    assert seen == whole
    with pytest.raises(StopIteration):
        next(iter(loader))


def test_between_passes_the_own_generator_is_kept():
    loader = loader_of("own generator")
    list(loader)
    state = loader.state_dict()
    assert state["given"] is None
    expected = [b[0].tolist() for b in loader]
    again = loader_of("own generator")
    again.load_state_dict(state)
    assert [b[0].tolist() for b in again] == expected


def test_a_batch_that_raised_counts_as_given():
    class Broken(Noisy):
        def __getitem__(self, i):
            if i == 1:
                raise ValueError("no picture")
            return i

    for workers in (0, 1) if "fork" in multiprocessing.get_all_start_methods() else (0,):
        loader = data.DataLoader(Broken(4), num_workers=workers)
        batches = iter(loader)
        next(batches)
        with pytest.raises(ValueError, match="no picture"):
            next(batches)
        again = data.DataLoader(Broken(4), num_workers=workers)
        again.load_state_dict(loader.state_dict())
        assert [b.item() for b in again] == [2, 3]


@needs_fork
def test_with_workers_that_stay_later_passes_keep_their_order():
    def make():
        return loader_of("shuffled", num_workers=2, persistent_workers=True)

    first = stopped_and_resumed(make, 1, None)
    assert stopped_and_resumed(make, 1, 2) == first

    def orders(steps):
        return [batch[0] for _, (batch, *_) in steps]

    with pytest.warns(UserWarning, match="run on from pass to pass"):
        resumed = stopped_and_resumed(make, 2, 7)
    whole = stopped_and_resumed(make, 2, None)
    assert orders(resumed) == orders(whole)
    assert resumed[:7] == whole[:7]


@needs_fork
def test_workers_that_stay_are_replaced_when_a_state_is_loaded():
    loader = loader_of("shuffled", num_workers=1, persistent_workers=True)
    set_seeds(5)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    rest = [plain(batch) for batch in batches]
    list(loader)
    loader.load_state_dict(state)
    assert [plain(batch) for batch in loader] == rest
    loader._iterator.close()


@needs_fork
def test_a_worker_that_ends_while_batches_are_left_out_is_reported():
    import os

    class Fatal(Noisy):
        def __getitem__(self, i):
            if i == 1:
                os._exit(3)
            return i

    loader = data.DataLoader(Noisy(), num_workers=1)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = loader.state_dict()
    loader = data.DataLoader(Fatal(), num_workers=1)
    loader.load_state_dict(state)
    with pytest.raises(RuntimeError, match="exited unexpectedly: worker 0 ended with exit code 3"):
        iter(loader)


@needs_fork
def test_without_order_there_is_no_place():
    loader = loader_of("plain", num_workers=2, in_order=False)
    loader.state_dict()  # between passes there is
    batches = iter(loader)
    next(batches)
    with pytest.raises(RuntimeError, match="in_order=False no one can say which batches"):
        loader.state_dict()
    batches.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: None, "None is no state of a loader"),
        (lambda s: {"given": 1}, "expected what state_dict"),
        (lambda s: {**s, "num_workers": 2}, "num_workers=2, and this one has 0"),
        (
            lambda s: {**s, "generators": s["generators"][:1]},
            "with 0 generator.* and this one has 1",
        ),
        (lambda s: {**s, "given": None}, "with 2 generator.* and this one has 1"),
    ],
)
def test_another_loaders_state_is_refused(change, message):
    loader = loader_of("own generator")
    next(iter(loader))
    state = loader.state_dict()
    with pytest.raises(ValueError, match=message):
        loader.load_state_dict(change(state))
    assert len(list(loader)) == 5  # nothing was changed


def test_a_data_set_that_became_smaller_is_noticed():
    for kind in (Noisy, NoisyStream):
        loader = data.DataLoader(kind(13), batch_size=3)
        batches = iter(loader)
        for _ in range(4):
            next(batches)
        small = data.DataLoader(kind(8), batch_size=3)
        small.load_state_dict(loader.state_dict())
        with pytest.raises(
            RuntimeError, match="4 batches were given before, and now there are only 3"
        ):
            iter(small)


def test_a_loader_in_a_pass_can_be_pickled():
    loader = loader_of("plain")
    next(iter(loader))
    assert pickle.loads(pickle.dumps(loader)).state_dict()["given"] is None
