"""The files of a checkpoint: one for each rank, and a table of contents that is written last.

A save never touches the files of the one before: its own have new names, and only when all are
on the disk does the table of contents, which is replaced in one step, begin to name them. So a
rank that dies in the middle leaves the checkpoint before. Every tensor has a checksum, which
loading compares.
"""

import os
import re
from pathlib import Path

from tensorlab import _missing
from tensorlab.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from tensorlab.errors import MissingData
from tensorlab.serialization.loading import load
from tensorlab.serialization.names import add_own_classes
from tensorlab.serialization.saving import save

__all__ = ["FileSystemReader", "FileSystemWriter"]

CONTENTS = ".metadata"
add_own_classes([BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata])


class FileSystemWriter:
    """Writes a checkpoint into a folder.

    Parameters
    ----------
    path : str or path of the folder, which is made if need be
    overwrite : bool; False refuses a folder that holds a checkpoint
    single_file_per_rank, sync_files, thread_count : accepted for PyTorch's sake: there is one
        file a rank, and it is on the disk before the save ends

    Examples
    --------
    >>> import tempfile
    >>> import tensorlab
    >>> from tensorlab.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = FileSystemWriter(folder)
    ...     _ = checkpoint.save({"weight": tensorlab.ones(3)}, storage_writer=writer)
    ...     found = {"weight": tensorlab.zeros(3)}
    ...     checkpoint.load(found, storage_reader=FileSystemReader(folder))
    ...
    >>> found
    {'weight': tensor([1., 1., 1.])}
    """

    def __init__(
        self, path, single_file_per_rank=True, sync_files=True, thread_count=1, overwrite=True
    ):
        self.path, self.overwrite = Path(path), overwrite

    def begin(self):
        """Make the folder; return a number that no earlier save has in its names."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / CONTENTS).exists():
            raise FileExistsError(
                f"checkpoint: {self.path} holds a checkpoint, and overwrite is False"
            )
        numbers = [int(m[1]) for f in os.listdir(self.path) if (m := re.match(r"__\d+_(\d+)\.", f))]
        return max(numbers, default=-1) + 1

    def name_of(self, rank, number):
        """Return the name of a rank's file."""
        return f"__{rank}_{number}.distcp"

    def write(self, name, entries):
        """Write a rank's entries, a dict, to its file."""
        save(entries, self.path / name)

    def commit(self, contents):
        """Replace the table of contents, and remove files that it doesn't name."""
        save(contents, self.path / CONTENTS)
        needed = contents.files()
        for name in os.listdir(self.path):
            if name.endswith(".distcp") and name not in needed:
                self.remove(name)

    def remove(self, name):
        """Remove a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)


class FileSystemReader:
    """Reads a checkpoint from a folder.

    Parameters
    ----------
    path : str or path of the folder

    Examples
    --------
    >>> import tempfile
    >>> import tensorlab
    >>> from tensorlab.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = checkpoint.save({"weight": tensorlab.ones(3)}, checkpoint_id=folder)
    ...     found = {"weight": tensorlab.zeros(3)}
    ...     checkpoint.load(found, storage_reader=FileSystemReader(folder))
    ...
    >>> found
    {'weight': tensor([1., 1., 1.])}
    """

    def __init__(self, path):
        self.path = Path(path)
        self.opened = {}

    def read_metadata(self):
        """Return the table of contents.

        Raises
        ------
        MissingData
            If there is no checkpoint.
        """
        if not (self.path / CONTENTS).exists():
            raise MissingData(
                f"checkpoint: {self.path} holds no checkpoint: it has no file {CONTENTS}, "
                "which is written when all ranks have saved"
            )
        return load(self.path / CONTENTS)

    def read(self, file, key):
        """Return the entry of a file that belongs to a key; a file is opened once."""
        if file not in self.opened:
            self.opened[file] = load(self.path / file)
        return self.opened[file][key]

    def close(self):
        """Forget the files that were opened."""
        self.opened.clear()


__getattr__ = _missing.refusing(__name__)
