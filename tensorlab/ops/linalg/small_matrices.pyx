"""Factorisations of many small matrices, as many at a time as a vector register holds numbers.

Function calls, and loops of eight steps, cost LAPACK more than the arithmetic of an 8 x 8 matrix. So we lay several matrices
side by side: element (i, j) of all of them fills one vector, its *lanes*, and each step of an algorithm is done for all of them
with one instruction. With registers of 64 bytes, eight matrices of doubles:

    element (0, 0)          element (1, 0)          ...
    |-- 8 matrices --|      |-- 8 matrices --|

An algorithm then reads as it does for a single matrix, with a vector instead of each number. Lanes can't branch, so a decision
that differs from matrix to matrix, such as which row is the pivot, is a selection. And a matrix that needs care (it is singular
or not positive definite, holds nan, or doesn't converge) is left as it was, for LAPACK: the functions return a bit for it.
"""
from libc.math cimport frexp, ldexp
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport range_body
from tensorlab._core.loops.vectors cimport (
    absolute, all_of, doubles, floats, lane, lanes, root, set_lane, where_more, where_same
)
from tensorlab.ops.linalg.lapack_library cimport C, D
from tensorlab.ops.linalg.matrix_batches cimport Job, matrix_at

cdef extern from "transpose.h" nogil:
    void tl_transpose_4(int32_t* out, ssize out_stride, const int32_t* x, ssize x_stride)
    void tl_transpose_8(int64_t* out, ssize out_stride, const int64_t* x, ssize x_stride)

cdef enum:
    SWEEPS = 14                 # of Jacobi's rotations, after which LAPACK takes over


cdef void in_lanes(lanes_function function, range_body rest, Job* job, ssize begin, ssize end) noexcept nogil:
    """Let the function work on real square matrices that are small and many, and `rest`, which calls LAPACK, on all others."""
    cdef ssize side = max(job.n, job.k)
    cdef bint is_small = 1 <= job.n <= LARGEST and job.m == job.n and side <= 2 * LARGEST
    in_lanes_with(function, rest, job, begin, end, 2 * job.n * side + 4 * side if is_small else 0)


cdef void in_lanes_with(lanes_function function, range_body rest, Job* job, ssize begin, ssize end, ssize vectors) noexcept nogil:
    """The same for matrices of any shape: the function needs memory for so many vectors; 0 says that they aren't small."""
    cdef ssize first = begin, count, width = sizeof(floats) // job.size, slot
    cdef char* memory = NULL
    cdef unsigned int left_out
    if job.column < C and end - begin >= FEW and vectors > 0:
        memory = <char*>malloc(vectors * sizeof(floats) + 64)
    if memory == NULL:
        rest(job, begin, end)
        return
    while first < end:
        count = min(width, end - first)
        left_out = function(job, first, count, memory + (64 - <size_t>memory % 64))     # SIMD likes addresses by 64
        for slot in range(count):
            if left_out >> slot & 1:
                rest(job, first + slot, first + slot + 1)
        first += width
    free(memory)


# ---------------------------------------------------------------- vectors
cdef unsigned int lanes_with_nan(lanes* x, ssize count) noexcept nogil:
    """A bit for each lane that holds nan."""
    cdef unsigned int bits = 0
    cdef ssize slot
    for slot in range(count):
        if lane(x, slot) != lane(x, slot):
            bits |= <unsigned int>1 << slot
    return bits


# ---------------------------------------------------------------- in and out
cdef void load(lanes* out, Job* job, int tensor, ssize first, ssize count, ssize elements) noexcept nogil:
    """Element e of matrix `first` + slot goes to lane slot of vector e; lanes from `count` on repeat the first matrix."""
    cdef ssize e = 0, slot, whole = 0, width = sizeof(lanes) // job.size, step = job.steps[tensor] // job.size
    cdef char* x = matrix_at(job, tensor, first)
    if lanes is floats:
        if count == width and width % 8 == 0:
            whole = elements // 8 * 8
            for e in range(0, whole, 8):
                for slot in range(0, width, 8):
                    tl_transpose_4(<int32_t*>out + e * width + slot, width, <int32_t*>x + slot * step + e, step)
        for slot in range(width):
            for e in range(whole, elements):
                (<float*>out)[e * width + slot] = (<float*>x)[(slot if slot < count else 0) * step + e]
    else:
        if count == width and width % 4 == 0:
            whole = elements // 4 * 4
            for e in range(0, whole, 4):
                for slot in range(0, width, 4):
                    tl_transpose_8(<int64_t*>out + e * width + slot, width, <int64_t*>x + slot * step + e, step)
        for slot in range(width):
            for e in range(whole, elements):
                (<double*>out)[e * width + slot] = (<double*>x)[(slot if slot < count else 0) * step + e]


cdef void store(lanes* x, Job* job, int tensor, ssize first, ssize count, ssize elements, unsigned int left_out) noexcept nogil:
    """The reverse, without the lanes that are left out."""
    cdef ssize e = 0, slot, whole = 0, width = sizeof(lanes) // job.size, step = job.steps[tensor] // job.size
    cdef char* out = matrix_at(job, tensor, first)
    if lanes is floats:
        if count == width and width % 8 == 0 and left_out == 0:
            whole = elements // 8 * 8
            for e in range(0, whole, 8):
                for slot in range(0, width, 8):
                    tl_transpose_4(<int32_t*>out + slot * step + e, step, <int32_t*>x + e * width + slot, width)
        for slot in range(count):
            if not left_out >> slot & 1:
                for e in range(whole, elements):
                    (<float*>out)[slot * step + e] = (<float*>x)[e * width + slot]
    else:
        if count == width and width % 4 == 0 and left_out == 0:
            whole = elements // 4 * 4
            for e in range(0, whole, 4):
                for slot in range(0, width, 4):
                    tl_transpose_8(<int64_t*>out + slot * step + e, step, <int64_t*>x + e * width + slot, width)
        for slot in range(count):
            if not left_out >> slot & 1:
                for e in range(whole, elements):
                    (<double*>out)[slot * step + e] = (<double*>x)[e * width + slot]


cdef void store_info(Job* job, int tensor, ssize first, ssize count) noexcept nogil:
    """0, for success. LAPACK overwrites it for the lanes that are left out."""
    cdef ssize slot
    for slot in range(count):
        (<int32_t*>matrix_at(job, tensor, first + slot))[0] = 0


# ---------------------------------------------------------------- LU
cdef unsigned int lu(lanes* a, lanes* pivots, int n, ssize count) noexcept nogil:
    """L and U in place; of each column the row of its pivot."""
    cdef lanes best, size, row, top, inverse, checks = all_of(0, a)
    cdef lanes* column
    cdef lanes* other
    cdef int i, j, k
    for k in range(n):
        column = a + k * n
        best, row = absolute(column[k]), all_of(k, a)
        for i in range(k + 1, n):
            size = absolute(column[i])
            row = where_more(size, best, all_of(i, a), row)
            best = where_more(size, best, size, best)
        pivots[k] = row
        for j in range(n):
            exchange_rows(a + j * n, k, n, row)
        inverse = all_of(1, a) / column[k]
        checks = checks + column[k] * inverse           # nan if the pivot is 0, inf or nan
        for i in range(k + 1, n):
            column[i] = column[i] * inverse
        for j in range(k + 1, n):
            other = a + j * n
            top = other[k]
            for i in range(k + 1, n):
                other[i] = other[i] - column[i] * top
    return lanes_with_nan(&checks, count)


cdef inline void exchange_rows(lanes* column, int k, int n, lanes row) noexcept nogil:
    """Element k with that of another row, which may be k itself."""
    cdef lanes first = column[k], top = column[k], x
    cdef int i
    for i in range(k + 1, n):
        x = column[i]
        column[i] = where_same(row, all_of(i, column), first, x)
        top = where_same(row, all_of(i, column), x, top)
    column[k] = top


cdef unsigned int solve_lu(lanes* a, lanes* pivots, int n, lanes* b, int columns, lanes* inverses, ssize count) noexcept nogil:
    """Columns of b, n rows each, in place."""
    cdef lanes checks = all_of(0, a)
    cdef lanes* x
    cdef int i, j, k
    for k in range(n):
        inverses[k] = all_of(1, a) / a[k * n + k]
        checks = checks + a[k * n + k] * inverses[k]
    for j in range(columns):
        x = b + j * n
        for k in range(n):
            exchange_rows(x, k, n, pivots[k])
        for k in range(n):
            for i in range(k + 1, n):
                x[i] = x[i] - a[k * n + i] * x[k]
        for k in range(n - 1, -1, -1):
            x[k] = x[k] * inverses[k]
            for i in range(k):
                x[i] = x[i] - a[k * n + i] * x[k]
    return lanes_with_nan(&checks, count)


cdef void store_pivots(Job* job, lanes* pivots, ssize first, ssize count) noexcept nogil:
    """Tensor 1: the rows, counted from 1."""
    cdef int32_t* rows
    cdef int k
    cdef ssize slot
    for slot in range(count):
        rows = <int32_t*>matrix_at(job, 1, first + slot)
        for k in range(job.n):
            rows[k] = <int32_t>lane(pivots + k, slot) + 1


cdef unsigned int factor_as(Job* job, ssize first, ssize count, lanes* a) noexcept nogil:
    cdef lanes* pivots = a + job.n * job.n
    cdef unsigned int left_out
    load(a, job, 0, first, count, job.n * job.n)
    left_out = lu(a, pivots, job.n, count)
    store(a, job, 0, first, count, job.n * job.n, left_out)
    store_pivots(job, pivots, first, count)
    store_info(job, 2, first, count)
    return left_out

cdef unsigned int factor_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil:
    """LU in place. Tensors: A, pivots, info."""
    if job.column == D:
        return factor_as(job, first, count, <doubles*>space)
    return factor_as(job, first, count, <floats*>space)


cdef unsigned int solve_as(Job* job, ssize first, ssize count, lanes* a) noexcept nogil:
    cdef int n = job.n, k
    cdef lanes* pivots = a + n * n
    cdef lanes* inverses = pivots + n
    cdef lanes* b = inverses + n
    cdef ssize slot, width = sizeof(lanes) // job.size
    cdef unsigned int left_out
    cdef int32_t* rows
    load(a, job, 0, first, count, n * n)
    load(b, job, 2, first, count, n * job.k)
    for slot in range(width):
        rows = <int32_t*>matrix_at(job, 1, first + (slot if slot < count else 0))
        for k in range(n):
            set_lane(pivots + k, slot, rows[k] - 1)
    left_out = solve_lu(a, pivots, n, b, job.k, inverses, count)
    store(b, job, 2, first, count, n * job.k, left_out)
    return left_out

cdef unsigned int solve_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil:
    """Solve with an LU factorisation, in place. Tensors: LU, pivots, B."""
    if job.column == D:
        return solve_as(job, first, count, <doubles*>space)
    return solve_as(job, first, count, <floats*>space)


cdef unsigned int invert_as(Job* job, ssize first, ssize count, lanes* a) noexcept nogil:
    cdef int n = job.n, i
    cdef lanes* pivots = a + n * n
    cdef lanes* inverses = pivots + n
    cdef lanes* b = inverses + n
    cdef unsigned int left_out
    load(a, job, 0, first, count, n * n)
    left_out = lu(a, pivots, n, count)
    for i in range(n * n):
        b[i] = all_of(i % (n + 1) == 0, a)
    solve_lu(a, pivots, n, b, n, inverses, count)
    store(b, job, 0, first, count, n * n, left_out)
    store_info(job, 2, first, count)
    return left_out

cdef unsigned int invert_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil:
    """The inverse in place. Tensors: A, pivots, which aren't written, and info."""
    if job.column == D:
        return invert_as(job, first, count, <doubles*>space)
    return invert_as(job, first, count, <floats*>space)


# ---------------------------------------------------------------- Cholesky
cdef void keep_triangle(lanes* a, int n, bint upper, bint as_upper) noexcept nogil:
    """Bring one triangle to where the other is, or leave it, and fill the other with zeros."""
    cdef int i, j
    cdef lanes x
    for j in range(n):
        for i in range(j + 1, n):
            x = a[i * n + j] if upper else a[j * n + i]
            a[j * n + i] = all_of(0, a) if as_upper else x
            a[i * n + j] = x if as_upper else all_of(0, a)


cdef unsigned int cholesky_as(Job* job, ssize first, ssize count, lanes* a) noexcept nogil:
    cdef int n = job.n, i, j, k
    cdef bint upper = job.flags[0] == b"U"
    cdef lanes inverse, x, checks = all_of(0, a)
    cdef lanes* column
    cdef unsigned int left_out
    load(a, job, 0, first, count, n * n)
    keep_triangle(a, n, upper, False)
    for k in range(n):
        column = a + k * n
        column[k] = root(column[k])
        inverse = all_of(1, a) / column[k]
        checks = checks + column[k] * inverse           # nan if the square was below 0, 0, inf or nan
        for i in range(k + 1, n):
            column[i] = column[i] * inverse
        for j in range(k + 1, n):
            x = column[j]
            for i in range(j, n):
                a[j * n + i] = a[j * n + i] - column[i] * x
    left_out = lanes_with_nan(&checks, count)
    keep_triangle(a, n, False, upper)
    store(a, job, 0, first, count, n * n, left_out)
    store_info(job, 1, first, count)
    return left_out

cdef unsigned int cholesky_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil:
    """Cholesky in place, with zeros beyond its triangle. Tensors: A, info; flag: the triangle."""
    if job.column == D:
        return cholesky_as(job, first, count, <doubles*>space)
    return cholesky_as(job, first, count, <floats*>space)


# ---------------------------------------------------------------- eigenvalues
cdef inline void rotate(lanes* x, lanes* y, lanes cosine, lanes sine) noexcept nogil:
    """x, y = c x - s y, s x + c y"""
    cdef lanes a = x[0], b = y[0]
    x[0] = cosine * a - sine * b
    y[0] = sine * a + cosine * b

cdef inline lanes tangent_between(lanes x, lanes y, lanes product) noexcept nogil:
    """Of the angle of the rotation that makes [[x, product], [product, y]] diagonal; 0 if it is."""
    cdef lanes zero = all_of(0, &x), one = all_of(1, &x)
    cdef lanes z = (y - x) / (product + product)
    cdef lanes t = one / (absolute(z) + root(one + z * z))
    return where_more(absolute(product), zero, where_more(zero, z, -t, t), zero)


cdef inline void cosine_and_sine(lanes tangent, lanes* cosine, lanes* sine) noexcept nogil:
    cosine[0] = all_of(1, cosine) / root(all_of(1, cosine) + tangent * tangent)
    sine[0] = tangent * cosine[0]


cdef void sweep(lanes* a, lanes* v, int n, bint with_vectors) noexcept nogil:
    """One rotation for each pair of rows and columns, which makes the element at which they meet 0 (C. Jacobi, 1846).

    Only the lower triangle of A is kept: element (i, j) with i >= j at a[j * n + i].
    """
    cdef lanes cosine, sine, tangent, product
    cdef int p, q, r
    for p in range(n - 1):
        for q in range(p + 1, n):
            product = a[p * n + q]
            tangent = tangent_between(a[p * n + p], a[q * n + q], product)
            cosine_and_sine(tangent, &cosine, &sine)
            a[p * n + p] = a[p * n + p] - tangent * product
            a[q * n + q] = a[q * n + q] + tangent * product
            a[p * n + q] = all_of(0, a)
            for r in range(p):
                rotate(a + r * n + p, a + r * n + q, cosine, sine)
            for r in range(p + 1, q):
                rotate(a + p * n + r, a + r * n + q, cosine, sine)
            for r in range(q + 1, n):
                rotate(a + p * n + r, a + q * n + r, cosine, sine)
            if with_vectors:
                for r in range(n):
                    rotate(v + p * n + r, v + q * n + r, cosine, sine)


cdef unsigned int not_diagonal(lanes* a, int n, ssize count) noexcept nogil:
    """A bit for each lane in which elements outside of the diagonal matter, or aren't finite."""
    cdef lanes outside = all_of(0, a), inside = all_of(0, a)
    cdef double eps = 1.2e-7 if lanes is floats else 2.2e-16
    cdef unsigned int bits = 0
    cdef int i, j
    cdef ssize slot
    for j in range(n):
        inside = inside + absolute(a[j * n + j])
        for i in range(j + 1, n):
            outside = outside + absolute(a[j * n + i])
    for slot in range(count):
        if not (lane(&outside, slot) <= eps / 4 * lane(&inside, slot) and lane(&inside, slot) - lane(&inside, slot) == 0):
            bits |= <unsigned int>1 << slot
    return bits


cdef unsigned int eigen_as(Job* job, ssize first, ssize count, lanes* a) noexcept nogil:
    cdef int n = job.n, i, sweeps = 0
    cdef bint with_vectors = job.flags[0] == b"V"
    cdef lanes* v = a + n * n
    cdef unsigned int left_out
    cdef ssize slot
    load(a, job, 0, first, count, n * n)
    keep_triangle(a, n, job.flags[1] == b"U", False)
    for i in range(n * n):
        v[i] = all_of(i % (n + 1) == 0, a)
    left_out = not_diagonal(a, n, count)
    while left_out != 0 and sweeps < SWEEPS:
        sweep(a, v, n, with_vectors)
        left_out = not_diagonal(a, n, count)
        sweeps += 1
    store_info(job, 2, first, count)
    for slot in range(count):
        if not left_out >> slot & 1:
            store_eigen(job, a, v, first, slot, with_vectors)
    return left_out


cdef void store_eigen(Job* job, lanes* a, lanes* v, ssize first, ssize slot, bint with_vectors) noexcept nogil:
    """One lane, in ascending order."""
    cdef int n = job.n, i, j
    cdef int[LARGEST] order
    cdef lanes* values = <lanes*>matrix_at(job, 1, first + slot)
    cdef lanes* vectors = <lanes*>matrix_at(job, 0, first + slot)
    sort_lane(a, n + 1, slot, n, True, order)
    for j in range(n):
        set_lane(values, j, lane(a + order[j] * (n + 1), slot))
        for i in range(n if with_vectors else 0):
            set_lane(vectors, j * n + i, lane(v + order[j] * n + i, slot))


cdef void sort_lane(lanes* x, int step, ssize slot, int n, bint ascending, int* order) noexcept nogil:
    """Where the smallest or largest of n numbers of a lane is, the next, and so on."""
    cdef int i, j
    cdef double number, sign = 1 if ascending else -1
    for j in range(n):
        number = sign * lane(x + j * step, slot)
        i = j
        while i > 0 and sign * lane(x + order[i - 1] * step, slot) > number:
            order[i] = order[i - 1]
            i -= 1
        order[i] = j


cdef unsigned int eigen_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil:
    """Eigenvalues, and vectors in place. Tensors: A, eigenvalues, info; flags: with vectors or without, the triangle."""
    if job.column == D:
        return eigen_as(job, first, count, <doubles*>space)
    return eigen_as(job, first, count, <floats*>space)


# ---------------------------------------------------------------- singular values
cdef lanes sweep_columns(lanes* a, lanes* v, int n, bint with_vectors) noexcept nogil:
    """One rotation for each pair of columns, which makes them orthogonal (M. Hestenes, 1958).

    Returns 1 in the lanes in which a pair was not orthogonal before, so far as rounding lets us know.
    """
    cdef double eps = 1.2e-7 if lanes is floats else 2.2e-16
    cdef lanes limit = all_of(n * n * eps * eps, a), moved = all_of(0, a)
    cdef lanes xx, xy, yy, cosine, sine
    cdef lanes* x
    cdef lanes* y
    cdef int p, q, r
    for p in range(n - 1):
        for q in range(p + 1, n):
            x, y = a + p * n, a + q * n
            xx, xy, yy = all_of(0, a), all_of(0, a), all_of(0, a)
            for r in range(n):
                xx = xx + x[r] * x[r]
                xy = xy + x[r] * y[r]
                yy = yy + y[r] * y[r]
            moved = where_more(xy * xy, limit * (xx * yy), all_of(1, a), moved)
            cosine_and_sine(tangent_between(xx, yy, xy), &cosine, &sine)
            for r in range(n):
                rotate(x + r, y + r, cosine, sine)
            if with_vectors:
                for r in range(n):
                    rotate(v + p * n + r, v + q * n + r, cosine, sine)
    return moved


cdef lanes powers_of_two(lanes* a, ssize elements, ssize width) noexcept nogil:
    """Such that the largest element of each lane, divided by its power, is between 0.5 and 1: the squares stay in range."""
    cdef lanes largest = all_of(0, a), powers
    cdef int exponent
    cdef ssize e, slot
    for e in range(elements):
        largest = where_more(absolute(a[e]), largest, absolute(a[e]), largest)
    for slot in range(width):
        frexp(lane(&largest, slot), &exponent)
        set_lane(&powers, slot, ldexp(1, exponent))
    return powers


cdef unsigned int singular_as(Job* job, ssize first, ssize count, lanes* a) noexcept nogil:
    """Rotations V of the columns that make A V = U S orthogonal."""
    cdef int n = job.n, i, j, sweeps = 0
    cdef bint with_vectors = job.flags[0] != b"N"
    cdef lanes* v = a + n * n
    cdef lanes* lengths = v + n * n
    cdef lanes powers, moved
    cdef unsigned int left_out = 1
    cdef ssize slot
    load(a, job, 0, first, count, n * n)
    powers = powers_of_two(a, n * n, sizeof(lanes) // job.size)
    for i in range(n * n):
        a[i] = a[i] / powers
        v[i] = all_of(i % (n + 1) == 0, a)
    while left_out != 0 and sweeps < SWEEPS:
        moved = sweep_columns(a, v, n, with_vectors)
        left_out = 0
        for slot in range(count):
            left_out |= <unsigned int>(lane(&moved, slot) != 0) << slot
        sweeps += 1
    for j in range(n):
        lengths[j] = all_of(0, a)
        for i in range(n):
            lengths[j] = lengths[j] + a[j * n + i] * a[j * n + i]
        lengths[j] = root(lengths[j])
    left_out |= nearly_singular(lengths, n, count)
    store_info(job, 2, first, count)
    for slot in range(count):
        if not left_out >> slot & 1:
            store_singular(job, a, v, lengths, lane(&powers, slot), first, slot, with_vectors)
    return left_out


cdef unsigned int nearly_singular(lanes* lengths, int n, ssize count) noexcept nogil:
    """A bit for each lane in which a column is so short that it has no direction any more, or isn't finite."""
    cdef double eps = 1.2e-7 if lanes is floats else 2.2e-16, least, total
    cdef unsigned int bits = 0
    cdef ssize slot
    cdef int j
    for slot in range(count):
        least, total = lane(lengths, slot), 0
        for j in range(n):
            least, total = min(least, lane(lengths + j, slot)), total + lane(lengths + j, slot)
        if not (least > 64 * eps * total and total - total == 0):
            bits |= <unsigned int>1 << slot
    return bits


cdef void store_singular(Job* job, lanes* a, lanes* v, lanes* lengths, double power, ssize first, ssize slot,
                         bint with_vectors) noexcept nogil:
    """One lane, in descending order. Tensors 1, 3 and 4: S, U and V^H."""
    cdef int n = job.n, i, j, k
    cdef int[LARGEST] order
    cdef lanes* values = <lanes*>matrix_at(job, 1, first + slot)
    cdef lanes* left
    cdef lanes* right
    sort_lane(lengths, 1, slot, n, False, order)
    for j in range(n):
        set_lane(values, j, lane(lengths + order[j], slot) * power)
    if not with_vectors:
        return
    left, right = <lanes*>matrix_at(job, 3, first + slot), <lanes*>matrix_at(job, 4, first + slot)
    for j in range(n):
        k = order[j]
        for i in range(n):
            set_lane(left, j * n + i, lane(a + k * n + i, slot) / lane(lengths + k, slot))
            set_lane(right, i * n + j, lane(v + k * n + i, slot))


cdef unsigned int singular_lanes(Job* job, ssize first, ssize count, void* space) noexcept nogil:
    """Of square matrices. Tensors: A, S, info, U, V^H; flag: whether vectors are wanted."""
    if job.column == D:
        return singular_as(job, first, count, <doubles*>space)
    return singular_as(job, first, count, <floats*>space)
