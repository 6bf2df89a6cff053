"""DataLoader: a data set, read in some order and made into batches.

One index's journey: the sampler gives indices, the batch sampler groups them, the data set gives a
sample for each, and `collate_fn` makes one batch of the samples.  The last two happen in this
process or, with num_workers > 0, in processes of their own (worker.py), ahead of time.
"""

import multiprocessing
import os
import warnings
from itertools import repeat

from tensorlab import _missing

from ..._core.profiling import Range, is_recording
from ..._core.random import default_generator
from ..._pitfalls import pointed
from ..._progress import shown
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetching import EndOfStream, Fetcher, stray
from .pinning import pinning
from .resuming import Progress, checked, generators_of, random_numbers_kept, state_of
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed
from .worker_pool import WorkerBatches

__all__ = ["DataLoader"]


CAN_ASK = hasattr(os, "sched_getaffinity")  # for the processors of this process, not in each system
# What a loader is made of, and can't be changed later.
FIXED = frozenset(
    ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
)


class _DatasetKind:
    """What a loader reads, under PyTorch's names and numbers."""

    Map = 0
    Iterable = 1


class _InfiniteConstantSampler(Sampler):
    """The sampler of a stream, which has no indices: None, again and again."""

    def __iter__(self):
        return repeat(None)


class Batches:
    """One pass over a loader. A sample that raises does not end it: `next` goes on with the batch after."""

    def __init__(self, loader):
        self.fetch, self.plan = Fetcher(*loader.job), loader.plan()
        self.length, self.progress = loader.__len__, loader._progress
        self.is_stream = isinstance(loader.dataset, IterableDataset)
        self.pin = pinning(loader)

    def __iter__(self):
        return self

    def __len__(self):
        return self.length()

    def __next__(self):
        if is_recording():
            with Range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                return self._next_batch()
        return self._next_batch()

    def _next_batch(self):
        try:
            index = next(self.plan)
        except StopIteration:
            self.progress.is_over = True
            raise
        self.progress.given += 1
        try:
            batch = self.fetch(index)
        except EndOfStream:
            self.progress.is_over = True
            raise StopIteration from None
        except StopIteration as error:
            raise stray(error) from error
        if self.progress.reported is not None:
            self.progress.compare_with_length()
        return batch if self.pin is None else self.pin(batch)

    def leave_out(self):
        """Leave out the next batch: of a stream it has to be read, else its indices are enough."""
        if self.is_stream:
            next(self)
        else:
            next(self.plan)
            self.progress.given += 1


class DataLoader:
    """Iterable over the batches of a data set; each `for` loop is one pass.

    Parameters
    ----------
    dataset : Dataset or IterableDataset
    batch_size : int, or None for samples instead of batches
    shuffle : bool, whether each pass has a new random order
    sampler : iterable of indices, instead of `shuffle`
    batch_sampler : iterable of lists of indices, instead of the four options before and `drop_last`
    num_workers : int, how many processes load batches ahead of time; 0 to load them here, when they are asked for
    collate_fn : callable that makes a batch of a list of samples, `default_collate` if not given
    drop_last : bool, whether to leave out a last batch that is smaller
    generator : Generator for the order, the default one if not given
    timeout : float, seconds to wait for a batch of a worker before RuntimeError; 0 for no limit
    worker_init_fn : function that each worker calls first, with its number
    multiprocessing_context : "fork", "forkserver", "spawn" or a context of `multiprocessing`
    prefetch_factor : int, batches that each worker loads in advance, 2 if not given
    persistent_workers : bool, whether the workers stay for the next pass
    progress : bool, or str, what stands before the bar: whether each pass shows how far it has come, with tqdm in a
        notebook or a terminal, and without it in a line on stderr
    in_order : bool; False gives batches as they are ready, whichever was asked for first
    pin_memory : bool, whether batches are put into memory that an accelerator reads in its own time, if there is one
    pin_memory_device : taken and not used: there is one accelerator at most

    Each worker has a copy of the data set, one thread, and random numbers that follow from the seed and its number:
    the samples are the same for the same seed and number of workers, and those of PyTorch.

    Raises
    ------
    ValueError
        If options exclude each other.
    RuntimeError
        In the loop, if a worker ends or does not answer; what a data set raises in a worker is raised here too, with
        the worker's traceback in its text.

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
        pin_memory_device="",
        in_order=True,
        progress=False,
    ):
        check_workers(
            num_workers,
            timeout=timeout,
            multiprocessing_context=multiprocessing_context,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
        )
        is_stream = isinstance(dataset, IterableDataset)
        check_options(is_stream, batch_size, shuffle, sampler, batch_sampler, drop_last)

        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if is_stream:
            sampler = _InfiniteConstantSampler()
        elif sampler is None and shuffle:
            sampler = RandomSampler(dataset, generator=generator)
        elif sampler is None:
            sampler = SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self._dataset_kind = _DatasetKind.Iterable if is_stream else _DatasetKind.Map
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn or (
            default_collate if self._auto_collation else default_convert
        )
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.multiprocessing_context = multiprocessing_context
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers = persistent_workers
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self.progress = progress
        self._iterator = None  # the pass whose workers stay
        self._IterableDataset_len_called = (
            None  # what len() of the data set was, once the loader's was asked for
        )
        self._progress = self._resumed = None
        self._is_made = True

    def __setattr__(self, name, value):
        if name in FIXED and getattr(self, "_is_made", False):
            raise ValueError(
                f"DataLoader: {name} attribute should not be set after DataLoader is initialized; the batches are "
                "planned by then. Make a new loader"
            )
        super().__setattr__(name, value)

    @property
    def job(self):
        """What makes a batch of a part of the plan: the arguments of `Fetcher`."""
        return (
            self.dataset,
            self._auto_collation,
            self.batch_size,
            self.drop_last,
            self.collate_fn,
        )

    @property
    def _auto_collation(self):
        """Whether samples are made into batches."""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        """What gives indices for one step: those of a batch, or one."""
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def multiprocessing_context(self):
        """The context of `multiprocessing` that starts the workers; None for the default one."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value):
        check_workers(self.num_workers, multiprocessing_context=value)
        self._multiprocessing_context = context_of(value)

    def check_worker_number_rationality(self):
        """Warn if there are more workers than processors that this process may use."""
        processors = len(os.sched_getaffinity(0)) if CAN_ASK else os.cpu_count() or 1
        if self.num_workers > processors:
            warnings.warn(
                f"DataLoader: num_workers={self.num_workers} is more than the suggested max number of workers in this "
                f"system, {processors}, its processors; more make loading slower, not faster",
                UserWarning,
                stacklevel=2,
            )

    def plan(self):
        """Return an iterator over lists of indices, or over indices; a stream's has no end."""
        if isinstance(self.dataset, IterableDataset):
            return repeat(None)
        return iter(self._index_sampler)

    def __iter__(self):
        try:
            if self._resumed is not None:
                batches = self.begin_again()
            else:
                self._progress = Progress(self)
                batches = self.begin()
        except StopIteration as error:
            raise stray(error) from error
        return self.with_bar(batches) if self.progress else batches

    def with_bar(self, batches):
        """Return the batches of a pass; what goes through them sees how far it has come."""
        what = self.progress if isinstance(self.progress, str) else "batches"
        try:
            total = len(self)
        except TypeError:  # a stream
            total = None
        return shown(batches, what, total)

    def begin(self):
        """Begin a pass."""
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None or not self._iterator.workers:
            self._iterator = self._get_iterator()
        else:
            self._progress.has_old_workers = True
            self._iterator.reset(self)
        return self._iterator

    def _get_iterator(self):
        if self._progress is None:
            self._progress = Progress(self)
        if self.num_workers > 0:
            return WorkerBatches(self)
        # PyTorch draws a seed for workers even where there are none; without this draw the order
        # of the second pass would not be PyTorch's.
        draw_seed(self.generator)
        return Batches(self)

    # ------------------------------------------------------------ stopping and resuming
    def state_dict(self):
        """Return how far the loader has come, for a checkpoint; `save` can write it.

        In the middle of a pass, or after a loop that was left with `break`, it says which batch comes next; between
        passes it holds the state of the loader's own generators. The default generator's is the program's to save:
        `get_rng_state()`.

        Raises
        ------
        RuntimeError
            In the middle of a pass, if `in_order` is False.

        Examples
        --------
        >>> loader = DataLoader(range(6), batch_size=2)
        >>> for batch in loader:
        ...     break
        >>> again = DataLoader(range(6), batch_size=2)
        >>> again.load_state_dict(loader.state_dict())
        >>> [batch.tolist() for batch in again]
        [[2, 3], [4, 5]]
        """
        return state_of(self, self._progress)

    def load_state_dict(self, state_dict):
        """Let the next pass be the rest of the one that a loader, made in the same way, was in.

        The batches and their random numbers are those that would have come. Workers load once more what was given,
        because their random numbers depend on it, and so does a stream; otherwise only the indices are drawn again.

        Raises
        ------
        ValueError
            If it is no such state, or the loader has another number of workers or of generators.
        """
        state = checked(self, state_dict)
        self._progress, self._resumed = None, None
        if state["given"] is not None:
            self._resumed = state
        else:
            for generator, numbers in zip(generators_of(self), state["generators"], strict=True):
                generator.set_state(numbers)

    def begin_again(self):
        """Begin the pass that was loaded, and leave out what it has given."""
        state, self._resumed = self._resumed, None
        if self._iterator is not None:
            self._iterator.close()  # workers that have been through other passes
        with random_numbers_kept():
            if state["has_old_workers"]:
                self.begin()  # starts the workers: that pass found them there
            generators = default_generator(), *generators_of(self)
            for generator, numbers in zip(generators, state["generators"], strict=True):
                generator.set_state(numbers)
            self._progress = Progress(self)
            batches = self.begin()
            for done in range(state["given"]):
                try:
                    batches.leave_out()
                except StopIteration:
                    raise RuntimeError(
                        f"DataLoader: {state['given']} batches were given before, and now there are only {done}; the "
                        "data set or the options are not those of the state"
                    ) from None
        return batches

    def __getstate__(self):
        # workers stay with the process that started them
        return {**self.__dict__, "_iterator": None, "_progress": None}

    def __len__(self):
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        extra = 0 if self.drop_last else self.batch_size - 1
        return (length + extra) // self.batch_size


def check_workers(num_workers, **options):
    """Raise if an option for workers has a wrong value, or is given where there are none."""
    if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
        raise ValueError(
            f"DataLoader: num_workers is {num_workers!r}; expected an integer from 0 up"
        )
    if num_workers == 0:
        for name, value in options.items():
            if value:
                raise ValueError(
                    f"DataLoader: {name}={value!r} is for workers, but num_workers is 0"
                )
    timeout, factor = options.get("timeout", 0), options.get("prefetch_factor")
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout is {timeout!r}; expected seconds, from 0 up")
    if num_workers > 0 and factor is not None and factor < 1:
        raise ValueError(f"DataLoader: prefetch_factor is {factor!r}; expected a positive integer")


def context_of(given):
    """Return the context of `multiprocessing` for a start method."""
    if given is None or isinstance(given, multiprocessing.context.BaseContext):
        return given
    methods = multiprocessing.get_all_start_methods()
    if not isinstance(given, str):
        raise TypeError(
            f"DataLoader: multiprocessing_context is {given!r}; expected a context of multiprocessing "
            f"or one of {methods}"
        )
    if given not in methods:
        raise ValueError(
            f"DataLoader: multiprocessing_context is {given!r}; expected one of {methods}"
        )
    return multiprocessing.get_context(given)


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
        raise pointed(ValueError("DataLoader: sampler option is mutually exclusive with shuffle"))
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


__getattr__ = _missing.refusing(__name__)
