"""Row kernels that go over several rows at once: short rows, and rows that run across memory."""

import math

import pytest

import tensorlab
from tensorlab.compiler.lowering import Call, Kernel
from tests.compiler.driver import compiled

F = tensorlab.nn.functional
FOLDS = {
    "sum": lambda x, dim: (x * 2).sum(dim),
    "mean": lambda x, dim: (x * 2).mean(dim, keepdim=True) + 1,
    "prod": lambda x, dim: (x.abs() * 0.1 + 0.95).prod(dim),
    "largest": lambda x, dim: (x * 2).amax(dim),
    "smallest": lambda x, dim: (x * 2).amin(dim) - 1,
    "any": lambda x, dim: (x > 1).any(dim),
    "all": lambda x, dim: (x > -1).all(dim),
    "count": lambda x, dim: (x > 0).count_nonzero(dim),
    "deep": lambda x, dim: (x * 2 - (x * 2).amax(dim, keepdim=True)).sum(dim),
    "elements": lambda x, dim: (x * 2) / (x * x).sum(dim, keepdim=True),
    "both": lambda x, dim: (x + 1, (x + 1).sum(dim), (x + 1).amax(dim) * 3),
}
SHAPES = {  # the shape, and the dimensions that are folded
    "short rows": ((150, 10), 1),
    "pairs": ((64, 2), 1),
    "rows of 48": ((65, 48), 1),
    "rows of rows": ((3, 50, 7), 2),
    "columns": ((40, 130), 0),
    "long columns": ((1100, 16), 0),
    "a dimension between": ((5, 30, 200), 1),
    "two dimensions": ((4, 6, 128), (0, 1)),
}


def is_side_by_side(steps):
    return [
        isinstance(step, Kernel) and "for (int64_t block = begin;" in step.source for step in steps
    ]


def check(function, *inputs, tolerance=1e-5):
    got, steps = compiled(function, *inputs)
    expected = function(*inputs)
    for one, other in zip(
        *([each] if isinstance(each, tensorlab.Tensor) else each for each in (got, expected)),
        strict=True,
    ):
        tensorlab.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert one.stride() == other.stride()
    return steps


# prod folds one dimension
CASES = [
    (fold, shape) for fold in FOLDS for shape in SHAPES if fold != "prod" or "two" not in shape
]


@pytest.mark.parametrize(("fold", "shape"), CASES)
def test_every_fold_of_every_kind_of_row(fold, shape):
    size, dims = SHAPES[shape]
    tensorlab.manual_seed(0)
    x = tensorlab.randn(size)
    steps = check(lambda x: FOLDS[fold](x, dims), x, tolerance=1e-4)
    is_divided = fold == "deep" and size[0] in (
        40,
        1100,
    )  # or the first pass would be computed again
    assert is_side_by_side(steps) == ([True, False] if is_divided else [True])


@pytest.mark.parametrize(
    "dtype", ["float64", "float16", "bfloat16", "int64", "int32", "uint8", "int8"]
)
@pytest.mark.parametrize("dim", [0, 1])
def test_every_type(dtype, dim):
    dtype = getattr(tensorlab, dtype)
    x = tensorlab.arange(-300, 300).reshape(30, 20).to(dtype)
    tolerance = {"float16": 1e-2, "bfloat16": 1e-1}.get(dtype.name, 1e-12)
    function = lambda x: ((x + 1).sum(dim), (x + 1).amax(dim), (x + 1).amin(dim))
    assert all(is_side_by_side(check(function, x, tolerance=tolerance)))


@pytest.mark.parametrize("dim", [0, 1])
def test_the_extremes_of_a_type_are_found(dim):
    for dtype, values in (
        (tensorlab.int8, (-128, 127)),
        (tensorlab.uint8, (0, 255)),
        (tensorlab.int32, (-(2**31), 2**31 - 1)),
        (tensorlab.int64, (-(2**63), 2**63 - 1)),
        (tensorlab.float32, (-math.inf, math.inf)),
        (tensorlab.float64, (math.nan, math.nan)),
    ):
        for value in values:
            x = tensorlab.full((20, 20), value, dtype=dtype)
            function = lambda x: (x.clone().amax(dim) + 0, x.clone().amin(dim) + 0)
            assert all(is_side_by_side(check(function, x, tolerance=0)))


@pytest.mark.parametrize("place", [0, 3, 29])
def test_a_nan_wins_wherever_it_is(place):
    x = tensorlab.randn(30, 20)
    x[place, 5] = math.nan
    for dim in (0, 1):
        check(lambda x, dim=dim: ((x * 2).amax(dim), (x * 2).amin(dim)), x)


@pytest.mark.parametrize("function", ["softmax", "log_softmax"])
def test_a_softmax_over_a_few_classes(function):
    call = lambda x, y: getattr(F, function)(x * y, -1)
    steps = check(call, tensorlab.randn(300, 10) * 30, tensorlab.randn(10))
    assert is_side_by_side(steps) == [True]
    x, y = tensorlab.randn(40, 5, requires_grad=True), tensorlab.randn(40, 5)
    check(lambda x, y: F.softmax(x, 1).var(1) + tensorlab.logsumexp(x + y, 1), x.detach(), y)


def test_operands_that_lack_a_dimension():
    x, row, column = tensorlab.randn(70, 9), tensorlab.randn(9), tensorlab.randn(70, 1)
    function = lambda x, row, column: (
        ((x * row) - column).sum(1),
        (x + column).amax(1, keepdim=True) * row,
    )
    assert all(is_side_by_side(check(function, x, row, column)))
    wide, row, column = tensorlab.randn(9, 70), tensorlab.randn(70), tensorlab.randn(9, 1)
    function = lambda x, row, column: ((x * row - column).sum(0) * row, (x + column).amax(0) + row)
    assert all(is_side_by_side(check(function, wide, row, column)))


def test_operands_with_gaps():
    x = tensorlab.randn(80, 30)
    for part in (x[:, ::3], x[:, 1:11], x[::2, :9]):
        assert any(is_side_by_side(check(lambda x: (x * 2).sum(1) + 1, part)))
    assert any(is_side_by_side(check(lambda x: (x * 2).sum(0) + 1, x[::4])))
    # neighbours of a column that lie apart, and one operand in each order
    assert not any(is_side_by_side(check(lambda x: (x * 2).sum(0) + 1, x[:, ::2])))
    square = tensorlab.randn(60, 60)
    steps = check(lambda x: (x.t() * x).sum(1) + 1, square)
    assert is_side_by_side(steps) == [False, True]


def test_a_long_sum_is_made_of_parts():
    x = tensorlab.full((4096, 16), 0.1) + tensorlab.arange(16.0) / 100
    exact = (x.double() * 1.5).sum(0)
    got, (kernel,) = compiled(lambda x: (x * 1.5).sum(0), x)
    assert "part_sum_1" in kernel.source
    assert ((got - exact).abs() / exact).max() < 2e-6
    for length in (63, 64, 65, 127, 128, 129):
        steps = check(lambda x: ((x * 1.5).sum(0), (x * 1.5).amax(0)), x[:length])
        assert is_side_by_side(steps) == [True]
        assert ("part_sum_1" in steps[0].source) == (length > 64)


def test_a_buffer_is_for_what_a_later_loop_needs():
    x = tensorlab.randn(100, 10)
    (kept,) = check(lambda x: F.softmax(x * 2, 1), x)
    assert kept.source.count("expf(") == 1
    assert "buffer" in kept.source
    (folded,) = check(lambda x: (x * 2).sum(1), x)
    assert "buffer" not in folded.source


def test_what_is_left_to_other_kernels():
    many, few = tensorlab.randn(3000, 40), tensorlab.randn(15, 10)
    long = tensorlab.randn(100, 49)
    assert not any(
        is_side_by_side(check(lambda x: (x * 2).sum(0), many, tolerance=1e-3))
    )  # one block of much work
    assert not any(is_side_by_side(check(lambda x: (x * 2).sum(1), few)))
    assert not any(is_side_by_side(check(lambda x: (x * 2).sum(1), long)))
    assert any(is_side_by_side(check(lambda x: (x * 2).sum(1), tensorlab.randn(16, 10))))
    steps = check(
        lambda x: F.softmax(x * 2, 0), tensorlab.randn(20, 30)
    )  # exp would be computed twice
    assert isinstance(steps[-1], Call)


def test_work_is_divided_among_threads_and_gives_the_same():
    x = tensorlab.randn(700, 1024)
    before = tensorlab.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            tensorlab.set_num_threads(threads)
            (got, (kernel,)) = compiled(lambda x: (x * 2).sum(0), x)
            found.append(got)
    finally:
        tensorlab.set_num_threads(before)
    assert (kernel.count, kernel.grain) == (8, 1)
    assert tensorlab.equal(*found)
    (rows,) = check(lambda x: (x * 2).sum(1), tensorlab.randn(5000, 10))
    assert rows.count == 79
    assert 50 < rows.grain < 120


def test_rows_between_dimensions_that_do_not_merge():
    x, y = tensorlab.randn(3, 4, 5, 20), tensorlab.randn(4, 3, 5, 20).transpose(0, 1)
    assert all(is_side_by_side(check(lambda x, y: (x * y).sum(2), x, y)))
