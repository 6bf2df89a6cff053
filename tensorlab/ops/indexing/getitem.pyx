"""x[...] and x[...] = y.

A subscript of ints, slices, None and Ellipsis gives a view: one alias, made in one pass. What it is recorded as is what
PyTorch's chain of select, slice and unsqueeze would end with; its gradient is laid into zeros in one pass too. Tensors,
masks and lists between the brackets pick elements of that view (advanced.pyx), which makes a copy.

Writing x[...] = y writes into the view, so that autograd sees an in-place operation on a view of x.
"""
from tensorlab._core.dispatch.dispatch cimport run_2, run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport (
    as_number, is_operand, refuse_internal_overlap, refuse_overlap
)
from tensorlab._core.graph.graph cimport as_view, bump_version, needs_grad
from tensorlab._core.graph.inplace cimport check_inplace
from tensorlab._core.layout cimport MAX_NDIM, read_sizes, shape_text, ssize
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_into
from tensorlab._core.state.modes cimport active_layers, thread_state
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase, alias_as, result_beside
from tensorlab.ops.creation cimport full_beside
from tensorlab.ops.copying cimport copy_safely, is_same_place
from tensorlab.ops.dimensions cimport is_unwatched
from tensorlab.ops.filling cimport check_number, fill_number, fill_zero, refuse_negative
from tensorlab.ops.indexing.advanced cimport run_index, run_index_put_
from tensorlab.ops.indexing.subscripts cimport (
    ALIAS, SELECT, SLICE, UNSQUEEZE, Subscript, plain_subscript, read_items, read_subscript,
    view_of
)

from tensorlab._pitfalls import pointed
from tensorlab.errors import ShapeError


# ---------------------------------------------------------------- views
cdef Op GETITEM_ALIAS = Op("getitem_alias(Tensor(a) x, Index index) -> Tensor(a)",
                           aten=None, node="AliasBackward0")
cdef Op GETITEM_SELECT = Op("getitem_select(Tensor(a) x, Index index) -> Tensor(a)",
                            aten=None, node="SelectBackward0")
cdef Op GETITEM_SLICE = Op("getitem_slice(Tensor(a) x, Index index) -> Tensor(a)",
                           aten=None, node="SliceBackward0")
cdef Op GETITEM_UNSQUEEZE = Op("getitem_unsqueeze(Tensor(a) x, Index index) -> Tensor(a)",
                               aten=None, node="UnsqueezeBackward0")
cdef tuple VIEW_OPS = (GETITEM_ALIAS, GETITEM_SELECT, GETITEM_SLICE, GETITEM_UNSQUEEZE)     # by Subscript.last

@GETITEM_SELECT.derivative("x")
@GETITEM_SLICE.derivative("x")
@GETITEM_UNSQUEEZE.derivative("x")
def getitem_derivative(grad, index, x_shape):
    cdef bint cuts
    cdef int first = first_step(index, x_shape, &cuts)
    if cuts:
        grad = run_3(GETITEM_BACKWARD, grad, index, x_shape)
    return grad.view(x_shape) if first == UNSQUEEZE else grad   # a view, as PyTorch's, whose chain goes back through squeeze

@GETITEM_ALIAS.derivative("x")
def getitem_alias_derivative(grad):
    return grad

cdef int first_step(tuple index, object shape, bint* cuts) except -1:
    """What the first item does that does anything (SELECT, ...); and does some item leave something out?"""
    cdef Py_ssize_t d = 0, left = len(shape)
    cdef int first = ALIAS, step
    if len(index) == 1 and index[0] is not Ellipsis:
        cuts[0] = index[0] is not None                  # x[:] counts, too
        return SELECT if cuts[0] else UNSQUEEZE
    cuts[0] = False
    for item in index:
        left -= item is not None and item is not Ellipsis
    for item in index:
        step = ALIAS
        if item is None:
            step = UNSQUEEZE
        elif item is Ellipsis:
            d += left
            left = 0
        elif isinstance(item, slice):
            if item.start or (item.step or 1) != 1 or (item.stop is not None and item.stop < shape[d]):
                step = SLICE
            d += 1
        else:
            step = SELECT
            d += 1
        cuts[0] = cuts[0] or step == SELECT or step == SLICE
        if first == ALIAS:
            first = step
    return first

cdef int read_view(TensorBase x, object index, Subscript* out) except -1:
    """Read a tuple of ints, slices, None and Ellipsis."""
    cdef object items = plain_subscript(index) if isinstance(index, tuple) else None
    if items is None:
        raise TypeError(f"getitem: the index must be a tuple, not {type(index).__name__}")
    if read_items(x, <tuple>items, out) is not None:
        raise TypeError("getitem: tensors, lists and masks make no view; give ints, slices, None and Ellipsis")
    return 0

def getitem_infer(TensorBase x not None, index):
    cdef Subscript subscript
    read_view(x, index, &subscript)
    return view_of(x, &subscript)

for _op in VIEW_OPS:
    _op.infer(getitem_infer)

cdef inline TensorBase make_view(TensorBase x, Subscript* subscript, object index):
    """The view of x that a plain subscript describes."""
    if is_unwatched(x):
        return as_view(x, view_of(x, subscript), VIEW_DEFAULT)
    return run_2(<Op>VIEW_OPS[subscript.last], x, index if isinstance(index, tuple) else (index,))


# ---------------------------------------------------------------- getitem_backward
cdef Op GETITEM_BACKWARD = Op("getitem_backward(Tensor grad, Index index, int[] shape) -> Tensor")

@GETITEM_BACKWARD.derivative("grad")
def getitem_backward_derivative(grad, index):
    return getitem(grad, index)

cdef TensorBase described_part(TensorBase out, TensorBase grad, object index):
    """The part of `out` that the subscript describes; it must have grad's shape."""
    cdef Subscript subscript
    cdef TensorBase part
    read_view(out, index, &subscript)
    part = view_of(out, &subscript)
    if not is_same_size(part, grad):
        raise ShapeError(f"getitem_backward: the gradient has shape {shape_text(grad.ndim_, grad.sizes)}, but x[index] has "
                         f"{shape_text(part.ndim_, part.sizes)}")
    return part

@GETITEM_BACKWARD.infer
def getitem_backward_infer(TensorBase grad, index, shape):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, "getitem_backward")
    cdef TensorBase out
    refuse_negative(ndim, sizes)
    out = result_beside(grad, grad.dtype_, ndim, sizes)
    described_part(out, grad, index)
    return out

@GETITEM_BACKWARD.kernel
def getitem_backward_kernel(TensorBase out, TensorBase grad, index, shape):
    """Zeros, with grad in the part that the subscript describes."""
    fill_zero(out)
    copy_into(described_part(out, grad, index), grad)


# ---------------------------------------------------------------- x[index]
def getitem(TensorBase x not None, index):
    """`x[index]`: a view for ints, slices, None and Ellipsis; a copy where tensors, lists or masks pick elements.

    Raises
    ------
    IndexOutOfRange
        If an index is outside its dimension, there are too many, or something is no index.
    ValueError
        If a slice has a step that is not positive.
    """
    cdef Subscript subscript
    cdef list tensors
    index = plain_subscript(index)
    tensors = read_subscript(x, index, &subscript)
    if tensors is not None:
        return run_index(base_of_indexed(x, &subscript, index), tensors)
    return make_view(x, &subscript, index)


cdef TensorBase base_of_indexed(TensorBase x, Subscript* subscript, tuple index):
    """The view that tensors of a subscript index: x itself if nothing else stands between the brackets."""
    if subscript.is_whole:
        return x
    return make_view(x, subscript, without_tensors(index))


cdef tuple without_tensors(tuple index):
    """The subscript that makes the view alone: tensors keep their dimensions, bools make one."""
    cdef list out = []
    for item in index:
        if isinstance(item, bool) or (isinstance(item, TensorBase) and item.ndim == 0 and item.dtype.itemsize == 1):
            out.append(None)
        elif isinstance(item, TensorBase):
            out.extend([slice(None)] * (item.ndim if not item.dtype.is_floating_point and item.dtype.itemsize == 1 else 1))
        else:
            out.append(item)
    return tuple(out)


# ---------------------------------------------------------------- x[index] = value
def setitem(TensorBase x not None, index, value):
    """`x[index] = value`: a number or a tensor, broadcast to the shape of x[index] (and cast, unless tensors pick elements).

    Raises
    ------
    IndexOutOfRange
        If an index is outside its dimension; nothing has been written then.
    ShapeError
        If the value cannot be broadcast.
    """
    cdef Subscript subscript
    cdef list tensors
    if not isinstance(value, TensorBase):
        if not is_operand(value):
            raise TypeError(f"setitem: the value must be a number or a Tensor, not {type(value).__name__}")
        check_number(as_number(value), x.dtype_, "setitem")
    if index is False:
        return                                          # selects nothing
    index = (None,) if index is True else plain_subscript(index)            # True selects everything
    tensors = read_subscript(x, index, &subscript)
    if tensors is not None:
        put_value(base_of_indexed(x, &subscript, index), tensors, value)
    elif active_layers or thread_state().grad_enabled and (
            needs_grad(x) or (isinstance(value, TensorBase) and needs_grad(<TensorBase>value))):
        if subscript.is_whole:
            record_value(x, value)                      # x[...] = value is an in-place op on x itself
        else:
            record_value(make_view(x, &subscript, index), value)
    else:
        write_value(x, view_of(x, &subscript), value)


cdef int record_value(TensorBase view, object value) except -1:
    """Write into a view with the in-place ops that autograd follows."""
    cdef TensorBase source
    if not isinstance(value, TensorBase):
        refuse_internal_overlap(view, "setitem")        # which fill_ would allow
        view.fill_(value)
        return 0
    source = <TensorBase>value
    if is_same_size(source, view):
        view.copy_(source)
    elif source.ndim_ == 0:
        view.fill_(source)
    else:
        source = source.view(source.shape[leading_ones(source):])       # a view in any case, as autograd sees it in PyTorch
        check_broadcast(source, view)
        view.copy_(source.expand(view.shape))
    return 0


cdef int write_value(TensorBase x, TensorBase view, object value) except -1:
    """Write a value into a view of x where autograd has nothing to record."""
    cdef TensorBase source
    check_inplace(x, False, "setitem")
    if not isinstance(value, TensorBase):
        refuse_internal_overlap(view, "setitem")
        fill_number(view, value, "setitem")
        return bump_version(x)
    source = <TensorBase>value
    if not is_same_size(source, view):                  # not .shape, which a class of the user's may override
        if source.ndim_ == 0:
            source = contiguous_copy(source)            # one value for all: it may well be one of those written
        source = without_leading_ones(source)
        check_broadcast(source, view)
        source = broadcast_to(source, view)
    if not is_same_place(source, view):
        refuse_internal_overlap(view, "setitem")
        refuse_overlap(view, source, "setitem")
        copy_safely(view, source)
    return bump_version(x)


cdef bint is_same_size(TensorBase x, TensorBase y) noexcept:
    cdef int d
    for d in range(x.ndim_):
        if d >= y.ndim_ or x.sizes[d] != y.sizes[d]:
            return False
    return x.ndim_ == y.ndim_


cdef int check_broadcast(TensorBase source, TensorBase view) except -1:
    cdef int d, shift = view.ndim_ - source.ndim_
    for d in range(source.ndim_):
        if shift < 0 or (source.sizes[d] != 1 and source.sizes[d] != view.sizes[d + shift]):
            raise ShapeError(f"setitem: the value has shape {shape_text(source.ndim_, source.sizes)}, which cannot be broadcast "
                             f"to {shape_text(view.ndim_, view.sizes)}: counted from the right, sizes must be equal or 1")
    return 0


cdef TensorBase broadcast_to(TensorBase source, TensorBase view):
    """An alias of the source with the sizes of the view, and the strides that `expand` gives it."""
    cdef ssize[MAX_NDIM] strides
    cdef int d, shift = view.ndim_ - source.ndim_
    for d in range(view.ndim_ - 1, -1, -1):
        if d >= shift:
            strides[d] = source.strides[d - shift] if source.sizes[d - shift] == view.sizes[d] else 0
        elif source.ndim_ == 0 or view.sizes[d] != 1:
            strides[d] = 0
        else:
            strides[d] = strides[d + 1] * view.sizes[d + 1]
    return alias_as(source, view.ndim_, view.sizes, strides, source.data_)


cdef int leading_ones(TensorBase value) noexcept:
    """How many first dimensions have size 1: a value may have them beyond the dimensions of what it is written to."""
    cdef int ones = 0
    while ones < value.ndim_ and value.sizes[ones] == 1:
        ones += 1
    return ones


cdef TensorBase without_leading_ones(TensorBase value):
    cdef int ones = leading_ones(value)
    return value if ones == 0 else value.view(value.shape[ones:])


cdef int put_value(TensorBase x, list tensors, object value) except -1:
    cdef TensorBase values
    if isinstance(value, TensorBase):
        values = without_leading_ones(<TensorBase>value)
    else:
        values = full_beside(x, as_number(value))
    run_index_put_(x, tensors, values, False)
    return 0


def delitem(TensorBase x not None, index):
    """`del x[index]` is refused: a tensor keeps its shape."""
    raise TypeError("del: elements of a tensor cannot be deleted; index the ones to be kept")


# ---------------------------------------------------------------- iteration and membership
def iterate(TensorBase x not None):
    """An iterator over the first dimension; its items are views."""
    if x.ndim_ == 0:
        raise pointed(TypeError("iter: a 0-d tensor cannot be iterated over; use item() for its value"))
    return iter(x.unbind(0))


def contains(TensorBase x not None, element):
    """`element in x`: does some element equal the number or tensor?"""
    if not is_operand(element):
        raise RuntimeError(f"in: a tensor holds numbers; {type(element).__name__} is none")
    return bool((x == element).any().item())
