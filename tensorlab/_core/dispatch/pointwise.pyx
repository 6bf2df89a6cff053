"""What a call of a pointwise op computes. Its loop takes rows of elements, and everything around it is the same for all:

    compute             the call:
        resolve             in which type to compute and which to return      (promotion)
        result_for          a tensor of the broadcast shape                   (operands.pyx)
        for_each            the loop over all elements                        (iterator.pyx)
    short_binary        the same for small contiguous operands, which most operands of a small program are

Nothing here knows autograd or layers: dispatch.pyx, which calls this, does.
"""
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_Check
from cpython.object cimport PyObject

from tensorlab._core.dispatch.op cimport COMPARE, INT_TO_FLOAT, REAL, Op
from tensorlab._core.dispatch.operands cimport (
    broadcast_operands, can_cast, check_fits, common_device, is_operand, promoted_dtype,
    refuse_internal_overlap, refuse_overlap, result_for, same_numbers, write_number
)
from tensorlab._core.dispatch.out_argument cimport check_out_dtype, other_device, resize_out
from tensorlab._core.dtypes cimport (
    BOOL, FLOAT32, FLOAT8, INEXACT, INT64, MAX_ITEMSIZE, UINT64, default_float, dtype_object, is_in,
    item_size, kernel_dtype, real_dtype
)
from tensorlab._core.layout cimport MAX_NDIM, is_canonical, may_have_internal_overlap, shape_text, ssize
from tensorlab._core.loops.conversion cimport check_convertible
from tensorlab._core.loops.iterator cimport (
    MAX_OPERANDS, TensorIterator, binary_loop, broadcast_value, copy_into, for_each, moved,
    set_operand
)
from tensorlab._core.state.devices cimport ON_CPU, ON_META
from tensorlab._core.tensor cimport TensorBase, check_writable, staged, unstage

from tensorlab._core.dispatch.facets import takes_numbers_only
from tensorlab._core.dtypes import way_out
from tensorlab._core.state.devices import note_fallback
from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType, uncalled

cdef enum:
    SHORT_ROW = 256             # elements of the row to which the short cut spreads a number


cdef int resolve(Op op, int promoted, int* compute, int* result) except -1:
    """From the promoted type: the type to compute in, and the type of the result."""
    if op.dtype_rule == INT_TO_FLOAT and not is_in(promoted, INEXACT | FLOAT8):
        promoted = default_float()
    compute[0] = kernel_dtype(promoted)
    result[0] = written_dtype(op, promoted)
    if op.loops[compute[0]] == NULL:
        if op.takes_float8 and is_in(promoted, FLOAT8):
            compute[0] = FLOAT32
            return 0
        raise UnsupportedDType(f"{op.name}: not implemented for {dtype_object(promoted)}; "
                               f"{way_out(dtype_object(promoted))} first")
    return 0


cdef inline int written_dtype(Op op, int computed) noexcept:
    """The type that a loop writes which computes in this one."""
    return BOOL if op.dtype_rule == COMPARE else real_dtype(computed) if op.dtype_rule == REAL else computed


cdef TensorBase compute(Op op, PyObject** operands, int n, TensorBase out, bint in_place):
    """Run the loop into `out`, or into a new tensor if that is None."""
    cdef TensorIterator iter
    cdef ssize[MAX_NDIM] sizes
    cdef char numbers[MAX_OPERANDS][MAX_ITEMSIZE]           # the operands that are Python numbers, as elements
    cdef int promoted = promoted_dtype(operands, n, op.name), compute_dtype, result_dtype, ndim, device, k
    cdef TensorBase x
    resolve(op, promoted, &compute_dtype, &result_dtype)
    if op.dtype_rule != COMPARE:
        promoted = result_dtype
    check_numbers(op, operands, n, compute_dtype)
    ndim = broadcast_operands(op.name, operands, n, sizes)
    device = common_device(op.name, operands, n)
    if out is None:
        out = result_for(operands, n, result_dtype, promoted, ndim, sizes, op.wraps_numbers)
    else:
        if out.storage_.device != device:
            raise other_device(op.name, out)
        check_target(op, operands, n, out, ndim, sizes, result_dtype, promoted, in_place)
        if in_place and promoted != out.dtype_ and may_have_internal_overlap(ndim, out.sizes, out.strides):
            # as PyTorch, which casts before and after: all is read before anything is written
            copy_into(out, compute(op, operands, n, None, False))
            return out
    if device != ON_CPU:
        compute_elsewhere(op, out, operands, n, in_place)
        return out
    iter.ndim = ndim
    iter.operands = n + 1
    # windows that overlap, as unfold makes them: each element must be read after it was last written
    iter.one_by_one = in_place and may_have_internal_overlap(ndim, out.sizes, out.strides)
    for k in range(ndim):
        iter.sizes[k] = sizes[k]
    set_operand(&iter, 0, out.data_, out.dtype_, written_dtype(op, compute_dtype), ndim, sizes, out.strides)
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            x = <TensorBase>operands[k]
            set_operand(&iter, k + 1, x.data_, x.dtype_, compute_dtype, x.ndim_, x.sizes, x.strides)
        else:
            write_number(<object>operands[k], compute_dtype, numbers[k])
            set_operand(&iter, k + 1, numbers[k], compute_dtype, compute_dtype, 0, NULL, NULL)
    for_each(&iter, op.loops[compute_dtype], op.grain)
    return out


cdef int compute_elsewhere(Op op, TensorBase out, PyObject** operands, int n, bint in_place) except -1:
    """On meta the layout is the result. A registered device has a kernel of its own, or the op runs on the cpu."""
    cdef PyObject* here[MAX_OPERANDS]
    cdef TensorBase stage
    cdef list arguments, kept
    cdef int device = out.storage_.device, k
    if device == ON_META:
        return 0
    arguments = [<object>operands[k] for k in range(n)]
    kernel = op.kernels[device]
    if kernel is not None and kernel(out, *arguments) is not NotImplemented:
        return 0
    note_fallback(device, op.name)
    kept = [moved(<TensorBase>one, ON_CPU) if isinstance(one, TensorBase) else one
            for one in arguments]
    for k in range(n):
        here[k] = <PyObject*>kept[k]
    stage = staged(out)
    compute(op, here, n, stage, in_place)
    return unstage(out, stage)


cdef int check_numbers(Op op, PyObject** operands, int n, int dtype) except -1:
    """Raise if an operand is a number that the type in which the op computes cannot hold."""
    cdef int k
    if is_in(dtype, INEXACT):
        return 0
    for k in range(n):
        if not isinstance(<object>operands[k], TensorBase):
            check_fits(<object>operands[k], INT64 if op.is_modular and dtype != UINT64 else dtype, op.name)
    return 0


cdef int check_target(Op op, PyObject** operands, int n, TensorBase out, int ndim, ssize* sizes, int dtype, int promoted,
                      bint in_place) except -1:
    """May the result be written into `out`? (With out=, resize it first if its shape is another.)"""
    cdef str where = op.name + ("_" if in_place else "")
    cdef int k
    if not can_cast(dtype, out.dtype_):
        raise DTypeError(f"{where}: the result has type {dtype_object(dtype)}, which cannot be written into a tensor of "
                         f"type {dtype_object(out.dtype_)}")
    check_convertible(out.dtype_, dtype)
    if op.exact_out and not in_place:
        check_out_dtype(where, dtype, out)
    check_writable(out, where)
    if out.ndim_ != ndim or not same_numbers(ndim, out.sizes, sizes):
        if in_place:
            raise ShapeError(f"{where}: the result has shape {shape_text(ndim, sizes)}, but the tensor to be written has "
                             f"shape {shape_text(out.ndim_, out.sizes)}")
        resize_out(where, out, result_for(operands, n, dtype, promoted, ndim, sizes, op.wraps_numbers))
    refuse_internal_overlap(out, where)
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            refuse_overlap(out, <TensorBase>operands[k], where)
    return 0


cdef int check_operands(Op op, PyObject** operands, int n) except -1:
    """Every operand is a tensor or a number, and one is a tensor."""
    cdef bint has_tensor = False
    cdef int k
    for k in range(n):
        if not is_operand(<object>operands[k]):
            raise TypeError(f"{op.name}: argument {op.params[k]!r} must be a Tensor or a number, not "
                            f"{type(<object>operands[k]).__name__}{uncalled(<object>operands[k])}")
        has_tensor = has_tensor or isinstance(<object>operands[k], TensorBase)
    if not has_tensor and not takes_numbers_only.of(op):
        kinds = " and ".join([type(<object>operands[k]).__name__ for k in range(n)])
        raise TypeError(f"{op.name}: the operands are {kinds}; one must be a Tensor")
    return 0


cdef TensorBase short_binary(Op op, object a, object b, TensorBase out):
    """The short cut of two operands, into `out` or a new tensor; None if it is not possible.

    The operands are small, contiguous and of equal shape and type; or one is a number, which is spread to a row of its own.
    """
    cdef TensorBase x, y = None
    cdef object number = None
    cdef void* loop
    if isinstance(a, TensorBase):
        x = <TensorBase>a
        if isinstance(b, TensorBase):
            y = <TensorBase>b
        else:
            number = b
    elif isinstance(b, TensorBase):
        x = <TensorBase>b
        number = a
    else:
        return None
    loop = short_cut(op, x)
    if loop == NULL:
        return None
    if y is not None:
        if (x.dtype_ != y.dtype_ or not y.is_contiguous_ or x.ndim_ != y.ndim_ or not same_numbers(x.ndim_, x.sizes, y.sizes)
                or y.storage_.device != ON_CPU):
            return None
    elif not is_in(x.dtype_, INEXACT) or not (PyFloat_Check(number) or PyLong_Check(number)):
        return None
    elif out is None and (x.numel_ == 0 or not is_canonical(x.ndim_, x.sizes, x.strides)):
        return None                     # the result takes over x's order of dimensions, even of those of size 1 or 0
    if out is None:
        out = short_result(op, x)
    if y is not None:
        (<binary_loop>loop)(out.data_, x.data_, y.data_, x.numel_)
    else:
        with_number(<binary_loop>loop, out, x, number, isinstance(a, TensorBase))
    return out


cdef int with_number(binary_loop loop, TensorBase out, TensorBase x, object number, bint comes_second) except -1:
    """Run a loop over contiguous operands, x and a number."""
    cdef char[SHORT_ROW * MAX_ITEMSIZE] row
    cdef int size = item_size[x.dtype_], out_size = item_size[out.dtype_]
    cdef ssize start = 0, n = min(x.numel_, <ssize>SHORT_ROW)
    write_number(number, x.dtype_, row)
    broadcast_value(row, row, size, n)
    while start < x.numel_:
        n = min(x.numel_ - start, <ssize>SHORT_ROW)
        if comes_second:
            loop(out.data_ + start * out_size, x.data_ + start * size, row, n)
        else:
            loop(out.data_ + start * out_size, row, x.data_ + start * size, n)
        start += SHORT_ROW
    return 0
