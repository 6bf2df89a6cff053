"""The parameters of layers, functions, optimizers and schedulers: PyTorch's defaults."""

import inspect

import pytest

import tensorlab
from tests.oracle import require_torch

MODULES = (
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "optim",
    "optim.lr_scheduler",
    "utils.data",
)
# What has no meaning on one processor, or stands in PyTorch only for what it no longer does.
IGNORED = {
    "self",
    "device",
    "dtype",
    "foreach",
    "fused",
    "size_average",
    "reduce",
    "args",
    "kwargs",
}


def attribute(package, path):
    for name in path.split("."):
        package = getattr(package, name)
    return package


def defaults(function):
    """The parameters that can be given by name, with their defaults; nothing if Python does not know."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {one.name: one.default for one in parameters if one.name not in IGNORED}


def public(module):
    ours = attribute(tensorlab, module)
    return [
        f"{module}.{name}"
        for name in getattr(ours, "__all__", dir(ours))
        if not name.startswith("_") and callable(getattr(ours, name, None))
    ]


@pytest.mark.parametrize("path", [path for module in MODULES for path in public(module)])
def test_defaults_are_those_of_pytorch(path):
    torch = require_torch()
    try:
        theirs = defaults(attribute(torch, path))
    except AttributeError:
        pytest.skip("not in PyTorch")
    ours = defaults(attribute(tensorlab, path))
    simple = (int, float, bool, str, tuple, type(None))
    for name in ours.keys() & theirs.keys():
        if isinstance(theirs[name], simple) and isinstance(ours[name], simple):
            same = ours[name] == theirs[name] or (ours[name] == () and theirs[name] is None)
            assert same, f"{name} is {ours[name]!r}; PyTorch has {theirs[name]!r}"
