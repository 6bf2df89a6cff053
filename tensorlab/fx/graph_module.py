"""GraphModule: a module whose forward is the source that a graph was written as.

Every GraphModule is the only instance of a class of its own, because its `forward` is its own.  The
source gets a file name that does not exist, `<eval_with_key>.0`, and is put into `linecache`: there
tracebacks and debuggers find its lines.
"""

import copy
import itertools
import linecache
import traceback
import weakref

from tensorlab import _missing
from tensorlab._tensor import Tensor
from tensorlab.fx.graph import Graph
from tensorlab.fx.node import Node, map_aggregate, map_arg
from tensorlab.fx.pytree import PyTreeCodeGen
from tensorlab.nn.module import Module
from tensorlab.nn.parameter import Parameter

__all__ = ["GraphModule"]

_numbers = itertools.count()
_KEY = "<eval_with_key>"


# ---------------------------------------------------------------- source that debuggers show
def _method_from_src(method_name, src, globals, origin=None):
    """Compile source, and return the function of that name in it; its lines are found by
    tracebacks.

    Parameters
    ----------
    method_name, src : str
    globals : dict, what the names in the source mean
    origin : code object of the function that the graph was traced from, for the file name
    """
    key = f"{_KEY}.{next(_numbers)}"
    if origin is not None:
        key += f" from {origin.co_filename}:{origin.co_firstlineno} in {origin.co_name}"
    scope = dict(globals)
    exec(compile(src, key, "exec", dont_inherit=True), scope)
    method = scope.pop(method_name)
    # No time of change: linecache keeps the entry until the function is gone.
    linecache.cache[key] = (len(src), None, src.splitlines(keepends=True), key)
    weakref.finalize(method, linecache.cache.pop, key, None)
    return method


def _explain_error(error):
    """If an error came from generated source, add the lines around it to the error."""
    frames = traceback.extract_tb(error.__traceback__)
    place = next(frame for frame in reversed(frames) if not frame.filename.endswith(".pyx"))
    if not place.filename.startswith(_KEY) or place.lineno is None:
        return
    lines = linecache.getlines(place.filename)
    before = "".join(lines[max(place.lineno - 2, 0) : place.lineno]).rstrip("\n")
    after = "".join(lines[place.lineno : place.lineno + 2]).rstrip("\n")
    error.add_note(
        f"Call using an FX-traced Module, line {place.lineno} of the traced Module's generated forward function:\n"
        f"{before}\n{'~' * len(place.line or '')}~~~ <--- HERE\n{after}"
    )


# ---------------------------------------------------------------- attributes by dotted name
def _copy_attr(from_module, to_module, target):
    """Let an attribute of one module be the same attribute of another, with empty modules on the way to it."""
    *path, name = target.split(".")
    for step in path:
        there = getattr(to_module, step, None)
        if there is getattr(from_module, step):
            return  # a module on the way is there as a whole
        from_module = getattr(from_module, step)
        if there is None:
            there = Module()
            setattr(to_module, step, there)
        to_module = there
    _assign(to_module, name, getattr(from_module, name))


def _assign_attr(value, to_module, target):
    """Assign a value to a dotted name, with empty modules on the way to it."""
    *path, name = target.split(".")
    for step in path:
        if getattr(to_module, step, None) is None:
            setattr(to_module, step, Module())
        to_module = getattr(to_module, step)
    _assign(to_module, name, value)


def _assign(module, name, value):
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


class GraphModule(Module):
    """A module that runs a graph.

    Assigning `graph` writes its source anew; after changing the graph that is there, call
    `recompile()`.

    Parameters
    ----------
    root : Module, from which the submodules and attributes come that the nodes name; or a dict
        of them, by dotted name
    graph : Graph
    class_name : str, what the module calls itself

    Attributes
    ----------
    graph : Graph
    code : str, the generated source
    meta : dict, for what passes note about the whole

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import fx
    >>> module = fx.symbolic_trace(lambda x: x.relu() + 1)
    >>> print(module.code.strip())
    def forward(self, x):
        relu = x.relu();  x = None
        add = relu + 1;  relu = None
        return add
    >>> module(tensorlab.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    """

    def __new__(cls, *args, **kwargs):
        base = next(one for one in cls.__mro__ if "_is_generated" not in vars(one))
        return super().__new__(type("GraphModuleImpl", (base,), {"_is_generated": True}))

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        targets = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for target in sorted(targets, key=lambda target: target.count(".")):
                if target not in root:
                    raise RuntimeError(
                        f"a node of the graph references target {target} but that target was not provided in ``root``, "
                        f"which has {list(root)}"
                    )
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(
                f"Unsupported type {type(root).__name__} passed for root! It is a Module, or a dict of attributes"
            )
        self.meta = {}
        self.graph = graph

    # ------------------------------------------------------------ graph and source
    @property
    def graph(self):
        """The graph that this module runs. Assign another one, or the same after changing it."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The source that the graph was written as."""
        return self._code

    def recompile(self):
        """Write the source of the graph anew, and let it be `forward`; call it after changing the
        graph.

        Returns
        -------
        PythonCode
        """
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self._in_spec, self._out_spec = (
                codegen.pytree_info.in_spec,
                codegen.pytree_info.out_spec,
            )
        written = self._graph.python_code(root_module="self")
        self._code = written.src
        origin = getattr(self._graph, "_co_fields", None)
        type(self).forward = _method_from_src(
            codegen._func_name, written.src, written.globals, origin
        )
        return written

    def __call__(self, *args, **kwargs):
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            _explain_error(error)
            raise

    def print_readable(
        self, print_output=True, include_stride=False, include_device=False, colored=False
    ):
        """Return the source with what is known of each value, and with the lines of the program;
        print it unless told not to.

        Parameters
        ----------
        print_output : bool
        include_stride, include_device : bool, what to show beside type and shape
        colored : bool, whether to color it for a terminal
        """
        style = {
            "include_stride": include_stride,
            "include_device": include_device,
            "colored": colored,
        }
        text = _readable(self, self._get_name(), style)
        if print_output:
            print(text)
        return text

    def __str__(self):
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, reminder])

    # ------------------------------------------------------------ submodules
    def add_submodule(self, target, m):
        """Put a module to a dotted name, with empty modules on the way to it.

        Returns
        -------
        bool, whether it could be put there: not if something on the way is not a module
        """
        *path, name = target.split(".")
        module = self
        for step in path:
            if getattr(module, step, None) is None:
                setattr(module, step, Module())
            module = getattr(module, step)
            if not isinstance(module, Module):
                return False
        module.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Delete the module of a dotted name.

        Returns
        -------
        bool, whether there was one
        """
        path, _, name = target.rpartition(".")
        owner = self._find_submodule(path)
        if not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def _find_submodule(self, path):
        try:
            return self.get_submodule(path)
        except AttributeError:
            return None

    def delete_all_unused_submodules(self):
        """Delete the submodules that no node uses, neither them nor something in them."""
        used = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            names = node.target.split(".")
            used.update(".".join(names[:n]) for n in range(len(names) + 1))
            called = self._find_submodule(node.target) if node.op == "call_module" else None
            if called is not None:
                used.update(name for name, _ in called.named_modules(prefix=node.target))
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    # ------------------------------------------------------------ copies
    def __deepcopy__(self, memo):
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(_state_without_graph(self), memo))
        type(copied).__name__ = type(self).__name__
        copied.graph = copy.deepcopy(self.graph, memo)
        return copied

    def __copy__(self):
        copied = type(self).__new__(type(self))
        copied.__dict__.update(_state_without_graph(self))
        type(copied).__name__ = type(self).__name__
        copied.graph = copy.deepcopy(self.graph)
        return copied

    def __reduce__(self):
        base = next(one for one in type(self).__mro__ if "_is_generated" not in vars(one))
        return _rebuild, (base, type(self).__name__, _state_without_graph(self), _pack(self.graph))


def _state_without_graph(module):
    """The attributes of a GraphModule, but for those that follow from its graph."""
    return {name: value for name, value in vars(module).items() if name not in ("_graph", "_code")}


def _readable(module, name, style):
    source = module.graph.python_code("self", verbose=True, **style).src.lstrip("\n")
    lines = [f"class {name}({Module.__module__.partition('.')[0]}.nn.Module):"]
    lines += [f"    {line}" if line.strip() else line for line in source.split("\n")]
    for child_name, child in module.named_children():
        if isinstance(child, GraphModule):
            inner = _readable(child, child_name, style).split("\n")
            lines += [f"    {line}" if line.strip() else line for line in inner]
    return "\n".join(lines)


# ---------------------------------------------------------------- graphs in files
_KEPT_META = ("stack_trace", "is_wrapped")  # what passes note can hold anything, and stays out


class _Reference:
    """Another node, in the arguments of a node that is pickled: its place in the list."""

    def __init__(self, place):
        self.place = place


def _pack(graph):
    """A graph as plain values: its nodes refer to one another by their places in a flat list."""
    places = {node: _Reference(place) for place, node in enumerate(graph.nodes)}
    nodes = [
        (
            *(node.op, node.target, node.name, node.type),
            {key: node.meta[key] for key in _KEPT_META if key in node.meta},
            map_arg((node.args, node.kwargs), places.__getitem__),
        )
        for node in graph.nodes
    ]
    tracer = graph._tracer_cls
    is_importable = tracer is not None and "<locals>" not in tracer.__qualname__
    return nodes, graph._codegen, tracer if is_importable else None


def _unpack(packed):
    nodes, codegen, tracer = packed
    graph = Graph(tracer_cls=tracer)
    graph._codegen = codegen
    made: list[Node] = []

    def resolve(value):
        return made[value.place] if isinstance(value, _Reference) else value

    for op, target, name, type_expr, meta, arguments in nodes:
        args, kwargs = map_aggregate(arguments, resolve)
        node = graph.create_node(op, target, args, dict(kwargs), name, type_expr)
        node.meta = meta
        made.append(node)
    return graph


def _rebuild(base, class_name, state, packed):
    """Make the GraphModule that was pickled."""
    module = base.__new__(base)
    module.__dict__.update(state)
    type(module).__name__ = class_name
    module.graph = _unpack(packed)
    return module


__getattr__ = _missing.refusing(__name__)
