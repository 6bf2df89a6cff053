"""A reader of pickles that can do nothing but build what a checkpoint is made of.

A pickle is a program for a small machine with a stack and a memo. Python's own reader imports whatever the program
names and calls it, which is how a file takes over a computer. This machine knows the instructions that a checkpoint
needs, and of names only those in names.py and those that the program allowed.

Source: the comments in CPython's Lib/pickletools.py describe each instruction.
"""

import struct
from collections import Counter, OrderedDict

from .._tensor import Tensor
from ..errors import DeviceError, FileFormatError, UnsafeGlobal
from . import names

__all__ = ["Unpickler"]

MARK = object()
MISTAKES = (  # that wrong instructions lead to
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError),
    *(RecursionError, NotImplementedError, struct.error),
)
MAX_NESTING = 100  # of tuples in tuples: Python computes the hash of a tuple by recursion in C


class Unpickler:
    """Reads one pickle from a file.

    Parameters
    ----------
    read : function from a number of bytes to that many
    readline : function that returns the bytes up to the end of a line
    persistent_load : function from an id in the file to what it stands for
    """

    def __init__(self, read, readline, persistent_load):
        self.read, self.readline = read, readline
        self.persistent_load = persistent_load
        self.stack, self.memo, self.nesting = [], {}, {}

    def load(self):
        """Return the object.

        Raises
        ------
        UnsafeGlobal
            If it names what is not allowed.
        FileFormatError
            If it is no pickle of a checkpoint.
        """
        try:
            while True:
                code = self.read(1)
                if code == b".":
                    return self.checked(self.stack.pop())
                step = STEPS.get(code)
                if step is None:
                    raise FileFormatError(
                        f"load: the file has the pickle instruction {code!r}, which no checkpoint needs; "
                        "weights_only=False reads any pickle, and lets the file run any program"
                    )
                step(self)
        except (FileFormatError, DeviceError):
            raise
        except MISTAKES as error:
            raise FileFormatError(
                f"load: the file is not a valid checkpoint: {type(error).__name__}: {error}"
            ) from error

    # ------------------------------------------------------------ the stack
    def unsigned(self, size):
        return int.from_bytes(self.exactly(size), "little")

    def exactly(self, size):
        data = self.read(size)
        if len(data) != size:
            raise FileFormatError("load: the file ends in the middle of a pickle")
        return data

    def since_mark(self):
        """Take everything above the last mark, and the mark."""
        place = len(self.stack) - 1
        while self.stack[place] is not MARK:
            if place == 0:
                raise FileFormatError("load: the file is not a valid checkpoint: a mark is missing")
            place -= 1
        items = self.stack[place + 1 :]
        del self.stack[place:]
        return items

    def checked(self, value):
        if value is MARK:
            raise FileFormatError("load: the file is not a valid checkpoint: a mark is left over")
        return value

    def make_tuple(self, items):
        """Return a tuple of items, if it is not nested too deeply."""
        made = tuple(map(self.checked, items))
        inner = [self.nesting.get(id(one), (None, 1))[1] for one in made if type(one) is tuple]
        if inner:
            depth = 1 + max(inner)
            if depth > MAX_NESTING:
                raise FileFormatError(f"load: the file nests tuples deeper than {MAX_NESTING}")
            self.nesting[id(made)] = made, depth  # kept, so that no other tuple gets its id
        return made

    # ------------------------------------------------------------ names and calls
    def find(self, module, name):
        full = f"{module}.{name}"
        for known in (names.allowed, names.own, names.TABLE):
            if full in known:
                return known[full]
        names.refuse_missing(module, name)
        raise UnsafeGlobal(
            f"load: the file names {full}, which is not allowed. If you trust the file and what {full} does with any "
            "argument, allow it with serialization.add_safe_globals; weights_only=False allows everything, also "
            "running any program"
        )

    def reduce(self):
        args, function = self.stack.pop(), self.stack.pop()
        if not isinstance(args, tuple):
            raise FileFormatError("load: the file calls a function without a tuple of arguments")
        self.stack.append(self.call(function, args))

    def call(self, function, args):
        if not self.may_call(function):
            raise UnsafeGlobal(f"load: the file calls {function!r}, which is not allowed")
        return function(*args)

    def may_call(self, function):
        known = names.CALLABLE
        if self.is_allowed(function):
            return True
        return isinstance(function, type | type(names.encode)) and function in known

    def build(self):
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, names.CompilerNote):
            return
        if isinstance(target, Tensor):
            names.with_attributes(target, state)
        elif type(target) in (OrderedDict, Counter) or self.is_allowed(type(target)):
            if hasattr(target, "__setstate__") and self.is_allowed(type(target)):
                target.__setstate__(state)
            else:
                names.with_attributes(target, state)
        else:
            raise FileFormatError(f"load: the file changes a {type(target).__name__}")

    def is_allowed(self, kind):
        return any(kind is one for one in [*names.allowed.values(), *names.own.values()])

    def append_to(self, items):
        target = self.stack[-1]
        if type(target) is not list:
            raise FileFormatError(f"load: the file appends to a {type(target).__name__}")
        target.extend(items)

    def set_items(self, items):
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise FileFormatError(f"load: the file sets items of a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def add_items(self, items):
        target = self.stack[-1]
        if type(target) is not set:
            raise FileFormatError(f"load: the file adds to a {type(target).__name__}")
        target.update(items)

    def read_global(self):
        module, name = (self.readline()[:-1].decode("utf-8") for _ in range(2))
        self.stack.append(self.find(module, name))

    def stack_global(self):
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(self.find(module, name))

    def new_object(self):
        args, kind = self.stack.pop(), self.stack.pop()
        if not (isinstance(kind, type) and self.may_call(kind)) or not isinstance(args, tuple):
            raise UnsafeGlobal(f"load: the file makes a {kind!r}, which is not allowed")
        self.stack.append(kind.__new__(kind, *args))


def push(make):
    """Return a step that pushes what `make(unpickler)` returns."""
    return lambda self: self.stack.append(make(self))


def tuple_of(count):
    def step(self):
        items = self.stack[-count:]
        if len(items) != count:
            raise FileFormatError("load: the file is not a valid checkpoint: a tuple lacks items")
        del self.stack[-count:]
        self.stack.append(self.make_tuple(items))

    return step


def put(size):
    def step(self):
        self.memo[self.unsigned(size)] = self.stack[-1]

    return step


def get(size):
    return push(lambda self: self.memo[self.unsigned(size)])


def text(size):
    return push(lambda self: self.exactly(self.unsigned(size)).decode("utf-8", "surrogatepass"))


def raw(size):
    return push(lambda self: self.exactly(self.unsigned(size)))


def old_text(size):
    return push(lambda self: self.exactly(self.unsigned(size)).decode("latin1"))


def protocol(self):
    version = self.unsigned(1)
    if not 2 <= version <= 5:
        raise FileFormatError(f"load: the pickle has protocol {version}; expected 2 to 5")


STEPS = {
    b"\x80": protocol,
    b"\x95": lambda self: self.exactly(8),  # the length of a frame
    b"(": push(lambda self: MARK),
    b"0": lambda self: self.stack.pop(),
    b"N": push(lambda self: None),
    b"\x88": push(lambda self: True),
    b"\x89": push(lambda self: False),
    b"J": push(lambda self: struct.unpack("<i", self.exactly(4))[0]),
    b"K": push(lambda self: self.unsigned(1)),
    b"M": push(lambda self: self.unsigned(2)),
    b"\x8a": push(
        lambda self: int.from_bytes(self.exactly(self.unsigned(1)), "little", signed=True)
    ),
    b"G": push(lambda self: struct.unpack(">d", self.exactly(8))[0]),
    b"X": text(4),
    b"\x8c": text(1),
    b"\x8d": text(8),
    b"B": raw(4),
    b"C": raw(1),
    b"U": old_text(1),
    b"T": old_text(4),
    b")": push(lambda self: ()),
    b"]": push(lambda self: []),
    b"}": push(lambda self: {}),
    b"\x8f": push(lambda self: set()),
    b"t": push(lambda self: self.make_tuple(self.since_mark())),
    b"\x85": tuple_of(1),
    b"\x86": tuple_of(2),
    b"\x87": tuple_of(3),
    b"a": lambda self: self.append_to([self.stack.pop()]),
    b"e": lambda self: self.append_to(self.since_mark()),
    b"s": lambda self: self.set_items([self.stack.pop(), self.stack.pop()][::-1]),
    b"u": lambda self: self.set_items(self.since_mark()),
    b"\x90": lambda self: self.add_items(self.since_mark()),
    b"\x91": push(lambda self: frozenset(self.since_mark())),
    b"q": put(1),
    b"r": put(4),
    b"\x94": lambda self: self.memo.__setitem__(len(self.memo), self.stack[-1]),
    b"h": get(1),
    b"j": get(4),
    b"c": Unpickler.read_global,
    b"\x93": Unpickler.stack_global,
    b"R": Unpickler.reduce,
    b"b": Unpickler.build,
    b"\x81": Unpickler.new_object,
    b"Q": lambda self: self.stack.append(self.persistent_load(self.stack.pop())),
}
