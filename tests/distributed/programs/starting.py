"""A rank that dies, or stops, between the meeting and MPI's start: what the other one does."""

import os
import signal
import sys

import tensorlab.distributed as dist
from tensorlab.distributed.backends.mpi import start

fault, where, timeout = sys.argv[1:]
if os.environ["RANK"] == "1":
    number = {"dies": signal.SIGKILL, "stops": signal.SIGSTOP}[fault]
    setattr(start, where, lambda *_: os.kill(os.getpid(), number))
try:
    dist.init_process_group("mpi", timeout=float(timeout))
except dist.DistError as error:
    print(error, flush=True)
    sys.exit(7)
