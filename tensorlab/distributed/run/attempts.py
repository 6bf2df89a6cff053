"""Attempts: starting all ranks, watching them, and starting all anew if one fails."""

import select
import signal
import sys
import time

from tensorlab.errors import DistError

from .worker import Worker, environment_of

HEARING = 1.0  # seconds in which the others may find out for themselves that a rank has failed


class Stopped(Exception):
    """A signal asks the launcher to end."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def run(given, node):
    """Start the ranks of this machine until they end well, or too many attempts have failed."""
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for attempt in range(given.max_restarts + 1):
            if attempt:
                say(f"starting all ranks anew (restart {attempt} of {given.max_restarts})")
            if attempt_once(given, node, attempt):
                return 0
        return 1
    except DistError as error:
        say(str(error))
        return 1
    except Stopped as stopped:
        return 128 + stopped.number
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(number, frame):
    for each in (signal.SIGINT, signal.SIGTERM):  # once is enough
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def say(text):
    print(f"tensorlab run: {text}", file=sys.stderr, flush=True)


def attempt_once(given, node, attempt):
    """Start all ranks and wait for their end; return whether it was a good one."""
    first, size = node.share(attempt)
    workers = []
    is_told = False  # whether there is nothing to say of how the ranks ended
    try:
        for local_rank in range(given.nproc_per_node):
            environment = environment_of(given, node, attempt, local_rank, first, size)
            workers.append(Worker(given, first + local_rank, local_rank, environment))
        is_well = watch(given, node, attempt, workers)
        if not is_well:
            node.say_failed(attempt)
        is_told = is_well and node.await_others(attempt)
        return is_told
    except OSError as error:
        say(f"{given.training_script} can't be started: {error}")
        raise DistError("no rank is running any more") from error
    except Stopped as stopped:
        for worker in workers:
            worker.signal(stopped.number)
        wait(workers, given.shutdown_timeout)
        is_told = True
        raise
    finally:
        end(workers, given.shutdown_timeout)
        failed = first_failure(workers)
        for worker in workers:
            worker.close(show=worker.process.returncode == 0)
        if failed is not None and not is_told:
            tell(failed, workers)


def watch(given, node, attempt, workers):
    """Wait until all ranks have ended, or one has failed; return whether all ended well."""
    looked = time.monotonic()
    while True:
        codes = [worker.poll() for worker in workers]
        if any(codes):
            wait(workers, HEARING)
            return False
        if all(code == 0 for code in codes):
            return True
        if node.count > 1 and time.monotonic() > looked + given.monitor_interval:
            looked = time.monotonic()
            if node.others_failed(attempt):
                say("a rank of another machine has failed")
                return False
        pause(workers, min(given.monitor_interval, 0.05))


def pause(workers, seconds):
    """Wait for output, or for the end of a process, at most for a moment."""
    ends = [stream.pipe for worker in workers for stream in worker.streams if stream.is_open]
    ends += [worker.exit for worker in workers if worker.exit is not None]
    if ends:
        select.select(ends, [], [], seconds)
    else:
        time.sleep(seconds)


def wait(workers, seconds):
    """Wait until all ranks have ended, at most some seconds; return whether they have."""
    until = time.monotonic() + seconds
    while None in [worker.poll() for worker in workers]:
        if time.monotonic() > until:
            return False
        pause(workers, 0.02)
    return True


def end(workers, seconds):
    """End all ranks: politely first, then without asking, and with them what they have started."""
    if any(worker.process.poll() is None for worker in workers):
        for worker in workers:
            worker.signal(signal.SIGTERM)
        wait(workers, seconds)
    for worker in workers:
        worker.signal(signal.SIGKILL)
    wait(workers, 5.0)


def first_failure(workers):
    """Return the rank that failed first, or None."""
    failed = [worker for worker in workers if worker.process.returncode != 0]
    return min(failed, key=lambda worker: worker.ended, default=None)


def tell(failed, workers):
    """Say which rank has failed, with its traceback, and how the others ended."""
    say(failed.how_it_ended())
    sys.stderr.write(failed.traceback())
    others = [
        str(worker.rank) for worker in workers if worker is not failed and worker.process.returncode
    ]
    if others:
        say(f"with it ended rank{'s' if len(others) > 1 else ''} {', '.join(others)}")
    sys.stderr.flush()
