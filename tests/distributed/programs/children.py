"""Ranks whose children, forked and spawned, stay out of MPI; a forked one doesn't hide a death."""

import os
import signal
import subprocess
import sys
import time

import pytest

import tensorlab as torch
import tensorlab.distributed as dist


def main():
    dist.init_process_group("mpi")
    rank = dist.get_rank()
    assert not [name for name in os.environ if name.startswith("PMI_")]
    words = [sys.executable, "-c", "from mpi4py import MPI; print(MPI.COMM_WORLD.size)"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "1\n"
    x = torch.ones(2)
    dist.all_reduce(x)
    assert x[0] == 2
    if rank == 0:
        child = os.fork()
        if child == 0:
            time.sleep(60)  # holds all that its parent had open when it began
            os._exit(0)
        group = dist.group.WORLD
        group.transport.store.set("child", str(child))
        os.kill(os.getpid(), signal.SIGKILL)
    child = int(dist.group.WORLD.transport.store.get("child"))
    began = time.monotonic()
    with pytest.raises(dist.DistBackendError, match="rank 0 is gone"):
        dist.recv(x, 0)
    assert time.monotonic() - began < 20
    os.kill(child, signal.SIGKILL)
    print("all is well", flush=True)


if __name__ == "__main__":
    main()
