"""Two machines: network namespaces with host names of their own stand for them."""

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from tests.distributed import ranks

pytest.importorskip("mpi4py")
PORT = "29555"
NAMES = [f"tl{os.getpid()}{letter}" for letter in "ab"]
FIRST = "10.77.0.1"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True)


def names_of_hosts_can_differ():
    """Return whether this process may make namespaces."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare"))):
        return False
    name = f"{NAMES[0]}try"
    try:
        ip("netns", "add", name)
        ip("netns", "del", name)
    except subprocess.CalledProcessError:
        return False
    return True


@pytest.fixture(scope="module")
def machines():
    """Two network namespaces, joined by a cable."""
    if not names_of_hosts_can_differ():
        pytest.skip("namespaces of the network need root's rights")
    first, second = NAMES
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ends = ("link", "add", "end", "netns", first, "type", "veth", "peer", "name", "end")
        ip(*ends, "netns", second)
        for number, name in enumerate(NAMES, 1):
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "end")
            for device in ("lo", "end"):
                ip("-n", name, "link", "set", device, "up")
        yield NAMES
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def start_on(machine, command, **environment):
    """Start a command on one of the machines, which has its name for a host name."""
    named = ["unshare", "-u", "sh", "-c", f'hostname {machine}; exec "$@"', "sh", *command]
    return ranks.start(["ip", "netns", "exec", machine, *named], **environment)


def test_ranks_of_two_machines(machines):
    program = [sys.executable, str(ranks.PROGRAMS / "values.py")]
    where = {"WORLD_SIZE": "2", "MASTER_ADDR": FIRST, "MASTER_PORT": PORT}
    processes = [
        start_on(name, program, RANK=str(rank), **where) for rank, name in enumerate(machines)
    ]
    assert ranks.ends(processes) == [(0, "all is well\n")] * 2


def test_launchers_of_two_machines(machines):
    launcher = [
        sys.executable,
        "-m",
        "tensorlab.distributed.run",
        "--nnodes=2",
        "--nproc-per-node=2",
    ]
    where = [f"--master-addr={FIRST}", f"--master-port={PORT}"]
    program = [str(ranks.PROGRAMS / "launched.py"), "nothing"]
    processes = [
        start_on(name, [*launcher, f"--node-rank={node}", *where, *program])
        for node, name in enumerate(machines)
    ]
    results = ranks.ends(processes)
    assert [code for code, _ in results] == [0, 0], results
    lines = sorted("".join(output for _, output in results).strip().split("\n"))
    assert lines == [f"rank {rank} of 4: 4.0" for rank in range(4)]


@pytest.mark.fault
@pytest.mark.parametrize("fault", ["kill", "hang"])
def test_a_rank_of_another_machine_that_is_lost(machines, fault):
    program = [sys.executable, str(ranks.PROGRAMS / "faults.py"), fault, "2.0"]
    where = {"WORLD_SIZE": "2", "MASTER_ADDR": FIRST, "MASTER_PORT": PORT}
    first, second = (
        start_on(name, program, RANK=str(rank), **where) for rank, name in enumerate(machines)
    )
    [(code, output)] = ranks.ends([first])
    if fault == "hang":
        os.killpg(second.pid, signal.SIGKILL)
    ranks.ends([second])
    assert code == 7, output
    said = rf"rank 1 is gone .* on {machines[1]}\)" if fault == "kill" else "rank 1 did not come"
    assert re.search(said, output), output
