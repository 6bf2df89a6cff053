"""compile: programs that record what they do, and replay it as generated code.

    frontend      what a call does: find a recording whose guards hold, or make one
    capture       run the program's Python, and see what it does: a graph, guards, effects
    joint         graphs without writes; forward and backward as one graph, and as two
    passes        graphs that do the same with less work
    lowering      loops over fused ops, as C
    toolchain     the compiler, and what it has made already (disk_cache)
    build, plan   the steps that run instead of the program
    blocks        a step that runs the ops' own loops block by block, where there is no C compiler
    tree          branches, where Python looked at values
    explanation   what became of a function, for people

Chapters 46 to 49 build all this.
"""

from .. import _missing
from ..nn.module import Module
from .backends import list_backends, register_backend
from .capture import allow_in_graph, assume_constant_result, is_compiling
from .capture import disable as keep_out
from .explanation import explain
from .frontend import Unsupported, forget, set_stance
from .module import OptimizedModule, compile_function_or_modules, compile_module
from .options import settings_for

__all__ = [
    "Unsupported",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "disable",
    "explain",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "register_backend",
    "reset",
    "set_stance",
]


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend="tensorlab",
    mode=None,
    options=None,
    disable=False,
):
    """Return a function or module that does what `model` does, faster.

    The first call runs the Python of `model` and records the ops that it calls. Later calls with
    the same kinds of arguments replay the recording: chains of ops as one loop of generated C, forward and backward. A
    recording is used only while everything that the Python read (arguments, globals, attributes,
    values of tensors that it looked at) is as it was; otherwise the Python runs again. What can't
    be replayed, such as a `print`, runs as Python, and a warning says where it is; the modules that such a
    function calls are compiled in its place.

    Parameters
    ----------
    model : function or Module; without it, `compile` returns a decorator
    fullgraph : bool, whether a call that can't be one recording raises `compiler.Unsupported`.
        A first call that changes something, or imports a part of tensorlab that no code names,
        may run as Python
    dynamic : bool or None. Sizes are constants of a recording: another size is another
        recording, but of the same kernels, so nothing is compiled for it. Up to 64 of them
        don't count among the 8 that a function may have; with False, they do
    backend : "tensorlab", "aot_eager", "eager", or a function of (GraphModule, example inputs)
        that returns a function
    mode : "default", "reduce-overhead", "max-autotune" or "max-autotune-no-cudagraphs"
    options : dict; `recompute` (bool) computes pointwise ops again in backward rather than saving
        them, `code` (bool) says whether C is generated, `without` names passes that are left out
    disable : bool, whether to return `model` as it is

    Returns
    -------
    a function, or for a Module an `OptimizedModule`, which shares its parameters

    Raises
    ------
    TypeError
        If `model` is not callable.
    RuntimeError
        If mode, an option or the backend is unknown, or if both mode and options are given.

    Examples
    --------
    >>> import tensorlab
    >>> @tensorlab.compile
    ... def gate(x, y):
    ...     return tensorlab.sigmoid(x) * tensorlab.tanh(y)
    >>> x = tensorlab.ones(3)
    >>> tensorlab.equal(gate(x, x), tensorlab.sigmoid(x) * tensorlab.tanh(x))
    True
    """
    settings = settings_for(mode, options, dynamic)
    if model is None:
        return lambda given: compile(
            given,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
        )
    if not callable(model):
        raise TypeError(f"compile: a function or a Module is needed, not {type(model).__name__}")
    if disable:
        return model
    if isinstance(model, Module):
        return OptimizedModule(model, backend, fullgraph, settings)
    return compile_function_or_modules(model, backend, fullgraph, settings)


def disable(fn=None, recursive=True, *, reason=None):
    """Return a function that is never recorded: what calls it runs as Python. A decorator, too.

    Examples
    --------
    >>> import warnings
    >>> import tensorlab
    >>> @disable
    ... def note(x):
    ...     print("sum:", x.sum().item())
    ...
    >>> f = tensorlab.compile(lambda x: note(2 * x), backend="eager")
    >>> with warnings.catch_warnings(action="ignore"):  # that it runs as Python
    ...     f(tensorlab.ones(2))
    sum: 4.0
    """
    if fn is None:
        return lambda given: disable(given, recursive, reason=reason)
    return keep_out(fn, reason)


def reset():
    """Forget all recordings of all functions.

    Examples
    --------
    >>> import tensorlab
    >>> f = tensorlab.compile(lambda x: x + 1, backend="eager")
    >>> _ = f(tensorlab.ones(2))
    >>> reset()  # the next call records again
    """
    forget()


def is_dynamo_compiling():
    """PyTorch's older name of `is_compiling`.

    Examples
    --------
    >>> is_dynamo_compiling()
    False
    """
    return is_compiling()


def is_exporting():
    """Whether a program is being exported: never, here.

    Examples
    --------
    >>> is_exporting()
    False
    """
    return False


def compile_in_place(module, *, fullgraph, dynamic, backend, mode, options, disable):
    """What `Module.compile` does."""
    if not disable:
        compile_module(module, backend, fullgraph, settings_for(mode, options, dynamic))


def __getattr__(name):
    raise _missing.refuse(__name__, name)
