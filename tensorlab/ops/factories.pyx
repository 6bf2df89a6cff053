"""What all factories share: their arguments, starting a new tensor, `requires_grad` and `out`.

A factory reads its arguments and calls its op; autograd has nothing to do there, but layers see
the call. The op's kernel starts a new tensor and fills it. With `out` there is no new tensor:
the caller's is checked, resized and then filled by an op in place, or, where there is none that
fills it so, the result is copied to it.
"""
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact

from tensorlab._core.dispatch.operands cimport (
    as_number, refuse_internal_overlap, resize_tensor, same_numbers
)
from tensorlab._core.dtypes cimport default_float, dtype_code, dtype_object, is_differentiable
from tensorlab._core.graph.graph cimport should_record
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, read_sizes, shape_text, ssize
from tensorlab._core.state.devices cimport ON_CPU, ON_META, default_device as default_code
from tensorlab._core.tensor cimport (
    TensorBase, check_writable, pending_tensor, place_of, result_like
)
from tensorlab.ops.memory_formats cimport format_strides

from tensorlab._core.device import CPU, META, device_code, device_of_code
from tensorlab._core.device import strided as strided_layout
from tensorlab.errors import DeviceError, DTypeError, GradientError, ShapeError

cdef object cpu = CPU, meta = META      # C variables, as most factories name no other device


# ---------------------------------------------------------------- arguments
cdef object given_size(tuple given, object size, str where):
    """The sizes of f(2, 3), f((2, 3)) or f(size=(2, 3)) for an op, which checks them."""
    if size is not None:
        if given:
            raise TypeError(f"{where}: sizes are given twice, by position and as size=")
        return plain_ints(size if isinstance(size, (tuple, list)) else (size,))
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        return plain_ints(given[0])
    if len(given) == 0:
        raise TypeError(f"{where}: a size is needed, as in {where}(2, 3); {where}(()) makes a "
                        f"0-d tensor")
    return plain_ints(given)


cdef object read_number(object given, str name, str where, bint is_bound):
    """The Python number in a number or a 0-d tensor. A larger tensor is an error of its shape if it was given as a bound."""
    cdef object number
    if PyFloat_CheckExact(given) or PyLong_CheckExact(given):
        return given
    if isinstance(given, TensorBase):
        if (<TensorBase>given).ndim_ != 0:
            raise (ShapeError if is_bound else TypeError)(
                f"{where}: {name} must be a number or a 0-d tensor, not of shape {tuple(given.shape)}")
        return given.item()
    number = as_number(given)
    if number is None:
        raise TypeError(f"{where}: {name} must be a number, not {type(given).__name__}")
    return number


cdef int check_named_layout(object layout, str where) except -1:
    if layout != strided_layout:
        raise RuntimeError(f"{where}: layout={layout!r} is not supported, the result is strided; "
                           f"leave it out, and use to_sparse(layout=...) of the result")
    return 0


cdef int check_like_layout(TensorBase x, object layout, str where) except -1:
    """A new tensor like x may be asked for in the layout that x has."""
    return 0 if layout is None or layout == x.layout else check_named_layout(layout, where)


cdef object named_dtype(object dtype):
    return dtype_object(dtype_code(dtype, default_float()))


cdef object default_device():
    return device_of(default_code())


cdef object dtype_beside(TensorBase x, object dtype):
    """The dtype of a tensor that is made from x: that of x unless another is named."""
    return dtype_object(dtype_code(dtype, x.dtype_))


cdef object device_beside(TensorBase x, object device):
    """The device of a tensor that is made from x: that of x unless another is named."""
    return device if device is not None else device_of(place_of(x))


cdef int place_beside(TensorBase x, object device, str where) except -1:
    """The same as a code, for what an op infers."""
    return x.storage_.device if device is None else code_of(device, where)


cdef object device_of(int code):
    return cpu if code == ON_CPU else meta if code == ON_META else device_of_code(code)


cdef int code_of(object device, str where) except -1:
    """The code of a device that a factory names, or of the default."""
    if device is None:
        return default_code()
    return ON_CPU if device is cpu else ON_META if device is meta else device_code(device, where)


# ---------------------------------------------------------------- results of factories
cdef int factory_sizes(object size, ssize* sizes, str where) except -1:
    """Read sizes that are at least 0; returns how many."""
    cdef int i, ndim = read_sizes(size, sizes, where)
    for i in range(ndim):
        if sizes[i] < 0:
            raise ShapeError(f"{where}: size {sizes[i]} in {shape_text(ndim, sizes)} is "
                             f"negative; sizes must be at least 0")
    return ndim


cdef TensorBase factory_result(object size, object dtype, int default, object device, str where):
    """What the op of a factory infers."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = factory_sizes(size, sizes, where)
    cdef int code = default if dtype is None else dtype_code(dtype, default)
    return strided_result(code, ndim, sizes, NULL, device, where)


cdef TensorBase row_result(ssize n, int dtype, object device, str where):
    """A result with one dimension."""
    return strided_result(dtype, 1, &n, NULL, device, where)


cdef TensorBase strided_result(int dtype, int ndim, const ssize* sizes, const ssize* strides,
                               object device, str where):
    """A result on the named or the default device; `strides` may be NULL for row-major ones."""
    return pending_tensor(code_of(device, where), dtype, ndim, sizes, strides)


cdef TensorBase like_result(TensorBase x, object dtype, object device, object memory_format,
                            str where):
    """A result with x's shape and, unless told otherwise, its dtype, device and order of
    dimensions."""
    cdef ssize[MAX_NDIM] strides
    cdef int code = dtype_code(dtype, x.dtype_)
    cdef int place = place_beside(x, device, where)
    cdef const ssize* order = NULL
    if place == x.storage_.device and (memory_format is None or memory_format == "preserve"):
        return result_like(x, code)
    if memory_format is None:
        memory_format = "preserve"
    if format_strides(memory_format, x, x.ndim_, x.sizes, strides, where):
        order = strides
    return pending_tensor(place, code, x.ndim_, x.sizes, order)


# ---------------------------------------------------------------- requires_grad
cdef int check_flags(int dtype, bint requires_grad, str where) except -1:
    if requires_grad and not is_differentiable(dtype):
        raise GradientError(f"{where}: only floating tensors can require grad, not "
                            f"{dtype_object(dtype)}")
    return 0


cdef TensorBase follow(object made, str where):
    """Let a tensor require grad."""
    cdef TensorBase out = <TensorBase?>made     # checked, as a layer may have returned anything
    check_flags(out.dtype_, True, where)
    out.wants_grad = True
    return out


# ---------------------------------------------------------------- out=
cdef TensorBase check_out(object out, object dtype, object device, bint requires_grad,
                          str where):
    """The caller's `out`, or an error if a factory cannot write to it."""
    cdef TensorBase target
    cdef int code
    if not isinstance(out, TensorBase):
        raise TypeError(f"{where}: out must be a Tensor, not {type(out).__name__}")
    target = <TensorBase>out
    code = dtype_code(dtype, target.dtype_)
    if code != target.dtype_:
        raise DTypeError(f"{where}: dtype {dtype_object(code)} is asked for, but out has "
                         f"{target.dtype}")
    if code_of(device, where) != target.storage_.device:
        raise DeviceError(f"{where}: the result would be on '{device_of(code_of(device, where))}', but out is on "
                          f"'{target.device}'; they must be on one device")
    check_writable(target, where)
    if should_record(target):
        raise GradientError(f"{where}: out= requires grad, and such a call cannot be "
                            f"differentiated; leave out= away, or call it under no_grad")
    check_flags(code, requires_grad, where)
    return target


cdef TensorBase start_out(object size, object out, object dtype, object device,
                          bint requires_grad, str where):
    """Check and resize an out= for an op that fills it; the caller then applies the flags."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = factory_sizes(size, sizes, where)
    cdef TensorBase target = check_out(out, dtype, device, requires_grad, where)
    if target.ndim_ != ndim or not same_numbers(ndim, target.sizes, sizes):
        resize_tensor(target, ndim, sizes)
    return target


cdef tuple out_options(object out, object dtype, object device, bint requires_grad, str where):
    """The dtype and the device of a result that is then copied to `out`."""
    cdef TensorBase target = check_out(out, dtype, device, requires_grad, where)
    return dtype_object(target.dtype_), device_beside(target, None)


cdef object finish_factory(object made, object out, bint requires_grad, str where):
    """What such a factory returns: the result of its op, or the caller's `out` with the same
    values."""
    cdef TensorBase target
    if out is None:
        return apply_flags(made, requires_grad, where)
    refuse_internal_overlap(<TensorBase?>out, where)
    target = start_out(made.shape, out, made.dtype, made.device, requires_grad, where)
    (<object>target).copy_(made)
    return apply_flags(target, requires_grad, where)
