"""The older weight_norm, which computes a weight anew before each forward; the newer one is in `parametrizations`.

The parameter `weight` gives way to two, `weight_g` (lengths) and `weight_v` (directions); a hook makes a plain
tensor of them, which the layer finds under the old name.
"""

import warnings

from tensorlab import _missing

from ..parameter import Parameter, is_lazy

__all__ = ["remove_weight_norm", "weight_norm"]


def norm_except_dim(x, dim):
    """The 2-norm over all dimensions but one, which stay with size 1; of everything for -1."""
    if dim == -1:
        return x.norm()
    others = [d for d in range(x.dim()) if d != dim % x.dim()]
    return x.norm(dim=others, keepdim=True) if others else x.abs()


class WeightNorm:
    """The hook: of which parameter, and which of its dimensions keeps lengths (-1: one length in all)."""

    def __init__(self, name, dim):
        self.name = name
        self.dim = dim

    def compute_weight(self, module):
        """Return g v / |v|."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / norm_except_dim(v, self.dim))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Train the length and the direction of a weight separately: w = g v / |v|.

    Parameters
    ----------
    module : Module
    name : str, of a parameter
    dim : int, each index of this dimension has a length of its own; None for one length in all

    Returns
    -------
    Module, the same; its state dict has `weight_g` and `weight_v` instead of `weight`

    Raises
    ------
    RuntimeError
        If the parameter has this norm already.
    ValueError
        If the parameter is not initialized.

    Notes
    -----
    Deprecated, with a FutureWarning; use `nn.utils.parametrizations.weight_norm`, which loads these state dicts.
    Source: Salimans and Kingma 2016, "Weight Normalization".

    Examples
    --------
    >>> import tensorlab
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     layer = tensorlab.nn.utils.weight_norm(tensorlab.nn.Linear(2, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn(
        "weight_norm: this function is deprecated in favor of nn.utils.parametrizations.weight_norm, which loads "
        "its state dicts",
        FutureWarning,
        stacklevel=2,
    )
    if find_hook(module, WeightNorm, name) is not None:
        raise RuntimeError(
            f"weight_norm: {name!r} has one already; expected at most one for a parameter"
        )
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ValueError(
            f"weight_norm: {name!r} is not initialized; call forward once before it is normalized"
        )
    hook = WeightNorm(name, -1 if dim is None else dim)
    lengths = norm_except_dim(weight.detach(), hook.dim)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(lengths))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    hook(module, None)
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Make one parameter again of the two that `weight_norm` made.

    Raises
    ------
    ValueError
        If the parameter has no such norm.

    Examples
    --------
    >>> from tensorlab import nn
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):  # weight_norm is an older function
    ...     net = nn.utils.weight_norm(nn.Linear(4, 3))
    >>> sorted(name for name, _ in net.named_parameters())
    ['bias', 'weight_g', 'weight_v']
    >>> sorted(name for name, _ in remove_weight_norm(net).named_parameters())
    ['bias', 'weight']
    """
    key = find_hook(module, WeightNorm, name)
    if key is None:
        raise ValueError(f"remove_weight_norm: no weight_norm of {name!r} in {module}")
    weight = module._forward_pre_hooks.pop(key).compute_weight(module)
    for part in (name, f"{name}_g", f"{name}_v"):
        delattr(module, part)
    setattr(module, name, Parameter(weight.detach()))
    return module


def find_hook(module, kind, name):
    """Return the key of the hook of a class that computes a parameter, or None."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key
    return None


__getattr__ = _missing.refusing(__name__)
