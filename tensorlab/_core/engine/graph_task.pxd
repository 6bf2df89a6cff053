"""The tables of a backward pass, and the queue of its nodes."""
from tensorlab._core.graph.graph cimport GraphTask, Node

cdef class ReadyQueue:
    cdef list nodes
    cdef int push(self, Node node) except -1
    cdef Node pop(self)

cdef class Task(GraphTask):
    cdef unsigned long serial
    cdef dict positions         # node: slot; None for the task that may use the nodes' own fields
    cdef int* dependencies      # for each slot: gradients still to come
    cdef Py_ssize_t capacity
    cdef list nodes             # for each slot: the node,
    cdef list input_buffers     # and the gradient that waits there (a list of them, if the op had several outputs)
    cdef dict captures          # node: list of (output number, position in `captured`)
    cdef list captured
    cdef bint accumulates       # False for autograd.grad: leaves get nothing
    cdef Py_ssize_t find(self, Node node) except -2
    cdef Py_ssize_t add(self, Node node) except -2

cdef Task start_task(bint is_alone)
cdef int count(Task task, list roots) except -1
cdef int select(Task task, list targets) except -1
