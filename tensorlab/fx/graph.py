"""Graphs: a program as a list of nodes, to be read, changed and written as Python again.

    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_function(tensorlab.relu, (x,))
    graph.output(graph.call_function(operator.add, (y, 1)))

The nodes stand in the order in which they run, in a doubly linked list that begins and ends at a
root: so nodes are inserted and erased anywhere in no time, also by a loop over them.  New ones come
to the insert point, which is the end but within `inserting_before` and `inserting_after`.

The invariant that `lint` checks: a node uses only nodes of this graph that stand before it.
"""

import contextlib
import copy
import inspect
import warnings

from tensorlab.fx.code import CodeGen, PythonCode
from tensorlab.fx.naming import _Namespace, _snake_case, pretty_name, short_name
from tensorlab.fx.node import Node, _legal_ops, map_arg
from tensorlab.nn.module import Module
from tensorlab.nn.parameter import Parameter

__all__ = ["CodeGen", "Graph", "PythonCode"]


class _InsertPoint:
    """A block in which new nodes come to another place."""

    def __init__(self, graph, insert):
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        self.graph._insert = self.before


class _NodeList:
    """The nodes in their order. A loop over them may change the graph: it goes on from the node that it is at."""

    def __init__(self, graph):
        self.graph = graph

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        return self._follow("_next")

    def __reversed__(self):
        return self._follow("_prev")

    def _follow(self, direction):
        root = node = self.graph._root
        while (node := getattr(node, direction)) is not root:
            if not node._erased:
                yield node


class Graph:
    """A program as a list of nodes.

    Parameters
    ----------
    owning_module : GraphModule, the module whose parameters and submodules the nodes name
    tracer_cls : class of the tracer that made the graph
    tracer_extras : dict, what that tracer wants to keep with it

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import fx
    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(tensorlab.relu, (x,))
    >>> _ = graph.output(y)
    >>> fx.GraphModule(tensorlab.nn.Module(), graph)(tensorlab.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self):
        """The module that the nodes' targets are looked up in, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        self._owning_module = module

    # ------------------------------------------------------------ reading it
    @property
    def nodes(self):
        """The nodes in the order in which they run; `reversed` works, and so does changing the graph in a loop."""
        return _NodeList(self)

    def output_node(self):
        """The last node, which returns the result."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError(
                f"the last node of the graph must be its output, and is {last.format_node()}"
            )
        return last

    def find_nodes(self, *, op, target=None, sort=True):
        """List the nodes of a kind, and of a target if one is given, in their order.

        `sort` is there for PyTorch's sake: the list is in order anyway.
        """
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes: for call_function, say which function: target=...")
        return [
            node
            for node in self.nodes
            if node.op == op and (target is None or node.target == target)
        ]

    # ------------------------------------------------------------ making nodes
    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Make a node and put it to the insert point.

        Parameters
        ----------
        op : str, the kind: placeholder, get_attr, call_function, call_method, call_module or output
        target : function or str, what is called
        args : tuple
        kwargs : dict
        name : str, what to call its value; the name of the target unless given. It gets a
            number if it is taken.
        type_expr : the type of the value, for the annotation in generated source

        Returns
        -------
        Node
        """
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, and is {args!r}; write ({args!r},)")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, and is {kwargs!r}")
        name = self._graph_namespace.create_name(name or _name_of_target(target), None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name, type_expr=None, default_value=inspect.Signature.empty):
        """Make an input: a parameter of the function, with a default value if one is given."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """Make a node for a parameter, a buffer or a submodule, by its dotted name."""
        if self.owning_module is not None and not _has_state(self.owning_module, qualified_name):
            warnings.warn(
                f"get_attr: the graph's module has no parameter, buffer or submodule {qualified_name!r}; give it one "
                "with add_submodule, register_parameter or register_buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """Make a node that calls a submodule, by its dotted name."""
        if self.owning_module is not None and not _has_submodule(self.owning_module, module_name):
            warnings.warn(
                f"call_module: the graph's module has no submodule {module_name!r}; give it one with add_submodule",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """Make a node that calls a method of its first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Make a node that calls a function, an op or anything else that can be called."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result, type_expr=None):
        """Make the node that returns the result: a node, or tuples, lists and dicts with nodes."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def inserting_before(self, n=None):
        """A block in which new nodes come before `n`; without it, to the beginning of the graph."""
        if n is None:
            return self.inserting_after(self._root)
        self._check_mine(n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """A block in which new nodes come after `n`; without it, to the end of the graph.

        Several nodes that are made in the block stand in the order in which they were made.
        """
        if n is None:
            return self.inserting_before(self._root)
        self._check_mine(n)
        return _InsertPoint(self, n.append)

    def _check_mine(self, node):
        if node.graph is not self:
            raise AssertionError(
                f"{node} belongs to another graph, so nothing of this one can stand beside it"
            )

    # ------------------------------------------------------------ copying and erasing
    def node_copy(self, node, arg_transform=lambda x: x):
        """Copy a node of another graph to the insert point.

        Parameters
        ----------
        node : Node
        arg_transform : function that returns, for a node among its arguments, the one of this
            graph to use instead
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        result = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copy all nodes of another graph to the insert point, but for its output.

        Parameters
        ----------
        g : Graph
        val_map : dict, which is filled with {node of g: its copy}; nodes that are in it already
            are not copied
        return_output_node : bool, whether to return g's output node, too

        Returns
        -------
        what g returns, in terms of this graph; None if it has no output
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo=None):
        # Node by node: the recursion of copy.deepcopy would follow the list, and end at the limit.
        copied = Graph(tracer_cls=self._tracer_cls)
        nodes = {}
        found = copied.graph_copy(self, nodes, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen)
        if memo is not None:
            memo.update({id(node): new for node, new in nodes.items()})
        if found is not None:
            value, old_output = found
            output = copied.output(value, type_expr=old_output.type)
            output.meta = copy.copy(old_output.meta)
        return copied

    def erase_node(self, to_erase):
        """Take a node that nothing uses out of the graph."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{list(to_erase.users)}; let them use another node first, with replace_all_uses_with"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        to_erase._remove_from_list()
        to_erase._erased = True  # a loop over the nodes may be at it
        self._len -= 1
        nothing = map_arg((to_erase.args, to_erase.kwargs), lambda node: None)
        to_erase._update_args_kwargs(*nothing)

    def eliminate_dead_code(self, is_impure_node=None):
        """Erase the nodes whose value nothing uses, but for those that do more than make it.

        Parameters
        ----------
        is_impure_node : function of a node: must it stay? Node.is_impure unless given

        Returns
        -------
        bool, whether a node was erased
        """
        self.lint()
        must_stay = is_impure_node or Node.is_impure
        before = len(self.nodes)
        for node in reversed(self.nodes):  # users before what they use
            if not node.users and not must_stay(node):
                self.erase_node(node)
        return len(self.nodes) < before

    # ------------------------------------------------------------ source
    def python_code(
        self,
        root_module,
        *,
        verbose=False,
        include_stride=False,
        include_device=False,
        colored=False,
    ):
        """Write the graph as the source of a function.

        Parameters
        ----------
        root_module : str, what the source calls the module: "self"
        verbose, include_stride, include_device, colored : bool, what to show beside the code;
            see print_readable

        Returns
        -------
        PythonCode : its `src`, and `globals`, what the names in it mean
        """
        return self._codegen._gen_python_code(
            self.nodes,
            root_module,
            verbose=verbose,
            include_stride=include_stride,
            include_device=include_device,
            colored=colored,
        )

    def set_codegen(self, codegen):
        """Let an object of a subclass of CodeGen write the source."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Register a function that may change the lines of generated source.

        Parameters
        ----------
        make_transformer : function, which is given the one registered so far (or None) and
            returns the new one: a function from the lines of the body to other lines

        Returns
        -------
        a block; when it ends, the former one is registered again
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def registered():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return registered()

    def process_inputs(self, *args):
        """Return the values of the placeholders, given the arguments of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """Return what the function returns, given what the output node does."""
        return self._codegen.process_outputs(out)

    # ------------------------------------------------------------ printing and checking
    def __str__(self):
        lines = [node.format_node() for node in self.nodes]
        return "\n    ".join(["graph():", *lines])

    def print_tabular(self):
        """Print the nodes as a table."""
        heads = ("opcode", "name", "target", "args", "kwargs")
        rows = [
            [node.op, node.name, pretty_name(node.target), str(node.args), str(node.kwargs)]
            for node in self.nodes
        ]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in (heads, ["-" * width for width in widths], *rows):
            print("  ".join(map(str.ljust, row, widths)).rstrip())

    def lint(self):
        """Raise an error unless the graph is well formed.

        Every node belongs to it, has a name of its own, and uses only nodes that stand before it.
        If the graph has an owning module, the submodules and attributes that nodes name are there.

        Raises
        ------
        RuntimeError, ValueError
        """
        seen, names = set(), set()
        for node in self.nodes:
            if node.op not in _legal_ops:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was "
                        "used as an argument! If you are copying nodes from another graph, make sure "
                        f"to use ``arg_transform`` on node_copy() to remap values\n{self}"
                    )
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that "
                        f"Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                _check_target(node, self.owning_module)


# ---------------------------------------------------------------- names and targets
def _name_of_target(target):
    """The name that a node gets from what it calls: `add` from `operator.add` and from "__add__"."""
    if not isinstance(target, str):
        return _snake_case(short_name(target))
    magic = target.startswith("__") and target.endswith("__")
    return _snake_case(target[2:-2] if magic else target)


def _has_submodule(module, path):
    try:
        module.get_submodule(path)
    except AttributeError:
        return False
    return True


def _has_state(module, path):
    """Whether a module has a parameter, a buffer or a submodule of this dotted name."""
    place, _, name = path.rpartition(".")
    if not _has_submodule(module, place):
        return False
    owner = module.get_submodule(place)
    found = getattr(owner, name, None)
    return isinstance(found, Module | Parameter) or name in owner._buffers


def _check_target(node, module):
    """Raise an error unless a node's target can be called, or is there in the module."""
    wanted = "Callable" if node.op == "call_function" else "str"
    if not (callable(node.target) if wanted == "Callable" else isinstance(node.target, str)):
        raise ValueError(
            f"Node {node} target {node.target} has type {type(node.target).__name__} but a {wanted} is expected"
        )
    if node.op not in ("get_attr", "call_module"):
        return
    names = node.target.split(".")
    for position, name in enumerate(names):
        path = ".".join(names[:position])
        module = getattr(module, name, None)
        if module is None:
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {name} of {path}"
            )
        if node.op == "call_module" and not isinstance(module, Module):
            raise RuntimeError(
                f"Node {node} target {node.target} {name} of {path} does not reference an nn.Module"
            )
