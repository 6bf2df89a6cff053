"""Write tensorlab/__init__.pyi from the built package: editors and mypy see what users call.

Usage: python docs/make_stubs.py

Cython functions carry their signature in the first line of their docstring, so the stubs come from
there; what pure Python modules define is re-exported, since their own text says more.  A test
compares the file with what this program would write.
"""

import ast
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
STUB = ROOT / "tensorlab/__init__.pyi"
HEADER = '''"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins
from typing import Any
'''
# What Cython's signatures say, and what a user should read; other annotations are left out.
TYPES = {
    "TensorBase": "Tensor",
    "bint": "bool",
    "ssize": "int",
    "Py_ssize_t": "int",
    "double": "float",
    "object": "Any",
}
PLAIN_TYPES = {
    "int",
    "float",
    "bool",
    "str",
    "bytes",
    "tuple",
    "list",
    "dict",
    "type",
    "None",
    "Any",
}
# Properties of compiled classes do not say whether they can be set.
SETTABLE = {"data", "grad", "requires_grad"}
# Of the names with two underscores, those that say how objects are made and not how they are used.
HIDDEN = re.compile(
    r"_(?!_)|__(pyx|reduce|setstate|getstate|new|init_subclass|subclasshook|dict|weakref|doc|module"
    r"|class|getattribute|setattr|delattr|sizeof|dir|format|slots|annotat(ions|e)|firstlineno"
    r"|static_attributes|qualname|abstractmethods|buffer|release_buffer|match_args)"
)


def embedded_signature(function, name):
    """Return "(arguments) -> result" of a function, or None if it does not say."""
    first = (getattr(function, "__doc__", None) or "").partition("\n")[0].strip()
    match = re.fullmatch(rf"(?:\w+\.)*{re.escape(name)}(\(.*\)(?: -> .+)?)", first)
    if match:
        return match[1]
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):
        return None


def definition(function, name, known, is_method):
    """Return one line `def name(...) -> ...: ...`."""
    signature = embedded_signature(function, name)
    try:
        node = ast.parse(f"def {name}{signature}: ...").body[0]
    except (SyntaxError, ValueError):
        receiver = "self, " if is_method else ""
        return f"def {name}({receiver}*args: Any, **kwargs: Any) -> Any: ..."
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
    for argument in every:
        argument.annotation = user_type(argument.annotation, known)
    for argument, default in defaults_of(arguments):
        if argument.annotation is not None and ast.unparse(default) == "None":
            argument.annotation = ast.BinOp(argument.annotation, ast.BitOr(), default)
    if is_method and arguments.args:
        arguments.args[0] = ast.arg("self")  # a function listed as a method calls it input
    arguments.defaults = [plain_default(default) for default in arguments.defaults]
    arguments.kw_defaults = [
        default and plain_default(default) for default in arguments.kw_defaults
    ]
    result = user_type(node.returns, known) or documented_result(function, known)
    node.returns = ast.Constant(None) if name == "__init__" else result or ast.Name("Any")
    return ast.unparse(node).replace(":\n    ...", ": ...")


def defaults_of(arguments):
    """Return pairs of each argument that has a default and that default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = zip(with_default, arguments.defaults, strict=True)
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [*pairs, *((argument, default) for argument, default in keywords if default)]


def is_static(function):
    return isinstance(function, (staticmethod, classmethod))


def plain_default(default):
    simple = isinstance(default, ast.Constant) or (
        isinstance(default, ast.UnaryOp) and isinstance(default.operand, ast.Constant)
    )
    return default if simple else ast.Constant(...)


def user_type(annotation, known):
    """Return the annotation as users know the type, or None where they would not."""
    if annotation is None:
        return None
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    text = TYPES.get(str(text), str(text))
    words = set(re.findall(r"\w+", text))
    if words and words <= known | PLAIN_TYPES:
        # tensorlab.float is a dtype, so the built-in needs its full name.
        text = re.sub(r"\b(int|float|bool)\b", r"builtins.\1", text)
        return ast.parse(text, mode="eval").body
    return None


def documented_result(function, known):
    """Return the type under "Returns" in the docstring, or None."""
    text = inspect.cleandoc(getattr(function, "__doc__", None) or "")
    match = re.search(r"^Returns\n-+\n(\w+)", text, re.MULTILINE)
    return user_type(ast.Name(match[1]), known) if match else None


def class_lines(cls, public_name, known):
    """Return the stub of a class with what it inherits from compiled bases."""
    lines, seen = [f"class {public_name}:"], set()
    for base in cls.__mro__[:-1]:
        for name, value in sorted(vars(base).items()):
            if name in seen or HIDDEN.match(name):
                continue
            seen.add(name)
            lines += ["    " + line for line in member_lines(name, value, known)]
    return lines if len(lines) > 1 else [f"{lines[0]} ..."]


def member_lines(name, value, known):
    if value is None:
        return [f"{name}: None"]  # __hash__ = None
    if is_static(value):
        kind = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
        line = definition(value.__func__, name, known, is_method=kind == "classmethod")
        return [f"@{kind}", line]
    if callable(value) and not isinstance(value, type):
        return [definition(value, name, known, is_method=True)]
    if inspect.isdatadescriptor(value) or isinstance(value, property):
        return ["@property", f"def {name}(self) -> Any: ...", *setter_lines(name, value)]
    return [f"{name}: Any"]


def setter_lines(name, value):
    can_set = getattr(value, "fset", None) or name in SETTABLE
    return [f"@{name}.setter", f"def {name}(self, value: Any) -> None: ..."] if can_set else []


def public_names(package):
    """Return the sorted names of `package.__all__` or, without it, of all but private names."""
    own = [name for name in vars(package) if not name.startswith("_")]
    return sorted(getattr(package, "__all__", own))


def stub_text(package):
    """Return the text of the stub file of `package`."""
    public = public_names(package)
    known = {name for name in public if isinstance(getattr(package, name), type)}
    imports, constants, functions, classes = [], [], [], []
    for name in public:
        value = getattr(package, name)
        module = getattr(value, "__module__", None)
        if isinstance(value, ModuleType):
            imports.append(f"from {package.__name__} import {name} as {name}")
        elif comes_from_python(value, module) and name != "Tensor":
            imports.append(f"from {module} import {value.__name__} as {name}")
        elif isinstance(value, type):
            classes += ["", *class_lines(value, name, known)]
        elif callable(value) and hasattr(value, "__name__"):
            functions.append(definition(value, name, known, is_method=False))
        else:
            kind = user_type(ast.Name(type(value).__name__), known) or ast.Name("Any")
            constants.append(f"{name}: {ast.unparse(kind)}")
    names = [f'    "{name}",' for name in public]
    blocks = [imports, ["__all__ = [", *names, "]"], constants, functions, classes]
    return HEADER + "\n".join("\n".join(["", *block]) for block in blocks if block) + "\n"


def comes_from_python(value, module):
    """Say whether a function or class is defined in a .py file of the package."""
    file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    is_named = isinstance(value, type) or inspect.isfunction(value)
    return is_named and file.endswith(".py") and hasattr(sys.modules[module], value.__name__)


def main():
    sys.path.insert(0, str(ROOT))
    import tensorlab

    STUB.write_text(stub_text(tensorlab), encoding="utf-8")


if __name__ == "__main__":
    main()
