"""A pool of workers in thirty lines, a loader that is watched, and what it should do by arithmetic: chapter 36."""

import multiprocessing
import time

from tensorlab.utils.data import Dataset, get_worker_info


# ---------------------------------------------------------------- a pool
def work(connection, dataset):
    """Be a worker: send the batch of each list of indices that comes, until None comes."""
    while (indices := connection.recv()) is not None:
        connection.send([dataset[i] for i in indices])


def start(dataset):
    """Start one worker; return our end of its pipe."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    fork.Process(target=work, args=(theirs, dataset), daemon=True).start()
    theirs.close()
    return ours


def batches_of(dataset, plan, workers=2, ahead=2):
    """Yield the batch of each list of indices of a plan, in order."""
    pipes = [start(dataset) for _ in range(workers)]
    plan, ordered = list(plan), workers * ahead
    for k, indices in enumerate(plan[:ordered]):
        pipes[k % workers].send(indices)
    for k in range(len(plan)):
        batch = pipes[k % workers].recv()
        if k + ordered < len(plan):
            pipes[k % workers].send(plan[k + ordered])
        yield batch
    for pipe in pipes:
        pipe.send(None)


# ---------------------------------------------------------------- a loader, watched
class Waiting(Dataset):
    """Sample i takes seconds[i], as a slow disk would; it is its number, its worker, and when it was loaded."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return len(self.seconds)

    def __getitem__(self, i):
        begun, info = time.monotonic(), get_worker_info()
        time.sleep(self.seconds[i])
        return i, 0 if info is None else info.id, begun, time.monotonic()


def watch(loader, step):
    """Train on a loader of `Waiting` with steps of so many seconds; return a row for each batch.

    A row has the batch's number, its worker, and five times in seconds from the first batch's begin: begun and
    loaded in the worker; asked, got and done in the loop that trains.
    """
    rows, batches = [], iter(loader)
    while True:
        asked = time.monotonic()
        batch = next(batches, None)
        if batch is None:
            break
        got = time.monotonic()
        time.sleep(step)
        number, worker, begun, loaded = batch
        rows.append((number, worker, begun, loaded, asked, got, time.monotonic()))
    start = min(row[2] for row in rows)
    return [(*row[:2], *(t - start for t in row[2:])) for row in rows]


# ---------------------------------------------------------------- the same by arithmetic
def schedule(loads, step, workers, ahead):
    """Return what `watch` would return if only loading and training took time."""
    free, rows, done = [0] * workers, [], 0
    for k, load in enumerate(loads):
        worker = k % workers
        sent = 0 if k < workers * ahead else rows[k - workers * ahead][5]
        begun = max(free[worker], sent)
        free[worker] = loaded = begun + load
        asked, got = done, max(done, loaded)
        done = got + step
        rows.append((k, worker, begun, loaded, asked, got, done))
    return rows
