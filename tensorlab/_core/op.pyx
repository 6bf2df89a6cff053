"""Ops: how one is declared.

An op is a record: schema, dtype rule, inner loops, derivatives. How a call of it is run says dispatch.pyx, and how it is
recorded, recording.pyx.

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

Adding an op touches four places: its block in a file under ops/ (copy the one of `tanh`), a line in _tensor.py for the method
and in __init__.py for the function, and its entry in tests/ops/samples_*.py.
"""
cimport cython

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8

REGISTRY = {}                   # name: Op


# ---------------------------------------------------------------- declaring an op
@cython.binding(False)
cdef class Op:
    """The declaration of an operation: schema, dtype rule, loops, derivatives.

    Parameters
    ----------
    schema : str, such as "mul(x: Tensor, y: Tensor) -> Tensor"
    dtype : "promote", "floating" or "compare", for pointwise ops only
    node : str, PyTorch's name of the backward node; "MulBackward0" unless given. A tuple where PyTorch has one for each form
        of the call: with a number or without dims, with tensors only or with dims, with a number in front
    inplace_node : str or tuple, the same of calls in place, where PyTorch counts them as other overloads
    public : dict, what PyTorch calls parameters: `_saved_mat2` of a node. x is self and y is other unless given
    constants : dict, arguments of PyTorch's op that are the same in all calls of this one, such as the exponent of a square
    grain : int, elements that make a thread worth starting; smaller for a costlier loop
    wraps_numbers : bool, whether a number stands for a 0-d tensor (as in x * 2) or is a mere setting (as in clamp(x, 0, 1)):
        PyTorch's layout of results and its freeing of saved values depend on it. True for ops of two operands unless given
    exact_out : bool, whether out= must have exactly the type of the result, where PyTorch does not cast
    number_edges : bool, whether a number in the place of a tensor has an edge, to nowhere. It has none where PyTorch has an
        overload for numbers, as of fmod. As wraps_numbers unless given
    """

    def __init__(self, str schema, *, str dtype=None, node=None, inplace_node=(), dict public=None, dict constants=None,
                 Py_ssize_t grain=32768, wraps_numbers=None, number_edges=None, bint exact_out=False):
        name, _, rest = schema.partition("(")
        if name in REGISTRY:
            raise ValueError(f"Op: {name} is declared twice")
        self.name = name
        self.schema = schema
        self.params = tuple(param.split(":")[0].split("=")[0].strip()
                            for param in rest.partition(") ->")[0].split(", ") if param.strip() not in ("*", ""))
        node = node or name.replace("_", " ").title().replace(" ", "") + "Backward0"
        self.node_names = as_tuple(node) + as_tuple(inplace_node)
        self.form_count = len(as_tuple(node))
        self.inplace_form = self.form_count if inplace_node else 0
        self.public_names = {"x": "self", "y": "other", **(public or {})}
        self.constants = constants or {}
        self.is_pointwise = dtype is not None
        self.wraps_numbers = len(self.params) == 2 and self.is_pointwise if wraps_numbers is None else wraps_numbers
        self.number_edges = self.wraps_numbers if number_edges is None else number_edges
        self.dtype_rule = ("promote", "floating", "compare").index(dtype or "promote")     # as the enum counts them
        self.exact_out = exact_out
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
                    if code >= MAX_SAVED and self.params[code] + ": Tensor" in self.schema:
                        raise ValueError(f"Op {self.name}: {name!r} must be one of the first {MAX_SAVED} arguments")
                    saves |= <unsigned int>1 << code
                elif name == "out":
                    code = OUT
                    saves |= <unsigned int>SAVES_OUTPUT
                elif name == param + "_shape":
                    code = SHAPE
                    self.wants_shape |= <unsigned int>1 << self.derivative_count
                elif name == param + "_dtype":
                    code = DTYPE
                else:
                    raise ValueError(f"Op {self.name}: the derivative by {param} asks for {name!r}, which is unknown")
                takes.append(code)
            if self.derivative_count == MAX_INPUTS:
                raise ValueError(f"Op {self.name}: more than {MAX_INPUTS} derivatives")
            self.shared |= saves & self.saved_once
            self.saved_once |= saves
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


cdef tuple as_tuple(object names):
    return names if isinstance(names, tuple) else (names,)


cdef void floating_loops(Op op, void* float32, void* float64) noexcept:
    op.loops[FLOAT32] = float32
    op.loops[FLOAT64] = float64


cdef void integer_loops(Op op, void* uint8, void* int8, void* int16, void* int32, void* int64) noexcept:
    op.loops[UINT8] = uint8
    op.loops[INT8] = int8
    op.loops[INT16] = int16
    op.loops[INT32] = int32
    op.loops[INT64] = int64
