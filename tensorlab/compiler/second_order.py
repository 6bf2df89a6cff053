"""Derivatives of the second order: forward once more, recorded by autograd, and its backward.

A plan of backward has no history. Where the gradients of a compiled call are to be
differentiated themselves, they are computed like this instead, and have the history that they
have without `compile`.
"""

from ..autograd import grad
from ..errors import GradientError
from ..fx import Graph
from ..random import default_generator
from .build import build_plan
from .passes.dead_code import eliminate_dead_code


class SecondOrder:
    """What the results of a call depend on, as a plan of calls that autograd records.

    Parameters
    ----------
    functional : Functional
    followed : list of int, the results that have a gradient
    wants_grad : list of bool, for each input
    generators : list of Generator, those that the ops draw from

    Attributes
    ----------
    needed : list of int, the inputs that must be as they were

    Raises
    ------
    GradientError
        If ops draw from a generator that may have been used since, other than the default one.
    """

    def __init__(self, functional, followed, wants_grad, generators):
        if any(one is not default_generator for one in generators):
            raise GradientError(
                "compile: a compiled function that draws from a generator of its own cannot be "
                "differentiated twice "
                "(create_graph=True); call the function itself, or wrap it in compiler.disable"
            )
        graph = Graph()
        results = graph.graph_copy(functional.graph, {})
        graph.output(tuple([results[i] for i in followed]))
        eliminate_dead_code(graph)
        used = [bool(node.users) for node in graph.find_nodes(op="placeholder")]
        self.needed = [i for i, is_used in enumerate(used) if is_used]
        self.wanted = [i for i in self.needed if wants_grad[i]]
        self.plan = build_plan(graph, records=True)

    def gradients(self, inputs, tangents):
        """A tuple with the gradient of each input, or None.

        Parameters
        ----------
        inputs : list of Tensor
        tangents : list of Tensor or None, the gradients of the results that have one
        """
        inputs = list(inputs)
        for i in self.wanted:  # hooks of the input are for the pass that asks for this
            inputs[i] = inputs[i].view_as(inputs[i])
        pairs = [
            (out, tangent)
            for out, tangent in zip(self.plan.run(inputs), tangents, strict=True)
            if tangent is not None
        ]
        outputs, tangents = zip(*pairs, strict=True)
        found = grad(
            outputs,
            [inputs[i] for i in self.wanted],
            tangents,
            create_graph=True,
            allow_unused=True,
        )
        gradients = dict(zip(self.wanted, found, strict=True))
        return tuple([gradients.get(i) for i in range(len(inputs))])
