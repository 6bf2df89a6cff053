# cython: nonecheck=False
# `make debug` turns it on, but without the GIL, where a generator's fields are read, nothing can raise.
"""Random numbers: a generator whose stream is PyTorch's, and the distributions made from it.

A generator is a long, fixed sequence of 32-bit words that starts at a place chosen by the seed.
Every distribution is a recipe that turns some of these words into one element:

    uniform float      1 word     its low 24 bits, divided by 2**24
    uniform double     2 words    the low 53 bits of the pair, divided by 2**53
    integer below r    1 word     word mod r; 2 words from r = 2**28 on
    normal, 16 or more 1 or 2     Box-Muller on blocks of 16 uniforms
    normal, fewer      2          Box-Muller on doubles, one pair of elements at a time
    all others         2          a formula on one uniform double (log-normal: on such a normal)

Equal results after equal seeds need the same sequence *and* the same recipes, down to the rounding.
Both are PyTorch's: its CPU generator is MT19937, and where its compiled code rounds a product and a
sum once, so does the `fma` here. All fills are equal to the bit but for float normals in blocks,
where the last bit depends on log, sin and cos (within 1e-6). The stream is serial, so results do
not depend on the number of threads.

Left out: some older PyTorch releases drew `bernoulli_` and `exponential_` from Intel's MKL on Intel
processors. It gave wrong distributions (pytorch issue 132395), and 2.13 does not contain it.

Source: Matsumoto and Nishimura 1998, "Mersenne Twister" (the sequence; seeding as revised in 2002);
Box and Muller 1958 (normals). The recipes were worked out from PyTorch 2.13's headers and results.
"""
cimport cython
import os

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.math cimport (
    M_PI, ceil, cos, exp, floor, fma, fmaf, ldexp, log, log1p, sin, sqrt, sqrtf, tan,
)
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from tensorlab._core.dtypes cimport UINT8
from tensorlab._core.tensor cimport TensorBase, empty_tensor

from tensorlab._core.device import CPU
from tensorlab.errors import GeneratorError

cdef extern from "tl_math.h" nogil:
    float tl_logf(float x)
    float tl_sin_nearf(float x, uint32_t quarter_turns)

cdef enum:
    TWIST_DISTANCE = 397
    CHUNK = 512                 # words drawn at a time: 2 KiB, which stay in the first-level cache
    MASK_24 = (1 << 24) - 1

cdef uint64_t MASK_53 = (<uint64_t>1 << 53) - 1
cdef float UNIT_24 = 2.0 ** -24
cdef double UNIT_53 = 2.0 ** -53
cdef uint64_t DEFAULT_SEED = 67280421310721     # of a new generator; PyTorch's number
cdef uint64_t TWO_WORDS_FROM = 1 << 28      # one word mod a range below is skewed by at most 6 %
cdef ssize PERMUTE_WIDE_FROM = 0xffffffff // 20     # the same concern in randperm: 5 %


# ---------------------------------------------------------------- the sequence of words
cdef void seed_words(uint32_t* words, uint32_t seed) noexcept nogil:
    """Spread 32 bits of seed over the whole state."""
    cdef int i
    words[0] = seed
    for i in range(1, STATE_WORDS):
        words[i] = <uint32_t>1812433253 * (words[i - 1] ^ (words[i - 1] >> 30)) + <uint32_t>i


cdef inline uint32_t twist(uint32_t word, uint32_t following, uint32_t distant) noexcept nogil:
    """The recurrence: x[k + 624] from x[k], x[k + 1] and x[k + 397]."""
    cdef uint32_t joined = (word & <uint32_t>0x80000000) | (following & <uint32_t>0x7fffffff)
    return distant ^ (joined >> 1) ^ ((following & 1) * <uint32_t>0x9908b0df)


cdef inline uint32_t temper(uint32_t word) noexcept nogil:
    """Mix the bits of a state word, so that each bit of the output is equally random."""
    word ^= word >> 11
    word ^= (word << 7) & <uint32_t>0x9d2c5680
    word ^= (word << 15) & <uint32_t>0xefc60000
    return word ^ (word >> 18)


cdef void temper_words(const uint32_t* words, uint32_t* outputs) noexcept nogil:
    cdef int i
    for i in range(STATE_WORDS):
        outputs[i] = temper(words[i])


cdef void advance(Generator generator) noexcept nogil:
    """Replace the 624 words by the next 624.

    The distant word is old in the first loop and already new in the second. Neither loop needs a
    word that it wrote less than 227 steps ago, so the compiler turns both into vector code.
    """
    cdef uint32_t* words = generator.words
    cdef int i
    for i in range(STATE_WORDS - TWIST_DISTANCE):
        words[i] = twist(words[i], words[i + 1], words[i + TWIST_DISTANCE])
    for i in range(STATE_WORDS - TWIST_DISTANCE, STATE_WORDS - 1):
        words[i] = twist(words[i], words[i + 1], words[i + TWIST_DISTANCE - STATE_WORDS])
    words[STATE_WORDS - 1] = twist(words[STATE_WORDS - 1], words[0], words[TWIST_DISTANCE - 1])
    temper_words(words, generator.outputs)
    generator.next = 0
    generator.left = STATE_WORDS


cdef void draw(Generator generator, uint32_t* words, ssize n) noexcept nogil:
    """Take the next `n` words of the sequence."""
    cdef ssize count
    while n > 0:
        if generator.left == 0:
            advance(generator)
        count = min(n, <ssize>generator.left)
        memcpy(words, generator.outputs + generator.next, count * sizeof(uint32_t))
        generator.next += <int>count
        generator.left -= <int>count
        words += count
        n -= count


cdef inline uint32_t draw_word(Generator generator) noexcept nogil:
    """Take the next word of the sequence."""
    if generator.left == 0:
        advance(generator)
    generator.left -= 1
    generator.next += 1
    return generator.outputs[generator.next - 1]


cdef inline uint64_t pair(const uint32_t* words, ssize i) noexcept nogil:
    """Pair number i as 64 bits: the word that was drawn first is the upper half."""
    return (<uint64_t>words[2 * i] << 32) | words[2 * i + 1]


# ---------------------------------------------------------------- Generator
cdef struct SavedState:         # PyTorch's layout, so that checkpoints can be exchanged: 5056 bytes
    uint64_t seed               # 0
    int32_t left                # 8: words left in this round, and one
    int32_t seeded              # 12: always 1
    uint64_t next               # 16
    uint64_t words[STATE_WORDS]     # 24: 32 bits each
    double unused_x             # 5016: 0
    double spare                # 5024
    double unused_rho           # 5032  0
    int32_t has_spare           # 5040
    int32_t padding             # 5044
    float float_spare           # 5048  0: the CPU never uses it
    int32_t has_float_spare     # 5052  0


cdef bint is_valid(const SavedState* saved) noexcept nogil:
    """Words delivered and words left make 624, or the generator has just been seeded."""
    if saved.seeded != 1 or saved.left < 1 or saved.left > STATE_WORDS:
        return False
    return saved.next + saved.left == STATE_WORDS + 1 or (saved.next == 0 and saved.left == 1)


@cython.binding(False)
cdef class Generator:
    """A stream of random numbers of its own.

    Parameters
    ----------
    device : str or device
        Only "cpu" exists.

    Notes
    -----
    A new generator starts from seed 67280421310721, as PyTorch's do; `manual_seed` gives it another
    start. Copies, deep copies and unpickled generators continue at the same place of the sequence,
    independently.

    Examples
    --------
    >>> from tensorlab._core.random import Generator
    >>> Generator().manual_seed(3).initial_seed()
    3
    """

    def __init__(self, device="cpu"):
        if device is not None and str(device) not in ("cpu", "cpu:0"):
            raise GeneratorError(f"Generator: device is {str(device)!r}, but random streams "
                                 f"exist on 'cpu' only; leave it out")
        self.reseed(DEFAULT_SEED)

    cdef int reseed(self, uint64_t seed) except -1:
        """Start again. Like PyTorch, the sequence uses the low 32 bits of the seed."""
        self.seed_ = seed
        seed_words(self.words, <uint32_t>seed)
        self.next = 0
        self.left = 0
        self.has_spare = False
        return 0

    @property
    def device(self):
        """Where the stream is drawn: always device("cpu")."""
        return CPU

    def manual_seed(self, seed):
        """Start the stream at the place that `seed` chooses, and return the generator.

        Parameters
        ----------
        seed : int, from -2**63 to 2**64 - 1
            A negative seed stands for seed + 2**64. Seeds that agree in their low 32 bits give the
            same stream.

        Raises
        ------
        GeneratorError
            If `seed` is no integer, or out of range.
        """
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise GeneratorError(f"manual_seed: seed is {seed!r}, a {type(seed).__name__}; "
                                 f"give an int, such as int(seed)")
        value = seed.__index__()
        if not -2**63 <= value < 2**64:
            raise GeneratorError(f"manual_seed: seed is {value}, but it must lie from -2**63 to "
                                 f"2**64 - 1; take it modulo 2**64")
        self.reseed(<uint64_t>(value & 0xffffffffffffffff))
        return self

    def seed(self):
        """Start the stream at a place that nobody can predict, and return the seed for it."""
        self.reseed(int.from_bytes(os.urandom(8), "little"))
        return self.seed_

    def initial_seed(self):
        """Return the seed that the stream started from."""
        return self.seed_

    def get_state(self):
        """Return the place in the stream: a tensor of 5056 uint8, laid out as PyTorch lays them out."""
        cdef TensorBase out
        cdef bytes state = state_of(self)
        cdef ssize n = len(state)
        out = empty_tensor(UINT8, 1, &n)
        memcpy(out.data_, PyBytes_AS_STRING(state), n)
        return out

    def set_state(self, state):
        """Go to the place in the stream that `get_state` returned, here or in PyTorch.

        Parameters
        ----------
        state : Tensor of uint8 (or bytes, or an array), 5056 bytes

        Raises
        ------
        TypeError
            If `state` is not contiguous bytes.
        GeneratorError
            If they are no state of a generator. Then nothing has changed.
        """
        cdef SavedState saved
        cdef int i
        try:
            view = memoryview(state)
        except TypeError:
            raise TypeError(f"set_state: state is a {type(state).__name__}; "
                            f"give what get_state() returned") from None
        if view.itemsize != 1 or not view.c_contiguous:
            raise TypeError("set_state: state must be contiguous bytes (dtype uint8); "
                            "give what get_state() returned")
        if view.nbytes != sizeof(saved):
            raise GeneratorError(f"set_state: state has {view.nbytes} bytes, but the state of a "
                                 f"generator has {sizeof(saved)}; give what get_state() returned")
        state = view.tobytes()
        memcpy(&saved, PyBytes_AS_STRING(state), sizeof(saved))
        if not is_valid(&saved):
            raise GeneratorError("set_state: these bytes are no state of a generator; "
                                 "give what get_state() returned")
        self.seed_ = saved.seed
        self.next = <int>saved.next
        self.left = saved.left - 1
        self.has_spare = saved.has_spare != 0
        self.spare = saved.spare
        for i in range(STATE_WORDS):
            self.words[i] = <uint32_t>saved.words[i]
        temper_words(self.words, self.outputs)

    def clone_state(self):
        """Return a new generator at the same place of the same stream."""
        copy = Generator()
        copy.set_state(state_of(self))
        return copy

    def __reduce__(self):
        return type(self), (), state_of(self)

    def __setstate__(self, state):
        self.set_state(state)

    def __repr__(self):
        return f"Generator(device='cpu', initial_seed={self.seed_})"


cdef bytes state_of(Generator self):
    """The state as PyTorch lays it out."""
    cdef SavedState saved
    cdef int i
    memset(&saved, 0, sizeof(saved))
    saved.seed = self.seed_
    saved.left = self.left + 1
    saved.seeded = 1
    saved.next = self.next
    for i in range(STATE_WORDS):
        saved.words[i] = self.words[i]
    if self.has_spare:
        saved.spare = self.spare
        saved.has_spare = 1
    return PyBytes_FromStringAndSize(<char*>&saved, sizeof(saved))


cdef Generator THE_DEFAULT = Generator()
THE_DEFAULT.seed()


cpdef Generator default_generator():
    """Return the generator that ops draw from where none is given; nobody knows its first seed."""
    return THE_DEFAULT


cdef Generator generator_or_default(object given, str where):
    """The `generator` argument of the op named `where`: None asks for the default."""
    if given is None:
        return THE_DEFAULT
    if isinstance(given, Generator):
        return <Generator>given
    raise TypeError(f"{where}: generator is a {type(given).__name__}; "
                    f"give a tensorlab.Generator or None")


# ---------------------------------------------------------------- uniform
cdef void fill_unit(real* out, ssize n, Generator generator) noexcept nogil:
    """Uniform in [0, 1): as many random bits as the type has in its mantissa."""
    cdef uint32_t words[CHUNK]
    cdef ssize i, count
    while n > 0:
        count = min(n, <ssize>(CHUNK // 2))
        if real is float:
            draw(generator, words, count)
            for i in range(count):      # through a signed integer, which AVX2 can convert
                out[i] = <float><int>(words[i] & MASK_24) * UNIT_24
        else:
            draw(generator, words, 2 * count)
            for i in range(count):
                out[i] = <double><int64_t>(pair(words, i) & MASK_53) * UNIT_53
        out += count
        n -= count


cdef inline double draw_unit(Generator generator) noexcept nogil:
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
            value = fmaf(out[i], width, first) if real is float else fma(out[i], width, first)
            out[i] = first if value == last else value
        out += count
        n -= count


# ---------------------------------------------------------------- normal
cdef void box_muller(real* out, ssize n, real mean, real std) noexcept nogil:
    """Turn uniforms into normals in blocks of 16: 8 radii and 8 angles become 8 x and 8 y."""
    cdef real radius, angle
    cdef ssize i
    while n > 0:
        for i in range(8):
            if real is float:
                radius = sqrtf(<float>-2.0 * tl_logf(<float>1.0 - out[i]))
                angle = <float>(2 * M_PI) * out[i + 8]
                # one quarter turn on, the sine is the cosine
                out[i] = fmaf(radius * tl_sin_nearf(angle, 1), std, mean)
                out[i + 8] = fmaf(radius * tl_sin_nearf(angle, 0), std, mean)
            else:
                radius = sqrt(-2 * log(1 - out[i]))
                angle = 2 * M_PI * out[i + 8]
                out[i] = fma(radius * cos(angle), std, mean)
                out[i + 8] = fma(radius * sin(angle), std, mean)
        out += NORMAL_BLOCK
        n -= NORMAL_BLOCK


cdef void fill_normal(real* out, ssize n, Generator generator, double mean,
                      double std) noexcept nogil:
    """Normal numbers as PyTorch fills contiguous memory; strided memory takes them singly."""
    cdef ssize count, whole = n - n % NORMAL_BLOCK
    if n < NORMAL_BLOCK:
        fill_normal_singly(out, n, generator, mean, std)
        return
    while whole > 0:
        count = min(whole, <ssize>CHUNK)
        fill_unit(out, count, generator)
        box_muller(out, count, <real>mean, <real>std)
        out += count
        whole -= count
    n %= NORMAL_BLOCK
    if n > 0:
        # The incomplete block draws n uniforms and drops them: the last 16 elements are made anew.
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
    cdef double scale = -1.0 / rate
    cdef ssize i
    for i in range(n):
        out[i] = <real>(scale * log1p(-draw_unit(generator)))


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
