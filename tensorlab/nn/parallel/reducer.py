"""The reducer: averages gradients over all ranks while backward still runs.

Each parameter has a hook that the engine calls when its gradient is complete. When all
gradients of a bucket are, their average is begun, in the order of the buckets, which is the
same at all ranks; a callback at the end of backward waits for what is still running, and writes
the averages to the gradients.

The first buckets follow the reversed order of the parameters. After the first backward pass
they are made anew, in the order in which rank 0 has seen the gradients come.
"""

import warnings
import weakref

from ..._core.engine.engine import queue_callback
from ..._core.interop.exchange import tensor
from ...autograd.grad_mode import no_grad
from ...distributed import collectives, objects, world
from ...distributed.grad_bucket import GradBucket
from ...errors import DistError
from ...ops import foreach
from ...ops.creation import empty
from ...ops.joining import cat
from ...sparse.creation import sparse_coo_tensor
from .buckets import Bucket, assign


class Reducer:
    """Averages the gradients of parameters over the ranks of a group.

    Parameters
    ----------
    names : list of str, of the parameters, for messages
    parameters : list of Parameter that require a gradient
    group : ProcessGroup
    cap_bytes : int, of a bucket
    is_sparse : set of int, places of parameters whose gradients are sparse
    as_views : bool, whether gradients become views of the buckets' buffers
    is_static : bool, whether each pass uses the same parameters equally often
    asks_use : bool, whether ranks may use different parameters, so that they ask each other
    """

    def __init__(
        self, names, parameters, group, cap_bytes, is_sparse, as_views, is_static, asks_use
    ):
        self.names, self.parameters, self.group = names, parameters, group
        self.cap_bytes, self.is_sparse = cap_bytes, is_sparse
        self.as_views, self.is_static, self.asks_use = as_views, is_static, asks_use
        self.divisor = group.size()
        self.comm_hook = None  # (state, hook)
        self.travels_in = None  # the dtype in which gradients are reduced, if not their own
        self.make_buckets(list(reversed(range(len(parameters)))))
        self.arrived = []  # places in the order of the first pass
        self.has_warned = False
        self.is_rebuilt = self.has_finished = False
        self.is_running = False  # between a forward pass that expects a backward pass and its end
        self.is_quiet = False  # within no_sync
        self.expected = [1] * len(parameters)  # how often each hook is called in a pass
        self.fired = [0] * len(parameters)
        self.unused = ()
        self.is_first_static = is_static
        self.handles = [
            p.register_post_accumulate_grad_hook(self.hook_of(place))
            for place, p in enumerate(parameters)
        ]

    def make_buckets(self, order):
        """Make the buckets for an order in which gradients are expected."""
        groups = assign(self.parameters, order, self.cap_bytes, self.is_sparse)
        self.buckets = [
            Bucket(index, places, self.parameters) for index, places in enumerate(groups)
        ]
        self.bucket_of = {place: bucket for bucket in self.buckets for place in bucket.places}

    def hook_of(self, place):
        return lambda _: self.gradient_is_there(place)

    # -------------------------------------------------------------------------- around forward
    def check_finished(self):
        """Refuse a new forward pass while gradients of the last one are missing."""
        if not self.is_running or not any(self.fired):
            return
        missing = [
            name
            for place, name in enumerate(self.names)
            if not self.fired[place] and place not in self.unused
        ]
        raise DistError(
            "DistributedDataParallel: Expected to have finished reduction in the prior "
            f"iteration before starting a new one. No gradient came for {shortened(missing)}: "
            "the loss doesn't depend on them. Give find_unused_parameters=True if that is "
            "meant, and make sure that all outputs of forward take part in the loss."
        )

    def rebuild(self):
        """Order the buckets by the first pass, as rank 0 has seen it; all ranks call it together."""
        if self.is_rebuilt or not self.has_finished or self.asks_use:
            return
        self.is_rebuilt = True
        order = [self.arrived]
        objects.broadcast_object_list(order, group=self.group, group_src=0)
        rest = [place for place in range(len(self.parameters)) if place not in set(order[0])]
        self.make_buckets([*order[0], *rest])

    def prepare(self, unused=()):
        """Expect a backward pass.

        Parameters
        ----------
        unused : collection of int, places of the parameters for which no gradient will come
        """
        self.is_running, self.is_quiet, self.has_finished = True, False, False
        self.fired = [0] * len(self.parameters)
        self.unused = frozenset(unused)
        self.next_bucket = 0
        self.works = []
        for bucket in self.buckets:
            bucket.pending = len(bucket.places)
        if self.is_static and not self.is_first_static:
            self.unused = frozenset(p for p, times in enumerate(self.expected) if not times)
        self.has_counted_unused = False

    def count_unused(self):
        """Count the parameters for which no gradient will come as there."""
        self.has_counted_unused = True
        for place in self.unused:
            self.bucket_of[place].pending -= 1

    # ------------------------------------------------------------------------- during backward
    def gradient_is_there(self, place):
        """The engine has finished the gradient of a parameter."""
        if not self.is_running:
            if not self.is_quiet:
                self.warn_of_stray(place)
            return
        self.fired[place] += 1
        if self.is_first_static:
            if self.fired[place] == 1:
                self.arrived.append(place)
            return
        if self.fired[place] > self.expected[place]:
            raise twice(self.names[place])
        if not self.has_counted_unused:
            self.count_unused()
        if self.fired[place] < self.expected[place]:
            return
        if not self.is_rebuilt:
            self.arrived.append(place)
        self.bucket_of[place].pending -= 1
        self.launch_ready()

    def warn_of_stray(self, place):
        """A gradient has come that no forward pass of the wrapper announced: it isn't averaged."""
        if self.has_warned or self.group.size() == 1:
            return
        self.has_warned = True
        warnings.warn(
            f"DistributedDataParallel: a gradient of {self.names[place]} is not averaged, so "
            "the models of the ranks drift apart: it came without a forward pass of the "
            "wrapper before it. Call model(x), not model.module(x), before each backward; "
            "reentrant checkpoints need static_graph=True",
            stacklevel=2,
        )

    def launch_ready(self):
        """Begin to reduce the buckets that are complete, in their order."""
        while self.next_bucket < len(self.buckets) and not self.buckets[self.next_bucket].pending:
            bucket = self.buckets[self.next_bucket]
            self.next_bucket += 1
            self.works.append(self.launch(bucket))
            if self.next_bucket == len(self.buckets):
                queue_callback(self.finish)

    def launch(self, bucket):
        """Begin to reduce a bucket; return a function that waits, and puts the result in its buffer."""
        if bucket.places[0] in self.is_sparse:
            return lambda: self.reduce_sparse(bucket)
        with no_grad():
            self.collect(bucket)
            if self.comm_hook is None:
                bucket.buffer.mul_(1 / self.divisor)
                return self.all_reduce(bucket)
            state, hook = self.comm_hook
            is_last = self.next_bucket == len(self.buckets)
            future = hook(state, GradBucket(bucket, is_last))
        return lambda: put(bucket, future.wait())

    def all_reduce(self, bucket):
        """Begin to add a bucket's buffer over the ranks; return a function that waits for it."""
        x = bucket.buffer
        if self.travels_in is not None and x.is_floating_point():
            x = x.to(self.travels_in)
        work = collectives.all_reduce(x, group=self.group, async_op=True)
        return lambda: (work.wait(), put(bucket, x))

    def collect(self, bucket):
        """Copy the gradients of a bucket into its buffer; unused parameters give zeros."""
        sources, targets = [], []
        for p, view in zip(bucket.parameters, bucket.views, strict=True):
            if p.grad is None:
                view.zero_()
            elif p.grad.data_ptr() != view.data_ptr() or not p.grad.is_contiguous():
                sources.append(p.grad.detach())
                targets.append(view)
        if sources:
            foreach._foreach_copy_(targets, sources)

    def finish(self):
        """Wait for all buckets, and write the averages to the gradients: the end of backward."""
        used = self.ask_who_uses() if self.asks_use else None
        if self.is_static and self.unused:
            used = [place not in self.unused for place in range(len(self.parameters))]
        for bucket, wait in zip(self.buckets, self.works, strict=True):
            wait()
            if bucket.places[0] not in self.is_sparse:
                self.give(bucket, used)
        self.works = []
        self.end()

    def end(self):
        """The pass is over; remember which gradients are averages, for who averages them again."""
        self.is_running, self.has_finished = False, True
        averaged = world.current().averaged
        averaged.clear()
        grads = [p.grad for p in self.parameters if p.grad is not None and not p.grad.is_sparse]
        averaged.update({id(grad): (weakref.ref(grad), grad._version) for grad in grads})

    def give(self, bucket, used):
        """Write the averages of a bucket to the gradients."""
        sources, targets = [], []
        with no_grad():
            for place, p, view in zip(bucket.places, bucket.parameters, bucket.views, strict=True):
                if used is not None and not used[place]:
                    continue  # no rank uses it: its gradient stays as it was
                if self.as_views:
                    p.grad = view
                elif p.grad is None:
                    p.grad = view.clone()
                else:
                    sources.append(view)
                    targets.append(p.grad.detach())
            if sources:
                foreach._foreach_copy_(targets, sources)

    def ask_who_uses(self):
        """Return for each parameter whether any rank has a gradient for it."""
        used = tensor([int(place not in self.unused) for place in range(len(self.parameters))])
        collectives.all_reduce(used, group=self.group)
        return used.tolist()

    def reduce_sparse(self, bucket):
        """Average a sparse gradient: all ranks get the entries of all ranks."""
        p = bucket.parameters[0]
        grad = p.grad.coalesce()
        sizes = [None] * self.group.size()
        objects.all_gather_object(sizes, grad.indices().shape[1], self.group)
        indices = gathered(
            [(grad.indices().shape[0], n) for n in sizes], grad.indices(), self.group
        )
        values = gathered([(n, *grad.values().shape[1:]) for n in sizes], grad.values(), self.group)
        p.grad = sparse_coo_tensor(
            cat(indices, 1), cat(values) / self.divisor, grad.shape
        ).coalesce()

    # --------------------------------------------------------------------- the first static pass
    def end_static_pass(self):
        """After the first pass of a static graph: note how often each gradient came, then reduce."""
        if not self.is_first_static or not self.is_running:
            return
        self.is_first_static = False
        self.expected = list(self.fired)
        self.unused = frozenset(p for p, times in enumerate(self.expected) if not times)
        for bucket in self.buckets:
            self.next_bucket += 1
            self.works.append(self.launch(bucket))
        self.finish()

    # ------------------------------------------------------------------------------- for joining
    def shadow(self):
        """Take part in the reductions of a backward pass that the other ranks run, with zeros."""
        self.prepare(range(len(self.parameters)))
        for bucket in self.buckets:
            self.next_bucket += 1
            bucket.buffer.zero_()
            if self.comm_hook is None:
                self.all_reduce(bucket)()
            else:
                state, hook = self.comm_hook
                hook(state, GradBucket(bucket, self.next_bucket == len(self.buckets))).wait()
        if self.asks_use:
            self.ask_who_uses()
        self.end()


def twice(name):
    """Return the error for a gradient that comes twice in one pass."""
    return DistError(
        "DistributedDataParallel: Expected to mark a variable ready only once: the gradient of "
        f"{name} came twice in one backward pass. Reentrant checkpoints do that: use "
        "checkpoint(use_reentrant=False), or static_graph=True"
    )


def put(bucket, result):
    """Copy what a communication hook has returned into a bucket's buffer."""
    result = result[0] if isinstance(result, (list, tuple)) else result
    if result.data_ptr() != bucket.buffer.data_ptr():
        with no_grad():
            bucket.buffer.copy_(result)


def gathered(shapes, x, group):
    """Return the tensors of all ranks, of the given shapes."""
    parts = [empty(shape, dtype=x.dtype) for shape in shapes]
    collectives.all_gather(parts, x, group)
    return parts


def shortened(names):
    """Return at most five names, and how many there are besides."""
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + rest
