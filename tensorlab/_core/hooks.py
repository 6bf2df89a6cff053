"""The handle that registering a hook returns."""


class RemovableHandle:
    """Takes a hook away again: call `remove()`, or use it in a `with` statement.

    Parameters
    ----------
    entries : list of tuples, or dict; where the hook was put
    key : the hook's key: one of the items of its tuple, or its key in the dict
    """

    next_id = 0

    def __init__(self, entries, key=None):
        if key is None:
            key = RemovableHandle.new_key()
        self.entries = entries
        self.id = key

    @staticmethod
    def new_key():
        """A number that no other hook has."""
        RemovableHandle.next_id += 1
        return RemovableHandle.next_id

    def remove(self):
        """Take the hook away; a second call does nothing."""
        if isinstance(self.entries, dict):
            self.entries.pop(self.id, None)
        else:
            self.entries[:] = [entry for entry in self.entries if self.id not in entry[:-1]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
