"""Nonsense to call compiled functions with: numbers too large, things that lie about themselves, the wrong tensor."""

import numpy as np

import tensorlab as T


class LyingTensor(T.Tensor):
    """A tensor whose Python side knows nothing of its memory."""

    shape = (2**40,)
    ndim = 100

    def __len__(self):
        return -1

    def __index__(self):
        raise ZeroDivisionError

    def __iter__(self):
        return 3

    def __bool__(self):
        return "yes"

    def size(self, dim=None):
        return 2**40


class LyingTuple(tuple):
    __slots__ = ()

    def __len__(self):
        return 2**40

    def __iter__(self):
        return iter([object()] * 3)

    def __getitem__(self, index):
        raise ZeroDivisionError


class LyingList(list):
    def __len__(self):
        return 10**6

    def __iter__(self):
        self.clear()
        yield self


class LyingNumber(float):
    """A float, an index and an array at once, each of them wrong."""

    def __float__(self):
        raise ZeroDivisionError

    def __index__(self):
        return 2**70

    def __array__(self, *arguments, **named):
        return self

    __hash__ = None


class Refuses:
    """Raises whatever is asked of it."""

    def __getattr__(self, name):
        raise ZeroDivisionError(name)

    def __eq__(self, other):
        raise ZeroDivisionError

    __hash__ = __len__ = __index__ = __float__ = __bool__ = __iter__ = __repr__ = lambda self: 1 / 0


class Overrides:
    """Takes part in overriding, and answers with itself."""

    @classmethod
    def __torch_function__(cls, function, classes, arguments=(), named=None):
        return cls


def a_list_in_itself():
    loop = []
    loop.append(loop)
    return loop


JUNK = {
    "None": lambda: None,
    "3": lambda: 3,
    "-1": lambda: -1,
    "2**31": lambda: 2**31,
    "2**40": lambda: 2**40,
    "2**63": lambda: 2**63,
    "2**63-1": lambda: 2**63 - 1,
    "-2**63": lambda: -(2**63),
    "2**70": lambda: 2**70,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "1j": lambda: 1j,
    "'x'": lambda: "x",
    "b'x'": lambda: b"x",
    "object()": object,
    "()": tuple,
    "(1,)*100": lambda: (1,) * 100,
    "(2**40, 2**40)": lambda: (2**40, 2**40),
    "(-1, -1)": lambda: (-1, -1),
    "[]": list,
    "loop": a_list_in_itself,
    "{}": dict,
    "int": lambda: int,
    "len": lambda: len,
    "slice": lambda: slice(2**70, -(2**70), -1),
    "generator": lambda: (i for i in (1, "x")),
    "array": lambda: np.array([object()]),
    "dtype": lambda: T.float16,
    "tensor": lambda: T.ones(2, 3),
    "leaf": lambda: T.ones(2, 3, requires_grad=True),
    "empty": lambda: T.zeros(0, dtype=T.int64),
    "far": lambda: T.tensor([2**62, -(2**63)]),
    "meta": lambda: T.zeros((8,) * 16, device="meta"),
    "16-d": lambda: T.ones((1,) * 16),
    "lying tensor": lambda: T.ones(2).as_subclass(LyingTensor),
    "lying tuple": lambda: LyingTuple((1, 2)),
    "lying list": lambda: LyingList([1, 2]),
    "lying number": lambda: LyingNumber(1.5),
    "refuses": Refuses,
    "overrides": Overrides,
}
# What stands beside the nonsense where nothing tells what belongs there.
FILLERS = {
    "tensor": lambda: T.ones(2, 3, requires_grad=True),
    "1": lambda: 1,
    "(1, 2)": lambda: (1, 2),
    "None": lambda: None,
}
