"""Names in graphs and in generated source: how a function is called, and how no two things get one name."""

import builtins
import inspect
import keyword
import math
import re
import sys
import types
from typing import Any, NamedTuple

from tensorlab._core.device import device
from tensorlab._core.dispatch.op import Op

_PACKAGE = __name__.partition(".")[0]
# Where public functions and classes are looked for, in this order.
_PUBLIC_PLACES = ("", ".nn.functional", ".special", ".nn")


# ---------------------------------------------------------------- how a function is called
def public_name(thing):
    """Return the public name of a function or class of this package, such as "tensorlab.relu"; None for all others."""
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__name__", None)
    if not isinstance(module, str) or module.partition(".")[0] != _PACKAGE or name is None:
        return None
    package = sys.modules[_PACKAGE]
    for place in _PUBLIC_PLACES:
        # Not getattr: for a name that is missing, a package thinks about which one was meant.
        if vars(sys.modules.get(_PACKAGE + place, package)).get(name) is thing:
            return f"{_PACKAGE}{place}.{name}"
    if getattr(package.Tensor, name, None) is thing:
        return f"{_PACKAGE}.Tensor.{name}"
    return _other_name(thing, module, package)


def _other_name(thing, module, package):
    """The name under which `thing` stands in its own module, or, of a function with two names, another public name."""
    path = f"{module}.{getattr(thing, '__qualname__', thing.__name__)}"
    if is_reachable(path, thing):
        return path
    for name in package.__all__:
        if getattr(package, name) is thing:
            return f"{_PACKAGE}.{name}"
    return None


def is_reachable(path, thing):
    """Whether a dotted path, written in source after `import tensorlab`, is `thing`."""
    first, *rest = path.split(".")
    found = sys.modules.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found is thing


def qualified_name(function):
    """Return the name of a function with its module, as printed graphs show it.

    >>> import math
    >>> qualified_name(math.sqrt), qualified_name(len)
    ('math.sqrt', 'len')
    """
    if isinstance(function, Op):
        return function.name
    public = public_name(function)
    if public is not None:
        return public
    name = short_name(function)
    if getattr(builtins, name, None) is function:
        return name
    if name == "<lambda>":
        name = _name_of_lambda(function)
    module = getattr(function, "__module__", None)
    if module is None:
        # a method of a builtin class, such as str.upper
        owner = getattr(function, "__objclass__", None) or type(function)
        return f"{owner.__name__}.{name}"
    return f"{module}.{name}"


def _name_of_lambda(function):
    try:
        return inspect.getsource(function).partition("=")[0].strip()
    except (OSError, TypeError) as error:
        raise RuntimeError(
            f"cannot give {function} a name: its source is not there; use a function made with `def`"
        ) from error


def short_name(function):
    """Return the name of a function alone; of an object that can be called, that of its class."""
    if isinstance(function, Op):
        return function.name
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def pretty_name(target):
    """Return how a printed graph shows a target: `operator.add`, `tensorlab.relu`, a string as it is."""
    if isinstance(target, str):
        return target
    module = getattr(target, "__module__", None)
    if module == "builtins":
        return f"builtins.{short_name(target)}"
    if module == "_operator":
        return f"operator.{short_name(target)}"
    return qualified_name(target)


def type_name(annotation):
    """Return the text of a type in an annotation."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        if annotation.__module__ == "builtins":
            return annotation.__qualname__
        return public_name(annotation) or f"{annotation.__module__}.{annotation.__qualname__}"
    if annotation is ...:
        return "..."
    if isinstance(annotation, types.FunctionType):
        return annotation.__name__
    return repr(annotation)


# ---------------------------------------------------------------- names of values
class CustomBuiltin(NamedTuple):
    """A name that generated source may use without more ado."""

    import_str: str
    obj: Any


_custom_builtins: dict = {}
# Names that a value cannot have, each with the one object that may.
_illegal_names = {name: object() for name in keyword.kwlist} | vars(builtins)


def _register_custom_builtin(name, import_str, obj):
    """Let generated source use `name` for `obj`; `import_str` is the line that a saved file needs for it."""
    _custom_builtins[name] = CustomBuiltin(import_str, obj)
    _illegal_names[name] = obj


_register_custom_builtin("inf", "from math import inf", math.inf)
_register_custom_builtin("nan", "from math import nan", math.nan)
_register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
_register_custom_builtin(_PACKAGE, f"import {_PACKAGE}", sys.modules[_PACKAGE])
_register_custom_builtin("device", f"from {_PACKAGE} import device", device)

_snake = re.compile(r"(?<=[a-z])([A-Z])")
_no_identifier = re.compile("[^0-9a-zA-Z_]+")
_numbered = re.compile(r"([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?")


def _snake_case(name):
    """Return a name in lower case, with an underscore where a capital begins a word.

    >>> _snake_case("maxPool"), _snake_case("BN")
    ('max_pool', 'bn')
    """
    return _snake.sub(r"_\1", name).lower()


class _Namespace:
    """Names, each used once: for the nodes of a graph, or for everything in a generated function.

    A name that is taken gets a number, `relu`, `relu_1`, `relu_2`; so does a name of Python's own,
    `sum_1`.
    """

    def __init__(self):
        self._obj_to_name = {}
        self._used_names = set()
        self._base_count = {}  # the last number that a name got

    def has_name(self, obj):
        """Whether an object has a name already."""
        return obj in self._obj_to_name

    def reserve(self, name):
        """Let nothing else have this name."""
        self._used_names.add(name)

    def create_name(self, candidate, obj):
        """Return the name of `obj`: `candidate`, or one like it; of None, one that nothing else has."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        if not _numbered.fullmatch(candidate):
            candidate = _no_identifier.sub("_", candidate) or "_unnamed"
            if candidate[0].isdigit():
                candidate = f"_{candidate}"
        base, number = _numbered.fullmatch(candidate).groups()
        if number is not None and candidate not in self._used_names:
            number = int(number)
        else:
            number = self._base_count.get(base, 0)
            if _illegal_names.get(candidate, obj) is not obj:
                number += 1
                candidate = f"{base}_{number}"
        while candidate in self._used_names:
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Say that a name that has been made belongs to `obj`."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError(f"{obj} has the name {self._obj_to_name[obj]!r} already")

    def _rename_object(self, obj, name):
        """Give an object that has a name another one."""
        if obj not in self._obj_to_name:
            raise AssertionError(f"{obj} has no name yet")
        self._obj_to_name[obj] = name
        self._used_names.add(name)
