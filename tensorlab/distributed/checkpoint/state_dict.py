"""State dicts of models and optimizers by the names of parameters, however these are spread.

An optimizer numbers its parameters, and numbers mean something else when parameters are grouped
or wrapped in another way. Here the names of the model stand instead of numbers, without the
"module." of data parallel modules, so that another program, another number of ranks or a single
process can read them.
"""

import dataclasses

from tensorlab import _missing
from tensorlab._pytree import tree_map
from tensorlab._tensor import Tensor
from tensorlab.distributed import coalescing, objects, process_groups
from tensorlab.errors import DistError
from tensorlab.ops.creation import zeros_like

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

WRAPPERS = ("_fsdp_wrapped_module", "module")
WRAPPING = "DistributedDataParallel", "DataParallel", "FullyShardedDataParallel"


@dataclasses.dataclass
class StateDictOptions:
    """How state dicts are made and read.

    Attributes
    ----------
    full_state_dict : bool, whether tensors are whole at every rank, instead of DTensors
    cpu_offload : bool; with `full_state_dict`, only rank 0 gets the tensors
    ignore_frozen_params : bool, whether parameters that need no gradient are left out
    strict : bool, whether missing and unexpected keys are errors
    broadcast_from_rank0 : bool, whether only rank 0 has the full state dict that is set
    keep_submodule_prefixes, flatten_optimizer_state_dict : accepted for PyTorch's sake
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


def plain_name(model, name):
    """Return a parameter's name without what wraps modules around it."""
    parts, module, kept = name.split("."), model, []
    for part in parts:
        if not (part in WRAPPERS and type(module).__name__ in WRAPPING):
            kept.append(part)
        module = getattr(module, part, None)
    return ".".join(kept)


def names_of(model):
    """Return the plain name of each parameter, by its id."""
    return {id(p): plain_name(model, name) for name, p in model.named_parameters()}


def whole(x, options):
    """Return a value as it goes into a state dict."""
    if options.full_state_dict and hasattr(x, "full_tensor"):
        x = x.full_tensor()
    return x.detach() if isinstance(x, Tensor) else x


def only_rank_0(state, options):
    """Return nothing at ranks other than 0, where only that one is to get the tensors."""
    away = options.full_state_dict and options.cpu_offload and process_groups.is_initialized()
    return {} if away and process_groups.get_rank() else state


def get_model_state_dict(model, *, submodules=None, options=None):
    """Return the state dict of a model, under plain names.

    Parameters
    ----------
    model : Module, also one that is wrapped for data parallel training or sharded
    submodules : refused
    options : StateDictOptions
    """
    if submodules is not None:
        raise NotImplementedError(
            "get_model_state_dict: submodules is not here; call it with the submodule"
        )
    options = options or StateDictOptions()
    frozen = {
        plain_name(model, name)
        for name, p in model.named_parameters()
        if options.ignore_frozen_params and not p.requires_grad
    }
    state = {}
    for name, value in model.state_dict().items():
        plain = plain_name(model, name)
        if plain not in frozen:
            state[plain] = whole(value, options)
    return only_rank_0(state, options)


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Load a state dict with plain names into a model.

    Returns
    -------
    the missing and unexpected keys, as Module.load_state_dict does
    """
    options = options or StateDictOptions()
    given = from_rank_0(model_state_dict, options)
    named = {plain_name(model, name): name for name in model.state_dict()}
    current = model.state_dict()
    state = {}
    for plain, value in given.items():
        name = named.get(plain, plain)
        state[name] = spread_like(value, current.get(name))
    return model.load_state_dict(state, strict=options.strict)


def spread_like(value, target):
    """Return a whole tensor as the DTensor that stands in its place, if one does."""
    if (
        hasattr(target, "placements")
        and isinstance(value, Tensor)
        and not hasattr(value, "placements")
    ):
        from tensorlab.distributed.tensor import distribute_tensor

        return distribute_tensor(value, target.device_mesh, target.placements)
    return value


def from_rank_0(state, options):
    """Return rank 0's state dict at all ranks, if only that one has it."""
    if not (options.broadcast_from_rank0 and process_groups.is_initialized()):
        return state
    group = process_groups.the_group()
    tensors = []

    def described(x):
        if not isinstance(x, Tensor):
            return x
        tensors.append(x)
        return Place(len(tensors) - 1, tuple(x.shape), x.dtype)

    box = [tree_map(described, state) if group.rank() == 0 else None]
    objects.broadcast_object_list(box, group=group, group_src=0)
    if group.rank():
        places = {}
        tree_map(lambda x: places.setdefault(x.number, x) if isinstance(x, Place) else None, box[0])
        tensors = [places[i].empty() for i in range(len(places))]
    coalescing.broadcast_coalesced(group, tensors, 0)
    return tree_map(lambda x: tensors[x.number] if isinstance(x, Place) else x, box[0])


class Place:
    """What stands for a tensor in a state dict that is sent."""

    def __init__(self, number, shape, dtype):
        self.number, self.shape, self.dtype = number, shape, dtype

    def empty(self):
        from tensorlab.ops.creation import empty

        return empty(self.shape, dtype=self.dtype)


def optimizers_in(optimizers):
    return list(optimizers) if isinstance(optimizers, (list, tuple, set)) else [optimizers]


def begin_state(optimizer):
    """Let an optimizer that has not stepped yet make its state, so that `load` has a place to write to.

    It steps with gradients of 0 and a length of 0; its counts of steps are 0 afterwards.
    """
    params = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    kept = [
        {key: group[key] for key in ("lr", "weight_decay") if key in group}
        for group in optimizer.param_groups
    ]
    try:
        for p in params:
            p.grad = zeros_like(p)
        for group, values in zip(optimizer.param_groups, kept, strict=True):
            group.update(dict.fromkeys(values, 0.0))
        optimizer.step()
    finally:
        for group, values in zip(optimizer.param_groups, kept, strict=True):
            group.update(values)
        for p in params:
            p.grad = None
    for state in optimizer.state.values():
        if "step" in state:
            state["step"] = state["step"] * 0


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    """Return the state of optimizers, with names of the model's parameters instead of numbers.

    Parameters
    ----------
    model : Module
    optimizers : Optimizer or several
    submodules : refused
    options : StateDictOptions

    Returns
    -------
    dict: "state" is a dict of names to the state of that parameter, and "param_groups" a list
    of dicts whose "params" are names
    """
    if submodules is not None:
        raise NotImplementedError("get_optimizer_state_dict: submodules is not here")
    options = options or StateDictOptions()
    names = names_of(model)
    state, groups = {}, []
    for optimizer in optimizers_in(optimizers):
        begin_state(optimizer)
        for group in optimizer.param_groups:
            unknown = [p for p in group["params"] if id(p) not in names]
            if unknown:
                raise DistError(
                    f"get_optimizer_state_dict: the optimizer has {len(unknown)} parameters "
                    f"that the model hasn't, such as one of shape {list(unknown[0].shape)}"
                )
            groups.append({**group, "params": [names[id(p)] for p in group["params"]]})
            for p in group["params"]:
                if p in optimizer.state:
                    kept = optimizer.state[p].items()
                    state[names[id(p)]] = {key: whole(value, options) for key, value in kept}
    return only_rank_0({"state": state, "param_groups": groups}, options)


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Load what `get_optimizer_state_dict` returned into optimizers, with however many ranks."""
    options = options or StateDictOptions()
    given = from_rank_0(optim_state_dict, options)
    names = names_of(model)
    options_of = {name: group for group in given["param_groups"] for name in group["params"]}
    for optimizer in optimizers_in(optimizers):
        for group in optimizer.param_groups:
            for p in group["params"]:
                name = names[id(p)]
                if name not in options_of:
                    if options.strict:
                        raise DistError(
                            f"set_optimizer_state_dict: the state dict knows no parameter {name!r}"
                        )
                    continue
                saved = options_of[name]
                group.update({k: v for k, v in saved.items() if k != "params"})
                if name in given["state"]:
                    optimizer.state[p] = {
                        key: value.clone() if (value := spread_as(x, p)) is not None else x
                        for key, x in given["state"][name].items()
                    }


def spread_as(x, p):
    """Return a tensor of a state like its parameter, or None for anything else."""
    if not isinstance(x, Tensor):
        return None
    return spread_like(x, p) if x.shape == p.shape else x


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    """Return the state dicts of a model and of its optimizers, under names of parameters.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn, optim
    >>> model = nn.Linear(1, 1)
    >>> optimizer = optim.SGD(model.parameters(), lr=0.1)
    >>> weights, state = get_state_dict(model, optimizer)
    >>> list(weights), state["param_groups"][0]["params"]
    (['weight', 'bias'], ['weight', 'bias'])
    """
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Load what `get_state_dict` returned; return the missing and unexpected keys of the model."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result


__getattr__ = _missing.refusing(__name__)
