"""What `Module.state_dict` and `load_state_dict` do: a module's tensors, by dotted name.

Loading has two passes: the first compares the whole state dict with the module and writes
nothing, the second copies.  So a checkpoint that does not fit leaves the model as it was.
"""

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from .._core.hooks import RemovableHandle
from .._pitfalls import pointed
from .._tensor import Tensor
from ..autograd import no_grad
from ..errors import what_was_meant
from .parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"
HOOKS = (
    "_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The names in which a module and a state dict differ."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class PlannedState(OrderedDict):
    """A state dict that is being loaded, with the list of what is to be written."""

    def __init__(self, items, plan):
        super().__init__(items)
        self.plan = plan


def own_state(module):
    """Yield (name, value) of a module's own parameters, then its persistent buffers."""
    for name, parameter in module._parameters.items():
        if parameter is not None:
            yield name, parameter
    for name, is_persistent in module._buffer_names.items():
        buffer = module.__dict__[name]
        if is_persistent and buffer is not None:
            yield name, buffer


class Stateful:
    """What saves and loads a module's tensors; Module inherits it."""

    # ------------------------------------------------------------ saving
    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Return parameters and persistent buffers by dotted name, detached but not copied.

        Parameters
        ----------
        destination : dict to fill, a new OrderedDict if not given
        prefix : str put before each name
        keep_vars : bool, whether to return the parameters themselves instead of detached aliases

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> {name: tuple(value.shape) for name, value in model.state_dict().items()}
        {'0.weight': (3, 2), '0.bias': (3,)}
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: destination=, prefix=, keep_vars=",
                FutureWarning,
                stacklevel=2,
            )
            options = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(
                **{"destination": destination, "prefix": prefix, "keep_vars": keep_vars, **options}
            )
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook, may_replace in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, local_metadata)
            if changed is not None and not may_replace:
                raise RuntimeError(
                    "state_dict post-hook must return None; change the dict in place"
                )
            destination = destination if changed is None else changed
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """Put this module's own tensors into a dict; a subclass may save others or under other names."""
        for name, value in own_state(self):
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if has_extra_state(self, "get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def get_extra_state(self):
        """Return what else is to be saved, anything; a subclass defines it, and `set_extra_state`.

        Examples
        --------
        >>> from tensorlab import nn
        >>> class Counting(nn.Module):
        ...     calls = 0
        ...     def get_extra_state(self):
        ...         return self.calls
        ...     def set_extra_state(self, state):
        ...         self.calls = state
        ...
        >>> Counting().state_dict()
        OrderedDict([('_extra_state', 0)])
        """
        raise RuntimeError(
            f"{type(self).__name__}: reached a code path of get_extra_state that should be defined by the subclass"
        )

    def set_extra_state(self, state):
        """Take what `get_extra_state` returned out of a state dict.

        Examples
        --------
        >>> from tensorlab import nn
        >>> class Counting(nn.Module):
        ...     calls = 0
        ...     def get_extra_state(self):
        ...         return self.calls
        ...     def set_extra_state(self, state):
        ...         self.calls = state
        ...
        >>> net = Counting()
        >>> net.load_state_dict({"_extra_state": 7})
        <All keys matched successfully>
        >>> net.calls
        7
        """
        raise RuntimeError(
            f"{type(self).__name__}: reached a code path of set_extra_state that should be defined by the subclass"
        )

    # ------------------------------------------------------------ loading
    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy values from a state dict into this module; on an error nothing is changed.

        Parameters
        ----------
        state_dict : mapping of dotted name to Tensor
        strict : bool, whether missing and unexpected names are errors
        assign : bool, whether to take the given tensors themselves, as they are

        Returns
        -------
        named tuple (missing_keys, unexpected_keys)

        Raises
        ------
        RuntimeError
            If shapes differ, a value is not a tensor, or (strict) names do.

        Examples
        --------
        >>> from tensorlab import nn
        >>> model, again = nn.Linear(2, 3), nn.Linear(2, 3)
        >>> again.load_state_dict(model.state_dict())
        <All keys matched successfully>
        >>> bool((again.weight == model.weight).all())
        True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: state_dict is of type {type(state_dict).__name__}; expected a dict "
                f"of names and tensors, as state_dict() returns{what_was_meant(state_dict)}"
            )
        comparison = Comparison(state_dict, assign)
        comparison.visit(self)
        plan, problems = comparison.plan, comparison.problems
        names = _IncompatibleKeys(comparison.missing, comparison.unexpected)
        hooks = comparison.post_hooks
        if problems or not hooks:  # hooks may still take names off the lists
            check(self, names, problems, strict)
        before = [step.current_values() for step in plan] if hooks else []
        for step in plan:
            step.write()
        try:
            for module, hook in hooks:
                if hook(module, names) is not None:
                    raise AssertionError(
                        "load_state_dict post-hook: a hook is not expected to return a value; if incompatible_keys "
                        "need to be modified, do it in place"
                    )
            check(self, names, problems, strict)
        except Exception:
            for step, values in zip(plan, before, strict=True):
                step.restore(values)
            raise
        return names

    def _load_from_state_dict(
        self,
        state_dict,
        prefix,
        local_metadata,
        strict,
        missing_keys,
        unexpected_keys,
        error_msgs,
    ):
        """Compare this module's own tensors with a state dict, and plan to copy; a subclass may rename or add.

        Parameters
        ----------
        state_dict : dict that may be changed; called with one that `load_state_dict` did not make, this method
            writes at once
        prefix : str in front of this module's names
        local_metadata : dict with "version", if the state dict has it
        strict : bool, whether to note what is missing and unexpected
        missing_keys, unexpected_keys, error_msgs : lists to add to
        """
        arguments = state_dict, prefix, local_metadata, strict
        arguments += missing_keys, unexpected_keys, error_msgs
        for hook, with_module in self._load_state_dict_pre_hooks.values():
            hook(self, *arguments) if with_module else hook(*arguments)
        own = dict(own_state(self))
        assigns = local_metadata.get("assign_to_params_buffers", False)
        steps = []
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                step = TensorStep(self, name, key, state_dict[key], assigns)
                problem = step.problem(current)
                error_msgs.append(problem) if problem else steps.append(step)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if has_extra_state(self, "set_extra_state"):
            if extra in state_dict:
                steps.append(ExtraStep(self, state_dict[extra]))
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            unexpected_keys += (
                key
                for key in state_dict
                if key.startswith(prefix)
                and key != extra
                and not leads_on(self, own, key[len(prefix) :])
            )
        if hasattr(state_dict, "plan"):
            state_dict.plan.extend(steps)
        else:
            for step in steps:
                step.write()

    # ------------------------------------------------------------ hooks
    def register_state_dict_pre_hook(self, hook):
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects; return a handle.

        Examples
        --------
        >>> from tensorlab import nn
        >>> net = nn.Linear(2, 1)
        >>> _ = net.register_state_dict_pre_hook(lambda net, prefix, keep_vars: print("saving"))
        >>> list(net.state_dict())
        saving
        ['weight', 'bias']
        """
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata)` after it collected; return a handle.

        The hook changes the dict in place and returns None.

        Examples
        --------
        >>> from tensorlab import nn
        >>> net = nn.Linear(2, 1)
        >>> def halve(net, state_dict, prefix, metadata):
        ...     state_dict["weight"] = state_dict["weight"].half()
        ...
        >>> handle = net.register_state_dict_post_hook(halve)
        >>> net.state_dict()["weight"].dtype
        tensorlab.float16
        """
        return add_hook(self._state_dict_hooks, (hook, False))

    def _register_state_dict_hook(self, hook):
        """Call a hook after `state_dict` collected, and use the dict that it returns."""
        return add_hook(self._state_dict_hooks, (hook, True))

    def register_load_state_dict_pre_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)` before a state dict is loaded; it may change the dict.  Returns a handle.

        Examples
        --------
        >>> from tensorlab import nn
        >>> net = nn.Linear(2, 1)
        >>> def rename(net, state_dict, prefix, *others):  # what an older program saved
        ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
        ...
        >>> handle = net.register_load_state_dict_pre_hook(rename)
        >>> net.load_state_dict({"kernel": net.weight, "bias": net.bias})
        <All keys matched successfully>
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        """Call a hook before a state dict is loaded, with the module in front if `with_module`."""
        return add_hook(self._load_state_dict_pre_hooks, (hook, with_module))

    def register_load_state_dict_post_hook(self, hook):
        """Call `hook(module, incompatible_keys)` after loading; it may take names off. Returns a handle.

        Examples
        --------
        >>> from tensorlab import nn
        >>> net = nn.Linear(2, 1)
        >>> forgive = lambda net, keys: keys.missing_keys.clear()
        >>> handle = net.register_load_state_dict_post_hook(forgive)
        >>> net.load_state_dict({"weight": net.weight})
        <All keys matched successfully>
        """
        return add_hook(self._load_state_dict_post_hooks, hook)


class Comparison:
    """What a state dict has for a module and all modules in it: the first pass of loading.

    An object and not an inner function: a function that calls itself by name holds itself, and
    with it the modules, until the collector comes.
    """

    def __init__(self, state_dict, assign):
        self.state_dict, self.assign = state_dict, assign
        self.metadata = getattr(state_dict, "_metadata", None) or {}
        self.missing, self.unexpected, self.problems = [], [], []
        self.plan, self.post_hooks = [], []

    def visit(self, module, prefix="", part=None):
        """Compare a module with its part of the state dict, then those in it."""
        state = PlannedState(self.state_dict if part is None else part, self.plan)
        local_metadata = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            local_metadata["assign_to_params_buffers"] = True
        lists = self.missing, self.unexpected, self.problems
        module._load_from_state_dict(state, prefix, local_metadata, True, *lists)
        for name, child in module._modules.items():
            if child is not None:
                start = f"{prefix}{name}."
                inner = {key: value for key, value in state.items() if key.startswith(start)}
                self.visit(child, start, inner)
        self.post_hooks += [(module, h) for h in module._load_state_dict_post_hooks.values()]


def add_hook(hooks, hook):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def has_extra_state(module, method):
    return getattr(type(module), method) is not getattr(Stateful, method)


def leads_on(module, own, name):
    """Say whether a name is a module's own tensor, or begins with the name of a module in it."""
    first, dot, _ = name.partition(".")
    return first in module._module_names if dot else first in own


def check(module, names, problems, strict):
    """Raise if a state dict does not fit."""
    problems = list(problems)
    if strict and names.unexpected_keys:
        problems.insert(0, f"Unexpected key(s) in state_dict: {quoted(names.unexpected_keys)}. ")
    if strict and names.missing_keys:
        problems.insert(0, f"Missing key(s) in state_dict: {quoted(names.missing_keys)}. ")
    if problems:
        lines = "\n\t".join(problems)
        raise pointed(
            RuntimeError(
                f"load_state_dict: Error(s) in loading state_dict for {module._get_name()}:\n\t{lines}"
            )
        )


class TensorStep:
    """One tensor to write: a parameter or buffer, and what it gets."""

    def __init__(self, owner, name, key, given, assigns):
        self.owner, self.name, self.key, self.given, self.assigns = owner, name, key, given, assigns

    def problem(self, current):
        """Say why the given value does not fit; "" if it does."""
        given = self.given
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{self.key}", expected a Tensor '
                f"from checkpoint but received {type(given)}"
            )
        if is_lazy(current) or is_lazy(given):
            return (
                ""
                if is_lazy(current)
                else f"{self.key}: the tensor in the checkpoint is not initialized"
            )
        if current.dim() == 0 and given.shape == (1,):  # as older versions saved numbers
            given = self.given = given[0]
        if given.shape != current.shape:
            return (
                f"size mismatch for {self.key}: copying a param with shape {given.shape} from "
                f"checkpoint, the shape in current model is {current.shape}."
            )
        return ""

    def current_values(self):
        current = self.owner.__dict__[self.name]
        return current if self.assigns or is_lazy(current) else current.detach().clone()

    def write(self):
        """Copy the value, or make it the parameter."""
        if self.assigns:
            assign_tensor(self.owner, self.name, self.given)
            return
        current = self.owner.__dict__[self.name]
        if is_lazy(current):
            return
        if current.is_meta and not self.given.is_meta:
            warnings.warn(
                f"load_state_dict: {self.key} is on 'meta', where values cannot be copied to; "
                f"call to_empty(device='cpu') before, or load with assign=True",
                stacklevel=3,
            )
        with no_grad():
            current.copy_(self.given)

    def restore(self, values):
        if self.assigns:
            self.owner.__dict__[self.name] = values
        elif not is_lazy(values):
            with no_grad():
                self.owner.__dict__[self.name].copy_(values)


class ExtraStep:
    """The extra state of a module to set."""

    def __init__(self, owner, state):
        self.owner, self.state = owner, state

    def current_values(self):
        return None

    def write(self):
        self.owner.set_extra_state(self.state)

    def restore(self, values):
        """What a module's own code set cannot be undone."""


def assign_tensor(owner, name, given):
    """Make the given tensor itself the parameter or buffer; who trains stays as it was."""
    current = owner.__dict__[name]
    if isinstance(current, Parameter):
        if isinstance(given, Parameter):
            given.requires_grad_(current.requires_grad)
        else:
            given = Parameter(given, current.requires_grad)
    owner.__dict__[name] = given


def quoted(names):
    return ", ".join(f'"{name}"' for name in names)
