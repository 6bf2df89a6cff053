"""Plan: steps over slots."""
from cpython.object cimport PyObject

cdef enum:
    MAX_TENSORS = 96            # inputs and outputs of a step that works on memory

cdef class Step:
    cdef readonly tuple reads               # slots; a plan checks once that they are filled when it comes to this step
    cdef readonly tuple writes
    cdef readonly tuple dead                # slots that nothing reads any more afterwards
    cdef readonly bint grad_enabled         # for plans whose calls are recorded by autograd
    cdef int run(self, PyObject** slots) except -1

cdef class MemoryStep(Step):
    cdef readonly tuple likes               # for each output a tensor on meta with its sizes, strides and dtype
    cdef int set_tensors(self, str name, object inputs, object outputs, object likes, object dead) except -1
    cdef int open_tensors(self, PyObject** slots, void** tensors) except -1

cdef class Plan:
    cdef readonly int inputs            # how many tensors come in
    cdef readonly int slots
    cdef readonly list steps
    cdef readonly tuple outputs         # slots
    cdef readonly bint records          # autograd records the calls
    cdef int check_slots(self) except -1
    cdef list execute(self, list inputs, bint hands_over)
