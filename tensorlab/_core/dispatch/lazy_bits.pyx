"""Lazy bits: a conjugate or a negative, noted on the tensor and computed when it is needed.

    x.conj()        a view of x with the key CONJ: its memory holds the conjugate
    x.conj().imag   a view of the same memory with the key NEG: it holds the negative

A view keeps the bits of what it is a view of (`alias_as`). Any other op gets its operands with
the bits resolved, just before its kernel: `run_resolved` makes a copy in which the memory holds
what is shown, and for an op that writes, writes the result back. So no kernel knows of the
bits, and autograd, above this, sees the views.

No call that a layer or a transform sees makes such a view: there `conj` computes
(complex_numbers.pyx). PyTorch's are like this: "Conjugate views" in its documentation of
complex numbers.
"""
from cpython.object cimport PyObject
from cpython.sequence cimport PySequence_Fast_ITEMS

from tensorlab._core.dispatch.kernels cimport run_kernel
from tensorlab._core.dispatch.layers cimport keys_of
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.state.modes cimport set_grad_mode, thread_state
from tensorlab._core.tensor cimport CONJ, LAZY, NEG, TensorBase, alias, set_lazy_bits

from tensorlab._core.dispatch.facets import REGISTRY


cdef TensorBase resolved(TensorBase x):
    """x, or a copy without bits, of which autograd knows nothing."""
    cdef TensorBase values = x
    if x.keys & LAZY:
        values = alias(x)
        set_lazy_bits(values, 0)
        if x.keys & CONJ:
            values = computed("conj_physical", values)
        if x.keys & NEG:
            values = computed("neg", values)
    return values


cdef TensorBase computed(str name, TensorBase x):
    cdef PyObject* operand = <PyObject*>x
    return <TensorBase?>run_kernel(<Op>REGISTRY[name], &operand, 1)


cdef object resolved_item(object value):
    """An argument with the bits of its tensors resolved."""
    if isinstance(value, TensorBase):
        return resolved(<TensorBase>value)
    if keys_of(value) & LAZY:
        return type(value)([resolved(<TensorBase>one) if isinstance(one, TensorBase) else one
                            for one in value])
    return value


cdef object run_resolved(Op op, PyObject** arguments, int n):
    """The kernel of an op that is given a tensor with lazy bits."""
    cdef bint grad_mode = thread_state().grad_mode
    cdef tuple given, values
    if op.shows_memory or (op.compose_function is not None
                           and not (op.writes and op.functional is not None)):
        return run_kernel(op, arguments, n)     # a view; or other ops, which come here too
    given = tuple([<object>arguments[i] for i in range(n)])
    values = tuple([resolved_item(one) for one in given])
    set_grad_mode(False)        # a kernel that records its writes is not to do so for the copy
    try:
        result = run_kernel(op, PySequence_Fast_ITEMS(values), n)
        if not op.writes:
            return result
        for i in range(n):
            if op.signature.parameters[i].type.is_written:
                write_back(given[i], values[i])
    finally:
        set_grad_mode(grad_mode)
    return given[0] if result is values[0] else result


cdef int write_back(object given, object values) except -1:
    """Let a tensor, or those of a list, show what was written to the copy."""
    cdef TensorBase x, memory
    if given is values:
        return 0
    if isinstance(given, TensorBase):
        x = <TensorBase>given
        memory = alias(x)
        set_lazy_bits(memory, 0)
        values = alias(<TensorBase>values)
        set_lazy_bits(<TensorBase>values, x.keys & LAZY)    # its memory is the other way round
        copy_into(memory, resolved(<TensorBase>values))
        return 0
    for one, value in zip(given, values, strict=True):
        write_back(one, value)
    return 0
