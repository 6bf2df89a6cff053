"""The forms of state dicts of FullyShardedDataParallel, and of its optimizers.

FULL_STATE_DICT      whole tensors, at all ranks or at rank 0 alone
SHARDED_STATE_DICT   DTensors, of which each rank has a part
LOCAL_STATE_DICT     this rank's parts, as tensors
"""

import contextlib

from tensorlab._tensor import Tensor
from tensorlab.distributed.fsdp.api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictSettings,
    StateDictType,
)
from tensorlab.distributed.objects import broadcast_object_list
from tensorlab.distributed.process_groups import get_rank
from tensorlab.distributed.tensor.layouts import Spec
from tensorlab.distributed.tensor.placement_types import Replicate
from tensorlab.distributed.tensor.redistribution import redistribute_local
from tensorlab.distributed.tensor.tensors import DTensor

WRAPPED = "_fsdp_wrapped_module."
CONFIGS = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


def default_settings():
    """Return the settings of a new model: whole tensors at all ranks."""
    kind = StateDictType.FULL_STATE_DICT
    return StateDictSettings(kind, *(make() for make in CONFIGS[kind]))


def cut_like(whole, spec):
    """Return a whole tensor as a DTensor with the mesh and the placements of another one."""
    everywhere = Spec(
        spec.mesh, (Replicate(),) * spec.mesh.ndim, spec.shape, spec.stride, whole.dtype
    )
    local = redistribute_local(whole.detach(), everywhere, spec.placements)
    return DTensor(local.clone(), everywhere.with_placements(spec.placements))


def in_form(x, settings):
    """Return a DTensor in the form of a state dict."""
    if not isinstance(x, DTensor) or settings.state_dict_type is StateDictType.SHARDED_STATE_DICT:
        return x
    if settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
        return x.detach().to_local()
    return x.detach().full_tensor()


def from_form(value, param):
    """Return an entry of a state dict as a DTensor that is placed as a parameter is."""
    if (
        not isinstance(param, DTensor)
        or isinstance(value, DTensor)
        or not isinstance(value, Tensor)
    ):
        return value
    if tuple(value.shape) == tuple(param.shape):
        return cut_like(value, param._spec)
    if tuple(value.shape) == tuple(param._local_tensor.shape):
        return DTensor(value.detach(), param._spec)
    return value  # loading says that the shapes differ


def add_state_dict_hooks(wrapper):
    """Have `state_dict` and `load_state_dict` leave the wrapper's own name out, and use its form."""

    def leave(module, state, prefix, metadata):
        inside = prefix + WRAPPED
        renamed = {}
        for name, value in list(state.items()):
            if name.startswith(prefix):
                del state[name]
                clean = prefix + name.removeprefix(inside) if name.startswith(inside) else name
                renamed[clean] = in_form(value, module._settings)
        config = module._settings.state_dict_config
        if getattr(config, "rank0_only", False) and get_rank() != 0:
            return
        state.update(renamed)

    def enter(module, state, prefix, *others):
        params = dict(module.named_parameters())
        for name in list(state):
            if name.startswith(prefix) and not name.startswith(prefix + WRAPPED):
                short = name.removeprefix(prefix)
                state[prefix + WRAPPED + short] = from_form(state.pop(name), params.get(short))

    wrapper.register_state_dict_post_hook(leave)
    wrapper.register_load_state_dict_pre_hook(enter)


class StateDicts:
    """What FullyShardedDataParallel has for state dicts; all of them are static methods."""

    @staticmethod
    def set_state_dict_type(
        module, state_dict_type, state_dict_config=None, optim_state_dict_config=None
    ):
        """Set the form of a model's state dicts.

        Parameters
        ----------
        module : Module, with sharded parts
        state_dict_type : StateDictType
        state_dict_config, optim_state_dict_config : settings of that type, by default those of
            a new one

        Returns
        -------
        StateDictSettings, those before

        Raises
        ------
        RuntimeError
            If a configuration is of another type.
        """
        of_model, of_optimizer = CONFIGS[StateDictType(state_dict_type)]
        given = (state_dict_config or of_model(), optim_state_dict_config or of_optimizer())
        for one, wanted in zip(given, (of_model, of_optimizer), strict=True):
            if type(one) is not wanted:
                raise RuntimeError(
                    f"Expected {wanted.__name__} for {state_dict_type} but got {type(one).__name__}"
                )
        before = None
        for one in sharded_parts(module):
            before = before or one._settings
            one._settings = StateDictSettings(state_dict_type, *given)
        return before

    @staticmethod
    def get_state_dict_type(module):
        """Return the StateDictSettings of a model; all its sharded parts have the same.

        Raises
        ------
        ValueError
            If no part is sharded.
        AssertionError
            If they differ.
        """
        found = [one._settings for one in sharded_parts(module)]
        if not found:
            raise ValueError(
                "get_state_dict_type: no part of the module is FullyShardedDataParallel"
            )
        assert all(one == found[0] for one in found), f"The settings of the parts differ: {found}"
        return found[0]

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module, state_dict_type, state_dict_config=None, optim_state_dict_config=None
    ):
        """A block in which a model's state dicts have a form; see `set_state_dict_type`."""
        before = [(one, one._settings) for one in sharded_parts(module)]
        StateDicts.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for one, settings in before:
                one._settings = settings

    # ------------------------------------------------------------ optimizers
    @staticmethod
    def optim_state_dict(model, optim, optim_state_dict=None, group=None):
        """Return the state dict of an optimizer, by names of parameters, in the model's form.

        Parameters
        ----------
        model : Module, with sharded parts
        optim : Optimizer over its parameters
        optim_state_dict : dict, by default `optim.state_dict()`
        group : accepted for PyTorch's sake
        """
        settings = StateDicts.get_state_dict_type(model)
        state = optim.state_dict() if optim_state_dict is None else optim_state_dict
        return named_state(state, model, optim, lambda x: in_form(x, settings), settings)

    @staticmethod
    def full_optim_state_dict(model, optim, optim_input=None, rank0_only=True, group=None):
        """Return the whole state dict of an optimizer, by names; at rank 0 alone, or at all ranks."""
        config = FullOptimStateDictConfig(rank0_only=rank0_only)
        kind = StateDictType.FULL_STATE_DICT
        settings = StateDictSettings(kind, FullStateDictConfig(), config)
        return named_state(
            optim.state_dict(), model, optim, lambda x: in_form(x, settings), settings
        )

    @staticmethod
    def sharded_optim_state_dict(model, optim, group=None):
        """Return the state dict of an optimizer by names, with DTensors."""
        return named_state(optim.state_dict(), model, optim, lambda x: x, None)

    @staticmethod
    def optim_state_dict_to_load(
        model, optim, optim_state_dict, is_named_optimizer=False, load_directly=False, group=None
    ):
        """Return a state dict by names as `optim.load_state_dict` takes it; the whole tensors are cut.

        Parameters
        ----------
        model : Module, with sharded parts
        optim : Optimizer over its parameters
        optim_state_dict : dict, as `optim_state_dict` returns it
        load_directly : bool, whether it's loaded now, too
        """
        names = names_of(model, optim)
        numbers = {name: number for number, (name, _) in enumerate(names)}
        params = dict(names)
        state = {
            numbers[name]: {
                key: part_of_state(value, params[name]) for key, value in entries.items()
            }
            for name, entries in optim_state_dict["state"].items()
        }
        groups = [
            {**one, "params": [numbers[name] for name in one["params"]]}
            for one in optim_state_dict["param_groups"]
        ]
        made = {"state": state, "param_groups": groups}
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def shard_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None):
        """Return a whole state dict as `optim.load_state_dict` takes it."""
        if optim is None:
            raise ValueError("shard_full_optim_state_dict: give the optimizer as optim")
        return StateDicts.optim_state_dict_to_load(model, optim, full_optim_state_dict)

    flatten_sharded_optim_state_dict = shard_full_optim_state_dict

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict, model, optim_input=None, optim=None, group=None
    ):
        """Return the whole state dict that rank 0 has, as `optim.load_state_dict` takes it at each
        rank."""
        held = [full_optim_state_dict if get_rank(group) == 0 else None]
        broadcast_object_list(held, group=group, group_src=0)
        return StateDicts.shard_full_optim_state_dict(held[0], model, optim=optim)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict, optim_state_key_type, model, optim_input=None, optim=None
    ):
        """Return a state dict with names of parameters instead of numbers, or the other way round."""
        names = [name for name, _ in names_of(model, optim)]
        if optim_state_key_type is OptimStateKeyType.PARAM_NAME:
            new = dict(enumerate(names))
        else:
            new = {name: number for number, name in enumerate(names)}
        return {
            "state": {new[key]: value for key, value in optim_state_dict["state"].items()},
            "param_groups": [
                {**one, "params": [new[key] for key in one["params"]]}
                for one in optim_state_dict["param_groups"]
            ],
        }


def sharded_parts(module):
    """List the FullyShardedDataParallel modules in a module."""
    return [one for one in module.modules() if isinstance(one, StateDicts)]


def names_of(model, optim):
    """List the (name, parameter) of an optimizer, in the order of its groups."""
    known = {id(one): name.replace(WRAPPED, "") for name, one in model.named_parameters()}
    params = [one for group in optim.param_groups for one in group["params"]]
    return [(known[id(one)], one) for one in params]


def named_state(state, model, optim, convert, settings):
    """Return an optimizer's state dict by names, each tensor converted."""
    names = [name for name, _ in names_of(model, optim)]
    made = {
        "state": {
            names[number]: {
                key: convert(value) if isinstance(value, DTensor) else copied(value)
                for key, value in entries.items()
            }
            for number, entries in state["state"].items()
        },
        "param_groups": [
            {**one, "params": [names[number] for number in one["params"]]}
            for one in state["param_groups"]
        ],
    }
    config = settings.optim_state_dict_config if settings is not None else None
    if getattr(config, "rank0_only", False) and get_rank() != 0:
        return {}
    return made


def copied(value):
    """Return a copy of a tensor, such as the number of steps; other values as they are."""
    return value.detach().clone() if isinstance(value, Tensor) else value


def part_of_state(value, param):
    """Return an entry of an optimizer's state as it belongs to a parameter."""
    if isinstance(value, Tensor) and value.dim() == 0 and param.dim():
        return value.clone()
    return from_form(value, param)
