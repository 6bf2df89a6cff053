"""Formulas of derivatives never divide integers as C does.

The directive `cdivision` holds for the whole package: of two C integers `2 / count` is 0, and a gradient would
silently be nothing. Cython's parser reads every module of ops, and each `/` outside of inner loops must have a side
that surely is no C integer: a Python object, a floating number, `float(...)`. In the formulas themselves this holds
for `//` and `%`, too, which round towards 0.
"""

import functools
from pathlib import Path

import pytest

OPS = Path(__file__).resolve().parent.parent / "tensorlab" / "ops"
MODULES = sorted(OPS.rglob("*.pyx"))

pytest.importorskip("Cython", reason="its parser reads the sources")

from Cython.Compiler import ExprNodes, Nodes  # noqa: E402
from Cython.Compiler.TreeFragment import parse_from_strings  # noqa: E402
from Cython.Compiler.Visitor import TreeVisitor  # noqa: E402

FLOATING = {"float", "double", "real"}
INTEGERS = {"int", "long", "short", "char", "bint", "ssize", "size_t", "ssize_t", "Py_ssize_t"}
INTEGERS |= {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
OBJECTS = {None, "object", "str", "tuple", "list", "dict", "TensorBase", "Op", "OpNode"}
PYTHON_INTEGERS = {"len", "min", "max", "abs", "sum", "ord"}  # of C integers these are C integers


# ---------------------------------------------------------------- what may be a C integer
def named(declarator):
    """Return the name in a declarator, and whether it is a pointer or an array."""
    is_many = False
    while not isinstance(declarator, Nodes.CNameDeclaratorNode):
        is_many = is_many or not isinstance(declarator, Nodes.CFuncDeclaratorNode)
        declarator = declarator.base
    return declarator.name, is_many


def signature(function):
    """Return the declarator of a C function that holds its arguments, behind those of a pointer as result."""
    declarator = function.declarator
    while not isinstance(declarator, Nodes.CFuncDeclaratorNode):
        declarator = declarator.base
    return declarator


def type_name(base):
    """Return the name of a declared type, None for an object without a declaration."""
    while hasattr(base, "base_type_node"):
        base = base.base_type_node
    name = getattr(base, "name", None)
    return name if getattr(base, "is_basic_c_type", True) or name else None


class Function:
    """A function of a module, its divisions, and what is known of the types of its names."""

    def __init__(self, node, returns):
        self.node = node
        self.returns = returns  # of the C functions of the module: name -> type
        self.types, self.values, self.divisions = {}, {}, []
        for argument in (node if isinstance(node, Nodes.DefNode) else signature(node)).args:
            self.declare(argument.base_type, argument.declarator)
        Collect(self).visit(node.body)

    @property
    def is_formula(self):
        decorators = self.node.decorators or () if isinstance(self.node, Nodes.DefNode) else ()
        calls = [d.decorator for d in decorators if hasattr(d.decorator, "function")]
        return any(getattr(call.function, "attribute", "") == "derivative" for call in calls)

    @property
    def is_inner_loop(self):
        return isinstance(self.node, Nodes.CFuncDefNode) and signature(self.node).nogil

    def declare(self, base, declarator):
        name, is_many = named(declarator)
        kind = type_name(base)
        if not name:  # an argument without a type: what was read as the type is its name
            name, kind = kind, None
        self.types[name] = kind

    def may_be_integer(self, x):
        """True unless the expression is surely an object or a floating number."""
        if isinstance(x, ExprNodes.IntNode):
            return True
        if isinstance(x, ExprNodes.NameNode):
            if x.name in self.types:
                return self.types[x.name] not in FLOATING | OBJECTS
            values = self.values.pop(x.name, ())  # taken out, so that x = x + 1 comes to an end
            found = any(self.may_be_integer(value) for value in values)
            if values:
                self.values[x.name] = values
            return found
        if isinstance(x, ExprNodes.TypecastNode):
            return type_name(x.base_type) not in FLOATING | OBJECTS
        if isinstance(x, ExprNodes.IndexNode):
            base = x.base
            return isinstance(base, ExprNodes.NameNode) and self.types.get(base.name) in INTEGERS
        if isinstance(x, ExprNodes.AttributeNode):
            if x.attribute.endswith("_"):  # the C fields of a tensor
                return True
            base = x.obj
            return isinstance(base, ExprNodes.NameNode) and self.types.get(base.name) not in OBJECTS
        if isinstance(x, ExprNodes.SimpleCallNode):
            name = getattr(x.function, "name", None)
            if name in PYTHON_INTEGERS:
                return name == "len" or all(self.may_be_integer(one) for one in x.args)
            return name in self.returns and self.returns[name] not in FLOATING | OBJECTS
        if isinstance(x, ExprNodes.CondExprNode):
            return self.may_be_integer(x.true_val) or self.may_be_integer(x.false_val)
        if isinstance(x, ExprNodes.BinopNode):
            return self.may_be_integer(x.operand1) and self.may_be_integer(x.operand2)
        if isinstance(x, ExprNodes.UnopNode):
            return self.may_be_integer(x.operand)
        return False

    def mistakes(self):
        refused = {"/", "//", "%"} if self.is_formula else {"/"}
        if self.is_inner_loop:
            return []
        return [
            f"line {x.pos[1]}: both sides of {x.operator} may be C integers; write float(...)"
            for x in self.divisions
            if x.operator in refused
            and self.may_be_integer(x.operand1)
            and self.may_be_integer(x.operand2)
        ]


class Collect(TreeVisitor):
    """Declarations, assignments and divisions of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def visit_Node(self, node):
        if isinstance(node, Nodes.CVarDefNode):
            for declarator in node.declarators:
                self.function.declare(node.base_type, declarator)
        if isinstance(node, Nodes.SingleAssignmentNode) and hasattr(node.lhs, "name"):
            self.function.values.setdefault(node.lhs.name, []).append(node.rhs)
        if isinstance(node, (Nodes.ForFromStatNode, Nodes.ForInStatNode)):
            target = node.target
            calls = getattr(
                getattr(getattr(node, "iterator", None), "sequence", None), "function", None
            )
            if hasattr(target, "name") and getattr(calls, "name", "") == "range":
                self.function.values.setdefault(target.name, []).append(
                    ExprNodes.IntNode(node.pos, value="0")
                )
        if isinstance(node, ExprNodes.DivNode) and node.operator in ("/", "//", "%"):
            self.function.divisions.append(node)
        self.visitchildren(node)


class Functions(TreeVisitor):
    def __init__(self):
        super().__init__()
        self.found = []

    def visit_Node(self, node):
        if isinstance(node, (Nodes.CFuncDefNode, Nodes.DefNode)):
            self.found.append(node)
        self.visitchildren(node)


def functions_of(text):
    visitor = Functions()
    visitor.visit(parse_from_strings("module", text))
    returns = {
        named(node.declarator)[0]: type_name(node.base_type)
        for node in visitor.found
        if isinstance(node, Nodes.CFuncDefNode)
    }
    return [Function(node, returns) for node in visitor.found]


@functools.cache
def functions_in(path):
    return functions_of(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------- the tests
@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(OPS)))
def test_no_formula_divides_integers_as_c_does(path):
    assert [mistake for function in functions_in(path) for mistake in function.mistakes()] == []


def test_the_formulas_are_found():
    assert sum(function.is_formula for path in MODULES for function in functions_in(path)) > 300


FORMULA = """
cdef int count_of(object x):
    return 3

@OP.derivative("x")
def formula(grad, x, x_shape, int n, double p):
    cdef Py_ssize_t count = len(x_shape), i
    cdef ssize[16] sizes
    cdef double divisor = 2
    k = 3
    {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "return grad * (2 / count)",
        "return grad * (2 / n)",
        "return grad * (1 / (n - 1))",
        "return grad * (-1 / count_of(x))",
        "return grad * (1 / x.numel_)",
        "return grad * (1 / sizes[0])",
        "return grad * (1 / len(x_shape))",
        "return grad * (1 / k)",
        "return grad * (1 / max(n, 1))",
        "return grad * (n // 2)",
        "return grad * (n % 2)",
        "return grad * ((n if n else 1.0) / count)",
        "return grad * (1 / <int>p)",
    ],
)
def test_a_division_of_c_integers_is_found(line):
    (_, formula) = functions_of(FORMULA.format(line=line))
    assert len(formula.mistakes()) == 1


@pytest.mark.parametrize(
    "line",
    [
        "return grad / count",
        "return grad * (2.0 / count)",
        "return grad * (2 / divisor)",
        "return grad * (2 / float(count))",
        "return grad * (2 / <double>count)",
        "return grad * (p / n)",
        "return grad / x.numel()",
        "return (grad * 2) / n",
    ],
)
def test_other_divisions_are_left_alone(line):
    (_, formula) = functions_of(FORMULA.format(line=line))
    assert formula.mistakes() == []
