"""A world: the ranks that meet under one name, and what each is told of the others."""

import asyncio
import itertools

from . import lines
from .keys import Keys
from .pmi import Exchange

HEARING = 1.0  # seconds in which a rank must say where it stands


class Member:
    """One rank that has come.

    Attributes
    ----------
    pid, host : who it is
    state : "here", "left" (it said goodbye) or "gone"
    running : bool, whether its MPI has started
    standing : dict, where it stood when it was last asked
    """

    def __init__(self, hello, writer):
        self.pid, self.host = hello["pid"], hello["host"]
        self.writer = writer
        self.state, self.running = "here", False
        self.standing = {"text": "has called nothing", "number": None}

    def tell(self, message):
        if self.state == "here":
            self.writer.write(lines.packed(message))


class World:
    """The ranks that belong together.

    Parameters
    ----------
    size : int, how many ranks there are to be
    """

    def __init__(self, size):
        self.size = size
        self.members = {}
        self.gave_up = set()  # ranks that came, and waited in vain
        self.complete = asyncio.Event()
        self.keys = Keys()
        self.exchange = Exchange(size)
        self.questions = {}  # number: (Event, {rank: answer})
        self.numbers = itertools.count()
        self.tasks = set()

    def fault_of(self, hello):
        """Return why a rank can't come in, in words, or None."""
        rank, size = hello["rank"], hello["size"]
        if size != self.size:
            return (
                f"rank {rank} says that there are {size} ranks, others that there are {self.size}"
            )
        if not 0 <= rank < size:
            return f"rank {rank} is not below the world size {size}"
        if rank in self.members:
            other = self.members[rank]
            return f"rank {rank} is here already: process {other.pid} on {other.host}"
        for gone, member in self.members.items():
            if member.state == "gone":
                return f"rank {gone} came and is gone again; start all ranks anew"
        return None

    def missing(self):
        """Return the ranks that have not come, nor been here until they gave up."""
        came = self.members.keys() | self.gave_up
        return [rank for rank in range(self.size) if rank not in came]

    async def watch(self, hello, reader, writer):
        """Let a rank in, tell it of the others, and see when it goes."""
        fault = self.fault_of(hello)
        if fault:
            writer.write(lines.packed({"refused": fault}))
            return
        rank = hello["rank"]
        member = self.members[rank] = Member(hello, writer)
        self.gave_up.discard(rank)
        if len(self.members) == self.size:
            hosts = [self.members[each].host for each in range(self.size)]
            for each in self.members.values():
                each.tell({"ready": True, "hosts": hosts})
            self.complete.set()
        else:
            member.tell({"missing": self.missing()})
        goodbye = None
        try:
            while goodbye is None and (message := await lines.read(reader)) is not None:
                goodbye = self.hear(rank, member, message)
        except OSError:
            pass  # a line that breaks is as one that ends
        self.depart(rank, member, goodbye)

    def hear(self, rank, member, message):
        """Act on what a rank says; return its goodbye, or None."""
        if "bye" in message:
            return message
        if "running" in message:
            member.running = True
        elif "missing" in message:
            self.gave_up.add(rank)
            member.tell({"missing": self.missing()})
        elif "ask" in message:
            self.keep(asyncio.ensure_future(self.ask(member, message)))
        elif "answer" in message:
            member.standing = {"text": message["text"], "number": message["number"]}
            if message["answer"] in self.questions:
                self.questions[message["answer"]][1][rank] = member.standing
            self.look_up()
        return None

    def look_up(self):
        """Wake those whose questions everybody who is still here has answered."""
        here = {rank for rank, member in self.members.items() if member.state == "here"}
        for heard, answers in self.questions.values():
            if here <= answers.keys():
                heard.set()

    def keep(self, task):
        """Hold a task until it ends: asyncio itself doesn't."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def ask(self, asker, message):
        """Ask all ranks where they stand, and tell the one that wants to know."""
        number = next(self.numbers)
        heard, answers = self.questions[number] = asyncio.Event(), {}
        for member in self.members.values():
            member.tell({"question": number, "group": message["group"]})
        try:
            await asyncio.wait_for(heard.wait(), HEARING)
        except TimeoutError:
            pass
        del self.questions[number]
        for rank, member in self.members.items():
            if member.state != "here":
                before = f"is {member.state}; before, it {member.standing['text']}"
                answers.setdefault(rank, {**member.standing, "text": before})
        for rank in range(self.size):
            silent = "doesn't answer: it is stopped, or hangs in code that never lets Python run"
            answers.setdefault(rank, {"text": silent, "number": None})
        asker.tell({"standing": message["ask"], "answers": answers})

    def depart(self, rank, member, goodbye):
        """Tell the others that a rank is no longer here."""
        error = (goodbye or {}).get("error")
        if not self.complete.is_set():
            del self.members[rank]  # it may come again
            return
        if goodbye is not None and error is None:
            member.state, why = "left", "it has ended"
        else:
            lost = "its connection closed without a goodbye: it was killed, or crashed"
            member.state, why = "gone", error or lost
        for other in self.members.values():
            other.tell(
                {member.state: rank, "reason": f"{why}; process {member.pid} on {member.host}"}
            )
        self.look_up()
        if any(not each.running for each in self.members.values() if each.state == "here"):
            self.exchange.break_off(
                f"rank {rank} is gone ({why})"
            )  # MPI's start would never stop waiting for it
