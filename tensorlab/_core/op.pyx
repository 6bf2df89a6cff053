"""Ops: how one is declared, and how a call of one is recorded.

An op is a record: schema, dtype rule, inner loops, derivatives. Its node (OpNode) keeps what the derivatives of that
call need.

Derivatives. A formula names what it needs, and exactly that is saved:

    @MUL.derivative("x")
    def mul_derivative_x(grad, y): ...      saves y, and only if x needs a gradient

    grad         the gradient of the result (`grads`: a list, for an op with several results)
    out          the result, saved (for an op with one result)
    y            argument y, saved
    x_shape      shape of x, and x_dtype its type: known without saving x. Only for the formula's own parameter.

It may return the broadcast shape and the promoted type: the engine sums and casts a gradient to the form of the
input it belongs to (engine.fit). It is written in tensor operations, so that it can be differentiated again; with
`grad * y`, or in the most frequent ops with `run_binary(MUL, grad, y)`, which saves 40 ns.

Adding an op touches three places: its block in a file under ops/ (copy the one of `tanh`), a line in _tensor.py for the method
and in __init__.py for the function, and its entry in tests/ops/samples_*.py.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdlib cimport calloc

from tensorlab._core.dtypes cimport (
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    dtype_object,
    is_floating,
)
from tensorlab._core.graph cimport (
    GraphTask,
    Meta,
    Node,
    already_released,
    as_view,
    bump_version,
    gradient_edge,
    is_wanted,
    needs_grad,
    set_edges,
    set_history,
    set_metas,
    stamp,
    write_meta,
)
from tensorlab._core.inplace cimport check_inplace, rebase_history
from tensorlab._core.modes cimport thread_state
from tensorlab._core.no_instances cimport forbid_new
from tensorlab._core.operands cimport refuse_self_overlap
from tensorlab._core.overrides cimport be_quiet, somebody_listens
from tensorlab._core.saved cimport (
    SavedTensor,
    check_saved_tensor,
    free_saved,
    save_tensor,
    save_value,
    saved_again,
    saved_version,
    unpack_value,
)
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase, make_size

from tensorlab.errors import GradientError

cdef extern from *:
    """
    #define tl_items(t) (((PyTupleObject*)(t))->ob_item)
    """
    PyObject** items_of "tl_items"(tuple)       # borrowed

cdef enum:
    SAVES_OUTPUT = 1 << 31
    # what a formula takes: the position of an argument, or
    GRAD = -1
    OUT = -2
    SHAPE = -3
    DTYPE = -4
    GRADS = -5

REGISTRY = {}                   # name: Op
PUBLIC_NAMES = {"x": "self", "y": "other"}      # what PyTorch calls the operands that we call x and y


# ---------------------------------------------------------------- declaring an op
cdef class Op:
    """The declaration of an operation: schema, dtype rule, loops, derivatives.

    Parameters
    ----------
    schema : str, such as "mul(x: Tensor, y: Tensor) -> Tensor"
    dtype : "promote", "floating" or "compare", for pointwise ops only
    node : str, PyTorch's name of the backward node; "MulBackward0" unless given
    grain : int, elements that make a thread worth starting; smaller for a costlier loop
    wraps_numbers : bool, whether a number stands for a 0-d tensor (as in x * 2) or is a mere setting (as in clamp(x, 0, 1)):
        PyTorch's layout of results and its freeing of saved values depend on it. True for ops of two operands unless given
    """

    def __init__(self, str schema, *, str dtype=None, str node=None, Py_ssize_t grain=32768, wraps_numbers=None):
        name, _, rest = schema.partition("(")
        if name in REGISTRY:
            raise ValueError(f"Op: {name} is declared twice")
        self.name = name
        self.schema = schema
        self.params = tuple(param.split(":")[0].split("=")[0].strip()
                            for param in rest.partition(") ->")[0].split(", ") if param.strip() not in ("*", ""))
        self.node_name = node or name.replace("_", " ").title().replace(" ", "") + "Backward0"
        self.is_pointwise = dtype is not None
        self.wraps_numbers = len(self.params) == 2 and self.is_pointwise if wraps_numbers is None else wraps_numbers
        self.dtype_rule = ("promote", "floating", "compare").index(dtype or "promote")     # as the enum counts them
        self.grain = grain
        self.derivatives = {}
        self.formulas = []
        self.takes = []
        REGISTRY[name] = self

    def derivative(self, str param, *, bint is_list=False):
        """Declare the formula of the gradient with respect to `param`; see the top of this file.

        With `is_list` the parameter is a sequence of tensors, the op's only differentiable one, and the formula
        returns a list.
        """
        def declare(formula):
            cdef unsigned int saves = 0
            cdef list takes = []
            cdef int position = self.params.index(param), code
            for name in formula.__code__.co_varnames[:formula.__code__.co_argcount]:
                if name in ("grad", "grads"):
                    code = GRAD if name == "grad" else GRADS
                elif name.rstrip("_") in self.params:           # grad_: an argument of the op that is called grad
                    code = self.params.index(name.rstrip("_"))
                    if code >= MAX_SAVED and self.params[code] + ": Tensor" in self.schema:
                        raise ValueError(f"Op {self.name}: {name!r} must be one of the first {MAX_SAVED} arguments")
                    saves |= <unsigned int>1 << code
                elif name == "out":
                    code = OUT
                    saves |= <unsigned int>SAVES_OUTPUT
                elif name == param + "_shape":
                    code = SHAPE
                    self.wants_shape |= <unsigned int>1 << self.derivative_count
                elif name == param + "_dtype":
                    code = DTYPE
                else:
                    raise ValueError(f"Op {self.name}: the derivative by {param} asks for {name!r}, which is unknown")
                takes.append(code)
            if self.derivative_count == MAX_INPUTS:
                raise ValueError(f"Op {self.name}: more than {MAX_INPUTS} derivatives")
            self.shared |= saves & self.saved_once
            self.saved_once |= saves
            self.positions[self.derivative_count] = position
            self.saves[self.derivative_count] = saves
            self.formulas.append(formula)
            self.takes.append(tuple(takes))
            self.derivative_count += 1
            self.takes_list = is_list
            self.derivatives[param] = formula
            return formula
        return declare

    def __repr__(self):
        return f"<Op {self.schema}>"


cdef void floating_loops(Op op, void* float32, void* float64) noexcept:
    op.loops[FLOAT32] = float32
    op.loops[FLOAT64] = float64


cdef void integer_loops(Op op, void* uint8, void* int8, void* int16, void* int32, void* int64) noexcept:
    op.loops[UINT8] = uint8
    op.loops[INT8] = int8
    op.loops[INT16] = int16
    op.loops[INT32] = int32
    op.loops[INT64] = int64


# ---------------------------------------------------------------- nodes of ops
@cython.final
cdef class OpNode(Node):
    """The node of an op of ours: its derivatives, and what they saved."""

    cdef tuple apply(self, object grad, GraphTask task):
        cdef Op op = self.op
        cdef tuple edges = self.edges
        cdef Py_ssize_t j, n = PyTuple_GET_SIZE(edges)
        cdef tuple out
        cdef object one
        if somebody_listens():              # a formula's calls are not the user's: nobody hears of them
            be_quiet(1)
            try:
                return self.apply(grad, task)
            finally:
                be_quiet(-1)
        if grad is None:
            return (None,) * n
        self.check_saved()
        if op.takes_list:
            return tuple(list(self.call_formula(0, grad)))
        out = PyTuple_New(n)
        for j in range(n):
            one = None
            if is_wanted(task, <object>PyTuple_GET_ITEM(edges, j)):
                one = self.call_formula(j, grad)
            Py_INCREF(one)
            PyTuple_SET_ITEM(out, j, one)
        return out

    cdef int save_arguments(self, unsigned int mask, PyObject** arguments, int n) except -1:
        """Keep the arguments in `mask`; of a tensor also its version."""
        cdef tuple saved = PyTuple_New(n)
        cdef object value
        cdef bint packs = thread_state().packing != NULL
        cdef int j
        for j in range(n):
            value = None
            if mask >> j & 1:
                value = <object>arguments[j]
                if isinstance(value, TensorBase) and not packs:
                    self.versions[j] = saved_version(<TensorBase>value)
                    self.saved_tensors |= <unsigned int>1 << j
                    if (<TensorBase>value).node is not None:
                        self.computed_tensors |= <unsigned int>1 << j
                else:
                    value = save_value(value)
            Py_INCREF(value)
            PyTuple_SET_ITEM(saved, j, value)
        self.saved = saved
        return 0

    cdef int check_saved(self) except -1:
        """Raise if something saved is gone or was changed, even if no formula will ask for it in this pass."""
        cdef unsigned int tensors = self.saved_tensors
        cdef int j = 0
        if self.is_released:
            raise already_released(self.op.node_name)
        while tensors:
            if tensors & 1:
                self.check_argument(j)
            tensors >>= 1
            j += 1
        if self.saved_output is not None:
            self.saved_output.check(self)
        return 0

    cdef int check_argument(self, int j) except -1:
        """Raise if argument j, a tensor that is kept bare, was changed."""
        return check_saved_tensor(<TensorBase>PyTuple_GET_ITEM(<tuple>self.saved, j), self.versions[j],
                                  self.computed_tensors >> j & 1, False, self)

    cdef object call_formula(self, Py_ssize_t j, object grad):
        cdef tuple takes = <tuple>self.op.takes[j]
        cdef object formula = self.op.formulas[j]
        cdef Py_ssize_t n = PyTuple_GET_SIZE(takes)
        if n == 1:                          # written out: a list of arguments would cost more than the formula's call
            return formula(self.get(takes[0], j, grad))
        if n == 2:
            return formula(self.get(takes[0], j, grad), self.get(takes[1], j, grad))
        if n == 3:
            return formula(self.get(takes[0], j, grad), self.get(takes[1], j, grad), self.get(takes[2], j, grad))
        return formula(*[self.get(takes[i], j, grad) for i in range(n)])

    cdef object get(self, int code, Py_ssize_t j, object grad):
        """What formula j asks for with this code."""
        if code == GRAD:
            return grad
        if code == GRADS:
            return grad if self.output_count != 1 else [grad]
        if code == SHAPE:
            if self.shapes is not None and j in self.shapes:
                return self.shapes[j]
            return make_size(self.input_meta(j).ndim, self.input_meta(j).sizes)
        if code == DTYPE:
            return dtype_object(self.input_meta(j).dtype)
        if self.is_released:                # by a pass in another thread, since check_saved looked
            raise already_released(self.op.node_name)
        if code == OUT:
            return self.saved_output.restore(self)
        if self.saved_tensors >> code & 1:
            return <object>PyTuple_GET_ITEM(<tuple>self.saved, code)        # check_saved has looked at it
        return unpack_value(<object>PyTuple_GET_ITEM(<tuple>self.saved, code), self)

    cdef Meta* input_meta(self, Py_ssize_t j):
        cdef Node node = <Node>self.edges[j]
        return &node.metas[self.edge_outputs[j] if self.edge_outputs != NULL else 0]

    cdef int release_saved(self) except -1:
        # plain values stay, so that an op without saved tensors can run backward again; but a number that stands for
        # a 0-d tensor is gone as one would be
        if self.saved is not None and (free_saved(self.saved) or self.saved_tensors or self.op.wraps_numbers):
            self.saved = None
            self.is_released = True
        if self.saved_output is not None:
            self.saved_output.free()
            self.saved_output = None
            self.is_released = True
        return 0

    cdef str label(self):
        return self.op.node_name

    # ------------------------------------------------------------ what was saved, as users see it
    def __getattr__(self, str name):
        """`_saved_other` is argument `other` as backward will get it; `_raw_saved_other` is what is kept of it."""
        cdef bint is_raw = name.startswith("_raw_saved_")
        cdef dict names = saved_names(self.op) if name.startswith(("_saved_", "_raw_saved_")) else {}
        cdef object code = names.get(name.partition("saved_")[2])
        if code is None:
            raise AttributeError(f"{self.label()} has no attribute {name!r}")
        if self.is_released:
            raise already_released(self.op.node_name)
        if is_raw:
            return self.raw_saved(code)
        if not self.holds(code):
            return None
        if code != OUT and self.saved_tensors >> <int>code & 1:
            self.check_argument(code)
        return self.get(code, 0, None)

    def __dir__(self):
        cdef list found = [*object.__dir__(self)]
        for name, code in saved_names(self.op).items():
            found.append("_saved_" + name)
            if self.holds(code) and isinstance(self.raw_saved(code), SavedTensor):
                found.append("_raw_saved_" + name)
        return sorted(found)

    cdef bint holds(self, int code):
        """Is this argument, or the result, among what was saved, and still there?"""
        if self.is_released:
            return False
        return self.saved_output is not None if code == OUT else self.saved is not None and (<tuple>self.saved)[code] is not None

    cdef object raw_saved(self, int code):
        """The SavedTensor of an argument (made now, if the node kept the tensor bare) or of the result; None if not saved."""
        cdef list saved
        if not self.holds(code):
            return None
        if code == OUT:
            return self.saved_output
        saved = list(<tuple>self.saved)
        if self.saved_tensors >> code & 1:
            saved[code] = saved_again(<TensorBase>saved[code], self.versions[code], self.computed_tensors >> code & 1)
            self.saved = tuple(saved)
            self.saved_tensors &= ~(<unsigned int>1 << code)
        return saved[code]


cdef dict saved_names(Op op):
    """What the formulas of an op may save: PyTorch's name of it, and its position among the arguments, or OUT."""
    cdef dict names = {}
    for j, name in enumerate(op.params):
        if op.saved_once >> <int>j & 1:
            names[PUBLIC_NAMES.get(name, name)] = j
    if op.saved_once & SAVES_OUTPUT:
        names["result"] = OUT
    return names


cdef OpNode start_record(Op op, PyObject** arguments, int n):
    """The node of a call, with its edges and saved arguments; None if no gradient is wanted.

    An in-place call does this before it writes; the others may do it together with `finish_record`, afterwards.
    """
    cdef OpNode node = None
    cdef tuple edges = None
    cdef unsigned int mask = 0
    cdef int j
    cdef object edge
    cdef TensorBase x
    if op.derivative_count == 0 or not thread_state().grad_enabled:
        return None
    if op.takes_list:
        return start_list_record(op, arguments, n)
    for j in range(op.derivative_count):
        if not isinstance(<object>arguments[op.positions[j]], TensorBase):
            continue
        x = <TensorBase>arguments[op.positions[j]]
        if not needs_grad(x):
            continue
        if node is None:
            node = OpNode.__new__(OpNode)
            edges = empty_edges(op.derivative_count)
        edge = gradient_edge(x)
        # a view made under no_grad requires grad but leads nowhere; what only its formula needs is not saved
        mask |= op.saves[j] if edge is not None or op.derivative_count == 1 else op.saves[j] & op.shared
        if x.output_number != 0:
            if node.edge_outputs == NULL:
                node.edge_outputs = <int*>calloc(op.derivative_count, sizeof(int))
                if node.edge_outputs == NULL:
                    raise MemoryError()
            node.edge_outputs[j] = x.output_number
        if edge is not None and op.wants_shape >> j & 1 and not has_shape(x, &(<Node>edge).metas[x.output_number]):
            if node.shapes is None:
                node.shapes = {}
            node.shapes[j] = make_size(x.ndim_, x.sizes)
        Py_INCREF(edge)
        PyTuple_SET_ITEM(edges, j, edge)
        Py_DECREF(None)                         # which was there; the macro does not count it down
    if node is None:
        return None
    node.op = op
    node.edges = edges
    if mask & ~<unsigned int>SAVES_OUTPUT:
        node.save_arguments(mask, arguments, n)
    node.wants_output = (mask & SAVES_OUTPUT) != 0
    stamp(node)
    return node


cdef bint has_shape(TensorBase x, const Meta* meta) noexcept:
    """Has x the shape that its node knows? Not if that was changed in place under no_grad."""
    cdef int i
    if x.ndim_ != meta.ndim:
        return False
    for i in range(x.ndim_):
        if x.sizes[i] != meta.sizes[i]:
            return False
    return True


cdef tuple empty_edges(int n):
    """A tuple of n times None, to be filled."""
    cdef tuple edges = PyTuple_New(n)
    cdef int j
    for j in range(n):
        Py_INCREF(None)
        PyTuple_SET_ITEM(edges, j, None)
    return edges


cdef OpNode start_list_record(Op op, PyObject** arguments, int n):
    """The same for an op whose differentiable parameter is a sequence of tensors."""
    cdef OpNode node
    cdef object tensors = <object>arguments[op.positions[0]]
    cdef int i
    for value in tensors:
        if needs_grad(<TensorBase>value):
            break
    else:
        return None
    node = OpNode.__new__(OpNode)
    node.op = op
    set_edges(node, tensors)
    node.saved = tuple([save_value(<object>arguments[i]) if op.saves[0] >> i & 1 else None for i in range(n)])
    stamp(node)
    return node


cdef int finish_record(OpNode node, object outputs) except -1:
    """Make `outputs`, one tensor or a sequence, the results of the node."""
    cdef int i = 0
    cdef TensorBase out
    if isinstance(outputs, TensorBase):
        out = <TensorBase>outputs
        if not is_floating(out.dtype_):
            return refuse_integers(node)
        write_meta(&node.first_meta, out)
        set_history(out, node, 0)
        if node.wants_output:
            node.saved_output = save_tensor(out, True)
        return 0
    set_metas(node, outputs)
    if node.output_count > 0 and not is_floating((<TensorBase>outputs[0]).dtype_):
        return refuse_integers(node)
    for one in outputs:
        if is_floating((<TensorBase>one).dtype_):
            set_history(<TensorBase>one, node, i)
        i += 1
    return 0


cdef int refuse_integers(OpNode node) except -1:
    """A result of integers can have no history; but something that requires grad went in, and its history would be lost."""
    raise GradientError(f"{node.op.name}: an operand requires grad, but the result is of integers, which have no gradient (a "
                        f"tensor that requires grad was written into integers); detach the operand first")


cdef object finish(Op op, object outputs, tuple arguments):
    """Record a call that made new results, and return them."""
    cdef OpNode node
    if op.derivative_count > 0 and thread_state().grad_enabled:
        node = start_record(op, items_of(arguments), <int>PyTuple_GET_SIZE(arguments))
        if node is not None:
            finish_record(node, outputs)
    return outputs


cdef object run_view(Op op, TensorBase x, TensorBase out, tuple arguments, int creation=VIEW_DEFAULT):
    """Make `out`, an alias of x, a differentiable view of it, and record the call unless `arguments` is None."""
    as_view(x, out, creation)
    return finish(op, out, arguments) if arguments is not None else out


# ---------------------------------------------------------------- in place: check, save, write, bump, rebase
cdef OpNode start_inplace(Op op, TensorBase x, tuple arguments):
    """Before the write: raise if it must not be, and save what the derivatives need. `arguments[0]` is x."""
    cdef OpNode node
    cdef bint wanted = False
    cdef int j
    refuse_self_overlap(x, op.name + "_")
    if thread_state().grad_enabled:
        for j in range(op.derivative_count):
            if isinstance(<object>PyTuple_GET_ITEM(arguments, op.positions[j]), TensorBase):
                wanted = wanted or needs_grad(<TensorBase>PyTuple_GET_ITEM(arguments, op.positions[j]))
    check_inplace(x, wanted, op.name + "_")
    if not wanted:
        return None
    node = start_record(op, items_of(arguments), <int>PyTuple_GET_SIZE(arguments))
    if node.saved_tensors & 1:
        # x itself is about to change: keep a copy. It is recorded, so that double backward reaches the old x
        copied = <TensorBase?>x.clone()         # a subclass's own clone may return anything
        node.saved = (copied,) + (<tuple>node.saved)[1:]
        node.versions[0] = saved_version(copied)
        if (<TensorBase>copied).node is None:
            node.computed_tensors &= ~<unsigned int>1
        else:
            node.computed_tensors |= 1
    return node


cdef object finish_inplace(OpNode node, TensorBase x):
    """After the write."""
    bump_version(x)
    if node is not None:
        write_meta(&node.first_meta, x)
        rebase_history(x, node)
        if node.wants_output:
            node.saved_output = save_tensor(x, True)
            if x.base is not None:
                node.saved_output.slices = PyWeakref_NewRef(x.base.node, None)
    return x


forbid_new(OpNode)
