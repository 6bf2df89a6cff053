"""DistributedDataParallel: each rank trains the same model on its own part of every batch.

All ranks begin with the parameters of rank 0. Each computes gradients of its own samples; the
reducer averages them over the ranks during backward, so all optimizers take the same step, and
the models stay equal.
"""

import contextlib
import warnings

from ... import random
from ..._core.engine.engine import queue_callback
from ..._core.state.modes import is_grad_enabled
from ..._tensor import Tensor
from ...distributed import objects
from ...distributed.algorithms.join import Join, Joinable
from ...distributed.coalescing import broadcast_coalesced
from ...distributed.process_groups import the_group
from ...errors import DeviceError, DistError
from ..dropout import Dropout
from ..embedding import Embedding, EmbeddingBag
from ..module import Module
from . import joining
from . import mixed_precision as precision
from .mixed_precision import _MixedPrecision as _MixedPrecision
from .reducer import Reducer

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module, Joinable):
    """Average a module's gradients over all ranks of a process group, while backward runs.

    Parameters
    ----------
    module : Module with at least one parameter that requires a gradient, of one structure at
        all ranks
    device_ids, output_device, dim : accepted for PyTorch's sake; there is one device
    broadcast_buffers : bool, whether forward begins with the buffers of rank 0, such as the
        running averages of BatchNorm; `forward_sync_buffers` is a newer name for it
    init_sync : bool, whether shapes are compared, and the parameters of rank 0 taken over
    process_group : ProcessGroup, by default all ranks
    bucket_cap_mb : float, the size of a bucket in MB; by default 25
    find_unused_parameters : bool, whether some parameters may have no gradient in a pass; it
        costs a walk over the graph in each forward
    gradient_as_bucket_view : bool, whether gradients are views of the buckets, which saves a
        copy of all gradients
    static_graph : bool, whether all passes use the same parameters equally often; then unused
        parameters and reentrant checkpoints need nothing else
    mixed_precision : _MixedPrecision, optional: the dtypes of forward and backward, of reducing
        and of buffers, while parameters keep theirs

    Attributes
    ----------
    module : Module, what is trained. Its state dict is what a single process saves; this
        module's own has names that begin with "module."

    Raises
    ------
    RuntimeError
        If the module has no parameter to train, or differs from rank to rank.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> def step(rank):
    ...     model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1, bias=False))
    ...     model(tensorlab.full((1, 2), float(rank))).sum().backward()
    ...     return model.module.weight.grad.tolist()
    >>> dist.threads.spawn(step, nprocs=2)
    [[[0.5, 0.5]], [[0.5, 0.5]]]

    Notes
    -----
    Source of the design: Li et al. 2020, PyTorch Distributed: Experiences on Accelerating Data
    Parallel Training, section 4.
    """

    def __init__(
        self,
        module,
        device_ids=None,
        output_device=None,
        dim=0,
        broadcast_buffers=True,
        init_sync=True,
        process_group=None,
        bucket_cap_mb=None,
        find_unused_parameters=False,
        check_reduction=False,
        gradient_as_bucket_view=False,
        static_graph=False,
        delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None,
        mixed_precision=None,
        device_mesh=None,
        skip_all_reduce_unused_params=False,
        bucket_cap_mb_list=None,
        batched_grad_copy=False,
        forward_sync_buffers=None,
    ):
        super().__init__()
        Joinable.__init__(self)
        check_module(module, device_ids)
        delayed = delay_all_reduce_named_params or param_to_hook_all_reduce
        refuse_what_is_not_here(delayed, bucket_cap_mb_list)
        self.mixed_precision = mixed_precision
        group = process_group if device_mesh is None else device_mesh.get_group()
        self.process_group = the_group(group, "DistributedDataParallel")
        self.module = module
        self.device_ids, self.dim = None, dim
        syncs = broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.broadcast_buffers = bool(syncs)
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._has_looked_at_seeds = False
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = trained_parameters(module, self.parameters_to_ignore)
        if init_sync:
            check_same_everywhere(named, self.process_group)
            self._sync_everything(0)
        names, parameters = [name for name, _ in named], [p for _, p in named]
        sparse = sparse_parameters(module)
        self.reducer = Reducer(
            names,
            parameters,
            self.process_group,
            self.bucket_bytes_cap,
            {place for place, p in enumerate(parameters) if any(p is one for one in sparse)},
            gradient_as_bucket_view,
            static_graph,
            find_unused_parameters and not static_graph,
        )
        if mixed_precision is not None:
            precision.check(mixed_precision)
            precision.convert_buffers(module, mixed_precision, self.parameters_to_ignore)
            self.reducer.travels_in = mixed_precision.travels_in

    def forward(self, *inputs, **kwargs):
        """Call the module; the gradients of a backward pass through its result are averaged."""
        reduces = is_grad_enabled() and self.require_backward_grad_sync
        work = Join.notify_join_context(self)
        if reduces:
            self.reducer.check_finished()
            self.reducer.rebuild()
        if work is not None:
            joining.divide_by_active(self, work)
            joining.announce_backward(self, reduces)
        if self._syncs_buffers():
            self._sync_buffers()
        if not self._has_looked_at_seeds and self.training:
            self._look_at_seeds()
        if self.mixed_precision is None:
            output = self.module(*inputs, **kwargs)
        else:
            ignored = self.parameters_to_ignore
            output = precision.call(self.module, self.mixed_precision, ignored, inputs, kwargs)
        self.require_forward_param_sync = reduces
        if reduces:
            self._expect_backward(output)
        else:
            self.reducer.is_running = False
            self.reducer.is_quiet = is_grad_enabled()
        return output

    def _look_at_seeds(self):
        """Warn once if dropout would drop the same units at all ranks."""
        self._has_looked_at_seeds = True
        draws = any(isinstance(one, Dropout) and one.p for one in self.module.modules())
        if draws and self.process_group.size() > 1 and not joining.is_on(self):
            states = [None] * self.process_group.size()
            own = hash(random.get_rng_state().numpy().tobytes())
            objects.all_gather_object(states, own, self.process_group)
            if len(set(states)) == 1:
                warnings.warn(
                    "DistributedDataParallel: all ranks draw the same random numbers, so "
                    "dropout drops the same "
                    "units everywhere. Call manual_seed(seed + rank) after the model is made",
                    stacklevel=3,
                )

    def _expect_backward(self, output):
        tensors = list(tensors_in(output))
        unused = ()
        if self.reducer.asks_use:
            reached = leaves_of(tensors)
            parameters = self.reducer.parameters
            unused = [place for place, p in enumerate(parameters) if id(p) not in reached]
        self.reducer.prepare(unused)
        if self.reducer.is_first_static:
            for x in tensors:
                if x.requires_grad:
                    x.register_hook(self._end_static_pass_later)
                    break

    def _end_static_pass_later(self, grad):
        """Called when backward begins at the output: its end is when everything was seen."""
        queue_callback(self.reducer.end_static_pass)

    def _syncs_buffers(self):
        return (
            self.broadcast_buffers
            and self.require_forward_param_sync
            and bool(self._buffers_to_sync())
        )

    def _buffers_to_sync(self):
        return [
            b for name, b in self.module.named_buffers() if name not in self.parameters_to_ignore
        ]

    def _sync_buffers(self):
        source = 0 if not joining.is_on(self) else joining.common_rank(self, True)
        broadcast_coalesced(self.process_group, self._buffers_to_sync(), source)

    def _sync_everything(self, source):
        """Take over all parameters and buffers of one rank."""
        parameters = [
            p for name, p in self.module.named_parameters() if name not in self.parameters_to_ignore
        ]
        broadcast_coalesced(self.process_group, parameters + self._buffers_to_sync(), source)

    @contextlib.contextmanager
    def no_sync(self):
        """Leave gradients as they are in passes whose *forward* runs inside: they add up locally.

        The first pass outside averages what has been added up, as gradient accumulation wants
        it.

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import distributed as dist, nn
        >>> def two_passes(rank):
        ...     model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1, bias=False))
        ...     with model.no_sync():
        ...         model(tensorlab.ones(1, 1) * rank).sum().backward()
        ...     local = model.module.weight.grad.item()
        ...     model(tensorlab.ones(1, 1) * rank).sum().backward()
        ...     return local, model.module.weight.grad.item()
        >>> dist.threads.spawn(two_passes, nprocs=2)
        [(0.0, 1.0), (1.0, 1.0)]
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state, hook):
        """Let a function reduce the buckets instead of all_reduce.

        Parameters
        ----------
        state : any object, which the hook gets as its first argument
        hook : function of `state` and a GradBucket, which returns a Future of a tensor: the
            average of the bucket's buffer. `distributed.algorithms.ddp_comm_hooks` has some

        Raises
        ------
        TypeError
            If it isn't callable.
        RuntimeError
            If there is a hook already.
        """
        if not callable(hook):
            raise TypeError("register_comm_hook: Communication hook must be callable.")
        if self.reducer.comm_hook is not None:
            raise DistError("register_comm_hook can only be called once: there is a hook already")
        self.reducer.comm_hook = state, hook

    def join(
        self,
        divide_by_initial_world_size=True,
        enable=True,
        throw_on_early_termination=False,
    ):
        """Let ranks train on different numbers of batches: who is done shadows the others.

        Parameters
        ----------
        divide_by_initial_world_size : bool; False divides by the number of ranks that still
            train
        enable : bool; False changes nothing, for comparison
        throw_on_early_termination : bool; True raises a RuntimeError at all ranks as soon as
            one is done

        Examples
        --------
        >>> import tensorlab
        >>> from tensorlab import distributed as dist, nn
        >>> def train(rank):
        ...     model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
        ...     with model.join():
        ...         for _ in range(2 + rank):
        ...             model(tensorlab.ones(1, 1)).sum().backward()
        ...     return "done"
        >>> dist.threads.spawn(train, nprocs=2)
        ['done', 'done']
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs):
        """Return what this module does after its rank has joined."""
        return joining.ModuleJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self):
        return "cpu"

    @property
    def join_process_group(self):
        return self.process_group

    def __getstate__(self):
        raise DistError(
            "DistributedDataParallel can't be pickled or copied: it belongs to a process "
            "group. Save model.module.state_dict(), or copy model.module"
        )


def check_module(module, device_ids):
    """Raise an error for what can't be trained so, on the devices that there are."""
    if not isinstance(module, Module):
        raise TypeError(
            f"DistributedDataParallel: module is a {type(module).__name__}; expected a Module"
        )
    if device_ids and [str(one) for one in device_ids] != ["cpu"]:
        raise DeviceError(
            f"DistributedDataParallel: device_ids is {device_ids}; there is only the cpu: leave "
            "device_ids out, each process is one rank"
        )


def refuse_what_is_not_here(*options):
    """Raise an error if an option is given that tensorlab doesn't have."""
    if any(options):
        raise NotImplementedError(
            "DistributedDataParallel: delayed reductions and lists of bucket sizes are not "
            "here; leave delay_all_reduce_named_params and bucket_cap_mb_list out"
        )


def trained_parameters(module, ignored):
    """Return (name, parameter) for each one that requires a gradient and isn't ignored."""
    named = [
        (name, p)
        for name, p in module.named_parameters()
        if p.requires_grad and name not in ignored
    ]
    if not named:
        raise DistError(
            "DistributedDataParallel is not needed when a module doesn't have any parameters "
            "that require a gradient."
        )
    return named


def check_same_everywhere(named, group):
    """Raise an error unless the parameters have equal names, shapes and dtypes at all ranks."""
    own = [(name, tuple(p.shape), str(p.dtype)) for name, p in named]
    every = [None] * group.size()
    objects.all_gather_object(every, own, group)
    for rank, theirs in enumerate(every):
        if len(theirs) != len(every[0]):
            raise DistError(
                f"DDP expects same model across all ranks, but Rank 0 has {len(every[0])} "
                f"params, while rank {rank} has inconsistent {len(theirs)} params: "
                f"{difference(every[0], theirs)}"
            )
        for first, other in zip(every[0], theirs, strict=True):
            if first != other:
                raise DistError(
                    f"DDP expects same model across all ranks: {first[0]} is {first[2]} "
                    f"{list(first[1])} on rank 0, and on rank {rank} {other[0]} is {other[2]} "
                    f"{list(other[1])}. Make the model from the same numbers everywhere."
                )


def difference(first, second):
    only = {name for name, *_ in first} ^ {name for name, *_ in second}
    return f"only one of them has {sorted(only)[:3]}" if only else "their names are equal"


def sparse_parameters(module):
    """Return the weights whose gradients are sparse."""
    return [
        one.weight
        for one in module.modules()
        if isinstance(one, (Embedding, EmbeddingBag)) and one.sparse
    ]


def tensors_in(output):
    """Yield the tensors in an output of nested tuples, lists and dicts."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, dict):
        for value in output.values():
            yield from tensors_in(value)
    elif isinstance(output, (list, tuple)):
        for value in output:
            yield from tensors_in(value)
    elif hasattr(output, "__dataclass_fields__"):
        for name in output.__dataclass_fields__:
            yield from tensors_in(getattr(output, name))


def leaves_of(tensors):
    """Return the ids of the leaves that a gradient of the tensors reaches."""
    seen, leaves = set(), set()
    waiting = [x.grad_fn for x in tensors if x.grad_fn is not None]
    leaves.update(id(x) for x in tensors if x.grad_fn is None and x.requires_grad)
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(id(variable))
        waiting.extend(after for after, _ in node.next_functions if after is not None)
    return leaves
