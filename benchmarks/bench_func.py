"""What do transforms cost: gradients of each example, Jacobians, tangents, an ensemble?

With one thread and with two.

python benchmarks/bench_func.py [WORD]       rows whose name contains the word
"""

import sys

from comparing import table

import tensorlab

BATCH, MODELS = 32, 10
POINTWISE = ("sin", "cos", "tanh", "exp", "sigmoid", "sqrt", "log", "square", "abs", "neg")


def of(T):
    """`T.func`, which PyTorch and tensorlab both have."""
    return tensorlab.func if T is tensorlab else __import__("torch").func


# ---------------------------------------------------------------- gradients of each example
def small_cnn(T):
    """Gradients of the parameters by each of a batch of images."""
    func, F = of(T), T.nn.functional
    T.manual_seed(0)
    model = T.nn.Sequential(
        *(T.nn.Conv2d(1, 8, 3), T.nn.ReLU(), T.nn.MaxPool2d(2)),
        *(T.nn.Conv2d(8, 16, 3), T.nn.ReLU(), T.nn.MaxPool2d(2)),
        *(T.nn.Flatten(), T.nn.Linear(16 * 5 * 5, 10)),
    )
    parameters = {name: x.detach() for name, x in model.named_parameters()}
    images, labels = T.randn(BATCH, 1, 28, 28), T.arange(BATCH) % 10

    def loss(parameters, image, label):
        scores = func.functional_call(model, parameters, (image.unsqueeze(0),))
        return F.cross_entropy(scores, label.unsqueeze(0))

    each = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
    return {"go": lambda: each(parameters, images, labels)}


# ---------------------------------------------------------------- Jacobians of a small network
def mlp(T):
    func = of(T)
    T.manual_seed(0)
    a, b, x = T.randn(16, 8) * 0.3, T.randn(8, 16) * 0.3, T.randn(8)

    def f(x):
        return b @ (a @ x).tanh()

    return {
        "x": x,
        "jacrev": func.jacrev(f),
        "jacfwd": func.jacfwd(f),
        "hessian": func.hessian(lambda x: f(x).sum()),
    }


# ---------------------------------------------------------------- tangents
def tangents(T):
    func = of(T)
    x = T.linspace(0.5, 1.5, 8)
    v = T.ones(8)

    def f(x):
        return [getattr(T, name)(x) for name in POINTWISE]

    return {"go": lambda: func.jvp(f, (x,), (v,))}


# ---------------------------------------------------------------- an ensemble
def ensemble(T):
    """Ten networks with stacked parameters."""
    func = of(T)
    T.manual_seed(0)
    models = [
        T.nn.Sequential(T.nn.Linear(64, 64), T.nn.ReLU(), T.nn.Linear(64, 10))
        for _ in range(MODELS)
    ]
    parameters, buffers = func.stack_module_state(models)
    parameters = {name: x.detach() for name, x in parameters.items()}
    x = T.randn(BATCH, 64)

    def call(parameters, buffers, x):
        return func.functional_call(models[0], (parameters, buffers), (x,))

    every = func.vmap(call, in_dims=(0, 0, None))
    return {"go": lambda: every(parameters, buffers, x)}


ROWS = [
    ("per-sample gradients, CNN", "go()", small_cnn),
    ("jacrev, MLP", "jacrev(x)", mlp),
    ("jacfwd, MLP", "jacfwd(x)", mlp),
    ("hessian, MLP", "hessian(x)", mlp),
    ("jvp of ten pointwise ops", "go()", tangents),
    ("ensemble of ten MLPs", "go()", ensemble),
]

if __name__ == "__main__":
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    for threads in (1, 2):
        print(f"threads: {threads}")
        table([row for row in ROWS if word in row[0]], threads=threads)
