"""Tools for the parameters of networks: clip their gradients, see them as one vector; pad sequences (`rnn`)."""

from ... import _missing
from . import rnn
from .gradients import clip_grad_norm_, clip_grad_value_, get_total_norm
from .vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
