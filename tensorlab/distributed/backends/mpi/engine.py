"""Engine: what moves calls on, in whichever thread has time for it.

A call is a generator that yields MPI requests and goes on when they are done. MPI moves nothing
while no one asks it, so someone has to ask again and again: the thread that waits for a call, and
for calls that no one waits for yet, a thread of the engine's own. No one blocks within MPI: between
two questions there is time to see that a rank is gone, or that the call's time is over.
"""

import collections
import os
import sys
import threading
import time

from tensorlab.distributed import diagnosis
from tensorlab.distributed.work import Work
from tensorlab.errors import DistBackendError

SPIN = 2e-4  # seconds in which a thread that waits asks without a pause
LONGEST_PAUSE = 1e-3


class Task:
    """A call that is being moved on.

    Attributes
    ----------
    steps : generator, which yields lists of MPI requests
    work : the Work to settle
    requests : what it waits for now
    deadline : float, time.monotonic when it is given up
    """

    __slots__ = ("deadline", "requests", "steps", "work")

    def __init__(self, steps, work):
        self.steps, self.work = steps, work
        self.requests = ()
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


class Pauses:
    """How long to pause between two questions: not at all at first, then longer and longer."""

    def __init__(self, spin):
        self.spin, self.since = spin, None

    def rest(self):
        """Pause after a question that was answered with no."""
        now = time.perf_counter()
        if self.since is None:
            self.since = now
        elapsed = now - self.since
        if elapsed < self.spin:
            os.sched_yield()
        else:
            time.sleep(min(LONGEST_PAUSE, elapsed / 16))


class Engine:
    """Moves on the calls of all groups of this process.

    Parameters
    ----------
    MPI : mpi4py's module
    watcher : Watcher, which knows the ranks that are gone
    crowded : bool, whether this machine has more ranks than processors: then no one spins
    """

    def __init__(self, MPI, watcher, crowded):
        self.test = MPI.Request.Testall
        self.error = MPI.Exception
        self.watcher = watcher
        self.spin = 0.0 if crowded else SPIN
        self.lock = threading.RLock()
        self.lanes = []  # those with tasks
        self.abandoned = []  # tasks that were given up: MPI may still write to their tensors
        self.helpers = 0
        self.awake = threading.Condition()
        self.thread = None
        self.closed = False

    def add(self, lane, steps, work):
        """Take a call, after those that its lane has."""
        with self.lock:
            if not lane.tasks:
                self.lanes.append(lane)
            lane.tasks.append(Task(steps, work))
            if len(lane.tasks) == 1:
                self.move_lane(lane)  # begins it: what is sent can be on its way

    def in_background(self):
        """See that the engine's own thread moves on what no one waits for."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.serve, daemon=True, name="tensorlab-mpi")
            self.thread.start()
        with self.awake:
            self.awake.notify()

    def serve(self):
        """Move calls on, in the engine's thread, while there are any that no one waits for."""
        pauses = Pauses(0.0)
        while not self.closed:
            with self.awake:
                while (self.helpers or not self.lanes) and not self.closed:
                    self.awake.wait()
            with self.lock:
                moved = self.move()
            if moved:
                pauses = Pauses(0.0)
            else:
                pauses.rest()

    def help_until(self, work, limit):
        """Move calls on, in the thread that waits for one, until it has ended."""
        until = time.monotonic() + limit
        with self.lock:
            self.helpers += 1
        pauses = Pauses(self.spin)
        try:
            while not work.is_completed():
                with self.lock:
                    moved = self.move()
                    if not moved and time.monotonic() > until:
                        self.give_up(work)
                if moved:
                    pauses = Pauses(self.spin)
                else:
                    pauses.rest()
        finally:
            with self.lock:
                self.helpers -= 1
            if self.lanes and not self.helpers and self.thread is not None:
                with self.awake:
                    self.awake.notify()

    def move(self):
        """Move the first call of each lane on; return whether any has gone on."""
        moved = False
        for lane in list(self.lanes):
            moved |= self.move_lane(lane)
        return moved

    def move_lane(self, lane):
        moved = False
        while lane.tasks and self.move_task(lane, lane.tasks[0]):
            moved = True
        if not lane.tasks and lane in self.lanes:
            self.lanes.remove(lane)
        return moved

    def move_task(self, lane, task):
        """Return whether a task has gone on."""
        fault = None
        try:
            if task.requests and not self.test(task.requests):
                return self.has_failed(lane, task)
            task.requests = next(task.steps)
            return True
        except StopIteration:
            pass
        except self.error as error:
            call = task.work.call
            self.fail(lane, task, DistBackendError(f"{call.kind}: {call} failed in MPI: {error}"))
            return True
        except Exception as error:  # the ranks don't agree, which leaves nothing behind
            fault = error
        except BaseException as error:  # such as Ctrl-C, in the middle of it
            call = task.work.call
            self.fail(lane, task, DistBackendError(f"{call.kind}: {call} was cut off by {error!r}"))
            raise
        lane.tasks.popleft()
        self.settle(task.work, fault)
        return True

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
