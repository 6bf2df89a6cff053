"""HashStore: a store for the threads of one process."""

import threading
import time

from tensorlab.distributed.server.table import NotYet, Table

from .store import Store

__all__ = ["HashStore"]


class HashStore(Store):
    """A store in this process's memory, which its threads share.

    Examples
    --------
    >>> store = HashStore()
    >>> store.append("log", "a"), store.append("log", "b")
    (None, None)
    >>> store.get("log"), store.check(["log", "other"]), store.num_keys()
    (b'ab', False, 1)
    """

    def __init__(self):
        super().__init__()
        self._table = Table()
        self._changed = threading.Condition()

    def _ask(self, name, arguments, seconds):
        until = time.monotonic() + seconds
        with self._changed:
            while True:
                try:
                    value = self._table.answer(name, arguments)
                except NotYet:
                    left = until - time.monotonic()
                    if left <= 0:
                        raise TimeoutError from None
                    self._changed.wait(left)
                else:
                    self._changed.notify_all()
                    return value
