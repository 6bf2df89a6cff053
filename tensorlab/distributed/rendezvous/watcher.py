"""Watcher: the thread that hears when another rank goes, and says where this one stands."""

import contextlib
import itertools
import os
import sys
import threading
import time

from tensorlab.distributed.stores.connection import Connection
from tensorlab.errors import DistNetworkError, DistStoreError


class Watcher:
    """A rank's line to the server.

    Parameters
    ----------
    host, port : where the server is
    hello : dict, who this rank is
    recorder : FlightRecorder, what it says where the rank stands

    Attributes
    ----------
    lost : dict of int to (float, str), ranks that have gone: since when, and why
    """

    def __init__(self, host, port, hello, recorder, seconds):
        self.rank, self.recorder = hello["rank"], recorder
        self.lost = {}
        self.when_lost = None  # called in the thread, with a rank that is lost and the reason
        self.hosts = []
        self.closed = False
        self.answers = {}
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.pid = os.getpid()
        self.connection = Connection(host, port, seconds)
        self.connection.send(hello)

    def await_all(self, seconds, size):
        """Wait until all ranks have come, then go on listening in a thread.

        Raises
        ------
        DistStoreError
            If some don't come in time: the message names them.
        DistNetworkError
            If the server refuses this rank, or is no server of ours.
        """
        until = time.monotonic() + seconds
        missing = []
        while not self.hosts:
            try:
                message = self.connection.hear(max(0.001, until - time.monotonic()))
            except TimeoutError:
                missing = self.still_missing(missing)
                self.connection.close()
                raise DistStoreError(
                    f"init_process_group: {ranks(missing)} did not come within {seconds:g} s; "
                    f"{size - len(missing)} of {size} ranks are here. Look whether all were "
                    "started, with the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE, or "
                    "whether one failed before init_process_group"
                ) from None
            if message is None or not message.keys() & {
                "missing",
                "ready",
                "refused",
                "gone",
                "left",
            }:
                raise DistNetworkError(
                    f"init_process_group: what answers at {self.connection.host}:"
                    f"{self.connection.port} is not the server in which ranks meet, or it has "
                    "ended; choose another MASTER_PORT"
                )
            if "refused" in message:
                raise DistNetworkError(f"init_process_group: {message['refused']}")
            missing = message.get("missing", missing)
            self.hosts = message.get("hosts", [])
        threading.Thread(target=self.listen, daemon=True, name="tensorlab-watcher").start()

    def still_missing(self, before):
        """Ask which ranks are missing now."""
        answer = self.connection.ask({"missing": True}, 1.0)
        return (answer or {}).get("missing", before)

    def say(self, message):
        """Tell the server something; nothing happens where it is gone."""
        with self.lock:
            try:
                self.connection.send(message)
            except OSError:
                pass

    def listen(self):
        """Hear messages until the line ends."""
        while (message := self.connection.hear()) is not None:
            for state in ("gone", "left"):
                if state in message:
                    grace = 0.03 if state == "gone" else 1.0  # what it has sent may be on its way
                    self.lost[message[state]] = time.monotonic() + grace, message["reason"]
                    if self.when_lost is not None:
                        self.when_lost(message[state], message["reason"])
            if "question" in message:
                text, number = self.recorder.where(), last_number(self.recorder, message["group"])
                self.say({"answer": message["question"], "text": text, "number": number})
            elif "standing" in message:
                heard, _ = self.answers.get(message["standing"], (None, None))
                if heard is not None:
                    self.answers[message["standing"]] = heard, message["answers"]
                    heard.set()

    @contextlib.contextmanager
    def calling(self, function):
        """While it is entered, call `function(rank, reason)` as soon as a rank is lost, or if one is."""
        self.when_lost = function
        try:
            for rank, (_, reason) in list(self.lost.items()):
                function(rank, reason)
            yield
        finally:
            self.when_lost = None

    def standing(self, group):
        """Return where each rank stands: a dict of rank to {"text": words, "number": its last call}."""
        number, heard = next(self.numbers), threading.Event()
        self.answers[number] = heard, {}
        self.say({"ask": number, "group": group})
        heard.wait(2.0)
        _, answers = self.answers.pop(number)
        return {int(rank): answer for rank, answer in answers.items()}

    def close(self):
        """Say goodbye."""
        if self.closed or self.pid != os.getpid():
            return
        self.closed = True
        error = getattr(sys, "last_value", None)
        goodbye = {"bye": True}
        if error is not None:
            goodbye["error"] = f"it has ended with {type(error).__name__}: {error}"[:500]
        self.say(goodbye)
        self.connection.close()


def last_number(recorder, group):
    """Return the number of the last call of a group that a rank has begun."""
    numbers = [call.number for call in list(recorder.calls) if call.group == group]
    return max(numbers, default=-1)


def ranks(numbers):
    """Return "rank 3" or "ranks 1, 3"."""
    numbers = [str(each) for each in numbers]
    return f"rank{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
