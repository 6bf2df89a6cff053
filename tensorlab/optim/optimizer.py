"""Optimizer: what all optimizers share, so that each of them only has to say its update.

An optimizer has `param_groups`, a list of dicts: the parameters of a group under "params", and the
options that hold for them ("lr", ...).  What it remembers of a parameter from step to step is in
`state[parameter]`, a dict.  Both are plain data: schedulers change `param_groups`, and `state_dict`
writes parameters as numbers, their positions in the order of the groups.
"""

import warnings
from collections import defaultdict
from itertools import chain

from .._tensor import Tensor
from ..autograd import enable_grad
from ..nn.parameter import clear_gradients

__all__ = ["Optimizer"]


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
    """

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}: params is a {type(params).__name__}; expected an iterable "
                "of tensors or dicts, such as [x] or model.parameters()"
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}: optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Add parameters with options of their own, such as a layer that is unfrozen later.

        Raises TypeError and ValueError as the class does.
        """
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(
                f"{name}: a parameter group is {type(param_group).__name__}, not a dict"
            )
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(f"{name}: params is a set, whose order changes; give a list")
        params = [given] if isinstance(given, Tensor) else list(given)
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    f"{name}: a parameter is of type {type(param).__name__}; expected a Tensor"
                )
            if not (param.is_leaf or param.retains_grad):
                raise ValueError(
                    f"{name}: can't optimize a non-leaf Tensor; it is computed from others by "
                    f"{param.grad_fn.name()}. Give those, or x.detach().requires_grad_()"
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
        for option, value in self.defaults.items():
            group.setdefault(option, value)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters, or with `set_to_none=False` fill them with 0."""
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    def step(self, closure=None):
        """Change every parameter that has a gradient.

        Parameters
        ----------
        closure : callable or None
            Computes the loss again, gradients included; called first, with recording on.

        Returns
        -------
        what the closure returned, or None
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self.update_group(group)
        return loss

    def update_group(self, group):
        """Change the parameters of one group; every subclass defines its own."""
        raise NotImplementedError(f"{type(self).__name__}: has no update_group; define it")

    # ------------------------------------------------------------ saving and loading
    def state_dict(self):
        """Return {"state": {number: dict}, "param_groups": [...]}, sharing the state's tensors."""
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
        """Take over state and options; floating tensors get the dtype of their parameter.

        Raises
        ------
        ValueError
            If the groups differ in number or size; nothing is changed then.
        """
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
        self.state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                self.state[params[key]] = as_state_of(params[key], value)
            else:
                self.state[key] = value
        self.param_groups = [
            {**new, "params": old["params"]}
            for old, new in zip(self.param_groups, saved, strict=True)
        ]

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


def as_state_of(param, state):
    """Return a parameter's state with floating tensors in its dtype, the step count excepted."""
    if not isinstance(state, dict):
        return state
    return {
        name: value.to(param.dtype)
        if isinstance(value, Tensor) and name != "step" and param.is_floating_point()
        else value
        for name, value in state.items()
    }


def check_not_negative(optimizer, **options):
    """Raise ValueError for the first option that is below 0 or not a number."""
    for name, value in options.items():
        if not value >= 0:
            raise ValueError(
                f"{optimizer}: Invalid {name} value: {value}; expected a number from 0 up"
            )


def refuse_differentiable(optimizer, differentiable):
    """Raise where a gradient through the step itself is asked for."""
    if differentiable:
        raise NotImplementedError(
            f"{optimizer}: differentiable=True is not available: steps write the parameters "
            "directly. Write the update with tensor operations to differentiate through it"
        )
