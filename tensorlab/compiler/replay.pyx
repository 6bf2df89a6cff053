"""The short way of a compiled call: find the recording whose guards hold, run its plan, return the result.

Everything else (recordings, branches, gradients, errors) is the long way, in frontend.py. A call of a tiny function costs about
as much as its ops, so what happens for every call is here, in C.
"""
cimport cython

from tensorlab._core.modes cimport active_layers
from tensorlab.compiler.compiled_node cimport Differentiation, run_forward
from tensorlab.compiler.plan cimport Plan

cdef bint off = False


def turn_replays_off(bint is_off):
    """Let all compiled functions run as Python, or no longer."""
    global off
    off = is_off


def replays_are_off():
    """Whether compiled functions run as Python."""
    return off


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Entry:
    """A recording that can be replayed.

    Attributes
    ----------
    trace : Trace
    program : what it became (program.py)
    paths : int, how many recordings it has, one for each set of values that Python looked at
    calls : int, how often it has been replayed
    """

    cdef readonly object trace, program
    cdef public int paths
    cdef public long calls
    cdef object match
    # one of these two, if its calls go the short way:
    cdef Plan plan
    cdef Differentiation plans
    cdef int direct             # the result is this output

    def __cinit__(self, trace, program):
        self.trace, self.program, self.paths = trace, program, 1
        self.match = trace.guards.match
        direct = None if trace.draws_random else getattr(program, "direct", None)
        if direct is not None:
            self.direct = direct
            self.plan, self.plans = getattr(program, "plan", None), getattr(program, "plans", None)


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Replay:
    """Calls of one function. `long_way(args, kwargs)` takes those that are more than a match and a plan."""

    cdef readonly list entries
    cdef object long_way

    def __cinit__(self, long_way):
        self.entries, self.long_way = [], long_way

    def __call__(self, tuple args not None, dict kwargs not None):
        cdef Entry entry
        cdef object inputs
        if not active_layers and not off:   # a recorder is one, and takes in the calls inside
            for one in self.entries:
                entry = <Entry>one
                if entry.plan is None and entry.plans is None:
                    break
                inputs = entry.match(args, kwargs)
                if inputs is not None:
                    try:
                        result = (run_forward(entry.plans, <list?>inputs) if entry.plan is None
                                  else entry.plan.execute(<list?>inputs))[entry.direct]
                    except Exception:       # nothing has been written
                        break               # the long way finds the error that the program expects
                    entry.calls += 1
                    return result
        return self.long_way(args, kwargs)
