"""FullyShardedDataParallel: the older way to shard a model, a module around the module.

It stands on the same parts as `fully_shard`: parameters are DTensors that are cut by rows, each
for itself; there are no flat parameters. What it adds: policies for what is wrapped, forms of
state dicts, and `summon_full_params`.
"""

import contextlib
import os
import warnings

from tensorlab.autograd.grad_mode import no_grad
from tensorlab.distributed.collectives import broadcast
from tensorlab.distributed.device_mesh import DeviceMesh, init_device_mesh
from tensorlab.distributed.fsdp.api import (
    BackwardPrefetch,
    MixedPrecision,
    OptimStateKeyType,
    ShardingStrategy,
)
from tensorlab.distributed.fsdp.policies import MixedPrecisionPolicy
from tensorlab.distributed.fsdp.sharding import attach, make_group
from tensorlab.distributed.fsdp.shards import Ranks
from tensorlab.distributed.fsdp.state_dicts import (
    StateDicts,
    add_state_dict_hooks,
    default_settings,
)
from tensorlab.distributed.fsdp.states import STATE, State, converted
from tensorlab.distributed.fsdp.wrap import wrap_parts
from tensorlab.distributed.objects import all_gather_object
from tensorlab.distributed.process_groups import the_group
from tensorlab.distributed.tensor.redistribution import part
from tensorlab.distributed.tensor.tensors import DTensor
from tensorlab.nn.module import Module
from tensorlab.nn.utils.clip_grad import clip_grad_norm_

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]

WRAPPED = "_fsdp_wrapped_module"
KEEPS_WHOLE = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)
HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


class FullyShardedDataParallel(StateDicts, Module):
    """A module whose parameters are shared out over the ranks.

    Parameters
    ----------
    module : Module
    process_group : ProcessGroup, by default all ranks; with HYBRID_SHARD a pair: that which
        shards, and that which replicates
    sharding_strategy : ShardingStrategy, by default FULL_SHARD
    cpu_offload : CPUOffload, accepted for PyTorch's sake
    auto_wrap_policy : ModuleWrapPolicy, CustomPolicy, or function(module, recurse,
        nonwrapped_numel): which parts are wrapped, too, each for itself
    backward_prefetch : BackwardPrefetch, or None for no gathering ahead
    mixed_precision : MixedPrecision
    ignored_modules, ignored_states : modules, or parameters, that are left as they are
    param_init_fn : function(module), which fills a module that was made on the meta device
    device_id : accepted for PyTorch's sake
    sync_module_states : bool, whether all ranks take the values of the first
    forward_prefetch : bool, whether forward gathers ahead what came next in the last step
    limit_all_gathers, use_orig_params : bool, accepted for PyTorch's sake
    device_mesh : DeviceMesh, instead of process_group

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> def step(rank):
    ...     model = FullyShardedDataParallel(nn.Linear(4, 4))
    ...     model(tensorlab.ones(1, 4)).sum().backward()
    ...     return model.weight.to_local().shape, list(model.state_dict())
    >>> dist.threads.spawn(step, nprocs=2)[0]
    (tensorlab.Size([2, 4]), ['weight', 'bias'])
    """

    def __init__(
        self,
        module,
        process_group=None,
        sharding_strategy=None,
        cpu_offload=None,
        auto_wrap_policy=None,
        backward_prefetch=BackwardPrefetch.BACKWARD_PRE,
        mixed_precision=None,
        ignored_modules=None,
        param_init_fn=None,
        device_id=None,
        sync_module_states=False,
        forward_prefetch=False,
        limit_all_gathers=True,
        use_orig_params=False,
        ignored_states=None,
        device_mesh=None,
    ):
        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(
                f"FullyShardedDataParallel: module is a {type(module).__name__}; expected an "
                "nn.Module"
            )
        strategy = checked_strategy(sharding_strategy)
        modules, params = checked_ignored(ignored_modules, ignored_states)
        if auto_wrap_policy is not None:
            kwargs = {
                "process_group": process_group, "sharding_strategy": strategy, "cpu_offload": cpu_offload,
                "backward_prefetch": backward_prefetch, "mixed_precision": mixed_precision,
                "forward_prefetch": forward_prefetch, "param_init_fn": param_init_fn,
                "sync_module_states": sync_module_states, "ignored_states": params, "device_mesh": device_mesh,
            }  # fmt: skip
            wrap_parts(module, auto_wrap_policy, FullyShardedDataParallel, kwargs, modules, params)
        self.sharding_strategy = strategy
        self.mixed_precision = mixed_precision or MixedPrecision()
        self._fsdp_wrapped_module = module
        fill_meta(module, param_init_fn)
        ranks = ranks_of(process_group, device_mesh, strategy)
        if sync_module_states:
            take_values_of_first(module, ranks)
        self.share_out(ranks, strategy, params, backward_prefetch, forward_prefetch)
        self._settings = default_settings()
        add_state_dict_hooks(self)

    def share_out(self, ranks, strategy, ignored, backward_prefetch, forward_prefetch):
        """Cut the parameters that no part has for itself."""
        mixed = self.mixed_precision
        policy = MixedPrecisionPolicy(
            mixed.param_dtype, mixed.reduce_dtype, None, mixed.cast_forward_inputs
        )
        group = make_group([self], ranks, policy, None, ignored)
        reshard = None if strategy not in (*KEEPS_WHOLE, ShardingStrategy.NO_SHARD) else False
        state = State([self], group, policy, reshard)
        if backward_prefetch is None:
            state.ahead_backward = []
        state.follows_order = forward_prefetch
        attach([self], state)

    @property
    def module(self):
        """The module that it is around."""
        return self._fsdp_wrapped_module

    def forward(self, *args, **kwargs):
        """Call the module."""
        mixed, state = self.mixed_precision, vars(self)[STATE]
        if state.is_root and mixed.cast_root_forward_inputs and mixed.param_dtype is not None:
            args, kwargs = converted((args, kwargs), mixed.param_dtype)
        if mixed.buffer_dtype is not None:
            for one in self.buffers():
                if one.is_floating_point() and one.dtype != mixed.buffer_dtype:
                    one.data = one.data.to(mixed.buffer_dtype)
        return self._fsdp_wrapped_module(*args, **kwargs)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == WRAPPED:
                raise
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key):
        return self._fsdp_wrapped_module[key]

    def named_parameters(self, *args, **kwargs):
        """Yield the parameters with their names in the module as it was."""
        for name, one in super().named_parameters(*args, **kwargs):
            yield clean(name), one

    def named_buffers(self, *args, **kwargs):
        """Yield the buffers with their names in the module as it was."""
        for name, one in super().named_buffers(*args, **kwargs):
            yield clean(name), one

    def _apply(self, *args, **kwargs):
        for state in self._states():
            state.reshard()
        result = super()._apply(*args, **kwargs)
        for state in self._states():
            for one in state.group.params if state.group is not None else ():
                one.refresh()
        return result

    def _states(self):
        return [vars(one)[STATE] for one in self.fsdp_modules(self)]

    @staticmethod
    def fsdp_modules(module, root_only=False):
        """List the FullyShardedDataParallel modules in a module; `root_only` the outermost alone."""
        found = [one for one in module.modules() if isinstance(one, FullyShardedDataParallel)]
        if root_only:
            inner = {id(part) for one in found for part in one.modules() if part is not one}
            found = [one for one in found if id(one) not in inner]
        return found

    def check_is_root(self):
        """Return whether no other sharded module is around it; known after the first forward."""
        state = vars(self)[STATE]
        if state.context is None:
            state.find_context(self)
        return state.is_root

    def apply(self, fn):
        """Call `fn` with each module, while all parameters are whole; what it changes is kept."""
        with self.summon_full_params(self):
            return super().apply(fn)

    @contextlib.contextmanager
    def no_sync(self):
        """A block in which backward adds gradients up, whole and unreduced, for a backward after it."""
        groups = [state.group for state in self._states() if state.group is not None]
        before = [(group.reduces, group.all_reduces) for group in groups]
        for group in groups:
            group.reduces = group.all_reduces = False
        try:
            yield
        finally:
            for group, (reduces, all_reduces) in zip(groups, before, strict=True):
                group.reduces, group.all_reduces = reduces, all_reduces

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        """Scale all gradients so that their common norm over all ranks is at most `max_norm`.

        Returns
        -------
        Tensor, 0-d: the norm before
        """
        total = clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module,
        recurse=True,
        writeback=True,
        rank0_only=False,
        offload_to_cpu=False,
        with_grads=False,
    ):
        """A block in which the parameters of a model are whole.

        Parameters
        ----------
        module : Module
        recurse : bool, whether also those of sharded parts
        writeback : bool, whether what is written to them is kept
        rank0_only, offload_to_cpu : bool, accepted for PyTorch's sake: all ranks have them
        with_grads : bool, whether their gradients are whole, too
        """
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported")
        found = FullyShardedDataParallel.fsdp_modules(module, root_only=not recurse)
        states = [vars(one)[STATE] for one in found]
        for state in states:
            state.unshard()
            if with_grads:
                bring_gradients(state)
        try:
            yield
        finally:
            for state in states:
                if writeback:
                    write_back(state, with_grads)
                state.reshard()

    def register_comm_hook(self, state, hook):
        """Refused: gradients are reduced in one way."""
        raise NotImplementedError(
            "FullyShardedDataParallel: communication hooks aren't there; "
            "MixedPrecision(reduce_dtype=...) reduces in a smaller dtype"
        )


def clean(name):
    """Return a name without what the wrappers have added."""
    return name.replace(f"{WRAPPED}.", "")


def checked_strategy(strategy):
    """Return the strategy; FULL_SHARD unless given."""
    strategy = ShardingStrategy.FULL_SHARD if strategy is None else strategy
    if not isinstance(strategy, ShardingStrategy):
        raise TypeError(
            f"FullyShardedDataParallel: sharding_strategy is {strategy!r}; expected a "
            "ShardingStrategy"
        )
    if strategy is ShardingStrategy.NO_SHARD:
        warnings.warn(
            "The `NO_SHARD` sharding strategy is deprecated. If having issues, please use "
            "`DistributedDataParallel` instead.",
            FutureWarning,
            stacklevel=3,
        )
    return strategy


def checked_ignored(ignored_modules, ignored_states):
    """Return the set of modules and the list of parameters that are left as they are."""
    if ignored_modules is not None and ignored_states is not None:
        raise ValueError(
            "Cannot pass both ignored_modules and ignored_states at the same time. Please just "
            "pass ignored_states."
        )
    given = list(ignored_modules or ignored_states or ())
    modules = [one for one in given if isinstance(one, Module)]
    params = [one for one in given if not isinstance(one, Module)]
    for one in modules:
        params += list(one.parameters())
    return {part for one in modules for part in one.modules()}, params


def ranks_of(process_group, device_mesh, strategy):
    """Return the Ranks for a strategy."""
    if device_mesh is not None:
        if process_group is not None:
            raise ValueError("Cannot pass both process_group and device_mesh at the same time.")
        if (strategy in HYBRID) != (device_mesh.ndim == 2):
            raise ValueError(
                f"FullyShardedDataParallel: {strategy.name} needs a device_mesh of "
                f"{2 if strategy in HYBRID else 1} dimensions, not {device_mesh}"
            )
        return Ranks(device_mesh, strategy is not ShardingStrategy.NO_SHARD)
    if strategy in HYBRID:
        return Ranks(hybrid_mesh(process_group))
    if process_group is None:
        size = the_group(None, "FullyShardedDataParallel").size()
        mesh = init_device_mesh("cpu", (size,))
    else:
        mesh = DeviceMesh.from_group(process_group, "cpu")
    return Ranks(mesh, strategy is not ShardingStrategy.NO_SHARD)


def hybrid_mesh(groups):
    """Return the mesh (replicate, shard) of two groups; by default machines replicate."""
    if groups is None:
        size = the_group(None, "FullyShardedDataParallel").size()
        local = int(os.environ.get("LOCAL_WORLD_SIZE", size))
        return init_device_mesh(
            "cpu", (size // local, local), mesh_dim_names=("replicate", "shard")
        )
    if not isinstance(groups, (tuple, list)) or len(groups) != 2:
        raise ValueError(
            "Manual wrapping with HYBRID_SHARD requires specification of a pair of process "
            "groups, (shard, replicate), or a device_mesh of two dimensions"
        )
    shard, replicate = groups
    rows = [None] * replicate.size()
    all_gather_object(rows, list(shard.ranks), replicate)
    names = ("replicate", "shard")
    return DeviceMesh.from_group([replicate, shard], "cpu", rows, mesh_dim_names=names)


def fill_meta(module, param_init_fn):
    """Give memory and values to what was made on the meta device."""
    empty = [
        one
        for one in module.modules()
        if any(
            x is not None and x.is_meta and not isinstance(x, DTensor)
            for x in one._parameters.values()
        )
    ]
    for one in empty:
        if param_init_fn is not None:
            param_init_fn(one)
            continue
        one.to_empty(device="cpu", recurse=False)
        if hasattr(one, "reset_parameters"):
            one.reset_parameters()


def take_values_of_first(module, ranks):
    """Take the parameters and buffers of the first rank of each group."""
    with no_grad():
        for one in [*module.parameters(), *module.buffers()]:
            if not isinstance(one, DTensor):
                for group in (ranks.shard_group, ranks.replicate_group):
                    if group is not None:
                        broadcast(one.detach(), group=group, group_src=0)


def bring_gradients(state):
    """Give the whole parameters whole gradients."""
    for one in state.group.params if state.group is not None else ():
        module, name = one.places[0]
        if one.sharded.grad is not None:
            module._parameters[name].grad = one.sharded.grad.full_tensor()


def write_back(state, with_grads):
    """Keep what was written to the whole parameters."""
    for one in state.group.params if state.group is not None else ():
        module, name = one.places[0]
        whole = module._parameters[name]
        if whole is one.sharded:
            continue
        with no_grad():
            own = part(whole.detach(), one.dim, one.sizes, one.ranks.rank) if one.shape else whole
            one.sharded._local_tensor.copy_(own)
            if with_grads and whole.grad is not None and one.sharded.grad is not None:
                own = (
                    part(whole.grad, one.dim, one.sizes, one.ranks.rank)
                    if one.shape
                    else whole.grad
                )
                one.sharded.grad._local_tensor.copy_(own)
