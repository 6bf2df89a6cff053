"""Modules under transforms: functions of parameters, many of a kind at once, no running statistics."""

from tensorlab.nn.batch_norm import _BatchNorm
from tensorlab.nn.utils.stateless import called_with
from tensorlab.ops.joining import stack

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Call a module with other tensors in the place of its own; the module stays as it was.

    Parameters
    ----------
    module : Module
    parameters_and_buffers : dict of dotted name and Tensor, or several of them; those not named stay
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


def stack_module_state(models):
    """The parameters and the buffers of several modules of one kind, each with a first dimension for the modules.

    With `vmap` and `functional_call` an ensemble is one call.

    Parameters
    ----------
    models : sequence of Module of one class, all in training or all in evaluation

    Returns
    -------
    params, buffers : two dicts of name and Tensor, of shape (modules, *shape). Parameters are
        new leaves

    Raises
    ------
    RuntimeError
        If there are no models, or they are of several classes or modes.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.func import functional_call, stack_module_state, vmap
    >>> models = [tensorlab.nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = stack_module_state(models)
    >>> params["weight"].shape
    tensorlab.Size([3, 1, 2])
    >>> call = lambda p, b, x: functional_call(models[0], (p, b), x)
    >>> vmap(call, in_dims=(0, 0, None))(params, buffers, tensorlab.ones(2)).shape
    tensorlab.Size([3, 1])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode; call eval() or train() "
            "of each of them"
        )
    if len({type(model) for model in models}) > 1:
        names = sorted({type(model).__name__ for model in models})
        raise RuntimeError(
            f"stack_module_state: Expected all models to be of the same class, and they are of {', '.join(names)}"
        )
    params = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {name: _leaf(name, [one[name] for one in params]) for name in params[0]},
        {name: _leaf(name, [one[name] for one in buffers]) for name in buffers[0]},
    )


def _leaf(name, tensors):
    wanted = {x.requires_grad for x in tensors}
    if len(wanted) > 1:
        raise RuntimeError(
            f"stack_module_state: Expected {name} from each model to have the same .requires_grad"
        )
    return stack([x.detach() for x in tensors]).requires_grad_(wanted.pop())


def replace_all_batch_norm_modules_(root):
    """Let all batch norms of a module do without running statistics, which a transform couldn't write to; returns it.

    In training they compute as before; in evaluation they then normalise by the batch, too.

    Parameters
    ----------
    root : Module, changed in place

    Examples
    --------
    >>> import tensorlab
    >>> net = tensorlab.nn.Sequential(tensorlab.nn.BatchNorm1d(2))
    >>> tensorlab.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
    True
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
