"""Orthogonal polynomials: those of Chebyshev (four kinds, on [-1, 1] and on [0, 1]), Hermite, Laguerre and Legendre.

A degree is a number or a tensor, whose elements are cut to whole numbers; below 0 the result is 0. All are calculated in double.
"""
from tensorlab._core.dispatch.dispatch cimport run_binary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops

cdef extern from "polynomials_loops.h":     # made from the expressions below: _core/loops/scalar.py
    const NamedLoops* tl_loops

cdef enum:
    GRAIN = 2048                # most of these loops cost ten times what a sum costs


# ---------------------------------------------------------------- chebyshev_polynomial_t
cdef Op CHEBYSHEV_POLYNOMIAL_T = Op(
    "chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", aten="special_chebyshev_polynomial_t",
    public={"x": "x"}, dtype="floating", scalar="(T)chebyshev_t(x, n)", grain=GRAIN)

def chebyshev_polynomial_t(input, n, *, out=None):
    """Chebyshev's polynomial of the first kind, of degree `n`: `cos(n * t)` for `x = cos(t)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.chebyshev_polynomial_t(tensorlab.tensor([0.5, 2.]), 3)
    tensor([-1., 26.])
    """
    return run_binary(CHEBYSHEV_POLYNOMIAL_T, input, n, out)


# ---------------------------------------------------------------- chebyshev_polynomial_u
cdef Op CHEBYSHEV_POLYNOMIAL_U = Op(
    "chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", aten="special_chebyshev_polynomial_u",
    public={"x": "x"}, dtype="floating", scalar="(T)chebyshev_u(x, n)", grain=GRAIN)

def chebyshev_polynomial_u(input, n, *, out=None):
    """Chebyshev's polynomial of the second kind, of degree `n`: `sin((n + 1) * t) / sin(t)` for `x = cos(t)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.chebyshev_polynomial_u(tensorlab.tensor([0.5, 2.]), 3)
    tensor([-1., 56.])
    """
    return run_binary(CHEBYSHEV_POLYNOMIAL_U, input, n, out)


# ---------------------------------------------------------------- chebyshev_polynomial_v
cdef Op CHEBYSHEV_POLYNOMIAL_V = Op(
    "chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", aten="special_chebyshev_polynomial_v",
    public={"x": "x"}, dtype="floating", scalar="(T)chebyshev_v(x, n)", grain=GRAIN)

def chebyshev_polynomial_v(input, n, *, out=None):
    """Chebyshev's polynomial of the third kind, of degree `n`: `cos((n + 1/2) * t) / cos(t / 2)` for `x = cos(t)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.chebyshev_polynomial_v(tensorlab.tensor([0.5, 2.]), 3)
    tensor([-1., 41.])
    """
    return run_binary(CHEBYSHEV_POLYNOMIAL_V, input, n, out)


# ---------------------------------------------------------------- chebyshev_polynomial_w
cdef Op CHEBYSHEV_POLYNOMIAL_W = Op(
    "chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", aten="special_chebyshev_polynomial_w",
    public={"x": "x"}, dtype="floating", scalar="(T)chebyshev_w(x, n)", grain=GRAIN)

def chebyshev_polynomial_w(input, n, *, out=None):
    """Chebyshev's polynomial of the fourth kind, of degree `n`: `sin((n + 1/2) * t) / sin(t / 2)` for `x = cos(t)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.chebyshev_polynomial_w(tensorlab.tensor([0.5, 2.]), 3)
    tensor([-1., 71.])
    """
    return run_binary(CHEBYSHEV_POLYNOMIAL_W, input, n, out)


# ---------------------------------------------------------------- shifted_chebyshev_polynomial_t
cdef Op SHIFTED_CHEBYSHEV_POLYNOMIAL_T = Op(
    "shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", aten="special_shifted_chebyshev_polynomial_t",
    public={"x": "x"}, dtype="floating", scalar="(T)chebyshev_t(2.0 * x - 1.0, n)", grain=GRAIN)

def shifted_chebyshev_polynomial_t(input, n, *, out=None):
    """Chebyshev's polynomial of the first kind on [0, 1]: `chebyshev_polynomial_t(2 * x - 1, n)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.shifted_chebyshev_polynomial_t(tensorlab.tensor([0.25, 1.]), 3)
    tensor([1., 1.])
    """
    return run_binary(SHIFTED_CHEBYSHEV_POLYNOMIAL_T, input, n, out)


# ---------------------------------------------------------------- shifted_chebyshev_polynomial_u
cdef Op SHIFTED_CHEBYSHEV_POLYNOMIAL_U = Op(
    "shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", aten="special_shifted_chebyshev_polynomial_u",
    public={"x": "x"}, dtype="floating", scalar="(T)chebyshev_u(2.0 * x - 1.0, n)", grain=GRAIN)

def shifted_chebyshev_polynomial_u(input, n, *, out=None):
    """Chebyshev's polynomial of the second kind on [0, 1]: `chebyshev_polynomial_u(2 * x - 1, n)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.shifted_chebyshev_polynomial_u(tensorlab.tensor([0.25, 1.]), 3)
    tensor([1., 4.])
    """
    return run_binary(SHIFTED_CHEBYSHEV_POLYNOMIAL_U, input, n, out)


# ---------------------------------------------------------------- shifted_chebyshev_polynomial_v
cdef Op SHIFTED_CHEBYSHEV_POLYNOMIAL_V = Op(
    "shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", aten="special_shifted_chebyshev_polynomial_v",
    public={"x": "x"}, dtype="floating", scalar="(T)chebyshev_v(2.0 * x - 1.0, n)", grain=GRAIN)

def shifted_chebyshev_polynomial_v(input, n, *, out=None):
    """Chebyshev's polynomial of the third kind on [0, 1]: `chebyshev_polynomial_v(2 * x - 1, n)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.shifted_chebyshev_polynomial_v(tensorlab.tensor([0.25, 1.]), 3)
    tensor([1., 1.])
    """
    return run_binary(SHIFTED_CHEBYSHEV_POLYNOMIAL_V, input, n, out)


# ---------------------------------------------------------------- shifted_chebyshev_polynomial_w
cdef Op SHIFTED_CHEBYSHEV_POLYNOMIAL_W = Op(
    "shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", aten="special_shifted_chebyshev_polynomial_w",
    public={"x": "x"}, dtype="floating", scalar="(T)chebyshev_w(2.0 * x - 1.0, n)", grain=GRAIN)

def shifted_chebyshev_polynomial_w(input, n, *, out=None):
    """Chebyshev's polynomial of the fourth kind on [0, 1]: `chebyshev_polynomial_w(2 * x - 1, n)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.shifted_chebyshev_polynomial_w(tensorlab.tensor([0.25, 1.]), 3)
    tensor([1., 7.])
    """
    return run_binary(SHIFTED_CHEBYSHEV_POLYNOMIAL_W, input, n, out)


# ---------------------------------------------------------------- hermite_polynomial_h
cdef Op HERMITE_POLYNOMIAL_H = Op(
    "hermite_polynomial_h(Tensor x, Tensor n) -> Tensor", aten="special_hermite_polynomial_h",
    public={"x": "x"}, dtype="floating", scalar="(T)hermite_h(x, n)", grain=GRAIN)

def hermite_polynomial_h(input, n, *, out=None):
    """Hermite's polynomial of degree `n` in the form of physics: orthogonal with the weight `exp(-x**2)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.hermite_polynomial_h(tensorlab.tensor([0.5, 2.]), 3)
    tensor([-5., 40.])
    """
    return run_binary(HERMITE_POLYNOMIAL_H, input, n, out)


# ---------------------------------------------------------------- hermite_polynomial_he
cdef Op HERMITE_POLYNOMIAL_HE = Op(
    "hermite_polynomial_he(Tensor x, Tensor n) -> Tensor", aten="special_hermite_polynomial_he",
    public={"x": "x"}, dtype="floating", scalar="(T)hermite_he(x, n)", grain=GRAIN)

def hermite_polynomial_he(input, n, *, out=None):
    """Hermite's polynomial of degree `n` in the form of probability: orthogonal with the weight `exp(-x**2 / 2)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.hermite_polynomial_he(tensorlab.tensor([0.5, 2.]), 3)
    tensor([-1.3750,  2.0000])
    """
    return run_binary(HERMITE_POLYNOMIAL_HE, input, n, out)


# ---------------------------------------------------------------- laguerre_polynomial_l
cdef Op LAGUERRE_POLYNOMIAL_L = Op(
    "laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor", aten="special_laguerre_polynomial_l",
    public={"x": "x"}, dtype="floating", scalar="(T)laguerre_l(x, n)", grain=GRAIN)

def laguerre_polynomial_l(input, n, *, out=None):
    """Laguerre's polynomial of degree `n`: orthogonal on the positive numbers with the weight `exp(-x)`.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.laguerre_polynomial_l(tensorlab.tensor([0.5, 2.]), 3)
    tensor([-0.1458, -0.3333])
    """
    return run_binary(LAGUERRE_POLYNOMIAL_L, input, n, out)


# ---------------------------------------------------------------- legendre_polynomial_p
cdef Op LEGENDRE_POLYNOMIAL_P = Op(
    "legendre_polynomial_p(Tensor x, Tensor n) -> Tensor", aten="special_legendre_polynomial_p",
    public={"x": "x"}, dtype="floating", scalar="(T)legendre_p(x, n)", grain=GRAIN)

def legendre_polynomial_p(input, n, *, out=None):
    """Legendre's polynomial of degree `n`: orthogonal on [-1, 1] with the weight 1.

    Parameters
    ----------
    input : Tensor or number
    n : Tensor or number, the degree; one of the two is a Tensor, and they are broadcast

    >>> import tensorlab
    >>> tensorlab.special.legendre_polynomial_p(tensorlab.tensor([0.5, 2.]), 3)
    tensor([-0.4375, 17.0000])
    """
    return run_binary(LEGENDRE_POLYNOMIAL_P, input, n, out)


set_loops(tl_loops)
