"""Views that reorder, add, drop or repeat dimensions, and the arguments they share."""
from tensorlab._core.op cimport Op
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase permute_to(TensorBase x, const int* order)
cdef TensorBase unsqueeze_dim(TensorBase x, int dim)
cdef TensorBase expand_to(TensorBase x, int ndim, const ssize* sizes)
cdef int read_dims(object dims, int ndim, int* out, str where) except -1
cdef int check_layout_change(Op op, TensorBase x) except -1
cdef object change_layout(Op op, TensorBase x, tuple arguments, int ndim, const ssize* sizes, const ssize* strides, char* data)
