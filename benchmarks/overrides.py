"""What do overridable calls cost programs that override nothing, and those that do?

    python benchmarks/overrides.py

Times `x + x` and `add(x, x)` on four elements: before any class has a hook, after one was defined,
and on a tensor of that class, beside PyTorch's where it is installed.
"""

import timeit

import tensorlab

REPEATS = 9


def nanoseconds(statement, library, x, number=20_000):
    """Return the best time of one run of a statement."""
    names = {"t": library, "x": x}
    best = min(timeit.repeat(statement, globals=names, number=number, repeat=REPEATS))
    return best / number * 1e9


def report(title, library, x):
    times = [nanoseconds(statement, library, x) for statement in ("x + x", "t.add(x, x)")]
    print(f"{title:44}" + "".join(f"{time:9.0f}" for time in times))


def main():
    """Print a line for each state."""
    print(f"{'ns a call':44}{'x + x':>9}{'add(x, x)':>9}")
    x = tensorlab.ones(4)
    report("no class has a hook", tensorlab, x)

    class Sub(tensorlab.Tensor):
        pass

    report("a class has one, plain operands", tensorlab, x)
    report("a subclass with the default hook", tensorlab, x.as_subclass(Sub))
    try:
        import torch
    except ImportError:
        return

    class TorchSub(torch.Tensor):
        pass

    x = torch.ones(4)
    report("PyTorch, plain operands", torch, x)
    report("PyTorch, a subclass", torch, x.as_subclass(TorchSub))


if __name__ == "__main__":
    main()
