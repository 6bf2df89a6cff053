"""What may travel between the judge and a student's process, and what is known of it on both sides."""

import sys

import numpy

import tensorlab
from tensorlab import nn, optim
from tensorlab._tensor import Tensor

BUILTIN_CLASSES = {
    kind.__name__: kind
    for kind in (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, object)
}
BY_DICT = (nn.Module, optim.Optimizer, optim.lr_scheduler.LRScheduler)
LIBRARY = (
    "tensorlab.ops.",
    "tensorlab._core.",
    "tensorlab.nn.",
    "tensorlab._tensor",
    "tensorlab.optim.",
)
DTYPES: dict = {
    str(value)[10:]: value
    for value in vars(tensorlab).values()
    if isinstance(value, tensorlab.dtype)
}


def is_plain(kind):
    """Say whether instances of a class are no more than their attributes."""
    return not issubclass(
        kind, (type, BaseException, tuple, list, dict, int, float, str, bytes, set, Tensor)
    )


def plain_value(value):
    """Return what an answer's number or container is without its own class, or None."""
    if isinstance(value, numpy.generic):
        return value.item()
    for kind in (bool, int, float, complex, str, bytes, tuple, list, dict, set):
        if isinstance(value, kind):
            return kind(value)
    return None


def loaded(module, name):
    """Return what a module that is loaded holds under a name, or None; nothing is imported for it."""
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


def address_of(value):
    """Return (module, name) of what both sides have: a function or a class of the library."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not (isinstance(module, str) and isinstance(name, str)):
        return None
    if module == "builtins" and (BUILTIN_CLASSES.get(name) is value or is_exception(value)):
        return module, name
    is_library = module.startswith(LIBRARY) or module == "tensorlab.errors"
    if is_library and loaded(module, name) is value:
        return module, name
    return None


def is_exception(value):
    return isinstance(value, type) and issubclass(value, BaseException)


def flat_view(storage):
    """Return the bytes of a storage as a tensor of it."""
    return tensorlab.empty(0, dtype=tensorlab.uint8).set_(storage, 0, (storage.nbytes(),), (1,))


def version_of(value):
    """Return how often a tensor was written; a tensor of inference mode doesn't count that."""
    return 0 if value.is_inference() else value._version


def bytes_of(flat):
    return flat.numpy().tobytes()
