"""The layout half of a tensor as Python sees it: size, stride, where it lies in memory.

Each function here becomes a method of class Tensor. As functions of a module they look at what they are called with:
`Tensor.size([1, 2])` is a TypeError, where a method of the compiled class would read a list as if it were a tensor.
"""
from tensorlab._core.dtypes cimport COMPLEX, is_in, item_size
from tensorlab._core.layout cimport wrap_dim
from tensorlab._core.tensor cimport TensorBase, offset_of

from tensorlab.errors import DimensionError


cdef int dim_that_is(object dim, TensorBase x, str where) except -1:
    """The number of a dimension, counted from 0. A 0-d tensor has none, not even 0 and -1, by which ops may name it."""
    cdef int d = wrap_dim(dim, x.ndim_, where)
    if x.ndim_ == 0:
        raise DimensionError(f"{where}: dimension {dim} is asked for, but the tensor is 0-d and has none")
    return d


def size(TensorBase self not None, dim=None):
    """The shape, or the size of dimension `dim`.

    Parameters
    ----------
    dim : int, or None for all sizes

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.size(), x.size(0)
    (tensorlab.Size([2, 2]), 2)
    """
    if dim is None:
        return self.shape
    return self.sizes[dim_that_is(dim, self, "size")]


def stride(TensorBase self not None, dim=None):
    """Elements from one index to the next: a tuple, or the int for dimension `dim`.

    Parameters
    ----------
    dim : int, or None for all of them

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.stride(), x.t().stride(0)
    ((2, 1), 1)
    """
    if dim is None:
        return tuple([self.strides[i] for i in range(self.ndim_)])
    return self.strides[dim_that_is(dim, self, "stride")]


def storage_offset(TensorBase self not None):
    """Elements from the start of the storage to the first element.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).reshape(2, 3)
    >>> x[1].storage_offset(), x[1, 2].storage_offset()
    (3, 5)
    """
    return offset_of(self)


def numel(TensorBase self not None):
    """Number of elements: the product of the sizes.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.numel()
    4
    """
    return self.numel_


def dim(TensorBase self not None):
    """Number of dimensions.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.dim()
    2
    """
    return self.ndim_


def element_size(TensorBase self not None):
    """Bytes of one element.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.element_size()
    4
    """
    return item_size[self.dtype_]


def is_floating_point(TensorBase self not None):
    """True for float16, bfloat16, float32 and float64.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.ones(1).is_floating_point(), tensorlab.arange(3).is_floating_point()
    (True, False)
    """
    return self.dtype.is_floating_point


def is_signed(TensorBase self not None):
    """True if the elements can be negative.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.arange(3).is_signed(), tensorlab.arange(3).byte().is_signed()
    (True, False)
    """
    return self.dtype.is_signed


def is_complex(TensorBase self not None):
    """True for the types complex64 and complex128.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1 + 2j]).is_complex(), tensorlab.ones(1).is_complex()
    (True, False)
    """
    return is_in(self.dtype_, COMPLEX)


def is_inference(TensorBase self not None):
    """True for a tensor made under inference_mode: it has no version counter and autograd refuses it.

    Examples
    --------
    >>> import tensorlab
    >>> with tensorlab.inference_mode():
    ...     x = tensorlab.ones(2)
    >>> x.is_inference(), tensorlab.ones(2).is_inference()
    (True, False)
    """
    return self.counter is None
