"""Functions that SciPy has and C has not, found when one is first called."""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize

ctypedef double (*function_of_one)(double, int) noexcept nogil              # the int is Cython's skip_dispatch
ctypedef double (*function_of_two)(double, double, int) noexcept nogil
ctypedef double (*function_of_three)(double, double, double, int) noexcept nogil

cdef struct Borrowed:
    const char* name            # in scipy.special.cython_special
    void* address               # NULL before the first call

cdef void* address_of(Borrowed* function) noexcept nogil


cdef inline void apply_to_one(real* out, const real* x, ssize n, Borrowed* borrowed) noexcept nogil:
    cdef function_of_one function = <function_of_one>address_of(borrowed)
    for i in range(n):
        out[i] = <real>function(x[i], 0)


cdef inline void apply_to_two(real* out, const real* x, const real* y, ssize n, Borrowed* borrowed) noexcept nogil:
    cdef function_of_two function = <function_of_two>address_of(borrowed)
    for i in range(n):
        out[i] = <real>function(x[i], y[i], 0)
