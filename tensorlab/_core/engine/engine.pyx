"""The engine: reads the graph backwards and gives every leaf its gradient.

A backward pass is a *graph task*. Its first two steps, `count` and `select`, are in graph_task.pyx: which nodes run, and how many
gradients each of them waits for. The third is here:

run          a ready queue of nodes all of whose gradients have arrived, latest-made first. Take one, let it turn its incoming
             gradient into those of its edges, add each to the input buffer of the next node, and count down that node's
             dependencies.
"""
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.sequence cimport PySequence_Fast_ITEMS
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_SET_ITEM

from threading import Thread

from tensorlab._core.dtypes cimport COMPLEX, FLOAT64, dtype_object, is_differentiable, is_in
from tensorlab._core.engine.graph_task cimport ReadyQueue, Task, count, select, start_task
from tensorlab._core.engine.node_hooks cimport (
    run_leaf_hooks, run_posthooks, run_prehooks, run_tensor_hooks
)
from tensorlab._core.graph.accumulate_grad cimport AccumulateGrad, gradient_edge, transfer_lock
from tensorlab._core.graph.anomaly cimport find_nan, is_anomaly_on, tell_where
from tensorlab._core.graph.graph cimport GraphTask, InputMetadata, Node, has_shape_of, is_wanted
from tensorlab._core.layout cimport is_dense, shape_text
from tensorlab._core.loops.iterator cimport fill_with
from tensorlab._core.profiling cimport (
    BACKWARD, EVALUATION, close_inner_records, close_record, innermost_record, is_profiling,
    note_inputs, open_record, records_inputs
)
from tensorlab._core.state.devices cimport ON_META, SHELL
from tensorlab._core.state.modes cimport (
    ThreadState, active_layers, call_with_overrides, set_grad_mode, set_overrides_disabled,
    thread_state
)
from tensorlab._core.tensor cimport (
    BOXED, LAZY, TensorBase, empty_beside, empty_tensor, make_size
)

from tensorlab._core.device import CPU, device_of_code
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.state.modes import in_forked_children
from tensorlab.errors import GradientError

cdef extern from *:
    Py_ssize_t references "Py_REFCNT"(PyObject*)

cdef enum:
    MAX_REENTRANT_DEPTH = 60    # nested backward passes in one thread; the next one runs in a new thread

cdef int tasks_running = 0          # in all threads

def count_tasks_again():
    """In a forked child, which has only the thread that forked: the passes of the others will never end."""
    global tasks_running
    tasks_running = thread_state().backward_depth

in_forked_children(count_tasks_again)


# ---------------------------------------------------------------- gradients on their way
cdef TensorBase filled_gradient(InputMetadata* metadata, double value, object like):
    """A gradient with the same number everywhere, on the device of `like` (which need be no tensor)."""
    cdef TensorBase out
    if isinstance(like, TensorBase) and (<TensorBase>like).keys:        # the gradient of a wrapper is one, too
        return <TensorBase?>REGISTRY["new_full"](like, make_size(metadata.ndim, metadata.sizes), value,
                                                 dtype_object(metadata.dtype), None)
    if active_layers:                   # they see the op that makes it
        return <TensorBase?>REGISTRY["full"](make_size(metadata.ndim, metadata.sizes), value, dtype_object(metadata.dtype),
                                             like.device if isinstance(like, TensorBase) else CPU)
    if isinstance(like, TensorBase):
        out = empty_beside(<TensorBase>like, metadata.dtype, metadata.ndim, metadata.sizes)
    else:
        out = empty_tensor(metadata.dtype, metadata.ndim, metadata.sizes)
    fill_with(out, &value, FLOAT64)
    return out


cdef object validate_grad(object grad, InputMetadata* metadata, Node source):
    """The gradient in the shape and type of the forward output that it belongs to: summed over
    what was broadcast, and moved to where that is."""
    cdef TensorBase g
    cdef int place
    if not isinstance(grad, TensorBase):
        raise TypeError(f"{source.name()}: returned a gradient of type {type(grad).__name__}; "
                        "a Tensor or None is needed")
    g = <TensorBase>grad
    if not has_shape_of(g, metadata):
        if not is_expandable(metadata, g):
            raise GradientError(
                f"{source.name()}: returned a gradient of shape {shape_text(g.ndim_, g.sizes)} "
                f"where {shape_text(metadata.ndim, metadata.sizes)} is expected")
        grad = grad.sum_to_size(make_size(metadata.ndim, metadata.sizes))
        if not isinstance(grad, TensorBase) or not has_shape_of(<TensorBase>grad, metadata):
            raise TypeError(f"{source.name()}: {type(g).__name__}.sum_to_size gave a "
                            f"{type(grad).__name__} of another shape than "
                            f"{shape_text(metadata.ndim, metadata.sizes)}")
        g = <TensorBase>grad
    if not is_differentiable(metadata.dtype):
        raise GradientError(f"{source.name()}: leads to a tensor of "
                            f"{dtype_object(metadata.dtype)}, and integers have no gradient")
    if is_in(g.dtype_, COMPLEX) and not is_in(metadata.dtype, COMPLEX):
        grad = <TensorBase?>grad.real       # a real number took part in a complex calculation
        g = <TensorBase>grad
    if g.dtype_ != metadata.dtype:
        grad = <TensorBase?>grad.to(dtype_object(metadata.dtype))
    if g.keys & LAZY:                       # what is added up, and kept, is plain memory
        grad = <TensorBase?>grad.clone()
    place = g.storage_.device & ~SHELL
    if place != metadata.device and place != ON_META and metadata.device != ON_META:
        # forward was a copy to another device
        grad = <TensorBase?>grad.to(device_of_code(metadata.device))
    return grad


cdef bint is_expandable(InputMetadata* metadata, TensorBase g) noexcept:
    """Would a tensor of the meta's shape broadcast to g's?"""
    cdef int i, shift = g.ndim_ - metadata.ndim
    if shift < 0:
        return False
    for i in range(metadata.ndim):
        if metadata.sizes[i] != 1 and metadata.sizes[i] != g.sizes[i + shift]:
            return False
    return True


cdef int accumulate(Task task, Node node, Py_ssize_t slot, int output_number,
                    object grad) except -1:
    """Add a gradient to the input buffer of a node, whose slot is given."""
    cdef list several
    if node.output_count == 1:
        add_to(task.input_buffers, slot, grad)
        return 0
    if task.input_buffers[slot] is None:
        task.input_buffers[slot] = [None] * node.output_count
    several = <list>task.input_buffers[slot]
    add_to(several, output_number, grad)
    return 0


cdef int add_to(list gradients, Py_ssize_t i, object grad) except -1:
    """gradients[i] += grad; in the memory of the first, if nothing else can see that. What a wrapper holds may be a view of
    what another one holds, of which its own storage knows nothing."""
    cdef TensorBase waiting = <TensorBase>PyList_GET_ITEM(gradients, i)
    if waiting is None:
        gradients[i] = grad
    elif (not thread_state().grad_enabled and references(<PyObject*>waiting) == 2
            and references(<PyObject*>waiting.storage_) == 1 and not waiting.storage_.device & SHELL
            and not (waiting.keys | (<TensorBase>grad).keys) & BOXED
            and is_dense(waiting.ndim_, waiting.sizes, waiting.strides)):
        (<object>waiting).add_(grad)            # 2 references: the list's and ours
    else:
        gradients[i] = <TensorBase?>(waiting + grad)
    return 0


# ---------------------------------------------------------------- the run
cdef int run(Task task, ReadyQueue ready) except -1:
    """Run every node whose gradients have all arrived, until none is left."""
    cdef Node node, next_node
    cdef object grad, one
    cdef tuple out, edges
    cdef Py_ssize_t slot, i, n
    cdef long long record = -1
    cdef int number
    while ready.nodes:
        node = ready.pop()
        if is_profiling:
            record = open_record(EVALUATION, node.label(), node.sequence_number)
        slot = task.find(node)
        grad = task.input_buffers[slot]
        task.input_buffers[slot] = None
        task.nodes[slot] = None             # it runs only once, and may be freed once unused
        if node.extras is not None and (
                node.extras.tensor_hooks is not None or node.extras.retaining is not None):
            grad = run_tensor_hooks(node, grad)
        if type(node) is AccumulateGrad and (<AccumulateGrad>node).variable.hooks:
            grad = run_leaf_hooks((<AccumulateGrad>node).variable, grad)
        if task.captures is not None and node in task.captures:
            capture(task, node, grad)
        edges = node.edges
        n = PyTuple_GET_SIZE(edges)
        if task.is_selective and not should_execute(task, node):
            out = (None,) * n               # the way ends here
        else:
            if node.extras is not None and node.extras.prehooks:
                grad = run_prehooks(node, grad)
            out = (run_alone(node, grad, task)
                   if node.extras is None and not is_anomaly_on() and not is_profiling
                   else apply_with_hooks(node, grad, task))
            if not task.keep_graph:
                node.release_saved()
        grad = None
        for i in range(n):
            if <object>PyTuple_GET_ITEM(edges, i) is None:
                continue
            next_node = <Node>PyTuple_GET_ITEM(edges, i)
            number = node.edge_outputs[i] if node.edge_outputs != NULL else 0
            one = take(out, i)
            if one is not None:
                one = validate_grad(one, &next_node.input_metadata[number], node)
            if task.is_selective and next_node not in task.needed:
                continue
            slot = task.find(next_node)
            if one is not None:
                accumulate(task, next_node, slot, number, one)
                one = None
            task.dependencies[slot] -= 1
            if task.dependencies[slot] == 0:
                ready.push(next_node)
        out = None
        close_record(record, node.sequence_number)
    return 0


cdef int capture(Task task, Node node, object grad) except -1:
    """Keep the gradients that came in at a node for the caller, who asked for them."""
    for number, i in task.captures[node]:
        task.captured[i] = grad if node.output_count == 1 or grad is None else grad[number]
    return 0


cdef inline tuple run_alone(Node node, object grad, GraphTask task):
    """Run a node that has no hooks, unless an unpack function say gives it some meanwhile."""
    cdef tuple out = node.apply(grad, task)
    if node.extras is not None and node.extras.posthooks:
        return run_posthooks(node, validate_outputs(node, out), grad)
    return out


cdef tuple apply_with_hooks(Node node, object grad, GraphTask task):
    """Run a node, then its posthooks; in anomaly mode, say where its forward op was called if it fails or makes NaN.

    A profile gets a record of it.
    """
    cdef PyObject* outer = thread_state().running
    cdef tuple out
    cdef bint watched = is_anomaly_on()
    cdef long long record = record_of(node, grad) if is_profiling else -1
    if watched:
        thread_state().running = <PyObject*>node
    try:
        out = node.apply(grad, task)
        if node.extras is not None and node.extras.posthooks:
            out = run_posthooks(node, validate_outputs(node, out), grad)
        if watched:
            find_nan(node, out)
        return out
    except Exception as error:
        if watched:
            tell_where(node, error)
        raise
    finally:
        close_record(record, node.sequence_number)
        thread_state().running = outer


cdef long long record_of(Node node, object grad) except -2:
    """Begin the record of a node, with the shapes of the gradients that come in."""
    cdef long long record = open_record(BACKWARD, node.label(), node.sequence_number)
    cdef PyObject* one = <PyObject*>grad
    if records_inputs and isinstance(grad, list):
        note_inputs(record, PySequence_Fast_ITEMS(grad), <int>len(<list>grad))
    elif records_inputs:
        note_inputs(record, &one, 1)
    return record


cdef tuple validate_outputs(Node node, tuple out):
    """The gradients that a node gives its edges, each validated, as hooks are to see them."""
    cdef list validated = list(out)
    cdef Py_ssize_t i
    cdef Node next_node
    cdef int number
    for i in range(len(validated)):
        if validated[i] is not None and node.edges[i] is not None:
            next_node = <Node>node.edges[i]
            number = node.edge_outputs[i] if node.edge_outputs != NULL else 0
            validated[i] = validate_grad(validated[i], &next_node.input_metadata[number], node)
    return tuple(validated)


cdef inline object take(tuple out, Py_ssize_t i):
    """Move item i out of a tuple that nothing else holds, so that its reference count shows whether anything else wants it."""
    cdef object one = <object>PyTuple_GET_ITEM(out, i)
    Py_INCREF(None)
    PyTuple_SET_ITEM(out, i, None)              # does not count down what was there: that reference is freed here
    Py_DECREF(one)
    return one


cdef bint should_execute(Task task, Node node):
    """Does this node run? A target of autograd.grad does only if another target lies beyond it; one of backward(inputs=) always.

    (So does PyTorch: what the node had saved is freed then, and its hooks are called, though no gradient goes out.)
    """
    if task.accumulates:
        return node in task.needed
    for child in node.edges:
        if child is not None and child in task.needed:
            return True
    return False


cdef Node edge_of(object end, int* output_number):
    """The node that the gradient of a tensor or a GradientEdge goes to, and which of its outputs that is."""
    cdef Node node
    if isinstance(end, TensorBase):
        node = gradient_edge(<TensorBase>end)
        output_number[0] = (<TensorBase>end).output_number
        return node
    if not isinstance(end.node, Node):
        raise TypeError(f"GradientEdge: node must be a node of the graph, such as get_gradient_edge gives, not "
                        f"{type(end.node).__name__}")
    node = <Node>end.node
    output_number[0] = end.output_nr
    if not 0 <= output_number[0] < node.output_count or node.input_metadata[output_number[0]].ndim < 0:
        raise GradientError(f"GradientEdge: {node.name()} has no gradient for output {output_number[0]}; it has "
                            f"{node.output_count} outputs")
    return node


cdef list execute(list ends, list grads, bint keep_graph, bint create_graph, list targets, bint accumulate_grad):
    """Run one backward pass from `ends` and return the gradients captured at `targets`: lists of tensors and GradientEdges.

    Without targets every leaf is reached. With `accumulate_grad` the targets that are leaves get their `.grad`, else nothing
    does.
    """
    global tasks_running
    cdef Task task
    cdef ReadyQueue ready = ReadyQueue()
    cdef list roots = [], root_outputs = [], target_nodes = []
    cdef bint was_enabled, were_disabled
    cdef PyObject* outer = thread_state().task
    cdef Py_ssize_t slot, i
    cdef long long outer_record = innermost_record()
    cdef Node node
    cdef int number = 0
    if thread_state().backward_depth >= MAX_REENTRANT_DEPTH:
        return execute_in_new_thread([ends, grads, keep_graph, create_graph, targets, accumulate_grad])
    for end in ends:
        roots.append(edge_of(end, &number))
        root_outputs.append(number)
    task = start_task(tasks_running == 0)
    task.keep_graph = keep_graph
    task.create_graph = create_graph
    task.accumulates = accumulate_grad
    tasks_running += 1
    thread_state().backward_depth += 1
    was_enabled = set_grad_mode(create_graph)
    were_disabled = set_overrides_disabled(True)
    thread_state().task = <PyObject*>task
    try:
        count(task, roots)
        if targets is not None:
            task.captures = {}
            task.captured = [None] * len(targets)
            for i in range(len(targets)):
                node = edge_of(targets[i], &number)
                if node is None:            # a view made under no_grad: nothing leads there
                    continue
                target_nodes.append(node)
                if not accumulate_grad:
                    task.captures.setdefault(node, []).append((number, i))
            select(task, target_nodes)
        for i in range(len(ends)):
            node = <Node>roots[i]
            number = root_outputs[i]
            accumulate(task, node, task.find(node), number, validate_grad(grads[i], &node.input_metadata[number], node))
        for node in set(roots):
            slot = task.find(node)
            # else another root leads to this one, or nothing wanted lies behind it; but hooks of a single root always run
            if task.dependencies[slot] == 0 and (is_wanted(task, node) or len(roots) == 1):
                ready.push(node)
        run(task, ready)
        if callbacks:
            run_callbacks(task.serial)
    finally:
        if callbacks:
            callbacks.pop(task.serial, None)
        close_inner_records(outer_record)           # of a node that has raised
        set_grad_mode(was_enabled)
        set_overrides_disabled(were_disabled)
        thread_state().backward_depth -= 1
        thread_state().task = outer
        tasks_running -= 1
    return task.captured


cdef dict callbacks = {}            # number of a running pass: what to call at its end

def queue_callback(callback):
    """Call a function when the backward pass that calls us, from a hook say, has come to its end without an error.

    It is called without arguments, in the grad mode of the pass, after those queued before; it may queue others.

    Raises
    ------
    RuntimeError
        If no backward pass is running in this thread.
    """
    if current_task() == -1:
        raise GradientError("queue_callback: no backward pass is running; call it in a hook or in the backward of a Function")
    if not callable(callback):
        raise TypeError(f"queue_callback: the callback must be a function, not {type(callback).__name__}")
    callbacks.setdefault(current_task(), []).append(callback)


cdef int run_callbacks(unsigned long serial) except -1:
    cdef list queued = callbacks.get(serial, [])
    for callback in queued:             # the list may grow meanwhile
        call_with_overrides(callback, ())
    return 0


def current_task():
    """The number of the backward pass that calls us, from a hook say; -1 outside one."""
    return (<Task>thread_state().task).serial if thread_state().task != NULL else -1


def will_run(Node node not None):
    """Does a gradient come to this node in the backward pass that calls us?"""
    cdef Task task
    if thread_state().task == NULL:
        raise GradientError("will_run: no backward pass is running; call it in a hook")
    task = <Task>thread_state().task
    return task.find(node) >= 0 and is_wanted(task, node)


def reaches_all_leaves():
    """Does the backward pass that calls us go everywhere? Not with autograd.grad or inputs=. True outside one."""
    return thread_state().task == NULL or not (<Task>thread_state().task).is_selective


cdef list execute_in_new_thread(list arguments):
    """Run a backward pass inside many others in a new thread, whose stack is empty, and wait for it."""
    cdef list outcome = []
    worker = Thread(target=execute_as, args=(<size_t>thread_state(), PyThread_get_thread_ident(), arguments, outcome))
    worker.start()
    worker.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def execute_as(size_t state, long caller, list arguments, list outcome):
    """In a new thread: run `execute` in the modes, and with the lock, of the thread that waits; its state is at this address."""
    cdef ThreadState* mine = thread_state()
    mine[0] = (<ThreadState*>state)[0]
    mine.backward_depth = 0
    if mine.packing != NULL:
        Py_INCREF(<object>mine.packing)
    transfer_lock(caller, PyThread_get_thread_ident())
    try:
        outcome.append(execute(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]))
    except BaseException as error:
        outcome.append(error)
    finally:
        transfer_lock(PyThread_get_thread_ident(), caller)
        if mine.packing != NULL:
            Py_DECREF(<object>mine.packing)
