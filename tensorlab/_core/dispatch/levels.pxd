"""Levels: the transforms that are running, and the boxes in which they show tensors."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    # what a level does with a call
    RECORDS = 0                 # grad, vjp: it writes down a graph of its own
    PUSHES = 1                  # jvp: it computes tangents, too
    BATCHES = 2                 # vmap: it computes for all examples of a batch
    REPLACES = 3                # functionalize: it makes new values where a program writes

cdef class Level:
    cdef readonly str transform     # the name of the public function: "vmap"
    cdef readonly int kind          # RECORDS, PUSHES, ...
    cdef readonly int number        # 1 for the outermost transform of the thread
    cdef readonly bint is_alive     # is it still running?
    cdef readonly bint allows_capture   # may a tensor from outside be written to? (forward_ad)
    cdef readonly ssize size        # of BATCHES: how many examples
    cdef readonly str randomness    # of BATCHES: "error", "different" or "same"
    cdef readonly object rules      # op: the rule that turns a call into others (a facet)
    cdef readonly object run        # run(level, op, arguments) handles a call by its rule
    cdef public bint is_paused      # of PUSHES: its calls are made with the values alone
    cdef bint grad_mode             # of the thread, when the transform began
    cdef list boxes                 # weak references to its boxes, of one that allows capture
    cdef Level outer                # the one around it, or None

cdef class Box:
    cdef readonly Level level
    cdef readonly TensorBase value
    cdef TensorBase own_tangent     # of PUSHES: read it by `tangent_of`
    cdef readonly Box viewed        # of a view at PUSHES: the box that it is a view of,
    cdef readonly object view       # tangent of that one: tangent of the view,
    cdef TensorBase seen            # and the tangent of that one when `own_tangent` was made

cdef Level innermost()
cdef void show_levels(Level level) noexcept
cdef bint will_differentiate_again() noexcept
cdef bint has_hidden_values(TensorBase x) noexcept
cdef TensorBase boxed(Level level, TensorBase value, TensorBase tangent)
cdef TensorBase tangent_of(Box box)
cdef Box box_at(object x, Level level)
cdef int fill(TensorBase x, Level level, TensorBase value, TensorBase tangent, Box viewed,
              object view) except -1
cdef int show_layout(TensorBase x, Box box) except -1
