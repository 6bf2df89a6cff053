"""Random numbers: the generator and its stream of words.

Drawing takes no lock: the caller keeps the GIL (or owns the generator), else two threads would tear
one stream.
"""
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from tensorlab._core.layout cimport ssize

cdef enum:
    STATE_WORDS = 624

cdef class Generator:
    cdef object __weakref__
    cdef uint64_t seed_
    cdef uint32_t words[STATE_WORDS]    # the state of the recurrence
    cdef uint32_t outputs[STATE_WORDS]  # the same words tempered: what the stream delivers
    cdef int next                       # index of the next word to deliver
    cdef int left                       # words not yet delivered; 0 also right after seeding
    cdef bint has_spare                 # normals come in pairs; the second one waits here
    cdef double spare
    cdef const void* drawer             # stands for the thread that drew last
    cdef unsigned long handovers        # how often another thread has drawn than the one before, or has set the state
    cdef int reseed(self, uint64_t seed) except -1

cdef struct Place:                      # in a stream: what `draw` changes
    uint32_t words[STATE_WORDS]
    int next, left
    bint has_spare
    double spare
    unsigned long handovers

cdef void note_place(Generator generator, Place* place) noexcept
cdef void return_to(Generator generator, const Place* place) noexcept
cdef void note_own_place(Generator generator, Place* place) noexcept
cdef void take_back_own(Generator generator, const Place* place) noexcept

cpdef Generator default_generator()
cdef Generator generator_or_default(object given, str where)

cdef void advance(Generator generator) noexcept nogil
cdef void draw(Generator generator, uint32_t* words, ssize n) noexcept nogil

@cython.nonecheck(False)
cdef inline uint32_t draw_word(Generator generator) noexcept nogil:
    """Take the next word of the sequence."""
    if generator.left == 0:
        advance(generator)
    generator.left -= 1
    generator.next += 1
    return generator.outputs[generator.next - 1]
