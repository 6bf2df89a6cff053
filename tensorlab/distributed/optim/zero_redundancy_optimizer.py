"""ZeroRedundancyOptimizer: each rank keeps the optimizer's state of a part of the parameters.

Adam remembers two numbers for each parameter. In data parallel training all ranks remember the
same ones; here each rank updates only the parameters that it owns, and sends them to the
others.

Source: Rajbhandari et al. 2020, ZeRO: Memory Optimizations Toward Training Trillion Parameter
Models, section 5.1.
"""

import copy

from tensorlab import _missing
from tensorlab.distributed import coalescing, objects
from tensorlab.distributed.algorithms.join import Join, Joinable, JoinHook
from tensorlab.distributed.process_groups import the_group
from tensorlab.errors import DistError
from tensorlab.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroJoinHook(JoinHook):
    """After its rank has joined: still own the parameters, and send them."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def main_hook(self):
        self.optimizer.update()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Share the work and the state of an optimizer out over the ranks of a group.

    Parameters
    ----------
    params : iterable of Tensors or of dicts, as for any optimizer, the same at all ranks
    optimizer_class : class of an optimizer, such as optim.Adam
    process_group : ProcessGroup, by default all ranks
    parameters_as_bucket_view : accepted for PyTorch's sake
    overlap_with_ddp : bool; True is refused
    defaults : options of `optimizer_class`

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn, optim
    >>> def train(rank):
    ...     model = nn.parallel.DistributedDataParallel(nn.Linear(3, 3))
    ...     optimizer = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=0.1)
    ...     model(tensorlab.ones(1, 3)).sum().backward()
    ...     optimizer.step()
    ...     return len(optimizer.optim.state)  # parameters that this rank has a state for
    >>> dist.threads.spawn(train, nprocs=2)
    [1, 1]
    """

    def __init__(
        self,
        params,
        optimizer_class,
        process_group=None,
        parameters_as_bucket_view=False,
        overlap_with_ddp=False,
        **defaults,
    ):
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp is not here; call step() after backward"
            )
        self.process_group = the_group(process_group, "ZeroRedundancyOptimizer")
        self.optimizer_class, self.optimizer_defaults = optimizer_class, defaults
        self.optim = None
        Optimizer.__init__(self, params, dict(defaults))
        Joinable.__init__(self)
        self.share_out()
        self._full_states = None

    def share_out(self):
        """Give each parameter an owner, and make this rank's optimizer.

        The largest parameters are given out first, each to the rank that has least so far.
        """
        loads = [0] * self.process_group.size()
        self.owner = {}  # id of a parameter: place in the group
        for group in self.param_groups:
            for p in sorted(group["params"], key=lambda p: -p.numel()):
                least = loads.index(min(loads))
                self.owner[id(p)] = least
                loads[least] += p.numel()
        local = self.local_groups()
        before = self.optim
        self.optim = self.optimizer_class(local, **self.optimizer_defaults)
        if before is not None:
            self.optim.state.update(before.state)
        for group, ours in zip(self.param_groups, self.optim.param_groups, strict=True):
            for option, value in ours.items():
                group.setdefault(option, value)

    def local_groups(self):
        own = self.process_group.rank()
        return [
            {**group, "params": [p for p in group["params"] if self.owner[id(p)] == own]}
            for group in self.param_groups
        ]

    def add_param_group(self, param_group):
        """Add parameters with options of their own, at all ranks alike."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self.share_out()

    def step(self, closure=None, **kwargs):
        """Update the parameters that this rank owns, and exchange what was updated.

        Parameters
        ----------
        closure : function, optional, that computes the loss anew and returns it
        """
        Join.notify_join_context(self)
        return self.update(closure, **kwargs)

    def update(self, closure=None, **kwargs):
        """Do what `step` does, without telling ranks that have joined."""
        for group, ours in zip(self.param_groups, self.optim.param_groups, strict=True):
            ours.update({option: value for option, value in group.items() if option != "params"})
        loss = (
            self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        )
        for owner in range(self.process_group.size()):
            owned = [
                p
                for group in self.param_groups
                for p in group["params"]
                if self.owner[id(p)] == owner
            ]
            coalescing.broadcast_coalesced(self.process_group, owned, owner)
        return loss

    def consolidate_state_dict(self, to=0):
        """Bring the states of all ranks to one rank, which can call `state_dict` then.

        All ranks call it.
        """
        own = self.process_group.rank()
        places = self.places()
        states = {places[id(p)]: state for p, state in self.optim.state.items()}
        every = [None] * self.process_group.size() if own == to else None
        objects.gather_object(states, every, group=self.process_group, group_dst=to)
        self._full_states = {k: v for part in every for k, v in part.items()} if own == to else None

    def places(self):
        """Return the number of each parameter, by its id, in the order of the groups."""
        parameters = [p for group in self.param_groups for p in group["params"]]
        return {id(p): number for number, p in enumerate(parameters)}

    def state_dict(self):
        """Return the state of all ranks, as the plain optimizer's would be.

        Raises
        ------
        RuntimeError
            If this rank hasn't got it by `consolidate_state_dict`.
        """
        if self._full_states is None:
            raise DistError(
                "ZeroRedundancyOptimizer: Optimizer state has not been consolidated on this "
                "rank. Call consolidate_state_dict(to=rank) on all ranks before, if you meant "
                "to save the global state."
            )
        places = self.places()
        groups = [
            {**group, "params": [places[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": dict(sorted(self._full_states.items())), "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Take over a state dict of all ranks: each keeps what it owns."""
        places = self.places()
        own = self.process_group.rank()
        parameters = [p for group in self.param_groups for p in group["params"]]
        if len(state_dict["param_groups"]) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, saved in zip(self.param_groups, state_dict["param_groups"], strict=True):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size "
                                 "of optimizer's group")  # fmt: skip
            group.update({k: copy.deepcopy(v) for k, v in saved.items() if k != "params"})
        local = [p for p in parameters if self.owner[id(p)] == own]
        numbers = {
            id(p): n for n, p in enumerate(p for g in self.optim.param_groups for p in g["params"])
        }
        self.optim.load_state_dict(
            {
                "state": {
                    numbers[id(p)]: state_dict["state"][places[id(p)]]
                    for p in local
                    if places[id(p)] in state_dict["state"]
                },
                "param_groups": [
                    {**saved, "params": [numbers[id(p)] for p in ours["params"]]}
                    for saved, ours in zip(
                        state_dict["param_groups"], self.optim.param_groups, strict=True
                    )
                ],
            }
        )

    def join_hook(self, **kwargs):
        """Return what this optimizer does after its rank has joined."""
        return ZeroJoinHook(self)

    @property
    def join_device(self):
        return "cpu"

    @property
    def join_process_group(self):
        return self.process_group


__getattr__ = _missing.refusing(__name__)
