"""Calls with nonsense, made in a process of its own: what ends that process is a finding with a name.

A walk (see junk_walks.py) yields (subject, details, call) in an order that never changes. `findings` runs it in a
child, which says before each call which one it is. A child that dies, or stays too long, is replaced by one that
starts behind that call and leaves its subject alone.
"""

import mmap
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MEMORY = 1 << 30  # bytes that the calls may take: more than an honest one needs
PATIENCE = 60  # seconds that one call may take
NAME_BYTES = 400
SPOILED = 77  # exit status: a call that raised nothing left the library unusable, as it was told to
MAX_CHILDREN = 60


# ---------------------------------------------------------------- the parent
def findings(walk, shares=1, first=0):
    """Run every `shares`th call of a walk from call `first` on; return what went wrong, an entry each."""
    found, closed = [], []
    with tempfile.TemporaryDirectory() as folder:
        board = Path(folder, "board")
        notes = Path(folder, "notes")
        notes.touch()
        for _ in range(MAX_CHILDREN):
            board.write_bytes(bytes(8 + NAME_BYTES))
            command = [sys.executable, "-X", "faulthandler", "-m", "tests.core.junk", walk]
            command += [str(first), str(shares), str(board), str(notes), *closed]
            status, errors = wait_for(command, board, folder)
            number, name = read_board(board)
            if status == 0:
                return found + notes.read_text().splitlines()
            if number < 0:
                raise RuntimeError("\n".join([*found, f"the walk {walk} did not start:", errors]))
            if status != SPOILED:
                closed.append(name.partition(": ")[0])
                how = f"signal {-status}" if status < 0 else f"exit status {status}"
                found.append(f"{name}: {how}\n{errors}")
            first = number + 1
    raise RuntimeError("\n".join([f"{MAX_CHILDREN} processes were not enough:", *found]))


def wait_for(command, board, folder):
    """Return the exit status of the child and the end of what it complained of."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    if "ASAN_OPTIONS" in environment:  # the sanitizers' way to say what limit_memory says
        environment["ASAN_OPTIONS"] += f":max_allocation_size_mb={MEMORY >> 20}"
    errors = Path(folder, "errors")
    with errors.open("wb") as sink:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=sink,
        )
        last, since = read_board(board), time.monotonic()
        while child.poll() is None:
            time.sleep(0.05)
            now = read_board(board)
            if now != last or now[0] < 0:  # another call, or none yet
                last, since = now, time.monotonic()
            elif time.monotonic() - since > PATIENCE:
                child.kill()
    return child.wait(), errors.read_text(errors="replace")[-3000:]


def read_board(board):
    data = board.read_bytes()
    (number,) = struct.unpack_from("q", data)
    return number - 1, data[8:].rstrip(b"\0").decode(errors="replace")


# ---------------------------------------------------------------- the child
def run(walk, first, shares, board, notes, *closed):
    """Make the calls from number `first` on, but for those of the subjects in `closed`."""
    from tests.core import junk_walks

    with open(board, "r+b") as file:
        view = mmap.mmap(file.fileno(), 0)
    notes = open(notes, "a", buffering=1)  # noqa: SIM115 - open to the end
    subject, details, noted = "", "", set()

    def note(what):
        if subject not in noted:
            notes.write(f"{subject}: {details}: {what}\n")
        noted.add(subject)

    def note_ignored(given):
        # Python's own fault: a ZipFile that gives up while it is made can't be closed
        if getattr(given.object, "__module__", None) != "zipfile":
            note(f"ignored {given.exc_value!r}")

    sys.unraisablehook = note_ignored
    limit_memory()
    for number, (subject, details, call) in enumerate(getattr(junk_walks, walk)()):
        if number < first or number % shares or subject in closed:
            continue
        text = f"{subject}: {details}".encode(errors="replace")[:NAME_BYTES]
        view[8:] = text + bytes(NAME_BYTES - len(text))
        view[:8] = struct.pack("q", number + 1)
        try:
            call()
        except (
            SystemError,
            junk_walks.Finding,
        ) as error:  # broken rules of the interpreter, or ours
            note(repr(error))
        except Exception:
            continue
        if not junk_walks.still_works():
            os._exit(SPOILED)
    view[:8] = struct.pack("q", number + 1)
    notes.flush()
    os._exit(0)


def limit_memory():
    """Make what asks for much more memory than there is now a MemoryError.

    Not under the sanitizers, whose address space is terabytes: `wait_for` limits them.
    """
    pages = Path("/proc/self/statm")
    if pages.exists() and "libasan" not in os.environ.get("LD_PRELOAD", ""):
        most = int(pages.read_text().split()[0]) * mmap.PAGESIZE + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    run(sys.argv[1], *map(int, sys.argv[2:4]), *sys.argv[4:])
