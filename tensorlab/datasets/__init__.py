"""Data sets that programs begin with: digits, clothes, photographs, a play, and your own folders of images."""

from .. import _missing
from . import transforms, utils
from .cifar import CIFAR10, CIFAR100
from .digits import Digits
from .fake import FakeData
from .folder import DatasetFolder, ImageFolder
from .mnist import MNIST, FashionMNIST
from .text import TextFile, TinyShakespeare
from .vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "TextFile",
    "TinyShakespeare",
    "VisionDataset",
    "transforms",
    "utils",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
