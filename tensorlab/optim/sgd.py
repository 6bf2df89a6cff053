"""Stochastic gradient descent, with momentum."""

from tensorlab import _missing

from .._core.dispatch.layers import takes_part
from ..ops.creation import empty_like
from ..ops.optim_steps import is_half, sgd_step
from .formula import add_scaled, decayed, keep_what_was_read, traced
from .optimizer import Optimizer, check_not_negative, check_rate, number

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
    lr : float, or Tensor of one element
    momentum, dampening, weight_decay : float
    nesterov, maximize : bool
    foreach, fused : accepted for PyTorch's sake; the update is always one fused loop a parameter
    differentiable : bool, whether autograd records the step, which is then made of tensor operations

    Raises
    ------
    ValueError
        If `lr`, `momentum` or `weight_decay` is negative, or `nesterov` is asked for without
        momentum or with dampening.

    Notes
    -----
    state[p]["momentum_buffer"] is v.  Source: Sutskever et al. 2013, "On the importance of
    initialization and momentum in deep learning", section 2; with lr outside of v, as in PyTorch.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = SGD([x], lr=0.1, momentum=0.9)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (x * x).sum().backward()
    ...     optimizer.step()
    >>> x
    tensor([ 0.1860, -0.1240], requires_grad=True)
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
        check_rate("SGD", lr)
        check_not_negative("SGD", momentum=momentum, weight_decay=weight_decay)
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

    _takes_sparse_gradients = True

    def _check_layouts(self, group):
        if group["weight_decay"] != 0 and any(map(has_sparse_gradient, group["params"])):
            raise RuntimeError(
                "SGD: weight_decay option is not compatible with sparse gradients; leave it out, or "
                "give sparse=False"
            )

    def update_group(self, group):
        if takes_part():
            group = self._update_sparse(group)
        params, is_differentiable = [], group["differentiable"]
        for param in group["params"]:
            if param.grad is None:
                continue
            if is_differentiable or is_half(param):
                update_by_formula(param, self.state[param], group)
            else:
                params.append(param)
        if group["momentum"] == 0:
            take_step(group, params, [], False)
            return
        state = self.state
        later = [param for param in params if state[param].get("momentum_buffer") is not None]
        first = [param for param in params if state[param].get("momentum_buffer") is None]
        velocities = [state[param]["momentum_buffer"] for param in later]
        if any(v.dtype is not p.dtype for v, p in zip(velocities, later, strict=True)):
            velocities = [v.to(p.dtype) for v, p in zip(velocities, later, strict=True)]
            for param, velocity in zip(later, velocities, strict=True):
                state[param]["momentum_buffer"] = velocity  # of a model that was converted since
        take_step(group, later, velocities, False)
        velocities = [empty_like(param) for param in first]
        take_step(group, first, velocities, True)
        for param, velocity in zip(first, velocities, strict=True):
            state[param]["momentum_buffer"] = velocity

    def _update_sparse(self, group):
        """Take the step for the parameters with sparse gradients; return the group without them."""
        found = [param for param in group["params"] if has_sparse_gradient(param)]
        if not found:
            return group
        for param in found:
            update_by_formula(param, self.state[param], group)
        others = [param for param in group["params"] if not has_sparse_gradient(param)]
        return {**group, "params": others}


def has_sparse_gradient(param):
    """Whether a parameter has a gradient that holds only some elements."""
    return param.grad is not None and (param.grad.is_sparse or param.grad.is_sparse_csr)


def update_by_formula(param, state, group):
    """Take the step in tensor operations, which autograd records."""
    momentum = group["momentum"]
    if group["differentiable"]:
        keep_what_was_read(state)
    grad = decayed(
        -param.grad if group["maximize"] else param.grad, param, traced(group["weight_decay"])
    )
    if momentum != 0:
        velocity = state.get("momentum_buffer")
        if velocity is None:
            velocity = grad.clone()
        else:
            velocity.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        state["momentum_buffer"] = velocity
        grad = grad.add(velocity, alpha=momentum) if group["nesterov"] else velocity
    add_scaled(param, grad, -traced(group["lr"]))


def take_step(group, params, velocities, is_first):
    """Change parameters of a group and their velocities; with `is_first` these are only written."""
    if params:
        sgd_step(
            params,
            [param.grad for param in params],
            velocities,
            number(group["lr"]),
            group["momentum"],
            group["dampening"],
            group["weight_decay"],
            group["nesterov"],
            group["maximize"],
            is_first,
        )


__getattr__ = _missing.refusing(__name__)
