"""How much memory was in use over time, as a file."""

import gzip
import json
from pathlib import Path

from tensorlab.profiler.pictures import memory_picture

__all__ = ["write"]

UNKNOWN = 7  # of PyTorch's categories of blocks, of which it finds some by guessing


def changes_of(recording):
    """[(nanoseconds by the clock on the wall, address, bytes)], negative for a block that was given back."""
    shift = recording.began_at - recording.start
    return sorted(
        (when + shift, address, nbytes)
        for track in recording.tracks
        for when, address, nbytes, _ in track.memory_events()
    )


def totals_of(changes):
    """(times, bytes in use): never below what was in use at the lowest, as blocks from before may be given back."""
    times, totals, total = [], [], 0
    for when, _, nbytes in changes:
        total += nbytes
        times.append(when)
        totals.append(total)
    lowest = min([0, *totals])
    return times, [total - lowest for total in totals]


def write(recording, path, device=None):
    """Write the timeline into a file whose name says in which form."""
    if device not in (None, "cpu") and str(device) != "cpu":
        raise ValueError(
            f"export_memory_timeline: device is {device!r}; only the cpu has memory here"
        )
    changes = changes_of(recording)
    if path.endswith(".html"):
        times, totals = totals_of(changes)
        memory_picture(times, totals).save(path)
        return
    if path.endswith(".raw.json.gz"):
        content = raw(changes)
    else:
        times, totals = totals_of(changes)
        content = [times, [[0] * UNKNOWN + [total] for total in totals]]
    if path.endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump(content, file)
    else:
        Path(path).write_text(json.dumps(content), encoding="utf-8")


def raw(changes):
    """[(time, action, [address, category], bytes)]: actions are 1, taken, and 3, given back."""
    return [
        [when, 1 if nbytes > 0 else 3, [address, UNKNOWN], abs(nbytes)]
        for when, address, nbytes in changes
    ]
