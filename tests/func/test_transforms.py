"""grad, vjp, jvp, Jacobians, vmap and functionalize: against PyTorch, and what they refuse."""

import gc

import numpy as np
import pytest

import tensorlab
import tensorlab.utils._pytree
from tests.func import compositions
from tests.oracle import require_torch

pytestmark = pytest.mark.filterwarnings(  # what PyTorch imports, and what it says of its own graphs
    "ignore::DeprecationWarning", "ignore:Attempted to insert a get_attr Node"
)


# ---------------------------------------------------------------- random programs under nested transforms
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_random_compositions(first):
    found = {seed: compositions.difference(seed) for seed in range(first, first + 50)}
    assert not {seed: text for seed, text in found.items() if text is not None}


# ---------------------------------------------------------------- trees, aux and argnums
def network(T):
    def loss(params, batch):
        hidden = (batch["x"] @ params["w"] + params["b"][0]).tanh()
        return (hidden - batch["y"]).pow(2).mean()

    numbers = np.random.default_rng(0)
    make = lambda *shape: T.from_numpy(numbers.standard_normal(shape))
    params = {"w": make(3, 2), "b": [make(2), make(1)]}
    return loss, params, {"x": make(4, 3), "y": make(4, 2)}


CALLS = {
    "grad of a tree": lambda T, f, p, b: T.func.grad(f)(p, b),
    "grad by keyword": lambda T, f, p, b: T.func.grad(f)(p, batch=b),
    "grad and value": lambda T, f, p, b: T.func.grad_and_value(f)(p, b),
    "argnums": lambda T, f, p, b: T.func.grad(f, argnums=(1, 0))(p, b),
    "negative argnums": lambda T, f, p, b: T.func.grad(f, argnums=-2)(p, b),
    "aux": lambda T, f, p, b: T.func.grad(lambda p, b: (f(p, b), p["w"] * 2), has_aux=True)(p, b),
    "value and aux": lambda T, f, p, b: T.func.grad_and_value(
        lambda p, b: (f(p, b), {"w": p["w"] * 2}), has_aux=True
    )(p, b),
    "vjp of a tree": lambda T, f, p, b: T.func.vjp(lambda p: {"a": f(p, b), "b": p["w"] * 2}, p)[1](
        {"a": T.ones((), dtype=T.float64), "b": p["w"]}
    ),
    "vjp with aux": lambda T, f, p, b: T.func.vjp(lambda p: (f(p, b), p["w"]), p, has_aux=True)[2],
    "jvp of trees": lambda T, f, p, b: T.func.jvp(lambda p: {"loss": f(p, b)}, (p,), (p,)),
    "jvp with aux": lambda T, f, p, b: T.func.jvp(
        lambda p: (f(p, b), p["w"]), (p,), (p,), has_aux=True
    ),
    "jacrev of trees": lambda T, f, p, b: T.func.jacrev(lambda p, b: {"x": b["x"] @ p["w"]})(p, b),
    "jacfwd of trees": lambda T, f, p, b: T.func.jacfwd(
        lambda p, b: (b["x"] @ p["w"], p["b"][0]), (0, 1)
    )(p, b),
    "jacrev in chunks": lambda T, f, p, b: T.func.jacrev(
        lambda w: (b["x"] @ w).tanh(), chunk_size=3
    )(p["w"]),
    "jacfwd with aux": lambda T, f, p, b: T.func.jacfwd(
        lambda w: ((b["x"] @ w).tanh(), w * 2), has_aux=True
    )(p["w"]),
    "hessian": lambda T, f, p, b: T.func.hessian(lambda w: f({**p, "w": w}, b))(p["w"]),
    "linearize": lambda T, f, p, b: T.func.linearize(lambda w: (b["x"] @ w).tanh(), p["w"])[1](
        p["w"]
    ),
    "vmap of trees": lambda T, f, p, b: T.func.vmap(
        lambda b, p: {"h": b["x"] @ p["w"], "y": (b["y"],)}, in_dims=({"x": 0, "y": 0}, None)
    )(b, p),
    "out_dims": lambda T, f, p, b: T.func.vmap(lambda x: (x @ p["w"], x), out_dims=(1, 0))(b["x"]),
    "chunks": lambda T, f, p, b: T.func.vmap(lambda x: x @ p["w"], out_dims=1, chunk_size=3)(
        b["x"]
    ),
    "gradients of examples": lambda T, f, p, b: T.func.vmap(T.func.grad(f), in_dims=(None, 0))(
        p, b
    ),
    "functionalize": lambda T, f, p, b: T.func.functionalize(
        lambda w: (w.clone().mul_(2), w[0].clone().add_(1))
    )(p["w"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_trees(name):
    torch = require_torch()
    expected, given = [CALLS[name](T, *network(T)) for T in (torch, tensorlab)]
    left, spec = torch.utils._pytree.tree_flatten(expected)
    right, other = tensorlab.utils._pytree.tree_flatten(given)
    assert [str(type(one)) for one in spec.children()] == [
        str(type(one)) for one in spec.children()
    ]
    assert len(left) == len(right)
    for one, two in zip(left, right, strict=True):
        assert tuple(one.shape) == tuple(two.shape)
        np.testing.assert_allclose(one.detach().numpy(), two.detach().numpy(), rtol=1e-9)
        assert not two.requires_grad


# ---------------------------------------------------------------- what is refused
def scalar(x):
    return x.sum()


REFUSED = {
    "grad of a vector": lambda T, x: T.func.grad(lambda x: x * 2)(x),
    "grad of no tensor": lambda T, x: T.func.grad(lambda x: 3.0)(x),
    "grad by a number": lambda T, x: T.func.grad(scalar)(3.0),
    "grad by integers": lambda T, x: T.func.grad(scalar)(T.arange(3)),
    "no argnums": lambda T, x: T.func.grad(scalar, argnums=())(x),
    "argnums twice": lambda T, x: T.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 0))(x, x),
    "argnums twice, once from the end": lambda T, x: T.func.grad(
        lambda x, y: (x * y).sum(), argnums=(0, -2)
    )(x, x),
    "argnums too large": lambda T, x: T.func.grad(scalar, argnums=2)(x),
    "no aux": lambda T, x: T.func.grad(scalar, has_aux=True)(x),
    "vjp of no tensor": lambda T, x: T.func.vjp(lambda x: 3.0, x),
    "cotangent of another shape": lambda T, x: T.func.vjp(scalar, x)[1](x),
    "cotangents of another form": lambda T, x: T.func.vjp(lambda x: (x, x), x)[1](x),
    "primals no tuple": lambda T, x: T.func.jvp(scalar, x, x),
    "no primals": lambda T, x: T.func.jvp(scalar, (), ()),
    "tangents of another form": lambda T, x: T.func.jvp(scalar, (x,), (x, x)),
    "tangent of another shape": lambda T, x: T.func.jvp(scalar, (x,), (x[:1],)),
    "jvp of no tensor": lambda T, x: T.func.jvp(lambda x: 3.0, (x,), (x,)),
    "strict": lambda T, x: T.func.jvp(lambda x: T.ones(2), (x,), (x,), strict=True),
    "captured tensor written to": lambda T, x: T.func.grad(lambda y: x.add_(y).sum())(T.ones(3)),
    "vmap of a number": lambda T, x: T.func.vmap(scalar)(3.0),
    "vmap of a 0-d tensor": lambda T, x: T.func.vmap(scalar)(T.ones(())),
    "sizes that differ": lambda T, x: T.func.vmap(lambda x, y: x + y)(x, T.ones(2)),
    "in_dims of another form": lambda T, x: T.func.vmap(scalar, in_dims=(0, 0))(x),
    "in_dims out of range": lambda T, x: T.func.vmap(scalar, in_dims=3)(x),
    "in_dims no number": lambda T, x: T.func.vmap(scalar, in_dims=("a",))(x),
    "no dimension at all": lambda T, x: T.func.vmap(scalar, in_dims=None)(x),
    "no arguments": lambda T, x: T.func.vmap(lambda: x)(),
    "result no tensor": lambda T, x: T.func.vmap(lambda x: 3)(x),
    "out_dims out of range": lambda T, x: T.func.vmap(scalar, out_dims=3)(x),
    "out_dims of another form": lambda T, x: T.func.vmap(lambda x: (x, x), out_dims=(0,))(x),
    "out_dims None of a batch": lambda T, x: T.func.vmap(lambda x: x, out_dims=None)(x),
    "unknown randomness": lambda T, x: T.func.vmap(scalar, randomness="often")(x),
    "random numbers": lambda T, x: T.func.vmap(lambda x: x + T.randn(()))(x),
    "chunks of 0": lambda T, x: T.func.vmap(scalar, chunk_size=0)(x),
    "chunks of -1": lambda T, x: T.func.jacrev(scalar, chunk_size=-1)(x),
    "item": lambda T, x: T.func.vmap(lambda x: x * x.item())(x),
    "a branch": lambda T, x: T.func.vmap(lambda x: x if x > 0 else -x)(x),
    "what differs, written to what doesn't": lambda T, x: T.func.vmap(
        lambda y: T.zeros(()).add_(y)
    )(x),
    "remove": lambda T, x: T.func.functionalize(scalar, remove="all"),
    "no models": lambda T, x: T.func.stack_module_state([]),
    "models of several kinds": lambda T, x: T.func.stack_module_state(
        [T.nn.Linear(1, 1), T.nn.Identity()]
    ),
    "models of several modes": lambda T, x: T.func.stack_module_state(
        [T.nn.Linear(1, 1), T.nn.Linear(1, 1).eval()]
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    torch = require_torch()
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (which class is what we ask)
        REFUSED[name](torch, torch.ones(3))
    with pytest.raises(Exception) as ours:  # noqa: PT011
        REFUSED[name](tensorlab, tensorlab.ones(3))
    base = next(cls for cls in type(theirs.value).__mro__ if cls.__module__ == "builtins")
    assert isinstance(ours.value, base), f"{theirs.value!r} and {ours.value!r}"
    assert tensorlab._core.dispatch.levels.levels() == []


def test_an_error_names_the_transforms_and_the_line():
    def inner(x):
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop") as error:
        tensorlab.func.vmap(tensorlab.func.grad(inner))(tensorlab.ones(3))
    notes = error.value.__notes__
    assert [note.partition(",")[0] for note in notes] == [
        "raised inside of grad",
        "raised inside of vmap",
    ]
    assert "level 2" in notes[0]
    assert "level 1" in notes[1]
    assert f"in inner, {__file__}:" in notes[0]


# ---------------------------------------------------------------- around the graph of the program
def test_gradients_go_on_to_parameters_of_the_program():
    w = tensorlab.tensor([2.0, 3.0], requires_grad=True)
    out = tensorlab.func.grad(lambda x: (x * x * w).sum())(tensorlab.tensor([1.0, 5.0]))
    out.sum().backward()
    assert w.grad.tolist() == [2.0, 10.0]


def test_no_grad_outside_and_inside():
    x = tensorlab.tensor(3.0)
    with tensorlab.no_grad():
        assert tensorlab.func.grad(lambda x: x * x)(x).item() == 6.0

    def half(x):
        with tensorlab.no_grad():
            y = x * x
        return x * y

    assert tensorlab.func.grad(half)(x).item() == 9.0
    w = tensorlab.tensor(1.0, requires_grad=True)
    with tensorlab.no_grad():
        assert not tensorlab.func.grad(lambda x: x * x * w)(x).requires_grad


def test_nothing_stays_alive():
    x = tensorlab.ones(3)
    tensorlab.func.hessian(lambda x: (x**3).sum())(x)
    gc.collect()  # what others left would go meanwhile
    before = tensorlab.live_tensors()
    for _ in range(3):
        tensorlab.func.hessian(lambda x: (x**3).sum())(x)
        tensorlab.func.vmap(tensorlab.func.grad(lambda x: x**3))(x)
    assert tensorlab.live_tensors() == before


def test_what_leaks_is_an_ordinary_tensor_afterwards():
    leaked = []

    def f(x):
        leaked.append(x * 2)
        return leaked[-1].sum()

    x = tensorlab.tensor([1.0, 3.0])
    for transform in (tensorlab.func.grad, lambda f: lambda x: tensorlab.func.jvp(f, (x,), (x,))):
        transform(f)(x)
        y = leaked[-1]
        assert (y + 1).tolist() == [3, 7]
        w = tensorlab.ones(2, requires_grad=True)
        (w * y).sum().backward()
        assert w.grad.tolist() == [2, 6]
        assert y.add_(1) is y
        assert y.tolist() == [3, 7]


# ---------------------------------------------------------------- compiled
@pytest.mark.parametrize("name", ["grad of a tree", "jvp of trees", "hessian", "out_dims"])
def test_compiled(name):
    loss, params, batch = network(tensorlab)
    made = CALLS[name]
    call = lambda p, b: made(tensorlab, loss, p, b)
    compiled = tensorlab.compile(call)
    for factor in (1.0, 2.0, -1.0):
        scaled = {"w": params["w"] * factor, "b": params["b"]}
        left, right = [
            tensorlab.utils._pytree.tree_leaves(f(scaled, batch)) for f in (call, compiled)
        ]
        for one, two in zip(left, right, strict=True):
            np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-9, atol=1e-12)
