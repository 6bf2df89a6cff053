"""Table: keys with values, counters and queues, as every store has them.

A request that can't be answered yet raises `NotYet`: who asked waits until the table has
changed, in whatever way it waits. Values are str with one character a byte, which JSON can
carry.
"""

import collections


class NotYet(Exception):
    """The answer needs a key, or an entry of a queue, that isn't there yet."""


class Table:
    """What a store holds. Each public method is a request that a store may send.

    Attributes
    ----------
    values : dict of str to str
    queues : dict of str to deque of str, none of them empty
    """

    def __init__(self):
        self.values = {}
        self.queues = collections.defaultdict(collections.deque)

    def answer(self, name, arguments):
        """Return the answer to a request, such as "get" with ["key"].

        Raises
        ------
        NotYet
            If it must wait.
        """
        if name not in REQUESTS:
            raise ValueError(f"a store doesn't know the request {name!r}")
        return getattr(self, name)(*arguments)

    def set(self, key, value):
        self.values[key] = value

    def get(self, key):
        return self.multi_get([key])[0]

    def multi_get(self, keys):
        self.wait(keys)
        return [self.values[key] for key in keys]

    def multi_set(self, keys, values):
        self.values.update(zip(keys, values, strict=True))

    def wait(self, keys):
        if not self.check(keys):
            raise NotYet

    def check(self, keys):
        return all(key in self.values or key in self.queues for key in keys)

    def add(self, key, amount):
        try:
            total = int(self.values.get(key, "0")) + amount
        except ValueError:
            raise ValueError(
                f"add: the value of {key!r} is {self.values[key]!r}, not a number"
            ) from None
        self.values[key] = str(total)
        return total

    def append(self, key, value):
        self.values[key] = self.values.get(key, "") + value

    def compare_set(self, key, expected, desired):
        if self.values.get(key, "") == expected:
            self.values[key] = desired
        return self.values.get(key, expected)

    def delete_key(self, key):
        return self.values.pop(key, None) is not None

    def num_keys(self):
        return len(self.values)

    def list_keys(self):
        return list(self.values)

    def queue_push(self, key, value):
        self.queues[key].append(value)

    def queue_pop(self, key, block):
        """Return the oldest entry, or None where the queue is empty and `block` is False."""
        if key not in self.queues:
            if block:
                raise NotYet
            return None
        value = self.queues[key].popleft()
        if not self.queues[key]:
            del self.queues[key]
        return value

    def queue_len(self, key):
        return len(self.queues.get(key, ()))


READING = {"get", "multi_get", "wait", "check", "num_keys", "list_keys", "queue_len"}
WRITING = {
    "set",
    "multi_set",
    "add",
    "append",
    "compare_set",
    "delete_key",
    "queue_push",
    "queue_pop",
}
REQUESTS = READING | WRITING
