"""Mixed precision, switched off: `autocast` and `GradScaler` with `enabled=False` do nothing.

Programs write them into every training step and switch them off where there is no GPU. For
device type "cuda" they switch themselves off with a warning, as in PyTorch without CUDA. Mixed
precision on the processor is still to come.
"""

import functools
import warnings

from tensorlab import _missing
from tensorlab._core.dtypes import BY_NAME
from tensorlab._planned import not_there_yet
from tensorlab.errors import DeviceError

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
]

bfloat16, float16 = BY_NAME["bfloat16"], BY_NAME["float16"]
CHAPTER = "44-mixed-precision"
_DTYPES = {"cpu": bfloat16, "cuda": float16, "mps": float16, "xpu": float16}


def __getattr__(name):
    raise _missing.refuse(__name__, name)


# ------------------------------------------------------------------------------ questions
def is_autocast_available(device_type):
    """Whether `autocast` can be switched on for a device type: False for all of them so far."""
    _check_device_type(device_type, "is_autocast_available")
    return False


def is_autocast_enabled(device_type=None):
    """Whether ops choose a smaller type by themselves: False, as none can be switched on.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_autocast_enabled()
    False
    """
    return False


def get_autocast_dtype(device_type):
    """Return the type that `autocast` uses on a device if none is given.

    >>> get_autocast_dtype("cpu")
    tensorlab.bfloat16
    """
    _check_device_type(device_type, "get_autocast_dtype")
    return _DTYPES[device_type]


def _check_device_type(device_type, what):
    if not isinstance(device_type, str):
        raise ValueError(
            f"{what}: device_type is a {type(device_type).__name__}; give a str such as "
            "'cpu', or x.device.type"
        )
    if device_type not in _DTYPES:
        raise DeviceError(
            f"{what}: there is no device type {device_type!r}; it is one of {', '.join(_DTYPES)}"
        )


def _can_be_switched_on(device_type, what):
    """Return whether mixed precision is to be switched on; warn if there is no such device."""
    if device_type != "cpu":
        warnings.warn(
            f"{what}: there is no device {device_type!r} here, so it is switched off", stacklevel=3
        )
    return device_type == "cpu"


# ------------------------------------------------------------------------------ the two classes
class autocast:
    """Let ops choose a smaller floating type in a `with` block or a function; so far only off.

    Parameters
    ----------
    device_type : str, "cpu" or the type of an accelerator
    dtype : dtype or None, the smaller type; by default bfloat16 on the processor
    enabled : bool; False makes it do nothing
    cache_enabled : bool or None, whether weights that were converted are kept

    Raises
    ------
    NotThereYet
        If it is enabled for the processor.

    Examples
    --------
    >>> with autocast("cpu", enabled=False):
    ...     y = tensorlab.ones(2) + 1
    >>> y.dtype
    tensorlab.float32
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _check_device_type(device_type, "autocast")
        self.device = device_type
        self.fast_dtype = _DTYPES[device_type] if dtype is None else dtype
        if enabled and device_type == "cpu" and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(
                f"autocast: dtype is {self.fast_dtype}, and it takes bfloat16 or float16; it "
                "is switched off",
                stacklevel=2,
            )
        elif enabled and _can_be_switched_on(device_type, "autocast"):
            raise not_there_yet(
                "autocast on the processor",
                "pass enabled=False, or convert model and input with .to(tensorlab.bfloat16).",
                CHAPTER,
            )
        self._enabled = False

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        return False

    def __call__(self, func):
        """Return the function as one that runs inside the block."""
        if not callable(func):
            raise TypeError(
                f"autocast()(func): func is a {type(func).__name__}, not a function. To run a "
                "block, write "
                "`with autocast(device_type):` and call the model inside."
            )

        @functools.wraps(func)
        def inside(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return inside


class GradScaler:
    """Scale the loss so that small gradients survive in float16; so far only switched off.

    Switched off, `scale` returns what it is given, `step` steps, and everything else does
    nothing.

    Parameters
    ----------
    device : str, the device type; switched off with a warning if there is no such device
    init_scale, growth_factor, backoff_factor, growth_interval : the factor and how it changes
    enabled : bool

    Raises
    ------
    NotThereYet
        If it is enabled for the processor.

    Examples
    --------
    >>> scaler = GradScaler("cpu", enabled=False)
    >>> scaler.scale(tensorlab.tensor(3.0)), scaler.get_scale(), scaler.state_dict()
    (tensor(3.), 1.0, {})
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
        _check_device_type(device, "GradScaler")
        if enabled and _can_be_switched_on(device, "GradScaler"):
            raise not_there_yet("GradScaler on the processor", "pass enabled=False.", CHAPTER)
        self._device, self._enabled = device, False
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval

    def scale(self, outputs):
        """Return what it is given: a tensor, or tensors in a list or another iterable."""
        return outputs

    def unscale_(self, optimizer):
        """Divide the gradients by the factor: nothing to do."""

    def step(self, optimizer, *args, **kwargs):
        """Call `optimizer.step` with the further arguments, and return what it returns."""
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        """Let the factor grow or shrink: nothing to do."""

    def is_enabled(self):
        """Return False."""
        return self._enabled

    def get_scale(self):
        """Return 1.0, the factor."""
        return 1.0

    def get_growth_factor(self):
        """Return what the factor would grow by."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Set what the factor would grow by."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """Return what the factor would be multiplied by after an infinite gradient."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Set what the factor would be multiplied by after an infinite gradient."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """Return after how many steps the factor would grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Set after how many steps the factor would grow."""
        self._growth_interval = new_interval

    def state_dict(self):
        """Return {}: there is nothing to keep."""
        return {}

    def load_state_dict(self, state_dict):
        """Take up a state: nothing to do."""


# ------------------------------------------------------------------------------ functions of one's own
def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Mark `forward` of an autograd.Function: without autocast it runs as it is.

    >>> class Double(tensorlab.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    >>> Double.apply(tensorlab.ones(2))
    tensor([2., 2.])
    """
    _check_device_type(device_type, "custom_fwd")
    return (lambda function: function) if fwd is None else fwd


def custom_bwd(bwd=None, *, device_type):
    """Mark `backward` of an autograd.Function: without autocast it runs as it is."""
    _check_device_type(device_type, "custom_bwd")
    return (lambda function: function) if bwd is None else bwd


# ------------------------------------------------------------------------------ older names
def older_classes(device_type):
    """Return the classes autocast and GradScaler of `cuda.amp` or `cpu.amp`, for that device type only.

    They warn that the names are old.
    """

    def warn(name):
        warnings.warn(
            f"`{device_type}.amp.{name}(args...)` is deprecated; write "
            f"`amp.{name}('{device_type}', args...)`",
            FutureWarning,
            stacklevel=3,
        )

    class OlderAutocast(autocast):
        __doc__ = f"""Write `amp.autocast("{device_type}", ...)` instead."""

        def __init__(self, enabled=True, dtype=_DTYPES[device_type], cache_enabled=True):
            warn("autocast")
            super().__init__(device_type, dtype, enabled, cache_enabled)

    class OlderGradScaler(GradScaler):
        __doc__ = f"""Write `amp.GradScaler("{device_type}", ...)` instead."""

        def __init__(
            self,
            init_scale=2.0**16,
            growth_factor=2.0,
            backoff_factor=0.5,
            growth_interval=2000,
            enabled=True,
        ):
            warn("GradScaler")
            factors = init_scale, growth_factor, backoff_factor, growth_interval
            super().__init__(device_type, *factors, enabled)

    for cls, name in ((OlderAutocast, "autocast"), (OlderGradScaler, "GradScaler")):
        cls.__name__ = cls.__qualname__ = name
        cls.__module__ = f"tensorlab.{device_type}.amp"
    return OlderAutocast, OlderGradScaler
