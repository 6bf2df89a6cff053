"""Indexing by tensors: index reads x[i, j, ...], index_put writes it.

`indices` has one entry for each dimension of x, from the first on: None for a dimension that is kept, a tensor of ints, or
a mask, which stands for as many dimensions as it has. The tensors are broadcast together; their common dimensions take the
place of the indexed ones, or come first if kept dimensions lie between the indexed ones.

    x (2, 3, 4),  x[:, i]       i (5,)           (2, 5, 4)
                  x[i, :, j]    i, j (5,)        (5, 3)
                  x[i, j]       i (5, 1) j (6,)  (5, 6, 4)
                  x[mask]       mask (2, 3)      (number of True, 4)

The gradient of reading is accumulating into zeros, and the other way round.
"""
from libc.stdint cimport int64_t

from tensorlab._core.dispatch.dispatch cimport run_2, run_3, run_4
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport same_numbers
from tensorlab._core.dispatch.recording cimport OpNode, end_record_inplace
from tensorlab._core.dtypes cimport BOOL, INT32, INT64, UINT8
from tensorlab._core.graph.graph cimport bump_version
from tensorlab._core.layout cimport (
    MAX_NDIM, broadcast_into, contiguous_strides, dense_strides, read_sizes, shape_text, ssize,
    view_strides
)
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_into, put_back
from tensorlab._core.state.devices cimport FIRST_OF_OTHERS
from tensorlab._core.tensor cimport (
    TensorBase, alias, alias_as, empty_beside, give_memory, is_meta, memory_of, result_beside,
    result_like
)
from tensorlab.ops.filling cimport fill_zero, refuse_negative, start_overlapping, warn_if_expanded
from tensorlab.ops.indexing.nonzero cimport flat_nonzero, unravel, where_true
from tensorlab.ops.indexing.index_iterator cimport (
    ADD, PUT, TAKE, IndexIterator, add_kept_dim, apart_from, check_tensor, check_positions, must_be_widened, widened,
    end_kept_dims, for_each_index, refresh
)

from tensorlab.ops.indexing.subscripts cimport warn_of_bytes

from tensorlab.errors import DTypeError, IndexOutOfRange, ShapeError

cdef struct Plan:               # how a result of indexing lies over x
    int ndim                    # dimensions of x, those of a mask that lie one after another as one
    ssize[MAX_NDIM] sizes
    ssize[MAX_NDIM] strides
    int index_ndim              # the common shape of the index tensors
    ssize[MAX_NDIM] index_sizes
    int first                   # dimension of the result at which the index dimensions begin
    int result_ndim
    ssize[MAX_NDIM] result_sizes
    int[MAX_NDIM] source        # for each dimension of the result: the dimension of x, or -1 for an index dimension


# ---------------------------------------------------------------- reading the indices
cdef int add_dim(Plan* plan, list tensors, ssize size, ssize stride, object tensor) except -1:
    if plan.ndim == MAX_NDIM:
        raise ShapeError(f"index: more than {MAX_NDIM} dimensions")
    plan.sizes[plan.ndim] = size
    plan.strides[plan.ndim] = stride
    plan.ndim += 1
    tensors.append(tensor)
    return 0


cdef int add_mask(Plan* plan, list tensors, TensorBase x, int dim, TensorBase mask, str where) except -1:
    """The dimensions of a mask: one for all if they follow one another in x, as then a flat position is an index."""
    cdef TensorBase positions
    cdef int d
    cdef bint joins = True
    if dim + mask.ndim_ > x.ndim_:
        raise IndexOutOfRange(f"{where}: a mask of shape {shape_text(mask.ndim_, mask.sizes)} at dimension {dim} is too "
                              f"large for a tensor of shape {shape_text(x.ndim_, x.sizes)}")
    for d in range(mask.ndim_):
        if mask.sizes[d] != x.sizes[dim + d]:
            raise IndexOutOfRange(f"{where}: the mask of shape {shape_text(mask.ndim_, mask.sizes)} does not fit the "
                                  f"dimensions from {dim} on of a tensor of shape {shape_text(x.ndim_, x.sizes)}: size "
                                  f"{mask.sizes[d]} meets {x.sizes[dim + d]}")
        joins = joins and (d == 0 or x.strides[dim + d - 1] == x.strides[dim + d] * x.sizes[dim + d])
    positions = flat_nonzero(mask)
    if mask.ndim_ == 0:                                 # True and False make a dimension, which they keep or empty
        add_dim(plan, tensors, 1, 0, positions)
    elif joins:
        add_dim(plan, tensors, mask.numel_, x.strides[dim + mask.ndim_ - 1], positions)
    else:
        for d in range(mask.ndim_):
            add_dim(plan, tensors, x.sizes[dim + d], x.strides[dim + d], unravel(positions, mask, d))
    return 0


cdef list read_indices(TensorBase x, list indices, Plan* plan, str where):
    """Fill the plan but for the result; returned are the index tensors, None for the dimensions that are kept."""
    cdef list tensors = []
    cdef TensorBase index
    cdef int dim = 0, d
    plan.ndim = 0
    plan.index_ndim = 0
    for entry in indices:
        if entry is not None:
            index = <TensorBase>entry
            if index.dtype_ == BOOL or index.dtype_ == UINT8:
                add_mask(plan, tensors, x, dim, index, where)
                dim += index.ndim_
                continue
            if index.dtype_ != INT64 and index.dtype_ != INT32:
                raise IndexOutOfRange(f"{where}: a tensor of type {index.dtype} is no index; convert it to int64 (positions) "
                                      f"or bool (a mask)")
        if dim >= x.ndim_:
            raise IndexOutOfRange(f"{where}: {len(indices)} indices for a tensor of {x.ndim_} dimensions")
        add_dim(plan, tensors, x.sizes[dim], x.strides[dim], entry)
        dim += 1
    for d in range(dim, x.ndim_):
        add_dim(plan, tensors, x.sizes[d], x.strides[d], None)
    for entry in tensors:
        if entry is not None and broadcast_into((<TensorBase>entry).ndim_, (<TensorBase>entry).sizes, &plan.index_ndim,
                                                plan.index_sizes) < 0:
            shapes = ", ".join([str(tuple(one.shape)) for one in tensors if one is not None])
            raise IndexOutOfRange(f"{where}: the index tensors have shapes {shapes}, which cannot be broadcast together: "
                                  f"counted from the right, sizes must be equal or 1")
    return tensors


cdef int plan_result(Plan* plan, list tensors) except -1:
    """Order of the result's dimensions."""
    cdef int d, last = -1, made = 0
    cdef bint is_together = True, placed = False
    plan.first = 0
    for d in range(plan.ndim):
        if tensors[d] is not None:
            if last >= 0 and last != d - 1:
                is_together = False
            if last < 0:
                plan.first = d
            last = d
    if not is_together:
        plan.first = 0
        made = place_index_dims(plan, made)
        placed = True
    for d in range(plan.ndim):
        if tensors[d] is None:
            if made == MAX_NDIM:
                raise ShapeError(f"index: the result would have more than {MAX_NDIM} "
                                 "dimensions")
            plan.result_sizes[made] = plan.sizes[d]
            plan.source[made] = d
            made += 1
        elif not placed:
            made = place_index_dims(plan, made)
            placed = True
    plan.result_ndim = made
    return 0


cdef int place_index_dims(Plan* plan, int made) except -1:
    cdef int d
    if made + plan.index_ndim > MAX_NDIM:
        raise ShapeError(f"index: the result would have more than {MAX_NDIM} dimensions")
    for d in range(plan.index_ndim):
        plan.result_sizes[made + d] = plan.index_sizes[d]
        plan.source[made + d] = -1
    return made + plan.index_ndim


cdef TensorBase spread(TensorBase index, Plan* plan):
    """An index tensor as contiguous int64 of the common shape; itself if it is that already."""
    cdef TensorBase out
    cdef ssize n = 1
    cdef int d
    for d in range(plan.index_ndim):
        n *= plan.index_sizes[d]
    if index.dtype_ == INT64 and index.is_contiguous_ and index.numel_ == n:
        return index
    out = empty_beside(index, INT64, plan.index_ndim, plan.index_sizes)
    copy_into(out, index)
    return out


cdef list set_positions(IndexIterator* iter, Plan* plan, list tensors, str where):
    """Give the iterator its positions; returned are the tensors that hold them, to be kept alive."""
    cdef list kept = []
    cdef TensorBase index
    cdef int d
    iter.indices = 0
    iter.n = 1
    for d in range(plan.index_ndim):
        iter.n *= plan.index_sizes[d]
    for d in range(plan.ndim):
        if tensors[d] is not None:
            index = spread(<TensorBase>tensors[d], plan)
            kept.append(index)
            if plan.sizes[d] == 0 and iter.n > 0:
                raise IndexOutOfRange(f"{where}: a dimension of size 0 is indexed; it has no valid index")
            iter.index[iter.indices] = <const int64_t*>memory_of(index)
            iter.bound[iter.indices] = plan.sizes[d]
            iter.stride[iter.indices] = plan.strides[d]
            iter.indices += 1
    return kept


cdef bint set_flat_side(IndexIterator* iter, Plan* plan, TensorBase flat) noexcept:
    """Give the iterator the layout of the other operand; False if its index dimensions do not have one common stride."""
    cdef ssize[MAX_NDIM] strides
    cdef int d, j, shift = plan.result_ndim - flat.ndim_
    cdef bint started = False
    iter.ndim = 0
    iter.index_stride = 0
    end_kept_dims(iter)
    if iter.n == 0:                                     # nothing to do; and strides of sizes of 0 are no common stride
        return True
    for d in range(plan.result_ndim):
        strides[d] = 0 if d < shift or flat.sizes[d - shift] != plan.result_sizes[d] else flat.strides[d - shift]
    for d in range(plan.first + plan.index_ndim - 1, plan.first - 1, -1):
        if plan.result_sizes[d] == 1:
            continue
        if started and strides[d] != strides[j] * plan.result_sizes[j]:
            return False
        if not started:
            iter.index_stride = strides[d]
            started = True
        j = d
    for d in range(plan.result_ndim):
        if plan.source[d] >= 0:
            add_kept_dim(iter, plan.result_sizes[d], plan.strides[plan.source[d]], strides[d])
    end_kept_dims(iter)
    return True


# ---------------------------------------------------------------- the result's layout
cdef bint is_row_major(TensorBase x) noexcept:
    """Contiguous, and even the strides of dimensions of size 1, which are visible, are as usual."""
    cdef ssize[MAX_NDIM] strides
    cdef int d
    if not x.is_contiguous_:
        return False
    contiguous_strides(x.ndim_, x.sizes, strides)
    for d in range(x.ndim_):
        if x.strides[d] != strides[d]:
            return False
    return True


cdef TensorBase indexed_result(TensorBase x, Plan* plan, list tensors):
    """A result whose dimensions lie in the order that PyTorch gives them.

    It sees x, with stride 0 in the index dimensions, and each index tensor, with stride 0 elsewhere, as operands of one
    pointwise operation; see `dense_strides`.
    """
    cdef ssize[MAX_NDIM + 1][MAX_NDIM] operands
    cdef const ssize* rows[MAX_NDIM + 1]
    cdef ssize[MAX_NDIM] strides
    cdef int d, count = 1
    cdef bint plain = is_row_major(x)
    for entry in tensors:
        plain = plain and (entry is None or is_row_major(<TensorBase>entry))
    if plain:
        return result_beside(x, x.dtype_, plan.result_ndim, plan.result_sizes)
    rows[0] = operands[0]
    for d in range(plan.result_ndim):
        operands[0][d] = plan.strides[plan.source[d]] if plan.source[d] >= 0 else 0
    for entry in tensors:
        if entry is None:
            continue
        index_strides(<TensorBase>entry, plan, operands[count])
        rows[count] = operands[count]
        count += 1
    dense_strides(plan.result_ndim, plan.result_sizes, count, rows, strides)
    return result_beside(x, x.dtype_, plan.result_ndim, plan.result_sizes, strides)


cdef int index_strides(TensorBase index, Plan* plan, ssize* strides) noexcept:
    """Strides of an index tensor in the result's dimensions: broadcast, then viewed with a 1 for each kept dimension."""
    cdef ssize[MAX_NDIM] expanded, view
    cdef int d, shift = plan.index_ndim - index.ndim_
    for d in range(plan.index_ndim - 1, -1, -1):
        if d >= shift:
            expanded[d] = index.strides[d - shift] if index.sizes[d - shift] == plan.index_sizes[d] else 0
        elif plan.index_sizes[d] == 1:
            expanded[d] = expanded[d + 1] * plan.index_sizes[d + 1] if d + 1 < plan.index_ndim else 1
        else:
            expanded[d] = 0
    for d in range(plan.result_ndim):
        view[d] = 1 if plan.source[d] >= 0 else plan.result_sizes[d]
    view_strides(plan.index_ndim, plan.index_sizes, expanded, plan.result_ndim, view, strides)
    for d in range(plan.result_ndim):
        if plan.source[d] >= 0 and plan.result_sizes[d] != 1:
            strides[d] = 0
    return 0


# ---------------------------------------------------------------- index
cdef TensorBase index_forward(TensorBase x, list indices, str where):
    """What is read at the indices, as a new tensor. With masks its shape depends on values; without, it is known on meta."""
    cdef Plan plan
    cdef IndexIterator iter
    cdef TensorBase out
    cdef list tensors
    cdef list _kept             # alive while the iterator reads their memory
    if is_whole_mask(x, indices):
        return where_true(x, <TensorBase>indices[0])
    tensors = read_indices(x, indices, &plan, where)
    plan_result(&plan, tensors)
    if not is_meta(x):
        _kept = set_positions(&iter, &plan, tensors, where)
    out = indexed_result(x, &plan, tensors)
    give_memory(out)
    if not is_meta(x):
        read_indexed(&iter, &plan, out, x, where)
    return out

cdef bint is_whole_mask(TensorBase x, list indices) noexcept:
    """Is the only index a mask for each element of x, which is contiguous?"""
    cdef TensorBase mask = <TensorBase>indices[0]
    return (len(indices) == 1 and mask is not None and (mask.dtype_ == BOOL or mask.dtype_ == UINT8) and x.ndim_ > 0
            and x.is_contiguous_ and not is_meta(x) and mask.ndim_ == x.ndim_ and same_numbers(x.ndim_, x.sizes, mask.sizes))

cdef int index_to(TensorBase out, TensorBase x, list indices, str where) except -1:
    """Write what is read at the indices into `out`."""
    cdef Plan plan
    cdef IndexIterator iter
    cdef list tensors = read_indices(x, indices, &plan, where)
    cdef list _kept
    plan_result(&plan, tensors)
    _kept = set_positions(&iter, &plan, tensors, where)
    return read_indexed(&iter, &plan, out, x, where)

cdef int read_indexed(IndexIterator* iter, Plan* plan, TensorBase out, TensorBase x, str where) except -1:
    cdef TensorBase target = out
    if not set_flat_side(iter, plan, target):
        target = empty_beside(x, x.dtype_, plan.result_ndim, plan.result_sizes)
        set_flat_side(iter, plan, target)
    for_each_index(iter, TAKE, x, target, where)
    return put_back(out, target)

cdef TensorBase index_result(TensorBase x, list indices, str where):
    """A result of the shape and dtype of what is read at the indices."""
    cdef Plan plan
    cdef list tensors = read_indices(x, indices, &plan, where)
    plan_result(&plan, tensors)
    return indexed_result(x, &plan, tensors)

cdef Op INDEX = Op("index(Tensor x, Tensor?[] indices) -> Tensor", aten="index.Tensor",
                   checks_values=True)

@INDEX.derivative("x")
def index_derivative(grad, indices, x_shape):
    return run_3(INDEX_BACKWARD, grad, indices, x_shape)

@INDEX.kernel
def index_kernel(TensorBase x, indices):
    return index_forward(x, as_list(indices, "index"), "index")

cdef list as_list(object indices, str where):
    cdef list found = list(indices)
    for one in found:
        if one is not None:
            return found
    raise RuntimeError(f"{where}: at least one index tensor is needed")

cdef object run_index(TensorBase x, list indices):
    """x[indices]"""
    refresh(x)
    return run_2(INDEX, x, indices)


# ---------------------------------------------------------------- index_backward
cdef Op INDEX_BACKWARD = Op("index_backward(Tensor grad, Tensor?[] indices, int[] shape) -> Tensor")

@INDEX_BACKWARD.derivative("grad")
def index_backward_derivative(grad, indices):
    return run_2(INDEX, grad, indices)

@INDEX_BACKWARD.infer
def index_backward_infer(TensorBase grad, indices, shape):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, "index_backward")
    cdef TensorBase out
    refuse_negative(ndim, sizes)
    out = result_beside(grad, grad.dtype_, ndim, sizes)
    if is_meta(grad) and grad.numel_ > 0:               # else the kernel finds what is wrong, as it has to read masks
        write_indexed(out, as_list(indices, "index_backward"), grad, ADD, "index_backward", False)
    bump_version(out)                                   # PyTorch's is zeros and a write to them, and its version tells
    return out

@INDEX_BACKWARD.kernel
def index_backward_kernel(TensorBase out, TensorBase grad, indices, shape):
    """Zeros, with grad added at x[indices]."""
    fill_zero(out)
    if grad.numel_ > 0:                                 # else the indices need not be valid
        write_indexed(out, as_list(indices, "index_backward"), grad, ADD,
                      "index_backward", True)

cdef object run_index_backward(TensorBase grad, list indices, object shape):
    return run_3(INDEX_BACKWARD, grad, indices, shape)


# ---------------------------------------------------------------- index_put
cdef int write_indexed(TensorBase x, list indices, TensorBase values, int mode, str where, bint computes) except -1:
    """Write or accumulate; whatever is wrong is found before the first write. If it is not to compute, look for that alone."""
    cdef Plan plan
    cdef IndexIterator iter
    cdef TensorBase whole = values, wide
    cdef list tensors = read_indices(x, indices, &plan, where)
    cdef list _kept             # alive while the iterator reads their memory
    cdef int d, shift
    plan_result(&plan, tensors)
    if computes:
        _kept = set_positions(&iter, &plan, tensors, where)
    shift = plan.result_ndim - values.ndim_
    for d in range(values.ndim_):
        if shift < 0 or (values.sizes[d] != 1 and values.sizes[d] != plan.result_sizes[d + shift]):
            raise ShapeError(f"{where}: values of shape {shape_text(values.ndim_, values.sizes)} cannot be broadcast to what "
                             f"is indexed, of shape {shape_text(plan.result_ndim, plan.result_sizes)}")
    for d in range(plan.result_ndim):
        if plan.result_sizes[d] == 0:                   # nothing is written, and no index is asked whether it is valid
            return 0
    if not computes:
        return 0
    check_positions(&iter, where)
    if must_be_widened(mode, x):
        wide = widened(x)
        write_indexed(wide, indices, widened(values), mode, where, True)
        copy_into(x, wide)
        return 0
    if not set_flat_side(&iter, &plan, values):
        whole = empty_beside(values, values.dtype_, plan.result_ndim, plan.result_sizes)
        copy_into(whole, values)
        set_flat_side(&iter, &plan, whole)
    for_each_index(&iter, mode, x, whole, where)
    return 0


cdef int check_types(TensorBase x, TensorBase values, str where) except -1:
    if x.dtype_ != values.dtype_:
        raise DTypeError(f"{where}: the values have type {values.dtype}, but the tensor has type {x.dtype}; convert them with "
                         f".to() first")
    return 0


cdef Op INDEX_PUT = Op("index_put(Tensor x, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
                       checks_values=True)

@INDEX_PUT.derivative("x")
def index_put_derivative_x(grad, indices, accumulate):
    if accumulate:
        return grad
    return index_put(grad, indices, grad.new_zeros(()))

@INDEX_PUT.derivative("values")
def index_put_derivative_values(grad, indices):
    return run_2(INDEX, grad, indices)                     # the engine sums it to the shape of the values

cdef list index_list(object indices, str where):
    """The indices of a public call: a sequence of tensors, or None where a dimension is kept."""
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"{where}: indices must be a tuple of tensors, not {type(indices).__name__}")
    for entry in indices:
        if entry is not None and not isinstance(entry, TensorBase):
            raise TypeError(f"{where}: indices must be a tuple of tensors, but one entry is of type {type(entry).__name__}")
        if entry is not None and (<TensorBase>entry).dtype_ == UINT8:
            warn_of_bytes()
    return as_list(indices, where)

cdef TensorBase source_of(TensorBase x, list indices, TensorBase values, bint accumulate, str where):
    """The values, which must have x's type. As in PyTorch, a single value for a single mask is cast."""
    cdef TensorBase element
    if accumulate or values.numel_ != 1 or not is_single_mask(indices):
        check_types(x, values, where)
        return values
    element = empty_beside(x, x.dtype_, 0, NULL)
    copy_into(element, alias_as(values, 0, NULL, NULL, values.data_))
    return element

cdef bint is_single_mask(list indices) noexcept:
    cdef int masks = 0
    for index in indices:
        if index is not None:
            masks += 1
            if (<TensorBase>index).dtype_ != BOOL and (<TensorBase>index).dtype_ != UINT8:
                return False
    return masks == 1

@INDEX_PUT.infer
def index_put_infer(TensorBase x, indices, TensorBase values, bint accumulate):
    cdef TensorBase out = result_like(x, x.dtype_)
    if is_meta(x):                                      # else the kernel finds what is wrong, as it has to read masks
        write_indexed(out, as_list(indices, "index_put"), source_of(x, list(indices), values, accumulate, "index_put"), PUT,
                      "index_put", False)
    return out

@INDEX_PUT.kernel
def index_put_kernel(TensorBase out, TensorBase x, indices, TensorBase values, bint accumulate):
    cdef list read = as_list(indices, "index_put")
    copy_into(out, x)
    write_indexed(out, read, source_of(x, read, values, accumulate, "index_put"), ADD if accumulate else PUT, "index_put", True)

cdef TensorBase index_apart_from(TensorBase x, TensorBase index, TensorBase values):
    """An index that is not written. One value may be filled in where the tensor itself, as a mask, says so."""
    if index.dtype_ == BOOL and index.data_ == x.data_ and values.numel_ == 1:
        return contiguous_copy(index)
    return apart_from(x, index, "index_put_", "an index")

cdef Op INDEX_PUT_ = inplace_op(INDEX_PUT)

@INDEX_PUT_.compose
def index_put_in_place(TensorBase x, indices, TensorBase values, bint accumulate):
    """x[indices] = values, or += values"""
    cdef OpNode node
    cdef list read = as_list(indices, "index_put_"), positions
    cdef TensorBase source = source_of(x, read, values, accumulate, "index_put_")
    if source is values:
        source = apart_from(x, values, "index_put_", "the values")
    positions = [None if index is None else index_apart_from(x, <TensorBase>index, values) for index in read]
    # x may show an element twice: what is written last stays
    warn_if_expanded(x, "index_put_")
    node = start_overlapping(INDEX_PUT, x, (x, read, values, accumulate))
    if x.storage_.device >= FIRST_OF_OTHERS:            # by the kernel of that device, or on the cpu
        copy_into(x, run_4(INDEX_PUT, alias(x), read, alias(source), accumulate))
    else:
        write_indexed(x, positions, source, ADD if accumulate else PUT, "index_put_", not is_meta(x))
    return end_record_inplace(node, x)

INDEX_PUT_.records_itself = True

cdef object run_index_put_(TensorBase x, list indices, TensorBase values, bint accumulate):
    return run_4(INDEX_PUT_, x, indices, values, accumulate)

def index_put_(TensorBase input not None, indices, values, bint accumulate=False):
    """`index_put`, written over `input`. A call that raises has changed nothing.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(3).index_put_((tensorlab.tensor([0, 2]),), tensorlab.tensor(5.0))
    tensor([5., 0., 5.])
    """
    check_tensor("index_put_", "values", values)
    return run_4(INDEX_PUT_, input, index_list(indices, "index_put_"), values, accumulate)

def index_put(TensorBase input not None, indices, values, bint accumulate=False):
    """A copy of `input` with `values` at input[indices].

    Parameters
    ----------
    input : Tensor
    indices : tuple of Tensor, of ints or masks, as between brackets
    values : Tensor of the same dtype, which is broadcast to the shape of input[indices]
    accumulate : bool; add the values to what is there, one after the other where an index comes several times. Without it,
        the last of such values stays

    Raises
    ------
    IndexOutOfRange
        If an index is outside its dimension.
    ShapeError
        If the values cannot be broadcast.

    >>> import tensorlab
    >>> x, i = tensorlab.zeros(3), tensorlab.tensor([0, 2, 2])
    >>> tensorlab.index_put(x, (i,), tensorlab.ones(3), accumulate=True)
    tensor([1., 0., 2.])
    """
    check_tensor("index_put", "values", values)
    return run_4(INDEX_PUT, input, index_list(indices, "index_put"), values, accumulate)
