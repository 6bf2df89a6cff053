"""What the launcher starts: does what its first argument says, at rank 1 if that is a fault."""

import json
import os
import signal
import sys
import time

how, *rest = [*sys.argv[1:], "nothing"]
rank = int(os.environ["RANK"])
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
NAMES = (
    *("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK"),
    *("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"),
    *("OMP_NUM_THREADS", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_MAX_RESTARTS"),
)


def ranks_of_pytorch():
    """Use torch's names: the program knows no other."""
    import tensorlab as torch
    import tensorlab.distributed as dist

    dist.init_process_group("gloo")
    x = torch.ones(1)
    dist.all_reduce(x)
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {x.item()}", flush=True)
    if rank == 1 and (how == "raise" or (how == "once" and attempt == "0")):
        raise ValueError("boom")
    if rank == 1 and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hang":
        print("hangs", flush=True)
        time.sleep(3600)
    dist.all_reduce(x)
    dist.destroy_process_group()


if how == "variables":
    print(json.dumps({name: os.environ.get(name) for name in NAMES} | {"rest": rest}), flush=True)
elif how == "lines":
    print(f"out {rank}")
    print(f"err {rank}", file=sys.stderr)
elif how == "ignore":  # signals that ask politely
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("hangs", flush=True)
    time.sleep(3600)
elif how == "caught":
    try:
        raise ValueError("caught")
    except ValueError:
        import traceback

        traceback.print_exc()
    print("after", file=sys.stderr)
else:
    ranks_of_pytorch()
