"""The node of an op's call, and how calls are recorded."""
from cpython.object cimport PyObject
from tensorlab._core.dispatch.op cimport MAX_SAVED, Op
from tensorlab._core.graph.graph cimport GraphTask, InputMetadata, Node
from tensorlab._core.graph.saved cimport SavedTensor
from tensorlab._core.tensor cimport TensorBase

cdef class OpNode(Node):
    cdef Op op
    # `saved` is a tuple, with the value of each argument that some formula needs, and None for the others
    cdef unsigned int saved_tensors     # which of them are tensors (a bit each),
    cdef unsigned int computed_tensors  # and of these, which were computed then
    cdef unsigned long long[MAX_SAVED] versions  # of those tensors
    cdef dict shapes            # derivative: shape of its input, where the input's node says another
    cdef unsigned int has_order         # derivatives whose input lay in the order that they ask for (a bit each)
    cdef tuple layout           # stride and storage offset of the input whose derivative asks for them; of a list, the shapes
    cdef SavedTensor saved_output
    cdef bint wants_output      # some formula needs the output
    cdef bint is_released       # something that was saved is gone
    cdef tuple apply_joint(self, object grad, GraphTask task)
    cdef int save_arguments(self, unsigned int mask, PyObject** arguments, int n) except -1
    cdef int check_saved(self) except -1
    cdef bint reads_values(self) except -1
    cdef tuple apply_formulas(self, object grad, GraphTask task)
    cdef object call_formula(self, Py_ssize_t j, object grad)
    cdef object get(self, int code, Py_ssize_t j, object grad)
    cdef InputMetadata* metadata_of_input(self, Py_ssize_t j)
    cdef bint holds(self, int code)
    cdef object raw_saved(self, int code)
    cdef int check_argument(self, int j) except -1

# Recording. `arguments` are the op's arguments in the order of its parameters.
cdef OpNode begin_record(Op op, PyObject** arguments, int n)
cdef int end_record(OpNode node, object outputs) except -1
cdef OpNode begin_record_inplace(Op op, TensorBase x, tuple arguments)
cdef object end_record_inplace(OpNode node, TensorBase x)
