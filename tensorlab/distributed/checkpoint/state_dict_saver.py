"""save and async_save: each rank writes what it has, and no piece is written twice."""

import concurrent.futures
import threading

from tensorlab import _missing
from tensorlab._tensor import Tensor
from tensorlab.distributed import objects, process_groups, world
from tensorlab.distributed.checkpoint import layout
from tensorlab.distributed.checkpoint.api import CheckpointException, sendable
from tensorlab.distributed.checkpoint.filesystem import FileSystemWriter
from tensorlab.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)

__all__ = ["async_save", "save"]


def save(
    state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None,
    no_dist=False, use_collectives=True,
):  # fmt: skip
    """Save a state dict, to which all ranks contribute, in a folder.

    Parameters
    ----------
    state_dict : dict, nested, of tensors, DTensors and other values; objects with `state_dict`
        and `load_state_dict` are saved through these
    checkpoint_id : str or path of the folder
    storage_writer : FileSystemWriter, instead of `checkpoint_id`
    planner : refused
    process_group : ProcessGroup, by default all ranks, which all call this
    no_dist : bool; True saves what this process has, and asks no others
    use_collectives : accepted for PyTorch's sake

    Returns
    -------
    Metadata, what the checkpoint holds

    Raises
    ------
    CheckpointException
        At all ranks, if one of them can't write its part; what was saved there before stays.

    Examples
    --------
    >>> import tempfile, tensorlab
    >>> from tensorlab.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     contents = checkpoint.save({"w": tensorlab.ones(2)}, checkpoint_id=folder)
    ...     state = {"w": tensorlab.zeros(2)}
    ...     checkpoint.load(state, checkpoint_id=folder)
    ...     state["w"]
    tensor([1., 1.])
    """
    job = Job(state_dict, checkpoint_id, storage_writer, planner, process_group, no_dist)
    return job.write()


def async_save(
    state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None,
    async_checkpointer_type=None, async_stager=None, no_dist=False, use_collectives=True,
):  # fmt: skip
    """Copy a state dict, and save the copy in a thread while training goes on.

    Parameters are those of `save`.

    Returns
    -------
    concurrent.futures.Future of the Metadata; wait for it before the next save

    Examples
    --------
    >>> import tempfile
    >>> import tensorlab
    >>> from tensorlab.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saving = checkpoint.async_save({"weight": tensorlab.ones(3)}, checkpoint_id=folder)
    ...     _ = saving.result()  # training goes on until here
    ...     found = {"weight": tensorlab.zeros(3)}
    ...     checkpoint.load(found, checkpoint_id=folder)
    ...
    >>> found
    {'weight': tensor([1., 1., 1.])}
    """
    group = layout.group_or_alone(process_group, no_dist)
    own = None if group is None else process_groups.new_group(list(group.ranks))
    job = Job(state_dict, checkpoint_id, storage_writer, planner, own, no_dist, copies=True)
    ours = world.current()  # the thread that saves has none
    future = concurrent.futures.Future()

    def run():
        try:
            future.set_result(job.write())
        except BaseException as error:
            future.set_exception(error)
        finally:
            if own is not None and ours.groups.pop(own.group_name, None):
                own.transport.close()

    threading.Thread(target=run, name="async_save", daemon=False).start()
    return future


class Job:
    """One save: the plan, made on the caller's thread, and the files."""

    def __init__(self, state_dict, path, writer, planner, group, no_dist, copies=False):
        if planner is not None:
            raise NotImplementedError("checkpoint.save: planners are not here; leave planner out")
        if (path is None) == (writer is None):
            raise ValueError("checkpoint.save: give checkpoint_id, a folder, or storage_writer")
        self.writer = FileSystemWriter(path) if writer is None else writer
        self.group = layout.group_or_alone(group, no_dist)
        self.rank = 0 if self.group is None else self.group.rank()
        self.values, self.paths = {}, {}
        for path_in, value in layout.flatten(through_methods(state_dict)):
            key = layout.key_of(path_in)
            self.paths[key] = path_in
            if isinstance(value, Tensor):
                value = layout.piece_of(value)
                value.local = value.local.clone() if copies else value.local
            self.values[key] = value
        self.number = self.shared(self.attempt(self.writer.begin) if self.rank == 0 else None)
        self.raise_if({0: self.number} if isinstance(self.number, Exception) else {})
        self.plan()

    def attempt(self, function, *args):
        """Return what a function returns, or the error that it raises, as it can be sent."""
        try:
            return function(*args)
        except Exception as error:
            return sendable(error)

    def shared(self, value):
        """Return rank 0's value at all ranks."""
        if self.group is None:
            return value
        box = [value]
        objects.broadcast_object_list(box, group=self.group, group_src=0)
        return box[0]

    def everyone(self, value):
        """Return the values of all ranks."""
        if self.group is None:
            return [value]
        values = [None] * self.group.size()
        objects.all_gather_object(values, value, self.group)
        return values

    def raise_if(self, failures):
        if failures:
            raise CheckpointException("checkpoint.save: the checkpoint was not written", failures)

    def plan(self):
        """Find out who writes what: a piece that several ranks have is given to the least busy."""
        mine = {
            key: (v.size, v.local.dtype, v.offsets, tuple(v.local.shape), v.local.numel())
            if isinstance(v, layout.Piece)
            else None
            for key, v in self.values.items()
        }
        every = self.everyone((mine, self.paths))
        load, self.contents, self.own = [0] * len(every), Metadata({}, {}), {}
        holders = {}
        for rank, (items, paths) in enumerate(every):
            self.contents.planner_data.update(paths)
            for key, item in items.items():
                box = None if item is None else (item[2], item[3])
                holders.setdefault((key, box), (item, []))[1].append(rank)
        for (key, box), (item, ranks) in holders.items():
            owner = min(ranks, key=lambda rank: (load[rank], rank))
            file = self.writer.name_of(owner, self.number)
            if box is None:
                self.contents.state_dict_metadata[key] = BytesStorageMetadata(file)
            else:
                size, dtype, offsets, sizes, numel = item
                load[owner] += numel
                whole = self.contents.state_dict_metadata.setdefault(
                    key, TensorStorageMetadata(size, dtype, [])
                )
                if numel or not whole.chunks:
                    whole.chunks.append(ChunkStorageMetadata(offsets, sizes, file))
            if owner == self.rank:
                value = self.values[key]
                self.own[key] = value.local if isinstance(value, layout.Piece) else value

    def write(self):
        """Write this rank's file; when all ranks have, let the table of contents name them."""
        name = self.writer.name_of(self.rank, self.number)
        error = self.attempt(self.writer.write, name, self.own)
        failures = {rank: e for rank, e in enumerate(self.everyone(error)) if e is not None}
        if failures:
            self.attempt(self.writer.remove, name)
        self.raise_if(failures)
        done = self.shared(
            self.attempt(self.writer.commit, self.contents) if self.rank == 0 else None
        )
        self.raise_if({} if done is None else {0: done})
        return self.contents


def through_methods(state_dict):
    """Return a state dict in which objects that have a `state_dict` are replaced by it."""
    return {
        key: value.state_dict() if is_stateful(value) else value
        for key, value in state_dict.items()
    }


def is_stateful(value):
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


__getattr__ = _missing.refusing(__name__)
