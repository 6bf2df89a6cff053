"""A module as a graph of TensorBoard: run once, and every call of an op becomes a node.

    input/x                     an argument of forward
    Net/Linear[first]/weight    a parameter or buffer, where its module is
    Net/Linear[first]/linear    a call of the op `linear` while that module ran; the next is linear_1
    output/output.1             a result

The slashes are the modules, which TensorBoard opens and closes. Edges are tensors, and carry their shapes. After an op
has written into a tensor, its readers read from that op. After a write into a view they still read the tensor from
where it was made, and have a second edge, dotted in TensorBoard, from the op that wrote. Tensors that were made
elsewhere, such as those in an attribute that is no buffer, are nodes of the kind "Constant".
"""

import contextlib
import inspect

from ..._core.dispatch.recorder import Recorder, describe
from ..._tensor import Tensor
from ...nn.module import Module
from .protos import AttrValue, GraphDef, NodeDef, VersionDef, dtype_code, shape_of

__all__ = ["graph_of"]


def graph_of(model, input_to_model, verbose=False):
    """Return the GraphDef of a module that runs on some inputs, in evaluation mode; `verbose` prints it, too.

    Raises
    ------
    TypeError
        If `model` is not a Module, or no inputs are given.
    """
    if not isinstance(model, Module):
        raise TypeError(f"add_graph: model is a {type(model).__name__}; expected a Module")
    inputs = arguments_of(input_to_model)
    recorder = ModuleRecorder(model)
    with in_evaluation(model), recorder.watching(), recorder:
        results = model(*inputs)
    graph = Graph()
    graph.add_sources(model, inputs, recorder.scopes)
    for call, scope in zip(recorder.calls, recorder.scope_of_call, strict=True):
        graph.add_call(call, scope)
    for number, (_, tensor) in enumerate(tensors_in(results), 1):
        graph.add_node("output", f"output.{number}", "IO Node", [tensor], [tensor])
    if verbose:
        print("\n".join(map(line, graph.nodes)))
    return GraphDef(node=graph.nodes, versions=VersionDef(producer=22))


def arguments_of(input_to_model):
    """Return the arguments of forward: a tensor or dict is one, a tuple or list holds all."""
    if input_to_model is None:
        raise TypeError("add_graph: input_to_model is None; expected the model's inputs, a tuple")
    if isinstance(input_to_model, (Tensor, dict)):
        return (input_to_model,)
    return tuple(input_to_model)


@contextlib.contextmanager
def in_evaluation(model):
    """Have all modules in evaluation mode; each gets its own mode back."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


class ModuleRecorder(Recorder):
    """Writes down each call of an op, and in `scope_of_call` the module that was running."""

    def __init__(self, model):
        super().__init__()
        self.model, self.running, self.scope_of_call = model, [], []
        self.scopes = {name: scope_of(model, name) for name, _ in model.named_modules()}

    def call(self, op, arguments):
        result = super().call(op, arguments)
        self.scope_of_call.append(self.running[-1] if self.running else self.scopes[""])
        return result

    @contextlib.contextmanager
    def watching(self):
        """Know which module runs, by hooks; a module with two names has the first."""
        handles = []
        for name, module in self.model.named_modules():

            def enter(module, inputs, name=name):
                self.running.append(self.scopes[name])

            def leave(module, inputs, output):
                self.running.pop()

            handles.append(module.register_forward_pre_hook(enter))
            handles.append(module.register_forward_hook(leave, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def scope_of(model, name):
    """Return the place of a module, such as Net/Sequential[body]/Linear[0]."""
    parts, module = [type(model).__name__], model
    for part in name.split(".") if name else ():
        module = module.get_submodule(part)
        parts.append(f"{type(module).__name__}[{part}]")
    return "/".join(parts)


class Graph:
    """Nodes with different names, and which of them each tensor comes from.

    Tensors are told apart by their ids: the recorder keeps them all, so no id is used twice.
    """

    def __init__(self):
        self.nodes, self.taken = [], {}
        self.made_by = {}  # id of a tensor: the name of the node, with the number of its output
        self.written_by = {}  # id of a tensor: the nodes that wrote into views of it
        self.sources = {}  # id of a tensor that is there before: (scope, name, kind, tensor)

    def add_sources(self, model, inputs, scopes):
        """Note the inputs, parameters and buffers; those that an op reads become nodes."""
        named = [("Parameter", model.named_parameters()), ("Buffer", model.named_buffers())]
        for kind, tensors in named:
            for name, tensor in tensors:
                owner, _, own_name = name.rpartition(".")
                self.sources[id(tensor)] = (scopes[owner], own_name, kind, tensor)
        positional = [
            one.name
            for one in inspect.signature(model.forward).parameters.values()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
        for number, value in enumerate(inputs):
            is_named = number < len(positional)
            name = positional[number] if is_named else f"input.{number + 1}"
            for path, tensor in tensors_in(value):
                self.sources[id(tensor)] = ("input", name + path, "IO Node", tensor)

    def add_call(self, call, scope):
        """Add a node for a call of an op."""
        read = [tensor for _, tensor in tensors_in(call.arguments)]
        made = [tensor for _, tensor in tensors_in(call.result)]
        details = {
            name: describe(value)
            for name, value in zip(
                call.op.params, call.arguments, strict=False
            )  # without those of out=
            if value is not None and not any(tensors_in(value))
        }
        words = ", ".join(f"{name}={value}" for name, value in details.items())
        name = self.add_node(scope, call.op.name, call.op.name, read, made, words)
        for number, tensor in enumerate(made):
            output = f"{name}:{number}" if number else name
            self.made_by[id(tensor)] = output
            if tensor._base is not None and any(tensor is one for one in read):
                self.written_by.setdefault(id(tensor._base), []).append(name)

    def add_node(self, scope, name, kind, read, made, words=""):
        """Add a node that reads some tensors and makes others; return its name."""
        inputs = [self.origin(tensor, scope) for tensor in read]
        writers = [one for tensor in read for one in self.written_by.get(id(tensor), ())]
        inputs += [f"^{one}" for one in dict.fromkeys(writers)]
        name = self.unused(f"{scope}/{name}")
        shapes = AttrValue.ListValue(shape=[shape_of(tensor.shape) for tensor in made])
        attributes = {"_output_shapes": AttrValue(list=shapes)}
        if words:
            attributes["attr"] = AttrValue(s=words.encode())
        if made:
            dtype = str(made[0].dtype).partition(".")[2]
            attributes["dtype"] = AttrValue(type=dtype_code(dtype))
        self.nodes.append(NodeDef(name=name, op=kind, input=inputs, attr=attributes))
        return name

    def origin(self, tensor, scope):
        """Return what an edge from a tensor begins with; a tensor of unknown origin gets a node in the scope."""
        if id(tensor) not in self.made_by:
            source = self.sources.get(id(tensor), (scope, "constant", "Constant", tensor))
            place, name, kind, _ = source
            self.made_by[id(tensor)] = self.add_node(place, name, kind, [], [tensor])
        return self.made_by[id(tensor)]

    def unused(self, name):
        """Return a name, with a number if it is there already."""
        count = self.taken.get(name, 0)
        self.taken[name] = count + 1
        return self.unused(f"{name}_{count}") if count else name


def tensors_in(value, path=""):
    """Yield (path, tensor) for the tensors in nested lists, tuples and dicts; the path begins with a full stop."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from tensors_in(one, f"{path}.{name}")
    elif isinstance(value, (tuple, list)):
        for number, one in enumerate(value):
            yield from tensors_in(one, f"{path}.{number}")


def line(node):
    """Return a node as one line of text."""
    shapes = [
        tuple(dim.size for dim in shape.dim) for shape in node.attr["_output_shapes"].list.shape
    ]
    words = node.attr["attr"].s.decode() if "attr" in node.attr else ""
    inside = ", ".join([*node.input, *([words] if words else [])])
    return f"{node.name} = {node.op}({inside}) -> {', '.join(map(str, shapes))}"
