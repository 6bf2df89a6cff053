"""Tools for the parameters of networks: clip their gradients, compute them from others, prune and fuse them;
and sequences of different lengths (`rnn`)."""

from ..._on_demand import on_demand
from . import rnn
from .clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]


__getattr__, __dir__ = on_demand(
    __name__,
    ("parametrizations", "parametrize", "prune", "stateless"),
    {
        **{name: "fusion" for name in __all__ if name.startswith("fuse_")},
        **{name: "memory_format" for name in __all__ if name.startswith("convert_")},
        "skip_init": "init",
    },
)
