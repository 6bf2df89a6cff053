"""The programs of chapter 41's prediction: of which class is the result?"""


def verdicts(T):
    """Return the name of a class for each program, under tensorlab or PyTorch."""

    class Marked(T.Tensor):
        pass

    class Strong(Marked):
        pass

    class Other(T.Tensor):
        pass

    x = T.ones(2).as_subclass(Marked)
    x.note = "mine"
    leaf = T.ones(2).as_subclass(Marked).requires_grad_()
    (leaf * 2).sum().backward()
    programs = {
        "x + 1": lambda: x + 1,
        "T.ones(2) + x": lambda: T.ones(2) + x,
        "T.cat([T.ones(2), x])": lambda: T.cat([T.ones(2), x]),
        "T.nn.Parameter(T.ones(2)) + 1": lambda: T.nn.Parameter(T.ones(2)) + 1,
        "x + strong": lambda: x + T.ones(2).as_subclass(Strong),
        "x + other": lambda: x + T.ones(2).as_subclass(Other),
        "leaf.grad": lambda: leaf.grad,
        "(x + 1).note": lambda: (x + 1).note,
    }
    found = {}
    for name, program in programs.items():
        try:
            found[name] = type(program()).__name__
        except (TypeError, AttributeError) as error:
            found[name] = type(error).__name__
    return found
