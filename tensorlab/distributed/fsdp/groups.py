"""A group of parameters that are gathered, and whose gradients are reduced, with one exchange.

    forward    Gather: this rank's parts  ->  the whole parameters
    backward   the gradients of the whole ->  this rank's parts of their average

Gather is a function of autograd, so the gradients of the parts are those of any parameter. The
whole is given up after forward, and gathered once more when backward asks for it (saved.py).

Backward only begins to reduce gradients, and goes on with the group before. What waits for the
averages is Deliver, which stands between the parts and Gather. All of a model's are recorded
before its forward, and what was recorded first is what backward runs last.
"""

from tensorlab.autograd.function import Function
from tensorlab.autograd.grad_mode import inference_mode, is_grad_enabled, no_grad
from tensorlab.distributed.collectives import all_gather, all_reduce, reduce_scatter
from tensorlab.distributed.fsdp import saved
from tensorlab.ops.joining import cat


def nothing(*_):
    """Do nothing."""


class Group:
    """The parameters of a module, or of several, that are gathered together.

    Parameters
    ----------
    params : list of ShardedParameter
    ranks : Ranks
    policy : MixedPrecisionPolicy

    Attributes
    ----------
    reduces, all_reduces : bool, whether backward reduces gradients now, over the shards' ranks
        and over those that replicate
    reshards_after_backward : bool
    factor : float or None, what sums of gradients are divided by instead of the number of ranks
    """

    def __init__(self, params, ranks, policy):
        self.params, self.ranks, self.policy = params, ranks, policy
        self.reduces = self.all_reduces = self.reshards_after_backward = True
        self.factor, self.all_reduce_hook = None, None
        self.wholes, self.pending, self.fresh = None, None, None
        self.unreduced = [None] * len(params)  # gradients that were not to be reduced yet
        self.half_reduced = [None] * len(params)  # those that the replicas have not added yet
        self.delivery = None  # made ahead for the next Gather: (parts, slot, tokens)
        # what its State has to do around backward
        self.before_backward = self.before_reducing = self.when_reducing = nothing

    # ------------------------------------------------------------ gathering
    def versions(self):
        """Return what is another value once the parts have changed."""
        return [(id(one.sharded), one.sharded._local_tensor._version) for one in self.params]

    def dtype_of(self, param):
        """Return the dtype of a gathered parameter."""
        wanted = self.policy.param_dtype
        return wanted if wanted is not None and param.dtype.is_floating_point else param.dtype

    def begin(self):
        """Begin to gather, if nothing is gathered yet: nothing is waited for."""
        if self.wholes is not None and self.fresh == self.versions():
            return
        if self.pending is not None and self.pending[0] == self.versions():
            return
        buckets = by_key(self.params, self.dtype_of)
        started = []
        with inference_mode(False), no_grad():  # backward may want them later
            for dtype, members in buckets.items():
                own = [one.sharded._local_tensor.reshape(-1).to(dtype) for one in members]
                flat = cat(own) if len(own) > 1 else own[0]
                parts, work = [flat], None
                if self.ranks.size > 1:
                    sizes = [
                        sum(one.numel_at(rank) for one in members)
                        for rank in range(self.ranks.size)
                    ]
                    parts = [flat.new_empty((size,)) for size in sizes]
                    work = all_gather(parts, flat, self.ranks.shard_group, async_op=True)
                started.append((members, parts, work))
        self.pending = self.versions(), started

    def gathered(self):
        """Return the whole parameters, gathered now or before, as tensors without history."""
        if self.wholes is None or self.fresh != self.versions():
            self.begin()
            self.finish()
        return self.wholes

    def finish(self):
        """Wait for the parts of the other ranks, and put the parameters together."""
        versions, started = self.pending
        self.pending, found = None, {}
        self.free()
        with inference_mode(False), no_grad():  # backward may want them later
            for members, parts, work in started:
                if work is not None:
                    work.wait()
                firsts = [0] * len(parts)
                for one in members:
                    pieces = []
                    for rank, flat in enumerate(parts):
                        n = one.numel_at(rank)
                        pieces.append(flat.narrow(0, firsts[rank], n))
                        firsts[rank] += n
                    found[id(one)] = one.joined(pieces)
        self.wholes, self.fresh = [found[id(one)] for one in self.params], versions
        saved.register(self)

    def free(self):
        """Give up the whole parameters."""
        if self.wholes is not None:
            saved.unregister(self)
        self.wholes = self.fresh = None

    # ------------------------------------------------------------ into the modules and out
    def put_whole(self):
        """Put the whole parameters into the modules, connected to the parts by autograd."""
        if is_grad_enabled() and any(one.sharded.requires_grad for one in self.params):
            slot, tokens = self.take_delivery()
            values = Gather.apply(self, slot, *tokens)
        else:
            values = [one.as_whole(x) for one, x in zip(self.params, self.gathered(), strict=True)]
        for one, value in zip(self.params, values, strict=True):
            one.put(value)

    def put_parts(self):
        """Put the parts back into the modules."""
        for one in self.params:
            one.put(one.sharded)

    # ------------------------------------------------------------ gradients
    def deliver(self):
        """Record now what waits for the gradients of the next forward."""
        for one in self.params:
            one.refresh()
        parts, slot = [one.sharded for one in self.params], [None]
        self.delivery = parts, slot, Deliver.apply(slot, *parts)

    def take_delivery(self):
        """Return what was recorded ahead, or is recorded now: the slot for a Reduction, and stand-ins of the parts."""
        is_there = self.delivery is not None
        if not is_there or any(
            x is not one.sharded for x, one in zip(self.delivery[0], self.params, strict=True)
        ):
            self.deliver()
        (_, slot, tokens), self.delivery = self.delivery, None
        return slot, tokens

    def reduce(self, grads, needed):
        """Begin to average gradients; returns the Reduction.

        Parameters
        ----------
        grads : list of Tensor or None, the gradients of the whole parameters
        needed : list of bool, which of them are wanted
        """
        wanted = self.policy.reduce_dtype or self.policy.param_dtype
        reduction, work = Reduction(self), []
        with no_grad():
            for k, (one, grad) in enumerate(zip(self.params, grads, strict=True)):
                if not needed[k]:
                    continue
                if grad is not None:
                    grad = one.local_gradient(grad)
                    grad = grad.to(wanted) if wanted is not None else grad
                if self.unreduced[k] is not None:
                    grad = self.unreduced[k] if grad is None else self.unreduced[k] + grad
                    self.unreduced[k] = None
                if grad is None:
                    continue
                if self.reduces:
                    work.append((k, one, grad))
                else:
                    self.unreduced[k] = grad
            for members in by_key(work, lambda member: member[2].dtype).values():
                reduction.begin(members)
        return reduction

    def over_replicas(self, members, own):
        """Add the parts over the ranks that replicate; or keep them for later, and return None."""
        key = members[0][0]
        if self.half_reduced[key] is not None:
            own, self.half_reduced[key] = own + self.half_reduced[key], None
        if not self.all_reduces:
            self.half_reduced[key] = own
            return None
        own = own.contiguous()
        all_reduce(own, group=self.ranks.replicate_group)
        return own

    def divisor(self):
        """Return what sums of gradients are divided by: how many ranks have added to them."""
        if self.factor is not None:
            return self.factor
        replicas = self.ranks.replicate_group
        return self.ranks.size * (replicas.size() if replicas is not None else 1)


def by_key(members, key):
    """Return a dict of a key to the members that have it, in their order."""
    buckets: dict = {}
    for one in members:
        buckets.setdefault(key(one), []).append(one)
    return buckets


class Reduction:
    """Gradients of a group that are being averaged: begun at once, and waited for later."""

    def __init__(self, group):
        self.group, self.started = group, []
        self.results = [None] * len(group.params)

    def begin(self, members):
        """Begin to reduce gradients of one dtype with one exchange."""
        lists = [list(one.pieces(grad)) for _, one, grad in members]
        parts = [cat(list(column)) for column in zip(*lists, strict=True)]
        ranks = self.group.ranks
        own, work = parts[ranks.rank], None
        if ranks.size > 1:
            own = own.new_empty(own.shape)
            work = reduce_scatter(own, parts, group=ranks.shard_group, async_op=True)
        self.started.append((members, own, work))

    def settle(self):
        """Wait, and put this rank's parts of the averages into `results`."""
        started, self.started = self.started, []
        with no_grad():
            for members, own, work in started:
                if work is not None:
                    work.wait()
                self.finish(members, own)

    def finish(self, members, own):
        """Make averages of sums, over the replicas too, and cut them into the parts of each parameter."""
        group, first = self.group, 0
        if group.ranks.replicate_group is not None:
            own = group.over_replicas(members, own)
            if own is None:
                return
        own = own / group.divisor()
        if group.all_reduce_hook is not None:
            group.all_reduce_hook(own)
        for k, one, _ in members:
            n = one.numel_at(group.ranks.rank)
            piece = own.narrow(0, first, n).to(one.dtype)
            self.results[k] = one.part_of_gradient(piece.clone() if len(members) > 1 else piece)
            first += n


class Deliver(Function):
    """Stand-ins for this rank's parts, which Gather is given; backward waits for the gradients of the parts."""

    @staticmethod
    def forward(ctx, slot, *parts):
        ctx.slot = slot
        ctx.set_materialize_grads(False)
        tokens = [x._local_tensor.detach() for x in parts]
        fixed = [x for x, given in zip(tokens, parts, strict=True) if not given.requires_grad]
        ctx.mark_non_differentiable(*fixed)
        return tuple(tokens)

    @staticmethod
    def backward(ctx, *grads):
        (reduction,) = ctx.slot
        reduction.settle()
        results, reduction.results = (
            reduction.results,
            None,
        )  # a leaf takes over what no one else holds
        return (None, *results)


class Gather(Function):
    """The whole parameters of a group, of this rank's parts."""

    @staticmethod
    def forward(ctx, group, slot, *tokens):
        ctx.group, ctx.slot = group, slot
        ctx.set_materialize_grads(False)
        wholes = [
            one.as_whole(x.detach()) for one, x in zip(group.params, group.gathered(), strict=True)
        ]
        fixed = [x for x, given in zip(wholes, tokens, strict=True) if not given.requires_grad]
        ctx.mark_non_differentiable(*fixed)
        ctx.shapes = [x.shape for x in tokens]
        return tuple(wholes)

    @staticmethod
    def backward(ctx, *grads):
        group, needed = ctx.group, ctx.needs_input_grad[2:]
        group.before_reducing()
        reduction = group.reduce(grads, needed)
        ctx.slot[:] = [reduction]
        if group.reshards_after_backward:
            group.free()
        group.when_reducing(reduction)
        # Deliver has the gradients; what goes there through the graph are zeros without memory
        zero = group.params[0].sharded._local_tensor.new_zeros(())
        return (
            None,
            None,
            *[
                zero.expand(n) if wanted else None
                for n, wanted in zip(ctx.shapes, needed, strict=True)
            ],
        )
