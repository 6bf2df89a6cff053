"""Future: a value that is still to come, as communication returns it.

It's the class that `Work.get_future` and the hooks of data parallel training use.
"""

import threading

from tensorlab import _missing

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value that is still to come.

    Parameters
    ----------
    devices : accepted for PyTorch's sake

    Examples
    --------
    >>> future = Future()
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    def __init__(self, *, devices=None):
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._callbacks = []
        self._value = self._error = None
        self._drive = None  # what a wait does first: a call of several ranks is given up in time

    def __class_getitem__(cls, item):
        return cls

    def done(self):
        """Return whether the value, or an error in its place, has come."""
        return self._done.is_set()

    def wait(self):
        """Wait for the value and return it, or raise the error that came in its place."""
        if self._drive is not None and not self._done.is_set():
            self._drive()
        self._done.wait()
        return self.value()

    def value(self):
        """Return the value, which must have come.

        Raises
        ------
        RuntimeError
            If it hasn't.
        """
        if not self._done.is_set():
            raise RuntimeError("Future.value: the value has not come yet; call wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback):
        """Return a Future of `callback(self)`, which is called when the value has come."""
        result = Future()
        result._drive = self._drive

        def follow(done):
            try:
                result.set_result(callback(done))
            except Exception as error:
                result.set_exception(error)

        self.add_done_callback(follow)
        return result

    def add_done_callback(self, callback):
        """Call `callback(self)` when the value has come, or now if it has."""
        with self._lock:
            if not self._done.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result):
        """Give the value, and call who waits for it.

        Raises
        ------
        RuntimeError
            If there is a value already.
        """
        self._settle(result, None)

    def set_exception(self, result):
        """Give an error in the value's place: `wait` raises it."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._settle(None, result)

    def _settle(self, value, error):
        with self._lock:
            if self._done.is_set():
                raise RuntimeError("Future: it has its value already, and takes no second one")
            self._value, self._error = value, error
            self._done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


def collect_all(futures):
    """Return a Future of the list of futures, which comes when all of them have.

    Examples
    --------
    >>> first, second = Future(), Future()
    >>> both = collect_all([first, second])
    >>> first.set_result(1), second.set_result(2)
    (None, None)
    >>> [future.value() for future in both.wait()]
    [1, 2]
    """
    futures = list(futures)
    result, lock, left = Future(), threading.Lock(), [len(futures)]

    def count(_):
        with lock:
            left[0] -= 1
            is_last = left[0] == 0
        if is_last:
            result.set_result(futures)

    if not futures:
        result.set_result([])
    for future in futures:
        future.add_done_callback(count)
    return result


def wait_all(futures):
    """Return the values of several futures, once all of them have come.

    Examples
    --------
    >>> future = Future()
    >>> future.set_result(3)
    >>> wait_all([future])
    [3]
    """
    return [future.wait() for future in collect_all(futures).wait()]


__getattr__ = _missing.refusing(__name__)
