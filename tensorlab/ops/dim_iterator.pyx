"""The iterator of ops that work along one dimension: brings each slice of each operand to a loop that knows one contiguous slice.

A slice has one index in every other dimension: a row of a matrix, for dim=1. One that is not contiguous, or is of another
type, is gathered into a buffer, and a result scattered from one. Where slices run across memory (dimension 0 of a matrix),
neighbouring ones are gathered together: each cache line that is read then serves 16 of them, where slice by slice it would be
fetched 16 times.
"""
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc

from tensorlab._core.dtypes cimport item_size, refuse_loop
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.conversion cimport check_convertible, convert
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, coalesce, count_along, next_index, start_counter
)
from tensorlab._core.loops.parallel cimport parallel_for, share_work, thread_count
from tensorlab._core.tensor cimport TensorBase, memory_of

cdef enum:
    GROUP = 16                  # slices gathered together
    GROUP_BYTES = 1 << 19       # buffers of a group should stay in the L2 cache
    PADDING = 16                # elements between buffered slices: 2**k bytes apart they would fight for one cache set
    SMALL_BUFFERS = 4096        # bytes of buffers that are kept on the stack


# ---------------------------------------------------------------- setting up
cdef void start_iterator(DimIterator* iter, TensorBase x, int dim) noexcept:
    """Begin an iteration over the slices that run along dimension `dim` of x."""
    cdef int i
    iter.one_by_one = False
    iter.operands = 0
    iter.ndim = 0
    iter.scratch = 0
    iter.strip = NULL
    iter.shared_rows = 0
    iter.rows = NULL
    for i in range(x.ndim_):
        if i != dim:
            iter.sizes[iter.ndim] = x.sizes[i]
            iter.ndim += 1


cdef int add_operand(DimIterator* iter, TensorBase x, int dim, int kernel_dtype, bint is_output) except -1:
    """Add an operand whose slices run along `dim`; with dim = -1 each slice is one element, and x lacks the dimension."""
    cdef DimOperand* operand = &iter.operand[iter.operands]
    cdef int i, at = 0
    if x.dtype_ != kernel_dtype:
        check_convertible(kernel_dtype, x.dtype_)
    operand.data = memory_of(x)
    operand.dtype = x.dtype_
    operand.kernel_dtype = kernel_dtype
    operand.is_output = is_output
    operand.length = 1
    operand.stride = 1
    for i in range(x.ndim_):
        if i == dim:
            operand.length = x.sizes[i]
            operand.stride = x.strides[i]
        else:
            operand.strides[at] = x.strides[i]
            at += 1
    iter.operands += 1
    return 0


cdef int add_point_operand(DimIterator* iter, TensorBase x, int dim) except -1:
    """Add an operand of which the loop only gets the address of each slice's first element, to reach for what it
    needs."""
    cdef DimOperand* operand = &iter.operand[iter.operands]
    add_operand(iter, x, dim, x.dtype_, False)
    operand.length = 1
    operand.stride = 1
    return 0


cdef void drop_dims(DimIterator* iter) noexcept:
    """Loop over as few dimensions as possible, one at least, with operand 0's smallest stride last."""
    cdef ssize* strides[MAX_DIM_OPERANDS]
    cdef int k
    for k in range(iter.operands):
        strides[k] = iter.operand[k].strides
    iter.ndim = coalesce(iter.ndim, iter.sizes, iter.operands, strides)
    if iter.ndim == 0:
        iter.ndim = 1
        iter.sizes[0] = 1
        for k in range(iter.operands):
            strides[k][0] = 0


# ---------------------------------------------------------------- gathering
cdef inline bint is_buffered(DimOperand* operand) noexcept nogil:
    return operand.dtype != operand.kernel_dtype or (operand.stride != 1 and operand.length > 1)


cdef void move(DimOperand* operand, char* data, ssize slice_stride, char* buffer, ssize m, bint is_gather) noexcept nogil:
    """Gather m neighbouring slices into a buffer, or scatter them from it."""
    cdef int size = item_size[operand.dtype], kernel_size = item_size[operand.kernel_dtype]
    cdef ssize pitch = operand.length + PADDING, i
    if m > 1 and slice_stride < operand.stride:          # across memory: a piece of each of the m slices at a time
        for i in range(operand.length):
            if is_gather:
                convert(buffer + i * kernel_size, operand.kernel_dtype, pitch, data + i * operand.stride * size,
                        operand.dtype, slice_stride, m)
            else:
                convert(data + i * operand.stride * size, operand.dtype, slice_stride, buffer + i * kernel_size,
                        operand.kernel_dtype, pitch, m)
    else:
        for i in range(m):
            if is_gather:
                convert(buffer + i * pitch * kernel_size, operand.kernel_dtype, 1, data + i * slice_stride * size,
                        operand.dtype, operand.stride, operand.length)
            else:
                convert(data + i * slice_stride * size, operand.dtype, operand.stride, buffer + i * pitch * kernel_size,
                        operand.kernel_dtype, 1, operand.length)


cdef void run_group(DimIterator* iter, dim_loop loop, void* parameter, char** data, ssize m, char** buffers,
                    char* scratch) noexcept nogil:
    """m slices that are neighbours in the last of the other dimensions."""
    cdef void* arguments[7]                             # MAX_DIM_OPERANDS and the scratch memory
    cdef ssize[MAX_DIM_OPERANDS] pitches                # from one slice to the next
    cdef DimOperand* operand
    cdef int k, last = iter.ndim - 1
    cdef ssize _i
    for k in range(iter.operands):
        operand = &iter.operand[k]
        arguments[k], pitches[k] = data[k], operand.strides[last]
        if buffers[k] != NULL:
            arguments[k], pitches[k] = buffers[k], operand.length + PADDING
            if not operand.is_output:
                move(operand, data[k], operand.strides[last], buffers[k], m, True)
    arguments[iter.operands] = scratch
    if iter.rows != NULL:
        iter.rows(arguments, pitches, iter.operand[0].length, m)
    else:
        for _i in range(m):
            loop(arguments, iter.operand[0].length, parameter)
            for k in range(iter.operands):
                arguments[k] = <char*>arguments[k] + pitches[k] * item_size[iter.operand[k].kernel_dtype]
    for k in range(iter.operands):
        operand = &iter.operand[k]
        if buffers[k] != NULL and operand.is_output:
            move(operand, data[k], operand.strides[last], buffers[k], m, False)


# ---------------------------------------------------------------- running
cdef ssize group_size(DimIterator* iter, ssize* bytes_needed) noexcept nogil:
    """How many slices to bring to the loop together, and the bytes that all buffers then take."""
    cdef ssize slice_bytes = 0, group = <ssize>1 << 40          # where nothing is buffered: all
    cdef int k
    cdef bint across = False
    for k in range(iter.operands):
        if is_buffered(&iter.operand[k]):
            slice_bytes += (iter.operand[k].length + PADDING) * item_size[iter.operand[k].kernel_dtype] + 64
            across = across or iter.operand[k].strides[iter.ndim - 1] < iter.operand[k].stride
    if slice_bytes > 0:
        group = max(<ssize>1, min(<ssize>GROUP, GROUP_BYTES // slice_bytes)) if across else 1
    if iter.one_by_one:
        group = 1
    bytes_needed[0] = slice_bytes * group + iter.scratch + 128
    return group


cdef bint is_strip(DimIterator* iter) noexcept nogil:
    """May the strip loop be used?"""
    cdef int k
    if iter.one_by_one:
        return False
    if iter.strip == NULL or iter.sizes[iter.ndim - 1] < 8:
        return False
    for k in range(iter.operands):
        if (iter.operand[k].dtype != iter.operand[k].kernel_dtype or iter.operand[k].strides[iter.ndim - 1] != 1 or
                (iter.operand[k].stride == 1 and iter.operand[k].length > 1)):
            return False
    return True


cdef void run_strips(DimIterator* iter, char** data) noexcept nogil:
    """All slices that are neighbours in the last of the other dimensions, a strip at a time."""
    cdef void* strip[MAX_DIM_OPERANDS]
    cdef ssize[MAX_DIM_OPERANDS] strides
    cdef ssize i = 0, left
    cdef int k
    for k in range(iter.operands):
        strides[k] = iter.operand[k].stride
    while i < iter.sizes[iter.ndim - 1]:
        left = iter.sizes[iter.ndim - 1] - i
        for k in range(iter.operands):
            strip[k] = data[k] + i * item_size[iter.operand[k].dtype]
        iter.strip(strip, strides, iter.operand[0].length, min(<ssize>STRIP, left))
        i += STRIP


cdef bint run_part(DimIterator* iter, dim_loop loop, void* parameter) noexcept nogil:
    """All slices; False if there is no memory for the buffers."""
    cdef IndexCounter at                                # of the other dimensions but for the last
    cdef char* buffers[MAX_DIM_OPERANDS]
    cdef char* group_data[MAX_DIM_OPERANDS]
    cdef char[SMALL_BUFFERS] small
    cdef int k, last = iter.ndim - 1
    cdef ssize bytes_needed, i, m, group = group_size(iter, &bytes_needed)
    cdef char* memory = &small[0]
    cdef char* free_memory
    cdef bint by_strips = is_strip(iter)
    if bytes_needed > SMALL_BUFFERS and not by_strips:
        memory = <char*>malloc(bytes_needed)
        if memory == NULL:
            return False
    free_memory = <char*>((<uintptr_t>memory + 63) & ~<uintptr_t>63)
    start_counter(&at, last, iter.sizes)
    for k in range(iter.operands):
        count_along(&at, k, iter.operand[k].data, iter.operand[k].strides, item_size[iter.operand[k].dtype])
        buffers[k] = NULL
        if is_buffered(&iter.operand[k]) and not by_strips:
            buffers[k] = free_memory
            free_memory += (group * (iter.operand[k].length + PADDING) * item_size[iter.operand[k].kernel_dtype]
                            + 63) & ~63
    while True:
        i = 0
        if by_strips:
            run_strips(iter, at.data)
            i = iter.sizes[last]
        while i < iter.sizes[last]:
            m = min(group, iter.sizes[last] - i)
            for k in range(iter.operands):
                group_data[k] = at.data[k] + i * iter.operand[k].strides[last] * item_size[iter.operand[k].dtype]
            run_group(iter, loop, parameter, group_data, m, buffers, free_memory)
            i += m
        if not next_index(&at, iter.operands):
            break
    if memory != &small[0]:
        free(memory)
    return True


cdef struct Job:
    DimIterator* iter
    dim_loop loop
    void* parameter
    int dim                         # which is shared out
    bint failed                     # for want of memory


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    """The slices from `begin` to `end` of a dimension."""
    cdef Job* job = <Job*>context
    cdef DimIterator iter = job.iter[0]
    cdef int d = job.dim, k
    for k in range(iter.operands):
        iter.operand[k].data += begin * iter.operand[k].strides[d] * item_size[iter.operand[k].dtype]
    iter.sizes[d] = end - begin
    if not run_part(&iter, job.loop, job.parameter):
        job.failed = True


cdef int dim_apply(DimIterator* iter, dim_loop loop, void* parameter, ssize grain) except -1:
    """Call the loop for every slice. Each thread gets at least `grain` elements of operand 0."""
    cdef ssize count = 1, n
    cdef Job job
    cdef int i, threads
    cdef bint is_wide, shares_rows                      # are strips shared out, and by their loop?
    for i in range(iter.ndim):
        count *= iter.sizes[i]
    if count == 0:
        return 0
    if loop == NULL:
        refuse_loop(iter.operand[0].kernel_dtype)
    drop_dims(iter)
    n = count * iter.operand[0].length
    job.iter, job.loop, job.parameter = iter, loop, parameter
    job.dim, job.failed = 0, False
    for i in range(1, iter.ndim):
        if iter.sizes[i] > iter.sizes[job.dim]:
            job.dim = i
    threads = thread_count(n, grain)
    is_wide = job.dim == iter.ndim - 1 and is_strip(iter)
    shares_rows = is_wide and 0 < iter.shared_rows * threads <= iter.operand[0].length
    if threads > 1 and is_wide and not shares_rows:     # one wide piece for each: long runs
        with nogil:
            parallel_for(run_share, &job, iter.sizes[job.dim], max(<ssize>16, iter.sizes[job.dim] // threads))
    else:
        share_work(run_share, &job, iter.sizes[job.dim], n, n if iter.one_by_one or shares_rows else grain)
    if job.failed:
        raise MemoryError("not enough memory for the buffers of slices")
    return 0
