"""Ten programs, each of them called 24 times, for chapter 47. With `import torch` below it runs in PyTorch, too."""

import tensorlab as torch

CALLS = 24
rate = 1.0


class Box:
    pass


box = Box()
box.calls = 0


def double(x):
    return x * 2 + 1


def scale(x):
    return x * rate


def bend(x):
    return x * 2 if x.sum() > 0 else x - 1


def repeat(x, n):
    for _ in range(int(n)):
        x = x * 0.5
    return x


def shift(x, n):
    return x + n


def count(x):
    box.calls += 1
    return x + box.calls


def show(x):
    print("", end="")
    return x * 2 + 1


def ones(n):
    return torch.ones(n)


def change_rate(i):
    """Give the global another value for calls 9 to 16."""
    global rate
    rate = 2.0 if 8 <= i < 16 else 1.0


def leave(i):
    """Change nothing."""


# name: (function, arguments of call i, what happens before call i)
SCENARIOS = {
    "the same each time": (double, lambda i: [ones(4)], leave),
    "three sizes": (double, lambda i: [ones(4 + i % 3)], leave),
    "a new size each time": (double, lambda i: [ones(4 + i)], leave),
    "a global, there and back": (scale, lambda i: [ones(4)], change_rate),
    "a branch on the sign": (bend, lambda i: [ones(4) * (-1) ** i], leave),
    "a loop of 0 to 4 rounds": (repeat, lambda i: [ones(4), torch.tensor(i * i % 5)], leave),
    "an int, new each time": (shift, lambda i: [ones(4), i], leave),
    "the int in a tensor": (shift, lambda i: [ones(4), torch.tensor(i)], leave),
    "an attribute counted up": (count, lambda i: [ones(4)], leave),
    "a print": (show, lambda i: [ones(4)], leave),
}


def run(name, compile, outcome_of):
    """Call a compiled program 24 times; return what `outcome_of(compiled, call)` says of each call."""
    function, arguments, prepare = SCENARIOS[name]
    box.calls, compiled, outcomes = 0, compile(function), []
    for i in range(CALLS):
        prepare(i)
        given = arguments(i)
        outcomes.append(outcome_of(compiled, lambda given=given: compiled(*given)))
    return outcomes
