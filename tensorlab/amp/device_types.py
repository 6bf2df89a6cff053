"""The device types that autocast and GradScaler can be asked for; only the processor is there."""

import warnings

from tensorlab.errors import DeviceError

DEVICE_TYPES = ("cpu", "cuda", "mps", "xpu")


def check_device_type(device_type, what):
    """Refuse what is no device type.

    Raises
    ------
    ValueError
        If it isn't a str.
    DeviceError
        If no device is called so.
    """
    if not isinstance(device_type, str):
        raise ValueError(
            f"{what}: device_type is a {type(device_type).__name__}; give a str such as "
            "'cpu', or x.device.type"
        )
    if device_type not in DEVICE_TYPES:
        raise DeviceError(
            f"{what}: there is no device type {device_type!r}; it is one of {', '.join(DEVICE_TYPES)}"
        )


def is_there(device_type, what):
    """Tell whether mixed precision can be used there; warn if it can't."""
    if device_type != "cpu":
        warnings.warn(
            f"{what}: there is no device {device_type!r} here, so it is switched off", stacklevel=3
        )
    return device_type == "cpu"
