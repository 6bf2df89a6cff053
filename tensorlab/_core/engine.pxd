"""The engine: one backward pass."""
from tensorlab._core.graph cimport Node

cdef Node edge_of(object end, int* output_number)
cdef list execute(list ends, list grads, bint keep_graph, bint create_graph, list targets, bint accumulate_grad)
