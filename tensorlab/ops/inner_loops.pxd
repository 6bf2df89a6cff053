"""Inner loops over contiguous elements that several families share: their sum, the largest, exponentials.

A compiler may not reorder a sum of floats, so a plain loop adds one number at a time, each addition waiting for the
last. Here the elements are added up in LANES running sums side by side: the loop becomes vector instructions, and the error is
smaller too, because each running sum is shorter. Blocks of BLOCK elements are then added pairwise, so that the error
grows with log n (Higham 1993, "The accuracy of floating point summation").
"""
from libc.stdint cimport int64_t, uint32_t

cimport tensorlab._core.loops.tl_math as tl_math
from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize

cdef extern from "tl_math.h" nogil:
    float tl_exp_splitf(float, float, uint32_t*)
    float tl_float_of_bits(uint32_t)

cdef extern from *:
    float INFINITY

ctypedef fused total:           # what sums are computed in
    float
    double
    int64_t

cdef enum:
    LANES = 64                  # 4 registers of 16 floats: enough to hide the 4 cycles that an addition takes
    FEW = 16
    BLOCK = 8192


cdef inline total sum_short(total* x, ssize n) noexcept nogil:
    cdef total result = 0
    cdef ssize i
    for i in range(n):
        result += x[i]
    return result

cdef inline void fold_to_few(total* few, const total* lane) noexcept nogil:
    """LANES running sums become FEW."""
    cdef int k
    for k in range(FEW):
        few[k] = (lane[k] + lane[k + 16]) + (lane[k + 32] + lane[k + 48])

cdef inline total sum_few(total* few) noexcept nogil:
    """FEW running sums become one."""
    cdef int k
    for k in range(8):                  # four loops of constant length: they stay in registers
        few[k] += few[k + 8]
    for k in range(4):
        few[k] += few[k + 4]
    for k in range(2):
        few[k] += few[k + 2]
    return few[0] + few[1]

cdef inline total sum_block(total* x, ssize n) noexcept nogil:
    """LANES running sums, then FEW of them, then one."""
    cdef total[LANES] lane
    cdef total[FEW] few                 # an array of its own stays in registers
    cdef ssize i = 0
    cdef int k
    for k in range(LANES):
        lane[k] = 0
    while i + LANES <= n:
        for k in range(LANES):
            lane[k] += x[i + k]
        i += LANES
    fold_to_few(few, lane)
    while i + FEW <= n:
        for k in range(FEW):
            few[k] += x[i + k]
        i += FEW
    return sum_few(few) + sum_short(x + i, n - i)

cdef inline total pairwise_sum(total* x, ssize n) noexcept nogil:
    """The sum of n elements; halves of long runs are summed separately (pairwise summation)."""
    cdef ssize half
    if n < FEW:
        return sum_short(x, n)
    if n <= BLOCK:
        return sum_block(x, n)
    half = (n >> 1) & ~<ssize>63
    return pairwise_sum(x, half) + pairwise_sum(x + half, n - half)

cdef inline real sum_of_products(real* x, real* y, ssize n) noexcept nogil:
    """The dot product of two runs of n elements."""
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
                lane[k] += x[i + k] * y[i + k]
            i += LANES
        fold_to_few(few, lane)
    while i + FEW <= n:
        for k in range(FEW):
            few[k] += x[i + k] * y[i + k]
        i += FEW
    if n >= FEW:
        total = sum_few(few)
    while i < n:
        total += x[i] * y[i]
        i += 1
    return total

cdef inline real largest(real* x, ssize n) noexcept nogil:
    """The largest element; nan is passed over. The last block overlaps the one before it, which changes nothing."""
    cdef real[LANES] lane
    cdef real[FEW] few
    cdef real best = <real>-INFINITY
    cdef ssize i
    cdef int k
    if n < FEW:
        for i in range(n):
            best = larger(x[i], best)
        return best
    if n < LANES:
        for k in range(FEW):
            few[k] = larger(x[k], x[n - FEW + k])
        if n > 2 * FEW:
            for k in range(FEW):
                few[k] = larger(larger(x[k + FEW], x[n - 2 * FEW + k]), few[k])
    else:
        for k in range(LANES):
            lane[k] = x[k]
        i = LANES
        while i < n:
            i = min(i, n - LANES)
            for k in range(LANES):
                lane[k] = larger(x[i + k], lane[k])
            i += LANES
        for k in range(FEW):
            few[k] = larger(larger(lane[k + 48], lane[k + 32]), larger(lane[k + 16], lane[k]))
    for k in range(4):                  # loops of constant length
        few[k] = larger(larger(few[k + 12], few[k + 8]), larger(few[k + 4], few[k]))
    return larger(larger(few[3], few[2]), larger(few[1], few[0]))

cdef inline real larger(real x, real y) noexcept nogil:
    return x if x > y else y

cdef inline real exp_nonpositive(real x) noexcept nogil:
    """exp(x) for x <= 0, as a softmax needs it. Results below the normal numbers of float32 become 0, which saves a
    fifth of the time: 2**k then is one factor, where tl_expf needs two."""
    cdef uint32_t k_bits
    cdef float p
    if real is float:
        p = tl_exp_splitf(x, <float>12582912.0 + <float>127.0, &k_bits)     # k_bits ends in k + 127
        return <float>0.0 if x < <float>-87.33654 else (<float>1.0 + p) * tl_float_of_bits(k_bits << 23)
    else:
        return tl_math.exp(x)

cdef inline void exp_shifted(real* out, real* x, real shift, ssize n) noexcept nogil:
    """out = exp(x - shift), where no element is above shift"""
    cdef ssize i
    for i in range(n):
        out[i] = exp_nonpositive(x[i] - shift)
