"""When a profile records: actions, schedules, and what is done with a trace that is ready."""

import os
import socket
import time
import warnings
from enum import Enum

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What can be recorded. This is the CPU; the others can be named, and there is nothing to record of them."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class DeviceType(Enum):
    """Where an event happened."""

    CPU = 0
    CUDA = 1
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    MTIA = 19
    PrivateUse1 = 20


class ProfilerAction(Enum):
    """What a profile does in a step.

    Examples
    --------
    >>> from tensorlab.profiler import schedule
    >>> plan = schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    """Return the set of activities that can be recorded: `{ProfilerActivity.CPU}`.

    Examples
    --------
    >>> supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def kineto_available():
    """Can `profile` record? Always; it needs no library for it."""
    return True


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """Return a function of the number of a step that says what `profile` does in it.

    After `skip_first` steps comes a cycle, again and again or `repeat` times: `wait` steps of
    nothing, `warmup` steps that are recorded and thrown away, `active` steps that are kept.

    Parameters
    ----------
    wait, warmup, active : int, steps of each part of a cycle
    repeat : int, how many cycles; 0: as many as there are steps
    skip_first : int, steps before the first cycle
    skip_first_wait : int; if not 0, the first cycle begins with its warmup

    Raises
    ------
    ValueError
        If a number is negative, or `active` is 0.

    Examples
    --------
    >>> actions = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [actions(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
    for name, number in {**given, "skip_first": skip_first}.items():
        if number < (name == "active"):
            least = "1 or more" if name == "active" else "0 or more"
            raise InvalidSchedule(f"schedule: {name} is {number}; it must be {least}")
    if warmup == 0:
        warnings.warn(
            "schedule: without warmup the first steps of a cycle are slower than others, and count",
            stacklevel=2,
        )
    length = wait + warmup + active

    def action_of(step):
        if step < 0:
            raise InvalidSchedule(f"schedule: the step is {step}; it must be 0 or more")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        if repeat > 0 and step >= repeat * length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action_of


class InvalidSchedule(ValueError, AssertionError):
    """A schedule that makes no sense. PyTorch raises AssertionError."""


def always(step):
    """Record each step: what `profile` does without a schedule."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """Return a function for `on_trace_ready` that writes each trace into a folder.

    Parameters
    ----------
    dir_name : str, the folder; it is made if it is missing
    worker_name : str, how names of files begin; the machine and the process unless given
    use_gzip : bool, whether files are compressed
    use_python_export : taken for PyTorch's sake; there is one export here

    Raises
    ------
    RuntimeError
        At the end of a cycle, if there is no such folder and none can be made.

    Examples
    --------
    >>> import os, tempfile, tensorlab
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handler = tensorboard_trace_handler(folder, "me")
    ...     with tensorlab.profiler.profile(on_trace_ready=handler):
    ...         x = tensorlab.ones(2)
    ...     [name.partition(".")[0] for name in os.listdir(folder)]
    ['me']
    """

    def write(prof):
        try:
            os.makedirs(dir_name, exist_ok=True)
        except (OSError, TypeError) as error:
            raise RuntimeError(
                f"tensorboard_trace_handler: {dir_name!r} cannot be made a folder: {error}"
            ) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, name + ".gz" * bool(use_gzip)))

    return write
