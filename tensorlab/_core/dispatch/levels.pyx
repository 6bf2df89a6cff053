"""Levels: the transforms that are running, and the boxes in which they show tensors to a program.

A transform, such as vmap or grad, calls a function of the program with tensors in *boxes*. A box is a tensor without memory
that stands for another one, its `value`:

    RECORDS   grad, vjp    a box has a history, which its value knows nothing of
    PUSHES    jvp          a box has two tensors, the value and its tangent
    BATCHES   vmap         the value has one more dimension, the first one: the batch
    REPLACES  functionalize    a write gives the box another value

Each transform that is running is a Level; those of a thread have numbers, 1 for the outermost one. The value of a box may be a
box itself, of a lower level. So `grad` inside `vmap` sees boxes of level 2 that stand for boxes of level 1, that stand for
tensors.

A call of an op goes to the highest level among its operands (as in HIPS autograd, and with functorch's stack of interpreters).
That level turns it into calls with the values of its boxes. They come through the entry of all calls, and so to the next
level, until no operand is in a box. Everything else in this package, autograd, layers, recorders and kernels, sees those:

    x.sin() * y, level 2 records        a node of its graph for sin, then: call sin with the values
      sin, level 1 batches              sin of the whole batch, by a rule
        sin                             of an ordinary tensor

What a function computes without boxes, as by zeros(3), is put into one by the innermost transform that differentiates. So
the function may write into it what is in boxes, which it may not do with a tensor from outside.

A transform may end while boxes of it are alive, in the graph for example that a function returned by vjp uses. Such a box is
taken for its value.

Programs that use no transform pay for nothing here: a box has a key (tensor.pxd), and only calls with keys are looked at.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF

cimport tensorlab._core.state.modes as modes
from tensorlab._core.dispatch.op cimport DTYPE, GRAD, MAX_ARGUMENTS, OUT, REAL, SHAPE, Op, run_function
from tensorlab._core.dispatch.operands cimport promoted_dtype
from tensorlab._core.dtypes cimport BOOL, COMPLEX, dtype_object, is_in, item_size
from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.storage cimport shell_storage
from tensorlab._core.state.modes cimport ThreadState, set_grad_mode, thread_state
from tensorlab._core.tensor cimport (
    BOXED, TensorBase, new_tensor, offset_of, place_of, put_into_box, set_layout
)

import weakref

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab.errors import GradientError

cdef run_function entry = NULL              # dispatch.run
cdef run_function record = NULL             # dispatch.run_recorded

cdef int set_entries(run_function entry_, run_function recorded) except -1:
    """Take the two functions of dispatch.pyx, which knows this module."""
    global entry, record
    entry, record = entry_, recorded
    return 0


# ---------------------------------------------------------------- levels
@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Level:
    """A transform that is running."""

    def __repr__(self):
        state = "" if self.is_alive else ", which has ended"
        return f"<{self.transform}, level {self.number}{state}>"


def enter_level(str transform, int kind, rules=None, run=None, *, ssize size=0, str randomness="error",
                bint allows_capture=False):
    """Begin a transform in this thread; `leave_level` ends it.

    `rules` is the facet with the rules of ops, and `run(level, op, arguments)` handles a call that isn't handled here.
    """
    cdef ThreadState* state = thread_state()
    cdef Level level = Level.__new__(Level)
    level.transform, level.kind, level.rules, level.run = transform, kind, rules, run
    level.size, level.randomness = size, randomness
    level.is_alive, level.allows_capture = True, allows_capture
    level.outer = innermost()
    level.number = 1 if level.outer is None else level.outer.number + 1
    level.grad_mode = state.grad_mode
    level.boxes = [] if allows_capture else None
    Py_INCREF(level)
    show_levels(level)
    return level


cdef tuple batching = ()                    # rules and `run` of levels that batch

def set_batching(rules, run):
    """What a batch needs, handed down by func/levels.py, so that the engine can run several passes at once."""
    global batching
    batching = (rules, run)


def enter_batch(str transform, ssize size):
    """Begin a level that batches."""
    return enter_level(transform, BATCHES, *batching, size=size)


def leave_level(Level level not None):
    """End the transform that was begun last."""
    if thread_state().levels != <PyObject*>level:
        raise RuntimeError(f"{level.transform}: a transform must end in the thread in which it began, and after those in it")
    show_levels(level.outer)
    level.is_alive = False
    Py_DECREF(level)


cdef inline Level innermost():
    """The innermost transform that this thread is in; while a level handles a call, the one around that level."""
    return None if thread_state().levels == NULL else <Level>thread_state().levels


cdef inline void show_levels(Level level) noexcept:
    """Let the thread see the levels up to this one. While it sees any, they're asked about calls without boxes, too."""
    cdef ThreadState* state = thread_state()
    cdef int change = (level is not None) - (state.levels != NULL)
    state.levels = NULL if level is None else <PyObject*>level
    modes.entered_layers += change
    modes.active_layers += change


cdef bint will_differentiate_again() noexcept:
    """May the derivative that is being computed be differentiated itself? Then it may use nothing but differentiable results.

    It is recorded, or it is inside of a transform, which may record what is in its boxes.
    """
    return thread_state().grad_enabled or thread_state().levels != NULL


cdef bint has_hidden_values(TensorBase x) noexcept:
    """Does x stand for a batch, of which no one may ask for a single number?"""
    cdef Box box
    while x.keys & BOXED:
        box = <Box>x.box
        if box.level.kind == BATCHES and box.level.is_alive:
            return True
        x = box.value
    return False


def levels():
    """The transforms that this thread is in, the outermost first."""
    cdef Level level = innermost()
    found = []
    while level is not None:
        found.insert(0, level)
        level = level.outer
    return found


def call_below(Level level not None, function, *arguments):
    """Call a function as a level calls ops with its values: the level doesn't see what it does, nor do those above it."""
    cdef Level was_innermost = innermost()
    cdef bint grad_mode = set_grad_mode(level.grad_mode if level.kind == RECORDS else thread_state().grad_mode)
    show_levels(level.outer)
    try:
        return function(*arguments)
    finally:
        show_levels(was_innermost)
        set_grad_mode(grad_mode)


# ---------------------------------------------------------------- boxes
@cython.final
@cython.freelist(64)
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Box:
    """What a transform has put into a tensor."""

    @property
    def tangent(self):
        """Of a level that pushes: the tangent of the value, or None."""
        return tangent_of(self)

    @property
    def hides_batch(self):
        """Has the value one more dimension than what is shown?"""
        return self.level.kind == BATCHES


cdef TensorBase boxed(Level level, TensorBase value, TensorBase tangent):
    """A tensor that stands for `value` at a level."""
    cdef TensorBase x = new_tensor()
    fill(x, level, value, tangent, None, None)
    return x


cdef int fill(TensorBase x, Level level, TensorBase value, TensorBase tangent, Box viewed, object view) except -1:
    """Make a tensor a box."""
    cdef Box box = Box.__new__(Box)
    box.level, box.value, box.own_tangent, box.viewed, box.view = level, value, tangent, viewed, view
    put_into_box(x, box)
    show_layout(x, box)
    if level.boxes is not None:
        level.boxes.append(weakref.ref(x))
    return 0


cdef TensorBase tangent_of(Box box):
    """The tangent of a box, or None. That of a view is the same view of the other's tangent, which may be another one now."""
    cdef TensorBase whole
    if box.viewed is not None:
        whole = tangent_of(box.viewed)
        if whole is not box.seen:
            box.own_tangent, box.seen = None if whole is None else box.view(whole), whole
    return box.own_tangent


cdef int show_layout(TensorBase x, Box box) except -1:
    """Give a box the shape, type and device of its value. A batch isn't shown."""
    cdef TensorBase value = box.value
    cdef int hidden = box.level.kind == BATCHES
    x.dtype_ = value.dtype_
    set_layout(x, value.ndim_ - hidden, value.sizes + hidden, value.strides + hidden)
    if x.storage_.nbytes_ != value.storage_.nbytes_ or place_of(x) != place_of(value) or x.storage_.address != NULL:
        x.storage_ = shell_storage(place_of(value), value.storage_.nbytes_)
    x.data_ = <char*>NULL + offset_of(value) * item_size[value.dtype_]
    return 0


cdef Box box_at(object x, Level level):
    """The box of x if it is of this level, else None."""
    if isinstance(x, TensorBase) and (<TensorBase>x).keys & BOXED:
        if (<Box>(<TensorBase>x).box).level is level:
            return <Box>(<TensorBase>x).box
    return None


def box(Level level not None, TensorBase value not None, TensorBase tangent=None, Box viewed=None, view=None):
    """A tensor that stands for `value` at a level; at one of BATCHES, the first dimension of the value isn't shown.

    For a view of what is in a box at PUSHES: `viewed` is that box, and `view(tangent)` the same view of its tangent.
    """
    cdef TensorBase x = new_tensor()
    fill(x, level, value, tangent, viewed, view)
    return x


def fill_box(TensorBase x not None, Level level not None, TensorBase value not None, TensorBase tangent=None,
             Box viewed=None, view=None):
    """Make an existing tensor a box, or give it another value; the arguments are those of `box`."""
    fill(x, level, value, tangent, viewed, view)


def box_of(x):
    """The Box of a tensor, or None: it has `level`, `value` and `tangent`."""
    if isinstance(x, TensorBase) and (<TensorBase>x).keys & BOXED:
        return (<TensorBase>x).box
    return None


def has_batch(x):
    """Does a box stand for the values of several examples?"""
    cdef Box box
    while isinstance(x, TensorBase) and (<TensorBase>x).keys & BOXED:
        box = <Box>(<TensorBase>x).box
        if box.level.kind == BATCHES:
            return True
        x = box.value
    return False


def without_boxes(x):
    """What a box stands for in the end, with all batches: for a check that every example must pass."""
    while isinstance(x, TensorBase) and (<TensorBase>x).keys & BOXED:
        x = (<Box>(<TensorBase>x).box).value
    return x


def is_differentiated(TensorBase x not None):
    """May a derivative by x be wanted? For functions that have a cheaper way without: it requires grad, or is in a box."""
    return x.keys & BOXED != 0 or (thread_state().grad_enabled and needs_grad(x))


def value_at(x, Level level not None):
    """The value of a box of this level; anything else as it is."""
    cdef Box box = box_at(x, level)
    return x if box is None else box.value


def alive(x):
    """A tensor without the boxes of transforms that have ended, but for those of vmap."""
    cdef Box box = box_of(x)
    while box is not None and not box.level.is_alive and box.level.kind != BATCHES:
        x = box.value
        box = box_of(x)
    return x


def tangent_at(x, Level level not None):
    """The tangent of a box of this level, or None."""
    cdef Box box = box_at(x, level)
    return None if box is None else tangent_of(box)


def set_tangent(Box box not None, TensorBase tangent):
    """Give a box another tangent, unless it is a view; its views follow."""
    box.own_tangent = tangent


# ---------------------------------------------------------------- who handles a call
cdef Level level_of_call(Op op, PyObject** arguments, int n):
    """The level that a call goes to, or None: the highest level among its operands, if it has ended or none lies above.

    What a function computes inside of grad or jvp is in boxes of that level even if no operand is. So it's told from tensors
    that come from outside, which must not be written to.
    """
    cdef Level level = None, inner
    cdef bint is_fill
    cdef int i
    for i in range(n):
        level = higher(level, <object>arguments[i])
    if level is not None and not level.is_alive or level is None and op.writes and not op.draws:
        return level
    is_fill = level is None and op.writes       # of random numbers: only vmap is asked
    inner = innermost()
    while inner is not None and (level is None or inner.number > level.number):
        if op.draws if inner.kind == BATCHES else not (inner.allows_capture or is_fill):
            return inner
        inner = inner.outer
    return level


cdef Level higher(Level level, object value):
    """The level of a value if it is higher than this one."""
    cdef Level other
    if isinstance(value, TensorBase):
        if (<TensorBase>value).keys & BOXED:
            other = (<Box>(<TensorBase>value).box).level
            if level is None or (level.is_alive and (not other.is_alive or other.number > level.number)):
                return other
    elif isinstance(value, (tuple, list)):
        for item in value:
            level = higher(level, item)
    return level


cdef bint is_boxed(PyObject** arguments, int n):
    """Is one of the operands a box?"""
    cdef int i
    for i in range(n):
        if higher(None, <object>arguments[i]) is not None:
            return True
    return False


cdef object run_level(Level level, Op op, PyObject** arguments, int n):
    """Let a level handle a call."""
    if not level.is_alive:
        if level.kind == BATCHES:
            raise RuntimeError(f"{op.name}: an operand was made inside of {level.transform}, which has ended: a tensor of one "
                               f"example must not leave the function, as by a list from outside. Return it instead")
        return run_with_values(level, op, arguments, n)
    if (op.writes and box_at(<object>arguments[0], level) is None and not level.allows_capture
            and not (op.draws and level.kind == BATCHES and level.randomness != "different")):  # numbers that all share
        if level.kind == BATCHES or (op.functional is not None and op.functional.derivative_count > 0
                                     and has_derivative(level, arguments, n)):
            refuse_captured(level, op)
        if level.kind != REPLACES:
            return run_with_values(level, op, arguments, n)     # constants, or batch_norm's averages
    if level.kind == RECORDS:
        return run_recording(level, op, arguments, n)
    if level.is_paused or (level.kind == PUSHES and thread_state().inference):
        return run_with_values(level, op, arguments, n)
    if level.allows_capture and thread_state().grad_enabled and needs_any_grad(arguments, n):
        return record(op, arguments, n)         # backward is to see the tangents, too, and goes on in `run_inside`
    return run_at(level, op, arguments, n)


cdef bint needs_any_grad(PyObject** arguments, int n):
    for i in range(n):
        if isinstance(<object>arguments[i], TensorBase):
            if needs_grad(<TensorBase>arguments[i]):
                return True
        elif isinstance(<object>arguments[i], (tuple, list)):
            for one in <object>arguments[i]:
                if isinstance(one, TensorBase) and needs_grad(<TensorBase>one):
                    return True
    return False


cdef object run_at(Level level, Op op, PyObject** arguments, int n):
    """Let a level that pushes or batches handle a call. What it calls is for the levels around it."""
    cdef Level was_innermost = innermost()
    show_levels(level.outer)
    try:
        if level.kind == PUSHES and not op.writes and not op.is_view and not has_derivative(level, arguments, n):
            return boxes_of(level, call(op, [values_of(<object>arguments[i], level) for i in range(n)]))
        if level.kind == PUSHES and is_elementwise(level, op, arguments, n):
            return push_elementwise(level, op, arguments, n)
        if level.kind == BATCHES and (op if op.functional is None else op.functional).is_pointwise and not op.draws:
            return batch_pointwise(level, op, arguments, n)
        return level.run(level, op, tuple([<object>arguments[i] for i in range(n)]))
    finally:
        show_levels(was_innermost)


cdef bint has_derivative(Level level, PyObject** arguments, int n):
    """Has an operand in a box of this level, or one in a list, a history there, or a tangent?"""
    cdef int i
    for i in range(n):
        if is_followed(level, <object>arguments[i]):
            return True
    return False


cdef bint is_followed(Level level, object value):
    cdef Box box
    if isinstance(value, TensorBase):
        box = box_at(value, level)
        return box is not None and (needs_grad(<TensorBase>value) if level.kind == RECORDS else tangent_of(box) is not None)
    if isinstance(value, (tuple, list)):
        for item in value:
            if is_followed(level, item):
                return True
    return False


cdef int refuse_captured(Level level, Op op) except -1:
    if level.kind == BATCHES:
        raise RuntimeError(f"vmap: {op.name}(self, *extra_args) is not possible, because self is the same for all examples, and "
                           f"another operand differs from example to example: the result would not fit. Make self inside of the "
                           f"function from what is mapped over, as x.new_zeros(...) does, or write {op.name.rstrip('_')} instead")
    raise RuntimeError(f"{level.transform}: the function calls the in-place operation {op.name}, which would mutate a captured "
                       f"Tensor, one that is no argument of it. This is not supported; rewrite the function to use an operation "
                       f"that returns a new tensor, or pass that Tensor in as an argument")


# ---------------------------------------------------------------- values in, boxes out
cdef object values_of(object value, Level level):
    """An argument without the boxes of a level."""
    cdef Box box
    if isinstance(value, TensorBase):
        box = box_at(value, level)
        return value if box is None else box.value
    if isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, (TensorBase, tuple, list)):
                return type(value)([values_of(one, level) for one in value])
    return value


cdef object answers_of(object value, Level level):
    """Is an argument a box of a level? For a list with tensors, a tuple of answers."""
    if isinstance(value, TensorBase):
        return box_at(value, level) is not None
    if isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, (TensorBase, tuple, list)):
                return tuple([answers_of(one, level) for one in value])
    return False


def opened(Level level not None, arguments):
    """(values, answers) of the arguments of a call: without the boxes of a level, and which ones were boxes."""
    return [values_of(one, level) for one in arguments], tuple([answers_of(one, level) for one in arguments])


cdef object call(Op op, list arguments):
    """Call an op through the entry of all calls."""
    cdef PyObject* pointers[MAX_ARGUMENTS]
    cdef int i, n = <int>len(arguments)
    for i in range(n):
        pointers[i] = <PyObject*>arguments[i]
    return entry(op, pointers, n)


cdef object run_with_values(Level level, Op op, PyObject** arguments, int n):
    """A call with boxes of a level that has ended."""
    cdef list values = [values_of(<object>arguments[i], level) for i in range(n)]
    cdef object out = call(op, values)
    if op.writes and out is values[0]:
        show_again(level, <object>arguments[0])
        return <object>arguments[0]
    return out


cdef int show_again(Level level, object x) except -1:
    """A call in place may have changed the layout of the value."""
    cdef Box box = box_at(x, level)
    if box is not None:
        show_layout(<TensorBase>x, box)
    return 0


cdef object boxes_of(Level level, object out):
    """Results in boxes: of a call that made something new."""
    if isinstance(out, TensorBase):
        return boxed(level, <TensorBase>out, None)
    if isinstance(out, (tuple, list)):
        return type(out)([boxes_of(level, one) for one in out])
    return out


# ---------------------------------------------------------------- RECORDS
cdef object run_recording(Level level, Op op, PyObject** arguments, int n):
    """Let autograd record the call among the boxes of a level. The history that other operands have isn't this level's."""
    cdef list sealed
    cdef PyObject* pointers[MAX_ARGUMENTS]
    cdef bint has_box = False
    cdef int i
    for i in range(n):
        has_box = has_box or higher(None, <object>arguments[i]) is level
    if not has_box and not op.is_view:
        return run_with_level(level, op, [<object>arguments[i] for i in range(n)])
    sealed = [seal(level, <object>arguments[i], op.is_view and i == 0) for i in range(n)]
    for i in range(n):
        pointers[i] = <PyObject*>sealed[i]
    return record(op, pointers, n)


cdef object seal(Level level, object value, bint always):
    cdef TensorBase x
    if isinstance(value, TensorBase):
        x = <TensorBase>value
        if box_at(x, level) is None and (
                always or x.keys & BOXED or x.wants_grad or x.node is not None or x.base is not None):
            return boxed(level, x, None)
    elif isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, (TensorBase, tuple, list)):
                return type(value)([seal(level, one, always) for one in value])
    return value


cdef object run_inside(Op op, PyObject** arguments, int n):
    """Below autograd at a level: the call with the values."""
    cdef Level level = None
    cdef int i
    for i in range(n):
        level = higher(level, <object>arguments[i])
    if not level.is_alive:
        return run_with_values(level, op, arguments, n)
    if level.kind == PUSHES:
        return run_at(level, op, arguments, n)
    values = [values_of(<object>arguments[i], level) for i in range(n)]
    out = run_with_level(level, op, values)
    if op.writes and box_of_value(out, level) is values[0]:
        show_again(level, <object>arguments[0])
        return <object>arguments[0]
    if op.is_view:
        share_counter(<TensorBase>arguments[0], out)
    return out


cdef int share_counter(TensorBase x, object out) except -1:
    """Let views in boxes count writes together with what they're views of: then each is told of writes to the others."""
    if isinstance(out, TensorBase):
        (<TensorBase>out).counter = x.counter
    elif isinstance(out, (tuple, list)):
        for one in out:
            share_counter(x, one)
    return 0


cdef object run_with_level(Level level, Op op, list values):
    """A call with values for a level that records: the thread is as it was when the transform began."""
    cdef bint grad_mode = set_grad_mode(level.grad_mode)
    cdef Level was_innermost = innermost()
    show_levels(level.outer)
    try:
        return boxes_of(level, call(op, values))
    finally:
        show_levels(was_innermost)
        set_grad_mode(grad_mode)


cdef inline object box_of_value(object x, Level level):
    cdef Box box = box_at(x, level)
    return None if box is None else box.value


# ---------------------------------------------------------------- BATCHES
cdef object batch_pointwise(Level level, Op op, PyObject** arguments, int n):
    """Of a pointwise op: the batch is one more dimension on the left, so shorter operands get dimensions behind it."""
    cdef list values = [values_of(<object>arguments[i], level) for i in range(n)]
    cdef TensorBase x
    cdef bint has_numbers = False
    cdef int i, longest = 0
    for i in range(n):
        if isinstance(<object>arguments[i], TensorBase):
            longest = max(longest, (<TensorBase>arguments[i]).ndim_)
    for i in range(n):
        x = <TensorBase>arguments[i] if isinstance(<object>arguments[i], TensorBase) else None
        if x is not None and values[i] is not x:
            has_numbers = has_numbers or x.ndim_ == 0
            if x.ndim_ < longest:
                values[i] = lengthened(<TensorBase>values[i], longest - x.ndim_)
    if has_numbers:                     # with a dimension they would take part in type promotion in another way
        promote_numbers(arguments, n, values, promoted_dtype(arguments, n, op.name), op.writes)
    out = call(op, values)
    if op.writes:
        show_again(level, <object>arguments[0])
        return <object>arguments[0]
    return boxes_of(level, out)


cdef int promote_numbers(PyObject** arguments, int n, list values, int dtype, bint keeps_first) except -1:
    """Give 0-d operands the type of the result, as a loop over examples would: all but bools, which never decide it."""
    cdef TensorBase x
    cdef int i
    for i in range(keeps_first, n):
        if isinstance(<object>arguments[i], TensorBase):
            x = <TensorBase>arguments[i]
            if x.ndim_ == 0 and x.dtype_ != BOOL:
                values[i] = with_dtype(values[i], dtype)
    return 0


cdef object with_dtype(object x, int dtype):
    return x if (<TensorBase>x).dtype_ == dtype else x.to(dtype_object(dtype))


cdef object lengthened(TensorBase value, int count):
    """A batch with `count` dimensions of size 1 behind it."""
    cdef object out = value
    for _ in range(count):
        out = call(<Op>REGISTRY["unsqueeze"], [out, 1])
    return out


# ---------------------------------------------------------------- PUSHES
cdef bint is_elementwise(Level level, Op op, PyObject** arguments, int n):
    """Do the formulas of an op's derivatives, which multiply a gradient with the derivative of each element, multiply a
    tangent just as well? They do of pointwise ops, but for functions of complex numbers that aren't holomorphic."""
    cdef int i
    if not op.is_pointwise or op.writes or op.is_joint or op.draws or level.rules[op] is not None:
        return False
    if op.is_holomorphic and op.dtype_rule != REAL:
        return True
    for i in range(n):
        if isinstance(<object>arguments[i], TensorBase) and is_in((<TensorBase>arguments[i]).dtype_, COMPLEX):
            return False
    return True


cdef object push_elementwise(Level level, Op op, PyObject** arguments, int n):
    """The result of such an op, and its tangent."""
    cdef list primals = [values_of(<object>arguments[i], level) for i in range(n)]
    cdef TensorBase out = call(op, primals)
    cdef object total = None, one
    cdef TensorBase tangent
    cdef Box box
    cdef int j
    for j in range(op.derivative_count):
        box = box_at(<object>arguments[op.positions[j]], level)
        tangent = None if box is None else tangent_of(box)
        if tangent is None:
            continue
        one = op.formulas[j](*[formula_argument(code, op.positions[j], tangent, primals, out)
                               for code in <tuple>op.takes[j]])
        if one is not None:
            total = one if total is None else total + one
    if total is None:
        return boxed(level, out, None)
    if (<TensorBase?>total).ndim_ != out.ndim_ or total.shape != out.shape:
        total = total.expand(out.shape)
    if (<TensorBase>total).dtype_ != out.dtype_:
        total = total.to(dtype_object(out.dtype_))
    return boxed(level, out, <TensorBase>total)


cdef object formula_argument(int code, int position, object tangent, list primals, object out):
    """What a formula asks for by this code (op.pyx)."""
    if code >= 0:
        return primals[code]
    if code == GRAD:
        return tangent
    if code == OUT:
        return out
    if code == SHAPE:
        return primals[position].shape
    if code == DTYPE:
        return primals[position].dtype
    raise GradientError(f"a formula of a pointwise op asks for the layout of its operand (code {code})")
