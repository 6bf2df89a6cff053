"""The programs of chapter 41's prediction: of which class is the result?"""


def verdicts(torch):
    """Return the name of a class for each program, in tensorlab or PyTorch."""

    class Marked(torch.Tensor):
        pass

    class Strong(Marked):
        pass

    class Other(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Marked)
    x.note = "mine"
    leaf = torch.ones(2).as_subclass(Marked).requires_grad_()
    (leaf * 2).sum().backward()
    programs = {
        "x + 1": lambda: x + 1,
        "torch.ones(2) + x": lambda: torch.ones(2) + x,
        "torch.cat([torch.ones(2), x])": lambda: torch.cat([torch.ones(2), x]),
        "torch.nn.Parameter(torch.ones(2)) + 1": lambda: torch.nn.Parameter(torch.ones(2)) + 1,
        "x + strong": lambda: x + torch.ones(2).as_subclass(Strong),
        "x + other": lambda: x + torch.ones(2).as_subclass(Other),
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
