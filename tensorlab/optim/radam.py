"""RAdam: Adam that waits with its scaling until there are enough gradients to know it."""

from tensorlab import _missing

from .formula import (
    FormulaOptimizer,
    add_scaled,
    add_square,
    counted,
    decayed,
    root,
    zeros_of,
)
from .optimizer import check_betas, check_not_negative, check_rate

__all__ = ["RAdam"]

ENOUGH = 5  # degrees of freedom from which on the variance of the scale is known


class RAdam(FormulaOptimizer):
    """Adam, rectified: in the first steps plain momentum, then Adam's step times a factor below 1.

    Step t on parameter p with gradient g (negated if `maximize`), b1 and b2 the two betas:

        g = g + weight_decay * p        or, if decoupled:   p = p - lr * weight_decay * p
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        R = 2 / (1 - b2) - 1,   r = R - 2 * t * b2**t / (1 - b2**t)
        p = p - lr * m / (1 - b1**t) * f

    with f = 1 up to r = 5, and then

        f = sqrt((r - 4) (r - 2) R / ((R - 4) (R - 2) r)) * sqrt(1 - b2**t) / (sqrt(v) + eps)

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    betas : pair of float, from 0 to 1 without 1
    eps, weight_decay : float
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
    state[p] has "step", "exp_avg" (m) and "exp_avg_sq" (v). Source: Liu et al. 2020, "On the Variance of the Adaptive
    Learning Rate and Beyond", algorithm 2.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = RAdam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 1.3869, -0.9246], requires_grad=True)
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_rate("RAdam", lr)
        check_not_negative("RAdam", eps=eps, weight_decay=weight_decay)
        check_betas("RAdam", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def new_state(self, param, group):
        return zeros_of(param, "exp_avg", "exp_avg_sq")

    def update(self, param, grad, state, group):
        lr, decay = group["lr"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        step = counted(state)
        if group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        else:
            grad = decayed(grad, param, decay)
        mean.lerp_(grad, 1 - beta1)
        add_square(square.mul_(beta2), grad, 1 - beta2)
        unbiased = mean / (1 - beta1**step)
        most = 2 / (1 - beta2) - 1
        freedom = most - 2 * step * beta2**step / (1 - beta2**step)
        if freedom > ENOUGH:
            factor = root(
                (freedom - 4) * (freedom - 2) * most / ((most - 4) * (most - 2) * freedom)
            )
            scale = root(1 - beta2**step) / (square.sqrt() + group["eps"])
            unbiased = unbiased * scale * factor
        add_scaled(param, unbiased, -lr)


__getattr__ = _missing.refusing(__name__)
