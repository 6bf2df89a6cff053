"""Calling a module with other tensors in the place of its parameters and buffers."""

import contextlib
import warnings

from ..module import Module

__all__ = ["functional_call"]


@contextlib.contextmanager
def replaced(module, tensors, *, tie_weights=True, strict=False):
    """Give a module these tensors, by dotted name, while the context is active."""
    known = dict(module.named_parameters(remove_duplicate=False))
    known.update(module.named_buffers(remove_duplicate=False))
    if strict:
        missing = [name for name in known if name not in tensors]
        unexpected = [name for name in tensors if name not in known]
        problems = [
            f"{kind} key(s): {', '.join(names)}."
            for kind, names in (("Unexpected", unexpected), ("Missing", missing))
            if names
        ]
        if problems:
            raise RuntimeError(
                f"functional_call: error(s) in reparametrizing for {module._get_name()}: {' '.join(problems)}"
            )
    given = dict(tensors)
    if tie_weights:
        by_identity = {}
        for name, tensor in known.items():
            by_identity.setdefault(id(tensor), []).append(name)
        for name, tensor in tensors.items():
            for twin in by_identity.get(id(known.get(name)), ()):
                if twin in tensors and tensors[twin] is not tensor:
                    raise ValueError(
                        f"functional_call: {name!r} and {twin!r} are one tensor in the module, but two values are "
                        "given; give one, or tie_weights=False"
                    )
                given[twin] = tensor
    places = []
    for name in given:
        owner, _, attribute = name.rpartition(".")
        attributes = module.get_submodule(owner).__dict__
        if attribute not in attributes:
            raise AttributeError(f"functional_call: {module._get_name()} has no tensor {name!r}")
        places.append((attributes, attribute, attributes[attribute]))
    for (attributes, attribute, _), tensor in zip(places, given.values(), strict=True):
        attributes[attribute] = tensor
    try:
        yield
    finally:
        for (attributes, attribute, before), (name, tensor) in zip(
            places, given.items(), strict=True
        ):
            if (
                name in tensors
                and attributes[attribute] is not tensor
                and isinstance(tensors, dict)
            ):
                tensors[name] = attributes[attribute]  # a forward that replaces a buffer
            attributes[attribute] = before


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Call a module with other tensors in the place of its own: the old name of `func.functional_call`."""
    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed there; torch.func.functional_call takes "
        "its place.",
        FutureWarning,
        stacklevel=2,
    )
    return called_with(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def called_with(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Do what `func.functional_call` says."""
    if not isinstance(module, Module):
        raise TypeError(f"functional_call: module is a {type(module).__name__}; expected a Module")
    if isinstance(parameters_and_buffers, (tuple, list)):
        parameters_and_buffers = _merged(parameters_and_buffers)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


def _merged(dicts):
    """Several dicts as one: parameters and buffers, say."""
    merged = {}
    for one in dicts:
        twice = [name for name in one if name in merged]
        if twice:
            raise ValueError(
                f"functional_call: {', '.join(map(repr, twice))} appeared in multiple dictionaries; "
                "give each once"
            )
        merged.update(one)
    return merged
