"""The small program of chapter 49: a function and its gradient as one graph, and this graph cut in two.

With `import torch` instead of `import tensorlab as torch`, it runs in PyTorch, too.
"""

import operator

import tensorlab as torch

Node, Proxy, Tracer = torch.fx.Node, torch.fx.Proxy, torch.fx.proxy.GraphAppendingTracer

# A rule gets the gradient of a result, the result, and the arguments: proxies, or numbers. It
# returns a gradient for each argument, or None. All tensors have one shape, so nothing is summed back.
RULES = {
    operator.add: lambda grad, out, x, y: (grad, grad),
    operator.sub: lambda grad, out, x, y: (grad, -grad),
    operator.mul: lambda grad, out, x, y: (grad * y, grad * x),
    torch.exp: lambda grad, out, x: (grad * out,),
    torch.sin: lambda grad, out, x: (grad * torch.cos(x),),
    torch.tanh: lambda grad, out, x: (grad * (1 - out * out),),
    torch.rand_like: lambda grad, out, x: (None,),
}


def joint_graph(function):
    """Trace a function; return its graph, which gives the gradients of its inputs, too."""
    graph = torch.fx.symbolic_trace(function).graph
    output, forward = graph.output_node(), list(graph.nodes)
    inputs = graph.find_nodes(op="placeholder")
    with graph.inserting_after(inputs[-1]):
        tangent = graph.placeholder("tangent")
    tracer = Tracer(graph)  # adds a node for what is done to its proxies
    gradients = {output.args[0]: Proxy(tangent, tracer)}
    with graph.inserting_before(output):
        for node in reversed(forward):
            if node.op == "call_function" and node in gradients:
                differentiate(node, gradients, tracer)
    output.args = ((output.args[0], *[gradients[x].node for x in inputs]),)
    graph.eliminate_dead_code()
    for node in graph.nodes:
        node.meta["is_backward"] = node not in forward
    return graph


def differentiate(node, gradients, tracer):
    """Apply the rule of a call; add what it gives to the gradients of its arguments."""
    args = [Proxy(one, tracer) if isinstance(one, Node) else one for one in node.args]
    found = RULES[node.target](gradients[node], Proxy(node, tracer), *args)
    for one, grad in zip(node.args, found, strict=True):
        if isinstance(one, Node) and grad is not None:
            gradients[one] = gradients[one] + grad if one in gradients else grad


def read_by_backward(graph):
    """The values of forward that backward reads."""
    return [
        node
        for node in graph.nodes
        if not node.meta["is_backward"]
        and any(user.meta["is_backward"] and user.op != "output" for user in node.users)
    ]


def split(graph, saved):
    """Cut a joint graph in two. Forward also returns what is saved; backward starts there."""
    *inputs, tangent = graph.find_nodes(op="placeholder")
    result, *gradients = graph.output_node().args[0]
    return part(inputs, [result, *saved]), part([*saved, tangent], gradients)


def part(given, wanted):
    """A module that takes the values of some nodes and computes others from them."""
    graph, copies = torch.fx.Graph(), {}
    for node in given:
        copies[node] = graph.placeholder(node.name)

    def copy(node):
        if node not in copies:
            if node.op == "placeholder":
                raise ValueError(f"split: {node} is needed, and it isn't among {given}")
            copies[node] = graph.node_copy(node, copy)
        return copies[node]

    graph.output(tuple([copy(node) for node in wanted]))
    return torch.fx.GraphModule({}, graph)
