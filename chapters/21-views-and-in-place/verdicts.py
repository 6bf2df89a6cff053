"""The six programs of chapter 21's prediction, for any module with PyTorch's names."""


def a(T, x, y):
    """y[:2].mul_(10)"""
    y[:2].mul_(10)
    return y


def b(T, x, y):
    """y.split(2)[0].mul_(10)"""
    y.split(2)[0].mul_(10)
    return y


def c(T, x, y):
    """x[:2].mul_(10)"""
    x[:2].mul_(10)
    return y


def d(T, x, y):
    """y[:2] under no_grad, mul_ after it"""
    with T.no_grad():
        view = y[:2]
    view.mul_(10)
    return y


def e(T, x, y):
    """y[:3] and y[1:], both multiplied"""
    left, right = y[:3], y[1:]
    left.mul_(10)
    right.mul_(2)
    return y


def f(T, x, y):
    """y[1:] multiplied, y[:2] summed"""
    left, right = y[:2], y[1:]
    right.mul_(10)
    return left


def verdict(T, program):
    """Return the gradient of the sum of what the program returns, or that it raises."""
    x = T.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    try:
        program(T, x, x * 1).sum().backward()
    except RuntimeError:
        return "an error"
    return str([int(g) for g in x.grad.tolist()])


def verdicts(T):
    """Return the verdict on each program, by its name."""
    return {
        f"{program.__name__.upper()}  {program.__doc__}": verdict(T, program)
        for program in (a, b, c, d, e, f)
    }
