"""Schedulers: they change the learning rate of an optimizer from epoch to epoch, one `step()` at a time.

A scheduler knows how many steps it has taken, `last_epoch`, and says the rate of each parameter group
for it.  Where PyTorch derives a rate from the one before, so does this package, to the last bit; so a
rate that another scheduler or the user has changed meanwhile goes on being changed.
"""

from ... import _missing
from .base import LRScheduler, _LRScheduler
from .by_function import LambdaLR, MultiplicativeLR
from .combined import ChainedScheduler, SequentialLR
from .cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .cycles import CyclicLR, OneCycleLR
from .decay import ConstantLR, ExponentialLR, LinearLR, MultiStepLR, PolynomialLR, StepLR
from .plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
