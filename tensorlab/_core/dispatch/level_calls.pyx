"""What levels do with a call: one that records, one that pushes tangents, one that batches.

levels.pyx says what a level and a box are. Here a call finds its level (`level_of_call`), and
the level makes others of it (`run_level`): with the values of its boxes, for the levels around
it.
"""
from cpython.object cimport PyObject

from tensorlab._core.dispatch.levels cimport (
    BATCHES, PUSHES, RECORDS, REPLACES, Box, Level, box_at, boxed, innermost, show_layout,
    show_levels, tangent_of
)
from tensorlab._core.dispatch.op cimport (
    DTYPE, GRAD, MAX_ARGUMENTS, OUT, REAL, SHAPE, Op, run_function
)
from tensorlab._core.dispatch.operands cimport promoted_dtype
from tensorlab._core.dtypes cimport BOOL, COMPLEX, dtype_object, is_in
from tensorlab._core.graph.graph cimport needs_grad
from tensorlab._core.state.modes cimport set_grad_mode, thread_state
from tensorlab._core.tensor cimport BOXED, TensorBase

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab.errors import GradientError

cdef run_function entry = NULL              # dispatch.run
cdef run_function record = NULL             # dispatch.run_recorded

cdef int set_entries(run_function entry_, run_function recorded) except -1:
    """Take the two functions of dispatch.pyx, which knows this module."""
    global entry, record
    entry, record = entry_, recorded
    return 0


# ---------------------------------------------------------------- who handles a call
cdef Level level_of_call(Op op, PyObject** arguments, int n):
    """The level that a call goes to, or None: the highest level among its operands, if it has
    ended or none lies above.

    What a function computes inside of grad or jvp is in boxes of that level even if no operand
    is. So it's told from tensors that come from outside, which must not be written to.
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
            if level is None or (level.is_alive and (
                    not other.is_alive or other.number > level.number)):
                return other
    elif isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, TensorBase):
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
            raise RuntimeError(
                f"{op.name}: an operand was made inside of {level.transform}, which has ended: a "
                f"tensor of one example must not leave the function, as by a list from outside. "
                f"Return it instead")
        return run_with_values(level, op, arguments, n)
    if (op.writes and box_at(<object>arguments[0], level) is None and not level.allows_capture
            and not (op.draws and level.kind == BATCHES         # numbers that all share
                     and level.randomness != "different")):
        if level.kind == BATCHES or (op.functional is not None
                                     and op.functional.derivative_count > 0
                                     and has_derivative(level, arguments, n)):
            refuse_captured(level, op)
        if level.kind != REPLACES:
            # constants, or the averages of a batch norm
            return run_with_values(level, op, arguments, n)
    if level.kind == RECORDS:
        return run_recording(level, op, arguments, n)
    if level.is_paused or (level.kind == PUSHES and thread_state().inference):
        return run_with_values(level, op, arguments, n)
    if level.allows_capture and thread_state().grad_enabled and needs_any_grad(arguments, n):
        # backward is to see the tangents, too; the call goes on in `run_inside`
        return record(op, arguments, n)
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
    """Let a level that pushes or batches handle a call. What it calls is for the levels around
    it.
    """
    cdef Level was_innermost = innermost()
    show_levels(level.outer)
    try:
        if (level.kind == PUSHES and not op.writes and not op.is_view
                and not has_derivative(level, arguments, n)):
            values = [values_of(<object>arguments[i], level) for i in range(n)]
            return boxes_of(level, call(op, values))
        if level.kind == PUSHES and is_elementwise(level, op, arguments, n):
            return push_elementwise(level, op, arguments, n)
        if (level.kind == BATCHES and not op.draws
                and (op if op.functional is None else op.functional).is_pointwise):
            return batch_pointwise(level, op, arguments, n)
        return level.run(level, op, tuple([<object>arguments[i] for i in range(n)]))
    finally:
        show_levels(was_innermost)


cdef bint has_derivative(Level level, PyObject** arguments, int n):
    """Has an operand in a box of this level, or one in a list, a history there, or a tangent?
    """
    cdef int i
    for i in range(n):
        if is_followed(level, <object>arguments[i]):
            return True
    return False


cdef bint is_followed(Level level, object value):
    cdef Box box
    if isinstance(value, TensorBase):
        box = box_at(value, level)
        if level.kind == RECORDS:
            return box is not None and needs_grad(<TensorBase>value)
        return box is not None and tangent_of(box) is not None
    if isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, TensorBase) and is_followed(level, item):
                return True
    return False


cdef int refuse_captured(Level level, Op op) except -1:
    if level.kind == BATCHES:
        raise RuntimeError(
            f"vmap: {op.name}(self, *extra_args) is not possible, because self is the same for all "
            f"examples, and another operand differs from example to example: the result would not "
            f"fit. Make self inside of the function from what is mapped over, as x.new_zeros(...) "
            f"does, or write {op.name.rstrip('_')} instead")
    raise RuntimeError(f"{level.transform}: the function calls the in-place operation {op.name}, "
                       f"which would mutate a captured Tensor, one that is no argument of it. This "
                       f"is not supported; rewrite the function to use an operation "
                       f"that returns a new tensor, or pass that Tensor in as an argument")


# ---------------------------------------------------------------- values in, boxes out
cdef bint holds_tensor(object value):
    """Is it a list, or a tuple, with a tensor?"""
    if isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, TensorBase):
                return True
    return False


cdef object values_of(object value, Level level):
    """An argument without the boxes of a level."""
    cdef Box box
    if isinstance(value, TensorBase):
        box = box_at(value, level)
        return value if box is None else box.value
    if holds_tensor(value):
        return type(value)([values_of(one, level) if isinstance(one, TensorBase) else one
                            for one in value])
    return value


cdef object answers_of(object value, Level level):
    """Is an argument a box of a level? For a list with tensors, a tuple of answers."""
    if isinstance(value, TensorBase):
        return box_at(value, level) is not None
    if holds_tensor(value):
        return tuple([isinstance(one, TensorBase) and box_at(one, level) is not None
                      for one in value])
    return False


def opened(Level level not None, arguments):
    """(values, answers) of the arguments of a call: without the boxes of a level, and which
    ones were boxes.
    """
    values = [values_of(one, level) for one in arguments]
    return values, tuple([answers_of(one, level) for one in arguments])


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
    """Let autograd record the call among the boxes of a level. The history that other operands
    have isn't this level's.
    """
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
                always or x.keys & BOXED or x.wants_grad or x.node is not None
                or x.base is not None):
            return boxed(level, x, None)
    elif holds_tensor(value):
        return type(value)([seal(level, one, always) if isinstance(one, TensorBase) else one
                            for one in value])
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
        share_counter(op, <TensorBase>arguments[0], out)
    return out


cdef int share_counter(Op op, TensorBase x, object out) except -1:
    """Let views that a layer put together count writes together with what they're views of: then
    each is told of writes to the others.
    """
    if out is x:
        raise GradientError(
            f"{op.name}: the result shows the memory of the argument, so it must be another "
            f"tensor, and __torch_dispatch__ returned the argument itself; return "
            f"args[0].detach(), say")
    if isinstance(out, TensorBase):
        (<TensorBase>out).counter = x.counter
    elif isinstance(out, (tuple, list)):
        for one in out:
            share_counter(op, x, one)
    return 0


cdef object run_with_level(Level level, Op op, list values):
    """A call with values for a level that records: the thread is as it was when the transform
    began.
    """
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
    """Of a pointwise op: the batch is one more dimension on the left, so shorter operands get
    dimensions behind it.
    """
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
    if has_numbers:     # with a dimension they would take part in type promotion in another way
        promote_numbers(arguments, n, values, promoted_dtype(arguments, n, op.name), op.writes)
    out = call(op, values)
    if op.writes:
        show_again(level, <object>arguments[0])
        return <object>arguments[0]
    return boxes_of(level, out)


cdef int promote_numbers(PyObject** arguments, int n, list values, int dtype,
                         bint keeps_first) except -1:
    """Give 0-d operands the type of the result, as a loop over examples would: all but bools,
    which never decide it.
    """
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
    """Do the formulas of an op's derivatives, which multiply a gradient with the derivative of
    each element, multiply a tangent just as well? They do of pointwise ops, but for functions
    of complex numbers that aren't holomorphic.
    """
    cdef int i
    if (not op.is_pointwise or op.writes or op.is_joint or op.draws
            or level.rules[op] is not None):
        return False
    if op.is_holomorphic and op.dtype_rule != REAL:
        return True
    for i in range(n):
        if (isinstance(<object>arguments[i], TensorBase)
                and is_in((<TensorBase>arguments[i]).dtype_, COMPLEX)):
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
    raise GradientError(f"a formula of a pointwise op asks for the layout of its operand "
                        f"(code {code})")
