"""`wrap`: functions that a tracer sees as one step, although it could look into them or they refuse proxies."""

import inspect

__all__ = ["wrap"]

# {name: the names in it that are replaced while a program is traced}; a key is the `__dict__` of a
# module, by identity.
_wrapped_fns_to_patch: dict = {}


def wrap(fn_or_name):
    """Let calls of a function be one node of every graph, instead of what they do inside.

    Call it beside the function, at the level of the module, or write it above the function as a
    decorator.  It is for functions of numbers, such as `math.sqrt`, which a proxy cannot go
    through, and for whatever should stay whole.

    Parameters
    ----------
    fn_or_name : function, or its name in the module that calls `wrap`

    Raises
    ------
    RuntimeError
        If it is neither.
    NotImplementedError
        If it is not called at the level of a module.

    Examples
    --------
    ::

        wrap("len")

        @wrap
        def scaled(x, factor):
            return x * factor if factor > 1 else x
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name; "
            f"wrap was given a {type(fn_or_name).__name__}"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _, names = _wrapped_fns_to_patch.setdefault(id(frame.f_globals), (frame.f_globals, {}))
    names[name] = None
    return fn_or_name
