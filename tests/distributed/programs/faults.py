"""What can go wrong: rank 1 does it, and every other rank says what it was told, and how soon."""

import os
import signal
import sys
import time

import tensorlab as torch
import tensorlab.distributed as dist
from tensorlab.errors import DistError

# Whoever starts tests in the background has told the system to ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
FAULT, TIMEOUT = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60.0


def fault():
    """Do what is asked for."""
    match FAULT:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise ValueError("boom")
        case "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        case "exit":
            sys.exit(3)
        case "hang":
            time.sleep(3600)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "slow":
            time.sleep(0.5)


def collective():
    """What the others wait in."""
    dist.all_reduce(torch.ones(100_000))


def message():
    dist.recv(torch.ones(100_000), 1)


def background():
    work = dist.all_reduce(torch.ones(100_000), async_op=True)
    until = time.monotonic() + TIMEOUT + 10
    while not work.is_completed() and time.monotonic() < until:
        time.sleep(0.001)  # no one waits: the thread of the backend finds out
    raise work.exception()


def main():
    where = {"collective": collective, "message": message, "background": background}
    wait = where[sys.argv[3] if len(sys.argv) > 3 else "collective"]
    dist.init_process_group("mpi", timeout=TIMEOUT)
    rank = dist.get_rank()
    dist.barrier()
    if rank == 1:
        began = time.time()
        print(f"began {began}", flush=True)
        fault()
        wait()
        print("went on", flush=True)
        return
    try:
        wait()
    except DistError as error:
        print(f"told {time.time()}\n{type(error).__name__}: {error}", flush=True)
        try:
            dist.barrier()
        except DistError as again:
            print(f"again: {again}", flush=True)
        os._exit(7)
    print("went on", flush=True)


if __name__ == "__main__":
    main()
