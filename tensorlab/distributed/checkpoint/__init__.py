"""Checkpoints of several ranks: each writes its part, and any number of ranks reads them."""

from tensorlab import _missing
from tensorlab.distributed.checkpoint import state_dict
from tensorlab.distributed.checkpoint.files import FileSystemReader, FileSystemWriter
from tensorlab.distributed.checkpoint.layout import (
    BytesStorageMetadata,
    CheckpointException,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from tensorlab.distributed.checkpoint.loading import load
from tensorlab.distributed.checkpoint.saving import async_save, save

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
