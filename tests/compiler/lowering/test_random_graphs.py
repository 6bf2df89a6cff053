"""Random programs of pointwise ops, views and reductions: compiled, they give eager mode's bits, or its accuracy."""

import random

import numpy as np
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.compiler.lowering import Kernel
from tests.compiler.driver import compiled
from tests.ops.replay import same_bits

FLOAT_UNARY = [
    *(
        "neg",
        "abs",
        "relu",
        "exp",
        "tanh",
        "sigmoid",
        "sin",
        "cos",
        "sqrt",
        "log",
        "square",
        "gelu",
    ),
    *("silu", "floor", "round", "reciprocal", "erf", "log1p", "softplus", "sign", "rsqrt", "trunc"),
]
BINARY = [
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "fmax",
    "div",
    "atan2",
    "remainder",
    "xlogy",
    "copysign",
]
INTEGER_BINARY = ["add", "sub", "mul", "maximum", "minimum", "bitwise_and", "bitwise_xor", "gcd"]
COMPARE = ["lt", "ge", "eq", "ne", "logical_and", "logical_or"]
REDUCTIONS = [
    "sum",
    "mean",
    "amax",
    "amin",
    "var",
    "logsumexp",
    "softmax",
    "log_softmax",
    "prod",
    "any",
    "count_nonzero",
]
DTYPES = [
    "float32",
    "float32",
    "float32",
    "float64",
    "int64",
    "int32",
    "uint8",
    "int8",
    "bool",
    "float16",
    "bfloat16",
]


def make_input(rng, shape, dtype):
    kind = getattr(tensorlab, dtype)
    random_numbers = np.random.default_rng(rng.randrange(1 << 30))
    if dtype == "bool":
        x = tensorlab.tensor(random_numbers.random(shape) < 0.5)
    elif kind.is_floating_point:
        x = tensorlab.tensor(random_numbers.standard_normal(shape) * rng.choice([0.3, 1, 20])).to(
            kind
        )
    else:
        x = tensorlab.tensor(random_numbers.integers(0 if dtype == "uint8" else -9, 40, shape)).to(
            kind
        )
    if rng.random() < 0.2 and x.ndim > 1:  # another order in memory
        dims = rng.sample(range(x.ndim), x.ndim)
        back = sorted(range(x.ndim), key=dims.__getitem__)
        x = x.permute(dims).contiguous().permute(back)
    return x


def shape_like(rng, shape):
    """A shape that broadcasts with `shape`."""
    kept = shape[rng.choice([0, 0, 0, *range(len(shape) + 1)]) :]
    return tuple(1 if rng.random() < 0.25 else size for size in kept)


class Program:
    """A random program as a list of steps: a function of the values so far. The same steps run with any tensors."""

    def __init__(self, seed, reductions):
        rng = self.rng = random.Random(seed)
        shape = tuple(
            rng.choice([1, 2, 3, 4, 6, 8, 12, 33]) for _ in range(rng.choice([1, 2, 2, 3, 3, 4]))
        )
        self.inputs = [make_input(rng, shape, rng.choice(DTYPES))]
        self.inputs += [
            make_input(rng, shape_like(rng, shape), rng.choice(DTYPES))
            for _ in range(rng.randint(1, 3))
        ]
        self.steps, values = [], list(self.inputs)
        while len(self.steps) < rng.randint(4, 14):
            step = self.new_step(values, reductions)
            if step is not None:
                self.steps.append(step)
        self.kept = rng.sample(range(len(self.inputs), len(values)), rng.randint(1, 3))
        self.kept.append(len(values) - 1)

    def new_step(self, values, reductions):
        """A step that works on the values, which gain its result."""
        rng = self.rng
        choose = lambda: rng.choice(
            [*range(len(values)), *range(max(0, len(values) - 3), len(values))]
        )
        kind = rng.choices(["unary", "binary", "number", "compare", "where", "view", "cast", "fill", "reduce"],
                           [5, 6, 3, 1, 1, 4, 1, 0.5, 4 if reductions else 0])[0]  # fmt: skip
        k, j, i = choose(), choose(), choose()
        x = values[k]
        step = None
        if kind == "unary":
            name = rng.choice(
                FLOAT_UNARY
                if x.is_floating_point()
                else ["abs", "neg", "relu", "square", "exp", "bitwise_not"]
            )
            if name in ("softplus",):
                step = (REGISTRY[name], (k, "#", 1.0, 20.0))
            else:
                step = (REGISTRY[name], (k,))
        elif kind == "binary":
            is_real = x.is_floating_point() or values[j].is_floating_point()
            step = (REGISTRY[rng.choice(BINARY if is_real else INTEGER_BINARY)], (k, j))
        elif kind == "number":
            number = rng.choice([2, 0.5, -1, 3, 1e-3, True])
            step = (REGISTRY[rng.choice(["add", "mul", "sub", "maximum", "div"])], (k, "#", number))
        elif kind == "compare":
            step = (REGISTRY[rng.choice(COMPARE)], (k, j))
        elif kind == "where":
            step = (lambda x, y, z: tensorlab.where(x > 0, y, z), (k, j, i))
        elif kind == "cast":
            dtype = getattr(tensorlab, rng.choice(DTYPES))
            step = (lambda x, dtype=dtype: x.to(dtype), (k,))
        elif kind == "fill":
            value = rng.choice([0, 1, 0.1])
            step = (lambda x: x + tensorlab.full_like(x, value), (k,))
        elif kind == "view":
            step = (self.view_of(x), (k,))
        else:
            step = (self.reduction_of(x), (k,))
        try:
            result = call(step, values)
        except (RuntimeError, TypeError, ValueError, IndexError):
            return None
        if not isinstance(result, tensorlab.Tensor) or not 0 < result.numel() <= 20000:
            return None
        values.append(result)
        return step

    def view_of(self, x):
        rng, ndim = self.rng, x.ndim
        kind = rng.choice(
            ["permute", "unsqueeze", "squeeze", "view", "select", "slice", "expand", "split"]
        )
        dim = rng.randrange(ndim) if ndim else 0
        if kind == "permute":
            dims = rng.sample(range(ndim), ndim)
            return lambda x: x.permute(dims)
        if kind == "unsqueeze":
            return lambda x: x.unsqueeze(dim)
        if kind == "squeeze":
            return lambda x: x.squeeze()
        if kind == "view":
            sizes, n = [], x.numel()
            while n > 1 and rng.random() < 0.8:
                factor = rng.choice([f for f in range(1, n + 1) if n % f == 0])
                sizes.append(factor)
                n //= factor
            return lambda x: x.reshape([*sizes, n])
        if kind == "select":
            return lambda x: x.select(dim, x.shape[dim] // 2)
        if kind == "slice":
            start, step = rng.choice([0, 1]), rng.choice([1, 1, 2])
            return lambda x: x[(slice(None),) * dim + (slice(start, None, step),)]
        if kind == "split":
            return lambda x: x.split(2, dim)[0]
        return lambda x: x.unsqueeze(dim).expand([*x.shape[:dim], 3, *x.shape[dim:]])

    def reduction_of(self, x):
        rng = self.rng
        name = rng.choice(REDUCTIONS)
        dims = sorted(rng.sample(range(x.ndim), rng.randint(1, x.ndim))) if x.ndim else []
        if rng.random() < 0.6:
            dims = list(range(x.ndim - len(dims), x.ndim))
        keep = rng.random() < 0.5
        if name in ("softmax", "log_softmax"):
            return lambda x: getattr(x, name)(dims[-1])
        if name == "prod":
            return lambda x: x.prod(dims[-1], keep)
        if name == "count_nonzero":
            return lambda x: x.count_nonzero(dims)
        return lambda x: getattr(x, name)(dims, keepdim=keep)

    def __call__(self, *values):
        values = list(values)
        for step in self.steps:
            values.append(call(step, values))
        return tuple(values[k] for k in self.kept)


def call(step, values):
    """Run a step; "#" says that numbers follow, and not positions of values."""
    function, positions = step
    mark = positions.index("#") if "#" in positions else len(positions)
    return function(*(values[k] for k in positions[:mark]), *positions[mark + 1 :])


def run_batch(programs):
    """Compile several programs as one, so that the compiler runs once."""
    inputs = [x for program in programs for x in program.inputs]

    def together(*values):
        values = iter(values)
        return tuple(program(*(next(values) for _ in program.inputs)) for program in programs)

    got, steps = compiled(together, *inputs)
    return got, together(*inputs), steps


def check_pointwise(seed, count):
    programs = [Program(f"{seed} {k}", False) for k in range(count)]
    got, want, steps = run_batch(programs)
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        for x, y in zip(one, other, strict=True):
            assert same_bits(x, y), (
                f"seed {seed}, program {k}: {x.shape}, {x.stride()}, {x.dtype}; {y.stride()}"
            )
    return steps


@pytest.mark.parametrize("seed", range(4))
def test_random_pointwise_programs_are_equal_to_the_last_bit(seed):
    steps = check_pointwise(seed, 30)
    assert sum(isinstance(step, Kernel) for step in steps) > 30


@pytest.mark.nightly
def test_three_thousand_pointwise_programs_are_equal_to_the_last_bit():
    for seed in range(100, 200):
        check_pointwise(seed, 30)


def relative_error(x, exact):
    """The largest error as a share of the largest number; nan where nan is expected counts as none."""
    x, exact = x.double().numpy(), exact.double().numpy()
    with np.errstate(invalid="ignore"):
        error = np.where(
            np.isfinite(exact), np.abs(x - exact), 0 if x.shape == exact.shape else np.inf
        )
    same = np.isnan(x) == np.isnan(exact)
    if not same.all():
        return np.inf
    return float(
        np.nanmax(error, initial=0)
        / max(np.nanmax(np.abs(np.where(np.isfinite(exact), exact, 0)), initial=0), 1e-30)
    )


ROW_PROGRAMS = {
    "softmax": lambda x, w: (x * 2).softmax(-1),
    "log_softmax": lambda x, w: (x + w).log_softmax(-1) * 0.5,
    "normalized": lambda x, w: (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt() * w,
    "sum of products": lambda x, w: (x * w).sum(-1).tanh(),
    "mean": lambda x, w: (x.exp() + w).mean(-1, keepdim=True) * 3,
    "logsumexp": lambda x, w: (x * w).logsumexp(-1) - 1,
    "std": lambda x, w: (x * 2).std(-1) + 1,
    "extremes": lambda x, w: (x * w).amax(-1) - (x * w).amin(-1),
    "prod": lambda x, w: ((x * 0.001).exp()).prod(-1),
    "all of it": lambda x, w: (x * w).sum() + (x + 1).mean(),
    "two dimensions": lambda x, w: (x.reshape(-1, 3, x.shape[-1]) * w).sum((1, 2)) * 2,
}


@pytest.mark.parametrize("length", [2, 7, 16, 63, 300, 1024, 4096, 4097, 20000])
@pytest.mark.parametrize("name", ROW_PROGRAMS)
def test_reductions_err_no_more_than_eager_ones(name, length):
    rng = np.random.default_rng(length)
    function = ROW_PROGRAMS[name]
    ours, eager, shape = [], [], (6 if length > 5000 else 60, length)
    for _ in range(2):
        x = tensorlab.tensor(rng.standard_normal(shape).astype("float32"))
        w = tensorlab.tensor(rng.standard_normal(length).astype("float32"))
        (got, steps), want = compiled(function, x, w), function(x, w)
        assert isinstance(steps[-1], Kernel)
        exact = function(x.double(), w.double())
        assert (got.shape, got.stride(), got.dtype) == (want.shape, want.stride(), want.dtype)
        ours.append(relative_error(got, exact))
        eager.append(relative_error(want, exact))
    assert max(ours) <= 1.5 * max(eager) + 2e-7


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_with_reductions_are_as_accurate_as_eager_ones(seed):
    programs = [Program(f"reductions {seed} {k}", True) for k in range(30)]
    got, want, _ = run_batch(programs)
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        for x, y in zip(one, other, strict=True):
            assert (x.shape, x.stride(), x.dtype) == (y.shape, y.stride(), y.dtype), (seed, k)
            tolerance = {"float16": 1e-2, "bfloat16": 6e-2, "float64": 1e-9}.get(x.dtype.name, 2e-4)
            assert tensorlab.allclose(
                x.double(), y.double(), rtol=tolerance, atol=tolerance, equal_nan=True
            ), (seed, k)


HALF_PROGRAMS = {
    "softmax": lambda x, y: (x * 1).softmax(-1),
    "log_softmax": lambda x, y: (x * 1).log_softmax(-1),
    "softmax_backward": lambda x, y: REGISTRY["softmax_backward"](x * 1, y, -1),
    "log_softmax_backward": lambda x, y: REGISTRY["log_softmax_backward"](x * 1, y, -1),
    "logsumexp": lambda x, y: (x * 1).logsumexp(-1),
    "var": lambda x, y: (x * 1).var(-1),
    "std": lambda x, y: (x * 1).std(-1, keepdim=True),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", HALF_PROGRAMS)
def test_several_passes_round_a_half_type_once(name, dtype):
    rng = np.random.default_rng(7)
    kind, function = getattr(tensorlab, dtype), HALF_PROGRAMS[name]
    x = tensorlab.tensor(rng.standard_normal((40, 300)) * 3).to(kind)
    y = tensorlab.tensor(rng.standard_normal((40, 300))).softmax(-1).to(kind)
    (got, (kernel,)), want = compiled(function, x, y), function(x, y)
    exact = function(x.double(), y.double())
    assert isinstance(kernel, Kernel)
    assert (got.dtype, got.stride()) == (want.dtype, want.stride())
    assert relative_error(got, exact) <= 1.02 * relative_error(want, exact) + 3e-7
    if dtype != "float32":  # nearly every element is rounded as the eager kernel rounds it
        assert float((got != want).double().mean()) < 0.01


def test_rows_of_infinities_and_nans_are_what_eager_mode_makes_of_them():
    inf, nan = float("inf"), float("nan")
    x = tensorlab.tensor(
        [[-inf, -inf, -inf], [inf, 1.0, 2.0], [nan, 1.0, 2.0], [-inf, 0.0, 1.0], [3.0, 3.0, 3.0]]
    )
    for name in ("softmax", "log_softmax", "logsumexp"):
        got, _ = compiled(lambda x, name=name: getattr(x * 1, name)(-1), x)
        want = getattr(x * 1, name)(-1)
        assert tensorlab.allclose(got, want, rtol=1e-6, atol=1e-7, equal_nan=True), name
