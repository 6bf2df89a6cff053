"""DataLoader: a data set, read in some order and made into batches.

One index's journey: the sampler gives indices, the batch sampler groups them, the data set gives a
sample for each, and `collate_fn` makes one batch of the samples.  All of it happens in this
process; workers are not written yet.
"""

from itertools import islice, repeat

from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

__all__ = ["DataLoader", "get_worker_info"]


# What a loader is made of, and can't be changed later.
FIXED = frozenset(
    ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
)


class Batches:
    """One pass over a loader. A sample that raises does not end it: `next` goes on with the batch after."""

    def __init__(self, loader):
        dataset, self.collate = loader.dataset, loader.collate_fn
        self.dataset = dataset
        self.drop_last = loader.drop_last
        self.size = loader.batch_size
        self.length = loader.__len__
        if isinstance(dataset, IterableDataset):
            self.fetch, self.plan = self.from_stream, repeat(iter(dataset))
        elif loader.batch_sampler is not None:
            self.fetch, self.plan = self.at_indices, iter(loader.batch_sampler)
        else:
            self.fetch, self.plan = dataset.__getitem__, iter(loader.sampler)

    def __iter__(self):
        return self

    def __len__(self):
        return self.length()

    def __next__(self):
        return self.collate(self.fetch(next(self.plan)))

    def at_indices(self, indices):
        """Return the samples of a batch."""
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(indices)
        return [self.dataset[i] for i in indices]

    def from_stream(self, samples):
        """Return the next samples of a data set without an index; without a batch size the next one."""
        if self.size is None:
            return next(samples)
        batch = list(islice(samples, self.size))
        if not batch or (self.drop_last and len(batch) < self.size):
            raise StopIteration
        return batch


class DataLoader:
    """Iterable over the batches of a data set; each `for` loop is one pass.

    Parameters
    ----------
    dataset : Dataset or IterableDataset
    batch_size : int, or None for samples instead of batches
    shuffle : bool, whether each pass has a new random order
    sampler : iterable of indices, instead of `shuffle`
    batch_sampler : iterable of lists of indices, instead of the four options before and `drop_last`
    num_workers : 0
    collate_fn : callable that makes a batch of a list of samples, `default_collate` if not given
    drop_last : bool, whether to leave out a last batch that is smaller
    generator : Generator for the order, the default one if not given
    pin_memory, timeout, worker_init_fn : only the values that mean "not used", for they concern
        workers or GPUs
    multiprocessing_context, prefetch_factor, persistent_workers : the same

    Raises
    ------
    ValueError
        If options exclude each other.
    NotImplementedError
        If workers are asked for.

    Examples
    --------
    >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __class_getitem__(cls, item):
        return cls  # DataLoader[list[Tensor]] in an annotation

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
    ):
        refuse_workers(
            num_workers=num_workers,
            timeout=timeout,
            multiprocessing_context=multiprocessing_context,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
        )
        is_stream = isinstance(dataset, IterableDataset)
        check_options(is_stream, batch_size, shuffle, sampler, batch_sampler, drop_last)

        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None and not is_stream:
            if shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and not is_stream:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        makes_batches = batch_size is not None or batch_sampler is not None

        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn or (default_collate if makes_batches else default_convert)
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self._is_made = True

    def __setattr__(self, name, value):
        if name in FIXED and getattr(self, "_is_made", False):
            raise ValueError(
                f"DataLoader: {name} attribute should not be set after DataLoader is initialized; the batches are "
                "planned by then. Make a new loader"
            )
        super().__setattr__(name, value)

    def __iter__(self):
        # PyTorch draws a seed for workers even where there are none; without this draw the order
        # of the second pass would not be PyTorch's.
        draw_seed(self.generator)
        return Batches(self)

    def __len__(self):
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        length = len(self.dataset)
        if self.batch_size is None:
            return length
        extra = 0 if self.drop_last else self.batch_size - 1
        return (length + extra) // self.batch_size


def get_worker_info():
    """Return what a worker process knows of itself; None in the main process, which loads everything so far."""
    return


def refuse_workers(*, num_workers, **worker_options):
    """Raise if an option needs worker processes."""
    if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(
            f"DataLoader: num_workers is {num_workers!r}; expected an integer from 0 up"
        )
    if num_workers > 0:
        raise NotImplementedError(
            f"DataLoader: num_workers={num_workers} asks for worker processes, which are not "
            "written yet; num_workers=0 loads in this process and gives the same batches"
        )
    for name, value in worker_options.items():
        if value:
            raise ValueError(f"DataLoader: {name}={value!r} is for workers, but num_workers is 0")


def check_options(is_stream, batch_size, shuffle, sampler, batch_sampler, drop_last):
    """Raise ValueError where two options contradict each other."""
    if is_stream:
        given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"DataLoader: {name}={value!r} needs indices, which an IterableDataset has not"
                )
    if sampler is not None and shuffle:
        raise ValueError("DataLoader: sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (
        batch_size != 1 or shuffle or sampler is not None or drop_last
    ):
        raise ValueError(
            "DataLoader: batch_sampler option is mutually exclusive with batch_size, shuffle, "
            "sampler, and drop_last"
        )
    if batch_size is None and drop_last:
        raise ValueError(
            "DataLoader: batch_size=None makes no batches, so drop_last=True has no meaning"
        )
