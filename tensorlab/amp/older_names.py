"""Classes of `cuda.amp` and `cpu.amp`, and functions for one device type; they say that their names are old."""

import warnings

from tensorlab._core.dispatch.autocast import settings
from tensorlab.amp.autocast_mode import (
    autocast,
    get_autocast_dtype,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from tensorlab.amp.grad_scaler import GradScaler


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

        def __init__(self, enabled=True, dtype=settings.dtypes[device_type], cache_enabled=True):
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


# ------------------------------------------------------------------------------ settings of one device type
def _older_settings(device_type, spelling):
    """Return the functions that ask and set what `is_autocast_enabled` and its kin do, for one device type."""

    def warn(name, instead):
        warnings.warn(
            f"`{name}` is deprecated; write `{instead}`", DeprecationWarning, stacklevel=3
        )

    def is_enabled():
        warn(f"is_autocast_{spelling}_enabled()", f"is_autocast_enabled('{device_type}')")
        return is_autocast_enabled(device_type)

    def set_enabled(enabled):
        warn(
            f"set_autocast_{spelling}_enabled(enabled)",
            f"set_autocast_enabled('{device_type}', enabled)",
        )
        set_autocast_enabled(device_type, enabled)

    def get_dtype():
        warn(f"get_autocast_{spelling}_dtype()", f"get_autocast_dtype('{device_type}')")
        return get_autocast_dtype(device_type)

    def set_dtype(dtype):
        warn(f"set_autocast_{spelling}_dtype(dtype)", f"set_autocast_dtype('{device_type}', dtype)")
        set_autocast_dtype(device_type, dtype)

    functions = {"is_autocast_{}_enabled": is_enabled, "set_autocast_{}_enabled": set_enabled,
                 "get_autocast_{}_dtype": get_dtype, "set_autocast_{}_dtype": set_dtype}  # fmt: skip
    for name, function in functions.items():
        function.__name__ = function.__qualname__ = name.format(spelling)
        instead = name.format("").replace("__", "_")
        function.__doc__ = f'Write `{instead}("{device_type}", ...)` instead.'
    return tuple(functions.values())


(
    is_autocast_cpu_enabled,
    set_autocast_cpu_enabled,
    get_autocast_cpu_dtype,
    set_autocast_cpu_dtype,
) = _older_settings("cpu", "cpu")
get_autocast_gpu_dtype, set_autocast_gpu_dtype = _older_settings("cuda", "gpu")[2:]
