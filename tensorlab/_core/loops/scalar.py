"""Scalar expressions: the formula of a pointwise op, written once, in the op's declaration.

    cdef Op TANH_BACKWARD = Op("tanh_backward(Tensor grad, Tensor y) -> Tensor", dtype="floating",
                               scalar="grad * ((T)1 - y * y)")

It is C for one element. When tensorlab is built, setup.py makes the op's inner loops of it (`loops_header`); when a
program is compiled, compiler/lowering/values.py puts the same text into a kernel. So both give the same bits.

In an expression the op's parameters stand for their values, and

    T           the C type that the op calculates in
    R           the type of its parts if that is complex
    tl_exp@     tl_expf where that is float, tl_exp where it is double; `fma@`, `cexp@` likewise
    sinh#       a function of scalar_functions.h for that type: sinh_float32

Arithmetic with T follows C: small integers are widened and cut again when the result is stored. `(T)1` and 1.0
differ: the second one makes a float expression double.

An expression may depend on the type. Then `scalar` is a dict whose keys are types (float32), kinds of
them (bool, integer, floating, complex), and unions of kinds (WIDER, below). The most special one
counts, and a type that none of them covers is not implemented. A text alone is for all types that have
an order, or for the floating ones where the op's dtype rule is "floating". What is for whole numbers, numbers
or any types does the same to the bits of an integer with and without a sign, so uint64 has int64's loop there.

This file imports nothing of tensorlab, because setup.py reads it before there is a tensorlab.
"""

import ast
import contextlib
import functools
import os
import re
from typing import NamedTuple

# The types that ops calculate in, in the order of their codes (dtypes.pxd). Half types go through float32, and others
# without loops through wider types, too.
C_TYPES = {
    "bool": "uint8_t",
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float16": None,
    "bfloat16": None,
    "float32": "float",
    "float64": "double",
    "complex64": "float _Complex",
    "complex128": "double _Complex",
    **dict.fromkeys(["uint16", "uint32"]),
    "uint64": "uint64_t",
    **dict.fromkeys(
        [f"float8_{kind}" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")]
    ),
    "complex32": None,
}
PARTS = {"complex64": "float", "complex128": "double"}
CODES = {dtype: code for code, dtype in enumerate(C_TYPES)}
TYPES = [dtype for dtype, c_type in C_TYPES.items() if c_type]
WIDER = {
    "bool": ["whole", "ordered", "any"],
    "integer": ["whole", "real", "ordered", "number", "any"],
    "floating": ["real", "ordered", "inexact", "number", "any"],
    "complex": ["inexact", "number", "any"],
}
BLOCK = 256  # elements that are checked together for arguments that need a slower function


class Guarded(NamedTuple):
    """An expression that becomes SIMD code, and another for blocks where `unless` holds somewhere."""

    usual: str
    unless: str
    otherwise: str


class Searched(Guarded):
    """Guarded in eager loops; a kernel, which would compute both for each, takes `otherwise`."""


# ---------------------------------------------------------------- reading an expression
def kind_of(dtype):
    """Return the kind that a type belongs to."""
    if dtype == "bool":
        return "bool"
    if dtype.startswith("complex"):
        return "complex"
    return "floating" if dtype.startswith(("float", "bfloat")) else "integer"


def expression_of(scalar, dtype):
    """Return the expression for a type out of an op's `scalar`, or None if there is none."""
    if not isinstance(scalar, dict):
        return None if kind_of(dtype) == "complex" else scalar
    return scalar.get(key_of(scalar, dtype))


def key_of(scalar, dtype):
    """Return the most special key of a dict of expressions that covers a type, or None."""
    kinds = (dtype, kind_of(dtype), *WIDER[kind_of(dtype)])
    return next((key for key in kinds if key in scalar), None)


def spelled(template, dtype, operands):
    """Put values and a type into an expression."""
    suffix = "f" if dtype in ("float32", "complex64") else ""
    text = re.sub(r"\b[a-z_A-Z]\w*", lambda word: operands.get(word[0], word[0]), template)
    text = re.sub(r"\bT\b", C_TYPES[dtype], text)
    text = re.sub(r"\bR\b", PARTS.get(dtype, C_TYPES[dtype]), text)
    return re.sub(r"(?<=\w)#", f"_{dtype}", text.replace("@", suffix))


# ---------------------------------------------------------------- the functions that it calls
RESULT = r"^(T|R|int|double|float|uint8_t|int32_t|int64_t) "
CALLED = re.compile(r"\b(\w+?)(?:_(u?int\d+|float32|float64|complex64|complex128|bool))?\(")
GUARD = "#ifndef TL_HAS_{name}\n#define TL_HAS_{name}\n{text}\n#endif\n"


def functions_in(source):
    """Return {name: comment and text} of the C functions in a source, which are parted by empty lines."""
    parts = [part.strip() for part in source.strip().split("\n\n")]
    name = re.compile(RESULT + r"(\w+)#?\(", re.MULTILINE)
    return {name.search(part)[2]: part for part in parts if name.search(part)}


@functools.cache
def scalar_functions():
    # not by pathlib, which is no part of what `import tensorlab` loads
    file = os.path.join(os.path.dirname(__file__), "scalar_functions.h")
    with open(file, encoding="utf-8") as source:
        return functions_in(source.read())


def functions_for(text, known=None):
    """Return the C functions that a piece of C calls, each once, those before that it calls in turn."""
    found = {}
    collect(text, scalar_functions() if known is None else known, found)
    return "".join(found.values())


def collect(text, known, found):
    for name, dtype in CALLED.findall(text):
        whole = f"{name}_{dtype}" if dtype else name
        part = known.get(whole) or known.get(name, "")
        is_typed = "#(" in part
        if not part or whole in found or is_typed != (bool(dtype) and whole not in known):
            continue
        # A fold is called once for a row. Inlined into itself, a sum took GCC 0.3 s to compile. And
        # what is written for double alone and branches is long and no SIMD code; many loops call it.
        is_apart = name.startswith("row_") or (not is_typed and "    if (" in part)
        how = "__attribute__((noinline))" if is_apart else "inline"
        body = re.sub(RESULT + r"(?=\w+#?\()", rf"static {how} \1 ", part, flags=re.MULTILINE)
        written = spelled(body, dtype, {}) if is_typed else body
        found[whole] = ""  # it may call itself
        collect(written.partition("{")[2], known, found)
        del found[whole]  # so that it comes after those that it calls
        found[whole] = GUARD.format(name=whole, text=written)


# ---------------------------------------------------------------- what follows from it
CHEAP = "at_least|at_most|clamp|softshrink|nan_to_num|is_huge_quotient"  # functions that only compare and select
COSTLY = re.compile(
    rf"tl_(exp|log|sig|sof|tan|erf|gel|sin|pow|ata|asi|aco|hyp|lga)|\b(?!({CHEAP})#)[a-z_]+#"
    r"|\b(erfc|erfc_for_float|log2_for_float|lgamma|atan2|hypot|fmod|log2|log10)\b"
)
LIBM = re.compile(
    r"\b(acos|asin|atan|atan2|cos|erfc|exp|exp2|fmod|frexp|hypot|lgamma|log|log10|log2|nextafter|pow|sin|tan"
    r"|tl_cos|tl_lgamma|tl_power|tl_sin)f?\("
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def joined(template):
    """Return an expression as one text, all parts of a Guarded one."""
    return " ".join(template) if isinstance(template, Guarded) else template


def cost_of(template):
    """Estimate how many additions an expression costs."""
    return 1 + 7 * len(COSTLY.findall(joined(template)))


@functools.cache
def calls_libm(template, dtype):
    """Say whether an expression calls libm. What a compiler makes of constants is not what libm returns."""
    text = spelled(joined(template), dtype, {})
    return LIBM.search(text + COMMENT.sub("", functions_for(text))) is not None


def condition_of(template):
    """Return the parameter of which an expression only asks whether it is 0, or None. A mask keeps its own type."""
    found = re.match(r"(\w+) \? ", joined(template))
    return found[1] if found else None


# ---------------------------------------------------------------- inner loops, when tensorlab is built
RULES = ("promote", "floating", "compare", "real")  # in the order of their numbers in op.pxd


class Declaration(NamedTuple):
    """An op in a source file: its name, its parameters, its dtype rule and its expressions."""

    name: str
    parameters: list
    dtype: str
    scalar: object

    @property
    def identifier(self):
        """The name as C can have it: that of a program's op has a namespace, mylib::clip."""
        return re.sub(r"\W+", "_", self.name)

    def expression(self, dtype):
        """Return the expression of a type, or None if the op has no loop for it."""
        if self.dtype == "floating" and kind_of(dtype) not in ("floating", "complex"):
            return None
        return expression_of(self.scalar, dtype)


def declared(op) -> Declaration:
    """Return the Declaration of an op in the registry."""
    return Declaration(op.name, list(op.params[: op.arity]), RULES[op.dtype_rule], op.scalar)


def declarations(source):
    """Yield the Declaration of each op in a .pyx file that has an expression and no loops of its own."""
    for match in re.finditer(r"^cdef Op (\w+) = (?=Op\()", source, re.MULTILINE):
        call = first_expression(source[match.end() :])
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if "scalar" not in given or re.search(rf"^\w+_loops\({match[1]},", source, re.MULTILINE):
            continue
        known = {"Guarded": Guarded, "Searched": Searched}
        scalar = eval(compile(ast.Expression(given["scalar"]), "scalar", "eval"), known)
        name, _, rest = ast.literal_eval(call.args[0]).partition("(")
        parameters = [part for part in rest.partition(")")[0].split(", ") if part != "*"]
        names = [part.partition("=")[0].rpartition(" ")[2] for part in parameters]
        yield Declaration(name, names, ast.literal_eval(given["dtype"]), scalar)


def first_expression(text):
    """Parse the expression that a text begins with; it may go on for several lines."""
    lines = text.split("\n")
    for count in range(1, len(lines) + 1):
        with contextlib.suppress(SyntaxError):
            return ast.parse("\n".join(lines[:count]), mode="eval").body
    raise SyntaxError(f"the declaration of an op does not end: {lines[0]}")


def loop(op, dtype) -> str:
    """Return the inner loop of a Declaration for a type, as a C function."""
    real = C_TYPES[dtype]
    result = {"compare": "uint8_t", "real": PARTS.get(dtype, real)}.get(op.dtype, real)
    arguments = ", ".join([f"{result} *out", *(f"const {real} *{name}" for name in op.parameters)])
    body = loop_body(op.expression(dtype), dtype, op.parameters)
    return f"static void {op.identifier}_loop_{dtype}({arguments}, ptrdiff_t count) {{\n{body}}}\n"


def loop_body(expression, dtype, parameters):
    """Return the C statements that write an expression's value for `count` elements of each parameter to `out`."""
    is_guarded = isinstance(expression, Guarded)
    operands = {name: f"{name}[i]" for name in parameters}
    parts = [
        spelled(part, dtype, operands) for part in (expression if is_guarded else [expression])
    ]
    return (GUARDED_LOOP if is_guarded else PLAIN_LOOP).format(*parts, block=BLOCK)


def loop_type(op, dtype):
    """Return the type whose loop serves a type as well: a bool is a byte, and without its sign int64 is uint64."""
    if dtype == "uint64" and isinstance(op.scalar, dict):
        return "int64" if key_of(op.scalar, dtype) in ("whole", "number", "any") else dtype
    is_byte = dtype == "bool" and op.expression("bool") == op.expression("uint8")
    return "uint8" if is_byte else dtype


PLAIN_LOOP = """\
    TL_INDEPENDENT
    for (ptrdiff_t i = 0; i < count; i++)
        out[i] = {};
"""
GUARDED_LOOP = """\
    for (ptrdiff_t start = 0; start < count; start += {block}) {{
        const ptrdiff_t stop = count - start < {block} ? count : start + {block};
        int is_unusual = 0;
        for (ptrdiff_t i = start; i < stop; i++)
            is_unusual |= {1};
        if (is_unusual) {{
            for (ptrdiff_t i = start; i < stop; i++)
                out[i] = {2};
        }} else {{
            TL_INDEPENDENT
            for (ptrdiff_t i = start; i < stop; i++)
                out[i] = {0};
        }}
    }}
"""
HEADER = """\
/* The inner loops of {name}, made from the expressions of its ops by _core/loops/scalar.py. */
{includes}
{functions}
{loops}
static const NamedLoops tl_loops[] = {{
{rows}
    {{NULL}},
}};
"""


def loops_header(source, name, known=None):
    """Return a C header with the inner loops of the ops that a .pyx file declares; None if none has an expression.

    They call functions of scalar_functions.h, or those of `known`.
    """
    loops, rows = [], []
    for op in declarations(source):
        types = {dtype: loop_type(op, dtype) for dtype in TYPES if op.expression(dtype) is not None}
        loops += [loop(op, dtype) for dtype in dict.fromkeys(types.values())]
        entries = [
            f"[{CODES[given]}] = {op.identifier}_loop_{dtype}" for given, dtype in types.items()
        ]
        rows.append(f'    {{"{op.name}", {{{", ".join(entries)}}}}},')
    if not loops:
        return None
    text = "\n".join(loops)
    functions = functions_for(text, known)
    includes = ['#include "scalar_loops.h"']
    if "tl_" in text + functions:
        includes.append('#include "tl_math.h"')
    return HEADER.format(
        name=name,
        includes="\n".join(includes),
        functions=functions,
        loops=text,
        rows="\n".join(rows),
    )
