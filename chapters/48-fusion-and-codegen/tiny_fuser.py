"""The small fuser of chapter 48: a graph of pointwise ops becomes one loop of C, and runs."""

import ctypes
import operator
import re
import subprocess
import tempfile
from pathlib import Path

import tensorlab as torch
from tensorlab import fx
from tensorlab.compiler.toolchain import HEADERS, find_compiler, flags_for

C_TYPES = {torch.float32: "float", torch.float64: "double"}
# What an op computes: {0} and {1} are its operands; tl_tanh@ is tl_tanhf for float, tl_tanh for double.
EXPRESSIONS = {
    operator.add: "{0} + {1}",
    operator.sub: "{0} - {1}",
    operator.mul: "{0} * {1}",
    operator.truediv: "{0} / {1}",
    operator.neg: "-{0}",
    torch.abs: "fabs@({0})",
    torch.exp: "tl_exp@({0})",
    torch.relu: "{0} < 0 ? 0 : {0}",
    torch.sqrt: "tl_sqrt@({0})",
    torch.tanh: "tl_tanh@({0})",
}
HEAD = """#include "tl_math.h"
void kernel(T *const *tensors, int64_t n) {
"""


def spelled(value, place=""):
    """An operand in C: a node is a variable, a number has all its bits."""
    if isinstance(value, fx.Node):
        return f"{value.name}_{place}"
    return f"(T){float(value).hex()}"


def computed(node, place=""):
    """The expression of a call."""
    if node.op != "call_function" or node.target not in EXPRESSIONS:
        raise NotImplementedError(f"the tiny fuser knows no {node.target}")
    return EXPRESSIONS[node.target].format(*[spelled(one, place) for one in node.args])


def one_loop(graph):
    """Write one loop in which each value is a variable."""
    lines = []
    for node in graph.nodes:
        if node.op == "placeholder":
            lines.append(f"const T {node.name}_ = {node.name}_in[i];")
        elif node.op == "output":
            lines.append(f"result[i] = {spelled(node.args[0])};")
        else:
            lines.append(f"const T {node.name}_ = {computed(node)};")
    body = "".join(f"        {line}\n" for line in lines)
    return f"    for (int64_t i = 0; i < n; i++) {{\n{body}    }}\n"


def in_blocks(graph, size=512):
    """Write a loop for each op, over blocks that stay in the cache: each value is a small array."""
    loop, lines = "for (int64_t i = 0; i < stop; i++)", []
    for node in graph.nodes:
        if node.op == "placeholder":
            lines.append(f"const T *restrict {node.name}_ = {node.name}_in + start;")
        elif node.op == "output":
            lines.append(f"{loop} result[start + i] = {spelled(node.args[0], '[i]')};")
        else:
            lines.append(f"T {node.name}_[{size}];")
            lines.append(f"{loop} {node.name}_[i] = {computed(node, '[i]')};")
    lines.insert(0, f"const int64_t stop = n - start < {size} ? n - start : {size};")
    body = "".join(f"        {line}\n" for line in lines)
    return f"    for (int64_t start = 0; start < n; start += {size}) {{\n{body}    }}\n"


def source_of(graph, dtype, write=one_loop):
    """Return the C of a graph for one dtype."""
    inputs = [node.name for node in graph.find_nodes(op="placeholder")]
    lines = [f"const T *restrict {name}_in = tensors[{k}];" for k, name in enumerate(inputs)]
    lines.append(f"T *restrict result = tensors[{len(inputs)}];")
    text = "".join([HEAD, *(f"    {line}\n" for line in lines), write(graph), "}\n"])
    kind = C_TYPES[dtype]
    return re.sub(r"\bT\b", kind, text.replace("@", "f" if kind == "float" else ""))


def build(source):
    """Run the C compiler, load what it makes, and return the function."""
    with tempfile.TemporaryDirectory() as folder:
        path, library = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        path.write_text(source, encoding="utf-8")
        compiler = find_compiler()
        flags = [*flags_for(compiler), "-I", HEADERS]
        subprocess.run([*compiler.command, *flags, "-o", library, path, "-lm"], check=True)
        return ctypes.CDLL(str(library)).kernel


def whole_source(graph, dtype, source):
    """A key of the cache: everything that the compiled loop depends on."""
    return source


class Fused:
    """A function of tensors, as one loop. Kernels are kept by their key, for all functions together."""

    kernels: dict = {}  # noqa: RUF012 - it is shared

    def __init__(self, function, write=one_loop, key=whole_source):
        self.graph, self.write, self.key = fx.symbolic_trace(function).graph, write, key

    def __call__(self, *tensors):
        first = tensors[0]
        if any((x.shape, x.dtype) != (first.shape, first.dtype) for x in tensors):
            raise ValueError("the tiny fuser wants tensors of one shape and one dtype")
        source = source_of(self.graph, first.dtype, self.write)
        key = self.key(self.graph, first.dtype, source)
        if key not in self.kernels:
            self.kernels[key] = build(source)
        tensors = [x.contiguous() for x in tensors]
        result = torch.empty_like(tensors[0])
        places = [x.data_ptr() for x in (*tensors, result)]
        addresses = (ctypes.c_void_p * len(places))(*places)
        self.kernels[key](addresses, ctypes.c_int64(result.numel()))
        return result
