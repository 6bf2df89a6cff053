"""The engine: one backward pass."""
from tensorlab._core.graph.graph cimport InputMetadata, Node
from tensorlab._core.tensor cimport TensorBase

cdef Node edge_of(object end, int* output_number)
cdef TensorBase filled_gradient(InputMetadata* metadata, double value, object like)
cdef list execute(list ends, list grads, bint keep_graph, bint create_graph, list targets, bint accumulate_grad)
