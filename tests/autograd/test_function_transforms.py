"""Custom Functions inside of transforms."""

import pytest

import tensorlab
from tensorlab import func
from tensorlab.autograd import Function
from tensorlab.autograd import forward_ad as fw


class Cube(Function):
    """k x^3, and 2 x."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, k):
        return x**3 * k, 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, grad, other):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad * ctx.k + 2 * other, None

    @staticmethod
    def jvp(ctx, tangent, _):
        (x,) = ctx.saved_tensors
        return 3 * x * x * tangent * ctx.k, 2 * tangent


def custom(x):
    first, _ = Cube.apply(x, 2)
    _, second = Cube.apply(x, 1)
    return first.sum() + (second * x).sum()


def plain(x):
    return (2 * x**3).sum() + (2 * x * x).sum()


X = tensorlab.tensor([1.0, 2.0, 3.0])
ROWS = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: func.grad(f)(X),
        lambda f: func.jvp(f, (X,), (X,))[1],
        lambda f: func.jacfwd(func.jacfwd(f))(X),
        lambda f: func.jacfwd(func.jacrev(f))(X),
        lambda f: func.jacrev(func.jacfwd(f))(X),
        lambda f: func.jacrev(func.jacrev(f))(X),
        lambda f: func.vmap(f)(ROWS),
        lambda f: func.vmap(func.grad(f))(ROWS),
        lambda f: func.grad(lambda x: func.vmap(f)(x).sum())(ROWS),
        lambda f: func.vmap(lambda v: func.jvp(f, (X,), (v,))[1])(tensorlab.eye(3)),
    ],
)
def test_every_level_uses_the_methods_of_a_function(transformed):
    assert tensorlab.allclose(transformed(custom), transformed(plain))


def test_dual_tensors_go_through_functions():
    x = X.clone().requires_grad_()
    with fw.dual_level():
        y = fw.unpack_dual(custom(fw.make_dual(x, X)))
        assert y.tangent.item() == sum(6 * a**3 + 4 * a * a for a in (1, 2, 3))
        (found,) = tensorlab.autograd.grad(y.tangent, x)
        assert found.tolist() == [12 * a * a + 4 * a for a in (1, 2, 3)]


class Scaled(Function):
    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    @staticmethod
    def vmap(info, in_dims, x, y):
        assert info.batch_size == 3
        assert in_dims == (0, None)
        return Scaled.apply(x, y.expand(3)), 0


def test_a_function_may_say_how_it_computes_a_batch():
    batched = func.vmap(Scaled.apply, (0, None))
    assert batched(X, tensorlab.tensor(2.0)).tolist() == [2, 4, 6]
    found = func.grad(lambda y: batched(X, y).sum())(tensorlab.tensor(2.0))
    assert found.item() == 6


class Old(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1


class Bare(Function):
    @staticmethod
    def forward(x):
        return x * 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: func.vmap(Old.apply)(X), RuntimeError, "must override the setup_context"),
        (lambda: func.vmap(Bare.apply)(X), RuntimeError, "does not have vmap support"),
        (lambda: func.jvp(Bare.apply, (X,), (X,)), NotImplementedError, "implement the jvp"),
        (
            lambda: func.grad(lambda x: Bare.apply(x).sum())(X),
            NotImplementedError,
            "write backward",
        ),
    ],
)
def test_what_a_function_lacks_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()
