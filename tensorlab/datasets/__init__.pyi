"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.datasets import transforms as transforms
from tensorlab.datasets import utils as utils
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any
from tensorlab.utils.data import Dataset
from tensorlab import Tensor

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "MNIST",
    "TextFile",
    "TinyShakespeare",
    "VisionDataset",
    "transforms",
    "utils",
]


class CIFAR10(VisionDataset):
    data: Any
    targets: list[builtins.int]
    classes: list[str]
    class_to_idx: dict[str, builtins.int]
    train: builtins.bool
    def __getitem__(self, index: Any) -> Any: ...
    def __init__(self, root: str | PathLike[str], train: builtins.bool=True, transform: Callable[..., Any] | None=None, target_transform: Callable[..., Any] | None=None, download: builtins.bool=False) -> None: ...
    def __len__(self) -> builtins.int: ...
    base_folder: str
    def check_files(self) -> None: ...
    def download(self) -> None: ...
    def extra_repr(self) -> str: ...
    filename: str
    @property
    def folder(self) -> str: ...
    labels_key: str
    meta: tuple[Any, ...]
    def missing_files(self) -> Any: ...
    names_key: str
    def read(self, name: str) -> Any: ...
    test_list: tuple[Any, ...]
    tgz_md5: str
    train_list: tuple[Any, ...]
    url: str

class CIFAR100(CIFAR10):
    base_folder: str
    filename: str
    labels_key: str
    meta: tuple[Any, ...]
    names_key: str
    test_list: tuple[Any, ...]
    tgz_md5: str
    train_list: tuple[Any, ...]
    url: str

class DatasetFolder(VisionDataset):
    classes: list[str]
    class_to_idx: dict[str, builtins.int]
    samples: list[tuple[str, builtins.int]]
    targets: list[builtins.int]
    def find_classes(self, directory: str | PathLike[str]) -> tuple[list[str], dict[str, builtins.int]]: ...
    @staticmethod
    def make_dataset(directory: str | PathLike[str], class_to_idx: Mapping[str, builtins.int], extensions: str | Sequence[str] | None=None, is_valid_file: Callable[[str], builtins.bool] | None=None, allow_empty: builtins.bool=False) -> list[tuple[str, builtins.int]]: ...
    loader: Callable[..., Any]
    extensions: str | Sequence[str] | None
    def __getitem__(self, index: Any) -> Any: ...
    def __init__(self, root: str | PathLike[str], loader: Callable[..., Any], extensions: str | Sequence[str] | None=None, transform: Callable[..., Any] | None=None, target_transform: Callable[..., Any] | None=None, is_valid_file: Callable[..., Any] | None=None, allow_empty: builtins.bool=False) -> None: ...
    def __len__(self) -> builtins.int: ...

class Digits(VisionDataset):
    data: Tensor
    targets: Tensor
    classes: Sequence[str]
    train: builtins.bool
    def __getitem__(self, index: Any) -> Any: ...
    def __init__(self, train: builtins.bool=True, transform: Callable[..., Any] | None=None, target_transform: Callable[..., Any] | None=None) -> None: ...
    def __len__(self) -> builtins.int: ...
    @property
    def class_to_idx(self) -> dict[str, builtins.int]: ...
    def extra_repr(self) -> str: ...

class FakeData(VisionDataset):
    def __init__(self, size: builtins.int=1000, image_size: Sequence[builtins.int]=..., num_classes: builtins.int=10, transform: Callable[[Any], Any] | None=None, target_transform: Callable[[Any], Any] | None=None, random_offset: builtins.int=0) -> None: ...
    size: builtins.int | Sequence[builtins.int]
    image_size: Any
    num_classes: builtins.int
    random_offset: builtins.float
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> builtins.int: ...

class FashionMNIST(MNIST):
    classes: tuple[Any, ...]
    mirrors: tuple[Any, ...]
    resources: tuple[Any, ...]

class ImageFolder(DatasetFolder):
    imgs: list[tuple[str, builtins.int]]
    def __init__(self, root: str | PathLike[str], transform: Callable[..., Any] | None=None, target_transform: Callable[..., Any] | None=None, loader: Callable[..., Any]=..., is_valid_file: Callable[..., Any] | None=None, allow_empty: builtins.bool=False) -> None: ...

class MNIST(VisionDataset):
    data: Tensor
    targets: Tensor
    classes: Sequence[str]
    train: builtins.bool
    def __getitem__(self, index: Any) -> Any: ...
    def __init__(self, root: str | PathLike[str], train: builtins.bool=True, transform: Callable[..., Any] | None=None, target_transform: Callable[..., Any] | None=None, download: builtins.bool=False) -> None: ...
    def __len__(self) -> builtins.int: ...
    def check_files(self) -> None: ...
    @property
    def class_to_idx(self) -> dict[str, builtins.int]: ...
    def download(self) -> None: ...
    def extra_repr(self) -> str: ...
    def file(self, name: str) -> str: ...
    mirrors: tuple[Any, ...]
    def missing_files(self) -> Any: ...
    @property
    def raw_folder(self) -> str: ...
    resources: tuple[Any, ...]

class TextFile(Dataset[tuple[Tensor, Tensor]]):
    text: str
    vocabulary: list[str]
    data: Tensor
    def __init__(self, path: str | PathLike[str], length: builtins.int=64, *, part: tuple[builtins.float, builtins.float]=..., encoding: str='utf-8') -> None: ...
    def __getitem__(self, index: builtins.int) -> tuple[Tensor, Tensor]: ...
    def encode(self, text: str) -> Tensor: ...
    def decode(self, numbers: Tensor | Sequence[builtins.int]) -> str: ...
    length: builtins.int
    def __len__(self) -> builtins.int: ...

class TinyShakespeare(TextFile):
    root: str | PathLike[str]
    train: builtins.bool
    def __init__(self, root: str | PathLike[str], train: builtins.bool=True, length: builtins.int=64, download: builtins.bool=False) -> None: ...
    checksum: str
    filename: str
    training: builtins.float
    url: str

class VisionDataset(Dataset[tuple[Any, Any]]):
    root: Any
    transforms: Callable[[Any, Any], Any] | None
    def __init__(self, root: str | PathLike[str] | None=None, transforms: Callable[[Any, Any], Any] | None=None, transform: Callable[[Any], Any] | None=None, target_transform: Callable[[Any], Any] | None=None) -> None: ...
    def transformed(self, image: Any, target: Any) -> tuple[Any, Any]: ...
    transform: Callable[..., Any] | None
    target_transform: Callable[..., Any] | None
    def __len__(self) -> builtins.int: ...
    def __repr__(self) -> str: ...
    def extra_repr(self) -> str: ...
