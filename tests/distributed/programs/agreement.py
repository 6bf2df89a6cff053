"""Ranks that call different things, and go on together once they were told."""

import sys

import tensorlab as torch
import tensorlab.distributed as dist
from tensorlab.errors import DistBackendError

big, small = torch.ones(50_000), torch.ones(3)


def shapes(rank):
    dist.all_reduce(torch.ones(3 + rank))


def large_shapes(rank):
    dist.all_reduce(torch.ones(50_000 + rank))


def dtypes(rank):
    dist.all_reduce(torch.ones(3, dtype=(torch.float32, torch.int32)[rank]))


def reductions(rank):
    dist.all_reduce(big.clone(), (dist.ReduceOp.SUM, dist.ReduceOp.MAX)[rank])


def kinds(rank):
    dist.barrier() if rank else dist.all_reduce(big.clone())


def roots(rank):
    dist.broadcast(small.clone(), rank)


def sizes(rank):
    dist.all_to_all_single(torch.ones(5), torch.ones(5), [2, 3], [2, 3])


def parts(rank):
    given = [torch.ones(20), torch.ones(30 + rank)]
    dist.reduce_scatter(torch.ones((20, 30 + rank)[rank]), given)


def one_more(rank):
    dist.barrier()
    if rank:
        dist.all_reduce(small.clone())
    dist.broadcast(big.clone(), 0)


def messages(rank):
    for mine, theirs in ((small, torch.ones(4)), (big, torch.ones(50_001)), (big, small.double())):
        if rank:
            dist.send(mine, 0)
        elif theirs is not None:
            try:
                dist.recv(theirs, 1)
            except DistBackendError as error:
                print(error)
    dist.barrier()


def main():
    dist.init_process_group("mpi", timeout=20)
    rank = dist.get_rank()
    for case in (
        shapes,
        large_shapes,
        dtypes,
        reductions,
        kinds,
        roots,
        messages,
        sizes,
        parts,
        one_more,
    ):
        print(f"== {case.__name__}")
        try:
            case(rank)
        except DistBackendError as error:
            print(error)
        x = torch.ones(1000)
        if case is not one_more:  # whose ranks are now a call apart
            dist.all_reduce(x)
            assert x[0] == 2
    sys.stdout.flush()


if __name__ == "__main__":
    main()
