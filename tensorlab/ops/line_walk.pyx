"""The walk of ops that work along one dimension: brings each line of each operand to a loop that knows one plain line.

A line that is not plain (strided, or of another type) is gathered into a buffer, and a result scattered from one. Where
lines run across memory (dimension 0 of a matrix), neighbouring lines are gathered together: each cache line that is
read then serves 16 of them, where line by line it would be fetched 16 times.
"""
from cython.parallel cimport prange
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc

from tensorlab._core.conversion cimport convert
from tensorlab._core.dtypes cimport item_size
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops cimport thread_count
from tensorlab._core.tensor cimport TensorBase, is_meta, refuse_meta

cdef enum:
    GROUP = 16                  # lines gathered together
    GROUP_BYTES = 1 << 19       # buffers of a group should stay in the L2 cache
    PADDING = 16                # elements between buffered lines: lines 2**k bytes apart would fight for one cache set
    NOGIL_WORK = 8192           # elements from which the GIL is let go


# ---------------------------------------------------------------- setting up
cdef void start_lines(Lines* lines, TensorBase x, int dim) noexcept:
    """Begin a walk over the lines that run along dimension `dim` of x."""
    cdef int i
    lines.writes_meta = lines.reads_meta = False
    lines.operands = 0
    lines.ndim = 0
    lines.scratch = 0
    lines.strip = NULL
    for i in range(x.ndim_):
        if i != dim:
            lines.sizes[lines.ndim] = x.sizes[i]
            lines.ndim += 1


cdef void add_lines(Lines* lines, TensorBase x, int dim, int kernel_dtype, bint is_output) noexcept:
    """Add an operand whose lines run along `dim`; with dim = -1 each line is one element, and x lacks the dimension."""
    cdef LineOperand* operand = &lines.operand[lines.operands]
    cdef int i, at = 0
    operand.data = x.data_
    if is_meta(x):                                  # run_lines does what is to be done about it
        lines.writes_meta = lines.writes_meta or is_output
        lines.reads_meta = lines.reads_meta or not is_output
    operand.dtype = x.dtype_
    operand.kernel_dtype = kernel_dtype
    operand.is_output = is_output
    operand.length = 1
    operand.step = 1
    for i in range(x.ndim_):
        if i == dim:
            operand.length = x.sizes[i]
            operand.step = x.strides[i]
        else:
            operand.steps[at] = x.strides[i]
            at += 1
    lines.operands += 1


cdef void add_points(Lines* lines, TensorBase x, int dim) noexcept:
    """Add an operand of which the loop only gets the address of each line's first element, to reach for what it
    needs."""
    cdef LineOperand* operand = &lines.operand[lines.operands]
    add_lines(lines, x, dim, x.dtype_, False)
    operand.length = 1
    operand.step = 1


cdef void collapse(Lines* lines) noexcept:
    """Drop dimensions of size 1, put operand 0's smallest step last, merge dimensions that continue one another."""
    cdef int i, j, k, last = 0, ndim = 0
    cdef bint continues
    for i in range(lines.ndim):
        if lines.sizes[i] == 1:
            continue
        move_dim(lines, i, ndim)
        j = ndim
        while j > 0 and lines.operand[0].steps[j - 1] < lines.operand[0].steps[j]:
            swap_dims(lines, j - 1, j)
            j -= 1
        ndim += 1
    for i in range(1, ndim):
        continues = True
        for k in range(lines.operands):
            if lines.operand[k].steps[last] != lines.operand[k].steps[i] * lines.sizes[i]:
                continues = False
        if continues:
            lines.sizes[i] *= lines.sizes[last]
        else:
            last += 1
        move_dim(lines, i, last)
    lines.ndim = last + 1
    if ndim == 0:
        lines.sizes[0] = 1
        for k in range(lines.operands):
            lines.operand[k].steps[0] = 0


cdef inline void move_dim(Lines* lines, int source, int target) noexcept:
    cdef int k
    lines.sizes[target] = lines.sizes[source]
    for k in range(lines.operands):
        lines.operand[k].steps[target] = lines.operand[k].steps[source]


cdef inline void swap_dims(Lines* lines, int a, int b) noexcept:
    cdef int k
    lines.sizes[a], lines.sizes[b] = lines.sizes[b], lines.sizes[a]
    for k in range(lines.operands):
        lines.operand[k].steps[a], lines.operand[k].steps[b] = lines.operand[k].steps[b], lines.operand[k].steps[a]


# ---------------------------------------------------------------- gathering
cdef inline bint is_buffered(LineOperand* operand) noexcept nogil:
    return operand.dtype != operand.kernel_dtype or (operand.step != 1 and operand.length > 1)


cdef void move(LineOperand* operand, char* data, ssize line_step, char* buffer, ssize m, bint is_gather) noexcept nogil:
    """Gather m neighbouring lines into a buffer, or scatter them from it."""
    cdef int size = item_size[operand.dtype], kernel_size = item_size[operand.kernel_dtype]
    cdef ssize pitch = operand.length + PADDING, i
    if m > 1 and line_step < operand.step:              # across memory: a piece of each of the m lines at a time
        for i in range(operand.length):
            if is_gather:
                convert(buffer + i * kernel_size, operand.kernel_dtype, pitch, data + i * operand.step * size,
                        operand.dtype, line_step, m)
            else:
                convert(data + i * operand.step * size, operand.dtype, line_step, buffer + i * kernel_size,
                        operand.kernel_dtype, pitch, m)
    else:
        for i in range(m):
            if is_gather:
                convert(buffer + i * pitch * kernel_size, operand.kernel_dtype, 1, data + i * line_step * size,
                        operand.dtype, operand.step, operand.length)
            else:
                convert(data + i * line_step * size, operand.dtype, operand.step, buffer + i * pitch * kernel_size,
                        operand.kernel_dtype, 1, operand.length)


cdef void run_group(Lines* lines, line_loop loop, void* parameter, char** data, ssize m, char** buffers,
                    char* scratch) noexcept nogil:
    """m lines that are neighbours in the last of the other dimensions."""
    cdef void* rows[7]                                  # MAX_LINE_OPERANDS and the scratch memory
    cdef LineOperand* operand
    cdef int k, last = lines.ndim - 1
    cdef ssize i
    for k in range(lines.operands):
        operand = &lines.operand[k]
        if buffers[k] != NULL and not operand.is_output:
            move(operand, data[k], operand.steps[last], buffers[k], m, True)
    rows[lines.operands] = scratch
    for i in range(m):
        for k in range(lines.operands):
            operand = &lines.operand[k]
            if buffers[k] != NULL:
                rows[k] = buffers[k] + i * (operand.length + PADDING) * item_size[operand.kernel_dtype]
            else:
                rows[k] = data[k] + i * operand.steps[last] * item_size[operand.dtype]
        loop(rows, lines.operand[0].length, parameter)
    for k in range(lines.operands):
        operand = &lines.operand[k]
        if buffers[k] != NULL and operand.is_output:
            move(operand, data[k], operand.steps[last], buffers[k], m, False)


# ---------------------------------------------------------------- the walk
cdef ssize group_size(Lines* lines, ssize* bytes_needed) noexcept nogil:
    """How many lines to bring to the loop together, and the bytes that all buffers then take."""
    cdef ssize line_bytes = 0, group = <ssize>1 << 40          # where nothing is buffered: all
    cdef int k
    cdef bint across = False
    for k in range(lines.operands):
        if is_buffered(&lines.operand[k]):
            line_bytes += (lines.operand[k].length + PADDING) * item_size[lines.operand[k].kernel_dtype] + 64
            across = across or lines.operand[k].steps[lines.ndim - 1] < lines.operand[k].step
    if line_bytes > 0:
        group = max(<ssize>1, min(<ssize>GROUP, GROUP_BYTES // line_bytes)) if across else 1
    bytes_needed[0] = line_bytes * group + lines.scratch + 128
    return group


cdef bint is_strip(Lines* lines) noexcept nogil:
    """May the strip loop be used?"""
    cdef int k
    if lines.strip == NULL or lines.sizes[lines.ndim - 1] < 8:
        return False
    for k in range(lines.operands):
        if (lines.operand[k].dtype != lines.operand[k].kernel_dtype or lines.operand[k].steps[lines.ndim - 1] != 1 or
                (lines.operand[k].step == 1 and lines.operand[k].length > 1)):
            return False
    return True


cdef void run_strips(Lines* lines, char** data) noexcept nogil:
    """All lines that are neighbours in the last of the other dimensions, a strip at a time."""
    cdef void* strip[MAX_LINE_OPERANDS]
    cdef ssize[MAX_LINE_OPERANDS] steps
    cdef ssize i = 0, lines_left
    cdef int k
    for k in range(lines.operands):
        steps[k] = lines.operand[k].step
    while i < lines.sizes[lines.ndim - 1]:
        lines_left = lines.sizes[lines.ndim - 1] - i
        for k in range(lines.operands):
            strip[k] = data[k] + i * item_size[lines.operand[k].dtype]
        lines.strip(strip, steps, lines.operand[0].length, min(<ssize>STRIP, lines_left))
        i += STRIP


cdef bint run_part(Lines* lines, line_loop loop, void* parameter) noexcept nogil:
    """All lines; False if there is no memory for the buffers."""
    cdef char* data[MAX_LINE_OPERANDS]
    cdef char* buffers[MAX_LINE_OPERANDS]
    cdef char* group_data[MAX_LINE_OPERANDS]
    cdef ssize[MAX_NDIM] index
    cdef char[4096] small
    cdef int d, k, last = lines.ndim - 1
    cdef ssize bytes_needed, i, m, group = group_size(lines, &bytes_needed)
    cdef char* memory = &small[0]
    cdef char* free_memory
    cdef bint by_strips = is_strip(lines)
    if bytes_needed > 4096 and not by_strips:
        memory = <char*>malloc(bytes_needed)
        if memory == NULL:
            return False
    free_memory = <char*>((<uintptr_t>memory + 63) & ~<uintptr_t>63)
    for k in range(lines.operands):
        data[k] = lines.operand[k].data
        buffers[k] = NULL
        if is_buffered(&lines.operand[k]) and not by_strips:
            buffers[k] = free_memory
            free_memory += (group * (lines.operand[k].length + PADDING) * item_size[lines.operand[k].kernel_dtype]
                            + 63) & ~63
    for d in range(lines.ndim):
        index[d] = 0
    while True:
        i = 0
        if by_strips:
            run_strips(lines, data)
            i = lines.sizes[last]
        while i < lines.sizes[last]:
            m = min(group, lines.sizes[last] - i)
            for k in range(lines.operands):
                group_data[k] = data[k] + i * lines.operand[k].steps[last] * item_size[lines.operand[k].dtype]
            run_group(lines, loop, parameter, group_data, m, buffers, free_memory)
            i += m
        d = last - 1
        while d >= 0:                                   # the odometer
            index[d] += 1
            for k in range(lines.operands):
                data[k] += lines.operand[k].steps[d] * item_size[lines.operand[k].dtype]
            if index[d] < lines.sizes[d]:
                break
            for k in range(lines.operands):
                data[k] -= lines.sizes[d] * lines.operand[k].steps[d] * item_size[lines.operand[k].dtype]
            index[d] = 0
            d -= 1
        if d < 0:
            break
    if memory != &small[0]:
        free(memory)
    return True


cdef bint run_share(Lines* whole, line_loop loop, void* parameter, int d, ssize begin, ssize end) noexcept nogil:
    """The lines from `begin` to `end` of dimension d."""
    cdef Lines lines = whole[0]
    cdef int k
    for k in range(lines.operands):
        lines.operand[k].data += begin * lines.operand[k].steps[d] * item_size[lines.operand[k].dtype]
    lines.sizes[d] = end - begin
    return run_part(&lines, loop, parameter)


cdef int run_lines(Lines* lines, line_loop loop, void* parameter, ssize grain) except -1:
    """Call the loop for every line. Each thread gets at least `grain` elements of operand 0."""
    cdef ssize count = 1, n
    cdef int d = 0, i, threads, part, failures = 0
    for i in range(lines.ndim):
        count *= lines.sizes[i]
    if count == 0 or lines.writes_meta:
        return 0
    if lines.reads_meta:
        refuse_meta()
    collapse(lines)
    n = count * lines.operand[0].length
    if n < NOGIL_WORK:
        failures = not run_part(lines, loop, parameter)
    else:
        for i in range(1, lines.ndim):
            if lines.sizes[i] > lines.sizes[d]:
                d = i
        threads = min(thread_count(n, grain), <int>min(lines.sizes[d], <ssize>1024))
        if threads == 1:
            with nogil:
                failures = not run_part(lines, loop, parameter)
        else:
            n = lines.sizes[d]
            for part in prange(threads, nogil=True, num_threads=threads, schedule="static"):
                failures += not run_share(lines, loop, parameter, d, n * part // threads, n * (part + 1) // threads)
    if failures:
        raise MemoryError("not enough memory for the buffers of lines")
    return 0
