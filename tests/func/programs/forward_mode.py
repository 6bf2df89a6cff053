"""Dual numbers, functions with rules of their own, and what functions may do inside."""

from tests.func.programs import filled, normal, program, state_of


@program
def dual_numbers_through_a_formula(T):
    fw = T.autograd.forward_ad
    x, v = normal(T, 4), normal(T, 4, seed=1)
    with fw.dual_level():
        dual = fw.make_dual(x, v)
        out = dual.sin() * dual.exp() + dual.mean()
        primal, tangent = fw.unpack_dual(out)
        nothing = fw.unpack_dual(x).tangent
    return {"primal": primal, "tangent": tangent, "none": nothing is None}


@program
def dual_parameters_of_a_module(T):
    """Tangents in the place of parameters, as forward mode did before functional_call."""
    fw, model = T.autograd.forward_ad, filled(T, T.nn.Linear(4, 3))
    x = normal(T, 2, 4)
    parameters = {name: one.detach() for name, one in model.named_parameters()}
    tangents = {name: T.ones_like(one) for name, one in parameters.items()}
    with fw.dual_level():
        for name, one in parameters.items():
            delattr(model, name)
            setattr(model, name, fw.make_dual(one, tangents[name]))
        one = fw.unpack_dual(model(x).tanh()).tangent
    again = filled(T, T.nn.Linear(4, 3))
    call = lambda p: T.func.functional_call(again, p, (x,)).tanh()
    return {"by hand": one, "jvp": T.func.jvp(call, (parameters,), (tangents,))[1]}


@program
def backward_through_a_tangent(T):
    """Reverse over forward without transforms."""
    fw, x = T.autograd.forward_ad, normal(T, 3).requires_grad_()
    with fw.dual_level():
        out = fw.make_dual(x, T.ones(3, dtype=T.float64)).pow(3).sin()
        tangent = fw.unpack_dual(out).tangent
    tangent.sum().backward()
    return {"tangent": tangent.detach(), "grad": x.grad}


@program
def tangents_of_writes_and_views(T):
    fw, x = T.autograd.forward_ad, normal(T, 3, 4)
    with fw.dual_level():
        dual = fw.make_dual(x.clone(), T.ones_like(x))
        dual[0].mul_(3)
        dual.t()[1].copy_(dual[:, 0] * 2)
        dual.add_(dual.detach())
        return {"tangent": fw.unpack_dual(dual).tangent, "primal": fw.unpack_dual(dual).primal}


def square_in_two_ways(T):
    """A Function with backward and jvp, whose vmap is made of them."""

    class Square(T.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

        @staticmethod
        def jvp(ctx, tangent):
            return 2 * ctx.saved_tensors[0] * tangent

    return Square


@program
def function_with_all_transforms(T):
    square, x = square_in_two_ways(T), normal(T, 4)
    f = lambda x: square.apply(x).sin().sum()
    return {
        "grad": T.func.grad(f)(x),
        "jvp": T.func.jvp(f, (x,), (x,))[1],
        "each": T.func.vmap(T.func.grad(f))(x.outer(x)),
        "hessian": T.func.jacrev(T.func.jacrev(f))(x),
    }


@program
def function_with_its_own_vmap(T):
    """A Function that computes with NumPy, and says itself what a batch is."""

    class Cube(T.autograd.Function):
        @staticmethod
        def forward(x, n):
            return T.from_numpy(x.numpy() ** n)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.n = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return ctx.n * Cube.apply(ctx.saved_tensors[0], ctx.n - 1) * grad, None

        @staticmethod
        def vmap(info, in_dims, x, n):
            moved = x.movedim(in_dims[0], 0)
            return Cube.apply(moved, n) * (1 if info.batch_size == len(moved) else 0), 0

    x = normal(T, 3, 4)
    f = lambda x: Cube.apply(x, 3).sum()
    return {
        "batch": T.func.vmap(lambda x: Cube.apply(x, 3), in_dims=1, out_dims=1)(x),
        "grad": T.func.grad(f)(x),
        "each": T.func.vmap(T.func.grad(f))(x),
    }


@program
def gradient_that_is_clipped(T):
    """A Function that changes only the gradient, inside of vmap of grad."""

    class Clip(T.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, limit):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.limit = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad.clamp(-ctx.limit, ctx.limit), None

    f = lambda x: (Clip.apply(x, 0.5) ** 2).sum()
    x = normal(T, 3, 2)
    return {"one": T.func.grad(f)(x), "each": T.func.vmap(T.func.grad(f))(x)}


@program
def random_numbers_in_a_batch(T):
    """randomness="different" draws for each example, "same" once; an error is the default."""
    x = T.zeros(4, 1000)
    draw = lambda x: x + T.rand(1000)
    T.manual_seed(0)
    different = T.func.vmap(draw, randomness="different")(x)
    same = T.func.vmap(draw, randomness="same")(x)
    try:
        T.func.vmap(draw)(x)
        refused = False
    except RuntimeError:
        refused = True
    return {
        "different": (different[0] != different[1]).any(),
        "same": (same[0] == same[3]).all(),
        "shape": different.shape[0],
        "refused": refused,
    }


@program
def dropout_of_an_ensemble(T):
    """Masks of models differ, or are the same, by the randomness that is asked for."""
    model = filled(T, T.nn.Sequential(T.nn.Linear(3, 200), T.nn.Dropout(0.5)))
    p, _ = state_of(model)
    many = {name: T.stack([x] * 3) for name, x in p.items()}
    x = T.ones(3, dtype=T.float64)
    T.manual_seed(1)
    call = lambda p: T.func.functional_call(model, p, (x,)) != 0
    different = T.func.vmap(call, randomness="different")(many)
    same = T.func.vmap(call, randomness="same")(many)
    return {
        "different": (different[0] != different[1]).any(),
        "same": (same[0] == same[1]).all(),
        "kept": ((different.double().mean(1) - 0.5).abs() < 0.2).all(),
    }
