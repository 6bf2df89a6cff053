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
    GRAIN = 1 << 17             # elements that make a thread worth starting: SciPy starts it anew


class PublicTransforms:
    """SciPy's transforms by way of its public functions, for a SciPy that keeps the compiled ones elsewhere.

    `inorm` is the factor: 0 none, 1 by sqrt(n), 2 by n. What SciPy calls that depends on the direction.
    """

    forward_norms = ("backward", "ortho", "forward")
    inverse_norms = ("forward", "ortho", "backward")

    def c2c(self, x, axes, forward, inorm, out, workers):
        import scipy.fft

        function = scipy.fft.fftn if forward else scipy.fft.ifftn
        norms = self.forward_norms if forward else self.inverse_norms
        out[...] = function(x, axes=axes, norm=norms[inorm], workers=workers)

    def r2c(self, x, axes, forward, inorm, out, workers):
        import scipy.fft

        out[...] = scipy.fft.rfftn(x, axes=axes, norm=self.forward_norms[inorm], workers=workers)

    def c2r(self, x, axes, last_size, forward, inorm, out, workers):
        import scipy.fft

        sizes = [out.shape[axis] for axis in axes]
        out[...] = scipy.fft.irfftn(x, s=sizes, axes=axes, norm=self.inverse_norms[inorm], workers=workers)


cdef object found_transforms = None

cdef object transforms():
    """SciPy's compiled transforms, which write into memory that is there. Its public functions allocate a result and take
    2 to 4 us for a call more, which is most of the time of a short transform."""
    global found_transforms
    if found_transforms is None:                        # not at the top: scipy.fft takes 30 ms
        try:
            from scipy.fft._pocketfft import pypocketfft as found_transforms
        except ImportError:
            found_transforms = PublicTransforms()
    return found_transforms


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
    transforms().c2c(numpy(alias(x)), dim, bool(forward), normalization, numpy(out), thread_count(x.numel_, GRAIN))

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
    transform = transforms().r2c if onesided else transforms().c2c     # that one fills in the other half
    result = numpy(out)
    transform(numpy(alias(x)), dim, True, normalization, result, thread_count(x.numel_, GRAIN))
    if not onesided:
        forget_signs_of_zeros(result, dim)

cdef forget_signs_of_zeros(result, dim):
    """Where a number stands for itself, SciPy conjugates it as well, and makes -0 of an imaginary part 0."""
    own = [slice(None)] * result.ndim
    for d in dim:
        n = result.shape[d]
        own[d] = slice(None, None, n // 2) if n > 1 and n % 2 == 0 else slice(0, 1)
    result[tuple(own)].imag += 0.0

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
    workers = thread_count(x.numel_, GRAIN)
    transforms().c2r(numpy(alias(x)), dim, last_dim_size, False, normalization, numpy(out), workers)

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
