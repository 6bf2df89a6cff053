"""Stores: keys and values that processes share, to find each other and to agree on small things."""

from .file_store import FileStore
from .hash_store import HashStore
from .prefix_store import PrefixStore
from .store import Store
from .tcp_store import TCPStore

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]
