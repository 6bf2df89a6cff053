"""Callbacks that fail, and Ctrl-C in the middle of a call: what comes after them."""

import os
import signal
import sys
import threading
import time

import pytest

import tensorlab as torch
import tensorlab.distributed as dist

# Whoever starts tests in the background has told the system to ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


def be_interrupted():
    """Wait for a message that never comes, until Ctrl-C."""
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    dist.recv(torch.ones(1), 1, tag=3)


def main():
    dist.init_process_group("mpi")
    rank = dist.get_rank()
    shown = []

    def note(kind, error, traceback):
        shown.append(kind)
        if kind is not ZeroDivisionError:
            sys.__excepthook__(kind, error, traceback)

    sys.excepthook = note

    def fail(work):
        raise ZeroDivisionError

    # The message is sent after the barrier, so the callback is there before it arrives. One that
    # comes too late is called, and fails, right here.
    x = torch.zeros(5000)
    work = dist.irecv(x, 1 - rank)
    work.when_settled(fail)
    dist.barrier()
    dist.send(torch.ones(5000), 1 - rank)
    dist.barrier()
    while not shown:
        time.sleep(0.001)
    sys.excepthook = sys.__excepthook__
    assert shown == [ZeroDivisionError]
    assert work.is_success()
    assert (x == 1).all()
    # Several threads wait, each for a call of its own.
    tensors = [torch.full((20_000,), float(turn)) for turn in range(8)]
    works = [dist.all_reduce(each, async_op=True) for each in tensors]
    threads = [threading.Thread(target=each.wait) for each in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each[-1].item() for each in tensors] == [2.0 * turn for turn in range(8)]
    dist.barrier()
    if rank == 0:
        with pytest.raises(KeyboardInterrupt):
            be_interrupted()
        dist.send(torch.ones(1), 1)
    else:
        dist.recv(torch.ones(1), 0)
    dist.barrier()
    print("all is well")


if __name__ == "__main__":
    main()
