"""Checkpointing: forget what backward needs, and compute it again when backward asks.

A forward pass saves a tensor at nearly every op, and all of them live until backward has used them.
`checkpoint(f, x)` keeps only x: what f saves is forgotten, and in backward f runs a second time.  That
trades time for memory.

Two ways lead there.  Without reentrant autograd (`use_reentrant=False`, the one to choose) the graph is
recorded as always, and only what its nodes save is left out: recomputing.py.  With reentrant autograd, the
older way, f runs without a graph; a custom Function stands for all of it, and its backward runs f again, with
a backward pass of its own.

Both rely on f doing the same thing twice.  The first way checks it.  Random numbers repeat in both: the place
in the default stream is kept, and restored for the second run.

Left out: selective checkpointing, which needs `__torch_dispatch__`, and the state of devices that are not there.
"""

import contextlib
import functools
import warnings

from tensorlab import _missing
from tensorlab._core.engine.backward import backward
from tensorlab._core.engine.engine import reaches_all_leaves
from tensorlab._core.state.modes import is_grad_enabled
from tensorlab._tensor import Tensor
from tensorlab.amp.autocast_mode import (
    autocast,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
)
from tensorlab.autograd.function import Function
from tensorlab.autograd.grad_mode import enable_grad, no_grad
from tensorlab.autograd.graph import saved_tensors_hooks
from tensorlab.errors import GradientError
from tensorlab.nn.container import Sequential
from tensorlab.random import fork_rng, get_rng_state, set_rng_state
from tensorlab.utils.recomputing import (
    Arguments,
    CheckpointError,
    GraphExecGroup,
    Region,
    facts_of,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "GraphExecGroup",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

_DETERMINISM_CHECKS = {"default": facts_of, "none": lambda x: None}
_DEFAULT_DETERMINISM_MODE = "default"


def noop_context_fn():
    """Return two contexts that do nothing: the default of `context_fn`.

    Examples
    --------
    >>> forward, recomputation = noop_context_fn()
    >>> with forward:
    ...     print("as without it")
    as without it
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


# ---------------------------------------------------------------- checkpoint
def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check=_DEFAULT_DETERMINISM_MODE,
    debug=False,
    early_stop=True,
    **kwargs,
):
    """Call `function(*args, **kwargs)` without keeping what its backward needs: backward calls it again.

    Parameters
    ----------
    function : callable that does the same thing when it is called again with the same arguments
    use_reentrant : bool; choose False.  True is the older way: only `backward()` without
        `inputs=` goes through it, tensors inside lists and dicts get no gradient, one argument
        must require grad, and arguments by name and the options up to `early_stop` do not
        exist.  Left out, it means True, with a warning.
    context_fn : function that returns two contexts: for the forward call, and for the recomputation
    determinism_check : "default": shape, dtype, device and version of what the recomputation
        saves must be those of what the forward call saved; "none": only their number
    debug : bool; note which line saves each tensor, and show the lines of both runs if they differ
    early_stop : bool; end the recomputation as soon as all saved tensors are there
    preserve_rng_state : bool, default True; let the recomputation draw the same random numbers

    Returns
    -------
    what `function` returns

    Raises
    ------
    CheckpointError
        In backward, if the recomputation saves other tensors than the forward call did, or a custom Function reads
        its `ctx.saved_tensors` twice.
    VersionError
        In backward, if an argument was changed in place since, or the function itself changes what it has saved.

    Notes
    -----
    Source: Chen, Xu, Zhang and Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.

    Examples
    --------
    >>> import tensorlab
    >>> def f(x):
    ...     print("f runs")
    ...     return (x.exp() * x).sum()
    >>> x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    >>> y = checkpoint(f, x, use_reentrant=False)
    f runs
    >>> y.backward()
    f runs
    >>> x.grad
    tensor([ 5.4366, 22.1672])
    """
    if use_reentrant is None:
        use_reentrant = _choose_reentrant("checkpoint")
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        _refuse_keywords("checkpoint", kwargs, "; use_reentrant=False passes them on")
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("checkpoint: context_fn and debug need use_reentrant=False")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(
            f"checkpoint: determinism_check must be one of {list(_DETERMINISM_CHECKS)}, not {determinism_check!r}"
        )
    debug = debug if _switches["debug"] is None else _switches["debug"]
    if debug and context_fn is not noop_context_fn:
        raise ValueError(
            "checkpoint: debug and context_fn do not go together; leave one of them out"
        )
    forward_context, second_context = context_fn()
    if not is_grad_enabled():
        return function(*args, **kwargs)
    arguments = Arguments(args, kwargs)
    same_rng, same_autocast = _rng_now(preserve_rng_state), _autocast_now()

    def run_again():
        args, kwargs = arguments.restore()
        with same_rng(), same_autocast(), enable_grad(), second_context:
            function(*args, **kwargs)

    stops_early = early_stop if _switches["early_stop"] is None else _switches["early_stop"]
    region = Region(run_again, stops_early, _DETERMINISM_CHECKS[determinism_check], debug)
    with saved_tensors_hooks(region.forget, region.recall), forward_context:
        result = function(*args, **kwargs)
        region.is_complete = True
    if not region.is_complete:
        raise RuntimeError(
            "checkpoint: the first context of context_fn suppressed an exception of the function, so there is "
            "nothing to return; let it through"
        )
    return result


def _choose_reentrant(name):
    """Say what it means that `use_reentrant` is missing."""
    warnings.warn(
        f"{name}: pass use_reentrant explicitly, best as False. It is taken as True, PyTorch's old default",
        stacklevel=3,
    )
    return True


def _refuse_keywords(name, kwargs, remedy=""):
    if kwargs:
        raise ValueError(f"{name}: unexpected keyword arguments: {', '.join(kwargs)}{remedy}")


def _rng_now(preserve):
    """Return a function that makes contexts which start from the present random state."""
    if not preserve:
        return contextlib.nullcontext
    state = get_rng_state()

    @contextlib.contextmanager
    def same_rng():
        with fork_rng():
            set_rng_state(state)
            yield

    return same_rng


def _autocast_now():
    """Return a function that makes contexts in which autocast is on exactly if it is now, with the same type."""
    return functools.partial(
        autocast,
        "cpu",
        get_autocast_dtype("cpu"),
        is_autocast_enabled("cpu"),
        is_autocast_cache_enabled(),
    )


# ---------------------------------------------------------------- switches for all calls
_switches = {"early_stop": None, "debug": None}  # None: each call's own argument counts


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Within this context each `checkpoint` stops its recomputation early, or does not, whatever its argument says.

    Parameters
    ----------
    enable : bool

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(tensorlab.exp, x, use_reentrant=False)
    >>> y.sum().backward()
    """
    yield from _switch("early_stop", enable)


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Within this context each `checkpoint` notes lines, or does not, whatever its argument says.

    Parameters
    ----------
    enabled : bool, or None: as its argument says

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> with set_checkpoint_debug_enabled(True):
    ...     y = checkpoint(tensorlab.exp, x, use_reentrant=False)
    >>> y.sum().backward()
    """
    yield from _switch("debug", enabled)


def _switch(name, value):
    was = _switches[name]
    _switches[name] = value
    try:
        yield
    finally:
        _switches[name] = was


# ---------------------------------------------------------------- the older way: a Function
class CheckpointFunction(Function):
    """`checkpoint` with use_reentrant=True: one node for the whole call; its backward runs it forward and backward.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> y = checkpoint(tensorlab.exp, x, use_reentrant=True)
    >>> y.grad_fn.name()
    'CheckpointFunctionBackward'
    """

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.same_rng, ctx.same_autocast = _rng_now(preserve_rng_state), _autocast_now()
        ctx.others = [None if isinstance(one, Tensor) else one for one in args]
        ctx.places = [i for i, one in enumerate(args) if isinstance(one, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not reaches_all_leaves():
            raise GradientError(
                "checkpoint: with use_reentrant=True only backward() without inputs= can go "
                "through it, not grad(); use use_reentrant=False"
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor
        args = detach_variable(tuple(args))
        with ctx.same_rng(), ctx.same_autocast(), enable_grad():
            outputs = ctx.run_function(*args)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        wanted = [i for i, one in enumerate(outputs) if _requires_grad(one)]
        if not wanted:
            raise GradientError(
                "checkpoint: no output of the function requires grad when it runs again, so "
                "there is nothing to differentiate; call it without checkpoint"
            )
        backward([outputs[i] for i in wanted], [grads[i] for i in wanted])
        return (None, None, *(one.grad if isinstance(one, Tensor) else None for one in args))


def _requires_grad(value):
    return isinstance(value, Tensor) and value.requires_grad


def check_backward_validity(inputs):
    """Warn if no tensor among `inputs` requires grad: then nothing has a gradient after a reentrant checkpoint.

    Examples
    --------
    >>> import tensorlab
    >>> check_backward_validity([tensorlab.ones(2, requires_grad=True)])  # no warning
    """
    if not any(map(_requires_grad, inputs)):
        warnings.warn(
            "checkpoint: none of the inputs requires grad, so with use_reentrant=True there will be no gradients, "
            "not even for parameters; use use_reentrant=False",
            UserWarning,
            stacklevel=2,
        )


def detach_variable(inputs):
    """Return a tuple with each tensor replaced by a leaf over the same memory, requiring grad as before.

    Raises
    ------
    RuntimeError
        If `inputs` is not a tuple.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> (y,) = detach_variable((2 * x,))
    >>> y.is_leaf, y.requires_grad
    (True, True)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable: a tuple is needed, not {type(inputs).__name__}")
    return tuple(
        one.detach().requires_grad_(one.requires_grad) if isinstance(one, Tensor) else one
        for one in inputs
    )


# ---------------------------------------------------------------- a sequence in segments
def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Call functions one after the other, with a `checkpoint` around each segment of them but the last.

    Parameters
    ----------
    functions : nn.Sequential, or sequence of functions of one argument
    segments : int; all have len(functions) // segments functions, and the last one has the rest too
    input : Tensor
    use_reentrant : bool, see `checkpoint`
    preserve_rng_state : bool, default True

    Returns
    -------
    what the last function returns

    Notes
    -----
    With about sqrt(len(functions)) segments, the inputs of segments and what one segment saves take about the same
    memory.  The last is not checkpointed: it would be recomputed at once.

    Examples
    --------
    >>> import tensorlab
    >>> layers = [tensorlab.exp, tensorlab.sin, tensorlab.tanh, tensorlab.cos]
    >>> x = tensorlab.tensor(0.5, requires_grad=True)
    >>> checkpoint_sequential(layers, 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor(0.0373)
    """
    if use_reentrant is None:
        use_reentrant = _choose_reentrant("checkpoint_sequential")
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    _refuse_keywords("checkpoint_sequential", kwargs)
    if isinstance(functions, Sequential):
        functions = list(
            functions
        )  # not children(), which leaves out a module that comes a second time
    if not 1 <= segments <= max(1, len(functions)):
        raise ValueError(
            f"checkpoint_sequential: {len(functions)} functions cannot be cut into {segments} segments"
        )

    def run(start, end):
        def segment(x):
            for function in functions[start:end]:
                x = function(x)
            return x

        return segment

    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, max(1, size)):
        input = checkpoint(
            run(start, start + size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return run(last, len(functions))(input)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
