"""Transformations of functions: `functional_call` is here, the others are still to come."""

from tensorlab import _missing, _planned
from tensorlab.nn.utils.stateless import called_with

__all__ = ["functional_call"]


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Call a module with other tensors in the place of its own; the module stays as it was.

    Parameters
    ----------
    module : Module
    parameters_and_buffers : dict of dotted name and Tensor; those not named stay
    args : tuple of arguments, or a single one
    kwargs : dict of keyword arguments
    tie_weights : bool; a parameter with several names is replaced under all of them
    strict : bool, whether each parameter and buffer must be given, and nothing else

    Returns
    -------
    what the module returns

    Raises
    ------
    RuntimeError
        If `strict` is set and names differ.
    ValueError
        If two values are given for one tensor.

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 1)
    >>> functional_call(layer, {"weight": tensorlab.ones(1, 2), "bias": tensorlab.zeros(1)}, tensorlab.ones(2))
    tensor([2.])
    """
    return called_with(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


globals().update(
    _planned.names(
        __name__,
        """functionalize grad grad_and_value hessian jacfwd jacrev jvp linearize
        replace_all_batch_norm_modules_ stack_module_state vjp vmap""",
        until="write a loop over the examples, or put them into a batch.",
        chapter="23-higher-order",
        grad="call autograd.grad.",
        grad_and_value="call the function, then autograd.grad.",
        hessian="call autograd.functional.hessian.",
        jacfwd="call autograd.functional.jacobian.",
        jacrev="call autograd.functional.jacobian.",
        jvp="call autograd.functional.jvp.",
        vjp="call autograd.functional.vjp.",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
