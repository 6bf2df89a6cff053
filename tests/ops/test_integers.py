"""Operators of integers, bools and Python numbers at the bounds of each type, next to PyTorch."""

import itertools

import pytest

import tensorlab as T
from tests.ops.agreement import agree

BOUNDS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1)} | {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "bool": (0, 1),
}
BINARY = """add sub mul true_divide floor_divide remainder fmod pow maximum minimum fmax fmin gcd lcm
    bitwise_and bitwise_or bitwise_xor eq ne lt le gt ge logical_and logical_or logical_xor
    copysign heaviside float_power"""
UNARY = """abs neg sign sgn square reciprocal sqrt positive ceil floor trunc round frac bitwise_not logical_not
    isnan isinf isfinite signbit relu exp sigmoid"""
CALLS = {name: lambda T, x, y, name=name: getattr(T, name)(x, y) for name in BINARY.split()} | {
    "rsub": lambda T, x, y: T.rsub(x, y),
    "trunc": lambda T, x, y: T.div(x, y, rounding_mode="trunc"),
    "floor": lambda T, x, y: T.div(x, y, rounding_mode="floor"),
    "scaled sum": lambda T, x, y: T.add(x, y, alpha=3),
    "scaled difference": lambda T, x, y: T.sub(x, y, alpha=3),
    "addcmul": lambda T, x, y: T.addcmul(x, y, y, value=2),
    "clamp": lambda T, x, y: T.clamp(x, y, y),
    "where": lambda T, x, y: T.where(x > 0, x, y),
}
DIVISIONS = ("floor_divide", "remainder", "fmod", "trunc", "floor")


def numbers_of(dtype):
    low, high = BOUNDS[dtype]
    if dtype == "bool":
        return [0, 1]
    return sorted({low, low + 1, high - 1, high} | {n for n in range(-3, 10) if low <= n <= high})


def pairs(T, dtype, can_divide):
    """Every pair of numbers, as two tensors. The smallest divided by -1 ends the process in PyTorch."""
    low, _ = BOUNDS[dtype]
    both = itertools.product(numbers_of(dtype), repeat=2)
    both = [(x, y) for x, y in both if not (can_divide and (y == 0 or (x, y) == (low, -1)))]
    return [T.tensor(list(side), dtype=getattr(T, dtype)) for side in zip(*both, strict=True)]


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", CALLS)
def test_pairs_of_integers_give_what_they_give_in_pytorch(name, dtype):
    can_divide = name in DIVISIONS

    def call(T):
        x, y = pairs(T, dtype, can_divide)
        if name in (
            "pow",
            "float_power",
            "lcm",
        ):  # negative powers are refused; some lcm have no value
            y = y % 5 if dtype != "bool" else y
            x = x % 7 if name == "lcm" and dtype != "bool" else x
        result = CALLS[name](T, x, y)
        return result.abs() if name == "gcd" else result  # PyTorch's has a sign beside the smallest

    agree(call, 1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "bool", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_python_numbers_on_either_side_give_what_they_give_in_pytorch(name, dtype):
    if dtype == "bool" and name in (*DIVISIONS, "pow"):
        return  # refused, if not always by the same error
    values = [0, 1] if dtype == "bool" else [0, 1, 2, 3, 7]
    for number, is_left in itertools.product((False, True, 3, -2, 2.5), (False, True)):
        if dtype == "uint8" and number == -2 and name in ("eq", "ne", "lt", "le", "gt", "ge"):
            continue  # PyTorch compares with 254

        def call(T, number=number, is_left=is_left):
            x = T.tensor(values[is_left and name in DIVISIONS :], dtype=getattr(T, dtype))
            return CALLS[name](T, *((number, x) if is_left else (x, number)))

        agree(call, 1e-6)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize("name", UNARY.split())
def test_functions_of_integers_give_what_they_give_in_pytorch(name, dtype):
    agree(lambda T: getattr(T, name)(T.tensor(numbers_of(dtype), dtype=getattr(T, dtype))), 1e-6)


@pytest.mark.parametrize("name", DIVISIONS)
def test_a_zero_between_the_elements_of_a_divisor_does_not_count(name):
    """Nor is one overlooked that only the strides lead to."""

    def call(T, strided):
        y = T.tensor([[3, 2], [0, 5]])[strided]
        return CALLS[name](T, T.full(y.shape, 7), y).tolist()

    for strided in ((slice(None), 1), (slice(None), 0), 0, 1, ..., (slice(None, None, 2), 0)):
        agree(lambda T, strided=strided: call(T, strided))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", [*DIVISIONS, "true_divide"])
def test_a_zero_has_the_sign_of_pytorchs(name, dtype):
    numbers = [0.0, -0.0, 0.5, -0.5, 3.0, -3.0, float("inf"), -float("inf")]

    def call(T):
        both = zip(*itertools.product(numbers, repeat=2), strict=True)
        x, y = (T.tensor(side, dtype=getattr(T, dtype)) for side in both)
        result = CALLS[name](T, x, y)
        return result.tolist(), (result.signbit() & (result == 0)).tolist()

    agree(call, 1e-3)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("rest", [T.remainder, T.fmod])
def test_the_smallest_integer_divided_by_minus_one_leaves_no_rest(rest, dtype):
    # the processor's own division would end the process, as it does in PyTorch
    x = T.tensor([BOUNDS[dtype][0], 7], dtype=getattr(T, dtype))
    assert rest(x, T.tensor(-1, dtype=x.dtype)).tolist() == [0, 0]
    assert rest(x, -1).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_the_smallest_integer_divided_by_minus_one_is_itself(dtype):
    x = T.tensor([BOUNDS[dtype][0], 7], dtype=getattr(T, dtype))
    for quotient in (
        x // T.tensor([-1, -1], dtype=x.dtype),
        x // -1,
        T.div(x, -1, rounding_mode="floor"),
    ):
        assert quotient.tolist() == [BOUNDS[dtype][0], -7]
