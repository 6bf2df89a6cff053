"""PipelineStage: a part of a model on one rank, and what goes to and comes from its neighbours."""

from tensorlab import _missing
from tensorlab._pytree import tree_flatten, tree_unflatten
from tensorlab._tensor import Tensor
from tensorlab.autograd import backward as run_backward
from tensorlab.distributed import objects, point_to_point
from tensorlab.distributed.pipelining.microbatch import detached
from tensorlab.distributed.process_groups import the_group
from tensorlab.errors import DistError
from tensorlab.ops.creation import empty

__all__ = ["PipelineStage"]


class Shape:
    """What stands for a tensor in the description of a message."""

    def __init__(self, x):
        self.shape, self.dtype = tuple(x.shape), x.dtype


class PipelineStage:
    """One stage of a pipeline.

    Parameters
    ----------
    submodule : Module, the part of the model
    stage_index : int, from 0
    num_stages : int, of the whole pipeline; stage i runs on rank i % ranks
    device : device or str; "cpu"
    input_args, output_args : accepted for PyTorch's sake; shapes are found in the first step
    group : ProcessGroup, by default all ranks

    Raises
    ------
    ValueError
        If the index is none of the stages.
    RuntimeError
        If the stage belongs to another rank.
    """

    def __init__(
        self, submodule, stage_index, num_stages, device="cpu", input_args=None, output_args=None,
        output_grads=None, input_grads=None, group=None, dw_builder=None, get_mesh=None,
    ):  # fmt: skip
        self.group = the_group(group, "PipelineStage")
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        if stage_index % self.group.size() != self.group.rank():
            raise DistError(
                f"PipelineStage: stage {stage_index} of {num_stages} runs on rank "
                f"{stage_index % self.group.size()}, and this is rank {self.group.rank()}"
            )
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self.neighbours = {}  # stages on this rank, by their index
        self.forgotten = self.layouts = None
        self.clear()
        self.layouts = {}

    def clear(self):
        """Forget what belongs to microbatches."""
        self.kept = {}  # microbatch: (inputs, output)
        self.outputs = {}
        self.handed = {}  # what a stage on the same rank has left here: (kind, microbatch)
        self.sending = []

    def forward_one(self, microbatch, args, kwargs):
        """Run a microbatch, whose inputs come from the caller at the first stage."""
        if not self.is_first:
            received = self.receive("F", microbatch)
            args = received if isinstance(received, tuple) else (received,)
        inputs = args if self.is_first else detached(args)
        output = self.submod(*inputs, **kwargs)
        self.kept[microbatch] = inputs, output
        self.outputs[microbatch] = output
        if not self.is_last:
            self.send("F", microbatch, output)
        return output

    def backward_one(self, microbatch, loss=None):
        """Run a microbatch backwards, from its loss at the last stage, else from what comes."""
        inputs, output = self.kept.pop(microbatch)
        if self.is_last:
            loss.backward()
        else:
            grads = tree_flatten(self.receive("B", microbatch))[0]
            pairs = [
                (x, grad)
                for x, grad in zip(tree_flatten(output)[0], grads, strict=True)
                if isinstance(x, Tensor) and x.requires_grad and grad is not None
            ]
            run_backward([x for x, _ in pairs], [grad for _, grad in pairs])
            self.outputs.pop(microbatch)
        if not self.is_first:
            leaves = tree_flatten(inputs)[0]
            grads = [x.grad if isinstance(x, Tensor) else None for x in leaves]
            self.send("B", microbatch, tuple(grads))

    # ------------------------------------------------------------------------------ messages
    def other_end(self, kind):
        """Return the stage that a message of this kind goes to, when this stage sends it."""
        return self.stage_index + 1 if kind == "F" else self.stage_index - 1

    def send(self, kind, microbatch, values):
        """Send nested values to the next stage ("F") or the one before ("B")."""
        target = self.other_end(kind)
        if target in self.neighbours:
            self.neighbours[target].handed[kind, microbatch] = values
            return
        rank = target % self.group.size()
        leaves, structure = tree_flatten(values)
        layout = [Shape(x) if isinstance(x, Tensor) else x for x in leaves], structure
        if kind not in self.layouts:  # shapes are the same for all microbatches, or sent again
            self.layouts[kind] = describe(layout)
            objects.send_object_list([layout], group=self.group, group_dst=rank)
        elif self.layouts[kind] != describe(layout):
            raise DistError(
                f"PipelineStage: stage {self.stage_index} sends {describe(layout)} with "
                f"microbatch {microbatch}, and sent {self.layouts[kind]} before; microbatches "
                "have equal shapes"
            )
        for place, x in enumerate(leaves):
            if isinstance(x, Tensor):
                message = x.detach().contiguous()
                tag = self.tag(kind, target, microbatch, place)
                work = point_to_point.isend(message, group=self.group, group_dst=rank, tag=tag)
                self.sending.append((work, message))

    def receive(self, kind, microbatch):
        """Return the values that another stage has sent: "F" from before, "B" from after."""
        source = self.stage_index - 1 if kind == "F" else self.stage_index + 1
        if source in self.neighbours:
            return self.handed.pop((kind, microbatch))
        rank = source % self.group.size()
        if (kind, "in") not in self.layouts:
            got = [None]
            objects.recv_object_list(got, group=self.group, group_src=rank)
            self.layouts[kind, "in"] = got[0]
        leaves, structure = self.layouts[kind, "in"]
        values = [
            self.receive_one(x, rank, self.tag(kind, self.stage_index, microbatch, place))
            if isinstance(x, Shape)
            else x
            for place, x in enumerate(leaves)
        ]
        return tree_unflatten(values, structure)

    def receive_one(self, described, rank, tag):
        x = empty(described.shape, dtype=described.dtype)
        point_to_point.recv(x, group=self.group, group_src=rank, tag=tag)
        return x

    def tag(self, kind, target, microbatch, place):
        """Return a number that no other message between two ranks has in a step."""
        return 1 + ((microbatch * self.num_stages + target) * 8 + place) * 2 + (kind == "B")

    def finish(self):
        """Wait until what was sent is on its way."""
        for work, _ in self.sending:
            work.wait()
        self.sending = []


def describe(layout):
    return [(x.shape, x.dtype) if isinstance(x, Shape) else x for x in layout[0]]


__getattr__ = _missing.refusing(__name__)
