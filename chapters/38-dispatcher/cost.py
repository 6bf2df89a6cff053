"""What `x + y` with four numbers costs, in an interpreter that has seen no layer and no class: prints JSON."""

import json
import time
from importlib import import_module


def nanoseconds(work, times=2000, rounds=25):
    """Return what one call takes, once for each round."""
    found = []
    for _ in range(rounds):
        start = time.thread_time()  # stands still while other programs run
        for _ in range(times):
            work()
        found.append(round((time.thread_time() - start) / times * 1e9, 1))
    return found


def costs(torch):
    """Return the nanoseconds of each round in several states of a program, in tensorlab or PyTorch."""
    dispatch = import_module(f"{torch.__name__}.utils._python_dispatch")
    no_override = getattr(torch.overrides, "disabled_tensor_function", None)
    no_override = no_override or torch._C._disabled_torch_function_impl  # PyTorch's name of it

    class Passing(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x, y, one = torch.ones(4), torch.ones(4), torch.ones(1)
    leaf = torch.ones(4, requires_grad=True)
    a, b = 1.0, 2.0
    found = {
        "Python's a + b": nanoseconds(lambda: a + b),
        "plain": nanoseconds(lambda: x + y),
        "plain, x.add_(y)": nanoseconds(lambda: x.add_(y)),
        "one number is broadcast": nanoseconds(lambda: x + one),
        "y requires grad": nanoseconds(lambda: x + leaf),
    }
    with Passing():
        found["a mode is entered"] = nanoseconds(lambda: x + y)
    found["plain, the mode was left"] = nanoseconds(lambda: x + y)

    class Keyed(torch.Tensor):
        __torch_function__ = no_override  # what is measured is the hook below autograd

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    found["plain, a class is defined"] = nanoseconds(lambda: x + y)
    keyed = torch.ones(4).as_subclass(Keyed)
    found["plain, a keyed tensor lives"] = nanoseconds(lambda: x + y)
    del keyed
    found["plain, it is gone"] = nanoseconds(lambda: x + y)
    return found


if __name__ == "__main__":
    import tensorlab

    print(json.dumps(costs(tensorlab)))
