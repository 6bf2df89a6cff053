"""Write tests/pytorch_names.txt: the public names of PyTorch, a line for each of its namespaces.

Usage: python -m tests.record_pytorch_names

A namespace is a module without an underscore in its path; its names are those of `__all__` or, without it, what
PyTorch defines there under a name without an underscore. Modules are no names: they are namespaces of their own.
"""

import importlib
import pkgutil
import types
import warnings
from pathlib import Path

PATH = Path(__file__).with_name("pytorch_names.txt")


def namespaces(module):
    """Yield a package and all public modules in it that can be imported here."""
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if found.name.startswith("_"):
            continue
        try:
            inner = importlib.import_module(f"{module.__name__}.{found.name}")
        except (
            BaseException
        ):  # what needs a device or a library that this machine lacks, or runs as a program
            continue
        yield from namespaces(inner)


def names_of(module):
    """Return the sorted public names of a namespace."""
    everything = vars(module)
    own = [
        name
        for name, value in everything.items()
        if str(getattr(value, "__module__", "")).startswith("torch")
    ]
    listed = everything.get("__all__", own)
    return sorted(
        {
            name
            for name in listed
            if not name.startswith("_") and not isinstance(everything.get(name), types.ModuleType)
        }
    )


def main():
    import torch

    warnings.simplefilter("ignore")
    lines = [f"{one.__name__}: {' '.join(names_of(one))}" for one in namespaces(torch)]
    PATH.write_text(
        "\n".join(line for line in lines if not line.endswith(": ")) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
