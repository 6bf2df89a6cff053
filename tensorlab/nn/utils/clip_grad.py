"""Clipping: keep gradients from becoming too large, all of them together or each by itself."""

import types
import warnings

from ..._tensor import Tensor
from ...autograd import no_grad
from ...errors import listed
from ...ops.creation import zeros
from ...ops.joining import stack
from ...ops.norms import norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def gradients_of(parameters):
    parameters = (
        [parameters]
        if isinstance(parameters, Tensor)
        else listed("clip_grad", "parameters", parameters)
    )
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Return the norm of all tensors as if they were one vector, a 0-d tensor.

    Raises
    ------
    RuntimeError
        If it is not finite and `error_if_nonfinite` is True.

    Examples
    --------
    >>> import tensorlab
    >>> get_total_norm([tensorlab.tensor([3.0]), tensorlab.tensor([4.0])])
    tensor(5.)
    """
    tensors = (
        [tensors] if isinstance(tensors, Tensor) else listed("get_total_norm", "tensors", tensors)
    )
    if not tensors:
        return zeros(())
    with no_grad():
        total = norm_of_norms([norm(x, norm_type) for x in tensors], norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"get_total_norm: the total norm of order {norm_type} is {total.item()}, so gradients "
            f"cannot be scaled by it; find the nan or inf, or give error_if_nonfinite=False"
        )
    return total


def norm_of_norms(norms, norm_type):
    """Return the norm of a vector of norms, some of which may be tensors that several ranks hold.

    Those of one mesh of ranks go together; where there are several meshes, their norms are formed
    one by one, and the result is a plain tensor.
    """
    if set(map(type, norms)) == {Tensor}:
        return norm(stack(norms), norm_type)
    meshes: dict = {}
    for x in norms:
        meshes.setdefault(getattr(x, "device_mesh", None), []).append(x)
    totals = [norm(stack(of_mesh), norm_type) for of_mesh in meshes.values()]
    if len(totals) == 1:
        return totals[0]
    whole = [x.full_tensor() if hasattr(x, "full_tensor") else x for x in totals]
    return norm(stack(whole), norm_type)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale all gradients by one number so that their common norm is at most `max_norm`.

    Parameters
    ----------
    parameters : iterable of Tensors, or one
    max_norm : float
    norm_type : float, the order of the norm; inf for the largest absolute value
    error_if_nonfinite : bool, whether a norm of nan or inf is an error
    foreach : accepted for PyTorch's sake

    Returns
    -------
    Tensor, 0-d: the norm before

    Notes
    -----
    Source: Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural
    networks", algorithm 1.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, requires_grad=True)
    >>> x.grad = tensorlab.tensor([3.0, 4.0])
    >>> tensorlab.nn.utils.clip_grad_norm_(x, 1.0)
    tensor(5.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    if not isinstance(parameters, Tensor):
        is_generator = isinstance(parameters, types.GeneratorType)
        parameters = listed("clip_grad_norm_", "parameters", parameters)
        if is_generator and not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2
            )
    total = get_total_norm(gradients_of(parameters), float(norm_type), error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale all gradients by `max_norm / total_norm`, but never up.

    Parameters
    ----------
    parameters : iterable of Tensors, or one
    max_norm : float
    total_norm : Tensor, 0-d, as `get_total_norm` returns it
    foreach : accepted for PyTorch's sake

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, requires_grad=True)
    >>> x.grad = tensorlab.tensor([3.0, 4.0])
    >>> clip_grads_with_norm_([x], 1.0, tensorlab.tensor(5.0))
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    with no_grad():
        scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients_of(parameters):
            gradient.mul_(scale)


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Deprecated name of `clip_grad_norm_`.

    Examples
    --------
    >>> import warnings
    >>> import tensorlab
    >>> x = tensorlab.nn.Parameter(tensorlab.ones(2))
    >>> x.grad = tensorlab.tensor([3.0, 4.0])
    >>> with warnings.catch_warnings(action="ignore"):  # the new name has an underscore
    ...     norm = clip_grad_norm([x], 1.0)
    >>> norm, x.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Bring every element of every gradient between -clip_value and clip_value.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.zeros(2, requires_grad=True)
    >>> x.grad = tensorlab.tensor([3.0, -0.5])
    >>> clip_grad_value_([x], 1.0)
    >>> x.grad
    tensor([ 1.0000, -0.5000])
    """
    with no_grad():
        for gradient in gradients_of(parameters):
            gradient.clamp_(-float(clip_value), float(clip_value))
