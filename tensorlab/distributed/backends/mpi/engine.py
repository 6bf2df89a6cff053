"""Engine: what moves calls on, in whichever thread has time for it.

A call is a generator that yields MPI requests and goes on when they are done. MPI moves nothing
while no one asks it, so someone has to ask again and again: the thread that waits for a call,
and for calls that no one waits for yet, a thread of the engine's own. No one blocks within MPI:
between two questions there is time to see that a rank is gone, or that the call's time is over.
"""

import collections
import ctypes
import functools
import sys
import threading
import time

from tensorlab.distributed import diagnosis
from tensorlab.distributed.work import Work
from tensorlab.errors import DistBackendError

from .polling import Poller

SPIN = 2e-4  # seconds in which a thread that waits asks without a pause
SLICE = 0.01  # seconds after which it looks for ranks that are gone, and at the clock


class Task:
    """A call that is being moved on.

    Attributes
    ----------
    steps : generator, which yields lists of MPI requests
    work : the Work to settle
    requests, addresses : what it waits for now, and where that is in memory
    deadline : float, time.monotonic when it is given up
    """

    __slots__ = ("addresses", "deadline", "requests", "steps", "work")

    def __init__(self, steps, work):
        self.steps, self.work = steps, work
        self.requests = self.addresses = ()
        self.deadline = time.monotonic() + work.call.timeout


class Lane:
    """Calls that run one after the other: those of a group, or one message.

    Attributes
    ----------
    transport : the group's
    peer : int or None, the only rank of the group that the calls need, if it is only one
    """

    __slots__ = ("peer", "tasks", "transport")

    def __init__(self, transport, peer=None):
        self.transport, self.peer = transport, peer
        self.tasks = collections.deque()


class Flag:
    """An Event for which no one waits without moving the engine on: it costs a tenth."""

    __slots__ = ("is_raised",)

    def __init__(self):
        self.is_raised = False

    def is_set(self):
        return self.is_raised

    def set(self):
        self.is_raised = True


class MPIWork(Work):
    """A call that the engine moves on."""

    flag = Flag

    def __init__(self, call, engine):
        super().__init__(call)
        self.engine = engine

    def await_end(self, limit):
        """Move the engine on until this call has ended, or its time is over."""
        self.engine.help_until(self, limit)


class Turn:
    """The engine's lock, for one thread after the other: who polls within it comes back at once."""

    __slots__ = ("lock", "poller")

    def __init__(self, poller):
        self.poller, self.lock = poller, threading.RLock()

    def __enter__(self):
        self.poller.interrupt(1)
        self.lock.acquire()
        self.poller.interrupt(-1)

    def __exit__(self, *_):
        self.lock.release()


@functools.cache
def poller_of(MPI):
    """Return the Poller for the MPI that mpi4py has loaded."""
    testall = ctypes.CDLL(MPI.__file__).MPI_Testall
    address = ctypes.cast(testall, ctypes.c_void_p).value
    return Poller(address, MPI._sizeof(MPI.Request), MPI._sizeof(MPI.Status))


class Engine:
    """Moves on the calls of all groups of this process.

    Parameters
    ----------
    MPI : mpi4py's module
    watcher : Watcher, which knows the ranks that are gone
    crowded : bool, whether this machine has more ranks than processors: then no one spins
    """

    def __init__(self, MPI, watcher, crowded):
        self.MPI, self.watcher = MPI, watcher
        self.address = MPI._addressof
        self.poller = poller_of(MPI)
        self.turn = Turn(self.poller)
        self.spin = 0.0 if crowded else SPIN
        self.lanes = []  # those with tasks, the first of which has requests
        self.abandoned = []  # tasks that were given up: MPI may still write to their tensors
        self.helpers = 0
        self.awake = threading.Condition()
        self.thread = None
        self.closed = False

    def add(self, lane, steps, work):
        """Take a call, after those that its lane has, and begin it if there are none."""
        with self.turn:
            if not lane.tasks:
                self.lanes.append(lane)
            lane.tasks.append(Task(steps, work))
            self.advance(lane)

    def in_background(self):
        """See that the engine's own thread moves on what no one waits for."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.serve, daemon=True, name="tensorlab-mpi")
            self.thread.start()
        with self.awake:
            self.awake.notify()

    def serve(self):
        """Move calls on, in the engine's thread, while there are any that no one waits for."""
        since = time.monotonic()
        while not self.closed:
            with self.awake:
                while (self.helpers or not self.lanes) and not self.closed:
                    self.awake.wait()
                    since = time.monotonic()
            with self.turn:
                if self.move(time.monotonic() - since, 0.0):
                    since = time.monotonic()

    def help_until(self, work, limit):
        """Move calls on, in the thread that waits for one, until it has ended."""
        since = time.monotonic()
        until = since + limit
        with self.turn:
            self.helpers += 1
        try:
            while not work.is_completed():
                with self.turn:
                    now = time.monotonic()
                    if self.move(now - since, self.spin):
                        since = now
                    elif now > until:
                        self.give_up(work)
        finally:
            with self.turn:
                self.helpers -= 1
            if self.lanes and not self.helpers and self.thread is not None:
                with self.awake:
                    self.awake.notify()

    def move(self, waited, spin):
        """Move a call on as soon as one can go on, for SLICE seconds; return whether one has."""
        heads = [(lane, lane.tasks[0]) for lane in self.lanes]
        addresses = [task.addresses for _, task in heads]
        number, code = self.poller.poll(addresses, waited, spin, SLICE)
        if number < 0:
            failed = [self.has_failed(lane, task) for lane, task in heads]
            return any(failed)
        lane, task = heads[number]
        if code != 0:
            call, error = task.work.call, self.MPI.Exception(code)
            self.fail(lane, task, DistBackendError(f"{call.kind}: {call} failed in MPI: {error}"))
            return True
        task.requests = task.addresses = ()
        self.advance(lane)
        return True

    def advance(self, lane):
        """Let the calls of a lane go on until one has to wait for requests."""
        while lane.tasks and not lane.tasks[0].addresses:
            task = lane.tasks[0]
            call, fault = task.work.call, None
            try:
                task.requests = next(task.steps)
                task.addresses = tuple(map(self.address, task.requests))
                continue
            except StopIteration:
                pass
            except self.MPI.Exception as error:
                self.fail(
                    lane, task, DistBackendError(f"{call.kind}: {call} failed in MPI: {error}")
                )
                continue
            except Exception as error:  # the ranks don't agree, which leaves nothing behind
                fault = error
            except BaseException as error:  # such as Ctrl-C, in the middle of it
                fault = DistBackendError(f"{call.kind}: {call} was cut off by {error!r}")
                self.fail(lane, task, fault)
                raise
            lane.tasks.popleft()
            self.settle(task.work, fault)
        if not lane.tasks and lane in self.lanes:
            self.lanes.remove(lane)

    def settle(self, work, error=None):
        """End a work; what goes wrong in a callback of it is shown, and ends nothing else."""
        try:
            work.settle(error)
        except Exception:
            sys.excepthook(*sys.exc_info())

    def has_failed(self, lane, task):
        """Give a task up where a rank that it needs is gone, or its time is over."""
        call, transport = task.work.call, lane.transport
        now = time.monotonic()
        for rank, (when, reason) in list(self.watcher.lost.items()):
            if now >= when and transport.needs(rank, lane.peer):
                self.fail(lane, task, diagnosis.is_gone(call, rank, reason))
                return True
        if now > task.deadline:
            self.fail(lane, task, self.late(transport, call))
            return True
        return False

    def late(self, transport, call):
        """Return the error for a call whose time is over."""
        standing = transport.asked_standing(call.group)
        missing = [
            rank
            for rank, answer in standing.items()
            if answer["number"] is None or (call.agreed and answer["number"] < call.number)
        ]
        words = {rank: answer["text"] for rank, answer in standing.items()}
        return diagnosis.waited_in_vain(call, time.monotonic() - call.begun, missing, words)

    def give_up(self, work):
        """Give up a call that was not waited for any longer."""
        for lane in list(self.lanes):
            for task in list(lane.tasks):
                if task.work is work:
                    self.fail(lane, task, self.late(lane.transport, work.call))

    def fail(self, lane, task, error):
        """End a task with an error, and with it the calls that come after it in its lane."""
        tasks, lane.tasks = list(lane.tasks), collections.deque()
        if lane in self.lanes:
            self.lanes.remove(lane)
        self.abandoned.extend(tasks)
        lane.transport.break_off(error, lane)
        for each in tasks:
            own = error if each is task else lane.transport.after_failure(each.work.call)
            self.settle(each.work, own)

    def close(self):
        """End the thread."""
        self.closed = True
        with self.awake:
            self.awake.notify()
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(1.0)
