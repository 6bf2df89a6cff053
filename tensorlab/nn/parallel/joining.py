"""How a data parallel module goes on when ranks have different numbers of batches.

A rank without batches *shadows* the others: for each of their passes it takes part in the same
collectives, in the same order, with zeros.
"""

from ..._core.interop.exchange import tensor
from ...distributed import collectives
from ...distributed.algorithms.join import JoinHook
from ...distributed.coalescing import broadcast_coalesced
from ...distributed.reduce_ops import ReduceOp


def is_on(ddp):
    """Return whether ranks may join."""
    return ddp._join_config.enable


def divide_by_active(ddp, work):
    """Choose what sums are divided by: all ranks, or those that still train."""
    if not ddp._join_config.options.get("divide_by_initial_world_size", True):
        work.wait()
        ddp.reducer.divisor = int(work.call.outputs[0].item())


def announce_backward(ddp, reduces):
    """Tell the ranks that have joined whether this pass averages gradients."""
    collectives.all_reduce(tensor([float(reduces)]), group=ddp.process_group)


def common_rank(ddp, is_candidate):
    """Return the highest rank of those that are candidates."""
    best = tensor([ddp.process_group.rank() if is_candidate else -1])
    collectives.all_reduce(best, ReduceOp.MAX, ddp.process_group)
    return int(best.item())


class ModuleJoinHook(JoinHook):
    """What a data parallel module does when its rank has no more batches."""

    def __init__(self, ddp, divide_by_initial_world_size):
        self.ddp = ddp
        ddp._join_config.options["divide_by_initial_world_size"] = divide_by_initial_world_size

    def main_hook(self):
        """Shadow one pass of the other ranks: the same collectives in the same order."""
        ddp = self.ddp
        ddp.reducer.rebuild()
        reduces = tensor([0.0])
        collectives.all_reduce(reduces, group=ddp.process_group)
        ddp.require_forward_param_sync = True
        if ddp._syncs_buffers():
            source = common_rank(ddp, False)
            broadcast_coalesced(ddp.process_group, ddp._buffers_to_sync(), source)
        if reduces.item():
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner):
        """Take over the model of the rank that trained longest."""
        self.ddp._sync_everything(common_rank(self.ddp, is_last_joiner))
