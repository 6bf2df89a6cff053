# cython: nonecheck=False
# `make debug` turns it on, but without the GIL, where a generator's fields are read, nothing can raise.
"""Distributions that are drawn by rejection: Poisson, binomial, gamma. A proposal is drawn until one is accepted.

Equal seeds give PyTorch's numbers, so the recipes are its, down to the types of their constants. nan gives nan, where PyTorch
may draw forever.

Source: Hoermann 1993, "The transformed rejection method" (Poisson and binomial with many successes); Devroye 1986, chapter X
(few successes: sums of geometric numbers, or a product of uniform ones); Marsaglia and Tsang 2000, "A simple method for
generating gamma variables".
"""
from libc.math cimport (
    M_PI, NAN, ceil, exp, fabs, floor, isinf, lgamma, log, log1p, log1pf, pow, sin, sqrt
)
from libc.stdint cimport int64_t, uint32_t, uint64_t

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.distributions cimport draw_normal, draw_unit

cdef extern from "tl_math.h" nogil:
    double tl_log1p(double x)
    double tl_power(double x, double y)
    double tl_sin_near(double x, uint64_t quarter_turns)


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


# ---------------------------------------------------------------- many gammas
# One number in twenty needs a second proposal. So the first ones of 16 numbers are computed at once, as if all of them
# were accepted: that says which words of the stream each of them takes. The first that isn't accepted is drawn again
# alone, from its own first word on, and so is what would reach into words that the generator hasn't made yet.

cdef enum:
    TOGETHER = 16
    PAIRS = 8                           # of normals, at most, whether or not there is a spare
    MOST_UNITS = 64                     # uniform numbers: one for a small alpha, two for a pair of normals, one to accept

cdef struct Proposals:
    int count                           # how many numbers
    int units                           # how many uniform numbers they take
    int first[TOGETHER + 1]             # of a number: how many are taken before it,
    int accepts[TOGETHER]               # and which one accepts it; the one for a small alpha is its first
    int pairs                           # how many pairs of normals
    int pair[PAIRS + 1]                 # the first of the two uniform numbers of a pair
    bint has_small                      # is any alpha below 1?

cdef void fill_gamma(float* out, const float* alpha, ssize n, Generator generator) noexcept nogil:
    """`draw_gamma` of each alpha, word by word; sines and logarithms are ours, which rounding to float hides."""
    cdef ssize done = 0, count
    while done < n:
        count = min(n - done, <ssize>TOGETHER)
        count = draw_first_proposals(out + done, alpha + done, <int>count, generator)
        done += count
        if count < TOGETHER and done < n:
            out[done] = draw_gamma(alpha[done], generator)
            done += 1


cdef void plan(Proposals* p, const float* alpha, int n, Generator generator) noexcept nogil:
    """Share out uniform numbers, as if each first proposal were accepted; up to an alpha that takes none, or to the
    end of the words that are there.
    """
    cdef int i, unit = 0, is_small, needs_pair
    cdef bint has_spare = generator.has_spare
    p.pairs, p.has_small = 0, False
    for i in range(n):
        # added, as a processor can't foresee a branch on them
        is_small, needs_pair = alpha[i] < 1, not has_spare
        if (not (alpha[i] > 0 and alpha[i] < <float>1e30)
                or 2 * (unit + is_small + 2 * needs_pair + 1) > generator.left):
            n = i
            break
        p.first[i] = unit
        p.has_small |= is_small
        unit += is_small
        p.pair[p.pairs] = unit
        p.pairs += needs_pair
        unit += 2 * needs_pair
        p.accepts[i] = unit
        unit += 1
        has_spare = needs_pair
    p.count = n
    p.first[n] = p.units = unit


cdef inline double unit_of(const uint32_t* words) noexcept nogil:
    """A uniform number of two words, as draw_unit makes it."""
    cdef uint64_t bits = (<uint64_t>words[0] << 32) | words[1]
    return <double><int64_t>(bits & ((<uint64_t>1 << 53) - 1)) * 2.0 ** -53

cdef void make_normals(const Proposals* p, const double* unit, double* out) noexcept nogil:
    """The pairs of normals, as draw_normal makes them."""
    cdef double angle[PAIRS]
    cdef double radius[PAIRS]
    cdef int k
    for k in range(PAIRS):
        angle[k] = unit[p.pair[k]] if k < p.pairs else 0
        radius[k] = unit[p.pair[k] + 1] if k < p.pairs else 0
    for k in range(PAIRS):
        radius[k] = sqrt(-2 * tl_log1p(-radius[k]))
        angle[k] = 2 * M_PI * angle[k]
        out[2 * k] = radius[k] * tl_sin_near(angle[k], 1)       # a quarter turn on: the cosine
        out[2 * k + 1] = radius[k] * tl_sin_near(angle[k], 0)

cdef void make_scales(const Proposals* p, const float* alpha, const double* unit,
                      double* out) noexcept nogil:
    """The factors of numbers with alpha below 1; 1 of the others."""
    cdef double exponent[TOGETHER]
    cdef int i
    for i in range(TOGETHER):
        out[i], exponent[i] = 1, 1
    if not p.has_small:
        return
    for i in range(p.count):
        out[i] = 1 - unit[p.first[i]] if alpha[i] < 1 else 1
        exponent[i] = <float>1.0 / alpha[i]
    for i in range(TOGETHER):
        out[i] = tl_power(out[i], exponent[i])

cdef void make_values(const float* alpha, const double* x, double* d, double* v) noexcept nogil:
    """Marsaglia and Tsang's d and v of the normals x: the number is d v, if v is above 0 and it is accepted."""
    cdef float one_third = <float>1.0 / <float>3.0, grown
    cdef int i
    for i in range(TOGETHER):
        grown = alpha[i] + <float>1.0 if alpha[i] < 1 else alpha[i]
        d[i] = grown - one_third
        v[i] = 1 + 1 / sqrt(9 * d[i]) * x[i]
        v[i] = v[i] * v[i] * v[i]

cdef inline bint is_accepted(double x, double d, double v, double u) noexcept nogil:
    """Is a number accepted by the uniform number u?"""
    if v <= 0:
        return False
    if u < 1 - <double><float>0.0331 * (x * x) * (x * x):
        return True
    return log(u) < 0.5 * (x * x) + d * (1 - v + log(v))

cdef int draw_first_proposals(float* out, const float* alpha, int n, Generator generator) noexcept nogil:
    """Draw numbers up to the first whose first proposal isn't accepted; returns how many."""
    cdef Proposals p
    cdef const uint32_t* words = generator.outputs + generator.next
    cdef double unit[MOST_UNITS]
    cdef double normals[TOGETHER + 2]       # the spare, and the pairs; number i takes the one at i + offset
    cdef double scale[TOGETHER]
    cdef double d[TOGETHER]
    cdef double v[TOGETHER]
    cdef float alphas[TOGETHER]
    cdef int i = 0, offset = 0 if generator.has_spare else 1
    plan(&p, alpha, n, generator)
    for i in range(p.units):
        unit[i] = unit_of(words + 2 * i)
    normals[0] = generator.spare
    make_normals(&p, unit, normals + 1)
    make_scales(&p, alpha, unit, scale)
    for i in range(TOGETHER):
        alphas[i] = alpha[i] if i < p.count else 1
    make_values(alphas, normals + offset, d, v)
    i = 0
    while i < p.count and is_accepted(normals[i + offset], d[i], v[i], 1 - unit[p.accepts[i]]):
        out[i] = <float>(scale[i] * d[i] * v[i])
        i += 1
    generator.next += 2 * p.first[i]
    generator.left -= 2 * p.first[i]
    generator.has_spare = (i + offset) % 2 == 0
    if generator.has_spare and i + offset > 0:
        generator.spare = second_normal(unit + p.pair[(i + offset) // 2 - 1])
    return i

cdef double second_normal(const double* unit) noexcept nogil:
    """The second normal of a pair as draw_normal makes it, to the last bit: the stream goes on with it."""
    return sqrt(-2 * log1p(-unit[1])) * sin(2 * M_PI * unit[0])
