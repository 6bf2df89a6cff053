"""QR factorisations of many small matrices, as many at a time as a vector register holds numbers: see small_matrices.pyx.

The results are LAPACK's, number by number: the same reflections with the same signs.
"""
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport range_body
from tensorlab._core.loops.vectors cimport all_of, doubles, floats, fused, lanes, root, where_more, where_same
from tensorlab.ops.linalg.lapack_library cimport D
from tensorlab.ops.linalg.matrix_batches cimport Job
from tensorlab.ops.linalg.small_matrices cimport in_lanes_with, lanes_with_nan, load, store

cdef enum:
    LARGEST = 512               # elements up to which this is faster than LAPACK: 32 KiB of vectors, the L1 cache


cdef ssize vectors_for(Job* job, int reflections) noexcept nogil:
    """Those of the matrix and of the factors; 0 if LAPACK is faster."""
    cdef ssize elements = <ssize>job.m * job.n
    return elements + reflections if 1 <= elements <= LARGEST and reflections > 0 else 0


# ---------------------------------------------------------------- geqrf
cdef void reflect_in_lanes(range_body rest, Job* job, ssize begin, ssize end) noexcept nogil:
    """R and reflections of each, in place. Tensors: A, tau."""
    in_lanes_with(reflect_lanes, rest, job, begin, end, vectors_for(job, min(job.m, job.n)))

cdef unsigned int reflect_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil:
    if job.column == D:
        return reflect_as(job, first, count, <doubles*>space)
    return reflect_as(job, first, count, <floats*>space)

cdef unsigned int reflect_as(Job* job, ssize first, ssize count, lanes* a) noexcept nogil:
    cdef int m = job.m, n = job.n, k = min(m, n), i
    cdef lanes* tau = a + m * n
    cdef lanes checks = all_of(0, a)
    cdef unsigned int left_out
    load(a, job, 0, first, count, m * n)
    for i in range(k):
        tau[i] = reflection(a + i * m, i, m, &checks)
        apply_reflection(a + i * m, tau[i], i, m, a + (i + 1) * m, n - i - 1)
    left_out = lanes_with_nan(&checks, count)
    store(a, job, 0, first, count, m * n, left_out)
    store(tau, job, 1, first, count, k, left_out)
    return left_out

cdef inline lanes reflection(lanes* x, int k, int m, lanes* checks) noexcept nogil:
    """Make the reflection that takes x, from element k on, to a multiple of the first unit vector; return its factor.

    LAPACK is left the columns that hold nan or inf, and those that need care with squares that are too large or small.
    """
    cdef lanes zero = all_of(0, x), one = all_of(1, x), alpha = x[k], rest = zero, square, beta, inverse
    cdef int i
    for i in range(k + 1, m):
        rest = fused(x[i], x[i], rest)
    square = fused(alpha, alpha, rest)
    checks[0] = checks[0] + square * zero + where_more(square, all_of(1e-24, x), zero, zero / zero)
    beta = root(square)
    beta = where_more(zero, alpha, beta, -beta)
    beta = where_same(rest, zero, alpha, beta)          # nothing to do: then the factor is 0
    inverse = where_same(rest, zero, zero, one / (alpha - beta))
    x[k] = beta
    for i in range(k + 1, m):
        x[i] = x[i] * inverse
    return (beta - alpha) / beta

cdef inline void apply_reflection(lanes* v, lanes tau, int k, int m, lanes* columns, int count) noexcept nogil:
    """columns -= tau v (v^T columns), of vectors v that have a 1, which isn't stored, at k and zeros before."""
    cdef lanes dot
    cdef lanes* x
    cdef int i, j
    for j in range(count):
        x = columns + j * m
        dot = x[k]
        for i in range(k + 1, m):
            dot = fused(v[i], x[i], dot)
        dot = -tau * dot
        x[k] = x[k] + dot
        for i in range(k + 1, m):
            x[i] = fused(v[i], dot, x[i])


# ---------------------------------------------------------------- Q
cdef void multiply_in_lanes(range_body rest, Job* job, ssize begin, ssize end) noexcept nogil:
    """The first n columns of Q, over the k reflections. Tensors: reflections, tau."""
    in_lanes_with(multiply_lanes, rest, job, begin, end, vectors_for(job, job.k))

cdef unsigned int multiply_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil:
    if job.column == D:
        return multiply_as(job, first, count, <doubles*>space)
    return multiply_as(job, first, count, <floats*>space)

cdef unsigned int multiply_as(Job* job, ssize first, ssize count, lanes* a) noexcept nogil:
    """From the last reflection to the first: it changes the columns to its right, and its own is that of a unit vector.

    Where something is nan or inf, LAPACK says how far that spreads.
    """
    cdef int m = job.m, n = job.n, i, j
    cdef lanes* tau = a + m * n
    cdef lanes* column
    cdef lanes checks = all_of(0, a), zero = all_of(0, a)
    cdef unsigned int left_out
    load(a, job, 0, first, count, m * job.k)
    load(tau, job, 1, first, count, job.k)
    for i in range(m * job.k):
        checks = checks + a[i] * zero
    for i in range(job.k):
        checks = checks + tau[i] * zero
    left_out = lanes_with_nan(&checks, count)
    for j in range(job.k, n):
        for i in range(m):
            a[j * m + i] = all_of(i == j, a)
    for j in range(job.k - 1, -1, -1):
        column = a + j * m
        apply_reflection(column, tau[j], j, m, column + m, n - j - 1)
        for i in range(j + 1, m):
            column[i] = -tau[j] * column[i]
        column[j] = all_of(1, a) - tau[j]
        for i in range(j):
            column[i] = all_of(0, a)
    store(a, job, 0, first, count, m * n, left_out)
    return left_out
