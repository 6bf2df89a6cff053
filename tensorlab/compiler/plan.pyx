"""Plans: the compiled form of a graph, a list of steps over numbered slots.

    slots      0 .. n-1 hold the tensors that come in; each step fills further ones
    KernelStep calls a C function that was generated for a group of ops, on the threads of the package
    BlockStep  runs the loops of such a group's ops on blocks of elements, where there is no C compiler (blocks.pyx)
    CallStep   calls an op, as the graph does
    ItemStep   takes one of the results of an op that has several

A value leaves its slot after the last step that reads it, so that its memory goes back to the allocator and the next step
gets it, still in cache. A plan keeps nothing between two runs: it can run in several threads at once.
"""
cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memset

from tensorlab._core.dispatch.autocast cimport ThreadAutocast, thread_autocast
from tensorlab._core.dispatch.dispatch cimport run as run_op
from tensorlab._core.dispatch.dispatch cimport run_binary, run_unary
from tensorlab._core.dispatch.op cimport MAX_ARGUMENTS, Op
from tensorlab._core.layout cimport is_canonical, shape_text, ssize
from tensorlab._core.loops.parallel cimport parallel_for
from tensorlab._core.profiling cimport KERNEL, NO_NODE, close_record, is_profiling, open_record
from tensorlab._core.state.modes cimport set_grad_mode
from tensorlab._core.tensor cimport TensorBase, empty_strided_tensor, empty_tensor, memory_of

from tensorlab.errors import ShapeError

cdef enum:
    MAX_SLOTS_ON_STACK = 64

# tensors: the first elements of the inputs, then of the outputs; numbers: sizes, strides and other ints that the code asks for
ctypedef void (*kernel_function)(void** tensors, const int64_t* numbers, int64_t begin, int64_t end) noexcept nogil

cdef struct KernelCall:
    kernel_function function
    void** tensors
    int64_t* numbers


cdef void run_range(void* context, ssize begin, ssize end) noexcept nogil:
    cdef KernelCall* call = <KernelCall*>context
    call.function(call.tensors, call.numbers, begin, end)


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Slot:
    """The place of a value, among the arguments of a step."""

    cdef readonly int index

    def __cinit__(self, int index):
        self.index = index

    def __repr__(self):
        return f"Slot({self.index})"


cdef inline int put(PyObject** slots, int i, object value) except -1:
    """Give slot i a value; each slot gets one once."""
    Py_INCREF(value)
    slots[i] = <PyObject*>value
    return 0


cdef inline TensorBase as_tensor(object value):
    """`value`, which C is about to read as a tensor. (A cast would let None through.)"""
    if not isinstance(value, TensorBase):
        raise TypeError(f"Plan: a Tensor is needed here, not {type(value).__name__}")
    return <TensorBase>value


cdef inline object as_input(object value):
    """A tensor, or several results of a call, in a tuple or a list."""
    return value if isinstance(value, (tuple, list)) else as_tensor(value)


# ---------------------------------------------------------------- steps
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Step:
    """What a plan does next."""

    cdef int run(self, PyObject** slots) except -1:
        raise NotImplementedError(f"{type(self).__name__}: a step defines run")


@cython.binding(False)
@cython.auto_pickle(False)
cdef class MemoryStep(Step):
    """A step that reads and writes memory itself, instead of calling an op."""

    cdef int set_tensors(self, str name, object inputs, object outputs, object likes, object dead) except -1:
        self.reads, self.writes, self.likes, self.dead = tuple(inputs), tuple(outputs), tuple(likes), tuple(dead)
        if len(self.reads) + len(self.writes) > MAX_TENSORS:
            raise ValueError(f"{type(self).__name__}: {name} has {len(self.reads) + len(self.writes)} tensors; "
                             f"at most {MAX_TENSORS} fit")
        if len(self.likes) != len(self.writes) or not all([isinstance(one, TensorBase) for one in self.likes]):
            raise ValueError(f"{type(self).__name__}: {name} needs a tensor on meta for each of its {len(self.writes)} outputs")
        return 0

    cdef int open_tensors(self, PyObject** slots, void** tensors) except -1:
        """Make the outputs; `tensors` gets the first elements of the inputs, then of the outputs."""
        cdef TensorBase like, out
        cdef int i, n = 0
        for i in self.reads:
            tensors[n] = memory_of(as_tensor(<object>slots[i]))
            n += 1
        for i in range(<int>len(self.writes)):
            like = <TensorBase>self.likes[i]
            if is_canonical(like.ndim_, like.sizes, like.strides):
                out = empty_tensor(like.dtype_, like.ndim_, like.sizes)
            else:
                out = empty_strided_tensor(like.dtype_, like.ndim_, like.sizes, like.strides)
            put(slots, self.writes[i], out)
            tensors[n] = out.data_
            n += 1
        return 0


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class KernelStep(MemoryStep):
    """A call of generated code.

    Parameters
    ----------
    name : str, of the function
    address : int, of the function in memory
    inputs, outputs : sequences of slot numbers
    likes : for each output a tensor, on meta, that has its sizes, strides and dtype
    numbers : ints that the function asks for
    count : int, iterations that may be shared out; `grain`: how many make a thread worth starting
    """

    cdef readonly str name
    cdef kernel_function function
    cdef int64_t* numbers
    cdef ssize count, grain

    def __cinit__(self, str name, address, inputs, outputs, likes, numbers, ssize count, ssize grain, *, dead=()):
        cdef int i
        self.set_tensors(name, inputs, outputs, likes, dead)
        self.name = name
        self.function = <kernel_function><uintptr_t>address
        if self.function == NULL:
            raise ValueError(f"KernelStep: the address of {name} is 0")
        self.count, self.grain = count, grain
        self.numbers = <int64_t*>PyMem_Malloc(max(1, len(numbers)) * sizeof(int64_t))
        if self.numbers == NULL:
            raise MemoryError()
        for i in range(<int>len(numbers)):
            self.numbers[i] = numbers[i]

    def __dealloc__(self):
        PyMem_Free(self.numbers)

    cdef int run(self, PyObject** slots) except -1:
        cdef void* tensors[MAX_TENSORS]
        cdef KernelCall call
        self.open_tensors(slots, tensors)
        if self.count <= self.grain:
            self.function(tensors, self.numbers, 0, self.count)
            return 0
        call.function, call.tensors, call.numbers = self.function, tensors, self.numbers
        with nogil:
            parallel_for(run_range, &call, self.count, self.grain)
        return 0

    def __repr__(self):
        return f"{self.name}{self.reads} -> {self.writes}"


cdef int run_recorded(Step step, PyObject** slots) except -1:
    """Run a step while a profile is recorded: the layers see the op of a call, and nothing else sees generated code."""
    cdef long long record = -1
    if isinstance(step, MemoryStep):
        record = open_record(KERNEL, (<KernelStep>step).name if type(step) is KernelStep else type(step).__name__, NO_NODE)
    try:
        return step.run(slots)
    finally:
        close_record(record, NO_NODE)


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class CallStep(Step):
    """A call of an op.

    Parameters
    ----------
    op : Op
    arguments : one for each parameter, where a Slot stands for a value, also in lists and tuples
    output : the slot of what it returns
    like : a tensor on meta with the layout that the rest of the plan was made for, or None where any will do
    """

    cdef readonly Op op
    cdef readonly tuple arguments
    cdef readonly TensorBase like
    cdef int output
    cdef bint has_short_cut                 # dispatch has one for small operands
    cdef bint[MAX_ARGUMENTS] nested         # which arguments are lists or tuples with slots in them

    def __cinit__(self, Op op not None, arguments, int output, *, TensorBase like=None, bint grad_enabled=False, dead=()):
        self.op, self.arguments, self.output, self.like = op, tuple(arguments), output, like
        self.grad_enabled, self.reads, self.writes, self.dead = grad_enabled, tuple(slots_in(arguments)), (output,), tuple(dead)
        self.has_short_cut = op.is_pointwise and op.arity <= 2 and not op.writes
        if len(self.arguments) != op.arity:
            raise ValueError(f"CallStep: {op.name} takes {op.arity} arguments, and {len(self.arguments)} were given: {op.schema}")
        for i in range(op.arity):
            self.nested[i] = type(self.arguments[i]) is not Slot and len(slots_in((self.arguments[i],))) > 0

    cdef int run(self, PyObject** slots) except -1:
        cdef PyObject* arguments[MAX_ARGUMENTS]
        cdef list alive = None
        cdef object value
        cdef int i, n = <int>len(self.arguments)
        for i in range(n):
            value = self.arguments[i]
            if type(value) is Slot:
                arguments[i] = slots[(<Slot>value).index]
            elif self.nested[i]:
                value = filled(value, slots)
                if alive is None:
                    alive = []
                alive.append(value)
                arguments[i] = <PyObject*>value
            else:
                arguments[i] = <PyObject*>value
        if not self.has_short_cut:
            value = run_op(self.op, arguments, n)
        elif n == 1:
            value = run_unary(self.op, as_tensor(<object>arguments[0]))
        else:
            value = run_binary(self.op, <object>arguments[0], <object>arguments[1])
        if self.like is not None:
            check_layout(self.op.name, as_tensor(value), self.like)
        return put(slots, self.output, value)

    def __repr__(self):
        return f"{self.op.name}{self.arguments} -> {self.writes}"


cdef list slots_in(object pattern):
    """The slots of a pattern of arguments, in the order of reading."""
    cdef list found = []
    for one in pattern:
        if type(one) is Slot:
            found.append((<Slot>one).index)
        elif type(one) is list or type(one) is tuple:
            found += slots_in(one)
    return found


cdef object filled(object pattern, PyObject** slots):
    """A list or tuple with the values of its slots. An op may keep a list that it is given, so each call gets its own."""
    cdef list made = []
    for one in pattern:
        if type(one) is Slot:
            made.append(<object>slots[(<Slot>one).index])
        else:
            made.append(filled(one, slots) if type(one) is list or type(one) is tuple else one)
    return made if type(pattern) is list else tuple(made)


cdef int check_layout(str name, TensorBase x, TensorBase like) except -1:
    """Generated code reads memory as the plan says, so what a call returns must be laid out like that."""
    cdef int i
    cdef bint same = x.dtype_ == like.dtype_ and x.ndim_ == like.ndim_
    if same:
        for i in range(x.ndim_):
            same = same and x.sizes[i] == like.sizes[i] and (x.strides[i] == like.strides[i] or x.sizes[i] <= 1
                                                             or x.numel_ == 0)
    if not same:
        whose = ("its fake said so; library.opcheck finds where the two differ" if "::" in name
                 else "this is a mistake of tensorlab.compile")
        raise ShapeError(f"compile: {name} returned a tensor of shape {shape_text(x.ndim_, x.sizes)} with strides "
                         f"{shape_text(x.ndim_, x.strides)}, where the plan expects {shape_text(like.ndim_, like.sizes)} with "
                         f"strides {shape_text(like.ndim_, like.strides)}; {whose}")
    return 0


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class ItemStep(Step):
    """One of the results of a call that has several; it may be a list itself. `like`: as for CallStep."""

    cdef readonly TensorBase like
    cdef readonly int index
    cdef int results, output

    def __cinit__(self, int results, int index, int output, *, TensorBase like=None, dead=()):
        self.results, self.index, self.output, self.like = results, index, output, like
        self.reads, self.writes, self.dead = (results,), (output,), tuple(dead)

    cdef int run(self, PyObject** slots) except -1:
        cdef object value = as_input((<object>slots[self.results])[self.index])
        if self.like is not None:
            check_layout("a call", as_tensor(value), self.like)
        return put(slots, self.output, value)

    def __repr__(self):
        return f"{self.reads}[{self.index}] -> {self.writes}"


# ---------------------------------------------------------------- the plan
@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Plan:
    """Steps to run.

    Parameters
    ----------
    inputs : int, how many tensors come in (or tuples of them, results of one call); they are in
        the first slots
    slots : int, how many slots there are
    steps : list of Step
    outputs : sequence of slot numbers; what `run` returns
    records : bool, whether autograd records the calls, each as its step's `grad_enabled` says; else none is recorded
    """

    def __cinit__(self, int inputs, int slots, steps, outputs, *, bint records=False):
        self.inputs, self.slots, self.steps, self.outputs, self.records = inputs, slots, list(steps), tuple(outputs), records
        self.check_slots()

    cdef int check_slots(self) except -1:
        """Raise unless each step finds its slots filled: a run does not look."""
        cdef set filled = set(range(self.inputs)), written = set(filled)
        for one in self.steps:
            if not isinstance(one, Step):
                raise TypeError(f"Plan: a {type(one).__name__} is not a step: {one!r}")
            empty = set((<Step>one).reads) - filled
            if empty:
                raise ValueError(f"Plan: slot {min(empty)} is empty when {one!r} reads it")
            twice = written.intersection((<Step>one).writes)
            if twice:
                raise ValueError(f"Plan: {one!r} writes slot {min(twice)}, which has been written before")
            written.update((<Step>one).writes)
            filled.update((<Step>one).writes)
            filled.difference_update((<Step>one).dead)
        for i in self.outputs:
            if i not in filled:
                raise ValueError(f"Plan: slot {i}, an output, is empty at the end")
        if filled and max(filled) >= self.slots:
            raise ValueError(f"Plan: slot {max(filled)} is used, and there are {self.slots}")
        return 0

    def run(self, inputs):
        """Run the steps; returns a list with the value of each output."""
        return self.execute(list(inputs), True)

    cdef list execute(self, list inputs, bint hands_over):
        """Run the steps.

        Inputs that are handed over are taken out of the list, and freed after their last reader.
        """
        cdef PyObject* on_stack[MAX_SLOTS_ON_STACK]
        cdef PyObject** slots = on_stack
        cdef Step step
        cdef list results
        cdef ThreadAutocast* autocast = thread_autocast()
        cdef bint grad_mode
        cdef int i, cast_to = autocast.dtype
        if len(inputs) != self.inputs:
            raise TypeError(f"Plan: takes {self.inputs} tensors, and {len(inputs)} were given")
        if self.slots > MAX_SLOTS_ON_STACK:
            slots = <PyObject**>PyMem_Malloc(self.slots * sizeof(PyObject*))
            if slots == NULL:
                raise MemoryError()
        memset(slots, 0, self.slots * sizeof(PyObject*))
        grad_mode = set_grad_mode(False)
        autocast.dtype = -1             # the casts are steps
        try:
            for i in range(self.inputs):
                put(slots, i, as_input(inputs[i]))
            if hands_over:
                inputs.clear()
            for one in self.steps:
                step = <Step>one
                if self.records:
                    set_grad_mode(step.grad_enabled)
                if is_profiling:
                    run_recorded(step, slots)
                else:
                    step.run(slots)
                for i in step.dead:
                    Py_XDECREF(slots[i])
                    slots[i] = NULL
            results = []
            for i in self.outputs:
                results.append(<object>slots[i])
            return results
        finally:
            autocast.dtype = cast_to
            set_grad_mode(grad_mode)
            for i in range(self.slots):
                Py_XDECREF(slots[i])
            if slots != on_stack:
                PyMem_Free(slots)
