"""Memory formats, orders of the dimensions in memory: the strides of each, and which one a tensor's strides suggest.

    contiguous          the last dimension first, row by row
    channels_last       of (batch, channels, height, width), the channels of a pixel lie next to each other
    channels_last_3d    the same with a depth
    preserve            as those of another tensor
"""
from tensorlab._core.dtypes cimport BOOL
from tensorlab._core.layout cimport is_dense, ssize
from tensorlab._core.tensor cimport TensorBase, empty_like

from tensorlab.errors import ShapeError


cdef int format_strides(object memory_format, TensorBase x, int ndim, const ssize* sizes, ssize* strides,
                        str where) except -1:
    """Strides of a new tensor in a memory format; for "preserve", those of x. Returns 0 if they are row-major."""
    cdef TensorBase like
    cdef int i
    if memory_format == "contiguous":
        return 0
    if memory_format == "preserve":
        if x is None:
            raise RuntimeError(f"{where}: there is nothing whose memory format could be preserved; leave it out")
        if is_dense(x.ndim_, x.sizes, x.strides):
            for i in range(ndim):
                strides[i] = x.strides[i]
            return 1
        like = empty_like(x, BOOL)
        for i in range(ndim):
            strides[i] = like.strides[i]
        return 1
    if memory_format == "channels_last" or memory_format == "channels_last_3d":
        if ndim != (4 if memory_format == "channels_last" else 5):
            raise ShapeError(f"{where}: {memory_format!r} needs {4 if memory_format == 'channels_last' else 5} "
                             f"dimensions, and there are {ndim}")
        strides[1] = 1                              # the channels lie next to each other
        strides[ndim - 1] = max(sizes[1], 1)
        for i in range(ndim - 2, 1, -1):
            strides[i] = strides[i + 1] * max(sizes[i + 1], 1)
        strides[0] = strides[2] * max(sizes[2], 1)
        return 1
    raise TypeError(f"{where}: memory_format must be one such as tensorlab.contiguous_format, not {memory_format!r}")


cdef bint lies_channels_last(TensorBase x) noexcept:
    """Are its strides those of channels_last or channels_last_3d, by PyTorch's test, which asks for no exact size?"""
    cdef int i, d
    cdef ssize least = 0
    if x.ndim_ != 4 and x.ndim_ != 5 or x.strides[1] == 0:
        return False
    for i in range(x.ndim_):                    # from the channels inwards out: dimensions 1, ndim - 1, ..., 2, 0
        d = 1 if i == 0 else 0 if i == x.ndim_ - 1 else x.ndim_ - i
        if x.sizes[d] == 0 or x.strides[d] < least:
            return False
        if d == 0 and least == x.strides[1]:    # all other sizes are 1: the strides do not tell
            return False
        least = x.strides[d]
        if x.sizes[d] > 1:
            least *= x.sizes[d]
    return True


cdef str likely_format(TensorBase x):
    """The format that strides suggest, even where sizes of 1 leave it open."""
    return "contiguous" if not lies_channels_last(x) else "channels_last" if x.ndim_ == 4 else "channels_last_3d"
