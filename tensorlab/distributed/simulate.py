"""Predict how long a training step takes on more ranks than there are.

A message of n bytes takes *latency + n / bandwidth* seconds (the alpha-beta model); a
collective is made of such messages, a step of computation and collectives, some of which run at
the same time. The computation is measured on one rank, latency and bandwidth on a few.

What isn't in the model: messages that get in each other's way, ranks that are slow now and
then, and memory.

Source of the costs of collectives: Thakur, Rabenseifner, Gropp 2005, Optimization of Collective
Communication Operations in MPICH, sections 3 and 4.
"""

import dataclasses
import math
import time

import numpy as np

from tensorlab.distributed.pipelining import orders, timelines

__all__ = [
    "Cluster",
    "Link",
    "Prediction",
    "TrainingStep",
    "all_gather",
    "all_reduce",
    "broadcast",
    "data_parallel",
    "fit_link",
    "measure_step",
    "pipeline_parallel",
    "reduce_scatter",
    "sharded_data_parallel",
    "tensor_parallel",
]

ALGORITHMS = "ring", "tree", "recursive_doubling", "hierarchical"


@dataclasses.dataclass(frozen=True)
class Link:
    """A connection between two ranks.

    Attributes
    ----------
    latency : float, seconds until the first byte is there
    bandwidth : float, bytes per second
    """

    latency: float
    bandwidth: float

    def seconds(self, nbytes):
        """Return how long a message takes."""
        return self.latency + nbytes / self.bandwidth


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Ranks on nodes.

    Attributes
    ----------
    ranks : int
    inside : Link, between ranks of a node
    per_node : int, ranks on a node; by default all
    between : Link, between nodes; by default as inside
    """

    ranks: int
    inside: Link
    per_node: int | None = None
    between: Link | None = None

    def __post_init__(self):
        if self.ranks < 1:
            raise ValueError(f"Cluster: ranks is {self.ranks}; expected at least 1")
        if self.per_node is not None and (self.per_node < 1 or self.ranks % self.per_node):
            raise ValueError(
                f"Cluster: {self.ranks} ranks don't make full nodes of {self.per_node}; "
                "expected a divisor"
            )

    @property
    def nodes(self):
        return self.ranks // (self.per_node or self.ranks)

    @property
    def slowest(self):
        """The link that a collective over all ranks waits for."""
        return self.between if self.nodes > 1 and self.between is not None else self.inside


def all_reduce(nbytes, cluster, algorithm="ring") -> float:
    """Return how many seconds an all_reduce takes.

    Parameters
    ----------
    nbytes : int, of the tensor
    cluster : Cluster
    algorithm : "ring" (2 (p - 1) messages of n / p bytes), "tree" (up a binary tree and down
        again), "recursive_doubling" (log2 p exchanges of n bytes) or "hierarchical" (a ring in
        each node, a ring between nodes, for a part of the tensor each)

    Examples
    --------
    >>> four = Cluster(4, Link(1e-6, 1e9))
    >>> round(all_reduce(4_000_000, four) * 1e3, 3)  # ms: 6 messages of 1 MB
    6.006
    """
    p, link = cluster.ranks, cluster.slowest
    if p == 1:
        return 0.0
    if algorithm == "ring":
        return 2 * (p - 1) * link.seconds(nbytes / p)
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * link.seconds(nbytes)
    if algorithm == "recursive_doubling":
        return math.ceil(math.log2(p)) * link.seconds(nbytes)
    if algorithm == "hierarchical":
        inner = Cluster(cluster.per_node or p, cluster.inside)
        outer = Cluster(cluster.nodes, cluster.slowest)
        part = nbytes / inner.ranks
        return reduce_scatter(nbytes, inner) + all_reduce(part, outer) + all_gather(nbytes, inner)
    raise ValueError(
        f"all_reduce: algorithm is {algorithm!r}; expected one of {', '.join(ALGORITHMS)}"
    )


def all_gather(nbytes, cluster) -> float:
    """Return how many seconds it takes until all ranks have all of `nbytes`, by a ring."""
    p = cluster.ranks
    return (p - 1) * cluster.slowest.seconds(nbytes / p) if p > 1 else 0.0


def reduce_scatter(nbytes, cluster) -> float:
    """Return how many seconds it takes until each rank has its part of a sum, by a ring."""
    return all_gather(nbytes, cluster)


def broadcast(nbytes, cluster) -> float:
    """Return how many seconds a broadcast takes, down a binary tree."""
    return (
        math.ceil(math.log2(cluster.ranks)) * cluster.slowest.seconds(nbytes)
        if cluster.ranks > 1
        else 0.0
    )


@dataclasses.dataclass(frozen=True)
class TrainingStep:
    """What a training step of one rank costs, layer by layer.

    Attributes
    ----------
    forward, backward : tuple of float, seconds of each layer, in the order of forward
    parameter_bytes : tuple of int, of each layer
    activation_bytes : int, what a layer hands to the next one
    optimizer : float, seconds of the optimizer's step
    """

    forward: tuple
    backward: tuple
    parameter_bytes: tuple
    activation_bytes: int = 0
    optimizer: float = 0.0

    @property
    def seconds(self):
        """Return how long the step takes on one rank."""
        return sum(self.forward) + sum(self.backward) + self.optimizer


@dataclasses.dataclass
class Prediction:
    """What a step would take.

    Attributes
    ----------
    seconds : float
    entries : list of (lane, what, start, end), for viz.timeline: lane 0 computes, and lane 1
        communicates; for a pipeline, a lane is a rank
    waiting : float, seconds in which computation waits for communication
    """

    seconds: float
    entries: list
    waiting: float


class Lanes:
    """Computation and communication that run at the same time, each in its own order."""

    def __init__(self):
        self.free = [0.0, 0.0]
        self.entries = []

    def run(self, lane, what, seconds, after=0.0):
        """Do something as soon as the lane is free and `after` is over; return its end."""
        start = max(self.free[lane], after)
        self.free[lane] = start + seconds
        if seconds:
            self.entries.append((lane, what, start, start + seconds))
        return self.free[lane]

    def predicted(self, computing):
        return Prediction(max(self.free), self.entries, max(self.free) - computing)


def data_parallel(
    step, cluster, *, bucket_bytes=25 << 20, algorithm="ring", overlap=True
) -> Prediction:
    """Predict a step of data parallel training, in which each rank has a batch as large as measured.

    Parameters
    ----------
    step : TrainingStep
    cluster : Cluster
    bucket_bytes : int, as in DistributedDataParallel
    algorithm : str, of all_reduce
    overlap : bool; False begins communication after backward

    Returns
    -------
    Prediction
    """
    lanes = Lanes()
    for number, seconds in enumerate(step.forward):
        lanes.run(0, f"forward {number}", seconds)
    end_of_backward = lanes.free[0] + sum(step.backward)
    collected = bucket = 0
    for number in reversed(range(len(step.backward))):
        ready = lanes.run(0, f"backward {number}", step.backward[number])
        collected += step.parameter_bytes[number]
        if collected >= bucket_bytes or number == 0:
            cost = all_reduce(collected, cluster, algorithm)
            lanes.run(1, f"bucket {bucket}", cost, ready if overlap else end_of_backward)
            collected, bucket = 0, bucket + 1
    lanes.run(0, "optimizer", step.optimizer, lanes.free[1])
    return lanes.predicted(step.seconds)


def sharded_data_parallel(step, cluster, *, reshard_after_forward=True) -> Prediction:
    """Predict a step in which parameters are sharded, as fully_shard does, one layer ahead.

    Each layer's parameters are gathered before forward, and again before backward unless they
    are kept; its gradients are reduced to shards after backward.

    Returns
    -------
    Prediction
    """
    lanes = Lanes()
    layers = len(step.forward)
    gathered = [lanes.run(1, "gather 0", all_gather(step.parameter_bytes[0], cluster))]
    for number in range(layers):
        begins = max(lanes.free[0], gathered[number])
        if number + 1 < layers:
            cost = all_gather(step.parameter_bytes[number + 1], cluster)
            gathered.append(lanes.run(1, f"gather {number + 1}", cost, begins))
        lanes.run(0, f"forward {number}", step.forward[number], gathered[number])
    ready = 0.0  # the last layer is still there
    for number in reversed(range(layers)):
        begins, needed = max(lanes.free[0], ready), ready
        if reshard_after_forward and number > 0:  # before this layer's gradients are reduced
            cost = all_gather(step.parameter_bytes[number - 1], cluster)
            ready = lanes.run(1, f"gather {number - 1}", cost, begins)
        done = lanes.run(0, f"backward {number}", step.backward[number], needed)
        cost = reduce_scatter(step.parameter_bytes[number], cluster)
        lanes.run(1, f"reduce {number}", cost, done)
    lanes.run(0, "optimizer", step.optimizer / cluster.ranks, lanes.free[1])
    return lanes.predicted(step.seconds - step.optimizer * (1 - 1 / cluster.ranks))


def tensor_parallel(step, cluster, *, reductions_per_layer=2) -> Prediction:
    """Predict a step in which each layer's matrices are cut over all ranks.

    Parameters
    ----------
    reductions_per_layer : int, how many all_reduces of activations a layer has in forward, and
        as many in backward: 2 in a transformer block, one after attention and one after the MLP
    """
    p, lanes = cluster.ranks, Lanes()
    cost = reductions_per_layer * all_reduce(step.activation_bytes, cluster)
    done = 0.0
    for kind, times in (("forward", step.forward), ("backward", step.backward[::-1])):
        for number, seconds in enumerate(times):
            computed = lanes.run(0, f"{kind} {number}", seconds / p, done)
            done = lanes.run(1, "all_reduce", cost, computed)
    lanes.run(0, "optimizer", step.optimizer / p, done)
    return lanes.predicted(step.seconds / p)


def pipeline_parallel(
    step, cluster, *, microbatches=None, order=orders.one_forward_one_backward
) -> Prediction:
    """Predict a step in which layers are shared out as stages, one for each rank.

    Parameters
    ----------
    step : TrainingStep of the whole batch
    microbatches : int, by default four for each rank
    order : function of rank, ranks and microbatches, as in pipelining.orders
    """
    p = cluster.ranks
    count = 4 * p if microbatches is None else microbatches
    transfer = cluster.slowest.seconds(step.activation_bytes / count)
    entries = timelines.lay_out(
        [order(rank, p, count) for rank in range(p)],
        forward=sum(step.forward) / p / count,
        backward=sum(step.backward) / p / count,
        transfer=transfer,
    )
    end = max(entry[3] for entry in entries) + step.optimizer / p
    entries = [(rank, str(action), start, stop) for rank, action, start, stop in entries]
    return Prediction(end, entries, end - step.seconds / p)


def fit_link(nbytes, seconds, ranks, algorithm="ring") -> Link:
    """Return the Link that explains measured times of all_reduce best.

    Parameters
    ----------
    nbytes, seconds : sequences of numbers: sizes, and what they took
    ranks : int
    algorithm : str, which is assumed

    Notes
    -----
    Least squares of relative errors: small tensors, where latency shows, count as much as
    large.
    """
    unit_latency, unit_byte = Cluster(ranks, Link(1.0, math.inf)), Link(0.0, 1.0)
    latencies = all_reduce(0, unit_latency, algorithm)
    columns = [[latencies, all_reduce(n, Cluster(ranks, unit_byte), algorithm)] for n in nbytes]
    weights = 1 / np.asarray(seconds, dtype=float)
    matrix = np.asarray(columns) * weights[:, None]
    (latency, per_byte), *_ = np.linalg.lstsq(matrix, np.ones(len(weights)), rcond=None)
    return Link(max(float(latency), 0.0), 1 / max(float(per_byte), 1e-15))


def measure_step(layers, x, loss, *, optimizer=None, repeats=5) -> TrainingStep:
    """Measure a training step on this rank, layer by layer; return a TrainingStep.

    Parameters
    ----------
    layers : sequence of Module, each of which takes what the one before returns
    x : Tensor, a batch
    loss : function of the output
    optimizer : Optimizer, optional
    repeats : int; the fastest of so many steps counts, after one that isn't counted

    Returns
    -------
    TrainingStep
    """
    layers, steps = list(layers), []
    for _ in range(repeats + 1):
        forward, backward, activations = [], [], 0
        inputs, outputs, value = [], [], x
        for layer in layers:
            value = value.detach().requires_grad_(value.is_floating_point())
            start = time.perf_counter()
            output = layer(value)
            forward.append(time.perf_counter() - start)
            inputs.append(value)
            outputs.append(output)
            activations = max(activations, output.numel() * output.element_size())
            value = output
        start = time.perf_counter()
        last = outputs[-1].detach().requires_grad_()
        loss(last).backward()
        grad, at_loss = last.grad, time.perf_counter() - start
        for output, given in zip(reversed(outputs), reversed(inputs), strict=True):
            start = time.perf_counter()
            output.backward(grad)
            backward.append(time.perf_counter() - start)
            grad = given.grad
        backward[0] += at_loss
        start = time.perf_counter()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()
        seconds = time.perf_counter() - start
        sizes = [sum(p.numel() * p.element_size() for p in layer.parameters()) for layer in layers]
        step = TrainingStep(
            tuple(forward), tuple(reversed(backward)), tuple(sizes), activations, seconds
        )
        steps.append(step)
    return min(steps[1:] or steps, key=lambda one: one.seconds)  # the first warms up
