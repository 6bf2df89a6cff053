"""ASGD: stochastic gradient descent, and beside it the average of where it has been."""

from tensorlab import _missing

from ..ops.creation import full, ones, zeros, zeros_like
from .formula import FormulaOptimizer, add_scaled, counted, decayed
from .optimizer import check_not_negative, check_rate

__all__ = ["ASGD"]


class ASGD(FormulaOptimizer):
    """Averaged descent: the steps get smaller, and the state holds the mean of the parameters.

    Step t on parameter p with gradient g (negated if `maximize`):

        g = g + weight_decay * p
        p = p - lambd * eta * p - eta * g
        a = a + mu * (p - a)
        eta = lr / (1 + lambd * lr * t)**alpha,   mu = 1 / max(1, t - t0)

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    lambd, alpha, weight_decay : float
    t0 : float, the step at which averaging starts
    foreach, capturable : accepted for PyTorch's sake; steps are taken one parameter at a time
    maximize : bool, whether to climb
    differentiable : bool, whether autograd records the step

    Raises
    ------
    ValueError
        If `lr` or `weight_decay` is negative.

    Notes
    -----
    state[p] has "step", "eta", "mu" and "ax" (a).
    Source: Polyak and Juditsky 1992, "Acceleration of Stochastic Approximation by Averaging".

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = ASGD([x], lr=0.1, t0=0)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 1.5360, -1.0240], requires_grad=True)
    >>> optimizer.state[x]["ax"]  # the mean over the steps
    tensor([ 1.7280, -1.1520])
    """

    _scalars = "step", "eta", "mu"

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_rate("ASGD", lr)
        check_not_negative("ASGD", weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def new_state(self, param, group):
        return {
            "step": zeros(()),
            "eta": full((), 1.0) * group["lr"],
            "mu": ones(()),
            "ax": zeros_like(param),
        }

    def update(self, param, grad, state, group):
        lr, lambd, average = group["lr"], group["lambd"], state["ax"]
        step, eta = counted(state), state["eta"]
        eta = eta if eta.requires_grad else eta.item()
        grad = decayed(grad, param, group["weight_decay"])
        param.mul_(1 - lambd * eta)
        add_scaled(param, grad, -eta)
        if state["mu"].item() != 1:
            average.add_((param - average) * state["mu"])
        else:
            average.copy_(param)
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))


__getattr__ = _missing.refusing(__name__)
