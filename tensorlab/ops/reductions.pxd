"""Sums, as other families use them."""
from tensorlab._core.dtypes cimport FLOAT8, dtype_code, is_in, sum_dtype
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.reduction_iterator cimport Reducer, finalize_loop

cdef void set_reducer(Reducer* reducer, int dtype, void* rows, void* columns, const void* start, void* merge=*) noexcept
cdef int refuse_sum(int code, str where) except -1
cdef int sum_to(TensorBase out, TensorBase x, unsigned int mask, finalize_loop finalize, double parameter) except -1
cdef object spread(TensorBase grad, object x_shape, object dim, bint keepdim)
cdef object keep_dims(TensorBase grad, object x_shape, object dim, bint keepdim)
cdef object to_sources(object grad, object x_shape, int dim, object indices)
cdef object share_among(object mask, object grad)
cdef finalize_loop divide_totals(int dtype) except NULL

cdef inline int summed_dtype(TensorBase x, object dtype, str where) except -1:
    """The type of a sum or product of x: the one that is asked for, or that of its elements, int64 for integers and bools."""
    cdef int code = dtype_code(dtype, sum_dtype(x.dtype_))
    if is_in(code, FLOAT8):
        refuse_sum(code, where)
    return code
