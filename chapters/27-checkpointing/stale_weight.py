"""Write to a weight between forward and backward: does backward notice?"""


def stale_weight(torch):
    """Return the gradient of sin(x * w) by w, or the class of the error."""
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x, w = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y = checkpoint(lambda x: (x * w).sin(), x, use_reentrant=False)
    with torch.no_grad():
        w.add_(1)
    try:
        y.backward()
    except RuntimeError as error:
        return type(error).__name__
    return f"{w.grad.item():.4f}"
