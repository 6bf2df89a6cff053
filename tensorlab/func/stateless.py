"""functional_call: a module as a function of its parameters."""

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
