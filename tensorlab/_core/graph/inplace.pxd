"""Writing in place under autograd."""
from tensorlab._core.graph.graph cimport GraphTask, InputMetadata, Node
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase

cdef class CopySlices(Node):      # `saved`: the node of the in-place op
    cdef InputMetadata base_metadata
    cdef ssize[MAX_NDIM] base_strides
    cdef InputMetadata view_metadata
    cdef ssize[MAX_NDIM] view_strides
    cdef ssize view_offset      # elements from the base's first element to the view's
    cdef int base_bits          # CONJ and NEG: what their memory holds
    cdef int view_bits
    cdef Py_ssize_t place       # which of the op's arguments was the view
    cdef TensorBase view_again(self, TensorBase saved)

cdef int check_inplace(TensorBase x, bint any_needs_grad, str op) except -1
cdef int check_layout_change(TensorBase x, str op) except -1
cdef int rebase_history(TensorBase x, Node node, Py_ssize_t place=*) except -1
