"""as_strided: the general view, any sizes and strides over the same memory; and what follows from it for gradients.

Every other view could be written as as_strided, and the graph does so when it replays a view on its base.

The gradient is moved from one geometry over a memory to another. With y = x.as_strided(...), both x and y are
readings of one memory m, so

    memory      0 1 2 3 4 5          add each element of grad_y to the place of m it was read from
    x reads     0 1 2 3 4 5          then read the gradient of m as x reads m
    y reads       1 2
                    2 3              place 2 was read twice: it gets the sum

If x itself reads a place several times (an expanded tensor), the gradient is divided among its readings, because the
sum over them must be the gradient of the place. Source: PyTorch's note "as_strided backward and layout-aware autograd".
"""
from tensorlab._core.dispatch.dispatch cimport run_4, run_tuple
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dtypes cimport (
    COMPLEX, FLOATING, is_double, is_in, item_size, kernel_dtype, real, real_dtype
)
from tensorlab._core.graph.graph cimport as_view, bump_version
from tensorlab._core.graph.inplace cimport check_layout_change
from tensorlab._core.layout cimport (
    MAX_NDIM, extent, int_argument, may_have_internal_overlap, plain_ints, read_sizes,
    shape_text, ssize
)
from tensorlab._core.loops.iterator cimport copy_as, copy_into
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, count_along, next_index, start_counter
)
from tensorlab._core.state.modes cimport set_grad_mode, thread_state
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase, alias_as, empty_beside, is_meta, memory_of, offset_of
from tensorlab.ops.filling cimport fill_number, zeros_beside
from tensorlab.ops.dimensions cimport change_layout

from tensorlab.errors import MemoryLayoutError, ShapeError
from tensorlab.ops.complex_views import view_as_complex, view_as_real


cdef struct Geometry:                       # how a tensor reads a memory
    int ndim
    ssize[MAX_NDIM] sizes
    ssize[MAX_NDIM] strides
    ssize offset


# ---------------------------------------------------------------- reading and checking
cdef int read_geometry(Geometry* to, object size, object stride, object offset, str where) except -1:
    cdef int i
    if not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        raise TypeError(f"{where}: size and stride must be tuples of ints, not {type(size).__name__} and "
                        f"{type(stride).__name__}")
    to.ndim = read_sizes(size, to.sizes, where)
    to.offset = int_argument(offset, where, "storage_offset")
    if read_sizes(stride, to.strides, where) != to.ndim:
        raise ShapeError(f"{where}: {to.ndim} sizes and {len(stride)} strides are given; each dimension needs one of "
                         f"both")
    for i in range(to.ndim):
        if to.sizes[i] < 0 or to.strides[i] < 0:
            raise ShapeError(f"{where}: sizes {shape_text(to.ndim, to.sizes)} and strides "
                             f"{shape_text(to.ndim, to.strides)} must be at least 0")
    return 0


cdef int check_bounds(TensorBase x, Geometry* geometry, str where) except -1:
    """Raise if the geometry reaches outside the storage."""
    cdef ssize reach = extent(geometry.ndim, geometry.sizes, geometry.strides)
    if geometry.offset < 0:
        raise MemoryLayoutError(f"{where}: storage_offset {geometry.offset} is negative")
    if reach > 0 and reach > x.storage_.nbytes_ // item_size[x.dtype_] - geometry.offset:
        raise MemoryLayoutError(
            f"{where}: sizes {shape_text(geometry.ndim, geometry.sizes)} and strides "
            f"{shape_text(geometry.ndim, geometry.strides)} from offset {geometry.offset} "
            f"reach {<object>geometry.offset + reach} elements into a storage of "
            f"{x.storage_.nbytes_ // item_size[x.dtype_]}")
    return 0


# ---------------------------------------------------------------- adding into overlapping memory
cdef void accumulate_rows(real* out, const ssize* out_strides, const real* x, const ssize* x_strides,
                          const ssize* sizes, int ndim) noexcept nogil:
    cdef IndexCounter at                                # of rows
    cdef ssize i, n = sizes[ndim - 1], out_stride = out_strides[ndim - 1], x_stride = x_strides[ndim - 1]
    start_counter(&at, ndim - 1, sizes)
    count_along(&at, 0, <char*>out, out_strides, sizeof(real))
    count_along(&at, 1, <char*>x, x_strides, sizeof(real))
    while True:
        for i in range(n):
            (<real*>at.data[0])[i * out_stride] += (<const real*>at.data[1])[i * x_stride]
        if not next_index(&at, 2):
            return


cdef int accumulate_into(TensorBase out, TensorBase x) except -1:
    """out += x, one element after the other, so that a place that `out` reaches several times gets the sum.

    Both have the same shape, the same dtype, which computes in float32 or float64, and elements (none is on meta).
    A complex number is two real ones, which lie along one more dimension.
    """
    cdef ssize[MAX_NDIM + 1] sizes, out_strides, x_strides
    cdef int i, ndim = max(<int>out.ndim_, 1), parts = 2 if is_in(out.dtype_, COMPLEX) else 1
    if out.numel_ == 0:
        return 0
    sizes[0] = 1
    out_strides[0] = x_strides[0] = 0
    for i in range(out.ndim_):
        sizes[i] = out.sizes[i]
        out_strides[i] = out.strides[i] * parts
        x_strides[i] = x.strides[i] * parts
    if parts == 2:
        sizes[ndim], out_strides[ndim], x_strides[ndim] = 2, 1, 1
        ndim += 1
    if is_double(real_dtype(out.dtype_)):
        with nogil:
            accumulate_rows(<double*>memory_of(out), out_strides, <double*>memory_of(x), x_strides, sizes, ndim)
    else:
        with nogil:
            accumulate_rows(<float*>memory_of(out), out_strides, <float*>memory_of(x), x_strides, sizes, ndim)
    return 0


# ---------------------------------------------------------------- as_strided
cdef Op AS_STRIDED = Op("as_strided(Tensor(a) x, int[] size, int[] stride, "
                        "int? storage_offset=None) -> Tensor(a)", counts_from_storage=True)

@AS_STRIDED.derivative("x")
def as_strided_derivative(grad, size, stride, storage_offset, x_shape, x_stride, x_storage_offset):
    offset = x_storage_offset if storage_offset is None else storage_offset
    return run_restride(<TensorBase?>grad, size, stride, offset, x_shape, x_stride, x_storage_offset, True)

@AS_STRIDED.infer
def as_strided_infer(TensorBase x, size, stride, storage_offset):
    cdef Geometry to
    read_target(&to, x, size, stride, storage_offset, "as_strided")
    return alias_as(x, to.ndim, to.sizes, to.strides, x.storage_.address + to.offset * item_size[x.dtype_])

cdef object own_or_given(TensorBase x, object storage_offset):
    return offset_of(x) if storage_offset is None else plain_ints(storage_offset)

cdef int read_target(Geometry* to, TensorBase x, object size, object stride, object storage_offset, str where) except -1:
    """Read how a view of x is to lie in memory, which must be inside of the storage."""
    read_geometry(to, size, stride, own_or_given(x, storage_offset), where)
    return check_bounds(x, to, where)


def as_strided(TensorBase input not None, size, stride, storage_offset=None):
    """A view with any sizes and strides over the memory of `input`.

    Parameters
    ----------
    size, stride : tuple of int, one of each for each dimension
    storage_offset : int; elements from the start of the storage to the first one; that of `input` unless given

    Raises
    ------
    MemoryLayoutError
        If some element would lie outside the storage.

    Notes
    -----
    Elements may share a place: `as_strided((3, 2), (1, 1))` shows sliding windows. Do not write to such a view.

    >>> import tensorlab
    >>> tensorlab.as_strided(tensorlab.tensor([1, 2, 3, 4]), (3, 2), (1, 1))
    tensor([[1, 2],
            [2, 3],
            [3, 4]])
    """
    return run_4(AS_STRIDED, input, plain_ints(size), plain_ints(stride), own_or_given(input, storage_offset))


cdef Op AS_STRIDED_ = inplace_op(AS_STRIDED)

@AS_STRIDED_.compose
def as_strided_in_place(TensorBase self, size, stride, storage_offset):
    cdef Geometry to
    check_layout_change(self, "as_strided_")
    read_target(&to, self, size, stride, storage_offset, "as_strided_")
    return change_layout(AS_STRIDED, self, (self, size, stride, storage_offset), to.ndim, to.sizes, to.strides,
                         self.storage_.address + to.offset * item_size[self.dtype_])

AS_STRIDED_.records_itself = True

def as_strided_(TensorBase self not None, size, stride, storage_offset=None):
    """`as_strided` of the tensor itself.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.arange(6).as_strided_((2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    return run_4(AS_STRIDED_, self, plain_ints(size), plain_ints(stride), own_or_given(self, storage_offset))


# ---------------------------------------------------------------- restride
cdef Op RESTRIDE = Op("restride(Tensor x, int[] size, int[] stride, int offset, int[] target_size, int[] target_stride, "
                      "int target_offset, bool divides_by_target) -> Tensor", aten=None,
                      counts_from_storage=True)

@RESTRIDE.derivative("x")
def restride_derivative(grad, size, stride, offset, target_size, target_stride, target_offset, divides_by_target):
    # the transposed map
    return run_restride(<TensorBase?>grad, target_size, target_stride, target_offset, size, stride, offset, not divides_by_target)


cdef object run_restride(TensorBase x, object size, object stride, object offset, object target_size, object target_stride,
                         object target_offset, bint divides_by_target):
    """Add x to a memory of zeros, as sizes, strides and offset say, and read that as the target's say.

    What is read is divided by the number of times that one of the two reads the place.
    """
    cdef bint was_enabled = thread_state().grad_mode
    if is_in(x.dtype_, COMPLEX):                    # as real numbers, in steps of two
        return view_as_complex(run_restride(
            view_as_real((<object>x).resolve_conj()), (*size, 2), (*[2 * step for step in stride], 1), 2 * offset,
            (*target_size, 2), (*[2 * step for step in target_stride], 1), 2 * target_offset, divides_by_target))
    if x.numel_ == 0 or 0 in target_size:           # zeros, which do not depend on x
        set_grad_mode(False)
    try:
        return run_tuple(RESTRIDE, (x, size, stride, offset, target_size, target_stride, target_offset, divides_by_target))
    finally:
        set_grad_mode(was_enabled)


cdef TensorBase start_restride(TensorBase x, Geometry* reads, Geometry* writes, int dtype):
    """A memory of zeros that both geometries fit in; they now count from its start."""
    cdef ssize reach = extent(writes.ndim, writes.sizes, writes.strides), shared = min(reads.offset, writes.offset)
    if x.numel_ == 0 or reach == 0:
        return zeros_beside(x, x.dtype_, writes.ndim, writes.sizes)
    # memory begins where the lower one of the two begins
    reads.offset -= shared
    writes.offset -= shared
    reach = max(writes.offset + reach, reads.offset + extent(reads.ndim, reads.sizes, reads.strides))
    return zeros_beside(x, dtype, 1, &reach)


cdef int read_geometries(TensorBase x, Geometry* reads, Geometry* writes, object size, object stride, object offset,
                         object target_size, object target_stride, object target_offset) except -1:
    cdef int i
    check_dtype("restride", x, FLOATING)                            # a gradient; sums are computed in float32 or float64
    read_geometry(reads, size, stride, offset, "restride")
    read_geometry(writes, target_size, target_stride, target_offset, "restride")
    if reads.offset < 0 or writes.offset < 0:
        raise MemoryLayoutError(f"restride: offsets {reads.offset} and {writes.offset} must be at least 0")
    for i in range(max(reads.ndim, x.ndim_)):
        if reads.ndim != x.ndim_ or reads.sizes[i] != x.sizes[i]:
            raise ShapeError(f"restride: sizes {shape_text(reads.ndim, reads.sizes)} must be the shape of the tensor, "
                             f"{shape_text(x.ndim_, x.sizes)}")
    return 0


cdef TensorBase restride_result(TensorBase x, object size, object stride, object offset, object target_size,
                                object target_stride, object target_offset, object divides_by_target):
    cdef Geometry reads, writes
    cdef TensorBase memory
    read_geometries(x, &reads, &writes, size, stride, offset, target_size, target_stride, target_offset)
    memory = start_restride(x, &reads, &writes, x.dtype_)
    return read_as(memory, &writes) if x.numel_ > 0 and extent(writes.ndim, writes.sizes, writes.strides) > 0 else memory


@RESTRIDE.kernel
def restride_kernel(TensorBase x, size, stride, offset, target_size, target_stride, target_offset, bint divides_by_target):
    cdef Geometry reads, writes
    cdef Geometry* divisor = &writes if divides_by_target else &reads
    cdef TensorBase memory, counts, kept = x, y, out
    cdef int dtype = kernel_dtype(x.dtype_)
    if is_meta(x):
        return restride_result(x, size, stride, offset, target_size, target_stride, target_offset, divides_by_target)
    read_geometries(x, &reads, &writes, size, stride, offset, target_size, target_stride, target_offset)
    memory = start_restride(x, &reads, &writes, dtype)
    if x.numel_ == 0 or extent(writes.ndim, writes.sizes, writes.strides) == 0:
        bump_version(memory)
        return memory
    if dtype != x.dtype_:                                       # half types are summed in float32
        kept = copy_as(x, dtype)
    y = read_as(memory, &reads)
    if not may_have_internal_overlap(reads.ndim, reads.sizes, reads.strides):
        copy_into(y, kept)
    else:
        accumulate_into(y, kept)
    if may_have_internal_overlap(divisor.ndim, divisor.sizes, divisor.strides):
        counts = zeros_beside(x, dtype, 1, memory.sizes)
        count_readings(counts, divisor)
        if is_double(dtype):
            divide(<double*>memory_of(memory), <double*>memory_of(counts), memory.numel_)
        else:
            divide(<float*>memory_of(memory), <float*>memory_of(counts), memory.numel_)
    if dtype != x.dtype_:
        memory = copy_as(memory, x.dtype_)
    bump_version(memory)                                        # as in PyTorch, where all this is an in-place operation
    out = read_as(memory, &writes)
    # a view, as PyTorch's is; when the backward pass is recorded, it has a history of its own instead
    return out if thread_state().grad_enabled else as_view(memory, out, VIEW_DEFAULT)


cdef TensorBase read_as(TensorBase memory, Geometry* geometry):
    return alias_as(memory, geometry.ndim, geometry.sizes, geometry.strides,
                    memory.data_ + geometry.offset * item_size[memory.dtype_])


cdef int count_readings(TensorBase counts, Geometry* geometry) except -1:
    cdef ssize one = 1
    cdef ssize[MAX_NDIM] nowhere
    cdef TensorBase unit = empty_beside(counts, counts.dtype_, 1, &one)
    cdef int i
    for i in range(geometry.ndim):
        nowhere[i] = 0
    fill_number(unit, 1, "restride")
    return accumulate_into(read_as(counts, geometry),
                           alias_as(unit, geometry.ndim, geometry.sizes, nowhere, unit.data_))


cdef void divide(real* memory, const real* counts, ssize n) noexcept nogil:
    cdef ssize i
    for i in range(n):
        if counts[i] > 1:
            memory[i] /= counts[i]
