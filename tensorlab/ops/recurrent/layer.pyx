"""recurrent_layer: a whole sequence through one layer in one direction, forward in one op and backward in one.

    forward     1. the part of the input in all sums: one product for all steps          sums = x @ weight_ih'
                2. step after step: sums += h @ weight_hh', then what the cell does       gates.pyx
    backward    1. step after step, from the last: the gradients of the sums, then
                   of the state before: grad_h = grad_sums @ weight_hh
                2. of the input and the weights: one product each for all steps          grad_sums' @ x

What is left to a step is a product of few rows with weights that stay the same, so these are laid out once (panels.pyx).
Sequences do not meet within a layer: in the steps each thread takes some rows of the batch through all steps, and no thread
waits for another.

Sequences are packed, as in nn.utils.rnn: the rows of a step lie together, and step t has batch_sizes[t] of them, not more than
the step before. `h` and `c` hold the state of each sequence while the steps go by. Forward, a sequence whose row is missing
has ended, and its state stays; in reverse it has not begun. Half types are computed in float32 and rounded at the end.

formula.py has the same in tensor operations: the second derivative goes through it, and tests compare.
"""
from libc.string cimport memcpy, memset

from tensorlab._core.dispatch.dispatch cimport run_5, run_tuple
from tensorlab._core.dispatch.levels cimport will_differentiate_again
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype, check_same_place
from tensorlab._core.dtypes cimport FLOATING, INT64, is_double, item_size, kernel_dtype, real
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_as, copy_into, plain_as
from tensorlab._core.loops.parallel cimport parallel_for, thread_count
from tensorlab._core.state.modes cimport set_grad_mode, thread_state
from tensorlab._core.tensor cimport TensorBase, empty_beside, empty_tensor, is_meta, memory_of
from tensorlab.ops.reductions cimport sum_to
from tensorlab.ops.recurrent.gates cimport (
    gru_backward_row, gru_row, hidden_row, lstm_backward_row, lstm_row, plain_backward_row,
    plain_row
)
from tensorlab.ops.recurrent.panels cimport (
    multiply_panels, multiply_shared, pack_columns, pack_rows, panel_elements, put_row
)

from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.recurrent import formula

cdef enum:                      # kinds of layers
    TANH = 0
    RELU = 1
    GRU = 2
    LSTM = 3

cdef enum:                      # positions in the list of tensors; what else there is follows: biases, cell, projection
    X = 0
    H = 1
    WEIGHT_IH = 2
    WEIGHT_HH = 3
    BIAS_IH = 4

cdef enum:
    GRAIN = 1 << 18             # multiplications that make a thread worth starting
    BLOCK = 8                   # rows of the batch that stay together

KINDS = {"RNN_TANH": TANH, "RNN_RELU": RELU, "GRU": GRU, "LSTM": LSTM}
cdef dict GATES = {TANH: 1, RELU: 1, GRU: 3, LSTM: 4}

cdef struct Layer:
    int kind
    bint is_double
    bint is_reverse
    bint is_backward
    void* step                  # a step_function, of that type
    ssize steps
    ssize batch
    ssize rows                  # of all steps together
    ssize inputs                # features of the input,
    ssize width                 # of a gate and of the cell,
    ssize outputs               # and of the output: width, unless there is a projection
    ssize sums                  # width times the number of products in a step
    ssize kept                  # width times the number of gates that are kept
    ssize* sizes                # rows of each step,
    ssize* starts               # and where they begin
    void* h                     # the state, (batch, outputs), and that of the cell, (batch, width); backward: their gradients
    void* c
    void* gates                 # (rows, kept); of a plain layer the output itself
    void* cells                 # (rows, width)
    void* hidden                # (rows, outputs)
    void* bias                  # (kept,), what is added to each row
    void* weight                # panels of weight_hh,
    void* projection            # and of the projection, or NULL
    void* space                 # (batch, sums), for the products of a step
    # backward only
    void* first_h               # the state before the first step
    void* first_c
    void* grad_hidden           # (rows, outputs)
    void* grad_sums             # (rows, sums)
    void* grad_recurrent        # the same for the recurrent part: it differs for GRU
    void* grad_projected        # (rows, outputs), and
    void* unprojected           # panels of (rows, width), if there is a projection
    void* before                # panels of (rows, outputs): the state before each row


# ---------------------------------------------------------------- forward
cdef void forward_step(Layer* layer, ssize t, ssize begin, ssize n, real* h) noexcept nogil:
    """Step t of n sequences from `begin` on."""
    cdef ssize r, at = layer.starts[t] + begin, width = layer.width, outputs = layer.outputs
    cdef real* gates = <real*>layer.gates + at * layer.kept
    cdef real* c = <real*>layer.c + begin * width
    cdef real* cells = <real*>layer.cells + at * width
    cdef real* bias = <real*>layer.bias
    cdef real* space = <real*>layer.space + begin * layer.sums
    cdef bint is_apart = layer.kind == GRU              # the reset gate is between the recurrent part and the rest
    h += begin * outputs
    multiply_panels(space if is_apart else gates, layer.sums if is_apart else layer.kept, h, outputs, 1, <real*>layer.weight, n,
                    outputs, layer.sums, not is_apart)
    for r in range(n):
        if layer.kind == LSTM:
            lstm_row(gates + r * layer.kept, bias, c + r * width, cells + r * width,
                     h + r * outputs if layer.projection == NULL else space + r * width, width)
        elif layer.kind == GRU:
            gru_row(gates + r * layer.kept, space + r * layer.sums, bias, h + r * outputs, width)
        else:
            plain_row(gates + r * width, bias, layer.kind == RELU, width)
    if layer.kind == LSTM:
        memcpy(c, cells, n * width * sizeof(real))
        if layer.projection != NULL:
            multiply_panels(h, outputs, space, width, 1, <real*>layer.projection, n, width, outputs, False)
    if layer.kind == LSTM or layer.kind == GRU:
        memcpy(<real*>layer.hidden + at * outputs, h, n * outputs * sizeof(real))
    else:
        memcpy(h, gates, n * outputs * sizeof(real))


# ---------------------------------------------------------------- backward
cdef inline real* row_before(Layer* layer, ssize t, ssize b, real* first, real* rows, ssize n) noexcept nogil:
    """The row of the state, n wide, that sequence b had before step t: of the step before, or of the first state."""
    cdef ssize before = t + 1 if layer.is_reverse else t - 1
    if before < 0 or before == layer.steps or b >= layer.sizes[before]:
        return first + b * n
    return rows + (layer.starts[before] + b) * n


cdef void backward_step(Layer* layer, ssize t, ssize begin, ssize n, real* grad_h) noexcept nogil:
    """Step t of n sequences from `begin` on, backward."""
    cdef ssize r, k, at, b, width = layer.width, outputs = layer.outputs
    cdef ssize first = layer.starts[t] + begin
    cdef real* hidden
    cdef real* grad
    cdef real* grad_sums
    cdef real* space = <real*>layer.space + begin * width
    grad_h += begin * outputs
    hidden = <real*>layer.grad_hidden + first * outputs
    for k in range(n * outputs):
        grad_h[k] += hidden[k]
    if layer.projection != NULL:
        memcpy(<real*>layer.grad_projected + first * outputs, grad_h, n * outputs * sizeof(real))
        multiply_panels(space, width, grad_h, outputs, 1, <real*>layer.projection, n, outputs, width, False)
    for r in range(n):
        at, b = first + r, begin + r
        hidden = row_before(layer, t, b, <real*>layer.first_h, <real*>layer.hidden, outputs)
        put_row(<real*>layer.before, layer.rows, outputs, at, hidden)
        grad = grad_h + r * outputs if layer.projection == NULL else space + r * width
        grad_sums = <real*>layer.grad_sums + at * layer.sums
        if layer.kind == LSTM:
            lstm_backward_row(<real*>layer.gates + at * layer.kept,
                              row_before(layer, t, b, <real*>layer.first_c, <real*>layer.cells, width),
                              <real*>layer.cells + at * width, grad, <real*>layer.c + b * width, grad_sums, width)
        elif layer.kind == GRU:
            gru_backward_row(<real*>layer.gates + at * layer.kept, hidden, grad, grad_sums,
                             <real*>layer.grad_recurrent + at * layer.sums, width)
        else:
            plain_backward_row(<real*>layer.hidden + at * width, grad, grad_sums, layer.kind == RELU, width)
    if layer.projection != NULL:
        for r in range(n):
            hidden_row(<real*>layer.gates + (first + r) * layer.kept, <real*>layer.cells + (first + r) * width,
                       space + r * width, width)
            put_row(<real*>layer.unprojected, layer.rows, width, first + r, space + r * width)
    multiply_panels(grad_h, outputs, <real*>layer.grad_recurrent + first * layer.sums, layer.sums, 1, <real*>layer.weight, n,
                    layer.sums, outputs, layer.kind == GRU)


# ---------------------------------------------------------------- all steps
ctypedef void (*step_function)(Layer* layer, ssize t, ssize begin, ssize n, void* h) noexcept nogil

cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    """All steps of the sequences from `begin` to `end`; the backward pass begins with the last one."""
    cdef Layer* layer = <Layer*>context
    cdef ssize i, t, n
    for i in range(layer.steps):
        t = i if layer.is_reverse == layer.is_backward else layer.steps - 1 - i
        n = min(end, layer.sizes[t]) - begin
        if n > 0:
            (<step_function>layer.step)(layer, t, begin, n, layer.h)


cdef void run_steps(Layer* layer, void* step, bint is_backward) noexcept nogil:
    """Split the batch over threads."""
    cdef int threads = thread_count(layer.rows * layer.sums * layer.outputs, GRAIN)
    layer.step, layer.is_backward = step, is_backward
    parallel_for(run_share, layer, layer.batch, max(<ssize>BLOCK, layer.batch // threads))


# ---------------------------------------------------------------- arguments
cdef class Arguments:
    """The tensors of a call, row-major and in the type of computing, and the memory that lasts as long as it."""
    cdef Layer layer
    cdef TensorBase x           # as it was given
    cdef list plain             # all tensors
    cdef int dtype              # of computing
    cdef bint has_bias
    cdef list rooms

    def __init__(self, list tensors, str kind, bint has_bias, bint is_reverse, batch_sizes):
        cdef Layer* layer = &self.layer
        memset(layer, 0, sizeof(Layer))
        layer.kind = kind_of(kind)
        layer.is_reverse = is_reverse
        self.x = <TensorBase>tensors[X]
        self.has_bias = has_bias
        self.rooms = []
        check_tensors(tensors, layer.kind, has_bias)
        self.dtype = kernel_dtype(self.x.dtype_)
        layer.is_double = is_double(self.dtype)
        layer.rows, layer.inputs = self.x.sizes[0], self.x.sizes[1]
        layer.batch, layer.outputs = (<TensorBase>tensors[H]).sizes[0], (<TensorBase>tensors[H]).sizes[1]
        layer.sums = (<TensorBase>tensors[WEIGHT_HH]).sizes[0]
        layer.width = layer.sums // <ssize>GATES[layer.kind]
        layer.kept = 4 * layer.width if layer.kind >= GRU else layer.width
        layer.steps = len(batch_sizes)
        self.set_steps(batch_sizes)

    cdef int set_steps(self, object batch_sizes) except -1:
        """Read the rows of each step."""
        cdef Layer* layer = &self.layer
        cdef ssize t, start = 0
        cdef TensorBase sizes = empty_tensor(INT64, 1, &layer.steps), starts = empty_tensor(INT64, 1, &layer.steps)
        self.rooms += [sizes, starts]                   # which have memory even if x is on meta
        layer.sizes, layer.starts = <ssize*>memory_of(sizes), <ssize*>memory_of(starts)
        for t in range(layer.steps):
            layer.sizes[t] = batch_sizes[t]
            layer.starts[t] = start
            start += layer.sizes[t]
            if layer.sizes[t] < 0 or layer.sizes[t] > (layer.sizes[t - 1] if t else layer.batch):
                raise ShapeError(f"recurrent_layer: batch_sizes is {list(batch_sizes)}; expected numbers that do not rise, "
                                 f"the first of them at most {layer.batch}, the rows of the state")
        if start != layer.rows:
            raise ShapeError(f"recurrent_layer: batch_sizes adds up to {start}; expected {layer.rows}, the rows of the input")
        return 0

    cdef int make_plain(self, list tensors) except -1:
        self.plain = [plain_as(<TensorBase>x, self.dtype) for x in tensors]
        return 0

    cdef void* memory(self, int position) except? NULL:
        return memory_of(<TensorBase>self.plain[position])

    cdef TensorBase cell(self):
        """The first state of the cell."""
        return <TensorBase>self.plain[BIAS_IH + 2 * self.has_bias]

    cdef TensorBase projection(self):
        """The matrix of the projection, or None."""
        cdef int position = BIAS_IH + 2 * self.has_bias + 1
        return <TensorBase>self.plain[position] if position < len(self.plain) else None

    cdef TensorBase matrix(self, ssize rows, ssize columns):
        """A new matrix."""
        cdef ssize[2] sizes
        sizes[0], sizes[1] = rows, columns
        return empty_beside(self.x, self.dtype, 2, sizes)

    cdef void* room(self, int dtype, ssize n) except? NULL:
        """Memory for n elements."""
        cdef TensorBase x = empty_beside(self.x, dtype, 1, &n)
        self.rooms.append(x)
        return memory_of(x)

    cdef void* panels(self, ssize rows, ssize columns) except? NULL:
        """Memory for the panels of a matrix."""
        return self.room(self.dtype, panel_elements(rows, columns, item_size[self.dtype]))

    cdef void* packed(self, int position, bint by_columns) except? NULL:
        """The panels of a matrix, (n, k), or of its transpose."""
        cdef TensorBase w = <TensorBase>self.plain[position]
        cdef ssize n = w.sizes[0], k = w.sizes[1]
        cdef void* panels = self.panels(k, n) if by_columns else self.panels(n, k)
        if self.layer.is_double and by_columns:
            pack_columns(<double*>panels, <double*>memory_of(w), k, n)
        elif self.layer.is_double:
            pack_rows(<double*>panels, <double*>memory_of(w), n, k)
        elif by_columns:
            pack_columns(<float*>panels, <float*>memory_of(w), k, n)
        else:
            pack_rows(<float*>panels, <float*>memory_of(w), n, k)
        return panels

    cdef int multiply(self, TensorBase out, ssize out_stride, void* a, ssize a_row, ssize a_column, void* panels, ssize m,
                      ssize k, ssize n) except -1:
        """out = a @ b, of b's panels."""
        cdef void* target = memory_of(out)
        with nogil:
            if self.layer.is_double:
                multiply_shared(<double*>target, out_stride, <double*>a, a_row, a_column, <double*>panels, m, k, n, False)
            else:
                multiply_shared(<float*>target, out_stride, <float*>a, a_row, a_column, <float*>panels, m, k, n, False)
        return 0

    cdef TensorBase summed(self, TensorBase x):
        """The sum over the rows of (rows, sums)."""
        cdef TensorBase out = empty_beside(self.x, self.dtype, 1, &self.layer.sums)
        sum_to(out, x, 1, NULL, 0)
        return out

    cdef TensorBase weight_gradient(self, void* grad_sums, ssize m, void* panels, ssize n):
        """grad_sums' @ b, (m, n), of the panels of b."""
        cdef TensorBase out = self.matrix(m, n)
        self.multiply(out, n, grad_sums, 1, m, panels, m, self.layer.rows, n)
        return out


cdef int kind_of(str kind) except -1:
    if kind not in KINDS:
        raise ValueError(f"recurrent_layer: kind is {kind!r}; expected one of {', '.join(KINDS)}")
    return KINDS[kind]


cdef int check_tensors(list tensors, int kind, bint has_bias) except -1:
    """Are all tensors there, of one floating type, and do their shapes fit?"""
    cdef TensorBase x = <TensorBase>tensors[X] if tensors else None, one
    cdef int n = BIAS_IH + 2 * has_bias + (kind == LSTM), i
    cdef ssize gates = GATES[kind], width, outputs
    if len(tensors) != n and not (kind == LSTM and len(tensors) == n + 1):
        raise ShapeError(f"recurrent_layer: {len(tensors)} tensors are given; expected {n}: input, state, two weights"
                         f"{', two biases' if has_bias else ''}{', cell, perhaps a projection' if kind == LSTM else ''}")
    check_dtype("recurrent_layer", x, FLOATING)
    for one in tensors:
        check_same_place(x, one, "recurrent_layer")
        if one.dtype_ != x.dtype_:
            raise DTypeError(f"recurrent_layer: the input is {x.dtype} and another tensor {one.dtype}; they must be equal")
    check_shape(x, "input", 2, -1, -1)
    check_shape(<TensorBase>tensors[H], "state", 2, -1, -1)
    check_shape(<TensorBase>tensors[WEIGHT_HH], "weight_hh", 2, -1, -1)
    outputs = (<TensorBase>tensors[H]).sizes[1]
    width = (<TensorBase>tensors[WEIGHT_HH]).sizes[0] // gates
    if len(tensors) == n and width != outputs:
        raise ShapeError(f"recurrent_layer: weight_hh has {(<TensorBase>tensors[WEIGHT_HH]).sizes[0]} rows; expected "
                         f"{gates * outputs}, {gates} times the {outputs} features of the state")
    check_shape(<TensorBase>tensors[WEIGHT_HH], "weight_hh", 2, gates * width, outputs)
    check_shape(<TensorBase>tensors[WEIGHT_IH], "weight_ih", 2, gates * width, x.sizes[1])
    for i in range(2 * has_bias):
        check_shape(<TensorBase>tensors[BIAS_IH + i], "bias_hh" if i else "bias_ih", 1, gates * width, -1)
    if kind == LSTM:
        check_shape(<TensorBase>tensors[n - 1], "cell", 2, (<TensorBase>tensors[H]).sizes[0], width)
    if len(tensors) > n:
        check_shape(<TensorBase>tensors[n], "projection", 2, outputs, width)
    return 0


cdef int check_shape(TensorBase x, str name, int ndim, ssize rows, ssize columns) except -1:
    """Raise unless x has these sizes, of which -1 means any."""
    if x.ndim_ != ndim or rows >= 0 and x.sizes[0] != rows or columns >= 0 and x.sizes[1] != columns:
        expected = ", ".join("any" if size < 0 else str(size) for size in (rows, columns)[:ndim])
        raise ShapeError(f"recurrent_layer: {name} has shape {shape_text(x.ndim_, x.sizes)}; expected ({expected})")
    return 0


# ---------------------------------------------------------------- recurrent_layer
cdef Op RECURRENT_LAYER = Op("recurrent_layer(Tensor[] tensors, str kind, bool has_bias, bool is_reverse, int[] batch_sizes) -> "
                             "(Tensor hidden, Tensor last, Tensor last_cell, Tensor gates, Tensor cells)",
                             aten=None, differentiable=3, checks_values=True)

cdef tuple recurrent_layer_result(object tensors, object kind, object has_bias, object is_reverse, object batch_sizes):
    """New tensors for the results: those that users see have the type of the input."""
    cdef Arguments arguments = Arguments(list(tensors), kind, has_bias, is_reverse, batch_sizes)
    cdef Layer* layer = &arguments.layer
    cdef bint has_cell = layer.kind == LSTM
    cdef TensorBase hidden = arguments.matrix(layer.rows, layer.outputs), last = arguments.matrix(layer.batch, layer.outputs)
    cdef TensorBase last_cell = arguments.matrix(layer.batch * has_cell, layer.width)
    return (plain_as(hidden, arguments.x.dtype_), plain_as(last, arguments.x.dtype_), plain_as(last_cell, arguments.x.dtype_),
            arguments.matrix(layer.rows * (layer.kind >= GRU), layer.kept), arguments.matrix(layer.rows * has_cell, layer.width))

@RECURRENT_LAYER.kernel
def recurrent_layer_kernel(tensors, kind, has_bias, is_reverse, batch_sizes):
    """The results are made here, as they are cut out of what the steps need anyway."""
    cdef list given = list(tensors)
    cdef Arguments arguments = Arguments(given, kind, has_bias, is_reverse, batch_sizes)
    cdef Layer* layer = &arguments.layer
    cdef bint has_cell = layer.kind == LSTM
    cdef TensorBase hidden = arguments.matrix(layer.rows, layer.outputs), last = arguments.matrix(layer.batch, layer.outputs)
    cdef TensorBase last_cell = arguments.matrix(layer.batch * has_cell, layer.width)
    cdef TensorBase gates = arguments.matrix(layer.rows * (layer.kind >= GRU), layer.kept)
    cdef TensorBase cells = arguments.matrix(layer.rows * has_cell, layer.width), sums
    if is_meta(arguments.x):
        return recurrent_layer_result(tensors, kind, has_bias, is_reverse, batch_sizes)
    arguments.make_plain(given)
    copy_into(last, <TensorBase>arguments.plain[H])
    layer.h = memory_of(last)
    if has_cell:
        copy_into(last_cell, arguments.cell())
        layer.c, layer.cells = memory_of(last_cell), memory_of(cells)
        if arguments.projection() is not None:
            layer.projection = arguments.packed(len(given) - 1, True)
    sums = gates if layer.kind >= GRU else hidden
    layer.gates, layer.hidden = memory_of(sums), memory_of(hidden)
    layer.weight, layer.bias = arguments.packed(WEIGHT_HH, True), bias_of(arguments)
    layer.space = arguments.room(arguments.dtype, layer.batch * layer.sums)
    arguments.multiply(sums, layer.kept, arguments.memory(X), layer.inputs, 1, arguments.packed(WEIGHT_IH, True), layer.rows,
                       layer.inputs, layer.sums)
    with nogil:
        run_steps(layer, <void*>forward_step[double] if layer.is_double else <void*>forward_step[float], False)
    return (plain_as(hidden, arguments.x.dtype_), plain_as(last, arguments.x.dtype_), plain_as(last_cell, arguments.x.dtype_),
            gates, cells)

cdef void* bias_of(Arguments arguments) except? NULL:
    """What is added to the sums of each row: both biases together, those of GRU's last gate apart."""
    cdef Layer* layer = &arguments.layer
    cdef void* out = arguments.room(arguments.dtype, layer.kept)
    memset(out, 0, layer.kept * item_size[arguments.dtype])
    if arguments.has_bias and layer.is_double:
        add_biases(<double*>out, <double*>arguments.memory(BIAS_IH), <double*>arguments.memory(BIAS_IH + 1), layer)
    elif arguments.has_bias:
        add_biases(<float*>out, <float*>arguments.memory(BIAS_IH), <float*>arguments.memory(BIAS_IH + 1), layer)
    return out

cdef void add_biases(real* out, const real* bias_ih, const real* bias_hh, Layer* layer) noexcept nogil:
    cdef ssize k, together = 2 * layer.width if layer.kind == GRU else layer.sums
    for k in range(layer.sums):
        out[k] = bias_ih[k]
        if k < together:
            out[k] += bias_hh[k]
        else:
            out[k + layer.width] = bias_hh[k]


@RECURRENT_LAYER.derivative("tensors", is_list=True)
def recurrent_layer_derivative(grads, tensors, kind, has_bias, is_reverse, batch_sizes, hidden, gates, cells):
    # A gradient that is missing is zero: the op behind takes one list, of everything it is differentiated by.
    given = [given_or_zeros(grads[0], hidden), given_or_zeros(grads[1], tensors[H]),
             given_or_zeros(grads[2], tensors[BIAS_IH + 2 * has_bias] if kind == "LSTM" else cells)]
    needs_input = tensors[X].requires_grad or will_differentiate_again()
    return run_tuple(RECURRENT_LAYER_BACKWARD, (given + list(tensors), kind, has_bias, is_reverse, batch_sizes, hidden, gates,
                                                cells, needs_input))

cdef object given_or_zeros(object grad, object result):
    return result.new_zeros(result.shape) if grad is None else grad

def recurrent_layer(tensors, str kind, bint has_bias, bint is_reverse, batch_sizes):
    """Run packed sequences through one layer in one direction.

    Parameters
    ----------
    tensors : list of Tensor: input, (rows, inputs); first state, (batch, outputs); weight_ih, (gates * width, inputs);
        weight_hh, (gates * width, outputs); with bias bias_ih and bias_hh, (gates * width,); for LSTM the first state of the
        cell, (batch, width), and perhaps a projection, (outputs, width)
    kind : "RNN_TANH", "RNN_RELU", "GRU" or "LSTM", with 1, 1, 3 and 4 gates
    has_bias, is_reverse : bool
    batch_sizes : sequence of int, the rows of each step; they do not rise

    Returns
    -------
    (Tensor, Tensor, Tensor) : the output, (rows, outputs), the last state and, for LSTM, that of the cell

    Raises
    ------
    ShapeError, DTypeError
        If tensors do not fit each other.
    """
    return run_5(RECURRENT_LAYER, tensors, kind, has_bias, is_reverse, batch_sizes)[:3]


# ---------------------------------------------------------------- recurrent_layer_backward
cdef Op RECURRENT_LAYER_BACKWARD = Op("recurrent_layer_backward(Tensor[] tensors, str kind, bool has_bias, bool is_reverse, "
                                      "int[] batch_sizes, Tensor hidden, Tensor gates, Tensor cells, bool needs_input=True) -> "
                                      "Tensor[]")

cdef enum:
    GRADS = 3                   # tensors before those of the layer: the gradients of its results

cdef list recurrent_layer_backward_result(object tensors, object kind, object has_bias, object is_reverse, object batch_sizes,
                                          object hidden, object gates, object cells, object needs_input):
    cdef list given = list(tensors)
    check_backward(Arguments(given[GRADS:], kind, has_bias, is_reverse, batch_sizes), given, hidden, gates, cells)
    return [empty_beside(<TensorBase>x, (<TensorBase>x).dtype_, (<TensorBase>x).ndim_, (<TensorBase>x).sizes)
            for x in given[GRADS:]]

@RECURRENT_LAYER_BACKWARD.kernel
def recurrent_layer_backward_kernel(tensors, kind, has_bias, is_reverse, batch_sizes, TensorBase hidden, TensorBase gates,
                                    TensorBase cells, bint needs_input):
    """The gradients of all tensors of the layer; of the input only if it is needed."""
    cdef list everything = list(tensors), given = everything[GRADS:], out
    cdef Arguments arguments = Arguments(given, kind, has_bias, is_reverse, batch_sizes)
    cdef Layer* layer = &arguments.layer
    cdef TensorBase grad_h, grad_c = None, output, kept, states, grad, grad_x = None, grad_sums, grad_recurrent
    cdef void* inputs
    if is_meta(arguments.x):
        return recurrent_layer_backward_result(tensors, kind, has_bias, is_reverse, batch_sizes, hidden, gates,
                                               cells, needs_input)
    check_backward(arguments, everything, hidden, gates, cells)
    arguments.make_plain(given)
    output, kept, states = plain_as(hidden, arguments.dtype), plain_as(gates, arguments.dtype), plain_as(cells, arguments.dtype)
    layer.hidden, layer.gates, layer.cells = memory_of(output), memory_of(kept), memory_of(states)
    grad_h = copy_as(<TensorBase>everything[1], arguments.dtype)        # the steps turn it into that of the first state
    layer.h, layer.first_h = memory_of(grad_h), arguments.memory(H)
    if layer.kind == LSTM:
        grad_c = copy_as(<TensorBase>everything[2], arguments.dtype)
        layer.c, layer.first_c = memory_of(grad_c), memory_of(arguments.cell())
        if arguments.projection() is not None:
            layer.projection = arguments.packed(len(given) - 1, False)
            layer.grad_projected = arguments.room(arguments.dtype, layer.rows * layer.outputs)
            layer.unprojected = arguments.panels(layer.rows, layer.width)
    grad = plain_as(<TensorBase>everything[0], arguments.dtype)
    layer.grad_hidden = memory_of(grad)
    layer.weight = arguments.packed(WEIGHT_HH, False)
    layer.space = arguments.room(arguments.dtype, layer.batch * layer.width)
    grad_sums = arguments.matrix(layer.rows, layer.sums)
    grad_recurrent = arguments.matrix(layer.rows, layer.sums) if layer.kind == GRU else grad_sums
    layer.grad_sums, layer.grad_recurrent = memory_of(grad_sums), memory_of(grad_recurrent)
    layer.before = arguments.panels(layer.rows, layer.outputs)
    with nogil:
        run_steps(layer, <void*>backward_step[double] if layer.is_double else <void*>backward_step[float], True)
    if needs_input:
        grad_x = arguments.matrix(layer.rows, layer.inputs)
        arguments.multiply(grad_x, layer.inputs, layer.grad_sums, layer.sums, 1, arguments.packed(WEIGHT_IH, False), layer.rows,
                           layer.sums, layer.inputs)
    inputs = arguments.packed(X, False)
    out = [grad_x, grad_h, arguments.weight_gradient(layer.grad_sums, layer.sums, inputs, layer.inputs),
           arguments.weight_gradient(layer.grad_recurrent, layer.sums, layer.before, layer.outputs)]
    if arguments.has_bias:
        out += [arguments.summed(grad_sums), arguments.summed(grad_recurrent)]
    if layer.kind == LSTM:
        out.append(grad_c)
    if layer.projection != NULL:
        out.append(arguments.weight_gradient(layer.grad_projected, layer.outputs, layer.unprojected, layer.width))
    return [plain_as(x, arguments.x.dtype_) for x in out]

cdef int check_backward(Arguments arguments, list given, TensorBase hidden, TensorBase gates, TensorBase cells) except -1:
    """Have gradients and saved results the shapes that the layer gave them?"""
    cdef Layer* layer = &arguments.layer
    cdef bint has_cell = layer.kind == LSTM
    check_result(arguments.x, given[0], "grad_hidden", layer.rows, layer.outputs)
    check_result(arguments.x, given[1], "grad_last", layer.batch, layer.outputs)
    check_result(arguments.x, given[2], "grad_cell", layer.batch * has_cell, layer.width)
    check_result(arguments.x, hidden, "hidden", layer.rows, layer.outputs)
    check_result(arguments.x, gates, "gates", layer.rows * (layer.kind >= GRU), layer.kept)
    check_result(arguments.x, cells, "cells", layer.rows * has_cell, layer.width)
    return 0

cdef int check_result(TensorBase x, TensorBase result, str name, ssize rows, ssize columns) except -1:
    check_same_place(x, result, "recurrent_layer_backward")
    return check_shape(result, name, 2, rows, columns)


@RECURRENT_LAYER_BACKWARD.derivative("tensors", is_list=True)
def recurrent_layer_backward_derivative(grads, tensors, kind, has_bias, is_reverse, batch_sizes):
    cdef bint is_recorded = will_differentiate_again(), mode = thread_state().grad_mode
    set_grad_mode(True)                         # the formula is differentiated twice, whether this is recorded or not
    try:
        return formula.second_gradients(grads, tensors[:GRADS], tensors[GRADS:], (kind, has_bias, is_reverse, batch_sizes),
                                        is_recorded)
    finally:
        set_grad_mode(mode)
