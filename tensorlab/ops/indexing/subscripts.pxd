"""Reading x[...]: what stands between the brackets."""
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    # what a subscript did last, which names the node that PyTorch's chain of views ends with
    ALIAS = 0
    SELECT = 1
    SLICE = 2
    UNSQUEEZE = 3

cdef struct Subscript:          # the view that the ints, slices, None and Ellipsis of a subscript make
    char* data
    int ndim
    int last                    # ALIAS, SELECT, ...
    bint is_whole               # nothing was left out, as the subscript itself tells: x[...] = y then writes to x, not to a view
    ssize[MAX_NDIM] sizes
    ssize[MAX_NDIM] strides

cdef object plain_subscript(object index)
cdef list read_subscript(TensorBase x, object index, Subscript* out)
cdef list read_items(TensorBase x, tuple items, Subscript* out)
cdef int warn_of_bytes() except -1
cdef TensorBase view_of(TensorBase x, Subscript* subscript)
