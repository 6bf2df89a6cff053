"""Sums, as other families use them."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.reduction_iterator cimport Reducer, finalize_loop

cdef void set_reducer(Reducer* reducer, int dtype, void* rows, void* columns, const void* start, void* merge=*) noexcept
cdef int summed_dtype(TensorBase x, object dtype, str where) except -1
cdef int sum_to(TensorBase out, TensorBase x, unsigned int mask, finalize_loop finalize, double parameter) except -1
cdef object spread(TensorBase grad, object x_shape, object dim, bint keepdim)
cdef object keep_dims(TensorBase grad, object x_shape, object dim, bint keepdim)
cdef object to_sources(object grad, object x_shape, int dim, object indices)
cdef object share_among(object mask, object grad)
cdef finalize_loop divide_totals(int dtype) except NULL
