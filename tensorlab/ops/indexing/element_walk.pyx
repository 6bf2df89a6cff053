"""The walk along an index that has one entry for each element, which gather, scatter and scatter_reduce share.

It goes along the elements of `index`, with steps of x, in which dimension `dim` stands still, and a jump by the index; one
call of an inner loop takes one line. What is written is written after all indices have been checked.
"""
from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t

from tensorlab._core.conversion cimport convert
from tensorlab._core.dtypes cimport (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    item_size,
    number,
)
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize
from tensorlab._core.loops cimport copy_into, thread_count
from tensorlab._core.tensor cimport TensorBase, empty_beside, is_meta, memory_of
from tensorlab.ops.indexing.picks cimport ADD, TAKE

from tensorlab.errors import DTypeError, PositionOutOfRange, ShapeError

cdef enum:
    GRAIN = 16384               # elements that make a thread worth starting
    NOGIL_WORK = 8192           # elements from which the GIL is let go

ctypedef fused word:            # elements that are only moved need no type, only a size
    uint8_t
    uint16_t
    int32_t
    int64_t

# ---------------------------------------------------------------- inner loops: one line; False if an index is out of range
cdef bint check_line(void* x, const int64_t* index, void* flat, ssize n, ssize x_step, ssize index_step, ssize flat_step,
                     ssize jump, ssize bound) noexcept nogil:
    """The largest one decides; a negative one counts as larger than all."""
    cdef ssize i
    cdef uint64_t largest = 0
    if index_step == 1:
        for i in range(n):
            largest = <uint64_t>index[i] if <uint64_t>index[i] > largest else largest
    else:
        for i in range(n):
            largest = <uint64_t>index[i * index_step] if <uint64_t>index[i * index_step] > largest else largest
    return n == 0 or largest < <uint64_t>bound


cdef bint take_line(word* x, const int64_t* index, word* flat, ssize n, ssize x_step, ssize index_step, ssize flat_step,
                    ssize jump, ssize bound) noexcept nogil:
    cdef ssize i = 0
    cdef word a, b, c, d
    if not check_line(x, index, flat, n, x_step, index_step, flat_step, jump, bound):
        return False
    if index_step == 1 and flat_step == 1:
        if x_step == 0 and jump == 1:
            # four loads before four stores: the compiler must assume that a store changes what is read next
            while i + 4 <= n:
                a, b, c, d = x[index[i]], x[index[i + 1]], x[index[i + 2]], x[index[i + 3]]
                flat[i], flat[i + 1], flat[i + 2], flat[i + 3] = a, b, c, d
                i += 4
            while i < n:
                flat[i] = x[index[i]]
                i += 1
        else:
            for i in range(n):
                flat[i] = x[i * x_step + index[i] * jump]
    else:
        for i in range(n):
            flat[i * flat_step] = x[i * x_step + index[i * index_step] * jump]
    return True


cdef bint put_line(word* x, const int64_t* index, word* flat, ssize n, ssize x_step, ssize index_step, ssize flat_step,
                   ssize jump, ssize bound) noexcept nogil:
    cdef ssize i
    for i in range(n):
        x[i * x_step + index[i * index_step] * jump] = flat[i * flat_step]
    return True


cdef bint add_line(number* x, const int64_t* index, number* flat, ssize n, ssize x_step, ssize index_step, ssize flat_step,
                   ssize jump, ssize bound) noexcept nogil:
    cdef ssize i = 0
    cdef int64_t p, q, r, s
    cdef number a, b, c, d
    if x_step == 0 and jump == 1 and index_step == 1 and flat_step == 1:
        while i + 4 <= n:                               # all loads before the stores, as in take_line
            p, q, r, s = index[i], index[i + 1], index[i + 2], index[i + 3]
            a, b, c, d = flat[i], flat[i + 1], flat[i + 2], flat[i + 3]
            x[p] += a
            x[q] += b
            x[r] += c
            x[s] += d
            i += 4
    while i < n:
        x[i * x_step + index[i * index_step] * jump] += flat[i * flat_step]
        i += 1
    return True


cdef bint add_bool_line(uint8_t* x, const int64_t* index, uint8_t* flat, ssize n, ssize x_step, ssize index_step,
                        ssize flat_step, ssize jump, ssize bound) noexcept nogil:
    cdef ssize i
    for i in range(n):
        x[i * x_step + index[i * index_step] * jump] |= flat[i * flat_step]
    return True


cdef inline bint add_half_line(uint16_t* x, const int64_t* index, uint16_t* flat, ssize n, ssize x_step, ssize index_step,
                               ssize flat_step, ssize jump, int dtype) noexcept nogil:
    """Each sum is rounded to the half type, as if it were added there."""
    cdef float a, b
    cdef ssize i
    cdef uint16_t* to
    for i in range(n):
        to = x + i * x_step + index[i * index_step] * jump
        convert(&a, FLOAT32, 1, to, dtype, 1, 1)
        convert(&b, FLOAT32, 1, &flat[i * flat_step], dtype, 1, 1)
        a += b
        convert(to, dtype, 1, &a, FLOAT32, 1, 1)
    return True


cdef bint add_float16_line(uint16_t* x, const int64_t* index, uint16_t* flat, ssize n, ssize x_step, ssize index_step,
                           ssize flat_step, ssize jump, ssize bound) noexcept nogil:
    return add_half_line(x, index, flat, n, x_step, index_step, flat_step, jump, FLOAT16)


cdef bint add_bfloat16_line(uint16_t* x, const int64_t* index, uint16_t* flat, ssize n, ssize x_step, ssize index_step,
                            ssize flat_step, ssize jump, ssize bound) noexcept nogil:
    return add_half_line(x, index, flat, n, x_step, index_step, flat_step, jump, BFLOAT16)


cdef line_loop add_lines[10]
add_lines[BOOL] = <line_loop>add_bool_line
add_lines[UINT8] = <line_loop>add_line[uint8_t]
add_lines[INT8] = <line_loop>add_line[int8_t]
add_lines[INT16] = <line_loop>add_line[int16_t]
add_lines[INT32] = <line_loop>add_line[int32_t]
add_lines[INT64] = <line_loop>add_line[int64_t]
add_lines[FLOAT16] = <line_loop>add_float16_line
add_lines[BFLOAT16] = <line_loop>add_bfloat16_line
add_lines[FLOAT32] = <line_loop>add_line[float]
add_lines[FLOAT64] = <line_loop>add_line[double]


cdef line_loop line_for(int mode, int dtype) noexcept nogil:
    cdef int size = item_size[dtype]
    if mode == ADD:
        return add_lines[dtype]
    if mode == TAKE:
        return (<line_loop>take_line[uint8_t] if size == 1 else <line_loop>take_line[uint16_t] if size == 2 else
                <line_loop>take_line[int32_t] if size == 4 else <line_loop>take_line[int64_t])
    return (<line_loop>put_line[uint8_t] if size == 1 else <line_loop>put_line[uint16_t] if size == 2 else
            <line_loop>put_line[int32_t] if size == 4 else <line_loop>put_line[int64_t])


# ---------------------------------------------------------------- the walk
cdef void set_lines(Lines* lines, TensorBase x, int dim, TensorBase index, TensorBase flat) noexcept nogil:
    """A 0-d tensor counts as one element of one dimension; a 0-d `flat` is spread over everything."""
    cdef int d, n = 0
    lines.dim = -1
    lines.jump = x.strides[dim] if x.ndim_ > 0 else 1
    lines.bound = x.sizes[dim] if x.ndim_ > 0 else 1
    for d in range(index.ndim_):
        if index.sizes[d] == 1:
            continue
        lines.sizes[n] = index.sizes[d]
        lines.index_steps[n] = index.strides[d]
        lines.x_steps[n] = x.strides[d] if d != dim else 0
        lines.flat_steps[n] = flat.strides[d] if flat.ndim_ > 0 else 0
        if d == dim:
            lines.dim = n
        n += 1
    lines.ndim = n


cdef bint run_part(Lines* lines, line_loop loop, char* x, const int64_t* index, char* flat, int size) noexcept nogil:
    cdef ssize[MAX_NDIM] at
    cdef int d, last = lines.ndim - 1
    cdef bint good = True
    if last < 0:
        return loop(x, index, flat, 1, 0, 0, 0, lines.jump, lines.bound)
    for d in range(last):
        at[d] = 0
    while True:
        good = loop(x, index, flat, lines.sizes[last], lines.x_steps[last], lines.index_steps[last], lines.flat_steps[last],
                    lines.jump, lines.bound) and good
        d = last - 1
        while d >= 0:                                   # the odometer
            at[d] += 1
            x += lines.x_steps[d] * size
            index += lines.index_steps[d]
            flat += lines.flat_steps[d] * size
            if at[d] < lines.sizes[d]:
                break
            x -= lines.sizes[d] * lines.x_steps[d] * size
            index -= lines.sizes[d] * lines.index_steps[d]
            flat -= lines.sizes[d] * lines.flat_steps[d] * size
            at[d] = 0
            d -= 1
        if d < 0:
            return good


cdef bint run_share(Lines* lines, line_loop loop, char* x, const int64_t* index, char* flat, int size, int axis, ssize part,
                    ssize parts) noexcept nogil:
    """One thread's share of dimension `axis`."""
    cdef Lines mine = lines[0]
    cdef ssize begin = lines.sizes[axis] * part // parts
    mine.sizes[axis] = lines.sizes[axis] * (part + 1) // parts - begin
    if mine.sizes[axis] == 0:
        return True
    return run_part(&mine, loop, x + begin * lines.x_steps[axis] * size, index + begin * lines.index_steps[axis],
                    flat + begin * lines.flat_steps[axis] * size, size)


cdef bint run_lines(Lines* lines, line_loop loop, bint writes, TensorBase x, TensorBase index, TensorBase flat) noexcept:
    """Threads share the first dimension; when x is written, only one other than `dim`, so that they never meet.

    All three have memory: callers ask."""
    cdef int size = item_size[x.dtype_], axis = 0, bad = 0, threads
    cdef ssize part
    if index.numel_ < NOGIL_WORK:
        return run_part(lines, loop, x.data_, <const int64_t*>index.data_, flat.data_, size)
    if writes and lines.dim == 0:
        axis = 1
    threads = thread_count(index.numel_, GRAIN) if axis < lines.ndim else 1
    if threads == 1:
        with nogil:
            bad = not run_part(lines, loop, x.data_, <const int64_t*>index.data_, flat.data_, size)
    else:
        for part in prange(threads, nogil=True, num_threads=threads, schedule="static"):
            bad += not run_share(lines, loop, x.data_, <const int64_t*>index.data_, flat.data_, size, axis, part, threads)
    return bad == 0


cdef int raise_bad_index(TensorBase x, int dim, TensorBase index, str where) except -1:
    cdef ssize bound = x.sizes[dim] if x.ndim_ > 0 else 1
    for at in index.reshape(-1).tolist():
        if at < 0 or at >= bound:
            raise PositionOutOfRange(f"{where}: index {at} is out of range for dimension {dim}, which has size {bound}; valid "
                                     f"are 0 to {bound - 1}")
    return 0


# ---------------------------------------------------------------- checks
cdef TensorBase check_index(TensorBase x, int dim, object index, str where):
    """The index as int64, which must have as many dimensions as x and be no larger, but for `dim`."""
    cdef TensorBase given, wide
    cdef int d
    if not isinstance(index, TensorBase):
        raise TypeError(f"{where}: argument 'index' must be a Tensor, not {type(index).__name__}")
    given = <TensorBase>index
    if given.dtype_ != INT64 and given.dtype_ != INT32:
        raise DTypeError(f"{where}: the index must be of type int64 or int32, not {given.dtype}")
    if given.numel_ > 0:
        if max(<int>given.ndim_, 1) != max(<int>x.ndim_, 1):
            raise ShapeError(f"{where}: the index has {given.ndim_} dimensions, but the tensor has {x.ndim_}; they must be as "
                             f"many")
        for d in range(min(<int>given.ndim_, <int>x.ndim_)):
            if d != dim and given.sizes[d] > x.sizes[d]:
                raise ShapeError(f"{where}: the index of shape {shape_text(given.ndim_, given.sizes)} is larger than the tensor "
                                 f"of shape {shape_text(x.ndim_, x.sizes)} in dimension {d}, which is not the one indexed")
    if given.dtype_ == INT64:
        return given
    wide = empty_beside(given, INT64, given.ndim_, given.sizes)
    copy_into(wide, given)
    return wide


cdef TensorBase check_source(TensorBase x, TensorBase index, object src, str where):
    cdef TensorBase source
    cdef int d
    if not isinstance(src, TensorBase):
        raise TypeError(f"{where}: argument 'src' must be a Tensor, not {type(src).__name__}")
    source = <TensorBase>src
    if source.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: the source has type {source.dtype}, but the tensor has type {x.dtype}; convert it with "
                         f".to() first")
    if index.numel_ > 0:
        if max(<int>source.ndim_, 1) != max(<int>index.ndim_, 1):
            raise ShapeError(f"{where}: the source has {source.ndim_} dimensions, but the index has {index.ndim_}; they must be "
                             f"as many")
        for d in range(min(<int>source.ndim_, <int>index.ndim_)):
            if index.sizes[d] > source.sizes[d]:
                raise ShapeError(f"{where}: the index of shape {shape_text(index.ndim_, index.sizes)} is larger than the source "
                                 f"of shape {shape_text(source.ndim_, source.sizes)} in dimension {d}")
    return source


cdef int write_lines(TensorBase x, int dim, TensorBase index, TensorBase flat, int mode, str where) except -1:
    """Write or accumulate, after all indices have been checked."""
    cdef Lines lines
    if index.numel_ == 0 or is_meta(x):
        return 0
    memory_of(index), memory_of(flat)           # raise if one of them has none
    set_lines(&lines, x, dim, index, flat)
    if not run_lines(&lines, check_line, False, x, index, flat):
        raise_bad_index(x, dim, index, where)
    run_lines(&lines, line_for(mode, x.dtype_), True, x, index, flat)
    return 0


cdef TensorBase contiguous_clone(TensorBase x):
    cdef TensorBase out = empty_beside(x, x.dtype_, x.ndim_, x.sizes)
    copy_into(out, x)
    return out
