"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.distributed import FileStore as FileStore
from tensorlab.distributed import HashStore as HashStore
from tensorlab.distributed import PrefixStore as PrefixStore
from tensorlab.distributed import Store as Store
from tensorlab.distributed import TCPStore as TCPStore

__all__ = [
    "FileStore",
    "HashStore",
    "PrefixStore",
    "Store",
    "TCPStore",
]
