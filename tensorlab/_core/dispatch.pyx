"""Ops: how one is declared, and how a call runs.

A call of a pointwise op (`run_unary`, `run_binary`, ...) goes through these steps:

    compute             everything about numbers:
        resolve             in which type to compute and which to return      (promotion)
        result_for          a tensor of the broadcast shape                   (layout)
        run_walk            the loop over all elements                        (in loops.pyx)
    start_record,       everything about gradients, if one is wanted:
    finish_record           a node with its edges and what it saves           (in graph.pyx)

A small contiguous call, which is what most calls of a small program are, takes a short cut around `compute`.

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
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_Check
from cpython.number cimport PyIndex_Check
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc

from tensorlab._core.dtypes cimport (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    NO_DTYPE,
    NUM_DTYPES,
    UINT8,
    default_float,
    dtype_object,
    is_floating,
    item_size,
    kernel_dtype,
    promotion,
)
from tensorlab._core.graph cimport (
    GraphTask,
    Meta,
    Node,
    SavedTensor,
    already_released,
    as_view,
    bury,
    bump_version,
    check_inplace,
    enter_release,
    grad_fn_of,
    gradient_edge,
    is_wanted,
    leave_release,
    needs_grad,
    next_sequence,
    rebase_history,
    save_tensor,
    save_value,
    set_edges,
    set_history,
    set_metas,
    thread_state,
    unpack_value,
    write_meta,
)
from tensorlab._core.layout cimport (
    MAX_NDIM,
    broadcast_into,
    dense_strides,
    is_contiguous,
    is_dense,
    may_overlap_itself,
    shape_text,
    ssize,
)
from tensorlab._core.loops cimport MAX_OPERANDS, Walk, binary_loop, convert, copy_into, run_walk, set_operand, unary_loop
from tensorlab._core.storage cimport new_storage
from tensorlab._core.tensor cimport (
    VIEW_DEFAULT,
    TensorBase,
    check_writable,
    empty_strided_tensor,
    empty_tensor,
    make_size,
    offset_of,
    set_layout,
)

import warnings

from tensorlab.errors import DTypeError, GradientError, MemoryLayoutError, ShapeError, UnsupportedDType

cdef extern from *:
    """
    #define tl_items(t) (((PyTupleObject*)(t))->ob_item)
    """
    PyObject** items_of "tl_items"(tuple)       # borrowed

cdef enum:
    SMALL_CALL = 4096           # elements up to which a contiguous call takes the short cut
    SHORT_ROW = 256             # and up to which it spreads a number to a row
    SAVES_OUTPUT = 1 << 31
    # what a formula takes: the position of an argument, or
    GRAD = -1
    OUT = -2
    SHAPE = -3
    DTYPE = -4
    GRADS = -5

REGISTRY = {}                   # name: Op


# ---------------------------------------------------------------- declaring an op
cdef class Op:
    """The declaration of an operation: schema, dtype rule, loops, derivatives.

    Parameters
    ----------
    schema : str, such as "mul(x: Tensor, y: Tensor) -> Tensor"
    dtype : "promote", "floating" or "compare", for pointwise ops only
    node : str, PyTorch's name of the backward node; "MulBackward0" unless given
    grain : int, elements that make a thread worth starting; smaller for a costlier loop
    """

    def __init__(self, str schema, *, str dtype=None, str node=None, Py_ssize_t grain=32768):
        name, _, rest = schema.partition("(")
        if name in REGISTRY:
            raise ValueError(f"Op: {name} is declared twice")
        self.name = name
        self.schema = schema
        self.params = tuple(param.split(":")[0].split("=")[0].strip()
                            for param in rest.partition(") ->")[0].split(", ") if param.strip() not in ("*", ""))
        self.node_name = node or name.replace("_", " ").title().replace(" ", "") + "Backward0"
        self.is_pointwise = dtype is not None
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
                    saves |= <unsigned int>1 << code
                elif name == "out":
                    code = OUT
                    saves |= <unsigned int>SAVES_OUTPUT
                elif name == param + "_shape":
                    code = SHAPE
                elif name == param + "_dtype":
                    code = DTYPE
                else:
                    raise ValueError(f"Op {self.name}: the derivative by {param} asks for {name!r}, which is unknown")
                takes.append(code)
            if self.derivative_count == MAX_INPUTS:
                raise ValueError(f"Op {self.name}: more than {MAX_INPUTS} derivatives")
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

    def __dealloc__(self):                  # see "freeing" in graph.pyx
        if enter_release():
            self.saved = None
            leave_release()
        else:
            bury(self.saved)
            self.saved = None

    cdef tuple apply(self, object grad, GraphTask task):
        cdef Op op = self.op
        cdef tuple edges = self.edges
        cdef Py_ssize_t j, n = PyTuple_GET_SIZE(edges)
        cdef tuple out
        cdef object one
        if grad is None:
            return (None,) * n
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
        cdef object value
        if code == GRAD:
            return grad
        if code == GRADS:
            return grad if self.output_count != 1 else [grad]
        if code == SHAPE:
            return make_size(self.input_meta(j).ndim, self.input_meta(j).sizes)
        if code == DTYPE:
            return dtype_object(self.input_meta(j).dtype)
        value = self.saved_output if code == OUT else <object>PyTuple_GET_ITEM(self.saved, code)
        if value is RELEASED or (code == OUT and self.is_released):
            raise already_released(self.op.node_name)
        return unpack_value(value, self)

    cdef Meta* input_meta(self, Py_ssize_t j):
        cdef Node node = <Node>self.edges[j]
        return &node.metas[self.edge_outputs[j] if self.edge_outputs != NULL else 0]

    cdef int release_saved(self) except -1:
        cdef Py_ssize_t i
        cdef list kept
        if self.saved is not None and not self.is_released:
            kept = list(self.saved)
            for i in range(len(kept)):
                # in pointwise ops a number stands for a 0-d tensor, and is gone after backward as one would be
                if holds_saved(kept[i]) or (self.op.is_pointwise and kept[i] is not None):
                    kept[i] = RELEASED
            self.saved = tuple(kept)
        self.saved_output = None
        self.is_released = True
        return 0

    cdef str label(self):
        return self.op.node_name

cdef object RELEASED = object()


cdef bint holds_saved(object value):
    """Is it a saved tensor, or a list of some?"""
    if isinstance(value, list):
        for one in value:
            if isinstance(one, SavedTensor):
                return True
        return False
    return isinstance(value, SavedTensor)


cdef OpNode start_record(Op op, PyObject** arguments, int n):
    """The node of a call, with its edges and saved arguments; None if no gradient is wanted.

    An in-place call does this before it writes; the others may do it together with `finish_record`, afterwards.
    """
    cdef OpNode node
    cdef tuple edges, saved
    cdef unsigned int mask = 0
    cdef int j
    cdef object edge, value
    cdef TensorBase x
    cdef bint wanted = False
    if op.derivative_count == 0 or not thread_state().grad_enabled:
        return None
    if op.takes_list:
        return start_list_record(op, arguments, n)
    for j in range(op.derivative_count):
        if isinstance(<object>arguments[op.positions[j]], TensorBase):
            wanted = wanted or needs_grad(<TensorBase>arguments[op.positions[j]])
    if not wanted:
        return None
    node = OpNode.__new__(OpNode)
    node.op = op
    edges = PyTuple_New(op.derivative_count)
    for j in range(op.derivative_count):
        edge = None
        value = <object>arguments[op.positions[j]]
        if isinstance(value, TensorBase) and needs_grad(<TensorBase>value):
            x = <TensorBase>value
            edge = gradient_edge(x)
            mask |= op.saves[j]
            if x.output_number != 0:
                if node.edge_outputs == NULL:
                    node.edge_outputs = <int*>calloc(op.derivative_count, sizeof(int))
                    if node.edge_outputs == NULL:
                        raise MemoryError()
                node.edge_outputs[j] = x.output_number
        Py_INCREF(edge)
        PyTuple_SET_ITEM(edges, j, edge)
    node.edges = edges
    if mask & ~<unsigned int>SAVES_OUTPUT:
        saved = PyTuple_New(n)
        for j in range(n):
            value = None
            if mask >> j & 1:
                value = <object>arguments[j]
                value = save_tensor(<TensorBase>value, False) if isinstance(value, TensorBase) else save_value(value)
            Py_INCREF(value)
            PyTuple_SET_ITEM(saved, j, value)
        node.saved = saved
    node.wants_output = (mask & SAVES_OUTPUT) != 0
    node.sequence = next_sequence()
    return node


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
    node.sequence = next_sequence()
    return node


cdef int finish_record(OpNode node, object outputs) except -1:
    """Make `outputs`, one tensor or a sequence, the results of the node."""
    cdef int i = 0
    cdef TensorBase out
    if isinstance(outputs, TensorBase):
        out = <TensorBase>outputs
        if not is_floating(out.dtype_):
            return 0
        write_meta(&node.first_meta, out)
        set_history(out, node, 0)
        if node.wants_output:
            node.saved_output = save_tensor(out, True)
        return 0
    set_metas(node, outputs)
    for one in outputs:
        if is_floating((<TensorBase>one).dtype_):
            set_history(<TensorBase>one, node, i)
        i += 1
    return 0


cdef object finish(Op op, object outputs, tuple arguments):
    """Record a call that made new results, and return them."""
    cdef OpNode node
    if op.derivative_count > 0 and thread_state().grad_enabled:
        node = start_record(op, items_of(arguments), <int>PyTuple_GET_SIZE(arguments))
        if node is not None:
            finish_record(node, outputs)
    return outputs


cdef object run_view(Op op, TensorBase x, TensorBase out, tuple arguments, int creation=VIEW_DEFAULT):
    """Make `out`, an alias of x, a differentiable view of it, and record the call."""
    as_view(x, out, creation)
    return finish(op, out, arguments)


# ---------------------------------------------------------------- in place: check, save, write, bump, rebase
cdef OpNode start_inplace(Op op, TensorBase x, tuple arguments):
    """Before the write: raise if it must not be, and save what the derivatives need. `arguments[0]` is x."""
    cdef OpNode node
    cdef object self_before
    cdef list changed
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
    for j in range(op.derivative_count):                     # does a derivative need x as it was?
        if op.saves[j] & 1 and isinstance(<object>PyTuple_GET_ITEM(arguments, op.positions[j]), TensorBase) and needs_grad(
                <TensorBase>PyTuple_GET_ITEM(arguments, op.positions[j])):
            node = start_record(op, items_of(arguments), <int>PyTuple_GET_SIZE(arguments))
            node.saved = (save_value(x.clone()),) + node.saved[1:]
            return node
    return start_record(op, items_of(arguments), <int>PyTuple_GET_SIZE(arguments))


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


# ---------------------------------------------------------------- numbers
cdef bint is_operand(object x):
    """Is x a tensor or a number?"""
    return isinstance(x, TensorBase) or PyFloat_Check(x) or PyLong_Check(x) or as_number(x) is not None


cdef object as_number(object x):
    """A Python bool, int or float; NumPy's scalars become one; None for anything else."""
    if PyFloat_Check(x) or PyLong_Check(x):
        return x
    if hasattr(x, "dtype") and hasattr(x, "item") and getattr(x, "ndim", 1) == 0 and not isinstance(x, TensorBase):
        x = x.item()
        return x if PyFloat_Check(x) or PyLong_Check(x) else None
    return None


cdef int number_dtype(object x) noexcept:
    """The type that a Python number brings into promotion."""
    if PyFloat_Check(x):
        return default_float()
    return BOOL if x is True or x is False else INT64


cdef int write_number(object x, int dtype, void* to) except -1:
    """Store a Python number as one element."""
    cdef int64_t n
    if dtype == FLOAT64:
        (<double*>to)[0] = x
    elif dtype == FLOAT32:
        (<float*>to)[0] = <float><double>x
    elif dtype == BOOL:
        (<uint8_t*>to)[0] = bool(x)
    else:
        try:
            n = int(x)
        except OverflowError:
            raise RuntimeError(f"the number {x} does not fit in {dtype_object(dtype)}") from None
        if dtype == UINT8:
            (<uint8_t*>to)[0] = <uint8_t>n
        elif dtype == INT8:
            (<int8_t*>to)[0] = <int8_t>n
        elif dtype == INT16:
            (<int16_t*>to)[0] = <int16_t>n
        elif dtype == INT32:
            (<int32_t*>to)[0] = <int32_t>n
        else:
            (<int64_t*>to)[0] = n
    return 0


# ---------------------------------------------------------------- resolve: types
cdef inline int promote(int a, int b) noexcept:
    return b if a == NO_DTYPE else a if b == NO_DTYPE else promotion[a][b]


cdef inline int combine(int higher, int lower) noexcept:
    """A lower-ranking operand counts only if its category (bool < integer < floating) is higher."""
    if higher == NO_DTYPE:
        return lower
    if lower == NO_DTYPE or is_floating(higher):
        return higher
    return promotion[higher][lower] if higher == BOOL or is_floating(lower) else higher


cdef int promoted_dtype(PyObject** operands, int n, str where) except -1:
    """The common type. Tensors with dimensions outrank 0-d tensors, which outrank Python numbers."""
    cdef int dims = NO_DTYPE, zero = NO_DTYPE, numbers = NO_DTYPE, k
    cdef TensorBase x
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            x = <TensorBase>operands[k]
            if x.ndim_ > 0:
                dims = promote(dims, x.dtype_)
            else:
                zero = promote(zero, x.dtype_)
        else:
            numbers = promote(numbers, number_dtype(<object>operands[k]))
    return combine(dims, combine(zero, numbers))


cdef int resolve(Op op, int promoted, int* compute, int* result) except -1:
    """From the promoted type: the type to compute in, and the type of the result."""
    if op.dtype_rule == FLOATING and not is_floating(promoted):
        promoted = default_float()
    compute[0] = kernel_dtype(promoted)
    result[0] = BOOL if op.dtype_rule == COMPARE else promoted
    if op.loops[compute[0]] == NULL:
        raise UnsupportedDType(f"{op.name}: not implemented for {dtype_object(promoted)}; convert with .to() first")
    return 0


def result_type(tensor1, tensor2):
    """The type that an arithmetic operation on two tensors or numbers gives."""
    cdef PyObject* operands[2]
    operands[0] = <PyObject*>tensor1
    operands[1] = <PyObject*>tensor2
    return dtype_object(promoted_dtype(operands, 2, "result_type"))


cdef bint can_cast(int source, int target) noexcept:
    """May a result of one type be written into a tensor of another? Not down a category."""
    return not (is_floating(source) and not is_floating(target)) and not (source != BOOL and target == BOOL)


# ---------------------------------------------------------------- result_for: shapes
cdef int broadcast_operands(Op op, PyObject** operands, int n, ssize* sizes) except -1:
    """The broadcast shape of all tensors; returns its number of dimensions."""
    cdef int ndim = 0, k
    cdef TensorBase x
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            x = <TensorBase>operands[k]
            if broadcast_into(x.ndim_, x.sizes, &ndim, sizes) < 0:
                shapes = " and ".join([str(tuple((<TensorBase>operands[k]).shape)) for k in range(n)
                                       if isinstance(<object>operands[k], TensorBase)])
                raise ShapeError(f"{op.name}: shapes {shapes} cannot be broadcast together: counted from the right, "
                                 f"sizes must be equal or 1")
    return ndim


cdef TensorBase result_for(PyObject** operands, int n, int dtype, int ndim, const ssize* sizes):
    """A new tensor of the broadcast shape whose dimensions lie in the order of the operands' (see dense_strides)."""
    cdef ssize aligned[MAX_OPERANDS][MAX_NDIM]
    cdef const ssize* rows[MAX_OPERANDS]
    cdef ssize[MAX_NDIM] strides
    cdef int k, i, shift, used = 0
    cdef bint same = True, contiguous = True
    cdef TensorBase x, first = None
    for k in range(n):
        if not isinstance(<object>operands[k], TensorBase):
            same = same and ndim == 0
            continue
        x = <TensorBase>operands[k]
        shift = ndim - x.ndim_
        contiguous = contiguous and x.is_contiguous_
        same = same and shift == 0
        for i in range(ndim):
            if i < shift:
                aligned[used][i] = 0
            else:
                if x.sizes[i - shift] != sizes[i]:
                    same = False
                aligned[used][i] = 0 if x.sizes[i - shift] == 1 and sizes[i] != 1 else x.strides[i - shift]
        rows[used] = aligned[used]
        used += 1
        if first is None:
            first = x
    if same and contiguous:
        return empty_tensor(dtype, ndim, sizes)
    if same and all_dense_alike(operands, n, first):
        return empty_strided_tensor(dtype, ndim, sizes, first.strides)
    dense_strides(ndim, sizes, used, rows, strides)
    return empty_strided_tensor(dtype, ndim, sizes, strides)


cdef bint all_dense_alike(PyObject** operands, int n, TensorBase first) noexcept:
    cdef int k, i
    cdef TensorBase x
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            x = <TensorBase>operands[k]
            if not is_dense(x.ndim_, x.sizes, x.strides):
                return False
            for i in range(x.ndim_):
                if x.strides[i] != first.strides[i]:
                    return False
    return True


# ---------------------------------------------------------------- overlap
cdef int refuse_self_overlap(TensorBase out, str where) except -1:
    if may_overlap_itself(out.ndim_, out.sizes, out.strides):
        raise MemoryLayoutError(f"{where}: several elements of the tensor to be written share one place in memory "
                                f"(shape {out.shape}, strides {out.stride()}); clone it first")
    return 0


cdef int refuse_overlap(TensorBase out, TensorBase x, str where) except -1:
    """Raise if x lies partly over out, so that the result would depend on the order of the loop."""
    cdef ssize out_bytes, x_bytes
    if out is x or out.storage_ is not x.storage_ or out.numel_ == 0 or x.numel_ == 0:
        return 0
    if not is_dense(out.ndim_, out.sizes, out.strides) or not is_dense(x.ndim_, x.sizes, x.strides):
        return 0
    out_bytes = out.numel_ * item_size[out.dtype_]
    x_bytes = x.numel_ * item_size[x.dtype_]
    if out.data_ == x.data_ and out_bytes == x_bytes:
        if out.ndim_ == x.ndim_ and same_numbers(out.ndim_, out.strides, x.strides):
            return 0
    elif out.data_ >= x.data_ + x_bytes or x.data_ >= out.data_ + out_bytes:
        return 0
    raise MemoryLayoutError(f"{where}: the tensor to be written and an input share part of their memory; clone one first")


cdef inline bint same_numbers(int n, const ssize* a, const ssize* b) noexcept:
    cdef int i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True


# ---------------------------------------------------------------- pointwise calls
cdef TensorBase compute(Op op, PyObject** operands, int n, TensorBase out, bint in_place):
    """Run the loop into `out`, or into a new tensor if that is None."""
    cdef Walk walk
    cdef ssize[MAX_NDIM] sizes
    cdef double[MAX_OPERANDS] numbers           # 8 bytes for each Python number
    cdef int compute_dtype, result_dtype, ndim, k
    cdef TensorBase x
    resolve(op, promoted_dtype(operands, n, op.name), &compute_dtype, &result_dtype)
    ndim = broadcast_operands(op, operands, n, sizes)
    if out is None:
        out = result_for(operands, n, result_dtype, ndim, sizes)
    else:
        check_target(op, operands, n, out, ndim, sizes, result_dtype, in_place)
    walk.ndim = ndim
    walk.operands = n + 1
    for k in range(ndim):
        walk.sizes[k] = sizes[k]
    set_operand(&walk, 0, out.data_, out.dtype_, BOOL if op.dtype_rule == COMPARE else compute_dtype, ndim, sizes,
                out.strides)
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            x = <TensorBase>operands[k]
            set_operand(&walk, k + 1, x.data_, x.dtype_, compute_dtype, x.ndim_, x.sizes, x.strides)
        else:
            write_number(<object>operands[k], compute_dtype, &numbers[k])
            set_operand(&walk, k + 1, <char*>&numbers[k], compute_dtype, compute_dtype, 0, NULL, NULL)
    run_walk(&walk, op.loops[compute_dtype], op.grain)
    return out


cdef int check_target(Op op, PyObject** operands, int n, TensorBase out, int ndim, ssize* sizes, int dtype,
                      bint in_place) except -1:
    """May the result be written into `out`? (With out=, resize it first if its shape is another.)"""
    cdef str where = op.name + ("_" if in_place else "")
    cdef int k
    if not can_cast(dtype, out.dtype_):
        raise DTypeError(f"{where}: the result has type {dtype_object(dtype)}, which cannot be written into a tensor of "
                         f"type {dtype_object(out.dtype_)}")
    check_writable(out, where)
    if out.ndim_ != ndim or not same_numbers(ndim, out.sizes, sizes):
        if in_place:
            raise ShapeError(f"{where}: the result has shape {shape_text(ndim, sizes)}, but the tensor to be written has "
                             f"shape {shape_text(out.ndim_, out.sizes)}")
        if out.numel_ > 0:
            warnings.warn(f"{where}: out= has shape {shape_text(out.ndim_, out.sizes)} and is resized to "
                          f"{shape_text(ndim, sizes)}; pass a tensor of that shape, or one without elements",
                          UserWarning, stacklevel=2)
        resize_tensor(out, ndim, sizes)
    refuse_self_overlap(out, where)
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            refuse_overlap(out, <TensorBase>operands[k], where)
    return 0


cdef int check_operands(Op op, PyObject** operands, int n) except -1:
    """Every operand is a tensor or a number."""
    cdef int k
    for k in range(n):
        if not is_operand(<object>operands[k]):
            raise TypeError(f"{op.name}: argument {op.params[k]!r} must be a Tensor or a number, not "
                            f"{type(<object>operands[k]).__name__}")
    return 0


cdef inline void* short_cut(Op op, TensorBase x) noexcept:
    """The loop, if x is small, contiguous and of a type that is computed and returned as it is."""
    if x.is_contiguous_ and x.numel_ <= SMALL_CALL and not (op.dtype_rule == FLOATING and not is_floating(x.dtype_)):
        return op.loops[x.dtype_]           # half types have no loops of their own
    return NULL


cdef inline TensorBase short_result(Op op, TensorBase x):
    return empty_tensor(BOOL if op.dtype_rule == COMPARE else x.dtype_, x.ndim_, x.sizes)


cdef inline bint may_need_grad(TensorBase x) noexcept:
    """A quick test; start_record decides. (A view may get a node later, through its base.)"""
    return x.wants_grad or x.node is not None or x.base is not None


cdef object run_unary(Op op, TensorBase x):
    """out = op(x)"""
    cdef PyObject* operands[1]
    cdef OpNode node
    cdef TensorBase out
    cdef void* loop = short_cut(op, x)
    operands[0] = <PyObject*>x
    if loop != NULL:
        out = short_result(op, x)
        (<unary_loop>loop)(out.data_, x.data_, x.numel_)
    else:
        out = compute(op, operands, 1, None, False)
    if may_need_grad(x):
        node = start_record(op, operands, 1)
        if node is not None:
            finish_record(node, out)
    return out


cdef object run_binary(Op op, object a, object b):
    """out = op(a, b), where either may be a number"""
    cdef PyObject* operands[2]
    cdef OpNode node
    cdef TensorBase out
    operands[0] = <PyObject*>a
    operands[1] = <PyObject*>b
    out = short_binary(op, a, b, None)
    if out is None:
        return run_pointwise(op, operands, 2)
    if (isinstance(a, TensorBase) and may_need_grad(<TensorBase>a)) or (
            isinstance(b, TensorBase) and may_need_grad(<TensorBase>b)):
        node = start_record(op, operands, 2)
        if node is not None:
            finish_record(node, out)
    return out


cdef TensorBase short_binary(Op op, object a, object b, TensorBase out):
    """The short cut of two operands, into `out` or a new tensor; None if it is not possible.

    The operands are small, contiguous and of equal shape and type; or one is a number, which is spread to a row of its own.
    """
    cdef double row[SHORT_ROW]
    cdef TensorBase x, y = None
    cdef object number = None
    cdef void* loop
    if isinstance(a, TensorBase):
        x = <TensorBase>a
        if isinstance(b, TensorBase):
            y = <TensorBase>b
        else:
            number = b
    elif isinstance(b, TensorBase):
        x = <TensorBase>b
        number = a
    else:
        return None
    loop = short_cut(op, x)
    if loop == NULL:
        return None
    if y is not None:
        if x.dtype_ != y.dtype_ or not y.is_contiguous_ or x.ndim_ != y.ndim_ or not same_numbers(x.ndim_, x.sizes, y.sizes):
            return None
    elif x.numel_ > SHORT_ROW or not is_floating(x.dtype_) or not (PyFloat_Check(number) or PyLong_Check(number)):
        return None
    if out is None:
        out = short_result(op, x)
    if y is not None:
        (<binary_loop>loop)(out.data_, x.data_, y.data_, x.numel_)
        return out
    write_number(number, x.dtype_, row)
    convert(row, x.dtype_, 1, row, x.dtype_, 0, x.numel_)
    if isinstance(a, TensorBase):
        (<binary_loop>loop)(out.data_, x.data_, row, x.numel_)
    else:
        (<binary_loop>loop)(out.data_, row, x.data_, x.numel_)
    return out


cdef object run_ternary(Op op, object x, object y, object z):
    """out = op(x, y, z), where any may be a number"""
    cdef PyObject* operands[3]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>z
    return run_pointwise(op, operands, 3)


cdef object run_quaternary(Op op, object x, object y, object z, object w):
    """out = op(x, y, z, w), where any may be a number"""
    cdef PyObject* operands[4]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>z
    operands[3] = <PyObject*>w
    return run_pointwise(op, operands, 4)


cdef object run_pointwise(Op op, PyObject** operands, int n):
    """The long way: any shapes, types and numbers."""
    cdef OpNode node
    cdef TensorBase out
    check_operands(op, operands, n)
    out = compute(op, operands, n, None, False)
    node = start_record(op, operands, n)
    if node is not None:
        finish_record(node, out)
    return out


cdef object run_out(Op op, PyObject** operands, int n, object out):
    """The same into a tensor that the caller gives; autograd does not follow such a call."""
    if not isinstance(out, TensorBase):
        raise TypeError(f"{op.name}: out must be a Tensor, not {type(out).__name__}")
    check_operands(op, operands, n)
    refuse_recorded_out(op.name, operands, n, <TensorBase>out)
    compute(op, operands, n, <TensorBase>out, False)
    bump_version(<TensorBase>out)
    return out


cdef object run_out_1(Op op, object x, object out):
    cdef PyObject* operands[1]
    operands[0] = <PyObject*>x
    return run_out(op, operands, 1, out)


cdef object run_out_2(Op op, object x, object y, object out):
    cdef PyObject* operands[2]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    return run_out(op, operands, 2, out)


cdef int refuse_recorded_out(str where, PyObject** operands, int n, TensorBase out) except -1:
    cdef int k
    cdef bint wanted = needs_grad(out)
    for k in range(n):
        if isinstance(<object>operands[k], TensorBase):
            wanted = wanted or needs_grad(<TensorBase>operands[k])
    if wanted and thread_state().grad_enabled:
        raise GradientError(f"{where}: a call with out= cannot be differentiated, but one of the tensors requires grad; "
                            f"leave out= away, or call it under no_grad")
    return 0


cdef object run_unary_inplace(Op op, TensorBase x):
    cdef PyObject* operands[1]
    operands[0] = <PyObject*>x
    return run_inplace(op, operands, 1)


cdef object run_binary_inplace(Op op, TensorBase x, object y):
    cdef PyObject* operands[2]
    # the short cut: nothing is recorded, the memory is ours, and the result fits where x is
    if (not may_need_grad(x) and x.counter is not None and not x.storage_.is_read_only and op.dtype_rule != COMPARE
            and not (isinstance(y, TensorBase) and (may_need_grad(<TensorBase>y) or (<TensorBase>y).storage_ is x.storage_))
            and short_binary(op, x, y, x) is not None):
        x.counter.value += 1
        return x
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    return run_inplace(op, operands, 2)


cdef object run_ternary_inplace(Op op, TensorBase x, object y, object z):
    cdef PyObject* operands[3]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>z
    return run_inplace(op, operands, 3)


cdef object run_quaternary_inplace(Op op, TensorBase x, object y, object z, object w):
    cdef PyObject* operands[4]
    operands[0] = <PyObject*>x
    operands[1] = <PyObject*>y
    operands[2] = <PyObject*>z
    operands[3] = <PyObject*>w
    return run_inplace(op, operands, 4)


cdef object run_inplace(Op op, PyObject** operands, int n):
    """x = op(x, ...), written over x, which is the first operand."""
    cdef TensorBase x = <TensorBase>operands[0]
    cdef OpNode node
    cdef tuple arguments
    cdef int compute_dtype, result_dtype, ndim
    cdef ssize[MAX_NDIM] sizes
    check_operands(op, operands, n)
    # everything that can raise comes before anything is written
    resolve(op, promoted_dtype(operands, n, op.name), &compute_dtype, &result_dtype)
    ndim = broadcast_operands(op, operands, n, sizes)
    arguments = tuple([<object>operands[k] for k in range(n)])
    node = start_inplace(op, x, arguments)
    check_target(op, operands, n, x, ndim, sizes, result_dtype, True)
    compute(op, operands, n, x, True)
    return finish_inplace(node, x)


# ---------------------------------------------------------------- out= of other ops
cdef int resize_tensor(TensorBase x, int ndim, const ssize* sizes) except -1:
    """Give x another shape, row-major, and its storage as many bytes as that needs."""
    cdef ssize offset = offset_of(x), needed
    cdef ssize[MAX_NDIM] kept
    cdef int i
    for i in range(ndim):
        kept[i] = sizes[i]
    needed = (offset + product(ndim, kept)) * item_size[x.dtype_]
    if needed > x.storage_.nbytes_:
        grow_storage(x, needed)
    x.data_ = x.storage_.address + offset * item_size[x.dtype_]
    set_layout(x, ndim, kept, NULL)
    return 0


cdef int grow_storage(TensorBase x, ssize nbytes) except -1:
    """Give x's storage more bytes. It moves, so no other tensor may look at it."""
    if (<PyObject*>x.storage_).ob_refcnt == 1:
        x.storage_.resize(nbytes)
    elif x.storage_.nbytes_ == 0:
        x.storage_ = new_storage(nbytes)
    else:
        raise MemoryLayoutError(f"resize: the tensor would need {nbytes} bytes, but other tensors look at its storage of "
                                f"{x.storage_.nbytes_} bytes, which therefore cannot move; clone the tensor first")
    return 0


cdef ssize product(int ndim, const ssize* sizes) noexcept:
    cdef ssize n = 1
    cdef int i
    for i in range(ndim):
        n *= sizes[i]
    return n


cdef object store_out(str where, TensorBase result, object out, bint needs_grad):
    """Give a result to the tensor that the caller passed as out=."""
    cdef TensorBase target
    if out is None:
        return result
    if not isinstance(out, TensorBase):
        raise TypeError(f"{where}: out must be a Tensor, not {type(out).__name__}")
    target = <TensorBase>out
    if needs_grad and thread_state().grad_enabled:
        raise GradientError(f"{where}: a call with out= cannot be differentiated, but one of the tensors requires grad; "
                            f"leave out= away, or call it under no_grad")
    if not can_cast(result.dtype_, target.dtype_):
        raise DTypeError(f"{where}: the result has type {result.dtype}, which cannot be written into a tensor of type "
                         f"{target.dtype}")
    check_writable(target, where)
    if target.ndim_ != result.ndim_ or not same_numbers(result.ndim_, target.sizes, result.sizes):
        resize_tensor(target, result.ndim_, result.sizes)
    refuse_self_overlap(target, where)
    copy_into(target, result)
    bump_version(target)
    return target
