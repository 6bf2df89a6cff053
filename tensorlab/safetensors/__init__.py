"""Tensors in the safetensors format: names, shapes and bytes, and nothing that could be run.

    file:   8 bytes: how long the header is | header: JSON | the bytes of all tensors, without a gap

The functions are those of `safetensors.torch`, and so are the files, byte for byte. The library `safetensors` writes
them and checks the header of what is read; it comes with `pip install "tensorlab-book[safetensors]"` and is
imported when the first file is saved or loaded.

saving.py    save, save_file        which tensors can be written
loading.py   load, load_file, safe_open
models.py    save_model, load_model for modules whose parameters share memory
library.py   the library itself, and its names of the dtypes

The format has no checksums: a changed byte of a tensor is another number, and goes unnoticed.
"""

from .. import _missing
from .loading import load, load_file, safe_open
from .models import load_model, save_model
from .saving import save, save_file

__all__ = [
    "load",
    "load_file",
    "load_model",
    "safe_open",
    "save",
    "save_file",
    "save_model",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
