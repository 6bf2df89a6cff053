"""Calls of a compiled function: find the recording whose guards hold, and run its program.

A call of a tiny function costs about as much as its ops, so what happens for every call is
here, in C. What is rare (recordings, errors) is in frontend.py.
"""
cimport cython

from tensorlab._core.dispatch.autocast import other_layers

cimport tensorlab._core.profiling as profiling
from tensorlab._core.profiling cimport FUNCTION, close_record, is_profiling, open_record
from tensorlab._core.random cimport Generator, Place, default_generator, note_own_place, take_back_own
from tensorlab._core.state.modes cimport active_layers
from tensorlab.compiler.capture.guard_check cimport GuardCheck
from tensorlab.compiler.compiled_node cimport Differentiation, run_forward
from tensorlab.compiler.joint.write_back cimport add_writes, write_all
from tensorlab.compiler.plan cimport Plan

from .capture import is_compiling
from .tree import Unseen

cdef enum:
    NEAR = 4                # recordings; one that is used further back comes to the front
    PATIENCE = 16           # calls in a row that are neither replayed nor recorded, before a rest
    LONGEST_REST = 64       # calls

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
    cdef GuardCheck guards
    cdef bint draws_random
    # of a program that is a plan, or one for forward and one for backward
    cdef Plan plan
    cdef Differentiation plans
    cdef tuple written          # the inputs that the last outputs are written to
    cdef tuple left_out         # (input, writes of the program that are not made one by one)
    cdef tuple made_versions    # (output, writes that have gone into it)
    # the outputs that are the result: a number, or a tuple of them; None if `finish` makes it
    cdef object direct

    def __cinit__(self, trace, program):
        self.trace, self.program, self.paths = trace, program, 1
        self.guards, self.draws_random = trace.guards.checker, trace.draws_random
        self.plan, self.plans = getattr(program, "plan", None), getattr(program, "plans", None)
        if self.plan is not None or self.plans is not None:
            self.direct, self.written = program.direct, program.written
            self.left_out, self.made_versions = program.functional.left_out, program.functional.made_versions

    cdef object compute(self, list inputs):
        """What the program makes of the inputs. It writes to no tensor of the caller's."""
        if self.plans is not None:
            return run_forward(self.plans, inputs)
        if self.plan is not None:
            return self.plan.execute(inputs, False)
        return self.program.compute(inputs)

    cdef object finish(self, list inputs, object outputs):
        """Write what is to be written; returns the result of the call."""
        if self.direct is None:
            return self.program.finish(inputs, outputs)
        add_writes(inputs, self.left_out)
        add_writes(<list?>outputs, self.made_versions)
        write_all(inputs, <list>outputs, self.written)
        if type(self.direct) is int:
            return outputs[self.direct]
        return tuple([outputs[i] for i in <tuple>self.direct])


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Replay:
    """Calls of one function.

    Attributes
    ----------
    compiled : Compiled, which knows the function; it takes calls that nothing fits, and those
        whose replay raises an error
    entries : list of Entry; the newest first, unless others came to the front by being used
    as_python : int, calls that ran as Python without being replayed later
    """

    cdef readonly object compiled
    cdef readonly list entries
    cdef public long as_python
    cdef int misses             # calls in a row that nothing fitted and that were not recorded
    cdef int rest               # so many of the next calls run as Python at once
    cdef int longest            # the same, when the last rest began

    def __cinit__(self, compiled):
        self.compiled, self.entries = compiled, []

    def __call__(self, *args, **kwargs):
        cdef Generator generator = None
        cdef Entry entry, unseen = None
        cdef Place place
        cdef list inputs
        cdef int i = 0
        # a recorder is a layer, and takes in the calls inside
        if off or (active_layers and (other_layers() or is_compiling())):
            return self.compiled.function(*args, **kwargs)
        if self.rest:
            self.rest -= 1
            return self.run_python(args, kwargs)
        while i < len(self.entries):
            entry = <Entry>self.entries[i]
            inputs = entry.guards.inputs_of(args, kwargs)
            i += 1
            if inputs is None:
                continue
            if i > NEAR:
                self.entries.insert(0, self.entries.pop(i - 1))
            if entry.draws_random:
                generator = default_generator()
                note_own_place(generator, &place)
            try:
                outputs = self.compute(entry, inputs)
            except Exception as error:      # nothing has been written
                if entry.draws_random:
                    take_back_own(generator, &place)
                if not isinstance(error, Unseen):
                    return self.compiled.failed(args, kwargs, error)
                if unseen is None:
                    unseen = entry
                continue
            entry.calls += 1
            self.misses = self.longest = 0
            return entry.finish(inputs, outputs)
        return self.compiled.record(args, kwargs, unseen)

    cdef object compute(self, Entry entry, list inputs):
        """What a recording makes of the inputs; a profile has a row for that."""
        cdef long long record
        if not is_profiling:
            return entry.compute(inputs)
        record = open_record(FUNCTION, f"compiled {self.compiled.name}", profiling.nodes_made)
        try:
            return entry.compute(inputs)
        finally:
            close_record(record, profiling.nodes_made)

    def run_python(self, tuple args not None, dict kwargs not None):
        """Call the function itself."""
        self.as_python += 1
        return self.compiled.function(*args, **kwargs)

    def miss(self, tuple args not None, dict kwargs not None):
        """A call that nothing fits, and that is not recorded either: it runs as Python.

        Where this goes on, most calls that follow are not even compared with the recordings.
        """
        self.misses += 1
        if self.misses > PATIENCE:
            self.rest = self.longest = min(2 * self.longest + 1, LONGEST_REST)
        return self.run_python(args, kwargs)

    def clear(self):
        """Forget the recordings and the counts."""
        self.entries.clear()
        self.as_python = self.misses = self.rest = self.longest = 0
