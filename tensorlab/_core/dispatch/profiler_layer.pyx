"""The profiler's place among the layers: it makes a record of each call of an op, and passes the call on.

All threads enter it at once. Unlike other layers it sees the calls that a kernel makes, too, so that records lie inside each
other: the ceiling lets it, and autograd's entry to what is below looks for no layer above autograd. What a layer below
autograd calls in its own time is part of the call that it handles.
"""
cimport cython
from cpython.object cimport PyObject

cimport tensorlab._core.profiling as profiling
from tensorlab._core.dispatch.layers cimport Layer, set_observer
from tensorlab._core.dispatch.op cimport Op, run_function
from tensorlab._core.profiling cimport (
    OP, close_record, note_inputs, note_result, open_record
)
from tensorlab._core.state.modes cimport thread_state

from tensorlab._core.state.modes import in_forked_children

cdef run_function run_below = NULL      # autograd and what is below it: run_recorded of dispatch.pyx, which is not there yet

cdef int set_run_below(run_function function) except -1:
    global run_below
    run_below = function
    return 0


@cython.final
@cython.auto_pickle(False)
@cython.binding(False)
cdef class ProfilerLayer(Layer):
    """Records each call of an op."""

    def __init__(self):
        super().__init__("profiler")

    cdef object take(self, Op op, PyObject** arguments, int n):
        cdef long long record = open_record(OP, op, profiling.nodes_made)
        cdef object result
        if profiling.records_inputs:
            note_inputs(record, arguments, n)
        thread_state().ceiling = self.position + 1      # what the kernel calls has a record
        try:
            result = run_below(op, arguments, n)
            if profiling.records_inputs:
                note_result(record, result)
            return result
        finally:
            close_record(record, profiling.nodes_made)


def watch_ops(bint enabled):
    """Let the calls of ops be recorded, in all threads; or no longer."""
    set_observer(ProfilerLayer() if enabled else None)


def unwatch_in_forked_child():
    """A forked child doesn't go on with the profile of its parent."""
    set_observer(None)

in_forked_children(unwatch_in_forked_child)
