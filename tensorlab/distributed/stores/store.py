"""Store: what can be asked of every store."""

from datetime import timedelta

from tensorlab.distributed.work import seconds_of
from tensorlab.errors import DistStoreError, QueueEmptyError

__all__ = ["Store"]

SECONDS = 300.0  # how long a store waits if no one says otherwise


class Store:
    """The base of all stores: keys with values, which are bytes, and queues.

    A str is stored as its UTF-8 bytes. What isn't there yet is waited for, at most as long as
    `timeout` says.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> store = dist.HashStore()
    >>> store.set("colour", "blue")
    >>> store.get("colour")
    b'blue'
    >>> store.add("visitors", 2), store.add("visitors", 1)
    (2, 3)
    """

    def __init__(self):
        self._seconds = SECONDS

    def _ask(self, name, arguments, seconds):
        """Return the answer of the table to a request; raise TimeoutError where none comes."""
        raise NotImplementedError(f"{type(self).__name__} doesn't say how it is asked")

    def _request(self, name, *arguments, keys=(), timeout=None):
        seconds = seconds_of(timeout, self._seconds)
        try:
            return self._ask(name, list(arguments), seconds)
        except TimeoutError:
            raise DistStoreError(
                f"{name}: wait timeout after {1000 * seconds:.0f}ms, keys: {', '.join(keys)}. "
                "No one has set them; look for a rank that never came, or for another prefix"
            ) from None

    @property
    def timeout(self):
        """How long the store waits for a key, as a timedelta."""
        return timedelta(seconds=self._seconds)

    def set_timeout(self, timeout):
        """Set how long the store waits for a key: a timedelta, or a number of seconds."""
        self._seconds = seconds_of(timeout, self._seconds)

    def set(self, key, value):
        """Give a key a value, str or bytes."""
        self._request("set", name_of(key), text_of("set", value))

    def get(self, key):
        """Return the value of a key, as bytes, once there is one.

        Raises
        ------
        DistStoreError
            If no one sets it in time.
        """
        return bytes_of(self._request("get", name_of(key), keys=[key]))

    def add(self, key, amount):
        """Add a whole number to the value of a key, which starts as 0, and return the sum.

        Raises
        ------
        ValueError
            If the value is not a number.
        """
        return self._request("add", name_of(key), int(amount))

    def check(self, keys):
        """Return whether all of a list of keys have values."""
        return self._request("check", names_of("check", keys))

    def wait(self, keys, timeout=None):
        """Wait until all of a list of keys have values.

        Raises
        ------
        DistStoreError
            If some have none in time.
        """
        self._request("wait", names_of("wait", keys), keys=keys, timeout=timeout)

    def append(self, key, value):
        """Add to the end of a key's value, which starts empty."""
        self._request("append", name_of(key), text_of("append", value))

    def compare_set(self, key, expected_value, desired_value):
        """Give a key a value if its present one is what is expected; return what it then is.

        A key that isn't there has the value "": `expected_value` is returned for it otherwise.
        """
        expected, desired = (
            text_of("compare_set", expected_value),
            text_of("compare_set", desired_value),
        )
        return bytes_of(self._request("compare_set", name_of(key), expected, desired))

    def delete_key(self, key):
        """Forget a key; return whether it was there."""
        return self._request("delete_key", name_of(key))

    def num_keys(self):
        """Return how many keys have values."""
        return self._request("num_keys")

    def list_keys(self):
        """Return the keys that have values, as a list of str."""
        return self._request("list_keys")

    def multi_get(self, keys):
        """Return the values of a list of keys, once all of them are there."""
        values = self._request("multi_get", names_of("multi_get", keys), keys=keys)
        return [bytes_of(value) for value in values]

    def multi_set(self, keys, values):
        """Give each of a list of keys its value."""
        names, texts = names_of("multi_set", keys), [text_of("multi_set", each) for each in values]
        if len(names) != len(texts):
            raise ValueError(f"multi_set: {len(names)} keys, but {len(texts)} values")
        self._request("multi_set", names, texts)

    def queue_push(self, key, value):
        """Put a value at the end of a queue."""
        self._request("queue_push", name_of(key), text_of("queue_push", value))

    def queue_pop(self, key, block=True):
        """Take the oldest value of a queue, and wait for one if need be.

        Raises
        ------
        QueueEmptyError
            If there is none, and `block` is False.
        """
        value = self._request("queue_pop", name_of(key), bool(block), keys=[key])
        if value is None:
            raise QueueEmptyError(f"queue_pop: queue is empty: {key!r}")
        return bytes_of(value)

    def queue_len(self, key):
        """Return how many values a queue holds."""
        return self._request("queue_len", name_of(key))

    def barrier(self, key, world_size, timeout=None):
        """Wait until `world_size` callers have come to the barrier of this key."""
        turn = (self.add(f"{key}/arrived", 1) - 1) // world_size
        if self.add(f"{key}/turn{turn}", 1) == world_size:
            self.set(f"{key}/open{turn}", "1")
        self.wait([f"{key}/open{turn}"], timeout)

    def has_extended_api(self):
        """Return whether append, multi_get, multi_set and queues work: True."""
        return True

    def clone(self):
        """Return another store with the same keys, for another thread."""
        return self


def name_of(key):
    if not isinstance(key, str):
        raise TypeError(f"a key of a store is a str, not {key!r}")
    return key


def names_of(where, keys):
    if isinstance(keys, (str, bytes)):
        raise TypeError(f"{where}: expected a list of keys, not {keys!r}; write [{keys!r}]")
    return [name_of(key) for key in keys]


def text_of(where, value):
    """Return a value, str or bytes, with one character for each byte."""
    if isinstance(value, str):
        value = value.encode()
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError(
            f"{where}: a value in a store is str or bytes, not {type(value).__name__}; write "
            "str(value), or pickle it"
        )
    return value.decode("latin-1")


def bytes_of(text):
    return text.encode("latin-1")
