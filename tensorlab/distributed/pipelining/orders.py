"""The order in which a rank runs the microbatches of its stages: it is what schedules differ in.

An order is a list of `Action`s: forward or backward of one microbatch through one stage. It
names no communication; what an action needs follows from it.
"""

from typing import NamedTuple


class Action(NamedTuple):
    """Forward ("F") or backward ("B") of one microbatch through one stage."""

    kind: str
    stage: int
    microbatch: int

    def __str__(self):
        return f"{self.stage}{self.kind}{self.microbatch}"


def gpipe(rank, ranks, microbatches) -> list:
    """All forwards, then all backwards. Source: Huang et al. 2019, GPipe, figure 2c."""
    return [Action(kind, rank, m) for kind in "FB" for m in range(microbatches)]


def one_forward_one_backward(rank, ranks, microbatches) -> list:
    """As soon as the first microbatch comes back, a backward follows each forward.

    A stage keeps the activations of at most `ranks - rank` microbatches, where GPipe keeps all.
    Source: Narayanan et al. 2019, PipeDream, figure 8.
    """
    ahead = min(microbatches, ranks - rank)
    order = [Action("F", rank, m) for m in range(ahead)]
    for m in range(microbatches):
        order.append(Action("B", rank, m))
        if ahead + m < microbatches:
            order.append(Action("F", rank, ahead + m))
    return order


def looped_bfs(rank, ranks, microbatches, stages_each) -> list:
    """GPipe for several stages a rank: all microbatches through one stage before the next.

    Source: Lamy-Poirier 2022, Breadth-First Pipeline Parallelism.
    """
    stages = [rank + ranks * i for i in range(stages_each)]
    forward = [Action("F", s, m) for s in stages for m in range(microbatches)]
    return forward + [Action("B", s, m) for s in reversed(stages) for m in range(microbatches)]


def interleaved(rank, ranks, microbatches, stages_each) -> list:
    """One forward, one backward, for several stages a rank: the bubble shrinks by their number.

    Microbatches go through the stages in rounds. Source: Narayanan et al. 2021, Efficient
    Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, section 2.2.

    Raises
    ------
    ValueError
        If the microbatches can't be cut into rounds of equal size.
    """
    rounds = max(1, microbatches // ranks)
    if microbatches % rounds:
        raise ValueError(
            f"Interleaved 1F1B requires the number of microbatches ({microbatches}) to be a "
            "multiple of "
            f"the number of rounds ({rounds}); use a multiple of the number of ranks, {ranks}"
        )
    size = microbatches // rounds
    total = microbatches * stages_each

    def place(step, is_backward):
        turn, within = divmod(step, size)
        local = turn % stages_each
        local = stages_each - 1 - local if is_backward else local
        microbatch = turn // stages_each * size + within
        return rank + ranks * local, microbatch

    ahead = min(total, (stages_each - 1) * size + 2 * (ranks - 1 - rank) + 1)
    order = [Action("F", *place(step, False)) for step in range(ahead)]
    for step in range(total):
        order.append(Action("B", *place(step, True)))
        if ahead + step < total:
            order.append(Action("F", *place(ahead + step, False)))
    return order
