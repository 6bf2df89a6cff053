"""One addition in four ways, each with fewer questions left for run time than the one before."""
cimport cython


# ---------------------------------------------------------------- version 2
def add_untyped(out, x, y):
    for i in range(len(out)):
        out[i] = x[i] + y[i]


# ---------------------------------------------------------------- version 3
def add_typed(float[:] out, const float[:] x, const float[:] y):
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = x[i] + y[i]


# ---------------------------------------------------------------- version 4
@cython.boundscheck(False)
@cython.wraparound(False)
def add_unchecked(float[::1] out, const float[::1] x, const float[::1] y):
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = x[i] + y[i]


# ---------------------------------------------------------------- between 3 and 4
def add_contiguous(float[::1] out, const float[::1] x, const float[::1] y):
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = x[i] + y[i]


@cython.boundscheck(False)
@cython.wraparound(False)
def add_strided(float[:] out, const float[:] x, const float[:] y):
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = x[i] + y[i]
