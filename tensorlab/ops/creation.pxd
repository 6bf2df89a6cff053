"""Making tensors, for other families of ops too."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase apply_flags(TensorBase out, bint requires_grad, str where)
cdef TensorBase start_factory(int ndim, const ssize* sizes, object out, object dtype, int default, object layout,
                              object device, bint requires_grad, str where)
cdef TensorBase start_out(int ndim, const ssize* sizes, object out, object dtype, bint requires_grad, str where)
cdef object finish_factory(object made, object out, bint requires_grad, str where)
cdef object given_size(tuple given, object size, str where)
cdef int factory_sizes(tuple given, object size, ssize* sizes, str where) except -1
cdef TensorBase start_like(TensorBase x, object dtype, object layout, object device, bint requires_grad,
                           object memory_format, str where)
cdef TensorBase full_beside(TensorBase x, object value)
