"""Kinds of objects: how an object that Python code may have used is compared, and what else it leads to.

    value       numbers, strings and tuples of them: compared by type and value
    constant    compared by identity, and nothing in it can change
    others      tracked: they hold other objects, or can be changed (tracked_kinds.py has classes for them)

An object of any other type is unknown, and the recording is refused.
"""

import collections
import enum
import functools
import gc
import re
import types
import weakref

from tensorlab._core.device import device, layout, memory_format
from tensorlab._core.dispatch.op import Op
from tensorlab._core.dtypes import dtype
from tensorlab._core.random import Generator
from tensorlab._core.tensor import Size, TensorBase
from tensorlab._tensor import Tensor
from tensorlab.nn.module import Module
from tensorlab.nn.parameter import Buffer, Parameter

from .guard_check import MISSING
from .pure import PURE_TYPES
from .tensor_state import is_lazy, writes_to

__all__ = [
    "COMPILED_FUNCTION",
    "Unknown",
    "attributes_of",
    "copy_of_class",
    "dict_of",
    "is_always_one_object",
    "is_compared_by_value",
    "is_of_tensorlab",
    "is_python_class",
    "kind_of",
    "slots_of",
]


class Unknown(Exception):
    """An object of a kind that guards can't compare; the message says which."""


_VALUES = (int, float, complex, str, bytes, Size, slice, range, device)
_DESCRIPTORS = (
    *(types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.MethodWrapperType),
    type(collections.namedtuple("Single", "first").first),
)
_OF_C = frozenset(  # attributes that only a class written in C makes
    (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
)
_CONSTANTS = (
    *(bool, type(None), type(Ellipsis), type(NotImplemented), types.CodeType, re.Pattern),
    *(types.GenericAlias, types.UnionType, dtype, layout, memory_format, Op, Generator),
    type(MISSING),
)
KINDS = {
    **dict.fromkeys(_VALUES, "value"),
    **dict.fromkeys((*_CONSTANTS, *_DESCRIPTORS), "constant"),
    **dict.fromkeys((Tensor, Parameter, Buffer), "tensor"),
    **dict.fromkeys((dict, collections.defaultdict), "dict"),
    **dict.fromkeys((set, frozenset), "set"),
    **dict.fromkeys((property, staticmethod, classmethod), "descriptor"),
    tuple: "tuple",
    list: "list",
    collections.OrderedDict: "ordered",
    types.FunctionType: "function",
    types.MethodType: "method",
    types.BuiltinFunctionType: "builtin",
    functools.partial: "partial",
    types.CellType: "cell",
    types.ModuleType: "module",
    types.SimpleNamespace: "instance",
}
COMPILED_FUNCTION = type(writes_to)  # of Cython; tensorlab has thousands
_PLAIN_BASES = frozenset((object, dict, list, tuple, int, float, str, bytes))


# Modules of decorators such as no_grad(), of what a call of a compiled module goes to, and of
# ops by name.
CONSTANTS = (
    *("tensorlab.autograd.grad_mode", "tensorlab.compiler.replay"),
    "tensorlab._core.dispatch.overloads",
)
# Modules of a program that hold ops in Cython (utils/cython_extension.py): what their functions
# do, ops do.
EXTENSIONS: set = set()


def kind_of(value):
    """The kind of an object: "value", "constant", or the kind of what is tracked.

    Raises
    ------
    Unknown
        If it is of none.
    """
    cls = type(value)
    check_metaclass(cls, "an object of type")
    kind = KINDS.get(cls)
    if kind == "tensor" and is_lazy(value):
        raise Unknown("a tensor whose memory holds its conjugate or its negative")
    if kind is not None:
        return "value" if kind == "tuple" and is_plain_tuple(value) else kind
    if issubclass(cls, TensorBase):
        raise Unknown(f"a tensor of class {cls.__name__}")
    if issubclass(cls, type):
        return kind_of_class(value)
    if issubclass(cls, types.ModuleType):
        return "module"
    if cls.__module__ in CONSTANTS:
        return "constant"
    if is_of_tensorlab(cls.__module__) and not is_python_class(cls):
        raise Unknown(f"a {cls.__module__}.{cls.__qualname__}")
    if cls.__name__ == "cython_function_or_method":
        if is_of_tensorlab(value.__module__ or "") or value.__module__ in EXTENSIONS:
            return "constant"
        raise Unknown(f"{value.__module__}.{value.__qualname__}, a compiled function")
    if all(is_python_class(base) or base in _PLAIN_BASES for base in cls.__mro__):
        return "instance"
    raise Unknown(f"an object of type {cls.__module__}.{cls.__qualname__}")


def kind_of_class(cls):
    """The kind of a class: a constant, if its attributes can't be assigned."""
    check_metaclass(cls, "the type")
    if is_python_class(cls):
        return "class"
    if cls in PURE_TYPES or cls in KINDS or is_of_tensorlab(cls.__module__):
        return "constant"
    raise Unknown(f"the type {cls.__module__}.{cls.__qualname__}, whose calls cannot be seen")


def check_metaclass(cls, what):
    """Raise Unknown if this class can't be looked up in a dict: its metaclass has `__eq__` and no `__hash__`."""
    if type(cls).__hash__ is None:
        raise Unknown(
            f"{what} {cls.__module__}.{cls.__qualname__}, whose metaclass has no __hash__"
        )


_python_classes: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # class: the answer below


def is_python_class(cls):
    """Was this class made by a class statement, so that its `__dict__` has everything?"""
    if not cls.__flags__ & (1 << 9):  # of the heap
        return False
    answer = _python_classes.get(cls)
    if answer is None:
        answer = _python_classes[cls] = not is_of_c(cls)
    return answer


def is_of_c(cls):
    """Has a class a constructor or attributes that only C can make?"""
    own = vars(cls)
    maker = own.get("__new__")
    if isinstance(maker, types.BuiltinFunctionType) and maker.__self__ is cls:
        return True
    return any(type(one) in _OF_C and one.__objclass__ is cls for one in own.values())


def is_plain_tuple(value):
    """Does a tuple hold nothing but values and constants?"""
    return all(
        is_plain_tuple(one) if type(one) is tuple else KINDS.get(type(one)) in ("value", "constant")
        for one in value
    )


def is_of_tensorlab(module):
    return module == "tensorlab" or module.startswith("tensorlab.")


def is_compared_by_value(value):
    """Is this a number, a string, or another object of a type in `_VALUES`?"""
    return KINDS.get(type(value)) == "value"


def is_always_one_object(value, kind):
    """Is such an object compared by identity, even if it is an argument?"""
    if kind != "instance":
        return kind not in ("tensor", "tuple", "list", "dict", "set", "ordered")
    return isinstance(value, (Module, enum.Enum, int, float, str, bytes))


def dict_of(value):
    """The `__dict__` of an object, or None if it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def attributes_of(cls):
    """The dict itself of a class, which `vars` shows."""
    (found,) = (one for one in gc.get_referents(vars(cls)) if type(one) is dict)
    return found


# class of tensorlab: what `copy_of_class` gave last
_copies: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def copy_of_class(cls):
    """A copy of the dict of a class of tensorlab; the same one for each recording, unless the class has changed."""
    now, known = attributes_of(cls), _copies.get(cls, {})
    if len(now) != len(known) or any(known.get(name) is not one for name, one in now.items()):
        known = _copies[cls] = dict(now)
    return known


def slots_of(cls):
    """{name: descriptor} of what the classes of an object have in `__slots__`."""
    return {
        name: one
        for base in reversed(cls.__mro__)
        if is_python_class(base)
        for name, one in vars(base).items()
        if isinstance(one, types.MemberDescriptorType)
    }
