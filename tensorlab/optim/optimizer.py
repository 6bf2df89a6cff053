"""Optimizer: what all optimizers share, so that each of them only has to say its update.

An optimizer has `param_groups`, a list of dicts: the parameters of a group under "params", and the
options that hold for them ("lr", ...).  What it remembers of a parameter from step to step is in
`state[parameter]`, a dict.  Both are plain data: schedulers change `param_groups`, and `state_dict`
writes parameters as numbers, their positions in the order of the groups.
"""

import copy
import functools
import inspect
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping
from itertools import chain

import numpy as np

from .._core.device import strided
from .._core.dispatch.layers import takes_part
from .._core.hooks import RemovableHandle
from .._core.interop.exchange import tensor
from .._core.profiling import Range, is_recording
from .._pitfalls import pointed
from .._tensor import Tensor
from ..autograd import enable_grad, set_grad_enabled
from ..errors import listed, what_was_meant
from ..nn.parameter import clear_gradients
from ..ops.optim_steps import any_complex
from .complex_parameters import update_real_parts

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]

HOOKS = tuple(
    f"_optimizer_{of}_{when}_hooks"
    for of in ("step", "state_dict", "load_state_dict")
    for when in ("pre", "post")
)
ALL_BEFORE: OrderedDict = OrderedDict()  # hooks of the steps of all optimizers
ALL_AFTER: OrderedDict = OrderedDict()


def made_when_missing():
    """Return an attribute for the hooks of a subclass that calls no `super().__init__`, and of an older pickle."""
    return functools.cached_property(lambda self: OrderedDict())


class _Required:
    """The default of an option that each group must give."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


def add_hook(hooks, hook):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_optimizer_step_pre_hook(hook):
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer; return a handle."""
    return add_hook(ALL_BEFORE, hook)


def register_optimizer_step_post_hook(hook):
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer; return a handle."""
    return add_hook(ALL_AFTER, hook)


def between_hooks(step):
    """Return a method `step` that calls the hooks around it; one called by another calls none."""

    @functools.wraps(step)
    def hooked(*args, **kwargs):
        self = args[0]  # hooks see all arguments, this one too
        self._opt_called = True  # schedulers warn if they come first
        before = [*ALL_BEFORE.values(), *self._optimizer_step_pre_hooks.values()]
        after = [*self._optimizer_step_post_hooks.values(), *ALL_AFTER.values()]
        if self._is_stepping or not (before or after or is_recording()):
            return step(*args, **kwargs)
        with Range(f"Optimizer.step#{type(self).__name__}.step"):
            return step_with_hooks(step, args, kwargs, before, after)

    return hooked


def step_with_hooks(step, args, kwargs, before, after):
    """Call hooks, the step, and hooks."""
    self = args[0]
    for hook in before:
        changed = hook(self, args, kwargs)
        if changed is not None:
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                )
            args, kwargs = changed
    self._is_stepping = True
    try:
        result = step(*args, **kwargs)
    finally:
        self._is_stepping = False
    for hook in after:
        hook(self, args, kwargs)
    return result


class Optimizer:
    """Base class of optimizers.

    Parameters
    ----------
    params : iterable of Tensors, or of dicts {"params": Tensors, option: value, ...}
    defaults : dict, the options of groups that do not give their own

    Raises
    ------
    TypeError
        If `params` is a tensor, or has something other than tensors and dicts.
    ValueError
        If there is no parameter, one is in two groups, or one is not a leaf.

    Notes
    -----
    A subclass defines `update_group(group)`, which changes the parameters of one group that have a
    gradient.

    Examples
    --------
    >>> import tensorlab
    >>> class SignDescent(Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     def update_group(self, group):
    ...         for param in group["params"]:
    ...             if param.grad is not None:
    ...                 with tensorlab.no_grad():
    ...                     param -= group["lr"] * param.grad.sign()
    >>> x = tensorlab.tensor([3.0, -2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> SignDescent([x], lr=0.5).step()
    >>> x
    tensor([ 2.5000, -1.5000], requires_grad=True)
    """

    _is_stepping = False
    _optimizer_step_pre_hooks = made_when_missing()
    _optimizer_step_post_hooks = made_when_missing()
    _optimizer_state_dict_pre_hooks = made_when_missing()
    _optimizer_state_dict_post_hooks = made_when_missing()
    _optimizer_load_state_dict_pre_hooks = made_when_missing()
    _optimizer_load_state_dict_post_hooks = made_when_missing()
    _scalars: tuple = ()  # what is a number for each parameter, such as "step"; older files have no tensors there

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = between_hooks(cls.step)

    def __init__(self, params, defaults):
        for name in HOOKS:
            setattr(self, name, OrderedDict())
        if isinstance(params, Tensor):
            raise pointed(
                TypeError(
                    f"{type(self).__name__}: params is a {type(params).__name__}; expected an iterable "
                    "of tensors or dicts, such as [x] or model.parameters()"
                )
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = listed(type(self).__name__, "params", params)
        if not groups:
            raise pointed(
                ValueError(f"{type(self).__name__}: optimizer got an empty parameter list")
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Add parameters with options of their own, such as a layer that is unfrozen later.

        Raises TypeError and ValueError as the class does.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import nn
        >>> body, head = nn.Linear(4, 2), nn.Linear(2, 1)
        >>> optimizer = tensorlab.optim.SGD(head.parameters(), lr=0.1)
        >>> optimizer.add_param_group({"params": body.parameters(), "lr": 0.001})
        >>> [(len(group["params"]), group["lr"]) for group in optimizer.param_groups]
        [(2, 0.1), (2, 0.001)]
        """
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(
                f"{name}: a parameter group is {type(param_group).__name__}, not a dict"
            )
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(f"{name}: params is a set, whose order changes; give a list")
        params = [given] if isinstance(given, Tensor) else listed(name, "params", given)
        names = [param[0] for param in params if isinstance(param, tuple)]
        if names and len(names) < len(params):
            raise ValueError(
                f"{name}: all optimizer params should be with/without names. Some param names are missing"
            )
        params = [param[1] if isinstance(param, tuple) else param for param in params]
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    f"{name}: a parameter is of type {type(param).__name__}; expected a Tensor"
                    f"{what_was_meant(param)}"
                )
            if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
                raise pointed(
                    ValueError(
                        f"{name}: can't optimize a non-leaf Tensor; it is computed from others by "
                        f"{param.grad_fn.name()}. Give those, or x.detach().requires_grad_()"
                    )
                )
        identities = {id(param) for param in params}
        if len(identities) < len(params):
            warnings.warn(
                f"{name}: a parameter is twice in one group and will be updated twice a step",
                stacklevel=3,
            )
        known = {id(param) for group in self.param_groups for param in group["params"]}
        if not known.isdisjoint(identities):
            raise ValueError(f"{name}: some parameters appear in more than one parameter group")
        # the order of keys is seen in state_dict(): the group's own first, as PyTorch writes them
        group = {**param_group, "params": params}
        if names:
            group["param_names"] = names
        for option, value in self.defaults.items():
            if value is required and option not in group:
                raise ValueError(
                    f"{name}: parameter group didn't specify a value of required optimization parameter {option}"
                )
            group.setdefault(option, value)
        for other in self.param_groups:
            if ("param_names" in group) != ("param_names" in other):
                kind = "with names" if names else "without names"
                raise ValueError(
                    f"{name}: all optimizer param groups should be with/without names. Cannot add param group {kind} "
                    "to the optimizer"
                )
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters, or with `set_to_none=False` fill them with 0.

        Examples
        --------
        >>> import tensorlab
        >>> x = tensorlab.tensor([3.0], requires_grad=True)
        >>> optimizer = tensorlab.optim.SGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.zero_grad()
        >>> x.grad is None
        True
        """
        if is_recording():
            with Range(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
                self._clear_gradients(set_to_none)
        else:
            self._clear_gradients(set_to_none)

    def _clear_gradients(self, set_to_none):
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    @between_hooks
    def step(self, closure=None):
        """Change every parameter that has a gradient.

        Parameters
        ----------
        closure : callable or None
            Computes the loss again, gradients included; called first, with recording on.

        Returns
        -------
        what the closure returned, or None

        Examples
        --------
        >>> import tensorlab
        >>> x = tensorlab.tensor([3.0], requires_grad=True)
        >>> optimizer = tensorlab.optim.SGD([x], lr=0.1)
        >>> (x * x).sum().backward()
        >>> optimizer.step()
        >>> x.detach()
        tensor([2.4000])
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            for group in self.param_groups:
                if takes_part():  # a tensor of a class with a layer is alive: it may be sparse
                    self._check_layouts(group)
                if any_complex(group["params"]):
                    self._update_complex(group)
                else:
                    self.update_group(group)
        return loss

    _takes_complex_parameters = True

    def _update_complex(self, group):
        if not self._takes_complex_parameters:
            raise RuntimeError(
                f"{type(self).__name__} does not support complex parameters; give it real ones, "
                f"such as x.real and x.imag of a model that keeps them apart, or use Adam"
            )
        update_real_parts(self, group)

    _takes_sparse_gradients = False

    def _check_layouts(self, group):
        """Raise for a sparse gradient, unless the optimizer says that it takes them."""
        if self._takes_sparse_gradients:
            return
        for param in group["params"]:
            if param.grad is not None and param.grad.layout != strided:
                raise RuntimeError(
                    f"{type(self).__name__} does not support sparse gradients, please consider "
                    f"SparseAdam instead; or SGD or Adagrad, or make the gradient dense with "
                    f"sparse=False"
                )

    def update_group(self, group):
        """Change the parameters of one group; every subclass defines its own."""
        raise NotImplementedError(f"{type(self).__name__}: has no update_group; define it")

    # ------------------------------------------------------------ hooks
    def register_step_pre_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new ones. Returns a handle.

        Examples
        --------
        >>> import tensorlab
        >>> w = tensorlab.nn.Parameter(tensorlab.ones(2))
        >>> optimizer = tensorlab.optim.SGD([w], lr=0.1)
        >>> handle = optimizer.register_step_pre_hook(lambda *given: print("before", w.data))
        >>> w.sum().backward()
        >>> optimizer.step()
        before tensor([1., 1.])
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` after each step; return a handle.

        Examples
        --------
        >>> import tensorlab
        >>> w = tensorlab.nn.Parameter(tensorlab.ones(2))
        >>> optimizer = tensorlab.optim.SGD([w], lr=0.1)
        >>> handle = optimizer.register_step_post_hook(lambda *given: print("after", w.data))
        >>> w.sum().backward()
        >>> optimizer.step()
        after tensor([0.9000, 0.9000])
        """
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call `hook(optimizer)` before `state_dict` collects; return a handle.

        Examples
        --------
        >>> import tensorlab
        >>> optimizer = tensorlab.optim.SGD([tensorlab.nn.Parameter(tensorlab.ones(2))], lr=0.1)
        >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print("saving"))
        >>> len(optimizer.state_dict())
        saving
        2
        """
        return add_state_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call `hook(optimizer, state_dict)` after it collected; it may return another. Returns a handle.

        Examples
        --------
        >>> import tensorlab
        >>> optimizer = tensorlab.optim.SGD([tensorlab.nn.Parameter(tensorlab.ones(2))], lr=0.1)
        >>> noted = lambda optimizer, state: {**state, "epoch": 3}
        >>> handle = optimizer.register_state_dict_post_hook(noted)
        >>> optimizer.state_dict()["epoch"]
        3
        """
        return add_state_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call `hook(optimizer, state_dict)` before one is loaded; it may return another. Returns a handle.

        Examples
        --------
        >>> import tensorlab
        >>> optimizer = tensorlab.optim.SGD([tensorlab.nn.Parameter(tensorlab.ones(2))], lr=0.1)
        >>> names = lambda optimizer, state: print(list(state))
        >>> handle = optimizer.register_load_state_dict_pre_hook(names)
        >>> optimizer.load_state_dict(optimizer.state_dict())
        ['state', 'param_groups']
        """
        return add_state_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call `hook(optimizer)` after a state dict was loaded; return a handle.

        Examples
        --------
        >>> import tensorlab
        >>> optimizer = tensorlab.optim.SGD([tensorlab.nn.Parameter(tensorlab.ones(2))], lr=0.1)
        >>> handle = optimizer.register_load_state_dict_post_hook(lambda one: print("loaded"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        loaded
        """
        return add_state_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ------------------------------------------------------------ saving and loading
    def __getstate__(self):
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state):
        self.__dict__.update(state)
        defaults = vars(self).get("defaults", {})
        for option, value in options_of(type(self)).items():
            defaults.setdefault(option, value)
        for group in self.param_groups:
            for option, value in defaults.items():
                group.setdefault(option, copied(value))
        for values in self.state.values():
            for name in self._scalars:
                if isinstance(values, dict) and isinstance(values.get(name), (int, float)):
                    values[name] = tensor(float(values[name]))

    def _patch_step_function(self):
        """Do nothing: the hooks are around each class's step from its definition on. PyTorch puts them there."""

    def state_dict(self):
        """Return {"state": {number: dict}, "param_groups": [...]}, sharing the state's tensors.

        Examples
        --------
        >>> import tensorlab
        >>> w = tensorlab.nn.Parameter(tensorlab.ones(2))
        >>> optimizer = tensorlab.optim.SGD([w], lr=0.1, momentum=0.9)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> optimizer.state_dict()["state"]
        {0: {'momentum_buffer': tensor([1., 1.])}}
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        found = self._packed()
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, found)
            found = found if changed is None else changed
        return found

    def _packed(self):
        numbers = {}
        for param in all_params(self.param_groups):
            numbers.setdefault(id(param), len(numbers))
        return {
            "state": {
                numbers[id(key)] if isinstance(key, Tensor) else key: value
                for key, value in self.state.items()
            },
            "param_groups": [
                {
                    **{option: value for option, value in group.items() if option != "params"},
                    "params": [numbers[id(param)] for param in group["params"]],
                }
                for group in self.param_groups
            ],
        }

    def load_state_dict(self, state_dict):
        """Take over state and options as copies; floating tensors get the dtype of their parameter.

        Options that an older file lacks stay as they are.

        Raises
        ------
        ValueError
            If the groups differ in number or size; nothing is changed then.

        Examples
        --------
        >>> import tensorlab
        >>> w = tensorlab.nn.Parameter(tensorlab.ones(2))
        >>> optimizer = tensorlab.optim.SGD([w], lr=0.1)
        >>> other = tensorlab.optim.SGD([w], lr=5.0)
        >>> other.load_state_dict(optimizer.state_dict())
        >>> other.param_groups[0]["lr"]
        0.1
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: state_dict is of type {type(state_dict).__name__}; expected a dict, "
                f"as state_dict() returns{what_was_meant(state_dict)}"
            )
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in self.param_groups]
        saved_sizes = [len(group["params"]) for group in saved]
        if len(sizes) != len(saved_sizes):
            raise ValueError(
                f"load_state_dict: loaded state dict has {len(saved_sizes)} parameter groups, "
                f"a different number of parameter groups than the optimizer's {len(sizes)}"
            )
        if sizes != saved_sizes:
            raise ValueError(
                "load_state_dict: loaded state dict contains a parameter group that doesn't match "
                f"the size of optimizer's group; sizes are {saved_sizes} and {sizes}"
            )
        params = dict(zip(all_params(saved), all_params(self.param_groups), strict=True))
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = as_state_of(params[key], value)
            else:
                state[key] = copied(value)
        own = {"param_names", *vars(self).get("defaults", ())}
        self.__setstate__(
            {
                "state": state,
                "param_groups": [
                    {
                        **{key: old[key] for key in old if key in own and key not in new},
                        **copied(new),
                        "params": old["params"],
                    }
                    for old, new in zip(self.param_groups, saved, strict=True)
                ],
            }
        )
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _repr_html_(self):
        from tensorlab import _display

        return _display.optimizer(self)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            options = sorted(option for option in group if option != "params")
            lines += [f"    {option}: {group[option]}" for option in options]
            lines.append("")
        return "\n".join(lines[:-1]) + "\n)"


def all_params(groups):
    """Yield what is under "params" in each group."""
    return chain.from_iterable(group["params"] for group in groups)


def as_state_of(param, value, name=None):
    """Return a copy of a parameter's state with floating tensors in its dtype, the step count excepted."""
    if isinstance(value, Tensor):
        is_cast = name != "step" and param.is_floating_point() and value.dtype is not param.dtype
        return value.to(param.dtype) if is_cast else copied(value)
    if isinstance(value, dict):
        return {key: as_state_of(param, one, key) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return rebuilt(value, [as_state_of(param, one) for one in value])
    return copied(value)


def copied(value):
    """Return a copy of an option or a state: of tensors, arrays and containers. Other objects stay the same ones."""
    if isinstance(value, Tensor):
        is_leaf = value.requires_grad and value.is_leaf
        return value.detach().clone().requires_grad_() if is_leaf else value.clone()
    if isinstance(value, dict):
        twin = copy.copy(value)  # a Counter stays one
        for key, one in value.items():
            twin[key] = copied(one)
        return twin
    if isinstance(value, (list, tuple)):
        return rebuilt(value, [copied(one) for one in value])
    return copy.copy(value) if isinstance(value, (set, deque, np.ndarray)) else value


def rebuilt(original, parts):
    """Return a list, tuple or named tuple like another one, of other parts."""
    return type(original)(*parts) if hasattr(original, "_fields") else type(original)(parts)


@functools.cache
def options_of(cls):
    """Return the options of a class's constructor that have a default.

    Only those of this package's classes: a parameter of another class need not be an option of the groups.
    """
    found = {}
    for base in cls.__mro__:
        if base.__module__.startswith(__package__):
            for parameter in inspect.signature(base.__init__).parameters.values():
                if parameter.default is not parameter.empty:
                    found.setdefault(parameter.name, parameter.default)
    return found


def add_state_hook(hooks, hook, prepend):
    handle = add_hook(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def number(value):
    """Return an option as a Python number; a tensor of one element gives its value."""
    return value.item() if isinstance(value, Tensor) else value


def check_rate(optimizer, lr):
    """Raise ValueError unless a learning rate is a number from 0 up, or a tensor of one."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"{optimizer}: Tensor lr must be 1-element, but it has {lr.numel()}")
    if not lr >= 0:
        raise ValueError(
            f"{optimizer}: Invalid learning rate: {number(lr)}; expected a number from 0 up"
        )


def check_betas(optimizer, betas):
    """Raise ValueError unless both are from 0 to 1 without 1."""
    for i, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(
                f"{optimizer}: Invalid beta parameter at index {i}: {beta}; expected 0 <= beta < 1"
            )


def check_not_negative(optimizer, **options):
    """Raise ValueError for the first option that is below 0 or not a number."""
    for name, value in options.items():
        if not value >= 0:
            raise ValueError(
                f"{optimizer}: Invalid {name} value: {value}; expected a number from 0 up"
            )
