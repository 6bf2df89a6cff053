"""Stand-ins for what stays in the other process: each use of one is a question to that process.

A stand-in has the protocols of what it stands for (it can be called, iterated, entered, ...) and no others.  On the
judge's side it has neither comparisons nor arithmetic: `came == true` would let a student's process say
what is equal, and `came - true` would tell it what is true.
"""

import functools

PROTOCOLS = {
    "__call__": "call",
    "__iter__": "iter",
    "__next__": "next",
    "__len__": "len",
    "__getitem__": "item",
    "__setitem__": "set item",
    "__enter__": "enter",
    "__exit__": "exit",
}
_OPERATORS = """
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__
    __rpow__ __neg__ __matmul__ __float__ __int__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__
    __bool__
"""
OPERATORS = _OPERATORS.split()
# Methods that take what is true and say whether it is equal.
_REFUSED = """
    equal allclose isclose eq ne lt le gt ge issubset issuperset isdisjoint index count find
    startswith endswith
"""
REFUSED = set(_REFUSED.split())


class Remote:
    """What stands for an object of the other process."""

    def __init__(self, ask, name, label):
        vars(self).update(_remote_ask=ask, _remote_name=name, _remote_label=label)

    def __getattr__(self, name):
        if name.startswith("_") or name in REFUSED:
            raise AttributeError(f"{self._remote_label} has no {name}")
        return self._remote_ask("get", self, name)

    def __setattr__(self, name, value):
        self._remote_ask("set", self, name, value)

    def __deepcopy__(self, memo):
        return self._remote_ask("copy", self)

    def __repr__(self):
        return self._remote_label


def method(protocol, question):
    def ask(self, *arguments):
        return self._remote_ask(question, self, *arguments)

    ask.__name__ = protocol
    return ask


def call(self, *arguments, **named):
    return self._remote_ask("call", self, list(arguments), named)


def leave(self, kind, error, trace):
    return self._remote_ask("exit", self, kind)


def operator(name):
    def ask(self, *arguments):
        return self._remote_ask("operator", self, name, *arguments)

    ask.__name__ = name
    return ask


@functools.cache
def remote_class(protocols):
    """Return the class of stand-ins with these protocols and operators."""
    own = {"__call__": call, "__exit__": leave}
    for name in protocols:
        if name in PROTOCOLS:
            own.setdefault(name, method(name, PROTOCOLS[name]))
        elif name in OPERATORS:
            own[name] = operator(name)
    own = {name: own[name] for name in protocols if name in own}
    if "__eq__" in own:
        own["__hash__"] = object.__hash__
    return type("Remote", (Remote,), own)


def protocols_of(value, with_operators):
    """Return the names of the special methods that a stand-in for `value` needs."""
    kinds = type(value).__mro__[:-1]  # without object, which has comparisons
    names = [*PROTOCOLS, *(OPERATORS if with_operators else ())]
    return [name for name in names if any(vars(kind).get(name) for kind in kinds)]


def remote_function(ask, name, label):
    """Return a function that stands for one of the other process."""

    def remote(*arguments, **named):
        return ask("call", remote, list(arguments), named)

    remote.__name__ = remote.__qualname__ = label
    remote._remote_name = name
    return remote
