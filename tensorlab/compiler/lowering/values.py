"""From nodes of a graph to C variables: loads, what ops compute, casts and constants.

`Values` belongs to one kernel. It is asked for the value of a node at an index map and declares, in
order, whatever that needs; a value that is asked for twice at one map is computed once.
"""

from typing import NamedTuple

from tensorlab._core.dispatch.facets import is_copy
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.dtypes import DTYPES, get_default_dtype, promote_types
from tensorlab._core.loops.scalar import (
    Guarded,
    Searched,
    calls_libm,
    condition_of,
    cost_of,
    expression_of,
    kind_of,
    spelled,
)
from tensorlab.compiler.joint.interpreter import facet_of, fill_value
from tensorlab.compiler.lowering import index_maps
from tensorlab.compiler.lowering.c_types import (
    IN_KERNELS,
    c_type,
    converted,
    is_floating,
    kernel_dtype,
    literal,
    rounded,
)
from tensorlab.compiler.lowering.index_maps import op_name
from tensorlab.compiler.lowering.loop_ir import Assign, Declare, Load
from tensorlab.compiler.lowering.parts import is_value
from tensorlab.ops.tensor_info import can_cast

COMPARE = REGISTRY["eq"].dtype_rule


class Access(NamedTuple):
    """A load: which input, and the form of its address."""

    node: object
    form: tuple


def dtype_of(node):
    return node.meta["val"].dtype.name


def shape_of(node):
    return tuple(node.meta["val"].shape)


def numel_of(node):
    return node.meta["val"].numel()


def is_fill(node):
    return fill_value(node) is not None


def copies(node):
    return facet_of(node, is_copy)


def is_of_other_types(node):
    """Say whether numbers of types that kernels don't have, such as complex ones, go in or come out."""
    values = [one.meta.get("val") for one in (node, *(one for one in node.args if is_value(one)))]
    return any(one.dtype.name not in IN_KERNELS for one in values if hasattr(one, "dtype"))


def has_expression(node):
    """Say whether a node is a pointwise op, or a copy, that a kernel can compute."""
    if is_of_other_types(node):
        return False
    if copies(node):
        return stays_in_memory(node)
    if op_name(node) is None or not node.target.is_pointwise or node.target.writes:
        return False
    if not any(is_value(one) for one in node.args):
        return False
    return expression_of(node.target.scalar, compute_dtype(node)) is not None


def stays_in_memory(node):
    """Say whether a copy is in memory as its source is, and not on "meta"."""
    where = dict(zip(node.target.params, node.args, strict=False)).get("device")
    return where is None or str(where).startswith("cpu")


def compute_dtype(node):
    """Name the type that a pointwise op calculates in."""
    if node.target.dtype_rule == COMPARE:
        return kernel_dtype(promoted(node.args))
    return kernel_dtype(dtype_of(node))


def promoted(operands):
    """Name the common type: tensors with dimensions outrank 0-d ones, and those Python numbers."""
    with_dims, zero_dim, numbers = [], [], []
    for operand in operands:
        if is_value(operand):
            (with_dims if shape_of(operand) else zero_dim).append(operand.meta["val"].dtype)
        elif isinstance(operand, bool):
            numbers.append(DTYPES[0])
        else:
            is_float = isinstance(operand, float)
            numbers.append(get_default_dtype() if is_float else DTYPES[5])
    result = None
    for group in (numbers, zero_dim, with_dims):
        if group:
            higher = group[0]
            for one in group[1:]:
                higher = promote_types(higher, one)
            result = higher if result is None else combined(higher, result)
    return result.name


def combined(higher, lower):
    """Take `lower` into account only if its category (bool, integer, floating, complex) is higher."""
    return higher if can_cast(lower, higher) else promote_types(higher, lower)


def source_line(node):
    """Return "train.py:12" for a node that knows where it was called."""
    place = (node.meta.get("stack_trace") or "").partition(" in ")[0]
    return place.replace("\\", "/").rpartition("/")[2].replace("*/", "")


class Values:
    """The values of one kernel: `body` holds their declarations, `accesses` what is loaded."""

    def __init__(self, loops, members):
        self.loops = loops
        self.members = members
        self.known = {}
        self.body = []  # of each iteration
        self.constants = []  # before the loops
        self.accesses = {}  # of loads, with their numbers
        self.counts = {}
        self.guards = []  # variables for which `exact` has another declaration
        self.exact = {}
        self.cost = 0
        self.costly = set()  # variables that are made by functions of many instructions

    def place(self, text):
        """Return the statements to which a declaration belongs whose value is `text`."""
        return self.body

    def new_name(self, stem):
        n = self.counts[stem] = self.counts.get(stem, 0) + 1
        return f"{stem}_{n}"

    def get(self, node, index_map):
        """Return the variable that holds a node's element at `index_map`."""
        key = (node, index_map)
        if key not in self.known:
            self.known[key] = self.make(node, index_map)
        return self.known[key]

    def make(self, node, index_map):
        if is_fill(node):
            return self.constant(fill_value(node), dtype_of(node))
        source = index_maps.view_source(node)
        if index_maps.is_reshape(node):
            return self.reshaped(node, index_map)
        if source is not None:
            return self.get(source, index_maps.through(node, index_map, self.loops))
        if node not in self.members:
            strides = node.meta["val"].stride()
            return self.load(node, index_maps.address(index_map, strides, self.loops))
        if copies(node):
            source, dtype = node.args[0], dtype_of(node)
            text = self.operand(source, index_map, dtype)
            if is_floating(dtype_of(source)) and kind_of(dtype) == "integer":
                # Without the zero, GCC takes a cast to an integer and back for trunc, which keeps -0
                # and what fits in no integer.
                text = f"{text} + {self.constant(0, dtype)}"
            return self.declare(node, text)
        return self.compute(node, index_map)

    def constant(self, value, dtype):
        """A number that the compiler must take as it comes: what it computes from constants may differ from what the
        processor computes (casts of what does not fit, libm)."""
        name = self.new_name("constant")
        text = rounded(literal(value, dtype), dtype)
        self.constants.append(Declare(f"volatile {c_type(dtype)}", f"{name}_", text))
        self.constants.append(Declare(f"const {c_type(dtype)}", name, f"{name}_"))
        return name

    def reshaped(self, node, index_map):
        """An element of another shape: the one of the same row-major position."""
        strides = index_maps.row_major_strides(shape_of(node))
        flat = index_maps.address(index_map, strides, self.loops)
        while index_maps.is_reshape(node):
            node = node.args[0]
        is_loaded = index_maps.view_source(node) is None and not is_fill(node)
        if is_loaded and node not in self.members and node.meta["val"].is_contiguous():
            return self.load(node, flat)
        return self.get(node, index_maps.split_flat(flat, shape_of(node), self.loops))

    def load(self, node, form):
        access = Access(node, form)
        if access not in self.known:
            k = self.accesses.setdefault(access, len(self.accesses))
            name = self.known[access] = f"x{k}"
            self.place_of_load(form).append(Load(f"const {c_type(dtype_of(node))}", name, k))
        return self.known[access]

    def place_of_load(self, form):
        return self.body

    def operand(self, argument, index_map, dtype):
        """Return an argument of an op as text of type `dtype`."""
        if not is_value(argument):
            return literal(argument, dtype)
        own = index_maps.broadcast(index_map, shape_of(argument), self.loops)
        return converted(self.get(argument, own), dtype_of(argument), dtype)

    def compute(self, node, index_map):
        dtype = compute_dtype(node)
        template = expression_of(node.target.scalar, dtype)
        if isinstance(template, Searched):
            template = template.otherwise
        operands = {}
        for parameter, argument in zip(node.target.params, node.args, strict=False):
            wanted = dtype
            if parameter == condition_of(template) and is_value(argument):
                wanted = dtype_of(argument)
            text = self.operand(argument, index_map, wanted)
            if not is_value(argument) and calls_libm(template, dtype):
                text = self.constant(argument, wanted)
            elif not text.isidentifier() and is_value(argument):
                text = self.converted_once(text, wanted)
            operands[parameter] = text
        is_guarded = isinstance(template, Guarded)
        usual, *others = [
            spelled(part, dtype, operands) for part in (template if is_guarded else [template])
        ]
        variable = self.declare(node, self.result(node, usual))
        self.cost += cost_of(template)
        if cost_of(template) > 1:
            self.costly.add(variable)
        if not is_guarded:
            return variable
        unless, otherwise = others
        self.exact[variable] = self.result(node, otherwise)
        self.guards.append(variable)
        self.body.append(Assign("is_unusual", unless, "|="))
        return variable

    def converted_once(self, text, dtype):
        """Give a converted operand a name, since an expression may use it several times."""
        key = ("converted", text, dtype)
        if key not in self.known:
            self.known[key] = self.new_name("as_" + dtype)
            self.place(text).append(Declare(f"const {c_type(dtype)}", self.known[key], text))
        return self.known[key]

    def result(self, node, text):
        """An expression as the op's result: half types are rounded after each op."""
        dtype = dtype_of(node)
        return rounded(text, dtype) if is_floating(dtype) else text

    def declare(self, node, text):
        line = source_line(node)
        name = self.new_name(op_name(node))
        comment = f"{op_name(node)}, {line}" if line else ""
        self.place(text).append(Declare(f"const {c_type(dtype_of(node))}", name, text, comment))
        return name
