# cython: nonecheck=False
# `make debug` turns it on, but without the GIL, where a generator's fields are read, nothing can raise.
"""Random numbers: a generator whose stream is PyTorch's.

A generator is a long, fixed sequence of 32-bit words that starts at a place chosen by the seed: it
is MT19937, as in PyTorch on the CPU. What is made of the words is in distributions.pyx. The stream
is serial, so results do not depend on the number of threads.

Source: Matsumoto and Nishimura 1998, "Mersenne Twister" (the sequence; seeding as revised in 2002).
"""
cimport cython
import os

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from tensorlab._core.dtypes cimport UINT8
from tensorlab._core.tensor cimport TensorBase, empty_tensor

from tensorlab._core.device import CPU
from tensorlab.errors import GeneratorError

cdef enum:
    TWIST_DISTANCE = 397

cdef uint64_t DEFAULT_SEED = 67280421310721     # of a new generator; PyTorch's number


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
        self.handovers += 1
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
        """Start the stream at a place that no one can predict, and return the seed for it."""
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
        self.handovers += 1
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


cdef void note_place(Generator generator, Place* place) noexcept:
    """Write down where a stream is; quicker than `get_state`."""
    memcpy(place.words, generator.words, sizeof(place.words))
    place.next, place.left = generator.next, generator.left
    place.has_spare, place.spare = generator.has_spare, generator.spare


cdef void return_to(Generator generator, const Place* place) noexcept:
    """Take a stream back to where it was."""
    memcpy(generator.words, place.words, sizeof(place.words))
    temper_words(generator.words, generator.outputs)
    generator.next, generator.left = place.next, place.left
    generator.has_spare, generator.spare = place.has_spare, place.spare


cdef void note_own_place(Generator generator, Place* place) noexcept:
    """Write down where this thread begins to draw what it may have to take back."""
    take_over(generator)
    note_place(generator, place)
    place.handovers = generator.handovers


cdef void take_back_own(Generator generator, const Place* place) noexcept:
    """Take a stream back, unless another thread has drawn meanwhile: its numbers would come again."""
    if generator.handovers == place.handovers:
        return_to(generator, place)


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
    """Return the generator that ops draw from where none is given; its first seed is random."""
    return THE_DEFAULT


cdef extern from *:
    """
    #include "thread_local.h"
    static TL_THREAD PyObject *tl_aside = NULL;
    static const void *tl_this_thread(void) { return &tl_aside; }
    static void tl_set_aside(PyObject *generator) { tl_aside = generator; }
    """
    PyObject* aside "tl_aside"                  # what this thread draws from instead of the default; a reference, or NULL
    void set_aside "tl_set_aside"(PyObject* generator) noexcept
    const void* this_thread "tl_this_thread"() noexcept


cdef inline void take_over(Generator generator) noexcept:
    """This thread is about to draw."""
    if generator.drawer != this_thread():
        generator.drawer = this_thread()
        generator.handovers += 1


cdef Generator swap_aside(Generator generator):
    """Let this thread draw from another generator instead of the default, or from that again (None); return the one before."""
    cdef PyObject* before = aside
    cdef Generator result = <Generator>before if before != NULL else None
    Py_XINCREF(<PyObject*>generator if generator is not None else NULL)
    set_aside(<PyObject*>generator if generator is not None else NULL)
    Py_XDECREF(before)
    return result


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class DrawingAside:
    """Within the block, ops of this thread that are given no generator draw from another one than the default.

    So what they draw is no part of the default stream, which other threads may go on with meanwhile.

    Parameters
    ----------
    generator : Generator; unless given, a copy of the one that would be drawn from
    """
    cdef Generator generator, before
    cdef bint is_entered

    def __cinit__(self, Generator generator=None):
        self.generator = generator_or_default(None, "").clone_state() if generator is None else generator

    def __enter__(self):
        if self.is_entered:
            raise RuntimeError("DrawingAside: it has been entered already; make another one")
        self.is_entered = True
        self.before = swap_aside(self.generator)

    def __exit__(self, *exception):
        swap_aside(self.before)
        self.is_entered, self.before = False, None


cdef Generator generator_or_default(object given, str where):
    """The `generator` argument of the op named `where`: None asks for the default."""
    cdef Generator generator
    if given is None:
        generator = THE_DEFAULT if aside == NULL else <Generator>aside
        take_over(generator)
        return generator
    if isinstance(given, Generator):
        take_over(<Generator>given)
        return <Generator>given
    raise TypeError(f"{where}: generator is a {type(given).__name__}; "
                    f"give a tensorlab.Generator or None")
