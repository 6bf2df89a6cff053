"""Adagrad: each element has a rate that shrinks with the sum of its squared gradients."""

from tensorlab import _missing

from ..ops.creation import full_like, zeros
from .formula import FormulaOptimizer, add_quotient, counted, decayed
from .optimizer import check_not_negative, check_rate

__all__ = ["Adagrad"]


class Adagrad(FormulaOptimizer):
    """Divide the gradient by the root of the sum of all its squares so far.

    Step t on parameter p with gradient g (negated if `maximize`):

        g = g + weight_decay * p
        s = s + g * g
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    lr_decay, weight_decay, eps : float
    initial_accumulator_value : float, where the sum starts
    foreach, fused : accepted for PyTorch's sake; steps are taken one parameter at a time
    maximize : bool, whether to climb
    differentiable : bool, whether autograd records the step

    Raises
    ------
    ValueError
        If an option is negative.
    RuntimeError
        If `fused` is given together with `differentiable` or `foreach`.

    Notes
    -----
    state[p] has "step" and "sum" (s), from the start. Source: Duchi, Hazan and Singer 2011, "Adaptive
    Subgradient Methods for Online Learning and Stochastic Optimization", figure 1.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = Adagrad([x], lr=0.5)
    >>> for _ in range(3):  # equal gradients, ever smaller steps
    ...     x.grad = tensorlab.ones(2)
    ...     optimizer.step()
    ...     print(x.tolist())
    [2.5, -2.5]
    [2.146446704864502, -2.853553295135498]
    [1.857771635055542, -3.142228364944458]
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_rate("Adagrad", lr)
        check_not_negative(
            "Adagrad",
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        if fused and differentiable:
            raise RuntimeError("Adagrad: `fused` does not support `differentiable`; leave one out")
        if fused and foreach:
            raise RuntimeError(
                "Adagrad: `fused` and `foreach` cannot be `True` together; leave one out"
            )
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self.new_state(param, group))

    def new_state(self, param, group):
        start = self.defaults["initial_accumulator_value"]
        return {
            "step": zeros(()),
            "sum": full_like(
                param, complex(start, start) if param.is_complex() else start
            ).detach(),
        }

    def share_memory(self):
        """Put the sums into memory that other processes see, too."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    _takes_sparse_gradients = True

    def update(self, param, grad, state, group):
        if grad.is_sparse:
            update_rows(param, grad.coalesce(), state, group)
            return
        step = counted(state)
        grad = decayed(grad, param, group["weight_decay"])
        rate = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        state["sum"].addcmul_(grad, grad)
        add_quotient(param, grad, state["sum"].sqrt() + group["eps"], -rate)


def update_rows(param, grad, state, group):
    """Take the step in the rows that a sparse gradient holds; the others stay as they are."""
    if group["weight_decay"] != 0:
        raise RuntimeError(
            "Adagrad: weight_decay option is not compatible with sparse gradients; leave it out, or "
            "give sparse=False"
        )
    rate = group["lr"] / (1 + (counted(state) - 1) * group["lr_decay"])
    places, values = tuple(grad._indices()), grad._values()
    total = state["sum"][places] + values * values
    state["sum"][places] = total
    param[places] -= rate * (values / (total.sqrt() + group["eps"]))


__getattr__ = _missing.refusing(__name__)
