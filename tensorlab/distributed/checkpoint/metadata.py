"""The table of contents of a checkpoint: which piece of which tensor is in which file."""

import dataclasses
from typing import Any

from tensorlab import _missing

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorStorageMetadata"]


@dataclasses.dataclass
class ChunkStorageMetadata:
    """Where a piece lies in its tensor, and in which file it is."""

    offsets: tuple
    sizes: tuple
    file: str = ""


@dataclasses.dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint, and its pieces.

    Examples
    --------
    >>> import tempfile
    >>> import tensorlab
    >>> from tensorlab.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = checkpoint.save({"weight": tensorlab.ones(3)}, checkpoint_id=folder)
    ...
    >>> written.state_dict_metadata["weight"].size
    (3,)
    """

    size: tuple
    dtype: Any
    chunks: list


@dataclasses.dataclass
class BytesStorageMetadata:
    """A value of a checkpoint that is not a tensor, and the file that it is in."""

    file: str = ""


@dataclasses.dataclass
class Metadata:
    """The table of contents of a checkpoint.

    Attributes
    ----------
    state_dict_metadata : dict of keys to TensorStorageMetadata or BytesStorageMetadata
    planner_data : dict of keys to tuples, the path of each key in the nested state dict

    Examples
    --------
    >>> import tempfile
    >>> import tensorlab
    >>> from tensorlab.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = checkpoint.save({"weight": tensorlab.ones(3)}, checkpoint_id=folder)
    ...
    >>> list(written.state_dict_metadata)
    ['weight']
    """

    state_dict_metadata: dict
    planner_data: dict = dataclasses.field(default_factory=dict)

    def files(self):
        """Return the names of all files that the checkpoint needs."""
        names = set()
        for entry in self.state_dict_metadata.values():
            pieces = entry.chunks if isinstance(entry, TensorStorageMetadata) else [entry]
            names.update(piece.file for piece in pieces)
        return names


__getattr__ = _missing.refusing(__name__)
