"""Bessel functions and Airy's function: those of the first and second kind, the modified ones, and the modified ones scaled.

A modified function grows or falls as exp(x) does; scaled, it is multiplied by what undoes that. All but `spherical_bessel_j0`,
and i0, i0e, i1 and i1e of float32, come from SciPy (scipy_functions.pyx). Those that PyTorch does not differentiate have
no derivative here, either.
"""
from tensorlab._core.dispatch.dispatch cimport run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, floating_loops, set_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.pointwise.scipy_functions cimport Borrowed, address_of, apply_to_one

from tensorlab.ops.pointwise.common import inplace_function

cdef extern from "bessel_float32.h" nogil:
    float tl_i0(float)
    float tl_i0e(float)
    float tl_i1(float)
    float tl_i1e(float)

cdef extern from "bessel_loops.h":          # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 2048                # most of these loops cost ten times what a sum costs


# ---------------------------------------------------------------- i0
cdef Borrowed SCIPY_I0 = Borrowed("i0", NULL)

cdef void i0_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    if real is float:
        for i in range(n):
            out[i] = tl_i0(x[i])
    else:
        apply_to_one(out, x, n, &SCIPY_I0)

cdef Op I0 = Op("i0(Tensor x) -> Tensor", dtype="floating",
                grain=GRAIN)
floating_loops(I0, &i0_loop[float], &i0_loop[double])

@I0.derivative("x")
def i0_derivative(grad, x):
    return grad * i1(x)

def i0(TensorBase input not None, *, out=None):
    """Modified Bessel function of the first kind, of order 0.

    >>> import tensorlab
    >>> tensorlab.i0(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 1.2661])
    """
    return run_unary(I0, input, out)

i0_ = inplace_function(I0, i0)


# ---------------------------------------------------------------- i1
cdef Borrowed SCIPY_I1 = Borrowed("i1", NULL)

cdef void i1_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    if real is float:
        for i in range(n):
            out[i] = tl_i1(x[i])
    else:
        apply_to_one(out, x, n, &SCIPY_I1)

cdef Op I1 = Op("i1(Tensor x) -> Tensor", aten="special_i1", dtype="floating",
                grain=GRAIN, node="SpecialI1Backward0")
floating_loops(I1, &i1_loop[float], &i1_loop[double])

@I1.derivative("x")
def i1_derivative(grad, x, out):
    return grad * (i0(x) - share_of(out, x))

cdef object share_of(object out, object x):
    """out / x, and its limit where x is 0; the derivative of that has no nan, either."""
    is_zero = x == 0
    return (out / x.masked_fill(is_zero, 1)).masked_fill(is_zero, 0.5)

def i1(TensorBase input not None, *, out=None):
    """Modified Bessel function of order 1, the derivative of i0.

    >>> import tensorlab
    >>> tensorlab.special.i1(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
    """
    return run_unary(I1, input, out)


# ---------------------------------------------------------------- i0e
cdef Borrowed SCIPY_I0E = Borrowed("i0e", NULL)

cdef void i0e_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    if real is float:
        for i in range(n):
            out[i] = tl_i0e(x[i])
    else:
        apply_to_one(out, x, n, &SCIPY_I0E)

cdef Op I0E = Op("i0e(Tensor x) -> Tensor", aten="special_i0e", dtype="floating",
                 grain=GRAIN, node="SpecialI0EBackward0")
floating_loops(I0E, &i0e_loop[float], &i0e_loop[double])

@I0E.derivative("x")
def i0e_derivative(grad, x, out):
    return grad * (i1e(x) - x.sign() * out)

def i0e(TensorBase input not None, *, out=None):
    """`i0(x) * exp(-abs(x))`, which stays within a float where i0 is too large for one.

    >>> import tensorlab
    >>> tensorlab.special.i0e(tensorlab.tensor([0., 100.]))
    tensor([1.0000, 0.0399])
    """
    return run_unary(I0E, input, out)


# ---------------------------------------------------------------- i1e
cdef Borrowed SCIPY_I1E = Borrowed("i1e", NULL)

cdef void i1e_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef ssize i
    if real is float:
        for i in range(n):
            out[i] = tl_i1e(x[i])
    else:
        apply_to_one(out, x, n, &SCIPY_I1E)

cdef Op I1E = Op("i1e(Tensor x) -> Tensor", aten="special_i1e", dtype="floating",
                 grain=GRAIN, node="SpecialI1EBackward0")
floating_loops(I1E, &i1e_loop[float], &i1e_loop[double])

@I1E.derivative("x")
def i1e_derivative(grad, x, out):
    return grad * (i0e(x) - out * x.sign() - share_of(out, x))

def i1e(TensorBase input not None, *, out=None):
    """`i1(x) * exp(-abs(x))`, which stays within a float where i1 is too large for one.

    >>> import tensorlab
    >>> tensorlab.special.i1e(tensorlab.tensor([0., 100.]))
    tensor([0.0000, 0.0397])
    """
    return run_unary(I1E, input, out)


# ---------------------------------------------------------------- bessel_j0
cdef Borrowed SCIPY_BESSEL_J0 = Borrowed("j0", NULL)

cdef void bessel_j0_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_BESSEL_J0)

cdef Op BESSEL_J0 = Op("bessel_j0(Tensor x) -> Tensor", aten="special_bessel_j0", dtype="floating",
                       grain=GRAIN)
floating_loops(BESSEL_J0, &bessel_j0_loop[float], &bessel_j0_loop[double])

def bessel_j0(TensorBase input not None, *, out=None):
    """Bessel function of the first kind, of order 0: a wave that begins with 1 and fades.

    >>> import tensorlab
    >>> tensorlab.special.bessel_j0(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 0.7652])
    """
    return run_unary(BESSEL_J0, input, out)


# ---------------------------------------------------------------- bessel_j1
cdef Borrowed SCIPY_BESSEL_J1 = Borrowed("j1", NULL)

cdef void bessel_j1_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_BESSEL_J1)

cdef Op BESSEL_J1 = Op("bessel_j1(Tensor x) -> Tensor", aten="special_bessel_j1", dtype="floating",
                       grain=GRAIN)
floating_loops(BESSEL_J1, &bessel_j1_loop[float], &bessel_j1_loop[double])

def bessel_j1(TensorBase input not None, *, out=None):
    """Bessel function of the first kind, of order 1; minus the derivative of bessel_j0.

    >>> import tensorlab
    >>> tensorlab.special.bessel_j1(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.4401])
    """
    return run_unary(BESSEL_J1, input, out)


# ---------------------------------------------------------------- bessel_y0
cdef Borrowed SCIPY_BESSEL_Y0 = Borrowed("y0", NULL)

cdef void bessel_y0_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_BESSEL_Y0)

cdef Op BESSEL_Y0 = Op("bessel_y0(Tensor x) -> Tensor", aten="special_bessel_y0", dtype="floating",
                       grain=GRAIN)
floating_loops(BESSEL_Y0, &bessel_y0_loop[float], &bessel_y0_loop[double])

def bessel_y0(TensorBase input not None, *, out=None):
    """Bessel function of the second kind, of order 0; -inf at 0, nan below.

    >>> import tensorlab
    >>> tensorlab.special.bessel_y0(tensorlab.tensor([1., 2.]))
    tensor([0.0883, 0.5104])
    """
    return run_unary(BESSEL_Y0, input, out)


# ---------------------------------------------------------------- bessel_y1
cdef Borrowed SCIPY_BESSEL_Y1 = Borrowed("y1", NULL)

cdef void bessel_y1_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_BESSEL_Y1)

cdef Op BESSEL_Y1 = Op("bessel_y1(Tensor x) -> Tensor", aten="special_bessel_y1", dtype="floating",
                       grain=GRAIN)
floating_loops(BESSEL_Y1, &bessel_y1_loop[float], &bessel_y1_loop[double])

def bessel_y1(TensorBase input not None, *, out=None):
    """Bessel function of the second kind, of order 1; -inf at 0, nan below.

    >>> import tensorlab
    >>> tensorlab.special.bessel_y1(tensorlab.tensor([1., 2.]))
    tensor([-0.7812, -0.1070])
    """
    return run_unary(BESSEL_Y1, input, out)


# ---------------------------------------------------------------- modified_bessel_i0
cdef Op MODIFIED_BESSEL_I0 = Op("modified_bessel_i0(Tensor x) -> Tensor", aten="special_modified_bessel_i0", dtype="floating",
                                grain=GRAIN)
floating_loops(MODIFIED_BESSEL_I0, &i0_loop[float], &i0_loop[double])

def modified_bessel_i0(TensorBase input not None, *, out=None):
    """Modified Bessel function of the first kind, of order 0: `i0` without a derivative.

    >>> import tensorlab
    >>> tensorlab.special.modified_bessel_i0(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 1.2661])
    """
    return run_unary(MODIFIED_BESSEL_I0, input, out)


# ---------------------------------------------------------------- modified_bessel_i1
cdef Op MODIFIED_BESSEL_I1 = Op("modified_bessel_i1(Tensor x) -> Tensor", aten="special_modified_bessel_i1", dtype="floating",
                                grain=GRAIN)
floating_loops(MODIFIED_BESSEL_I1, &i1_loop[float], &i1_loop[double])

def modified_bessel_i1(TensorBase input not None, *, out=None):
    """Modified Bessel function of the first kind, of order 1: `i1` without a derivative.

    >>> import tensorlab
    >>> tensorlab.special.modified_bessel_i1(tensorlab.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
    """
    return run_unary(MODIFIED_BESSEL_I1, input, out)


# ---------------------------------------------------------------- modified_bessel_k0
cdef Borrowed SCIPY_MODIFIED_BESSEL_K0 = Borrowed("k0", NULL)

cdef void modified_bessel_k0_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_MODIFIED_BESSEL_K0)

cdef Op MODIFIED_BESSEL_K0 = Op("modified_bessel_k0(Tensor x) -> Tensor", aten="special_modified_bessel_k0", dtype="floating",
                                grain=GRAIN)
floating_loops(MODIFIED_BESSEL_K0, &modified_bessel_k0_loop[float], &modified_bessel_k0_loop[double])

def modified_bessel_k0(TensorBase input not None, *, out=None):
    """Modified Bessel function of the second kind, of order 0; inf at 0, nan below.

    >>> import tensorlab
    >>> tensorlab.special.modified_bessel_k0(tensorlab.tensor([1., 2.]))
    tensor([0.4210, 0.1139])
    """
    return run_unary(MODIFIED_BESSEL_K0, input, out)


# ---------------------------------------------------------------- modified_bessel_k1
cdef Borrowed SCIPY_MODIFIED_BESSEL_K1 = Borrowed("k1", NULL)

cdef void modified_bessel_k1_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_MODIFIED_BESSEL_K1)

cdef Op MODIFIED_BESSEL_K1 = Op("modified_bessel_k1(Tensor x) -> Tensor", aten="special_modified_bessel_k1", dtype="floating",
                                grain=GRAIN)
floating_loops(MODIFIED_BESSEL_K1, &modified_bessel_k1_loop[float], &modified_bessel_k1_loop[double])

def modified_bessel_k1(TensorBase input not None, *, out=None):
    """Modified Bessel function of the second kind, of order 1; inf at 0, nan below.

    >>> import tensorlab
    >>> tensorlab.special.modified_bessel_k1(tensorlab.tensor([1., 2.]))
    tensor([0.6019, 0.1399])
    """
    return run_unary(MODIFIED_BESSEL_K1, input, out)


# ---------------------------------------------------------------- scaled_modified_bessel_k0
cdef Borrowed SCIPY_SCALED_MODIFIED_BESSEL_K0 = Borrowed("k0e", NULL)

cdef void scaled_modified_bessel_k0_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_SCALED_MODIFIED_BESSEL_K0)

cdef Op SCALED_MODIFIED_BESSEL_K0 = Op("scaled_modified_bessel_k0(Tensor x) -> Tensor", aten="special_scaled_modified_bessel_k0",
                                       public={"x": "x"}, dtype="floating", grain=GRAIN)
floating_loops(SCALED_MODIFIED_BESSEL_K0, &scaled_modified_bessel_k0_loop[float], &scaled_modified_bessel_k0_loop[double])

def scaled_modified_bessel_k0(TensorBase input not None, *, out=None):
    """`modified_bessel_k0(x) * exp(x)`, which is above 0 where the function itself is too small for a float.

    >>> import tensorlab
    >>> tensorlab.special.scaled_modified_bessel_k0(tensorlab.tensor([1., 1000.]))
    tensor([1.1445, 0.0396])
    """
    return run_unary(SCALED_MODIFIED_BESSEL_K0, input, out)


# ---------------------------------------------------------------- scaled_modified_bessel_k1
cdef Borrowed SCIPY_SCALED_MODIFIED_BESSEL_K1 = Borrowed("k1e", NULL)

cdef void scaled_modified_bessel_k1_loop(real* out, real* x, ssize n) noexcept nogil:
    apply_to_one(out, x, n, &SCIPY_SCALED_MODIFIED_BESSEL_K1)

cdef Op SCALED_MODIFIED_BESSEL_K1 = Op("scaled_modified_bessel_k1(Tensor x) -> Tensor", aten="special_scaled_modified_bessel_k1",
                                       public={"x": "x"}, dtype="floating", grain=GRAIN)
floating_loops(SCALED_MODIFIED_BESSEL_K1, &scaled_modified_bessel_k1_loop[float], &scaled_modified_bessel_k1_loop[double])

def scaled_modified_bessel_k1(TensorBase input not None, *, out=None):
    """`modified_bessel_k1(x) * exp(x)`, which is above 0 where the function itself is too small for a float.

    >>> import tensorlab
    >>> tensorlab.special.scaled_modified_bessel_k1(tensorlab.tensor([1., 1000.]))
    tensor([1.6362, 0.0396])
    """
    return run_unary(SCALED_MODIFIED_BESSEL_K1, input, out)


# ---------------------------------------------------------------- spherical_bessel_j0
cdef Op SPHERICAL_BESSEL_J0 = Op("spherical_bessel_j0(Tensor x) -> Tensor", aten="special_spherical_bessel_j0",
                                 public={"x": "x"}, dtype="floating", scalar="(T)spherical_bessel_j0(x)", grain=GRAIN)

def spherical_bessel_j0(TensorBase input not None, *, out=None):
    """Spherical Bessel function of order 0: `sin(x) / x`, 1 at 0.

    >>> import tensorlab
    >>> tensorlab.special.spherical_bessel_j0(tensorlab.tensor([0., 1.]))
    tensor([1.0000, 0.8415])
    """
    return run_unary(SPHERICAL_BESSEL_J0, input, out)


# ---------------------------------------------------------------- airy_ai
ctypedef void (*airy_function)(double, double*, double*, double*, double*) noexcept nogil

cdef Borrowed SCIPY_AIRY = Borrowed("airy", NULL)

cdef void airy_ai_loop(real* out, real* x, ssize n) noexcept nogil:
    cdef airy_function airy = <airy_function>address_of(&SCIPY_AIRY)
    cdef double ai, derivative, bi, derivative_of_bi
    for i in range(n):
        airy(x[i], &ai, &derivative, &bi, &derivative_of_bi)
        out[i] = 0 if x[i] > 1000 else <real>ai         # it is below every double from 110 on; SciPy's is nan far away

cdef Op AIRY_AI = Op("airy_ai(Tensor x) -> Tensor", aten="special_airy_ai",
                     public={"x": "x"}, dtype="floating", grain=GRAIN)
floating_loops(AIRY_AI, &airy_ai_loop[float], &airy_ai_loop[double])

def airy_ai(TensorBase input not None, *, out=None):
    """Airy's function Ai, a solution of `y'' = x * y`: it falls to the right of 0, and is a wave to the left.

    >>> import tensorlab
    >>> tensorlab.special.airy_ai(tensorlab.tensor([0., 1.]))
    tensor([0.3550, 0.1353])
    """
    return run_unary(AIRY_AI, input, out)


set_loops(tl_loops)
