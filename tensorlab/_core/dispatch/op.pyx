"""Ops: how one is declared.

An op is a record: schema, what its results are, how they are computed, derivatives. It can be called, `op(*arguments)`;
dispatch.pyx explains how a call runs, layers.pyx who can take part in it, and recording.pyx how it is recorded.

Results and kernels. A pointwise op has a dtype rule and inner loops; shape, strides and all checks follow
from them. Any other op says in two functions what its results are and how they are filled:

    @CUMSUM.infer
    def cumsum_infer(TensorBase x, dim, dtype):
        ...         checks, and returns a layout and a dtype without memory: `result_beside`, `result_like`
    @CUMSUM.kernel
    def cumsum_kernel(TensorBase out, TensorBase x, dim, dtype):
        ...         fills `out`: a new tensor, the caller's (out=), or x itself (in place)

`infer` is all there is on meta, and of a view. Several results are a tuple there; here they come one by one,
before the arguments. `kernel_on("name")` gives another device its kernel; a device without one has the op
computed on the cpu. An op whose result's shape depends on values (nonzero) has no `infer`: its kernel takes
the arguments and returns what it made. An op that is made of others has `compose` instead of both. All of
them may be written in Python, too.

Derivatives. A formula names what it needs, and exactly that is saved:

    @MUL.derivative("x")
    def mul_derivative_x(grad, y): ...      saves y, and only if x needs a gradient

    grad         the gradient of the result (`grads`: a list, for an op with several results)
    out          the result, saved (for an op with one result)
    y            argument y, saved
    x_shape      shape of x (of a sequence: the shapes), and x_dtype its type: known without saving x. Only for the formula's
                 own parameter, as what follows
    x_is_transposed     whether x, a matrix, lay in memory column after column, as a transposed matrix does
    x_is_row_major      or row after row
    x_stride, x_storage_offset      how x lay in its memory
    wanted       of a joint formula, `derivative("x", "y")`: for each of its parameters, whether this pass needs the gradient;
                 None may be returned for the others

It may return the broadcast shape and the promoted type: the engine sums and casts a gradient to the form of the
input it belongs to (engine.validate_grad). It is written in tensor operations, so that it can be differentiated again; with
`grad * y`, or in the most frequent ops with `run_binary(MUL, grad, y)`, which saves 40 ns.

The block of a pointwise op is this declaration, with the formula of one element (`scalar`, see scalar.py), the derivatives, the
public function, which calls `run_unary(TANH, input, out)`, and `tanh_ = inplace_function(TANH, tanh)`. The loops are made from
the formula when tensorlab is built; `set_loops`, at the end of the file, hands them over. What a formula cannot say, such as a
call of SciPy, is a loop in the block, given by `floating_loops`.

Facets. All else that is to be known of an op is a keyword of its declaration, or is registered on it by a file
beside: that its kernel checks values, what it is made of, how a view changes places. A package that needs to know
something new, such as a batching rule, declares it by one line, `batching = Facet("batching")`, asks `batching.of(op)`,
and gives ops their rules: `@batching("cumsum")`. A function as second argument derives the rule of an op that has none of
its own. facets.py explains it.

"Adding an op" in CONTRIBUTING.md lists what an op touches besides its block.
"""
cimport cython
from cpython.object cimport PyObject
from libc.string cimport memcpy

from tensorlab._core.dispatch.operands cimport as_number
from tensorlab._core.dtypes cimport FLOAT32, FLOAT64
from tensorlab._core.state.devices cimport MAX_DEVICES, ON_CPU, SHELL
from tensorlab._core.tensor cimport VIEW_DEFAULT, TensorBase

from tensorlab._core.dispatch.facets import FACETS, REGISTRY
from tensorlab._core.dispatch.schema import aten_schema, in_place_overload, parse, spell
from tensorlab._core.dispatch.schema import in_place as in_place_schema
from tensorlab._core.state.devices import device_names
from tensorlab.errors import DeviceError

cdef enum:
    # what may be passed for a parameter: only tensors are read as C structs
    ANYTHING = 0
    A_TENSOR = 1
    ASK = 2                     # a list of tensors

DTYPE_RULES = {"promote": PROMOTE, "floating": INT_TO_FLOAT, "compare": COMPARE, "real": REAL}


# ---------------------------------------------------------------- declaring an op
@cython.binding(False)
cdef class Op:
    """The declaration of an operation: schema, dtype rule, loops, derivatives.

    Parameters
    ----------
    schema : str, such as "mul(Tensor x, Tensor y) -> Tensor", in PyTorch's schema language (schema.py)
    dtype : "promote", "floating", "compare" or "real", for pointwise ops only
    scalar : str, Guarded, or dict of them by type: what a pointwise op computes of one element, in C (scalar.py)
    node : str, PyTorch's name of the backward node; "MulBackward0" unless given
    public : dict, what PyTorch calls parameters: `_saved_mat2` of a node. x is self and y is other unless given
    aten : str, the overload of aten's op that this is, such as "add.Tensor": the name of the op unless given, and nothing for
        a formula of a derivative ("..._backward") or an op of a program ("mylib::clip"). None if aten has no such op
    fixed : str, parameters at the end that aten's op has besides, such as "*, Scalar alpha=1"; only their defaults exist here
    constants : dict, arguments of PyTorch's op that are the same in all calls of this one, such as the exponent of a square
    grain : int, elements that make a thread worth starting; smaller for a costlier loop
    wraps_numbers : bool, whether a number stands for a 0-d tensor (as in x * 2) or is a mere setting (as in clamp(x, 0, 1)):
        PyTorch's layout of results and its freeing of saved values depend on it. True for ops of two operands unless given
    is_modular : bool, whether integers are calculated modulo 2**bits, as sums, products and bits are: there a number that is
        outside of the integer type may be wrapped first, with the same result. Elsewhere such a number is an error
    takes_float8 : bool, whether it takes the floating types of 8 bits, too, computing in float32; few ops do, as in PyTorch
    holomorphic : bool, whether the formulas of the derivatives, which are written as for real numbers, need conjugates where the
        result is complex: see `apply_conjugated` in recording.pyx. Unless given, they do if they read values of the forward pass
    exact_out : bool, whether out= must have exactly the type of the result, where PyTorch does not cast
    facets : what else is to be known of it, by the names of facets (facets.py), such as `checks_values=True`
    """

    def __cinit__(self):
        self.facets = {}

    def __init__(self, str schema, *, str dtype=None, object scalar=None, str node=None, dict public=None, object aten=...,
                 str fixed="", dict constants=None, Py_ssize_t grain=32768, wraps_numbers=None, bint is_modular=False,
                 bint takes_float8=False, holomorphic=None, bint exact_out=False, int differentiable=MAX_RESULTS,
                 bint records_itself=False, **facets):
        name, _, rest = schema.partition("(")
        if name in REGISTRY:
            raise ValueError(f"Op: {name} is declared twice")
        for facet in facets:
            if facet not in FACETS:
                raise TypeError(f"Op {name}: {facet!r} is neither an argument of Op nor a facet; those are {', '.join(FACETS)}")
        self.facets = facets
        self.name = name
        self.schema = schema
        self.differentiable = differentiable
        self.records_itself = records_itself
        self.set_params(rest)
        self.node_name = node or name.replace("_", " ").replace("::", " ").title().replace(" ", "") + "Backward0"
        self.public_names = {"x": "self", "y": "other", **(public or {})}
        self.aten = (None if "_backward" in name or "::" in name else name) if aten is ... else aten
        self.fixed = fixed
        self.constants = constants or {}
        self.is_pointwise = dtype is not None
        self.scalar = scalar
        self.wraps_numbers = self.arity == 2 and self.is_pointwise if wraps_numbers is None else wraps_numbers
        self.dtype_rule = DTYPE_RULES[dtype or "promote"]
        self.is_modular = is_modular
        self.takes_float8 = takes_float8
        self.is_holomorphic = holomorphic is not False
        self.exact_out = exact_out
        self.grain = grain
        self.kernels = [None] * (SHELL + MAX_DEVICES)         # by the code of a device; a shell has none
        self.derivatives = {}
        self.formulas = []
        self.takes = []
        REGISTRY[name] = self

    cdef int set_params(self, str rest) except -1:
        """What a call needs to know of the schema; the whole of it is parsed when it is asked for."""
        parameters, _, results = rest.partition(") -> ")
        names = [part.partition("=")[0].rpartition(" ")[2] for part in parameters.split(", ") if part not in ("*", "")]
        self.arity = len(names)
        if self.arity > MAX_ARGUMENTS:
            raise ValueError(f"Op {self.name}: {self.arity} parameters are too many; at most {MAX_ARGUMENTS} fit")
        if results[0] == "(":
            names += [part.rpartition(" ")[2] for part in results[1:len(results) - 1].split(", ")]
        self.params = tuple(names)
        self.writes = "!" in parameters
        self.draws = "Generator? " in parameters
        self.shows_memory = not self.writes and "(a)" in results
        self.is_view = self.shows_memory and not self.records_itself
        self.creation = VIEW_DEFAULT
        return 0

    @property
    def signature(self):
        """The schema in parts: a `schema.Schema`."""
        if self.parsed is None:
            self.parsed = parse(self.schema)
        return self.parsed

    @property
    def aten_signature(self):
        """The schema of aten's op that this is, with its names, in parts; None if the op is one of ours."""
        return None if self.aten is None else aten_schema(self.signature, self.aten, self.public_names, self.fixed)

    @property
    def in_place(self):
        """The op that writes this one's result over its first argument; None if there is none."""
        if self.writes or not (self.is_pointwise or self.twin is not None):
            return None
        return inplace_op(self)

    # ------------------------------------------------------------ calling it
    def __call__(self, *args, **kwargs):
        """Run the op, through all layers that are active. The public functions read their arguments and then do the same."""
        cdef PyObject* pointers[MAX_ARGUMENTS]
        cdef list arguments
        if not (self.is_pointwise or self.is_computable() or (self.functional is not None and self.functional.is_computable())):
            raise NotImplementedError(f"{self.name}: the op has been declared, but it has neither infer and kernel nor compose")
        arguments = self.bind(args, kwargs)
        cdef int i
        for i in range(self.arity):
            pointers[i] = <PyObject*>arguments[i]
        return run_op(self, pointers, self.arity)

    cdef list bind(self, tuple args, dict kwargs):
        """The arguments in the order of the schema, with its defaults, each of the type that it asks for."""
        cdef list bound = list(args)
        cdef int given = len(bound), i
        if given == self.arity and not kwargs:
            self.check_types(bound)
            return bound
        parameters = self.signature.parameters
        if given > self.arity:              # all may be given by position: so a layer passes a call on
            raise TypeError(f"{self.name}: {given} arguments were given, and the op takes {self.arity}: {self.schema}")
        for i in range(given, self.arity):
            one = parameters[i]
            value = kwargs.pop(one.name, one.default)
            if value is ...:
                raise TypeError(f"{self.name}: the argument {one.name!r} is missing: {self.schema}")
            bound.append(value)
        for name in kwargs:
            known = "is given twice" if name in self.params[:self.arity] else "is unknown"
            raise TypeError(f"{self.name}: the argument {name!r} {known}: {self.schema}")
        self.check_types(bound)
        return bound

    cdef int check_types(self, list bound) except -1:
        """Raise unless C code may take the arguments for what the schema says."""
        cdef const unsigned char* kinds
        cdef int i
        if self.kinds is None:
            self.kinds = bytes([ANYTHING if one.type.word != "Tensor" else ASK if one.type.is_list else A_TENSOR
                                for one in self.signature.parameters])
        kinds = self.kinds
        for i in range(self.arity):
            if kinds[i] != ANYTHING and not (kinds[i] == A_TENSOR and isinstance(bound[i], TensorBase)):
                self.check_type(self.signature.parameters[i], bound[i])
        return 0

    cdef int check_type(self, object parameter, object value) except -1:
        """The same of one argument."""
        kind = parameter.type
        if kind.word != "Tensor" or (value is None and kind.is_optional):
            return 0
        if kind.is_list and isinstance(value, (tuple, list)):
            for item in value:
                if not isinstance(item, TensorBase) and not (item is None and kind.has_optional_items):
                    break
            else:
                return 0
        elif not kind.is_list and isinstance(value, TensorBase):
            return 0
        elif self.is_pointwise and not kind.is_written and as_number(value) is not None:
            return 0
        expected = "a sequence of Tensors" if kind.is_list else "a Tensor"
        raise TypeError(f"{self.name}: the argument {parameter.name!r} must be {expected}, not {type(value).__name__}: "
                        f"{self.schema}")

    cdef bint is_computable(self) noexcept:
        return self.infer_function is not None or self.call_kernel != NULL

    # ------------------------------------------------------------ its results and kernels: decorators
    def infer(self, function):
        """Take the function that says what the results are; see the top of this file."""
        self.infer_function = with_call(function, self.name)
        self.call_infer = find_call(self.infer_function)
        return name_of(function)

    def kernel(self, function):
        """Take the function that computes on the cpu, or LEAVES_MEMORY."""
        if function is LEAVES_MEMORY:
            self.kernels[ON_CPU], self.call_kernel = function, leave_memory
            return function
        self.kernels[ON_CPU] = with_call(function, self.name)
        self.cpu_kernel = <PyObject*>self.kernels[ON_CPU]
        self.call_kernel = find_call(self.kernels[ON_CPU])
        return name_of(function)

    def kernel_on(self, str device):
        """A decorator that takes the function that computes on a device."""
        if device not in device_names():
            raise DeviceError(f"{self.name}: no device {device!r} has been registered; there are {', '.join(device_names())}")

        def take(function):
            self.kernels[device_names().index(device)] = with_call(function, self.name)
            return name_of(function)
        return self.kernel if device == "cpu" else take

    def kernel_elsewhere(self, function):
        """Take the function that computes on all devices but the cpu, those included that are registered later."""
        self.kernels[1:MAX_DEVICES] = [with_call(function, self.name)] * (MAX_DEVICES - 1)
        return name_of(function)

    def compose(self, function):
        """Take the function that calls other ops."""
        self.compose_function = with_call(function, self.name)
        self.call_kernel = find_call(self.compose_function)
        return name_of(function)

    # ------------------------------------------------------------ its derivatives
    def derivative(self, str param, *others, bint is_list=False):
        """Declare the formula of the gradient with respect to `param`; see the top of this file.

        With `is_list` the parameter is a sequence of tensors, the op's only differentiable one,
        and the formula returns a list. With `others` the formula is joint: it returns the gradients
        of all parameters that are named here, and the op has no other formula.
        """
        def declare(formula):
            cdef unsigned int saves = 0
            cdef list takes = []
            cdef int code
            for name in formula.__code__.co_varnames[:formula.__code__.co_argcount]:
                if name in ("grad", "grads"):
                    code = GRAD if name == "grad" else GRADS
                elif name.rstrip("_") in self.params:       # grad_: the op's argument `grad`
                    code = self.params.index(name.rstrip("_"))
                    if (code >= MAX_SAVED and code < self.arity
                            and self.signature.parameters[code].type.word == "Tensor"):
                        raise ValueError(f"Op {self.name}: {name!r} must be one of the first "
                                         f"{MAX_SAVED} arguments")
                    saves |= <unsigned int>1 << code
                elif name == "out":
                    code = OUT
                    saves |= <unsigned int>SAVES_OUTPUT
                elif name == param + "_shape":
                    code = SHAPE
                    self.wants_shape |= <unsigned int>1 << self.derivative_count
                elif name == param + "_dtype":
                    code = DTYPE
                elif name == param + "_is_transposed":
                    code = TRANSPOSED
                    self.wants_transposed |= <unsigned int>1 << self.derivative_count
                elif name == param + "_is_row_major":
                    code = ROW_MAJOR
                    self.wants_row_major |= <unsigned int>1 << self.derivative_count
                elif name in (param + "_stride", param + "_storage_offset"):
                    code = STRIDE if name == param + "_stride" else STORAGE_OFFSET
                    self.wants_stride |= <unsigned int>1 << self.derivative_count
                elif name == "wanted" and others:
                    code = WANTED
                else:
                    raise ValueError(f"Op {self.name}: the derivative by {param} asks for "
                                     f"{name!r}, which is unknown")
                takes.append(code)
            for name in (param, *others):
                if self.derivative_count == MAX_INPUTS:
                    raise ValueError(f"Op {self.name}: more than {MAX_INPUTS} derivatives")
                self.shared |= saves & self.saved_once
                self.saved_once |= saves
                self.positions[self.derivative_count] = self.params.index(name)
                self.saves[self.derivative_count] = saves
                self.formulas.append(formula)
                self.takes.append(tuple(takes))
                self.derivative_count += 1
                self.derivatives[name] = formula
            self.wants_form = self.wants_shape | self.wants_transposed | self.wants_row_major | self.wants_stride
            self.takes_list = is_list
            self.is_joint = len(others) > 0
            return formula
        return declare

    def __repr__(self):
        return f"<Op {self.schema}>"

    def __reduce__(self):
        return registered_op, (self.name,)


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Registered:
    """What the name of a compiled infer, kernel or composition means after its decorator.

    It can be given to another op, and cannot be called: compiled functions trust what the op has checked.
    """
    cdef object function

    def __repr__(self):
        return f"<{self.function}, which an op calls>"


LEAVES_MEMORY = object()        # what `empty` has for a kernel: its result is whatever was in its memory

cdef object leave_memory(PyObject* function, PyObject** arguments, size_t n, PyObject* names):
    """The call of that kernel."""


cdef object name_of(object function):
    """What a decorator returns for a function."""
    cdef Registered registered
    if type(function) is not type(registered_op):       # Python functions trust nothing
        return function
    registered = Registered.__new__(Registered)
    registered.function = function
    return registered


cdef object with_call(object function, str op):
    """The function, or one around it if it is an object that can only be called with a tuple of arguments."""
    if type(function) is Registered:
        return (<Registered>function).function
    if not callable(function):
        raise TypeError(f"Op {op}: a function is needed, not {type(function).__name__}")
    if find_call(function) != NULL:
        return function
    return lambda *arguments: function(*arguments)


def registered_op(str name):
    """The op of a name: what a pickled op is read as."""
    return REGISTRY[name]


cdef run_function run_op

cdef int set_run(run_function function) except -1:
    """Take the function that runs an op: dispatch.run, which knows this module."""
    global run_op
    run_op = function
    return 0


# ---------------------------------------------------------------- in place
cdef Op inplace_op(Op op):
    """The op that writes its result over its first argument: `add_` for `add`. It has the same loops and derivatives.

    A kernel finds its result to be its first argument, then. What needs more than that has a `compose` of its own.
    """
    cdef Op twin = op.twin
    if twin is None:
        twin = Op.__new__(Op)
        twin.parsed = in_place_schema(op.signature)
        twin.name, twin.schema = twin.parsed.name, spell(twin.parsed)
        twin.params, twin.arity, twin.is_pointwise = op.params, op.arity, op.is_pointwise
        twin.kernels = op.kernels
        twin.draws, twin.shows_memory = op.draws, op.shows_memory
        twin.writes, twin.functional, twin.derivatives = True, op, op.derivatives
        twin.node_name, twin.public_names, twin.constants = op.node_name, op.public_names, op.constants
        twin.aten, twin.fixed = in_place_overload(op.aten), op.fixed
        if twin.name in REGISTRY:
            raise ValueError(f"Op: {twin.name} is declared twice")
        REGISTRY[twin.name] = op.twin = twin
    return twin


# ---------------------------------------------------------------- its loops, by type
cdef int set_loops(const NamedLoops* made) except -1:
    """Give ops the loops that were made of their formulas when tensorlab was built."""
    cdef Op op
    while made.name != NULL:
        op = REGISTRY[(<bytes>made.name).decode()]
        memcpy(op.loops, made.loops, sizeof(op.loops))
        made += 1
    return 0


cdef void floating_loops(Op op, void* float32, void* float64) noexcept:
    """Give an op loops of its own."""
    op.loops[FLOAT32] = float32
    op.loops[FLOAT64] = float64
