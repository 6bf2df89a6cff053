"""The Op record."""
from cpython.object cimport PyObject

from tensorlab._core.dtypes cimport NUM_DTYPES
from tensorlab._core.layout cimport ssize

cdef enum:
    # dtype rules: in which type an op computes, and what it returns, from the promoted type of its operands
    PROMOTE = 0                 # the promoted type
    INT_TO_FLOAT = 1            # the promoted type; integers become the default floating type
    COMPARE = 2                 # computes in the promoted type, returns bool
    REAL = 3                    # computes in the promoted type, returns the type of its parts if that is complex

cdef enum:
    MAX_INPUTS = 8              # differentiable parameters of an op
    MAX_ARGUMENTS = 16          # parameters of an op
    MAX_RESULTS = 1 << 30
    MAX_SAVED = 9               # only so many arguments, the first ones, may be tensors that a formula needs
    MAX_FILLED = 8              # results that a kernel fills

cdef enum:
    SAVES_OUTPUT = 1 << 31
    # what a formula takes: the position of an argument, or
    GRAD = -1
    OUT = -2
    SHAPE = -3
    DTYPE = -4
    GRADS = -5
    WANTED = -6
    TRANSPOSED = -7
    ROW_MAJOR = -8
    STRIDE = -9
    STORAGE_OFFSET = -10

cdef extern from "Python.h":
    # how any callable is called with an array of arguments; asked for once, so that a call is one jump
    ctypedef object (*call_function "vectorcallfunc")(PyObject* function, PyObject** arguments, size_t n, PyObject* names)
    call_function find_call "PyVectorcall_Function"(object function) noexcept

cdef extern from "scalar_loops.h":
    ctypedef struct NamedLoops:
        const char* name
        void* loops[NUM_DTYPES]

cdef class Op:
    cdef readonly str name              # "mul"
    cdef readonly str schema            # "mul(Tensor x, Tensor y) -> Tensor"
    cdef object parsed                  # the same as a Schema (schema.py), once it has been asked for
    cdef bytes kinds                    # what each parameter may be given (ANYTHING, ...), once it has been called by `op(...)`
    cdef readonly tuple params          # names of the parameters, then of named results
    cdef readonly int arity             # how many parameters
    cdef readonly bint writes           # it writes over its first argument, `Tensor(a!)`
    cdef readonly bint records_itself   # its kernel does what autograd has to do, in a way of its own
    cdef readonly bint draws            # it takes random numbers from a generator
    cdef readonly bint is_view          # its result is a differentiable view of its first argument, `Tensor(a)`
    cdef readonly bint shows_memory     # its result is any view, or it writes a layout: no element is read
    cdef int creation                   # what kind of view it then is (VIEW_... in tensor.pxd)
    cdef readonly int differentiable    # only so many of its results, the first ones, have gradients
    cdef readonly Op functional         # of an op that writes: the one that makes a new tensor, whose derivatives it has
    cdef Op twin                        # of that one: the op that writes, or None
    # of an op that is not pointwise, functions with a parameter for each of the op's, called by `call_infer` and so on.
    # infer(argument, ...): the results, which have a layout and no memory yet. An op whose result depends on values has none
    cdef readonly object infer_function
    cdef call_function call_infer
    # by device: kernel(result, ..., argument, ...) fills these results. Without `infer`, kernel(argument, ...)
    # makes and returns them
    cdef readonly list kernels
    cdef PyObject* cpu_kernel           # the one of the cpu, borrowed
    cdef call_function call_kernel
    # compose(argument, ...): calls other ops, and returns what they return, on any device
    cdef readonly object compose_function
    # recorded_by(argument, ...): what autograd calls instead if a gradient may be wanted, for an op whose backward is a
    # program's own (library/); it ends in `run_below_autograd`
    cdef public object recorded_by
    cdef readonly str node_name         # "MulBackward0"
    cdef readonly dict public_names     # parameter: what PyTorch calls it
    cdef readonly str aten              # the overload of aten's op that this is, such as "add.Tensor"; None if it is none
    cdef readonly str fixed             # parameters that aten's op has besides; only their defaults exist here
    cdef readonly dict constants        # arguments of PyTorch's op that are the same in all calls of this one
    cdef readonly bint is_pointwise
    cdef readonly bint wraps_numbers    # a number stands for a 0-d tensor, and has an edge to nowhere
    cdef readonly bint is_holomorphic   # see Op
    cdef readonly bint is_modular       # on integers, a number that is wrapped first gives the same as a result that is wrapped
    cdef readonly bint takes_float8     # it takes the floating types of 8 bits, too, and computes in float32 then
    cdef readonly int dtype_rule
    cdef readonly object scalar         # what a pointwise op computes of one element, in C (scalar.py), or None
    cdef readonly bint exact_out        # out= must have the type of the result: it is not cast
    # loop(out, operand, ..., n) over rows of n elements that lie next to each other, by the type it computes in (see
    # iterator.pxd); NULL: not implemented for that type
    cdef void* loops[NUM_DTYPES]
    cdef ssize grain                    # elements that make a thread worth starting
    cdef readonly dict facets           # name: what the compiler and others know of it (facets.py)
    cdef readonly dict derivatives      # parameter name: formula, for the documentation
    # one entry for each derivative, in the order of declaration:
    cdef int derivative_count
    cdef int[MAX_INPUTS] positions      # position of its parameter
    cdef unsigned int[MAX_INPUTS] saves     # which arguments the formula needs (a bit each; SAVES_OUTPUT: the result)
    cdef list formulas
    cdef list takes                     # a code for each parameter of the formula (see above)
    cdef bint takes_list                # the only differentiable parameter is a sequence of tensors
    cdef bint is_joint                  # one formula makes the gradients of all differentiable parameters
    cdef unsigned int saved_once        # arguments that some formula needs,
    cdef unsigned int shared            # and those that several do
    # the derivatives whose formulas ask for their input's shape (a bit each), for its order in memory, for stride and offset
    cdef unsigned int wants_shape
    cdef unsigned int wants_transposed
    cdef unsigned int wants_row_major
    cdef unsigned int wants_stride
    cdef unsigned int wants_form        # one of these
    cdef int set_params(self, str rest) except -1
    cdef list bind(self, tuple args, dict kwargs)
    cdef int check_types(self, list bound) except -1
    cdef int check_type(self, object parameter, object value) except -1
    cdef bint is_computable(self) noexcept

ctypedef object (*run_function)(Op op, PyObject** arguments, int n)
cdef int set_run(run_function function) except -1
cdef Op inplace_op(Op op)
cdef int set_loops(const NamedLoops* made) except -1
cdef void floating_loops(Op op, void* float32, void* float64) noexcept
