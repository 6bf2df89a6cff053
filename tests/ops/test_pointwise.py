"""What the samples cannot say of pointwise ops: errors, integer corners, operators, kinks."""

import itertools
import math
import operator

import numpy as np
import pytest
import scipy.special
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.errors import DivisionByZero, DTypeError, ShapeError, UnsupportedDType
from tests.ops.agreement import agree
from tests.oracle import require_torch

torch = require_torch()

NAN, INF = float("nan"), float("inf")


def both(numbers, dtype="float32"):
    """The same tensor of both packages."""
    return (
        tensorlab.tensor(numbers, dtype=getattr(tensorlab, dtype)),
        torch.tensor(numbers, dtype=getattr(torch, dtype)),
    )


def assert_agree(ours, theirs):
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    tolerance = 1e-3 if ours.dtype is tensorlab.float16 else 1e-5
    np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=tolerance, atol=1e-6)


def gradient(T, call, numbers):
    x = T.tensor(numbers, requires_grad=True)
    y = call(T, x)
    y.backward(T.ones_like(y))
    return x.grad


# ------------------------------------------------------------------------------------------------ operators
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
@pytest.mark.parametrize("number", [3, 2.5, True])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16"])
def test_operators_take_numbers_on_both_sides(name, number, dtype):
    function = getattr(operator, name)
    ours, theirs = both([1, 2, 5], dtype)
    for call in (lambda x: function(x, number), lambda x: function(number, x)):
        try:
            expected = call(theirs)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                call(ours)
        else:
            assert_agree(call(ours), expected)


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("number", [3, True])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_bit_operators_take_numbers_on_both_sides(name, number, dtype):
    function = getattr(operator, name)
    ours, theirs = both([1, 0, 1], dtype)
    for call in (lambda x: function(x, number), lambda x: function(number, x)):
        try:
            expected = call(theirs)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                call(ours)
        else:
            assert_agree(call(ours), expected)


@pytest.mark.parametrize("name", ["i" + name for name in BINARY + BITS])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_augmented_operators_write_over_their_left_side(name, dtype):
    name = name.replace("iand_", "iand").replace("ior_", "ior")
    function = getattr(operator, name)
    ours, theirs = both([4, 2, 5], dtype)
    try:
        expected = function(theirs, 2)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            function(ours, 2)
        return
    assert function(ours, 2) is ours
    assert_agree(ours, expected)


@pytest.mark.parametrize("name", BINARY + BITS + ["lt", "ge"])
def test_operators_refuse_foreign_objects(name):
    x = tensorlab.tensor([1, 2])
    for other in ({}, None, object()):
        with pytest.raises(TypeError):
            getattr(operator, name)(x, other)
        with pytest.raises(TypeError):
            getattr(operator, name)(other, x)


def test_equality_with_foreign_objects_is_false():
    x = tensorlab.tensor([1, 2])
    assert (x == None) is False  # noqa: E711
    assert (x == "a") is False
    assert (x != "a") is True


def test_a_foreign_operand_may_define_the_reflected_operator():
    class Foreign:
        def __radd__(self, other):
            return "reflected"

    assert tensorlab.tensor([1.0]) + Foreign() == "reflected"


# ------------------------------------------------------------------------------------------------ integers
@pytest.mark.parametrize(
    "call",
    [
        lambda T, x, y: x // y,
        lambda T, x, y: x % y,
        lambda T, x, y: T.fmod(x, y),
        lambda T, x, y: T.div(x, y, rounding_mode="trunc"),
        lambda T, x, y: x.floor_divide_(y),
        lambda T, x, y: x.remainder_(y),
        lambda T, x, y: x.fmod_(y),
        lambda T, x, y: x.div_(y, rounding_mode="floor"),
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
def test_integers_refuse_to_divide_by_zero_and_stay_as_they_are(call, dtype):
    x = tensorlab.tensor([5, 6], dtype=getattr(tensorlab, dtype))
    for y in (
        tensorlab.tensor([1, 0], dtype=x.dtype),
        tensorlab.tensor(0, dtype=x.dtype),
        0,
        False,
    ):
        with pytest.raises(RuntimeError):
            call(tensorlab, x, y)
        with pytest.raises(DivisionByZero):
            call(tensorlab, x, y)
        assert x.tolist() == [5, 6]


def test_a_divisor_that_would_wrap_to_zero_is_refused():
    with pytest.raises(DTypeError, match="256 does not fit"):
        tensorlab.tensor([1], dtype=tensorlab.uint8) // 256


def test_an_empty_tensor_may_be_divided_by_zero():
    x = tensorlab.zeros(0, dtype=tensorlab.int64)
    assert (x // 0).tolist() == []


@pytest.mark.parametrize(
    "dtype, low", [("int64", -(2**63)), ("int32", -(2**31)), ("int16", -(2**15)), ("int8", -128)]
)
def test_the_smallest_integer_divided_by_minus_one_wraps(dtype, low):
    x = tensorlab.tensor([low], dtype=getattr(tensorlab, dtype))
    y = tensorlab.tensor([-1], dtype=x.dtype)
    assert (x // y).tolist() == [low]
    assert tensorlab.div(x, y, rounding_mode="trunc").tolist() == [low]
    assert (x % y).tolist() == [0]
    assert tensorlab.fmod(x, y).tolist() == [0]
    assert tensorlab.gcd(x, y).tolist() == [1]
    assert (-x).tolist() == abs(x).tolist() == [low]


@pytest.mark.parametrize("name", ["floordiv", "mod"])
def test_whole_division_follows_python_for_all_signs(name):
    function = getattr(operator, name)
    for a in (7, -7, 6, -6, 0):
        for b in (3, -3, 7, -1):
            assert function(tensorlab.tensor(a), b).item() == function(a, b)
            assert function(tensorlab.tensor(float(a)), b).item() == function(float(a), float(b))


def test_unsigned_integers_wrap():
    x = tensorlab.tensor([1, 200], dtype=tensorlab.uint8)
    assert (x + 100).tolist() == [101, 44]
    assert (x * 2).tolist() == [2, 144]
    assert (-x).tolist() == [255, 56]
    assert (x**2).tolist() == [1, 64]


def test_integers_divide_to_floats():
    ours, theirs = both([1, 2], "int64")
    assert_agree(ours / 2, theirs / 2)
    with pytest.raises(RuntimeError):
        ours.div_(2)


@pytest.mark.parametrize(
    "base, exponent", [([2, -1, 1, 0], [-1, -3, -2, -2]), ([3, -2, 0], [3, 5, 0])]
)
def test_integer_powers_by_tensors(base, exponent):
    ours, theirs = both(base, "int64")
    our_exponent, their_exponent = both(exponent, "int64")
    assert_agree(ours**our_exponent, theirs**their_exponent)


def test_integers_have_no_negative_powers():
    for dtype in (tensorlab.int64, tensorlab.uint8, tensorlab.bool):
        with pytest.raises(DTypeError, match="^pow: .*negative"):
            tensorlab.tensor([1, 2], dtype=dtype) ** -1
    with pytest.raises(DTypeError, match="^pow_: "):
        tensorlab.tensor([1, 2]).pow_(-2)


def test_shifts_by_too_much_leave_nothing_or_the_sign():
    for dtype in ("int64", "int32", "int16", "int8", "uint8"):
        numbers = [1, 5, 100] if dtype == "uint8" else [1, -5, 100]
        ours, theirs = both(numbers, dtype)
        for n in (0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 100):
            assert_agree(ours << n, theirs << n)
            assert_agree(ours >> n, theirs >> n)
        if dtype != "uint8":
            assert_agree(ours << -1, theirs << -1)
            assert_agree(ours >> -1, theirs >> -1)


# ------------------------------------------------------------------------------------------------ long rows
UNARY = [
    name
    for name, op in REGISTRY.items()
    if op.is_pointwise and str(op.schema).partition("(")[2] == "Tensor x) -> Tensor"
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_a_long_row_has_the_values_of_its_parts(name, dtype):
    x = tensorlab.linspace(-3, 3, 5000, dtype=getattr(tensorlab, dtype))
    try:
        whole = REGISTRY[name](x)
    except DTypeError:
        pytest.skip("is not defined for floating numbers")
    parts = tensorlab.cat([REGISTRY[name](part) for part in x.split(37)])
    np.testing.assert_allclose(whole.numpy(), parts.numpy(), rtol=1e-6, atol=1e-7)


# ------------------------------------------------------------------------------------------------ bools and types
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x - x,
        lambda x: x - True,
        lambda x: 1 - x,
        lambda x: x.sub_(x),
        lambda x: operator.isub(x, x),
        lambda x: operator.isub(x, True),
        lambda x: operator.isub(x.to(tensorlab.float32), x),
        lambda x: -x,
        lambda x: +x,
        lambda x: x.neg_(),
        lambda x: abs(x),
        lambda x: tensorlab.floor(x),
        lambda x: tensorlab.relu(x),
        lambda x: x // x,
        lambda x: tensorlab.addcmul(x, x, x),
    ],
)
def test_bools_refuse_what_has_no_meaning_for_them(call):
    with pytest.raises(DTypeError):
        call(tensorlab.tensor([True, True]))


@pytest.mark.parametrize("other", [True, tensorlab.tensor([True, False])])
def test_bools_are_not_subtracted_and_the_error_says_what_to_write(other):
    x = tensorlab.tensor([True, True])
    for name in ("__sub__", "__rsub__", "__isub__", "sub", "sub_"):
        with pytest.raises(DTypeError, match=r"bools cannot be subtracted. Use ~x"):
            getattr(x, name)(other)
    assert x.tolist() == [True, True]


def test_a_factor_must_fit_the_type_of_the_result():
    x = tensorlab.tensor([1, 2])
    with pytest.raises(DTypeError, match="^add: alpha is 1.5"):
        tensorlab.add(x, x, alpha=1.5)
    with pytest.raises(DTypeError, match="^add: alpha is True"):
        tensorlab.add(x, x, alpha=True)
    assert tensorlab.add(x > 1, x > 1, alpha=2).tolist() == [False, True]


@pytest.mark.parametrize(
    "call",
    [
        lambda F, x: F.leaky_relu(x),
        lambda F, x: F.elu(x),
        lambda F, x: F.gelu(x),
        lambda F, x: F.softplus(x),
        lambda F, x: F.hardshrink(x),
        lambda F, x: F.silu(x),
    ],
)
def test_activations_refuse_integers(call):
    with pytest.raises(UnsupportedDType):
        call(tensorlab.nn.functional, tensorlab.tensor([1, 2]))


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: x + tensorlab.ones(5), ShapeError, r"^add: shapes .*\(3,\).*\(5,\)"),
        (lambda x: x.add_(tensorlab.ones(2, 3)), ShapeError, r"^add_: "),
        (lambda x: tensorlab.add(x, "a"), TypeError, r"^add: argument"),
        (lambda x: tensorlab.clamp(x), RuntimeError, r"^clamp: min and max are both None"),
        (lambda x: tensorlab.where(x, x, x), DTypeError, r"^where: condition is tensorlab.float32"),
        (
            lambda x: x.masked_fill(x > 0, tensorlab.ones(2)),
            ShapeError,
            r"^masked_fill: value has shape",
        ),
        (lambda x: x.masked_fill(x, 1), DTypeError, r"^masked_fill: mask is"),
        (lambda x: ~x, TypeError, r"^bitwise_not: "),
        (lambda x: x & 1, UnsupportedDType, r"^bitwise_and: not implemented"),
        (
            lambda x: tensorlab.div(x, 2, rounding_mode="up"),
            RuntimeError,
            r"^div: rounding_mode is 'up'",
        ),
        (lambda x: tensorlab.lerp(x, x.double(), 0.5), DTypeError, r"^lerp: input is"),
        (lambda x: tensorlab.isclose(x, x.double()), DTypeError, r"^isclose: input is"),
        (lambda x: x.float_power_(2), DTypeError, r"^float_power_: "),
    ],
)
def test_errors_name_the_op_and_what_was_given(call, error, text):
    with pytest.raises(error, match=text):
        call(tensorlab.tensor([1.0, 2.0, 3.0]))


# ------------------------------------------------------------------------------------------------ kinks, nan and inf
KINKS = {
    "relu": lambda T, x: T.relu(x),
    "abs": lambda T, x: x.abs(),
    "sqrt": lambda T, x: x.sqrt(),
    "pow half": lambda T, x: x**0.5,
    "pow 0": lambda T, x: x**0,
    "pow 1": lambda T, x: x**1,
    "pow 2": lambda T, x: x**2,
    "pow tensor 0": lambda T, x: x ** T.tensor([0.0, 0.0, 0.0, 0.0]),
    "pow tensor 1": lambda T, x: x ** T.tensor([1.0, 2.0, 1.5, 3.0]),
    "0 to the x": lambda T, x: 0 ** x.abs(),
    "tensor to the x": lambda T, x: T.tensor([0.0, 0.0, 1.0, 2.0]) ** x,
    "clamp": lambda T, x: x.clamp(0, 1),
    "clamp_min": lambda T, x: x.clamp_min(1),
    "clamp_max": lambda T, x: x.clamp_max(0),
    "maximum": lambda T, x: T.maximum(x, T.tensor([0.0, 0.0, 1.0, 0.0])),
    "minimum": lambda T, x: T.minimum(x, T.tensor([0.0, 0.0, 1.0, 0.0])),
    "floor": lambda T, x: T.floor(x),
    "round": lambda T, x: T.round(x),
    "sign": lambda T, x: T.sign(x),
    "atan2": lambda T, x: T.atan2(x, T.zeros(4)),
    "xlogy": lambda T, x: T.xlogy(x.abs(), x.abs()),
    "hypot": lambda T, x: T.hypot(x, T.zeros(4)),
}


@pytest.mark.parametrize("name", KINKS)
def test_derivatives_at_kinks_are_those_of_pytorch(name):
    numbers = [0.0, -0.0, 1.0, -1.0]
    ours = gradient(tensorlab, KINKS[name], numbers)
    theirs = gradient(torch, KINKS[name], numbers)
    np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-6)


@pytest.mark.parametrize(
    "exponent", [0, 0.5, -0.5, 1, 2, 3, -1, -2, 1.5, -3, 2.5, NAN, INF, -INF, 1e30]
)
def test_powers_of_special_numbers(exponent):
    numbers = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, INF, -INF, NAN, 1e-40, 3e38, -1e-3]
    ours, theirs = both(numbers)
    np.testing.assert_allclose((ours**exponent).tolist(), (theirs**exponent).tolist(), rtol=2e-6)
    expected = torch.pow(theirs, torch.full_like(theirs, exponent))
    result = tensorlab.pow(ours, tensorlab.tensor([exponent] * len(numbers), dtype=ours.dtype))
    np.testing.assert_allclose(result.tolist(), expected.tolist(), rtol=2e-6)


ELEMENTARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sigmoid",
    "tanh",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "acosh",
    "atanh",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "erf",
    "erfc",
    "erfinv",
    "logit",
    "sinc",
    "frac",
    "trunc",
    "round",
    "nan_to_num",
    "lgamma",
    "square",
    "neg",
    "abs",
    "sign",
    "signbit",
    "angle",
]


@pytest.mark.parametrize("name", ELEMENTARY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementary_functions_of_special_numbers(name, dtype):
    numbers = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        1e-30,
        -1e-30,
        20.0,
        -20.0,
        88.0,
        -88.0,
        100.0,
        -104.0,
        1000.0,
    ]
    numbers += [-1000.0, INF, -INF, NAN, 3e38, -3e38]
    if name == "frac":
        numbers = [
            x for x in numbers if math.isfinite(x)
        ]  # of inf PyTorch's depends on the position
    if name == "sinc":
        numbers = [x for x in numbers if abs(x) != 3e38]  # PyTorch's product with pi overflows
    ours, theirs = both(numbers, dtype)
    result, expected = getattr(tensorlab, name)(ours), getattr(torch, name)(theirs)
    tolerance = 3e-6 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(result.tolist(), expected.tolist(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [*ELEMENTARY, "remainder", "fmod", "floor_divide"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_many_numbers_give_what_few_at_a_time_give(name, dtype):
    """Some loops go through long rows block by block."""
    rng = np.random.default_rng(0)
    x = tensorlab.tensor(rng.uniform(0.5, 9, 1003).astype(dtype))
    if name in {"asin", "acos", "atanh", "erfinv", "logit"}:
        x = x / 10
    y = tensorlab.tensor(rng.uniform(1, 4, 1003).astype(dtype))
    function = getattr(tensorlab, name)
    operands = [x] if name in ELEMENTARY else [x, y]
    if dtype.startswith("int") and name == "frac":
        pytest.skip("of floats only")
    few = [function(*(one[i : i + 59] for one in operands)) for i in range(0, 1003, 59)]
    result = function(*operands)
    np.testing.assert_allclose(
        result.tolist(), tensorlab.cat(few).tolist(), rtol=1e-6 if dtype != "float64" else 1e-13
    )


@pytest.mark.parametrize(("dtype", "bits"), [("float32", "uint32"), ("float64", "uint64")])
def test_neighbours_are_those_of_numpy(dtype, bits):
    rng = np.random.default_rng(0)
    x = rng.integers(0, np.iinfo(bits).max, 4000, bits, endpoint=True).view(dtype)
    ends = np.array([0, -0.0, INF, -INF, NAN, 1, -1], dtype)
    ends = np.concatenate([ends, np.nextafter(ends[:4], ends[5])])
    one, other = np.concatenate(
        [[x, rng.permutation(x)], np.stack(np.meshgrid(ends, ends)).reshape(2, -1)], 1
    )
    with np.errstate(all="ignore"):
        expected = np.nextafter(one, other)
    result = tensorlab.nextafter(tensorlab.tensor(one), tensorlab.tensor(other)).numpy()
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(
        np.signbit(result)[expected == 0], np.signbit(expected)[expected == 0]
    )


@pytest.mark.parametrize("most", [1.0, 8.0, 90.0])
@pytest.mark.parametrize("unusual", [[], [-2.0, 0.0, INF, NAN]])
def test_float32_powers_round_once(most, unusual):
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.uniform(-80, 80, 700)), unusual]).astype(np.float32)
    y = rng.uniform(-most, most, x.size).astype(np.float32)
    result = tensorlab.pow(tensorlab.tensor(x), tensorlab.tensor(y)).numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_max_ulp(result, np.power(x.astype(float), y).astype(np.float32), 1)


@pytest.mark.parametrize("name", ["digamma", "lgamma", "erfinv", "i0"])
def test_special_functions_over_their_range(name):
    numbers = np.linspace(-0.99, 0.99, 67) if name == "erfinv" else np.linspace(-7.3, 40, 117)
    ours, theirs = both(numbers.tolist(), "float64")
    result, expected = getattr(tensorlab, name)(ours), getattr(torch, name)(theirs)
    np.testing.assert_allclose(result.tolist(), expected.tolist(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_ndtr_keeps_its_digits_where_it_is_small(dtype, tolerance):
    numbers = np.linspace(-12, 9, 85)
    ours, theirs = both(numbers.tolist(), dtype)
    result = tensorlab.special.ndtr(ours)
    np.testing.assert_allclose(result.tolist(), scipy.special.ndtr(numbers), rtol=tolerance)
    np.testing.assert_allclose(
        result.tolist(), torch.special.ndtr(theirs).tolist(), rtol=0, atol=3e-7
    )


def test_ndtr_writes_to_out_and_refuses_what_needs_a_gradient():
    agree(lambda T: (out := T.zeros(2), T.special.ndtr(T.tensor([-0.5, 2.0]), out=out)), 1e-6)
    x, out = tensorlab.ones(2, requires_grad=True), tensorlab.zeros(2)
    with pytest.raises(RuntimeError, match="^ndtr"):
        tensorlab.special.ndtr(x, out=out)


@pytest.mark.parametrize(
    ("number", "expected"), [(INF, 1), (-INF, 0), (NAN, NAN), (0.0, 0.5), (40.0, 1), (-40.0, 0)]
)
def test_ndtr_of_special_numbers(number, expected):
    ours, theirs = both([number], "float64")
    assert tensorlab.special.ndtr(ours).tolist() == pytest.approx([expected], nan_ok=True)
    assert torch.special.ndtr(theirs).tolist() == pytest.approx([expected], nan_ok=True)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_polygamma_over_its_range(order):
    ours, theirs = both(np.linspace(0.1, 40, 101).tolist(), "float64")
    result, expected = tensorlab.polygamma(order, ours), torch.polygamma(order, theirs)
    np.testing.assert_allclose(result.tolist(), expected.tolist(), rtol=1e-8)


# ------------------------------------------------------------------------------------------------ what is saved
def test_only_what_a_derivative_needs_is_saved():
    x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    factor = tensorlab.tensor([3.0, 4.0])
    y = x + factor
    factor.add_(1)  # add saves nothing
    y.backward(tensorlab.ones(2))
    y = x * factor
    factor.add_(1)  # mul saves the factor
    with pytest.raises(RuntimeError):
        y.backward(tensorlab.ones(2))


def test_a_gradient_is_summed_over_broadcast_axes():
    x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    y = x * tensorlab.ones(3, 2)
    y.backward(tensorlab.ones(3, 2))
    assert x.grad.tolist() == [3.0, 3.0]


def test_equal_compares_shapes_and_values():
    x = tensorlab.tensor([1, 2])
    assert tensorlab.equal(x, tensorlab.tensor([1.0, 2.0]))
    assert not tensorlab.equal(x, tensorlab.tensor([[1, 2]]))
    assert not tensorlab.equal(x, tensorlab.tensor([1, 3]))
    assert x.allclose(tensorlab.tensor([1, 2]))
    assert not tensorlab.allclose(tensorlab.tensor([NAN]), tensorlab.tensor([NAN]))
    assert tensorlab.allclose(tensorlab.tensor([NAN]), tensorlab.tensor([NAN]), equal_nan=True)


def test_positive_is_the_tensor_itself():
    x = tensorlab.tensor([1.0])
    assert +x is x


# ------------------------------------------------------------------------------------------------ rests
@pytest.mark.parametrize("largest", [3, 2**12, 2**23, 2**30])
def test_the_rest_of_a_float_division_is_exact(largest):
    rng = np.random.default_rng(largest)
    divisor = rng.uniform(0.5, 2, 3000).astype("float32") * rng.choice([-1, 1], 3000).astype(
        "float32"
    )
    number = (divisor.astype("float64") * rng.integers(-largest, largest, 3000)).astype("float32")
    number[::3] = np.nextafter(
        number[::3], np.float32(np.inf)
    )  # next to a multiple, on either side
    number[1::3] = np.nextafter(number[1::3], np.float32(-np.inf))
    x, y = tensorlab.tensor(number), tensorlab.tensor(divisor)
    np.testing.assert_array_equal(tensorlab.fmod(x, y).numpy(), np.fmod(number, divisor))
    np.testing.assert_array_equal((x % y).numpy(), np.mod(number, divisor))
    expected = torch.tensor(number) // torch.tensor(divisor)
    np.testing.assert_array_equal((x // y).numpy(), expected.numpy())


def test_the_rest_of_a_division_by_infinity_is_the_number():
    x, y = tensorlab.tensor([1.0, -2.0, 0.0]), tensorlab.full((3,), float("inf"))
    assert tensorlab.fmod(x, y).tolist() == [1, -2, 0]
    assert (x % y).tolist() == [1, float("inf"), 0]
    assert (x // y).tolist() == [0, -1, 0]


def pairs_whose_quotient_rounds(rng, n):
    """Pairs (x, y) of float64 with quotients below 2**53, many of which round up to a whole number."""
    y = rng.standard_normal(n) * 2.0 ** rng.integers(-900, 900, n)
    whole = y * rng.integers(-(2**52), 2**52, n)
    bits = rng.integers(2**52, 2**62, n)
    tiny = rng.integers(0, 2**50, n)
    yield np.nextafter(whole, rng.choice([-INF, INF], n)), y
    yield y * rng.integers(-9, 9, n), y
    yield bits.view(np.float64), (bits + rng.integers(-3, 4, n)).view(np.float64)
    yield tiny.view(np.float64), -(tiny // 7 + 1).view(np.float64)


@pytest.mark.parametrize("is_huge", [False, True])
def test_the_rest_of_a_float64_division_is_exact(is_huge):
    """In blocks with and without a quotient for which libm must be asked."""
    for x, y in pairs_whose_quotient_rounds(np.random.default_rng(0), 4000):
        good = (np.abs(x / y) < 2.0**53) & np.isfinite(x) & np.isfinite(y)
        x, y = x[good], y[good]
        if is_huge:
            x[::100] = 1e300
        came = tensorlab.fmod(tensorlab.from_numpy(x), tensorlab.from_numpy(y)).numpy()
        wanted = np.fmod(x, y)
        assert len(x) > 2000
        np.testing.assert_array_equal(came, wanted)
        np.testing.assert_array_equal(np.signbit(came), np.signbit(wanted))


@pytest.mark.parametrize("shape", [(0, 1), (0, 1, 2), (2, 0, 1), (1, 0, 1), (1, 1, 0)])
def test_strides_of_empty_results_with_a_number(shape):
    agree(
        lambda T: (T.zeros(shape) + 1, 1 - T.zeros(shape), T.zeros(shape) < 1, T.zeros(shape).exp())
    )


# ------------------------------------------------------------------------------------------------ numbers only
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "floor_divide"])
@pytest.mark.parametrize("operands", [(7, 2), (2.5, 2), (2, 0.5)])
def test_arithmetic_of_two_numbers_is_a_0d_tensor(name, operands):
    agree(lambda T: getattr(T, name)(*operands))


@pytest.mark.parametrize("name", ["remainder", "pow", "bitwise_xor", "bitwise_left_shift", "xlogy"])
def test_other_functions_refuse_two_numbers(name):
    for T in (tensorlab, torch):
        with pytest.raises(TypeError):
            getattr(T, name)(7, 2)


@pytest.mark.parametrize("x", [0.0, 1e-30, -1e-25, 1e-200, 1e-4, 0.5])
def test_the_slope_of_sinc_is_a_number_near_zero(x):
    def slope(T):
        at = T.tensor([x], dtype=T.float64 if abs(x) < 1e-40 else T.float32, requires_grad=True)
        T.sinc(at).sum().backward()
        return at.grad

    agree(slope, tolerance=1e-6)
    assert math.isfinite(slope(tensorlab).item())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.exp_(1, 2), r"exp_\(\) takes exactly 1 "),
        (lambda x: x.fmod_("text"), "fmod: argument 'y' must be a Tensor or a number, not str"),
        (lambda x: x.atan2_(x, 3), r"atan2_\(\) takes exactly 2 "),
        (lambda x: x.atan2_("text"), "Argument 'other' has incorrect type"),
    ],
)
def test_errors_of_in_place_functions_name_the_function(call, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        call(tensorlab.ones(1))


# ------------------------------------------------------------------------------------------------ scaled sums
SCALED_SUMS = {
    "addcmul": lambda T, x, a, b: T.addcmul(x, a, b),
    "addcmul, value": lambda T, x, a, b: T.addcmul(x, a, b, value=0.3),
    "addcmul_": lambda T, x, a, b: x.clone().addcmul_(a, b, value=-0.7),
    "addcdiv": lambda T, x, a, b: T.addcdiv(x, a, b, value=0.3),
    "add": lambda T, x, a, b: T.add(x, a, alpha=0.3),
    "add_": lambda T, x, a, b: x.clone().add_(a, alpha=0.3),
    "sub": lambda T, x, a, b: T.sub(x, a, alpha=0.3),
    "rsub": lambda T, x, a, b: T.rsub(x, a, alpha=0.3),
    "lerp near": lambda T, x, a, b: T.lerp(x, a, 0.2),
    "lerp far": lambda T, x, a, b: T.lerp(x, a, 0.7),
    "lerp, half way": lambda T, x, a, b: T.lerp(x, a, 0.5),
    "lerp by tensors": lambda T, x, a, b: T.lerp(x, a, b),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_product_that_is_added_is_not_rounded_before(dtype):
    """A rounded square is subtracted from the exact one, so what remains is the rounding error."""
    tiny = {"float32": 2.0**-12, "float64": 2.0**-30}[dtype]
    x = tensorlab.full((19,), 1 + tiny, dtype=getattr(tensorlab, dtype))
    rounded = x * x
    for error in (
        (-rounded).addcmul(x, x),
        (-rounded).add(x, alpha=1 + tiny),
        rounded.sub(x, alpha=1 + tiny).neg(),
        tensorlab.rsub(x, rounded, alpha=1 + tiny).neg(),
    ):
        assert error.tolist() == [tiny**2] * 19
    assert tensorlab.tensor(3).addcmul(tensorlab.tensor(5), tensorlab.tensor(7), value=2) == 73


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SCALED_SUMS)
def test_scaled_sums_are_those_of_pytorch_to_the_last_bit(name, dtype):
    numbers = np.random.default_rng(0).normal(size=(3, 2, 83))

    def program(T, layout):
        x, a, b = T.tensor(numbers.tolist(), dtype=getattr(T, dtype))
        return SCALED_SUMS[name](T, *(layout(one) for one in (x, a, b)))

    for layout in (lambda x: x[0], lambda x: x.t()[:, 0], lambda x: x.t().contiguous()[:, 0]):
        assert program(tensorlab, layout).tolist() == program(torch, layout).tolist()


# ------------------------------------------------------------------------------------------------ layout of results
@pytest.mark.parametrize(
    "call",
    [
        lambda T, x, y: x + y,
        lambda T, x, y: x < y,
        lambda T, x, y: T.where(y > 0, x, y),
        lambda T, x, y: x / y,
        lambda T, x, y: x.sin(),
        lambda T, x, y: x * 2.5,
        lambda T, x, y: x.clamp(0.5),
        lambda T, x, y: T.addcmul(x, y, x),
        lambda T, x, y: y.double().add_(x),
    ],
)
def test_what_is_cast_has_no_gaps_when_the_layout_of_the_result_is_chosen(call):
    """PyTorch casts an operand to the promoted type before it looks at strides."""
    views = [
        lambda T, x: x,
        lambda T, x: x.permute(1, 2, 0)[..., :1].expand(4, 2, 3).permute(2, 0, 1),
        lambda T, x: x[:, :1].expand(3, 4, 2),
        lambda T, x: x.unfold(0, 2, 1)[:1].permute(3, 1, 2, 0)[1:, :, :, 0],
        lambda T, x: T.stack([x, x], -1)[..., 0].transpose(0, 1).contiguous().transpose(0, 1),
        lambda T, x: T.stack([x, x], -1).transpose(0, 2)[0].transpose(0, 1)[..., :1],
        lambda T, x: x[:, :, 0].t()[:, None].diagonal(0, 0, 2),
    ]

    def strides(T, view, other, dtype, other_dtype):
        x = view(T, T.arange(24).reshape(3, 4, 2)).to(getattr(T, dtype), copy=False)
        y = other(T, T.arange(24).to(getattr(T, other_dtype)).reshape(3, 4, 2) - 5)
        try:
            return call(T, x, y).stride()
        except RuntimeError:
            return "raises"

    for view in views:
        for other in views:
            for types in (("int64", "float64"), ("int64", "int64"), ("int64", "float32")):
                assert strides(tensorlab, view, other, *types) == strides(
                    torch, view, other, *types
                )


ORDERS = [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)]


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "sub",
        "mul",
        "div",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "atan2",
        "hypot",
        "remainder",
        "logaddexp",
    ],
)
def test_gradients_lie_in_memory_as_those_of_pytorch(name):
    def strides(T, *orders):
        x, y, grad = (
            (T.arange(24.0) * step % 7 + 1)
            .reshape([(2, 3, 4)[i] for i in order])
            .permute([order.index(i) for i in range(3)])
            for step, order in zip((3, 5, 2), orders, strict=True)
        )
        operands = x.requires_grad_(), y.requires_grad_()
        out = getattr(T, name)(*operands)
        return [one.stride() for one in (out, *T.autograd.grad(out, operands, grad))]

    for orders in itertools.product(ORDERS, ORDERS, ORDERS[:2]):
        assert strides(tensorlab, *orders) == strides(torch, *orders), orders


@pytest.mark.parametrize("n", [1, 255, 256, 257, 512, 700, 4096, 4097])
def test_a_number_is_a_row_of_that_number(n):
    rng = np.random.default_rng(n)
    for dtype in (tensorlab.float32, tensorlab.float64, tensorlab.complex64):
        x = tensorlab.tensor(rng.standard_normal(n) * 3, dtype=dtype)
        row = tensorlab.full_like(x, 1.75)
        for name in ("add", "sub", "mul", "div", "eq"):
            run = getattr(operator, {"div": "truediv"}.get(name, name))
            assert run(x, 1.75).equal(run(x, row)), (name, dtype)
            if (
                name != "div"
            ):  # a number is divided by multiplying with the reciprocal, as in PyTorch
                assert run(1.75, x).equal(run(row, x)), (name, dtype)
        assert x.clone().mul_(1.75).equal(x * row)
