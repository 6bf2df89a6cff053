"""Functions that run around a module's forward, and around its part of backward.

A module keeps its hooks in dicts, one for each kind, under a number that their handle knows; there are dicts of the
same kinds for hooks of all modules.  A call without any hook tests one flag, `_is_hooked`, and runs forward:

    forward pre-hooks        of all modules, then the module's own; may replace the arguments
    forward                  between two identities, if there are backward hooks (backward_hooks.py)
    forward hooks            of all modules, then the module's own; may replace the result
"""

import functools
import warnings
from collections import OrderedDict

from .._core.hooks import RemovableHandle
from .backward_hooks import ModuleGradients, hook_last_node

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

KINDS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
OPTIONS = (
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
)


class HookHandle(RemovableHandle):
    """Takes a hook out of its dict, and its options out of theirs."""

    def remove(self):
        """Take the hook away; a second call does nothing."""
        super().remove()
        Hooked._is_hooked = any(ALL[kind] for kind in KINDS)


def add_hook(owner, kind, hook, prepend=False, **options):
    """Put a hook into a dict of `owner`, last or with `prepend` first; return its handle.

    Parameters
    ----------
    owner : dict of the dicts: the `__dict__` of a module, or ALL
    kind : str, one of KINDS
    hook : callable
    prepend : bool
    **options : bool; those that are True are noted beside the hook
    """
    hooks = owner[kind]
    flags = [owner[f"{kind}_{option}"] for option, is_set in options.items() if is_set]
    handle = HookHandle(hooks, extra_dict=flags)
    hooks[handle.id] = hook
    for one in flags:
        one[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    if owner is ALL:
        Hooked._is_hooked = True
    else:
        owner["_is_hooked"] = True
    return handle


def no_hooks():
    """Return empty dicts of all kinds, by name."""
    return {name: OrderedDict() for name in (*KINDS, *OPTIONS)}


class Hooked:
    """What calls a module's forward and its hooks; Module inherits it."""

    _is_hooked = (
        False  # True in a module with hooks, or in this class while there are hooks of all modules
    )
    _is_full_backward_hook = None  # which of the two kinds of backward hooks a module has
    _compiled_call_impl = None  # what a call of a compiled module goes to
    _hears_hooks_of_all = True  # those that are registered for all modules

    def __call__(self, *args, **kwargs):
        if self._is_hooked:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_as_python(self, *args, **kwargs):
        """What a call does without the compiler."""
        if self._is_hooked:
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args)` before each forward; what it returns replaces `args`.

        With `with_kwargs` it is called as `hook(module, args, kwargs)` and returns None or both.
        Returns a handle whose `remove()` takes the hook out.

        Examples
        --------
        >>> import tensorlab
        >>> layer = tensorlab.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (-args[0],))
        >>> layer(tensorlab.tensor([-1.0, 2.0]))
        tensor([1., 0.])
        """
        return add_hook(self.__dict__, "_forward_pre_hooks", hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(module, args, result)` after each forward; what it returns is the new result.

        With `with_kwargs` it is called as `hook(module, args, kwargs, result)`; with `always_call` also if
        forward or a hook raised an error, with None for a result that is not there.
        Returns a handle whose `remove()` takes the hook out.

        Examples
        --------
        >>> import tensorlab
        >>> layer = tensorlab.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, result: print(result.sum().item()))
        >>> _ = layer(tensorlab.tensor([-1.0, 2.0]))
        2.0
        >>> handle.remove()
        """
        return add_hook(
            self.__dict__,
            "_forward_hooks",
            hook,
            prepend,
            with_kwargs=with_kwargs,
            always_called=always_call,
        )

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call `hook(module, grad_output)` when the gradients of the result are there, a tuple.

        What it returns, a tuple of as many, takes the place of `grad_output`.
        Returns a handle whose `remove()` takes the hook out.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> net = nn.Linear(2, 1)
        >>> handle = net.register_full_backward_pre_hook(lambda net, grads: print(grads))
        >>> net(tensorlab.ones(1, 2, requires_grad=True)).sum().backward()
        (tensor([[1.]]),)
        """
        return add_hook(self.__dict__, "_backward_pre_hooks", hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are there.

        Both are tuples, with None for what is not a tensor or needs no gradient.  What the hook returns, a tuple of
        as many, takes the place of `grad_input`.  Arguments and results must not be changed in place.
        Returns a handle whose `remove()` takes the hook out.

        Raises
        ------
        RuntimeError
            If the module has hooks of `register_backward_hook`.

        Examples
        --------
        >>> import tensorlab
        >>> layer = tensorlab.nn.Linear(2, 1)
        >>> def look(module, grad_input, grad_output):
        ...     print(grad_output)
        >>> handle = layer.register_full_backward_hook(look)
        >>> layer(tensorlab.ones(1, 2, requires_grad=True)).sum().backward()
        (tensor([[1.]]),)
        """
        self._set_backward_kind(True)
        return add_hook(self.__dict__, "_backward_hooks", hook, prepend)

    def register_backward_hook(self, hook):
        """Call `hook(module, grad_input, grad_output)` with the gradients of the result's last op alone.

        Deprecated: for a module of several ops, `grad_input` is that of the last; `register_full_backward_hook`
        gives the module's.  Raises RuntimeError if the module has hooks of that kind.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> net = nn.ReLU()
        >>> _ = net.register_backward_hook(lambda net, grads, grads_of_result: print(grads))
        >>> net(2 * tensorlab.ones(2, requires_grad=True)).sum().backward()
        (tensor([1., 1.]),)
        """
        self._set_backward_kind(False)
        return add_hook(self.__dict__, "_backward_hooks", hook)

    def _set_backward_kind(self, is_full):
        if self._is_full_backward_hook is (not is_full):
            raise RuntimeError(
                f"{type(self).__name__}: cannot use both regular backward hooks and full backward hooks on a single "
                "Module; use register_full_backward_hook for all of them"
            )
        self.__dict__["_is_full_backward_hook"] = is_full


ALL = {**no_hooks(), "_is_full_backward_hook": None}  # hooks of all modules


# ------------------------------------------------------------ calling
def has_hooks(module):
    """Whether a module has hooks of its own."""
    return bool(
        module._forward_pre_hooks
        or module._forward_hooks
        or module._backward_pre_hooks
        or module._backward_hooks
    )


def call_with_hooks(module, args, kwargs):
    """Call `module.forward` between its hooks and those of all modules."""
    own = module.__dict__
    if not (Hooked._is_hooked or has_hooks(module)):
        if "_compiled_call_impl" not in own:
            # its hooks have been removed; the next call is as fast as any
            own.pop("_is_hooked", None)
        return module.forward(*args, **kwargs)
    call = [args, kwargs, None]  # what hooks that are always called get to see
    pending = always_called(module)
    try:
        return run(module, call, pending)
    except Exception:
        args, kwargs, result = call
        for hook, takes_kwargs in pending.values():
            try:
                changed = (
                    hook(module, args, kwargs, result)
                    if takes_kwargs
                    else hook(module, args, result)
                )
                result = result if changed is None else changed
            except Exception as error:
                warnings.warn(
                    "forward hook with always_call=True raised an exception that was silenced as another error was "
                    f"raised in forward: {error}",
                    stacklevel=3,
                )
        raise


def always_called(module):
    """Return {id: (hook, whether it takes keyword arguments)} of the hooks to call after an error, too."""
    return {
        key: (owner["_forward_hooks"][key], key in owner["_forward_hooks_with_kwargs"])
        for owner in owners_of(module)
        for key in owner["_forward_hooks_always_called"]
        if key in owner["_forward_hooks"]
    }


def run(module, call, pending):
    args, kwargs, _ = call
    for _, hook, takes_kwargs in hooks_of(module, "_forward_pre_hooks"):
        if takes_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                args, kwargs = args_and_kwargs(changed)
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        call[:2] = args, kwargs
    full, of_last_node = backward_hooks(module)
    before = [hook for owner in owners_of(module) for hook in owner["_backward_pre_hooks"].values()]
    gradients = ModuleGradients(module, full, before) if full or before else None
    if gradients is not None:
        args = gradients.watch_inputs(args)
    result = call[2] = module.forward(*args, **kwargs)
    for key, hook, takes_kwargs in hooks_of(module, "_forward_hooks"):
        pending.pop(key, None)
        changed = hook(module, args, kwargs, result) if takes_kwargs else hook(module, args, result)
        if changed is not None:
            result = call[2] = changed
    if gradients is not None:
        result = gradients.watch_outputs(result)
    if of_last_node:
        hook_last_node(module, of_last_node, args, result)
    return result


def owners_of(module):
    """The dicts whose hooks run around a module's forward: those of all modules, then its own."""
    return (ALL, module.__dict__) if module._hears_hooks_of_all else (module.__dict__,)


def hooks_of(module, kind):
    """Return (id, hook, whether it takes keyword arguments) of all modules' hooks, then of this one's."""
    return [
        (key, hook, key in owner[f"{kind}_with_kwargs"])
        for owner in owners_of(module)
        for key, hook in owner[kind].items()
    ]


def backward_hooks(module):
    """Return the full backward hooks, and those of the last node."""
    found = {True: [], False: []}
    for owner in owners_of(module):
        hooks = owner["_backward_hooks"]
        if hooks:
            found[owner["_is_full_backward_hook"]] += hooks.values()
    return found[True], found[False]


def args_and_kwargs(changed):
    if isinstance(changed, tuple) and len(changed) == 2:
        return changed
    raise RuntimeError(
        f"forward pre-hook: returned {type(changed).__name__} {changed!r}; a hook registered "
        "with_kwargs=True must return None or a tuple (args, kwargs)"
    )


# ------------------------------------------------------------ hooks of all modules
def register_module_forward_pre_hook(hook):
    """Call `hook(module, args)` before the forward of every module; return a handle."""
    return add_hook(ALL, "_forward_pre_hooks", hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call `hook(module, args, result)` after the forward of every module; return a handle."""
    return add_hook(ALL, "_forward_hooks", hook, with_kwargs=with_kwargs, always_called=always_call)


def register_module_full_backward_pre_hook(hook):
    """Call `hook(module, grad_output)` in the backward of every module; return a handle."""
    return add_hook(ALL, "_backward_pre_hooks", hook)


def register_module_full_backward_hook(hook):
    """Call `hook(module, grad_input, grad_output)` in the backward of every module; return a handle.

    Raises RuntimeError if there are hooks of `register_module_backward_hook`.
    """
    return add_to_all_backward(hook, True)


def register_module_backward_hook(hook):
    """Call `hook(module, grad_input, grad_output)` for the last op of every module; deprecated.

    Raises RuntimeError if there are hooks of `register_module_full_backward_hook`.
    """
    return add_to_all_backward(hook, False)


def add_to_all_backward(hook, is_full):
    if ALL["_backward_hooks"] and ALL["_is_full_backward_hook"] is not is_full:
        raise RuntimeError(
            "cannot use both regular backward hooks and full backward hooks as global Module hooks; use "
            "register_module_full_backward_hook for all of them"
        )
    ALL["_is_full_backward_hook"] = is_full
    return add_hook(ALL, "_backward_hooks", hook)


# ------------------------------------------------------------ hooks of registration
REGISTRATION: dict[str, OrderedDict] = {
    kind: OrderedDict() for kind in ("parameter", "buffer", "module")
}


def registered(kind, module, name, value):
    """Return what is to be registered: `value`, or what the hooks of this kind made of it."""
    for hook in REGISTRATION[kind].values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def _register_registration_hook(kind, hook):
    handle = RemovableHandle(REGISTRATION[kind])
    REGISTRATION[kind][handle.id] = hook
    return handle


register_module_parameter_registration_hook = functools.partial(
    _register_registration_hook, "parameter"
)
register_module_buffer_registration_hook = functools.partial(_register_registration_hook, "buffer")
register_module_module_registration_hook = functools.partial(_register_registration_hook, "module")
