"""The engine: reads the graph backwards and gives every leaf its gradient.

A backward pass is a *graph task*:

1. count     walk from the roots over all edges; for each node, how many edges arrive at it
2. select    with `inputs=`, mark the nodes from which some input can be reached; the others are not run
3. run       a ready queue of nodes all of whose gradients have arrived, latest-made first. Take one, let it turn its incoming
             gradient into those of its edges, add each to what waits at the next node, and count that node down.

Nothing here recurses, so depth costs nothing but memory. A node's position in the task's tables is kept in the node itself by
the task that started first; a task that runs inside another one (a hook that calls backward), or in another thread
meanwhile, keeps its positions in a dict, so that the two cannot disturb each other.
"""
cimport cython
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_SET_ITEM
from libc.stdlib cimport free, realloc

from tensorlab._core.dtypes cimport FLOAT64, dtype_object, is_floating
from tensorlab._core.graph cimport (
    AccumulateGrad,
    GraphTask,
    Meta,
    Node,
    grad_fn_of,
    gradient_edge,
    is_wanted,
    needs_grad,
    thread_state,
)
from tensorlab._core.layout cimport is_dense, shape_text
from tensorlab._core.loops cimport fill_with
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase, empty_tensor, make_size

from tensorlab.errors import GradientError

cdef extern from *:
    Py_ssize_t references "Py_REFCNT"(PyObject*)

cdef unsigned long task_serial = 0
cdef int tasks_running = 0


# ---------------------------------------------------------------- the ready queue
cdef class ReadyQueue:
    """A binary heap of nodes; the one made last comes out first."""
    cdef list nodes

    def __cinit__(self):
        self.nodes = []

    cdef int push(self, Node node) except -1:
        cdef list nodes = self.nodes
        cdef Py_ssize_t i = len(nodes), parent
        nodes.append(node)
        while i > 0:
            parent = (i - 1) // 2
            if (<Node>PyList_GET_ITEM(nodes, parent)).sequence >= node.sequence:
                break
            nodes[i] = nodes[parent]
            i = parent
        nodes[i] = node
        return 0

    cdef Node pop(self):
        """Take out the node made last; the last of the list then sinks to its place."""
        cdef list nodes = self.nodes
        cdef Node last = nodes.pop(), top
        cdef Py_ssize_t i = 0, child, n = len(nodes)
        if n == 0:
            return last
        top = <Node>nodes[0]
        while True:
            child = 2 * i + 1
            if child >= n:
                break
            if child + 1 < n and (<Node>PyList_GET_ITEM(nodes, child + 1)).sequence > (
                    <Node>PyList_GET_ITEM(nodes, child)).sequence:
                child += 1
            if (<Node>PyList_GET_ITEM(nodes, child)).sequence <= last.sequence:
                break
            nodes[i] = nodes[child]
            i = child
        nodes[i] = last
        return top


# ---------------------------------------------------------------- a graph task
@cython.final
cdef class Task(GraphTask):
    """The tables of one backward pass. A node's slot is its row in them."""
    cdef unsigned long serial
    cdef dict positions         # node: slot; None for the task that may use the nodes' own fields
    cdef int* missing           # for each slot: gradients still to come
    cdef Py_ssize_t capacity
    cdef list nodes             # for each slot: the node,
    cdef list waiting           # and the gradient that waits there (a list of them, if the op had several outputs)
    cdef dict captures          # node: list of (output number, position in `captured`)
    cdef list captured
    cdef bint accumulates       # False for autograd.grad: leaves get nothing

    def __cinit__(self):
        global task_serial
        task_serial += 1
        self.serial = task_serial
        self.positions = None if tasks_running == 0 else {}
        self.nodes = []
        self.waiting = []

    def __dealloc__(self):
        free(self.missing)

    cdef Py_ssize_t find(self, Node node) except -2:
        """The slot of a node, or -1 if this task has not met it."""
        if self.positions is None:
            return node.slot if node.task == self.serial else -1
        return self.positions.get(node, -1)

    cdef Py_ssize_t add(self, Node node) except -2:
        cdef Py_ssize_t slot = len(self.nodes)
        cdef int* grown
        if slot == self.capacity:
            grown = <int*>realloc(self.missing, (2 * slot + 64) * sizeof(int))
            if grown == NULL:
                raise MemoryError()
            self.missing = grown
            self.capacity = 2 * slot + 64
        self.missing[slot] = 0
        self.nodes.append(node)
        self.waiting.append(None)
        if self.positions is None:
            node.task = self.serial
            node.slot = slot
        else:
            self.positions[node] = slot
        return slot


cdef int count(Task task, list roots) except -1:
    """Give every reachable node a slot and count the edges that arrive at it."""
    cdef list stack = []
    cdef Py_ssize_t slot, i, n
    cdef Node node, next_node
    cdef tuple edges
    for root in roots:
        node = <Node>root
        if task.find(node) < 0:
            task.add(node)
            stack.append(node)
    while stack:
        node = <Node>stack.pop()
        edges = node.edges
        n = PyTuple_GET_SIZE(edges)
        for i in range(n):
            if <object>PyTuple_GET_ITEM(edges, i) is not None:
                next_node = <Node>PyTuple_GET_ITEM(edges, i)
                slot = task.find(next_node)
                if slot < 0:
                    slot = task.add(next_node)
                    stack.append(next_node)
                task.missing[slot] += 1
    return 0


cdef int select(Task task, list targets) except -1:
    """Mark the targets and every node from which one can be reached: depth first, without recursion."""
    cdef set needed = set(targets), seen = set()
    cdef list stack
    cdef Node node
    cdef object child
    cdef Py_ssize_t at
    task.is_selective = True
    task.needed = needed
    for start in task.nodes:                # every node has a slot
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, 0)]                # a node, and which of its edges comes next
        while stack:
            node, at = stack.pop()
            if at > 0 and node.edges[at - 1] in needed:
                needed.add(node)
            if at < PyTuple_GET_SIZE(node.edges):
                stack.append((node, at + 1))
                child = node.edges[at]
                if child is not None and child not in seen:
                    seen.add(child)
                    stack.append((child, 0))
    return 0


# ---------------------------------------------------------------- gradients on their way
cdef object fit(object grad, Meta* meta, Node source):
    """The gradient in the shape and type of the forward output it belongs to: summed over what was broadcast."""
    cdef TensorBase g
    cdef int i
    cdef bint same
    if not isinstance(grad, TensorBase):
        raise TypeError(f"{source.name()}: returned a gradient of type {type(grad).__name__}; a Tensor or None is needed")
    g = <TensorBase>grad
    same = g.ndim_ == meta.ndim
    if same:
        for i in range(meta.ndim):
            if g.sizes[i] != meta.sizes[i]:
                same = False
    if not same:
        if not is_expandable(meta, g):
            raise GradientError(f"{source.name()}: returned a gradient of shape {shape_text(g.ndim_, g.sizes)} where "
                                f"{shape_text(meta.ndim, meta.sizes)} is expected")
        grad = grad.sum_to_size(make_size(meta.ndim, meta.sizes))
        g = <TensorBase>grad
    if not is_floating(meta.dtype):
        raise GradientError(f"{source.name()}: leads to a tensor of {dtype_object(meta.dtype)}, and integers have no gradient")
    if g.dtype_ != meta.dtype:
        grad = grad.to(dtype_object(meta.dtype))
    return grad


cdef bint is_expandable(Meta* meta, TensorBase g) noexcept:
    """Would a tensor of the meta's shape broadcast to g's?"""
    cdef int i, shift = g.ndim_ - meta.ndim
    if shift < 0:
        return False
    for i in range(meta.ndim):
        if meta.sizes[i] != 1 and meta.sizes[i] != g.sizes[i + shift]:
            return False
    return True


cdef int deliver(Task task, Node node, Py_ssize_t slot, int output_number, object grad) except -1:
    """Add a gradient to what waits at a node, whose slot is given."""
    cdef list several
    if node.output_count == 1:
        add_to(task.waiting, slot, grad)
        return 0
    if task.waiting[slot] is None:
        task.waiting[slot] = [None] * node.output_count
    several = <list>task.waiting[slot]
    add_to(several, output_number, grad)
    return 0


cdef int add_to(list gradients, Py_ssize_t i, object grad) except -1:
    """gradients[i] += grad; in the memory of the first, if nobody else can see that."""
    cdef TensorBase waiting = <TensorBase>PyList_GET_ITEM(gradients, i)
    if waiting is None:
        gradients[i] = grad
    elif (not thread_state().grad_enabled and references(<PyObject*>waiting) == 2 and references(
            <PyObject*>waiting.storage_) == 1
            and is_dense(waiting.ndim_, waiting.sizes, waiting.strides)):
        (<object>waiting).add_(grad)            # 2 references: the list's and ours
    else:
        gradients[i] = waiting + grad
    return 0


cdef object run_tensor_hooks(Node node, object grad):
    """Call the hooks of the tensors that the node made; each may replace the gradient. Retained gradients come last."""
    cdef list grads = [grad] if node.output_count == 1 else grad if grad is not None else [None] * node.output_count
    cdef int number
    cdef TensorBase holder
    if node.tensor_hooks is not None:
        for number, _, function in list(node.tensor_hooks):
            grads[number] = checked_hook_result(function(grads[number]), grads[number])
    if node.retaining is not None:
        for number, reference in list(node.retaining.items()):
            holder = <TensorBase>reference()
            if holder is not None and grads[number] is not None and not is_stale(holder):
                holder.gradient = (grads[number].clone() if holder.gradient is None
                                   else holder.gradient + grads[number])
    return grads[0] if node.output_count == 1 else grads


cdef bint is_stale(TensorBase x) noexcept:
    """Has a view got another node meanwhile, to which its retained gradient belongs, though nobody has looked yet?"""
    return x.base is not None and x.creation == VIEW_DEFAULT and x.counter.value != x.view_version


cdef object run_leaf_hooks(TensorBase leaf, object grad):
    for _, function in list(leaf.hooks):
        grad = checked_hook_result(function(grad), grad)
    return grad


cdef object checked_hook_result(object result, object grad):
    if result is None:
        return grad
    if not isinstance(result, TensorBase):
        raise TypeError(f"hook: must return None or a Tensor, not {type(result).__name__}")
    if grad is None:
        raise GradientError("hook: there was no gradient (None), so a hook cannot replace it with one")
    if result.shape != grad.shape:
        raise GradientError(f"hook: returned a gradient of shape {tuple(result.shape)} in place of one of shape "
                            f"{tuple(grad.shape)}")
    if result.dtype != grad.dtype:
        raise GradientError(f"hook: returned a gradient of type {result.dtype} in place of one of type {grad.dtype}")
    return result


# ---------------------------------------------------------------- the run
cdef int run(Task task, ReadyQueue ready) except -1:
    """Run every node whose gradients have all arrived, until none is left."""
    cdef Node node, next_node
    cdef object grad, one
    cdef tuple out, edges
    cdef Py_ssize_t slot, i, n
    cdef int number
    while ready.nodes:
        node = ready.pop()
        slot = task.find(node)
        grad = task.waiting[slot]
        task.waiting[slot] = None
        task.nodes[slot] = None             # the node will not run again: it may be freed as soon as its users let go
        if node.tensor_hooks is not None or node.retaining is not None:
            grad = run_tensor_hooks(node, grad)
        if type(node) is AccumulateGrad and (<AccumulateGrad>node).variable.hooks:
            grad = run_leaf_hooks((<AccumulateGrad>node).variable, grad)
        if task.captures is not None and node in task.captures:
            for number, i in task.captures[node]:
                task.captured[i] = grad if node.output_count == 1 or grad is None else grad[number]
        edges = node.edges
        n = PyTuple_GET_SIZE(edges)
        if task.is_selective and not (task.accumulates if type(node) is AccumulateGrad else leads_on(task, node)):
            out = (None,) * n               # a target: the way ends here
        else:
            out = node.apply(grad, task)
            if not task.keep_graph:
                node.release_saved()
        grad = None
        for i in range(n):
            if <object>PyTuple_GET_ITEM(edges, i) is None:
                continue
            next_node = <Node>PyTuple_GET_ITEM(edges, i)
            if task.is_selective and next_node not in task.needed:
                continue
            number = node.edge_outputs[i] if node.edge_outputs != NULL else 0
            slot = task.find(next_node)
            one = take(out, i)
            if one is not None:
                one = fit(one, &next_node.metas[number], node)
                deliver(task, next_node, slot, number, one)
                one = None
            task.missing[slot] -= 1
            if task.missing[slot] == 0:
                ready.push(next_node)
        out = None
    return 0


cdef inline object take(tuple out, Py_ssize_t i):
    """Move item i out of a tuple that nobody else holds, so that its reference count tells who else wants it."""
    cdef object one = <object>PyTuple_GET_ITEM(out, i)
    Py_INCREF(None)
    PyTuple_SET_ITEM(out, i, None)              # does not count down what was there: that reference is freed here
    Py_DECREF(one)
    return one


cdef bint leads_on(Task task, Node node):
    """Is some gradient wanted beyond this node?"""
    for child in node.edges:
        if child is not None and child in task.needed:
            return True
    return False


cdef object execute(list tensors, list grads, bint keep_graph, bint create_graph, list targets, bint accumulate):
    """Run one backward pass and return the gradients captured at `targets`, a list of tensors.

    Without targets every leaf is reached. With `accumulate` the targets that are leaves get their `.grad`, else nothing does.
    """
    global tasks_running
    cdef Task task
    cdef ReadyQueue ready = ReadyQueue()
    cdef list roots = [], target_nodes = []
    cdef bint was_enabled = thread_state().grad_enabled
    cdef Py_ssize_t slot, i
    cdef Node node
    cdef TensorBase x
    for tensor in tensors:
        roots.append(gradient_edge(<TensorBase>tensor))
    task = Task()
    task.keep_graph = keep_graph
    task.create_graph = create_graph
    task.accumulates = accumulate
    tasks_running += 1
    thread_state().backward_depth += 1
    thread_state().grad_enabled = create_graph
    try:
        count(task, roots)
        if targets is not None:
            task.captures = {}
            task.captured = [None] * len(targets)
            for i in range(len(targets)):
                x = <TensorBase>targets[i]
                node = gradient_edge(x)
                if node is None:            # a view made under no_grad: nothing leads there
                    continue
                target_nodes.append(node)
                if not accumulate or type(node) is not AccumulateGrad:
                    task.captures.setdefault(node, []).append((x.output_number, i))
            select(task, target_nodes)
        for i in range(len(tensors)):
            x = <TensorBase>tensors[i]
            node = <Node>roots[i]
            deliver(task, node, task.find(node), x.output_number, fit(grads[i], &node.metas[x.output_number], node))
        for node in set(roots):
            slot = task.find(node)
            if task.missing[slot] == 0 and is_wanted(task, node):       # else another root leads to this one
                ready.push(node)
        run(task, ready)
    finally:
        thread_state().grad_enabled = was_enabled
        thread_state().backward_depth -= 1
        tasks_running -= 1
    return task.captured


# ---------------------------------------------------------------- the public functions
cdef list first_gradients(list tensors, object given, str where):
    """The gradients to start from: those given, or 1 for a single-element tensor."""
    cdef list grads = list(given)
    cdef Py_ssize_t i
    cdef TensorBase x
    if len(grads) != len(tensors):
        raise GradientError(f"{where}: {len(tensors)} tensors but {len(grads)} gradients are given")
    for i in range(len(tensors)):
        x = <TensorBase?>tensors[i]
        if not needs_grad(x) or (grad_fn_of(x) is None and not x.wants_grad):
            raise GradientError(f"{where}: tensor {i} does not require grad and was not computed from one that does; "
                                f"call requires_grad_() on the leaves before computing it")
        if not is_floating(x.dtype_):
            raise GradientError(f"{where}: gradients exist for floating types only, not {x.dtype}")
        if grads[i] is None:
            if x.numel_ != 1:
                raise GradientError(f"{where}: the tensor has shape {shape_text(x.ndim_, x.sizes)}; a gradient can be made "
                                    f"up only for one element. Reduce it, as in .sum(), or pass gradient=")
            grads[i] = one_like(x)
        elif not isinstance(grads[i], TensorBase):
            raise TypeError(f"{where}: gradients must be Tensors or None, not {type(grads[i]).__name__}")
        elif (<TensorBase>grads[i]).shape != x.shape:
            raise GradientError(f"{where}: the gradient has shape {tuple(grads[i].shape)}, but the tensor has shape "
                                f"{tuple(x.shape)}")
        elif (<TensorBase>grads[i]).dtype_ != x.dtype_:
            grads[i] = grads[i].to(x.dtype)
    return grads


cdef TensorBase one_like(TensorBase x):
    """A 1 in the shape and type of x, which has one element."""
    cdef TensorBase out = empty_tensor(x.dtype_, x.ndim_, x.sizes)
    cdef double one = 1
    fill_with(out, &one, FLOAT64)
    return out


cdef list as_list(object value):
    return [value] if isinstance(value, TensorBase) or value is None else list(value)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None):
    """Add to the `.grad` of each leaf the gradient of the sum of `tensors` by that leaf.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor
    grad_tensors : Tensor, None, or a sequence of them; the vectors of the vector-Jacobian product, one for each tensor of
        its shape; may be None for a tensor of one element
    retain_graph : bool; keep what was saved, so that backward can run again. As `create_graph` unless given
    create_graph : bool; record the backward pass itself, for higher derivatives
    inputs : Tensor or sequence of Tensor; only these get a `.grad`

    Raises
    ------
    GradientError
        If a tensor has no graph, needs a gradient that was not given, or something that was saved is gone or was changed.
    """
    cdef list roots = as_list(tensors), targets = None, found
    cdef list grads = [None] * len(roots) if grad_tensors is None else as_list(grad_tensors)
    cdef TensorBase x
    if inputs is not None:
        targets = []
        if len(as_list(inputs)) == 0:
            raise GradientError("backward: inputs is empty; leave it away to reach all leaves")
        for tensor in as_list(inputs):
            x = <TensorBase?>tensor
            if not needs_grad(x):
                raise GradientError("backward: one of the inputs does not require grad")
            targets.append(x)
    grads = first_gradients(roots, grads, "backward")
    found = execute(roots, grads, create_graph if retain_graph is None else retain_graph, create_graph, targets, True)
    if targets is not None:
        for x, gradient in zip(targets, found):         # those that are no leaves
            if gradient is not None:
                x.gradient = gradient if x.gradient is None else x.gradient + gradient


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """The gradient of the sum of `outputs` by each of `inputs`, as a tuple; no `.grad` is touched.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
    grad_outputs : as `grad_tensors` of `backward`
    retain_graph, create_graph : as in `backward`
    allow_unused : bool; give None for an input that the outputs do not depend on, instead of raising
    materialize_grads : bool; give zeros in place of None

    Returns
    -------
    tuple of Tensor, one of each input's shape
    """
    cdef list roots = as_list(outputs), wanted = as_list(inputs), found
    cdef list grads = [None] * len(roots) if grad_outputs is None else as_list(grad_outputs)
    cdef TensorBase x
    cdef Py_ssize_t i
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched is not supported; call grad once for each gradient")
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: with materialize_grads every input may be unused; do not pass allow_unused=False")
    if allow_unused is None:
        allow_unused = materialize_grads
    grads = first_gradients(roots, grads, "grad")
    for tensor in wanted:
        x = <TensorBase?>tensor
        if not needs_grad(x):
            raise GradientError("grad: one of the inputs does not require grad; call requires_grad_() on it before "
                                "computing the outputs")
    found = execute(roots, grads, create_graph if retain_graph is None else retain_graph, create_graph, wanted, False)
    for i in range(len(found)):
        if found[i] is None:
            if materialize_grads:
                found[i] = wanted[i].new_zeros(wanted[i].shape)
            elif not allow_unused:
                raise GradientError(f"grad: input {i} was not used to compute the outputs; pass allow_unused=True to get "
                                    f"None for it")
    return tuple(found)
