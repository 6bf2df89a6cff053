"""Adafactor: the squares of a matrix's gradient are kept as a row and a column."""

from .._core.dtypes import finfo
from ..ops.creation import zeros, zeros_like
from .formula import FormulaOptimizer, counted
from .optimizer import check_rate

__all__ = ["Adafactor"]


class Adafactor(FormulaOptimizer):
    """Adam's scaling with memory for a row and a column in the place of a whole matrix, and no momentum.

    Step t on matrix p with gradient g (negated if `maximize`), w = t**beta2_decay:

        a = max(eps2, size of p) * min(lr, 1 / sqrt(t)),   p = p - lr * weight_decay * p
        row = row + w * (mean of g * g over columns - row),   column likewise
        v = row column / mean of row
        u = g / sqrt(v)
        p = p - a * u / max(1, size of u / d)

    where the size is the root of the mean square. For vectors v is the running mean itself.

    Parameters
    ----------
    params : iterable of Tensors or of dicts, see Optimizer
    lr : float, or Tensor of one element
    beta2_decay : float, 0 or less
    eps : pair (float or None, float); the first is the dtype's epsilon unless given
    d : float, 1 or more; larger updates are scaled down
    weight_decay : float
    foreach : accepted for PyTorch's sake; steps are taken one parameter at a time
    maximize : bool, whether to climb

    Raises
    ------
    ValueError
        If an option is out of its range.

    Notes
    -----
    state[p] has "step" and "row_var", "col_var", or for vectors "variance". Source: Shazeer and Stern 2018, "Adafactor:
    Adaptive Learning Rates with Sublinear Memory Cost", algorithm 4.

    Examples
    --------
    >>> import tensorlab
    >>> weight = tensorlab.zeros(4, 6, requires_grad=True)
    >>> optimizer = Adafactor([weight])
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> [key for key in optimizer.state[weight]]  # one number for each row and column, not for each element
    ['step', 'row_var', 'col_var']
    """

    _takes_complex_parameters = False

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        check_rate("Adafactor", lr)
        limits = {
            "beta2_decay should be <= 0": (beta2_decay, beta2_decay <= 0),
            "epsilon1 should be >= 0": (eps[0], eps[0] is None or eps[0] >= 0),
            "epsilon2 should be >= 0": (eps[1], eps[1] >= 0),
            "clipping threshold d should be >= 1": (d, d >= 1),
            "weight_decay should be >= 0": (weight_decay, weight_decay >= 0),
        }
        for rule, (value, holds) in limits.items():
            if not holds:
                raise ValueError(f"Adafactor: {rule}, but it is {value}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def new_state(self, param, group):
        grad = param.grad
        if grad.dim() < 2:
            return {"step": zeros(()), "variance": zeros_like(grad)}
        *others, rows, columns = grad.shape
        return {
            "step": zeros(()),
            "row_var": grad.new_zeros((*others, rows, 1)),
            "col_var": grad.new_zeros((*others, 1, columns)),
        }

    def update(self, param, grad, state, group):
        lr, (eps1, eps2) = group["lr"], group["eps"]
        eps1 = finfo(param.dtype).eps if eps1 is None else eps1
        step = counted(state)
        new_part = step ** group["beta2_decay"]
        rate = max(eps2, root_mean_square(param)) * min(lr, step**-0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        if grad.dim() < 2:
            variance = state["variance"].lerp_(grad * grad, new_part).clone()
        else:
            row, column = state["row_var"], state["col_var"]
            row.lerp_(grad.norm(dim=-1, keepdim=True).square() / grad.size(-1), new_part)
            column.lerp_(grad.norm(dim=-2, keepdim=True).square() / grad.size(-2), new_part)
            variance = (row @ column) / row.mean(-2, keepdim=True).clamp(min=eps1)
        update = variance.clamp_(min=eps1 * eps1).rsqrt_() * grad
        param.add_(update, alpha=-rate / max(1.0, root_mean_square(update) / group["d"]))


def root_mean_square(x):
    return x.norm(2).item() / x.numel() ** 0.5
