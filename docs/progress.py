"""How far a long piece of work is, and how long it usually takes: what the build of the book prints.

    chapter 12 of 46 (Convolution), 2:10, about 4:00 left

How long something takes is what it took the last time, which docs/_build/durations.json remembers.
"""

import json
import threading
import time
from pathlib import Path

DURATIONS = Path(__file__).resolve().parent / "_build/durations.json"


class Durations:
    """The seconds that things took when they were last done, by name."""

    def __init__(self, path=None):
        self.path = path or DURATIONS
        try:
            self.seconds = json.loads(self.path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            self.seconds = {}

    def usual(self, name):
        """Return how many seconds something takes; None if it was never done."""
        return self.seconds.get(name)

    def remember(self, name, seconds):
        self.seconds[name] = round(seconds, 1)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self.seconds, indent=1, sort_keys=True), encoding="utf-8")
        unfinished.replace(self.path)


class Progress:
    """Tells of pieces of work, of which several may be done at once, how far they are.

    `titles` has the title of each piece by its name, in order; `kind` is what a piece is called.
    """

    def __init__(self, kind, titles, durations, at_once=1, clock=time.monotonic, say=print):
        self.kind, self.titles, self.durations, self.at_once = kind, titles, durations, at_once
        self.clock, self.say = clock, say
        self.started = clock()
        self.begun, self.left = {}, dict.fromkeys(titles)
        self.lock = threading.RLock()  # pieces may be done in threads

    def begins(self, name):
        with self.lock:
            self.begun[name] = self.clock()
            self.say(f"   {self.line()}")

    def line(self):
        """Say which piece began last, how much time has passed, and how much is left, if that is known."""
        with self.lock:
            title = self.titles[list(self.begun)[-1]] if self.begun else "none yet"
            passed = clock_text(self.clock() - self.started)
            line = f"{self.kind} {len(self.begun)} of {len(self.titles)} ({title}), {passed}"
            seconds = self.seconds_left()
        return line if seconds is None else f"{line}, about {clock_text(seconds)} left"

    def ends(self, name):
        with self.lock:
            del self.left[name]
            self.durations.remember(f"{self.kind} {name}", self.clock() - self.begun[name])

    def seconds_left(self):
        """Return how many seconds the rest may take; None if nothing like it was ever done.

        A piece that is new takes as long as others do in the mean.
        """
        usual = {name: self.durations.usual(f"{self.kind} {name}") for name in self.titles}
        known = [seconds for seconds in usual.values() if seconds is not None]
        if not known:
            return None
        mean, now = sum(known) / len(known), self.clock()
        rest = [
            max(
                0,
                (mean if usual[name] is None else usual[name]) - (now - self.begun.get(name, now)),
            )
            for name in self.left
        ]
        return max(sum(rest) / self.at_once, max(rest, default=0))


def clock_text(seconds):
    """Return a length of time as clocks show it.

    >>> clock_text(0), clock_text(59.7), clock_text(130), clock_text(3725)
    ('0:00', '1:00', '2:10', '1:02:05')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
