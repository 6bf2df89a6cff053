"""Which ops a mode below autograd hears of some calls: the same program for tensorlab and PyTorch."""

from importlib import import_module


def heard(torch):
    """Return {program: names of the ops that it calls}."""
    dispatch = import_module(f"{torch.__name__}.utils._python_dispatch")

    class Names(dispatch.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    x, y = torch.ones(2, 2), torch.ones(2, 2)
    leaf = torch.ones(2, 2, requires_grad=True)
    programs = {
        "x + y": lambda: x + y,
        "1 + x": lambda: 1 + x,
        "torch.add(x, y)": lambda: torch.add(x, y),
        "x.clone().add_(y)": lambda: x.clone().add_(y),
        "x @ y": lambda: x @ y,
        "x.softmax(0)": lambda: x.softmax(0),
        "x.T": lambda: x.T,
        "x[0]": lambda: x[0],
        "backward": lambda: (leaf * y).sum().backward(),
    }
    found = {}
    for name, program in programs.items():
        with Names() as mode:
            program()
        found[name] = mode.names
    return found
