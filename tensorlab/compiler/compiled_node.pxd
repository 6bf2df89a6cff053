"""Forward and backward plans as one node of the autograd graph."""
from tensorlab.compiler.plan cimport Plan

cdef class Differentiation:
    cdef readonly Plan forward, backward
    cdef readonly int results           # outputs of forward that are results; the others are saved for backward
    cdef readonly tuple followed        # numbers of the results that have a gradient
    cdef readonly tuple likes           # for each of them a tensor on meta with the layout of its gradient
    cdef readonly tuple places          # for each output of backward the number of the input that it is the gradient of
    cdef readonly int inputs
    cdef object partial                 # function of which tangents are given: (plan of backward, its places)
    cdef object second_order            # function () -> SecondOrder, for create_graph
    cdef readonly bint draws_random

cdef list run_forward(Differentiation plans, list inputs)
