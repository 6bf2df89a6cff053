"""Groups that run in blocks give the bits of the ops; what does not fit is called."""

import warnings

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.compiler.build import calls_of
from tensorlab.compiler.lowering import Blocks, blocks
from tests.compiler.driver import in_blocks, record
from tests.compiler.lowering.test_expressions import (
    DTYPES,
    POINTWISE,
    operands,
    promotion_cases,
    supported,
    tensors_of,
)
from tests.compiler.lowering.test_random_graphs import Program
from tests.ops.replay import pairs, same_bits

BLOCK = blocks.ROW_BYTES // 4  # elements of a block of float32; half as many of float64


@pytest.fixture(params=[1, 2])
def threads(request):
    before = tensorlab.get_num_threads()
    tensorlab.set_num_threads(request.param)
    yield request.param
    tensorlab.set_num_threads(before)


def groups_of(steps):
    return [step for step in steps if isinstance(step, Blocks)]


def called(steps):
    """Names of the ops that are called."""
    return [step.node.target.name for step in steps if not isinstance(step, Blocks)]


def check(function, *inputs):
    """Run a function both ways; returns its schedule."""
    got, steps = in_blocks(function, *inputs)
    want = function(*inputs)
    for one, other in pairs(got, want):
        assert same_bits(one, other)
    return steps


def check_group(function, *inputs):
    """The same, for a function that must be one group."""
    (group,) = check(function, *inputs)
    assert isinstance(group, Blocks)
    return group


def chain(x, y):
    return tensorlab.tanh(tensorlab.sigmoid(tensorlab.relu(x * 2 + 1) * y - 0.5) * x) + y


# ---------------------------------------------------------------- sizes and threads
@pytest.mark.parametrize(
    "n", [1, 2, 63, 64, 65, BLOCK // 2 + 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5, 100_003]
)
@pytest.mark.parametrize("dtype", [tensorlab.float32, tensorlab.float64])
def test_a_chain_has_the_bits_of_its_ops_at_every_size(n, dtype, threads):
    x, y = (tensorlab.randn(n, dtype=dtype) for _ in range(2))
    group = check_group(chain, x, y)
    assert (len(group.inputs), len(group.outputs)) == (2, 1)
    assert str(group) == "add_1 = blocks of mul, add, relu, sub, sigmoid, tanh (x, x_1)"


def test_small_blocks_have_the_same_bits(monkeypatch, threads):
    for row_bytes in (1, 4, 28, 256):
        monkeypatch.setattr(blocks, "ROW_BYTES", row_bytes)
        x, row = tensorlab.randn(37, 11), tensorlab.randn(11)
        check_group(
            lambda x, row, column: (x * row + column).tanh(), x, row, tensorlab.randn(37, 1)
        )


def test_empty_tensors_are_left_to_the_ops():
    steps = check(chain, tensorlab.ones(0, 3), tensorlab.ones(0, 3))
    assert not groups_of(steps)


# ---------------------------------------------------------------- ops, types, numbers
def check_cases(op, cases):
    """An op whose result goes on into another, so that both are a group."""
    tensors = [one for case in cases for one in case if isinstance(one, tensorlab.Tensor)]

    def calls(*given):
        given = iter(given)
        made = [
            op(*(next(given) if isinstance(one, tensorlab.Tensor) else one for one in case))
            for case in cases
        ]
        return [(one, tensorlab.logical_not(one), one + 0) for one in made]

    steps = check(calls, *tensors)
    done = sum(step.names.split(", ").count(op.name) for step in groups_of(steps))
    assert done
    assert not set(called(steps)) & {op.name, "logical_not"}


@pytest.mark.parametrize("name", sorted(POINTWISE))
def test_every_pointwise_op_has_its_own_bits(name):
    op = REGISTRY[name]
    cases = [
        case for dtype in DTYPES for case in operands(op, dtype, dtype, 1) if supported(op, case)
    ]
    check_cases(op, cases)


@pytest.mark.parametrize("name", [name for name in sorted(POINTWISE) if tensors_of(name) > 1])
def test_numbers_and_other_types_are_promoted_as_in_eager_mode(name):
    check_cases(REGISTRY[name], promotion_cases(name))


@pytest.mark.parametrize("source", DTYPES)
def test_casts_are_those_of_eager_mode(source):
    x = (tensorlab.randn(200) * 50).to(source)

    def casts(x):
        return [(x + 1).to(dtype) + 0 for dtype in DTYPES if dtype is not source]

    check_group(casts, x)
    check_group(lambda x: (x.clone(), x.clone() + x), x)
    check_group(
        lambda x: [(x.to(dtype), x.to(dtype) * 2) for dtype in DTYPES if dtype is not source], x
    )


def test_a_copy_to_another_device_is_called():
    steps = check(lambda x: (x * 2 + 1, x.sum()), tensorlab.ones(3))
    assert called(steps) == ["sum"]
    _, steps = in_blocks(lambda x: ((x * 2 + 1).to("meta"), x), tensorlab.ones(3))
    assert called(steps) == ["to_copy"]


def test_numbers_that_are_equal_but_not_the_same_are_kept_apart():
    x = tensorlab.tensor([1.0, -1.0, 0.0])
    group = check_group(lambda x: (x * 0.0, x * -0.0, x + True, x + 1, x + 1.0, x - 1.0), x)
    assert len(group.constants) == 5
    assert not group.buffers


def test_tensors_without_dimensions_are_constants():
    zero_dim = [tensorlab.tensor(1.1, dtype=tensorlab.float64), tensorlab.tensor(3)]
    group = check_group(
        lambda x, a, b, c: (x * a - b).exp() * c + a,
        tensorlab.randn(5000),
        *zero_dim,
        tensorlab.tensor([[0.3]]).reshape(1),
    )
    assert [constant[1] for constant in group.constants] == [None] * 3
    check_group(lambda a, b: (a + b) * a, *zero_dim)
    assert not groups_of(check(lambda a: -a, zero_dim[0]))
    check_group(lambda a: REGISTRY["add"](2, 0.5) * a + 1, zero_dim[0])


# ---------------------------------------------------------------- layouts
LAYOUTS = {
    "row": lambda x: x[0, 0],
    "plane": lambda x: x[0],
    "column": lambda x: x[:, :, :1],
    "middle": lambda x: x[:, :1],
    "outer": lambda x: x[:, :1, :1],
    "slice": lambda x: tensorlab.cat([x, x], 1)[:, 1 : 1 + x.shape[1]],
    "expanded": lambda x: x[:1, :, :1].expand(x.shape),
    "other type": lambda x: x.double()[0].to(tensorlab.int32).to(tensorlab.float16),
}


@pytest.mark.parametrize("shape", [(3, 5, 7), (2, 3, 3000), (700, 5, 2), (1, 9, 1), (40, 1, 100)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_are_gathered(layout, shape, threads):
    x = tensorlab.randn(shape)
    check_group(lambda x, y: (x * y + 1).tanh() * y, x, LAYOUTS[layout](x))


def test_results_keep_the_order_of_their_memory(threads):
    x, y = tensorlab.randn(300, 40), tensorlab.randn(300, 40)
    row = tensorlab.randn(300)
    group = check_group(lambda x, y, row: (x + y).tanh() * row, x.t(), y.t(), row)
    assert group.outputs[0].meta["val"].stride() == (1, 40)
    z = tensorlab.randn(2, 6, 5, 4).contiguous(memory_format=tensorlab.channels_last)
    check_group(lambda z, bias: (z * 2 + bias).relu(), z, tensorlab.randn(6, 1, 1))


def test_results_keep_the_strides_of_dimensions_of_size_one():
    x = tensorlab.randn(6, 1).t()
    group = check_group(lambda x: x * 2 + 1, x)
    assert group.outputs[0].meta["val"].stride() == (1, 1)


def test_operands_across_the_results_are_left_to_the_op():
    x = tensorlab.randn(20, 20)
    assert called(check(lambda x, y: (x + y).tanh() * 2, x, x.t())) == ["add"]
    assert called(check(lambda x, y: (x + y).tanh() * 2, x, tensorlab.randn(20, 40)[:, ::2])) == [
        "add"
    ]
    holes = tensorlab.randn(20, 40)[:, :20]
    steps = check(
        lambda y: (y + 1).tanh() * 2, holes
    )  # what is read has holes, what is made has none
    assert len(groups_of(steps)) == 1


def test_results_of_other_shapes_or_orders_are_other_groups():
    x, y = tensorlab.randn(6, 4), tensorlab.randn(4)
    steps = check(lambda x, y: (y * 2 + 1).exp() * x + x, x, y)
    assert [one.names for one in groups_of(steps)] == ["mul, add, exp", "mul, add"]
    steps = check(lambda x, y: ((x * 2 + 1), (y * 2 + 1)), x, tensorlab.randn(4, 6).t())
    assert len(groups_of(steps)) == 2
    steps = check(lambda x, y: ((x * 2 + 1), (y * 2 + 1)), x, tensorlab.randn(24))
    assert len(groups_of(steps)) == 2


def test_readers_of_one_tensor_are_one_group_if_their_results_are_laid_out_alike():
    row = tensorlab.randn(4)
    alike = tensorlab.randn(6, 4), tensorlab.randn(6, 4)
    other_order = tensorlab.randn(6, 4), tensorlab.randn(4, 6).t()
    other_shape = tensorlab.randn(6, 4), tensorlab.randn(3, 4)

    def function(x, y, row):
        return (x + row) * 2, (y + row) * 2

    for pair, count in ((alike, 1), (other_order, 2), (other_shape, 2)):
        steps = check(function, *pair, row)
        assert (len(groups_of(steps)), called(steps)) == (count, [])


def test_what_is_no_pointwise_op_with_rows_does_not_run_in_blocks():
    graph = record(lambda x: x.clone().mul_(2).add(REGISTRY["add"](1, 2)), tensorlab.ones(2, 3))
    clone, write, numbers, add = calls_of(graph)
    found = [blocks.runs_in_blocks(node) for node in (clone, write, numbers, add)]
    assert found == [True, False, True, True]
    add.args = (clone, None)
    assert not blocks.runs_in_blocks(add)
    add.args = (clone, 3)
    assert blocks.runs_in_blocks(add)
    add.meta["val"] = tensorlab.empty_strided((2, 3), (6, 1), device="meta")
    assert not blocks.runs_in_blocks(add)


def test_views_and_fills_and_reductions_are_calls():
    def function(x):
        y = (x * 2 + 1).reshape(-1)
        z = y.exp() - tensorlab.full_like(y, 0.5)
        return (z * z).sum() + 1, z.softmax(0)

    steps = check(function, tensorlab.randn(8, 9))
    assert called(steps) == ["view", "full_like", "sum", "add", "softmax"]
    assert [one.names for one in groups_of(steps)] == ["mul, add", "exp, sub, mul"]


def test_a_view_between_two_ops_keeps_them_in_order():
    def function(x):
        y = x * 2
        z = y.t().exp()
        return y + z.t(), z

    steps = check(function, tensorlab.randn(5, 5))
    assert not groups_of(steps)[1:]


# ---------------------------------------------------------------- instructions
def test_results_that_are_read_again_are_outputs_once():
    group = check_group(lambda x: ((y := x.exp()), (z := y + y), y * z, z), tensorlab.randn(5000))
    assert len(group.outputs) == 3
    assert len(group.instructions) == 3
    assert not group.buffers


def test_a_value_is_computed_converted_and_gathered_once():
    half = tensorlab.randn(5000).to(tensorlab.float16)
    group = check_group(lambda x: ((y := x.exp()), y.tanh(), y * 2), half)
    kinds = [
        one[0] if one[0] in ("gather", "convert") else one[0].name for one in group.instructions
    ]
    there_and_back = ["gather", "exp", "convert", "convert", "tanh", "convert", "mul", "convert"]
    assert kinds == there_and_back
    group = check_group(lambda x: (x + 1, x * 0.5, x * 2), tensorlab.arange(9))
    assert len(group.inputs) == 1
    group = check_group(lambda x: (x.double() + 1, (x * 2).double() * 3), tensorlab.randn(9))
    assert sum(one[0] == "convert" for one in group.instructions) == 2
    assert len(group.instructions) == 5


def test_buffers_are_used_again_but_never_for_an_operand():
    def long(x):
        for _ in range(20):
            x = x * 1.5 + 0.25
        return x

    group = check_group(long, tensorlab.randn(100))
    assert group.buffers == 2
    for instruction in group.instructions:
        result, *others = instruction[2]
        assert result not in others

    def wide(x):
        parts = [x * k for k in range(2, 8)]
        return sum(parts[1:], parts[0])

    assert check_group(wide, tensorlab.randn(100)).buffers == 3
    kept = check_group(lambda x: (y := x * 2) * (z := y + 1) * (z + y) + y, tensorlab.randn(100))
    assert kept.buffers == 4


def test_what_nothing_needs_is_not_computed():
    group = check_group(lambda x: [(x + 1) * 2, x.exp()][:1], tensorlab.randn(9))
    assert group.names.startswith("add, mul")
    assert len(group.instructions) == 2


def test_long_programs_are_cut():
    def long(x):
        for _ in range(200):
            x = x * 1.01 + 0.25
        return x

    steps = groups_of(check(long, tensorlab.randn(300)))
    assert len(steps) > 5
    many = [tensorlab.randn(70) for _ in range(60)]
    steps = groups_of(check(lambda *all: sum(all[1:], all[0]), *many))
    assert len(steps) > 2


def program_of(seed, reductions):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # variances of one number
        return Program(seed, reductions)


@pytest.mark.filterwarnings("ignore:(var|std)")
@pytest.mark.parametrize("reductions", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_are_equal_to_the_last_bit(seed, reductions, monkeypatch):
    monkeypatch.setattr(blocks, "ROW_BYTES", [4096, 256, 133, 20][seed])
    found = 0
    for k in range(40):
        program = program_of(f"blocks {seed} {k}", reductions)
        got, steps = in_blocks(program, *program.inputs)
        found += len(groups_of(steps))
        for one, other in zip(got, program(*program.inputs), strict=True):
            assert same_bits(one, other), (seed, k)
    assert found > 20


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:(var|std)")
def test_three_thousand_random_programs_are_equal_to_the_last_bit():
    for seed in range(3000):
        program = program_of(f"more blocks {seed}", seed % 2 == 0)
        got, _ = in_blocks(program, *program.inputs)
        for one, other in zip(got, program(*program.inputs), strict=True):
            assert same_bits(one, other), seed
