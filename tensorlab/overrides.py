"""Overrides: classes and modes that take part in the calls of tensorlab's functions.

A class that inherits Tensor defines `__tensor_function__` (PyTorch's name `__torch_function__` means
the same; use one of them in a hierarchy), and calls with such a tensor go to it:

    class Loud(tensorlab.Tensor):
        @classmethod
        def __tensor_function__(cls, function, types, args=(), kwargs=None):
            print(function.__name__)
            return super().__tensor_function__(function, types, args, kwargs)

A mode is the same for all calls of a block, whatever their arguments.  How calls are intercepted,
and why programs without overrides pay nothing, says tensorlab/_core/dispatch/overrides.pyx.

What a class or a mode does with calls of ops, below autograd, is `__torch_dispatch__`: see utils/_python_dispatch.py.
"""

import functools
import importlib
import inspect

from tensorlab import _missing
from tensorlab._core.dispatch import overrides as _core
from tensorlab._core.dispatch.overrides import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    disabled_tensor_function,
    register,
)
from tensorlab._dispatch_trace import trace_dispatch
from tensorlab._on_demand import MethodOnDemand
from tensorlab._tensor import Tensor
from tensorlab.ops.subclasses import keep_plain

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "disabled_tensor_function",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "register",
    "resolve_name",
    "trace_dispatch",
    "wrap_torch_function",
]

# Where public functions live.
_NAMESPACES = ("tensorlab", "tensorlab.nn.functional", "tensorlab.special", "tensorlab.linalg")

# Which function hooks are told when an operator is called: PyTorch's choice, name by name.
_OPERATORS = {
    "__add__": "add",
    "__iadd__": "add_",
    "__sub__": "sub",
    "__isub__": "sub_",
    "__mul__": "mul",
    "__imul__": "mul_",
    "__matmul__": "matmul",
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__rtruediv__": "__rdiv__",
    "__mod__": "remainder",
    "__imod__": "remainder_",
    "__pow__": "pow",
    "__ipow__": "pow_",
    "__ne__": "ne",
    "__lt__": "lt",
    "__le__": "le",
    "__gt__": "gt",
    "__ge__": "ge",
    **{  # these are told as they are called
        f"__{name}__": f"__{name}__"
        for name in (
            *("eq", "floordiv", "and", "or", "xor", "lshift", "rshift"),
            *("ifloordiv", "iand", "ior", "ixor", "ilshift", "irshift"),
            *("rsub", "rmatmul", "rmod", "rpow", "rfloordiv", "rlshift", "rrshift"),
        )
    },
}

# Factories: their arguments are data or settings, so only modes intercept them.
_FACTORIES = {
    *("arange", "as_tensor", "asarray", "empty", "empty_strided", "eye", "frombuffer"),
    *("from_dlpack", "from_numpy", "full", "linspace", "logspace", "normal", "ones", "rand"),
    *("randint", "randn", "randperm", "scalar_tensor", "tensor", "tril_indices", "triu_indices"),
    *("zeros", "from_file", "range", "can_cast", "promote_types", "result_type"),
}

# Not calls on tensors at all, or what hooks themselves are made of.
_IGNORED = {
    *("__new__", "__hash__", "__init_subclass__", "as_subclass"),
    *("_make_subclass", "_make_wrapper_subclass"),
    "__iter__",  # its unbind is intercepted: so the items are of the subclass, too
    *("__tensor_function__", "__torch_function__", "is_tensor"),
    *("live_tensors", "empty_cache", "memory_stats", "reset_peak_memory_stats", "set_cache_limit"),
    *("get_default_dtype", "set_default_dtype", "is_grad_enabled", "is_inference_mode_enabled"),
    *("get_num_threads", "set_num_threads", "manual_seed", "seed", "initial_seed"),
    *("get_rng_state", "set_rng_state", "broadcast_shapes", "is_storage"),
}

_compiled = type(Tensor.add)


# ---------------------------------------------------------------- the list of functions
def _members():
    """Yield (name in Tensor, what is listed there), the class before the base."""
    for name in dict.fromkeys([*vars(Tensor), *vars(Tensor.__base__)]):
        if name not in _IGNORED:
            member = inspect.getattr_static(Tensor, name)
            yield name, getattr(Tensor, name) if isinstance(member, MethodOnDemand) else member


def _collect():
    """List (function, what hooks are told, kind) for all public functions; see `enable_interception`."""
    public = {}
    for namespace in _NAMESPACES:
        module = importlib.import_module(namespace)
        for name in getattr(module, "__all__", ()):
            function = getattr(module, name)
            if isinstance(function, _compiled) and name not in _IGNORED:
                kind = _core.IGNORES_CLASSES if name in _FACTORIES else 0
                public.setdefault(function, (function, kind))
    operators = {}
    for name, told in _OPERATORS.items():
        operators.setdefault(getattr(Tensor, name), told)
    for name, member in _members():
        if isinstance(member, _compiled) and member not in operators:
            public.setdefault(member, (member, 0))
            if member.__name__ not in vars(Tensor):
                member.__name__ = name  # `to_float` is listed as `float`: what hooks should read
    for function, name in operators.items():
        if function.__name__ not in vars(Tensor):
            function.__name__ = name
        public.setdefault(function, (getattr(Tensor, name), _core.IS_OPERATOR))
    for _, member in _members():
        if isinstance(member, property):
            public.setdefault(member.fget, (member.__get__, 0))
            if member.fset is not None:
                public.setdefault(member.fset, (member.__set__, 0))
    return [(function, told, kind) for function, (told, kind) in public.items()]


_sizes = None  # of the namespaces when functions were listed last


def _collect_new():
    """List what `_collect` does, or nothing if no name has been added since the last call."""
    global _sizes

    def sizes():
        return [len(vars(one)) for one in (*map(importlib.import_module, _NAMESPACES), Tensor)]

    if sizes() == _sizes:
        return []
    found = _collect()  # which imports what is there on demand
    _sizes = sizes()
    return found


def get_overridable_functions():
    """List what calls can be overridden.

    Returns
    -------
    dict of list; for each module or class (`tensorlab`, `tensorlab.Tensor`, ...) its functions

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.add in get_overridable_functions()[tensorlab]
    True
    """
    found = {}
    for namespace in _NAMESPACES:
        module = importlib.import_module(namespace)
        found[module] = [
            function
            for name in getattr(module, "__all__", ())
            if isinstance(function := getattr(module, name), _compiled)
            and name not in _IGNORED | _FACTORIES
        ]
    found[Tensor] = [
        member.__get__ if isinstance(member, property) else member
        for _, member in _members()
        if isinstance(member, property | _compiled)
    ]
    return found


def get_ignored_functions():
    """List the public functions that no class can override: factories and what is no call on tensors.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros in get_ignored_functions()
    True
    """
    tensorlab = importlib.import_module("tensorlab")
    names = sorted(_IGNORED | _FACTORIES)
    found = [getattr(place, name, None) for place in (tensorlab, Tensor) for name in names]
    return {function for function in found if function is not None}


@functools.cache
def _names():
    names = {}
    for place, functions in get_overridable_functions().items():
        prefix = "tensorlab.Tensor" if place is Tensor else place.__name__
        members = vars(place).items() if place is not Tensor else _members()
        listed = {}
        for name, member in members:
            suffix = ".__get__" if isinstance(member, property) else ""
            told = member.__get__ if suffix else member
            if callable(told):
                listed.setdefault(told, f"{prefix}.{name}{suffix}")
        for function in functions:
            names.setdefault(function, listed[function])
    return names


def resolve_name(f):
    """Return the public name of a function that a hook was told, such as "tensorlab.add"; or None.

    Examples
    --------
    >>> import tensorlab
    >>> resolve_name(tensorlab.add), resolve_name(tensorlab.Tensor.add_)
    ('tensorlab.add', 'tensorlab.Tensor.add_')
    """
    return _names().get(f)


def is_tensor_method_or_property(func):
    """Tell whether a function is a method or a property of Tensor.

    Examples
    --------
    >>> import tensorlab
    >>> is_tensor_method_or_property(tensorlab.Tensor.add)
    True
    """
    return func in _method_set() or getattr(func, "__name__", None) == "__get__"


@functools.cache
def _method_set():
    return set(get_overridable_functions()[Tensor])


# ---------------------------------------------------------------- for functions written in Python
def has_torch_function(relevant_args):
    """Tell whether the class of one of these arguments, or a mode, has a say in a call.

    For functions of your own that are written in Python and want to be overridable::

        def my_function(x, y):
            if has_torch_function((x, y)):
                return handle_torch_function(my_function, (x, y), x, y)
            ...

    Examples
    --------
    >>> import tensorlab
    >>> has_torch_function([tensorlab.ones(2)])
    False
    """
    return bool(_core.overloaded_arguments(relevant_args) or _core.active_modes())


def has_torch_function_unary(arg):
    """Tell the same of one argument.

    Examples
    --------
    >>> import tensorlab
    >>> has_torch_function_unary(tensorlab.ones(2))
    False
    """
    return has_torch_function((arg,))


def has_torch_function_variadic(*args):
    """Tell the same of arguments given one by one.

    Examples
    --------
    >>> import tensorlab
    >>> has_torch_function_variadic(tensorlab.ones(2), 3)
    False
    """
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Give a call of `public_api` to the hooks of the modes and of `relevant_args`.

    Raises
    ------
    TypeError
        If each of them returns NotImplemented.
    """
    return _core.call_override(public_api, _core.overloaded_arguments(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher):
    """Make a Python function overridable; `dispatcher` gives its relevant arguments.

    Examples
    --------
    >>> import tensorlab
    >>> @wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return 2 * x
    ...
    >>> twice(tensorlab.ones(1))
    tensor([2.])
    """

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp):
    """Tell whether `inp` is a tensor, or of a class with a hook.

    Examples
    --------
    >>> import tensorlab
    >>> is_tensor_like(tensorlab.ones(2)), is_tensor_like([1.0])
    (True, False)
    """
    return any(hasattr(inp, name) for name in _core.HOOK_NAMES)


def get_default_nowrap_functions():
    """List the functions whose results the default hook hands on as they are.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.Tensor.grad.__get__ in get_default_nowrap_functions()
    True
    """
    return {Tensor.grad.__get__, Tensor._base.__get__}


# ---------------------------------------------------------------- modes
class TorchFunctionMode:
    """A block in which every call of a public function goes to `__tensor_function__` of this object.

    Inside the hook the mode is off, so it can call what it likes; modes around it still intercept that.

    Examples
    --------
    >>> import tensorlab
    >>> class Count(TorchFunctionMode):
    ...     calls = 0
    ...     def __tensor_function__(self, function, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return function(*args, **(kwargs or {}))
    >>> with Count() as count:
    ...     y = tensorlab.ones(2) + 1
    >>> count.calls
    2
    """

    def __tensor_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

    def __enter__(self):
        _core.push_mode(self)
        return self

    def __exit__(self, *exception):
        _core.pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """Make a mode of this class."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing.

    Examples
    --------
    >>> import tensorlab
    >>> with BaseTorchFunctionMode():
    ...     x = tensorlab.ones(2) + 1
    >>> x
    tensor([2., 2.])
    """


for _function in get_default_nowrap_functions():
    keep_plain(_function)
_core.set_collector(_collect_new)

__getattr__ = _missing.refusing(__name__)
