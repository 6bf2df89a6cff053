"""MPITransport: one rank's end of a group whose ranks are processes."""

import itertools
import os
import zlib
from multiprocessing.util import Finalize

from tensorlab._core.dtypes import BY_NAME
from tensorlab.distributed.backends.interface import Transport
from tensorlab.distributed.calls import Call
from tensorlab.errors import DistBackendError
from tensorlab.ops.creation import zeros

from . import card, start, steps
from .engine import Engine, Lane, MPIWork

ANYONE = -1  # the peer of a message that any rank may send


class World:
    """What all groups of a process share.

    Parameters
    ----------
    MPI : mpi4py's module, which has started MPI
    watcher : Watcher
    recorder : FlightRecorder
    store : Store, which all ranks share
    place : Place, this process's rank and size
    seconds : float, the timeout of making groups

    Attributes
    ----------
    transport : MPITransport of all ranks
    """

    def __init__(self, MPI, watcher, recorder, store, place, seconds):
        self.MPI, self.watcher, self.recorder, self.store = MPI, watcher, recorder, store
        self.seconds = seconds
        neighbours = sum(host == watcher.hosts[place.rank] for host in watcher.hosts)
        self.engine = Engine(MPI, watcher, neighbours > len(os.sched_getaffinity(0)))
        self.leaving = Finalize(None, self.leave, exitpriority=0)
        self.transport = MPITransport(self, range(place.size), place.rank, "world")
        self.transport.open(MPI.COMM_WORLD)
        start.unlink_shared()

    def leave(self):
        """Say goodbye to the other ranks."""
        self.leaving.cancel()
        self.engine.close()
        self.watcher.close()


class MPITransport(Transport):
    """One rank's end of a group.

    Parameters
    ----------
    world : World
    ranks : sequence of int, the members' ranks in the world
    rank : int, this rank's place in the group
    group : str, the group's name

    Attributes
    ----------
    collective, messages : MPI's communicators, so that collectives and messages don't meet
    cards : tensor of uint8, the cards of all ranks; see card.py
    broken : error or None, what has ended the group
    """

    name = "mpi"

    def __init__(self, world, ranks, rank, group):
        super().__init__(rank, len(ranks))
        self.world, self.engine, self.MPI = world, world.engine, world.MPI
        self.ranks, self.group = tuple(ranks), group
        self.store, self.recorder = world.store, world.recorder
        self.lane = Lane(self)
        self.broken = None
        self.payloads = itertools.count()
        self.own_card = bytearray(card.SIZE)
        self.cards = zeros(self.size * card.SIZE, dtype=BY_NAME["uint8"])
        self.card_bytes = memoryview(steps.memory(self.MPI, self.cards))
        self.slots = {}  # dtype: the cards seen as values of it

    def open(self, parent):
        """Make the communicators from one that has the same ranks; all members call it."""
        pair = []
        self.wait_for("new_group", steps.duplicated(parent, pair))
        self.collective, self.messages = pair

    def wait_for(self, kind, generator):
        """Run a generator's steps as a call of its own, and wait for it."""
        call = Call(kind, [], [], self.group, 0, timeout=self.world.seconds)
        self.recorder.note(call)
        work = MPIWork(call, self.engine)
        self.engine.add(self.lane, generator, work)
        work.wait()

    def start(self, call):
        work = self.begin(call)
        if not work.is_completed():
            self.engine.in_background()
        return work

    def run(self, call):
        work = self.begin(call)
        work.wait()
        return work

    def begin(self, call):
        """Give a call to the engine, and return its work."""
        work = MPIWork(call, self.engine)
        if self.broken is not None:
            work.settle(self.after_failure(call))
        elif call.kind in ("send", "recv"):
            lane = Lane(self, ANYONE if call.root is None else call.root)
            self.engine.add(lane, steps.of_message(self, call), work)
        else:
            self.engine.add(self.lane, steps.of_collective(self, call), work)
        return work

    def split(self, members, name):
        ranks = [self.ranks[member] for member in members]
        part = MPITransport(self.world, ranks, members.index(self.rank), name)
        tag = 1 + zlib.crc32(name.encode()) % (1 << 20)
        part.wait_for("new_group", steps.gathered(self, members, tag))  # all are here: none hangs
        comm = self.collective.Create_group(self.collective.Get_group().Incl(members), tag)
        part.open(comm)
        return part

    def standing(self):
        return {place: answer["text"] for place, answer in self.asked_standing(self.group).items()}

    def asked_standing(self, group):
        """Return where each rank stands, by its place: {"text": words, "number": its last call}."""
        answers = self.world.watcher.standing(group)
        unknown = {"text": "is not known: the server does not answer", "number": 0}
        return {place: answers.get(rank, unknown) for place, rank in enumerate(self.ranks)}

    def needs(self, rank, peer):
        """Return whether a call needs a rank of the world that is gone."""
        if rank not in self.ranks or rank == self.ranks[self.rank]:
            return False
        if peer is None:
            return True
        if peer == ANYONE:
            others = set(self.ranks) - {self.ranks[self.rank]}
            return others <= self.world.watcher.lost.keys()
        return self.ranks[peer] == rank

    def break_off(self, error, lane):
        """Note that a call has failed, after which the ranks' collectives no longer match."""
        if lane is self.lane:
            self.broken = error
        start.broken.append(error)

    def after_failure(self, call):
        """Return the error for a call of a group that is broken."""
        return DistBackendError(
            f"{call.kind}: group {self.group!r} can't go on after an earlier failure: {self.broken}"
        )

    def close(self):
        closed = DistBackendError(f"group {self.group!r} was destroyed while calls were waiting")
        with self.engine.turn:
            for lane in list(self.engine.lanes):
                if lane.transport is self:
                    self.engine.fail(lane, lane.tasks[0], closed)
        if self.broken is None:
            self.collective.Free()
            self.messages.Free()
        self.broken = closed
        if self is self.world.transport:
            self.world.leave()
