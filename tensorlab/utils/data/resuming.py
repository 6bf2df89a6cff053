"""Resuming a pass: a loader that was stopped after some batches goes on with the one after them.

What is kept is not the order of the samples but what it was drawn from: the state of the random numbers when the
pass began, and how many batches were given. The loader that resumes begins the same pass again and leaves out what was
given.

    epoch     state S --> indices 7 2 | 9 0 | 4 1 | 8 3 ...
              given:      ^^^^^   ^^^           state_dict(): S, 2 batches
    resumed   state S --> indices 7 2 | 9 0     passed over
                                            4 1 | 8 3 ...
"""

import random
import warnings
from contextlib import contextmanager

import numpy as np

from ..._core.random import Generator, default_generator

__all__ = ["Progress", "checked", "generators_of", "random_numbers_kept", "state_of"]

KEYS = {"given", "generators", "num_workers", "has_old_workers"}


class Progress:
    """How far a pass has come.

    Attributes
    ----------
    began : list of tensors, the states of the default generator and of those of the samplers
        when it began
    given : int, how many batches were asked for; one whose sample raised counts
    is_over : bool
    has_old_workers : bool, whether the workers have been through another pass before
    reported : int or None, how many samples a stream said it has, if someone asked
    """

    def __init__(self, loader):
        generators = default_generator(), *generators_of(loader)
        self.began = [generator.get_state() for generator in generators]
        self.given, self.is_over, self.has_old_workers = 0, False, False
        self.reported = loader._IterableDataset_len_called
        self.has_workers = loader.num_workers > 0

    def compare_with_length(self):
        """Warn if more batches were given than the stream said it has samples."""
        if self.given <= self.reported:
            return
        advice = (
            ". Each worker has a copy of the data set: let it give its own part of the samples, with get_worker_info()"
            if self.has_workers
            else ""
        )
        warnings.warn(
            f"DataLoader: Length of IterableDataset was reported to be {self.reported} (when accessing len(loader)), "
            f"but {self.given} samples have been fetched{advice}",
            UserWarning,
            stacklevel=4,
        )


def generators_of(loader):
    """Return the generators that a program gave to the loader or to its samplers."""
    samplers = loader.sampler, loader.batch_sampler, getattr(loader.batch_sampler, "sampler", None)
    owners = loader, *samplers
    given = [getattr(owner, "generator", None) for owner in owners]
    found = {id(g): g for g in given if isinstance(g, Generator) and g is not default_generator()}
    return list(found.values())


def state_of(loader, progress):
    """Return what `DataLoader.state_dict` gives: a dict of numbers and tensors."""
    if progress is None or progress.is_over:
        states = [generator.get_state() for generator in generators_of(loader)]
        return as_dict(loader, None, states, False)
    if loader.num_workers and not loader.in_order:
        raise RuntimeError(
            "DataLoader: with in_order=False no one can say which batches were given, so a pass can't be resumed; "
            "use in_order=True, or save between passes"
        )
    if progress.has_old_workers:
        warnings.warn(
            "DataLoader: with persistent_workers=True the random numbers of the workers run on from pass to pass. A "
            "later pass that is resumed has the same order, but other random numbers in its workers",
            UserWarning,
            stacklevel=3,
        )
    return as_dict(loader, progress.given, progress.began, progress.has_old_workers)


def as_dict(loader, given, states, has_old_workers):
    return {
        "given": given,
        "generators": states,
        "num_workers": loader.num_workers,
        "has_old_workers": has_old_workers,
    }


def checked(loader, state):
    """Return the state if it can be that of this loader."""
    if not isinstance(state, dict) or set(state) != KEYS:
        raise ValueError(
            f"DataLoader: {state!r} is no state of a loader; expected what state_dict() returned"
        )
    if state["num_workers"] != loader.num_workers:
        raise ValueError(
            f"DataLoader: the state is of a loader with num_workers={state['num_workers']}, and this one has "
            f"{loader.num_workers}; the random numbers depend on it, so they must be equal"
        )
    found = len(state["generators"]) - (state["given"] is not None)
    expected = len(generators_of(loader))
    if found != expected:
        raise ValueError(
            f"DataLoader: the state is of a loader with {found} generator(s) of its own, and this one has {expected}; "
            "make it with the same generator= and samplers"
        )
    return state


@contextmanager
def random_numbers_kept():
    """Put the program's random numbers, which the checkpoint restores by itself, back in the end."""
    states = default_generator().get_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        default_generator().set_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])  # noqa: NPY002
