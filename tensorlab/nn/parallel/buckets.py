"""Buckets: gradients that are reduced together.

An all_reduce of one small gradient costs a latency, and one of all gradients can't begin before
backward has ended. Buckets of some MB are between both: one is reduced as soon as its last
gradient is there, while backward goes on with the others.
"""

from ...distributed.coalescing import unflatten
from ...ops.creation import zeros

FIRST_BYTES = 1024 * 1024  # of the first bucket: something small, so that reducing begins early


class Bucket:
    """Some parameters of one dtype, and the flat buffer in which their gradients are reduced.

    Attributes
    ----------
    index : int, its place in the order in which buckets are reduced
    places : list of int, which of the reducer's parameters are in it
    parameters : list of Parameter
    buffer : Tensor, flat
    views : list of Tensor, the part of the buffer of each parameter
    pending : int, how many gradients it waits for
    """

    def __init__(self, index, places, parameters):
        self.index, self.places = index, places
        self.parameters = [parameters[place] for place in places]
        first = self.parameters[0]
        count = sum(p.numel() for p in self.parameters)
        self.allocate(zeros(count, dtype=first.dtype, device=first.device))
        self.pending = len(places)

    def allocate(self, buffer):
        """Take another buffer."""
        self.buffer = buffer
        self.views = unflatten(buffer, self.parameters)


def assign(parameters, order, cap_bytes, is_sparse):
    """Return which parameters come together: a list of lists of places.

    Parameters
    ----------
    parameters : list of Parameter
    order : list of int, places in the order in which gradients are expected
    cap_bytes : int; a bucket is full when it has as many bytes
    is_sparse : collection of int, places whose gradients are sparse: each is on its own
    """
    done, open_buckets = [], {}
    for place in order:
        if place in is_sparse:
            done.append([place])
            continue
        p = parameters[place]
        kind = p.dtype
        places, size = open_buckets.setdefault(kind, [[], 0])
        places.append(place)
        size += p.numel() * p.element_size()
        limit = min(FIRST_BYTES, cap_bytes) if not done else cap_bytes
        if size >= limit:
            done.append(places)
            del open_buckets[kind]
        else:
            open_buckets[kind][1] = size
    return done + [places for places, _ in open_buckets.values()]
