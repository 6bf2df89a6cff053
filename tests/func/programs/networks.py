"""Layers of many kinds, and distributions, in per-sample gradients, ensembles and Hessians."""

from tests.func.programs import filled, normal, program, state_of


def gradients_of_examples(T, model, x):
    """The gradients of a sum of squares by the parameters, for each of several inputs."""
    parameters, _ = state_of(model)

    def loss(p, x):
        return T.func.functional_call(model, p, (x.unsqueeze(0),)).square().sum()

    return T.func.vmap(T.func.grad(loss), in_dims=(None, 0))(parameters, x)


@program
def a_transformer_that_trains(T):
    layer = T.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return gradients_of_examples(T, filled(T, layer), normal(T, 3, 5, 8))


@program
def a_transformer_in_eval(T):
    """Dropout draws nothing there, and no randomness has to be asked for."""
    layer = T.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return gradients_of_examples(T, filled(T, layer).eval(), normal(T, 3, 5, 8))


@program
def attention_pushed_forward(T):
    model = filled(T, T.nn.MultiheadAttention(8, 2, batch_first=True))
    x, v = normal(T, 2, 5, 8), normal(T, 2, 5, 8, seed=1)
    out, tangent = T.func.jvp(lambda x: model(x, x, x)[0], (x,), (v,))
    return {"out": out, "tangent": tangent}


@program
def causal_attention_twice(T):
    q, v = normal(T, 2, 4, 8), normal(T, 2, 4, 8, seed=1)
    attention = T.nn.functional.scaled_dot_product_attention
    slope = T.func.grad(lambda q: attention(q, q, q, is_causal=True).square().sum())
    return {"each": T.func.vmap(slope)(q), "product": T.func.jvp(slope, (q,), (v,))[1]}


@program
def a_decoder_of_images(T):
    nn = T.nn
    layers = nn.ConvTranspose2d(2, 3, 3, stride=2), nn.SiLU(), nn.Conv2d(3, 1, 1)
    return gradients_of_examples(T, filled(T, nn.Sequential(*layers)), normal(T, 3, 2, 4, 4))


@program
def an_ensemble_of_cnns(T):
    nn = T.nn

    def cnn(seed):
        layers = nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2)
        return filled(T, nn.Sequential(*layers), seed)

    models, x = [cnn(10 * i) for i in range(3)], normal(T, 4, 1, 6, 6)
    parameters, _ = T.func.stack_module_state(models)
    call = lambda p, x: T.func.functional_call(models[0], p, (x,))
    every = lambda p: T.func.vmap(call, in_dims=(0, None))(p, x)
    return {"out": every(parameters), **T.func.grad(lambda p: every(p).square().sum())(parameters)}


@program
def an_ensemble_with_running_statistics(T):
    """Stacked buffers have a batch, so that statistics may be written to them."""
    nn = T.nn
    models = [
        filled(T, nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), seed=i) for i in range(2)
    ]
    parameters, buffers = T.func.stack_module_state(models)
    call = lambda p, b, x: T.func.functional_call(models[0], (p, b), (x,))
    out = T.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, normal(T, 6, 3))
    return {"out": out, **buffers}


@program
def hessian_of_a_convolution(T):
    """A Hessian of trees: a block for each pair of parameters."""
    nn, x = T.nn, normal(T, 2, 1, 6)
    layers = nn.Conv1d(1, 2, 3), nn.Tanh(), nn.Flatten(), nn.Linear(8, 1)
    model = filled(T, nn.Sequential(*layers))
    parameters, _ = state_of(model)
    loss = lambda p: T.func.functional_call(model, p, (x,)).square().sum()
    blocks = T.func.hessian(loss)(parameters)
    return {f"{a} {b}": blocks[a][b] for a in blocks for b in blocks}


@program
def normalisations_of_examples(T):
    F = T.nn.functional

    def loss(x):
        same = F.group_norm(x, 2) + F.instance_norm(x) + F.normalize(x, dim=1)
        return (same + F.local_response_norm(x, 2)).square().mean() + F.rms_norm(x, (3,)).sum()

    return {"grads": T.func.vmap(T.func.grad(loss))(normal(T, 3, 2, 4, 3, 3))}


@program
def images_resampled(T):
    F = T.nn.functional

    def loss(x):
        larger = F.interpolate(x, scale_factor=2, mode="bilinear").sin().sum()
        shuffled = F.pixel_shuffle(F.pad(x, (1, 1, 1, 1), mode="reflect").repeat(1, 2, 1, 1), 2)
        points = F.grid_sample(x, x.new_zeros(1, 2, 2, 2) + 0.3, align_corners=True)
        return larger + shuffled.square().sum() + points.sum() + F.unfold(x, 2).square().sum()

    return {"grads": T.func.vmap(T.func.grad(loss))(normal(T, 3, 1, 2, 4, 4))}


@program
def scattered_and_gathered(T):
    """An index for each example."""

    def f(x, i):
        moved = x.scatter_add(0, i[None], x[:1]).index_add(0, i[None], x[1:2])
        return (moved.index_fill(0, i[None], 2.0) * x.gather(0, i[None])).square().sum()

    x, i = normal(T, 4, 5), T.arange(4)
    return {"values": T.func.vmap(f)(x, i), "grads": T.func.vmap(T.func.grad(f))(x, i)}


@program
def spectra_of_examples(T):
    f = lambda x: T.fft.rfft(x).abs().square().sum() + T.fft.fft(x)[1].real
    x = normal(T, 3, 8)
    spectrum = lambda x: T.view_as_real(T.fft.rfft(x))
    return {"grads": T.func.vmap(T.func.grad(f))(x), "jacobian": T.func.jacfwd(spectrum)(x)}


@program
def densities_of_examples(T):
    """Distributions whose parameters differ from example to example check all of them."""
    D = T.distributions

    def f(a, b, x):
        scale = b.exp()
        several = D.MultivariateNormal(a, scale_tril=T.diag(scale)).log_prob(x)
        kinds = D.MixtureSameFamily(D.Categorical(logits=a), D.Normal(b, 1.0)).log_prob(x[0])
        shares = D.Dirichlet(scale).log_prob(x.softmax(-1))
        return several + kinds + shares + D.kl_divergence(D.Normal(a, scale), D.Normal(x, 1)).sum()

    arguments = [normal(T, 4, 3, seed=i) for i in range(3)]
    grads = T.func.vmap(T.func.grad(f, argnums=(0, 1, 2)))(*arguments)
    return {"values": T.func.vmap(f)(*arguments), **dict(zip("abx", grads, strict=True))}
