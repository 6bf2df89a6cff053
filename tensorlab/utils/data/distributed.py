"""DistributedSampler: each of several processes gets its own part of a data set."""

import math
import sys
import warnings

from ..._core.random import Generator
from ...ops.random_factories import randperm
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The indices of one process out of several: every `num_replicas`-th of an order that all agree on.

    Parameters
    ----------
    dataset : sized
    num_replicas : int, how many processes; by default as many as the default process group has
    rank : int, which of them this is, from 0; by default this process's
    shuffle : bool; the order is random, and `set_epoch` gives each pass a new one
    seed : int, equal in all processes
    drop_last : bool; samples left over are dropped, so that all get as many; else some come twice

    Raises
    ------
    RuntimeError
        If the number of processes or the rank is not given, and there is no process group to ask.
    ValueError
        If the rank is not one of them.

    Examples
    --------
    >>> from tensorlab.utils.data import DistributedSampler
    >>> [list(DistributedSampler(range(6), num_replicas=2, rank=rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 5]]
    """

    def __init__(
        self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False
    ):
        if num_replicas is None or rank is None:
            groups = sys.modules.get("tensorlab.distributed.process_groups")
            if groups is None or not groups.is_initialized():
                raise RuntimeError(
                    f"DistributedSampler: num_replicas is {num_replicas} and rank {rank}; give both, or call "
                    "distributed.init_process_group before"
                )
            num_replicas = groups.get_world_size() if num_replicas is None else num_replicas
            rank = groups.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler: Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.last_epoch, self.has_warned = None, False  # of the pass before
        self.drop_last = drop_last
        share = len(dataset) / num_replicas
        self.num_samples = math.floor(share) if drop_last else math.ceil(share)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self):
        n = len(self.dataset)
        if self.shuffle:
            if self.last_epoch == self.epoch and not self.has_warned:
                self.has_warned = True
                warnings.warn(
                    f"DistributedSampler: the order of epoch {self.epoch} is used again, so every epoch sees the "
                    "samples in the same order; call sampler.set_epoch(epoch) before each pass",
                    stacklevel=2,
                )
            self.last_epoch = self.epoch
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = randperm(n, generator=generator).tolist()
        else:
            order = list(range(n))
        if n and self.total_size > n:
            order = order * math.ceil(self.total_size / n)
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Choose the order of the next pass; call it before each, with the same number in all processes."""
        self.epoch = epoch
