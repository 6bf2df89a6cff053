"""The flight recorder: the last calls of a rank, for the moment when one of them hangs.

Each rank keeps its last 100 calls. When a wait ends in vain, the error shows where each rank
stands; `dump` returns all of it.
"""

import collections
import time

from tensorlab import _missing

LENGTH = 100


class FlightRecorder:
    """The last calls of one rank.

    Attributes
    ----------
    calls : deque of Call, the newest last
    """

    def __init__(self):
        self.calls = collections.deque(maxlen=LENGTH)

    def note(self, call):
        """Keep a call that begins now."""
        self.calls.append(call)

    def where(self):
        """Return in a few words where the rank stands."""
        if not self.calls:
            return "has called nothing yet"
        for call in self.calls:  # the oldest that still waits is what holds the rank up
            if call.state == "waiting":
                return f"waits {time.monotonic() - call.begun:.1f} s in {call}"
        call = self.calls[-1]
        ago = time.monotonic() - (call.ended or call.begun)
        return f"has called nothing more for {ago:.1f} s, since {call} ({call.state})"

    def entries(self):
        """Return the calls as dicts, the oldest first: what a table or a picture is made from."""
        return [
            {
                "group": call.group,
                "number": call.number,
                "what": call.what(),
                "state": call.state,
                "begun": call.begun,
                "ended": call.ended,
            }
            for call in list(self.calls)
        ]

    def table(self):
        """Return the calls as text, one a line, the oldest first."""
        lines = [f"{'call':>6}  {'state':8}{'ms':>10}  what"]
        now = time.monotonic()
        for call in list(self.calls):
            ms = ((call.ended or now) - call.begun) * 1e3
            lines.append(
                f"{call.number:>6}  {call.state:8}{ms:>10.2f}  {call.group}: {call.what()}"
            )
        return "\n".join(lines)


__getattr__ = _missing.refusing(__name__)
