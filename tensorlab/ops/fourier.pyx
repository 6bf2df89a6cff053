"""Discrete Fourier transforms: complex to complex, real to complex and complex to real, by SciPy.

A transform multiplies with a matrix, F[k, j] = exp(-2 pi i k j / n), or with its conjugate, which is the inverse but for the
factor n. Both are symmetric, so the derivative of a transform is the same transform of the gradient:

    y = F x        grad_x = F' grad_y = F grad_y        (where ' transposes; the conjugates are put around it: recording.pyx)

Of a real x the second half of y repeats the first one, conjugated, and is left out ("onesided"). Transforms with several
dimensions are made one dimension after the other; the last one in `dim` is the one that is halved.
"""
from tensorlab._core.dispatch.dispatch cimport run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport complex_dtype, real_dtype
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.parallel cimport thread_count
from tensorlab._core.tensor cimport TensorBase, alias, result_beside

from tensorlab._core.interop.arrays import numpy
from tensorlab.ops.padding import pad

cdef enum:
    GRAIN = 1 << 14             # elements that make a thread worth starting

# The factor of a transform: none, 1 / sqrt(n) or 1 / n. What SciPy calls that depends on the direction.
cdef tuple FORWARD_NORMS = ("backward", "ortho", "forward")
cdef tuple INVERSE_NORMS = ("forward", "ortho", "backward")


cdef object run_scipy(str name, TensorBase x, dict options):
    """A function of scipy.fft, on as many threads as are worth it."""
    import scipy.fft                                    # not at the top: it takes 30 ms

    return getattr(scipy.fft, name)(numpy(alias(x)), workers=thread_count(x.numel_, GRAIN), **options)


cdef TensorBase changed(TensorBase x, int dtype, int dim, ssize size):
    """A result of another type, and of another size in one dimension."""
    cdef ssize[MAX_NDIM] sizes
    cdef int i
    for i in range(x.ndim_):
        sizes[i] = size if i == dim else x.sizes[i]
    return result_beside(x, dtype, x.ndim_, sizes)


# ---------------------------------------------------------------- complex to complex
cdef Op FFT_C2C = Op("_fft_c2c(Tensor x, int[] dim, int normalization, bool forward) -> Tensor", node="FftC2CBackward0")

@FFT_C2C.infer
def c2c_infer(TensorBase x, dim, normalization, forward):
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@FFT_C2C.kernel
def c2c_kernel(TensorBase out, TensorBase x, dim, normalization, forward):
    norms = FORWARD_NORMS if forward else INVERSE_NORMS
    numpy(out)[...] = run_scipy("fftn" if forward else "ifftn", x, {"axes": dim, "norm": norms[normalization]})

@FFT_C2C.derivative("x")
def c2c_derivative(grad, dim, normalization, forward):
    return c2c(grad, dim, normalization, forward)

def c2c(TensorBase x not None, dim, normalization, forward):
    """The transform, or its inverse, of complex numbers along dimensions. `normalization`: 0 none, 1 by sqrt(n), 2 by n."""
    return run_4(FFT_C2C, x, dim, normalization, forward)


# ---------------------------------------------------------------- real to complex
cdef Op FFT_R2C = Op("_fft_r2c(Tensor x, int[] dim, int normalization, bool onesided) -> Tensor", node="FftR2CBackward0")

@FFT_R2C.infer
def r2c_infer(TensorBase x, dim, normalization, bint onesided):
    cdef int last = dim[len(dim) - 1]
    return changed(x, complex_dtype(x.dtype_), last, x.sizes[last] // 2 + 1 if onesided else x.sizes[last])

@FFT_R2C.kernel
def r2c_kernel(TensorBase out, TensorBase x, dim, normalization, bint onesided):
    half = run_scipy("rfftn", x, {"axes": dim, "norm": FORWARD_NORMS[normalization]})
    result = numpy(out)
    result[..., :] = half if onesided else mirrored(half, dim, x.sizes[dim[len(dim) - 1]])

cdef object mirrored(object half, object dims, ssize n):
    """All of a spectrum of real numbers, of which half is known: y[-k] = conj(y[k]) along all dimensions at once."""
    import numpy as np

    last = dims[len(dims) - 1]
    half = np.moveaxis(half, last, -1)
    rest = half[..., n - half.shape[-1]:0:-1].conj()
    for dim in dims[:len(dims) - 1]:
        at = dim - (dim > last)
        rest = np.roll(np.flip(rest, at), 1, at)
    return np.moveaxis(np.concatenate([half, rest], -1), -1, last)

@FFT_R2C.derivative("x")
def r2c_derivative(grad, x_shape, dim, normalization, onesided):
    if onesided:                            # the transposed of leaving rows out: zeros there
        last = dim[len(dim) - 1]
        missing = x_shape[last] - grad.shape[last]
        grad = pad(grad, (0, 0) * (len(x_shape) - 1 - last) + (0, missing))
    return c2c(grad, dim, normalization, True)      # the engine takes the real part

def r2c(TensorBase x not None, dim, normalization, onesided):
    """The transform of real numbers along dimensions, the half of it or all. `normalization`: as for c2c."""
    return run_4(FFT_R2C, x, dim, normalization, onesided)


# ---------------------------------------------------------------- complex to real
# Not holomorphic: what is left out of the input counts as the conjugate of what is there.
cdef Op FFT_C2R = Op("_fft_c2r(Tensor x, int[] dim, int normalization, int last_dim_size) -> Tensor", node="FftC2RBackward0",
                     holomorphic=False)

@FFT_C2R.infer
def c2r_infer(TensorBase x, dim, normalization, ssize last_dim_size):
    return changed(x, real_dtype(x.dtype_), dim[len(dim) - 1], last_dim_size)

@FFT_C2R.kernel
def c2r_kernel(TensorBase out, TensorBase x, dim, normalization, last_dim_size):
    sizes = [out.sizes[<int>d] for d in dim]
    numpy(out)[...] = run_scipy("irfftn", x, {"s": sizes, "axes": dim, "norm": INVERSE_NORMS[normalization]})

@FFT_C2R.derivative("x")
def c2r_derivative(grad, dim, normalization):
    """The transform of the gradient, twice for a number that stands for its conjugate, too."""
    last = dim[len(dim) - 1]
    out = r2c(grad, dim, normalization, True)
    twice = grad.shape[last] - out.shape[last]
    sizes = [out.shape[last] if d == last else 1 for d in range(len(out.shape))]
    factor = grad.new_ones(sizes)
    factor.narrow(last, 1, twice).fill_(2) if twice > 0 else None
    return out * factor

def c2r(TensorBase x not None, dim, normalization, last_dim_size):
    """The inverse transform to real numbers, from half of the input. `normalization`: as for c2c."""
    return run_4(FFT_C2R, x, dim, normalization, last_dim_size)
