"""Modules as functions: per-sample gradients, ensembles, tangent kernels, batch norms."""

import copy

from tests.func.programs import filled, flat, normal, program, state_of


def small_network(T, seed=0):
    nn = T.nn
    return filled(T, nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)), seed)


def small_cnn(T, *extra):
    nn = T.nn
    first = nn.Conv2d(1, 3, 3)
    layers = [first, *extra, nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(12, 3)]
    return filled(T, nn.Sequential(*layers))


def loss_of_example(T, model):
    """loss(parameters, buffers, x, target) of one example, which has no batch dimension."""

    def loss(parameters, buffers, x, target):
        out = T.func.functional_call(model, (parameters, buffers), (x.unsqueeze(0),))
        return T.nn.functional.cross_entropy(out, target.unsqueeze(0))

    return loss


@program
def gradients_of_each_image(T):
    """vmap of grad of a convolutional network, and the mean of them as backward gives it."""
    model = small_cnn(T)
    parameters, buffers = state_of(model)
    images, labels = normal(T, 5, 1, 6, 6), T.arange(5) % 3
    each = T.func.vmap(T.func.grad(loss_of_example(T, model)), in_dims=(None, None, 0, 0))
    grads = each(parameters, buffers, images, labels)
    T.nn.functional.cross_entropy(model(images), labels).backward()
    batch = {name: x.grad for name, x in model.named_parameters()}
    means = {name: (grads[name].mean(0) - batch[name]).abs() < 1e-12 for name in grads}
    return flat("each", grads) | flat("mean", means)


@program
def norms_clipped_example_by_example(T):
    """Gradients of examples with a bounded norm, as differential privacy wants them."""
    model = small_network(T)
    parameters, buffers = state_of(model)
    x, labels = normal(T, 6, 4), T.arange(6) % 3

    def clipped(*arguments):
        grads = T.func.grad(loss_of_example(T, model))(*arguments)
        norm = T.stack([g.square().sum() for g in grads.values()]).sum().sqrt()
        scale = (0.5 / (norm + 1e-6)).clamp(max=1.0)
        return {name: g * scale for name, g in grads.items()}, norm

    grads, norms = T.func.vmap(clipped, in_dims=(None, None, 0, 0))(parameters, buffers, x, labels)
    return {"norms": norms, **{name: g.sum(0) for name, g in grads.items()}}


@program
def importance_of_parameters(T):
    """The diagonal of the empirical Fisher matrix: squares of the gradients of examples."""
    model = small_network(T)
    parameters, buffers = state_of(model)
    x, labels = normal(T, 7, 4), T.arange(7) % 3
    each = T.func.vmap(
        T.func.grad(loss_of_example(T, model)), in_dims=(None, None, 0, 0), chunk_size=3
    )
    return {n: g.square().mean(0) for n, g in each(parameters, buffers, x, labels).items()}


def stacked(T, number):
    models = [small_network(T, seed=10 * i) for i in range(number)]
    parameters, buffers = T.func.stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    call = lambda p, b, x: T.func.functional_call(base, (p, b), (x,))
    return models, parameters, buffers, call


@program
def ensemble_on_one_batch(T):
    models, parameters, buffers, call = stacked(T, 3)
    x = normal(T, 5, 4)
    out = T.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    return {"out": out, "spread": out.std(0), "loop": T.stack([model(x) for model in models])}


@program
def ensemble_on_a_batch_each(T):
    """Each model sees its own minibatch, and learns from it."""
    _, parameters, buffers, call = stacked(T, 3)
    x, y = normal(T, 3, 5, 4), normal(T, 3, 5, 3)

    def step(p, b, x, y):
        value = lambda p: (call(p, b, x) - y).square().mean()
        return {name: p[name] - 0.1 * g for name, g in T.func.grad(value)(p).items()}

    for _ in range(3):
        parameters = T.func.vmap(step)(parameters, buffers, x, y)
    return parameters


@program
def ensemble_trained_by_an_optimizer(T):
    """Stacked parameters are leaves that SGD moves."""
    _, parameters, buffers, call = stacked(T, 2)
    optimizer = T.optim.SGD(parameters.values(), lr=0.2, momentum=0.9)
    x, y = normal(T, 6, 4), normal(T, 6, 3)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        out = T.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
        loss = (out - y).square().mean((1, 2))
        loss.sum().backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": T.stack(losses), **parameters}


@program
def tangent_kernel_two_ways(T):
    """Contracted Jacobians, and products with vectors that make no Jacobian."""
    model = small_cnn(T)
    parameters, _ = state_of(model)
    train, test = normal(T, 3, 1, 6, 6), normal(T, 2, 1, 6, 6)
    f = lambda p, x: T.func.functional_call(model, p, (x.unsqueeze(0),)).squeeze(0)

    every = T.func.vmap(T.func.jacrev(f), in_dims=(None, 0))
    one, two = every(parameters, train), every(parameters, test)
    kernel = sum(
        T.einsum("Naf,Mbf->NMab", one[name].flatten(2), two[name].flatten(2)) for name in one
    )

    def entry(x, y):
        _, pull = T.func.vjp(lambda p: f(p, x), parameters)
        push = lambda v: T.func.jvp(lambda p: f(p, y), (parameters,), pull(v))[1]
        return T.func.vmap(push, out_dims=1)(T.eye(3, dtype=T.float64)).T

    implicit = T.func.vmap(T.func.vmap(entry, (None, 0)), (0, None))(train, test)
    trace = T.einsum("NMaa->NM", kernel)
    return {"kernel": kernel, "implicit": implicit, "trace": trace}


@program
def module_at_other_parameters(T):
    """functional_call: a part of the parameters, keywords, tied names, strictness."""

    class Tied(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = T.nn.Linear(3, 3)
            self.outer = T.nn.Linear(3, 3)
            self.outer.weight = self.inner.weight
            self.register_buffer("shift", T.ones(3, dtype=T.float64))

        def forward(self, x, *, scale=1.0):
            return self.outer(self.inner(x).tanh() + self.shift) * scale

    model, x = filled(T, Tied()), normal(T, 2, 3)
    call, weight = T.func.functional_call, T.eye(3, dtype=T.float64)
    shift = {"shift": T.zeros(3, dtype=T.float64)}
    return {
        "as it is": model(x),
        "tied": call(model, {"inner.weight": weight}, (x,)),
        "untied": call(model, {"inner.weight": weight}, (x,), tie_weights=False),
        "buffer": call(model, shift, x, {"scale": 2.0}),
        "two dicts": call(model, ({"outer.bias": x[0]}, shift), (x,)),
        "afterwards": model(x),
    }


@program
def batch_norm_without_statistics(T):
    """Running statistics would be written to in vmap; without them all is well."""
    model = small_cnn(T, T.nn.BatchNorm2d(3, track_running_stats=False))
    parameters, buffers = state_of(model)
    each = T.func.vmap(T.func.grad(loss_of_example(T, model)), in_dims=(None, None, 0, 0))
    return each(parameters, buffers, normal(T, 4, 1, 6, 6), T.arange(4) % 3)


@program
def batch_norm_replaced(T):
    model = small_cnn(T, T.nn.BatchNorm2d(3))
    T.func.replace_all_batch_norm_modules_(model)
    parameters, buffers = state_of(model)
    each = T.func.vmap(T.func.grad(loss_of_example(T, model)), in_dims=(None, None, 0, 0))
    grads = each(parameters, buffers, normal(T, 4, 1, 6, 6), T.arange(4) % 3)
    return {**grads, "buffers": len(buffers), "tracks": model[1].running_mean is None}


@program
def batch_norm_in_eval(T):
    """With running statistics as they are, no write happens."""
    model = small_cnn(T, T.nn.BatchNorm2d(3)).eval()
    parameters, buffers = state_of(model)
    each = T.func.vmap(T.func.grad(loss_of_example(T, model)), in_dims=(None, None, 0, 0))
    return each(parameters, buffers, normal(T, 4, 1, 6, 6), T.arange(4) % 3)


@program
def group_norm_in_its_place(T):
    model = small_cnn(T, T.nn.GroupNorm(3, 3))
    parameters, buffers = state_of(model)
    each = T.func.vmap(T.func.grad(loss_of_example(T, model)), in_dims=(None, None, 0, 0))
    return each(parameters, buffers, normal(T, 4, 1, 6, 6), T.arange(4) % 3)


@program
def words_and_attention(T):
    """Per-sample gradients through an embedding, layer norm and attention."""
    table, query, x = normal(T, 9, 4), normal(T, 4, 4), T.arange(12).reshape(3, 4) % 9
    F = T.nn.functional

    def loss(table, query, words):
        h = F.layer_norm(F.embedding(words, table), (4,))
        out = F.scaled_dot_product_attention(h @ query, h, h)
        return out.square().mean()

    grads = T.func.vmap(T.func.grad(loss, argnums=(0, 1)), in_dims=(None, None, 0))(table, query, x)
    return {"table": grads[0], "query": grads[1]}
