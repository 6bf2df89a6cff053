"""Levels: the transforms that are running, and the boxes in which they show tensors to a
program.

A transform, such as vmap or grad, calls a function of the program with tensors in *boxes*. A
box is a tensor without memory that stands for another one, its `value`:

    RECORDS   grad, vjp        a box has a history, which its value knows nothing of
    PUSHES    jvp              a box has two tensors, the value and its tangent
    BATCHES   vmap             the value has one more dimension, the first one: the batch
    REPLACES  functionalize    a write gives the box another value

Each transform that is running is a Level; those of a thread have numbers, 1 for the outermost
one. The value of a box may be a box itself, of a lower level. So `grad` inside `vmap` sees
boxes of level 2 that stand for boxes of level 1, that stand for tensors.

A call of an op goes to the highest level among its operands (as in HIPS autograd, and with
functorch's stack of interpreters). That level turns it into calls with the values of its boxes.
They come through the entry of all calls, and so to the next level, until no operand is in a
box. Everything else in this package, autograd, layers, recorders and kernels, sees those:

    x.sin() * y, level 2 records    a node for sin in its graph, then: sin with the values
      sin, level 1 batches          sin of the whole batch, by a rule
        sin                         of an ordinary tensor

What a function computes without boxes, as by zeros(3), is put into one by the innermost
transform that differentiates. So the function may write into it what is in boxes, which it may
not do with a tensor from outside.

A transform may end while boxes of it are alive, in the graph for example that a function
returned by vjp uses. Such a box is taken for its value.

Programs that use no transform pay for nothing here: a box has a key (tensor.pxd), and only
calls with keys are looked at. What a level does with a call stands in level_calls.pyx.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF

cimport tensorlab._core.state.modes as modes
from tensorlab._core.dtypes cimport item_size
from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.storage cimport shell_storage
from tensorlab._core.state.modes cimport ThreadState, set_grad_mode, thread_state
from tensorlab._core.tensor cimport (
    BOXED, TensorBase, new_tensor, offset_of, place_of, put_into_box, set_layout
)

import weakref


# ---------------------------------------------------------------- levels
@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Level:
    """A transform that is running."""

    def __repr__(self):
        state = "" if self.is_alive else ", which has ended"
        return f"<{self.transform}, level {self.number}{state}>"


def enter_level(str transform, int kind, rules=None, run=None, *, ssize size=0,
                str randomness="error", bint allows_capture=False):
    """Begin a transform in this thread; `leave_level` ends it.

    `rules` is the facet with the rules of ops, and `run(level, op, arguments)` handles a call
    that isn't handled here.
    """
    cdef ThreadState* state = thread_state()
    cdef Level level = Level.__new__(Level)
    if not (RECORDS <= kind <= REPLACES) or (kind != RECORDS and not callable(run)):
        raise TypeError(f"enter_level: kind {kind} with {run!r}; expected one of levels.pxd, and "
                        f"a function `run` unless it records")
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


cdef object batching = None

def set_batching(function):
    """Take the function that returns rules and `run` of levels that batch: what the engine needs
    to run several passes at once.
    """
    global batching
    batching = function


def enter_batch(str transform, ssize size):
    """Begin a level that batches."""
    return enter_level(transform, BATCHES, *batching(), size=size)


def leave_level(Level level not None):
    """End the transform that was begun last."""
    if thread_state().levels != <PyObject*>level:
        raise RuntimeError(f"{level.transform}: a transform must end in the thread in which it "
                           f"began, and after those in it")
    show_levels(level.outer)
    level.is_alive = False
    Py_DECREF(level)


cdef Level innermost():
    """The innermost transform that this thread is in; while a level handles a call, the one
    around that level.
    """
    return None if thread_state().levels == NULL else <Level>thread_state().levels


cdef void show_levels(Level level) noexcept:
    """Let the thread see the levels up to this one. While it sees any, they're asked about
    calls without boxes, too.
    """
    cdef ThreadState* state = thread_state()
    cdef int change = (level is not None) - (state.levels != NULL)
    state.levels = NULL if level is None else <PyObject*>level
    modes.entered_layers += change
    modes.active_layers += change


cdef bint will_differentiate_again() noexcept:
    """May the derivative that is being computed be differentiated itself? Then it may use
    nothing but differentiable results.

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
    """Call a function as a level calls ops with its values: the level doesn't see what it does,
    nor do those above it.
    """
    cdef Level was_innermost = innermost()
    cdef bint grad_mode = set_grad_mode(level.grad_mode if level.kind == RECORDS
                                        else thread_state().grad_mode)
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


cdef int fill(TensorBase x, Level level, TensorBase value, TensorBase tangent, Box viewed,
              object view) except -1:
    """Make a tensor a box."""
    cdef Box box = Box.__new__(Box)
    box.level, box.value, box.own_tangent = level, value, tangent
    box.viewed, box.view = viewed, view
    put_into_box(x, box)
    show_layout(x, box)
    if level.boxes is not None:
        level.boxes.append(weakref.ref(x))
    return 0


cdef TensorBase tangent_of(Box box):
    """The tangent of a box, or None. That of a view is the same view of the other's tangent,
    which may be another one now.
    """
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
    if (x.storage_.nbytes_ != value.storage_.nbytes_ or place_of(x) != place_of(value)
            or x.storage_.address != NULL):
        x.storage_ = shell_storage(place_of(value), value.storage_.nbytes_)
    x.data_ = <char*>NULL + offset_of(value) * item_size[value.dtype_]
    return 0


cdef Box box_at(object x, Level level):
    """The box of x if it is of this level, else None."""
    if isinstance(x, TensorBase) and (<TensorBase>x).keys & BOXED:
        if (<Box>(<TensorBase>x).box).level is level:
            return <Box>(<TensorBase>x).box
    return None


def box(Level level not None, TensorBase value not None, TensorBase tangent=None,
        Box viewed=None, view=None):
    """A tensor that stands for `value` at a level; at one of BATCHES, the first dimension of
    the value isn't shown.

    For a view of what is in a box at PUSHES: `viewed` is that box, and `view(tangent)` the same
    view of its tangent.
    """
    cdef TensorBase x = new_tensor()
    fill(x, level, value, tangent, viewed, view)
    return x


def fill_box(TensorBase x not None, Level level not None, TensorBase value not None,
             TensorBase tangent=None, Box viewed=None, view=None):
    """Make an existing tensor a box, or give it another value; the arguments are those of
    `box`.
    """
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
    """What a box stands for in the end, with all batches: for a check that every example must
    pass.
    """
    while isinstance(x, TensorBase) and (<TensorBase>x).keys & BOXED:
        x = (<Box>(<TensorBase>x).box).value
    return x


def is_differentiated(TensorBase x not None):
    """May a derivative by x be wanted? For functions that have a cheaper way without: it
    requires grad, or is in a box.
    """
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
