"""Six loops on raw memory, called through a table as the library calls its own."""

ctypedef void (*loop)(float* out, const float* x, const float* y, Py_ssize_t n) noexcept nogil


# ---------------------------------------------------------------- loops
cdef void plain(float* out, const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = x[i] + y[i]


cdef void choice(float* out, const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = x[i] + y[i] if x[i] > 0 else 0


cdef void halved(float* out, const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = x[i] + 0.5 * y[i]


cdef void stops(float* out, const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if x[i] != x[i]:
            break
        out[i] = x[i] + y[i]


cdef void total(float* out, const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef float running = 0
    for i in range(n):
        running += x[i]
    out[0] = running


cdef void chain(float* out, const float* x, const float* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef float running = 0
    for i in range(n):
        running = running * y[i] + x[i]
        out[i] = running


# ---------------------------------------------------------------- the table
NAMES = ("plain", "choice", "halved", "stops", "total", "chain")
cdef loop[6] LOOPS
LOOPS[:] = [plain, choice, halved, stops, total, chain]


def call(str name, size_t out, size_t x, size_t y, Py_ssize_t n, Py_ssize_t times=1):
    """Run a loop on float32 numbers at three addresses, such as those that `data_ptr` gives."""
    cdef loop chosen = LOOPS[NAMES.index(name)]
    cdef Py_ssize_t _i
    with nogil:
        for _i in range(times):
            chosen(<float*>out, <const float*>x, <const float*>y, n)


def call_locked(str name, size_t out, size_t x, size_t y, Py_ssize_t n, Py_ssize_t times=1):
    """The same without `with nogil`."""
    cdef loop chosen = LOOPS[NAMES.index(name)]
    cdef Py_ssize_t _i
    for _i in range(times):
        chosen(<float*>out, <const float*>x, <const float*>y, n)
