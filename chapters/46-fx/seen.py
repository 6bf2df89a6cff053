"""The programs of chapter 46's prediction: what is left of them in the graph?"""


def printing(torch):
    def f(x):
        print("running")
        return x * 2

    return f


def branching(torch):
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    return f


def drawing(torch):
    def f(x):
        return x + torch.rand(2)

    return f


def asking(torch):
    def f(x):
        return x.view(x.shape[0], 1)

    return f


def repeating(torch):
    def f(x):
        for i in range(2):
            x = x + i
        return x

    return f


def dropping(torch):
    def f(x, training=True):
        return torch.nn.functional.dropout(x, 0.5, training=training)

    return f


PROGRAMS = {
    "A": printing,
    "B": branching,
    "C": drawing,
    "D": asking,
    "E": repeating,
    "F": dropping,
}


def traced_names(torch, letter):
    """Return the names of the nodes of a program, or the name of the error."""
    fx = torch.fx
    try:
        graph = fx.symbolic_trace(PROGRAMS[letter](torch)).graph
    except fx.proxy.TraceError as error:
        return type(error).__name__
    return [node.name for node in graph.nodes]
