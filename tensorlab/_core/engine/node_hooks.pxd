"""Hooks of a backward pass."""
from tensorlab._core.graph.graph cimport Node
from tensorlab._core.tensor cimport TensorBase

cdef object run_tensor_hooks(Node node, object grad)
cdef object run_leaf_hooks(TensorBase leaf, object grad)
cdef object run_prehooks(Node node, object grad)
cdef tuple run_posthooks(Node node, tuple out, object grad)
cdef tuple gradients_of(Node node, object grad)
