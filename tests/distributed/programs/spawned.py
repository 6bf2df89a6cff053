"""Ranks that multiprocessing.spawn, and fork, start; the first one that fails is what is raised."""

import os
import sys

import tensorlab as torch
import tensorlab.distributed as dist


def work(rank, size, port, how):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    x = torch.full((3,), rank + 1.0)
    dist.all_reduce(x)
    assert x.tolist() == [3.0, 3.0, 3.0]
    if how == "fails" and rank == 1:
        raise ValueError("boom")
    dist.all_reduce(x)


def main(port, how):
    method = "fork" if how == "fork" else "spawn"
    try:
        torch.multiprocessing.start_processes(work, (2, port, how), nprocs=2, start_method=method)
    except torch.multiprocessing.ProcessRaisedException as error:
        print(str(error).strip().rpartition("\n")[2])
    print("ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
