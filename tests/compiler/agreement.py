"""Hold a chain of transformations to what the program does: values, writes to inputs, and gradients."""

from dataclasses import dataclass

import numpy as np

import tensorlab
from tensorlab.autograd import grad
from tensorlab.compiler.joint.functionalize import functionalize, run_functional
from tensorlab.compiler.joint.interpreter import leaves_of, run
from tensorlab.compiler.joint.joint import joint
from tests.compiler.tracing import record_graph
from tests.ops.replay import same_bits


@dataclass
class Recorded:
    """A program that has run once: what it returned, its graph, and what it was given."""

    results: list  # the tensors that it returned, with their history
    graph: object
    constants: list  # tensors that it took from elsewhere, as further inputs
    inputs: list  # as it has left them
    make_inputs: object

    def again(self):
        """Fresh inputs, with the same constants."""
        return [*self.make_inputs(), *self.constants]

    @property
    def wants_grad(self):
        return [one.meta["requires_grad"] for one in self.graph.find_nodes(op="placeholder")]


def tensors_of(value):
    return [one for one in leaves_of(value) if isinstance(one, tensorlab.Tensor)]


def record_program(program, make_inputs):
    inputs = make_inputs()
    tensorlab.manual_seed(0)
    results, graph, given = record_graph(program, inputs)
    return Recorded(tensors_of(results), graph, given[len(inputs) :], inputs, make_inputs)


def equal(x, y):
    """Equal to the last bit, where nan is nan and 0 is -0: sums of zeros stand in other orders."""
    x, y = x.detach(), y.detach()
    same = (x.shape, x.dtype) == (y.shape, y.dtype)
    if x.dtype in (tensorlab.bfloat16, tensorlab.float16):
        x, y = x.float(), y.float()
    return same and np.array_equal(x.numpy(), y.numpy(), equal_nan=x.is_floating_point())


def close(x, y):
    """Equal but for rounding."""
    x, y = x.detach(), y.detach()
    if (x.shape, x.dtype) != (y.shape, y.dtype):
        return False
    if not x.is_floating_point():
        return bool((x == y).all())
    return tensorlab.allclose(
        x.double(), y.double(), rtol=1e-4, atol=1e-5 if x.dtype != tensorlab.float64 else 1e-9,
        equal_nan=True,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ forward
def assert_forward(recorded, functional, run=run, same=same_bits):
    """The functional graph returns what the program returned, and leaves its inputs as the program did."""
    inputs = recorded.again()
    tensorlab.manual_seed(0)
    with tensorlab.no_grad():
        found = tensors_of(run_functional(functional, inputs, run))
    for wanted, one in zip(recorded.results, found, strict=True):
        assert same(wanted.detach(), one), "another result"
    for wanted, one in zip(recorded.inputs, inputs, strict=False):
        assert same(wanted.detach(), one.detach()), "another input"


# ------------------------------------------------------------------------------------------------ gradients
def assert_gradients(recorded, functional, made, run=run, same=equal):
    """Forward and backward graph give the results and the gradients that the program gives."""
    inputs = recorded.again()
    tensorlab.manual_seed(0)
    with tensorlab.no_grad():
        outputs = run(made.forward, inputs)
    count = len(outputs) - made.saved
    outputs, saved = list(outputs[:count]), outputs[count:]
    for i in made.tangents:
        outputs[i] = outputs[i].detach().requires_grad_()
    leaves = [x.detach().requires_grad_(x.requires_grad) for x in inputs]
    # aliases are made again, with autograd; results that are inputs lead to these leaves
    found = tensors_of(
        functional.finish([x * 1 if x.requires_grad else x for x in leaves], outputs)
    )
    pairs = [
        (wanted, one)
        for wanted, one in zip(recorded.results, found, strict=True)
        if wanted.grad_fn is not None or (wanted.requires_grad and wanted._base is None)
    ]
    for wanted, one in pairs:
        assert one.requires_grad, "a result has lost its history"
        assert same(wanted, one), "another result"
    weights = [weight_like(wanted, i) for i, (wanted, _) in enumerate(pairs)]
    followed = [outputs[i] for i in made.tangents]
    ends = [one for _, one in pairs]
    wanted_leaves = [x for x, wants in zip(leaves, recorded.wants_grad, strict=True) if wants]
    tangents = grad(ends, [*followed, *wanted_leaves], weights, allow_unused=True)
    direct = iter(tangents[len(followed) :])
    tangents = [
        tensorlab.zeros_like(y) if one is None else tensorlab.empty_like(y).copy_(one)
        for y, one in zip(followed, tangents, strict=False)
    ]
    with tensorlab.no_grad():
        gradients = run(made.backward, [*saved, *tangents])
    given = [*recorded.inputs, *recorded.constants]
    expected = iter(
        grad(
            [wanted for wanted, _ in pairs],
            [x for x, wants in zip(given, recorded.wants_grad, strict=True) if wants],
            weights,
            allow_unused=True,
            retain_graph=True,
        )
    )
    if functional.aliases:
        same = close  # gradients of several views of a tensor are added in another order
    for wants, one in zip(recorded.wants_grad, gradients, strict=True):
        if wants:
            assert_gradient(next(expected), one, next(direct), same)
        else:
            assert one is None, "a gradient that nobody wants"


def assert_gradient(wanted, one, direct, same):
    """The gradient of an input through the graph, and directly through results that are views of it."""
    if wanted is None:
        assert one is None or not one.any(), "a gradient of nothing"
    elif one is None or direct is None:
        assert one is not None or direct is not None, "no gradient"
        assert same(wanted, direct if one is None else one), "another gradient"
    else:
        assert close(wanted, one + direct), "another gradient"  # a sum in another order


def weight_like(y, seed):
    weights = np.random.default_rng(seed).standard_normal(tuple(y.shape))
    return tensorlab.tensor(weights).to(y.dtype)


def assert_agrees(
    program, make_inputs, change=lambda functional: None, mode="save", same=equal, prepare=None
):
    """A program, its functional graph and, if it has gradients, its forward and backward graphs are the same.

    `change` may change a functional graph, or a graph of forward or backward, before it runs, and
    `prepare` the joint graph before it is cut.
    """
    recorded = record_program(program, make_inputs)
    functional = functionalize(recorded.graph)
    made = None
    if any(recorded.wants_grad) and any(y.requires_grad for y in recorded.results):
        made = joint(functional, recorded.wants_grad, mode, prepare)
    change(functional.graph)
    assert_forward(recorded, functional, same=same_bits if same is equal else same)
    if made is not None:
        change(made.forward)
        change(made.backward)
        assert_gradients(recorded, functional, made, same=same)
    return functional, made
