"""Costly functions that need each other's results are computed in stages, and the bits stay those of the ops."""

import pytest

import tensorlab
from tensorlab.compiler.lowering import Call
from tensorlab.compiler.lowering.loop_ir import Assign, Declare, Store
from tensorlab.compiler.lowering.stages import divide
from tests.compiler.driver import compiled
from tests.ops.replay import pairs, same_bits


def kernel_of(function, *inputs):
    """The only kernel of a function, whose results are eager mode's to the last bit."""
    got, steps = compiled(function, *inputs)
    for one, other in pairs(got, function(*inputs)):
        assert same_bits(one, other)
    (kernel,) = steps
    return kernel


def innermost_loops(kernel):
    return kernel.source.split("void fused")[1].count("for (int64_t i = ")


SIZES = [1, 511, 512, 513, 1500]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("depth", "stages"), [(1, 1), (2, 2), (5, 5)])
def test_functions_of_each_others_results_are_stages(size, depth, stages):
    def chain(x):
        for _ in range(depth):
            x = tensorlab.tanh(x * 2) + 0.5
        return x

    assert innermost_loops(kernel_of(chain, tensorlab.randn(size))) == stages


def test_functions_side_by_side_are_one_loop():
    kernel = kernel_of(
        lambda x, y: (x.tanh() * y.sigmoid() + x.exp()).sqrt(),
        tensorlab.randn(700),
        tensorlab.randn(700),
    )
    assert innermost_loops(kernel) == 1
    assert "kept_" not in kernel.source


@pytest.mark.parametrize("size", SIZES[1:])
def test_values_of_earlier_stages_are_kept_and_loaded_ones_loaded_again(size):
    kernel = kernel_of(
        lambda x, y: (((x + y).tanh() + y).exp() * x, (x + y) * 2),
        tensorlab.randn(size),
        tensorlab.randn(size),
    )
    assert innermost_loops(kernel) == 2
    assert kernel.source.count("kept_tanh_1[512];") == 1
    assert kernel.source.count("kept_") == 3  # declared, stored, read
    assert kernel.source.count("= p0[i];") == 2


def test_a_row_and_broadcast_operands_are_walked_in_stages():
    kernel = kernel_of(
        lambda x, row, column: ((x + row).exp() * column).tanh().sigmoid(),
        tensorlab.randn(40, 700),
        tensorlab.randn(700),
        tensorlab.randn(40, 1),
    )
    assert innermost_loops(kernel) == 3


def test_a_chain_is_not_taken_into_a_row_kernel():
    def chain(x):
        return x.tanh().exp().sum(1)

    x = tensorlab.randn(30, 40)
    kernel, call = compiled(chain, x)[1]
    assert innermost_loops(kernel) == 2
    assert isinstance(call, Call)
    (kernel,) = compiled(lambda x: (x.tanh() * x.exp()).sum(1), x)[1]
    assert "rows_sum_1" in kernel.source


def test_slower_functions_that_are_right_for_all_arguments_have_the_same_stages():
    x = tensorlab.tensor([0.5, 1e30, -1e30, float("nan"), float("inf"), 3.0] * 300)
    kernel = kernel_of(lambda x: ((x.sin() * 100).cos() * 1e9).sin(), x)
    assert innermost_loops(kernel) == 6


@pytest.mark.parametrize("dtype", [tensorlab.float64, tensorlab.float16, tensorlab.bfloat16])
def test_all_floating_types_have_stages(dtype):
    x = tensorlab.randn(600).to(dtype)
    assert innermost_loops(kernel_of(lambda x: (x.tanh() * 2).exp().sigmoid(), x)) == 3


def test_statements_go_where_what_they_need_is_known():
    def made(name, value):
        return Declare("const float", name, value)

    body = [
        made("x0", "p0[i]"),
        made("a", "f(x0)"),
        Assign("is_unusual", "x0 > 1", "|="),
        made("b", "a + x0"),
        made("c", "f(b)"),
        made("d", "c + a + a"),
        Store("q0[i]", "a"),
        Store("q1[i]", "d"),
    ]
    stages, arrays = divide(body, {"a", "c"}, 512)
    assert arrays == [Declare("float", "kept_a[512]", "")]
    assert stages[0] == [*body[:3], Store("kept_a[i - start]", "a"), body[6]]
    assert stages[1] == [made("a", "kept_a[i - start]"), body[0], *body[3:6], body[7]]
    assert divide(body, set(), 512) == ([body], [])
    assert divide([], set(), 512) == ([[]], [])
