"""Interpreter: run a graph node by node; Transformer: the same with proxies, which gives another graph.

`run` goes through the nodes and keeps their values in `env`.  What it does with a node of each kind is a
method of that name, so a subclass changes what one kind does: that is how shapes are noted, how graphs are
measured, and how one function is swapped for another.
"""

import inspect

from tensorlab.fx._symbolic_trace import Tracer
from tensorlab.fx.graph import Graph
from tensorlab.fx.graph_module import GraphModule
from tensorlab.fx.node import map_aggregate, map_arg
from tensorlab.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node.

    Parameters
    ----------
    module : GraphModule, or the Module whose state a `graph` needs
    garbage_collect_values : bool, whether to forget a value after its last use; if not, `env`
        keeps all
    graph : Graph, to run instead of the module's

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import fx
    >>> class Count(fx.Interpreter):
    ...     calls = 0
    ...     def call_function(self, target, args, kwargs):
    ...         self.calls += 1
    ...         return super().call_function(target, args, kwargs)
    >>> count = Count(fx.symbolic_trace(lambda x: tensorlab.relu(x) + 1))
    >>> count.run(tensorlab.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    >>> count.calls
    2
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = module.graph if graph is None else graph
        self.env = {}
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = {}
        if garbage_collect_values:
            seen = set()
            for user in reversed(self.graph.nodes):
                last = [node for node in user.all_input_nodes if node not in seen]
                seen.update(last)
                self.user_to_last_uses[user] = last

    # ------------------------------------------------------------ running
    def run(self, *args, initial_env=None, enable_io_processing=True):
        """Run the graph.

        Parameters
        ----------
        *args : the arguments of the module
        initial_env : dict {Node: value}, values that are known already; those nodes are not run
        enable_io_processing : bool, whether arguments and result pass through the graph's CodeGen

        Returns
        -------
        what the graph returns
        """
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    origin = (
                        f"\nOriginal traceback:\n{node.stack_trace}" if node.stack_trace else ""
                    )
                    error.add_note(f"While executing {node.format_node()}{origin}")
                raise
            for used in self.user_to_last_uses.get(node, ()):
                self.env.pop(used, None)
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list):
        """Run the graph with a list of arguments, which is emptied, so that no one else keeps them alive."""
        inputs = [node for node in self.graph.nodes if node.op == "placeholder"]
        if len(args_list) != len(inputs):
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(inputs)} arguments for placeholders but received {len(args_list)}"
            )
        env = dict(zip(inputs, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n):
        """Run one node, and return its value: look up its arguments, and call the method of its kind."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    # ------------------------------------------------------------ one method for each kind of node
    def placeholder(self, target, args, kwargs):
        """Return the next argument, or the default value if there is none; for `*args` all the others."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target, args, kwargs):
        """Return the attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """Call the function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """Call the method of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """Call the submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """Return the result."""
        return args[0]

    # ------------------------------------------------------------ looking things up
    def fetch_attr(self, target):
        """Return the attribute of a dotted name of the module."""
        value = self.module
        names = target.split(".")
        for position, name in enumerate(names):
            if not hasattr(value, name):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(names[: position + 1])}"
                )
            value = getattr(value, name)
        return value

    def fetch_args_kwargs_from_env(self, n):
        """Return (args, kwargs) of a node with values instead of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """Return arguments of the node `n` with values instead of nodes."""

        def load(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, load)


class _KeepModules(Tracer):
    """The tracer of a Transformer: a module that was a leaf stays one."""

    def is_leaf_module(self, m, module_qualified_name):
        return True


class Transformer(Interpreter):
    """Runs a graph with proxies: the calls that its methods make become a new graph.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import fx
    >>> class Swap(fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         if target is tensorlab.relu:
    ...             return tensorlab.tanh(*args, **kwargs)
    ...         return super().call_function(target, args, kwargs)
    >>> print(Swap(fx.symbolic_trace(lambda x: tensorlab.relu(x) + 1)).transform().code.strip())
    def forward(self, x):
        tanh = tensorlab.tanh(x);  x = None
        add = tanh + 1;  tanh = None
        return add
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _KeepModules()
        self.tracer.graph, self.tracer.root, self.tracer.tensor_attrs = self.new_graph, module, {}

    def run_node(self, n):
        """Run one node with proxies; what is known of it goes to the node that it becomes."""
        value = super().run_node(n)
        if isinstance(value, Proxy) and not value.node.meta:
            value.node.meta = dict(n.meta)
        return value

    def placeholder(self, target, args, kwargs):
        """Make an input of the new graph."""
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target, args, kwargs):
        """Make a node of the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target, args, kwargs):
        """Make a node of the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """Call the submodule as the tracer does."""
        module = self.fetch_attr(target)
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def transform(self):
        """Return a GraphModule of the new graph, with the state of the old one."""
        result = self.run(enable_io_processing=False)
        if result is not None:
            output = self.new_graph.output(
                map_aggregate(
                    result, lambda value: value.node if isinstance(value, Proxy) else value
                )
            )
            output.meta = dict(self.graph.output_node().meta)
        return GraphModule(self.module, self.new_graph)
