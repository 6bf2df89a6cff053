"""What all factories share; see factories.pyx."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase

# arguments, as the public functions read them
cdef object given_size(tuple given, object size, str where)
cdef object read_number(object given, str name, str where, bint is_bound)
cdef int check_named_layout(object layout, str where) except -1
cdef object named_dtype(object dtype)
cdef object default_device()
cdef object dtype_beside(TensorBase x, object dtype)
cdef object device_beside(TensorBase x, object device)
cdef int place_beside(TensorBase x, object device, str where) except -1
cdef int code_of(object device, str where) except -1

# Layers see dtype and device named, so that a call can be repeated under other defaults.
# Kernels know the defaults, and None is quicker to pass on.
cdef inline object dtype_or_default(object dtype):
    return named_dtype(dtype) if active_layers else dtype

cdef inline object device_or_default(object device):
    return default_device() if device is None and active_layers else device

cdef int check_like_layout(TensorBase x, object layout, str where) except -1

cdef inline int check_layout(object layout, str where) except -1:
    return 0 if layout is None else check_named_layout(layout, where)

# new tensors, for kernels
cdef int factory_sizes(object size, ssize* sizes, str where) except -1
cdef TensorBase factory_result(object size, object dtype, int default, object device, str where)
cdef TensorBase row_result(ssize n, int dtype, object device, str where)
cdef TensorBase strided_result(int dtype, int ndim, const ssize* sizes, const ssize* strides,
                               object device, str where)
cdef TensorBase like_result(TensorBase x, object dtype, object device, object memory_format,
                            str where)

# results
cdef TensorBase follow(object made, str where)

cdef inline object apply_flags(object made, bint requires_grad, str where):
    """What a factory returns."""
    return follow(made, where) if requires_grad else made

# out=
cdef TensorBase check_out(object out, object dtype, object device, bint requires_grad,
                          str where)
cdef TensorBase start_out(object size, object out, object dtype, object device,
                          bint requires_grad, str where)
cdef tuple out_options(object out, object dtype, object device, bint requires_grad, str where)
cdef object finish_factory(object made, object out, bint requires_grad, str where)
