"""L-BFGS: Newton's method with a Hessian that is guessed from the last gradients.

All parameters are one vector here. A step evaluates the closure several times.
"""

from ..autograd import enable_grad, no_grad
from ..ops.creation import zeros_like
from ..ops.joining import cat
from .complex_parameters import as_real
from .line_search import strong_wolfe
from .optimizer import Optimizer, check_rate, number

__all__ = ["LBFGS"]

CURVATURE = 1e-10  # a pair of steps and gradients with less of it is not remembered


class LBFGS(Optimizer):
    """Go along minus the inverse Hessian times the gradient, both guessed from the last steps.

    Iteration k on the vector p of all parameters with gradient g:

        s = d * t (the last step),  y = g - previous g;  remembered if y s > 0
        d = -H g    by the two-loop recursion over the pairs remembered, H starting as (y s / y y) I
        p = p + t * d   with t = lr, or what the line search finds; in the first iteration min(1, 1 / |g|_1) * lr

    Parameters
    ----------
    params : iterable of Tensors; one group only
    lr : float, or Tensor of one element
    max_iter : int, iterations in one step
    max_eval : int, evaluations of the closure in one step; 1.25 * max_iter unless given
    tolerance_grad : float, the largest gradient at which it stops
    tolerance_change : float, the change of the loss or of a parameter below which it stops
    history_size : int, pairs that are remembered
    line_search_fn : "strong_wolfe" or None

    Raises
    ------
    ValueError
        If `lr` is negative, or there are several groups.
    RuntimeError
        In `step`, if `line_search_fn` is another.

    Notes
    -----
    state[first parameter] has "func_evals", "n_iter", "d", "t", "old_dirs" (y), "old_stps" (s), "ro" (1 / y s),
    "H_diag", "al", "prev_flat_grad" and "prev_loss".
    Source: Nocedal and Wright 2006, "Numerical Optimization", algorithm 7.4.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = LBFGS([x], lr=1, line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - tensorlab.tensor([1.0, 2.0])) ** 4).sum()
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(5):
    ...     loss = optimizer.step(closure)
    >>> tensorlab.allclose(x, tensorlab.tensor([1.0, 2.0]), atol=0.05)
    True
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        check_rate("LBFGS", lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups); give one list of parameters"
            )

    # ------------------------------------------------------------ all parameters as one vector
    @property
    def _params(self):
        return self.param_groups[0]["params"]

    def _flat_grad(self):
        grads = [zeros_like(param) if param.grad is None else param.grad for param in self._params]
        return cat([as_real(grad).reshape(-1) for grad in grads])

    def _move(self, t, direction):
        start = 0
        for param in map(as_real, self._params):
            part = direction[start : start + param.numel()]
            param.add_(part.view_as(param), alpha=t)
            start += param.numel()

    def _look(self, closure, places, t, direction):
        """Return the loss and the gradient at a distance t, and come back."""
        self._move(t, direction)
        loss = float(number(closure()))
        grad = self._flat_grad()
        for param, values in zip(self._params, places, strict=True):
            param.copy_(values)
        return loss, grad

    # ------------------------------------------------------------ one step
    @no_grad()
    def step(self, closure):
        """Take up to `max_iter` iterations.

        Parameters
        ----------
        closure : callable that clears the gradients, computes the loss and calls backward, and
            returns the loss

        Returns
        -------
        the loss at the start
        """
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        closure = enable_grad()(closure)
        first_loss = closure()
        loss, evaluations = float(number(first_loss)), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = grad.clone()
            else:
                state["prev_flat_grad"].copy_(grad)
            state["prev_loss"] = loss
            t = number(group["lr"])
            if state["n_iter"] == 1:
                total = grad.abs().sum().item()
                t = t * (1.0 / total if total > 1.0 else 1.0)
            state["d"], state["t"] = direction, t
            slope = grad.dot(direction).item()
            if slope > -group["tolerance_change"]:
                break
            is_last = iteration == group["max_iter"]
            before = loss
            t, loss, grad, used = self._walk(
                closure, t, direction, loss, grad, slope, group, evaluations, is_last
            )
            state["t"] = t
            evaluations += used
            state["func_evals"] += used
            if (
                is_last
                or evaluations >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or (direction * t).abs().max() <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _walk(self, closure, t, direction, loss, grad, slope, group, evaluations, is_last):
        """Move along a direction; return how far, the loss and the gradient there, and evaluations used."""
        if group["line_search_fn"] is None:
            self._move(t, direction)
            if is_last:
                return t, loss, grad, 0
            loss = float(number(closure()))
            return t, loss, self._flat_grad(), 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError(
                f"LBFGS: line_search_fn is {group['line_search_fn']!r}; only 'strong_wolfe' is supported"
            )
        places = [param.clone() for param in self._params]
        loss, grad, t, used = strong_wolfe(
            lambda t: self._look(closure, places, t, direction),
            t,
            direction,
            loss,
            grad,
            slope,
            most=group["max_eval"] - evaluations,
        )
        self._move(t, direction)
        return t, loss, grad, used

    @staticmethod
    def _direction(state, grad, history_size):
        """Return minus the guessed inverse Hessian times the gradient."""
        if state["n_iter"] == 1:
            state["old_dirs"], state["old_stps"], state["ro"], state["H_diag"] = [], [], [], 1
            return -grad
        y, s = grad - state["prev_flat_grad"], state["d"] * state["t"]
        history = state["old_dirs"], state["old_stps"], state["ro"]
        curvature = y.dot(s)
        if curvature > CURVATURE:
            if len(history[0]) == history_size:
                for kept in history:
                    kept.pop(0)
            for kept, new in zip(history, (y, s, 1.0 / curvature), strict=True):
                kept.append(new)
            state["H_diag"] = curvature / y.dot(y)
        weights = state.setdefault("al", [None] * history_size)
        q, pairs = -grad, list(zip(*history, strict=True))
        for i, (y, s, ro) in reversed(list(enumerate(pairs))):
            weights[i] = s.dot(q) * ro
            q = q - y * weights[i]
        r = q * state["H_diag"]
        for weight, (y, s, ro) in zip(weights, pairs, strict=False):
            r = r + s * (weight - y.dot(r) * ro)
        return r
