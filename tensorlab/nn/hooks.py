"""Functions that run around a module's forward: how they are stored, ordered and removed."""

from .._core.hooks import RemovableHandle


def add_hook(hooks, hook, prepend, with_kwargs):
    """Add a hook to an OrderedDict, last or with `prepend` first; return its handle."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = (hook, with_kwargs)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def call_with_hooks(module, args, kwargs):
    """Call `module.forward` between its pre-hooks and its hooks.

    A pre-hook may return new arguments, a hook a new result; None leaves them as they are.
    """
    for hook, with_kwargs in tuple(module._forward_pre_hooks.values()):
        if with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                args, kwargs = _args_and_kwargs(changed)
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    result = module.forward(*args, **kwargs)
    for hook, with_kwargs in tuple(module._forward_hooks.values()):
        if with_kwargs:
            changed = hook(module, args, kwargs, result)
        else:
            changed = hook(module, args, result)
        if changed is not None:
            result = changed
    return result


def _args_and_kwargs(changed):
    if isinstance(changed, tuple) and len(changed) == 2:
        return changed
    raise RuntimeError(
        f"forward pre-hook: returned {type(changed).__name__} {changed!r}; a hook registered "
        "with_kwargs=True must return None or a tuple (args, kwargs)"
    )
