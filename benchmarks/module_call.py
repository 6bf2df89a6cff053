"""What does calling a module cost, and what would looking parameters up in dicts of their own cost?

    python benchmarks/module_call.py

Compares nn.Module, whose parameters are plain attributes, with a class that keeps them in a dict
beside and finds them in `__getattr__`, and, where it is installed, with PyTorch's Module.
"""

import timeit

from tensorlab import nn


def first(x, weight, bias):
    """Stand in for the operation: what is measured is what the module adds to it."""
    return x


class Attributes(nn.Module):
    """Parameters where nn.Module puts them."""

    def __init__(self, make_parameter):
        super().__init__()
        self.weight = make_parameter()
        self.bias = make_parameter()

    def forward(self, x):
        return first(x, self.weight, self.bias)


class Lookup:
    """Parameters in a dict of their own, found after ordinary lookup has failed."""

    def __init__(self, make_parameter):
        self._parameters = {"weight": make_parameter(), "bias": make_parameter()}
        self._forward_pre_hooks = self._forward_hooks = {}

    def __getattr__(self, name):
        parameters = self.__dict__["_parameters"]
        if name in parameters:
            return parameters[name]
        raise AttributeError(name)

    def __call__(self, *args, **kwargs):
        if self._forward_pre_hooks or self._forward_hooks:
            raise NotImplementedError
        return self.forward(*args, **kwargs)

    def forward(self, x):
        return first(x, self.weight, self.bias)


def nanoseconds(function, number=200_000):
    return min(timeit.repeat(function, number=number, repeat=7)) / number * 1e9


def main():
    print(f"{'plain function call':<40}{nanoseconds(lambda: first(1, 2, 3)):>8.0f} ns")
    for label, module in (
        ("nn.Module, parameters as attributes", Attributes(nn.Parameter)),
        ("parameters found by __getattr__", Lookup(nn.Parameter)),
    ):
        print(f"{label:<40}{nanoseconds(lambda module=module: module(1)):>8.0f} ns")
    try:
        import torch
    except ImportError:
        return

    class Reference(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.bias = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return first(x, self.weight, self.bias)

    reference = Reference()
    print(f"{'torch.nn.Module':<40}{nanoseconds(lambda: reference(1)):>8.0f} ns")


if __name__ == "__main__":
    main()
