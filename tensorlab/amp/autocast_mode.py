"""`autocast`: in a block, ops choose a smaller floating type by themselves.

Which ops are cast, and to what, is a table: _core/dispatch/autocast_rules.py. How the layer
casts, and what it keeps, is in _core/dispatch/autocast.pyx. Here are the block, and the
questions and settings of a thread.
"""

import functools
import warnings

from tensorlab import _missing
from tensorlab._core.dispatch.autocast import set_autocast, set_cache_enabled, settings
from tensorlab._core.dtypes import BY_NAME, dtype
from tensorlab.amp.device_types import check_device_type, is_there

__all__ = [
    "autocast",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]

FAST_DTYPES = BY_NAME["bfloat16"], BY_NAME["float16"]


# ------------------------------------------------------------------------------ what a thread has set
def is_autocast_available(device_type):
    """Tell whether a device type has autocast: whether the name is one of those that PyTorch knows.

    >>> is_autocast_available("cpu")
    True
    """
    if not isinstance(device_type, str):
        raise TypeError(
            f"is_autocast_available: device_type must be a str, not {type(device_type).__name__}"
        )
    check_device_type(device_type, "is_autocast_available")
    return True


def is_autocast_enabled(device_type=None):
    """Tell whether this thread is in an `autocast` block.

    Parameters
    ----------
    device_type : str, such as "cpu"; without one, "cuda" is asked about, as in PyTorch

    Examples
    --------
    >>> with autocast("cpu"):
    ...     print(is_autocast_enabled("cpu"))
    True
    """
    device_type = "cuda" if device_type is None else device_type
    check_device_type(device_type, "is_autocast_enabled")
    return device_type in settings.enabled


def set_autocast_enabled(device_type, enabled=None):
    """Switch autocast on or off in this thread, until it's set again; a block does this for you.

    Parameters
    ----------
    device_type : str, such as "cpu"; it may be left out, and means "cuda" then, as in PyTorch
    enabled : bool

    Examples
    --------
    >>> import tensorlab
    >>> set_autocast_enabled("cpu", True)
    >>> tensorlab.is_autocast_enabled("cpu")
    True
    >>> set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    check_device_type(device_type, "set_autocast_enabled")
    _check_bool("set_autocast_enabled", "enabled", enabled)
    set_autocast(device_type, enabled, settings.dtypes[device_type])


def get_autocast_dtype(device_type):
    """Return the type that `autocast` casts to on a device if none is given.

    >>> get_autocast_dtype("cpu")
    tensorlab.bfloat16
    """
    check_device_type(device_type, "get_autocast_dtype")
    return settings.dtypes[device_type]


def set_autocast_dtype(device_type, dtype):
    """Set the type that `autocast` casts to on a device, for this thread.

    Parameters
    ----------
    device_type : str, such as "cpu"
    dtype : bfloat16 or float16

    Examples
    --------
    >>> import tensorlab
    >>> set_autocast_dtype("cpu", tensorlab.float16)
    >>> tensorlab.get_autocast_dtype("cpu")
    tensorlab.float16
    >>> set_autocast_dtype("cpu", tensorlab.bfloat16)
    """
    check_device_type(device_type, "set_autocast_dtype")
    _check_dtype("set_autocast_dtype", dtype)
    set_autocast(device_type, device_type in settings.enabled, dtype)


def is_autocast_cache_enabled():
    """Tell whether the casts of weights are kept until the outermost block ends.

    >>> is_autocast_cache_enabled()
    True
    """
    return settings.is_cache_enabled


def set_autocast_cache_enabled(enabled):
    """Set whether the casts of weights are kept until the outermost block ends, for this thread.

    Examples
    --------
    >>> import tensorlab
    >>> set_autocast_cache_enabled(False)
    >>> tensorlab.is_autocast_cache_enabled()
    False
    >>> set_autocast_cache_enabled(True)
    """
    _check_bool("set_autocast_cache_enabled", "enabled", enabled)
    set_cache_enabled(enabled)


def clear_autocast_cache():
    """Forget the casts of weights that this thread has kept.

    >>> clear_autocast_cache()
    """
    settings.kept.clear()


def autocast_increment_nesting():
    """Count one more block that this thread is in, and return how many those are."""
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting():
    """Count one block less, and return how many are left; with the last, the casts of weights should be forgotten."""
    settings.nesting -= 1
    return settings.nesting


def _check_bool(what, name, value):
    if not isinstance(value, bool):
        raise TypeError(f"{what}: {name} is {value!r}; give True or False")


def _check_dtype(what, value):
    if not isinstance(value, dtype):
        raise TypeError(f"{what}: dtype is {value!r}; give tensorlab.bfloat16 or tensorlab.float16")


# ------------------------------------------------------------------------------ the block
class autocast:
    """A block, or a function, in which ops choose their floating type by themselves.

    Matrix products, convolutions and attention run in the smaller type, which halves the memory
    that they read. Losses, transforms and factorisations run in float32, where 8 or 11 bits of
    mantissa would not do. The other ops compute in the type of what they are given. Only
    tensors of bfloat16, float16 and float32 are cast. Parameters stay what they are, and their
    gradients have their type.

    Parameters
    ----------
    device_type : str, "cpu"; for the type of an accelerator, which isn't here, it warns and
        does nothing
    dtype : bfloat16 (by default) or float16, the smaller type; with another one it warns and
        does nothing
    enabled : bool; with False, autocast is off in the block, also if it's on around it
    cache_enabled : bool or None, whether the casts of weights are kept to the end of the
        outermost block; None: as around it

    Raises
    ------
    ValueError
        If device_type isn't a str.
    DeviceError
        If there is no such type.

    Examples
    --------
    >>> import tensorlab
    >>> model = tensorlab.nn.Linear(4, 2)
    >>> with tensorlab.autocast("cpu"):
    ...     y = model(tensorlab.ones(3, 4))
    ...     loss = tensorlab.nn.functional.mse_loss(y, tensorlab.zeros(3, 2))
    >>> y.dtype, loss.dtype
    (tensorlab.bfloat16, tensorlab.float32)
    >>> loss.backward()                 # outside of the block: each op runs in the type of its forward
    >>> model.weight.grad.dtype
    tensorlab.float32
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        check_device_type(device_type, "autocast")
        if dtype is not None:
            _check_dtype("autocast", dtype)
        self.device = device_type
        self.fast_dtype = settings.dtypes[device_type] if dtype is None else dtype
        self._cache_enabled = settings.is_cache_enabled if cache_enabled is None else cache_enabled
        if enabled and device_type == "cpu" and self.fast_dtype not in FAST_DTYPES:
            warnings.warn(
                f"autocast: dtype is {self.fast_dtype}, and it takes bfloat16 or float16; it "
                "is switched off",
                stacklevel=2,
            )
            enabled = False
        self._enabled = bool(enabled) and is_there(device_type, "autocast")
        self._before = []  # the settings around the block; a list, as a block can be entered in itself

    def __enter__(self):
        self._before.append(
            (
                self.device in settings.enabled,
                settings.dtypes[self.device],
                settings.is_cache_enabled,
            )
        )
        settings.is_cache_enabled = self._cache_enabled
        set_autocast(self.device, self._enabled, self.fast_dtype)
        settings.nesting += 1
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        enabled, fast_dtype, settings.is_cache_enabled = self._before.pop()
        settings.nesting -= 1
        if settings.nesting == 0:
            clear_autocast_cache()
        set_autocast(self.device, enabled, fast_dtype)
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


__getattr__ = _missing.refusing(__name__)
