"""Discrete Fourier transforms, by way of SciPy, with gradients.

    y[k] = sum over j of x[j] * exp(-2 pi i j k / n)

`fft` transforms one dimension, `fft2` two and `fftn` several; the names with an i are the
inverse. `rfft` takes real numbers, and leaves out the half of the result that repeats the other
one, conjugated; `irfft` is its inverse. `hfft` gives the real spectrum of a signal that repeats
itself so, of which only half is given, and `ihfft` is its inverse.

    norm          "backward" (or None)   "ortho"        "forward"
    transform     1                      1 / sqrt(n)    1 / n
    inverse       1 / n                  1 / sqrt(n)    1

Gradients follow from the transform being linear: tensorlab/ops/fourier.pyx.
"""

from tensorlab import _missing
from tensorlab._core.dispatch.autocast import in_float32
from tensorlab._core.dispatch.out_argument import store_out
from tensorlab._core.dtypes import get_default_dtype
from tensorlab.errors import DimensionError, ShapeError, UnsupportedDType
from tensorlab.ops.fourier import c2c, c2r, r2c
from tensorlab.ops.padding import pad
from tensorlab.ops.ranges import arange

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

NORMS = {None: 0, "backward": 0, "ortho": 1, "forward": 2}


# ---------------------------------------------------------------- reading arguments
def factor_of(where, norm, forward):
    """Return what the result is divided by: 0 nothing, 1 sqrt(n), 2 n."""
    if norm not in NORMS:
        raise RuntimeError(
            f"{where}: norm is {norm!r}; expected 'forward', 'backward', 'ortho' or None"
        )
    return NORMS[norm] if forward else 2 - NORMS[norm]


def floating(where, x, *, to_complex=False):
    """Return x in a type that can be transformed: integers become floating numbers."""
    (x,) = in_float32((x,))
    dtype = x.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = get_default_dtype()
    if dtype.itemsize < 4:
        raise UnsupportedDType(f"{where}: not implemented for {dtype}; convert with .float() first")
    return x.to(dtype.to_complex() if to_complex else dtype)


def real_only(where, x):
    """Return x as floating numbers, unless it is complex."""
    if x.is_complex():
        raise UnsupportedDType(
            f"{where}: expects a real tensor, but input is {x.dtype}; use "
            f"{where.replace('rfft', 'fft').replace('ihfft', 'ifft')}, or the real part"
        )
    return floating(where, x)


def one_dim(where, x, dim):
    """Return a dimension, counted from 0."""
    ndim = x.dim()
    if not -ndim <= dim < ndim:
        raise DimensionError(
            f"{where}: dimension {dim} is out of range: the tensor has {ndim} dimensions"
        )
    return dim % ndim


def several_dims(where, x, s, dim):
    """Return the dimensions, counted from 0, and their sizes; -1 for the tensor's own."""
    if s is not None:
        s = (s,) if isinstance(s, int) else tuple(s)
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
    if s is not None and dim is not None and len(s) != len(dim):
        raise ShapeError(
            f"{where}: s is {s} and dim is {dim}; when both are given, they must have the same length"
        )
    if dim is None:
        count = x.dim() if s is None else len(s)
        if count > x.dim():
            raise ShapeError(
                f"{where}: got shape s={s} with {count} values, but the tensor has {x.dim()} dimensions"
            )
        dim = tuple(range(x.dim() - count, x.dim()))
    dims = tuple(one_dim(where, x, one) for one in dim)
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"{where}: dim is {dim}; the dimensions must be unique")
    return dims, s or (-1,) * len(dims)


def resized(where, x, dims, sizes):
    """Return x cut, or padded with zeros at the end, to sizes along dimensions; -1 keeps one."""
    shape = x.shape
    for dim, size in zip(dims, sizes, strict=True):
        own = shape[dim]
        if size == -1:
            size = own
        if size < 1:
            raise ShapeError(
                f"{where}: dimension {dim} would have {size} numbers; at least one is needed"
            )
        if size < own:
            x = x.narrow(dim, 0, size)
        elif size > own:
            x = pad(x, (0, 0) * (len(shape) - 1 - dim) + (0, size - own))
    return x


# ---------------------------------------------------------------- the four kinds
def transform(where, x, dims, sizes, norm, forward, out):
    """Return the complex transform along dimensions."""
    factor = factor_of(where, norm, forward)
    if not x.is_complex() and forward and dims:
        result = r2c(resized(where, floating(where, x), dims, sizes), dims, factor, False)
    else:
        complex_x = resized(where, floating(where, x, to_complex=True), dims, sizes)
        result = c2c(complex_x, dims, factor, forward) if dims else complex_x.clone()
    return result if out is None else store_out(where, result, out, (x,))


def transform_of_real(where, x, dims, sizes, norm, out, *, forward=True):
    """Return the half of the transform of real numbers, or of its conjugate: the inverse."""
    if not dims:
        raise ShapeError(f"{where}: needs at least one dimension to transform")
    real = resized(where, real_only(where, x), dims, sizes)
    result = r2c(real, dims, factor_of(where, norm, forward), True)
    result = result if forward else result.conj()
    return result if out is None else store_out(where, result, out, (x,))


def transform_to_real(where, x, dims, sizes, norm, out, *, forward=False):
    """Return the inverse transform to real numbers, or that of the conjugate: the transform."""
    if not dims:
        raise ShapeError(f"{where}: needs at least one dimension to transform")
    full = sizes[-1] if sizes[-1] != -1 else 2 * (x.shape[dims[-1]] - 1)
    if full < 1:
        raise ShapeError(
            f"{where}: the result would have {full} numbers in dimension {dims[-1]}; give its size"
        )
    halves = (*sizes[:-1], full // 2 + 1)
    half = resized(where, floating(where, x, to_complex=True), dims, halves)
    result = c2r(half.conj() if forward else half, dims, factor_of(where, norm, forward), full)
    return result if out is None else store_out(where, result, out, (x,))


def of_one_dim(kind, where, x, n, dim, norm, *rest, **options):
    dims = (one_dim(where, x, dim),)
    return kind(where, x, dims, (-1 if n is None else n,), norm, *rest, **options)


def of_dims(kind, where, x, s, dim, norm, *rest, **options):
    return kind(where, x, *several_dims(where, x, s, dim), norm, *rest, **options)


# ---------------------------------------------------------------- complex numbers
def fft(input, n=None, dim=-1, norm=None, *, out=None):
    """Transform along a dimension.

    Parameters
    ----------
    input : Tensor, real or complex
    n : int, the numbers to transform: the dimension is cut, or padded with zeros, to that size;
        its own unless given
    dim : int
    norm : "backward" (None), "ortho" or "forward": divide by nothing, by sqrt(n) or by n
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor, complex

    Raises
    ------
    RuntimeError
        If n is below 1, or norm is none of the three.
    IndexError
        If the tensor has no such dimension.

    >>> import tensorlab
    >>> tensorlab.fft.fft(tensorlab.tensor([0., 1., 2., 3.]))
    tensor([ 6.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return of_one_dim(transform, "fft.fft", input, n, dim, norm, True, out)


def ifft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `fft`, with its arguments. It divides by n unless `norm` says otherwise.

    >>> import tensorlab
    >>> tensorlab.fft.ifft(tensorlab.fft.fft(tensorlab.tensor([0., 1., 2., 3.]))).real
    tensor([0., 1., 2., 3.])
    """
    return of_one_dim(transform, "fft.ifft", input, n, dim, norm, False, out)


def fftn(input, s=None, dim=None, norm=None, *, out=None):
    """Transform along several dimensions.

    Parameters
    ----------
    input : Tensor, real or complex
    s : tuple of int, the sizes to cut or pad the dimensions to, -1 for one's own
    dim : tuple of int; the last len(s) ones unless given, or all
    norm, out : as for `fft`, with n the product of the sizes

    >>> import tensorlab
    >>> tensorlab.fft.fftn(tensorlab.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return of_dims(transform, "fft.fftn", input, s, dim, norm, True, out)


def ifftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `fftn`, with its arguments.

    >>> import tensorlab
    >>> tensorlab.fft.ifftn(tensorlab.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    return of_dims(transform, "fft.ifftn", input, s, dim, norm, False, out)


def fft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """Transform along two dimensions, those of images; see `fftn`.

    >>> import tensorlab
    >>> tensorlab.fft.fft2(tensorlab.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return of_dims(transform, "fft.fft2", input, s, dim, norm, True, out)


def ifft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """The inverse of `fft2`, with its arguments.

    >>> import tensorlab
    >>> tensorlab.fft.ifft2(tensorlab.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    return of_dims(transform, "fft.ifft2", input, s, dim, norm, False, out)


# ---------------------------------------------------------------- real numbers
def rfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The first n // 2 + 1 numbers of the transform of real ones, of which the others are the conjugates.

    Parameters and errors are those of `fft`; `input` must be real.

    >>> import tensorlab
    >>> tensorlab.fft.rfft(tensorlab.tensor([0., 1., 2., 3.]))
    tensor([ 6.+0.j, -2.+2.j, -2.+0.j])
    """
    return of_one_dim(transform_of_real, "fft.rfft", input, n, dim, norm, out)


def irfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `rfft`.

    Parameters
    ----------
    input : Tensor, the first half of a transform
    n : int, the real numbers to return, 2 * (size - 1) unless given: of an odd number of them,
        say how many
    dim, norm, out : as for `fft`

    Returns
    -------
    Tensor, real

    >>> import tensorlab
    >>> tensorlab.fft.irfft(tensorlab.fft.rfft(tensorlab.tensor([0., 1., 2., 3.])))
    tensor([0., 1., 2., 3.])
    """
    return of_one_dim(transform_to_real, "fft.irfft", input, n, dim, norm, out)


def rfftn(input, s=None, dim=None, norm=None, *, out=None):
    """`rfft` of the last dimension of `dim`, and `fft` of the others; see `fftn`.

    >>> import tensorlab
    >>> tensorlab.fft.rfftn(tensorlab.ones(2, 4)).shape
    tensorlab.Size([2, 3])
    """
    return of_dims(transform_of_real, "fft.rfftn", input, s, dim, norm, out)


def irfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `rfftn`; `s` has the sizes of the result.

    >>> import tensorlab
    >>> tensorlab.fft.irfftn(tensorlab.ones(2, 3)).shape
    tensorlab.Size([2, 4])
    """
    return of_dims(transform_to_real, "fft.irfftn", input, s, dim, norm, out)


def rfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """`rfftn` of two dimensions.

    >>> import tensorlab
    >>> tensorlab.fft.rfft2(tensorlab.ones(2, 4)).shape
    tensorlab.Size([2, 3])
    """
    return of_dims(transform_of_real, "fft.rfft2", input, s, dim, norm, out)


def irfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """`irfftn` of two dimensions.

    >>> import tensorlab
    >>> tensorlab.fft.irfft2(tensorlab.ones(2, 3)).shape
    tensorlab.Size([2, 4])
    """
    return of_dims(transform_to_real, "fft.irfft2", input, s, dim, norm, out)


# ---------------------------------------------------------------- signals with a real spectrum
def hfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The real transform of a signal whose second half is the conjugate of its first one, which is given.

    Parameters are those of `irfft`; `norm` is that of a transform.

    >>> import tensorlab
    >>> tensorlab.fft.hfft(tensorlab.tensor([1. + 0j, 2, 3]))
    tensor([ 8., -2.,  0., -2.])
    """
    return of_one_dim(transform_to_real, "fft.hfft", input, n, dim, norm, out, forward=True)


def ihfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of `hfft`: the first half of the signal that has this real transform.

    >>> import tensorlab
    >>> tensorlab.fft.ihfft(tensorlab.tensor([8., -2., 0., -2.])).real
    tensor([1., 2., 3.])
    """
    return of_one_dim(transform_of_real, "fft.ihfft", input, n, dim, norm, out, forward=False)


def hfftn(input, s=None, dim=None, norm=None, *, out=None):
    """`hfft` of several dimensions, the last of which is the one that is halved.

    >>> import tensorlab
    >>> tensorlab.fft.hfftn(tensorlab.ones(2, 3)).shape
    tensorlab.Size([2, 4])
    """
    return of_dims(transform_to_real, "fft.hfftn", input, s, dim, norm, out, forward=True)


def ihfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of `hfftn`.

    >>> import tensorlab
    >>> tensorlab.fft.ihfftn(tensorlab.ones(2, 4)).shape
    tensorlab.Size([2, 3])
    """
    return of_dims(transform_of_real, "fft.ihfftn", input, s, dim, norm, out, forward=False)


def hfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """`hfftn` of two dimensions.

    >>> import tensorlab
    >>> tensorlab.fft.hfft2(tensorlab.ones(2, 3)).shape
    tensorlab.Size([2, 4])
    """
    return of_dims(transform_to_real, "fft.hfft2", input, s, dim, norm, out, forward=True)


def ihfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """`ihfftn` of two dimensions.

    >>> import tensorlab
    >>> tensorlab.fft.ihfft2(tensorlab.ones(2, 4)).shape
    tensorlab.Size([2, 3])
    """
    return of_dims(transform_of_real, "fft.ihfft2", input, s, dim, norm, out, forward=False)


# ---------------------------------------------------------------- frequencies
def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies that `fft` of n samples with a distance of d gives, in its order: 0, the positive, the negative.

    >>> import tensorlab
    >>> tensorlab.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    whole = arange(n, dtype=dtype or get_default_dtype(), layout=layout, device=device)
    result = (whole - n * (whole >= (n + 1) // 2)) * (1.0 / (n * d))
    result = result.to(dtype or get_default_dtype())
    return store_out("fftfreq", result, out, ()).requires_grad_(requires_grad)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies that `rfft` of n samples with a distance of d gives.

    >>> import tensorlab
    >>> tensorlab.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    whole = arange(n // 2 + 1, dtype=dtype or get_default_dtype(), layout=layout, device=device)
    return store_out("rfftfreq", whole * (1.0 / (n * d)), out, ()).requires_grad_(requires_grad)


def fftshift(input, dim=None):
    """Move frequency 0 to the middle, along all dimensions or some.

    >>> import tensorlab
    >>> tensorlab.fft.fftshift(tensorlab.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    dims, _ = several_dims("fftshift", input, None, dim)
    return input.roll([input.shape[one] // 2 for one in dims], dims)


def ifftshift(input, dim=None):
    """The inverse of `fftshift`.

    >>> import tensorlab
    >>> tensorlab.fft.ifftshift(tensorlab.fft.fftshift(tensorlab.fft.fftfreq(4)))
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    dims, _ = several_dims("ifftshift", input, None, dim)
    return input.roll([(input.shape[one] + 1) // 2 for one in dims], dims)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
