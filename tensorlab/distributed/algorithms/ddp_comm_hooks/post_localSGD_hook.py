"""A hook for training with local steps: at first all ranks average, then only some do."""

from tensorlab import _missing
from tensorlab.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from tensorlab.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """What `post_localSGD_hook` remembers.

    Parameters
    ----------
    process_group : ProcessGroup, or None for all ranks: who averages at first
    subgroup : ProcessGroup, who averages later, such as the ranks of a machine
    start_localSGD_iter : int, how many passes all ranks average
    post_local_gradient_allreduce : bool; False leaves gradients alone after that
    """

    def __init__(
        self, process_group, subgroup, start_localSGD_iter, post_local_gradient_allreduce=True
    ):
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0


def post_localSGD_hook(state, bucket):
    """Average a bucket over all ranks until `start_localSGD_iter`, then over the subgroup.

    Use it with PostLocalSGDOptimizer, which averages the models every now and then.
    """
    is_local = state.iter >= state.start_localSGD_iter
    state.iter += bucket.is_last()
    if not is_local:
        return allreduce_hook(state.process_group, bucket)
    if state.post_local_gradient_allreduce:
        return allreduce_hook(state.subgroup, bucket)
    return noop_hook(None, bucket)


__getattr__ = _missing.refusing(__name__)
