"""Decomposed graphs compute what the ops do, and are made of what code generation fuses."""

import warnings

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import nn
from tensorlab._core.dispatch.facets import fills_with, is_copy
from tensorlab.compiler.cannot_compile import CannotCompile
from tensorlab.compiler.joint.functionalize import functionalize
from tensorlab.compiler.joint.joint import joint
from tensorlab.compiler.lowering.index_maps import view_map
from tensorlab.compiler.lowering.reductions import fold
from tensorlab.compiler.passes import run_passes
from tensorlab.compiler.passes.decomposition import decompose, decomposition
from tests.compiler.agreement import close, record_program
from tests.compiler.passes.graphs import graph_of, names_in, run_on, same_bits
from tests.compiler.programs import PROGRAMS, READS_VALUES, inputs_of, wants_grad

FLOATING = (tensorlab.float32, tensorlab.float64, tensorlab.float16, tensorlab.bfloat16)
X = tensorlab.randn(4, 6, generator=tensorlab.Generator().manual_seed(3))


def op(name, *args):
    return lambda *tensors: REGISTRY[name](*tensors, *args)


# ------------------------------------------------------------------------------------------------ what is left
def graphs_of_all_samples():
    for sample, form in PROGRAMS:
        wants = wants_grad(sample, form) and sample.name not in READS_VALUES
        recorded = record_program(
            form(sample), lambda sample=sample, wants=wants: inputs_of(sample, wants)
        )
        functional = functionalize(recorded.graph)
        yield sample, functional.graph
        if wants and any(y.requires_grad for y in recorded.results):
            try:
                made = joint(functional, recorded.wants_grad)
            except CannotCompile:  # zeta and igamma have no derivative by their first argument
                continue
            if made is not None:
                yield sample, made.forward
                yield sample, made.backward


# What decomposition leaves as it is, for the shapes and types that a formula leaves out.
LEFT_OUT = {"softmax", "softmax_backward", "norm"}


def test_what_is_left_of_all_samples_has_no_decomposition():
    left = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, graph in graphs_of_all_samples():
            run_passes(graph)
            left |= {name for name in names_in(graph) if name != "getitem"}
    assert {name for name in left if decomposition.of(REGISTRY[name])} == LEFT_OUT
    assert len(left) > 200


def has_formula(name):
    made = decomposition.of(REGISTRY[name]) if name in REGISTRY else None
    return made is not None and not made.keeps_bits


def is_fused(names):
    """Whether code generation sees through these ops: expressions, folds, views, numbers and copies."""
    facets = (fold, view_map, fills_with, is_copy)
    ops = [REGISTRY[name] for name in names]
    return all(op.scalar or any(one.of(op) not in (None, False) for one in facets) for op in ops)


def exactly(function, *inputs):
    """The ops of a function after decompose, which changes no bit."""
    graph = graph_of(function, *inputs)
    wanted = run_on(graph, *inputs)
    assert decompose(graph) > 0
    assert same_bits(wanted[0], run_on(graph, *inputs)[0])
    return names_in(graph)


# ------------------------------------------------------------------------------------------------ views
@pytest.mark.parametrize(
    "function, ops",
    [
        (lambda x: x.t() + 0, ["permute"]),
        (lambda x: x[0].t() + 0, ["select", "permute"]),
        (lambda x: x.transpose(-1, 0) + 0, ["permute"]),
        (lambda x: x.unsqueeze(0).transpose(2, 0) + 0, ["unsqueeze", "permute"]),
        (lambda x: x[0, 0].transpose(0, -1) + 0, ["select", "select", "permute"]),
        (lambda x: x.data + 0, ["detach"]),
        (lambda x: x[1] + 0, ["select"]),
        (lambda x: x[-1] + 0, ["select"]),
        (lambda x: x[..., 2] + 0, ["select"]),
        (lambda x: x[1:3] + 0, ["slice"]),
        (lambda x: x[::2, 1:] + 0, ["slice", "slice"]),
        (lambda x: x[None] + 0, ["unsqueeze"]),
        (lambda x: x[1:, None, ..., 3] + 0, ["slice", "unsqueeze", "select"]),
        (lambda x: x[..., None] + 0, ["unsqueeze"]),
        (lambda x: x[None, ..., 2] + 0, ["unsqueeze", "select"]),
        (lambda x: x[:, 2] + 0, ["select"]),
        (lambda x: x.split(3)[1] + 0, ["split", "slice"]),
        (lambda x: x.split([1, 4, 1], 1)[1] + 0, ["split_with_sizes", "slice"]),
        (lambda x: x.unbind(1)[2] + 0, ["unbind", "select"]),
    ],
)
def test_views_are_primitive_ones(function, ops):
    left = exactly(function, X)
    assert [one for one in left if one not in ("getitem", "add")] == ops


# ------------------------------------------------------------------------------------------------ formulas
def closely(function, *inputs):
    graph = graph_of(function, *inputs)
    wanted = run_on(graph, *inputs)
    assert decompose(graph) > 0
    for one, other in zip(wanted, run_on(graph, *inputs), strict=True):
        assert one.stride() == other.stride()
        assert near(one, other), (one, other)
    return names_in(graph)


def near(x, y):
    """Equal but for rounding: one unit of the last place of a half type, a few of the others."""
    assert x.dtype == y.dtype
    if x.dtype.itemsize > 2 or not x.dtype.is_floating_point:
        return close(x, y)
    eps = tensorlab.finfo(x.dtype).eps
    return tensorlab.allclose(x.double(), y.double(), rtol=2 * eps, atol=eps / 4, equal_nan=True)


WEIGHT, BIAS = tensorlab.linspace(0.5, 1.5, 6), tensorlab.linspace(-1, 1, 6)
ROWS = {
    "softmax": lambda x: x.softmax(-1),
    "softmax along the first": lambda x: x.softmax(0),
    "softmax of a transposed": lambda x: x.t().softmax(0),
    "log_softmax": lambda x: x.log_softmax(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "logsumexp, kept": lambda x: x.t().logsumexp((0, 1), keepdim=True),
    "mean": lambda x: x.mean(),
    "mean of rows": lambda x: x.mean(1),
    "mean, kept": lambda x: x.mean((0, 1), keepdim=True),
    "var": lambda x: x.var(1),
    "std of all": lambda x: x.std(correction=0),
    "std, kept": lambda x: x.std(0, keepdim=True),
    "norm": lambda x: x.norm(),
    "norm 1": lambda x: x.norm(1, 1),
    "norm inf": lambda x: x.norm(float("inf"), 0, keepdim=True),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "count": lambda x: (x > 0).count_nonzero(1),
    "sum_to_size": lambda x: REGISTRY["sum_to_size"](x, (4, 1)),
    "sum_to_size of fewer": lambda x: REGISTRY["sum_to_size"](x, (6,)),
    "layer_norm": lambda x: nn.functional.layer_norm(x, (6,)),
    "layer_norm of all": lambda x: nn.functional.layer_norm(x, (4, 6)),
    "layer_norm, weighted": lambda x: nn.functional.layer_norm(
        x, (6,), WEIGHT.to(x.dtype), BIAS.to(x.dtype)
    ),
    "batch_norm": lambda x: nn.functional.batch_norm(
        x, BIAS, WEIGHT, WEIGHT.to(x.dtype), BIAS.to(x.dtype)
    ),
    "batch_norm of images": lambda x: nn.functional.batch_norm(x.view(2, 6, 2, 1), BIAS, WEIGHT),
}


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize("name", ROWS)
def test_a_formula_gives_what_the_kernel_gives(name, dtype):
    left = closely(lambda x: ROWS[name](x.to(dtype)), X)
    assert is_fused(left)


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize(
    "name", ["softmax", "log_softmax", "layer_norm", "layer_norm, weighted", "layer_norm of all"]
)
def test_a_formula_of_a_derivative_gives_what_the_kernel_gives(name, dtype):
    def gradient(x, weight):
        with tensorlab.enable_grad():
            x = x.to(dtype).requires_grad_()
            y = ROWS[name](x)
            return tensorlab.autograd.grad(y, x, weight.to(dtype))

    left = closely(gradient, X, X.flip(0))
    assert is_fused(left)


@pytest.mark.parametrize("shape", [(4, 6), (2, 2, 6), (1, 2, 2, 6)])
def test_the_gradient_of_the_weight_of_a_norm_is_a_sum_over_rows(shape):
    def gradient(x, weight):
        with tensorlab.enable_grad():
            weight = weight.detach().requires_grad_()
            y = nn.functional.layer_norm(x, (6,), weight, weight * 2)
            return tensorlab.autograd.grad(y, weight, x.flip(0))

    assert is_fused(set(closely(gradient, X.view(shape), WEIGHT)) - {"flip"})


@pytest.mark.parametrize(
    "row", [[1e4, 0, 1], [float("-inf"), 0, 1], [float("nan"), 0, 1], [-1e30] * 3]
)
def test_softmax_neither_overflows_nor_hides_nan(row):
    x = tensorlab.tensor([row])
    closely(lambda x: (x.softmax(1), x.log_softmax(1)), x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:0].softmax(0),
        lambda x: x[:0].mean(),
        lambda x: x[:1].var(0),
        lambda x: x.sum().softmax(0),
        lambda x: x.norm(3),
        lambda x: x.norm(0),
        lambda x: x[:0].norm(),
        lambda x: x.sum().max(),
        lambda x: nn.functional.layer_norm(x[:0], (6,)),
    ],
)
@pytest.mark.filterwarnings("ignore:var")
def test_what_a_formula_leaves_out_stays_a_call(function):
    graph = graph_of(lambda x: function(x) + 0, X)
    wanted = run_on(graph, X)
    calls = {name for name in names_in(graph) if has_formula(name)}
    decompose(graph)
    assert calls <= {*names_in(graph)}
    assert same_bits(wanted[0], run_on(graph, X)[0])


def test_results_that_nobody_asks_for_are_not_needed():
    graph = graph_of(lambda x: REGISTRY["layer_norm"](x, (6,), None, None, 1e-5)[0], X)
    decompose(graph)
    assert "layer_norm" not in names_in(graph)
