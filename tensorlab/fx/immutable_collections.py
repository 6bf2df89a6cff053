"""Lists and dicts that cannot be changed: arguments of nodes.

A node knows the nodes that it uses and the nodes that use it.  A list inside its arguments that
changed behind its back would make that knowledge wrong, so it is stored as one of these.  Assign
new arguments instead.
"""

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self, *args, **kwargs):
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation. To change the arguments of a node, copy them, "
        "change the copy and assign it: node.args = new_args"
    )


class immutable_list(list):
    """A list that refuses to be changed, and has a hash."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that refuses to be changed, and has a hash."""

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return type(self), (tuple(self.items()),)
