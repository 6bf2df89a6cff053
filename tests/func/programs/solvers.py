"""Learning to learn, and the methods of optimisation that Jacobians give."""

from tests.func.programs import filled, normal, program, state_of


def sine_tasks(T, number=3):
    amplitude, phase = 1 + T.arange(number) / 2, T.arange(number) / 3
    x = normal(T, number, 8, 1)
    wave = amplitude.double()[:, None, None] * (x + phase.double()[:, None, None]).sin()
    return x[:, :5], wave[:, :5], x[:, 5:], wave[:, 5:]


def two_layers(p, x):
    return (x @ p[0] + p[1]).tanh() @ p[2] + p[3]


def two_layers_at(T):
    return [normal(T, *shape) * 0.5 for shape in ((1, 6), (6,), (6, 1), (1,))]


def adapted(T, p, x, y, steps=2, rate=0.1):
    loss = lambda p: (two_layers(p, x) - y).square().mean()
    for _ in range(steps):
        p = [one - rate * g for one, g in zip(p, T.func.grad(loss)(p), strict=True)]
    return p


@program
def model_agnostic_meta_learning(T):
    """The gradient of a loss after steps of gradient descent, over a batch of tasks."""
    support_x, support_y, query_x, query_y = sine_tasks(T)

    def loss_after(p, x, y, new_x, new_y):
        return (two_layers(adapted(T, p, x, y), new_x) - new_y).square().mean()

    def outer(p):
        each = T.func.vmap(lambda *task: loss_after(p, *task))
        return each(support_x, support_y, query_x, query_y).mean()

    p, losses = two_layers_at(T), []
    for _ in range(3):
        grads, loss = T.func.grad_and_value(outer)(p)
        p = [one - 0.1 * g for one, g in zip(p, grads, strict=True)]
        losses.append(loss)
    return {"losses": T.stack(losses), **dict(zip("abcd", p, strict=True))}


@program
def first_order_meta_learning(T):
    """The same with inner gradients that are constants."""
    x, y, new_x, new_y = (task[0] for task in sine_tasks(T))

    def outer(p):
        loss = lambda q: (two_layers(q, x) - y).square().mean()
        steps = [g.detach() for g in T.func.grad(loss)(p)]
        moved = [one - 0.1 * g for one, g in zip(p, steps, strict=True)]
        return (two_layers(moved, new_x) - new_y).square().mean()

    return dict(zip("abcd", T.func.grad(outer)(two_layers_at(T)), strict=True))


@program
def meta_learning_of_a_module(T):
    """The parameters of a module, adapted in functional_call and trained by backward."""
    model = filled(T, T.nn.Sequential(T.nn.Linear(1, 5), T.nn.Tanh(), T.nn.Linear(5, 1)))
    x, y, new_x, new_y = sine_tasks(T)

    def after(x, y, new_x, new_y):
        parameters = dict(model.named_parameters())
        loss = lambda p, x, y: (T.func.functional_call(model, p, (x,)) - y).square().mean()
        grads = T.func.grad(loss)(parameters, x, y)
        moved = {name: parameters[name] - 0.2 * grads[name] for name in grads}
        return loss(moved, new_x, new_y)

    loss = T.func.vmap(after)(x, y, new_x, new_y).sum()
    loss.backward()
    return {"loss": loss, **{name: p.grad for name, p in model.named_parameters()}}


@program
def newtons_method_for_a_batch(T):
    """Roots of many equations at once, each by its own slope."""
    f = lambda x, c: x.exp() + x - c
    step = lambda x, c: x - f(x, c) / T.func.grad(f)(x, c)
    c = T.linspace(1, 5, 6, dtype=T.float64)
    x = T.zeros_like(c)
    for _ in range(6):
        x = T.func.vmap(step)(x, c)
    return {"roots": x, "residual": f(x, c).abs() < 1e-9}


@program
def minimum_by_newtons_method(T):
    q = normal(T, 4, 4)
    f = lambda x: (x @ (q @ q.T + T.eye(4, dtype=T.float64)) @ x) + T.logsumexp(x, 0)
    x = normal(T, 4)
    for _ in range(4):
        x = x - T.linalg.solve(T.func.hessian(f)(x), T.func.grad(f)(x))
    return {"x": x, "gradient": T.func.grad(f)(x).abs() < 1e-9}


@program
def gauss_newton_fit(T):
    """Least squares of a curve by its Jacobian."""
    t = T.linspace(0, 2, 10, dtype=T.float64)
    curve = lambda p: p[0] * (-p[1] * t).exp() + p[2]
    target = curve(T.tensor([2.0, 1.5, 0.5], dtype=T.float64))
    p = T.tensor([1.5, 1.0, 0.3], dtype=T.float64)
    for _ in range(8):
        j, r = T.func.jacfwd(curve)(p), curve(p) - target
        p = p - T.linalg.solve(j.T @ j, j.T @ r)
    return {"p": p, "found": (curve(p) - target).abs() < 1e-9}


@program
def gauss_newton_product(T):
    """J^T H J v of a network, without any matrix: push, multiply, pull back."""
    x, labels = normal(T, 6, 3), T.arange(6) % 2
    model = filled(T, T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Sigmoid(), T.nn.Linear(4, 2)))
    p, _ = state_of(model)
    v = {name: T.ones_like(one) for name, one in p.items()}
    scores = lambda p: T.func.functional_call(model, p, (x,))
    loss = lambda s: T.nn.functional.cross_entropy(s, labels)
    out, pushed = T.func.jvp(scores, (p,), (v,))
    _, curved = T.func.jvp(T.func.grad(loss), (out,), (pushed,))
    return T.func.vjp(scores, p)[1](curved)[0]


@program
def natural_gradient_step(T):
    """A step by the Fisher matrix of a logistic regression."""
    x, y = normal(T, 20, 3), (T.arange(20) % 2).double()
    w = normal(T, 3) * 0.1

    def log_likelihood(w, x, y):
        return -T.nn.functional.binary_cross_entropy_with_logits(x @ w, y)

    scores = T.func.vmap(T.func.grad(log_likelihood), in_dims=(None, 0, 0))(w, x, y)
    fisher = scores.T @ scores / len(x) + 1e-3 * T.eye(3, dtype=T.float64)
    return {"scores": scores, "w": w + T.linalg.solve(fisher, scores.mean(0))}


@program
def gradient_of_a_fixed_point(T):
    """The implicit function theorem: no iteration is differentiated."""
    w, b = normal(T, 3, 3) * 0.2, normal(T, 3)
    f = lambda z, w, b: (w @ z + b).tanh()
    z = T.zeros(3, dtype=T.float64)
    for _ in range(80):
        z = f(z, w, b)
    by_z = T.func.jacrev(f, argnums=0)(z, w, b)
    by_b = T.func.jacrev(f, argnums=2)(z, w, b)
    implicit = T.linalg.solve(T.eye(3, dtype=T.float64) - by_z, by_b)

    def unrolled(b):
        z = T.zeros(3, dtype=T.float64)
        for _ in range(80):
            z = f(z, w, b)
        return z

    return {"z": z, "implicit": implicit, "unrolled": T.func.jacfwd(unrolled)(b)}


@program
def conjugate_gradients_by_products(T):
    """Solve H x = g, where H is known by its products."""
    x = normal(T, 5)
    f = lambda x: (x.square().sum() + 1).sqrt() + 0.5 * x.square().sum()
    slope = T.func.grad(f)
    times = lambda v: T.func.jvp(slope, (x,), (v,))[1]
    b = slope(x)
    found, r = T.zeros_like(b), b
    p = r
    for _ in range(3):
        hp = times(p)
        step = (r @ r) / (p @ hp)
        found, new = found + step * p, r - step * hp
        p, r = new + (new @ new) / (r @ r) * p, new
    return {"found": found, "direct": T.linalg.solve(T.func.hessian(f)(x), b)}


@program
def pendulum_by_its_lagrangian(T):
    """Accelerations from the Euler-Lagrange equations, and a trajectory of many pendulums."""

    def lagrangian(q, v):
        kinetic = v[0] ** 2 + 0.5 * v[1] ** 2 + v[0] * v[1] * (q[0] - q[1]).cos()
        return kinetic + 19.6 * q[0].cos() + 9.8 * q[1].cos()

    def acceleration(q, v):
        by_v = T.func.grad(lagrangian, argnums=1)
        mass = T.func.hessian(lagrangian, argnums=1)(q, v)
        mixed = T.func.jacrev(by_v, argnums=0)(q, v)
        return T.linalg.solve(mass, T.func.grad(lagrangian)(q, v) - mixed @ v)

    q, v = normal(T, 3, 2), T.zeros(3, 2, dtype=T.float64)
    for _ in range(4):
        v = v + 0.01 * T.func.vmap(acceleration)(q, v)
        q = q + 0.01 * v
    return {"q": q, "v": v}


@program
def heat_equation_residual(T):
    """Derivatives of a network by its inputs, and the gradient of what they should equal."""
    model = filled(T, T.nn.Sequential(T.nn.Linear(2, 6), T.nn.Tanh(), T.nn.Linear(6, 1)))
    p, _ = state_of(model)
    u = lambda p, t, x: T.func.functional_call(model, p, (T.stack([t, x]),)).squeeze()

    def residual(p, t, x):
        by_t = T.func.grad(u, argnums=1)(p, t, x)
        by_xx = T.func.grad(T.func.grad(u, argnums=2), argnums=2)(p, t, x)
        return by_t - 0.1 * by_xx

    points = normal(T, 7, 2)
    every = T.func.vmap(residual, in_dims=(None, 0, 0))
    loss = lambda p: every(p, points[:, 0], points[:, 1]).square().mean()
    return T.func.grad(loss)(p)
