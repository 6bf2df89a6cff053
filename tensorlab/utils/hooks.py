"""Handles of hooks, and a mark for hooks that a pickle may leave out."""

from tensorlab import _missing
from tensorlab._core.hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]


def unserializable_hook(f):
    """Mark a hook so that pickling a tensor that has it does not warn that the hook stays behind.

    >>> import tensorlab, pickle
    >>> @unserializable_hook
    ... def double(grad):
    ...     return grad * 2
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> handle = x.register_hook(double)
    >>> pickle.loads(pickle.dumps(x))
    tensor([1., 1.], requires_grad=True)
    """
    f.__torch_unserializable__ = True  # PyTorch's mark
    return f


__getattr__ = _missing.refusing(__name__)
