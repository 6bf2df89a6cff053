"""Complex parameters, seen by an optimizer as twice as many real ones: the real and the imaginary parts.

The gradient of a complex parameter is that of the loss by its real part, plus i times that by its imaginary part. So a
step on the two parts is a step on the parameter, and no formula needs to know. State is complex outside of a step: each
part of it belongs to that part of the parameter.
"""

from .._tensor import Tensor
from ..ops.complex_views import view_as_complex, view_as_real

__all__ = ["as_real", "update_real_parts"]


def as_real(x):
    """Return a view of the parts of a complex tensor, in a last dimension of two; other tensors as they are."""
    return view_as_real(x) if x.is_complex() else x


def update_real_parts(optimizer, group):
    """Call `update_group` with real views instead of complex parameters, and with their state."""
    seen = {**group, "params": [parameter_as_real(param) for param in group["params"]]}
    pairs = [
        (param, view)
        for param, view in zip(group["params"], seen["params"], strict=True)
        if view is not param
    ]
    for param, view in pairs:
        if param in optimizer.state:
            state = optimizer.state[param]
            optimizer.state[view] = {name: state_as_real(value) for name, value in state.items()}
    try:
        optimizer.update_group(seen)
    finally:
        for param, view in pairs:
            if view in optimizer.state:
                state = optimizer.state.pop(view)
                optimizer.state[param].update(
                    {name: state_as_complex(value, view.shape) for name, value in state.items()}
                )


def parameter_as_real(param):
    if not param.is_complex():
        return param
    view = view_as_real(param)
    if param.grad is not None:
        view.grad = view_as_real(param.grad)
    return view


def state_as_real(value):
    return as_real(value) if isinstance(value, Tensor) else value


def state_as_complex(value, shape):
    is_of_parameter = isinstance(value, Tensor) and value.shape == shape
    return view_as_complex(value) if is_of_parameter else value
