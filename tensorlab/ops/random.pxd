"""Random fills, for other families of ops too. The functions record nothing."""
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.random cimport Generator
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    # what to fill with
    UNIFORM
    NORMAL
    NORMAL_SINGLY
    LOG_NORMAL
    CAUCHY
    EXPONENTIAL
    BERNOULLI
    GEOMETRIC
    RANDOM                      # all integers of the type

cdef Op BERNOULLI_              # x, p, generator

cdef int fill_tensor(TensorBase x, int recipe, Generator generator, double a, double b) except -1
cdef int fill_normally(TensorBase x, Generator generator, double mean, double std) except -1
cdef int fill_between(TensorBase x, Generator generator, object low, object high) except -1
cdef int check_floating(int dtype, str where, bint plain_error) except -1
cdef int digits_of(int dtype) noexcept
cdef int check_std(double std, str where) except -1
cdef int check_integer_bounds(int dtype, object low, object high, str where) except -1
