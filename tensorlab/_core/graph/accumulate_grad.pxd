"""Leaves: their AccumulateGrad nodes, and the edges that lead to them."""
from tensorlab._core.graph.graph cimport Node
from tensorlab._core.tensor cimport TensorBase

cdef class AccumulateGrad(Node):
    cdef readonly TensorBase variable      # the leaf
    cdef int add_to_leaf(self, TensorBase new) except -1

cdef Node gradient_edge(TensorBase x)
cdef int set_edge_output(Node node, Py_ssize_t i, Py_ssize_t count, int number) except -1
cdef int set_edges(Node node, object inputs) except -1
cdef int transfer_lock(long owner, long borrower) noexcept
