"""Rprop: only the sign of the gradient counts, and each element has a step of its own."""

from tensorlab import _missing

from ..ops.creation import ones_like
from .formula import FormulaOptimizer, counted, zeros_of
from .optimizer import check_rate

__all__ = ["Rprop"]


class Rprop(FormulaOptimizer):
    """Walk on with larger steps while the gradient keeps its sign, with smaller ones when it turns.

    One step on an element p with gradient g (negated if `maximize`), step d, and h the gradient before:

        d = d * 1.2 if g h > 0,   d * 0.5 if g h < 0      (`etas`, within `step_sizes`)
        g = 0 if g h < 0
        p = p - sign(g) * d

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element, the first step
    etas : pair of float, below and above 1
    step_sizes : pair of float, the smallest and the largest step
    foreach, capturable : accepted for PyTorch's sake; steps are taken one parameter at a time
    maximize : bool, whether to climb
    differentiable : bool, whether autograd records the step

    Raises
    ------
    ValueError
        If `lr` is negative, or the etas are not on both sides of 1.

    Notes
    -----
    state[p] has "step", "prev" (h) and "step_size" (d). For whole data sets, not for small batches.
    Source: Riedmiller and Braun 1993, "A Direct Adaptive Method for Faster Backpropagation Learning".

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = Rprop([x], lr=0.1)
    >>> for gradient in (5.0, 0.01, 7.0):  # only signs count, and steps grow while they stay
    ...     x.grad = tensorlab.full((2,), gradient)
    ...     optimizer.step()
    ...     print(x.tolist())
    [2.9000000953674316, -2.0999999046325684]
    [2.7800002098083496, -2.2199997901916504]
    [2.636000156402588, -2.363999843597412]
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_rate("Rprop", lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(
                f"Rprop: Invalid eta values: {etas[0]}, {etas[1]}; expected one from 0 to 1 and one above 1"
            )
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def new_state(self, param, group):
        first = ones_like(param).detach() * group["lr"]
        return {**zeros_of(param, "prev"), "step_size": first}

    def update(self, param, grad, state, group):
        (shrink, grow), before, size = group["etas"], state["prev"], state["step_size"]
        counted(state)
        agreement = (grad * before).sign()
        has_turned = agreement < 0
        factor = ones_like(size).masked_fill(agreement > 0, grow).masked_fill(has_turned, shrink)
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(has_turned, 0)
        param.addcmul_(grad.sign(), size, value=-1)
        before.copy_(grad)


__getattr__ = _missing.refusing(__name__)
