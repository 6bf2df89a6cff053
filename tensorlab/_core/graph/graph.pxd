"""What forward writes down: nodes and their edges; and what is asked of tensors that autograd follows."""
from cpython.long cimport PyLong_CheckExact

from tensorlab._core.layout cimport MAX_NDIM, plain_ints, ssize, wrap_dim
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport TensorBase

cdef struct InputMetadata:      # what a gradient must look like: the shape, type and place of the forward output
    int dtype
    int device
    int ndim
    ssize[MAX_NDIM] sizes

cdef class Node:
    # for each differentiable argument (see recording.edge_count): the Node that its gradient
    # goes to, or None
    cdef tuple edges
    cdef object saved           # what its backward needs, in a form of its own for each kind
    cdef int* edge_outputs      # which output of that node the input was; NULL if 0 for all
    cdef unsigned long long sequence_number  # nodes made later run first
    cdef int output_count       # outputs of the forward op = gradients that come in
    cdef InputMetadata* input_metadata  # one for each output
    cdef InputMetadata first_metadata  # where metas points if there is one output
    cdef NodeExtras extras      # hooks and other things that few nodes have, or None
    cdef unsigned long task     # serial of the backward pass that wrote `slot` last
    cdef Py_ssize_t slot        # position in that pass's tables
    cdef object __weakref__
    cdef tuple apply(self, object grad, GraphTask task)
    cdef int release_saved(self) except -1
    cdef str label(self)

cdef class NodeExtras:
    cdef list tensor_hooks      # (output number, key, function), in order of registration
    cdef dict retaining         # output number: weak reference to a tensor that retains its gradient
    cdef dict prehooks          # key: function(gradients that come in),
    cdef dict posthooks         # key: function(gradients that go out, gradients that came in)
    cdef dict metadata          # the user's own, and in anomaly mode the stack of the forward op

cdef class GraphTask:
    """One running backward pass, as nodes see it."""
    cdef bint keep_graph
    cdef bint create_graph
    cdef bint is_selective      # only some nodes are needed (autograd.grad, inputs=)
    cdef set needed             # those nodes, if selective

cdef inline bint is_wanted(GraphTask task, object node):
    """Does this pass need a gradient for that node?"""
    return node is not None and (not task.is_selective or node in task.needed)

cdef inline bint has_shape_of(TensorBase x, const InputMetadata* metadata) noexcept:
    """Is x of the shape that a node knows?"""
    cdef int i
    if x.ndim_ != metadata.ndim:
        return False
    for i in range(x.ndim_):
        if x.sizes[i] != metadata.sizes[i]:
            return False
    return True

cdef inline int ndim_of(TensorBase x) except -1:
    """x's number of dimensions. A stale view whose history cannot be recovered raises here, before any other complaint."""
    if x.base is not None and x.creation != 0 and thread_state().grad_enabled and needs_grad(x):
        grad_fn_of(x)
    return x.ndim_

cdef inline int dim_of(object dim, TensorBase x, str where) except -1:
    """The number of one of x's dimensions, counted from 0. It becomes a plain int before x is looked at."""
    if not PyLong_CheckExact(dim):
        dim = plain_ints(dim)
    return wrap_dim(dim, ndim_of(x), where)

cdef inline bint needs_grad(TensorBase x) noexcept:
    """x.requires_grad: its own flag is set, or it was computed from a tensor that requires
    grad, or it is a view of such a tensor."""
    return (x.wants_grad or x.node is not None
            or (x.base is not None and (x.base.wants_grad or x.base.node is not None)))

cdef inline bint should_record(TensorBase x) noexcept:
    """Is an op on x to be recorded now: does x need a gradient, and is grad mode on?"""
    return needs_grad(x) and thread_state().grad_enabled

cdef Node grad_fn_of(TensorBase x)
cdef int set_input_metadata(Node node, object outputs) except -1
cdef int set_sequence_number(Node node) except -1  # after its edges: an edge to a view may make a node, which is older
cdef NodeExtras extras_of(Node node)
cdef int set_history(TensorBase x, Node node, int output_number) except -1
cdef int refuse_special_view(TensorBase x, str op) except -1
cdef int bump_version(TensorBase x) except -1
cdef TensorBase as_view(TensorBase x, TensorBase out, int creation)
cdef int write_metadata(InputMetadata* metadata, TensorBase x) except -1
cdef int set_strided_reading(object function) except -1
cdef TensorBase read_strided(object base, int dtype, object size, object stride, object offset, int bits)
cdef object already_released(str name)
cdef int retain(TensorBase x) except -1
cdef int move_retained(TensorBase x, Node old, Node new) except -1
