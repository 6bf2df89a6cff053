"""Symbolic tracing: run a program once with proxies, and keep what it did as a graph.

While the program runs, three things are replaced (patching.py): calls of modules come to
`Tracer.call_module`, which makes one node of a leaf and looks into any other; attributes that are
parameters come as proxies; and functions that no proxy could go through, such as those of `math`,
become nodes if they are given one.
"""

import functools
import inspect
import math
import sys
import threading
import types
import warnings

from tensorlab._core.storage import Storage
from tensorlab._tensor import Tensor
from tensorlab.fx.graph import Graph
from tensorlab.fx.graph_module import GraphModule
from tensorlab.fx.node import has_side_effect
from tensorlab.fx.patching import Patcher
from tensorlab.fx.proxy import (
    ParameterProxy,
    Scope,
    ScopeContextManager,
    TracerBase,
    base_types,
    find_proxy,
)
from tensorlab.fx.pytree import PyTreeCodeGen, PyTreeInfo, tree_flatten, tree_map, tree_unflatten
from tensorlab.fx.wrapping import wrap
from tensorlab.nn.container import Sequential
from tensorlab.nn.module import Module
from tensorlab.nn.parameter import Parameter

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_PACKAGE = __name__.partition(".")[0]
_proxyable_classes: dict = {}
_active: list = []  # the tracers that run now, the innermost last
_one_at_a_time = threading.RLock()  # a trace replaces methods of Module, for all threads


def is_fx_tracing():
    """Return whether a program is being traced now."""
    return bool(_active)


class ProxyableClassMeta(type):
    """Metaclass of classes whose construction is recorded, if it is given a proxy.

    ::

        class Pair(metaclass=ProxyableClassMeta):
            def __init__(self, left, right):
                self.left, self.right = left, right
    """

    def __init__(cls, name, bases, attributes):
        _proxyable_classes[cls] = None
        super().__init__(name, bases, attributes)

    def __call__(cls, *args, **kwargs):
        proxy = find_proxy(args, kwargs) if is_fx_tracing() else None
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


class PHBase:
    """In concrete arguments: an input that stays a proxy."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class Tracer(TracerBase):
    """Makes the graph of a program. Subclass it to change what becomes a node.

    Parameters
    ----------
    autowrap_modules : tuple of modules whose functions become nodes if they are given a proxy
    autowrap_functions : tuple of further such functions
    param_shapes_constant : bool, whether the shape of a parameter is known while tracing, so
        that programs may branch on it

    Examples
    --------
    >>> import tensorlab
    >>> class KeepBlocks(Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return module_qualified_name == "block"
    >>> print(KeepBlocks().trace(lambda x: x + 1))
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})
        return add
    """

    def __init__(
        self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False
    ):
        super().__init__()
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_functions = {id(function): function for function in autowrap_functions}
        for module in autowrap_modules:
            for name, value in vars(module).items():
                if not name.startswith("_") and callable(value):
                    self._autowrap_functions[id(value)] = value
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.num_calls = {}

    # ------------------------------------------------------------ what becomes a node
    def is_leaf_module(self, m, module_qualified_name):
        """Return whether a call of a module becomes one node, instead of what it does inside.

        Those of `nn` do, but for Sequential.
        """
        return type(m).__module__.startswith(f"{_PACKAGE}.nn") and not isinstance(m, Sequential)

    def path_of_module(self, mod):
        """Return the dotted name of a submodule of the traced module.

        Raises
        ------
        NameError
            If it is not one.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((name for name, one in self.root.named_modules() if one is mod), None)
        if path is None:
            raise NameError(
                f"module is not installed as a submodule: assign this {type(mod).__name__} to an attribute"
            )
        return path

    def call_module(self, m, forward, args, kwargs):
        """Return the result of a call of a module: a proxy of a new node for a leaf, else what `forward` gives."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            key = f"{path}@{calls}" if calls else path
            self.module_stack[key] = (path, type(m))
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.pop(key)
        return result

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """Return what a program gets that reads an attribute of a module: of a parameter, a proxy
        of its get_attr node.

        Parameters
        ----------
        attr : str
        attr_val : its value
        parameter_proxy_cache : dict, the proxies that there are already, by the parameter's
            dotted name
        """
        if isinstance(attr_val, Parameter):
            members = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            members = self.root.named_buffers()
        else:
            return attr_val
        for name, value in members:
            if value is attr_val:
                if name not in parameter_proxy_cache:
                    parameter_proxy_cache[name] = self._proxy_of_member(name, value)
                return parameter_proxy_cache[name]
        return attr_val

    def _proxy_of_member(self, name, value):
        def make(node):
            return ParameterProxy(self, node, name, value)

        factory = make if self.param_shapes_constant else None
        return self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)

    def create_arg(self, a):
        """Return what a node holds for a value of the program.

        Parameters, buffers and modules become get_attr nodes; so do other tensors, which are given
        to the module as attributes, `_tensor_constant0` and so on: the graph keeps their value of
        now.
        """
        members = ()
        if isinstance(a, Parameter):
            members = self.root.named_parameters()
        elif isinstance(a, Tensor):
            members = self.root.named_buffers()
        elif isinstance(a, Module):
            members = self.root.named_modules()
        for name, member in members:
            if member is a:
                return self.create_node("get_attr", name, (), {})
        if isinstance(a, Parameter):
            raise NameError(
                "parameter is not a member of this module: assign it to an attribute of the module that is traced"
            )
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            items = tuple(self.create_arg(item) for item in a)
            return self.create_node("call_function", type(a), items, {})
        if isinstance(a, Tensor | Storage):
            if id(a) not in self.tensor_attrs:
                self.tensor_attrs[id(a)] = self._keep_constant("_tensor_constant", a)
            return self.create_node("get_attr", self.tensor_attrs[id(a)], (), {})
        if type(a) in _proxyable_classes:
            name = self._keep_constant(f"_{type(a).__name__}_constant_", a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix):
        """Return the prefix with the first number that makes it the name of no attribute of the module."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def _keep_constant(self, prefix, value):
        name = self.get_fresh_qualname(prefix)
        setattr(self.root, name, value)
        return name

    # ------------------------------------------------------------ tracing
    def trace(self, root, concrete_args=None):
        """Run a program with proxies, and return its graph.

        Parameters
        ----------
        root : Module or function
        concrete_args : dict from names of parameters to the values that they have in this
            graph. The graph checks that it is given these values later. In nested values `PH`
            marks inputs that stay open.

        Returns
        -------
        Graph

        Raises
        ------
        TraceError
            If the program asks for the value of a proxy, such as in an `if`.
        """
        if isinstance(root, Module):
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            self.root, function = root, getattr(type(root), self.traced_func_name)
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = _tensors_in(self.root)
        if not isinstance(function, types.FunctionType):
            raise AssertionError(
                f"trace needs a function or a Module, and was given a {type(root).__name__}"
            )
        self.graph._co_fields = function.__code__
        scope = function.__globals__
        function, args = self.create_args_for_root(
            function, isinstance(root, Module), concrete_args
        )
        annotation = inspect.unwrap(function).__annotations__.get("return")
        with _one_at_a_time, Patcher() as patcher:
            _active.append(self)
            try:
                self._patch(patcher, scope)
                result = self.create_arg(function(*args))
            finally:
                _active.pop()
            self.create_node("output", "output", (result,), {}, type_expr=annotation)
        self.submodule_paths = None
        return self.graph

    def _patch(self, patcher, scope):
        """Replace what a program with proxies must not reach."""
        plain_call, plain_getattribute = Module.__call__, Module.__getattribute__
        own_thread = threading.get_ident()  # modules that other threads call are none of ours
        proxies = {}
        functions = self._autowrap_functions | _python_functions()

        def call_module(module, *args, **kwargs):
            if threading.get_ident() != own_thread:
                return plain_call(module, *args, **kwargs)
            forward = functools.partial(plain_call, module)
            patcher.wrap_known(getattr(type(module).forward, "__globals__", {}), functions)
            return self.call_module(module, forward, args, kwargs)

        def read_attribute(module, name):
            value = plain_getattribute(module, name)
            if threading.get_ident() != own_thread:
                return value
            if isinstance(value, Tensor | Module) and name in vars(module):
                return self.getattr(name, value, proxies)
            return value

        patcher.patch_method(Module, "__call__", call_module)
        patcher.patch_method(Module, "__getattribute__", read_attribute)
        patcher.wrap_declared()
        places = [
            vars(sys.modules[_PACKAGE + place]) for place in ("", ".nn.functional", ".special")
        ]
        for one in (scope, *map(vars, self._autowrap_search), *places):
            patcher.wrap_known(one, functions)

    # ------------------------------------------------------------ its inputs
    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """Make a placeholder for each parameter of a function.

        Returns
        -------
        the function to call, and a list of the proxies to call it with
        """
        code = inspect.unwrap(root_fn).__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        if is_module and count == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        own = names[1 if is_module else 0 : count]
        if isinstance(concrete_args, tuple):
            if len(own) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(own)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(own, concrete_args, strict=True))
        unknown = set(concrete_args or ()) - set(own)
        if unknown:
            raise RuntimeError(f"concrete_args has {sorted(unknown)}, and the parameters are {own}")
        signature = inspect.signature(inspect.unwrap(root_fn))
        args = [self.root] if is_module else []
        args += [self._make_input(name, signature, concrete_args) for name in own]
        stars = []
        if code.co_flags & inspect.CO_VARARGS:
            stars.append(f"*{names[count]}")
        if code.co_flags & inspect.CO_VARKEYWORDS:
            stars.append(f"**{names[count + len(stars)]}")
        args += [self.create_proxy("placeholder", name, (), {}) for name in stars]
        if stars or code.co_kwonlyargcount:
            root_fn = _with_plain_parameters(root_fn, len(args))
        flat, spec = tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children()):
            return root_fn, args
        return self._with_trees(root_fn, names[:count], spec), flat

    def _with_trees(self, function, names, spec):
        """A function of the leaves of its arguments, which returns those of its result."""
        self.graph._codegen = PyTreeCodeGen(PyTreeInfo(names, spec))

        def call(*leaves):
            result, out_spec = tree_flatten(function(*tree_unflatten(leaves, spec)))
            self.graph._codegen.pytree_info = PyTreeInfo(names, spec, out_spec)
            return result

        return call

    def _make_input(self, name, signature, concrete_args):
        """The proxy of a parameter, or the value that it has in this graph."""
        parameter = signature.parameters[name]
        default = () if parameter.default is parameter.empty else (parameter.default,)
        if name not in (concrete_args or ()):
            annotation = None if parameter.annotation is parameter.empty else parameter.annotation
            return self.create_proxy("placeholder", name, default, {}, type_expr=annotation)
        count = 0

        def fix(value):
            nonlocal count
            count += 1
            proxy = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                return proxy
            self._check_later(proxy, name, value)
            return value

        return tree_map(fix, concrete_args[name])

    def _check_later(self, proxy, name, value):
        """Make a node that raises an error if the graph is given another value than it was made for."""
        text = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, text), {})
        elif isinstance(value, base_types) and not isinstance(value, Tensor):
            self.create_proxy("call_function", _assert, (proxy == value, text), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is "
                "up to the user to make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=2,
            )


@has_side_effect
def _assert(condition, message):
    """Raise unless a condition holds."""
    if not condition:
        raise AssertionError(message)


@has_side_effect
def _assert_is_none(value, message):
    """Raise unless a value is None."""
    if value is not None:
        raise AssertionError(message)


def _tensors_in(module, prefix=""):
    """{id of a tensor: its dotted name} of the attributes of a module and its submodules that are tensors."""
    found = {}
    for name, value in vars(module).items():
        if isinstance(value, Tensor):
            found[id(value)] = prefix + name
    for name, child in module.named_children():
        found.update(_tensors_in(child, f"{prefix}{name}."))
    return found


@functools.cache
def _python_functions():
    """{id: function} of the public functions of tensors that are written in Python, which ask for shapes and values."""
    found = {}
    for place in ("", ".nn.functional", ".special"):
        module = sys.modules[_PACKAGE + place]
        for name in module.__all__:
            value = getattr(module, name)
            home = getattr(value, "__module__", None) or ""
            if (isinstance(value, types.FunctionType) and ".ops." in f"{home}.") or home.endswith(
                ".nn.functional"
            ):
                found[id(value)] = value
    return found


def _with_plain_parameters(function, count):
    """A function whose *args and **kwargs are parameters like any other, so that each takes one proxy."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = code.replace(
        co_flags=flags, co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0
    )
    return types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )


def symbolic_trace(root, concrete_args=None):
    """Run a program once with proxies, and return a module that does what it did.

    Parameters
    ----------
    root : Module or function
    concrete_args : dict of parameters that have a fixed value in the graph; see Tracer.trace

    Returns
    -------
    GraphModule

    Examples
    --------
    >>> import tensorlab
    >>> def f(x, y):
    ...     return tensorlab.relu(x) + y * 2
    >>> print(symbolic_trace(f).code.strip())
    def forward(self, x, y):
        relu = tensorlab.relu(x);  x = None
        mul = y * 2;  y = None
        add = relu + mul;  relu = mul = None
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
