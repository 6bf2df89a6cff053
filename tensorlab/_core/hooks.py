"""The handle that registering a hook returns."""


class RemovableHandle:
    """Takes a hook away again: call `remove()`, or use it in a `with` statement.

    Parameters
    ----------
    entries : list of tuples, or dict; where the hook was put
    key : the hook's key: one of the items of its tuple, or its key in the dict
    extra_dict : dict, or list of dicts, that have something under the same key

    Attributes
    ----------
    id : int, a number that no other handle has

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> with x.register_hook(print):
    ...     x.sum().backward()
    tensor([1., 1.])
    >>> x.sum().backward()
    """

    next_id = 0

    def __init__(self, entries, key=None, *, extra_dict=None):
        if key is None:
            key = RemovableHandle.new_key()
        self.entries = entries
        self.key = key
        self.id = key[0] if isinstance(key, tuple) else key
        self.extras = (extra_dict,) if isinstance(extra_dict, dict) else tuple(extra_dict or ())

    @staticmethod
    def new_key():
        """A number that no other hook has."""
        RemovableHandle.next_id += 1
        return RemovableHandle.next_id

    def remove(self):
        """Take the hook away; a second call does nothing."""
        if isinstance(self.entries, dict):
            self.entries.pop(self.key, None)
        else:
            self.entries[:] = [entry for entry in self.entries if self.key not in entry[:-1]]
        for extra in self.extras:
            extra.pop(self.key, None)

    # ------------------------------------------------------------ PyTorch's names, which libraries read
    @property
    def hooks_dict_ref(self):
        """A function that returns the hooks by their numbers, as a weak reference to a dict would."""
        return self._by_number

    def _by_number(self):
        if isinstance(self.entries, dict):
            return self.entries
        keys = [entry[-2] for entry in self.entries]
        return {
            key[0] if isinstance(key, tuple) else key: entry[-1]
            for key, entry in zip(keys, self.entries, strict=True)
        }

    @property
    def extra_dict_ref(self):
        """A function like that for each further dict."""
        return tuple(lambda extra=extra: extra for extra in self.extras)

    def __getstate__(self):
        return self._by_number(), self.id, self.extras

    def __setstate__(self, state):
        entries, self.id, *extras = state
        self.entries = {} if entries is None else entries  # None: they were gone
        self.key = self.id
        self.extras = (
            tuple(extra for extra in (extras[0] or ()) if extra is not None) if extras else ()
        )
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
