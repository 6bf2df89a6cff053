"""NAdam: Adam that looks ahead, as Nesterov's momentum does."""

from tensorlab import _missing

from .._tensor import Tensor
from ..ops.creation import ones
from .formula import (
    FormulaOptimizer,
    add_quotient,
    add_square,
    counted,
    decayed,
    zeros_of,
)
from .optimizer import check_betas, check_not_negative, check_rate

__all__ = ["NAdam"]


class NAdam(FormulaOptimizer):
    """Adam whose step uses the mean that the next step would have.

    Step t on parameter p with gradient g (negated if `maximize`), b1 and b2 the two betas:

        g = g + weight_decay * p        or, if decoupled:   p = p - lr * weight_decay * p
        c(t) = b1 * (1 - 0.5 * 0.96**(t * momentum_decay)),  C = c(1) * ... * c(t)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        a = (1 - c(t)) * g / (1 - C) + c(t + 1) * m / (1 - C * c(t + 1))
        p = p - lr * a / (sqrt(v / (1 - b2**t)) + eps)

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    betas : pair of float, from 0 to 1 without 1
    eps, weight_decay, momentum_decay : float
    decoupled_weight_decay : bool
    foreach, capturable : accepted for PyTorch's sake; steps are taken one parameter at a time
    maximize : bool, whether to climb
    differentiable : bool, whether autograd records the step

    Raises
    ------
    ValueError
        If an option is out of its range.

    Notes
    -----
    state[p] has "step", "mu_product" (C), "exp_avg" (m) and "exp_avg_sq" (v).
    Source: Dozat 2016, "Incorporating Nesterov Momentum into Adam", algorithm 8.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = NAdam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 2.7459, -1.7475], requires_grad=True)
    """

    _scalars = "step", "mu_product"

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_rate("NAdam", lr)
        check_not_negative(
            "NAdam", eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay
        )
        check_betas("NAdam", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def new_state(self, param, group):
        zero = zeros_of(param, "exp_avg", "exp_avg_sq")
        return {"step": zero.pop("step"), "mu_product": ones(()), **zero}

    def update(self, param, grad, state, group):
        lr, decay = group["lr"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        step = counted(state)
        if group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        else:
            grad = decayed(grad, param, decay)
        now, ahead = (
            beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1)
        )
        if isinstance(now, Tensor):
            product = state["mu_product"] = state["mu_product"] * now
        else:
            product = state["mu_product"].mul_(now).item()
        mean.lerp_(grad, 1 - beta1)
        add_square(square.mul_(beta2), grad, 1 - beta2)
        size = (square / (1 - beta2**step)).sqrt() + group["eps"]
        add_quotient(param, grad, size, -lr * (1 - now) / (1 - product))
        add_quotient(param, mean, size, -lr * ahead / (1 - product * ahead))


__getattr__ = _missing.refusing(__name__)
