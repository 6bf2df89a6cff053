"""Distributions that are drawn by rejection; no number of words is known beforehand."""
from tensorlab._core.dtypes cimport real
from tensorlab._core.random cimport Generator

cdef double draw_poisson(double rate, Generator generator) noexcept nogil
cdef real draw_binomial(real count, real prob, Generator generator) noexcept nogil
cdef real draw_gamma(real alpha, Generator generator) noexcept nogil
