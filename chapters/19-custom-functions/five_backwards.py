"""The five derivatives of chapter 19's prediction, for any module with PyTorch's names."""

FORMULAS = {
    "A  grad * factor, grad * x": lambda grad, x, factor: (grad * factor, grad * x),
    "B  grad * factor, (grad * x).sum(1)": lambda grad, x, factor: (
        grad * factor,
        (grad * x).sum(1),
    ),
    "C  grad * factor": lambda grad, x, factor: grad * factor,
    "D  grad.mul_(factor), (grad * x).sum(0)": lambda grad, x, factor: (
        grad.mul_(factor),
        (grad * x).sum(0),
    ),
}
ATTRIBUTES = "E  A, but ctx.kept = x, factor"


def scale(module, formula, uses_attributes=False):
    """Return a Function that multiplies the columns of x, with this formula as its derivative."""

    class Scale(module.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            if uses_attributes:
                ctx.kept = x, factor
            else:
                ctx.save_for_backward(x, factor)
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            x, factor = ctx.kept if uses_attributes else ctx.saved_tensors
            return formula(grad, x, factor)

    return Scale


def gradients(module, function, takes_step=False):
    """Return both gradients of the sum of squares; with a step of an optimizer before backward, if asked."""
    x = module.arange(1.0, 10.0).reshape(3, 3).requires_grad_()
    factor = module.tensor([1.0, 10.0, 100.0], requires_grad=True)
    y = function(x, factor)
    if takes_step:
        with module.no_grad():
            factor.sub_(0.5)
    (y * y).sum().backward()
    return x.grad.tolist(), factor.grad.tolist()


def verdicts(module):
    """Return what becomes of each derivative: right, silently wrong, or an error."""
    right = gradients(module, lambda x, factor: x * factor)
    found = {}
    functions = {name: scale(module, formula) for name, formula in FORMULAS.items()}
    functions[ATTRIBUTES] = scale(module, FORMULAS["A  grad * factor, grad * x"], True)
    for name, function in functions.items():
        try:
            came = gradients(module, function.apply, takes_step=name == ATTRIBUTES)
        except RuntimeError:
            found[name] = "an error"
        else:
            found[name] = "right" if came == right else "wrong, no error"
    return found
