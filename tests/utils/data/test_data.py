"""Data sets, samplers, collation and the loader: the order and the batches are PyTorch's."""

from collections import OrderedDict, UserDict, UserList, namedtuple
from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
import pytest

import tensorlab
from tensorlab.utils import data
from tests.oracle import require_torch

Point = namedtuple("Point", ["x", "y"])


def both(run):
    """Run the same program on both packages after the same seed; return both results."""
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        package.manual_seed(7)
        results.append(plain(run(package, package.utils.data)))
    return results


def plain(value):
    """Replace tensors by dtype and values, so that results of both packages can be compared."""
    if hasattr(value, "tolist") and hasattr(value, "requires_grad"):
        return str(value.dtype).split(".")[1], value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


class Stream(data.IterableDataset):
    """An iterable data set for tensorlab; PyTorch gets its own in the test."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


# ---------------------------------------------------------------- order
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_samples": 25},
        {"num_samples": 4},
        {"replacement": True},
        {"replacement": True, "num_samples": 70},
    ],
    ids=str,
)
def test_random_samplers_give_pytorchs_order(options):
    def run(package, data):
        sampler = data.RandomSampler(range(10), **options)
        own = package.Generator().manual_seed(3)
        seeded = data.RandomSampler(range(10), generator=own, **options)
        subset = data.SubsetRandomSampler([5, 6, 9, 1])
        mine = data.SubsetRandomSampler([5, 6, 9, 1], own)
        each = [sampler, sampler, seeded, seeded, subset, mine, mine]
        return [list(one) for one in each], len(sampler), len(mine), package.rand(1)

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 3, "drop_last": True, "pin_memory": True, "worker_init_fn": print},
        {"batch_size": None, "collate_fn": list, "shuffle": True, "num_workers": 0, "timeout": 0},
        {"batch_sampler": [[0, 1], [2]]},
        {"sampler": [2, 0], "batch_size": 2},
    ],
    ids=str,
)
def test_a_loader_shows_its_settings_as_in_pytorch(options):
    names = [
        "dataset",
        "batch_size",
        "num_workers",
        "collate_fn",
        "pin_memory",
        "drop_last",
        "timeout",
    ]
    names += ["worker_init_fn", "generator", "sampler", "batch_sampler"]

    def run(package, data):
        generator = package.Generator()
        loader = data.DataLoader(range(5), **options, generator=generator)
        shown = {name: getattr(loader, name) for name in names}
        assert shown.pop("generator") is generator
        return {
            name: getattr(value, "__name__", type(value).__name__)
            if callable(value) or isinstance(value, data.Sampler)
            else value
            for name, value in shown.items()
        }

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("own_generator", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3, 10, 64])
def test_the_loader_gives_pytorchs_batches_pass_after_pass(
    shuffle, drop_last, own_generator, batch_size
):
    def run(package, data):
        x = package.arange(20, dtype=package.float32).reshape(10, 2)
        loader = data.DataLoader(
            data.TensorDataset(x, package.arange(10)),
            batch_size=batch_size,
            shuffle=shuffle,
            drop_last=drop_last,
            generator=package.Generator().manual_seed(5) if own_generator else None,
        )
        return [list(loader) for _ in range(3)], len(loader), package.rand(1)

    ours, theirs = both(run)
    assert ours == theirs


def test_the_loader_takes_samplers_and_unbatched_samples():
    def run(package, data):
        batches = data.BatchSampler(data.SequentialSampler(range(5)), 2, drop_last=True)
        loaders = [
            data.DataLoader(range(10, 20), sampler=[4, 2, 0], batch_size=2),
            data.DataLoader(range(10, 20), batch_sampler=batches),
            data.DataLoader(range(10, 20), batch_sampler=[[1], [2, 3]]),
            data.DataLoader([np.float32(2.0), "a", (np.ones(1), 2)], batch_size=None),
            data.DataLoader(range(4), batch_size=3, collate_fn=sum),
        ]
        return [(list(loader), len(loader)) for loader in loaders]

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize(
    "options", [{}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}]
)
def test_streams_are_batched_as_in_pytorch(options):
    def run(package, data):
        class Numbers(data.IterableDataset):
            def __iter__(self):
                return iter(range(7))

            def __len__(self):
                return 7

        loader = data.DataLoader(Numbers(), **options)
        return list(loader), len(loader), package.rand(1)

    ours, theirs = both(run)
    assert ours == theirs


@pytest.mark.parametrize("batch_size", [3, None])
def test_the_sampler_of_a_stream_has_no_indices(batch_size):
    def run(package, data):
        class Numbers(data.IterableDataset):
            def __iter__(self):
                return iter(range(7))

        loader = data.DataLoader(Numbers(), batch_size=batch_size, shuffle=False)
        indices = iter(loader._index_sampler)
        kinds = [type(one).__name__ for one in (loader.sampler, loader.batch_sampler)]
        return kinds, next(indices), next(indices)

    ours, theirs = both(run)
    assert ours == theirs
    assert ours[1] == ([None] * 3 if batch_size else None)


@pytest.mark.parametrize("lengths", [[7, 3], [10], [0.5, 0.5], [0.3, 0.3, 0.4], [0.25, 0.75]])
def test_random_splits_are_pytorchs(lengths):
    def run(package, data):
        parts = data.random_split(range(10), lengths)
        own = package.Generator().manual_seed(1)
        return [list(part.indices) for part in parts + data.random_split(range(10), lengths, own)]

    ours, theirs = both(run)
    assert ours == theirs


# ---------------------------------------------------------------- collation
@pytest.mark.parametrize(
    "batch",
    [
        [1, 2, 3],
        [1.5, 2.5],
        [True, False],
        ["a", "b"],
        [b"a", b"b"],
        [np.float32(1), np.float32(2)],
        [np.int16(1), np.int16(2)],
        [np.bool_(True), np.bool_(False)],
        [np.ones(2, np.float32), np.zeros(2, np.float32)],
        [np.array(1), np.array(2)],
        [(1, "a"), (2, "b")],
        [[1, 2.0], [3, 4.0]],
        [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}],
        [OrderedDict(a=1), OrderedDict(a=2)],
        [Point(1, 2.0), Point(3, 4.0)],
        [range(2), range(2)],
        [([1], (2,)), ([3], (4,))],
    ],
    ids=str,
)
def test_samples_are_collated_as_in_pytorch(batch):
    ours, theirs = both(lambda package, data: data.default_collate(batch))
    assert ours == theirs
    assert type(ours) is type(theirs)


def test_tensors_are_stacked_and_mappings_keep_their_class():
    x = tensorlab.ones(2, 3)
    assert data.default_collate([x, x]).shape == (2, 2, 3)
    assert type(data.default_collate([UserDict(a=1), UserDict(a=2)])) is UserDict
    frozen = data.default_collate([MappingProxyType({"a": 1})] * 2)
    assert type(frozen) is MappingProxyType
    assert frozen["a"].tolist() == [1, 1]


class Labelled(UserList):
    """A sequence that can be changed, with an attribute of its own."""

    label = None


class Frozen(Sequence):
    """A sequence that is made from its parts."""

    def __init__(self, parts):
        self.parts = list(parts)

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, i):
        return self.parts[i]


class Demanding(Frozen):
    def __init__(self, parts, more):
        super().__init__(parts)


@pytest.mark.parametrize("name", ["default_collate", "default_convert"])
def test_sequences_keep_their_class_if_they_can_be_made_again(name):
    def call(package, data):
        labelled = Labelled([1.0, 2.0])
        labelled.label = "kept"
        found = []
        for one in (
            labelled,
            Frozen([1.0, 2.0]),
            Demanding([1.0, 2.0], 3),
            range(2),
            (1.0, 2.0),
            [1.0, 2.0],
        ):
            given = [one, one] if name == "default_collate" else one
            made = getattr(data, name)(given)
            values = [x.tolist() if hasattr(x, "tolist") else x for x in made]
            found.append((type(made), getattr(made, "label", None), values, made is one))
        return found, list(labelled)

    ours, theirs = both(call)
    assert ours == theirs


def test_single_samples_are_converted_as_in_pytorch():
    samples = [np.ones(2), np.float64(1), {"a": np.ones(1)}, [np.ones(1)], (np.ones(1),), "a", 1]
    ours, theirs = both(lambda package, data: [data.default_convert(x) for x in samples])
    assert ours == theirs


def test_samples_that_do_not_fit_together_are_refused():
    with pytest.raises(RuntimeError, match=r"of equal size; lengths are \[1, 2\]"):
        data.default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="found <class 'object'>"):
        data.default_collate([object()])
    with pytest.raises(TypeError, match=r"found <class 'numpy\.ndarray'>"):
        data.default_collate([np.array(["a"])])
    with pytest.raises(RuntimeError):
        data.default_collate([tensorlab.ones(2), tensorlab.ones(3)])


# ---------------------------------------------------------------- data sets
def test_a_tensor_dataset_pairs_entries():
    dataset = data.TensorDataset(tensorlab.arange(3), tensorlab.zeros(3, 2))
    index, row = dataset[1]
    assert (index.item(), row.tolist(), len(dataset)) == (1, [0.0, 0.0], 3)
    with pytest.raises(ValueError, match=r"the tensors have \[3, 2\] samples"):
        data.TensorDataset(tensorlab.ones(3), tensorlab.ones(2))


def loaded(dataset, indices, **options):
    """The batch of these indices: dtype, strides and values of each part; or what was raised."""
    try:
        (batch,) = data.DataLoader(dataset, batch_sampler=[indices], **options)
    except Exception as error:
        return type(error), str(error)
    return type(batch), [(x.dtype, x.stride(), x.requires_grad, x.tolist()) for x in batch]


def test_rows_taken_at_once_are_the_stacked_samples():
    rng = np.random.default_rng(0)
    table = tensorlab.tensor(rng.standard_normal((30, 2, 3, 4)).astype("float32"))
    tensors = [table, table > 0, table.long()[:, 0, 0, 0], table.transpose(1, 3), table[:, :0]]
    tensors += [table.double().requires_grad_(), table.to(memory_format=tensorlab.channels_last)]
    for count in range(40):
        chosen = rng.choice(len(tensors), 2)
        pairs = data.TensorDataset(*[tensors[i] for i in chosen])
        dataset = data.Subset(pairs, rng.permutation(30)[:25].tolist()) if count % 2 else pairs
        indices = rng.integers(-3 if count % 5 == 0 else 0, 27, 1 + count % 7).tolist()
        by_samples = loaded(dataset, indices, collate_fn=lambda batch: data.default_collate(batch))
        assert loaded(dataset, indices) == by_samples, (chosen, indices)


@pytest.mark.parametrize("indices", [[1, 30], [-31], [], [True], [1, 2.0], range(2)], ids=str)
def test_rows_that_are_not_there_are_refused_as_samples_are(indices):
    pairs = data.TensorDataset(tensorlab.arange(30))
    by_samples = loaded(pairs, indices, collate_fn=lambda batch: data.default_collate(batch))
    assert loaded(pairs, indices) == by_samples


def test_a_subset_counts_in_its_own_order():
    subset = data.Subset(range(10, 20), [5, 0])
    assert (list(subset), len(subset)) == ([15, 10], 2)
    assert subset.__getitems__([1, 0]) == [10, 15]
    assert data.Subset(subset, [1]).__getitems__([0]) == [10]
    with pytest.raises(IndexError):
        subset[2]


def test_a_subset_of_a_subclass_is_loaded_by_its_own_getitem():
    class Doubled(data.Subset):
        def __getitem__(self, index):
            return 2 * super().__getitem__(index)

    loader = data.DataLoader(Doubled(range(4), [1, 3]), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[2, 6]]


def test_a_dataset_that_fetches_many_at_once_is_asked_once_per_batch():
    asked = []

    class Many(data.Dataset):
        def __len__(self):
            return 4

        def __getitems__(self, indices):
            asked.append(indices)
            return indices

    assert [batch.tolist() for batch in data.DataLoader(Many(), 3)] == [[0, 1, 2], [3]]
    assert asked == [[0, 1, 2], [3]]


def test_a_subset_asks_its_dataset_for_many_at_once_if_that_is_possible():
    class Many(data.Dataset):
        def __getitem__(self, index):
            raise AssertionError("one by one")

        def __getitems__(self, indices):
            return [10 * i for i in indices]

    assert data.Subset(Many(), [5, 0, 3]).__getitems__([2, 0]) == [30, 50]


def test_base_classes_say_what_to_define():
    with pytest.raises(NotImplementedError, match="Dataset: define __getitem__"):
        data.Dataset()[0]
    with pytest.raises(NotImplementedError, match="IterableDataset: define __iter__"):
        iter(data.IterableDataset())
    with pytest.raises(NotImplementedError, match="Sampler: define __iter__"):
        iter(data.Sampler())
    assert issubclass(data.Dataset[int], data.Dataset)
    assert issubclass(data.Sampler[int], data.Sampler)


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_sampler": [[0]], "sampler": []}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "drop_last=True has no meaning"),
        ({"batch_size": 0}, "batch_size is 0; expected a positive integer"),
        ({"batch_size": 2.0}, "batch_size is 2.0; expected a positive integer"),
        ({"num_workers": -1}, "num_workers is -1; expected an integer"),
        ({"timeout": 1}, "timeout=1 is for workers, but num_workers is 0"),
        ({"persistent_workers": True}, "persistent_workers=True is for workers"),
    ],
    ids=str,
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        data.DataLoader(range(3), **options)


@pytest.mark.parametrize("option", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_a_stream_has_no_indices_to_sample(option):
    with pytest.raises(ValueError, match="needs indices, which an IterableDataset has not"):
        data.DataLoader(Stream(3), **option)


def test_samplers_refuse_options_out_of_range():
    with pytest.raises(ValueError, match="num_samples is 0; expected a positive integer"):
        data.RandomSampler([])
    with pytest.raises(TypeError, match="replacement is 1; expected a bool"):
        data.RandomSampler([1], replacement=1)
    with pytest.raises(ValueError, match="drop_last is 0; expected a bool"):
        data.BatchSampler([1], 1, 0)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([1, 1], r"the lengths \[1, 1\] sum to 2, but the data set has 3 samples"),
        ([1.5, -0.5], "fraction 0 is 1.5; expected 0 to 1"),
    ],
)
def test_lengths_that_do_not_sum_up_are_refused(lengths, message):
    with pytest.raises(ValueError, match=message):
        data.random_split(range(3), lengths)


def test_an_empty_split_is_warned_of():
    with pytest.warns(UserWarning, match="split 1 is empty") as caught:
        data.random_split(range(1), [0.5, 0.5])
    with pytest.warns(UserWarning, match="split 1 is empty"):
        data.random_split(range(3), [0.9, 0.1])
    assert [len(part) for part in data.random_split(range(3), [0.6, 0.4])] == [2, 1]  # no warning
    assert caught[0].filename == __file__


def test_a_dataset_of_one_tensor_has_its_length():
    assert len(tensorlab.utils.data.TensorDataset(tensorlab.zeros(3, 2))) == 3


def test_a_loader_keeps_the_function_that_starts_its_workers():
    def start(number):
        pass

    assert data.DataLoader(range(4), worker_init_fn=start).worker_init_fn is start
    assert data.DataLoader(range(4)).worker_init_fn is None


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [0, 1, 5, 6, 7])
def test_a_loader_of_a_stream_with_a_length_counts_its_batches(size, drop_last):
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(size))

        def __len__(self):
            return size

    loader = data.DataLoader(Stream(), batch_size=3, drop_last=drop_last)
    assert len(loader) == len(list(loader)) == (size // 3 if drop_last else -(-size // 3))
