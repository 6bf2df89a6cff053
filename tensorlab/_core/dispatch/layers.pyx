"""Layers: what can take part in the calls of ops between the public functions and the kernels.

Every call of an op, from a public function, an operator, the formula of a derivative or the engine, passes one entry (`run` and
its relatives in dispatch.pyx), and below it the layers that are active, in this order:

    public function             reads the arguments; classes and modes that override it were asked before (overrides.pyx)
      |
    autocast                    casts the arguments
    transform                   grad, jvp and vmap: levels, which call ops again with what is in their boxes (levels.pyx)
    recorder                    writes the calls down, in the forms in which they will run
    profiler                    measures what is below it
      |
    autograd                    recording.pyx: makes a node of the graph
      |
    functionalize               turns writes and views into calls that make new tensors
    mode                        Python modes and tensor classes below autograd
      |
    backend                     the kernel

A layer handles a call, or passes it on by calling the op again, `op(*arguments)`: while it handles a call it sees neither its own
calls nor those of the layers above it, because the thread's `ceiling` is then its own position. So whatever it calls goes to the
layers below. (Autograd hides nothing from recorders: see `show_recorders`.) Within one place, a layer entered later lies higher.

The profiler is entered by all threads at once (`set_observer`), and the ceiling lets it see what kernels call.

A layer is entered, for the calls of a thread, or belongs to a class, for the calls that have a tensor of it: `handle_class`. A
layer of a class is hidden by the tensors that it has been given, not by the ceiling: with these its calls go to the layers below,
with any other tensors of the class they come back to it. So a wrapper may hold another wrapper of its own class.

A program without layers pays for one test of a C int in each call, `active_layers`: how many layers are entered, and how many
tensors with keys (tensor.pxd) are alive. While it is not 0, a call asks for itself: is a layer entered, or has one of its
operands a key? docs/decisions/0040 and 0054 compare this with other ways.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

cimport tensorlab._core.profiling as profiling
cimport tensorlab._core.state.modes as modes
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.state.modes cimport ThreadState, set_grad_mode, thread_state
from tensorlab._core.tensor cimport FOREIGN, TensorBase, add_foreign_class, tensor_class

PLACES = ("autocast", "transform", "recorder", "profiler", "autograd", "functionalize", "mode")      # from the top
cdef enum:
    SPACING = 1000              # positions from one place to the next: layers of one place that a thread can nest

cdef Layer observer = None      # the layer that all threads have entered: the profiler, while it records
cdef dict class_layers = {}     # class of tensors: the Layer that handles calls with one

cdef struct Handled:            # a call that the layer of a class is handling
    PyObject* layer
    PyObject** arguments
    int n
    Handled* outer              # the call around it, or NULL


cdef int position_of(str place) except -1:
    if place not in PLACES or place == "autograd":
        places = ", ".join([one for one in PLACES if one != "autograd"])
        raise ValueError(f"Layer: place is {place!r}; it must be one of {places}")
    return SPACING * (len(PLACES) - PLACES.index(place) + 1)


@cython.auto_pickle(False)
@cython.binding(False)
cdef class Layer:
    """Something that takes part in the calls of ops. Inherit it, and enter it as a context: `with Counter(): ...`.

    Parameters
    ----------
    place : "autocast", "transform", "recorder", "profiler", "functionalize" or "mode"; where it lies among the others
    """

    def __init__(self, str place):
        position_of(place)
        self.place = place

    def call(self, op, arguments):
        """Handle a call of `op`, and return what it returns; `op(*arguments)` passes it on to the layers below.

        `arguments` is a tuple with a value for each parameter of `op.schema`. Below autograd nothing is recorded for backward.
        """
        raise NotImplementedError(f"{type(self).__name__}: a layer must define call(self, op, arguments)")

    cdef object take(self, Op op, PyObject** arguments, int n):
        """What a layer in Cython defines instead of `call`, if the tuple would cost too much."""
        return self.call(op, tuple([<object>arguments[i] for i in range(n)]))

    def __enter__(self):
        cdef ThreadState* state = thread_state()
        cdef list entered
        if self.position > 0:
            raise RuntimeError(f"{type(self).__name__}: this layer has been entered already, or belongs to a class")
        if state.layers == NULL:
            entered = []
            Py_INCREF(entered)                  # kept for the life of the thread
            state.layers = <PyObject*>entered
        entered = <list>state.layers
        self.position = position_of(self.place)
        for one in entered:
            if (<Layer>one).place == self.place:
                self.position = max(self.position, (<Layer>one).position + 1)
        entered.append(self)
        modes.entered_layers += 1
        modes.active_layers += 1
        return self

    def __exit__(self, *exception):
        cdef ThreadState* state = thread_state()
        if state.layers == NULL or self not in <list>state.layers:
            raise RuntimeError(f"{type(self).__name__}: a layer must be left in the thread that entered it")
        (<list>state.layers).remove(self)
        self.position = 0
        modes.entered_layers -= 1
        modes.active_layers -= 1


def handle_class(cls, Layer layer not None):
    """Give `layer` the calls in which an argument is a tensor of this class, or of one that inherits it.

    This holds for all threads, for good: the class needs the layer wherever its tensors go. A tensor has the class that it was
    made with: assigning to `__class__` does not bring a layer along.
    """
    if not isinstance(cls, type) or not issubclass(cls, TensorBase) or cls is tensor_class:
        raise TypeError(f"handle_class: a class that inherits Tensor is needed, not {cls!r}")
    if layer.position > 0 and not layer.is_of_class:
        raise RuntimeError(f"{type(layer).__name__}: a layer that is entered can't belong to a class as well; make another one")
    layer.position, layer.is_of_class = position_of(layer.place), True
    class_layers[cls] = layer
    add_foreign_class(cls)


cdef int set_observer(Layer layer) except -1:
    """Let all threads enter a layer, or leave it: None."""
    global observer
    cdef int change = (layer is not None) - (observer is not None)
    if observer is not None:
        observer.position = 0
    observer = layer
    if layer is not None:
        layer.position = position_of(layer.place)
    profiling.observers += change
    modes.entered_layers += change
    modes.active_layers += change
    return 0


def takes_part():
    """Can a layer change what calls do now? One can while it is entered, or a tensor of a class with a layer is alive.

    The profiler only looks on.
    """
    return modes.active_layers > profiling.observers


def entered_layers():
    """The layers of this thread, from the top."""
    entered = [] if thread_state().layers == NULL else list(<list>thread_state().layers)
    return tuple(sorted(entered, key=lambda layer: -layer.position))


cdef int show_recorders() noexcept:
    """Let recorders see the calls that autograd makes for a call of its own accord, such as the copy of what is overwritten.

    Returns the thread's ceiling, which the caller puts back.
    """
    cdef ThreadState* state = thread_state()
    cdef int ceiling = state.ceiling
    state.ceiling = max(ceiling, <int>ABOVE_RECORDERS)
    return ceiling


# ---------------------------------------------------------------- which layer is next
cdef bint is_seen(PyObject** arguments, int n):
    """Do layers take part in a call with these arguments: is one entered, or has a tensor among them a key?"""
    return modes.entered_layers or keys_among(arguments, n)


cdef int keys_among(PyObject** arguments, int n) except -1:
    """The keys of all tensors of a call in one."""
    cdef int keys = 0, i
    for i in range(n):
        keys |= keys_of(<object>arguments[i])
    return keys


cdef int keys_of(object argument) except -1:
    """The keys of a tensor, or of those in a list. No op has tensors in lists of lists."""
    cdef int keys = 0
    if isinstance(argument, TensorBase):
        return (<TensorBase>argument).keys
    if isinstance(argument, (tuple, list)):
        for item in argument:
            if isinstance(item, TensorBase):
                keys |= (<TensorBase>item).keys
    return keys


cdef Layer topmost(PyObject** arguments, int n, int ceiling):
    """The highest layer below a position that this call has not met yet; None if only autograd and the kernel are left."""
    cdef ThreadState* state = thread_state()
    cdef Layer found = None, one
    cdef int i
    if observer is not None and observer.position < ceiling:
        found = observer
    if state.layers != NULL:
        for each in <list>state.layers:
            one = <Layer>each
            if one.position < ceiling and (
                    found is None or one.position > found.position):
                found = one
    if class_layers:
        for i in range(n):
            found = layer_of(<object>arguments[i], found, ceiling)
    return found


cdef Layer layer_of(object value, Layer found, int ceiling):
    """`found`, or the layer of the value's class if that lies higher."""
    cdef Layer one
    if isinstance(value, TensorBase):
        if (<TensorBase>value).keys & FOREIGN:
            one = layer_of_class(type(value))
            if (one is not None and one.position <= ceiling and (found is None or one.position > found.position)
                    and not is_handled(value, one, thread_state())):
                return one
    elif isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, TensorBase):
                found = layer_of(item, found, ceiling)
    return found


cdef Layer layer_of_class(object cls):
    """The layer of the nearest class that has one; None if `__class__` has been assigned to since the tensor was made."""
    for base in cls.__mro__:
        if base in class_layers:
            return <Layer>class_layers[base]


cdef bint is_handled(object x, Layer layer, ThreadState* state):
    """Is the layer handling a call that has this very tensor? Then a call with it is for the layers below."""
    cdef Handled* call = <Handled*>state.handled
    cdef int i
    while call != NULL:
        if call.layer == <PyObject*>layer:
            for i in range(call.n):
                if is_among(x, <object>call.arguments[i]):
                    return True
        call = call.outer
    return False


cdef bint is_among(object x, object argument):
    """Is x this argument, or in it?"""
    if isinstance(argument, (tuple, list)):
        for item in argument:
            if item is x:
                return True
    return argument is x


cdef object handle(Layer layer, Op op, PyObject** arguments, int n):
    """Let a layer handle a call."""
    cdef ThreadState* state = thread_state()
    cdef Handled call
    cdef void* outer = state.handled
    cdef int ceiling = state.ceiling
    cdef bint grad_mode = state.grad_mode
    state.ceiling = layer.position
    if layer.is_of_class:
        call.layer, call.arguments, call.n = <PyObject*>layer, arguments, n
        call.outer = <Handled*>outer
        state.handled = &call
    if layer.position < AUTOGRAD:
        set_grad_mode(False)
    try:
        return layer.take(op, arguments, n)
    finally:
        state.ceiling = ceiling
        state.handled = outer
        set_grad_mode(grad_mode)
