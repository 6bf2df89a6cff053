"""gather and its relatives: one index for each element.

    gather        out[i][j] = x[index[i][j]][j]             (dim 0)
    scatter       x[index[i][j]][j] = src[i][j]
    scatter_add   x[index[i][j]][j] += src[i][j]

One walk serves all three: along the elements of `index`, with steps of x, in which dimension `dim` stands still, and a jump
by the index. gather and scatter_add are each other's gradients.
"""
from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t

from tensorlab._core.conversion cimport convert
from tensorlab._core.dispatch cimport store_out
from tensorlab._core.op cimport Op
from tensorlab._core.operands cimport as_number
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
from tensorlab._core.graph cimport bump_version, ndim_of, needs_grad
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize, wrap_dim
from tensorlab._core.loops cimport copy_into, thread_count
from tensorlab._core.recording cimport OpNode, finish, finish_inplace, start_inplace
from tensorlab._core.tensor cimport TensorBase, empty_beside, is_meta, memory_of
from tensorlab.ops.creation cimport fill_number, zeros_beside
from tensorlab.ops.indexing.picks cimport ADD, PUT, TAKE, apart_from

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


# ---------------------------------------------------------------- gather
cdef Op GATHER = Op("gather(x: Tensor, dim: int, index: Tensor) -> Tensor")

@GATHER.derivative("x")
def gather_derivative(grad, x, dim, index):             # saves x, as PyTorch does: a write to it makes backward raise
    return run_gather_backward(<TensorBase?>grad, dim, <TensorBase?>index, x.shape)

cdef TensorBase gather_forward(TensorBase x, int dim, TensorBase index):
    cdef Lines lines
    cdef TensorBase out = empty_beside(x, x.dtype_, index.ndim_, index.sizes)
    if out.numel_ == 0 or is_meta(out):
        return out
    memory_of(index)                            # raises if it has none
    set_lines(&lines, x, dim, index, out)
    if lines.bound == 0 or not run_lines(&lines, line_for(TAKE, x.dtype_), False, x, index, out):
        raise_bad_index(x, dim, index, "gather")
    return out

def gather(TensorBase input not None, dim, index, *, bint sparse_grad=False, out=None):
    """Elements picked along one dimension, by an index for each of them.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, with as many dimensions as `input` and, but for `dim`, no larger
    sparse_grad : bool, without effect: gradients are dense

    Returns
    -------
    Tensor of the shape of `index`; for dim 0 of a matrix, out[i][j] = input[index[i][j]][j]

    Raises
    ------
    PositionOutOfRange
        If an index is outside the dimension; negative ones are.

    >>> import tensorlab
    >>> x = tensorlab.tensor([[1, 2], [3, 4]])
    >>> tensorlab.gather(x, 1, tensorlab.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    cdef int d = wrap_dim(dim, ndim_of(input), "gather")
    cdef TensorBase wide = check_index(input, d, index, "gather")
    if out is not None:
        return store_out("gather", gather_forward(input, d, wide), out, needs_grad(input))
    return finish(GATHER, gather_forward(input, d, wide), (input, d, index))


# ---------------------------------------------------------------- gather_backward
cdef Op GATHER_BACKWARD = Op("gather_backward(grad: Tensor, dim: int, index: Tensor, shape: int[]) -> Tensor")

@GATHER_BACKWARD.derivative("grad")
def gather_backward_derivative(grad, dim, index):
    return gather(grad, dim, index)

cdef object run_gather_backward(TensorBase grad, int dim, TensorBase index, object shape):
    """A tensor of zeros, with grad added where gather took from."""
    cdef ssize[MAX_NDIM] sizes
    cdef TensorBase out
    cdef int d, ndim = len(shape)
    for d in range(ndim):
        sizes[d] = shape[d]
    out = zeros_beside(grad, grad.dtype_, ndim, sizes)
    write_lines(out, dim, check_index(out, dim, index, "gather_backward"), grad, ADD, "gather_backward")
    bump_version(out)                                   # PyTorch's is zeros and a write to them, and its version tells
    return finish(GATHER_BACKWARD, out, (grad, dim, index, shape))


# ---------------------------------------------------------------- scatter
cdef Op SCATTER = Op("scatter(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor")

@SCATTER.derivative("x")
def scatter_derivative_x(grad, dim, index):
    return scatter(grad, dim, index, 0)

@SCATTER.derivative("src")
def scatter_derivative_src(grad, dim, index, src_shape):
    return padded(gather(grad, dim, index), src_shape)

cdef object padded(object grad, object shape):
    """A source larger than the index is used only in part: the rest of its gradient is zero."""
    if grad.shape == shape:
        return grad
    out = grad.new_zeros(shape)
    out[tuple([slice(0, size) for size in grad.shape])] = grad
    return out

cdef Op SCATTER_VALUE = Op("scatter_value(x: Tensor, dim: int, index: Tensor, value: float) -> Tensor", node="ScatterBackward1")

@SCATTER_VALUE.derivative("x")
def scatter_value_derivative(grad, dim, index):
    return scatter(grad, dim, index, 0)

cdef object run_scatter(Op op, TensorBase x, object dim, object index, object src, bint in_place, int mode, str where):
    cdef int d = wrap_dim(dim, ndim_of(x), where)
    cdef TensorBase wide = check_index(x, d, index, where), source, out
    cdef OpNode node
    if op is SCATTER_VALUE:
        source = empty_beside(x, x.dtype_, 0, NULL)
        fill_number(source, src, where)
    else:
        source = check_source(x, wide, src, where)
    if not in_place:
        out = contiguous_clone(x)
        write_lines(out, d, wide, source, mode, where)
        return finish(op, out, (x, d, index, src))
    source = apart_from(x, source, where, "the source")
    wide = apart_from(x, wide, where, "the index")
    node = start_inplace(op, x, (x, d, index, src))
    write_lines(x, d, wide, source, mode, where)
    return finish_inplace(node, x)

cdef object reducing = None              # scatter_reduce and scatter_reduce_, of a file further up

def set_reducing(functions):
    """Tell `scatter(reduce=)` who does that."""
    global reducing
    reducing = functions

cdef object scatter_any(TensorBase x, object dim, object index, object src, object value, object reduce, bint in_place):
    """`src` may be a number, as `value`."""
    cdef str where = "scatter_" if in_place else "scatter"
    if src is None:
        src = value
    if not isinstance(src, TensorBase) and as_number(src) is None:
        raise TypeError(f"{where}: the source must be a Tensor or a number, not {type(src).__name__}")
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError(f"{where}: reduce must be 'add' or 'multiply', not {reduce!r}; scatter_reduce has more")
        if not isinstance(src, TensorBase):
            src = x.new_full((), src).expand(index.shape)
        return reducing[in_place](x, dim, index, src, "sum" if reduce == "add" else "prod")
    return run_scatter(SCATTER if isinstance(src, TensorBase) else SCATTER_VALUE, x, dim, index, src, in_place, PUT, where)

def scatter(TensorBase input not None, dim, index, src=None, *, value=None, reduce=None):
    """A copy of `input` with elements replaced along one dimension, by an index for each element of `src`.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, with as many dimensions as `input` and, but for `dim`, no larger
    src : Tensor of the same dtype, at least as large as `index`, or a number
    value : number, in place of `src`
    reduce : "add" or "multiply": put the sum or product of what is there and what comes, as `scatter_reduce` does

    Returns
    -------
    Tensor of the shape of `input`; for dim 0 of a matrix, out[index[i][j]][j] = src[i][j]

    Notes
    -----
    If an index comes several times, the last element stays; its gradient goes to all of them, as PyTorch's does.

    >>> import tensorlab
    >>> tensorlab.scatter(tensorlab.zeros(2, 3), 1, tensorlab.tensor([[2], [0]]), 1.0)
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    return scatter_any(input, dim, index, src, value, reduce, False)

def scatter_(TensorBase input not None, dim, index, src=None, *, value=None, reduce=None):
    """`scatter`, written over `input`. A call that raises has changed nothing."""
    return scatter_any(input, dim, index, src, value, reduce, True)


# ---------------------------------------------------------------- scatter_add
cdef Op SCATTER_ADD = Op("scatter_add(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor")

@SCATTER_ADD.derivative("x")
def scatter_add_derivative_x(grad):
    return grad

@SCATTER_ADD.derivative("src")
def scatter_add_derivative_src(grad, dim, index, src_shape):
    return padded(gather(grad, dim, index), src_shape)

def scatter_add(TensorBase input not None, dim, index, src):
    """A copy of `input` with elements added along one dimension, by an index for each element of `src`.

    Parameters
    ----------
    input : Tensor
    dim : int
    index : Tensor of int64 or int32, with as many dimensions as `input` and, but for `dim`, no larger
    src : Tensor of the same dtype, at least as large as `index`

    Returns
    -------
    Tensor of the shape of `input`; for dim 0 of a matrix, out[index[i][j]][j] += src[i][j]

    >>> import tensorlab
    >>> tensorlab.scatter_add(tensorlab.zeros(3), 0, tensorlab.tensor([0, 2, 2]), tensorlab.ones(3))
    tensor([1., 0., 2.])
    """
    return run_scatter(SCATTER_ADD, input, dim, index, src, False, ADD, "scatter_add")

def scatter_add_(TensorBase input not None, dim, index, src):
    """`scatter_add`, written over `input`. A call that raises has changed nothing."""
    return run_scatter(SCATTER_ADD, input, dim, index, src, True, ADD, "scatter_add_")


# ---------------------------------------------------------------- take_along_dim
def take_along_dim(TensorBase input not None, indices, dim=None, *, out=None):
    """`gather` with input and indices broadcast against each other but for `dim`, and with negative indices.

    Parameters
    ----------
    indices : Tensor of int64, such as argsort gives
    dim : int; without it both are flattened

    >>> import tensorlab
    >>> x = tensorlab.tensor([[3, 1, 2]])
    >>> tensorlab.take_along_dim(x, tensorlab.tensor([[1, 2, 0]]), 1)
    tensor([[1, 2, 3]])
    """
    cdef TensorBase index
    cdef int d
    cdef list x_shape, index_shape
    if not isinstance(indices, TensorBase):
        raise TypeError(f"take_along_dim: indices must be a Tensor, not {type(indices).__name__}")
    index = <TensorBase>indices
    if index.dtype_ != INT64:
        raise DTypeError(f"take_along_dim: the indices must be of type int64, not {index.dtype}")
    if dim is None:
        return gather(input.reshape(-1), 0, wrapped(index.reshape(-1), input.numel_), out=out)
    if index.ndim_ != input.ndim_:
        raise ShapeError(f"take_along_dim: the tensor has {input.ndim_} dimensions and the indices have {index.ndim_}; they "
                         f"must be as many")
    d = wrap_dim(dim, ndim_of(input), "take_along_dim")
    x_shape = list(input.shape)
    index_shape = list(index.shape)
    for i in range(input.ndim_):
        if i == d:
            continue
        if x_shape[i] != index_shape[i] and x_shape[i] != 1 and index_shape[i] != 1:
            raise ShapeError(f"take_along_dim: shapes {tuple(x_shape)} and {tuple(index_shape)} cannot be broadcast together "
                             f"in dimension {i}")
        x_shape[i] = index_shape[i] = x_shape[i] if index_shape[i] == 1 else index_shape[i]
    return gather(input.expand(x_shape), d, wrapped(index, input.sizes[d] if input.ndim_ else 1).expand(index_shape), out=out)


cdef void wrap_loop(int64_t* out, ssize n, ssize size) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if out[i] < 0:
            out[i] += size


cdef object wrapped(TensorBase index, ssize size):
    """The indices with negative ones counted from the end."""
    cdef TensorBase out = contiguous_clone(index)
    if not is_meta(out):
        wrap_loop(<int64_t*>memory_of(out), out.numel_, size)
    return out
