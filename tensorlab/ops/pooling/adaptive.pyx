"""Adaptive pooling: as many windows as are asked for, which split each axis as evenly as can be."""

from tensorlab._core.dispatch.dispatch cimport run_2, run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dtypes cimport FLOATING
from tensorlab._core.layout cimport plain_ints, shape_text
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pooling.average cimport check_gradient, mean_of_windows, spread_over_windows
from tensorlab.ops.pooling.maximum cimport max_of_windows, maxima_results
from tensorlab.ops.pooling.windows cimport (
    axis_sizes, check_axes, check_filled, ints_for_axes, ints_of, lengths_of, splitting_windows,
    result_of_sizes
)

from tensorlab._core.interop.exchange import tolist
from tensorlab.errors import ShapeError
from tensorlab.ops.pooling.maximum import to_places


cdef tuple split(TensorBase x, tuple sizes, object output_size, str where):
    """The windows of planes of these sizes, or of x's. Its name comes without its end, as in "adaptive_avg_pool"."""
    cdef tuple wanted = ints_of(output_size)
    cdef int axes = <int>len(wanted)
    where = f"{where}{axes}d"
    check_axes(x, axes, where)
    check_dtype(where, x, FLOATING)
    if where != "adaptive_avg_pool2d" and not sizes:      # as PyTorch, which lets images without channels pass there
        check_filled(x, x.ndim_ - 2, where)       # and of all functions an empty first dimension
    sizes = sizes or axis_sizes(x, axes)
    if min(wanted) < 0 or min(sizes) <= 0 or len(sizes) != axes:
        raise ShapeError(f"{where}: output_size {wanted} for planes of {sizes}; expected numbers from 0 up, one for each "
                         f"axis, and planes that are not empty")
    return splitting_windows(sizes, wanted)


cdef tuple wanted_sizes(TensorBase x, object output_size, int axes, str where):
    """One int for all axes, or one for each; None keeps the size of an axis."""
    cdef object given = plain_ints(tolist(output_size) if isinstance(output_size, TensorBase) else output_size)
    cdef tuple wanted = given if isinstance(given, tuple) else (given,) * axes
    if isinstance(given, tuple) and axes > 1 and x.ndim_ <= axes:       # as PyTorch, where an axis could have kept no size
        raise ValueError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)}; expected more than {axes} dimensions")
    check_axes(x, axes, where)
    if given is None:
        raise TypeError(f"{where}: output_size is None; give an int or {axes} of them, of which some may be None")
    if len(wanted) != axes:
        raise ShapeError(f"{where}: output_size {output_size!r} must be an int, or {axes} of them")
    wanted = tuple([size if one is None else one for size, one in zip(axis_sizes(x, axes), wanted)])
    return ints_for_axes(wanted, axes, where, "output_size")


# ---------------------------------------------------------------- adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
cdef Op ADAPTIVE_AVG_POOL2D = Op("adaptive_avg_pool2d(Tensor x, int[] output_size) -> Tensor", zero_curvature=True)
cdef Op ADAPTIVE_AVG_POOL3D = Op("adaptive_avg_pool3d(Tensor x, int[] output_size) -> Tensor", zero_curvature=True)
cdef Op ADAPTIVE_AVG_POOL_BACKWARD = Op("adaptive_avg_pool_backward(Tensor grad, int[] sizes, int[] output_size) -> "
                                        "Tensor")

@ADAPTIVE_AVG_POOL3D.infer
@ADAPTIVE_AVG_POOL2D.infer
def adaptive_avg_pool_infer(TensorBase x, output_size):
    return result_of_sizes(x.dtype_, x, lengths_of(split(x, None, output_size, "adaptive_avg_pool")))

@ADAPTIVE_AVG_POOL3D.kernel
@ADAPTIVE_AVG_POOL2D.kernel
def adaptive_avg_pool_kernel(TensorBase out, TensorBase x, output_size):
    mean_of_windows(out, x, split(x, None, output_size, "adaptive_avg_pool"), 0)

@ADAPTIVE_AVG_POOL_BACKWARD.infer
def adaptive_avg_pool_backward_infer(TensorBase grad, sizes, output_size):
    windows = split(grad, ints_of(sizes), output_size, "backward of adaptive_avg_pool")
    check_gradient(grad, windows, "adaptive_avg_pool_backward")
    return result_of_sizes(grad.dtype_, grad, ints_of(sizes))

@ADAPTIVE_AVG_POOL_BACKWARD.kernel
def adaptive_avg_pool_backward_kernel(TensorBase out, TensorBase grad, sizes, output_size):
    """The gradient of a mean over windows that split planes of these sizes."""
    windows = split(grad, ints_of(sizes), output_size, "backward of adaptive_avg_pool")
    spread_over_windows(out, grad, windows, 0)


@ADAPTIVE_AVG_POOL2D.derivative("x")
@ADAPTIVE_AVG_POOL3D.derivative("x")
def adaptive_avg_pool_derivative(grad, x_shape, output_size):
    return run_3(ADAPTIVE_AVG_POOL_BACKWARD, grad, x_shape[-len(output_size):], output_size)

@ADAPTIVE_AVG_POOL_BACKWARD.derivative("grad")
def adaptive_avg_pool_backward_derivative(grad, output_size):
    return run_2(ADAPTIVE_AVG_POOL2D if len(output_size) == 2 else ADAPTIVE_AVG_POOL3D, grad, output_size)

def adaptive_avg_pool1d(TensorBase input not None, output_size):
    """The mean of each of `output_size` windows of a signal; see `adaptive_avg_pool2d`.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, ...) or without batch
    output_size : int or sequence of int or None; None keeps the size of that axis

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.adaptive_avg_pool1d(tensorlab.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    tensor([[[2., 6.]]])
    """
    wanted = wanted_sizes(input, output_size, 1, "adaptive_avg_pool1d")
    split(input, None, wanted, "adaptive_avg_pool")     # checks, in the name of adaptive_avg_pool1d
    return run_2(ADAPTIVE_AVG_POOL2D, input.unsqueeze(-2), (1, *wanted)).squeeze(-2)

def adaptive_avg_pool2d(TensorBase input not None, output_size):
    """The mean of each of as many windows as are asked for, as even as can be.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating
    output_size : int or pair of int or None; None keeps the size of that axis

    Returns
    -------
    Tensor, shape (batch, channels, *output_size)

    >>> import tensorlab
    >>> tensorlab.nn.functional.adaptive_avg_pool2d(tensorlab.arange(16.).view(1, 4, 4), 1)
    tensor([[[7.5000]]])
    """
    return run_2(ADAPTIVE_AVG_POOL2D, input, wanted_sizes(input, output_size, 2, "adaptive_avg_pool2d"))

def adaptive_avg_pool3d(TensorBase input not None, output_size):
    """The mean of each of as many windows of a volume as are asked for; see `adaptive_avg_pool2d`.

    >>> import tensorlab
    >>> tensorlab.nn.functional.adaptive_avg_pool3d(tensorlab.arange(8.).view(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """
    return run_2(ADAPTIVE_AVG_POOL3D, input, wanted_sizes(input, output_size, 3, "adaptive_avg_pool3d"))


# ---------------------------------------------------------------- adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d
cdef Op ADAPTIVE_MAX_POOL2D = Op("adaptive_max_pool2d(Tensor x, int[] output_size) -> (Tensor values, Tensor indices)",
                                 public={"indices": "result1"}, differentiable=1, zero_curvature=True)
cdef Op ADAPTIVE_MAX_POOL3D = Op("adaptive_max_pool3d(Tensor x, int[] output_size) -> (Tensor values, Tensor indices)",
                                 public={"indices": "result1"}, differentiable=1, zero_curvature=True)

@ADAPTIVE_MAX_POOL3D.infer
@ADAPTIVE_MAX_POOL2D.infer
def adaptive_max_pool_infer(TensorBase x, output_size):
    return maxima_results(x, lengths_of(split(x, None, output_size, "adaptive_max_pool")))

@ADAPTIVE_MAX_POOL3D.kernel
@ADAPTIVE_MAX_POOL2D.kernel
def adaptive_max_pool_kernel(TensorBase values, TensorBase indices, TensorBase x, output_size):
    cdef tuple windows = split(x, None, output_size, "adaptive_max_pool")
    max_of_windows(values, indices, x, windows, lengths_of(windows), (1,) * len(windows), False)

@ADAPTIVE_MAX_POOL2D.derivative("x")
@ADAPTIVE_MAX_POOL3D.derivative("x")
def adaptive_max_pool_derivative(grad, x_shape, indices, output_size):
    """Each window's gradient goes to the place that its number came from."""
    return to_places(grad, indices, x_shape, len(output_size))

def adaptive_max_pool1d_with_indices(TensorBase input not None, output_size, bint return_indices=False):
    """`adaptive_max_pool1d` with its indices, whatever `return_indices` is.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, ...) or without batch
    output_size : int or sequence of int or None; None keeps the size of that axis

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.adaptive_max_pool1d_with_indices(tensorlab.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    (tensor([[[3., 7.]]]), tensor([[[1, 3]]]))
    """
    wanted = wanted_sizes(input, output_size, 1, "adaptive_max_pool1d")
    split(input, None, wanted, "adaptive_max_pool")     # checks, in the name of adaptive_max_pool1d
    found = run_2(ADAPTIVE_MAX_POOL2D, input.unsqueeze(-2), (1, *wanted))
    return found[0].squeeze(-2), found[1].squeeze(-2)

def adaptive_max_pool2d_with_indices(TensorBase input not None, output_size, bint return_indices=False):
    """`adaptive_max_pool2d` with its indices, whatever `return_indices` is.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, ...) or without batch
    output_size : int or sequence of int or None; None keeps the size of that axis

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> values, indices = F.adaptive_max_pool2d_with_indices(tensorlab.rand(1, 1, 4, 4), 2)
    >>> indices.shape
    tensorlab.Size([1, 1, 2, 2])
    """
    return run_2(ADAPTIVE_MAX_POOL2D, input, wanted_sizes(input, output_size, 2, "adaptive_max_pool2d"))

def adaptive_max_pool3d_with_indices(TensorBase input not None, output_size, bint return_indices=False):
    """`adaptive_max_pool3d` with its indices, whatever `return_indices` is.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, ...) or without batch
    output_size : int or sequence of int or None; None keeps the size of that axis

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> values, indices = F.adaptive_max_pool3d_with_indices(tensorlab.rand(1, 1, 4, 4, 4), 2)
    >>> indices.shape
    tensorlab.Size([1, 1, 2, 2, 2])
    """
    return run_2(ADAPTIVE_MAX_POOL3D, input, wanted_sizes(input, output_size, 3, "adaptive_max_pool3d"))

def adaptive_max_pool1d(TensorBase input not None, output_size, bint return_indices=False):
    """The largest number of each of `output_size` windows of a signal; see `adaptive_max_pool2d`.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, ...) or without batch
    output_size : int or sequence of int or None; None keeps the size of that axis

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.adaptive_max_pool1d(tensorlab.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    tensor([[[3., 7.]]])
    """
    found = adaptive_max_pool1d_with_indices(input, output_size)
    return found if return_indices else found[0]

def adaptive_max_pool2d(TensorBase input not None, output_size, bint return_indices=False):
    """The largest number of each of as many windows as are asked for, as even as can be.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating
    output_size : int or pair of int or None; None keeps the size of that axis
    return_indices : bool; also return where in its plane, row-major, each number was

    Returns
    -------
    Tensor, shape (batch, channels, *output_size); and int64 indices of that shape

    >>> import tensorlab
    >>> tensorlab.nn.functional.adaptive_max_pool2d(tensorlab.arange(16.).view(1, 4, 4), (1, 2))
    tensor([[[13., 15.]]])
    """
    found = adaptive_max_pool2d_with_indices(input, output_size)
    return found if return_indices else found[0]

def adaptive_max_pool3d(TensorBase input not None, output_size, bint return_indices=False):
    """The largest number of each of as many windows of a volume as are asked for; see `adaptive_max_pool2d`.

    >>> import tensorlab
    >>> tensorlab.nn.functional.adaptive_max_pool3d(tensorlab.arange(8.).view(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    found = adaptive_max_pool3d_with_indices(input, output_size)
    return found if return_indices else found[0]
