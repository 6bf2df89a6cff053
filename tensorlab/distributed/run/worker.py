"""Worker: the process of one rank, as its launcher sees it."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from .options import chosen
from .streams import Stream, prefix_of

OF_MPI = ("PMI_", "PMIX_", "OMPI_", "MPI_LOCAL", "HYDI_", "MPIEXEC_")
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class Worker:
    """The process of one rank.

    Attributes
    ----------
    rank, local_rank : int
    process : Popen
    exit : descriptor that can be read once the process has ended, or None where there is none
    ended : float or None, when it ended, or when the traceback began with which it did
    """

    def __init__(self, given, rank, local_rank, environment):
        self.rank, self.local_rank = rank, local_rank
        self.ended = None
        self.streams = []
        shown = {int(each) for each in given.local_ranks_filter.split(",") if each}
        is_shown = not shown or local_rank in shown
        ends = [self.stream_of(given, number, is_shown, environment) for number in (1, 2)]
        self.process = subprocess.Popen(
            command_of(given),
            env=environment,
            stdout=ends[0],
            stderr=ends[1],
            start_new_session=True,  # signals reach what the rank starts, too
            preexec_fn=die_with_parent if LIBC is not None else None,
        )
        for end in ends:
            os.close(end)
        self.exit = os.pidfd_open(self.process.pid) if hasattr(os, "pidfd_open") else None

    def stream_of(self, given, number, is_shown, environment):
        """Return the descriptor that a rank writes to: a pipe, so that lines stay whole."""
        target = (sys.stdout, sys.stderr)[number - 1]
        alone = chosen(given.redirects, self.local_rank) & number
        copied = chosen(given.tee, self.local_rank) & number
        file = None
        if alone or copied:
            file = open(log_path(given, environment, self.local_rank, number), "wb")  # noqa: SIM115
        is_shown = is_shown and (copied or not alone)
        reader, writer = os.pipe()
        out = target.buffer if is_shown else None
        self.streams.append(Stream(reader, out, prefix_of(self.rank, target), file))
        return writer

    def poll(self):
        """Return the exit code, or None, after showing what the process has written."""
        code = self.process.poll()
        now = time.monotonic()
        for stream in self.streams:
            stream.read()
            if code is None:
                stream.look()
        if code is not None and self.ended is None:
            if self.exit is not None:
                os.close(self.exit)
                self.exit = None
            began = [stream.since for stream in self.streams if stream.held]
            self.ended = min([now, *began])
        return code

    def signal(self, number):
        """Send a signal to the process and those that it has started."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def traceback(self):
        """Return the traceback with which the process ended, as text, or ""."""
        lines = [line for stream in self.streams for line in stream.held]
        return b"".join(lines).decode(errors="replace")

    def how_it_ended(self):
        """Return in words how a rank failed."""
        code = self.process.returncode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            how = f"was killed by {name}"
            if -code == signal.SIGKILL:
                how += ": by someone, or by the system because memory ran out"
        else:
            how = f"failed with exit code {code}"
        return f"rank {self.rank} (process {self.process.pid}) {how}"

    def close(self, show):
        """Close the streams; show a traceback that was held back, or forget it."""
        for stream in self.streams:
            stream.read()
            stream.close()
            if show:
                stream.release()


def command_of(given):
    """Return the words that start one rank."""
    program = [given.training_script, *given.training_script_args]
    if given.no_python:
        return program
    return [sys.executable, "-u", *(["-m"] if given.module else []), *program]


def log_path(given, environment, local_rank, number):
    """Return the file of a rank's stream, in a folder of its own."""
    run, attempt = given.rdzv_id, environment["TORCHELASTIC_RESTART_COUNT"]
    folder = Path(given.log_dir) / run / f"attempt_{attempt}" / str(local_rank)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / ("stdout.log", "stderr.log")[number - 1]


def load_libc():
    try:
        library = ctypes.CDLL(None)
        return library if hasattr(library, "prctl") else None
    except (OSError, TypeError):
        return None


LIBC = load_libc()


def die_with_parent():
    """Ask the system to kill this process when the launcher dies."""
    LIBC.prctl(DIE_WITH_PARENT, signal.SIGKILL)


def environment_of(given, node, attempt, local_rank, first, size):
    """Return the variables of a rank: what init_process_group, and programs, look for."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OF_MPI)}
    environment.setdefault("OMP_NUM_THREADS", "1")
    rank = first + local_rank
    environment.update(
        RANK=str(rank),
        LOCAL_RANK=str(local_rank),
        WORLD_SIZE=str(size),
        LOCAL_WORLD_SIZE=str(given.nproc_per_node),
        GROUP_RANK=str(node.rank),
        GROUP_WORLD_SIZE=str(node.count),
        ROLE_RANK=str(rank),
        ROLE_WORLD_SIZE=str(size),
        ROLE_NAME=given.role,
        MASTER_ADDR=node.host,
        MASTER_PORT=str(node.port),
        TORCHELASTIC_USE_AGENT_STORE="True",
        TORCHELASTIC_RESTART_COUNT=str(attempt),
        TORCHELASTIC_MAX_RESTARTS=str(given.max_restarts),
        TORCHELASTIC_RUN_ID=given.rdzv_id,
    )
    return environment
