"""The paths of PyTorch's modules: `nn.modules.conv.Conv2d`, `nn.modules.batchnorm._BatchNorm` and the others.

Each is a module without a file, made from the table below: which files of this package it stands for, and what
some names are called here.
"""

import importlib
import sys
import types

from tensorlab import _missing

from . import utils

# Path below nn.modules: the files, and the names that differ.
PATHS = {
    "activation": ("activation multihead_attention", {}),
    "adaptive": ("adaptive", {}),
    "batchnorm": ("batch_norm lazy", {"_BatchNorm": "_BatchNorm", "_NormBase": "_RunningNorm"}),
    "channelshuffle": ("flatten", {}),
    "container": ("container parameter_containers", {}),
    "conv": ("convolution lazy", {"_ConvNd": "_Convolution", "_ConvTransposeNd": "_Transposed"}),
    "distance": ("distance", {}),
    "dropout": ("dropout", {}),
    "fold": ("fold", {}),
    "flatten": ("flatten", {}),
    "instancenorm": (
        "batch_norm lazy",
        {"_InstanceNorm": "_InstanceNorm", "_NormBase": "_RunningNorm"},
    ),
    "lazy": ("lazy", {}),
    "linear": (
        "linear lazy",
        {"NonDynamicallyQuantizableLinear": "NonDynamicallyQuantizableLinear"},
    ),
    "loss": ("loss margin_loss", {"_Loss": "_Loss", "_WeightedLoss": "_WeightedLoss"}),
    "module": ("module hooks", {"_IncompatibleKeys": "_IncompatibleKeys"}),
    "normalization": ("normalization", {}),
    "padding": ("padding", {}),
    "pixelshuffle": ("flatten", {}),
    "pooling": ("pooling", {}),
    "rnn": ("recurrent recurrent_cells", {}),
    "sparse": ("embedding", {}),
    "upsampling": ("upsampling", {}),
    "transformer": ("transformer transformer_layers", {}),
}


def make(path, files, renamed):
    """Return a module with the public names of some files, and a few others."""
    made = types.ModuleType(f"{__name__}.{path}", f"What PyTorch has under nn.modules.{path}.")
    for file in files.split():
        source = importlib.import_module(f"tensorlab.nn.{file}")
        for name in source.__all__:
            setattr(made, name, getattr(source, name))
        for theirs, ours in renamed.items():
            if hasattr(source, ours):
                setattr(made, theirs, getattr(source, ours))
    return made


for path, (files, renamed) in PATHS.items():
    sys.modules[f"{__name__}.{path}"] = globals()[path] = make(path, files, renamed)

__all__ = sorted(
    {
        name
        for path in PATHS
        for name, value in vars(globals()[path]).items()
        if isinstance(value, type) and not name.startswith("_")
    }
)
globals().update(
    {
        name: getattr(globals()[path], name)
        for path in PATHS
        for name in __all__
        if hasattr(globals()[path], name)
    }
)

__getattr__ = _missing.refusing(__name__)
