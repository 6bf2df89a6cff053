"""RMSprop: steps divided by the root of a running mean of the squared gradient."""

from tensorlab import _missing

from ..ops.creation import zeros, zeros_like
from .formula import add_quotient, add_scaled, decayed, keep_what_was_read, traced
from .optimizer import Optimizer, check_not_negative, check_rate

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """Go against the gradient, each element divided by the size that it has had lately.

    A step on parameter p with gradient g (negated if `maximize`):

        g = g + weight_decay * p
        v = alpha * v + (1 - alpha) * g * g
        d = g / (sqrt(v) + eps)                     (centered: sqrt(v - m * m), m the running mean of g)
        p = p - lr * d                              (momentum: u = momentum * u + d; p = p - lr * u)

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr, alpha, eps, weight_decay, momentum : float
    centered, maximize : bool
    capturable, foreach : accepted for PyTorch's sake

    Raises
    ------
    ValueError
        If a number is negative.

    Notes
    -----
    state[p] has "step", "square_avg" (v), and where they are used "grad_avg" (m) and
    "momentum_buffer" (u).  Source: Tieleman and Hinton 2012, "Lecture 6.5: RMSprop"; centered:
    Graves 2013, "Generating Sequences With Recurrent Neural Networks", equations 38 to 45.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = RMSprop([x], lr=0.1)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 1.0690, -0.3097], requires_grad=True)
    """

    _scalars = ("step",)

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_rate("RMSprop", lr)
        check_not_negative(
            "RMSprop", alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def update_group(self, group):
        alpha, momentum = group["alpha"], group["momentum"]
        rate, decay = traced(group["lr"]), traced(group["weight_decay"])
        for param in group["params"]:
            if param.grad is None:
                continue
            grad = -param.grad if group["maximize"] else param.grad
            state = self.state[param]
            if not state:
                state["step"] = zeros(())
                state["square_avg"] = zeros_like(param)
            if momentum > 0 and "momentum_buffer" not in state:
                state["momentum_buffer"] = zeros_like(param)
            if group["centered"] and "grad_avg" not in state:
                state["grad_avg"] = zeros_like(param)
            if group["differentiable"]:
                keep_what_was_read(state)
            state["step"] += 1
            grad = decayed(grad, param, decay)
            square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
            if group["centered"]:
                mean = state["grad_avg"].lerp_(grad, 1 - alpha)
                size = square.addcmul(mean, mean, value=-1).sqrt() + group["eps"]
            else:
                size = square.sqrt() + group["eps"]
            if momentum > 0:
                velocity = state["momentum_buffer"].mul_(momentum).addcdiv_(grad, size)
                add_scaled(param, velocity, -rate)
            else:
                add_quotient(param, grad, size, -rate)


__getattr__ = _missing.refusing(__name__)
