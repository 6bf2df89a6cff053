"""Views between complex tensors and real ones, which have a last dimension of two.

A complex number is two real ones that lie next to each other:

    complex      sizes (3,)      strides (1,)       a+bi  c+di  e+fi
    as real      sizes (3, 2)    strides (2, 1)     a b   c d   e f
"""
from tensorlab._core.dispatch.dispatch cimport run_1
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport COMPLEX, FLOAT16, FLOAT32, FLOAT64, complex_dtype, is_in, item_size
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize
from tensorlab._core.tensor cimport CONJ, TensorBase, alias_as, parts_of

from tensorlab.errors import MemoryLayoutError, ShapeError, UnsupportedDType


cdef Op VIEW_AS_REAL = Op("view_as_real(Tensor(a) x) -> Tensor(a)", holomorphic=False)

@VIEW_AS_REAL.derivative("x")
def view_as_real_derivative(grad):
    return view_as_complex(grad.contiguous())

@VIEW_AS_REAL.infer
def view_as_real_infer(TensorBase x):
    if not is_in(x.dtype_, COMPLEX):
        raise UnsupportedDType(f"view_as_real: needs a complex tensor, not {x.dtype}, which is real already")
    if x.keys & CONJ:
        raise UnsupportedDType("view_as_real: the memory of this tensor holds its conjugate; say .resolve_conj() first, which "
                               "copies it, or take x.real and x.imag, which are views")
    return parts_of(x)


def view_as_real(TensorBase input not None):
    """A view of a complex tensor as real numbers, with a last dimension of two: the real and the imaginary part.

    Raises
    ------
    RuntimeError
        If `input` is not complex.

    >>> import tensorlab
    >>> tensorlab.view_as_real(tensorlab.tensor([1 + 2j, 3j]))
    tensor([[1., 2.],
            [0., 3.]])
    """
    return run_1(VIEW_AS_REAL, input)


cdef Op VIEW_AS_COMPLEX = Op("view_as_complex(Tensor(a) x) -> Tensor(a)", holomorphic=False)

@VIEW_AS_COMPLEX.derivative("x")
def view_as_complex_derivative(grad):
    return view_as_real(grad)

@VIEW_AS_COMPLEX.infer
def view_as_complex_infer(TensorBase x):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef TensorBase out
    cdef int i, last = x.ndim_ - 1
    if not is_in(x.dtype_, 1 << FLOAT16 | 1 << FLOAT32 | 1 << FLOAT64):
        raise UnsupportedDType(f"view_as_complex: needs float16, float32 or float64, not {x.dtype}; convert with .float() first")
    if x.ndim_ == 0 or x.sizes[last] != 2:
        raise ShapeError(f"view_as_complex: the shape is {tuple(x.shape)}; the last dimension must have size 2, for the real and "
                         f"the imaginary part")
    if x.strides[last] != 1:
        raise MemoryLayoutError(
            f"view_as_complex: the last dimension has stride {x.strides[last]}, so the two parts "
            f"of a number are apart; say .contiguous() first")
    for i in range(last):
        if x.strides[i] % 2 and x.sizes[i] > 1:
            raise MemoryLayoutError(
                f"view_as_complex: the strides are {shape_text(x.ndim_, x.strides)}; all but the "
                f"last must be even, so that each number begins where one of two parts does; say "
                f".contiguous() first")
        sizes[i], strides[i] = x.sizes[i], x.strides[i] // 2
    if (x.data_ - x.storage_.address) % (2 * item_size[x.dtype_]):
        raise MemoryLayoutError(f"view_as_complex: the storage_offset is {x.storage_offset()}; it must be even; say "
                                f".clone() first")
    out = alias_as(x, last, sizes, strides, x.data_)
    out.dtype_ = complex_dtype(x.dtype_)
    return out


def view_as_complex(TensorBase input not None):
    """A view of a real tensor as complex numbers; its last dimension holds the real and the imaginary part.

    Raises
    ------
    RuntimeError
        If the last dimension does not have size 2 and stride 1, or another stride is odd.

    >>> import tensorlab
    >>> tensorlab.view_as_complex(tensorlab.tensor([[1., 2.], [0., 3.]]))
    tensor([1.+2.j, 0.+3.j])
    """
    return run_1(VIEW_AS_COMPLEX, input)
