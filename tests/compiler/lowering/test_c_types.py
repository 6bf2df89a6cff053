"""Literals are exact, and what a number becomes in C is what the eager kernels store for it."""

import ctypes
import math
import random
import struct

import pytest

from tensorlab.compiler import toolchain
from tensorlab.compiler.lowering.c_types import (
    c_type,
    converted,
    integer_literal,
    kernel_dtype,
    literal,
)

HEAD = "(void *const *tensors, const int64_t *numbers, int64_t begin, int64_t end) {"
KINDS = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int64": ctypes.c_int64, "int8": ctypes.c_int8,
         "uint8": ctypes.c_uint8, "int32": ctypes.c_int32}  # fmt: skip


def values_in_c(pairs):
    """What the compiler makes of literals of several types."""
    lines = [
        f"*({c_type(dtype)} *)tensors[{k}] = {literal(value, dtype)};"
        for k, (value, dtype) in enumerate(pairs)
    ]
    source = f'#include "tl_math.h"\nvoid literals{HEAD}\n' + "\n".join(lines) + "\n}\n"
    places = [KINDS[dtype]() for _, dtype in pairs]
    pointers = (ctypes.c_void_p * len(places))(*(ctypes.addressof(place) for place in places))
    kernel = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    )
    kernel(toolchain.load([source])["literals"])(pointers, None, 0, 0)
    return [place.value for place in places]


def test_floats_arrive_with_all_their_bits():
    rng = random.Random(0)
    numbers = [
        0.0,
        -0.0,
        1.0,
        -2.5,
        0.1,
        1e6,
        999999.0,
        1e-45,
        5e-324,
        -1e308,
        3.4e38,
        2.0**24 + 1,
        math.pi,
    ]
    numbers += [struct.unpack("d", rng.randbytes(8))[0] for _ in range(200)]
    numbers = [number for number in numbers if not math.isnan(number)]
    for number, found in zip(
        numbers, values_in_c([(one, "float64") for one in numbers]), strict=True
    ):
        assert struct.pack("d", number) == struct.pack("d", found)
    for number, found in zip(
        numbers, values_in_c([(one, "float32") for one in numbers]), strict=True
    ):
        assert struct.pack("f", ctypes.c_float(number).value) == struct.pack("f", found)


def test_what_is_infinite_or_no_number_stays_so():
    found = values_in_c(
        [(math.inf, "float32"), (-math.inf, "float64"), (1e39, "float32"), (-1e39, "float32")]
    )
    assert found == [math.inf, -math.inf, math.inf, -math.inf]
    assert all(map(math.isnan, values_in_c([(math.nan, "float32"), (math.nan, "float64")])))


@pytest.mark.parametrize(
    "value", [0, 1, -1, 127, 128, 255, 256, -129, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**64 + 3]
)
def test_integers_wrap_to_their_width(value):
    for dtype in ("int8", "uint8", "int32", "int64"):
        assert values_in_c([(value, dtype)]) == [KINDS[dtype](value).value]


def test_small_literals_read_like_numbers():
    assert [literal(2, "float32"), literal(-1, "float64"), literal(3, "int32")] == [
        "2.0f",
        "(-1.0)",
        "3",
    ]
    assert [literal(0.5, "float32"), literal(True, "bool"), literal(2, "bool")] == [
        "0x1p-1f",
        "1",
        "1",
    ]
    assert integer_literal(-3, 8, True) == "(-3)"


def test_a_literal_has_the_type_that_it_is_calculated_in():
    assert [literal(math.nan, one) for one in ("float32", "float64")] == [
        "(float)NAN",
        "(double)NAN",
    ]
    assert literal(0.1, "float16").endswith("f")
    assert not literal(0.1, "float64").endswith("f")


def test_half_types_are_calculated_in_float():
    assert [kernel_dtype(one) for one in ("float16", "bfloat16", "int8", "float64")] == [
        "float32",
        "float32",
        "int8",
        "float64",
    ]
    assert c_type("bfloat16") == "float"


@pytest.mark.parametrize(
    ("value", "bits", "is_signed", "text"),
    [
        (0, 8, True, "0"),
        (100, 8, True, "100"),
        (127, 8, True, "127"),
        (128, 8, True, "(-128)"),
        (128, 8, False, "128"),
        (-1, 8, False, "255"),
        (2**62, 64, True, "INT64_C(4611686018427387904)"),
        (-(2**63), 64, True, "(-INT64_C(9223372036854775807) - 1)"),
    ],
)
def test_an_integer_is_wrapped_to_its_width(value, bits, is_signed, text):
    assert integer_literal(value, bits, is_signed) == text


def test_what_becomes_a_half_is_rounded_at_once():
    assert converted("x", "float32", "float16") == "tl_float_of_half(tl_half_of_float(x))"
    assert (
        converted("x", "float64", "bfloat16") == "tl_float_of_bfloat(tl_bfloat_of_float((float)x))"
    )
