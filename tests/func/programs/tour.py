"""The transforms one by one, and pairs of them."""

import math

from tests.func.programs import flat, normal, program


@program
def powers_of_a_derivative(T):
    """grad of grad of grad."""
    found, f, x = {}, lambda x: (x * x).sin() + x**4, normal(T, seed=1)
    for order in range(1, 5):
        f = T.func.grad(f)
        found[f"order {order}"] = f(x)
    return found


@program
def a_line_through_points(T):
    """Gradient descent of a line's two numbers, by grad_and_value with aux."""
    x = T.linspace(-1, 1, 21, dtype=T.float64)
    y = 3 * x - 0.5

    def loss(line, x, y):
        errors = line["slope"] * x + line["height"] - y
        return (errors**2).mean(), errors.abs().max()

    line = {"slope": T.zeros((), dtype=T.float64), "height": T.zeros((), dtype=T.float64)}
    step = T.func.grad_and_value(loss, has_aux=True)
    for _ in range(40):
        grads, (value, largest) = step(line, x, y)
        line = {name: line[name] - 0.4 * grads[name] for name in line}
    return {**line, "loss": value, "largest": largest}


@program
def pullback_of_a_tuple(T):
    """One vjp that is called with several cotangents."""
    x, w = normal(T, 4), normal(T, 4, 3)
    (out, square), pull = T.func.vjp(lambda x, w: ((x @ w).tanh(), x.square().sum()), x, w)
    one = pull((T.ones_like(out), T.zeros_like(square)))
    two = pull((T.zeros_like(out), T.ones_like(square)))
    return {"out": out, "x 1": one[0], "w 1": one[1], "x 2": two[0], "w 2": two[1]}


@program
def basis_by_vjp_and_by_jvp(T):
    """A Jacobian twice: rows by pulling back a basis, columns by pushing one forward."""
    x = normal(T, 3)
    f = lambda x: T.stack([x[0] * x[1], x[1].exp(), x.sum().sin(), x[2] / (1 + x[0] ** 2)])
    _, pull = T.func.vjp(f, x)
    (rows,) = T.func.vmap(pull)(T.eye(4, dtype=T.float64))
    columns = T.func.vmap(lambda v: T.func.jvp(f, (x,), (v,))[1], out_dims=1)(
        T.eye(3, dtype=T.float64)
    )
    return {"rows": rows, "columns": columns, "difference": (rows - columns).abs() < 1e-12}


@program
def slope_along_a_direction(T):
    """jvp of a scalar function is grad's inner product with the direction."""
    x, v = normal(T, 5), normal(T, 5, seed=1)
    f = lambda x: (x.cosh().log() * T.arange(5)).sum()
    value, slope = T.func.jvp(f, (x,), (v,))
    return {"value": value, "slope": slope, "product": T.func.grad(f)(x) @ v}


@program
def batches_of_every_dim(T):
    """in_dims and out_dims, an argument that all examples share, trees in and out."""
    x, y, w = normal(T, 2, 5, 3), normal(T, 5, 2), normal(T, 3)

    def f(tree, w):
        return {"product": tree["x"] @ w, "sum": (tree["x"].sum(-1) + tree["y"], w * 2)}

    every = T.func.vmap(
        f, in_dims=({"x": 1, "y": 0}, None), out_dims={"product": -1, "sum": (0, None)}
    )
    out = every({"x": x, "y": y}, w)
    return {"product": out["product"], "sum": out["sum"][0], "shared": out["sum"][1]}


@program
def arguments_by_keyword(T):
    """They have no batch: all examples get the same."""
    f = lambda x, *, scale, shift=None: x * scale if shift is None else x @ scale + shift
    x, scale = normal(T, 3, 2), normal(T, 2, seed=1)
    try:
        T.func.vmap(f)(x=x, scale=scale)
        refused = False
    except ValueError:
        refused = True
    return {
        "every": T.func.vmap(f)(x, scale=scale),
        "chunks": T.func.vmap(f, chunk_size=2)(x, scale=scale, shift=scale[0]),
        "refused": refused,
    }


@program
def distances_of_all_pairs(T):
    """vmap in vmap."""
    a, b = normal(T, 4, 3), normal(T, 6, 3)
    distance = lambda p, q: T.linalg.vector_norm(p - q)
    table = T.func.vmap(T.func.vmap(distance, in_dims=(None, 0)), in_dims=(0, None))
    slopes = T.func.vmap(
        T.func.vmap(T.func.grad(distance, argnums=(0, 1)), in_dims=(None, 0)), in_dims=(0, None)
    )(a, b)
    return {"table": table(a, b), "first": slopes[0], "second": slopes[1]}


@program
def examples_in_chunks(T):
    """chunk_size changes nothing but memory."""
    x = normal(T, 7, 3)
    f = lambda x: (x.softmax(-1), T.logsumexp(x, 0))
    found = {}
    for size in (None, 1, 3, 10):
        shares, total = T.func.vmap(f, chunk_size=size)(x)
        found |= {f"shares {size}": shares, f"total {size}": total}
    return found


@program
def gradients_by_place(T):
    """argnums: one place, several, negative ones."""
    f = lambda a, b, c: (a * b.sin() + c**2).sum()
    arguments = [normal(T, 3, seed=i) for i in range(3)]
    found = {}
    for places in (1, (0, 2), (-1,), -2):
        grads = T.func.grad(f, argnums=places)(*arguments)
        grads = grads if isinstance(grads, tuple) else (grads,)
        found |= flat(str(places), dict(enumerate(grads)))
    return found


@program
def linearized_once(T):
    """linearize keeps the point, and pushes many tangents from there."""
    x, w = normal(T, 4), normal(T, 3, 4)
    out, push = T.func.linearize(lambda x, w: (w @ x).sigmoid(), x, w)
    zero = T.zeros_like(w)
    return {
        "out": out,
        "along x": push(x, zero),
        "along w": push(T.zeros_like(x), w),
        "many": T.func.vmap(lambda v: push(v, zero))(T.eye(4, dtype=T.float64)),
    }


@program
def one_derivative_for_many_numbers(T):
    """A function of one number, its derivatives at a batch of them."""
    x = T.linspace(-2, 2, 9, dtype=T.float64)
    bell = lambda x: (-x * x / 2).exp() / math.sqrt(2 * math.pi)
    slope = T.func.grad(bell)
    curvature = T.func.grad(slope)
    return {"slope": T.func.vmap(slope)(x), "curvature": T.func.vmap(curvature)(x)}


@program
def a_complex_function(T):
    """Derivatives of real and imaginary parts by a real number."""
    f = lambda x: T.exp(1j * x) * (1 + 2j)
    x = normal(T, 3)
    real = T.func.vmap(T.func.grad(lambda x: f(x).real))(x)
    _, tangent = T.func.jvp(f, (x,), (T.ones_like(x),))
    return {"real": real, "tangent": tangent}
