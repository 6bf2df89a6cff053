"""The short way of a compiled call: find the recording whose guards hold, run its plan, return the result.

Everything else (recordings, branches, gradients, errors) is the long way, in frontend.py. A call of a tiny function costs about
as much as its ops, so what happens for every call is here, in C.
"""
cimport cython

from tensorlab._core.modes cimport active_layers
from tensorlab.compiler.compiled_node cimport Differentiation, run_forward
from tensorlab.compiler.plan cimport Plan

from tensorlab.random import get_rng_state, set_rng_state

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
    cdef int direct             # the result is this output,
    cdef tuple several          # or these, as a tuple
    cdef bint draws_random

    def __cinit__(self, trace, program):
        self.trace, self.program, self.paths = trace, program, 1
        self.match, self.draws_random = trace.guards.match, trace.draws_random
        direct = getattr(program, "direct", None)
        if direct is not None:
            if isinstance(direct, tuple):
                self.several = direct
            else:
                self.direct = direct
            self.plan, self.plans = getattr(program, "plan", None), getattr(program, "plans", None)

    cdef object compute(self, list inputs):
        """What a call returns. If there is an error, it has written nothing, and has drawn no random numbers."""
        cdef object state = get_rng_state() if self.draws_random else None
        cdef list outputs
        try:
            outputs = run_forward(self.plans, inputs) if self.plan is None else self.plan.execute(inputs)
        except Exception:
            if state is not None:
                set_rng_state(state)
            raise
        self.calls += 1
        return outputs[self.direct] if self.several is None else tuple([outputs[i] for i in self.several])


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
                        return entry.compute(<list?>inputs)
                    except Exception:
                        break               # the long way finds the error that the program expects
        return self.long_way(args, kwargs)
