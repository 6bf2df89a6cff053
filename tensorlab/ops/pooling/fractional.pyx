"""Fractional max pooling: windows of one size whose places are drawn at random, for each plane anew.

The places along an axis are `floor(alpha * (i + u)) - floor(alpha * u)`, with one u in [0, 1) for each plane and axis and
an alpha that makes the last window end with the axis.  Source: Graham 2014, Fractional Max-Pooling, section 2.
"""

from libc.stdint cimport int64_t

from tensorlab._core.dispatch.dispatch cimport run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dtypes cimport FLOATING, dtype_object, is_double, kernel_dtype, real
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.loops.iterator cimport plain_as
from tensorlab._core.tensor cimport TensorBase, memory_of
from tensorlab.ops.pooling.maximum cimport max_of_windows, maxima_results
from tensorlab.ops.pooling.windows cimport (
    BEHIND, COUNT, FIRST, axis_sizes, check_axes, check_filled, int_table, ints_for_axes,
    ints_of
)

from tensorlab.errors import ShapeError
from tensorlab.ops.pooling.maximum import to_places
from tensorlab.ops.random_factories import rand


# ---------------------------------------------------------------- windows
cdef int draw_windows(int64_t* entry, ssize planes, ssize size, ssize n, ssize kernel, real* samples, int axes,
                      str where) except -1:
    """The windows along one axis of each plane; `samples` steps by the number of axes."""
    cdef real u, alpha = <real>(size - kernel) / <real>(n - 1) if n > 1 else 0
    cdef ssize k, i, start
    for k in range(planes):
        u = samples[k * axes]
        for i in range(n):
            start = <ssize>((<real>i + u) * alpha) - <ssize>(u * alpha) if i < n - 1 else size - kernel
            if not 0 <= start <= size - kernel:
                raise ShapeError(f"{where}: window {i} would begin at {start} of {size}; the random samples must be "
                                 f"from 0 to below 1")
            entry[FIRST], entry[BEHIND], entry[COUNT] = start, start + kernel, kernel
            entry += 3
    return 0


cdef tuple drawn_windows(TensorBase x, tuple kernels, tuple wanted, TensorBase samples, str where):
    """For each axis the tables of all planes, one after another."""
    cdef int axes = <int>len(kernels), kernel_type = kernel_dtype(x.dtype_), i, place
    cdef ssize planes = samples.numel_ // axes, size, n, kernel
    cdef int64_t* entry
    cdef TensorBase computed = plain_as(samples, kernel_type), table
    cdef tuple sizes = axis_sizes(x, axes)
    cdef list tables = []
    for i in range(axes):
        size, n, kernel = sizes[i], wanted[i], kernels[i]
        table = int_table(planes * n)
        entry = <int64_t*>memory_of(table)
        place = axes - 1 - i if axes == 2 else i        # of images, PyTorch reads the sample of the columns first
        if is_double(kernel_type):
            draw_windows(entry, planes, size, n, kernel, <double*>memory_of(computed) + place, axes, where)
        else:
            draw_windows(entry, planes, size, n, kernel, <float*>memory_of(computed) + place, axes, where)
        tables.append(table)
    return tuple(tables)


cdef int check_fractions(TensorBase x, tuple kernels, tuple wanted, TensorBase samples, str where) except -1:
    cdef int axes = <int>len(kernels)
    check_axes(x, axes, where)
    check_dtype(where, x, FLOATING)
    check_filled(x, axes, where)
    if len(wanted) != axes:
        raise ShapeError(f"{where}: output_size {wanted} must have {axes} numbers, one for each axis")
    for size, kernel, n in zip(axis_sizes(x, axes), kernels, wanted):
        most = size if axes == 2 else size - 1      # of volumes, PyTorch asks for one element more
        if kernel < 1 or n < 0 or n + kernel - 1 > most:
            raise ShapeError(f"{where}: {n} windows of kernel_size {kernel} for {size} elements; expected a kernel from 1 up, "
                             f"windows from 0 up, and output_size + kernel_size - 1 of at most {most}")
    if samples.dtype_ != x.dtype_:
        raise ShapeError(f"{where}: the random samples are {dtype_object(samples.dtype_)} and the input "
                         f"{dtype_object(x.dtype_)}; they must be of one type")
    batch = x.sizes[0] if x.ndim_ == axes + 2 else 1
    channels = x.sizes[x.ndim_ - axes - 1]
    if samples.ndim_ != 3 or samples.sizes[0] < batch or samples.sizes[1] != channels or samples.sizes[2] != axes:
        raise ShapeError(f"{where}: the random samples have shape {shape_text(samples.ndim_, samples.sizes)}; expected "
                         f"{(batch, channels, axes)}, for each plane one for each axis; only the batch may be larger")
    return 0


# ---------------------------------------------------------------- fractional_max_pool2d, fractional_max_pool3d
cdef Op FRACTIONAL2D = Op("fractional_max_pool2d(Tensor x, int[] kernel_size, int[] output_size, Tensor random_samples) -> "
                          "(Tensor values, Tensor indices)", public={"indices": "result1"}, differentiable=1, zero_curvature=True)
cdef Op FRACTIONAL3D = Op("fractional_max_pool3d(Tensor x, int[] kernel_size, int[] output_size, Tensor random_samples) -> "
                          "(Tensor values, Tensor indices)", public={"indices": "result1"}, differentiable=1, zero_curvature=True)

@FRACTIONAL3D.infer
@FRACTIONAL2D.infer
def fractional_infer(TensorBase x, kernel_size, output_size, TensorBase random_samples):
    cdef tuple kernels = ints_of(kernel_size), wanted = ints_of(output_size)
    check_fractions(x, kernels, wanted, random_samples, f"fractional_max_pool{len(kernels)}d")
    return maxima_results(x, wanted)

@FRACTIONAL3D.kernel
@FRACTIONAL2D.kernel
def fractional_kernel(TensorBase values, TensorBase indices, TensorBase x, kernel_size, output_size, TensorBase random_samples):
    cdef tuple kernels = ints_of(kernel_size), wanted = ints_of(output_size)
    windows = drawn_windows(x, kernels, wanted, random_samples, f"fractional_max_pool{len(kernels)}d")
    max_of_windows(values, indices, x, windows, wanted, (1,) * len(kernels), True)

@FRACTIONAL2D.derivative("x")
@FRACTIONAL3D.derivative("x")
def fractional_max_pool_derivative(grad, x_shape, indices, kernel_size):
    """Each window's gradient goes to the place that its number came from."""
    return to_places(grad, indices, x_shape, len(kernel_size))

cdef object fractional_max_pool(Op op, int axes, TensorBase x, object kernel_size, object output_size, object output_ratio,
                                object samples):
    cdef str where = f"fractional_max_pool{axes}d"
    cdef tuple kernels = ints_for_axes(kernel_size, axes, where, "kernel_size"), ratios
    check_axes(x, axes, where)
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{where}: give output_size, or output_ratio, its share of the input's size")
        ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * axes
        if len(ratios) != axes:
            raise ValueError(f"{where}: output_ratio must be a number or {axes} of them, not {output_ratio!r}")
        output_size = tuple([int(size * ratio) for size, ratio in zip(axis_sizes(x, axes), ratios)])
    wanted = ints_for_axes(output_size, axes, where, "output_size")
    if samples is None:
        check_dtype(where, x, FLOATING)
        batch = x.sizes[0] if x.ndim_ == axes + 2 else 1
        samples = rand(batch, x.sizes[x.ndim_ - axes - 1], axes, dtype=x.dtype, device=x.device)
    return run_4(op, x, kernels, wanted, samples)

def fractional_max_pool2d_with_indices(TensorBase input not None, kernel_size, output_size=None, output_ratio=None,
                                       bint return_indices=False, _random_samples=None):
    """`fractional_max_pool2d` with its indices, whatever `return_indices` is.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> values, indices = F.fractional_max_pool2d_with_indices(tensorlab.rand(1, 1, 8, 8), 2, output_size=3)
    >>> indices.shape
    tensorlab.Size([1, 1, 3, 3])
    """
    return fractional_max_pool(FRACTIONAL2D, 2, input, kernel_size, output_size, output_ratio, _random_samples)

def fractional_max_pool3d_with_indices(TensorBase input not None, kernel_size, output_size=None, output_ratio=None,
                                       bint return_indices=False, _random_samples=None):
    """`fractional_max_pool3d` with its indices, whatever `return_indices` is.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> values, indices = F.fractional_max_pool3d_with_indices(tensorlab.rand(1, 1, 8, 8, 8), 2, output_size=3)
    >>> indices.shape
    tensorlab.Size([1, 1, 3, 3, 3])
    """
    return fractional_max_pool(FRACTIONAL3D, 3, input, kernel_size, output_size, output_ratio, _random_samples)

def fractional_max_pool2d(TensorBase input not None, kernel_size, output_size=None, output_ratio=None,
                          bint return_indices=False, _random_samples=None):
    """The largest number of each of windows whose places are drawn at random.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating
    kernel_size : int or pair of int, the window
    output_size : int or pair of int, how many windows there are
    output_ratio : float or pair of float, their number as a share of the input's size, if output_size is not given
    return_indices : bool; also return where in its plane, row-major, each number was
    _random_samples : Tensor, shape (batch, channels, 2), numbers from 0 to below 1 of the input's type: the draws

    Returns
    -------
    Tensor, shape (batch, channels, *output_size); and int64 indices of that shape

    Raises
    ------
    ValueError
        If neither output_size nor output_ratio is given.
    ShapeError
        If the windows do not fit into the input.

    >>> import tensorlab
    >>> tensorlab.nn.functional.fractional_max_pool2d(tensorlab.arange(16.).view(1, 4, 4), 2, 1)
    tensor([[[15.]]])
    """
    found = fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, False, _random_samples)
    return found if return_indices else found[0]

def fractional_max_pool3d(TensorBase input not None, kernel_size, output_size=None, output_ratio=None,
                          bint return_indices=False, _random_samples=None):
    """The largest number of each of windows whose places in a volume are drawn at random.

    The input is (batch, channels, depth, height, width), or without batch, and the draws are
    (batch, channels, 3); all else is as for `fractional_max_pool2d`.

    >>> import tensorlab
    >>> tensorlab.nn.functional.fractional_max_pool3d(tensorlab.arange(27.).view(1, 3, 3, 3), 2, 1)
    tensor([[[[26.]]]])
    """
    found = fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, False, _random_samples)
    return found if return_indices else found[0]
