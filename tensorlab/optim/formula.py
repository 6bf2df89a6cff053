"""Optimizers whose step is written as in a textbook: tensor operations on one parameter after the other.

SGD and Adam have fused steps (ops/optim_steps.pyx). The others are used less, and here one reads their formulas; with
`differentiable=True` the same operations are recorded. Then an option that is a tensor with a gradient, such as the
rate, stays one (`traced`), and the state is copied before each step, for backward needs what earlier steps have read.
"""

import math

from .._core.state.modes import is_grad_enabled
from .._tensor import Tensor
from ..ops.creation import zeros, zeros_like
from .optimizer import Optimizer

__all__ = ["FormulaOptimizer"]


class FormulaOptimizer(Optimizer):
    """Base of these: a subclass says how a parameter's state starts, and how one step changes both.

    `new_state(param, group)` returns a dict, `update(param, grad, state, group)` writes into the parameter and the
    state; `grad` is negated already if the group says `maximize`, and the group's options are numbers (`traced`).
    """

    _scalars: tuple = ("step",)

    def update_group(self, group):
        group = with_numbers(group)
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self.state[param]
            if not state:
                state.update(self.new_state(param, group))
            if group.get("differentiable"):
                keep_what_was_read(state)
            self.update(param, -grad if group.get("maximize") else grad, state, group)

    def new_state(self, param, group):
        """Return the state of a parameter before its first step."""
        return {"step": zeros(())}

    def update(self, param, grad, state, group):
        """Change a parameter and its state by one step; every subclass defines its own."""
        raise NotImplementedError(f"{type(self).__name__}: has no update; define it")


def counted(state):
    """Add one to the number of steps; return it as a Python number."""
    state["step"] += 1
    return state["step"].item()


def keep_what_was_read(state):
    """Put copies into a state, so that the next step does not change what the ones before have recorded."""
    for name, value in state.items():
        if isinstance(value, Tensor):
            state[name] = value.clone()


# ------------------------------------------------------------ options that may be tensors with a gradient
def traced(option):
    """Return an option as a number; one that a recorded step is to be differentiated by as the tensor that it is."""
    if isinstance(option, Tensor):
        return option if option.requires_grad and is_grad_enabled() else option.item()
    return option


def with_numbers(group):
    """Return a group whose options are numbers; or tensors, where the step is to be differentiated by them."""
    found = {**group, "lr": traced(group["lr"])}
    if "weight_decay" in group:
        found["weight_decay"] = traced(group["weight_decay"])
    if "betas" in group:
        found["betas"] = tuple(map(traced, group["betas"]))
    return found


def add_scaled(x, y, scale):
    """Add scale * y in place, whether the scale is a number or a tensor."""
    return x.add_(y * scale) if isinstance(scale, Tensor) else x.add_(y, alpha=scale)


def add_quotient(x, y, divisor, scale):
    """Add scale * y / divisor in place."""
    if isinstance(scale, Tensor):
        return x.addcdiv_(y * scale, divisor)
    return x.addcdiv_(y, divisor, value=scale)


def add_square(x, y, scale):
    """Add scale * y * y in place."""
    return x.add_(y * y * scale) if isinstance(scale, Tensor) else x.addcmul_(y, y, value=scale)


def root(x):
    """Return the square root of a number or of a tensor."""
    return x.sqrt() if isinstance(x, Tensor) else math.sqrt(x)


def decayed(grad, param, weight_decay):
    """Return the gradient of the loss plus weight_decay / 2 times the parameter's square."""
    if isinstance(weight_decay, Tensor):
        return grad + param.clone() * weight_decay  # the step changes the parameter itself
    return grad.add(param, alpha=weight_decay) if weight_decay != 0 else grad


def zeros_of(param, *names):
    """Return a state with the number of steps and zeros of the parameter's shape under these names."""
    return {"step": zeros(()), **{name: zeros_like(param) for name in names}}
