"""Inner loops of variances and normalisations: sums of distances from a centre, of their squares and of products.

They add in LANES, FEW and blocks, as the sums of inner_loops.pxd do.
"""
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab.ops.inner_loops cimport BLOCK, FEW, LANES, fold_to_few, sum_few

cdef enum:
    PAIR_LANES = 2 * FEW        # of each of two sums that are formed together


cdef inline real sum_of_squares(real* x, real centre, ssize n) noexcept nogil:
    """The squares of the distances from `centre`, added up."""
    return sum_around(x, centre, n, True)

cdef inline real sum_around(real* x, real centre, ssize n, bint is_squared) noexcept nogil:
    """The distances from `centre`, or their squares, added up."""
    cdef real[LANES] lane
    cdef real[FEW] few
    cdef real total = 0
    cdef ssize i = 0
    cdef int k
    for k in range(FEW):
        few[k] = 0
    if n >= LANES:
        for k in range(LANES):
            lane[k] = 0
        while i + LANES <= n:
            for k in range(LANES):
                lane[k] += distance(x[i + k], centre, is_squared)
            i += LANES
        fold_to_few(few, lane)
    while i + FEW <= n:
        for k in range(FEW):
            few[k] += distance(x[i + k], centre, is_squared)
        i += FEW
    if n >= FEW:
        total = sum_few(few)
    while i < n:
        total += distance(x[i], centre, is_squared)
        i += 1
    return total

cdef inline real sum_of_blocks(real* x, real centre, ssize n, bint is_squared) noexcept nogil:
    """The same in blocks, so that each running sum stays short."""
    cdef real total = 0
    cdef ssize j = 0
    while j < n:
        total += sum_around(x + j, centre, min(<ssize>BLOCK, n - j), is_squared)
        j += BLOCK
    return total

cdef inline real distance(real x, real centre, bint is_squared) noexcept nogil:
    return (x - centre) * (x - centre) if is_squared else x - centre

cdef inline real weighted_sums(real* grad, real* weight, real* x, real mean, ssize n, real* with_x) noexcept nogil:
    """sum(g), returned, and sum(g * (x - mean)), where g = grad * weight."""
    cdef real[PAIR_LANES] lane
    cdef real[PAIR_LANES] lane_with_x
    cdef real[FEW] few, few_with_x
    cdef real total = 0, g, rest
    cdef ssize i = 0
    cdef int k
    if n > BLOCK:
        i = (n >> 1) & ~<ssize>63
        total = weighted_sums(grad + i, weight + i if weight != NULL else weight, x + i, mean, n - i, &rest)
        total += weighted_sums(grad, weight, x, mean, i, with_x)
        with_x[0] += rest
        return total
    with_x[0] = 0
    if n >= PAIR_LANES:
        for k in range(PAIR_LANES):
            lane[k] = 0
            lane_with_x[k] = 0
        if weight != NULL:
            while i + PAIR_LANES <= n:
                for k in range(PAIR_LANES):
                    g = grad[i + k] * weight[i + k]
                    lane[k] += g
                    lane_with_x[k] += g * (x[i + k] - mean)
                i += PAIR_LANES
        else:
            while i + PAIR_LANES <= n:
                for k in range(PAIR_LANES):
                    lane[k] += grad[i + k]
                    lane_with_x[k] += grad[i + k] * (x[i + k] - mean)
                i += PAIR_LANES
        for k in range(FEW):
            few[k] = lane[k] + lane[k + FEW]
            few_with_x[k] = lane_with_x[k] + lane_with_x[k + FEW]
        total, with_x[0] = sum_few(few), sum_few(few_with_x)
    while i < n:
        g = grad[i] * (weight[i] if weight != NULL else <real>1)
        total += g
        with_x[0] += g * (x[i] - mean)
        i += 1
    return total
