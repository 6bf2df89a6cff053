"""Distributions that are drawn by rejection; no number of words is known beforehand."""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab._core.random cimport Generator

cdef double draw_poisson(double rate, Generator generator) noexcept nogil
cdef real draw_binomial(real count, real prob, Generator generator) noexcept nogil
cdef real draw_gamma(real alpha, Generator generator) noexcept nogil
cdef void fill_gamma(float* out, const float* alpha, ssize n, Generator generator) noexcept nogil
