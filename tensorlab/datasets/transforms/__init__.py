"""Transforms of images on their way into a model: sizes, crops, flips, colours, and from pixels to tensors."""

from ... import _missing
from . import functional
from .color import ColorJitter, Grayscale, RandomGrayscale
from .containers import Compose, Lambda, RandomApply
from .erasing import RandomErasing
from .geometry import CenterCrop, Pad, Resize
from .interpolation import InterpolationMode
from .kinds import ConvertImageDtype, Normalize, PILToTensor, ToPILImage, ToTensor
from .random_geometry import (
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "Grayscale",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RandomApply",
    "RandomCrop",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "ToPILImage",
    "ToTensor",
    "functional",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
