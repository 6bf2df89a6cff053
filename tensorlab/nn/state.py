"""What `Module.state_dict` and `load_state_dict` do: a module's tensors, by dotted name.

Loading has two passes: the first compares the whole state dict with the module and writes
nothing, the second copies.  So a checkpoint that does not fit leaves the model as it was.
"""

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping

from .._tensor import Tensor
from ..autograd import no_grad
from .parameter import Parameter

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The names in which a module and a state dict differ."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def own_state(module):
    """Yield (name, value) of a module's own parameters, then its persistent buffers."""
    for name, parameter in module._parameters.items():
        if parameter is not None:
            yield name, parameter
    for name, is_persistent in module._buffer_names.items():
        buffer = module.__dict__[name]
        if is_persistent and buffer is not None:
            yield name, buffer


def owners(module, prefix):
    """Yield (prefix with its dot, module) for a module and all below, a shared one each time."""
    for name, owner in module.named_modules(prefix=prefix.rstrip("."), remove_duplicate=False):
        yield (f"{name}." if name else ""), owner


def collect(module, destination, prefix, keep_vars):
    """Return the state dict of a module; see Module.state_dict."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    metadata = getattr(destination, "_metadata", {})
    for start, owner in owners(module, prefix):
        metadata[start[:-1]] = {"version": owner._version}
        for name, value in own_state(owner):
            destination[start + name] = value if keep_vars else value.detach()
        if hasattr(owner, "get_extra_state"):
            destination[start + EXTRA_STATE] = owner.get_extra_state()
    return destination


def load(module, state_dict, strict, assign):
    """Copy a state dict into a module; see Module.load_state_dict."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(
            f"load_state_dict: state_dict is of type {type(state_dict).__name__}; expected a dict "
            "of names and tensors, as state_dict() returns"
        )
    tensors, extras, missing, problems = compare(module, state_dict)
    known = {name for _, _, name in (*tensors, *extras)}
    unexpected = [name for name in state_dict if name not in known]
    if strict and unexpected:
        problems.insert(0, f"Unexpected key(s) in state_dict: {quoted(unexpected)}. ")
    if strict and missing:
        problems.insert(0, f"Missing key(s) in state_dict: {quoted(missing)}. ")
    if problems:
        lines = "\n\t".join(problems)
        raise RuntimeError(
            f"load_state_dict: Error(s) in loading state_dict for {module._get_name()}:\n\t{lines}"
        )
    with no_grad():
        for owner, name, key in tensors:
            if assign:
                assign_tensor(owner, name, state_dict[key])
            else:
                current = owner.__dict__[name]
                if current.is_meta and not state_dict[key].is_meta:
                    warnings.warn(
                        f"load_state_dict: {key} is on 'meta', where values cannot be copied to; "
                        f"call to_empty(device='cpu') before, or load with assign=True",
                        stacklevel=4,
                    )
                current.copy_(state_dict[key])
    for owner, _, key in extras:
        owner.set_extra_state(state_dict[key])
    return _IncompatibleKeys(missing, unexpected)


def compare(module, state_dict):
    """Return what can be loaded, as (owner, attribute, key), missing keys, and what is wrong."""
    tensors, extras, missing, problems = [], [], [], []
    for start, owner in owners(module, ""):
        for name, current in own_state(owner):
            key = start + name
            if key not in state_dict:
                missing.append(key)
                continue
            tensors.append((owner, name, key))
            given = state_dict[key]
            if not isinstance(given, Tensor):
                problems.append(
                    f'While copying the parameter named "{key}", expected a Tensor '
                    f"from checkpoint but received {type(given)}"
                )
            elif given.shape != current.shape:
                problems.append(
                    f"size mismatch for {key}: copying a param with shape {given.shape} from "
                    f"checkpoint, the shape in current model is {current.shape}."
                )
        if hasattr(owner, "set_extra_state"):
            key = start + EXTRA_STATE
            extras.append((owner, None, key)) if key in state_dict else missing.append(key)
    return tensors, extras, missing, problems


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
