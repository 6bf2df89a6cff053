"""What it takes to free a pattern: something that builds tensors, nodes and hooks, and returns tensors of it.

Nothing else holds the tensors, so whatever outlives the pattern is held by the pattern itself.
"""

import gc
import weakref

import tensorlab
from tests.oracle import require_torch

BY_DEL, BY_COLLECTOR, NEVER = range(3)
WAYS = ("by del", "by the cycle collector", "never")


def leaf(T):
    return T.ones(3, requires_grad=True)


def how_it_is_freed(T, pattern):
    """What it takes to free everything: nothing, the cycle collector, or more than there is."""
    gc.collect()
    gc.disable()
    try:
        watched = [weakref.ref(one) for one in pattern(T)]
        if all(reference() is None for reference in watched):
            return BY_DEL
        gc.collect()
        return BY_COLLECTOR if all(reference() is None for reference in watched) else NEVER
    finally:
        gc.enable()


def check_nothing_is_left(pattern, expected):
    """A pattern is freed in the way `expected`, and no tensor and no byte of it is left."""
    gc.collect()
    tensors = tensorlab.live_tensors()
    allocated = tensorlab.memory_stats()["allocated_bytes"]
    way = how_it_is_freed(tensorlab, pattern)
    assert way == expected, f"freed {WAYS[way]}, not {WAYS[expected]}"
    assert tensorlab.live_tensors() == tensors, "a tensor is left"
    assert tensorlab.memory_stats()["allocated_bytes"] == allocated, "memory is left"


def check_pytorch_frees_no_sooner(pattern, expected):
    """Where PyTorch frees a pattern without its cycle collector, so must we."""
    way = how_it_is_freed(require_torch(), pattern)
    assert expected <= way, f"PyTorch frees it {WAYS[way]}, we {WAYS[expected]}"
