"""unfold and fold: the patches of an image as columns, and images as sums of patches.

    x  1 2 3        unfold(x, 2)  1 2 4 5       a row for each pixel of the kernel,
       4 5 6                      2 3 5 6       a column for each place of it, one block after another
       7 8 9                      4 5 7 8
                                  5 6 8 9

Their loops are those of a convolution, in im2col.pyx, and so are their names as ops: im2col and col2im. Both are linear, and
each is the derivative of the other, as a pixel that was copied to many columns gets the gradients of all of them.
"""
from cpython.number cimport PyIndex_Check

from tensorlab._core.dispatch.dispatch cimport run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dtypes cimport (
    BOOL, BOOLEAN, COMPLEX, FLOAT32, FLOATING, is_double, is_in, kernel_dtype
)
from tensorlab._core.layout cimport plain_ints, shape_text, ssize
from tensorlab._core.loops.iterator cimport plain_as, put_back
from tensorlab._core.loops.parallel cimport grain_of, parallel_for
from tensorlab._core.tensor cimport TensorBase, empty_beside, memory_of, result_beside
from tensorlab.ops.filling cimport fill_zero
from tensorlab.ops.im2col cimport Geometry, col2im, column_size, im2col, plane_size

from tensorlab._core.interop.exchange import tolist
from tensorlab.errors import DimensionError, ShapeError


cdef enum:
    LARGEST_NUMBER = 0x7fffffff     # of sizes, so that products of two fit in 64 bits
    GRAIN = 32768                   # elements that make a thread worth starting


# ---------------------------------------------------------------- geometry
cdef int take_pair(ssize* numbers, object given, ssize least, str where, str name) except -1:
    """Two ints, for height and width; they stand behind a depth of 1."""
    cdef int d
    if len(given) != 2:
        raise ShapeError(f"{where}: {name} is {given}; expected an int, or two for height and width")
    for d in range(2):
        if not least <= given[d] <= LARGEST_NUMBER:
            raise ShapeError(f"{where}: {name} is {given}; expected at least {least} and less than 2**31")
        numbers[1 + d] = given[d]
    return 0


cdef int take_windows(Geometry* geometry, object kernel_size, object dilation, object padding, object stride,
                      str where) except -1:
    geometry.kernel[0] = geometry.dilation[0] = geometry.stride[0] = geometry.sizes[0] = geometry.out[0] = 1
    geometry.padding[0] = 0
    take_pair(geometry.kernel, kernel_size, 1, where, "kernel_size")
    take_pair(geometry.dilation, dilation, 1, where, "dilation")
    take_pair(geometry.padding, padding, 0, where, "padding")
    take_pair(geometry.stride, stride, 1, where, "stride")
    return 0


cdef int count_places(Geometry* geometry) noexcept:
    """Where the kernel fits, in each dimension."""
    cdef ssize room
    cdef int d
    for d in range(1, 3):
        room = geometry.sizes[d] + 2 * geometry.padding[d] - geometry.dilation[d] * (geometry.kernel[d] - 1) - 1
        geometry.out[d] = room // geometry.stride[d] + 1 if room >= 0 else 0
    return 0


cdef int check_input(TensorBase x, int ndim, str expected, str where) except -1:
    """Refuse x unless it has ndim dimensions, or one more for a batch; only a batch may be empty."""
    cdef int d
    cdef bint is_empty = False
    for d in range(x.ndim_ - ndim, x.ndim_):
        is_empty = is_empty or d < 0 or x.sizes[d] == 0
    if is_empty or x.ndim_ > ndim + 1:
        raise ShapeError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)}; expected {expected}, with a batch in "
                         "front or without, and only the batch empty")
    return check_dtype(where, x, BOOLEAN | FLOATING)


# ---------------------------------------------------------------- loops
cdef struct Images:
    bint is_double
    bint unfolds
    char* x                         # the images
    char* columns
    Geometry* geometry


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Images* images = <Images*>context
    cdef Geometry* geometry = images.geometry
    cdef ssize image = geometry.in_channels * plane_size(geometry.sizes)
    cdef ssize block = column_size(geometry) * plane_size(geometry.out)
    cdef ssize i, rows = geometry.out[1]
    for i in range(begin, end):
        if images.unfolds and images.is_double:
            im2col(<double*>images.columns + i * block, <double*>images.x + i * image, geometry, 0, rows)
        elif images.unfolds:
            im2col(<float*>images.columns + i * block, <float*>images.x + i * image, geometry, 0, rows)
        elif images.is_double:
            col2im(<double*>images.x + i * image, <double*>images.columns + i * block, geometry, 0, rows)
        else:
            col2im(<float*>images.x + i * image, <float*>images.columns + i * block, geometry, 0, rows)


cdef int fill_other(TensorBase out, TensorBase given, Geometry* geometry, bint unfolds) except -1:
    """Fill the other of images and columns, from what is given."""
    cdef int kernel = FLOAT32 if given.dtype_ == BOOL else kernel_dtype(given.dtype_)
    cdef TensorBase source = plain_as(given, kernel)
    cdef TensorBase target = out
    cdef Images images
    if kernel != out.dtype_ or not out.is_contiguous_:
        target = empty_beside(out, kernel, out.ndim_, out.sizes)
    if not unfolds:
        fill_zero(target)
    images.is_double, images.unfolds, images.geometry = is_double(kernel), unfolds, geometry
    images.x, images.columns = memory_of(source if unfolds else target), memory_of(target if unfolds else source)
    with nogil:
        parallel_for(run_share, &images, geometry.batch, grain_of(GRAIN, column_size(geometry) * plane_size(geometry.out)))
    return put_back(out, target)


# ---------------------------------------------------------------- unfold
cdef Op IM2COL = Op("im2col(Tensor x, int[] kernel_size, int[] dilation, int[] padding, int[] stride) -> Tensor",
                    node="Im2ColBackward0")

cdef int prepare_unfold(Geometry* geometry, ssize* sizes, TensorBase x, object kernel_size, object dilation, object padding,
                        object stride) except -1:
    """Check the arguments; the sizes of the result are (batch, rows of a column, places)."""
    take_windows(geometry, kernel_size, dilation, padding, stride, "unfold")
    if x.ndim_ < 3:
        raise DimensionError(f"unfold: the input has shape {shape_text(x.ndim_, x.sizes)}; expected (channels, height, width), "
                             "with a batch in front or without")
    check_input(x, 3, "(channels, height, width)", "unfold")
    geometry.batch = x.sizes[0] if x.ndim_ == 4 else 1
    geometry.in_channels = x.sizes[x.ndim_ - 3]
    geometry.sizes[1], geometry.sizes[2] = x.sizes[x.ndim_ - 2], x.sizes[x.ndim_ - 1]
    count_places(geometry)
    if plane_size(geometry.out) == 0:
        raise ShapeError(f"unfold: a kernel of {kernel_size} with dilation {dilation} is larger than the input of shape "
                         f"{shape_text(x.ndim_, x.sizes)} with padding {padding}")
    sizes[0], sizes[1], sizes[2] = geometry.batch, column_size(geometry), plane_size(geometry.out)
    return 0

@IM2COL.infer
def im2col_infer(TensorBase x, kernel_size, dilation, padding, stride):
    cdef Geometry geometry
    cdef ssize[3] sizes
    prepare_unfold(&geometry, sizes, x, kernel_size, dilation, padding, stride)
    return result_beside(x, x.dtype_, x.ndim_ - 1, &sizes[4 - x.ndim_])

@IM2COL.kernel
def im2col_kernel(TensorBase out, TensorBase x, kernel_size, dilation, padding, stride):
    cdef Geometry geometry
    cdef ssize[3] sizes
    prepare_unfold(&geometry, sizes, x, kernel_size, dilation, padding, stride)
    fill_other(out, x, &geometry, True)


@IM2COL.derivative("x")
def im2col_derivative(grad, x_shape, kernel_size, dilation, padding, stride):
    return run_tuple(COL2IM, (grad, plain_ints(x_shape[len(x_shape) - 2:]), kernel_size, dilation, padding, stride))


def unfold(TensorBase input not None, kernel_size, dilation=1, padding=0, stride=1):
    """Copy the patches of images that a kernel sees, each as a column.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch; floating or bool
    kernel_size, dilation, padding, stride : int, or pair of int for height and width, as for conv2d

    Returns
    -------
    Tensor, shape (batch, channels * kernel_height * kernel_width, places), contiguous, of the same dtype

    Raises
    ------
    ShapeError
        If the input has more dimensions or is empty but for its batch, a number is too small, or the kernel is larger
        than the padded input.
    DimensionError
        If the input has fewer dimensions.

    Notes
    -----
    A convolution is a product with these columns: weight.flatten(1) @ unfold(input). Source: Chellapilla, Puri, Simard
    2006, "High performance convolutional neural networks for document processing".

    >>> import tensorlab
    >>> x = tensorlab.arange(1., 10.).view(1, 3, 3)
    >>> tensorlab.nn.functional.unfold(x, 2)
    tensor([[1., 2., 4., 5.],
            [2., 3., 5., 6.],
            [4., 5., 7., 8.],
            [5., 6., 8., 9.]])
    """
    if is_in(input.dtype_, COMPLEX):
        return unfold(input.real, kernel_size, dilation, padding, stride) + unfold(
            input.imag, kernel_size, dilation, padding, stride) * 1j
    return run_tuple(IM2COL, (input, pair(kernel_size, "unfold", "kernel_size"), pair(dilation, "unfold", "dilation"),
                              pair(padding, "unfold", "padding"), pair(stride, "unfold", "stride")))


cdef tuple pair(object given, str where, str name):
    """An int as two; a sequence of ints, or a tensor of them, as a tuple."""
    if isinstance(given, TensorBase):
        given = tolist(given)
    if PyIndex_Check(given) and not isinstance(given, bool):
        return plain_ints((given, given))
    if isinstance(given, (tuple, list)) and all([PyIndex_Check(one) for one in given]):
        return plain_ints(tuple(given))
    raise TypeError(f"{where}: {name} is {given!r}; expected an int, or two for height and width")


# ---------------------------------------------------------------- fold
cdef Op COL2IM = Op("col2im(Tensor x, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride) "
                    "-> Tensor", node="Col2ImBackward0")

cdef int prepare_fold(Geometry* geometry, ssize* sizes, TensorBase x, object output_size, object kernel_size, object dilation,
                      object padding, object stride) except -1:
    """Check the arguments; the sizes of the result are (batch, channels, height, width)."""
    cdef ssize weights
    take_windows(geometry, kernel_size, dilation, padding, stride, "fold")
    take_pair(geometry.sizes, output_size, 1, "fold", "output_size")
    check_input(x, 2, "(channels * kernel_height * kernel_width, places)", "fold")
    weights = plane_size(geometry.kernel)
    if x.sizes[x.ndim_ - 2] % weights != 0:
        raise ShapeError(f"fold: the input of shape {shape_text(x.ndim_, x.sizes)} has columns of {x.sizes[x.ndim_ - 2]} "
                         f"elements; expected a multiple of {weights}, the product of kernel_size")
    geometry.batch = x.sizes[0] if x.ndim_ == 3 else 1
    geometry.in_channels = x.sizes[x.ndim_ - 2] // weights
    count_places(geometry)
    if x.sizes[x.ndim_ - 1] != plane_size(geometry.out):
        raise ShapeError(f"fold: the input of shape {shape_text(x.ndim_, x.sizes)} has {x.sizes[x.ndim_ - 1]} columns; expected "
                         f"{geometry.out[1]} * {geometry.out[2]}, as many as places of the kernel in an image of {output_size}")
    sizes[0], sizes[1], sizes[2], sizes[3] = geometry.batch, geometry.in_channels, geometry.sizes[1], geometry.sizes[2]
    return 0

@COL2IM.infer
def col2im_infer(TensorBase x, output_size, kernel_size, dilation, padding, stride):
    cdef Geometry geometry
    cdef ssize[4] sizes
    prepare_fold(&geometry, sizes, x, output_size, kernel_size, dilation, padding, stride)
    return result_beside(x, x.dtype_, x.ndim_ + 1, &sizes[3 - x.ndim_])

@COL2IM.kernel
def col2im_kernel(TensorBase out, TensorBase x, output_size, kernel_size, dilation, padding, stride):
    cdef Geometry geometry
    cdef ssize[4] sizes
    prepare_fold(&geometry, sizes, x, output_size, kernel_size, dilation, padding, stride)
    fill_other(out, x, &geometry, False)


@COL2IM.derivative("x")
def col2im_derivative(grad, kernel_size, dilation, padding, stride):
    return run_tuple(IM2COL, (grad, kernel_size, dilation, padding, stride))


def fold(TensorBase input not None, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Add columns to the patches of images that `unfold` would have copied them from.

    Parameters
    ----------
    input : Tensor, shape (batch, channels * kernel_height * kernel_width, places), or without batch; floating or bool
    output_size : int, or pair of int, height and width of the images
    kernel_size, dilation, padding, stride : int, or pair of int for height and width, those of `unfold`

    Returns
    -------
    Tensor, shape (batch, channels, height, width), contiguous, of the same dtype; where patches overlap their sum

    Raises
    ------
    ShapeError
        If the input has other dimensions, is empty but for its batch, or has not as many columns as the kernel places.

    >>> import tensorlab
    >>> tensorlab.nn.functional.fold(tensorlab.ones(4, 4), 3, 2)
    tensor([[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]])
    """
    if is_in(input.dtype_, COMPLEX):
        return fold(input.real, output_size, kernel_size, dilation, padding, stride) + fold(
            input.imag, output_size, kernel_size, dilation, padding, stride) * 1j
    return run_tuple(COL2IM, (input, pair(output_size, "fold", "output_size"), pair(kernel_size, "fold", "kernel_size"),
                              pair(dilation, "fold", "dilation"), pair(padding, "fold", "padding"),
                              pair(stride, "fold", "stride")))
