"""Ranks that are processes, for tests: each runs a program of programs/, and nothing may hang."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs")
ROOT = PROGRAMS.parents[2]
OURS = f"TENSORLAB_TESTS={os.getpid()}"  # in the environment of what this process starts
SECONDS = 60  # for a program that should take one


def free_port():
    """Return a port that is free now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def environment(**more):
    """Return the variables of a program that tests start: none of a rank's, and one thread."""
    strange = ("PMI_", "MPI_", "RANK", "WORLD_SIZE", "MASTER_", "LOCAL_", "TORCHELASTIC_", "SLURM_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    if "PYTHONSAFEPATH" not in kept:
        kept["PYTHONPATH"] = str(ROOT)
    name, _, value = OURS.partition("=")
    told = {"OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1", name: value}
    return kept | told | more


def start(command, **more):
    """Start a command, whose output is kept, in a session of its own."""
    return subprocess.Popen(
        command,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def start_ranks(program, count, *arguments, which=None, **more):
    """Start a program of programs/ on each rank, of `which` if not all; return the processes."""
    port = str(free_port())
    command = [sys.executable, str(PROGRAMS / program), *map(str, arguments)]
    where = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port} | more
    return [start(command, RANK=str(rank), **where) for rank in (which or range(count))]


def ends(processes, seconds=SECONDS):
    """Wait for processes; return the exit code and the output of each.

    Whoever doesn't end in time is killed, with all that it has started, and has the code -9;
    the output then ends with the lines at which each process stood.
    """
    until = time.monotonic() + seconds
    results = []
    for process in processes:
        try:
            output, _ = process.communicate(timeout=max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            show_where_all_stand()
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate(timeout=SECONDS)
        results.append((process.returncode, output))
    return results


def show_where_all_stand():
    """Let ranks that hang end with a traceback of each thread, which launchers pass on."""
    for folder in processes():
        is_launcher = re.search(r"tensorlab[. ](distributed\.)?(run|launch)\b", words_of(folder))
        if int(folder.name) != os.getpid() and not is_launcher:
            try:
                os.kill(int(folder.name), signal.SIGABRT)
            except ProcessLookupError:
                pass
    time.sleep(0.5)


def first_end(processes, seconds=SECONDS):
    """Wait until one of some processes ends, and kill the others; return the output of that one."""
    until = time.monotonic() + seconds
    ended = []
    while not ended and time.monotonic() < until:
        time.sleep(0.02)
        ended = [process for process in processes if process.poll() is not None]
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    outputs = [process.communicate(timeout=SECONDS)[0] for process in processes]
    return outputs[processes.index(ended[0])]


def run_ranks(program, count, *arguments, **more):
    """Run a program on each rank; return the outputs. All must end well."""
    results = ends(start_ranks(program, count, *arguments, **more))
    for rank, (code, output) in enumerate(results):
        assert code == 0, f"rank {rank} ended with {code}:\n{output}"
    return [output for _, output in results]


def processes():
    """Yield the folder in /proc of each process that this test process has started, at any remove."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if OURS.encode() in (folder / "environ").read_bytes():
                yield folder
        except OSError:
            pass  # it has ended, or is someone else's


def left_over():
    """Return what runs may leave behind: memory that no process has any more, and processes."""
    memory = {str(path) for path in Path("/dev/shm").glob("mpich_shm_*")}
    for maps in Path("/proc").glob("[0-9]*/maps") if memory else ():
        try:
            mapped = maps.read_text()
        except OSError:
            continue
        memory = {name for name in memory if name not in mapped}
    return memory | {f"{folder.name}: {words_of(folder)}" for folder in processes()}


def words_of(folder):
    """Return the command line of a process."""
    try:
        return (folder / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def await_nothing_left(before, seconds=5.0):
    """Return what is left that wasn't there before, once servers have had time to end."""
    until = time.monotonic() + seconds
    while (left := sorted(left_over() - before)) and time.monotonic() < until:
        time.sleep(0.02)
    return left
