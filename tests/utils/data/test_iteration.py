"""How often `iter` is called, what ends a pass, and what only looks like an end."""

import itertools
import pickle
import warnings

import pytest

import tensorlab
from tensorlab.utils import data
from tests.oracle import require_torch


class Restarting:
    """An iterator of the textbook: `__iter__` begins anew and returns the object itself."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        self.place = 0
        return self

    def __next__(self):
        if self.place == self.count:
            raise StopIteration
        self.place += 1
        return self.place - 1

    def __len__(self):
        return self.count


class RestartingStream(Restarting, data.IterableDataset):
    pass


class RestartingSampler(Restarting, data.Sampler):
    pass


def values(loader, most=20):
    """Return the batches of a pass as lists; a pass without an end is cut off."""
    return [batch.tolist() for batch in itertools.islice(iter(loader), most)]


def cut(count, size, drop_last):
    """Return 0 ... count - 1 in lists of a size."""
    parts = [list(range(count))[i : i + size] for i in range(0, count, size)]
    return [part for part in parts if len(part) == size or not drop_last]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_a_stream_that_is_its_own_iterator_is_gone_through_once(size, drop_last, workers):
    loader = data.DataLoader(RestartingStream(7), size, drop_last=drop_last, num_workers=workers)
    assert values(loader) == values(loader) == cut(7, size, drop_last)


@pytest.mark.parametrize("workers", [0, 1])
def test_so_are_single_samples_of_it(workers):
    loader = data.DataLoader(RestartingStream(7), batch_size=None, num_workers=workers)
    assert list(itertools.islice(loader, 20)) == list(range(7))


def test_streams_in_a_chain_are_gone_through_once():
    loader = data.DataLoader(RestartingStream(3) + RestartingStream(2), 2)
    assert values(loader) == [[0, 1], [2, 0], [1]]


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_a_sampler_that_is_its_own_iterator_is_gone_through_once(size, drop_last):
    batches = data.BatchSampler(RestartingSampler(7), size, drop_last)
    assert list(itertools.islice(batches, 20)) == cut(7, size, drop_last)
    loader = data.DataLoader(range(7), size, sampler=RestartingSampler(7), drop_last=drop_last)
    assert values(loader) == cut(7, size, drop_last)
    whole = data.DataLoader(range(7), batch_size=None, sampler=RestartingSampler(7))
    assert list(itertools.islice(whole, 20)) == list(range(7))


def test_a_batch_sampler_may_be_its_own_iterator():
    class Pairs(Restarting):
        def __next__(self):
            i = super().__next__()
            return [i, i]

    assert values(data.DataLoader(range(3), batch_sampler=Pairs(3))) == [[0, 0], [1, 1], [2, 2]]


def test_iter_is_called_once_a_pass():
    class Counting(RestartingStream):
        calls = 0

        def __iter__(self):
            self.calls += 1
            return super().__iter__()

    stream = Counting(5)
    loader = data.DataLoader(stream, 2)
    values(loader)
    values(loader)
    assert stream.calls == 2
    sampler = type("Sampler", (Counting,), {})(5)
    list(data.BatchSampler(sampler, 2, False))
    assert sampler.calls == 1


def test_a_stream_that_would_begin_again_after_its_end_has_ended():
    class Again(data.IterableDataset):
        def __iter__(self):
            return self

        def __next__(self):
            self.place = getattr(self, "place", 0) + 1
            if self.place % 4 == 0:
                raise StopIteration
            return self.place

    assert values(data.DataLoader(Again(), 2)) == [[1, 2], [3]]


def test_a_pass_of_such_a_stream_can_be_resumed():
    loader = data.DataLoader(RestartingStream(5), 2)
    batches = iter(loader)
    next(batches)
    again = data.DataLoader(RestartingStream(5), 2)
    again.load_state_dict(loader.state_dict())
    assert values(again) == [[2, 3], [4]]


# ---------------------------------------------------------------- what looks like an end
def stray(i):
    """Do what a helper does that forgets that its iterator may be empty."""
    if i == 2:
        next(iter(()))
    return i


class Stray(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return stray(i)


class StrayTogether(Stray):
    def __getitems__(self, indices):
        return [stray(i) for i in indices]


def stray_batch(samples):
    return [stray(i) for i in samples]


class StrayStart(data.IterableDataset):
    def __iter__(self):
        next(iter(()))


class StrayPickle:
    def __getstate__(self):
        return {"it": 1}

    def __setstate__(self, state):
        next(iter(()))


class PicklesBadly(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return StrayPickle() if i == 2 else i


PIPELINES = {
    "sample": ((Stray(),), {"batch_size": 1}),
    "sample of a batch": ((Stray(),), {"batch_size": 2}),
    "samples at once": ((StrayTogether(),), {"batch_size": 2}),
    "sample alone": ((Stray(),), {"batch_size": None}),
    "collate": ((range(4),), {"batch_size": 2, "collate_fn": stray_batch}),
    "collate of one": ((range(4),), {"batch_size": None, "collate_fn": stray}),
    "collate of a stream": ((RestartingStream(4),), {"batch_size": 2, "collate_fn": stray_batch}),
    "start of a stream": ((StrayStart(),), {"batch_size": 2}),
}


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_stray_stop_does_not_end_the_pass(name, workers):
    arguments, options = PIPELINES[name]
    loader = data.DataLoader(*arguments, **options, num_workers=workers)
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        for _ in loader:
            pass
    if workers:
        assert "Caught StopIteration in DataLoader worker process" in str(caught.value)
        assert "next(iter(()))" in str(caught.value)
    else:
        assert isinstance(caught.value.__cause__, StopIteration)


def test_the_pass_goes_on_after_it():
    batches = iter(data.DataLoader(Stray(), 1))
    found = [next(batches).item(), next(batches).item()]
    with pytest.raises(RuntimeError):
        next(batches)
    assert [*found, next(batches).item()] == [0, 1, 3]
    with pytest.raises(StopIteration):
        next(batches)


def test_a_worker_whose_start_is_stopped_is_reported():
    loader = data.DataLoader(range(4), num_workers=1, worker_init_fn=lambda _: next(iter(())))
    with pytest.raises(RuntimeError, match="Caught StopIteration in DataLoader worker"):
        list(loader)


def test_a_batch_that_stops_when_it_arrives_is_reported():
    loader = data.DataLoader(PicklesBadly(), batch_size=None, num_workers=1)
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(loader)


@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": None}])
def test_a_sampler_that_stops_where_it_begins_is_reported(options):
    class Sampler(data.Sampler):
        def __iter__(self):
            return iter([next(iter(()))])

    def passes():
        yield from data.DataLoader(range(4), sampler=Sampler(), **options)

    with pytest.raises(RuntimeError, match="StopIteration"):
        next(iter(data.DataLoader(range(4), sampler=Sampler(), **options)))
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(passes())


# ---------------------------------------------------------------- the length of a stream
def warnings_of(package, data, count, reported, batch_size, asked, workers=0):
    """Return the batches that come with a warning."""

    class Numbers(data.IterableDataset):
        def __iter__(self):
            return iter(range(count))

        def __len__(self):
            return reported

    loader = data.DataLoader(Numbers(), batch_size=batch_size, num_workers=workers)
    if asked:
        len(loader)
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, _ in enumerate(loader):
            if caught:
                assert caught[0].category is UserWarning
                assert caught[0].filename == __file__ or package is not tensorlab
                found.append((number, "reported to be 3" in str(caught[0].message)))
                caught.clear()
    return found


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("batch_size", [None, 1, 2])
@pytest.mark.parametrize("count", [2, 3, 4, 9])
def test_a_stream_longer_than_it_says_is_named_where_pytorch_names_it(count, batch_size, asked):
    torch = require_torch()
    ours = warnings_of(tensorlab, data, count, 3, batch_size, asked)
    assert ours == warnings_of(torch, torch.utils.data, count, 3, batch_size, asked)
    if asked and batch_size == 1:
        assert [number for number, _ in ours] == list(range(3, count))


def test_workers_that_all_give_the_whole_stream_are_told_how_to_share_it():
    loader = data.DataLoader(RestartingStream(3), batch_size=None, num_workers=2)
    assert len(loader) == 3
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(list(loader)) == 6
    found = [str(warning.message) for warning in caught]
    assert len(found) == 3
    assert "reported to be 3 (when accessing len(loader)), but 4 samples" in found[0]
    assert "get_worker_info()" in found[0]


# ---------------------------------------------------------------- names that libraries read
@pytest.mark.parametrize(
    ("is_stream", "options"),
    [
        (False, {}),
        (False, {"batch_size": None}),
        (False, {"batch_sampler": [[0], [1]]}),
        (False, {"sampler": [1], "batch_size": 2}),
        (True, {}),
        (True, {"batch_size": None}),
    ],
    ids=str,
)
def test_private_names_of_pytorchs_loader_say_the_same(is_stream, options):
    torch = require_torch()
    found = []
    for its_data in (data, torch.utils.data):

        class Numbers(its_data.IterableDataset):
            def __iter__(self):
                return iter(range(4))

            def __len__(self):
                return 4

        loader = its_data.DataLoader(Numbers() if is_stream else range(4), **options)
        before = loader._IterableDataset_len_called, loader._iterator
        len(loader)
        names = ["_auto_collation", "_dataset_kind", "_IterableDataset_len_called"]
        names += ["multiprocessing_context"]
        shown = [getattr(loader, name) for name in names]
        index = loader._index_sampler
        is_own = index is loader.batch_sampler, index is loader.sampler
        found.append(
            (before, shown, type(index).__name__, is_own, len(list(loader._get_iterator())))
        )
    assert found[0] == found[1]


def test_the_pass_of_workers_that_stay_is_the_loaders_iterator():
    loader = data.DataLoader(range(4), num_workers=1, persistent_workers=True)
    assert loader._iterator is None
    assert iter(loader) is loader._iterator
    loader._iterator.close()


def test_the_context_of_workers_is_checked_whenever_it_is_set():
    loader = data.DataLoader(range(4), num_workers=1)
    loader.multiprocessing_context = "spawn"
    assert loader.multiprocessing_context.get_start_method() == "spawn"
    with pytest.raises(ValueError, match="'threads'"):
        loader.multiprocessing_context = "threads"
    with pytest.raises(TypeError, match="3"):
        loader.multiprocessing_context = 3
    assert loader.multiprocessing_context.get_start_method() == "spawn"
    with pytest.raises(ValueError, match="num_workers is 0"):
        data.DataLoader(range(4)).multiprocessing_context = "fork"
    loader.multiprocessing_context = None
    assert pickle.loads(pickle.dumps(loader)).multiprocessing_context is None


def test_more_workers_than_processors_can_be_asked_for(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    data.DataLoader(range(4), num_workers=2).check_worker_number_rationality()
    with pytest.warns(UserWarning, match=r"num_workers=3 .* suggested max number .* 2"):
        data.DataLoader(range(4), num_workers=3).check_worker_number_rationality()
