"""TorchScript: still to come. What it asks of Python code that runs as Python is here.

A function marked `ignore`, `unused` or `export` runs as it is; the marks are for `script`.
"""

import typing
from typing import Final

from tensorlab import _missing, _planned

__all__ = [
    "Attribute",
    "Final",
    "annotate",
    "export",
    "ignore",
    "is_scripting",
    "is_tracing",
    "script_if_tracing",
    "unused",
]

globals().update(
    _planned.names(
        __name__,
        """CompilationUnit Error Future RecursiveScriptModule ScriptFunction ScriptModule
        enable_onednn_fusion export_opnames fork freeze interface isinstance load
        onednn_fusion_enabled optimize_for_inference optimized_execution save script
        script_method set_fusion_strategy strict_fusion trace trace_module wait""",
        until="leave it out: the program runs as Python, and tensorlab.compile makes it fast.",
        chapter="50-script-and-trace",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def is_scripting() -> bool:
    """False: code that runs is Python.

    Examples
    --------
    >>> is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """False: nothing is being traced.

    Examples
    --------
    >>> is_tracing()
    False
    """
    return False


def ignore(drop=False, **kwargs):
    """Mark a function that `script` is to leave as Python: return it. `@ignore` and
    `@ignore(drop=True)` both work.

    >>> @ignore
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """
    return drop if callable(drop) else lambda function: function


def unused(fn):
    """Mark a method that `script` is to leave out: return it.

    Examples
    --------
    >>> import tensorlab
    >>> class Net(tensorlab.nn.Module):
    ...     @unused
    ...     def show(self, x):
    ...         return str(x)
    ...
    >>> Net().show(tensorlab.ones(1))
    'tensor([1.])'
    """
    return fn


def export(fn):
    """Mark a method that `script` is to compile although forward does not call it: return
    it.

    Examples
    --------
    >>> import tensorlab
    >>> class Net(tensorlab.nn.Module):
    ...     @export
    ...     def double(self, x):
    ...         return 2 * x
    ...
    >>> Net().double(tensorlab.ones(1))
    tensor([2.])
    """
    return fn


def script_if_tracing(fn):
    """Return a function that is compiled if it is first called under tracing: the function, as
    nothing traces.

    Examples
    --------
    >>> import tensorlab
    >>> double = script_if_tracing(lambda x: 2 * x)
    >>> double(tensorlab.ones(1))
    tensor([2.])
    """
    return fn


def annotate(the_type, the_value):
    """Return the value. The type is for `script`, which can't tell that of an empty list.

    >>> annotate(list[int], [])
    []
    """
    return the_value


class Attribute(typing.NamedTuple):
    """A value and its type, for `script`."""

    value: typing.Any
    type: typing.Any
