"""Nodes: the single steps of a graph.

A node is an operation with its arguments, and stands for the value that it makes.  `op` says of
which kind it is, `target` what is called:

    op              target                      what it means
    placeholder     name of a parameter         an argument of the function; args holds its default,
    if it has one get_attr        "layer.weight"              a parameter, a buffer or another
    attribute of the module call_function   a function                  target(*args, **kwargs)
    call_method     name of a method            args[0].target(*args[1:], **kwargs)
    call_module     "layer.norm"                the module of that name, called with the arguments
    output          "output"                    return args[0]

Arguments are nodes, numbers, strings, types, and tuples, lists, dicts and slices of these.  A node
knows those that it uses (`all_input_nodes`) and those that use it (`users`).  Assigning `args` or
`kwargs` keeps both exact; so arguments cannot be changed in place (immutable_collections.py).
"""

import operator
import sys
import warnings

from tensorlab._core.dispatch.op import Op
from tensorlab.fx.immutable_collections import immutable_dict, immutable_list
from tensorlab.fx.naming import pretty_name, qualified_name, type_name
from tensorlab.fx.operators import inplace_methods

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

_legal_ops = dict.fromkeys(
    ["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"]
)
_PACKAGE = __name__.partition(".")[0]


# ---------------------------------------------------------------- arguments
def map_aggregate(a, fn):
    """Apply a function to everything in nested tuples, lists, dicts and slices.

    Parameters
    ----------
    a : an argument of a node
    fn : function of a value that is not a tuple, list, dict or slice

    Returns
    -------
    the same structure with the results; lists and dicts in it are immutable

    Examples
    --------
    >>> map_aggregate((1, [2, {"a": 3}], slice(4, None)), lambda x: x and x * 10)
    (10, [20, {'a': 30}], slice(40, None, None))
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(part, fn) for part in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a, fn):
    """Apply a function to every node in nested tuples, lists, dicts and slices, and leave the rest as it is.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import fx
    >>> graph = fx.symbolic_trace(lambda x, y: x + y).graph
    >>> add = next(node for node in graph.nodes if node.op == "call_function")
    >>> map_arg(add.args, lambda node: node.name)
    ('x', 'y')
    """
    if not callable(fn):
        raise AssertionError(f"map_arg(a, fn): fn must be a function, and is {fn!r}")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


def _format_arg(arg):
    """An argument as a printed graph shows it: nodes with a percent sign."""
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        comma = "," if len(arg) == 1 else ""
        return f"({', '.join(map(_format_arg, arg))}{comma})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{key}: {_format_arg(value)}' for key, value in arg.items())}}}"
    if isinstance(arg, Node):
        return f"%{arg}"
    is_function = isinstance(arg, Op) or (callable(arg) and hasattr(arg, "__name__"))
    return pretty_name(arg) if is_function else str(arg)


# ---------------------------------------------------------------- side effects
_side_effectful_functions = {operator.setitem}
_RANDOM_FUNCTIONS = {
    *("bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint"),
    *("randint_like", "randn", "randn_like", "randperm"),
}
_RANDOM_OPS = {
    *_RANDOM_FUNCTIONS,
    *("uniform", "log_normal", "bernoulli_tensor", "bernoulli_of", "random"),
    *("normal_numbers", "normal_means", "normal_stds", "normal_pairs"),
}


def has_side_effect(fn):
    """Declare that a function has a side effect, so that its calls are never removed as dead code.

    It returns the function, and can be a decorator.
    """
    _side_effectful_functions.add(fn)
    return fn


def is_random(function):
    """Return whether a function of this package, or an op, draws random numbers."""
    if isinstance(function, Op):
        return function.name in _RANDOM_OPS
    name = getattr(function, "__name__", None)
    return name in _RANDOM_FUNCTIONS and getattr(sys.modules[_PACKAGE], name, None) is function


def _is_impure_function(function, kwargs, impure_random):
    """Whether a call writes over its arguments, draws random numbers, or has been declared to have a side effect."""
    if function in _side_effectful_functions or kwargs.get("out") is not None:
        return True
    if isinstance(function, Op):
        return function.writes or (impure_random and is_random(function))
    if getattr(function, "__module__", None) == "_operator":
        return function.__name__ in inplace_methods
    if impure_random and is_random(function):
        return True
    name = getattr(function, "__name__", None)
    return kwargs.get("inplace") is True or (
        (getattr(function, "__module__", None) or "").startswith(_PACKAGE) and _writes(name)
    )


def _writes(name):
    """Whether a method or function of this name writes over its first argument: `add_`, but not `__add__`."""
    return name.endswith("_") and not name.endswith("__")


# ---------------------------------------------------------------- the node
class Node:
    """One operation of a graph, and the value that it makes.

    `Graph.call_function` and its siblings make nodes; there is no other use for this constructor.

    Attributes
    ----------
    graph : Graph
    name : str, unique in the graph
    op : str, the kind of operation; see the beginning of this file
    target : function or str, what is called
    args, kwargs : the arguments; assign new ones to change them
    users : dict, whose keys are the nodes that use this one
    type : the type of the value as it was annotated, or None
    meta : dict, what passes note down: `val` and `tensor_meta` of the value, `stack_trace` of
        the call

    Examples
    --------
    >>> from tensorlab import fx
    >>> graph = fx.symbolic_trace(lambda x: x.relu() + 1).graph
    >>> [(node.op, node.name) for node in graph.nodes]
    [('placeholder', 'x'), ('call_method', 'relu'), ('call_function', 'add'), ('output', 'output')]
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _legal_ops:
            raise AssertionError(f"op {op!r} is none of {', '.join(_legal_ops)}")
        wanted = "a Callable" if op == "call_function" else "a str"
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(
                f"Node [graph = {graph}, name = {name!r}] target {target} has type {type(target).__name__} "
                f"but {wanted} is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users, self.meta = {}, {}
        self._input_nodes = {}
        self._args, self._kwargs = (), immutable_dict()
        self._prev = self._next = self
        self._sort_key = ()
        self._erased = False
        self._repr_fn = None
        self._update_args_kwargs(args, kwargs)

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    # ------------------------------------------------------------ arguments
    @property
    def args(self):
        """The positional arguments, a tuple. Assign another one to change them."""
        return self._args

    @args.setter
    def args(self, args):
        self._update_args_kwargs(args, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments, a dict. Assign another one to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs):
        self._update_args_kwargs(self._args, kwargs)

    def _update_args_kwargs(self, args, kwargs):
        """Store arguments; tell the nodes in them, and those that were in the old ones."""
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def note(value):
            if isinstance(value, Node):
                self._input_nodes.setdefault(value)
                value.users.setdefault(self)
            return value

        self._args = map_aggregate(args, note)
        self._kwargs = map_aggregate(kwargs, note)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once, in their order."""
        return list(self._input_nodes)

    def update_arg(self, idx, arg):
        """Replace the positional argument number `idx`."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Insert a positional argument before the one of number `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_arg: {idx} is not between 0 and {len(self.args)}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key, arg):
        """Set the keyword argument `key`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input, new_input):
        """Use another node in all places where this one uses `old_input`."""

        def replace(node):
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self.args, replace), map_arg(self.kwargs, replace))

    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Let all users of this node use another one.

        Parameters
        ----------
        replace_with : Node
        delete_user_cb : function of a user: is that one changed? All are unless given
        propagate_meta : bool, whether to copy `meta` to the other node, which then must have none

        Returns
        -------
        list of Node, the users that were changed
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    f"replace_all_uses_with: {replace_with} has meta already, {list(replace_with.meta)}; "
                    "propagate_meta=True is for a node that has none"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # ------------------------------------------------------------ its place in the graph
    @property
    def next(self):
        """The node after this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    def prepend(self, x):
        """Move a node of the same graph to the place before this one."""
        if self.graph is not x.graph:
            raise AssertionError(
                f"Attempting to move a Node into a different Graph: {x} and {self}"
            )
        if self is x:
            warnings.warn(
                "Trying to prepend a node to itself. This behavior has no effect on the graph.",
                stacklevel=2,
            )
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        x._sort_key = _key_between(before._sort_key, self._sort_key)

    def append(self, x):
        """Move a node of the same graph to the place after this one."""
        self._next.prepend(x)

    def _remove_from_list(self):
        """Let the neighbours know each other. This node still knows them, so that a loop that is at it can go on."""
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other):
        """Whether this node stands before another one of the same graph."""
        return self._sort_key < other._sort_key

    def __gt__(self, other):
        return self._sort_key > other._sort_key

    def __le__(self, other):
        return self is other or self < other

    def __ge__(self, other):
        return self is other or self > other

    # ------------------------------------------------------------ what is known of it
    @property
    def stack_trace(self):
        """The lines of the program that made this node, innermost last, if they were recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random=True):
        """Whether this node must be kept even if nothing uses it.

        That is so for inputs and outputs, and for calls that do more than return a value: they
        write over an argument (`add_`, `x += 1`, `out=`, an op whose schema says so), draw random
        numbers, or are of functions that `has_side_effect` has been told, or of modules with a true
        attribute `_is_impure` or `inplace`.

        Parameters
        ----------
        impure_random : bool, whether ops that draw random numbers count

        Notes
        -----
        It reads names, not code: a function of your own that prints looks pure.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return _is_impure_function(self.target, self.kwargs, impure_random)
        if self.op == "call_method":
            return _writes(self.target) or self.target == "__setitem__"
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError(
                    f"whether {self} is impure depends on the module {self.target!r}, and the graph "
                    "belongs to no module"
                )
            module = self.graph.owning_module.get_submodule(self.target)
            return bool(getattr(module, "_is_impure", False) or getattr(module, "inplace", False))
        return False

    # ------------------------------------------------------------ printing and names
    _pretty_print_target = staticmethod(pretty_name)

    def format_node(
        self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False
    ):
        """Return a line that describes this node.

        Parameters
        ----------
        placeholder_names, maybe_return_typename : lists that take what the first line of a
            printed graph shows
        include_tensor_metadata : bool, whether to show type, shape and strides of `meta["val"]`
        """
        uses = f"[num_users={len(self.users)}]"
        annotated = f"{type_name(self.type)} " if self.type is not None else ""
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(f"{self.target}: {annotated}".rstrip(": "))
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {annotated}{uses} = placeholder[target={self.target}]{default}"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {annotated.rstrip()}"
            return f"return {self.args[0]}"
        target = f"{self.op}[target={pretty_name(self.target)}]"
        if self.op == "get_attr":
            return f"%{self.name} : {annotated}{uses} = {target}"
        if include_tensor_metadata:
            annotated = _describe_value(self.meta) or annotated
        return (
            f"%{self.name} : {annotated}{uses} = {target}"
            f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
        )

    def _rename(self, candidate):
        """Give this node another name, or one like it if that is taken."""
        if candidate != self.name:
            namespace = self.graph._graph_namespace
            self.name = namespace.create_name(candidate, None)
            namespace._rename_object(self, self.name)


def _key_between(before, after):
    """A tuple that sorts after one and before another; () is the beginning and the end.

    Appending counts up the last number: (0,), (1,), (2,).  Between two keys of one length comes a
    longer one, (1, 0).
    """
    if len(before) > len(after):
        *prefix, last = before[: len(after) + 1]
        return (*prefix, last + 1)
    if len(before) < len(after):
        *prefix, last = after[: len(before) + 1]
        return (*prefix, last - 1)
    return (*before, 0)


def recorded_value(meta):
    """Return what passes have noted of a node's value: `val`, `tensor_meta` or `example_value`, else None."""
    for key in ("val", "tensor_meta", "example_value"):
        if key in meta:
            return meta[key]
    return None


def describe_tensor(value, include_stride=False, include_device=False):
    """Return type and shape of a tensor in short, such as f32[2, 3]; also of what `ShapeProp` records."""
    text = f"{_dtype_abbreviation(value.dtype)}{list(value.shape)}"
    if include_stride:
        stride = value.stride() if callable(value.stride) else value.stride
        text += str(list(stride))
    return f"{text}{value.device}" if include_device else text


def _dtype_abbreviation(dtype):
    """f32 of float32, i64, u8, b8, bf16."""
    word = str(dtype).rpartition(".")[2]
    if word == "bool":
        return "b8"
    letters = word.rstrip("0123456789")
    short = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}[letters]
    return short + word[len(letters) :]


def _describe_value(meta):
    value = recorded_value(meta)
    if not hasattr(value, "untyped_storage"):
        return ""
    return f'Tensor "{describe_tensor(value, include_stride=True, include_device=True)}"'


_get_qualified_name = qualified_name  # PyTorch's name, which programs use
