"""LU factorisations, for the ops that go on with them."""
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.tensor cimport TensorBase

cdef Op LU_SOLVE
cdef int factor_into(TensorBase lu, TensorBase pivots, TensorBase info, TensorBase x) except -1
cdef int solve_into(TensorBase out, TensorBase lu, TensorBase pivots, TensorBase b, bint left, bint is_adjoint) except -1
cdef int check_info(str where, TensorBase info, str reason) except -1
