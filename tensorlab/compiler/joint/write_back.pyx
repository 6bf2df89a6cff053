"""The writes of a functional graph.

Its last outputs are copied to the inputs that the recorded function had written to.
"""
from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.state.modes cimport set_grad_mode
from tensorlab._core.tensor cimport TensorBase

from tensorlab.ops.copying import copy_


def write_back(list inputs not None, list outputs not None, tuple places not None):
    """Copy the last outputs to the inputs at `places`.

    Autograd records a copy if the value needs gradients, whatever the grad mode.
    """
    write_all(inputs, outputs, places)


def count_writes(list tensors not None, tuple counts not None):
    """Add writes that a replay leaves out to the versions of tensors; `counts`: pairs of a position and a number."""
    add_writes(tensors, counts)


cdef int add_writes(list tensors, tuple counts) except -1:
    cdef TensorBase x
    for i, count in counts:
        x = <TensorBase?>tensors[i]
        if x.counter is not None:
            x.counter.value += <unsigned long>count
    return 0


cdef int write_all(list inputs, list outputs, tuple places) except -1:
    cdef bint grad_mode
    cdef int i = <int>(len(outputs) - len(places)), place
    if i < 0:
        raise ValueError(f"write_back: there are {len(places)} inputs to write, "
                         f"and {len(outputs)} outputs")
    for place in places:
        grad_mode = set_grad_mode(needs_grad(<TensorBase?>outputs[i]))
        try:
            copy_(inputs[place], outputs[i])
        finally:
            set_grad_mode(grad_mode)
        i += 1
    return 0
