"""The predictions of chapter 22 as programs, to be run with tensorlab or with PyTorch."""


def results(torch):
    """A: what requires grad after no_grad?"""
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = x * 2
    return f"y {y.requires_grad}, z {(y * x).requires_grad}"


def leaves(torch):
    """B: a leaf that is made under no_grad"""
    with torch.no_grad():
        p = torch.ones(2, requires_grad=True)
    return f"p {p.requires_grad}"


def views(torch):
    """C: a view that is made under no_grad"""
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        v = x[0:1]
    (v * 2).sum().backward()
    return f"v {v.requires_grad}, x.grad {x.grad}"


def in_place(torch):
    """D: a computed tensor, changed under no_grad"""
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    with torch.no_grad():
        y.mul_(10)
    y.sum().backward()
    return f"y {y.tolist()}, x.grad {x.grad.tolist()}"


def inference(torch):
    """E: inference tensors that come back"""
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        w = x * 2
    added = (w + x).requires_grad
    try:
        product = (w * x).requires_grad
    except RuntimeError:
        product = "is an error"
    return f"w + x {added}, w * x {product}"


def generator(torch):
    """F: no_grad around a yield"""

    def numbers():
        with torch.no_grad():
            yield torch.ones(2)

    x = torch.ones(2, requires_grad=True)
    records = [(x * number).requires_grad for number in numbers()]
    return f"x * number {records[0]}"


PROGRAMS = [results, leaves, views, in_place, inference, generator]


def verdicts(torch):
    """Return what each program says, by its letter."""
    return {program.__doc__[0]: program(torch) for program in PROGRAMS}
