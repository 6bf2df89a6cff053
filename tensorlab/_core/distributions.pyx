# cython: nonecheck=False
# `make debug` turns it on, but without the GIL, where a generator's fields are read, nothing can raise.
"""Distributions: recipes that turn the words of a generator's stream into the elements of contiguous memory.

    uniform float      1 word     its low 24 bits, divided by 2**24
    uniform double     2 words    the low 53 bits of the pair, divided by 2**53
    integer below r    1 word     word mod r; 2 words from r = 2**28 on
    normal, 16 or more 1 or 2     Box-Muller on blocks of 16 uniforms
    normal, fewer      2          Box-Muller on doubles, one pair of elements at a time
    all others         2          a formula on one uniform double (log-normal: on such a normal)

Equal results after equal seeds need the same sequence (random.pyx) *and* the same recipes, down to
the rounding. These are PyTorch's, and where its compiled code rounds a product and a sum once, so
does the `fma` here. All fills are equal to the bit. That takes the logarithm, sine and cosine of the
Cephes library for float normals in blocks, for those are the ones whose last bits PyTorch has.

Left out: some older PyTorch releases drew `bernoulli_` and `exponential_` from Intel's MKL on Intel
processors. It gave wrong distributions (pytorch issue 132395), and 2.13 does not contain it.

Source: Box and Muller 1958 (normals); Moshier's Cephes library, logf and sinf. The recipes were worked
out from PyTorch 2.13's headers and results.
"""
from libc.math cimport (
    M_PI, ceil, cos, exp, floor, fma, fmaf, ldexp, log, log1p, sin, sqrt, sqrtf, tan
)
from libc.stdint cimport uint8_t, uint32_t

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.loops.parallel cimport parallel_for
from tensorlab._core.random cimport draw, draw_word

cdef extern from "tl_math.h" nogil:
    uint32_t tl_bits_of_float(float x)
    uint64_t tl_bits_of_double(double x)
    float tl_float_of_bits(uint32_t bits)
    double tl_log1p(double x)

cdef enum:
    CHUNK = 512                 # words drawn at a time: 2 KiB, which stay in the first-level cache
    DRAWN = 1 << 16             # words drawn before threads share what is made of them
    GRAIN = 8192                # normals that make a thread worth starting
    MASK_24 = (1 << 24) - 1
    SQRT_HALF = 0x3f3504f3      # the bits of sqrt(1/2) as float

cdef uint64_t MASK_53 = (<uint64_t>1 << 53) - 1
cdef float UNIT_24 = 2.0 ** -24
cdef double UNIT_53 = 2.0 ** -53
cdef uint64_t TWO_WORDS_FROM = 1 << 28      # one word mod a range below is skewed by at most 6 %
cdef ssize PERMUTE_WIDE_FROM = 0xffffffff // 20     # the same concern in randperm: 5 %

cdef inline uint64_t pair(const uint32_t* words, ssize i) noexcept nogil:
    """Pair number i as 64 bits: the word that was drawn first is the upper half."""
    return (<uint64_t>words[2 * i] << 32) | words[2 * i + 1]


# ---------------------------------------------------------------- uniform
cdef inline void draw_bits(real* out, ssize n, Generator generator) noexcept nogil:
    """The words that n numbers are made of, where the numbers belong: one for a float, two for a double."""
    draw(generator, <uint32_t*>out, n * <ssize>(sizeof(real) // sizeof(uint32_t)))


cdef inline void bits_to_units(real* out, ssize n) noexcept nogil:
    """Uniform in [0, 1), from their words: as many random bits as the type has in its mantissa."""
    cdef uint64_t bits
    cdef ssize i
    for i in range(n):
        if real is float:               # through a signed integer, which AVX2 can convert
            out[i] = <float><int>(tl_bits_of_float(out[i]) & MASK_24) * UNIT_24
        else:                           # the word that was drawn first is the upper half
            bits = tl_bits_of_double(out[i])
            out[i] = <double><int64_t>(((bits << 32) | (bits >> 32)) & MASK_53) * UNIT_53


cdef void fill_unit(real* out, ssize n, Generator generator) noexcept nogil:
    """Uniform in [0, 1)."""
    cdef ssize count
    while n > 0:
        count = min(n, <ssize>CHUNK)
        draw_bits(out, count, generator)
        bits_to_units(out, count)
        out += count
        n -= count


cdef double draw_unit(Generator generator) noexcept nogil:
    """One uniform double in [0, 1)."""
    cdef uint64_t bits = <uint64_t>draw_word(generator) << 32
    bits |= draw_word(generator)
    return <double><int64_t>(bits & MASK_53) * UNIT_53


cdef void fill_uniform(real* out, ssize n, Generator generator, double low,
                       double high) noexcept nogil:
    """Uniform in [low, high). Rounding may reach `high`: it becomes `low`, as in PyTorch."""
    cdef real first = <real>low, last = <real>high, width = last - first, value
    cdef ssize i, count
    while n > 0:
        count = min(n, <ssize>CHUNK)
        fill_unit(out, count, generator)
        for i in range(count):
            value = c_math.fma(out[i], width, first)
            out[i] = first if value == last else value
        out += count
        n -= count


# ---------------------------------------------------------------- normal
cdef inline float cephes_log(float x) noexcept nogil:
    """Logarithm of a positive normal number, as log(m) + e * log(2) with m from sqrt(1/2) to sqrt(2)."""
    cdef int bits = <int>(tl_bits_of_float(x) - SQRT_HALF)      # counted from there, e is in the upper 9
    cdef float e = <float>(bits >> 23), square, y
    cdef float t = tl_float_of_bits((bits & 0x7fffff) + SQRT_HALF) - <float>1.0     # m - 1, exact
    square = t * t
    y = fmaf(<float>7.0376836292e-2, t, <float>-1.1514610310e-1)
    y = fmaf(y, t, <float>1.1676998740e-1)
    y = fmaf(y, t, <float>-1.2420140846e-1)
    y = fmaf(y, t, <float>1.4249322787e-1)
    y = fmaf(y, t, <float>-1.6668057665e-1)
    y = fmaf(y, t, <float>2.0000714765e-1)
    y = fmaf(y, t, <float>-2.4999993993e-1)
    y = fmaf(y, t, <float>3.3333331174e-1)
    # log(2) in two parts: the second has few bits, so that e times it is exact
    y = fmaf(y * t, square, e * <float>-2.12194440e-4) - <float>0.5 * square
    return fmaf(e, <float>0.693359375, t + y)


cdef inline float cephes_sin(float x, int quarter_turns) noexcept nogil:
    """Sine of x + quarter_turns * pi / 2 for 0 <= x < 8192, from the multiple of pi / 2 that is nearest to x."""
    cdef int nearest = (<int>(x * <float>1.27323954473516) + 1) & ~1        # in eighths of a turn
    cdef float k = <float>nearest, r, square, sine, cosine, y
    r = fmaf(k, <float>-0.78515625, x)                                      # pi / 4 in three parts
    r = fmaf(k, <float>-2.4187564849853515625e-4, r)
    r = fmaf(k, <float>-3.77489497744594108e-8, r)
    square = r * r
    sine = fmaf(<float>-1.9515295891e-4, square, <float>8.3321608736e-3)
    sine = fmaf(sine, square, <float>-1.6666654611e-1)
    sine = fmaf(sine * square, r, r)
    cosine = fmaf(<float>2.443315711809948e-5, square, <float>-1.388731625493765e-3)
    cosine = fmaf(cosine, square, <float>4.166664568298827e-2)
    cosine = fmaf(cosine * square, square, <float>-0.5 * square) + <float>1.0
    quarter_turns += nearest >> 1
    y = cosine if quarter_turns & 1 else sine
    return tl_float_of_bits(tl_bits_of_float(y) ^ <uint32_t>(quarter_turns & 2) << 30)     # -y if there are two


cdef void box_muller(real* out, ssize n, real mean, real std) noexcept nogil:
    """Turn uniforms into normals in blocks of 16: 8 radii and 8 angles become 8 x and 8 y."""
    cdef real radius, angle
    cdef ssize i
    while n > 0:
        for i in range(8):
            if real is float:
                radius = sqrtf(<float>-2.0 * cephes_log(<float>1.0 - out[i]))
                angle = <float>(2 * M_PI) * out[i + 8]
                # one quarter turn on, the sine is the cosine
                out[i] = fmaf(radius * cephes_sin(angle, 1), std, mean)
                out[i + 8] = fmaf(radius * cephes_sin(angle, 0), std, mean)
            else:
                radius = sqrt(-2 * log(1 - out[i]))
                angle = 2 * M_PI * out[i + 8]
                out[i] = fma(radius * cos(angle), std, mean)
                out[i + 8] = fma(radius * sin(angle), std, mean)
        out += NORMAL_BLOCK
        n -= NORMAL_BLOCK


cdef struct Normals:
    void* out
    double mean
    double std


cdef void bits_to_normals(Normals* job, ssize begin, ssize end, real* as_this) noexcept nogil:
    """The blocks from `begin` to `end`, of words that were drawn."""
    cdef real* out = <real*>job.out + begin * NORMAL_BLOCK
    cdef ssize count, n = (end - begin) * NORMAL_BLOCK
    while n > 0:
        count = min(n, <ssize>CHUNK)
        bits_to_units(out, count)
        box_muller(out, count, <real>job.mean, <real>job.std)
        out += count
        n -= count


cdef void float_normals(void* job, ssize begin, ssize end) noexcept nogil:
    bits_to_normals[float](<Normals*>job, begin, end, NULL)


cdef void double_normals(void* job, ssize begin, ssize end) noexcept nogil:
    bits_to_normals[double](<Normals*>job, begin, end, NULL)


cdef void fill_normal(real* out, ssize n, Generator generator, double mean,
                      double std) noexcept nogil:
    """Normal numbers as PyTorch fills contiguous memory; strided memory takes them singly.

    One thread draws the words, and all make normals of them.
    """
    cdef Normals job
    cdef ssize count, whole = n - n % NORMAL_BLOCK
    if n < NORMAL_BLOCK:
        fill_normal_singly(out, n, generator, mean, std)
        return
    job.mean, job.std = mean, std
    while whole > 0:
        count = min(whole, <ssize>DRAWN)
        draw_bits(out, count, generator)
        job.out = out
        parallel_for(float_normals if real is float else double_normals, &job,
                     count // NORMAL_BLOCK, GRAIN // NORMAL_BLOCK)
        out += count
        whole -= count
    n %= NORMAL_BLOCK
    if n > 0:
        # The incomplete block draws n uniforms and drops them; the last 16 are made anew.
        fill_unit(out, n, generator)
        out += n - NORMAL_BLOCK
        fill_unit(out, NORMAL_BLOCK, generator)
        box_muller(out, NORMAL_BLOCK, <real>mean, <real>std)


cdef double draw_normal(Generator generator) noexcept nogil:
    """One standard normal: every other call takes the spare that the call before it left."""
    cdef double radius, angle
    if generator.has_spare:
        generator.has_spare = False
        return generator.spare
    angle = 2 * M_PI * draw_unit(generator)
    radius = sqrt(-2 * log1p(-draw_unit(generator)))
    generator.spare = radius * sin(angle)
    generator.has_spare = True
    return radius * cos(angle)


cdef void fill_normal_singly(real* out, ssize n, Generator generator, double mean,
                             double std) noexcept nogil:
    """Normal numbers one by one, always computed in double."""
    cdef ssize i
    for i in range(n):
        out[i] = <real>fma(draw_normal(generator), std, mean)


cdef void fill_log_normal(real* out, ssize n, Generator generator, double mean,
                          double std) noexcept nogil:
    """exp of a normal."""
    cdef ssize i
    for i in range(n):
        out[i] = <real>exp(fma(draw_normal(generator), std, mean))


# ---------------------------------------------------------------- integers
cdef void fill_modulo(number* out, ssize n, Generator generator, int64_t low,
                      uint32_t range_) noexcept nogil:
    """low + word mod range_, for 1 <= range_ <= 2**31, one word each.

    Integer division does not vectorise, so the quotient is taken with a reciprocal in double. Where
    the word is a multiple of range_ it may come out one too small. It is never too large: word /
    range_ lies at least 1 / range_ below the next integer, and rounding moves it by less than
    2**-51 * 2**32 / range_.
    """
    cdef uint32_t words[CHUNK]
    cdef double divisor = range_, reciprocal = 1.0 / divisor, remainder
    cdef ssize i, count
    while n > 0:
        count = min(n, <ssize>CHUNK)
        draw(generator, words, count)
        for i in range(count):
            remainder = <double>words[i] - floor(<double>words[i] * reciprocal) * divisor
            remainder = remainder - divisor if remainder >= divisor else remainder
            out[i] = <number>(<int64_t><int>remainder + low)
        out += count
        n -= count


cdef void fill_modulo_wide(number* out, ssize n, Generator generator, int64_t low,
                           uint64_t range_) noexcept nogil:
    """low + (64 bits mod range_), two words each; range_ = 0 stands for 2**64."""
    cdef uint32_t words[CHUNK]
    cdef uint64_t value
    cdef ssize i, count
    while n > 0:
        count = min(n, <ssize>(CHUNK // 2))
        draw(generator, words, 2 * count)
        for i in range(count):
            value = pair(words, i) % range_ if range_ != 0 else pair(words, i)
            out[i] = <number><int64_t>(value + <uint64_t>low)   # unsigned: it may wrap
        out += count
        n -= count


cdef void fill_randint(number* out, ssize n, Generator generator, int64_t low,
                       uint64_t range_) noexcept nogil:
    """Integers in [low, low + range_); range_ = 0 stands for 2**64, that is for all of int64."""
    if range_ == 0 or range_ >= TWO_WORDS_FROM:
        # All 64-bit patterns are all integers, so there is nothing to add to them.
        fill_modulo_wide(out, n, generator, 0 if range_ == 0 else low, range_)
    else:
        fill_modulo(out, n, generator, low, <uint32_t>range_)


cdef void fill_random(number* out, ssize n, Generator generator) noexcept nogil:
    """`random_()` without bounds: 0 to the type's largest; 2**24 in float, 2**53 in double."""
    if number is int64_t:
        fill_modulo_wide(out, n, generator, 0, <uint64_t>1 << 63)
    elif number is double:
        fill_modulo_wide(out, n, generator, 0, MASK_53 + 2)
    elif number is float:
        fill_modulo(out, n, generator, 0, MASK_24 + 2)
    elif number is uint8_t:
        fill_modulo(out, n, generator, 0, 256)
    else:
        fill_modulo(out, n, generator, 0, <uint32_t>1 << (8 * sizeof(number) - 1))


cdef void fill_randperm(int64_t* out, ssize n, Generator generator) noexcept nogil:
    """0 to n - 1 in random order (Fisher and Yates).

    Source: Knuth, The Art of Computer Programming, volume 2, section 3.4.2, algorithm P.
    """
    cdef uint32_t words[CHUNK]
    cdef ssize i = 0, j, stop, first
    if n >= PERMUTE_WIDE_FROM:
        # Element i goes to a random place among 0 to i, and what was there comes to i.
        while i < n:
            first = i
            stop = min(n, first + CHUNK // 2)
            draw(generator, words, 2 * (stop - first))
            for i in range(first, stop):
                j = <ssize>(pair(words, i - first) % <uint64_t>(i + 1))
                out[i] = i
                out[i], out[j] = out[j], out[i]
            i = stop
        return
    for i in range(n):
        out[i] = i
    i = 0
    while i < n - 1:
        first = i
        stop = min(n - 1, first + CHUNK)
        draw(generator, words, stop - first)
        for i in range(first, stop):
            j = i + <ssize>(words[i - first] % <uint32_t>(n - i))
            out[i], out[j] = out[j], out[i]
        i = stop


# ---------------------------------------------------------------- other distributions
cdef void fill_bernoulli(number* out, ssize n, Generator generator, double p) noexcept nogil:
    """1 with probability p, else 0: whether a uniform double is below p, compared as integers."""
    cdef uint32_t words[CHUNK]
    cdef int64_t below = <int64_t>ceil(ldexp(p, 53))
    cdef ssize i, count
    while n > 0:
        count = min(n, <ssize>(CHUNK // 2))
        draw(generator, words, 2 * count)
        for i in range(count):
            out[i] = <number>(<int64_t>(pair(words, i) & MASK_53) < below)
        out += count
        n -= count


cdef void fill_exponential(real* out, ssize n, Generator generator, double rate) noexcept nogil:
    """The inverse of the distribution function 1 - exp(-rate x), at a uniform double."""
    cdef double units[CHUNK]
    cdef double scale = -1.0 / rate
    cdef ssize i, count
    while n > 0:
        count = min(n, <ssize>CHUNK)
        fill_unit(units, count, generator)
        for i in range(count):
            if real is float:       # SIMD code; a float doesn't show the last bits of a double
                out[i] = <float>(scale * tl_log1p(-units[i]))
            else:
                out[i] = scale * log1p(-units[i])
        out += count
        n -= count


cdef void fill_cauchy(real* out, ssize n, Generator generator, double median,
                      double sigma) noexcept nogil:
    """The inverse of the distribution function of Cauchy, at a uniform double."""
    cdef ssize i
    for i in range(n):
        out[i] = <real>fma(sigma, tan(M_PI * (draw_unit(generator) - 0.5)), median)


cdef void fill_geometric(number* out, ssize n, Generator generator, double p) noexcept nogil:
    """How many trials until the first success: 1, 2, 3, ..."""
    cdef double log_failure = log1p(-p)
    cdef ssize i
    for i in range(n):
        out[i] = <number>ceil(log(draw_unit(generator)) / log_failure)
