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


def test_kernels_may_be_any_callable(clip2):
    class Doubled:
        def __call__(self, out, x, limit):
            out.copy_(x * 2)

    clip2.kernel(Doubled())
    assert clip2(torch.ones(2), 1.0).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="Op clip2: a function is needed, not int"):
        clip2.kernel(3)


def test_an_op_with_several_results_or_with_none_that_is_known_before():
    both = Op("both_ends(Tensor x) -> (Tensor low, Tensor high)")
    found = Op("positives(Tensor x) -> Tensor")
    try:
        both.infer(lambda x: (new_result(x, ()), new_result(x, ())))

        @both.kernel
        def both_kernel(low, high, x):
            low.copy_(x.min())
            high.copy_(x.max())

        @found.kernel
        def positives_kernel(x):
            return x[x > 0]

        x = torch.tensor([2.0, -1.0, 3.0])
        assert [one.item() for one in both(x)] == [-1.0, 3.0]
        assert [one.shape for one in both(x.to("meta"))] == [(), ()]
        assert found(x).tolist() == [2.0, 3.0]
    finally:
        del REGISTRY["both_ends"], REGISTRY["positives"]


def test_an_op_that_is_made_of_others():
    op = Op("hypotenuse(Tensor x, Tensor y) -> Tensor")
    try:
        op.compose(lambda x, y: (x * x + y * y).sqrt())
        assert op(torch.tensor(3.0), torch.tensor(4.0)).item() == 5.0
        assert op(torch.ones(2, device="meta"), torch.ones(2, device="meta")).is_meta
    finally:
        del REGISTRY["hypotenuse"]


def test_what_does_not_fit_is_refused():
    parameters = ", ".join(f"int n{k}" for k in range(17))
    with pytest.raises(ValueError, match="17 parameters are too many; at most 16 fit"):
        Op(f"too_long({parameters}) -> Tensor")
    op = Op("too_many(Tensor x) -> Tensor[]")
    try:
        op.infer(lambda x: tuple(new_result(x) for _ in range(9)))
        op.kernel(lambda *everything: None)
        with pytest.raises(ValueError, match="too_many: 9 results are too many for a kernel"):
            op(torch.ones(1))
    finally:
        del REGISTRY["too_many"]
