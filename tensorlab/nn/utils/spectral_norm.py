"""The older spectral_norm, which computes a weight anew before each forward; the newer one is in `parametrizations`.

The parameter `weight` becomes `weight_orig`, and two buffers, `weight_u` and `weight_v`, follow its largest singular
value from forward to forward; a hook leaves the divided weight under the old name.
"""

from tensorlab import _missing

from ...autograd.grad_mode import no_grad
from ..convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..functional import normalize
from ..parameter import Parameter, is_lazy
from .weight_norm import find_hook

__all__ = ["remove_spectral_norm", "spectral_norm"]


def output_dim(module):
    """Return which dimension of a layer's weight counts its outputs."""
    return int(isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))


class SpectralNorm:
    """The hook: of which parameter, which of its dimensions counts outputs, and how it iterates."""

    def __init__(self, name, n_power_iterations, dim, eps):
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations is {n_power_iterations}; expected a positive number"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def as_matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module, steps):
        """Return the weight over its largest singular value, after so many steps of the power iteration."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.as_matrix(weight)
        with no_grad():
            for _ in range(steps):  # in place, so that the buffers of the module follow
                v.copy_(normalize(matrix.T @ u, dim=0, eps=self.eps))
                u.copy_(normalize(matrix @ v, dim=0, eps=self.eps))
        u, v = u.clone(), v.clone()  # backward of two forwards needs those of each
        return weight / (u @ (matrix @ v))

    def __call__(self, module, inputs):
        steps = self.n_power_iterations if module.training else 0
        setattr(module, self.name, self.compute_weight(module, steps))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, so that the layer stretches no input.

    Parameters
    ----------
    module : Module
    name : str, of a parameter
    n_power_iterations : int, steps of the power iteration in each forward while training
    eps : float, least length that is divided by
    dim : int, the dimension of outputs; 0 unless given, and 1 for transposed convolutions

    Returns
    -------
    Module, the same; its state dict has `weight_orig`, `weight_u` and `weight_v` instead of `weight`

    Raises
    ------
    RuntimeError
        If the parameter has this norm already.
    KeyError
        If there is no parameter of that name.
    ValueError
        If the parameter is None or not initialized, or `n_power_iterations` is not positive.

    Notes
    -----
    New programs use `nn.utils.parametrizations.spectral_norm`. State dicts that PyTorch wrote before version 1.0
    lack `weight_v` and are refused.
    Source: Miyato et al. 2018, "Spectral Normalization for Generative Adversarial Networks".

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> net = spectral_norm(nn.Linear(4, 3), n_power_iterations=50)
    >>> _ = net(tensorlab.ones(1, 4))
    >>> tensorlab.linalg.matrix_norm(net.weight, 2).round(decimals=3).item()
    1.0
    """
    if find_hook(module, SpectralNorm, name) is not None:
        raise RuntimeError(
            f"spectral_norm: {name!r} has one already; expected at most one for a parameter"
        )
    hook = SpectralNorm(name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    if name not in module._parameters:
        raise KeyError(
            f"spectral_norm: {name!r} is not a parameter of the module; it has {list(module._parameters)}"
        )
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(
            f"spectral_norm: the parameter {name!r} is None; there is nothing to divide"
        )
    if is_lazy(weight):
        raise ValueError(
            f"spectral_norm: {name!r} is not initialized; call forward once before it is normalized"
        )
    with no_grad():
        sizes = zip("uv", hook.as_matrix(weight).shape, strict=True)
        vectors = {
            part: normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
            for part, size in sizes
        }
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(
        module, name, weight.data
    )  # a plain tensor, for code that reads its shape before the first forward
    for part, vector in vectors.items():
        module.register_buffer(f"{name}_{part}", vector)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name="weight"):
    """Make a plain parameter again of a weight that `spectral_norm` divides.

    Raises
    ------
    ValueError
        If the parameter has no such norm.

    Examples
    --------
    >>> from tensorlab import nn
    >>> net = remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(4, 3)))
    >>> [name for name, _ in net.named_parameters()]
    ['bias', 'weight']
    """
    key = find_hook(module, SpectralNorm, name)
    if key is None:
        raise ValueError(f"remove_spectral_norm: no spectral_norm of {name!r} in {module}")
    weight = module._forward_pre_hooks.pop(key).compute_weight(module, 0)
    for part in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
        delattr(module, part)
    module.register_parameter(name, Parameter(weight.detach()))
    return module


__getattr__ = _missing.refusing(__name__)
