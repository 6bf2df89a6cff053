"""PrefixStore: a store within a store, whose keys begin with a prefix."""

from .store import Store

__all__ = ["PrefixStore"]

OF_A_LIST = {"wait", "check", "multi_get", "multi_set"}
OF_ALL = {"num_keys", "list_keys"}


class PrefixStore(Store):
    """A store that puts a prefix and "/" before each key of another one.

    Parameters
    ----------
    prefix : str
    store : Store

    Examples
    --------
    >>> from tensorlab.distributed import HashStore
    >>> whole = HashStore()
    >>> part = PrefixStore("epoch1", whole)
    >>> part.set("loss", "0.5")
    >>> whole.list_keys(), part.list_keys()
    (['epoch1/loss'], ['loss'])
    """

    def __init__(self, prefix, store):
        super().__init__()
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore: expected a store, not {store!r}")
        self._prefix, self._store = f"{prefix}/", store

    @property
    def underlying_store(self):
        """The store that this one is a part of."""
        return self._store

    @property
    def _underlying_non_prefix_store(self):
        return getattr(self._store, "_underlying_non_prefix_store", self._store)

    @property
    def timeout(self):
        """How long the store waits for a key, as a timedelta."""
        return self._store.timeout

    def set_timeout(self, timeout):
        """Set how long the store, and the one below it, waits for a key."""
        self._store.set_timeout(timeout)

    def _request(self, name, *arguments, keys=(), timeout=None):
        if name in OF_ALL:
            inside = [
                key.removeprefix(self._prefix)
                for key in self._store._request("list_keys")
                if key.startswith(self._prefix)
            ]
            return inside if name == "list_keys" else len(inside)
        first, *others = arguments
        if name in OF_A_LIST:
            first = [self._prefix + key for key in first]
        else:
            first = self._prefix + first
        longer = [self._prefix + key for key in keys]
        return self._store._request(name, first, *others, keys=longer, timeout=timeout)

    def clone(self):
        """Return another store with the same prefix and keys, for another thread."""
        return PrefixStore(self._prefix[:-1], self._store.clone())
