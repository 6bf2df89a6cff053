"""Samples of what the shared tests cannot compare with PyTorch; the test files named here do that.

Random numbers, memory that is not initialised, factories, ops that are in place in public and functional only in the
registry, and calls that change what a tensor is over. The coverage of the ops counts these samples, too: so these ops
are called on meta, differentiated, and called again.
"""

from tensorlab._core.dispatch.op import REGISTRY

from tests.ops.samples import Sample, normal, uniform


def functional(name, *arguments):
    """The op that a fill in place has its derivative of; only layers call it."""
    return Sample(
        f"{name} functional",
        lambda T, x: REGISTRY[name](x, *arguments),
        normal(3, 4),
        derivatives=1,
    )


# tests/ops/test_random.py
FILLS = {
    "uniform": (),
    "normal": (),
    "log_normal": (),
    "cauchy": (),
    "exponential": (),
    "geometric": (0.5,),
    "bernoulli": (),
    "random": (),
}
RANDOM = [
    *[
        Sample(
            name + "_",
            lambda T, x, fill=name + "_", arguments=arguments: getattr(x * 1, fill)(*arguments),
            normal(3, 4),
            derivatives=1,
        )
        for name, arguments in FILLS.items()
    ],
    *[functional(name, *arguments) for name, arguments in FILLS.items()],
    Sample("bernoulli", lambda T, x: T.bernoulli(x), uniform(0, 1, 3, 4), derivatives=1),
    *[
        Sample(name, call, normal(3, 4), uniform(0.1, 1, 3, 4), derivatives=1)
        for name, call in {
            "bernoulli tensor_": lambda T, x, p: (x * 1).bernoulli_(p),
            "bernoulli tensor": lambda T, x, p: REGISTRY["bernoulli_tensor"](x, p),
            "normal pairs": lambda T, x, p: T.normal(x, p),
            "normal means": lambda T, x, p: T.normal(x, 2.0) + p,
            "normal stds": lambda T, x, p: T.normal(2.0, p) + x,
        }.items()
    ],
    Sample("poisson", lambda T, x: T.poisson(x), uniform(0, 9, 3, 4), derivatives=1),
    Sample("binomial", lambda T, x: T.binomial(x, x / 9), uniform(0, 9, 3, 4), derivatives=0),
    Sample(
        "_standard_gamma", lambda T, x: T._standard_gamma(x), uniform(0.5, 9, 3, 4), derivatives=1
    ),
    Sample(
        "_sample_dirichlet",
        lambda T, x: T._sample_dirichlet(x),
        uniform(0.5, 9, 3, 4),
        derivatives=1,
    ),
    # tests/ops/test_inner_functions.py
    Sample(
        "_safe_softmax", lambda T, x: REGISTRY["_safe_softmax"](x, 1), normal(3, 4), derivatives=1
    ),
    Sample(
        "max_pool2d_with_indices_backward",
        lambda T, grad, x: REGISTRY["max_pool2d_with_indices_backward"](
            grad, x, (2, 2), (2, 2), (0, 0), (1, 1), False, T.tensor([[[0, 3], [9, 14]]])
        ),
        normal(1, 2, 2),
        normal(1, 4, 4),
        derivatives=1,
    ),
    Sample(
        "_standard_gamma_grad",
        lambda T, x: T._standard_gamma_grad(x, x + 0.1),
        uniform(0.5, 9, 3, 4),
        derivatives=0,
    ),
    Sample(
        "_dirichlet_grad",
        lambda T, x: T._dirichlet_grad(x / 10, x, x + 2),
        uniform(0.5, 9, 3, 4),
        derivatives=0,
    ),
    *[
        Sample(name, call, uniform(0.1, 1, 3, 4), derivatives=0)
        for name, call in {
            "normal numbers": lambda T, x: T.normal(0.0, 2.0, (3,)),
            "rand": lambda T, x: T.rand(3),
            "randn": lambda T, x: T.randn(3),
            "randint": lambda T, x: T.randint(7, (3,)),
            "randperm": lambda T, x: T.randperm(7),
            "rand_like": lambda T, x: T.rand_like(x),
            "randn_like": lambda T, x: T.randn_like(x),
            "randint_like": lambda T, x: T.randint_like(x, 7),
            "multinomial": lambda T, x: T.multinomial(x, 2),
        }.items()
    ],
]

# tests/ops/test_views.py, test_getitem.py
VIEWS = [
    Sample("getitem alias", lambda T, x: x[...], normal(3, 4)),
    Sample("getitem unsqueeze", lambda T, x: x[None], normal(3, 4)),
    Sample("getitem select", lambda T, x: x[1], normal(3, 4)),
    Sample("as_strided_", lambda T, x: (x * 1).as_strided_((2, 3), (1, 2)), normal(3, 4)),
    Sample("view dtype", lambda T, x: x.view(T.int64), normal(3, 4), derivatives=0),
    Sample("as_subclass", lambda T, x: x.as_subclass(T.Tensor), normal(3, 4)),
    # tests/ops/test_complex.py
    Sample(
        "conj_physical_",
        lambda T, x: T.view_as_real((x * (1 + 2j)).conj_physical_()),
        normal(3, 4),
    ),
]

# tests/ops/test_copying.py, test_creation.py, test_lazy_clone.py
MEMORY = [
    Sample("copy", lambda T, x, y: REGISTRY["copy"](x, y), normal(3, 4), normal(4)),
    functional("zero"),
    Sample("lazy_clone", lambda T, x: x._lazy_clone(), normal(3, 4)),
    Sample("empty_like", lambda T, x: T.empty_like(x), normal(3, 4), derivatives=0),
    Sample("empty", lambda T: T.empty(2, 3), derivatives=0),
    Sample("empty_strided", lambda T: T.empty_strided((2, 3), (1, 2)), derivatives=0),
    Sample("full", lambda T: T.full((2, 3), 7), derivatives=0),
    *[
        Sample(name, call, normal(3, 4), derivatives=0)
        for name, call in {
            "new_empty": lambda T, x: x.new_empty(2, 3),
            "new_empty_strided": lambda T, x: x.new_empty_strided((2, 3), (1, 2)),
            "new_zeros": lambda T, x: x.new_zeros(2, 3),
            "new_ones": lambda T, x: x.new_ones(2, 3),
            "new_full": lambda T, x: x.new_full((2, 3), 7),
        }.items()
    ],
    Sample("resize_", lambda T, x: x.clone().resize_(2, 3), normal(3, 4), derivatives=0),
    Sample("set_", lambda T, x, y: x.clone().set_(y), normal(3, 4), normal(2), derivatives=0),
]

# tests/ops/test_creation.py
RANGES = [
    Sample("eye", lambda T: T.eye(3, 4), derivatives=0),
    Sample("logspace", lambda T: T.logspace(0, 2, 5), derivatives=0),
    Sample("arange", lambda T: T.arange(5), derivatives=0),
    Sample("tril_indices", lambda T: T.tril_indices(3, 4), derivatives=0),
    Sample("triu_indices", lambda T: T.triu_indices(3, 4), derivatives=0),
    Sample("linspace", lambda T: T.linspace(0, 1, 5), derivatives=0),
]


def with_data(x, y):
    x = x * 1
    x.data = y
    return x


# tests/ops/test_recorded_views.py
WITHOUT_HISTORY = [
    Sample(name, call, normal(3, 4), derivatives=0)
    for name, call in {
        "data": lambda T, x: x.data,
        "set_data": lambda T, x: with_data(x, x + 1),
        "detach_": lambda T, x: (x * 1).detach_(),
        "make_subclass": lambda T, x: T.nn.Parameter(x.detach()).detach(),
    }.items()
]


def attention_backward(T, grad, q, k, v):
    """The gradients of attention in blocks, which are computed where they are not differentiated again."""
    out, _, logsumexp = REGISTRY["attention"](q, k, v, None, True, 0.5)
    return REGISTRY["attention_backward"](grad, q, k, v, None, True, 0.5, out, logsumexp)


def layer_norm_gradients(T, grad, x, weight):
    """The three gradients at once, which are computed so where many rows are normalized."""
    _, mean, rstd = REGISTRY["layer_norm"](x, (4,), weight, None, 1e-5)
    return REGISTRY["layer_norm_gradients"](grad, x, (4,), weight, 1e-5, mean, rstd)


def batch_norm_gradients(T, grad, x, weight):
    """The three gradients at once, which are computed so where all are wanted."""
    _, mean, rstd, _ = REGISTRY["batch_norm"](x, weight, None, 1e-5)
    return REGISTRY["batch_norm_gradients"](grad, x, weight, 1e-5, mean, rstd)


def stepped(T, name, x, **options):
    """A parameter after a step of an optimizer, with its own values as gradient."""
    parameter = T.nn.Parameter(x * 1)
    parameter.grad = x * 1
    getattr(T.optim, name)([parameter], lr=0.1, **options).step()
    return parameter.detach()


# tests/optim/test_steps.py
STEPS = [
    Sample(
        "sgd_step_", lambda T, x: stepped(T, "SGD", x, momentum=0.9), normal(3, 4), derivatives=0
    ),
    Sample("adam_step_", lambda T, x: stepped(T, "Adam", x), normal(3, 4), derivatives=0),
]

# Ops that run inside of a kernel, and forms of ops that no public function calls
INSIDE = [
    Sample(
        "binary_cross_entropy_of_probabilities",
        lambda T, x, y: REGISTRY["binary_cross_entropy_of_probabilities"](x, y),
        uniform(0.1, 0.9, 3, 4),
        uniform(0, 1, 3, 4),
        derivatives=0,
    ),
    Sample(
        "attention_backward",
        attention_backward,
        normal(2, 3, 5),
        normal(2, 3, 4),
        normal(2, 6, 4),
        normal(2, 6, 5),
        derivatives=0,
    ),
    Sample(
        "layer_norm_gradients",
        layer_norm_gradients,
        normal(70, 4),
        normal(70, 4),
        normal(4),
        derivatives=0,
    ),
    Sample(
        "batch_norm_gradients",
        batch_norm_gradients,
        normal(3, 4, 5),
        normal(3, 4, 5),
        normal(4),
        derivatives=0,
    ),
    Sample(
        "view_scatter",
        lambda T, x, y: REGISTRY["view_scatter"](x, y, REGISTRY["select"], (0, 1)),
        normal(3, 4),
        normal(4),
    ),
    Sample(  # where a gradient is wanted, there is a sort instead; tests/ops/test_ranked_values.py
        "ranked_values", lambda T, x: T.quantile(x, 0.3, 1), normal(3, 8), derivatives=0
    ),
    Sample("rsub of tensors", lambda T, x, y: REGISTRY["rsub"](x, y), normal(3, 4), normal(4)),
]

OTHER_SAMPLES = RANGES + WITHOUT_HISTORY + STEPS + INSIDE + RANDOM + VIEWS + MEMORY
