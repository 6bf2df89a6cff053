"""What a replay asks of guards."""

cdef class Matcher:
    # the input tensors of the recorded graph, or None if the guards do not hold
    cdef list inputs_of(self, tuple args, object kwargs)
