"""Ranks that are threads of one process.

All ranks of a group share a `Room`. A call waits there until every rank has made it; the last
one to come does the work for all, in the order of the ranks, and wakes the others. So no rank
ever works in the background, results don't depend on who is first, and a rank that has ended is
known at once. It's what notebooks, tests and simulations run on.
"""

import collections
import threading
import time

from tensorlab.autograd.grad_mode import no_grad
from tensorlab.distributed import diagnosis, reduce_ops
from tensorlab.distributed.backends.interface import Transport
from tensorlab.distributed.flight_recorder import FlightRecorder
from tensorlab.distributed.work import EndedWork, Work


class House:
    """What the rank-threads of one program have in common.

    Attributes
    ----------
    size : int
    changed : Condition, notified when anything happens that a rank may wait for
    gone : dict of int to str, ranks that have ended, and how
    recorders : list of FlightRecorder, by rank
    rooms : dict of names of groups to rooms
    """

    def __init__(self, size):
        self.size = size
        self.changed = threading.Condition()
        self.gone = {}
        self.recorders = [FlightRecorder() for _ in range(size)]
        self.rooms = {}

    def room(self, name, ranks):
        """Return the room of a group; the first of its ranks that asks opens it."""
        with self.changed:
            return self.rooms.setdefault((name, ranks), Room(self, ranks))

    def leave(self, rank, reason):
        """Say that a rank has ended; who waits for it is told why."""
        with self.changed:
            self.gone[rank] = reason
            self.changed.notify_all()


class Room:
    """Where the ranks of one group meet.

    Attributes
    ----------
    ranks : tuple of int, the members by their rank in the house
    meetings : dict of int to Meeting, calls that some rank still waits for
    sent, wanted : dicts of (from, to, tag) to the messages and the receivers that wait
    """

    def __init__(self, house, ranks):
        self.house, self.ranks = house, ranks
        self.meetings = {}
        self.sent = collections.defaultdict(collections.deque)
        self.wanted = []


class Meeting:
    """One call of a group, and the works of the ranks that have come to it."""

    def __init__(self):
        self.works = {}


class ThreadTransport(Transport):
    """One rank's end of a group of threads.

    Parameters
    ----------
    house : House
    ranks : tuple of int, the members of the group by their rank in the house
    rank : int, this thread's place in the group
    name : str, the name of the group
    """

    name = "threads"

    def __init__(self, house, ranks, rank, name):
        super().__init__(rank, len(ranks))
        self.house = house
        self.room = house.room(name, ranks)
        self.recorder = house.recorders[ranks[rank]]

    def start(self, call):
        if call.kind == "send":
            return self.send(call)
        if call.kind == "recv":
            return self.receive(call)
        work = MeetingWork(call, self.house, self.room)
        with self.house.changed:
            meeting = self.room.meetings.setdefault(call.number, Meeting())
            work.meeting = meeting
            meeting.works[self.rank] = work
            if len(meeting.works) < self.size:
                return work
            del self.room.meetings[call.number]
        hold(meeting)
        with self.house.changed:
            self.house.changed.notify_all()
        return work

    def send(self, call):
        """Leave a copy of the values for the receiver, as MPI does with short messages."""
        key = self.rank, call.root, call.tag
        with self.house.changed:
            self.room.sent[key].append(call.inputs[0].clone())
            self.deliver()
        return EndedWork(call)

    def receive(self, call):
        work = ReceiveWork(call, self.house, self.room)
        with self.house.changed:
            self.room.wanted.append((self.rank, work))
            self.deliver()
        return work

    def deliver(self):
        """Give receivers the messages that have come; the caller holds the house's lock."""
        for entry in list(self.room.wanted):
            receiver, work = entry
            key = self.message_for(receiver, work.call)
            if key is None:
                continue
            work.call.root = key[0]
            self.room.wanted.remove(entry)
            work.settle(take(work.call, self.room.sent[key].popleft()))
            self.house.changed.notify_all()

    def message_for(self, receiver, call):
        """Return the key of the message that a receiver waits for, or None."""
        for (source, target, tag), waiting in self.room.sent.items():
            from_it = call.root is None or call.root == source
            if waiting and target == receiver and tag == call.tag and from_it:
                return source, target, tag
        return None

    def split(self, members, name):
        ranks = tuple(self.room.ranks[member] for member in members)
        return ThreadTransport(self.house, ranks, members.index(self.rank), name)

    def standing(self):
        return where_they_stand(self.house, self.room)


def take(call, message):
    """Write a message to where its receiver wants it; return an error if it doesn't fit, or None."""
    target = call.outputs[0]
    if (target.dtype, target.numel()) != (message.dtype, message.numel()):
        return diagnosis.does_not_fit(call, message.dtype, message.numel())
    with no_grad():
        put(target, message)
    return None


def where_they_stand(house, room):
    """Return where each rank of a room stands, in words."""
    return {
        place: f"is gone ({house.gone[rank]})"
        if rank in house.gone
        else house.recorders[rank].where()
        for place, rank in enumerate(room.ranks)
    }


class ThreadWork(Work):
    """The work of one rank, which ends when others have come."""

    def __init__(self, call, house, room):
        super().__init__(call)
        self.house, self.room = house, room

    def await_end(self, limit):
        deadline = time.monotonic() + limit
        with self.house.changed:
            while not self.is_completed():
                missing = self.missing()
                ended = [place for place in missing if self.room.ranks[place] in self.house.gone]
                if ended:
                    reason = self.house.gone[self.room.ranks[ended[0]]]
                    return self.settle(diagnosis.is_gone(self.call, ended[0], reason))
                left = deadline - time.monotonic()
                if left <= 0:
                    standing = where_they_stand(self.house, self.room)
                    error = diagnosis.waited_in_vain(self.call, limit, missing, standing)
                    return self.settle(error)
                self.house.changed.wait(left)
        return None


class MeetingWork(ThreadWork):
    """The work of a collective."""

    def missing(self):
        return [place for place in range(len(self.room.ranks)) if place not in self.meeting.works]


class ReceiveWork(ThreadWork):
    """The work of a receiver."""

    def missing(self):
        if self.call.root is not None:
            return [self.call.root]
        return []  # anyone may send


def hold(meeting):
    """Do the work of a call at which all ranks have arrived, and settle it for each of them."""
    calls = [meeting.works[rank].call for rank in range(len(meeting.works))]
    try:
        if len({call.agreed for call in calls}) > 1:
            raise diagnosis.they_differ(calls[0], {r: c.what() for r, c in enumerate(calls)})
        with no_grad():
            CARRY_OUT[calls[0].kind](calls)
    except Exception as error:
        for work in meeting.works.values():
            work.settle(error)
        return
    for work in meeting.works.values():
        work.settle()


def put(target, source):
    """Copy values; a tensor of several ranks' values may be cut into flat pieces."""
    target.view(-1).copy_(source.view(-1))


def reduced(calls, values):
    """Return the reduction of one tensor for each rank, in the order of the ranks."""
    kind, first = calls[0].op, values[0]
    premultiplied = calls[0].factor is not None
    total = first * calls[0].factor if premultiplied else first.clone()
    for call, value in zip(calls[1:], values[1:], strict=True):
        reduce_ops.combine(kind, total, value * call.factor if premultiplied else value)
    reduce_ops.divide_average(kind, total, len(calls))
    return total


def all_reduce(calls):
    total = reduced(calls, [call.inputs[0] for call in calls])
    for call in calls:
        put(call.outputs[0], total)


def reduce(calls):
    total = reduced(calls, [call.inputs[0] for call in calls])
    put(calls[calls[0].root].outputs[0], total)


def broadcast(calls):
    source = calls[calls[0].root].outputs[0]
    for rank, call in enumerate(calls):
        if rank != call.root:
            put(call.outputs[0], source)


def all_gather(calls):
    for call in calls:
        for source, target in enumerate(call.outputs):
            put(target, calls[source].inputs[0])


def gather(calls):
    for source, target in enumerate(calls[calls[0].root].outputs):
        put(target, calls[source].inputs[0])


def scatter(calls):
    for rank, source in enumerate(calls[calls[0].root].inputs):
        put(calls[rank].outputs[0], source)


def reduce_scatter(calls):
    totals = [reduced(calls, [call.inputs[rank] for call in calls]) for rank in range(len(calls))]
    for call, total in zip(calls, totals, strict=True):  # an output may be part of an input
        put(call.outputs[0], total)


def all_to_all(calls):
    size = len(calls)
    sent = [[call.inputs[target].clone() for target in range(size)] for call in calls]
    for rank, call in enumerate(calls):
        for source in range(size):
            put(call.outputs[source], sent[source][rank])


def barrier(calls):
    """Nothing is to be done: all are here."""


CARRY_OUT = {
    function.__name__: function
    for function in (
        all_reduce, reduce, broadcast, all_gather, gather, scatter, reduce_scatter, all_to_all, barrier,
    )
}  # fmt: skip
