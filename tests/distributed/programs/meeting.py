"""Ways to meet: rank, size and the way are arguments; prints the sum of what all ranks give."""

import sys
from datetime import timedelta

import tensorlab as torch
import tensorlab.distributed as dist
from tensorlab.errors import TensorlabError


def main(how, where, rank, size, seconds=60.0):
    store = dist.FileStore(where) if how == "store" else None
    try:
        for _ in range(2 if how == "twice" else 1):
            dist.init_process_group(
                "gloo",
                init_method=None if how in ("store", "twice") else where,
                rank=rank,
                world_size=size,
                store=store,
                timeout=timedelta(seconds=seconds),
            )
            x = torch.tensor([rank + 1.0])
            dist.all_reduce(x)
            dist.group.WORLD.transport.store.add("seen", 1)  # one store for all
            dist.barrier()
            print(x.item(), dist.group.WORLD.transport.store.get("seen").decode(), flush=True)
            dist.barrier()
            dist.destroy_process_group()
    except (TensorlabError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit(7)


if __name__ == "__main__":
    how, where, rank, size, *more = sys.argv[1:]
    main(how, where, int(rank), int(size), *map(float, more))
