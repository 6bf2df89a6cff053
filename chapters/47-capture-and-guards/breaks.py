"""Six programs that can't be one recording, for chapter 47; with `import torch`, for PyTorch."""

import random
import time

import tensorlab as torch


class Counter:
    calls = 0


counter, shapes = Counter(), []


def prints(x):
    y = x * 2
    print("", end="")
    return y + 1


def appends(x):
    shapes.append(x.shape)
    return x * 2 + 1


def reads_the_time(x):
    return x * 2 + time.time()


def counts_up(x):
    counter.calls += 1
    return x * 2 + counter.calls


def draws(x):
    return x * 2 + random.random()


def is_fine(x):
    return x * 2 + 1


def broken_backend(module, examples):
    raise ValueError("this chip is not made yet")


BREAKS = {
    "prints": (prints, "eager"),
    "appends to an outer list": (appends, "eager"),
    "reads the time": (reads_the_time, "eager"),
    "counts an attribute up": (counts_up, "eager"),
    "draws Python's random numbers": (draws, "eager"),
    "has a backend that fails": (is_fine, broken_backend),
}
X = torch.tensor([1.0, 2.0, -3.0, 4.0])
