"""Plan: steps over slots."""

cdef class Plan:
    cdef readonly int inputs            # how many tensors come in
    cdef readonly int slots
    cdef readonly list steps
    cdef readonly tuple outputs         # slots
    cdef readonly bint records          # autograd records the calls
    cdef int check_slots(self) except -1
    cdef list execute(self, list inputs)
