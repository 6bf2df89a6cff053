"""What a package says when a name is missing: what is meant instead, or where it is planned.

Packages that are planned, and their names, are in `_planned`: programs can import them.

`refuse(package, name)` makes the error; a package calls it from its `__getattr__`, which Python asks only for
names that are not there. A class has a `MissingAttribute` for each name instead: with a `__getattr__` Python reads
every attribute of its instances the long way: 3 % of forward and backward of a small layer.
"""

import inspect
import sys

# The chapter that comes with each subsystem. An entry means that name and everything that is in it; with a star, every
# name that begins so.
CHAPTERS = {
    "_dynamo": "47-capture-and-guards",
    "_inductor": "48-fusion-and-codegen",
    "autograd.forward_ad": "23-higher-order",
    "autograd.profiler": "43-profiling",
    "cuda.Event": "42-allocators-and-devices",
    "cuda.Stream": "42-allocators-and-devices",
    "cuda.stream": "42-allocators-and-devices",
    "is_autocast*": "44-mixed-precision",
    "nn.quantized": "45-quantization",
    "ops": "40-custom-ops",
    "overrides": "41-subclasses-and-modes",
    "quantization": "45-quantization",
    "quantize_per_tensor*": "45-quantization",
    "quint8": "45-quantization",
    "qint*": "45-quantization",
    "set_autocast*": "44-mixed-precision",
    "utils.benchmark": "43-profiling",
    "utils.bottleneck": "43-profiling",
    "utils.cpp_extension": "40-custom-ops",
    "utils.tensorboard.SummaryWriter.add_onnx_graph": "51-export-and-onnx",
    "vmap": "23-higher-order",
}

# Names that belong to nothing that is planned, and what to do without.
NEVER = {
    "_C": "that is PyTorch's compiled half; here every name is a public one",
    "cdouble": "there are no complex types; keep real and imaginary part in a dimension of size 2",
    "cfloat": "there are no complex types; keep real and imaginary part in a dimension of size 2",
    "complex*": "there are no complex types; keep real and imaginary part in a dimension of size 2",
    "view_as_complex": "there are no complex types; use the two halves of a dimension",
    "view_as_real": "there are no complex types; a tensor is real already",
    "nn.Module.ipu": "there is one device, the CPU; leave the call out",
    "nn.Module.mtia": "there is one device, the CPU; leave the call out",
    "nn.Module.xpu": "there is one device, the CPU; leave the call out",
    "float8*": "there are no types of 8 bits but the integers; float16 and bfloat16 are the smallest",
    "uint16": "the unsigned type is uint8; use int32 for larger ones",
    "uint32": "the unsigned type is uint8; use int64 for larger ones",
    "uint64": "the unsigned type is uint8; use int64 for larger ones",
    "utils.checkpoint.CheckpointPolicy": "no hook sees ops below autograd; checkpoint the parts to run again",
    "utils.checkpoint.DefaultDeviceType": "there is one device, and its random numbers always repeat",
    "utils.checkpoint.SAC_IGNORED_OPS": "no hook sees ops below autograd; checkpoint the parts to run again",
    "utils.checkpoint.SelectiveCheckpointContext": "no hook sees ops below autograd; checkpoint the parts to run again",
    "utils.checkpoint.create_selective*": "no hook sees ops below autograd; checkpoint the parts to run again",
    "utils.checkpoint.get_device_states": "there is one device, and its random numbers always repeat",
    "utils.checkpoint.set_device_states": "there is one device, and its random numbers always repeat",
}


def refuse(package, name):
    """Return the AttributeError for a name that `package`, a dotted name, does not have.

    >>> print(refuse("tensorlab", "vmap"))
    tensorlab has no 'vmap' yet; it is planned with chapter 23, higher-order
    """
    if name.startswith("__"):
        return AttributeError(f"module {package!r} has no attribute {name!r}")
    reason = what_is_known(f"{package}.{name}".partition(".")[2])
    if reason:
        return AttributeError(f"{package} has no {name!r}{reason}")
    if is_module(package, name):
        return AttributeError(f"{package} has no {name!r} until you import {package}.{name}")
    import difflib

    known = [known for known in dir(sys.modules[package]) if not known.startswith("_")]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return AttributeError(f"{package} has no {name!r}{hint}")


def is_module(package, name):
    """Whether a package has a module of this name that is not imported with it."""
    import importlib.util

    has_modules = hasattr(sys.modules[package], "__path__")
    return has_modules and importlib.util.find_spec(f"{package}.{name}") is not None


class MissingAttribute:
    """An attribute that raises AttributeError, and says why; one that an instance is given takes its place."""

    def __init__(self, declared, name):
        self.declared, self.name = declared, name

    def __get__(self, instance, owner):
        whose = (
            f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        )
        reason = what_is_known(f"{self.declared}.{self.name}")
        raise AttributeError(f"{whose} has no attribute {self.name!r}{reason}")


def is_missing(thing, name):
    """True if everything that `thing` has for a name is a MissingAttribute."""
    return isinstance(inspect.getattr_static(thing, name, None), MissingAttribute)


def explain_missing_attributes(cls, declared):
    """Let a class say what the tables have for `declared`, its dotted name, about what PyTorch's class has."""
    for known in (*CHAPTERS, *NEVER):
        package, _, name = known.rpartition(".")
        if package == declared:
            setattr(cls, name, MissingAttribute(declared, name))


def what_is_known(name):
    """Say how a dotted name without `tensorlab.` is planned or why it is not; "" if nothing is known."""
    chapter = longest_prefix(CHAPTERS, name)
    if chapter:
        number, _, title = chapter.partition("-")
        return f" yet; it is planned with chapter {number}, {title}"
    reason = longest_prefix(NEVER, name)
    return f": {reason}" if reason else ""


def longest_prefix(table, name):
    """Return what `table` has for `name`: under its longest key that covers it, or None."""
    covering = [
        key
        for key in table
        if (name.startswith(key[:-1]) if key.endswith("*") else f"{name}.".startswith(f"{key}."))
    ]
    return table[max(covering, key=len)] if covering else None
