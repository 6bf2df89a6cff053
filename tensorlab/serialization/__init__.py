"""Saving and loading: checkpoints in PyTorch's format, and what is allowed in them.

saving.py       save
loading.py      load
archive.py      the container, a zip file with checksums
pickler.py      objects to a pickle             storages.py    the bytes that it names
unpickler.py    the reader, which runs nothing  names.py       what it may call
legacy.py       the format before the zip files
"""

from tensorlab import _missing

from .loading import get_unsafe_globals_in_checkpoint, load
from .names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .saving import save

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]

__getattr__ = _missing.refusing(__name__)
