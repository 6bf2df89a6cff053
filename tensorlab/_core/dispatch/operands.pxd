"""Operands: Python numbers among tensors, the common type, the common shape, memory that overlaps."""
from cpython.object cimport PyObject
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef int check_dtype(str where, TensorBase x, int types) except -1
cdef bint is_operand(object x)
cdef object as_number(object x)
cdef int number_dtype(object x) noexcept
cdef int write_number(object x, int dtype, void* to) except -1
cdef object comparable(TensorBase x, object y)
cdef int check_fits(object x, int dtype, str where) except -1
cdef object factor_of_type(object factor, int dtype, str where, str name)
cdef int promoted_dtype(PyObject** operands, int n, str where) except -1
cdef bint can_cast(int source, int target) noexcept
cdef int broadcast_operands(str where, PyObject** operands, int n, ssize* sizes) except -1
cdef int check_same_place(TensorBase x, TensorBase y, str where) except -1
cdef int common_device(str where, PyObject** operands, int n) except -1
cdef TensorBase result_for(PyObject** operands, int n, int dtype, int promoted, int ndim, const ssize* sizes, bint wraps_numbers)
cdef int refuse_internal_overlap(TensorBase out, str where) except -1
cdef int refuse_overlap(TensorBase out, TensorBase x, str where) except -1
cdef int refuse_shared_memory(TensorBase out, TensorBase x, str where) except -1
cdef int resize_tensor(TensorBase x, int ndim, const ssize* sizes) except -1

cdef inline bint same_numbers(int n, const ssize* a, const ssize* b) noexcept:
    cdef int i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True
