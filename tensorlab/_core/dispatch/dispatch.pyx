"""How a call of an op runs: the one entry that everything goes through.

    run                 any op; run_unary, run_binary, ... are the same for pointwise ops, with a short cut
      run_layers        while layers are active, the topmost one handles the call (layers.pyx); else, and below them,
      run_recorded      autograd: the node of the graph                         (in recording.pyx)
        backend         the layers below autograd, then the kernel

The kernel of a pointwise op is a loop, and everything around it is the same for all: `compute`, in pointwise.pyx, and a short cut
around it for small contiguous operands.

op.pyx explains how an op and its derivatives are declared.
"""
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject

from tensorlab._core.dispatch.layers cimport AUTOGRAD, Layer, handle, has_keys, is_seen, topmost
from tensorlab._core.dispatch.op cimport (
    COMPARE,
    MAX_ARGUMENTS,
    MAX_FILLED,
    SAVES_OUTPUT,
    Op,
    inplace_op,
    set_run,
)
from tensorlab._core.dispatch.operands cimport broadcast_operands, promoted_dtype
from tensorlab._core.dispatch.out_argument cimport (
    CASTS,
    NO_DERIVATIVE,
    NO_PARTIAL_OVERLAP,
    check_outs,
    check_result_in_place,
    fits,
    store_out,
    store_outs,
)
from tensorlab._core.dispatch.pointwise cimport (
    check_operands,
    check_target,
    compute,
    resolve,
    short_binary,
    short_cut,
    short_result,
)
from tensorlab._core.dispatch.recording cimport (
    OpNode,
    begin_record,
    begin_record_inplace,
    end_record,
    end_record_inplace,
)
from tensorlab._core.dtypes cimport is_differentiable
from tensorlab._core.graph.graph cimport as_view, bump_version, needs_grad
from tensorlab._core.graph.saved cimport SavedTensor, save_tensor
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport copy_into, moved, unary_loop
from tensorlab._core.state.devices cimport FIRST_OF_OTHERS, ON_CPU, ON_META, default_device
from tensorlab._core.state.modes cimport active_layers, thread_state
from tensorlab._core.tensor cimport TensorBase, give_memory, is_meta, staged, takes_part, unstage

from tensorlab._core.device import device_code
from tensorlab.errors import GradientError

ctypedef object (*kernel_11)(PyObject*, PyObject*, PyObject*, PyObject*, PyObject*, PyObject*, PyObject*, PyObject*, PyObject*,
                             PyObject*, PyObject*)
ctypedef object (*kernel_12)(PyObject*, PyObject*, PyObject*, PyObject*, PyObject*, PyObject*, PyObject*, PyObject*, PyObject*,
                             PyObject*, PyObject*, PyObject*)


# ---------------------------------------------------------------- the entry
cdef object run(Op op, PyObject** arguments, int n):
    """Call an op with an argument for each parameter of its schema."""
    if active_layers and is_seen(arguments, n):
        return run_layers(op, arguments, n)
    return run_recorded(op, arguments, n)


cdef object run_into(Op op, PyObject** arguments, int n, object out, int rules):
    """Call an op whose results go into the tensor that the caller passed as out=, or into the tuple of tensors."""
    cdef tuple inputs = tensors_among(arguments, n)
    cdef str where = op.name.removesuffix("_dim")           # users know max_dim as max
    cdef object results
    if op.infer_function is None or op.is_view or (active_layers and (is_seen(arguments, n) or has_keys(out))):
        results = run(op, arguments, n)
        if isinstance(results, TensorBase):
            return store_out(where, <TensorBase>results, out, inputs, rules)
        return store_outs(where, results, out, inputs, rules)
    results = op.call_infer(<PyObject*>op.infer_function, arguments, n, NULL)
    if isinstance(results, TensorBase):
        return fill_outs(op, where, (results,), (out,), arguments, n, inputs, rules)[0]
    return fill_outs(op, where, <tuple?>results, out, arguments, n, inputs, rules)


cdef tuple tensors_among(PyObject** arguments, int n):
    """The tensors of a call, those in lists included."""
    cdef list found = []
    cdef int i
    for i in range(n):
        if isinstance(<object>arguments[i], TensorBase):
            found.append(<object>arguments[i])
        elif isinstance(<object>arguments[i], (tuple, list)):
            found += [one for one in <object>arguments[i] if isinstance(one, TensorBase)]
    return tuple(found)


cdef object run_layers(Op op, PyObject** arguments, int n):
    """Let the topmost layer handle the call, or autograd if that is next."""
    cdef Layer layer = topmost(arguments, n)
    if layer is not None and layer.position > AUTOGRAD:
        return handle(layer, op, arguments, n)
    if thread_state().ceiling > AUTOGRAD:
        return run_recorded(op, arguments, n)
    return backend(op, arguments, n)                    # called by a layer below autograd


cdef object run_recorded(Op op, PyObject** arguments, int n):
    """Autograd: run what is below it, and record the call if a gradient is wanted."""
    cdef object out
    if op.writes:
        return run_writing(op, arguments, n)
    out = backend(op, arguments, n)
    if op.is_view:
        mark_views(<TensorBase>arguments[0], out, op.creation)
    if (op.derivative_count > 0 and is_any_followed(op, arguments)
            and thread_state().grad_enabled):
        record_call(op, arguments, n, out)
    return out


cdef object run_writing(Op twin, PyObject** arguments, int n):
    """The same for an op that writes over its first argument."""
    cdef TensorBase x = <TensorBase>arguments[0]
    cdef Op op = twin.functional
    cdef OpNode node
    if twin.records_itself:
        return backend(twin, arguments, n)
    if op.is_pointwise:
        return write_pointwise(op, arguments, n)
    node = begin_record_inplace(op, x, tuple([<object>arguments[i] for i in range(n)]))
    backend(twin, arguments, n)
    return end_record_inplace(node, x)


cdef inline object backend(Op op, PyObject** arguments, int n):
    """What is below autograd: layers, then the kernel."""
    cdef Layer layer
    cdef void* kernel
    if active_layers:
        layer = topmost(arguments, n)
        if layer is not None:
            return handle(layer, op, arguments, n)
    if op.c_kernel != NULL:
        kernel = op.shape_rule if op.shape_rule != NULL and is_on_meta(op, arguments, n) else op.c_kernel
        return call_shared(op, kernel, arguments, n) if op.shares_kernel else call_kernel(op, kernel, arguments, n)
    if op.compose_function is not None:
        return op.call_kernel(<PyObject*>op.compose_function, arguments, n, NULL)
    if op.writes:
        if op.functional.is_pointwise:
            return compute(op.functional, arguments, n, <TensorBase>arguments[0], True)
        return fill_in_place(op, arguments, n)
    if op.is_pointwise:
        return compute(op, arguments, n, None, False)
    return infer_and_fill(op, arguments, n)


# ---------------------------------------------------------------- infer, then fill
cdef object infer_and_fill(Op op, PyObject** arguments, int n):
    """Let an op say what its results are, give them memory, and let the kernel of their device fill them."""
    cdef object results
    cdef TensorBase one
    cdef PyObject* pointer
    cdef bint has_pending = False
    if op.infer_function is None:
        return make_results(op, arguments, n)
    results = op.call_infer(<PyObject*>op.infer_function, arguments, n, NULL)
    if type(results) is not tuple:
        one = <TensorBase?>results
        if one.storage_.is_pending:                 # else it is a view, or an argument as it is
            give_memory(one)
            pointer = <PyObject*>one
            fill(op, &pointer, 1, one.storage_.device, arguments, n)
        return one
    for each in <tuple>results:
        if isinstance(each, TensorBase) and (<TensorBase>each).storage_.is_pending:
            give_memory(<TensorBase>each)
            has_pending = True
    if has_pending:
        fill(op, items_of(results), <int>len(<tuple>results), device_among(<tuple>results), arguments, n)
    return results


cdef int fill(Op op, PyObject** results, int count, int device, PyObject** arguments, int n) except -1:
    """Call the kernel of the device that the results are on: it writes their elements."""
    cdef PyObject* everything[MAX_ARGUMENTS + MAX_FILLED]
    cdef int i
    if device == ON_META:
        return 0
    for i in range(count):
        everything[i] = results[i]
    for i in range(n):
        everything[count + i] = arguments[i]
    if device == ON_CPU and op.call_kernel != NULL:
        op.call_kernel(op.cpu_kernel, everything, count + n, NULL)
    elif op.kernels[device] is not None:
        op.kernels[device](*[<object>everything[i] for i in range(count + n)])
    elif device == ON_CPU:
        raise NotImplementedError(f"{op.name}: the op says what its results are, but it has no kernel")
    else:
        fill_on_cpu(op, results, count, arguments, n)
    return 0


cdef object fill_in_place(Op twin, PyObject** arguments, int n):
    """Let the result of an op be written over its first argument."""
    cdef Op op = twin.functional
    cdef TensorBase x = <TensorBase>arguments[0]
    try:
        check_result_in_place(twin.name, op.call_infer(<PyObject*>op.infer_function, arguments, n, NULL), x)
        fill(op, arguments, 1, x.storage_.device, arguments, n)
    except Exception as error:
        name_form_in_place(error, op.name, twin.name)
        raise
    return x


cdef int name_form_in_place(object error, str functional, str in_place) except -1:
    """The messages of infer and kernel begin with the op's name, add; let them name the form that was called, add_."""
    if len(error.args) > 0 and isinstance(error.args[0], str) and error.args[0].startswith(functional + ":"):
        error.args = (in_place + error.args[0][len(functional):], *error.args[1:])
    return 0


cdef tuple fill_outs(Op op, str where, tuple results, object outs, PyObject** arguments, int n, tuple inputs, int rules):
    """Let the results be written into the caller's tensors. Those that they don't fit at once are copied from new ones."""
    cdef list targets
    cdef tuple filled
    cdef int k
    check_outs(where, results, outs, inputs, rules)
    targets = [outs[k] if fits(<TensorBase>results[k], <TensorBase>outs[k], arguments, n) else results[k]
               for k in range(len(results))]
    for k in range(len(results)):
        if targets[k] is results[k]:
            give_memory(<TensorBase>results[k])
    filled = tuple(targets)
    fill(op, items_of(filled), <int>len(filled), device_among(filled), arguments, n)
    for k in range(len(results)):
        if targets[k] is results[k]:
            copy_into(<TensorBase>outs[k], <TensorBase>results[k])
        bump_version(<TensorBase>outs[k])
    return tuple(outs)


cdef int device_among(tuple results) except -1:
    for one in results:
        if isinstance(one, TensorBase):
            return (<TensorBase>one).storage_.device
    return ON_CPU


# ---------------------------------------------------------------- ops without infer, devices without a kernel
cdef object make_results(Op op, PyObject** arguments, int n):
    """Call a kernel that makes its results itself, as the shape depends on values."""
    cdef int device = ON_CPU
    for i in range(n):
        device = max(device, device_in(<object>arguments[i]))
    if device < FIRST_OF_OTHERS:                    # on meta the kernel refuses, as it needs values
        return op.call_kernel(<PyObject*>op.kernels[ON_CPU], arguments, n, NULL)
    if op.kernels[device] is not None:
        return op.kernels[device](*[<object>arguments[i] for i in range(n)])
    results = op.kernels[ON_CPU](*[moved_item(<object>arguments[i], ON_CPU) for i in range(n)])
    return moved_item(results, device)


cdef int fill_on_cpu(Op op, PyObject** results, int count, PyObject** arguments, int n) except -1:
    """What a device without a kernel does: arguments and results are moved to the cpu, and the results back."""
    cdef tuple here = tuple([moved_item(<object>arguments[i], ON_CPU) for i in range(n)])
    cdef tuple stages = tuple([staged(<TensorBase>results[i]) if isinstance(<object>results[i], TensorBase)
                               else <object>results[i] for i in range(count)])
    fill(op, items_of(stages), count, ON_CPU, items_of(here), n)
    for i in range(count):
        if isinstance(<object>results[i], TensorBase):
            unstage(<TensorBase>results[i], <TensorBase>stages[i])
    return 0


cdef object moved_item(object value, int device):
    """An argument with its tensors on another device."""
    if isinstance(value, TensorBase):
        return moved(<TensorBase>value, device)
    if isinstance(value, (tuple, list)):
        return type(value)([moved_item(one, device) for one in value])
    return value


cdef int device_in(object value) except -1:
    """The highest code of a device among the tensors of an argument."""
    if isinstance(value, TensorBase):
        return (<TensorBase>value).storage_.device
    if isinstance(value, (tuple, list)):
        return max([device_in(one) for one in value], default=ON_CPU)
    return ON_CPU


# ---------------------------------------------------------------- the old way
cdef bint is_on_meta(Op op, PyObject** arguments, int n) except -1:
    """Whether there is nothing to compute: a tensor has no memory, or the results will have none.

    Where no device is named, results are on that of the tensors; if there are none, on the default device.
    """
    cdef object value
    cdef bint has_tensors = False
    cdef int i
    for i in range(n):
        value = <object>arguments[i]
        if value is None or value is False or value is True or PyLong_CheckExact(value) or PyFloat_CheckExact(value):
            continue                        # which is quicker to see than that it is not a Tensor
        if isinstance(value, TensorBase):
            if is_meta(<TensorBase>value):
                return True
            has_tensors = True
        elif type(value) is tuple or type(value) is list:
            for item in value:
                if PyLong_CheckExact(item):
                    break                   # a shape or a list of numbers, with no tensor in it
                if isinstance(item, TensorBase):
                    if is_meta(<TensorBase>item):
                        return True
                    has_tensors = True
    if op.device_position < 0:
        return False
    value = <object>arguments[op.device_position]
    if value is None:
        return not has_tensors and default_device() == ON_META
    return device_code(value, op.name) == ON_META


cdef object call_shared(Op op, void* kernel, PyObject** arguments, int n):
    """Call a kernel that an op and the op in place have in common: it takes the op first."""
    cdef PyObject* everything[MAX_ARGUMENTS + 1]
    cdef int i
    everything[0] = <PyObject*>op
    for i in range(n):
        everything[i + 1] = arguments[i]
    return call_kernel(op, kernel, everything, n + 1)


cdef object call_kernel(Op op, void* kernel, PyObject** a, int n):
    if n == 1:
        return (<kernel_1>kernel)(a[0])
    elif n == 2:
        return (<kernel_2>kernel)(a[0], a[1])
    elif n == 3:
        return (<kernel_3>kernel)(a[0], a[1], a[2])
    elif n == 4:
        return (<kernel_4>kernel)(a[0], a[1], a[2], a[3])
    elif n == 5:
        return (<kernel_5>kernel)(a[0], a[1], a[2], a[3], a[4])
    elif n == 6:
        return (<kernel_6>kernel)(a[0], a[1], a[2], a[3], a[4], a[5])
    elif n == 7:
        return (<kernel_7>kernel)(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
    elif n == 8:
        return (<kernel_8>kernel)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7])
    elif n == 9:
        return (<kernel_9>kernel)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8])
    elif n == 10:
        return (<kernel_10>kernel)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9])
    elif n == 11:
        return (<kernel_11>kernel)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10])
    elif n == 12:
        return (<kernel_12>kernel)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11])
    raise ValueError(f"{op.name}: a kernel takes 1 to 12 arguments, not {n}")


cdef int mark_views(TensorBase x, object out, int creation) except -1:
    """Make what an op returned differentiable views of x."""
    if isinstance(out, TensorBase):
        as_view(x, <TensorBase>out, creation)
        return 0
    for one in out:                         # checked, as a layer may have returned anything
        as_view(x, <TensorBase?>one, creation)
    return 0


cdef bint is_any_followed(Op op, PyObject** arguments) noexcept:
    """A quick test whether a gradient may be wanted; begin_record decides."""
    cdef PyObject* x
    cdef int j
    if op.takes_list:
        return True
    for j in range(op.derivative_count):
        x = arguments[op.positions[j]]
        if isinstance(<object>x, TensorBase) and may_need_grad(<TensorBase>x):
            return True
    return False


cdef int record_call(Op op, PyObject** arguments, int n, object out) except -1:
    """Record a call that made something new. Its named results follow the arguments, so that formulas can ask for them."""
    cdef PyObject* everything[2 * MAX_ARGUMENTS]
    cdef OpNode node
    cdef int i, count = n
    for i in range(n):
        everything[i] = arguments[i]
    if len(op.params) > n:
        for one in out:
            everything[count] = <PyObject*>(None if has_gradient(op, count - n, one) else one)
            count += 1
    node = begin_record(op, everything, count)
    if node is None:
        return 0
    if not isinstance(out, TensorBase):
        out = out[0] if op.differentiable == 1 else out[:op.differentiable]
    end_record(node, out)
    if op.differentiable > 1 and (op.saved_once & ~<unsigned int>SAVES_OUTPUT) >> n:
        save_results(op, node, n, out)
    return 0


cdef inline bint has_gradient(Op op, int i, object result) noexcept:
    """Whether result i is one of several with gradients. Formulas get it with its history."""
    return (1 < op.differentiable > i and isinstance(result, TensorBase)
            and is_differentiable((<TensorBase>result).dtype_))


cdef int save_results(Op op, OpNode node, int n, object out) except -1:
    """Save what formulas ask for of such results; an alias each, because they own their node."""
    cdef list saved
    cdef SavedTensor one
    cdef int i
    if node.saved is None:
        return 0
    saved = list(<tuple>node.saved)
    for i in range(<int>len(out)):
        if op.saved_once >> (n + i) & 1 and has_gradient(op, i, out[i]):
            one = save_tensor(<TensorBase>out[i], True)
            one.output_number = i
            saved[n + i] = one
    node.saved = tuple(saved)
    return 0


set_run(run)


# ---------------------------------------------------------------- pointwise calls
cdef inline bint may_need_grad(TensorBase x) noexcept:
    """A quick test; begin_record decides. (A view may get a node later, through its base.)"""
    return x.wants_grad or x.node is not None or x.base is not None


cdef object run_unary(Op op, TensorBase x, object out=None):
    """op(x), a new tensor or written into `out`"""
    cdef PyObject* operands[1]
    cdef OpNode node
    cdef TensorBase result
    cdef void* loop
    if x is None:
        raise TypeError(f"{op.name}: argument {op.params[0]!r} must be a Tensor, not None")
    operands[0] = <PyObject*>x
    if out is not None:
        return run_out(op, operands, 1, out)
    if takes_part(x):
        return run_layers(op, operands, 1)
    loop = short_cut(op, x)
    if loop != NULL:
        result = short_result(op, x)
        (<unary_loop>loop)(result.data_, x.data_, x.numel_)
    else:
        result = compute(op, operands, 1, None, False)
    if may_need_grad(x):
        node = begin_record(op, operands, 1)
        if node is not None:
            end_record(node, result)
    return result


cdef object run_binary(Op op, object a, object b, object out=None):
    """op(a, b), where either may be a number; a new tensor or written into `out`"""
    cdef PyObject* operands[2]
    cdef OpNode node
    cdef TensorBase result
    operands[0] = <PyObject*>a
    operands[1] = <PyObject*>b
    if out is not None:
        return run_out(op, operands, 2, out)
    if active_layers and is_seen(operands, 2):
        return run_pointwise(op, operands, 2)
    result = short_binary(op, a, b, None)
    if result is None:
        return run_pointwise(op, operands, 2)
    if (isinstance(a, TensorBase) and may_need_grad(<TensorBase>a)) or (
            isinstance(b, TensorBase) and may_need_grad(<TensorBase>b)):
        node = begin_record(op, operands, 2)
        if node is not None:
            end_record(node, result)
    return result


cdef object run_ternary(Op op, object x, object y, object z, object out=None):
    """op(x, y, z), where any may be a number"""
    cdef PyObject* operands[3]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>z
    return run_pointwise(op, operands, 3) if out is None else run_out(op, operands, 3, out)


cdef object run_quaternary(Op op, object x, object y, object z, object w, object out=None):
    """op(x, y, z, w), where any may be a number"""
    cdef PyObject* operands[4]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>z
    operands[3] = <PyObject*>w
    return run_pointwise(op, operands, 4) if out is None else run_out(op, operands, 4, out)


cdef object run_pointwise(Op op, PyObject** operands, int n):
    """The long way: any shapes, types and numbers."""
    check_operands(op, operands, n)
    return run(op, operands, n)


cdef object run_out(Op op, PyObject** operands, int n, object out):
    """The same into a tensor that the caller gives; autograd does not follow such a call."""
    if not isinstance(out, TensorBase):
        raise TypeError(f"{op.name}: out must be a Tensor, not {type(out).__name__}")
    check_operands(op, operands, n)
    refuse_recorded_out(op, operands, n, <TensorBase>out)
    # for layers it is two calls: the op, and copy_
    if takes_part(<TensorBase>out) or (active_layers and is_seen(operands, n)):
        return store_out(op.name, run_layers(op, operands, n), out, tuple([<object>operands[k] for k in range(n)]),
                         NO_DERIVATIVE | NO_PARTIAL_OVERLAP | (0 if op.exact_out else CASTS))      # asked above
    compute(op, operands, n, <TensorBase>out, False)
    bump_version(<TensorBase>out)
    return out


cdef int refuse_recorded_out(Op op, PyObject** operands, int n, TensorBase out) except -1:
    cdef int k
    cdef bint wanted = needs_grad(out)
    for k in range(n):
        if op.derivative_count > 0 and isinstance(<object>operands[k], TensorBase):
            wanted = wanted or needs_grad(<TensorBase>operands[k])
    if wanted and thread_state().grad_enabled:
        raise GradientError(f"{op.name}: a call with out= cannot be differentiated, but one of the tensors requires grad; "
                            f"leave out= away, or call it under no_grad")
    return 0


cdef object run_unary_inplace(Op op, TensorBase x):
    cdef PyObject* operands[1]
    operands[0] = <PyObject*>x
    return run_inplace(op, operands, 1)


cdef object run_binary_inplace(Op op, TensorBase x, object y):
    cdef PyObject* operands[2]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    # the short cut: nothing is recorded, the memory is ours, and the result fits where x is
    if (not (active_layers and is_seen(operands, 2))
            and not may_need_grad(x) and x.counter is not None and not x.storage_.guard and op.dtype_rule != COMPARE
            and not (isinstance(y, TensorBase) and (may_need_grad(<TensorBase>y) or (<TensorBase>y).storage_ is x.storage_))
            and short_binary(op, x, y, x) is not None):
        bump_version(x)
        return x
    return run_inplace(op, operands, 2)


cdef object run_ternary_inplace(Op op, TensorBase x, object y, object z):
    cdef PyObject* operands[3]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>z
    return run_inplace(op, operands, 3)


cdef object run_quaternary_inplace(Op op, TensorBase x, object y, object z, object w):
    cdef PyObject* operands[4]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>z
    operands[3] = <PyObject*>w
    return run_inplace(op, operands, 4)


cdef object run_inplace(Op op, PyObject** operands, int n):
    """x = op(x, ...), written over x, which is the first operand."""
    if active_layers and is_seen(operands, n):
        return run_layers(inplace_op(op), operands, n)
    return write_pointwise(op, operands, n)


cdef object write_pointwise(Op op, PyObject** operands, int n):
    """The same below all layers above autograd."""
    cdef TensorBase x = <TensorBase>operands[0]
    cdef OpNode node
    cdef tuple arguments
    cdef int compute_dtype, result_dtype, ndim
    cdef ssize[MAX_NDIM] sizes
    check_operands(op, operands, n)
    # everything that can raise comes before anything is written
    resolve(op, promoted_dtype(operands, n, op.name), &compute_dtype, &result_dtype)
    ndim = broadcast_operands(op.name, operands, n, sizes)
    arguments = tuple([<object>operands[k] for k in range(n)])
    node = begin_record_inplace(op, x, arguments)
    check_target(op, operands, n, x, ndim, sizes, result_dtype, result_dtype, True)
    if active_layers:
        backend(inplace_op(op), operands, n)
    else:
        compute(op, operands, n, x, True)
    return end_record_inplace(node, x)
