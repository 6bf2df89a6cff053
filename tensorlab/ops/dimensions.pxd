"""Views that reorder, add, drop or repeat dimensions, and the arguments they share."""
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.graph.graph cimport should_record
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase, takes_part

cdef TensorBase unsqueeze_dim(TensorBase x, int dim)
cdef TensorBase expand_to(TensorBase x, int ndim, const ssize* sizes)
cdef int read_dims(object dims, int ndim, int* out, str where) except -1
cdef object change_layout(Op op, TensorBase x, tuple arguments, int ndim, const ssize* sizes, const ssize* strides, char* data)

cdef inline bint is_unwatched(TensorBase x) noexcept:
    """Does a view of x need no more than `as_view`, because no layer is active and autograd does not follow x?

    Views are small and frequent calls: this saves them their arguments as objects, and checking these twice.
    """
    return not takes_part(x) and not should_record(x)
