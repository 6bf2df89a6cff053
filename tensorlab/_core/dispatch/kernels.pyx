"""From a call to its results: what the op infers, memory, and the kernel of the device.

    run_kernel          a call below all layers:
        compute             of a pointwise op                                   (pointwise.pyx)
        compose             of an op that is made of others
        infer_and_fill      of any other: its results as they are inferred get memory, and the kernel fills them
        fill_in_place       the same over the first argument
    infer_into          the same into the caller's tensors (out=)

Nothing here knows autograd or layers: dispatch.pyx, which calls this, does.
"""
from cpython.object cimport PyObject
from cpython.sequence cimport PySequence_Fast_GET_SIZE, PySequence_Fast_ITEMS

from tensorlab._core.dispatch.op cimport MAX_ARGUMENTS, MAX_FILLED, Op
from tensorlab._core.dispatch.out_argument cimport check_outs, check_result_in_place, fits
from tensorlab._core.dispatch.pointwise cimport compute
from tensorlab._core.graph.graph cimport bump_version
from tensorlab._core.loops.iterator cimport copy_into, moved
from tensorlab._core.state.devices cimport FIRST_OF_OTHERS, ON_CPU, ON_META
from tensorlab._core.tensor cimport TensorBase, give_memory, staged, unstage

from tensorlab._core.dispatch.facets import is_copy
from tensorlab._core.state.devices import note_fallback


cdef object run_kernel(Op op, PyObject** arguments, int n):
    """Compute a call: no layer takes part in it any more."""
    if op.compose_function is not None:
        return op.call_kernel(<PyObject*>op.compose_function, arguments, n, NULL)
    if op.functional is not None:                   # it writes the result of that one
        if op.functional.is_pointwise:
            return compute(op.functional, arguments, n, <TensorBase>arguments[0], True)
        return fill_in_place(op, arguments, n)
    if op.is_pointwise:
        return compute(op, arguments, n, None, False)
    return infer_and_fill(op, arguments, n)


cdef object infer_into(Op op, str where, PyObject** arguments, int n, object out, tuple inputs, int rules):
    """Let the results be written into the caller's tensor, or into the tuple of tensors."""
    cdef object results = op.call_infer(<PyObject*>op.infer_function, arguments, n, NULL)
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
        fill(op, PySequence_Fast_ITEMS(results), <int>len(<tuple>results), device_among(<tuple>results), arguments, n)
    return results


cdef int fill(Op op, PyObject** results, int count, int device,
              PyObject** arguments, int n) except -1:
    """Call the kernel of the device that the results are on: it writes their elements."""
    cdef PyObject* everything[MAX_ARGUMENTS + MAX_FILLED]
    cdef int i
    if device == ON_META:
        return 0
    if count > MAX_FILLED:
        raise ValueError(
            f"{op.name}: {count} results are too many for a kernel; "
            f"at most {MAX_FILLED} fit")
    for i in range(count):
        everything[i] = results[i]
    for i in range(n):
        everything[count + i] = arguments[i]
    if device == ON_CPU and op.call_kernel != NULL:
        op.call_kernel(op.cpu_kernel, everything, count + n, NULL)
    elif op.kernels[device] is not None and op.kernels[device](
            *[<object>everything[i] for i in range(count + n)]) is not NotImplemented:
        return 0
    elif device == ON_CPU:
        raise NotImplementedError(
            f"{op.name}: the op says what its results are, but it has no kernel")
    elif is_copy.of(op):                # this knows how to come from one device to another
        op.call_kernel(op.cpu_kernel, everything, count + n, NULL)
    else:
        note_fallback(device, op.name)
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
    fill(op, PySequence_Fast_ITEMS(filled), <int>len(filled), device_among(filled), arguments, n)
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
    cdef int device = highest_device(arguments, n)
    if device == ON_META and op.kernels[ON_META] is not None:       # a custom op's fake
        return op.kernels[ON_META](*[<object>arguments[i] for i in range(n)])
    if device < FIRST_OF_OTHERS:                    # on meta the kernel refuses, as it needs values
        return op.call_kernel(<PyObject*>op.kernels[ON_CPU], arguments, n, NULL)
    if op.kernels[device] is not None:
        return op.kernels[device](*[<object>arguments[i] for i in range(n)])
    note_fallback(device, op.name)
    results = op.kernels[ON_CPU](*[moved_item(<object>arguments[i], ON_CPU) for i in range(n)])
    return moved_item(results, device)


cdef int fill_on_cpu(Op op, PyObject** results, int count, PyObject** arguments, int n) except -1:
    """What a device without a kernel does: arguments and results are moved to the cpu, and the results back."""
    cdef tuple here = tuple([moved_item(<object>arguments[i], ON_CPU) for i in range(n)])
    cdef tuple stages = tuple([staged(<TensorBase>results[i]) if isinstance(<object>results[i], TensorBase)
                               else <object>results[i] for i in range(count)])
    fill(op, PySequence_Fast_ITEMS(stages), count, ON_CPU, PySequence_Fast_ITEMS(here), n)
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


cdef int highest_device(PyObject** items, Py_ssize_t n) noexcept:
    """The highest code of a device among the tensors of a call, those in lists included."""
    cdef int device = ON_CPU
    cdef Py_ssize_t i
    for i in range(n):
        if isinstance(<object>items[i], TensorBase):
            device = max(device, (<TensorBase>items[i]).storage_.device)
        elif isinstance(<object>items[i], (tuple, list)) and PySequence_Fast_ITEMS(<object>items[i]) != items:
            device = max(device, highest_device(PySequence_Fast_ITEMS(<object>items[i]),
                                                PySequence_Fast_GET_SIZE(<object>items[i])))
    return device
