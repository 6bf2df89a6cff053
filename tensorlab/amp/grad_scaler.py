"""`GradScaler`: scale the loss, so that small gradients survive in float16, and scale the gradients back.

The factor is a power of two if you leave it alone: scaling changes exponents, and no bit of a
mantissa. It grows after so many steps without an infinite gradient, and shrinks after each step
with one, which is left out.

Source: Micikevicius et al. 2018, "Mixed Precision Training", section 3.2; the rule of growth is
that of PyTorch.
"""

import math
from collections.abc import Iterable

from tensorlab import _missing
from tensorlab._core.dtypes import BY_NAME
from tensorlab._tensor import Tensor
from tensorlab.amp.device_types import check_device_type, is_there
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.ops.creation import full

__all__ = ["GradScaler"]

float16, float32, int32 = BY_NAME["float16"], BY_NAME["float32"], BY_NAME["int32"]
UNSCALED, STEPPED = "unscaled", "stepped"


class GradScaler:
    """Scale the loss and unscale the gradients; leave out steps whose gradients are infinite or nan.

    Parameters
    ----------
    device : str or device; switched off with a warning if there is no such device
    init_scale : float, the first factor
    growth_factor : float above 1, what the factor is multiplied by after `growth_interval`
        steps without an infinite gradient
    backoff_factor : float below 1, what it is multiplied by after a step with one
    growth_interval : int
    enabled : bool; with False, `scale` returns what it is given, `step` steps, and everything
        else does nothing

    Raises
    ------
    AssertionError
        If growth_factor isn't above 1, or backoff_factor not below 1.

    Examples
    --------
    >>> import tensorlab
    >>> w = tensorlab.nn.Parameter(tensorlab.tensor(1.0))
    >>> optimizer = tensorlab.optim.SGD([w], lr=0.5)
    >>> scaler = GradScaler("cpu", init_scale=1024.0)
    >>> scaler.scale(w * 2).backward()
    >>> w.grad
    tensor(2048.)
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.grad, w.item()
    (tensor(2.), 0.0)
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        device = getattr(device, "type", device)  # a device as well as its type
        check_device_type(device, "GradScaler")
        self._device = device
        self._enabled = bool(enabled) and is_there(device, "GradScaler")
        if self._enabled and growth_factor <= 1.0:
            raise AssertionError(
                f"GradScaler: growth_factor is {growth_factor}; give a number above 1"
            )
        if self._enabled and backoff_factor >= 1.0:
            raise AssertionError(
                f"GradScaler: backoff_factor is {backoff_factor}; give a number below 1"
            )
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._scale = self._growth_tracker = None  # tensors, made when the first loss is scaled
        self._stages = {}  # id of an optimizer: UNSCALED or STEPPED, since the last update
        self._found = {}  # id of an optimizer: 0-d tensor, 1 if one of its gradients was not finite

    # -------------------------------------------------------------------------- a step
    def scale(self, outputs):
        """Multiply by the factor.

        Parameters
        ----------
        outputs : Tensor, or tensors in a list, a tuple or another iterable, nested as well

        Returns
        -------
        the same, scaled; of an iterable that is neither list nor tuple an iterator
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = full((), self._init_scale, dtype=float32)
                self._growth_tracker = full((), self._init_growth_tracker, dtype=int32)
            return outputs * self._scale
        if isinstance(outputs, Iterable) and not isinstance(outputs, (str, bytes)):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError(
            f"GradScaler.scale: outputs is a {type(outputs).__name__}; give a Tensor or an iterable of Tensors"
        )

    def unscale_(self, optimizer):
        """Divide the gradients of an optimizer's parameters by the factor, to clip or to look at them before the step.

        Raises
        ------
        RuntimeError
            If this was done since the last `update`, or the step was.
        ValueError
            If a gradient is float16: then the parameters are, and small steps are lost in them.
        """
        if not self._enabled:
            return
        self._check_started("unscale_")
        stage = self._stages.get(id(optimizer))
        if stage == UNSCALED:
            raise RuntimeError(
                "GradScaler.unscale_: it has been called for this optimizer since the last update(); "
                "call update() once at the end of each iteration"
            )
        if stage == STEPPED:
            raise RuntimeError(
                "GradScaler.unscale_: step() has been called for this optimizer; unscale before the "
                "step, and call update() after it"
            )
        inverse = self._scale.double().reciprocal().float()
        self._found[id(optimizer)] = unscale(
            gradients_of(optimizer), inverse, "GradScaler.unscale_"
        )
        self._stages[id(optimizer)] = UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """Unscale the gradients, unless that was done, and let the optimizer step if all of them are finite.

        Parameters
        ----------
        optimizer : Optimizer
        args, kwargs : what `optimizer.step` takes, but no closure

        Returns
        -------
        what `optimizer.step` returns, or None if the step was left out

        Raises
        ------
        RuntimeError
            If there is a closure, or this optimizer has stepped since the last `update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "GradScaler.step: closure can't be used, as it would compute gradients that aren't "
                "unscaled; compute the loss before the step"
            )
        self._check_started("step")
        if self._stages.get(id(optimizer)) == STEPPED:
            raise RuntimeError(
                "GradScaler.step: this optimizer has stepped since the last update(); call update() "
                "once at the end of each iteration"
            )
        if self._stages.get(id(optimizer)) is None:
            self.unscale_(optimizer)
        found = self._found[id(optimizer)]
        if found is None:
            raise AssertionError(
                "GradScaler.step: no parameter of this optimizer has a gradient, so nothing was "
                "checked; was backward() called on the scaled loss?"
            )
        result = None if found.item() else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = STEPPED
        return result

    def update(self, new_scale=None):
        """Let the factor grow or shrink, or set it: once an iteration, after the steps of all optimizers.

        Parameters
        ----------
        new_scale : float, or Tensor with one element that doesn't require grad; None: by the
            rule
        """
        if not self._enabled:
            return
        self._check_started("update")
        if new_scale is None:
            self._follow_the_rule()
        elif isinstance(new_scale, float):
            self._scale.fill_(new_scale)
        elif (
            isinstance(new_scale, Tensor) and new_scale.numel() == 1 and not new_scale.requires_grad
        ):
            self._scale.copy_(new_scale.reshape(()))
        else:
            raise AssertionError(
                f"GradScaler.update: new_scale is {new_scale!r}; give a float, or a Tensor with one "
                "element that doesn't require grad"
            )
        self._stages, self._found = {}, {}

    def _follow_the_rule(self):
        found = [one for one in self._found.values() if one is not None]
        if not found:
            raise AssertionError(
                "GradScaler.update: no gradients were checked since the last update(); call "
                "step(optimizer) or unscale_(optimizer) before"
            )
        if any(one.item() for one in found):
            self._scale.mul_(self._backoff_factor)
            self._growth_tracker.fill_(0)
            return
        self._growth_tracker.add_(1)
        if self._growth_tracker.item() == self._growth_interval:
            grown = self._scale * self._growth_factor
            if math.isfinite(grown.item()):
                self._scale.copy_(grown)
            self._growth_tracker.fill_(0)

    def _check_started(self, method):
        if self._scale is None:
            raise AssertionError(
                f"GradScaler.{method}: nothing has been scaled yet; call scale(loss).backward() before"
            )

    # -------------------------------------------------------------------------- settings
    def is_enabled(self):
        """Tell whether it scales."""
        return self._enabled

    def get_scale(self):
        """Return the factor, a float; 1.0 if it doesn't scale."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self):
        """Return what the factor grows by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Set what the factor grows by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """Return what the factor is multiplied by after an infinite gradient."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Set what the factor is multiplied by after an infinite gradient."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """Return after how many steps in a row without an infinite gradient the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Set after how many steps in a row without an infinite gradient the factor grows."""
        self._growth_interval = new_interval

    # -------------------------------------------------------------------------- state
    def state_dict(self):
        """Return the factor, how it changes, and how many steps in a row were finite; {} if it doesn't scale.

        >>> GradScaler("cpu").state_dict()["scale"]
        65536.0
        """
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._steps_in_a_row(),
        }

    def _steps_in_a_row(self):
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return self._growth_tracker.item()

    def load_state_dict(self, state_dict):
        """Take up a state that `state_dict` has returned; nothing if it doesn't scale.

        Raises
        ------
        RuntimeError
            If the state is empty: then the scaler that it came from was switched off.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler.load_state_dict: the state is empty, as that of a scaler with enabled=False is"
            )
        wanted = self.state_dict()
        missing = sorted(wanted.keys() - state_dict.keys())
        if missing:
            raise KeyError(f"GradScaler.load_state_dict: the state has no {', '.join(missing)}")
        self._init_scale, self._init_growth_tracker = (
            state_dict["scale"],
            state_dict["_growth_tracker"],
        )
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]

    def __getstate__(self):
        if self._stages:
            raise AssertionError(
                "GradScaler: it can be pickled only between iterations, after update(), as it knows "
                "its optimizers by their address"
            )
        values = self._init_scale, self._init_growth_tracker
        if self._enabled:
            values = self.get_scale(), self._steps_in_a_row()
        return {
            **self.__dict__,
            "_init_scale": values[0],
            "_init_growth_tracker": values[1],
            "_scale": None,
            "_growth_tracker": None,
        }


# ------------------------------------------------------------------------------ gradients
def gradients_of(optimizer):
    """Return the dense tensors that hold the gradients of an optimizer's parameters; of sparse ones their values."""
    found = []
    for group in optimizer.param_groups:
        for param in group["params"]:
            if param.grad is None:
                continue
            if param.grad.is_sparse:
                param.grad = param.grad.coalesce()  # a sum may be infinite where no part of it is
            found.append(param.grad._values() if param.grad.is_sparse else param.grad)
    return found


@no_grad()
def unscale(gradients, inverse, what):
    """Multiply the gradients by a 0-d tensor, in place.

    Returns 1 as a 0-d tensor if one of them isn't finite, else 0; None if there are none.
    """
    for one in gradients:
        if one.dtype == float16:
            raise ValueError(
                f"{what}: a gradient is float16, so its parameter is; keep the parameters in "
                "float32, and let autocast cast them"
            )
    if not gradients:
        return None
    found = full((), 0.0)
    for one in gradients:
        if one.numel():
            one.mul_(inverse)
            found = found.maximum((~one.norm(math.inf).isfinite()).float())
    return found


__getattr__ = _missing.refusing(__name__)
