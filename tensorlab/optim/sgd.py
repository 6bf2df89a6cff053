"""Stochastic gradient descent, with momentum."""

from ..ops.creation import empty_like
from ..ops.optim_steps import sgd_step
from .optimizer import Optimizer, check_not_negative, refuse_differentiable

__all__ = ["SGD"]


class SGD(Optimizer):
    """Go against the gradient, or with momentum against a decaying sum of past gradients.

    One step on parameter p with gradient g (negated if `maximize`):

        g = g + weight_decay * p
        v = momentum * v + (1 - dampening) * g      (v = g in the first step)
        p = p - lr * (g + momentum * v  if nesterov else  v)

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr, momentum, dampening, weight_decay : float
    nesterov, maximize : bool
    foreach, fused : accepted for PyTorch's sake; the update is always one fused loop a parameter

    Raises
    ------
    ValueError
        If `lr`, `momentum` or `weight_decay` is negative, or `nesterov` is asked for without
        momentum or with dampening.

    Notes
    -----
    state[p]["momentum_buffer"] is v.  Source: Sutskever et al. 2013, "On the importance of
    initialization and momentum in deep learning", section 2; with lr outside of v, as in PyTorch.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        check_not_negative("SGD", lr=lr, momentum=momentum, weight_decay=weight_decay)
        refuse_differentiable("SGD", differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                "SGD: Nesterov momentum requires a momentum and zero dampening; "
                f"momentum is {momentum}, dampening {dampening}"
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def update_group(self, group):
        lr, momentum, dampening = group["lr"], group["momentum"], group["dampening"]
        weight_decay, nesterov = group["weight_decay"], group["nesterov"]
        maximize = group["maximize"]
        steps = {}  # is it the first one of a parameter: (parameters, gradients, velocities)
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            velocity = None if momentum == 0 else self.state[param].get("momentum_buffer")
            is_first = momentum != 0 and velocity is None
            params, grads, velocities = steps.setdefault(is_first, ([], [], []))
            params.append(param)
            grads.append(grad)
            if momentum != 0:
                velocities.append(empty_like(param) if is_first else velocity)
        for is_first, tensors in steps.items():
            sgd_step(*tensors, lr, momentum, dampening, weight_decay, nesterov, maximize, is_first)
            if is_first:  # the step has written g there
                for param, velocity in zip(tensors[0], tensors[2], strict=True):
                    self.state[param]["momentum_buffer"] = velocity
