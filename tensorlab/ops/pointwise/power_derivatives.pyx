"""All derivatives of x ** y, by both operands.

The k-th derivative by x is the falling factorial y (y - 1) ... (y - k + 1) times x ** (y - k).
The n-th derivative of this by y is, by the product rule,

    x ** (y - k) * (sum over j of  n! / (n - j)! * a_j * log(x) ** (n - j))

where a_j is the coefficient of t ** j in (y + t) (y + t - 1) ... (y + t - k + 1). So one op has
all of them, and its own derivatives are the op again, with another k or n. Formulas that
multiply x ** y with a logarithm would have 0 * inf at x = 0 in one order or another; here the
limit is taken as it is.
"""
from libc.math cimport INFINITY, log, pow as c_pow

from tensorlab._core.dispatch.dispatch cimport run_quaternary
from tensorlab._core.dispatch.op cimport Op, floating_loops
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize

cdef enum:
    MOST = 24                   # derivatives by y that are computed; for more the result is nan


cdef void coefficients(double* a, double y, int k, int n) noexcept nogil:
    """a_0, ..., a_n."""
    cdef int i, j
    for j in range(n + 1):
        a[j] = j == 0
    for i in range(k):                          # times (y - i + t)
        for j in range(n, 0, -1):
            a[j] = a[j] * (y - i) + a[j - 1]
        a[0] *= y - i


cdef double power_derivative(double x, double y, int k, int n) noexcept nogil:
    cdef double[MOST + 1] a
    cdef double total = 0, factor = 1, logarithm
    cdef int j
    if n > MOST:
        return <double>INFINITY - INFINITY
    coefficients(a, y, k, n)
    if x == 0:
        return at_zero(a, y, k, n)
    logarithm = log(x) if n > 0 else 0      # of a negative x it's nan, and not needed if n is 0
    for j in range(n + 1):                  # Horner's scheme, from the highest power of it
        total = total * logarithm + factor * a[j]
        factor *= n - j
    return total * c_pow(x, y - k)


cdef double at_zero(const double* a, double y, int k, int n) noexcept nogil:
    """The limit for x -> 0 from above: the first power of the logarithm, which goes to -inf,
    that has a coefficient decides.
    """
    cdef int j
    if y > k:
        return 0
    if k == 0 and y == 0:
        # 0 ** y jumps at y = 0: its slope is 0 by convention, as in PyTorch, and has none itself
        return 1 if n == 0 else 0 if n == 1 else <double>INFINITY - INFINITY
    for j in range(n + 1):
        if a[j] != 0:
            if j == n and y == k:
                return a[j] * factorial(n)
            return INFINITY if (a[j] > 0) == ((n - j) % 2 == 0) else -INFINITY
    return 0


cdef double factorial(int n) noexcept nogil:
    return 1 if n < 2 else n * factorial(n - 1)


cdef Op POWER_DERIVATIVE = Op("power_derivative(Tensor x, Tensor exponent, Scalar k, Scalar n) "
                              "-> Tensor",
                              aten=None, dtype="promote", grain=1024, wraps_numbers=False)

cdef void power_derivative_loop(real* out, const real* x, const real* y, const real* k,
                                const real* n, ssize count) noexcept nogil:
    cdef ssize i
    for i in range(count):
        out[i] = <real>power_derivative(x[i], y[i], <int>k[i], <int>n[i])

floating_loops(POWER_DERIVATIVE, &power_derivative_loop[float], &power_derivative_loop[double])

@POWER_DERIVATIVE.derivative("x")
def power_derivative_x(grad, x, exponent, k, n):
    return grad * run_quaternary(POWER_DERIVATIVE, x, exponent, k + 1, n)

@POWER_DERIVATIVE.derivative("exponent")
def power_derivative_exponent(grad, x, exponent, k, n):
    return grad * run_quaternary(POWER_DERIVATIVE, x, exponent, k, n + 1)


cdef object derivative_of_power(object x, object exponent, int k, int n):
    """The k-th derivative by x, and the n-th by the exponent, of x ** exponent, both real and
    at least one a tensor.
    """
    return run_quaternary(POWER_DERIVATIVE, x, exponent, k, n)
