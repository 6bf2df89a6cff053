"""The formats of chapter 6 in plain Python are those of the library, bit by bit."""

import importlib.util
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/06-dtypes/tiny_float.py"


SPECIFICATION = importlib.util.spec_from_file_location("tiny_float", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_pattern_of_16_bits_means_the_same_number(name):
    form = getattr(tiny, name.upper())
    patterns = T.arange(2**16, dtype=T.int32).to(T.int16).view(getattr(T, name))
    for bits, value in enumerate(patterns.double().tolist()):
        ours = form.decode(bits)
        assert ours == value or (math.isnan(ours) and math.isnan(value)), bits
        if value == value:
            assert form.encode(value) == bits


@given(st.floats(width=32))
def test_a_float32_rounds_to_the_same_bits(x):
    for name in ("float16", "bfloat16"):
        form = getattr(tiny, name.upper())
        bits = T.tensor([x]).to(getattr(T, name)).view(T.int16).item() % 2**16
        assert math.isnan(x) or form.encode(x) == bits


@given(st.floats(width=64))
def test_a_float64_rounds_to_the_float32_that_c_rounds_to(x):
    expected = T.tensor([x], dtype=T.float64).float().item()
    assert math.isnan(x) or tiny.FLOAT32.decode(tiny.FLOAT32.encode(x)) == expected
    if abs(x) < 3e38:
        assert expected == struct.unpack("f", struct.pack("f", x))[0]
