"""load: each rank reads the pieces that overlap with its own."""

from tensorlab import _missing
from tensorlab._tensor import Tensor
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.distributed import objects
from tensorlab.distributed.checkpoint import layout
from tensorlab.distributed.checkpoint.api import CheckpointException, sendable
from tensorlab.distributed.checkpoint.filesystem import FileSystemReader
from tensorlab.distributed.checkpoint.metadata import (
    TensorStorageMetadata,
)
from tensorlab.distributed.checkpoint.state_dict_saver import is_stateful
from tensorlab.errors import MissingData, ShapeError

__all__ = ["load"]


def load(
    state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None,
    no_dist=False,
):  # fmt: skip
    """Read a checkpoint into a state dict, in place; any number of ranks can read it.

    Parameters
    ----------
    state_dict : dict, nested, as it was given to `save`: it says what is read. Tensors and
        DTensors are written in place; other values are replaced; objects get their
        `load_state_dict` called
    checkpoint_id : str or path of the folder
    storage_reader : FileSystemReader, instead of `checkpoint_id`
    planner : refused
    process_group : ProcessGroup, by default all ranks, which all call this
    no_dist : bool; True asks no other ranks

    Raises
    ------
    CheckpointException
        At all ranks, if a key is missing, a shape differs, or a file is damaged at one of them.
        Then tensors may have been written in part, and only then.

    Examples
    --------
    >>> import tempfile
    >>> import tensorlab
    >>> from tensorlab.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = checkpoint.save({"weight": tensorlab.ones(3)}, checkpoint_id=folder)
    ...     found = {"weight": tensorlab.zeros(3)}  # load fills what is there
    ...     checkpoint.load(found, checkpoint_id=folder)
    ...
    >>> found
    {'weight': tensor([1., 1., 1.])}
    """
    if planner is not None:
        raise NotImplementedError("checkpoint.load: planners are not here; leave planner out")
    if (checkpoint_id is None) == (storage_reader is None):
        raise ValueError("checkpoint.load: give checkpoint_id, a folder, or storage_reader")
    reader = FileSystemReader(checkpoint_id) if storage_reader is None else storage_reader
    group = layout.group_or_alone(process_group, no_dist)
    error = None
    try:
        read_into(state_dict, reader)
    except Exception as failure:
        error = sendable(failure)
    finally:
        reader.close()
    errors = [error]
    if group is not None:
        errors = [None] * group.size()
        objects.all_gather_object(errors, error, group)
    failures = {rank: e for rank, e in enumerate(errors) if e is not None}
    if failures:
        raise CheckpointException("checkpoint.load: the checkpoint can't be read", failures)


def read_into(state_dict, reader):
    """Read everything that the state dict names; all of it is checked before anything is written."""
    contents = reader.read_metadata()
    stateful = {key: value for key, value in state_dict.items() if is_stateful(value)}
    plain = {
        key: stateful[key].state_dict() if key in stateful else value
        for key, value in state_dict.items()
    }
    targets = list(layout.flatten(plain))
    for path, value in targets:
        check(path, value, contents.state_dict_metadata)
    for path, value in targets:
        key = layout.key_of(path)
        entry = contents.state_dict_metadata[key]
        if isinstance(value, Tensor):
            fill(layout.piece_of(value), key, entry, reader)
        else:
            layout.put(plain, path, reader.read(entry.file, key))
    for key, value in plain.items():
        if key in stateful:
            stateful[key].load_state_dict(value)
        else:
            state_dict[key] = value


def check(path, value, entries):
    """Raise an error for a value that the checkpoint doesn't have so."""
    key = layout.key_of(path)
    if key not in entries:
        raise MissingData(f"Missing key in checkpoint state_dict: {key}. It has {some(entries)}")
    entry = entries[key]
    if isinstance(value, Tensor) != isinstance(entry, TensorStorageMetadata):
        kind = "a tensor" if isinstance(entry, TensorStorageMetadata) else "no tensor"
        raise MissingData(
            f"{key} is {kind} in the checkpoint; the state dict has a {type(value).__name__}"
        )
    if isinstance(value, Tensor) and tuple(value.shape) != tuple(entry.size):
        raise ShapeError(
            f"Size mismatch between saved {tuple(entry.size)} and current: "
            f"{tuple(value.shape)} for {key}"
        )


def some(entries):
    names = sorted(entries)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def fill(piece, key, entry, reader):
    """Write to a rank's piece what overlaps with it."""
    with no_grad():
        for chunk in entry.chunks:
            if not piece.offsets:
                piece.local.copy_(reader.read(chunk.file, key))
                continue
            shared = layout.overlap(piece.offsets, piece.local.shape, chunk.offsets, chunk.sizes)
            if shared is not None:
                here, there = shared
                piece.local[here].copy_(reader.read(chunk.file, key)[there])


__getattr__ = _missing.refusing(__name__)
