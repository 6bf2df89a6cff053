"""GradientEdges of tensors that are no leaves, among the inputs of a pass."""

import pytest

from tests.ops.agreement import agree


@pytest.mark.parametrize("retains", [False, True])
def test_backward_takes_the_edge_of_a_tensor_that_is_no_leaf(retains):
    def program(T):
        x = T.ones(3, requires_grad=True)
        y = x * 2
        if retains:
            y.retain_grad()
        edge = T.autograd.graph.get_gradient_edge(y)
        T.autograd.backward(y.exp().sum(), inputs=(edge, x), retain_graph=True)
        T.autograd.backward((y * y).sum(), inputs=(edge,))
        return [x.grad, y.grad if retains else None, y.retains_grad]

    agree(program, 1e-6)


@pytest.mark.parametrize("is_used", [False, True])
def test_zeros_are_not_made_for_an_edge(is_used):
    def program(T):
        x = T.ones(3, requires_grad=True)
        used, unused = x * 2, x * 3
        edge = T.autograd.graph.get_gradient_edge(used if is_used else unused)
        return T.autograd.grad(used.sum(), [x, edge], materialize_grads=True)

    agree(program)
