"""Adadelta: steps in the units of the parameter, without a rate to choose."""

from tensorlab import _missing

from .formula import FormulaOptimizer, add_scaled, counted, decayed, zeros_of
from .optimizer import check_not_negative, check_rate

__all__ = ["Adadelta"]


class Adadelta(FormulaOptimizer):
    """Scale the gradient by the size of past steps over that of past gradients.

    One step on parameter p with gradient g (negated if `maximize`):

        g = g + weight_decay * p
        v = rho * v + (1 - rho) * g * g
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d * d
        p = p - lr * d

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    rho : float from 0 to 1, how long averages last
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
    state[p] has "step", "square_avg" (v) and "acc_delta" (u).
    Source: Zeiler 2012, "ADADELTA: An Adaptive Learning Rate Method", algorithm 1.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = Adadelta([x], lr=1.0, rho=0.9)
    >>> for _ in range(20):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 2.9307, -1.9310], requires_grad=True)
    """

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_rate("Adadelta", lr)
        if not 0 <= rho <= 1:
            raise ValueError(f"Adadelta: Invalid rho value: {rho}; expected 0 <= rho <= 1")
        check_not_negative("Adadelta", eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def new_state(self, param, group):
        return zeros_of(param, "square_avg", "acc_delta")

    def update(self, param, grad, state, group):
        rho, eps = group["rho"], group["eps"]
        squares, steps = state["square_avg"], state["acc_delta"]
        counted(state)
        grad = decayed(grad, param, group["weight_decay"])
        squares.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        step = steps.add(eps).sqrt() / squares.add(eps).sqrt() * grad
        steps.mul_(rho).addcmul_(step, step, value=1 - rho)
        add_scaled(param, step, -group["lr"])


__getattr__ = _missing.refusing(__name__)
