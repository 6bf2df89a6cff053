"""Ops that are declared in Python: what they return, their derivatives, `out=` and meta."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY, Op
from tensorlab._core.tensor import new_result

import tensorlab as torch


@pytest.fixture
def clip2():
    """An op with infer, kernel and derivative, all in Python."""
    op = Op("clip2(Tensor x, float limit) -> Tensor")

    @op.infer
    def clip2_infer(x, limit):
        return new_result(x)

    @op.kernel
    def clip2_kernel(out, x, limit):
        out.copy_(x.clamp(-limit, limit))

    @op.derivative("x")
    def clip2_derivative(grad, x, limit):
        return grad * (x.abs() <= limit)

    yield op
    del REGISTRY["clip2"]


def test_an_op_in_python_has_values_and_gradients(clip2):
    x = torch.tensor([-3.0, 1.0, 2.5], requires_grad=True)
    y = clip2(x, 2.0)
    assert y.tolist() == [-2.0, 1.0, 2.0]
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    assert clip2(x.to("meta"), 2.0).is_meta
