"""What Python code may use in a recording: builtins that are functions of their arguments alone, modules, names.

A builtin that is not listed here refuses. The methods of lists, dicts and sets may change them: that is seen where
it matters, as the objects of the outside are compared afterwards.
"""

import builtins
import collections
import contextlib
import functools
import itertools
import math
import operator
import re
import sys
import types
import typing

__all__ = [
    "DYNAMIC",
    "PURE_TYPES",
    "READERS",
    "SETTING",
    "UNSEEN_READERS",
    "is_higher_order",
    "is_library",
    "is_pure",
    "is_reader",
    "is_unseen_reader",
    "refusal_of_module",
    "refusal_of_name",
]

# ---------------------------------------------------------------- builtin functions
# Functions that read or write attributes whose names are not in the code: all attributes then count as read.
DYNAMIC = frozenset((getattr, hasattr, setattr, delattr, vars, dir))
# Methods of C that do so. Calls of UNSEEN_READERS are never seen, so that code which names one
# counts as calling it. Calls of READERS are seen, unless a builtin makes them.
UNSEEN_READERS = frozenset(("__getattribute__", "__getattr__", "__get__", "__set__", "__delete__"))
READERS = frozenset(
    ("format", "format_map", "__getstate__", "__reduce__", "__reduce_ex__", "__dir__")
)
_C_METHODS = (
    *(types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType),
    types.MethodWrapperType,
)

_NAMES = """
    __build_class__ abs all any ascii bin callable chr divmod format hex isinstance issubclass iter len max min next
    oct ord pow repr round sorted sum
"""
_FUNCTIONS = {
    *(getattr(builtins, name) for name in _NAMES.split()),
    *(one for module in (math, operator) for one in vars(module).values() if callable(one)),
    *DYNAMIC,
    functools.reduce,
}

# Types whose methods do nothing but read and change their own object and their arguments.
_OWNERS = frozenset(
    (
        *(bool, int, float, complex, str, bytes, bytearray, tuple, list, dict, set, frozenset),
        *(range, slice, property, types.GeneratorType, types.MappingProxyType, types.MethodType),
        *(collections.OrderedDict, collections.defaultdict, collections.deque, functools.partial),
        *(type({}.keys()), type({}.values()), type({}.items()), re.Pattern, re.Match),
    )
)
_METHODS = """
    __init__ __new__ __setattr__ __delattr__ __getattribute__ __init_subclass__ __eq__ __ne__ __format__ __repr__
    __str__ __class_getitem__ __subclasshook__ __instancecheck__ __subclasscheck__ mro with_traceback add_note
"""
# C modules below the standard library's own Python, such as that of ABCMeta.
_INNER = frozenset(("_abc", "_operator", "_functools", "_collections", "_typing"))


def is_pure(builtin):
    """Is what this builtin, or builtin method, returns and changes a matter of its object and arguments alone?"""
    if builtin in _FUNCTIONS:
        return True
    owner = builtin.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return builtin.__module__ in _INNER
    kind = owner if isinstance(owner, type) else type(owner)
    if kind.__module__.partition(".")[0] == "tensorlab":
        return True  # what it does to tensors goes through ops; the rest is in `refusal_of_name`
    return builtin.__name__ in _METHODS.split() or not _OWNERS.isdisjoint(kind.__mro__)


def is_reader(value):
    """Is this a function or a method of C that reads attributes, by names that the code need not have?"""
    if not isinstance(value, _C_METHODS):
        return False
    is_function = type(value) is types.BuiltinFunctionType
    return value.__name__ in READERS or (is_function and value in DYNAMIC)


def is_unseen_reader(value):
    """Is this a method of C that reads attributes, and whose calls are never seen?"""
    return isinstance(value, _C_METHODS) and value.__name__ in UNSEEN_READERS


# Builtins that call what they are given. If that is a builtin, the observer does not see the call.
_HIGHER_ORDER = frozenset(
    id(one)
    for one in (
        *(map, filter, sorted, min, max, iter, property, functools.reduce, functools.partial),
        *(operator.call, types.MethodType, staticmethod, classmethod),
        *(collections.defaultdict, itertools.starmap, itertools.accumulate, itertools.takewhile),
        *(itertools.dropwhile, itertools.filterfalse, itertools.groupby),
    )
)


def is_higher_order(value):
    """Does this builtin call what it is given?"""
    return id(value) in _HIGHER_ORDER


# Builtin types, whose calls are not seen at all.
PURE_TYPES = frozenset(
    one
    for module in (builtins, collections, itertools, functools, types, typing, contextlib)
    for one in vars(module).values()
    if isinstance(one, type) and one is not memoryview
)

# ---------------------------------------------------------------- modules
_MODULES = {
    **dict.fromkeys(("random", "secrets", "uuid"), "draws random numbers that are not tensorlab's"),
    **dict.fromkeys(("time", "datetime"), "reads the time"),
    **dict.fromkeys(("os", "posixpath", "ntpath", "platform"), "uses the operating system"),
    **dict.fromkeys(("pathlib", "io", "tempfile", "shutil", "glob"), "uses files"),
    **dict.fromkeys(("threading", "_thread", "concurrent", "queue"), "uses threads"),
    **dict.fromkeys(("multiprocessing", "subprocess"), "starts a process"),
    **dict.fromkeys(("inspect", "traceback", "linecache"), "inspects frames or source"),
    "numpy": "calls NumPy, which cannot be recorded",
    "warnings": "warns",
    "logging": "writes to a log",
    "asyncio": "is asynchronous",
    "gc": "uses the garbage collector",
    "weakref": "uses weak references",
    "sys": "uses the interpreter's own state",
    "importlib": "imports a module",
    "ctypes": "reads memory",
    "pickle": "pickles",
}
# Parts of tensorlab with state of their own; the rest of it is trusted to do all it does by calls of ops.
_PARTS = """
    random settings threads serialization safetensors hub multiprocessing datasets overrides viz learn cli fx
    utils.data utils.tensorboard utils.checkpoint utils.recomputing autograd.graph autograd.gradcheck
    backends.cuda backends.cudnn backends.mkldnn autograd.anomaly_mode
    nn.backward_hooks nn.utils.parametrize
"""


def refusal_of_module(name):
    """Why code of this module, or of its package, can't be recorded; None if it can."""
    package, _, rest = name.partition(".")
    if package != "tensorlab":
        return _MODULES.get(package)
    parts = rest.split(".")
    if not {rest, parts[0], ".".join(parts[:2])}.isdisjoint(_PARTS.split()):
        return f"calls {name}, which has state that is not in tensors"
    return None


def is_library(module):
    """Is this Python's own library, whose globals are taken for constants?"""
    return module.partition(".")[0] in sys.stdlib_module_names


# ---------------------------------------------------------------- names
SETTING = "reads or changes a setting"
_REASONS = {
    "gets at objects that guards cannot follow": """
        __globals__ __closure__ __code__ __defaults__ __kwdefaults__ __builtins__ __subclasses__ __traceback__
        __wrapped__ cell_contents default_factory f_back f_locals f_globals gi_frame cr_frame ag_frame tb_frame tb_next
        __bases__
        """,
    "is more than the values of a tensor": """
        register_hook register_post_accumulate_grad_hook retain_grad retains_grad register_prehook grad_fn
        next_functions _version _base _is_view storage_offset is_shared share_memory_ saved_tensors_hooks
        output_nr _storage_address _is_lazy_clone _lazy_clone
        """,
    "reads or changes the state of a generator": """
        manual_seed seed initial_seed get_state set_state get_rng_state set_rng_state fork_rng
        """,
    SETTING: """
        set_default_dtype set_default_device set_num_threads get_num_threads set_printoptions backends
        is_multithreading_enabled set_multithreading_enabled
        """,
}
_REFUSED = {name: reason for reason, names in _REASONS.items() for name in names.split()}


def refusal_of_name(name):
    """Why code that names this attribute can't be recorded; None if it can."""
    return _REFUSED.get(name)
