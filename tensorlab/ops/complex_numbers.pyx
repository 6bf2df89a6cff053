"""Complex numbers: their parts, conjugates, angles and directions, and what makes them of real numbers.

The parts are views of the same memory, of every second of its real numbers (complex_views.pyx). So is the conjugate: a view
that knows that its memory holds the other sign (_core/dispatch/lazy_bits.pyx).
"""
from cpython.object cimport PyObject
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from tensorlab._core.dispatch.autocast cimport in_float32
from tensorlab._core.dispatch.dispatch cimport run_1, run_tuple, run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.dispatch.operands cimport broadcast_operands, same_numbers
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.dtypes cimport (
    COMPLEX, FLOAT16, FLOAT32, FLOAT64, complex_dtype, dtype_object, is_in, item_size
)
from tensorlab._core.graph.graph cimport set_strided_reading
from tensorlab._core.layout cimport MAX_NDIM, dense_strides, is_dense, ssize
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.loops.parallel cimport share_work
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.state.modes cimport entered_layers
from tensorlab._core.tensor cimport (
    CONJ, LAZY, NEG, TensorBase, alias, alias_as, memory_of, parts_of, result_beside, set_lazy_bits
)

from tensorlab.errors import DTypeError, UnsupportedDType
from tensorlab.ops.complex_views import view_as_complex, view_as_real
from tensorlab.ops.copying import clone
from tensorlab.ops.pointwise.arithmetic import neg
from tensorlab.ops.pointwise.common import inplace_function, zero_gradient
from tensorlab.ops.pointwise.comparison import eq
from tensorlab.ops.pointwise.signs import sign, sign_
from tensorlab.ops.slicing import select
from tensorlab.ops.strided import as_strided

cdef extern from "complex_numbers_loops.h":     # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 32768               # numbers that make a thread worth starting

ctypedef fused bits:            # a part of a complex number is copied as what it takes in memory
    uint16_t
    uint32_t
    uint64_t


# ---------------------------------------------------------------- conjugates
cdef Op CONJ_PHYSICAL = Op("conj_physical(Tensor x) -> Tensor", dtype="promote",
                           scalar={"ordered": "x", "complex": "conj@(x)"}, holomorphic=False)

@CONJ_PHYSICAL.derivative("x")
def conj_physical_derivative(grad):
    return conj(grad)

def conj_physical(TensorBase input not None, *, out=None):
    """The complex conjugate, in memory of its own. A real tensor is its own.

    >>> import tensorlab
    >>> tensorlab.conj_physical(tensorlab.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return run_unary(CONJ_PHYSICAL, input, out) if out is not None or is_in(input.dtype_, COMPLEX) else input

conj_physical_ = inplace_function(CONJ_PHYSICAL, conj_physical)


cdef Op CONJUGATE = Op("conj(Tensor(a) x) -> Tensor(a)", aten="_conj", holomorphic=False)

@CONJUGATE.derivative("x")
def conj_derivative(grad):
    return conj(grad)

@CONJUGATE.infer
def conj_infer(TensorBase x):
    return with_other_bits(x, CONJ)

def conj(TensorBase input not None):
    """The complex conjugate, as a view: the imaginary part with the other sign. A real tensor is its own.

    Nothing is computed: the view knows that its memory holds the conjugate (`is_conj`), and an op that
    reads it gets the right numbers. `conj_physical` computes; so does this inside of compile, func and modes.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1 + 2j, 3j])
    >>> x.conj()
    tensor([1.-2.j, 0.-3.j])
    >>> x.conj().data_ptr() == x.data_ptr()
    True
    """
    if not is_in(input.dtype_, COMPLEX):
        return input
    return run_1(CONJUGATE, input) if may_be_lazy(input) else run_unary(CONJ_PHYSICAL, input)


cdef bint may_be_lazy(TensorBase x):
    """Is this a plain tensor, and does no layer see the call? Layers know only of tensors whose memory is what they show."""
    return entered_layers == 0 and x.keys & ~LAZY == 0 and x.storage_.device == ON_CPU


cdef TensorBase with_other_bits(TensorBase x, int bits):
    """The same memory, read with the other sign of the imaginary part (CONJ) or of the number (NEG)."""
    cdef TensorBase out = alias(x)
    set_lazy_bits(out, (x.keys ^ bits) & LAZY)
    return out


def resolve_conj(TensorBase input not None):
    """The tensor itself if its memory holds what it shows; a conjugated view as a tensor with memory of its own.

    >>> import tensorlab
    >>> x = tensorlab.ones(2)
    >>> tensorlab.resolve_conj(x) is x
    True
    """
    return clone(input) if input.keys & CONJ else input


def is_conj(TensorBase input not None):
    """Does the memory of this tensor hold its conjugate?

    >>> import tensorlab
    >>> x = tensorlab.tensor([1j])
    >>> tensorlab.is_conj(x), tensorlab.is_conj(x.conj())
    (False, True)
    """
    return input.keys & CONJ != 0


# ---------------------------------------------------------------- negatives
cdef Op NEG_VIEW = Op("neg_view(Tensor(a) x) -> Tensor(a)", aten="_neg_view")

@NEG_VIEW.derivative("x")
def neg_view_derivative(grad):
    return neg(grad)

@NEG_VIEW.infer
def neg_view_infer(TensorBase x):
    return with_other_bits(x, NEG)

def _neg_view(TensorBase input not None):
    """The negative, as a view: what `imag` of a conjugated view returns.

    >>> import tensorlab
    >>> tensorlab._neg_view(tensorlab.tensor([1., -2.]))
    tensor([-1.,  2.])
    """
    return run_1(NEG_VIEW, input) if may_be_lazy(input) else neg(input)


def resolve_neg(TensorBase input not None):
    """The tensor itself if its memory holds what it shows; a negated view as a tensor with memory of its own.

    >>> import tensorlab
    >>> x = tensorlab.ones(2)
    >>> tensorlab.resolve_neg(x) is x
    True
    """
    return clone(input) if input.keys & NEG else input


def is_neg(TensorBase input not None):
    """Does the memory of this tensor hold its negative?

    >>> import tensorlab
    >>> x = tensorlab.tensor([1j])
    >>> x.imag.is_neg(), x.conj().imag.is_neg()
    (False, True)
    """
    return input.keys & NEG != 0


# ---------------------------------------------------------------- views, replayed
def strided_reading(TensorBase base not None, int dtype, size, stride, offset, int bits):
    """What the graph replays a view by: `as_strided`, of the memory read as elements of a type that may be another than the
    base's. Sizes, strides and offset count elements of that type; `bits` say how the view reads them."""
    base = with_bits(base, 0)
    if dtype == base.dtype_:
        out = as_strided(base, size, stride, offset)
    elif is_in(base.dtype_, COMPLEX):
        out = as_strided(view_as_real(base), size, stride, offset)
    else:
        out = view_as_complex(as_strided(base, (*size, 2), (*[2 * step for step in stride], 1), 2 * offset))
    return with_bits(out, bits)

cdef TensorBase with_bits(TensorBase x, int bits):
    """A view of x with these lazy bits, recorded."""
    if (x.keys ^ bits) & CONJ:
        x = <TensorBase?>run_1(CONJUGATE, x)
    if (x.keys ^ bits) & NEG:
        x = <TensorBase?>run_1(NEG_VIEW, x)
    return x

set_strided_reading(strided_reading)


# ---------------------------------------------------------------- parts
def real(TensorBase input not None):
    """The real part, as a view; of a real tensor the tensor itself.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1 + 2j, 3j])
    >>> x.real
    tensor([1., 0.])
    """
    if not is_in(input.dtype_, COMPLEX):
        return input
    return select(view_as_real(conj(input) if input.keys & CONJ else input), -1, 0)


def imag(TensorBase input not None):
    """The imaginary part, as a view.

    Raises
    ------
    RuntimeError
        If the tensor is real: there is no memory that could be looked at.

    >>> import tensorlab
    >>> tensorlab.imag(tensorlab.tensor([1 + 2j, 3j]))
    tensor([2., 3.])
    """
    if not is_in(input.dtype_, COMPLEX):
        raise UnsupportedDType(f"imag: needs a complex tensor, not {input.dtype}; of a real one the imaginary part is "
                               f"zeros_like(x)")
    if input.keys & CONJ:
        return _neg_view(select(view_as_real(conj(input)), -1, 1))
    return select(view_as_real(input), -1, 1)


def set_part(TensorBase self not None, value, part):
    """`x.real = value` and `x.imag = value`: write over one part."""
    part(self).copy_(value) if isinstance(value, TensorBase) else part(self).fill_(value)


def set_real(TensorBase self not None, value):
    set_part(self, value, real)


def set_imag(TensorBase self not None, value):
    set_part(self, value, imag)


def isreal(TensorBase input not None):
    """Is each element real, that is, without an imaginary part?

    >>> import tensorlab
    >>> tensorlab.isreal(tensorlab.tensor([1 + 2j, 3 + 0j]))
    tensor([False,  True])
    """
    return eq(imag(input), 0) if is_in(input.dtype_, COMPLEX) else eq(input, input) | True


# ---------------------------------------------------------------- direction and angle
cdef Op SGN = Op("sgn(Tensor x) -> Tensor", dtype="promote",
                 scalar={"ordered": "(x > 0) - (x < 0)", "complex": "complex_sgn#(x)"}, holomorphic=False,
                 exact_out=True)

@SGN.derivative("x")
def sgn_derivative(grad, x, out):
    """Only what turns z changes its direction: of the gradient remains the part at a right angle to z, over |z|. Source: the
    derivative of z / |z| by Wirtinger calculus."""
    if not is_in((<TensorBase>x).dtype_, COMPLEX):
        return zero_gradient(grad)
    size = x.abs()
    across = grad - (grad * conj(out)).real * out
    return (across / size).masked_fill(size == 0, 0)

def sgn(TensorBase input not None, *, out=None):
    """The direction of each complex number, `z / |z|`, and 0 of 0; `sign` of real ones.

    >>> import tensorlab
    >>> tensorlab.sgn(tensorlab.tensor([3 + 4j, 0j]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    return run_unary(SGN, input, out) if is_in(input.dtype_, COMPLEX) else sign(input, out=out)

sgn_of_complex_ = inplace_function(SGN, sgn)

def sgn_(TensorBase input not None):
    """`sgn`, written over `input`.

    >>> import tensorlab
    >>> tensorlab.tensor([-2., 3.]).sgn_()
    tensor([-1.,  1.])
    """
    return sgn_of_complex_(input) if is_in(input.dtype_, COMPLEX) else sign_(input)


cdef Op ANGLE = Op("angle(Tensor x) -> Tensor", dtype="floating",
                   scalar={"floating": "x < 0 ? (T)3.14159265358979323846 : x != x ? x * (T)0 : 0"})

ANGLE.derivative("x")(zero_gradient)

cdef Op ANGLE_OF_COMPLEX = Op("angle_of_complex(Tensor x) -> Tensor", aten=None, dtype="real", node="AngleBackward0",
                              scalar={"complex": "tl_atan2@(cimag@(x), creal@(x))"})

@ANGLE_OF_COMPLEX.derivative("x")
def angle_of_complex_derivative(grad, x):
    """i z / |z|^2: a quarter turn from z, the direction in which the angle grows."""
    size = x.abs()
    along = (x / size / size * grad).masked_fill(size == 0, 0)
    return complex_of(-along.imag, along.real)

def angle(TensorBase input not None, *, out=None):
    """The angle of each number in the complex plane, from -pi to pi: of real numbers pi for negative ones, else 0.

    >>> import tensorlab
    >>> tensorlab.angle(tensorlab.tensor([1j, -1 + 0j]))
    tensor([1.5708, 3.1416])
    >>> tensorlab.angle(tensorlab.tensor([-1., 2.]))
    tensor([3.1416, 0.0000])
    """
    return run_unary(ANGLE_OF_COMPLEX if is_in(input.dtype_, COMPLEX) else ANGLE, input, out)


# ---------------------------------------------------------------- complex numbers of real ones
cdef Op COMPLEX_OF = Op("complex(Tensor real, Tensor imag) -> Tensor")

@COMPLEX_OF.derivative("real")
def complex_derivative_real(grad):
    return real(grad)

@COMPLEX_OF.derivative("imag")
def complex_derivative_imag(grad):
    return imag(grad)

@COMPLEX_OF.infer
def complex_infer(TensorBase x, TensorBase y):
    cdef ssize[MAX_NDIM] sizes, strides
    cdef const ssize* given[2]
    cdef PyObject* both[2]
    cdef int ndim, k, count = 0
    cdef TensorBase one
    check_parts("complex", "real", x, "imag", y, 1 << FLOAT16 | 1 << FLOAT32 | 1 << FLOAT64)
    both[0], both[1] = <PyObject*>x, <PyObject*>y
    ndim = broadcast_operands("complex", both, 2, sizes)
    for k in range(2):                      # one that is broadcast says nothing about the order of memory
        one = <TensorBase>both[k]
        if one.ndim_ == ndim and same_numbers(ndim, one.sizes, sizes):
            given[count] = one.strides
            count += 1
    dense_strides(ndim, sizes, count, given, strides)
    return result_beside(x, complex_dtype(x.dtype_), ndim, sizes, strides)

cdef struct Pairs:
    char* out
    const char* x
    const char* y

cdef void interleave(Pairs* pairs, ssize begin, ssize end, bits* type_only) noexcept nogil:
    """out = x[0], y[0], x[1], y[1], ..."""
    cdef bits* out = <bits*>pairs.out
    cdef const bits* x = <const bits*>pairs.x
    cdef const bits* y = <const bits*>pairs.y
    cdef ssize i
    for i in range(begin, end):
        out[2 * i] = x[i]
        out[2 * i + 1] = y[i]

cdef void interleave_2(void* context, ssize begin, ssize end) noexcept nogil:
    interleave[uint16_t](<Pairs*>context, begin, end, NULL)

cdef void interleave_4(void* context, ssize begin, ssize end) noexcept nogil:
    interleave[uint32_t](<Pairs*>context, begin, end, NULL)

cdef void interleave_8(void* context, ssize begin, ssize end) noexcept nogil:
    interleave[uint64_t](<Pairs*>context, begin, end, NULL)

cdef bint is_as(TensorBase x, TensorBase out) noexcept:
    """Do the elements of x lie one after the other, in the order of out's?"""
    return (x.ndim_ == out.ndim_ and same_numbers(x.ndim_, x.sizes, out.sizes)
            and same_numbers(x.ndim_, x.strides, out.strides) and is_dense(x.ndim_, x.sizes, x.strides))

@COMPLEX_OF.kernel
def complex_kernel(TensorBase out, TensorBase x, TensorBase y):
    cdef Pairs pairs
    cdef int size = item_size[x.dtype_]
    if not (is_as(x, out) and is_as(y, out)):
        write_parts(out, x, y)
        return
    pairs.out, pairs.x, pairs.y = memory_of(out), memory_of(x), memory_of(y)
    share_work(interleave_2 if size == 2 else interleave_4 if size == 4 else interleave_8, &pairs, out.numel_, out.numel_,
               GRAIN)

cdef int write_parts(TensorBase out, TensorBase x, TensorBase y) except -1:
    """One part after the other, in any order of elements."""
    cdef TensorBase parts = parts_of(out), part
    cdef int k, width = item_size[parts.dtype_]
    for k in range(2):
        part = alias_as(parts, out.ndim_, parts.sizes, parts.strides, parts.data_ + k * width)
        part.dtype_ = parts.dtype_
        copy_into(part, x if k == 0 else y)
    return 0

def complex_of(TensorBase real not None, TensorBase imag not None, *, out=None):
    """complex(real, imag, *, out=None)

    Complex numbers with these parts, which broadcast.

    Parameters
    ----------
    real, imag : Tensor, both of float32, of float64 or of float16

    Raises
    ------
    RuntimeError
        If they have different types, or others.

    >>> import tensorlab
    >>> tensorlab.complex(tensorlab.tensor([1., 0.]), tensorlab.tensor([2., 3.]))
    tensor([1.+2.j, 0.+3.j])
    """
    return run_tuple(COMPLEX_OF, (real, imag), out)


cdef int check_parts(str where, str first, TensorBase x, str second, TensorBase y, int types) except -1:
    if x.dtype_ != y.dtype_ or not is_in(x.dtype_, types):
        also = ", or both float16" if is_in(FLOAT16, types) else ""
        raise DTypeError(f"{where}: {first} is {dtype_object(x.dtype_)} and {second} is {dtype_object(y.dtype_)}; both must be "
                         f"float32, or both float64{also}")
    return 0


def polar(TensorBase abs not None, TensorBase angle not None, *, out=None):
    """Complex numbers with this absolute value and this angle: `abs * (cos(angle) + i sin(angle))`.

    Parameters
    ----------
    abs, angle : Tensor, both of float32 or both of float64; they broadcast

    >>> import math
    >>> import tensorlab
    >>> tensorlab.polar(tensorlab.tensor([2.]), tensorlab.tensor([math.pi]))
    tensor([-2.-1.7485e-07j])
    """
    abs, angle = in_float32((abs, angle))
    check_parts("polar", "abs", abs, "angle", angle, 1 << FLOAT32 | 1 << FLOAT64)
    turn = <object>angle
    return store_out("polar", complex_of(abs * turn.cos(), abs * turn.sin()), out, (abs, angle))


set_loops(tl_loops)
