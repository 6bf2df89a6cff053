"""What may change: implicit replication."""

from tensorlab.distributed.tensor.dispatching import implicit_replication

__all__ = ["implicit_replication"]
