"""Muon: momentum whose matrix is made nearly orthogonal before it is a step."""

import math

from ..ops.creation import zeros_like
from ..ops.linalg.affine import addmm
from .formula import FormulaOptimizer
from .optimizer import check_rate

__all__ = ["Muon"]

MOST_STEPS = 100


class Muon(FormulaOptimizer):
    """Step in the direction of the momentum's nearest orthogonal matrix: all singular values count alike.

    One step on matrix p with gradient g:

        m = m + (1 - momentum) * (g - m),   u = g + momentum * (m - g)  if nesterov, else m
        u = a few Newton-Schulz steps  X = a X + (b X X^T + c (X X^T)^2) X  on u / |u|
        p = p - lr * weight_decay * p - lr * r * u

    with r = sqrt(max(1, rows / columns)), or 0.2 * sqrt(max(rows, columns)) for "match_rms_adamw".

    Parameters
    ----------
    params : iterable of Tensors of two dimensions or of dicts, see Optimizer
    lr : float, or Tensor of one element
    weight_decay, momentum, eps : float
    nesterov : bool
    ns_coefficients : three floats a, b, c
    ns_steps : int, fewer than 100
    adjust_lr_fn : "original", "match_rms_adamw" or None for the first

    Raises
    ------
    ValueError
        If a parameter has not two dimensions, or an option is out of its range.

    Notes
    -----
    state[p]["momentum_buffer"] is m. The iteration runs in bfloat16, as in PyTorch.
    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks".

    Examples
    --------
    >>> import tensorlab
    >>> weight = tensorlab.zeros(2, 2, requires_grad=True)
    >>> weight.grad = tensorlab.tensor([[100.0, 0.0], [0.0, 1.0]])
    >>> optimizer = Muon([weight], lr=0.1)
    >>> optimizer.step()
    >>> weight[0, 0].item() / weight[1, 1].item() < 2  # the directions count alike, whatever their gradients
    True
    """

    _takes_complex_parameters = False

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.7750, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        check_rate("Muon", lr)
        for name, value in (("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"Muon: {name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Muon: adjust_lr_fn {adjust_lr_fn!r} is not supported; expected 'original' or 'match_rms_adamw'"
            )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        f"Muon: only supports 2D parameters, but found one of size {tuple(param.shape)}; give the "
                        "others to another optimizer"
                    )

    def new_state(self, param, group):
        return {"momentum_buffer": zeros_like(param.grad)}

    def update(self, param, grad, state, group):
        lr, momentum = group["lr"], group["momentum"]
        mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = grad.lerp(mean, momentum) if group["nesterov"] else mean
        update = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = param.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns))
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(update.to(param.dtype), alpha=-lr * ratio)


def orthogonalized(x, coefficients, steps, eps):
    """Bring the singular values of a matrix near 1 by Newton-Schulz steps in bfloat16."""
    if steps >= MOST_STEPS:
        raise ValueError(f"Muon: ns_steps is {steps}; it must be less than {MOST_STEPS}")
    if len(coefficients) != 3:
        raise ValueError(f"Muon: ns_coefficients must be 3 numbers, not {len(coefficients)}")
    a, b, c = coefficients
    is_tall = x.size(0) > x.size(1)
    y = (x.T if is_tall else x).bfloat16()
    y = y / y.norm().clamp(min=eps)
    for _ in range(steps):
        gram = y @ y.T
        y = addmm(y, addmm(gram, gram, gram, beta=b, alpha=c), y, beta=a)
    return y.T if is_tall else y
