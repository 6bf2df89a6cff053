"""A mode that stops at the first NaN, forward or backward, and names the op that made it."""

import tensorlab as torch
from tensorlab.utils._python_dispatch import TorchDispatchMode
from tensorlab.utils._pytree import tree_leaves


class FoundNaN(ArithmeticError):
    """An op made a NaN of arguments that had none."""


def has_nan(tree):
    return any(
        x.is_floating_point() and bool(x.isnan().any())
        for x in tree_leaves(tree)
        if isinstance(x, torch.Tensor)
    )


def described(x):
    if not isinstance(x, torch.Tensor):
        return repr(x)
    if x.numel() == 0 or not x.is_floating_point():
        return f"a tensor of shape {tuple(x.shape)}"
    low, high = x.min().item(), x.max().item()
    return f"a tensor of shape {tuple(x.shape)}, from {low:.4g} to {high:.4g}"


class FindNaN(TorchDispatchMode):
    """Looks at every result. (`empty` may hold anything, so it isn't asked.)"""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = [described(x) for x in args]  # before the call, which may write to them
        was_there = has_nan((args, kwargs))
        out = func(*args, **kwargs)
        if "empty" not in str(func) and not was_there and has_nan(out):
            raise FoundNaN(f"{func} made the first NaN, of {'; '.join(given)}")
        return out


if __name__ == "__main__":
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    loss = (x.sqrt() * 0).sum()
    try:
        with FindNaN():
            loss.backward()
    except FoundNaN as error:
        print(error)
