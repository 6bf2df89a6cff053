"""Checkpoints of several ranks: each writes its part, and any number of ranks reads them."""

from tensorlab import _missing
from tensorlab.distributed.checkpoint import state_dict
from tensorlab.distributed.checkpoint.api import CheckpointException
from tensorlab.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from tensorlab.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from tensorlab.distributed.checkpoint.state_dict_loader import load
from tensorlab.distributed.checkpoint.state_dict_saver import async_save, save

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "FileSystemReader",
    "FileSystemWriter",
    "Metadata",
    "TensorStorageMetadata",
    "async_save",
    "load",
    "save",
    "state_dict",
]
__getattr__ = _missing.refusing(__name__)
