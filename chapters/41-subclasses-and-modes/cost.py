"""What overridable calls cost, measured in an interpreter that has seen no subclass: prints JSON."""

import json
import time

from tensorlab._core.dispatch.overrides import is_interception_enabled

import tensorlab as torch


def nanoseconds(work, times=2000, rounds=25):
    """Return what one call takes, once for each round."""
    found = []
    for _ in range(rounds):
        start = time.thread_time()  # stands still while other programs run
        for _ in range(times):
            work()
        found.append((time.thread_time() - start) / times * 1e9)
    return found


def main():
    """Measure one addition in each state."""
    x = torch.ones(4)
    assert not is_interception_enabled()
    found = {"plain, no class has a hook": nanoseconds(lambda: x + x)}

    class Sub(torch.Tensor):
        pass

    class Deaf(torch.Tensor):
        __torch_function__ = torch.overrides.disabled_tensor_function

    class Silent(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with torch.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    assert is_interception_enabled()
    found["plain, some class has one"] = nanoseconds(lambda: x + x)
    for name, cls in ("disabled hook", Deaf), ("hook, plain result", Silent), ("default hook", Sub):
        y = torch.ones(4).as_subclass(cls)
        found[name] = nanoseconds(lambda y=y: y + y)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
