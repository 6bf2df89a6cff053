"""A program whose workers are busy for a minute: `python stuck.py`, and then Ctrl-C, or kill it in another window."""

import signal
import time

from tensorlab.utils import data


class Slow(data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        time.sleep(60)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C, wherever this runs
    batches = iter(data.DataLoader(Slow(), num_workers=2))
    print(*(worker.process.pid for worker in batches.workers), flush=True)
    next(batches)
