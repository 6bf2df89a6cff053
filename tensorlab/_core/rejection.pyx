# cython: nonecheck=False
# `make debug` turns it on, but without the GIL, where a generator's fields are read, nothing can raise.
"""Distributions that are drawn by rejection: Poisson, binomial, gamma. A proposal is drawn until one is accepted.

Equal seeds give PyTorch's numbers, so the recipes are its, down to the types of their constants. nan gives nan, where PyTorch
may draw forever.

Source: Hoermann 1993, "The transformed rejection method" (Poisson and binomial with many successes); Devroye 1986, chapter X
(few successes: sums of geometric numbers, or a product of uniform ones); Marsaglia and Tsang 2000, "A simple method for
generating gamma variables".
"""
from libc.math cimport NAN, ceil, exp, fabs, floor, isinf, lgamma, log, log1p, log1pf, pow, sqrt

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.distributions cimport draw_normal, draw_unit


# ---------------------------------------------------------------- Poisson
cdef double draw_poisson(double rate, Generator generator) noexcept nogil:
    """How many events happen in a unit of time, `rate` at least 0."""
    if rate < 10:
        return poisson_by_product(rate, generator) if rate > 0 else 0
    return poisson_by_rejection(rate, generator) if rate < 1e18 else rate      # nan and inf, too


cdef double poisson_by_product(double rate, Generator generator) noexcept nogil:
    """Waiting times are exponential, so events are counted until a product of uniform numbers falls below exp(-rate)."""
    cdef double bound = exp(-rate), product = draw_unit(generator), events = 0
    while product > bound:
        events += 1
        product *= draw_unit(generator)
    return events


cdef double poisson_by_rejection(double rate, Generator generator) noexcept nogil:
    cdef double b = 0.931 + 2.53 * sqrt(rate), log_rate = log(rate)
    cdef double a = -0.059 + 0.02483 * b
    cdef double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    cdef double v_r = 0.9277 - 3.6224 / (b - 2)
    cdef double u, v, edge, k
    while True:
        u = draw_unit(generator) - 0.5
        v = draw_unit(generator)
        edge = 0.5 - fabs(u)
        k = floor((2 * a / edge + b) * u + rate + 0.43)
        if edge >= 0.07 and v <= v_r:
            return k
        if k < 0 or (edge < 0.013 and v > edge):
            continue
        if (log(v) + log(inverse_alpha) - log(a / (edge * edge) + b)
                <= -rate + k * log_rate - lgamma(k + 1)):
            return k


# ---------------------------------------------------------------- binomial
cdef real draw_binomial(real count, real prob, Generator generator) noexcept nogil:
    """How many of `count` trials succeed."""
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if count != count or prob != prob or isinf(count):
        return count + prob
    if prob <= <real>0.5:
        return successes(count, prob, generator)
    return count - successes(count, <real>(1.0 - prob), generator)


cdef real successes(real count, real prob, Generator generator) noexcept nogil:
    if count * prob >= 10:
        return binomial_by_rejection(count, prob, generator)
    return binomial_by_waiting(count, prob, generator)


cdef real binomial_by_waiting(real count, real prob, Generator generator) noexcept nogil:
    """The trials from one success to the next are geometric: they are added until there are too many."""
    cdef double log_failure = log1pf(-prob) if real is float else log1p(-prob)
    cdef double trials = 0
    cdef real found = 0
    while True:
        trials += ceil(log(draw_unit(generator)) / log_failure)
        if not trials <= count:
            return found
        found += 1


cdef real binomial_by_rejection(real count, real prob, Generator generator) noexcept nogil:
    cdef real variance = count * prob * (1 - prob)
    cdef double deviation = c_math.sqrt(variance)
    cdef double b = 1.15 + 2.53 * deviation
    cdef double a = -0.0873 + 0.0248 * b + 0.01 * prob
    cdef double middle = count * prob + 0.5
    cdef double v_r = 0.92 - 4.2 / b
    cdef double odds = prob / (1 - prob)
    cdef double alpha = (2.83 + 5.1 / b) * deviation
    cdef double m = floor((count + 1) * prob)
    cdef double u, v, edge, bound
    cdef real k
    while True:
        u = draw_unit(generator) - 0.5
        v = draw_unit(generator)
        edge = 0.5 - fabs(u)
        k = <real>floor((2 * a / edge + b) * u + middle)
        if k < 0 or k > count:
            continue
        if edge >= 0.07 and v <= v_r:
            return k
        v = log(v * alpha / (a / (edge * edge) + b))
        bound = ((m + 0.5) * log((m + 1) / (odds * (count - m + 1)))
                 + (count + 1) * log((count - m + 1) / (count - k + 1))
                 + (k + 0.5) * log(odds * (count - k + 1) / (k + 1))
                 + stirling_rest(m) + stirling_rest(count - m) - stirling_rest(k) - stirling_rest(count - k))
        if v <= bound:
            return k


cdef double stirling_rest(double k) noexcept nogil:
    """What Stirling's formula lacks of log(k!)."""
    cdef double square = (k + 1) * (k + 1)
    if 0 <= k <= 9:
        return lgamma(k + 1) - ((k + 0.5) * log(k + 1) - (k + 1) + 0.91893853320467274178)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


# ---------------------------------------------------------------- gamma
cdef real draw_gamma(real alpha, Generator generator) noexcept nogil:
    """A number of the gamma distribution with shape `alpha` and scale 1."""
    cdef float one_third = <float>1.0 / <float>3.0
    cdef double scale = 1, d, c, x, v, u
    if not alpha > 0:
        return 0 if alpha == 0 else <real>NAN
    if isinf(alpha):
        return alpha
    if alpha < 1:               # of alpha + 1, with a factor: more proposals are accepted
        scale = pow(1 - draw_unit(generator), <real>1 / alpha)
        alpha += 1
    d = alpha - <real>one_third
    c = 1 / sqrt(9 * d)
    while True:
        x = draw_normal(generator)
        while 1 + c * x <= 0:
            x = draw_normal(generator)
        v = 1 + c * x
        v = v * v * v
        u = 1 - draw_unit(generator)
        if u < 1 - <double><float>0.0331 * (x * x) * (x * x):
            return <real>(scale * d * v)
        if log(u) < 0.5 * (x * x) + d * (1 - v + log(v)):
            return <real>(scale * d * v)
