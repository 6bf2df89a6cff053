"""Python numbers as arguments of ops: one that the type cannot hold raises, or is compared as what it is."""

import operator

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

LIMITS = {
    "uint8": (0, 255),
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def ones(T, dtype, *shape):
    return T.ones(shape or (3,), dtype=getattr(T, dtype))


def fill_in_place(write):
    """The call, and that it changed nothing if it raised."""

    def call(T, dtype, n):
        x = ones(T, dtype)
        try:
            return write(T, x, n)
        finally:
            if T is tensorlab:
                assert x.tolist() == [1, 1, 1]

    return call


# What calculates with the number, or stores it: PyTorch refuses it, too.
REFUSED = {
    "add alpha": lambda T, d, n: T.add(ones(T, d), ones(T, d), alpha=n),
    "add_ alpha": fill_in_place(lambda T, x, n: x.add_(x.clone(), alpha=n)),
    "sub alpha": lambda T, d, n: T.sub(ones(T, d), ones(T, d), alpha=n),
    "rsub alpha": lambda T, d, n: T.rsub(ones(T, d), ones(T, d), alpha=n),
    "where x": lambda T, d, n: T.where(ones(T, d) > 0, n, ones(T, d)),
    "where y": lambda T, d, n: T.where(ones(T, d) > 0, ones(T, d), n),
    "clamp min": lambda T, d, n: T.clamp(ones(T, d), min=n),
    "clamp max": lambda T, d, n: T.clamp(ones(T, d), max=n),
    "clamp both": lambda T, d, n: T.clamp(ones(T, d), 0, n),
    "clamp_": fill_in_place(lambda T, x, n: x.clamp_(min=n)),
    "clamp of a scalar": lambda T, d, n: ones(T, d)[0].clip(n),
    "clamp on meta": lambda T, d, n: T.clamp(ones(T, d).to("meta"), min=n),
    "clamp_min": lambda T, d, n: ones(T, d).clamp_min(n),
    "clamp_max_": fill_in_place(lambda T, x, n: x.clamp_max_(n)),
    "clamp into": lambda T, d, n: T.clamp(ones(T, d), n, out=ones(T, d)),
    "addcmul": lambda T, d, n: T.addcmul(ones(T, d), ones(T, d), ones(T, d), value=n),
    "addcmul_": fill_in_place(lambda T, x, n: x.addcmul_(x.clone(), x.clone(), value=n)),
    "threshold": lambda T, d, n: T.nn.functional.threshold(ones(T, d), n, 0),
    "threshold value": lambda T, d, n: T.nn.functional.threshold(ones(T, d), 0, n),
    "hardtanh": lambda T, d, n: T.nn.functional.hardtanh(ones(T, d), 0, abs(n)),
    "masked_fill": lambda T, d, n: ones(T, d).masked_fill(ones(T, d) > 0, n),
    "index_fill": lambda T, d, n: ones(T, d).index_fill(0, T.tensor([1]), n),
    "index_add alpha": lambda T, d, n: ones(T, d).index_add(
        0, T.tensor([1]), ones(T, d, 1), alpha=n
    ),
    "scatter": lambda T, d, n: ones(T, d).scatter(0, T.tensor([1]), n),
    "fill_": fill_in_place(lambda T, x, n: x.fill_(n)),
    "full": lambda T, d, n: T.full((2,), n, dtype=getattr(T, d)),
    "full_like": lambda T, d, n: T.full_like(ones(T, d), n),
    "new_full": lambda T, d, n: ones(T, d).new_full((2,), n),
    "setitem": fill_in_place(lambda T, x, n: x.__setitem__(0, n)),
    "pow": lambda T, d, n: ones(T, d) ** abs(n),
    "linspace end": lambda T, d, n: T.linspace(0, n, 3, dtype=getattr(T, d)),
    "linspace start": lambda T, d, n: T.linspace(n, 0, 3, dtype=getattr(T, d)),
    "logspace": lambda T, d, n: T.logspace(0, n, 3, dtype=getattr(T, d)),
    "addmm alpha": lambda T, d, n: T.addmm(*[ones(T, d, 2, 2)] * 3, alpha=n),
    "addmm beta": lambda T, d, n: T.addmm(*[ones(T, d, 2, 2)] * 3, beta=n),
    "baddbmm alpha": lambda T, d, n: T.baddbmm(*[ones(T, d, 1, 2, 2)] * 3, alpha=n),
    "baddbmm beta": lambda T, d, n: T.baddbmm(*[ones(T, d, 1, 2, 2)] * 3, beta=n),
    "addbmm": lambda T, d, n: T.addbmm(ones(T, d, 2, 2), *[ones(T, d, 1, 2, 2)] * 2, alpha=n),
    "addmv alpha": lambda T, d, n: T.addmv(ones(T, d, 2), ones(T, d, 2, 2), ones(T, d, 2), alpha=n),
    "addmv beta": lambda T, d, n: T.addmv(ones(T, d, 2), ones(T, d, 2, 2), ones(T, d, 2), beta=n),
    "addr alpha": lambda T, d, n: T.addr(ones(T, d, 2, 2), *[ones(T, d, 2)] * 2, alpha=n),
    "addr beta": lambda T, d, n: T.addr(ones(T, d, 2, 2), *[ones(T, d, 2)] * 2, beta=n),
}
# What PyTorch wraps first and then calculates with, so that the results are of another number.
WRAPPED_THERE = {
    "floor_divide": lambda T, d, n: ones(T, d) // n,
    "floor_divide reflected": lambda T, d, n: n // ones(T, d),
    "floor_divide_": fill_in_place(lambda T, x, n: x.floor_divide_(n)),
    "div": lambda T, d, n: T.div(ones(T, d), n, rounding_mode="trunc"),
    "remainder": lambda T, d, n: ones(T, d) % n,
    "remainder reflected": lambda T, d, n: n % ones(T, d),
    "fmod": lambda T, d, n: T.fmod(ones(T, d), n),
    "left shift": lambda T, d, n: ones(T, d) << n,
    "right shift": lambda T, d, n: ones(T, d) >> n,
}
# What is the same modulo 2**bits whether the number is wrapped first or the result is.
MODULAR = {
    "add": lambda x, n: x + n,
    "add reflected": lambda x, n: n + x,
    "sub": lambda x, n: x - n,
    "sub reflected": lambda x, n: n - x,
    "mul": lambda x, n: x * n,
    "and": lambda x, n: x & n,
    "or": lambda x, n: x | n,
    "xor": lambda x, n: n ^ x,
    "pow of a number": lambda x, n: n**x,
}


def outside(dtype):
    """Numbers just outside of a type. (uint8 wraps -255 to -1 on purpose, as the bytes that they stand for.)"""
    least, most = LIMITS[dtype]
    return [
        most + 1,
        least - 1 - 255 * (dtype == "uint8"),
        10**15 if dtype != "int64" else 2**64 - 1,
    ]


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", [*REFUSED, *WRAPPED_THERE])
def test_a_number_that_the_type_cannot_hold_is_refused(name, dtype):
    call = REFUSED.get(name) or WRAPPED_THERE[name]
    for number in outside(dtype):
        with pytest.raises((RuntimeError, OverflowError), match=r"(does|do) not fit in"):
            call(tensorlab, dtype, number)
    with pytest.raises(OverflowError, match="does not fit in 64 bits"):
        call(tensorlab, dtype, 2**70)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("name", [name for name in REFUSED if "meta" not in name])
def test_what_is_refused_is_refused_by_pytorch_too(name, dtype):
    torch = require_torch()
    for number in outside(dtype):
        if name in ("sub alpha", "rsub alpha") and number == LIMITS[dtype][1] + 1:
            continue  # PyTorch takes its negative, which fits
        with pytest.raises(RuntimeError):
            REFUSED[name](torch, dtype, number)
    with pytest.raises((OverflowError, ValueError)):
        REFUSED[name](torch, dtype, 2**70)


TAKEN = "add alpha,where x,where y,clamp min,clamp max,clamp both,addcmul,threshold,threshold value,masked_fill"
TAKEN += ",index_fill,index_add alpha,scatter,full,full_like,linspace end,linspace start,addmv alpha,addmv beta"
TAKEN += ",addmm alpha,addmm beta,baddbmm alpha,addbmm,addr alpha,addr beta"


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("name", TAKEN.split(","))
def test_the_largest_and_smallest_numbers_of_a_type_are_taken(name, dtype):
    torch = require_torch()
    for number in (*LIMITS[dtype], *([-1, -255] if dtype == "uint8" else [])):
        ours, theirs = [REFUSED[name](T, dtype, number).tolist() for T in (tensorlab, torch)]
        assert ours == theirs, number


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("name", MODULAR)
def test_sums_products_and_bits_are_those_of_the_number_modulo_a_power_of_two(name, dtype):
    least, most = LIMITS[dtype]
    values = [0, 1, 2, 3, 7]
    x = tensorlab.tensor(values, dtype=getattr(tensorlab, dtype))
    for number in outside(dtype):
        exact = [int(MODULAR[name](value, number)) for value in values]
        wrapped = [(value - least) % (most - least + 1) + least for value in exact]
        assert MODULAR[name](x, number).tolist() == wrapped
    with pytest.raises(OverflowError, match="64 bits"):
        MODULAR[name](x, 2**70)


COMPARISONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
INFINITY = float("inf")
NUMBERS = [
    -INFINITY,
    -(2**70),
    -(2**63) - 1,
    -(2**31) - 1,
    -129,
    -128,
    -1,
    0,
    1,
    2.5,
    127,
    128,
    255,
]
NUMBERS += [256, 10**6, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 2**70, INFINITY, float("nan")]


@pytest.mark.parametrize("dtype", [*LIMITS, "bool"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_integers_are_compared_with_any_number_as_python_compares_them(name, dtype):
    compare = COMPARISONS[name]
    values = [False, True] if dtype == "bool" else [*LIMITS[dtype], 1, 2]
    x = tensorlab.tensor(values, dtype=getattr(tensorlab, dtype))
    if dtype == "int64":  # a float is compared in float32
        x = x[2:]
        values = values[2:]
    for number in NUMBERS:
        expected = [compare(value, number) for value in values]
        assert compare(x, number).tolist() == expected, number
        assert compare(number, x).tolist() == [compare(number, value) for value in values], number
        assert getattr(tensorlab, name)(x, number).tolist() == expected
        assert getattr(x, name)(number).tolist() == expected
        assert compare(x[0], number).item() == expected[0]
        out = tensorlab.empty(len(values), dtype=tensorlab.bool)
        assert getattr(tensorlab, name)(x, number, out=out) is out
        assert out.tolist() == expected
        written = x.clone()
        assert getattr(written, name + "_")(number) is written
        assert written.tolist() == expected, number


def test_the_ends_of_int64_are_compared_with_numbers_beyond_them():
    x = tensorlab.tensor([-(2**63), 2**63 - 1])
    for number in (2**63, 2**64, -(2**63) - 1):
        for name, compare in COMPARISONS.items():
            expected = [compare(value, number) for value in x.tolist()]
            assert getattr(x, name)(number).tolist() == expected


@pytest.mark.parametrize("dtype", [*LIMITS, "bool"])
def test_a_number_that_the_type_cannot_hold_is_in_no_tensor_of_it(dtype):
    x = tensorlab.tensor([0, 1], dtype=getattr(tensorlab, dtype))
    for number in (-(2**70), -1, 2**70, 300, 2.5):
        if -1 <= number <= 300 and dtype != "uint8":
            continue
        assert tensorlab.isin(x, number).tolist() == [False, False]
        assert tensorlab.isin(x, number, invert=True).tolist() == [True, True]
        assert tensorlab.isin(number, x).item() is False
        place = 0 if number < 0 else 2
        assert tensorlab.searchsorted(x, number).item() == place
        assert tensorlab.bucketize(number, x).item() == place
        assert tensorlab.searchsorted(x, number, right=True).item() == place


def test_a_number_is_searched_for_in_bools_as_a_number():
    x = tensorlab.tensor([False, True])
    assert tensorlab.searchsorted(x, 5).item() == 2
    assert tensorlab.isin(x, 5).tolist() == [False, False]
    assert tensorlab.isin(x, True).tolist() == [False, True]


def test_nan_to_num_does_not_look_at_numbers_for_what_integers_never_are():
    x = tensorlab.tensor([1, 2], dtype=tensorlab.int8)
    assert tensorlab.nan_to_num(x, nan=10**6, posinf=2**70).tolist() == [1, 2]


@pytest.mark.parametrize("number", [300, -1, 10**6])
def test_an_integer_of_numpy_is_compared_as_one_of_python(number):
    x = tensorlab.tensor([1, 255], dtype=tensorlab.uint8)
    other = np.int64(number)
    assert (x == other).tolist() == [False, False]
    assert (x < other).tolist() == (x < number).tolist() == [number > 0] * 2
    assert tensorlab.isin(x, other).tolist() == [False, False]
    assert (x == np.int64(255)).tolist() == [False, True]
