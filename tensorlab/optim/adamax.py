"""Adamax: Adam with the largest gradient in the place of the root of the mean square."""

from tensorlab import _missing

from ..ops.pointwise.bounds import maximum
from .formula import FormulaOptimizer, add_quotient, counted, decayed, zeros_of
from .optimizer import check_betas, check_not_negative, check_rate

__all__ = ["Adamax"]


class Adamax(FormulaOptimizer):
    """Divide the running mean of the gradient by its decaying maximum.

    Step t on parameter p with gradient g (negated if `maximize`), b1 and b2 the two betas:

        g = g + weight_decay * p
        m = b1 * m + (1 - b1) * g
        u = max(b2 * u, |g| + eps)
        p = p - lr / (1 - b1**t) * m / u

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    betas : pair of float, from 0 to 1 without 1
    eps, weight_decay : float
    foreach, capturable : accepted for PyTorch's sake; steps are taken one parameter at a time
    maximize : bool, whether to climb
    differentiable : bool, whether autograd records the step

    Raises
    ------
    ValueError
        If an option is out of its range.

    Notes
    -----
    state[p] has "step", "exp_avg" (m) and "exp_inf" (u). Source: Kingma and Ba 2015, "Adam: A Method for Stochastic
    Optimization", algorithm 2.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = Adamax([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 2.7050, -1.7076], requires_grad=True)
    """

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_rate("Adamax", lr)
        check_not_negative("Adamax", eps=eps, weight_decay=weight_decay)
        check_betas("Adamax", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def new_state(self, param, group):
        return zeros_of(param, "exp_avg", "exp_inf")

    def update(self, param, grad, state, group):
        beta1, beta2 = group["betas"]
        step = counted(state)
        grad = decayed(grad, param, group["weight_decay"])
        state["exp_avg"].lerp_(grad, 1 - beta1)
        largest = maximum(state["exp_inf"] * beta2, grad.abs() + group["eps"])
        if group["differentiable"]:
            state["exp_inf"] = largest
        else:
            state["exp_inf"].copy_(largest)
        rate = group["lr"] / (1 - beta1**step)
        add_quotient(param, state["exp_avg"], largest, -rate)


__getattr__ = _missing.refusing(__name__)
