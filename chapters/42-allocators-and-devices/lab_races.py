"""Races: a stream reads a block that another one may still be writing, or writes one that
another may still be reading.

Each stream counts its kernels, and knows of each other stream up to which one it has waited: a
vector clock (L. Lamport, Time, clocks, and the ordering of events in a distributed system,
1978; as vectors F. Mattern, 1988). A kernel may use a block if its stream has waited for the
kernel that wrote it, wherever that ran, and may write it if it has waited for each kernel that read it.
"""


class RaceError(RuntimeError):
    """Two streams use a block, and neither has waited for the other."""


def has_waited(stream, other, when):
    """Is that kernel of another stream done before what comes next in this one?"""
    return other is stream or stream.clock.get(other, 0) >= when


def note(stream, name, written, read):
    """Note that a kernel, the next one of a stream, uses these blocks.

    Raises
    ------
    RaceError
        If it may be too early.
    """
    when = stream.clock[stream] + 1
    for block in (*read, *written):
        if block.last_write is not None:
            other, time, what = block.last_write
            if not has_waited(stream, other, time):
                raise race(stream, name, other, what, "wrote", "uses")
    for block in written:
        for other, (time, what) in block.reads.items():
            if not has_waited(stream, other, time):
                raise race(stream, name, other, what, "reads", "overwrites")
    for block in read:
        block.reads[stream] = (when, name)
    for block in written:
        block.last_write, block.reads = (stream, when, name), {}


def race(stream, name, other, what, did, does):
    return RaceError(
        f"{name} in stream {stream.number} {does} a block that {what} in stream {other.number} "
        f"{did}, and has not waited "
        f"for it; record an event after {what}, and let stream {stream.number} wait for it"
    )
