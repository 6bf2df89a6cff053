"""One pass over a loader with workers: who loads which batch, and what is done when one fails.

Each worker has a pipe of its own, and nothing is shared but memory: no queue, no lock. A worker that is killed can
leave nothing locked, and the loader, which waits for pipes and processes at once, sees its end as it happens.
"""

import multiprocessing
import os
import pickle
import select
import signal
import socket
import struct
import warnings
from contextlib import suppress
from copy import copy
from itertools import cycle
from multiprocessing.connection import wait
from time import monotonic

from ..._core.interop.memory_file import CAN_SHARE
from ..._core.profiling import Range, is_recording, note_work
from .fetching import stray
from .pinning import pinning
from .sampler import draw_seed
from .segments import Receiver
from .worker import GRACE, Failure, described, work

__all__ = ["WorkerBatches"]


class WorkerBatches:
    """The batches of a loader, loaded by its workers; in the order of the sampler unless in_order=False.

    Up to prefetch_factor * num_workers batches are asked for in advance, from one worker after the other.
    """

    workers = ()  # for close(), if __init__ is never reached

    def __init__(self, loader):
        self.workers, self.pid = [], os.getpid()
        self.length = copy(loader).__len__  # the loader itself may own this pass, in a cycle
        self.timeout, self.in_order = loader.timeout, loader.in_order
        self.is_kept = loader.persistent_workers
        self.pin = pinning(loader)
        self.most = loader.prefetch_factor * loader.num_workers
        self.turn = 0
        context = loader.multiprocessing_context or multiprocessing.get_context()
        try:
            self.start(loader, context, draw_seed(loader.generator))
        except BaseException:
            self.close()
            raise
        self.reset(loader)

    def start(self, loader, context, seed):
        is_fork = context.get_start_method() == "fork"
        if is_fork:
            # workers seed it, and NumPy imports it at its first use: 10 ms in each of them
            import numpy.random  # noqa: F401
        with warnings.catch_warnings():
            # tensorlab's threads can be forked; for those of others the program has to answer
            warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
            for number in range(loader.num_workers):
                ours, theirs = context.Pipe()
                limit_waiting(ours, self.timeout)
                not_mine = [w.connection for w in self.workers] + [ours] if is_fork else []
                settings = number, loader.num_workers, seed, loader.job, loader.worker_init_fn
                process = context.Process(
                    target=work, args=(theirs, not_mine, *settings), daemon=True
                )
                try:
                    process.start()
                except (AttributeError, TypeError, pickle.PicklingError) as error:
                    ours.close()
                    error.add_note(
                        f"DataLoader: worker {number} could not be started with the method "
                        f"{context.get_start_method()!r}. Other methods than 'fork' pickle the data set, collate_fn "
                        "and worker_init_fn: define them at the top level of a module (no lambda, no function in a "
                        "function)"
                    )
                    raise
                except BaseException:
                    ours.close()
                    raise
                finally:
                    theirs.close()
                self.workers.append(Worker(number, process, ours))

    def reset(self, loader):
        """Begin a pass: with persistent workers also the second and later ones."""
        self.turn += 1
        self.progress = loader._progress
        self.plan = loader.plan()
        self.sent = self.expected = 0
        self.owners = {}  # number of a batch: the worker that was asked for it
        self.arrived = {}  # number of a batch: function that makes it
        self.next_worker = cycle(self.workers)
        for worker in self.workers:
            worker.is_active, worker.asked = True, {}
        for _ in range(self.most):
            self.ask()

    def __iter__(self):
        return self

    def __len__(self):
        return self.length()

    # ------------------------------------------------------------ asking
    def ask(self):
        """Ask the next worker for the next batch of the plan, if there is one."""
        index = next(self.plan, self)  # self: a plan can't contain it
        if index is self:
            return
        worker = self.choose()
        if worker is None:
            return
        number, self.sent = self.sent, self.sent + 1
        self.owners[number] = worker
        worker.asked[number] = index
        try:
            worker.connection.send((self.turn, number, index, worker.receiver.take_returned()))
        except BlockingIOError:
            raise self.timed_out(worker) from None
        except OSError:
            pass  # it has ended; waiting for this batch will say so

    def choose(self):
        """Return the next worker whose stream has not ended; in any order, one that has not too much to do."""
        active = sum(worker.is_active for worker in self.workers)
        for _ in self.workers:
            worker = next(self.next_worker)
            if worker.is_active and (self.in_order or len(worker.asked) < self.most // active):
                return worker
        return None

    # ------------------------------------------------------------ receiving
    def __next__(self):
        if is_recording():
            with Range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
                return self._next_batch()
        return self._next_batch()

    def _next_batch(self):
        try:
            number = self.next_number()
            self.progress.given += 1
            batch = self.deliver(number)
        except StopIteration:
            self.progress.is_over = True
            if not self.is_kept:
                self.close()
            raise
        except KeyboardInterrupt:
            self.close()
            raise
        if self.progress.reported is not None:
            self.progress.compare_with_length()
        return batch if self.pin is None else self.pin(batch)

    def leave_out(self):
        """Leave out the next batch. It is loaded all the same, for the worker's random numbers depend on it."""
        try:
            next(self)
        except StopIteration:
            raise
        except Exception:
            if not self.workers:
                raise  # none is left; what a sample raises was raised when the batch was given

    def next_number(self):
        """Return the number of the batch to give next, after it has arrived."""
        while True:
            while self.expected < self.sent and self.expected not in self.owners:
                self.expected += 1
            if not self.owners or not self.workers:
                raise StopIteration
            if self.expected in self.arrived:
                return self.expected
            number = self.receive()
            if number is not None and not self.in_order:
                return number

    def deliver(self, number):
        worker = self.owners.pop(number)
        del worker.asked[number]
        make = self.arrived.pop(number)
        self.ask()
        try:
            result = make()
        except StopIteration as error:
            raise stray(error) from error
        if isinstance(result, Failure):
            raise result.error()
        return result

    def receive(self):
        """Wait for one result; return its number, or None if it was the end of a stream or of an earlier pass."""
        busy = [worker for worker in self.workers if self.missing(worker)]
        sources = {worker.connection: worker for worker in busy}
        ends = {worker.process.sentinel: worker for worker in busy}
        ready = ready_of([*sources, *ends], self.timeout or None)
        if not ready:
            raise self.timed_out(self.owners.get(self.expected, busy[0]))
        # results first: a worker that has ended may have left some in its pipe
        worker = next((sources[s] for s in ready if s in sources), None) or ends[ready[0]]
        try:
            if worker.connection not in ready and not worker.connection.poll():
                raise EOFError
            (turn, number, is_end, times), make = worker.receiver.receive()
        except BlockingIOError:
            raise self.timed_out(worker) from None
        except (EOFError, OSError) as error:
            if getattr(error, "errno", None) is not None and not isinstance(error, ConnectionError):
                raise  # of this process: it has no memory or no descriptor for the batch
            raise self.ended(worker) from None
        if is_recording():
            process = f"DataLoader worker {worker.number}"
            note_work(worker.process.pid, process, f"{process}: load a batch", *times)
        if turn != self.turn:
            return None
        if is_end:
            self.end_stream(worker)
            return None
        self.arrived[number] = make
        return number

    def missing(self, worker):
        """Return the numbers of the batches that a worker was asked for and has not sent."""
        return worker.asked.keys() - self.arrived.keys()

    def end_stream(self, worker):
        worker.is_active = False
        for number in worker.asked:
            if number not in self.arrived:
                del self.owners[number]
        worker.asked = {
            number: index for number, index in worker.asked.items() if number in self.arrived
        }
        self.ask()

    # ------------------------------------------------------------ failures and the end
    def ended(self, worker):
        """Return the error for a worker that is gone."""
        worker.process.join(GRACE)
        code, pid = worker.process.exitcode, worker.process.pid
        self.close()
        how = f"with exit code {code}"
        if code is not None and code < 0:
            how = f"killed by {signal.Signals(-code).name}"
            if code == -signal.SIGKILL:
                how += " (the system does that when memory runs out)"
        return RuntimeError(
            f"DataLoader worker (pid(s) {pid}) exited unexpectedly: worker {worker.number} ended {how}, while it had "
            f"to load {self.task_of(worker)}"
        )

    def timed_out(self, late):
        """Return the error for a worker that does not answer, or does not read."""
        self.close(grace=0)
        return RuntimeError(
            f"DataLoader timed out after {self.timeout} seconds: worker {late.number} (pid {late.process.pid}) did not "
            f"finish {self.task_of(late)}. Give it more time with timeout=, or 0 for no limit"
        )

    def task_of(self, worker):
        """Say which batch a worker is at."""
        number = min(self.missing(worker))
        return described(number, worker.asked[number])

    def close(self, grace=GRACE):
        """End the workers: those that are busy have `grace` seconds for their batch."""
        workers, self.workers = self.workers, []
        if workers and self.pid != os.getpid():
            return  # a copy of the loader in a forked child; the workers are not its children
        for worker in workers:
            with suppress(OSError):  # it has ended, or it is stopped and its pipe is full
                # closing is not enough: a process that was forked meanwhile has a copy of this end
                if CAN_SHARE:
                    os.set_blocking(worker.connection.fileno(), False)
                worker.connection.send(None)
            worker.connection.close()
        alive = [worker.process.sentinel for worker in workers]
        wait_for_all(alive, grace)
        for worker in workers:
            worker.process.kill()
            worker.process.join()

    def __del__(self):
        self.close()


class Worker:
    """What the loader knows of a worker."""

    def __init__(self, number, process, connection):
        self.number, self.process, self.connection = number, process, connection
        self.receiver = Receiver(connection)
        self.is_active = True
        self.asked = {}  # number of a batch: its index or indices


def limit_waiting(connection, seconds):
    """Let reads and writes raise BlockingIOError after so many seconds; 0 for no limit.

    `wait` says that there is something to read, but not that it is a whole message: a worker may be stopped in the
    middle of one. And one that does not read leaves no room for the next task.
    """
    if not seconds or not CAN_SHARE:
        return
    whole, part = divmod(max(1, round(seconds * 1_000_000)), 1_000_000)
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        for which in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            end.setsockopt(socket.SOL_SOCKET, which, struct.pack("@ll", whole, part))


def ready_of(sources, seconds):
    """Wait until some connections and descriptors can be read, or so many seconds; return those.

    `wait` does that on each system, but makes a selector for it: five times the work of asking
    the system itself.
    """
    if not hasattr(select, "poll"):
        return wait(sources, seconds)
    numbers = {s if isinstance(s, int) else s.fileno(): s for s in sources}
    question = select.poll()
    for number in numbers:
        question.register(number, select.POLLIN)
    return [numbers[number] for number, _ in question.poll(seconds and 1000 * seconds)]


def wait_for_all(sentinels, seconds):
    """Wait until all processes have ended, or for so many seconds."""
    end = monotonic() + seconds
    while sentinels and (left := end - monotonic()) > 0:
        ended = ready_of(sentinels, left)
        sentinels = [sentinel for sentinel in sentinels if sentinel not in ended]
