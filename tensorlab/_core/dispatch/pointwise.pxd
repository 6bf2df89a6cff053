"""What a call of a pointwise op computes, without autograd and layers."""
from cpython.object cimport PyObject

from tensorlab._core.dispatch.op cimport COMPARE, REAL, Op
from tensorlab._core.dtypes cimport BOOL, COMPLEX, is_in
from tensorlab._core.layout cimport ssize
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.tensor cimport TensorBase, empty_tensor

cdef enum:
    SMALL_CALL = 4096           # elements up to which a contiguous call takes the short cut

cdef int check_operands(Op op, PyObject** operands, int n) except -1
cdef int resolve(Op op, int promoted, int* compute, int* result) except -1
cdef int check_target(Op op, PyObject** operands, int n, TensorBase out, int ndim, ssize* sizes, int dtype, int promoted,
                      bint in_place) except -1
cdef TensorBase compute(Op op, PyObject** operands, int n, TensorBase out, bint in_place)
cdef TensorBase short_binary(Op op, object a, object b, TensorBase out)

cdef inline void* short_cut(Op op, TensorBase x) noexcept:
    """The loop, if x is small, contiguous and of a type that is computed and returned as it is."""
    if x.is_contiguous_ and x.numel_ <= SMALL_CALL and x.storage_.device == ON_CPU:
        # half types have no loop; under the rule INT_TO_FLOAT integers have none, either
        if op.dtype_rule == REAL and is_in(x.dtype_, COMPLEX):
            return NULL
        return op.loops[x.dtype_]
    return NULL


cdef inline TensorBase short_result(Op op, TensorBase x):
    return empty_tensor(BOOL if op.dtype_rule == COMPARE else x.dtype_, x.ndim_, x.sizes)
