"""Functions that fill contiguous memory with random numbers of a distribution.

They take no lock, as random.pxd says. `n` counts elements.
"""
from libc.stdint cimport int64_t, uint64_t

from tensorlab._core.dtypes cimport number, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.random cimport Generator

cdef enum:
    NORMAL_BLOCK = 16           # from this many elements on, normals are made block by block

cdef double draw_unit(Generator generator) noexcept nogil
cdef double draw_normal(Generator generator) noexcept nogil
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
