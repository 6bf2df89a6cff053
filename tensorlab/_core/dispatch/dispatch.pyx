"""How a call of an op runs: the one entry that everything goes through.

    run                 any op; run_unary, run_binary, ... are the same for pointwise ops, with a short cut
      run_layers        while layers are active, the topmost one handles the call (layers.pyx); else, and below them,
      run_recorded      autograd: the node of the graph                         (in recording.pyx)
        backend         the layers below autograd, and lazy bits,                   (in lazy_bits.pyx)
          run_kernel    then what is inferred, and the kernel of the device         (in kernels.pyx)

Small contiguous operands of pointwise ops have a short cut around all this.

op.pyx explains how an op and its derivatives are declared.
"""
from cpython.object cimport PyObject

from tensorlab._core.dispatch.lazy_bits cimport run_resolved
from tensorlab._core.dispatch.layers cimport (
    AUTOCAST, AUTOGRAD, Layer, handle, is_seen, keys_among, keys_of, topmost
)
from tensorlab._core.dispatch.level_calls cimport (
    Level, is_boxed, level_of_call, run_inside, run_level, set_entries, share_counter
)
from tensorlab._core.dispatch.op cimport (
    COMPARE, MAX_ARGUMENTS, SAVES_OUTPUT, Op, inplace_op, set_run
)
from tensorlab._core.dispatch.kernels cimport infer_into, run_kernel, tensors_among
from tensorlab._core.dispatch.operands cimport broadcast_operands, promoted_dtype
from tensorlab._core.dispatch.out_argument cimport (
    CASTS, NO_DERIVATIVE, NO_PARTIAL_OVERLAP, store_out, store_outs
)
from tensorlab._core.dispatch.pointwise cimport (
    check_operands, check_target, compute, resolve, short_binary, short_cut, short_result
)
from tensorlab._core.dispatch.profiler_layer cimport set_run_below
from tensorlab._core.dispatch.recording cimport (
    OpNode, begin_record, begin_record_inplace, end_record, end_record_inplace
)
from tensorlab._core.dtypes cimport is_differentiable
from tensorlab._core.graph.graph cimport (
    as_view, bump_version, ndim_of, needs_grad, set_history, write_metadata
)
from tensorlab._core.graph.inplace cimport check_inplace, check_layout_change
from tensorlab._core.graph.saved cimport SavedTensor, save_tensor
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport unary_loop
from tensorlab._core.state.modes cimport ThreadState, active_layers, thread_state
from tensorlab._core.tensor cimport LAZY, TensorBase, alias, takes_part

from tensorlab._core.dispatch.facets import converts, counts_apart
from tensorlab.errors import GradientError


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
    if op.infer_function is None or op.is_view or (active_layers and (is_seen(arguments, n) or keys_of(out))):
        results = run(op, arguments, n)
        if isinstance(results, TensorBase):
            return store_out(where, <TensorBase>results, out, inputs, rules)
        return store_outs(where, results, out, inputs, rules)
    return infer_into(op, where, arguments, n, out, inputs, rules)


cdef object run_layers(Op op, PyObject** arguments, int n):
    """Let the topmost layer handle the call, or autograd if that is next."""
    cdef Layer layer = topmost(arguments, n, thread_state().ceiling)
    cdef Level level
    if layer is None or layer.position < AUTOCAST:
        level = level_of_call(op, arguments, n)
        if level is not None:
            return run_level(level, op, arguments, n)
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
    if (op.recorded_by is not None and thread_state().grad_enabled
            and is_gradient_wanted(arguments, n)):
        return op.recorded_by(*[<object>arguments[i] for i in range(n)])
    out = run_seen(op, arguments, n) if active_layers else run_kernel(op, arguments, n)
    if op.is_view:
        mark_views(<TensorBase>arguments[0], out, op.creation)
    if (op.derivative_count > 0 and is_any_followed(op, arguments)
            and thread_state().grad_enabled):
        record_call(op, arguments, n, out)
    return out


cdef object run_writing(Op twin, PyObject** arguments, int n):
    """Call an op that writes over its first argument, and record the call if a gradient is wanted."""
    cdef TensorBase x = <TensorBase>arguments[0]
    cdef Op op = twin.functional
    cdef OpNode node
    if twin.records_itself:
        if active_layers and op is not None and (
                topmost_below_autograd(arguments, n) is not None or is_boxed(arguments, n)
                or (keys_among(arguments, n) & LAZY and not twin.shows_memory)):
            return record_for_layers(twin, arguments, n)
        return backend(twin, arguments, n)
    if op.is_pointwise:
        return write_pointwise(op, arguments, n)
    node = begin_record_inplace(op, x, tuple([<object>arguments[i] for i in range(n)]))
    backend(twin, arguments, n)
    return end_record_inplace(node, x)


cdef object record_for_layers(Op twin, PyObject** arguments, int n):
    """The same for a write that its kernel would record, if a layer below autograd takes it.

    The kernel runs, if at all, below the layer, where nothing is recorded, and with other tensors.
    """
    cdef TensorBase x = <TensorBase>arguments[0]
    cdef Op op = twin.functional
    cdef OpNode node = None
    cdef unsigned long version = 0 if x.counter is None else x.counter.value
    if op.records_itself:                               # detach_
        backend(twin, arguments, n)
        return run_kernel(twin, arguments, n)
    # integers that are written over by what has a gradient require grad, as in PyTorch; those that are copied to don't
    if is_differentiable(x.dtype_) or not converts.of(op):
        node = begin_record(op, arguments, n)
    if op.is_view:
        check_layout_change(x, twin.name)
    check_inplace(x, node is not None, twin.name)
    backend(twin, arguments, n)
    if x.counter is not None:
        x.counter.value = version                       # a kernel may have counted the write, which is counted below
    if not op.is_view:
        return end_record_inplace(node, x)
    bump_version(x)                                     # another layout: no element has changed, so its base keeps its history
    if node is not None:
        write_metadata(&node.first_metadata, x)
        set_history(x, node, 0)
    return x


cdef inline Layer topmost_below_autograd(PyObject** arguments, int n):
    return topmost(arguments, n, min(thread_state().ceiling, <int>AUTOGRAD))


cdef inline object backend(Op op, PyObject** arguments, int n):
    """What is below autograd: layers, then the kernel."""
    cdef Layer layer
    if active_layers:
        if is_boxed(arguments, n):
            return run_inside(op, arguments, n)
        layer = topmost_below_autograd(arguments, n)
        if layer is not None:
            return handle(layer, op, arguments, n)
        if keys_among(arguments, n) & LAZY:
            return run_resolved(op, arguments, n)
    return run_kernel(op, arguments, n)


# ---------------------------------------------------------------- custom ops
cdef bint is_gradient_wanted(PyObject** arguments, int n):
    """Does a tensor among the arguments, or in a list among them, need a gradient?"""
    for one in tensors_among(arguments, n):
        if needs_grad(<TensorBase>one):
            return True
    return False


def shares_storage(TensorBase one not None, TensorBase other not None):
    """Do two tensors show the same storage?"""
    return one.storage_ is other.storage_


def run_below_autograd(Op op not None, *args):
    """What is below autograd, for the function that records an op: layers, then the kernel."""
    cdef PyObject* pointers[MAX_ARGUMENTS]
    cdef list arguments = op.bind(args, {})
    cdef ThreadState* state = thread_state()
    cdef int ceiling = state.ceiling, i
    for i in range(op.arity):
        pointers[i] = <PyObject*>arguments[i]
    state.ceiling = min(ceiling, <int>AUTOGRAD)
    try:
        return backend(op, pointers, op.arity)
    finally:
        state.ceiling = ceiling


# ---------------------------------------------------------------- views, where a layer below autograd takes the call
cdef object run_seen(Op op, PyObject** arguments, int n):
    """The backend, where layers may handle the call. A view whose history cannot be recovered is complained of before a bad
    index: `infer` sees to that (`ndim_of`), but not below a layer, where nothing has history."""
    cdef object out
    try:
        out = backend(op, arguments, n)
    except IndexError:
        for one in tensors_among(arguments, n):
            ndim_of(<TensorBase>one)
        raise
    if op.shows_memory and not counts_apart.of(op):
        share_counter(op, <TensorBase>arguments[0], out)
    elif not op.shows_memory and thread_state().grad_enabled and isinstance(out, TensorBase):
        return without_base(<TensorBase>out, arguments, n)      # else a view, as the op made it
    return out


cdef TensorBase without_base(TensorBase out, PyObject** arguments, int n):
    """A result that is new to the caller, even if what made it below autograd took it for a view of something of its own."""
    cdef int i
    if out.base is None or out.keys:
        return out
    for i in range(n):
        if <PyObject*>out == arguments[i]:
            return out
    return alias(out)


# ---------------------------------------------------------------- recording
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
set_entries(run, run_recorded)
set_run_below(run_recorded)


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
    """Write the result of a pointwise op into the tensor passed as out=; autograd does not follow such a call."""
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
            and not may_need_grad(x) and x.counter is not None and not x.storage_.guard
            and op.dtype_rule != COMPARE
            and not (isinstance(y, TensorBase) and (may_need_grad(<TensorBase>y)
                                                    or (<TensorBase>y).storage_ is x.storage_))
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
    """Write op(x, ...) over x, below the layers above autograd, and record that if a gradient is wanted."""
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
