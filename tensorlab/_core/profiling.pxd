"""What a profiler has seen: records of ops, nodes and ranges, one list for each thread."""
from cpython.object cimport PyObject

cdef enum:
    # what a record is of
    OP = 0                      # a call of an op
    EVALUATION = 1              # the engine: a node with its hooks, and what is added to gradients
    BACKWARD = 2                # the node itself
    RANGE = 3                   # a block that a program has named
    KERNEL = 4                  # generated code
    FUNCTION = 5                # forward of a custom Function
    INTERNAL = 6                # a block that tensorlab has named: a step of an optimizer, a batch of a loader

cdef enum:
    NO_NODE = 0                 # sequence numbers begin with 1

cdef bint is_profiling          # does anything record? What has something to tell asks this first
cdef int observers              # layers that all threads have entered: 1 while a profile is recorded. They only look on
cdef bint records_inputs        # shapes and numbers of ops
cdef unsigned long long nodes_made      # the sequence number of the latest node (graph.pyx)

# A handle says which profile, thread and record; -1: nothing was recorded when it was asked for.
cdef long long open_record(int kind, object what, unsigned long long sequence) except -2
cdef int close_record(long long handle, unsigned long long sequence) except -1
cdef long long innermost_record() except -2
cdef int close_inner_records(long long outer) except -1
cdef int note_inputs(long long handle, PyObject** arguments, int n) except -1
cdef int note_result(long long handle, object result) except -1
