"""A graph task: which nodes a backward pass runs, and in what order.

1. count     go from the roots over all edges; for each node, how many edges arrive at it
2. select    with `inputs=`, mark the nodes from which some input can be reached; the others are not run

Then the engine runs it (engine.pyx). Nothing here recurses, so depth costs nothing but memory. A node's position in the task's
tables is kept in the node itself by a task that starts while no other runs; one that runs inside another (a hook that calls
backward), or in another thread meanwhile, keeps its positions in a dict, so that the two cannot disturb each other.
"""
cimport cython
from cpython.list cimport PyList_GET_ITEM
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdlib cimport free, realloc

from tensorlab._core.graph.graph cimport GraphTask, Node

cdef unsigned long task_serial = 0


# ---------------------------------------------------------------- the ready queue
cdef class ReadyQueue:
    """A binary heap of nodes; the one made last comes out first."""

    def __cinit__(self):
        self.nodes = []

    cdef int push(self, Node node) except -1:
        cdef list nodes = self.nodes
        cdef Py_ssize_t i = len(nodes), parent
        nodes.append(node)
        while i > 0:
            parent = (i - 1) // 2
            if (<Node>PyList_GET_ITEM(nodes, parent)).sequence_number >= node.sequence_number:
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
            if child + 1 < n and (<Node>PyList_GET_ITEM(nodes, child + 1)).sequence_number > (
                    <Node>PyList_GET_ITEM(nodes, child)).sequence_number:
                child += 1
            if (<Node>PyList_GET_ITEM(nodes, child)).sequence_number <= last.sequence_number:
                break
            nodes[i] = nodes[child]
            i = child
        nodes[i] = last
        return top


# ---------------------------------------------------------------- a graph task
@cython.final
cdef class Task(GraphTask):
    """The tables of one backward pass. A node's slot is its row in them.

    GraphTask (graph.pxd) is the part that nodes see: they stand below the engine and must not know its tables.
    """

    def __cinit__(self):
        global task_serial
        task_serial += 1
        self.serial = task_serial
        self.nodes = []
        self.input_buffers = []

    def __dealloc__(self):
        free(self.dependencies)

    cdef Py_ssize_t find(self, Node node) except -2:
        """The slot of a node, or -1 if this task has not met it."""
        if self.positions is None:
            return node.slot if node.task == self.serial else -1
        return self.positions.get(node, -1)

    cdef Py_ssize_t add(self, Node node) except -2:
        cdef Py_ssize_t slot = len(self.nodes)
        cdef int* grown
        if slot == self.capacity:
            grown = <int*>realloc(self.dependencies, (2 * slot + 64) * sizeof(int))
            if grown == NULL:
                raise MemoryError()
            self.dependencies = grown
            self.capacity = 2 * slot + 64
        self.dependencies[slot] = 0
        self.nodes.append(node)
        self.input_buffers.append(None)
        if self.positions is None:
            node.task = self.serial
            node.slot = slot
        else:
            self.positions[node] = slot
        return slot


cdef Task start_task(bint is_alone):
    """The tables of a new pass; nodes hold their slots themselves if no other pass runs."""
    cdef Task task = Task.__new__(Task)
    task.positions = None if is_alone else {}
    return task


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
                task.dependencies[slot] += 1
    return 0


cdef int select(Task task, list targets) except -1:
    """Mark the targets and every node that leads to one: depth first, without recursion."""
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
