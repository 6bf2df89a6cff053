"""Data sets, samplers, and the loader that makes batches of them."""

from ... import _missing
from .collate import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import Dataset, IterableDataset, Subset, TensorDataset, random_split
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler

__all__ = [
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "default_collate",
    "default_convert",
    "random_split",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
