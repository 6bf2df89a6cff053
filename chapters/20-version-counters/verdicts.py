"""The five programs of chapter 20's prediction, for any module with PyTorch's names."""


def change_and_restore(y):
    """Write to y, then bring the old values back."""
    old = y.detach().clone()
    y.detach().zero_()
    y.detach().copy_(old)


WRITES = {
    "A  y[0:1].zero_()": lambda y: y[0:1].zero_(),
    "B  y.detach().zero_()": lambda y: y.detach().zero_(),
    "C  y.data.zero_()": lambda y: y.data.zero_(),
    "D  zero, then restore": change_and_restore,
}


def verdict(module, write, combine):
    """Return what backward makes of a write between forward and backward."""
    x = module.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = combine(y)
    write(y)
    try:
        z.sum().backward()
    except RuntimeError:
        return "an error"
    return str(x.grad.tolist())


def verdicts(module):
    """Return the verdict on each program, by its name."""
    found = {name: verdict(module, write, lambda y: y * y) for name, write in WRITES.items()}
    zero = WRITES["B  y.detach().zero_()"]
    return found | {"E  B, but z = y + y": verdict(module, zero, lambda y: y + y)}
