"""Capture: run a function once, write down what it does, and find out when it will do the same again.

A function that is recorded really runs, with its real arguments. Three helpers look on: a
`CallRecorder` sees each call of an op, an `Observer` sees the Python that runs, and
`OuterState` keeps copies of what that Python could read or change. Take

    >>> import tensorlab
    >>> from tensorlab.compiler.capture import record
    >>> scale = 2.0
    >>> def scaled(x, shift):
    ...     return x * scale + shift
    >>> x = tensorlab.ones(3)
    >>> result, trace = record(scaled, (x, 1))

The result is what any call gives. The calls of ops have become a graph, with a placeholder for each tensor that
comes from outside. It is *specialised* to the numbers that Python has seen: whether they were arguments, globals, or
computed from the shape of a tensor, they are constants in it:

    >>> result
    tensor([3., 3., 3.])
    >>> for node in trace.graph.nodes:
    ...     print(node.name, node.args)
    input_0 ()
    mul (input_0, 2.0)
    add (mul, 1)
    output (add,)

May this graph stand for a later call? Only if that call would find what this one has found. So there is a
*guard* for each thing that Python could have read. It says where the thing is found (its *source*), how it is
compared, and with what:

    >>> print(trace.guards.text)
    len(args) == 2
    args[0]: Tensor tensorlab.float32 (3,) strides (1,) requires_grad=False
    args[1] == 1
    not kwargs
    scaled has its code and defaults
    scale == 2.0

A tensor is compared by what ops ask of it, and not by its values. In a second call all guards
hold, and `match` gives the tensors for the placeholders. Now a program that was made of the
graph takes over, and no line of `scaled` runs:

    >>> y = tensorlab.zeros(3)
    >>> trace.guards.match((y, 1))
    [tensor([0., 0., 0.])]

In a third call something is different. Then the function runs again, and is recorded again:

    >>> scale = 3.0
    >>> trace.guards.why((y, 1))
    'no longer true: scale == 2.0'

What if the function had appended to a list from outside? That is a *side effect*, which a
replay would leave out. After the call the list differs from the copy of it, and instead of the
trace `record` returns a `Refusal`, with the reason. It does the same for whatever it doesn't
understand, such as a builtin that isn't listed.

The files, each after those that it uses:

    sources             where an object of the outside is found: a path from the arguments or from a known object
    same_value          when two values are the same for a replay
    tensor_state        what counts of a tensor besides its values
    aliasing            which objects of a call are one object, and which tensors share memory
    library_state       the modes and settings of tensorlab, and what the program used of it
    guard_check         the check of all guards, in C
    pure                what Python code may use in a recording
    kinds               how each kind of object is compared
    tracked, tracked_kinds      an object of the outside: its snapshot, its changes, the guards of what is in it
    outer_state         all of them, and which of their attributes the executed code could read
    frames, observer    the Python that runs: names in its code, builtins that it calls
    call_recorder       the calls of ops
    trace               what `record` gives: a Trace or a Refusal
    graph_builder       from calls of ops to a graph
    tensor_effects      what was done to tensors besides
    guards              a guard, and all guards of a recording
    guard_builder       from the outer state to guards
    recording           `record`: one run, and what becomes of it
    control             what a program can say about its own recording
"""

from .control import allow_in_graph, assume_constant_result, disable, is_compiling
from .guards import Guards
from .recording import record
from .sources import Source
from .trace import Refusal, Trace

__all__ = [
    "Guards",
    "Refusal",
    "Source",
    "Trace",
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "is_compiling",
    "record",
]
