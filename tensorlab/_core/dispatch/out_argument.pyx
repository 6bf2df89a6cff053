"""out=: a tensor of the caller's that takes the result of an op.

A pointwise op computes into it (dispatch.run_out); the result of any other op is made first and then copied. Either way autograd
does not follow the call, and nothing is written unless everything can be.
"""
from tensorlab._core.dispatch.operands cimport (
    can_cast, refuse_internal_overlap, refuse_overlap, refuse_shared_memory, resize_tensor,
    same_numbers
)
from tensorlab._core.dtypes cimport dtype_object, sum_dtype
from tensorlab._core.graph.graph cimport bump_version, needs_grad
from tensorlab._core.layout cimport is_dense, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.state.devices cimport device_name
from tensorlab._core.state.modes cimport active_layers, thread_state
from tensorlab._core.storage cimport Storage
from tensorlab._core.tensor cimport TensorBase, check_writable, set_layout

import warnings

from tensorlab.errors import DeviceError, DTypeError, GradientError, ShapeError


cdef object other_device(str where, TensorBase out):
    return DeviceError(f"{where}: the tensor to be written is on {device_name(out.storage_.device)!r} and the result is not; "
                       f"they must be on one device")


cdef TensorBase tensor_to_write(str where, object out):
    """out= as a tensor that may be written."""
    if not isinstance(out, TensorBase):
        raise TypeError(f"{where}: out must be a Tensor, not {type(out).__name__}")
    check_writable(<TensorBase>out, where)
    return <TensorBase>out


cdef int check_out_dtype(str where, int dtype, object out) except -1:
    """For ops that do not cast their result."""
    if tensor_to_write(where, out).dtype_ != dtype:
        raise DTypeError(f"{where}: the result has type {dtype_object(dtype)}, but out= has type {out.dtype}; they must be equal")
    return 0


cdef object dtype_or_that_of(object dtype, object out):
    """In which type a sum or a product is formed: the type asked for, else that of out=."""
    return out.dtype if dtype is None and isinstance(out, TensorBase) else dtype


cdef int warn_of_resizing(str where, TensorBase out, int ndim, const ssize* sizes) except -1:
    if out.numel_ > 0:
        warnings.warn(f"{where}: out= has shape {shape_text(out.ndim_, out.sizes)} and is resized to {shape_text(ndim, sizes)}; "
                      f"pass a tensor of that shape, or one without elements", UserWarning)
    return 0


cdef int resize_out(str where, TensorBase out, TensorBase like) except -1:
    """Give out= the shape of `like`, if it has another, and then its order of dimensions, too."""
    if out.ndim_ == like.ndim_ and same_numbers(like.ndim_, out.sizes, like.sizes):
        return 0
    warn_of_resizing(where, out, like.ndim_, like.sizes)
    resize_tensor(out, like.ndim_, like.sizes)
    if is_dense(like.ndim_, like.sizes, like.strides):
        set_layout(out, like.ndim_, like.sizes, like.strides)
    return 0


cdef int check_out(str where, TensorBase result, TensorBase out, tuple inputs, int rules) except -1:
    """Everything that can be said before the tensor is resized."""
    cdef bint should_record = needs_grad(out)
    for one in inputs:
        if isinstance(one, TensorBase) and not rules & NO_DERIVATIVE:
            should_record = should_record or needs_grad(<TensorBase>one)
    if should_record and thread_state().grad_enabled:
        raise GradientError(f"{where}: a call with out= cannot be differentiated, but one of the tensors requires grad; "
                            f"leave out= away, or call it under no_grad")
    if not rules & CASTS:
        check_out_dtype(where, result.dtype_, out)
    elif not can_cast(result.dtype_, out.dtype_):
        raise DTypeError(f"{where}: the result has type {result.dtype}, which cannot be written into a tensor of type "
                         f"{out.dtype}")
    if out.storage_.device != result.storage_.device:
        raise other_device(where, out)
    return 0


cdef int check_memory(str where, TensorBase out, tuple inputs, int rules) except -1:
    cdef int k
    refuse_internal_overlap(out, where)
    for k in range(len(inputs)):
        if not isinstance(inputs[k], TensorBase):
            continue
        if rules & NO_OVERLAP or (k > 0 and rules & OTHERS_APART):
            refuse_shared_memory(out, <TensorBase>inputs[k], where)
        elif rules & NO_PARTIAL_OVERLAP:
            refuse_overlap(out, <TensorBase>inputs[k], where)
    return 0


cpdef object store_out(str where, TensorBase result, object out, tuple inputs, int rules=0):
    """Give the result of an op that is not pointwise to the tensor that the caller passed as out=, if there is one.

    `inputs` are the arguments it was made from, `rules` the flags of out_argument.pxd.
    """
    return result if out is None else store_outs(where, (result,), (out,), inputs, rules)[0]


cpdef tuple store_outs(str where, object results, object outs, tuple inputs, int rules=0):
    """Give several results to the tensors that the caller passed as out=; none is written unless all can be."""
    cdef int k
    check_outs(where, results, outs, inputs, rules)
    for k in range(len(results)):
        if active_layers:
            outs[k].copy_(results[k])
        else:
            copy_into(<TensorBase>outs[k], <TensorBase>results[k])
            bump_version(<TensorBase>outs[k])
    return tuple(outs)


cdef int check_outs(str where, object results, object outs, tuple inputs, int rules) except -1:
    """Raise if the caller's tensors cannot take the results; give them their shapes."""
    cdef int k
    if not isinstance(outs, (tuple, list)) or len(outs) != len(results):
        raise TypeError(f"{where}: out must be a tuple of {len(results)} tensors, one for each result")
    for k in range(len(results)):
        check_out(where, results[k], tensor_to_write(where, outs[k]), inputs, rules)
    for k in range(len(results)):
        resize_out(where, outs[k], results[k])
        check_memory(where, outs[k], inputs, rules)
    return 0


cdef bint fits(TensorBase result, TensorBase out, PyObject** arguments, int n):
    """May a kernel write into `out` instead of a new tensor: is it laid out as the result, in memory that no argument has?"""
    cdef int i
    if out.dtype_ != result.dtype_ or out.ndim_ != result.ndim_ or not same_numbers(out.ndim_, out.strides, result.strides):
        return False
    for i in range(n):
        if has_storage(<object>arguments[i], out.storage_):
            return False
    return True


cdef bint has_storage(object argument, Storage storage):
    """Is a tensor of the argument over this storage?"""
    if isinstance(argument, TensorBase):
        return (<TensorBase>argument).storage_ is storage
    if isinstance(argument, (tuple, list)):
        for one in argument:
            if has_storage(one, storage):
                return True
    return False


cdef int check_result_in_place(str where, TensorBase result, TensorBase x) except -1:
    """Raise unless the result of an op can be written over its first argument."""
    if result.ndim_ != x.ndim_ or not same_numbers(x.ndim_, result.sizes, x.sizes):
        raise ShapeError(f"{where}: the result has shape {shape_text(result.ndim_, result.sizes)}, but the tensor "
                         f"to be written has shape {shape_text(x.ndim_, x.sizes)}")
    # whole numbers of another width are computed in the type of what is written to
    if not can_cast(result.dtype_, sum_dtype(x.dtype_)):
        raise DTypeError(f"{where}: the result has type {result.dtype}, which cannot be written into a tensor of "
                         f"type {x.dtype}")
    return 0
