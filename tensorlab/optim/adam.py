"""Adam and AdamW: steps scaled for each element by the size of its past gradients."""

from ..ops.creation import zeros, zeros_like
from ..ops.optim_steps import adam_step
from .optimizer import Optimizer, check_not_negative, refuse_differentiable

__all__ = ["Adam", "AdamW"]


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
    lr, eps, weight_decay : float
    betas : pair of float, from 0 to 1 without 1
    amsgrad, maximize, decoupled_weight_decay : bool
    foreach, capturable, fused : accepted for PyTorch's sake; the update is always one fused loop

    Raises
    ------
    ValueError
        If `lr`, `eps` or `weight_decay` is negative, or a beta is not in [0, 1).

    Notes
    -----
    state[p] has "step" (t, a 0-d tensor), "exp_avg" (m), "exp_avg_sq" (v), and with amsgrad
    "max_exp_avg_sq".  Source: Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization",
    algorithm 1; amsgrad: Reddi et al. 2018, "On the Convergence of Adam and Beyond", algorithm 2.
    """

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
        check_not_negative(name, lr=lr, eps=eps, weight_decay=weight_decay)
        refuse_differentiable(name, differentiable)
        for i, beta in enumerate(betas):
            if not 0 <= beta < 1:
                raise ValueError(
                    f"{name}: Invalid beta parameter at index {i}: {beta}; expected 0 <= beta < 1"
                )
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
        lr, eps, weight_decay = group["lr"], group["eps"], group["weight_decay"]
        amsgrad, maximize = group["amsgrad"], group["maximize"]
        is_decoupled = group["decoupled_weight_decay"]
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
                if amsgrad:
                    state["max_exp_avg_sq"] = zeros_like(param)
            params.append(param)
            grads.append(grad)
            means.append(state["exp_avg"])
            squares.append(state["exp_avg_sq"])
            if amsgrad:
                largest.append(state["max_exp_avg_sq"])
            steps.append(state["step"])
        if params:
            betas = tuple(group["betas"])
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


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself instead of entering the gradient.

    Parameters are Adam's, but `weight_decay` starts at 0.01.
    Source: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
