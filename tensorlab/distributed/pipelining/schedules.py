"""Schedules: run a batch through a pipeline, forward and backward."""

from tensorlab import _missing
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.distributed.pipelining import orders, timelines
from tensorlab.distributed.pipelining.microbatch import merge_chunks, split_args_kwargs_into_chunks

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "get_schedule_class",
]


class PipelineSchedule:
    """What all schedules share: cut the batch, run the actions in order, join the outputs.

    Attributes
    ----------
    stages : list of PipelineStage on this rank, in the order of their indices
    order : list of Action, what this rank runs
    """

    def __init__(
        self, stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
        output_merge_spec, scale_grads,
    ):  # fmt: skip
        if n_microbatches < 1:
            raise ValueError(
                f"{type(self).__name__}: n_microbatches is {n_microbatches}; expected at least 1"
            )
        self.stages = sorted(stages, key=lambda stage: stage.stage_index)
        self.n_microbatches, self.loss_fn = n_microbatches, loss_fn
        self.specs = args_chunk_spec, kwargs_chunk_spec
        self.output_merge_spec, self.scale_grads = output_merge_spec, scale_grads
        ours = {stage.stage_index: stage for stage in self.stages}
        for stage in self.stages:
            stage.neighbours = ours
        group = self.stages[0].group
        self.rank, self.ranks = group.rank(), group.size()
        each = self.stages[0].num_stages / self.ranks
        if each != len(self.stages):
            raise ValueError(
                f"{type(self).__name__}: {self.stages[0].num_stages} stages on {self.ranks} "
                f"ranks make {each:g} a rank; this rank was given {len(self.stages)}"
            )
        self.order = self.order_of(self.rank)

    def order_of(self, rank):
        """Return the actions of a rank; a subclass says which."""
        raise NotImplementedError

    def timeline(self, *, forward=1.0, backward=2.0, transfer=0.0):
        """Return when each rank would run its actions, as pipelining.timelines.lay_out does."""
        every = [self.order_of(rank) for rank in range(self.ranks)]
        return timelines.lay_out(every, forward=forward, backward=backward, transfer=transfer)

    def step(
        self, *args, target=None, losses=None, return_outputs=True, loss_kwargs=None, **kwargs
    ):
        """Run a batch forward and backward; gradients add up in the parameters.

        Parameters
        ----------
        args, kwargs : inputs of the whole batch, at the rank of the first stage alone
        target : Tensor, at the rank of the last stage alone
        losses : list, which the loss of each microbatch is appended to, at the last stage
        return_outputs : bool
        loss_kwargs : dict, more arguments of the loss

        Returns
        -------
        the outputs of the whole batch at the rank of the last stage; None elsewhere
        """
        return self._run(
            self.order, args, kwargs, target, losses, return_outputs, loss_kwargs or {}
        )

    def eval(self, *args, target=None, losses=None, return_outputs=True, **kwargs):
        """Run a batch forward alone, without gradients; arguments and result are those of `step`."""
        forward = [action for action in self.order if action.kind == "F"]
        with no_grad():
            return self._run(forward, args, kwargs, target, losses, return_outputs, {})

    def _run(self, order, args, kwargs, target, losses, return_outputs, loss_kwargs):
        ours = {stage.stage_index: stage for stage in self.stages}
        count = self.n_microbatches
        pieces = [()] * count, [{}] * count
        if self.stages[0].is_first:
            pieces = split_args_kwargs_into_chunks(args, kwargs, count, *self.specs)
        elif args:
            raise ValueError(
                f"{type(self).__name__}.step: inputs are given at the first stage's rank "
                f"alone; this is rank {self.rank}"
            )
        last = self.stages[-1]
        targets = self._targets(target, count) if last.is_last else None
        found = {}
        for stage in self.stages:
            stage.clear()
        for kind, index, microbatch in order:
            stage = ours[index]
            if kind == "B":
                stage.backward_one(microbatch, found.get(microbatch))
                continue
            given = (pieces[0][microbatch], pieces[1][microbatch]) if stage.is_first else ((), {})
            output = stage.forward_one(microbatch, *given)
            if stage.is_last and self.loss_fn is not None and targets is not None:
                found[microbatch] = self.loss_fn(output, targets[microbatch], **loss_kwargs)
        for stage in self.stages:
            stage.finish()
            if self.scale_grads and any(action.kind == "B" for action in order):
                scale(stage.submod, count)
        if losses is not None:
            losses[:] = [found[m].detach() for m in sorted(found)]
        if not last.is_last or not return_outputs:
            return None
        return merge_chunks([last.outputs[m] for m in range(count)], self.output_merge_spec)

    def _targets(self, target, count):
        if target is None:
            if self.loss_fn is not None:
                raise ValueError(f"{type(self).__name__}.step: the last stage's rank gives target=")
            return None
        return [part[0] for part in split_args_kwargs_into_chunks((target,), {}, count)[0]]


def scale(module, count):
    """Divide gradients by the number of microbatches: losses are means over each of them."""
    with no_grad():
        for p in module.parameters():
            if p.grad is not None:
                p.grad.div_(count)


class PipelineScheduleSingle(PipelineSchedule):
    """A schedule with one stage a rank."""

    def __init__(
        self, stage, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None,
        output_merge_spec=None, scale_grads=True,
    ):  # fmt: skip
        super().__init__([stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
                         output_merge_spec, scale_grads)  # fmt: skip


class PipelineScheduleMulti(PipelineSchedule):
    """A schedule with several stages a rank."""

    def __init__(
        self, stages, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None,
        output_merge_spec=None, scale_grads=True,
    ):  # fmt: skip
        super().__init__(stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
                         output_merge_spec, scale_grads)  # fmt: skip


class ScheduleGPipe(PipelineScheduleSingle):
    """All microbatches forward, then all backward.

    Parameters
    ----------
    stage : PipelineStage, this rank's
    n_microbatches : int
    loss_fn : function of output and target, at the last stage; a mean over its microbatch
    args_chunk_spec, kwargs_chunk_spec, output_merge_spec : TensorChunkSpec for each input or
        output, where the batch isn't the first dim
    scale_grads : bool, whether gradients are divided by the number of microbatches

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> from tensorlab.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> def train(rank):
    ...     stage = PipelineStage(nn.Linear(2, 2), rank, 2)
    ...     schedule = ScheduleGPipe(stage, 4, loss_fn=nn.functional.mse_loss)
    ...     if rank == 0:
    ...         return schedule.step(tensorlab.ones(8, 2))
    ...     return schedule.step(target=tensorlab.zeros(8, 2)).shape
    >>> dist.threads.spawn(train, nprocs=2)
    [None, tensorlab.Size([8, 2])]
    """

    def order_of(self, rank):
        return orders.gpipe(rank, self.ranks, self.n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """A backward after each forward, as soon as the first microbatch has come back.

    The bubble is GPipe's; a stage keeps fewer activations. Parameters are those of
    ScheduleGPipe.
    """

    def order_of(self, rank):
        return orders.one_forward_one_backward(rank, self.ranks, self.n_microbatches)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """One forward, one backward, with several stages a rank, which makes the bubble smaller.

    Parameters
    ----------
    stages : list of PipelineStage, this rank's: rank, rank + ranks, ...

    The others are those of ScheduleGPipe.
    """

    def order_of(self, rank):
        return orders.interleaved(rank, self.ranks, self.n_microbatches, len(self.stages))


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All microbatches through one stage after the other, with several stages a rank.

    Parameters are those of ScheduleInterleaved1F1B.
    """

    def order_of(self, rank):
        return orders.looped_bfs(rank, self.ranks, self.n_microbatches, len(self.stages))


def get_schedule_class(schedule_name):
    """Return the class of a schedule by its name, such as "1F1B" or "GPipe", in any case.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> get_schedule_class("gpipe").__name__
    'ScheduleGPipe'
    """
    known = {
        "1f1b": Schedule1F1B,
        "gpipe": ScheduleGPipe,
        "interleaved1f1b": ScheduleInterleaved1F1B,
        "loopedbfs": ScheduleLoopedBFS,
    }
    if schedule_name.lower() not in known:
        names = ", ".join(one.__name__.removeprefix("Schedule") for one in known.values())
        raise ValueError(f"Unknown schedule name {schedule_name!r}. The valid options are {names}")
    return known[schedule_name.lower()]


__getattr__ = _missing.refusing(__name__)
