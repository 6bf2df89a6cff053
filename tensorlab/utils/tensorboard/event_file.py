"""FileWriter: events into a file that TensorBoard reads.

    one event:  length, 8 bytes | checksum of these, 4 | the message | checksum of the message, 4

Events wait in memory until there are `max_queue` of them, or until the last write was `flush_secs` ago, or for flush()
or close(). They are written by the program's own thread and in one go, so a copy of the process, such as a worker of a
DataLoader, never writes them a second time.
"""

import itertools
import os
import socket
import struct
import threading
import time
import weakref

from .protos import Event, crc32c

__all__ = ["FileWriter"]

NUMBERS = itertools.count()  # so that two files of one second have different names


class FileWriter:
    """Writes events into a new file of a folder.

    Parameters
    ----------
    log_dir : str or path; the folder is made if it isn't there
    max_queue : int, how many events may wait until they are written
    flush_secs : number, seconds after which the next event has all written that wait
    filename_suffix : str, the end of the file's name
    """

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.log_dir = os.fspath(log_dir)
        self.max_queue, self.flush_secs = max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.lock = threading.Lock()
        self.records = None
        self.reopen()

    def get_logdir(self):
        """Return the folder in which the file is."""
        return self.log_dir

    def reopen(self):
        """Begin a new file in the folder; nothing happens if the writer is open."""
        if self.records is None:
            os.makedirs(self.log_dir, exist_ok=True)
            parts = [f"{int(time.time()):010d}", socket.gethostname(), os.getpid(), next(NUMBERS)]
            name = f"events.out.tfevents.{'.'.join(map(str, parts))}{self.filename_suffix}"
            self.records = Records(os.path.join(self.log_dir, name))
            self.finish = weakref.finalize(
                self, self.records.close
            )  # at the latest when Python ends
            self.add_event(Event(file_version="brain.Event:2"))
            self.flush()

    def add_event(self, event, step=None, walltime=None):
        """Add an event.

        Parameters
        ----------
        event : Event, a message of tensorboardX
        step : int, or a tensor or array of one
        walltime : float, seconds since 1970; the time of the call if it is not given

        Raises
        ------
        ValueError
            If the writer is closed.
        """
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        with self.lock:
            if self.records is None:
                raise ValueError(
                    f"FileWriter: the writer of {self.log_dir} is closed; reopen() it, or make a new one"
                )
            self.records.waiting.append(event.SerializeToString())
            is_late = time.monotonic() - self.records.written_at >= self.flush_secs
            if len(self.records.waiting) > self.max_queue or is_late:
                self.records.write()

    def add_summary(self, summary, global_step=None, walltime=None):
        """Add a Summary, a message of tensorboardX, as an event; the other arguments are those of `add_event`."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self):
        """Write what waits into the file."""
        with self.lock:
            if self.records is not None:
                self.records.write()

    def close(self):
        """Write what waits, and close the file."""
        with self.lock:
            self.finish()  # nothing, the second time
            self.records = None


class Records:
    """A file of records, and those that are not yet in it."""

    def __init__(self, path):
        self.file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self.waiting, self.process = [], os.getpid()
        self.written_at = time.monotonic()

    def write(self):
        """Write what waits; nothing stays in a buffer."""
        waiting, self.waiting = self.waiting, []
        self.written_at = time.monotonic()
        if os.getpid() == self.process:
            self.file.write(b"".join(map(record, waiting)))
            self.file.flush()

    def close(self):
        try:
            self.write()
        finally:
            self.file.close()


def record(data):
    """Return a message between its length and its checksum."""
    length = struct.pack("<Q", len(data))
    return length + checksum(length) + data + checksum(data)


def checksum(data):
    """Return the CRC of some bytes, turned and shifted as the format asks, so that a CRC has not a CRC of 0."""
    crc = crc32c(data) & 0xFFFFFFFF
    turned = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    return struct.pack("<I", (turned + 0xA282EAD8) & 0xFFFFFFFF)
