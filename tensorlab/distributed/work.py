"""Work: a call that may still be running, and how to wait for it."""

import threading
import time

from tensorlab.futures import Future

__all__ = ["Work"]


class Work:
    """What a collective with `async_op=True` returns.

    A backend makes one for each call, and settles it from whichever thread ends the call.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> import tensorlab
    >>> def count(rank):
    ...     x = tensorlab.ones(2)
    ...     work = dist.all_reduce(x, async_op=True)
    ...     _ = work.wait()
    ...     return x.tolist()
    >>> dist.threads.spawn(count, nprocs=3)[0]
    [3.0, 3.0]
    """

    flag: type = threading.Event  # what is set when the call has ended

    def __init__(self, call):
        self.call = call
        self._error = None
        self._settled = self.flag()
        self._callbacks = []
        self._lock = threading.Lock()

    def is_completed(self):
        """Return whether the call has ended, well or not."""
        return self._settled.is_set()

    def is_success(self):
        """Return whether the call has ended well."""
        return self._settled.is_set() and self._error is None

    def exception(self):
        """Return the error that the call ended with, or None."""
        return self._error

    def wait(self, timeout=None):
        """Wait until the call has ended; return True.

        Parameters
        ----------
        timeout : timedelta, number of seconds, or None for the group's own

        Raises
        ------
        DistBackendError
            If it failed, or didn't end in time: the message says who is missing.
        """
        limit = self.call.timeout if timeout is None else seconds_of(timeout, self.call.timeout)
        if not self._settled.is_set():
            self.await_end(limit)
        if self._error is not None:
            raise self._error
        return True

    def give_up_in_time(self):
        """Wait until the call has ended, well or not: a future of it raises what went wrong."""
        if not self._settled.is_set():
            self.await_end(self.call.timeout)

    def await_end(self, limit):
        """Wait at most `limit` seconds. A backend settles with an error what it has given up."""
        raise NotImplementedError

    def synchronize(self):
        """Wait until the call has ended."""
        self.wait()

    def result(self):
        """Return the tensors that the call has written."""
        self.wait()
        return list(self.call.outputs)

    def source_rank(self):
        """Return the rank in the group that a message came from."""
        return self.call.root

    def get_future(self):
        """Return a Future that holds the list of tensors written, once the call has ended."""
        future = Future()
        future._drive = self.give_up_in_time

        def settle(work):
            if work._error is not None:
                future.set_exception(work._error)
            else:
                future.set_result(list(work.call.outputs))

        self.when_settled(settle)
        return future

    def when_settled(self, callback):
        """Call `callback(self)` when the call has ended, or now if it has."""
        with self._lock:
            if not self._settled.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def settle(self, error=None):
        """End the call, for the backend: copy what remains to be copied, wake who waits."""
        with self._lock:
            if self._settled.is_set():
                return
            call = self.call
            if error is None and call.finish is not None:
                try:
                    call.finish()
                except Exception as failure:
                    error = failure
            call.state, call.ended = "done" if error is None else "failed", time.monotonic()
            self._error = error
            self._settled.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


class EndedWork(Work):
    """The work of a call that has ended before anyone could wait for it."""

    def __init__(self, call):
        super().__init__(call)
        self.settle()


def seconds_of(timeout, default):
    """Return a timeout, a timedelta or a number, as seconds; None means the default.

    Raises
    ------
    TypeError, ValueError
        If it's something else, or not positive.
    """
    if timeout is None:
        return default
    if hasattr(timeout, "total_seconds"):
        seconds = timeout.total_seconds()
    elif isinstance(timeout, (int, float)) and not isinstance(timeout, bool):
        seconds = float(timeout)
    else:
        raise TypeError(
            f"a timeout is a timedelta or a number of seconds, not a {type(timeout).__name__}"
        )
    if not seconds > 0:
        raise ValueError(f"a timeout is positive, not {seconds:g} s")
    return seconds
