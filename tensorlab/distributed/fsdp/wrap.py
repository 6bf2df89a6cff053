"""Policies: which parts of a model are sharded for themselves, and so gathered one after the other."""

import abc
import contextlib
import copy
import functools
import threading
from typing import Any

from tensorlab.nn.container import ModuleDict, ModuleList
from tensorlab.nn.multihead_attention import MultiheadAttention

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

ENABLED = threading.local()  # .settings: the class and the arguments of the block that `wrap` is in


class _Policy(abc.ABC):
    """The base of policies that say it of all parts at once."""

    @abc.abstractmethod
    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        """Return a dict of each module to be wrapped to the arguments for it."""


class ModuleWrapPolicy(_Policy):
    """Wrap each module of some classes.

    Parameters
    ----------
    module_classes : iterable of classes

    Examples
    --------
    >>> from tensorlab import nn
    >>> policy = ModuleWrapPolicy({nn.Linear})
    >>> policy(nn.Linear(1, 1), recurse=False), policy(nn.ReLU(), recurse=False)
    (True, False)
    """

    def __init__(self, module_classes):
        self._module_classes = set(module_classes)

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        return {
            one: copy.copy(root_kwargs)
            for one in root_module.modules()
            if one not in ignored_modules and isinstance(one, tuple(self._module_classes))
        }

    def __call__(self, module, recurse, *args, **kwargs):
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self):
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """Wrap each module for which a function says so.

    Parameters
    ----------
    lambda_fn : function(module), which returns a bool, or a dict of arguments for that module
    """

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        found = {}
        for one in root_module.modules():
            if one in ignored_modules:
                continue
            answer = self._lambda_fn(one)
            if not isinstance(answer, (dict, bool)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or a kwarg "
                    f"dict, but it returned {answer}"
                )
            if answer:
                found[one] = {**root_kwargs, **(answer if isinstance(answer, dict) else {})}
        return found


def always_wrap_policy(*args, **kwargs):
    """Wrap every module."""
    return True


def lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, lambda_fn):
    """Wrap a module if `lambda_fn(module)` is true; to be used with functools.partial."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls):
    """Wrap a module if it's of one of some classes; to be used with functools.partial."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module,
    recurse,
    nonwrapped_numel,
    min_num_params=int(1e8),
    force_leaf_modules=None,
    exclude_wrap_modules=None,
):
    """Wrap a module if it has at least `min_num_params` elements in parameters that no part of it has
    for itself; to be used with functools.partial.

    Parameters
    ----------
    module : Module
    recurse : bool; True asks whether to look at its parts, False whether to wrap it
    nonwrapped_numel : int, how many elements are left
    min_num_params : int
    force_leaf_modules : set of classes whose parts aren't looked at; MultiheadAttention
    exclude_wrap_modules : set of classes that aren't wrapped; ModuleList and ModuleDict
    """
    chosen: Any = size_based_auto_wrap_policy
    leaves = chosen.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    excluded = chosen.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    is_large = nonwrapped_numel >= min_num_params
    return is_large and not isinstance(module, tuple(leaves if recurse else excluded))


vars(size_based_auto_wrap_policy).update(
    EXCLUDE_WRAP_MODULES={ModuleList, ModuleDict}, FORCE_LEAF_MODULES={MultiheadAttention}
)


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls, **wrapper_kwargs):
    """A block in which `wrap(module)` wraps.

    Parameters
    ----------
    wrapper_cls : class, such as FullyShardedDataParallel
    wrapper_kwargs : its arguments
    """
    before = getattr(ENABLED, "settings", None)
    ENABLED.settings = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        ENABLED.settings = before


def wrap(module, **wrap_overrides):
    """Return a module wrapped as the block `enable_wrap` says; outside of one, as it is."""
    settings = getattr(ENABLED, "settings", None)
    if settings is None:
        return module
    wrapper_cls, kwargs = settings
    return wrapper_cls(module, **{**kwargs, **wrap_overrides})


def wrap_parts(module, policy, wrapper, kwargs, ignored_modules, ignored_params):
    """Wrap the parts of a module, but not itself, as a policy says.

    Parameters
    ----------
    policy : ModuleWrapPolicy, CustomPolicy, or function(module, recurse, nonwrapped_numel)
    wrapper : class, called as `wrapper(part, **kwargs)`
    """
    if isinstance(policy, _Policy):
        wanted = policy._run_policy(module, ignored_modules, kwargs)

        def replace(part):
            return wrapper(part, **wanted[part]) if part in wanted else part

        apply_below(module, replace, ignored_modules, wrapper)
        return
    ask = functools.partial(policy)
    wrap_by_size(module, ask, wrapper, kwargs, ignored_modules, ignored_params, is_root=True)


def apply_below(module, replace, ignored_modules, wrapper):
    """Replace the parts of a module, the innermost first."""
    for name, child in list(module.named_children()):
        if child in ignored_modules or isinstance(child, wrapper):
            continue
        apply_below(child, replace, ignored_modules, wrapper)
        setattr(module, name, replace(child))


def wrap_by_size(module, ask, wrapper, kwargs, ignored_modules, ignored_params, is_root=False):
    """Wrap parts by a policy that is a function; return the module, and how many elements of its
    parameters are wrapped."""
    if isinstance(module, wrapper):
        return module, sum(one.numel() for one in module.parameters())
    total = sum(one.numel() for one in module.parameters() if one not in ignored_params)
    if not ask(module=module, recurse=True, nonwrapped_numel=total):
        return module, 0
    wrapped = 0
    for name, child in list(module.named_children()):
        if child in ignored_modules:
            continue
        made, count = wrap_by_size(child, ask, wrapper, kwargs, ignored_modules, ignored_params)
        setattr(module, name, made)
        wrapped += count
    if not is_root and ask(module=module, recurse=False, nonwrapped_numel=total - wrapped):
        return wrapper(module, **kwargs), total
    return module, wrapped
