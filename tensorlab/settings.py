"""Settings that programs make at their start: default device and type, reproducibility, precision, warnings.

Most choose among ways that one processor does not have: they are kept, so that what is set can be asked for,
and each docstring says what it changes here.
"""

import warnings

from tensorlab._core.device import get_default, set_default
from tensorlab._core.dtypes import BY_NAME, set_default_dtype
from tensorlab._core.state import warning
from tensorlab._core.state.settings_number import note_setting
from tensorlab._core.tensor import TensorBase
from tensorlab.threads import get_num_threads

FLOATING_TYPES = {
    "HalfTensor": BY_NAME["float16"],
    "BFloat16Tensor": BY_NAME["bfloat16"],
    "FloatTensor": BY_NAME["float32"],
    "DoubleTensor": BY_NAME["float64"],
}
_AT_START = {
    "deterministic": "default",
    "matmul_precision": "highest",
    "interop_threads": None,
    "warn_always": False,
}
_state = dict(_AT_START)


def _keep(name, value):
    _state[name] = value
    note_setting(name, value, _AT_START[name])


# ------------------------------------------------------------------------------ where and of what type
def set_default_device(device):
    """Make tensors on `device` where this thread names none: "cpu" (or None), or "meta".

    Raises
    ------
    DeviceError
        For an accelerator, now rather than at the first tensor.

    Examples
    --------
    >>> import tensorlab
    >>> set_default_device("meta")
    >>> tensorlab.zeros(2).device
    device(type='meta')
    >>> set_default_device(None)
    """
    set_default(device, "set_default_device")


def get_default_device():
    """Return the device where tensors are made if none is named.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.get_default_device()
    device(type='cpu')
    """
    return get_default()


def set_default_tensor_type(t):
    """Set the default floating type by an old name, as in `set_default_tensor_type(FloatTensor)`.

    Parameters
    ----------
    t : FloatTensor, DoubleTensor, HalfTensor or BFloat16Tensor, or "tensorlab.FloatTensor" and
        so on

    Raises
    ------
    TypeError
        If it is no floating type.

    Examples
    --------
    >>> import warnings
    >>> import tensorlab
    >>> with warnings.catch_warnings(action="ignore"):  # set_default_dtype is the newer name
    ...     set_default_tensor_type(tensorlab.DoubleTensor)
    ...     print(tensorlab.zeros(1).dtype)
    ...     set_default_tensor_type(tensorlab.FloatTensor)
    tensorlab.float64
    """
    warnings.warn(
        "set_default_tensor_type is deprecated; write set_default_dtype, and set_default_device",
        stacklevel=2,
    )
    text = (
        t if isinstance(t, str) else f"{getattr(t, '__module__', '')}.{getattr(t, '__name__', t)}"
    )
    package, _, name = text.rpartition(".")
    if name not in FLOATING_TYPES or package.endswith((".cuda", ".xpu")):
        raise TypeError(
            f"set_default_tensor_type: {t!r} is no type of floating tensors on the processor; "
            f"give tensorlab.FloatTensor, or use set_default_dtype(tensorlab.float32)"
        )
    set_default_dtype(FLOATING_TYPES[name])


# ------------------------------------------------------------------------------ reproducibility
def use_deterministic_algorithms(mode, *, warn_only=False):
    """Ask for operations that give the same result at every run.

    Every operation here does so with the same number of threads, so the setting is only kept.

    Examples
    --------
    >>> import tensorlab
    >>> use_deterministic_algorithms(True)
    >>> tensorlab.are_deterministic_algorithms_enabled()
    True
    >>> use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms: mode is {mode!r}; expected True or False")
    _keep("deterministic", ("warn" if warn_only else "error") if mode else "default")


def are_deterministic_algorithms_enabled():
    """Return what `use_deterministic_algorithms` was told.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.are_deterministic_algorithms_enabled()
    False
    """
    return _state["deterministic"] != "default"


def is_deterministic_algorithms_warn_only_enabled():
    """Return the `warn_only` that `use_deterministic_algorithms` was told.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _state["deterministic"] == "warn"


def set_deterministic_debug_mode(debug_mode):
    """`use_deterministic_algorithms` as one word: "default" (0), "warn" (1) or "error" (2).

    Examples
    --------
    >>> import tensorlab
    >>> set_deterministic_debug_mode("warn")
    >>> tensorlab.get_deterministic_debug_mode()
    1
    >>> set_deterministic_debug_mode("default")
    """
    modes = ("default", "warn", "error")
    if debug_mode in (0, 1, 2) and not isinstance(debug_mode, bool):
        debug_mode = modes[debug_mode]
    if debug_mode not in modes:
        raise RuntimeError(
            f"set_deterministic_debug_mode: {debug_mode!r} is none of {', '.join(modes)}"
        )
    _keep("deterministic", debug_mode)


def get_deterministic_debug_mode():
    """Return 0, 1 or 2 for "default", "warn" or "error".

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.get_deterministic_debug_mode()
    0
    """
    return ("default", "warn", "error").index(_state["deterministic"])


# ------------------------------------------------------------------------------ precision and speed
def set_float32_matmul_precision(precision):
    """Say how exactly float32 matrices are multiplied: "highest", "high" or "medium".

    The last two allow hardware of a lower precision; a processor has none, so products are always
    those of "highest".

    Examples
    --------
    >>> import tensorlab
    >>> set_float32_matmul_precision("high")
    >>> tensorlab.get_float32_matmul_precision()
    'high'
    >>> set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(
            f"set_float32_matmul_precision: {precision!r} is none of 'highest', 'high', 'medium'"
        )
    _keep("matmul_precision", precision)


def get_float32_matmul_precision():
    """Return what `set_float32_matmul_precision` was told; "highest" at first.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.get_float32_matmul_precision()
    'highest'
    """
    return _state["matmul_precision"]


def set_num_interop_threads(num_threads):
    """Keep a number of threads for operations side by side; here they run one after another.

    Raises
    ------
    RuntimeError
        If it is less than 1.
    """
    if not isinstance(num_threads, int) or isinstance(num_threads, bool):
        raise TypeError(f"set_num_interop_threads: an int is needed, not {num_threads!r}")
    if num_threads < 1:
        raise RuntimeError(f"set_num_interop_threads: at least 1 is needed, not {num_threads}")
    _keep("interop_threads", num_threads)


def get_num_interop_threads():
    """Return what `set_num_interop_threads` was told; at first, the number of `get_num_threads`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.get_num_interop_threads() >= 1
    True
    """
    return _state["interop_threads"] or get_num_threads()


def set_flush_denormal(mode):
    """Return False: numbers too small for full precision are always kept, never made 0.

    Examples
    --------
    >>> set_flush_denormal(True)
    False
    """
    return False


# ------------------------------------------------------------------------------ warnings and names
def set_warn_always(b):
    """Say whether warnings that a program gets once are to be repeated, as far as Python's filter lets them.

    Parameters
    ----------
    b : bool

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always: True or False is needed, not {b!r}")
    _keep("warn_always", b)
    warning.state["always"] = b


def is_warn_always_enabled():
    """Return what `set_warn_always` was told.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_warn_always_enabled()
    False
    """
    return _state["warn_always"]


def typename(obj, /):
    """Return the name of an object's type as users know it, a tensor's old type name included.

    >>> import tensorlab
    >>> tensorlab.typename(tensorlab.ones(2)), tensorlab.typename(3)
    ('tensorlab.FloatTensor', 'int')
    """
    if isinstance(obj, TensorBase):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"
