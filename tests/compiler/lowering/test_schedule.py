"""A schedule makes kernels of what can be fused, in an order that works, and its results are eager mode's."""

import re

import pytest

import tensorlab
from tensorlab.compiler.lowering import Call, Kernel
from tests.compiler.driver import compiled, record, run, schedule
from tests.ops.replay import pairs, same_bits


def check(function, *inputs):
    """Run a function both ways; returns its schedule."""
    got, steps = compiled(function, *inputs)
    for one, other in pairs(got, function(*inputs)):
        assert same_bits(one, other)
    return steps


def chain(x, y):
    return tensorlab.tanh(tensorlab.sigmoid(tensorlab.relu(x * 2 + 1) * y - 0.5) * x)


def test_a_chain_of_ops_is_one_kernel():
    (kernel,) = check(chain, tensorlab.randn(1000), tensorlab.randn(1000))
    assert isinstance(kernel, Kernel)
    # no name that C has already; the digits are those of its source
    assert re.fullmatch("fused_mul_add_relu_sub_sigmoid_tanh_[0-9a-f]{6}", kernel.name)
    assert (kernel.count, kernel.numbers) == (1000, [])


def test_a_row_and_a_column_are_broadcast_inside_a_kernel():
    steps = check(
        lambda x, y, z: ((x + y) * z, x * 2),
        tensorlab.randn(31, 17),
        tensorlab.randn(17),
        tensorlab.randn(31, 1),
    )
    assert len(steps) == 1
    assert len(steps[0].outputs) == 2


def test_views_of_inputs_and_of_results_are_index_arithmetic():
    def function(x):
        y = (x.t() + 1).view(3, 2, 5)
        z = y.permute(2, 0, 1)[1:4].unsqueeze(1) * x.t().reshape(6, 5)[2, 1:3]
        return z.exp(), x.view(2, 15).select(0, 1).expand(4, 15) - 1

    steps = check(function, tensorlab.randn(5, 6))
    assert all(isinstance(step, Kernel) for step in steps)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x.transpose(0, -1),
        lambda x: x.view(2, 3, 4).transpose(2, 0),
        lambda x: x.view(2, 3, 4).permute(1, 2, 0),
        lambda x: x.view(6, 1, 4).squeeze(1),
        lambda x: x.view(1, 6, 4, 1).squeeze(),
        lambda x: x.view(1, 6, 4, 1).squeeze((0, -1)),
        lambda x: x.unsqueeze(-1),
        lambda x: x.expand(3, 6, 4),
        lambda x: x.select(1, -2),
        lambda x: x.narrow(0, 2, 3),
        lambda x: x[4],
        lambda x: x[..., -1],
        lambda x: x[1:5:2, None, 1],
        lambda x: x[None, ..., 1:3],
        lambda x: x.split(4)[1],
        lambda x: x.split([1, 2, 1], 1)[1],
        lambda x: x.unbind(1)[2],
        lambda x: x.detach(),
        lambda x: x.reshape(3, 8),
    ],
)
def test_a_view_of_a_result_or_of_an_input_is_index_arithmetic(view):
    steps = check(lambda x: view(x + 1) * 2, tensorlab.randn(6, 4))
    assert all(isinstance(step, Kernel) for step in steps)
    (step,) = check(lambda x: view(x) * 2 + 1, tensorlab.randn(6, 4))
    assert isinstance(step, Kernel)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: ((x + 1).view(6, 4) * y.permute(1, 0, 2).reshape(6, 4)).sum(1),
        lambda x, y: (x.view(2, 3, 4).transpose(0, 1) * 1.5).reshape(6, 4).sum(1),
        lambda x, y: (
            (x.view(2, 3, 4).transpose(0, 1) * 1.5).reshape(6, 4).mean(1, keepdim=True) + x
        ),
    ],
)
def test_rows_whose_operands_divide_them_otherwise_are_folded(function):
    """The loop over six rows becomes one over two and one over three."""
    inputs = tensorlab.randn(6, 4), tensorlab.randn(2, 3, 4)
    got, steps = compiled(function, *inputs)
    assert all(isinstance(step, Kernel) for step in steps)
    assert tensorlab.allclose(got, function(*inputs), rtol=1e-5, atol=1e-6)


def test_kernels_that_differ_in_sizes_alone_are_one_function():
    def function(x, y, b):
        return (x * b).tanh(), (y * b[:4]).tanh()

    steps = check(function, tensorlab.randn(8, 9), tensorlab.randn(5, 4), tensorlab.randn(9))
    assert len({step.name for step in steps}) == 1
    assert steps[0].numbers != steps[1].numbers


def test_a_call_between_two_parts_of_a_group_divides_it():
    def function(x):
        y = x.exp()
        return y * y.cumsum(0)

    kinds = [type(step) for step in check(function, tensorlab.randn(9))]
    assert kinds == [Kernel, Call, Kernel]


def test_random_calls_keep_their_order():
    def function(x):
        a = tensorlab.rand(6)
        b = tensorlab.rand(6)
        return (x * b).exp(), (x * a).exp()

    with tensorlab.no_grad():
        tensorlab.manual_seed(3)
        want = function(tensorlab.ones(6))
        tensorlab.manual_seed(3)
        graph = record(function, tensorlab.ones(6))
        tensorlab.manual_seed(3)
        got = run(graph, schedule(graph), [tensorlab.ones(6)])
    assert all(same_bits(one, other) for one, other in zip(got, want, strict=True))


def test_a_cast_to_an_integer_and_back_loses_the_sign_of_zero():
    x = tensorlab.tensor([-0.5, -0.0, 0.5, 1e30, -2.5, float("inf"), float("nan")] * 5)
    check(lambda x: 1 / x.to(tensorlab.int64).to(tensorlab.float32), x)
    check(lambda x: 1 / x.to(tensorlab.int32).to(tensorlab.float32), x)
    check(lambda x: 1 / x.to(tensorlab.int8).to(tensorlab.float32), x)


def test_what_fits_in_no_integer_becomes_what_the_eager_kernels_make_of_it():
    x = tensorlab.tensor([-1.0])
    for dtype in (
        tensorlab.int64,
        tensorlab.int32,
        tensorlab.int16,
        tensorlab.int8,
        tensorlab.uint8,
    ):
        check(lambda x, dtype=dtype: x.log().to(dtype) + 1, x)  # a nan that the compiler sees
        for kind in (tensorlab.float32, tensorlab.float64):
            edges = [
                2.0**31,
                2.0**31 - 129,
                -(2.0**31),
                -(2.0**31) - 1,
                2.0**63,
                -(2.0**63),
                1e300,
                -1e300,
            ]
            y = tensorlab.tensor(
                [*edges, 255.7, -129.2, 65536.5, float("nan")] * 3, dtype=tensorlab.float64
            )
            check(lambda y, dtype=dtype: y.to(dtype) + 1, y.to(kind))


def test_a_copy_to_meta_is_a_call():
    def function(x):
        y = (x + 1).exp()
        return y, (y * 2).to(device="meta", dtype=tensorlab.float64)

    _, steps = compiled(function, tensorlab.randn(9))
    assert any(isinstance(step, Call) and step.node.target.name == "to_copy" for step in steps)


def test_many_reductions_of_a_row_are_shared_out_over_kernels():
    def function(x):
        return tuple((x + k).exp().sum(1) for k in range(20))

    inputs = tensorlab.randn(5, 5000)
    got, steps = compiled(function, inputs)
    assert len(steps) > 1
    for one, other in zip(got, function(inputs), strict=True):
        assert tensorlab.allclose(one, other)


def test_a_single_long_row_is_two_kernels_that_any_ranges_give_the_same():
    x, y = tensorlab.randn(50_001), tensorlab.randn(50_001)

    def function(x, y):
        z = (x - y) * (x - y)
        return z.mean(), z.amax() + 1, z, (x > 0).count_nonzero(), (x > 9).any()

    got, steps = compiled(function, x, y)
    assert [type(step) for step in steps] == [Kernel, Kernel]
    assert (steps[0].count, steps[1].count) == (13, 1)
    want = function(x, y)
    assert tensorlab.allclose(got[0], want[0], rtol=1e-6)
    for one, other in zip(got[1:], want[1:], strict=True):
        assert same_bits(one, other)


def test_an_operand_that_lies_across_memory_stays_with_the_eager_kernel():
    steps = check(
        lambda x, y: (x.t() + y).relu(), tensorlab.randn(200, 200), tensorlab.randn(200, 200)
    )
    assert [step.node.target.name for step in steps if isinstance(step, Call)] == ["t", "add"]


def test_a_reduction_alone_is_a_call():
    steps = check(lambda x: (x.sum(1), x.t().softmax(0)), tensorlab.randn(20, 30))
    assert all(isinstance(step, Call) for step in steps)


def test_rows_keep_what_a_pass_has_computed():
    (kernel,) = check(lambda x: (x * 2).softmax(-1), tensorlab.randn(7, 300))
    assert kernel.source.count("tl_expf(") == 1
    assert kernel.count == 7


@pytest.mark.parametrize("dtype", [tensorlab.float32, tensorlab.float64, tensorlab.bfloat16])
@pytest.mark.parametrize("p", [1, 2, float("inf"), 3])
def test_norms_without_powers_are_passes_over_a_row(p, dtype):
    def function(x):
        return (x * 2).norm(p, 1, keepdim=True) + x

    x = tensorlab.randn(40, 300).to(dtype)
    got, steps = compiled(function, x)
    assert [isinstance(step, Kernel) for step in steps] == (
        [True] if p != 3 else [True, False, True]
    )
    assert tensorlab.allclose(got, function(x), rtol=1e-5 if dtype.itemsize > 2 else 1e-2)


def test_a_decomposed_softmax_has_the_bits_of_the_op():
    x = tensorlab.randn(30, 500)
    for function in (lambda x: x.softmax(1), lambda x: x.softmax(0), lambda x: x.log_softmax(1)):
        plain = tensorlab.compile(function, options={"without": ()})
        for _ in range(2):
            assert same_bits(plain(x), function(x))


def test_what_writes_runs_when_everything_else_has_read():
    def function(x):
        x.zero_()
        return (x + 1).sin()

    with tensorlab.no_grad():
        graph = record(function, tensorlab.randn(3))
    steps = schedule(graph)
    assert len(steps) == 2
    assert isinstance(steps[1], Call)
    assert steps[1].node.target.name == "zero_"


def test_sizes_and_lines_are_in_the_comments():
    (kernel,) = check(chain, tensorlab.randn(10, 3), tensorlab.randn(3))
    assert "/* tanh, program.py:1 */" in kernel.source
    assert "[10, 3]" in kernel.source


def test_compilers_are_told_that_innermost_loops_are_independent():
    """Or gcc compares the pointers of each pair of operands, and makes no vectors from five on."""

    def saving(x, y):
        return x.tanh(), x.sigmoid() + y, x.tanh() * y, (x * y).exp()

    one, other = (3, 50), (50,)
    softmax = lambda x, y: ((x * 2).softmax(-1), y * 2)
    for function, shapes in ((saving, (one, one)), (saving, (one, other)), (softmax, (one, other))):
        steps = check(function, *map(tensorlab.randn, shapes))
        kernels = [step.source[step.source.index("void fused_") :] for step in steps]
        lines = [line.strip() for kernel in kernels for line in kernel.splitlines()]
        loops = [k for k, line in enumerate(lines) if line.startswith("for (int64_t i = ")]
        told = [k + 1 for k, line in enumerate(lines) if line == "#pragma GCC ivdep"]
        assert loops
        assert told == loops


def test_a_kernel_has_at_most_64_ops_and_24_tensors():
    def long(x):
        for _ in range(50):
            x = x * 1.5 + 1
        return x

    steps = check(long, tensorlab.randn(7))
    assert len(steps) == 2
    assert steps[0].source.count("/* ") <= 64 + 1

    def wide(*inputs):
        return sum(inputs[1:], inputs[0])

    steps = check(wide, *(tensorlab.randn(7) for _ in range(30)))
    assert len(steps) == 2
    assert max(len(step.inputs) + len(step.outputs) for step in steps) <= 24


def test_costly_ops_make_threads_worth_starting_sooner():
    (cheap,) = check(lambda x: x + 1, tensorlab.randn(9))
    (costly,) = check(lambda x: (x + 1).exp().log().tanh(), tensorlab.randn(9))
    (rows,) = check(lambda x: (x * 2).softmax(1), tensorlab.randn(4, 100))
    assert cheap.grain > 2 * costly.grain >= 2048
    assert 20 < rows.grain < 200


def test_a_group_never_needs_what_needs_it():
    def function(x):
        a = x + 1
        b = a.cumsum(0)
        c = b * 2
        d = a * 3
        return (c + d).exp(), d.sort()[0] + c

    check(function, tensorlab.randn(12))


def test_views_of_results_that_calls_read_are_made_after_their_kernel():
    def function(x, w):
        y = (x * 2).reshape(3, 8)
        return (y.t() @ w).relu(), y.t()

    steps = check(function, tensorlab.randn(2, 12), tensorlab.randn(3, 5))
    kinds = [step.node.name if isinstance(step, Call) else "kernel" for step in steps]
    assert kinds.index("kernel") < kinds.index("t") < kinds.index("mm") < kinds.index("t_1")


def test_a_group_does_not_reach_itself_through_one_that_was_taken_in():
    def function(x, y):
        e = x * 2
        b = y + 1
        s = e[:4] + 1
        c = b.cumsum(0)
        late = (e + tensorlab.cat([c, c])).exp()  # takes in e, and needs b
        return late, s * b

    check(function, tensorlab.randn(8), tensorlab.randn(4))


def test_every_other_element_of_a_row_is_folded():
    def function(x):
        return (x[:, 1::2] * 2).amax(1), (x[:, 1::2] * 2).softmax(1)

    (kernel,) = check(function, tensorlab.randn(6, 50))
    assert 2 in kernel.numbers


def test_folds_are_functions_that_are_called_and_other_helpers_are_part_of_the_loop():
    (rows,) = check(lambda x: (x * 2).softmax(-1), tensorlab.randn(7, 300))
    (pointwise,) = check(lambda x: x.clamp(-1, 1) * 2, tensorlab.randn(9))
    assert "static __attribute__((noinline)) float row_sum_float32(" in rows.source
    assert "static inline float at_least_float32(" in pointwise.source


def test_helpers_stand_before_those_that_call_them():
    (kernel,) = check(lambda x, y: x.lcm(y), tensorlab.arange(9), tensorlab.arange(1, 10))
    assert kernel.source.index("int64_t gcd_int64(") < kernel.source.index("int64_t lcm_int64(")


def test_a_constant_of_a_row_is_not_taken_for_a_value_of_an_element():
    """In C a number such as 1.5 is 0x1.8p+0, and x1 is the second load."""

    def function(x, y):
        total = (x * y).sum(1, keepdim=True)
        return x + y, total + 1.5

    inputs = tensorlab.randn(8, 32), tensorlab.randn(8, 32)
    got, steps = compiled(function, *inputs)
    assert len(steps) == 1
    for one, other in pairs(got, function(*inputs)):
        assert tensorlab.allclose(one, other)
