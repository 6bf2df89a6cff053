"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, overload
from typing_extensions import TypeVar
from tensorlab import Generator
from tensorlab import Tensor

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

_T_co = TypeVar('_T_co', covariant=True)
_B_co = TypeVar('_B_co', covariant=True)

def default_collate(batch: Any) -> Any: ...
def default_convert(data: Any) -> Any: ...
@overload
def random_split(dataset: Dataset[_T_co], lengths: Sequence[builtins.float], generator: Generator | None=None) -> list[Subset[_T_co]]: ...
@overload
def random_split(dataset: Sequence[_T_co], lengths: Sequence[builtins.float], generator: Generator | None=None) -> list[Subset[_T_co]]: ...


class BatchSampler(Sampler[list[builtins.int]]):
    def __init__(self, sampler: Iterable[builtins.int], batch_size: builtins.int, drop_last: builtins.bool) -> None: ...
    def __iter__(self) -> Iterator[list[builtins.int]]: ...
    sampler: Any
    batch_size: Any
    drop_last: builtins.bool
    def __len__(self) -> builtins.int: ...

class DataLoader(Generic[_B_co]):
    batch_size: builtins.int | None
    dataset: Any
    @overload
    def __init__(self: DataLoader[list[Tensor]], dataset: Dataset[tuple[Tensor | builtins.float, ...]] | Sequence[tuple[Tensor | builtins.float, ...]], batch_size: builtins.int=1, shuffle: builtins.bool | None=None, sampler: Iterable[Any] | None=None, batch_sampler: Iterable[Sequence[Any]] | None=None, num_workers: builtins.int=0, collate_fn: None=None, pin_memory: builtins.bool=False, drop_last: builtins.bool=False, timeout: builtins.float=0, worker_init_fn: Any=None, multiprocessing_context: Any=None, generator: Generator | None=None, *, prefetch_factor: builtins.int | None=None, persistent_workers: builtins.bool=False) -> None: ...
    @overload
    def __init__(self: DataLoader[Tensor], dataset: Dataset[Tensor | builtins.float] | Sequence[Tensor | builtins.float], batch_size: builtins.int=1, shuffle: builtins.bool | None=None, sampler: Iterable[Any] | None=None, batch_sampler: Iterable[Sequence[Any]] | None=None, num_workers: builtins.int=0, collate_fn: None=None, pin_memory: builtins.bool=False, drop_last: builtins.bool=False, timeout: builtins.float=0, worker_init_fn: Any=None, multiprocessing_context: Any=None, generator: Generator | None=None, *, prefetch_factor: builtins.int | None=None, persistent_workers: builtins.bool=False) -> None: ...
    @overload
    def __init__(self, dataset: Any, batch_size: builtins.int | None=1, shuffle: builtins.bool | None=None, sampler: Iterable[Any] | None=None, batch_sampler: Iterable[Sequence[Any]] | None=None, num_workers: builtins.int=0, *, collate_fn: Callable[[Any], _B_co], pin_memory: builtins.bool=False, drop_last: builtins.bool=False, timeout: builtins.float=0, worker_init_fn: Any=None, multiprocessing_context: Any=None, generator: Generator | None=None, prefetch_factor: builtins.int | None=None, persistent_workers: builtins.bool=False) -> None: ...
    @overload
    def __init__(self: DataLoader[Any], dataset: Any, batch_size: builtins.int | None=1, shuffle: builtins.bool | None=None, sampler: Iterable[Any] | None=None, batch_sampler: Iterable[Sequence[Any]] | None=None, num_workers: builtins.int=0, collate_fn: Any=None, pin_memory: builtins.bool=False, drop_last: builtins.bool=False, timeout: builtins.float=0, worker_init_fn: Any=None, multiprocessing_context: Any=None, generator: Generator | None=None, *, prefetch_factor: builtins.int | None=None, persistent_workers: builtins.bool=False) -> None: ...
    def __iter__(self) -> Iterator[_B_co]: ...
    def __len__(self) -> builtins.int: ...
    sampler: Any
    batch_sampler: Any
    num_workers: builtins.int
    collate_fn: Any
    pin_memory: builtins.bool
    drop_last: builtins.bool
    timeout: builtins.float
    worker_init_fn: Any
    generator: Generator | None

class Dataset(Generic[_T_co]):
    def __getitem__(self, index: Any) -> _T_co: ...

class IterableDataset(Dataset[_T_co]):
    def __iter__(self) -> Iterator[_T_co]: ...

class RandomSampler(Sampler[builtins.int]):
    def __init__(self, data_source: Any, replacement: builtins.bool=False, num_samples: builtins.int | None=None, generator: Generator | None=None) -> None: ...
    @property
    def num_samples(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[builtins.int]: ...
    data_source: Any
    replacement: builtins.bool
    generator: Generator | None
    def __len__(self) -> builtins.int: ...

class Sampler(Generic[_T_co]):
    def __iter__(self) -> Iterator[_T_co]: ...

class SequentialSampler(Sampler[builtins.int]):
    def __init__(self, data_source: Any) -> None: ...
    def __iter__(self) -> Iterator[builtins.int]: ...
    data_source: Any
    def __len__(self) -> builtins.int: ...

class Subset(Dataset[_T_co]):
    def __init__(self, dataset: Dataset[_T_co] | Sequence[_T_co], indices: Sequence[builtins.int]) -> None: ...
    def __getitem__(self, index: Any) -> _T_co: ...
    def __getitems__(self, indices: Sequence[builtins.int]) -> list[_T_co]: ...
    def __len__(self) -> builtins.int: ...
    dataset: Any
    indices: Sequence[Tensor]

class SubsetRandomSampler(Sampler[builtins.int]):
    def __init__(self, indices: Sequence[builtins.int], generator: Generator | None=None) -> None: ...
    def __iter__(self) -> Iterator[builtins.int]: ...
    indices: Sequence[Tensor]
    generator: Generator | None
    def __len__(self) -> builtins.int: ...

class TensorDataset(Dataset[tuple[Tensor, ...]]):
    tensors: tuple[Tensor, ...]
    def __init__(self, *tensors: Tensor) -> None: ...
    def __getitem__(self, index: Any) -> tuple[Tensor, ...]: ...
    def __len__(self) -> builtins.int: ...
