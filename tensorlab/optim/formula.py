"""Optimizers whose step is written as in a textbook: tensor operations on one parameter after the other.

SGD and Adam have fused steps (ops/optim_steps.pyx). The others are used less, and here one reads their formulas; with
`differentiable=True` the same operations are recorded.
"""

from ..ops.creation import zeros, zeros_like
from .optimizer import Optimizer

__all__ = ["FormulaOptimizer"]


class FormulaOptimizer(Optimizer):
    """Base of these: a subclass says how a parameter's state starts, and how one step changes both.

    `new_state(param, group)` returns a dict, `update(param, grad, state, group)` writes into the parameter and the
    state; `grad` is negated already if the group says `maximize`.
    """

    _scalars: tuple = ("step",)

    def update_group(self, group):
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state = self.state[param]
            if not state:
                state.update(self.new_state(param, group))
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


def decayed(grad, param, weight_decay):
    """Return the gradient of the loss plus weight_decay / 2 times the parameter's square."""
    return grad.add(param, alpha=weight_decay) if weight_decay != 0 else grad


def zeros_of(param, *names):
    """Return a state with the number of steps and zeros of the parameter's shape under these names."""
    return {"step": zeros(()), **{name: zeros_like(param) for name in names}}
