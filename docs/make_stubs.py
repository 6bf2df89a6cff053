"""Write the type stubs from the built package: editors, mypy and pyright see what users call.

Usage: python docs/make_stubs.py

Names, order and defaults of arguments come from the functions: Cython writes them in the first line of the
docstring, Python knows them.  Types come from Cython's annotations, then from the tables of stub_types.py; what
takes several forms is written out in stub_overrides.pyi.  A test compares the files with what this would write.
"""

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs")]

from stub_types import argument_type, result_type, type_of_default  # noqa: E402
from stub_types_of_packages import ARGUMENTS_IN, RESULTS_IN, of_package  # noqa: E402

from tensorlab import nn  # noqa: E402
from tensorlab._missing import MissingAttribute  # noqa: E402
from tensorlab._on_demand import import_all  # noqa: E402

import_all()  # schemas say what ops accept, also those in modules that few programs use

# The modules that have a stub. A class stands in the first one that has it; the others import it from there.
MODULES = [
    "tensorlab.autograd.function",
    "tensorlab.autograd",
    "tensorlab.nn.functional",
    "tensorlab.nn.init",
    "tensorlab.nn.utils",
    "tensorlab.nn",
    "tensorlab.nn.parameter",
    "tensorlab.special",
    "tensorlab.linalg",
    "tensorlab.sparse",
    "tensorlab.fft",
    "tensorlab.masked",
    "tensorlab.quasirandom",
    "tensorlab.signal.windows",
    "tensorlab.optim",
    "tensorlab.optim.lr_scheduler",
    "tensorlab.optim.swa_utils",
    "tensorlab.utils.data",
    "tensorlab.datasets.transforms.functional",
    "tensorlab.datasets.transforms",
    "tensorlab.datasets.utils",
    "tensorlab.datasets",
    "tensorlab",
]
# Tools, whose arguments mean other things than those of ops and layers with the same name: their types come from
# defaults, and from what the tables say of a function by its name.
TOOLS = [
    "tensorlab.accelerator",
    "tensorlab.amp",
    "tensorlab.autograd.anomaly_mode",
    "tensorlab.autograd.forward_ad",
    "tensorlab.autograd.functional",
    "tensorlab.autograd.grad_mode",
    "tensorlab.autograd.gradcheck",
    "tensorlab.autograd.graph",
    "tensorlab.cpu.amp",
    "tensorlab.cpu",
    "tensorlab.cuda.amp",
    "tensorlab.cuda",
    "tensorlab.mps",
    "tensorlab.xpu",
    "tensorlab.func",
    "tensorlab.distributed",
    "tensorlab.distributed.stores",
    "tensorlab.distributed.device_mesh",
    "tensorlab.distributed.tensor.placement_types",
    "tensorlab.distributed.tensor.device_mesh",
    "tensorlab.distributed.tensor.parallel",
    "tensorlab.distributed.tensor.debug",
    "tensorlab.distributed.tensor.experimental",
    "tensorlab.distributed.tensor",
    "tensorlab.distributed.fsdp.wrap",
    "tensorlab.distributed.fsdp",
    "tensorlab.distributed.pipelining",
    "tensorlab.distributed.checkpoint.stateful",
    "tensorlab.distributed.checkpoint.state_dict",
    "tensorlab.distributed.checkpoint.format_utils",
    "tensorlab.distributed.checkpoint",
    "tensorlab.distributed.optim",
    "tensorlab.distributed.nn.functional",
    "tensorlab.distributed.nn",
    "tensorlab.distributed.algorithms.join",
    "tensorlab.distributed.algorithms.ddp_comm_hooks.default_hooks",
    "tensorlab.distributed.algorithms.ddp_comm_hooks",
    "tensorlab.distributed.algorithms.model_averaging.averagers",
    "tensorlab.distributed.algorithms.model_averaging",
    "tensorlab.distributed.algorithms",
    "tensorlab.distributed.threads",
    "tensorlab.futures",
    "tensorlab.hub",
    "tensorlab.library",
    "tensorlab.overrides",
    "tensorlab.testing",
    "tensorlab.nn.attention.bias",
    "tensorlab.nn.attention",
    "tensorlab.nn.grad",
    "tensorlab.nn.utils.parametrizations",
    "tensorlab.nn.utils.parametrize",
    "tensorlab.nn.utils.prune",
    "tensorlab.nn.utils.rnn",
    "tensorlab.nn.utils.stateless",
    "tensorlab.profiler",
    "tensorlab.profiler.profiler",
    "tensorlab.autograd.profiler_util",
    "tensorlab.autograd.profiler",
    "tensorlab.serialization",
    "tensorlab._subclasses",
    "tensorlab.safetensors",
    "tensorlab.utils._python_dispatch",
    "tensorlab.utils.benchmark",
    "tensorlab.utils.bottleneck",
    "tensorlab.utils.checkpoint",
    "tensorlab.utils.data.distributed",
    "tensorlab.utils.dlpack",
    "tensorlab.utils.flop_counter",
    "tensorlab.utils.hooks",
    "tensorlab.utils.tensorboard",
    "tensorlab.utils",
    "tensorlab.fx.node",
    "tensorlab.fx.graph",
    "tensorlab.fx.graph_module",
    "tensorlab.fx.proxy",
    "tensorlab.fx.interpreter",
    "tensorlab.fx.subgraph_rewriter",
    "tensorlab.fx",
    "tensorlab.fx.passes.infra.pass_base",
    "tensorlab.fx.passes.infra.pass_manager",
    "tensorlab.fx.passes.common_subexpressions",
    "tensorlab.fx.passes.dead_code",
    "tensorlab.fx.passes.graph_drawer",
    "tensorlab.fx.passes.shape_prop",
    "tensorlab.fx.passes.split_module",
    "tensorlab.fx.passes",
    "tensorlab.distributions",
    "tensorlab.viz",
    "tensorlab.compiler",
]
MODULES += TOOLS
OVERRIDES = ROOT / "docs/stub_overrides.pyi"
HEADER = '''"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins
'''
ENUMS = (enum.IntEnum, enum.Enum)
IMPORTS = {
    "enum": "Enum IntEnum",
    "collections.abc": "Callable ItemsView Iterable Iterator KeysView Mapping Sequence ValuesView",
    "numpy.typing": "NDArray",
    "datetime": "timedelta",
    "os": "PathLike",
    "typing": "Any Generic IO Literal NamedTuple Never ParamSpec Protocol SupportsIndex TypeAlias TypeGuard overload",
    "typing_extensions": "Self TypeVar",  # type checkers bring it; its TypeVar has defaults
}
# A tensor has properties called dtype and device, so inside the class the types need other names.
ALIASES = {
    "_dtype": "dtype",
    "_layout": "layout",
    "_memory_format": "memory_format",
    "_device": "device",
    "_Device": "device | str | builtins.int | None",
}
FULL_NAMES = {
    "int": "builtins.int",
    "float": "builtins.float",
    "bool": "builtins.bool",
    "complex": "builtins.complex",
    "type": "builtins.type",
    "dtype": "_dtype",
    "device": "_device",
    "layout": "_layout",
    "memory_format": "_memory_format",
}
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
# Of the names with two underscores, those that say how objects are made and not how they are used.
HIDDEN = re.compile(
    r"_(?!_)|__(pyx|reduce|setstate|getstate|new|init_subclass|subclasshook|dict|weakref|doc|module"
    r"|class|getattribute|setattr|delattr|sizeof|dir|format|slot|annotat(ions|e)|firstlineno"
    r"|getnewargs|dataclass_\w+|orig_bases|static_attributes|qualname|abstractmethods|buffer|release_buffer|match_args|notes)"
)


# What private bases do in their own way without any difference for a type checker.
KEPT_BY_BASE = {"__deepcopy__", "__tensor_function__", "__torch_function__", "__array_ufunc__"}


def embedded_signature(function, name):
    """Return "(arguments) -> result" of a function, or None if it does not say."""
    first = (getattr(function, "__doc__", None) or "").partition("\n")[0].strip()
    match = re.fullmatch(rf"(?:\w+\.)*{re.escape(name)}(\(.*\)(?: -> .+)?)", first)
    if match:
        return match[1]
    try:  # a default that is a function is printed as <function relu at 0x...>
        return re.sub(r"<[^<>]*>", "...", str(inspect.signature(function)))
    except (TypeError, ValueError):
        return None


def definition(function, name, known, class_name=None, otherwise="Any"):
    """Return one line `def name(...) -> ...: ...`.

    Parameters
    ----------
    function : callable
    name : str
    known : set of str, the public classes
    class_name : str, if it is a method
    otherwise : str, the type of the result if nothing says another
    """
    signature = embedded_signature(function, name)
    try:
        node = ast.parse(f"def {name}{signature}: ...").body[0]
    except (SyntaxError, ValueError):
        receiver = "self, " if class_name else ""
        kind = "None" if name == "__init__" else "Any"
        return f"def {name}({receiver}*args: Any, **kwargs: Any) -> {kind}: ..."
    arguments = node.args
    if class_name and [*arguments.posonlyargs, *arguments.args]:
        # A function listed as a method calls it input.
        first = arguments.posonlyargs or arguments.args
        first[0] = ast.arg("self")
    where = f"{class_name}.{name}" if class_name else name
    annotate(arguments, where, known, function)
    result = user_type(node.returns, known) or documented_result(function, known)
    if name == "__init__":
        kind = "None"
    elif text := of_package(RESULTS_IN, function, where):
        kind = text
    elif result is not None and ast.unparse(result) not in ("tuple", "list", "dict"):
        kind = ast.unparse(result)
    else:
        kind = result_type(where, otherwise, by_name=not is_of_tool(function))
    node.returns = parsed_type(
        "Self" if kind == "Tensor" and returns_self(name, class_name) else kind
    )
    node.decorator_list = []
    return ast.unparse(node).replace(":\n    ...", ": ...")


def annotate(arguments, where, known, function):
    """Give each argument its type, and None as a possible value where that is the default."""
    is_tool = is_of_tool(function)
    defaults = {id(argument): default for argument, default in defaults_of(arguments)}
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if argument.arg == "self" and argument.annotation is None:
            continue
        default = defaults.get(id(argument))
        value = default.value if isinstance(default, ast.Constant) else None
        kind = user_type(argument.annotation, known)
        text = (
            ast.unparse(kind)
            if kind
            else of_package(ARGUMENTS_IN, function, f"{where}.{argument.arg}")
        )
        text = text or argument_type(argument.arg, where, value, not is_tool)
        is_none = isinstance(default, ast.Constant) and default.value is None
        if is_none and text != "Any" and not text.endswith("None"):
            text += " | None"
        argument.annotation = parsed_type(text)
    if arguments.vararg:
        arguments.vararg.annotation = parsed_type(
            argument_type("*" + arguments.vararg.arg, where, by_name=not is_tool)
        )
    if arguments.kwarg:
        arguments.kwarg.annotation = parsed_type("Any")
    arguments.defaults = [plain_default(default) for default in arguments.defaults]
    arguments.kw_defaults = [
        default and plain_default(default) for default in arguments.kw_defaults
    ]


def returns_self(name, class_name):
    """Say whether a method of a tensor writes to it and returns it."""
    is_operator = name.startswith("__i") and name not in (
        "__invert__",
        "__int__",
        "__iter__",
        "__index__",
    )
    return class_name == "Tensor" and (is_operator or re.fullmatch(r"[a-z]\w*_", name) is not None)


def defaults_of(arguments):
    """Return pairs of each argument that has a default and that default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = zip(with_default, arguments.defaults, strict=True)
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [*pairs, *((argument, default) for argument, default in keywords if default)]


def is_of_tool(thing):
    """Whether a function or class stands in one of TOOLS."""
    home = getattr(thing, "__module__", None) or ""
    return any(home == name or home.startswith(f"{name}.") for name in TOOLS)


def is_static(function):
    return isinstance(function, (staticmethod, classmethod))


def plain_default(default):
    simple = isinstance(default, ast.Constant) or (
        isinstance(default, ast.UnaryOp) and isinstance(default.operand, ast.Constant)
    )
    return default if simple else ast.Constant(...)


class FullNames(ast.NodeTransformer):
    """Write types by names that no member of a class hides: tensorlab.float is a dtype, x.dtype a property."""

    def visit_Name(self, node):
        return ast.parse(FULL_NAMES.get(node.id, node.id), mode="eval").body


def parsed_type(text):
    return FullNames().visit(ast.parse(text, mode="eval").body)


def user_type(annotation, known):
    """Return the annotation as users know the type, or None where they would not."""
    if annotation is None:
        return None
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    text = TYPES.get(str(text), str(text))
    words = set(re.findall(r"\w+", text))
    return parsed_type(text) if words and words <= known | PLAIN_TYPES else None


def documented_result(function, known):
    """Return the type under "Returns" in the docstring, or None."""
    text = inspect.cleandoc(getattr(function, "__doc__", None) or "")
    match = re.search(r"^Returns\n-+\n(\w+)", text, re.MULTILINE)
    return user_type(ast.Name(match[1]), known) if match else None


# ------------------------------------------------------------------------------ what is written by hand
@functools.cache
def overrides():
    """Return the functions, classes and helpers of stub_overrides.pyi: {name: list of nodes} of each."""
    functions, classes, helpers = {}, {}, {}
    for node in ast.parse(OVERRIDES.read_text(encoding="utf-8")).body[1:]:
        if isinstance(node, ast.Assign):
            helpers[node.targets[0].id] = [node]
        elif isinstance(node, ast.ClassDef):
            (helpers if node.name.startswith("_") else classes)[node.name] = [node]
        else:
            functions.setdefault(node.name, []).append(node)
    return functions, classes, helpers


def with_full_names(node):
    """Return a copy of a definition whose annotations are in full names; defaults stay as they are."""
    node = ast.parse(ast.unparse(node)).body[0]
    for inner in ast.walk(node):
        for field in ("annotation", "returns"):
            if getattr(inner, field, None) is not None:
                setattr(inner, field, FullNames().visit(getattr(inner, field)))
        if isinstance(inner, ast.ClassDef):
            inner.bases = [FullNames().visit(base) for base in inner.bases]
    return node


def written(node, is_method=False):
    """Return the lines of a definition, with `self` for the first argument of a function that stands for a method."""
    node = with_full_names(node)
    if is_method:
        first = node.args.posonlyargs or node.args.args
        if first:
            first[0] = ast.arg("self")
    return ast.unparse(node).replace(":\n    ...", ": ...").split("\n")


def members_by_hand(name):
    """Return {member: its nodes} of a class of stub_overrides.pyi, and its bases, or None for these."""
    found = overrides()[1].get(name)
    if found is None:
        return {}, None
    members = {}
    for node in found[0].body:
        if isinstance(node, ast.AnnAssign):
            members.setdefault(node.target.id, []).append(node)
        elif isinstance(node, ast.FunctionDef):
            members.setdefault(node.name, []).append(node)
    return members, [
        ast.unparse(FullNames().visit(base)) for base in with_full_names(found[0]).bases
    ]


# ------------------------------------------------------------------------------ classes
def class_lines(cls, public_name, known):
    """Return the stub of a class: what it has of its own and from bases that are not public."""
    if issubclass(cls, enum.Enum):
        return enum_lines(cls, public_name)
    by_hand, bases = members_by_hand(public_name)
    public = next(
        base for base in cls.__mro__[1:] if home_of(base) or base.__module__ == "builtins"
    )
    if not bases:
        bases = [] if public is object else [base_name(public, public_name)]
    lines, seen = (
        [f"class {public_name}({', '.join(bases)}):" if bases else f"class {public_name}:"],
        set(),
    )
    for name, nodes in by_hand.items():
        for node in nodes:
            lines += ["    " + line for line in written(node)]
        seen.add(name)
    for base in bases:
        if base in overrides()[2]:
            seen.update(member.name for member in overrides()[2][base][0].body)
    for name, kind in instance_attributes(cls, public_name, known).items():
        if name not in seen and (not hasattr(cls, name) or is_field(cls, name)):
            lines.append(f"    {name}: {kind}")
            seen.add(name)
    for base in cls.__mro__[: cls.__mro__.index(public)]:
        for name, value in sorted(vars(base).items()):
            is_kept = name in KEPT_BY_BASE and (base is not cls or public.__name__ == "Tensor")
            if name in seen or HIDDEN.match(name) or is_kept:
                continue
            if isinstance(value, MissingAttribute):
                continue  # only says why the name is not there
            seen.add(name)
            lines += ["    " + line for line in member_lines(name, value, known, public_name)]
    return lines if len(lines) > 1 else [f"{lines[0]} ..."]


def base_name(base, of):
    """Return how the stub of class `of` names its base: with its module if both are called the same."""
    return f"{home_of(base)}.{of}" if base.__name__ == of else base.__name__


def enum_lines(cls, public_name):
    """Return the stub of an enumeration: its members."""
    base = next(base for base in cls.__mro__ if base.__module__ == "enum" and base in ENUMS)
    members = [f"    {name} = {member.value!r}" for name, member in cls.__members__.items()]
    return [f"class {public_name}({base.__name__}):", *members]


def instance_attributes(cls, public_name, known):
    """Return {name: type} of what `__init__` keeps under the name of an argument, or makes a parameter."""
    found = {}
    for base in cls.__mro__:
        if home_of(base) and base is not cls:
            break
        function = vars(base).get("__init__")
        if dataclasses.is_dataclass(base):
            found.update(
                {field.name: field_type(field, known) for field in dataclasses.fields(base)}
            )
        if not inspect.isfunction(function) or "__dataclass_fields__" in vars(base):
            continue
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        defaults = {argument.arg: default for argument, default in defaults_of(node.args)}
        names = {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}
        for line in ast.walk(node):
            if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Attribute):
                continue
            name, value = line.targets[0].attr, ast.unparse(line.value)
            if name.startswith("_") or name in found:
                continue
            if value.startswith(("Parameter(", "UninitializedParameter(")):
                found[name] = "Parameter"
            elif value.partition("(")[0] in nn.__all__:  # made with an argument of its name
                found[name] = "Module"
            elif name in names and name in value:
                default = getattr(defaults.get(name), "value", None)
                kind = argument_type(name, f"{public_name}.__init__", default, not is_of_tool(cls))
                is_none = ast.unparse(defaults.get(name, line)) == "None" and kind != "Any"
                found[name] = ast.unparse(parsed_type(kind + (" | None" if is_none else "")))
    return found


def is_field(cls, name):
    return dataclasses.is_dataclass(cls) and name in {
        field.name for field in dataclasses.fields(cls)
    }


def field_type(field, known):
    """Return the type of a field of a dataclass as users know it."""
    text = getattr(field.type, "__name__", str(field.type))
    whole = {"tuple": "tuple[Any, ...]", "list": "list[Any]", "dict": "dict[Any, Any]"}
    kind = parsed_type(whole[text]) if text in whole else user_type(ast.Name(text), known)
    return ast.unparse(kind) if kind else "Any"


def member_lines(name, value, known, class_name):
    """Return the lines of one member of a class."""
    is_comparison = name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
    otherwise = (
        "Tensor"
        if class_name == "Tensor" or name == "forward"
        else "bool"
        if is_comparison
        else "Any"
    )
    functions = overrides()[0]
    if class_name == "Tensor" and name in functions:
        return [line for node in functions[name] for line in written(node, is_method=True)]
    if value is None:
        is_hash = name == "__hash__"
        return [f"{name}: None  # type: ignore[assignment]" if is_hash else f"{name}: Any"]
    if is_static(value):
        kind = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
        receiver = class_name if kind == "classmethod" else None
        return [f"@{kind}", definition(value.__func__, name, known, receiver, otherwise)]
    if callable(value) and not isinstance(value, type):
        return [definition(value, name, known, class_name, otherwise)]
    if inspect.isdatadescriptor(value) or isinstance(value, property):
        is_tool = is_of_tool(getattr(value, "fget", value))
        text = of_package(RESULTS_IN, getattr(value, "fget", value), f"{class_name}.{name}")
        text = text or result_type(f"{class_name}.{name}", otherwise, by_name=not is_tool)
        kind = ast.unparse(parsed_type(text))
        if getattr(value, "fset", None) is not None:
            return [f"{name}: {kind}"]
        return ["@property", f"def {name}(self) -> {kind}: ..."]
    kind = user_type(ast.Name(type(value).__name__), known - {"str"}) or parsed_type(
        type_of_default(value)
    )
    text = ast.unparse(kind)
    return [f"{name}: {'tuple[Any, ...]' if text == 'tuple' else text}"]


@functools.cache
def homes():
    """Return {class: the module whose stub defines it}."""
    found = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in public_names(module):
            value = getattr(module, name)
            if isinstance(value, type) and value.__name__ == name:
                found.setdefault(value, module_name)
    return found


def home_of(cls):
    return homes().get(cls)


# ------------------------------------------------------------------------------ modules
def public_names(package):
    """Return the sorted names of `package.__all__` or, without it, of all but private names."""
    own = [name for name in vars(package) if not name.startswith("_")]
    return sorted(getattr(package, "__all__", own))


def stub_text(package):
    """Return the text of the stub file of `package`."""
    public = public_names(package)
    known = {cls.__name__ for cls in homes()}
    imports, constants, functions, classes = [], [], [], []
    for name in public:
        value = getattr(package, name)
        if isinstance(value, ModuleType):
            imports.append(f"from {package.__name__} import {name} as {name}")
        elif isinstance(value, type) and home_of(value) not in (None, package.__name__):
            imports.append(f"from {home_of(value)} import {value.__name__} as {name}")
        elif isinstance(value, type) and (alias := name_by_hand(package, value)) not in (
            None,
            name,
        ):
            classes += ["", f"{name} = {alias}"]
        elif isinstance(value, type):
            classes += ["", *class_lines(value, name, known)]
        elif nodes := functions_by_hand(package, name):
            functions += [line for node in nodes for line in written(node)]
        elif callable(value) and hasattr(value, "__name__"):
            otherwise = RESULTS_IN.get(package.__name__, {}).get(name)
            otherwise = otherwise or ("Tensor" if computes(value) else "Any")
            functions.append(definition(value, name, known, otherwise=otherwise))
        else:
            kind = user_type(ast.Name(type(value).__name__), known) or ast.Name("Any")
            constants.append(f"{name}: {ast.unparse(kind)}")
    names = [f'    "{name}",' for name in public]
    body = [constants, functions, classes]
    helpers = used_helpers(body)
    is_root = package.__name__ == "tensorlab"
    aliases = [f"{name}: TypeAlias = {text}" for name, text in ALIASES.items()] if is_root else []
    imports += used_imports([*body, helpers, aliases], package)
    blocks = [imports, ["__all__ = [", *names, "]"], helpers, aliases, *body]
    return HEADER + "\n".join("\n".join(["", *block]) for block in blocks if block) + "\n"


def functions_by_hand(package, name):
    """Return the forms of a function of this module that stub_overrides.pyi has, an empty list if it has none."""
    of_module, _ = members_by_hand(package.__name__.rpartition(".")[2])
    if package.__name__ == "tensorlab.masked":
        return []
    return of_module.get(name) or overrides()[0].get(name, [])


def computes(function):
    """Whether a function is one of those that return a tensor, as almost all of these modules do."""
    home = getattr(function, "__module__", None) or ""
    of_tensors = (
        "ops",
        "masked",
        "signal.windows",
        "sparse",
        "nn.functional",
        "nn.init",
        "_core.interop",
        "_core.engine.autograd_fields",
    )
    return home.startswith(tuple(f"tensorlab.{name}" for name in of_tensors))


def name_by_hand(package, cls):
    """Return the public name under which stub_overrides.pyi has a class of several names, or None."""
    names = [name for name in public_names(package) if getattr(package, name) is cls]
    return next((name for name in names if name in overrides()[1]), None)


def words_of(blocks):
    return set(re.findall(r"\w+", "\n".join(line for block in blocks for line in block)))


def used_helpers(blocks):
    """Return the lines of the type variables and protocols that the text of a stub names."""
    helpers, used, more = overrides()[2], set(), words_of(blocks)
    while more:
        found = {name for name in helpers if name in more} - used
        used |= found
        more = words_of([written(helpers[name][0]) for name in found])
    return [line for name in helpers if name in used for line in written(helpers[name][0])]


def used_imports(blocks, package):
    """Return the imports of the names that the text of a stub uses and does not define."""
    used, lines = words_of(blocks), []
    for source, names in IMPORTS.items():
        found = [name for name in names.split() if name in used]
        lines += [f"from {source} import {', '.join(found)}"] if found else []
    if package.__name__ != "tensorlab":
        found = [name for name in (*ALIASES, "return_types") if name in used]
        lines += [f"from tensorlab import {', '.join(found)}"] if found else []
    public = set(public_names(package))
    for name in sorted(used & {cls.__name__ for cls in homes() if cls.__name__[0].isupper()}):
        home = nearest_home(name, package.__name__)
        if name not in public and home != package.__name__:
            lines.append(f"from {home} import {name}")
    text = "\n".join(line for block in blocks for line in block)
    lines += [
        f"import {home}" for home in sorted(set(re.findall(r"\((tensorlab[.\w]*)\.\w+\)", text)))
    ]
    return lines


def nearest_home(name, package):
    """Return the module that a stub takes a class from; of those that have one of that name, the nearest."""
    found = [home for cls, home in homes().items() if cls.__name__ == name]
    parts = package.split(".")
    return max(
        found, key=lambda home: sum(a == b for a, b in zip(home.split("."), parts, strict=False))
    )


def return_types_text():
    """Return the stub of tensorlab.return_types: named tuples of tensors."""
    from tensorlab import return_types

    lines = ["from typing import NamedTuple", "", "from tensorlab import Tensor"]
    for name in return_types.__all__:
        fields = [
            key
            for key, value in vars(getattr(return_types, name)).items()
            if isinstance(value, property)
        ]
        types = {"bin_edges": "tuple[Tensor, ...]"} if name == "histogramdd" else {}
        lines += ["", f"class {name}(NamedTuple):"]
        lines += [f"    {field}: {types.get(field, 'Tensor')}" for field in fields]
    return HEADER + "\n".join(lines) + "\n"


def stub_path(module):
    """Return the place of a module's stub: beside its source."""
    return Path(module.__file__).with_suffix(".pyi")


def every_stub():
    """Return {path: text} of all stubs."""
    texts = {ROOT / "tensorlab/return_types.pyi": return_types_text()}
    for name in MODULES:
        module = importlib.import_module(name)
        texts[stub_path(module)] = stub_text(module)
    return texts


def main():
    sys.path.insert(0, str(ROOT))
    for path, text in every_stub().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
