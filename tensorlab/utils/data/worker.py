"""A worker: a process that loads batches for a DataLoader.

Its main thread does what the tasks say, one after the other. A second thread reads the tasks from the pipe, so that
the loader never has to wait for a worker that is busy, and it notices when the loader is gone: then it ends the
process, even in the middle of a batch.
"""

import os
import pickle
import queue
import random
import signal
import threading
import time
import traceback
from dataclasses import dataclass

import numpy as np

from ..._core.profiling import now
from ...random import manual_seed
from ...threads import set_num_threads
from .fetching import EndOfStream, Fetcher
from .segments import Sender

__all__ = ["GRACE", "Failure", "WorkerInfo", "get_worker_info", "work"]

GRACE = 1.0  # seconds that a worker has for its last batch when the loader is gone
info = None


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker knows of itself.

    Attributes
    ----------
    id : int, from 0 to num_workers - 1
    num_workers : int
    seed : int, with which this worker's random numbers began
    dataset : the copy of the data set in this process
    """

    id: int
    num_workers: int
    seed: int
    dataset: object


def get_worker_info():
    """Return the WorkerInfo of this process; None in the main process.

    An IterableDataset asks it which part of the stream is its own: without that, each worker gives the whole stream.

    Examples
    --------
    >>> get_worker_info() is None  # in the main process
    True
    """
    return info


class Failure:
    """An exception that was raised in a worker, at a batch, on its way to the loader."""

    def __init__(self, error, worker, number, index):
        self.kind = type(error)
        where = f"in DataLoader worker process {worker} ({described(number, index)})"
        trace = "".join(traceback.format_exception(error))
        self.text = f"Caught {self.kind.__name__} {where}.\nOriginal {trace}"
        if issubclass(self.kind, StopIteration):  # raised in the loop, it would end it
            self.kind = RuntimeError
        try:
            pickle.dumps(self.kind)
        except Exception:  # a class that the main process can't find, such as one in a function
            self.kind = RuntimeError

    def error(self):
        """Return an exception of the same class that shows the worker's traceback."""
        text = Verbatim(self.text) if issubclass(self.kind, KeyError) else self.text
        try:
            return self.kind(text)
        except Exception:  # a class whose constructor wants something else
            return RuntimeError(self.text)


class Verbatim(str):
    """A text that KeyError shows as it is, with its lines."""

    def __repr__(self):
        return str(self)


def described(number, index):
    """Say which batch this is."""
    return f"batch {number}" if index is None else f"batch {number}, indices {index}"


def work(connection, not_mine, worker, count, base_seed, job, init_fn):
    """Do tasks (pass, number, index, free segments) until the loader closes the pipe; the whole life of a worker.

    Parameters
    ----------
    connection : this worker's end of its pipe
    not_mine : ends of pipes that a fork has copied into this process
    worker, count : its number, and how many there are
    base_seed : int; the seeds of this worker follow from it and from its number
    job : arguments of `Fetcher`
    init_fn : function of the worker's number that is called first, or None
    """
    for other in not_mine:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the loader, which ends its workers
    tasks = queue.SimpleQueue()
    latest = [0]  # the pass that the loader is in
    threading.Thread(
        target=read, args=(connection, tasks, latest, os.getppid()), daemon=True
    ).start()
    problem = prepare(worker, count, base_seed, job[0], init_fn)
    sender, fetcher, current = Sender(connection), None, -1
    while (task := tasks.get()) is not None:
        turn, number, index, free = task
        sender.free.update(free)
        if turn != latest[0]:
            continue  # of a pass that was left
        start, where = now(), (worker, number, index)
        try:
            if problem is not None:
                raise problem
            if turn != current:
                fetcher, current = Fetcher(*job), turn
            result, is_end = fetcher(index), False
        except EndOfStream:
            result, is_end = None, True
        except Exception as error:
            result, is_end = Failure(error, *where), False
        if not answer(sender, (turn, number, is_end, (start, now())), result, where):
            return
        result = None  # the batch need not wait here for the next task


def answer(sender, head, result, where):
    """Send a result, or why it can't be sent; return whether the loader is still there."""
    try:
        try:
            sender.send(head, result)
        except BrokenPipeError:
            raise
        except Exception as error:
            sender.send((*head[:2], False, head[3]), Failure(error, *where))
    except BrokenPipeError:
        return False
    return True


def prepare(worker, count, base_seed, dataset, init_fn):
    """Give the process its one thread and its seeds; return what `init_fn` raised, or None."""
    global info
    set_num_threads(1)
    seed = base_seed + worker
    random.seed(seed)
    manual_seed(seed)
    words = [worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    mixed = np.random.SeedSequence(words).generate_state(4)
    np.random.seed(mixed)  # noqa: NPY002 - what data sets draw from
    info = WorkerInfo(worker, count, seed, dataset)
    try:
        if init_fn is not None:
            init_fn(worker)
    except Exception as error:
        return error
    return None


def read(connection, tasks, latest, parent):
    """Pass on the tasks from the pipe. When the loader is gone, end the process."""
    try:
        while True:
            while not connection.poll(GRACE):
                # another process may have a copy of the loader's end: the pipe tells too little
                if os.getppid() != parent:
                    os._exit(1)
            task = connection.recv()
            if task is None:
                break
            latest[0] = task[0]
            tasks.put(task)
    except (EOFError, OSError):
        pass
    tasks.put(None)
    time.sleep(GRACE)
    os._exit(1)
