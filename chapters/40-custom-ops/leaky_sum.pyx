"""The leaky sum as an op in Cython: declaration, checks, kernel and derivative in one block."""
from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport FLOAT32, FLOAT64
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase, memory_of, result_beside

from tensorlab.errors import ShapeError

ctypedef fused real:
    float
    double


# ---------------------------------------------------------------- loop
cdef int leaky_rows(
    TensorBase out, TensorBase x, TensorBase decay, real* as_this
) except -1:
    cdef real* y = <real*>memory_of(out)
    cdef real* values = <real*>memory_of(x)
    cdef real* factors = <real*>memory_of(decay)
    cdef real total
    cdef ssize row, t
    with nogil:
        for row in range(x.sizes[0]):
            total = 0
            for t in range(x.sizes[1]):
                total = values[row * x.strides[0] + t * x.strides[1]] \
                    + factors[row * decay.strides[0]] * total
                y[row * out.strides[0] + t * out.strides[1]] = total
    return 0


# ---------------------------------------------------------------- op
cdef Op LEAKY_SUM = Op("fast::leaky_sum(Tensor x, Tensor decay) -> Tensor")

@LEAKY_SUM.infer
def leaky_sum_infer(TensorBase x, TensorBase decay):
    if x.dtype_ not in (FLOAT32, FLOAT64) or decay.dtype_ != x.dtype_:
        raise TypeError(
            f"leaky_sum: x is {x.dtype}, decay {decay.dtype}; both must be float32 or float64"
        )
    if x.ndim_ != 2 or decay.ndim_ != 1 or decay.sizes[0] != x.sizes[0]:
        raise ShapeError(
            f"leaky_sum: x is {tuple(x.shape)} and decay is {tuple(decay.shape)}; "
            "they must be (rows, steps) and (rows,)"
        )
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@LEAKY_SUM.kernel
def leaky_sum_kernel(TensorBase out, TensorBase x, TensorBase decay):
    if x.dtype_ == FLOAT64:
        leaky_rows[double](out, x, decay, NULL)
    else:
        leaky_rows[float](out, x, decay, NULL)

@LEAKY_SUM.derivative("x", "decay")
def leaky_sum_derivative(grad, decay, out, wanted):
    grad_x = leaky_sum(grad.flip(1), decay).flip(1)
    return grad_x, (grad_x[:, 1:] * out[:, :-1]).sum(1) if wanted[1] else None

def leaky_sum(TensorBase x not None, TensorBase decay not None):
    """Sum each row, forgetting a share at each step: y[t] = x[t] + decay * y[t - 1]."""
    return run_2(LEAKY_SUM, x, decay)
