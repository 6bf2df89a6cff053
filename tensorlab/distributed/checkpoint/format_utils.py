"""From a checkpoint of several ranks to one file, and back."""

from tensorlab import _missing
from tensorlab.distributed.checkpoint.filesystem import FileSystemReader
from tensorlab.distributed.checkpoint.metadata import TensorStorageMetadata
from tensorlab.distributed.checkpoint.state_dict_loader import load as load_pieces
from tensorlab.distributed.checkpoint.state_dict_saver import save as save_pieces
from tensorlab.ops.creation import empty
from tensorlab.serialization.loading import load
from tensorlab.serialization.saving import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    """Write all of a checkpoint of several ranks to one file, which `load` reads.

    One process does it, and needs room for everything.

    Examples
    --------
    >>> import tempfile, tensorlab
    >>> from tensorlab.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = checkpoint.save({"model": {"w": tensorlab.ones(2)}}, checkpoint_id=f"{folder}/many")
    ...     dcp_to_torch_save(f"{folder}/many", f"{folder}/one.pt")
    ...     tensorlab.load(f"{folder}/one.pt")
    {'model': {'w': tensor([1., 1.])}}
    """
    contents = FileSystemReader(dcp_checkpoint_dir).read_metadata()
    state = {}
    for key, entry in contents.state_dict_metadata.items():
        *path, last = contents.planner_data[key]
        inner = state
        for part in path:
            inner = inner.setdefault(part, {})
        is_tensor = isinstance(entry, TensorStorageMetadata)
        inner[last] = empty(entry.size, dtype=entry.dtype) if is_tensor else None
    load_pieces(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
    save(numbered_as_lists(state), torch_save_path)


def numbered_as_lists(values):
    """Return nested dicts in which those with the keys 0, 1, ... are lists, as they were saved."""
    if not isinstance(values, dict):
        return values
    inner = {key: numbered_as_lists(value) for key, value in values.items()}
    if inner and list(inner) == list(range(len(inner))):
        return list(inner.values())
    return inner


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    """Write what is in a file to a folder, as a checkpoint that any number of ranks can read."""
    save_pieces(load(torch_save_path), checkpoint_id=dcp_checkpoint_dir, no_dist=True)


__getattr__ = _missing.refusing(__name__)
