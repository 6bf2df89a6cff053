"""Adam: steps scaled for each element by the size of its past gradients."""

from tensorlab import _missing

from .._tensor import Tensor
from ..ops.creation import zeros, zeros_like
from ..ops.optim_steps import adam_step, is_half
from ..ops.pointwise.bounds import maximum
from .formula import add_quotient, add_square, counted, decayed, keep_what_was_read, traced
from .optimizer import Optimizer, check_betas, check_not_negative, check_rate, number

__all__ = ["Adam"]


class Adam(Optimizer):
    """Go against the running mean of the gradient, divided by the root of its running square.

    Step t on parameter p with gradient g (negated if `maximize`), b1 and b2 the two betas:

        g = g + weight_decay * p        or, if decoupled:   p = p - lr * weight_decay * p
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g                       (amsgrad: the largest v so far)
        p = p - lr * (m / (1 - b1**t)) / (sqrt(v / (1 - b2**t)) + eps)

    The two divisors by t undo that m and v start at 0.

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    eps, weight_decay : float
    betas : pair of float, from 0 to 1 without 1
    amsgrad, maximize, decoupled_weight_decay : bool
    foreach, capturable, fused : accepted for PyTorch's sake; the update is always one fused loop
    differentiable : bool, whether autograd records the step, which is then made of tensor operations

    Raises
    ------
    ValueError
        If `lr`, `eps` or `weight_decay` is negative, or a beta is not in [0, 1).

    Notes
    -----
    state[p] has "step" (t, a 0-d tensor), "exp_avg" (m), "exp_avg_sq" (v), and with amsgrad
    "max_exp_avg_sq".  Source: Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization",
    algorithm 1; amsgrad: Reddi et al. 2018, "On the Convergence of Adam and Beyond", algorithm 2.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = Adam([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 2.7004, -1.7006], requires_grad=True)
    """

    _scalars = ("step",)

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        name = type(self).__name__
        check_rate(name, lr)
        check_not_negative(name, eps=eps, weight_decay=weight_decay)
        check_betas(name, betas)
        check_tensors(name, lr, betas, foreach and not capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def update_group(self, group):
        lr, eps, weight_decay = number(group["lr"]), group["eps"], group["weight_decay"]
        amsgrad, maximize = group["amsgrad"], group["maximize"]
        is_decoupled, is_differentiable = group["decoupled_weight_decay"], group["differentiable"]
        params, grads, means, squares, largest, steps = [], [], [], [], [], []
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self.state[param]
            if not state:
                state["step"] = zeros(())
                state["exp_avg"] = zeros_like(param)
                state["exp_avg_sq"] = zeros_like(param)
            if amsgrad and "max_exp_avg_sq" not in state:
                state["max_exp_avg_sq"] = zeros_like(param)
            if is_differentiable or is_half(param):
                update_by_formula(param, state, group)
                continue
            params.append(param)
            grads.append(grad)
            means.append(state["exp_avg"])
            squares.append(state["exp_avg_sq"])
            if amsgrad:
                largest.append(state["max_exp_avg_sq"])
            steps.append(state["step"])
        if params:
            betas = tuple(number(beta) for beta in group["betas"])
            adam_step(
                params,
                grads,
                means,
                squares,
                largest,
                steps,
                lr,
                betas,
                eps,
                weight_decay,
                is_decoupled,
                maximize,
            )


def check_tensors(optimizer, lr, betas, is_foreach):
    """Raise ValueError unless the options that are tensors are so together, and not with foreach as in PyTorch."""
    are_tensors = [isinstance(beta, Tensor) for beta in betas]
    if any(are_tensors) != all(are_tensors):
        raise ValueError(f"{optimizer}: betas must be either both floats or both Tensors")
    for name, value in (("lr", lr), *((f"betas[{i}]", beta) for i, beta in enumerate(betas))):
        if isinstance(value, Tensor) and is_foreach:
            raise ValueError(
                f"{optimizer}: {name} as a Tensor is not supported for capturable=False and foreach=True"
            )


def update_by_formula(param, state, group):
    """Take the step in tensor operations, which autograd records."""
    if group["differentiable"]:
        keep_what_was_read(state)
    beta1, beta2 = (traced(beta) for beta in group["betas"])
    lr, decay = traced(group["lr"]), traced(group["weight_decay"])
    grad = -param.grad if group["maximize"] else param.grad
    step = counted(state)
    if group["decoupled_weight_decay"]:
        param.mul_(1 - lr * decay)
    else:
        grad = decayed(grad, param, decay)
    mean = state["exp_avg"].lerp_(grad, 1 - beta1)
    square = add_square(state["exp_avg_sq"].mul_(beta2), grad, 1 - beta2)
    if group["amsgrad"]:
        square = state["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], square)
    size = square.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
    add_quotient(param, mean, size, -lr / (1 - beta1**step))


__getattr__ = _missing.refusing(__name__)
