"""Data sets made of others, further samplers, and loaders whose samples raise: as in PyTorch."""

import itertools

import pytest

import tensorlab
from tensorlab.utils import data
from tests.oracle import require_torch


def both(function):
    """Return what a function gives with our utils.data and with PyTorch's, each after the same seed."""
    torch = require_torch()
    from torch.utils import data as theirs

    found = []
    for package, its_data in ((tensorlab, data), (torch, theirs)):
        package.manual_seed(4)
        found.append(function(its_data, package))
    return found


class Squares:
    """Samples that are fetched one by one, or many at once."""

    def __init__(self, count, at_once=False):
        self.count = count
        if at_once:
            self.__getitems__ = lambda indices: [i * i for i in indices]

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if not 0 <= i < self.count:
            raise IndexError(i)
        return i * i


def squares(its_data, count, at_once=False):
    return type("Set", (Squares, its_data.Dataset), {})(count, at_once)


def stream(its_data, values):
    class Stream(its_data.IterableDataset):
        def __iter__(self):
            return iter(values)

        def __len__(self):
            return len(values)

    return Stream()


def test_data_sets_follow_each_other():
    def outcome(its_data, package):
        three = its_data.ConcatDataset([squares(its_data, 3), squares(its_data, 0), range(5)])
        added = squares(its_data, 2) + three
        values = [added[i] for i in range(len(added))]
        return (
            len(three),
            three.cumulative_sizes,
            values,
            added[-1],
            added[-10],
            type(added).__name__,
        )

    ours, theirs = both(outcome)
    assert ours == theirs
    joined = data.ConcatDataset([range(3), range(2)])
    with pytest.raises(ValueError, match="index -6 is out of range for 5 samples"):
        joined[-6]
    with pytest.raises(AssertionError, match="datasets is empty"):
        data.ConcatDataset([])
    with pytest.raises(AssertionError, match="data set 1 is an IterableDataset"):
        data.ConcatDataset([range(3), stream(data, [1])])


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_data_sets_stand_side_by_side(named, at_once):
    def outcome(its_data, package):
        parts = {"a": squares(its_data, 6, at_once), "b": range(10, 16)}
        made = its_data.StackDataset(**parts) if named else its_data.StackDataset(*parts.values())
        loader = its_data.DataLoader(made, batch_size=4, shuffle=True)
        batches = [
            {key: value.tolist() for key, value in batch.items()}
            if named
            else [part.tolist() for part in batch]
            for batch in loader
        ]
        return len(made), made[2], made.__getitems__([1, 5]), batches

    ours, theirs = both(outcome)
    assert ours == theirs


def test_data_sets_that_do_not_stand_side_by_side():
    for given in (lambda: data.StackDataset(), lambda: data.StackDataset([1], a=[2])):
        with pytest.raises(ValueError, match="give one kind"):
            given()
    with pytest.raises(
        ValueError, match=r"Size mismatch between datasets: their lengths are \[1, 2\]"
    ):
        data.StackDataset([1], [2, 3])
    short = squares(data, 3)
    short.__getitems__ = lambda indices: [0]
    with pytest.raises(ValueError, match="gave 1 samples for 2 indices"):
        data.StackDataset(short, range(3)).__getitems__([0, 1])


def test_streams_follow_each_other():
    def outcome(its_data, package):
        made = stream(its_data, [1, 2, 3]) + stream(its_data, [4])
        batches = [batch.tolist() for batch in its_data.DataLoader(made, batch_size=3)]
        return list(made), len(made), type(made).__name__, batches

    ours, theirs = both(outcome)
    assert ours == theirs
    for wrong in (list, len):
        with pytest.raises(AssertionError, match="a range is not an IterableDataset"):
            wrong(data.ChainDataset([range(3)]))


@pytest.mark.parametrize("with_generator", [False, True])
@pytest.mark.parametrize("options", [(8, True), (3, False)])
def test_weighted_samples_are_those_of_pytorch(options, with_generator):
    def outcome(its_data, package):
        generator = package.Generator().manual_seed(9) if with_generator else None
        sampler = its_data.WeightedRandomSampler([0.1, 3, 0, 2.5, 1], *options, generator)
        return len(sampler), list(sampler), list(sampler)

    ours, theirs = both(outcome)
    assert ours == theirs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], 0), "num_samples is 0"),
        (([1.0], True), "num_samples is True"),
        (([1.0], 2.5), "num_samples is 2.5"),
        (([1.0], 1, 1), "replacement is 1"),
        (([[1.0]], 1), r"weights has shape \(1, 1\); expected one row"),
        (([1.0, 0.0], 2, False), "num_samples is 2, but only 1 of the 2 weights are above 0"),
        (([1.0, 2.0], 3, False), "num_samples is 3, but only 2 of the 2 weights are above 0"),
        (([0.0, 0.0], 1, False), "num_samples is 1, but only 0 of the 2 weights are above 0"),
        (([], 1, False), "num_samples is 1, but only 0 of the 0 weights are above 0"),
    ],
)
def test_what_weights_must_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        data.WeightedRandomSampler(*arguments)


def test_all_that_has_a_weight_can_be_drawn_without_replacement():
    sampler = data.WeightedRandomSampler([0.0, 2.0, 0.0, 1.0], 2, replacement=False)
    assert all(sorted(sampler) == [1, 3] for _ in range(20))


def test_a_long_random_order_is_drawn_as_it_goes():
    sampler = data.RandomSampler(range(7), replacement=True, num_samples=10**10)
    ours, theirs = both(
        lambda its_data, package: list(
            itertools.islice(
                its_data.RandomSampler(range(7), replacement=True, num_samples=10**10), 70
            )
        )
    )
    assert ours == theirs
    assert len(sampler) == 10**10


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 30])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_each_process_gets_its_part(count, shuffle, drop_last):
    def outcome(its_data, package):
        found = []
        for rank in range(4):
            sampler = its_data.DistributedSampler(range(count), 4, rank, shuffle, 3, drop_last)
            sampler.set_epoch(2)
            found.append((len(sampler), list(sampler), sampler.total_size))
            found.append((sampler.epoch, sampler.drop_last, sampler.seed))
            fresh = its_data.DistributedSampler(range(count), 4, rank, shuffle, 3, drop_last)
            found.append((fresh.epoch, list(fresh)))
        return found

    if drop_last and count < 4:
        parts = [
            list(data.DistributedSampler(range(count), 4, rank, shuffle, 3, True))
            for rank in range(4)
        ]
        assert parts == [[], [], [], []]
        return
    ours, theirs = both(outcome)
    assert ours == theirs


def test_a_process_must_know_which_it_is():
    for given in ({"num_replicas": 2}, {"rank": 0}, {}):
        with pytest.raises(RuntimeError, match="give both"):
            data.DistributedSampler(range(3), **given)
    for rank in (-1, 2):
        with pytest.raises(ValueError, match=rf"Invalid rank {rank}, .*interval \[0, 1\]"):
            data.DistributedSampler(range(3), 2, rank)
    assert data.distributed.DistributedSampler is data.DistributedSampler


# ------------------------------------------------------------ the loader
class Faulty(Squares):
    def __getitem__(self, i):
        if i == 3:
            raise OSError("sample 3 cannot be read")
        return i


@pytest.mark.parametrize("batch_size", [None, 2])
def test_a_loader_goes_on_after_a_sample_that_raised(batch_size):
    def outcome(its_data, package):
        batches, found = iter(its_data.DataLoader(Faulty(6), batch_size=batch_size)), []
        for _ in range(20):
            try:
                found.append(package.as_tensor(next(batches)).tolist())
            except OSError as error:
                found.append(str(error))
            except StopIteration:
                return found
        return found

    ours, theirs = both(outcome)
    assert ours == theirs
    assert "sample 3 cannot be read" in ours
    assert ours[-1] in (5, [4, 5])


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_what_a_loader_is_made_of_stays(name):
    for loader in (data.DataLoader(range(3)), require_torch().utils.data.DataLoader(range(3))):
        with pytest.raises(
            ValueError, match=f"{name} attribute should not be set after DataLoader is"
        ):
            setattr(loader, name, None)
        loader.collate_fn = lambda samples: samples
        assert list(loader) == [[0], [1], [2]]


def test_a_pass_knows_how_long_it_is():
    ours, theirs = both(
        lambda its_data, package: len(iter(its_data.DataLoader(range(7), batch_size=3)))
    )
    assert ours == theirs == 3
    assert data.get_worker_info() is None


# ------------------------------------------------------------ types of a program
class Point:
    def __init__(self, x):
        self.x = x


class NamedPoint(Point):
    pass


def test_a_program_adds_types_to_collate():
    def outcome(its_data, package):
        table = its_data._utils.collate.default_collate_fn_map
        collate = its_data._utils.collate.collate
        table[Point] = lambda batch, *, collate_fn_map: [one.x for one in batch]
        try:
            samples = [{"p": (Point(i), i), "q": NamedPoint(-i)} for i in range(3)]
            (batch,) = its_data.DataLoader(samples, batch_size=3)
            table[NamedPoint] = lambda batch, *, collate_fn_map: len(batch)
            (named,) = its_data.DataLoader(samples, batch_size=3)
        finally:
            table.pop(Point, None), table.pop(NamedPoint, None)
        own = collate([1, 2], collate_fn_map={int: lambda batch, *, collate_fn_map: sum(batch)})
        pair = collate(
            [[1], [2]], collate_fn_map={(int, str): lambda batch, *, collate_fn_map: batch}
        )
        numbers = batch["p"][1].tolist()
        return batch["p"][0], numbers, batch["q"], named["q"], own, pair

    ours, theirs = both(outcome)
    assert ours == theirs
    with pytest.raises(TypeError, match="found <class 'int'>"):
        data._utils.collate.collate([1, 2])
    with pytest.raises(TypeError, match="found .*Point"):
        data.default_collate([Point(1)])
