"""Generated source: a graph as the text of a Python function.

Every node becomes one line, `add = x + 1`.  What the lines call, functions, types and modules, are
globals of the function: a function of this package is written with its public name,
`tensorlab.relu`, any other object gets a name of its own, and `PythonCode.globals` says which
object that is.  A value is deleted after its last use, `add = None`, so that the function needs no
more memory than the program it was traced from.

`CodeGen` decides on the head and on the `return`; subclasses change them, and what is done to
arguments and results.
"""

import enum
import re
import types
import typing
from dataclasses import dataclass
from typing import Any

from tensorlab._core.dispatch.op import Op
from tensorlab._core.tensor import TensorBase
from tensorlab.fx.naming import (
    _custom_builtins,
    _Namespace,
    public_name,
    qualified_name,
    type_name,
)
from tensorlab.fx.node import Node, describe_tensor, recorded_value
from tensorlab.fx.operators import inplace_methods, magic_methods
from tensorlab.fx.wrapping import wrap

__all__ = ["CodeGen", "PythonCode"]

# What the types of the module typing are called there, by the class that they mean.
_TYPING_NAMES = {
    list: typing.List,  # noqa: UP006
    dict: typing.Dict,  # noqa: UP006
    set: typing.Set,  # noqa: UP006
    frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
}
_COLORS = {"red": "\033[31m", "blue": "\033[34m", "green": "\033[2m\033[32m", "dim": "\033[2m"}
_FRAME = re.compile(r'^ *File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$')


@dataclass
class PythonCode:
    """The source of a function, and what its global names mean.

    Attributes
    ----------
    src : str
    globals : dict, name: object

    Examples
    --------
    >>> from tensorlab import fx
    >>> code = fx.symbolic_trace(lambda x: x + 1).graph.python_code("self")
    >>> "add = x + 1" in code.src
    True
    """

    src: str
    globals: dict[str, Any]


@dataclass
class _Style:
    """What `print_readable` shows beside the code."""

    verbose: bool = False
    include_stride: bool = False
    include_device: bool = False
    colored: bool = False


class CodeGen:
    """How a graph becomes a function: its head, its `return`, and what happens to arguments and results."""

    def __init__(self):
        self._body_transformer = None  # a function from lines to lines; see Graph.on_generate_code
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        """Return the head of the function; `self` becomes its first parameter, if it is not that already."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, repr_fn=repr):
        """Return the line that returns the result."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args):
        """Return the values of the placeholders, given the arguments of the function."""
        return args

    def process_outputs(self, outputs):
        """Return what the function returns, given what the output node does."""
        return outputs

    def additional_globals(self):
        """Return (name, object) for each global that the head and the `return` need."""
        return []

    def _gen_python_code(self, nodes, root_module, **style):
        """Write the function; `root_module` is what its lines call the module, usually "self"."""
        return _Writer(self, root_module, _Style(**style)).write(nodes)


class _Writer:
    """The writing of one function: its lines so far, its parameters, its globals, the names in it."""

    def __init__(self, codegen, root_module, style):
        self.codegen, self.root_module, self.style = codegen, root_module, style
        # One namespace for values and globals: a node's own name may be that of a function that
        # another one calls.
        self.namespace = _Namespace()
        self.parameters, self.body, self.globals = [], [], {}
        self.wrapped = {}
        self.return_annotation = ""
        self.summary = None  # the last line of the program that was shown
        for name, builtin in _custom_builtins.items():
            self.globals[self.namespace.create_name(name, builtin.obj)] = builtin.obj
        for name, thing in codegen.additional_globals():
            self.namespace.reserve(name)
            self.globals[name] = thing

    def write(self, nodes):
        last_uses = _last_uses(nodes)
        for node in nodes:
            if self.style.verbose and node.op not in ("placeholder", "output"):
                self.show_origin(node)
            if node.op == "placeholder":
                self.write_placeholder(node)
            else:
                self.body.append(getattr(self, f"write_{node.op}")(node))
                self.body.append(self.deletion(node, last_uses))
        body = self.body or ["pass\n"]
        wraps = self.wrap_statements()
        if self.codegen._body_transformer:
            body = self.codegen._body_transformer(body)
        head = self.codegen.gen_fn_def(self.parameters, self.return_annotation)
        lines = "".join(body).lstrip("\n").split("\n")
        indented = "\n".join(f"    {line}" for line in lines)
        return PythonCode(f"\n{wraps}\n\n{head}\n{indented}", self.globals)

    def wrap_statements(self):
        """Calls of `wrap` for functions that a tracer must see as one node also in this source."""
        if not self.wrapped:
            return ""
        name_of_wrap = self.add_global("wrap", wrap)
        return "\n".join(f'{name_of_wrap}("{name}")' for name in self.wrapped)

    # ------------------------------------------------------------ a line for each kind of node
    def write_placeholder(self, node):
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{self.annotation(node)}{default}")
        bare = node.target.replace("*", "")
        if bare != self.text(node):  # a name that a value cannot have, such as that of a builtin
            self.body.append(f"{self.text(node)} = {bare}\n")

    def write_get_attr(self, node):
        return self.assignment(node, _format_target(self.root_module, node.target))

    def write_call_module(self, node):
        module = _format_target(self.root_module, node.target)
        return self.assignment(node, f"{module}({self.arguments(node.args, node.kwargs)})")

    def write_call_method(self, node):
        method = _format_target(self.text(node.args[0]), node.target)
        return self.assignment(node, f"{method}({self.arguments(node.args[1:], node.kwargs)})")

    def write_call_function(self, node):
        function, args = node.target, node.args
        if getattr(function, "__module__", None) == "_operator":
            name = function.__name__
            if name in magic_methods:
                return self.assignment(node, magic_methods[name].format(*map(self.text, args)))
            if name in inplace_methods:
                statement = inplace_methods[name].format(*map(self.text, args))
                return f"{statement};  {self.assignment(node, self.text(args[0]))}"
        name = self.add_global(qualified_name(function), function)
        if (
            name == "getattr"
            and len(args) == 2
            and isinstance(args[1], str)
            and args[1].isidentifier()
        ):
            return self.assignment(node, _format_target(self.text(args[0]), args[1]))
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        return self.assignment(node, f"{name}({self.arguments(args, node.kwargs)})")

    def write_output(self, node):
        if node.type is not None:
            self.return_annotation = f" -> {self.type_text(node.type)}"
        return self.codegen.generate_output(node.args[0], repr_fn=self.text)

    def assignment(self, node, value):
        return f"{self.text(node)}{self.annotation(node)} = {value}"

    def arguments(self, args, kwargs):
        named = [f"{name} = {self.text(value)}" for name, value in kwargs.items()]
        return ", ".join([*map(self.text, args), *named])

    def deletion(self, node, last_uses):
        """The end of a line: it deletes what this node was the last to use, and a value that nothing uses."""
        if node.op == "output":
            return "\n"
        unused = [*last_uses.get(node, []), *([] if node.users else [node])]
        if not unused:
            return "\n"
        statement = " = ".join([*map(self.text, unused), "None"])
        return f";  {self.paint('dim', statement)}\n"

    # ------------------------------------------------------------ what print_readable adds
    def show_origin(self, node):
        """Write a comment with the line of the program that made the node, if it is another than the last one."""
        origin = _innermost_line(node.stack_trace) or "No stacktrace found for following nodes"
        summary = f"\n{self.paint('dim', f'# {origin}')}\n"
        if summary != self.summary:
            self.body.append(summary)
            self.summary = summary

    def annotation(self, node):
        value = recorded_value(node.meta) if self.style.verbose else None
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            text = describe_tensor(value, self.style.include_stride, self.style.include_device)
            dtype, bracket, rest = text.partition("[")
            return f': "{self.paint("red", dtype)}{self.paint("blue", bracket + rest)}"'
        return "" if node.type is None else f" : {self.type_text(node.type)}"

    def paint(self, color, text):
        return f"{_COLORS[color]}{text}\033[0m" if self.style.colored else text

    # ------------------------------------------------------------ names and values
    def add_global(self, hint, thing):
        """Return the name by which the source reaches an object: its public one, or a new global."""
        public = public_name(thing)
        if public is not None and not self.namespace.has_name(thing):
            return public
        name = self.namespace.create_name(hint, thing)
        self.globals[name] = thing
        return name

    def text(self, value):
        """The source of an argument."""
        if isinstance(value, Node):
            return self.namespace.create_name(value.name, value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            kind = self.add_global(qualified_name(type(value)), type(value))
            return f"{kind}({self.arguments(value, {})})"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.text, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, dict):
            items = [f"{key!r}: {self.text(item)}" for key, item in value.items()]
            return f"{{{', '.join(items)}}}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.text, (value.start, value.stop, value.step)))})"
        return self.constant_text(value)

    def constant_text(self, value):
        if isinstance(value, enum.Enum):
            return f"{self.add_global(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, TensorBase):
            return self.add_global("tensor", value)
        if isinstance(value, Op) or (callable(value) and hasattr(value, "__name__")):
            return self.add_global(qualified_name(value), value)
        return self.paint("blue", repr(value))

    def type_text(self, annotation):
        """The source of a type."""
        if annotation in ((), ...):
            return "()" if annotation == () else "..."
        text = type_name(annotation)
        if isinstance(annotation, types.UnionType):
            return "|".join(map(self.type_text, typing.get_args(annotation)))
        origin = getattr(annotation, "__origin__", None)
        if origin is None:
            return self.add_global(text, annotation)
        if isinstance(annotation, typing._GenericAlias):
            origin = _TYPING_NAMES.get(origin, origin)
        name = self.add_global(type_name(origin), origin)
        parts = typing.get_args(annotation)
        return f"{name}[{','.join(map(self.type_text, parts))}]" if parts else name


def _last_uses(nodes):
    """For each node, those that nothing uses after it."""
    last_user, last_uses = {}, {}
    for user in reversed(nodes):
        for node in user.all_input_nodes:
            if last_user.setdefault(node, user) is user:
                last_uses.setdefault(user, []).append(node)
    return last_uses


def _format_target(base, target):
    """The expression for `target`, a dotted path, from `base` on.

    >>> _format_target("self", "layers.0.weight")
    'getattr(self.layers, "0").weight'
    """
    for name in target.split("."):
        base = f"{base}.{name}" if name.isidentifier() else f'getattr({base}, "{name}")'
    return base


def _innermost_line(stack_trace):
    """Sum up the innermost call in a stack trace: "File: model.py:12 in forward, code: return x"."""
    lines = (stack_trace or "").strip().split("\n")
    for frame, code in zip(lines[-2::-1], lines[:0:-1], strict=True):
        found = _FRAME.match(frame)
        if found:
            return f"File: {found['file']}:{found['line']} in {found['function']}, code: {code.strip()}"
    return None
