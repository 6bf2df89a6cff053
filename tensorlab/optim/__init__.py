"""Optimizers: they change parameters by their gradients, one `step()` at a time."""

from .. import _missing
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
