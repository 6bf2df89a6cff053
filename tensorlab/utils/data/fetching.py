"""What is done for each batch: the samples are taken from the data set and put together."""

from itertools import islice

from .dataset import IterableDataset
from .rows import are_rows, rows_at
from .sampler import begun

__all__ = ["EndOfStream", "Fetcher", "stray"]


class EndOfStream(Exception):
    """A stream has no more samples. StopIteration would not tell it from a `next` that failed in a sample."""


class Fetcher:
    """One pass over a data set, wherever it runs: in the main process or in a worker.

    Parameters
    ----------
    dataset : Dataset or IterableDataset
    makes_batches : bool, whether a call is for a batch; else it is for one sample
    batch_size, drop_last : as in DataLoader; a stream needs them, for it has no indices
    collate : function from the samples, or the sample, to what the loader gives
    """

    def __init__(self, dataset, makes_batches, batch_size, drop_last, collate):
        self.dataset, self.collate = dataset, collate
        self.batch_size, self.drop_last = batch_size, drop_last
        if isinstance(dataset, IterableDataset):
            self.samples, self.is_over = begun(dataset), False
            self.take = self.from_stream if makes_batches else self.one_from_stream
        else:
            self.take = self.at_indices if makes_batches else dataset.__getitem__
        self.has_rows = makes_batches and are_rows(collate)

    def __call__(self, index):
        """Return the batch of a list of indices, the sample of an index, or what a stream has next."""
        rows = rows_at(self.dataset, index) if self.has_rows else None
        return self.collate(self.take(index)) if rows is None else rows

    def at_indices(self, indices):
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(indices)
        return [self.dataset[i] for i in indices]

    def from_stream(self, _):
        batch = [] if self.is_over else list(islice(self.samples, self.batch_size))
        self.is_over = len(batch) < self.batch_size
        if not batch or (self.drop_last and self.is_over):
            raise EndOfStream
        return batch

    def one_from_stream(self, _):
        for sample in self.samples:
            return sample
        raise EndOfStream


def stray(error):
    """Return the error for a StopIteration that does not mean the end; in the loop it would be taken for it."""
    return RuntimeError(
        f"DataLoader: the data set, the sampler or collate_fn raised {error!r}, perhaps by next() on an iterator that "
        "is empty. Catch it there, or give next() a default"
    )
