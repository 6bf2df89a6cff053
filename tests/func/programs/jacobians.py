"""Jacobians, Hessians, and their products with vectors."""

from tests.func.programs import normal, program


def predictor(T):
    w, b, x = normal(T, 4, 6), normal(T, 4), normal(T, 6)
    return (lambda w, b, x: (w @ x + b).tanh()), w, b, x


@program
def jacobians_of_a_layer(T):
    """By weight, by bias and by input, backwards and forwards."""
    f, *arguments = predictor(T)
    backwards = T.func.jacrev(f, argnums=(0, 1, 2))(*arguments)
    forwards = T.func.jacfwd(f, argnums=(0, 1, 2))(*arguments)
    return {
        f"{way} {i}": x
        for way, found in (("rev", backwards), ("fwd", forwards))
        for i, x in enumerate(found)
    }


@program
def jacobian_row_by_row(T):
    """A loop over autograd.grad, as it was written before, equals jacrev."""
    f, w, b, x = predictor(T)
    w = w.clone().requires_grad_()
    out = f(w, b, x)
    rows = [T.autograd.grad(one, w, retain_graph=True)[0] for one in out]
    (batched,) = T.autograd.grad(out, w, T.eye(4, dtype=T.float64), is_grads_batched=True)
    return {"rows": T.stack(rows), "batched": batched, "rev": T.func.jacrev(f)(w, b, x).detach()}


@program
def hessian_in_four_orders(T):
    """Every composition of the two modes."""
    x = normal(T, 4)
    f = lambda x: (x.outer(x).sin() * x).sum()
    modes = {"rev": T.func.jacrev, "fwd": T.func.jacfwd}
    found = {f"{a} of {b}": modes[a](modes[b](f))(x) for a in modes for b in modes}
    return {**found, "hessian": T.func.hessian(f)(x)}


@program
def hessian_of_blocks(T):
    """A Hessian by two arguments is two by two blocks."""
    a, b = normal(T, 2), normal(T, 3)
    blocks = T.func.hessian(lambda a, b: (a.outer(b).tanh() ** 2).sum(), argnums=(0, 1))(a, b)
    return {f"{i}{j}": blocks[i][j] for i in range(2) for j in range(2)}


@program
def hessians_of_a_batch(T):
    x = normal(T, 5, 3)
    f = lambda x: T.logsumexp(x * x, -1)
    return {"hessians": T.func.vmap(T.func.hessian(f))(x), "jac": T.func.vmap(T.func.jacfwd(f))(x)}


@program
def hessian_times_vector(T):
    """Forward over reverse, reverse over forward, reverse over reverse."""
    x, v = normal(T, 6), normal(T, 6, seed=1)
    f = lambda x: (x.sin() * x.roll(1)).sum() ** 2
    slope = T.func.grad(f)
    return {
        "forward over reverse": T.func.jvp(slope, (x,), (v,))[1],
        "reverse over reverse": T.func.vjp(slope, x)[1](v)[0],
        "reverse over forward": T.func.grad(lambda x: T.func.jvp(f, (x,), (v,))[1])(x),
        "product": T.func.hessian(f)(x) @ v,
    }


@program
def hessian_times_many_vectors(T):
    x, directions = normal(T, 5), normal(T, 3, 5)
    slope = T.func.grad(lambda x: (x**3).sum() * x.mean())
    return {"products": T.func.vmap(lambda v: T.func.jvp(slope, (x,), (v,))[1])(directions)}


@program
def laplacian_and_divergence(T):
    """Traces of Hessian and Jacobian at a cloud of points."""
    points = normal(T, 6, 3)
    potential = lambda p: (p.square().sum() + 1).rsqrt()
    field = T.func.grad(potential)
    trace = lambda f: lambda p: T.func.jacfwd(f)(p).diagonal().sum()
    return {"laplacian": T.func.vmap(trace(field))(points)}


@program
def curl_of_a_field(T):
    def field(p):
        x, y, z = p
        return T.stack([y * z.exp(), x.sin() * z, x * y])

    def curl(p):
        j = T.func.jacrev(field)(p)
        return T.stack([j[2, 1] - j[1, 2], j[0, 2] - j[2, 0], j[1, 0] - j[0, 1]])

    return {"curl": T.func.vmap(curl)(normal(T, 4, 3))}


@program
def diagonal_by_one_pass(T):
    """The Hessian of a sum of independent terms: its diagonal is one product with ones."""
    x = normal(T, 7)
    f = lambda x: (x.sin() * x.exp()).sum()
    ones = T.ones_like(x)
    return {
        "one pass": T.func.jvp(T.func.grad(f), (x,), (ones,))[1],
        "diagonal": T.func.hessian(f)(x).diagonal(),
    }


@program
def jacobian_with_aux_and_chunks(T):
    x = normal(T, 3, 4)
    f = lambda x: (x.cumsum(0).sin(), {"mean": x.mean()})
    found = {}
    for size in (1, 5, None):
        jacobian, aux = T.func.jacrev(f, has_aux=True, chunk_size=size)(x)
        found |= {f"jacobian {size}": jacobian, f"mean {size}": aux["mean"]}
    jacobian, aux = T.func.jacfwd(f, has_aux=True, randomness="same")(x)
    return {**found, "forwards": jacobian, "mean": aux["mean"]}


@program
def jacobian_of_a_dict(T):
    """Trees in and out: a dict of dicts."""
    tree = {"a": normal(T, 2), "b": normal(T, 3)}
    f = lambda t: {"sum": t["a"].sum() + t["b"], "outer": t["a"].outer(t["b"])}
    found = T.func.jacrev(f)(tree)
    return {f"{out} by {name}": found[out][name] for out in found for name in tree}


@program
def functional_namespace(T):
    """torch.autograd.functional: the same questions in the older names."""
    functional = T.autograd.functional
    x, v = normal(T, 4), normal(T, 4, seed=1)
    f = lambda x: x.outer(x).tanh().sum(0)
    total = lambda x: f(x).sum()
    return {
        "jacobian": functional.jacobian(f, x),
        "vectorized": functional.jacobian(f, x, vectorize=True),
        "forwards": functional.jacobian(f, x, vectorize=True, strategy="forward-mode"),
        "hessian": functional.hessian(total, x),
        "outer": functional.hessian(
            total, x, vectorize=True, outer_jacobian_strategy="forward-mode"
        ),
        "vjp": functional.vjp(f, x, v)[1],
        "jvp": functional.jvp(f, x, v)[1],
        "hvp": functional.hvp(total, x, v)[1],
        "vhp": functional.vhp(total, x, v)[1],
    }


@program
def functional_of_several_arguments(T):
    functional = T.autograd.functional
    a, b = normal(T, 2), normal(T, 3)
    f = lambda a, b: (a.exp().sum() * b, a)
    jacobian = functional.jacobian(f, (a, b))
    blocks = functional.hessian(lambda a, b: f(a, b)[0].sum(), (a, b))
    _, pulled = functional.vjp(f, (a, b), (b, a))
    found = {f"jacobian {i}{j}": jacobian[i][j] for i in range(2) for j in range(2)}
    found |= {f"hessian {i}{j}": blocks[i][j] for i in range(2) for j in range(2)}
    return {**found, "vjp a": pulled[0], "vjp b": pulled[1]}
