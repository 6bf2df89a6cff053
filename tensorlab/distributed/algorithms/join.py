"""Join: train on uneven numbers of batches, so that no rank waits forever.

Each rank tells the others at the beginning of a pass that it still trains. A rank that leaves
the block goes on to answer for the *joinables* in it, such as a data parallel module, until all
have left.
"""

import warnings

from tensorlab import _missing
from tensorlab._core.interop.exchange import tensor
from tensorlab.distributed import collectives
from tensorlab.distributed.process_groups import the_group
from tensorlab.errors import DistError

__all__ = ["Join", "JoinHook", "Joinable"]

MANY_SHADOWS = 1000


class JoinConfig:
    """What a joinable knows of the block it's in.

    Attributes
    ----------
    enable, throws : bool, as given to Join
    is_first : bool, whether this joinable announces passes
    options : dict, what Join passes on to the joinables
    """

    def __init__(self, enable=False, throws=False, is_first=False, options=None):
        self.enable, self.throws, self.is_first = enable, throws, is_first
        self.options = options or {}


class JoinHook:
    """What a joinable does after its rank has joined; a subclass says it."""

    def main_hook(self):
        """Take part in the collectives of one pass of the other ranks."""

    def post_hook(self, is_last_joiner):
        """Called once when all ranks have joined.

        Parameters
        ----------
        is_last_joiner : bool, whether this rank was one of the last
        """


class Joinable:
    """A class whose objects call collectives in each pass: it says how these are shadowed.

    A subclass defines `join_hook(**kwargs)`, `join_device` and `join_process_group`.
    """

    def __init__(self):
        self._join_config = JoinConfig()

    def join_hook(self, **kwargs):
        """Return a JoinHook."""
        raise NotImplementedError(f"{type(self).__name__}.join_hook: a Joinable defines it")

    @property
    def join_device(self):
        raise NotImplementedError(f"{type(self).__name__}.join_device: a Joinable defines it")

    @property
    def join_process_group(self):
        raise NotImplementedError(
            f"{type(self).__name__}.join_process_group: a Joinable defines it"
        )


class Join:
    """Within the block, ranks may have different numbers of passes.

    Parameters
    ----------
    joinables : list of Joinable, of one process group
    enable : bool; False changes nothing
    throw_on_early_termination : bool; True raises a RuntimeError at all ranks as soon as one
        has no more passes
    kwargs : passed on to `join_hook` of each joinable

    Raises
    ------
    ValueError
        If there are no joinables, or they have different groups.
    """

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {id(the_group(one.join_process_group)) for one in joinables}
        if len(groups) > 1:
            raise ValueError("Join: Using join context manager with multiple process groups")
        self.joinables, self.enable, self.throws = joinables, enable, throw_on_early_termination
        for place, one in enumerate(joinables):
            config = JoinConfig(enable, throw_on_early_termination, place == 0, dict(kwargs))
            one._join_config = config
        self.hooks = [one.join_hook(**kwargs) for one in joinables] if enable else []
        self.group = the_group(joinables[0].join_process_group)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if not self.enable or kind is not None:
            self.leave()
            return
        shadows, is_last = 0, True
        while True:
            if shadows == MANY_SHADOWS:
                warnings.warn(
                    f"Join: rank {self.group.rank()} has shadowed {shadows} passes of the "
                    "others; the numbers of batches differ that much",
                    stacklevel=2,
                )
            training = tensor([0.0])
            collectives.all_reduce(training, group=self.group)
            if not training.item():
                break
            if self.throws:
                self.say_who_threw()
            is_last = False
            for hook in self.hooks:
                hook.main_hook()
            shadows += 1
        for hook in self.hooks:
            hook.post_hook(is_last)
        self.leave()

    def say_who_threw(self):
        collectives.all_reduce(tensor([1.0]), group=self.group)
        self.leave()
        raise DistError(
            f"Rank {self.group.rank()} exhausted all inputs, and the others still have some"
        )

    def leave(self):
        for one in self.joinables:
            one._join_config = JoinConfig()

    @staticmethod
    def notify_join_context(joinable):
        """Tell the ranks that have joined that this one begins another pass.

        Each joinable calls it before its first collective of a pass.

        Returns
        -------
        Work of an all_reduce that counts the ranks which still train; None where nothing is to
        be told, as for all joinables of a block but the first
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(
                f"Check that the {type(joinable).__name__} calls Joinable.__init__ in its "
                "constructor"
            )
        config = joinable._join_config
        if not config.enable or not config.is_first:
            return None
        group = the_group(joinable.join_process_group)
        work = collectives.all_reduce(tensor([1.0]), group=group, async_op=True)
        if config.throws:
            threw = tensor([0.0])
            collectives.all_reduce(threw, group=group)
            if threw.item():
                raise DistError(
                    "Detected at least one rank that exhausted inputs. Throwing across all ranks."
                )
        return work


__getattr__ = _missing.refusing(__name__)
