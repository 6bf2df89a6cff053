"""The Op record, and the recording of calls."""
from cpython.object cimport PyObject
from tensorlab._core.dtypes cimport NUM_DTYPES
from tensorlab._core.graph cimport GraphTask, Meta, Node
from tensorlab._core.layout cimport ssize
from tensorlab._core.saved cimport SavedTensor
from tensorlab._core.tensor cimport TensorBase

cdef enum:
    # dtype rules: in which type an op computes, and what it returns, from the promoted type of its operands
    PROMOTE = 0                 # the promoted type
    FLOATING = 1                # the promoted type; integers become the default floating type
    COMPARE = 2                 # computes in the promoted type, returns bool

cdef enum:
    MAX_INPUTS = 8              # differentiable parameters of an op
    MAX_SAVED = 8               # a tensor that a formula needs is one of the first arguments

cdef class Op:
    cdef readonly str name              # "mul"
    cdef readonly str schema            # "mul(x: Tensor, y: Tensor) -> Tensor"
    cdef readonly tuple params          # names of the parameters
    cdef readonly str node_name         # "MulBackward0"
    cdef readonly bint is_pointwise
    cdef readonly bint wraps_numbers    # a number stands for a 0-d tensor
    cdef readonly int dtype_rule
    # loop(out, operand, ..., n) over rows of n elements that lie next to each other, by the type it computes in (see
    # loops.pxd); NULL: not implemented for that type
    cdef void* loops[NUM_DTYPES]
    cdef ssize grain                    # elements that make a thread worth starting
    cdef readonly dict derivatives      # parameter name: formula, for the documentation
    # one entry for each derivative, in the order of declaration:
    cdef int derivative_count
    cdef int[MAX_INPUTS] positions      # position of its parameter
    cdef unsigned int[MAX_INPUTS] saves     # which arguments the formula needs (a bit each; SAVES_OUTPUT: the result)
    cdef list formulas
    cdef list takes                     # a code for each parameter of the formula (see dispatch.pyx)
    cdef bint takes_list                # the only differentiable parameter is a sequence of tensors
    cdef unsigned int saved_once        # arguments that some formula needs,
    cdef unsigned int shared            # and those that several do
    cdef unsigned int wants_shape       # the derivatives whose formulas ask for their input's shape (a bit each)

cdef class OpNode(Node):
    cdef Op op
    # `saved` is a tuple, with the value of each argument that some formula needs, and None for the others
    cdef unsigned int saved_tensors     # which of them are tensors (a bit each),
    cdef unsigned int computed_tensors  # and of these, which were computed then
    cdef unsigned long[MAX_SAVED] versions  # of those tensors
    cdef dict shapes            # derivative: shape of its input, where the input's node says another
    cdef SavedTensor saved_output
    cdef bint wants_output      # some formula needs the output
    cdef bint is_released       # something that was saved is gone
    cdef int save_arguments(self, unsigned int mask, PyObject** arguments, int n) except -1
    cdef int check_saved(self) except -1
    cdef object call_formula(self, Py_ssize_t j, object grad)
    cdef object get(self, int code, Py_ssize_t j, object grad)
    cdef Meta* input_meta(self, Py_ssize_t j)
    cdef bint holds(self, int code)
    cdef object raw_saved(self, int code)
    cdef int check_argument(self, int j) except -1

# Recording. `arguments` are the op's arguments in the order of its parameters.
cdef OpNode start_record(Op op, PyObject** arguments, int n)
cdef int finish_record(OpNode node, object outputs) except -1
cdef object finish(Op op, object outputs, tuple arguments)
cdef OpNode start_inplace(Op op, TensorBase x, tuple arguments)
cdef object finish_inplace(OpNode node, TensorBase x)
cdef object run_view(Op op, TensorBase x, TensorBase out, tuple arguments, int creation=*)

cdef void floating_loops(Op op, void* float32, void* float64) noexcept
cdef void integer_loops(Op op, void* uint8, void* int8, void* int16, void* int32, void* int64) noexcept
