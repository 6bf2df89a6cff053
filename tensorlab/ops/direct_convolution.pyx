"""Convolution with one input channel per group, as in depthwise convolution, by adding shifted planes.

A plane is copied with its padding, by im2col.pyx. A row of the output is then a sum of shifted lines of that copy:

    padded rows of 4:  . . . . | . 1 2 . | . 3 4 . | . . . .       the tap in row b and column c of the kernel
    row y of out [j] = sum over taps of weight * padded[4 y + j + 4 b + c]             is the line from 4 b + c on

With a stride the copy consists of several phases, and each tap is a line of one of them.

The gradient by the input adds the gradient of the output, shifted the other way, a whole phase as one long line. Where the
kernel reaches over the end of a row it computes numbers that belong to no place; these are left out when the phase is copied
back. The gradient by the weight is an inner product for each tap. With more input channels a product of matrices is faster,
since the patches that it needs are used more than once.
"""
from libc.math cimport isfinite
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from tensorlab._core.dtypes cimport real
from tensorlab._core.layout cimport ssize
from tensorlab.ops.im2col cimport (
    BY_INPUT, FORWARD, Geometry, Wide, add_phases, copy_planes, find_tap, is_copy_small, measure, plane_size, start_image
)

cdef extern from "shifted_lines.h" nogil:
    enum:
        TL_VECTOR_BYTES
        TL_ROWS_AT_ONCE
    void tl_add_lines_32(float* out, const float* lines, const ssize* starts, const float* weights, ssize taps, ssize n)
    void tl_add_lines_64(double* out, const double* lines, const ssize* starts, const double* weights, ssize taps, ssize n)
    void tl_add_rows_32(float* out, const float* lines, ssize pitch, const float* weights, ssize n)
    void tl_add_rows_64(double* out, const double* lines, ssize pitch, const double* weights, ssize n)

cdef enum:
    LANES = 32


cdef bint is_direct(Geometry* geometry) noexcept nogil:
    """Can a convolution be done so?"""
    return (geometry.in_channels == 1 and plane_size(geometry.kernel) > 1
            and is_copy_small(geometry))


# ---------------------------------------------------------------- copying planes
cdef void copy_places(real* line, real* out, Geometry* geometry, Wide* wide) noexcept nogil:
    """A plane of the output, which has one phase and no padding."""
    cdef ssize[3] stride, padding
    stride[0] = stride[1] = stride[2] = 1
    padding[0] = padding[1] = padding[2] = 0
    copy_planes(line, out, 1, geometry.out, stride, padding, wide)


# ---------------------------------------------------------------- sums of lines
cdef inline void add_lines(real* out, const real* lines, const ssize* starts, const real* weights, ssize taps,
                           ssize n) noexcept nogil:
    """out[j] += sum over taps t of weights[t] * lines[starts[t] + j] for j below n."""
    if real is float:
        tl_add_lines_32(out, lines, starts, weights, taps, n)
    else:
        tl_add_lines_64(out, lines, starts, weights, taps, n)


cdef inline void add_rows(real* out, const real* lines, ssize pitch, const real* weights, ssize n) noexcept nogil:
    """TL_ROWS_AT_ONCE rows of n such sums, over 3 x 3 taps."""
    if real is float:
        tl_add_rows_32(out, lines, pitch, weights, n)
    else:
        tl_add_rows_64(out, lines, pitch, weights, n)


cdef real inner_of_lines(const real* x, const real* y, ssize n) noexcept nogil:
    """The sum of products. Sums that do not wait for each other become vectors."""
    cdef real[LANES] lane
    cdef real total = 0
    cdef ssize j = 0
    cdef int k
    for k in range(LANES):
        lane[k] = 0
    while j + LANES <= n:
        for k in range(LANES):
            lane[k] += x[j + k] * y[j + k]
        j += LANES
    for k in range(8):
        lane[k] = (lane[k] + lane[k + 8]) + (lane[k + 16] + lane[k + 24])
    for k in range(8):
        total += lane[k]
    while j < n:
        total += x[j] * y[j]
        j += 1
    return total


cdef real sum_of_places(const real* x, const real* grad, Geometry* geometry, Wide* wide) noexcept nogil:
    """An inner product of two lines at the places of the output only."""
    cdef ssize z, y, i, row
    cdef real total = 0
    for z in range(geometry.out[0]):
        for y in range(geometry.out[1]):
            row = (z * wide.size[1] + y) * wide.size[2]
            for i in range(geometry.out[2]):
                total += x[row + i] * grad[row + i]
    return total


# ---------------------------------------------------------------- one image and group
cdef struct Job:
    Geometry* geometry
    Wide wide
    ssize kernel                # taps,
    ssize* starts               # where the line of each begins in the phases,
    ssize* phases               # and in which it lies
    void* x                     # a channel in phases
    void* out                   # out_channels lines, each with `reach` zeros in front
    void* weights               # of the taps of a phase,
    ssize* shifts               # and where their lines begin


cdef inline void read_channel(real* x, Job* job) noexcept nogil:
    copy_planes(<real*>job.x, x, 1, job.geometry.sizes, job.geometry.stride, job.geometry.padding, &job.wide)


cdef inline void read_grads(real* out, Job* job) noexcept nogil:
    cdef ssize o
    for o in range(job.geometry.out_channels):
        copy_places(<real*>job.out + o * (job.wide.reach + job.wide.phase) + job.wide.reach,
                    out + o * plane_size(job.geometry.out), job.geometry, &job.wide)


cdef bint has_three_by_three(Geometry* geometry) noexcept nogil:
    """Is the kernel one of 3 x 3 whose taps are next to each other?"""
    cdef bint found = geometry.kernel[0] == 1
    cdef int d
    for d in range(1, 3):
        found = found and geometry.kernel[d] == 3 and geometry.stride[d] == 1 and geometry.dilation[d] == 1
    return found


cdef void forward(real* x, real* weight, real* out, Job* job) noexcept nogil:
    cdef ssize o, z, y, width = job.geometry.out[2], pitch = job.wide.size[2]
    cdef bint is_three = has_three_by_three(job.geometry)
    cdef const real* lines
    read_channel(x, job)
    for o in range(job.geometry.out_channels):
        for z in range(job.geometry.out[0]):
            y = 0
            while y < job.geometry.out[1]:
                lines = <real*>job.x + (z * job.wide.size[1] + y) * pitch
                if is_three and y + TL_ROWS_AT_ONCE <= job.geometry.out[1]:
                    add_rows(out + y * width, lines, pitch, weight + o * job.kernel, width)
                    y += TL_ROWS_AT_ONCE
                else:
                    add_lines(out + y * width, lines, job.starts, weight + o * job.kernel, job.kernel, width)
                    y += 1
            out += job.geometry.out[1] * width


cdef void by_input(real* x, real* weight, real* out, Job* job) noexcept nogil:
    cdef ssize o, t, n, phase
    cdef real* weights = <real*>job.weights
    read_grads(out, job)
    for phase in range(plane_size(job.geometry.stride)):
        n = 0
        for t in range(job.kernel):
            if job.phases[t] == phase:
                for o in range(job.geometry.out_channels):
                    job.shifts[n] = o * (job.wide.reach + job.wide.phase) + job.wide.reach - (
                        job.starts[t] - phase * job.wide.phase)
                    weights[n] = weight[o * job.kernel + t]
                    n += 1
        memset(<real*>job.x + phase * job.wide.phase, 0, job.wide.phase * sizeof(real))
        add_lines(<real*>job.x + phase * job.wide.phase, <real*>job.out, job.shifts, weights, n, job.wide.phase)
    add_phases(x, <real*>job.x, job.geometry.sizes, job.geometry.stride, job.geometry.padding, &job.wide)


cdef void by_weight(real* x, real* weight, real* out, Job* job) noexcept nogil:
    cdef ssize o, t
    cdef real* grads
    cdef real* line
    cdef real total
    read_channel(x, job)
    read_grads(out, job)
    for o in range(job.geometry.out_channels):
        grads = <real*>job.out + o * (job.wide.reach + job.wide.phase) + job.wide.reach
        for t in range(job.kernel):
            line = <real*>job.x + job.starts[t]
            total = inner_of_lines(line, grads, job.wide.places)
            if not isfinite(total):                     # zeros between the rows, times an infinity, are nan
                total = sum_of_places(line, grads, job.geometry, &job.wide)
            weight[o * job.kernel + t] += total


# ---------------------------------------------------------------- many
cdef bint run_direct(real* x, real* weight, real* out, Geometry* geometry, int mode, Py_ssize_t begin,
                     Py_ssize_t end) noexcept nogil:
    """Images and groups `begin` to `end`; BY_WEIGHT the result is added to. False if there was no memory."""
    cdef ssize i, t, group, kernel = plane_size(geometry.kernel), weights = geometry.out_channels * kernel
    cdef ssize in_size = plane_size(geometry.sizes), out_size = geometry.out_channels * plane_size(geometry.out)
    cdef Job job
    job.geometry, job.kernel = geometry, kernel
    measure(&job.wide, geometry)
    job.x = calloc(job.wide.plane + TL_VECTOR_BYTES, sizeof(real))
    job.out = calloc(geometry.out_channels * (job.wide.reach + job.wide.phase) + TL_VECTOR_BYTES, sizeof(real))
    job.weights = calloc(weights, sizeof(real))
    job.shifts = <ssize*>calloc(weights + 2 * kernel, sizeof(ssize))
    cdef bint has_memory = job.x != NULL and job.out != NULL and job.weights != NULL and job.shifts != NULL
    if has_memory:
        job.starts = job.shifts + weights
        job.phases = job.starts + kernel
        for t in range(kernel):
            job.starts[t] = find_tap(&job.wide, geometry, t, job.phases + t)
        for i in range(begin, end):
            group = i % geometry.groups
            start_image(x + i * in_size, out + i * out_size, geometry, mode, group)
            if mode == FORWARD:
                forward(x + i * in_size, weight + group * weights, out + i * out_size, &job)
            elif mode == BY_INPUT:
                by_input(x + i * in_size, weight + group * weights, out + i * out_size, &job)
            else:
                by_weight(x + i * in_size, weight + group * weights, out + i * out_size, &job)
    free(job.x)
    free(job.out)
    free(job.weights)
    free(job.shifts)
    return has_memory
