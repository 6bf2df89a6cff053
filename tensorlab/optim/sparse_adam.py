"""SparseAdam: Adam for gradients that are given as a few rows and their numbers."""

import math

from ..ops.creation import zeros_like
from .optimizer import Optimizer, check_betas, number

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that changes only the rows whose gradient is there: mean and square of the others stay, too.

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    betas : pair of float, from 0 to 1 without 1
    eps : float
    maximize : bool, whether to climb

    Raises
    ------
    ValueError
        If `lr` or `eps` is not positive, or a beta is not in [0, 1).
    RuntimeError
        In `step`, if a gradient is dense.

    Notes
    -----
    A sparse gradient is one with `is_sparse`, `coalesce()`, `_indices()` of shape (1, n) and `_values()` of shape
    (n, ...), as PyTorch's has. state[p] has "step" (an int), "exp_avg" and "exp_avg_sq".
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        if hasattr(lr, "numel") and lr.numel() != 1:
            raise ValueError(f"SparseAdam: Tensor lr must be 1-element, but it has {lr.numel()}")
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0:
                raise ValueError(f"SparseAdam: Invalid {name}: {value}; expected a number above 0")
        check_betas("SparseAdam", betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    _takes_sparse_gradients = True

    def update_group(self, group):
        pairs = [(param, param.grad) for param in group["params"] if param.grad is not None]
        for _, grad in pairs:
            if not grad.is_sparse:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        for param, grad in pairs:
            state = self.state[param]
            if not state:
                state.update(step=0, exp_avg=zeros_like(param), exp_avg_sq=zeros_like(param))
            state["step"] += 1
            grad = grad.coalesce()
            values = -grad._values() if group["maximize"] else grad._values()
            if values.numel():
                update_rows(param, grad._indices()[0], values, state, group)


def update_rows(param, rows, grad, state, group):
    """Take Adam's step in some rows of a parameter."""
    beta1, beta2 = group["betas"]
    step = state["step"]
    mean = state["exp_avg"][rows].lerp(grad, 1 - beta1)
    square = state["exp_avg_sq"][rows].lerp(grad * grad, 1 - beta2)
    state["exp_avg"][rows] = mean
    state["exp_avg_sq"][rows] = square
    rate = number(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    param.index_add_(0, rows, mean / (square.sqrt() + group["eps"]), alpha=-rate)
