"""Recording: what a call of an op writes down, so that backward can run through it.

An OpNode holds the op, the edges to the nodes of the inputs, and the arguments that the wanted formulas ask for. A call that
makes something new is recorded afterwards (`begin_record`, `end_record`); one that writes in place needs its old arguments, so
its node is started before the write (`begin_record_inplace`) and joined to the history after it (`end_record_inplace`).
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.sequence cimport PySequence_Fast_ITEMS
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from cpython.weakref cimport PyWeakref_NewRef

from tensorlab._core.dispatch.layers cimport show_recorders
from tensorlab._core.dispatch.op cimport (
    DTYPE, GRAD, GRADS, OUT, ROW_MAJOR, SAVES_OUTPUT, SHAPE, STORAGE_OFFSET, STRIDE, TRANSPOSED,
    WANTED, Op
)
from tensorlab._core.dispatch.operands cimport refuse_internal_overlap
from tensorlab._core.dtypes cimport COMPLEX, dtype_object, is_differentiable, is_in
from tensorlab._core.graph.accumulate_grad cimport gradient_edge, set_edge_output, set_edges
from tensorlab._core.graph.graph cimport (
    GraphTask, InputMetadata, Node, already_released, bump_version, has_shape_of, is_wanted,
    needs_grad, set_history, set_input_metadata, set_sequence_number, write_metadata
)
from tensorlab._core.graph.inplace cimport check_inplace, rebase_history
from tensorlab._core.graph.saved cimport (
    SavedTensor, check_saved_tensor, free_saved, save_tensor, save_value, saved_again,
    saved_version, unpack_value
)
from tensorlab._core.no_instances cimport forbid_new
from tensorlab._core.state.modes cimport set_overrides_disabled, thread_state
from tensorlab._core.tensor cimport TensorBase, make_size, offset_of

from tensorlab.errors import GradientError


# ---------------------------------------------------------------- complex numbers
# A formula is written as for real numbers: it multiplies the gradient with the transposed Jacobian, J^T g. The gradient of a
# real loss with respect to a complex x is defined so that a step against it goes down, which takes the conjugate transpose,
# J^H g (Wirtinger calculus: Kreutz-Delgado, "The Complex Gradient Operator and the CR-Calculus", arXiv:0906.4835). If the op is
# holomorphic, which almost all are, J^H g = conj(J^T conj(g)): so one pair of conjugates around a formula serves all of
# them, and none is written twice. Ops that aren't, such as abs, say so (`holomorphic=False`), and have formulas of their own.
cdef object conjugates(object grads):
    """The conjugate of a gradient, or of each in a sequence."""
    if isinstance(grads, TensorBase):
        return grads.conj_physical()
    if grads is None:
        return None
    return type(grads)([conjugates(one) for one in grads])


# ---------------------------------------------------------------- nodes of ops
@cython.final
@cython.binding(False)
cdef class OpNode(Node):
    """The node of an op of ours: its derivatives, and what they saved."""

    cdef tuple apply(self, object grad, GraphTask task):
        if (is_in(self.input_metadata.dtype, COMPLEX) and self.op.is_holomorphic
                and self.reads_values()):
            return conjugates(self.apply_formulas(conjugates(grad), task))
        return self.apply_formulas(grad, task)

    cdef bint reads_values(self) except -1:
        """Do the formulas use values of the forward pass, tensors or numbers?"""
        return self.saved is not None or self.wants_output

    cdef tuple apply_formulas(self, object grad, GraphTask task):
        cdef Op op = self.op
        cdef tuple edges = self.edges
        cdef Py_ssize_t j, n = PyTuple_GET_SIZE(edges)
        cdef tuple out
        cdef object one
        self.check_saved()
        if grad is None:
            return (None,) * n
        if op.takes_list:
            return tuple(list(self.call_formula(0, grad)))
        if op.is_joint:
            return self.apply_joint(grad, task)
        out = PyTuple_New(n)
        for j in range(n):
            one = None
            if is_wanted(task, <object>PyTuple_GET_ITEM(edges, j)):
                one = self.call_formula(j, grad)
                if thread_state().grad_enabled and "zero_curvature" in op.facets:
                    one = with_zero_curvature(one, self, j)
            Py_INCREF(one)
            PyTuple_SET_ITEM(out, j, one)
        return out

    cdef tuple apply_joint(self, object grad, GraphTask task):
        """The gradients that one formula makes of all inputs; it is told which are needed."""
        cdef tuple wanted = tuple([is_wanted(task, edge) for edge in <tuple>self.edges])
        if True not in wanted:
            return (None,) * len(wanted)
        takes = [wanted if code == WANTED else self.get(code, 0, grad) for code in <tuple>self.op.takes[0]]
        return tuple(self.op.formulas[0](*takes))

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
            raise already_released(self.label())
        while tensors:
            if tensors & 1:
                self.check_argument(j)
            tensors >>= 1
            j += 1
        if self.saved_output is not None:
            self.saved_output.check(self)
        elif self.wants_output:
            raise GradientError(f"backward: the result of {self.label()} has not been saved yet; the pack function that is given "
                                f"it must not run backward through it")
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
        cdef SavedTensor output
        cdef object value
        if code == GRAD:
            return grad
        if code == GRADS:
            return grad if self.output_count != 1 else [grad]
        if code == SHAPE:
            if self.op.takes_list:
                return self.layout
            if self.shapes is not None and j in self.shapes:
                return self.shapes[j]
            return make_size(self.metadata_of_input(j).ndim, self.metadata_of_input(j).sizes)
        if code == DTYPE:
            return dtype_object(self.metadata_of_input(j).dtype)
        if code == TRANSPOSED or code == ROW_MAJOR:
            return (self.has_order >> j & 1) != 0
        if code == STRIDE or code == STORAGE_OFFSET:
            return self.layout[code == STORAGE_OFFSET]
        # a backward pass in another thread, or one that an unpack function runs, may have freed
        # it since check_saved looked
        if self.is_released:
            raise already_released(self.label())
        if code == OUT:
            output = self.saved_output
            return output.restore(self)
        value = <object>PyTuple_GET_ITEM(<tuple>self.saved, code)   # ours if a pass frees it
        if self.saved_tensors >> code & 1:          # check_saved has compared its version
            return value
        return unpack_value(value, self)

    cdef InputMetadata* metadata_of_input(self, Py_ssize_t j):
        cdef Node node = <Node>self.edges[j]
        return &node.input_metadata[self.edge_outputs[j] if self.edge_outputs != NULL else 0]

    cdef int release_saved(self) except -1:
        # plain values stay, so that an op without saved tensors can run backward again; but a
        # number that stands for a 0-d tensor is freed as the tensor would be
        if self.saved is not None and (
                free_saved(self.saved) or self.saved_tensors or self.op.wraps_numbers):
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
        if name.startswith("_saved_") and name[7:] in self.op.constants:
            return self.op.constants[name[7:]]
        if code is None:
            raise AttributeError(f"{self.label()} has no attribute {name!r}")
        if self.is_released:
            raise already_released(self.label())
        if is_raw:
            return self.raw_saved(code)
        if not self.holds(code):
            return None
        if code != OUT and self.saved_tensors >> <int>code & 1:
            self.check_argument(code)
        return self.get(code, 0, None)

    def __dir__(self):
        cdef list found = [*object.__dir__(self), *["_saved_" + name for name in self.op.constants]]
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


@cython.final
cdef class ZeroCurvature(Node):
    """The node of a gradient that doesn't depend on the op's input: backward gives that input zeros.

    Without it, the gradient of a pooled image would have no history, and a penalty on it (`create_graph=True`) couldn't call
    backward, as it can if any other layer comes before.
    """

    cdef tuple apply(self, object grad, GraphTask task):
        cdef InputMetadata* metadata
        cdef Node node = <Node>self.edges[1]
        if grad is None or not is_wanted(task, node):
            return grad, None
        metadata = &node.input_metadata[self.edge_outputs[1] if self.edge_outputs != NULL else 0]
        return grad, grad.new_zeros(make_size(metadata.ndim, metadata.sizes))

    cdef str label(self):
        return "ZeroCurvatureBackward0"


cdef object with_zero_curvature(object gradient, OpNode source, Py_ssize_t j):
    """A gradient that formula j has made, which now leads to the op's input as well."""
    cdef TensorBase out
    cdef Node node
    if not isinstance(gradient, TensorBase):
        return gradient
    out = <TensorBase>gradient
    node = ZeroCurvature.__new__(ZeroCurvature)
    node.edges = (gradient_edge(out), source.edges[j])
    if out.output_number != 0:
        set_edge_output(node, 0, 2, out.output_number)
    if source.edge_outputs != NULL and source.edge_outputs[j] != 0:
        set_edge_output(node, 1, 2, source.edge_outputs[j])
    set_sequence_number(node)
    write_metadata(&node.first_metadata, out)
    set_history(out, node, 0)
    return out


cdef dict saved_names(Op op):
    """What the formulas of an op may save: PyTorch's name of it, and its position among the arguments, or OUT."""
    cdef dict names = {}
    for j, name in enumerate(op.params):
        if op.saved_once >> <int>j & 1:
            names[op.public_names.get(name, name)] = j
    if op.saved_once & SAVES_OUTPUT:
        names["result"] = OUT
    return names


cdef OpNode begin_record(Op op, PyObject** arguments, int n):
    """The node of a call, with its edges and saved arguments; None if no gradient is wanted.

    An in-place call does this before it writes; the others may do it together with `end_record`, afterwards.
    """
    cdef OpNode node = None
    cdef tuple edges = None
    cdef unsigned int mask = 0
    cdef int j, count
    cdef object edge
    cdef TensorBase x
    if op.derivative_count == 0 or not thread_state().grad_enabled:
        return None
    if op.takes_list:
        return begin_list_record(op, arguments, n)
    count = edge_count(op, arguments)
    for j in range(count):
        if not isinstance(<object>arguments[op.positions[j]], TensorBase):
            continue
        x = <TensorBase>arguments[op.positions[j]]
        if not needs_grad(x):
            continue
        if node is None:
            node = OpNode.__new__(OpNode)
            edges = empty_edges(count)
        edge = gradient_edge(x)
        # a view made under no_grad requires grad, but leads nowhere: what only its formula
        # needs is not saved, unless this is the only edge. It is so in PyTorch, too, and a
        # program can tell, as only what was saved is checked for changes.
        mask |= op.saves[j] if edge is not None or count == 1 else op.saves[j] & op.shared
        if x.output_number != 0:
            set_edge_output(node, j, count, x.output_number)
        if op.wants_form >> j & 1:
            keep_form(node, op, j, x, edge)
        Py_INCREF(edge)
        PyTuple_SET_ITEM(edges, j, edge)
        Py_DECREF(None)                         # the item that the macro has overwritten
    if node is None:
        return None
    node.op = op
    node.edges = edges
    if mask & ~<unsigned int>SAVES_OUTPUT:
        node.save_arguments(mask, arguments, n)
    node.wants_output = (mask & SAVES_OUTPUT) != 0
    set_sequence_number(node)
    return node


cdef int keep_form(OpNode node, Op op, int j, TensorBase x, object edge) except -1:
    """Keep what derivative j will ask for of x, and x's node doesn't know.

    It knows another shape than x's if x was changed in place under no_grad.
    """
    if op.wants_shape >> j & 1 and edge is not None and not has_shape_of(
            x, &(<Node>edge).input_metadata[x.output_number]):
        if node.shapes is None:
            node.shapes = {}
        node.shapes[j] = make_size(x.ndim_, x.sizes)
    if (op.wants_transposed >> j & 1 and x.ndim_ == 2 and lies_in_order(x, 1, 0)
            or op.wants_row_major >> j & 1 and x.ndim_ == 2 and lies_in_order(x, 0, 1)):
        node.has_order |= <unsigned int>1 << j
    if op.wants_stride >> j & 1:
        node.layout = (x.stride(), offset_of(x))
    return 0


cdef bint lies_in_order(TensorBase x, int outer, int inner) noexcept:
    """Does a matrix lie in memory one index of dimension `outer` after the other, without gaps?"""
    return x.strides[inner] == 1 and x.strides[outer] == x.sizes[inner]


cdef int edge_count(Op op, PyObject** arguments) noexcept:
    """Edges of a call: one for each parameter with a derivative, without settings (numbers, with or without None) at the end.

    A number that stands for a 0-d tensor has an edge to nowhere, and so has a tensor that was left out (None).
    """
    cdef int count = op.derivative_count
    cdef bint is_setting = False
    if op.wraps_numbers or count < 2:
        return count
    while count > 1 and not isinstance(<object>arguments[op.positions[count - 1]], TensorBase):
        count -= 1
        is_setting = is_setting or <object>arguments[op.positions[count]] is not None
    return count if is_setting else op.derivative_count


cdef tuple empty_edges(int n):
    """A tuple of n times None, to be filled."""
    cdef tuple edges = PyTuple_New(n)
    cdef int j
    for j in range(n):
        Py_INCREF(None)
        PyTuple_SET_ITEM(edges, j, None)
    return edges


cdef OpNode begin_list_record(Op op, PyObject** arguments, int n):
    """Make the node of an op of a sequence of tensors; None if none of them needs a gradient."""
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
    if op.wants_shape:
        node.layout = tuple([shape_of(<TensorBase>one) for one in tensors])
    node.saved = tuple([save_value(<object>arguments[i]) if op.saves[0] >> i & 1 else None for i in range(n)])
    set_sequence_number(node)
    return node


cdef list shape_of(TensorBase x):
    return [x.sizes[d] for d in range(x.ndim_)]         # a Size would take three times as long


cdef int end_record(OpNode node, object outputs) except -1:
    """Make `outputs`, one tensor or a sequence, the results of the node."""
    cdef int i = 0
    cdef TensorBase out
    if isinstance(outputs, TensorBase):
        out = <TensorBase>outputs
        if not is_differentiable(out.dtype_):
            return refuse_integers(node)
        write_metadata(&node.first_metadata, out)
        set_history(out, node, 0)
        if node.wants_output:
            node.saved_output = save_tensor(out, True)
        return 0
    set_input_metadata(node, outputs)
    if node.output_count > 0 and not is_differentiable((<TensorBase>outputs[0]).dtype_):
        return refuse_integers(node)
    for one in outputs:
        if is_differentiable((<TensorBase>one).dtype_):
            set_history(<TensorBase>one, node, i)
        i += 1
    return 0


cdef int refuse_integers(OpNode node) except -1:
    """A result of integers can have no history; but something that requires grad went in, and its history would be lost."""
    raise GradientError(f"{node.op.name}: an operand requires grad, but the result is of integers, which have no gradient (a "
                        f"tensor that requires grad was written into integers); detach the operand first")


# ---------------------------------------------------------------- in place: check, save, write, bump, rebase
cdef dict flat_ops = {}             # op: what `flat_op` has made of it

def flat(grad):
    return grad.new_zeros(grad.shape)


cdef Op flat_op(Op op):
    """An op without derivatives, such as `eq`, as a call in place records it, so that x loses the history of what it was.

    Its results are no floating numbers; but written over a floating tensor they are, and the gradient of a step is 0.
    """
    cdef Op twin = flat_ops.get(op)
    if twin is None:
        twin = Op.__new__(Op)
        twin.name, twin.schema, twin.params = op.name, op.schema, op.params
        twin.node_name = op.node_name
        twin.public_names, twin.constants, twin.derivatives, twin.formulas, twin.takes = op.public_names, {}, {}, [], []
        twin.wraps_numbers = op.wraps_numbers
        for param in op.params:
            twin.derivative(param)(flat)
        flat_ops[op] = twin
    return twin


cdef OpNode begin_record_inplace(Op op, TensorBase x, tuple arguments):
    """Before the write: raise if it is not allowed, and save what the derivatives need.

    `arguments[0]` is x.
    """
    cdef OpNode node
    cdef PyObject* packing = thread_state().packing
    cdef object pair = None if packing == NULL else <object>packing
    cdef bint wanted = False, were_disabled
    cdef int j, ceiling
    cdef str where = op.twin.name if op.twin is not None else op.name + "_"
    refuse_internal_overlap(x, where)
    if op.derivative_count == 0 and is_differentiable(x.dtype_):
        op = flat_op(op)
    if thread_state().grad_enabled:
        for j in range(op.derivative_count):
            if isinstance(<object>PyTuple_GET_ITEM(arguments, op.positions[j]), TensorBase):
                wanted = wanted or needs_grad(
                    <TensorBase>PyTuple_GET_ITEM(arguments, op.positions[j]))
    check_inplace(x, wanted, where)
    if not wanted:
        return None
    thread_state().packing = NULL           # copy first: pack may keep what it is given
    try:
        node = begin_record(op, PySequence_Fast_ITEMS(arguments), <int>PyTuple_GET_SIZE(arguments))
    finally:
        thread_state().packing = packing
    if node.saved_tensors & 1:
        # x is about to change: keep a copy, recorded, so that double backward reaches old x
        were_disabled = set_overrides_disabled(True)
        ceiling = show_recorders()
        try:
            copied = <TensorBase?>x.clone()     # a subclass's own clone may return anything
        finally:
            thread_state().ceiling = ceiling
            set_overrides_disabled(were_disabled)
        node.saved = (copied,) + (<tuple>node.saved)[1:]
        node.versions[0] = saved_version(copied)
        if (<TensorBase>copied).node is None:
            node.computed_tensors &= ~<unsigned int>1
        else:
            node.computed_tensors |= 1
    if pair is not None:
        pack_arguments(node, pair[0], pair[1])
    return node


cdef int pack_arguments(OpNode node, object pack, object unpack) except -1:
    """Pack what a node has kept bare."""
    cdef list saved = [] if node.saved is None else list(<tuple>node.saved)
    cdef SavedTensor one
    cdef int j
    for j in range(<int>len(saved)):
        if node.saved_tensors >> j & 1:
            one = saved_again(<TensorBase>saved[j], node.versions[j], node.computed_tensors >> j & 1)
            one.pack_with(one.tensor, pack, unpack)
            saved[j] = one
        elif isinstance(saved[j], list):
            for each in saved[j]:
                if isinstance(each, SavedTensor):
                    (<SavedTensor>each).pack_with((<SavedTensor>each).tensor, pack, unpack)
    if saved:
        node.saved = tuple(saved)
        node.saved_tensors = 0
    return 0


cdef object end_record_inplace(OpNode node, TensorBase x):
    """After the write."""
    bump_version(x)
    if node is not None:
        write_metadata(&node.first_metadata, x)
        rebase_history(x, node)
        if node.wants_output:
            node.saved_output = save_tensor(x, True)
            if x.base is not None:
                node.saved_output.slices = PyWeakref_NewRef(x.base.node, None)
    return x


forbid_new(OpNode)
forbid_new(ZeroCurvature)


def has_released(node):
    """Whether backward has freed what this node had saved: a pass that comes here again raises."""
    return isinstance(node, OpNode) and (<OpNode>node).is_released
