"""Streams: each is a thread that does what has been put into it, one thing after the other."""

import itertools
import queue
import threading
import time

numbers = itertools.count()


class Event:
    """A mark in a stream. `clock` says what is known to be done when it is reached (lab_races.py)."""

    def __init__(self, clock):
        self.reached = threading.Event()
        self.time, self.clock = None, clock

    def reach(self):
        self.time = time.perf_counter()
        self.reached.set()

    def is_done(self):
        return self.reached.is_set()


class Stream:
    """A queue of work, and the thread that does it."""

    def __init__(self, settings, log):
        self.number = next(numbers)
        self.settings, self.log = settings, log
        # of each stream, up to where its work is done before what comes next here
        self.clock = {self: 0}
        self.error = None
        self.work = queue.SimpleQueue()
        self.thread = threading.Thread(
            target=self.run, daemon=True, name=f"lab stream {self.number}"
        )
        self.thread.start()

    def run(self):
        while True:
            name, function = self.work.get()
            start = time.perf_counter()
            try:
                function()
            except Exception as error:  # raised where the program next waits for this stream
                error.add_note(f"in the kernel {name!r}, in stream {self.number} of the device")
                self.error = self.error or error
            if name is not None:
                time.sleep(self.settings.latency)
                self.log.append((self.number, name, start, time.perf_counter()))

    def enter(self, name, function):
        if (
            not self.thread.is_alive()
        ):  # it would never be done, and who waits for it would wait forever
            raise RuntimeError(
                f"lab: {name or 'an event'} was put into stream {self.number}, whose thread is "
                f"gone: a process that was forked has the device's memory and none of its "
                f"threads. Start processes with the method 'spawn'"
            )
        self.work.put((name, function))

    def put(self, name, function):
        """Let a function run after everything that is in the stream."""
        self.clock[self] += 1
        self.enter(name, function)

    def record(self):
        """Put a mark into the stream."""
        event = Event(dict(self.clock))
        self.enter(None, event.reach)
        return event

    def wait(self, event):
        """Let what comes next wait for a mark of another stream."""
        for stream, when in event.clock.items():
            self.clock[stream] = max(self.clock.get(stream, 0), when)
        self.enter(None, event.reached.wait)

    def synchronize(self):
        """Wait until all is done; raise what has gone wrong."""
        self.record().reached.wait()
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def is_idle(self):
        """Is all done?"""
        event = self.record()
        time.sleep(0)
        return event.is_done()
