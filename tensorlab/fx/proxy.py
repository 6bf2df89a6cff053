"""Proxies: what a program is run with instead of tensors, so that it writes itself down.

A proxy stands for the value of a node.  Whatever is done to it makes another node, and gives a
proxy of that: operators, through the methods defined below from the tables of operators.py; methods
and attributes, through `__getattr__`; functions of this package, through `__torch_function__`
(tensorlab/overrides.py).  Only Python itself cannot be heard: `if`, `while`, `len`, `for` ask for a
bool, a number, items, now, and a proxy has none.  It raises an error that names the line.
"""

import dataclasses
import dis
import enum
import inspect
import operator
import traceback
from collections import OrderedDict
from pathlib import Path

from tensorlab import _missing, overrides
from tensorlab._core.device import device, layout, memory_format
from tensorlab._core.dispatch.op import Op
from tensorlab._core.dtypes import dtype
from tensorlab._tensor import Tensor
from tensorlab.fx.graph import _name_of_target
from tensorlab.fx.naming import public_name
from tensorlab.fx.node import has_side_effect, map_aggregate, map_arg
from tensorlab.fx.operators import magic_methods, reflectable_magic_methods

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]

# What a node may hold beside nodes and collections of them.
base_types = (str, int, float, bool, complex, dtype, Tensor, device, memory_format, layout, Op)
_PACKAGE_FOLDER = str(Path(__file__).resolve().parent.parent)


class TraceError(ValueError):
    """A program asked a proxy for its value, which is not there while the program is traced.

    Examples
    --------
    >>> from tensorlab import fx
    >>> fx.symbolic_trace(lambda x: 1 if x.sum() > 0 else 2)
    Traceback (most recent call last):
        ...
    tensorlab.fx.proxy.TraceError: symbolically traced variables cannot be used as ...
    """


# ---------------------------------------------------------------- where in the program we are
def _is_program(filename):
    """Whether a file belongs to the program that is traced, and not to this package."""
    return not filename.startswith(_PACKAGE_FOLDER) and not filename.startswith("<frozen")


def _program_frame():
    """The innermost frame of the program."""
    frame = inspect.currentframe()
    while frame is not None and not _is_program(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _describe_place():
    """File, line and text of the line that the program is at, as in a traceback."""
    frame = _program_frame()
    if frame is None:
        return ""
    line = traceback.extract_stack(frame, limit=1)[0]
    return f'\n  File "{line.filename}", line {line.lineno}, in {line.name}\n    {line.line}'


def _program_stack():
    """The calls that lead from the traced function to the line that the program is at, as in a traceback."""
    frames = []
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "trace":
        frames.append(frame)
        frame = frame.f_back
    stack = [
        traceback.extract_stack(frame, limit=1)[0]
        for frame in reversed(frames)
        if _is_program(frame.f_code.co_filename)
    ]
    return "".join(traceback.StackSummary.from_list(stack).format()).strip()


# ---------------------------------------------------------------- in which module we are
class Scope:
    """The module that runs: its path and its class."""

    def __init__(self, module_path, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """A block in which another module runs."""

    def __init__(self, scope, current_scope):
        self._scope = scope
        self._before = scope.module_path, scope.module_type
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *exception):
        self._scope.module_path, self._scope.module_type = self._before


# ---------------------------------------------------------------- making nodes of calls
class TracerBase:
    """What proxies give their calls to: it makes the nodes.

    Attributes
    ----------
    graph : Graph, which the nodes go to
    record_stack_traces : bool, whether to note the line of the program that made a node in its meta
    check_mutable_operations : bool, whether to refuse functions that write over their arguments
    trace_asserts : bool, whether `assert proxy` becomes a node
    proxy_buffer_attributes : bool, whether reading a buffer of a module gives a proxy, as
        reading a parameter does
    traced_func_name : str, the method of a module that is traced
    """

    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def __init__(self):
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """Make a node; override this to refuse some, or to change them."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.check_mutable_operations and kind.startswith("call_f") and node.is_impure(False):
            self.graph.erase_node(node)
            raise RuntimeError(
                f"Tried to trace mutable operation {node.format_node()}: this tracer refuses functions that write over "
                "their arguments, as check_mutable_operations is True"
            )
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
        if self.record_stack_traces:
            node.stack_trace = _program_stack()
        return node

    def proxy(self, node):
        """Return a proxy of a node; override this for proxies of your own class."""
        return Proxy(node, self)

    def create_proxy(
        self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None
    ):
        """Make a node of a call whose arguments may be proxies; return a proxy of it."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a):
        """Return what a node holds for a value of the program: proxies become nodes.

        Override it for classes of your own.

        Raises
        ------
        NotImplementedError
            If a node cannot hold such a value.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._create_key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice | range):
            return type(a)(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {
                one.name: self.create_arg(getattr(a, one.name)) for one in dataclasses.fields(a)
            }
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        raise NotImplementedError(
            f"argument of type: {type(a)}; a node can hold numbers, strings, tensors, types, other nodes, and "
            "tuples, lists, dicts and slices of these. Override create_arg of the tracer for more"
        )

    def _create_key(self, key):
        if isinstance(key, str):
            return key
        key = self.create_arg(key)

        def refuse(node):
            raise RuntimeError(
                f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
            )

        map_arg(key, refuse)
        return key

    # ------------------------------------------------------------ what Python asks a proxy for
    def to_bool(self, obj):
        """Return what `if proxy` does with a proxy. Override it if you know the value.

        Raises
        ------
        TraceError
        """
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow: the program asks for the "
            f"truth of {obj.node.name}, and a proxy has no value. Branch on something that is known while "
            "tracing, compute both sides and choose with `where`, or keep the branch whole with `fx.wrap`."
            f"{_describe_place()}"
        )

    def iter(self, obj):
        """Return what a loop over a proxy goes over. Override it if you know how many items there are."""
        raise TraceError(
            f"Proxy object cannot be iterated: the program asks for the items of {obj.node.name}, for a loop or "
            "for *args, and a proxy does not know how many there are. Loop over a number that is known, and index."
            f"{_describe_place()}"
        )

    def keys(self, obj):
        """Return what `**proxy` takes for its keys."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """The tracer of a proxy that was made of a node by hand: it adds nodes to that one's graph."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph


# ---------------------------------------------------------------- proxies
class Proxy:
    """Stands for the value of a node while a program is traced; what is done to it becomes nodes.

    Make one of a node by hand to write graphs with operators: `Proxy(node) + 1` adds a node.

    Parameters
    ----------
    node : Node
    tracer : TracerBase, which makes the nodes; one that adds to the node's graph unless given

    Examples
    --------
    >>> from tensorlab import fx
    >>> def f(x):
    ...     print(type(x).__name__)
    ...     return x + 1
    ...
    >>> _ = fx.symbolic_trace(f)
    Proxy
    """

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node
        _let_functions_hear()

    def __repr__(self):
        return f"{type(self).__name__}({self.node.name})"

    def __getattr__(self, k):
        if k in ("__fx_create_arg__", "__deepcopy__"):  # what is asked of every object
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __iter__(self):
        step = _instructions_from(inspect.currentframe().f_back)[0]
        if step.opname == "UNPACK_SEQUENCE":  # a, b = proxy: Python says how many it wants
            return (self[i] for i in range(step.argval))
        return self.tracer.iter(self)

    def __bool__(self):
        if self.tracer.trace_asserts and _is_assertion(inspect.currentframe().f_back):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self):
        """What `**proxy` asks for."""
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            f"fx.wrap('len') at module scope.{_describe_place()}"
        )

    @classmethod
    def __torch_function__(cls, orig_method, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tracers = {}

        def note(value):
            if isinstance(value, cls):
                tracers[value.tracer] = None

        map_aggregate((args, kwargs), note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {orig_method}"
            )
        (tracer,) = tracers
        name = orig_method.__name__
        if _is_method(orig_method):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy(
            "call_function", orig_method, args, kwargs, name=_name_of_target(name)
        )


def _is_method(function):
    """Whether a function is a method of tensors and nothing else: `add` is public as a function, too."""
    is_function = (public_name(function) or "").rpartition(".")[0] not in ("", "tensorlab.Tensor")
    return not is_function and overrides.is_tensor_method_or_property(function)


def _let_functions_hear():
    """Tell the functions of this package about proxies; a program that makes none never gets here."""
    if not _are_heard:
        _are_heard.append(overrides.register(Proxy))


_are_heard: list = []


class Attribute(Proxy):
    """An attribute of a proxy. It becomes a node when it is used; a call of it is a call of a method instead."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node = None

    @property
    def node(self):
        """The node that reads the attribute."""
        if self._node is None:
            proxy = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = proxy.node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A proxy of a parameter, which does know its shape, so that programs may branch on that."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        self.name, self.param = name, param

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        """The shape of the parameter."""
        return self.param.shape

    @property
    def ndim(self):
        """The number of dimensions of the parameter."""
        return self.param.ndim

    def size(self):
        """Return its shape."""
        return self.param.size()

    def dim(self):
        """Return its number of dimensions."""
        return self.param.dim()

    def numel(self):
        """Return its number of elements."""
        return self.param.numel()

    def nelement(self):
        """Return its number of elements."""
        return self.param.nelement()


def _add_operator(name):
    """Give Proxy the method of an operator, and the reflected one, each of which makes a node."""
    function = getattr(operator, name)
    word = name.strip("_")

    def call(*args, **kwargs):
        return args[0].tracer.create_proxy("call_function", function, args, kwargs)

    def call_reflected(self, other):
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    call.__name__, call_reflected.__name__ = f"__{word}__", f"__r{word}__"
    setattr(Proxy, call.__name__, call)
    if name in reflectable_magic_methods:
        setattr(Proxy, call_reflected.__name__, call_reflected)


for _name in magic_methods:
    if hasattr(operator, _name):  # `div` is one of Python 2
        _add_operator(_name)


@has_side_effect
def assert_fn(x):
    """Raise unless a value is true: what `assert` is in a graph."""
    if not x:
        raise AssertionError("Assertion failed")


def find_proxy(*values):
    """Return a proxy somewhere in nested arguments, or None."""
    found = []
    map_aggregate(values, lambda value: found.append(value) if isinstance(value, Proxy) else None)
    return found[0] if found else None


# ---------------------------------------------------------------- what Python is about to do
def _instructions_from(frame):
    """The instructions of a frame from the one that it is at."""
    found = dis.get_instructions(frame.f_code)
    return [one for one in found if one.offset >= frame.f_lasti]


def _is_assertion(frame):
    """Whether the truth that is asked for is that of an `assert`."""
    steps = iter(_instructions_from(frame))
    for step in steps:
        if step.opname.startswith("POP_JUMP") and "IF_TRUE" in step.opname:
            after = next(steps)
            return (
                "AssertionError" in (after.argval, after.argrepr)
                or after.opname == "LOAD_ASSERTION_ERROR"
            )
        if step.opname not in ("COMPARE_OP", "TO_BOOL", "CONTAINS_OP"):
            return False
    return False


__getattr__ = _missing.refusing(__name__)
