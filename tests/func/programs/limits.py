"""What guides say of limits: branches, writes, gradients inside, effects; and ways around them."""

from tests.func.programs import normal, program


def error_of(f):
    """The name of the built-in error that f raises."""
    try:
        f()
    except Exception as error:
        return next(one.__name__ for one in type(error).__mro__ if one.__module__ == "builtins")
    return "none"


@program
def branches_on_values(T):
    """if on a value works in grad; in vmap it is refused, and where takes its place."""
    branch = lambda x: x.sin() if x.sum() > 0 else x * 2
    chosen = lambda x: T.where(x > 0, x.sin(), x * 2)
    x = normal(T, 5)
    return {
        "grad": T.func.grad(branch)(x[0]),
        "each": T.func.vmap(T.func.grad(chosen))(x),
        "refused": error_of(lambda: T.func.vmap(branch)(x)) == "RuntimeError",
        "item": error_of(lambda: T.func.vmap(lambda x: x.item())(x)) == "RuntimeError",
    }


@program
def safe_square_roots(T):
    """The unused branch of where must have a derivative, too."""
    x = T.tensor([0.0, 1.0, 4.0], dtype=T.float64)
    naive = lambda x: T.where(x > 0, x.sqrt(), T.zeros_like(x)).sum()
    safe = lambda x: T.where(x > 0, T.where(x > 0, x, 1.0).sqrt(), 0.0).sum()
    return {"naive": T.func.grad(naive)(x).isnan(), "safe": T.func.grad(safe)(x)}


@program
def writes_inside(T):
    """To what the function made, of the same batch: fine. To what is shared: refused."""

    def fine(x, y):
        out = x.clone()
        out.add_(y).mul_(2)
        out[0] = y.sum()
        return out

    def refused(x, y):
        out = T.zeros(3, dtype=T.float64)
        return out.add_(x)

    def instead(x, y):
        out = x.new_zeros(3)
        return out.add_(x)

    x, y = normal(T, 4, 3), normal(T, 4, 3, seed=1)
    return {
        "fine": T.func.vmap(fine)(x, y),
        "refused": error_of(lambda: T.func.vmap(refused)(x, y)),
        "instead": T.func.vmap(instead)(x, y),
        "grad": T.func.grad(lambda x: (fine(x, y[0]) ** 2).sum())(x[0]),
    }


@program
def results_by_a_list(T):
    """Values are handed out as aux, and lists are built up instead of tensors filled."""

    def f(x):
        values = [x]
        for _ in range(3):
            values.append(values[-1].sin() + x)
        return values[-1].sum(), T.stack(values)

    grads, values = T.func.vmap(T.func.grad(f, has_aux=True))(normal(T, 2, 3))
    return {"grads": grads, "values": values}


@program
def shapes_that_depend_on_values(T):
    x = normal(T, 3, 4)
    every = lambda f: error_of(lambda: T.func.vmap(f)(x))
    return {
        "nonzero": every(lambda x: x.nonzero()),
        "mask": every(lambda x: x[x > 0]),
        "instead": T.func.vmap(lambda x: T.where(x > 0, x, 0).sum())(x),
    }


@program
def autograd_inside_of_transforms(T):
    """torch.autograd.grad in a function that is batched."""
    w = normal(T, 3)

    def slope(x):
        x = x.detach().requires_grad_()
        return T.autograd.grad((w * x.sin()).sum(), x)[0]

    def through(x):
        with T.enable_grad():
            return T.func.grad(lambda y: (w * y.sin()).sum())(x)

    x = normal(T, 4, 3)
    return {"through": T.func.vmap(through)(x), "loop": T.stack([slope(one) for one in x])}


@program
def no_grad_inside(T):
    """no_grad in the function holds for its gradient; around it, it doesn't."""

    def half(x):
        with T.no_grad():
            shift = x**2
        return (x * shift).sum()

    x = normal(T, 3)
    with T.no_grad():
        around = T.func.grad(lambda x: (x**3).sum())(x)
    return {"inside": T.func.grad(half)(x), "around": around, "value": half(x)}


@program
def graph_outside_of_grad(T):
    """A captured tensor that requires grad gets its gradient from what grad returns."""
    w, x = normal(T, 3).requires_grad_(), normal(T, 3, seed=1)
    out = T.func.grad(lambda x: (w * x**2).sum().sin())(x)
    out.sum().backward()
    return {"out": out.detach(), "w": w.grad, "x has a graph": x.requires_grad}


@program
def functionalized_writes(T):
    def f(x):
        y = x.clone()
        y.view(-1)[::2].mul_(2)
        y[0].add_(y[1])
        return y, y.t()

    x = normal(T, 3, 4)
    for_all = {"views": "mutations_and_views", "writes": "mutations"}
    found = {}
    for name, remove in for_all.items():
        one, two = T.func.functionalize(f, remove=remove)(x)
        found |= {f"one {name}": one, f"two {name}": two}
    return found


@program
def shared_argument_of_two_places(T):
    """The same tensor in both places; detach in one of them."""
    x = normal(T, 4)
    f = lambda a, b: (a * b.sin()).sum()
    return {
        "first": T.func.grad(f)(x, x),
        "both": T.func.grad(lambda x: f(x, x))(x),
        "detached": T.func.grad(lambda x: f(x, x.detach()))(x),
    }


@program
def unused_arguments(T):
    """What isn't used has a gradient of zeros, tangents of constants are zeros."""
    x, y = normal(T, 3), normal(T, 2)
    unused = T.func.grad(lambda x, y: (x**2).sum(), argnums=1)(x, y)
    _, tangent = T.func.jvp(lambda x: T.ones(2, dtype=T.float64), (x,), (x,))
    jacobian = T.func.jacrev(lambda x, y: x.sin(), argnums=1)(x, y)
    forward = T.func.jacfwd(lambda x: y * 2)(x)
    return {"grad": unused, "tangent": tangent, "rev": jacobian, "fwd": forward}


@program
def searching_and_sorting_in_batches(T):
    """Examples are sorted and searched each for itself."""

    def f(x):
        values, places = x.sort()
        best = x.topk(2)
        return values.cumsum(0), places, best.values, T.searchsorted(values, x.mean())

    x = normal(T, 4, 5)
    out = T.func.vmap(f)(x)
    grads = T.func.vmap(T.func.grad(lambda x: x.topk(2).values.prod()))(x)
    return {**dict(zip("abcd", out, strict=True)), "grads": grads}


@program
def recurrences_of_a_batch(T):
    """A loop over time with a cell, batched over sequences, differentiated by its weights."""
    w, u = normal(T, 3, 3) * 0.5, normal(T, 2, 3)

    def last(w, u, sequence):
        h = T.zeros(3, dtype=T.float64)
        for x in sequence.unbind(0):
            h = (h @ w + x @ u).tanh()
        return h.sum()

    sequences = normal(T, 4, 5, 2)
    grads = T.func.vmap(T.func.grad(last, argnums=(0, 1)), in_dims=(None, None, 0))
    by_w, by_u = grads(w, u, sequences)
    return {"w": by_w, "u": by_u}


@program
def linear_algebra_in_batches(T):
    """Solutions, determinants and decompositions of examples, and their gradients."""
    a, b = normal(T, 4, 3, 3), normal(T, 4, 3)
    spd = lambda a: a @ a.T + T.eye(3, dtype=T.float64)
    log_density = lambda a, b: -b @ T.linalg.solve(spd(a), b) - T.linalg.slogdet(spd(a))[1]
    factor = lambda a: T.linalg.cholesky(spd(a)).diagonal().log().sum()
    return {
        "density": T.func.vmap(log_density)(a, b),
        "grads": T.func.vmap(T.func.grad(log_density))(a, b),
        "factors": T.func.vmap(T.func.grad(factor))(a),
        "values": T.func.vmap(lambda a: T.linalg.eigvalsh(spd(a)))(a),
    }
