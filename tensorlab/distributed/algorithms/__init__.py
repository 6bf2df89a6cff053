"""What goes around collectives: uneven inputs, hooks that compress gradients."""

from tensorlab.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
