"""Optimizers: they change parameters by their gradients, one `step()` at a time."""

from .. import _missing
from . import lr_scheduler
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
