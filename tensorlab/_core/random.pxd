"""Random numbers: the generator, and functions that fill contiguous memory from its stream.

The fills take no lock: the caller keeps the GIL (or owns the generator), else two threads would
tear one stream. `n` counts elements.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from tensorlab._core.dtypes cimport number, real
from tensorlab._core.layout cimport ssize

cdef enum:
    STATE_WORDS = 624
    NORMAL_BLOCK = 16           # from this many elements on, normals are made block by block

cdef class Generator:
    cdef object __weakref__
    cdef uint64_t seed_
    cdef uint32_t words[STATE_WORDS]    # the state of the recurrence
    cdef uint32_t outputs[STATE_WORDS]  # the same words tempered: what the stream delivers
    cdef int next                       # index of the next word to deliver
    cdef int left                       # words not yet delivered; 0 also right after seeding
    cdef bint has_spare                 # normals come in pairs; the second one waits here
    cdef double spare
    cdef int reseed(self, uint64_t seed) except -1

cpdef Generator default_generator()
cdef Generator generator_or_default(object given, str where)

cdef void fill_uniform(real* out, ssize n, Generator generator, double low,
                       double high) noexcept nogil
cdef void fill_normal(real* out, ssize n, Generator generator, double mean,
                      double std) noexcept nogil
cdef void fill_normal_singly(real* out, ssize n, Generator generator, double mean,
                             double std) noexcept nogil
cdef void fill_randint(number* out, ssize n, Generator generator, int64_t low,
                       uint64_t range_) noexcept nogil
cdef void fill_random(number* out, ssize n, Generator generator) noexcept nogil
cdef void fill_randperm(int64_t* out, ssize n, Generator generator) noexcept nogil
cdef void fill_bernoulli(number* out, ssize n, Generator generator, double p) noexcept nogil
cdef void fill_exponential(real* out, ssize n, Generator generator, double rate) noexcept nogil
cdef void fill_log_normal(real* out, ssize n, Generator generator, double mean,
                          double std) noexcept nogil
cdef void fill_cauchy(real* out, ssize n, Generator generator, double median,
                      double sigma) noexcept nogil
cdef void fill_geometric(number* out, ssize n, Generator generator, double p) noexcept nogil
