"""Reductions, scans, random draws and ranges are ops: a recorder sees each, and its calls can be replayed."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab._core.dispatch.recorder import Recorder
from tests.ops.test_recorded_views import flat, matrix, replay

# What is called with a 3 x 4 matrix, and the names of the ops that it makes
CALLS = {
    "sum": (lambda x: x.sum(1), "sum"),
    "mean": (lambda x: x.mean((0, -1), keepdim=True), "mean"),
    "sum_to_size": (lambda x: x.sum_to_size(1, 4), "sum_to_size"),
    "sum_to_size with fewer dims": (lambda x: x.sum_to_size(4), "sum_to_size view"),
    "amax": (lambda x: x.amax(1), "amax"),
    "amin": (lambda x: x.amin(), "amin"),
    "aminmax": (lambda x: x.aminmax(dim=0), "amin amax"),
    "max": (lambda x: x.max(), "max"),
    "min": (lambda x: x.min(), "min"),
    "max along a dim": (lambda x: x.max(-1, keepdim=True), "max_dim"),
    "min along a dim": (lambda x: x.min(0), "min_dim"),
    "prod": (lambda x: (x + 1).prod(1), "add prod"),
    "norm": (lambda x: x.norm(3, 1), "norm"),
    "var": (lambda x: x.var(1, correction=0), "var"),
    "std": (lambda x: x.std(0), "std"),
    "logsumexp": (lambda x: x.logsumexp((0, 1)), "logsumexp"),
    "cumsum": (lambda x: x.cumsum(-1), "cumsum"),
    "cumprod": (lambda x: (x + 1).cumprod(0), "add cumprod"),
    "cumsum_": (lambda x: (x + 1).cumsum_(0), "add cumsum_"),
    "cumprod_": (lambda x: (x + 1).cumprod_(0), "add cumprod_"),
    "logcumsumexp": (lambda x: x.logcumsumexp(1), "logcumsumexp"),
    "cummax": (lambda x: x.cummax(1), "cummax"),
    "cummin": (lambda x: x.cummin(0), "cummin"),
    "rsub": (lambda x: 2 - x, "rsub"),
    "pow of a number": (lambda x: 2**x, "pow_of_number"),
}

# The same, without a gradient
FLAT = {
    "argmax": (lambda x: x.argmax(1), "argmax"),
    "argmin": (lambda x: x.argmin(), "argmin"),
    "any": (lambda x: (x > 1).any(0), "gt any"),
    "all": (lambda x: x.all(), "all"),
    "count_nonzero": (lambda x: x.count_nonzero(0), "count_nonzero"),
    "arange": (lambda x: tensorlab.arange(1, 7, 2), "arange"),
    "arange of floats": (lambda x: tensorlab.arange(1, 2, 0.25), "arange"),
    "linspace": (lambda x: tensorlab.linspace(0, 1, 5), "linspace"),
    "logspace": (lambda x: tensorlab.logspace(0, 2, 3, base=2), "logspace"),
    "eye": (lambda x: tensorlab.eye(2, 3), "eye"),
}

# Draws; `out=` of another layout is filled in place
DRAWS = {
    "rand": (lambda x: tensorlab.rand(2, 3), "rand"),
    "randn": (lambda x: tensorlab.randn((2, 3)), "randn"),
    "randint": (lambda x: tensorlab.randint(2, 9, (5,)), "randint"),
    "randperm": (lambda x: tensorlab.randperm(6), "randperm"),
    "rand_like": (lambda x: tensorlab.rand_like(x), "rand_like"),
    "randn_like": (lambda x: tensorlab.randn_like(x), "randn_like"),
    "randint_like": (lambda x: tensorlab.randint_like(x, 9), "randint_like"),
    "rand out": (lambda x: tensorlab.rand(3, 4, out=x), "uniform_"),
    "normal of numbers": (lambda x: tensorlab.normal(1.0, 2.0, (3,)), "normal_numbers"),
    "normal of means": (lambda x: tensorlab.normal(x), "normal_means"),
    "normal of stds": (lambda x: tensorlab.normal(1.0, x), "normal_stds"),
    "normal of pairs": (lambda x: tensorlab.normal(x, x), "normal_pairs"),
    "bernoulli": (lambda x: tensorlab.bernoulli(x / 2), "div bernoulli_of"),
    "bernoulli of p": (lambda x: tensorlab.bernoulli(x, 0.25), "bernoulli"),
    "bernoulli_": (lambda x: x.bernoulli_(0.25), "bernoulli_"),
    "bernoulli_ of p": (lambda x: x.bernoulli_(x / 2), "div bernoulli_tensor_"),
    "multinomial": (lambda x: tensorlab.multinomial(x, 2), "multinomial"),
    "multinomial again": (lambda x: tensorlab.multinomial(x, 6, True), "multinomial"),
    "uniform_": (lambda x: x.uniform_(-1, 1), "uniform_"),
    "normal_": (lambda x: x.normal_(), "normal_"),
    "log_normal_": (lambda x: x.log_normal_(), "log_normal_"),
    "cauchy_": (lambda x: x.cauchy_(), "cauchy_"),
    "exponential_": (lambda x: x.exponential_(2), "exponential_"),
    "geometric_": (lambda x: x.geometric_(0.5), "geometric_"),
    "random_": (lambda x: x.random_(3, 9), "random_"),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_what_was_recorded_can_be_replayed(name, requires_grad):
    function, names = CALLS[name]
    x = matrix().requires_grad_(requires_grad)
    with Recorder() as recorder:
        expected = function(x)
    copies = ["clone"] if name == "cumprod_" and requires_grad else []  # of what is written over
    recorded = [call.op.name for call in recorder.calls]
    assert sorted(recorded) == sorted(names.split() + copies)
    y = matrix().requires_grad_(requires_grad)
    renewed = replay(recorder.calls, [(x, y)])
    plain = function(matrix().requires_grad_(requires_grad))  # without layers
    for one, other, third in zip(
        flat(expected), flat(renewed(list(flat(expected)))), flat(plain), strict=True
    ):
        for copy in (other, third):
            assert tensorlab.equal(one, copy)
            assert one.stride() == copy.stride()
            assert type(one.grad_fn).__name__ == type(copy.grad_fn).__name__


@pytest.mark.parametrize("name", CALLS)
def test_backward_is_recorded_too(name):
    function, _ = CALLS[name]
    x, y = matrix().requires_grad_(), matrix().requires_grad_()
    with Recorder() as recorder:
        results = [one for one in flat(function(x)) if one.requires_grad]
        weights = [tensorlab.full_like(one, 2) for one in results]
        (gradient,) = tensorlab.autograd.grad(results, x, weights)
    assert tensorlab.equal(gradient, replay(recorder.calls, [(x, y)])(gradient))


@pytest.mark.parametrize("name", {**FLAT, **DRAWS})
def test_draws_and_ranges_can_be_replayed(name):
    function, names = {**FLAT, **DRAWS}[name]
    x, y = matrix(), matrix()
    tensorlab.manual_seed(3)
    with Recorder() as recorder:
        expected = function(x)
    assert [call.op.name for call in recorder.calls] == names.split()
    tensorlab.manual_seed(3)
    assert tensorlab.equal(expected, replay(recorder.calls, [(x, y)])(expected))
    tensorlab.manual_seed(3)
    assert tensorlab.equal(expected, function(matrix()))


@pytest.mark.parametrize(
    "name", ["uniform", "normal", "log_normal", "cauchy", "exponential", "random", "bernoulli"]
)
def test_fills_have_a_form_that_does_not_write(name):
    x = matrix().requires_grad_()
    tensorlab.manual_seed(3)
    drawn = REGISTRY[name](x)
    tensorlab.manual_seed(3)
    assert tensorlab.equal(drawn, REGISTRY[name + "_"](matrix()))
    assert tensorlab.equal(x, matrix())
    (gradient,) = tensorlab.autograd.grad(drawn.sum(), x)
    assert not gradient.any()


@pytest.mark.parametrize(
    "call",
    [
        lambda: tensorlab.empty(2),
        lambda: tensorlab.zeros(2),
        lambda: tensorlab.ones(2),
        lambda: tensorlab.full((2,), 1.5),
        lambda: tensorlab.scalar_tensor(2),
        lambda: tensorlab.empty_strided((2,), (1,)),
        lambda: tensorlab.Tensor(2),
        lambda: tensorlab.arange(0, 1, 0.5),
        lambda: tensorlab.linspace(0, 1, 2),
        lambda: tensorlab.logspace(0, 1, 2),
        lambda: tensorlab.eye(2),
        lambda: tensorlab.rand(2),
        lambda: tensorlab.randn(2),
        lambda: tensorlab.normal(0.0, 1.0, (2,)),
        lambda: tensorlab.randint(3, (2,)),
        lambda: tensorlab.randperm(2),
        lambda: tensorlab.tril_indices(2, 2),
        lambda: tensorlab.triu_indices(2, 2),
    ],
)
def test_a_recorded_factory_does_not_depend_on_defaults(call):
    before = tensorlab.get_default_dtype()
    try:
        tensorlab.set_default_dtype(tensorlab.float64)
        with tensorlab.device("meta"), Recorder() as recorder:
            made = call()
    finally:
        tensorlab.set_default_dtype(before)
    (recorded,) = recorder.calls
    again = recorded.op(*recorded.arguments)
    assert made.is_meta
    assert (again.dtype, again.device, again.shape) == (made.dtype, made.device, made.shape)


def test_out_takes_what_a_factory_made():
    with Recorder() as recorder:
        out = tensorlab.arange(6, out=tensorlab.empty(2, 3))
    assert [call.op.name for call in recorder.calls] == ["empty", "arange", "view", "copy_"]
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("name", "arguments", "error", "match"),
    [
        ("mean", (5,), IndexError, "mean: dimension 5"),
        ("amax", (5,), IndexError, "amax: dimension 5"),
        ("max_dim", (5,), IndexError, "max: dimension 5"),
        ("argmax", ("a",), TypeError, "."),
        ("prod", ((0, 1),), TypeError, "."),
        ("sum_to_size", ((5, 4),), RuntimeError, "sum_to_size: size"),
        ("norm", ("fro",), TypeError, "."),
        ("var", (None, "a", False), TypeError, "."),
        ("cumsum_from_end", (2,), IndexError, "cumsum_from_end: dimension 2"),
        ("uniform", (2, 1), RuntimeError, "the lower bound"),
        ("normal_", (0, -1), RuntimeError, "std must be at least 0"),
        ("cauchy", (0, 0), RuntimeError, "sigma must be above 0"),
        ("random_", (3, 2), RuntimeError, "no integer"),
        ("bernoulli", (2,), RuntimeError, "p must lie from 0 to 1"),
        ("bernoulli", (0.5, 3), TypeError, "generator"),
        ("multinomial", (9,), RuntimeError, "cannot be drawn"),
        ("randint_like", (5, 5), RuntimeError, "no integer"),
        ("normal_means", (-1.0,), RuntimeError, "std must be at least 0"),
    ],
)
def test_kernels_check_their_arguments(name, arguments, error, match):
    with pytest.raises(error, match=match):
        REGISTRY[name](matrix(), *arguments)


@pytest.mark.parametrize("name", ["cumsum_from_end", "logcumsumexp", "logsumexp"])
def test_kernels_refuse_integers(name):
    with pytest.raises((TypeError, NotImplementedError, RuntimeError), match=f"{name}: .*int64"):
        REGISTRY[name](tensorlab.arange(3), 0)


def test_cumprod_backward_refuses_what_is_not_the_shape_of_x():
    with pytest.raises(RuntimeError, match=r"grad has shape \(2,\) and x has shape \(3,\)"):
        REGISTRY["cumprod_backward"](tensorlab.ones(2), tensorlab.ones(3), 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tensorlab.bernoulli(x),
        lambda x: x.bernoulli_(x),
        lambda x: tensorlab.normal(x, x),
        lambda x: tensorlab.multinomial(x, 2),
        lambda x: x.logsumexp(0),
        lambda x: tensorlab.randperm(4, device=x.device),
        lambda x: tensorlab.arange(4, device=x.device),
        lambda x: tensorlab.logspace(0, 1, 4, device=x.device),
    ],
)
def test_on_meta_only_the_shape_is_made(call):
    real, shape = call(tensorlab.full((3, 4), 0.5)), call(tensorlab.empty(3, 4, device="meta"))
    assert shape.is_meta
    assert (shape.shape, shape.dtype) == (real.shape, real.dtype)
