"""Scalar expressions: what they may say, the loops that are made from them, and that every op has its own."""

import re
from pathlib import Path

import pytest
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.dtypes import DTYPES

import tensorlab
from tensorlab._core.loops import scalar
from tensorlab._core.loops.scalar import Guarded
from tests.ops.samples_pointwise import SCIPYS

PACKAGE = Path(tensorlab.__file__).parent
SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.glob("ops/**/*.pyx"))}
POINTWISE = [op for op in REGISTRY.values() if op.is_pointwise and not op.writes]
HAVE_THEIR_OWN = SCIPYS  # loops that an expression cannot say
SAMPLE = """
cdef Op TWICE = Op("twice(Tensor x, *, Scalar n=1) -> Tensor", dtype="promote",
                   scalar={"bool": "x | n", "number": "n * x"}, grain=GRAIN)

@TWICE.derivative("x")
def twice_derivative(grad): ...

cdef Op IS_ROOT = Op(
    "is_root(Tensor y) -> Tensor", dtype="compare",
    scalar={"floating": Guarded("sqrt@(y) == y", unless="y < 0", otherwise="0")})

cdef Op BY_HAND = Op("by_hand(Tensor x) -> Tensor", dtype="floating", scalar="sinh#(x)")
floating_loops(BY_HAND, &by_hand_loop[float], &by_hand_loop[double])

cdef Op OTHER = Op("other(Tensor x) -> Tensor")
"""


def test_codes_are_those_of_the_types():
    assert list(scalar.CODES) == [dtype.name for dtype in DTYPES]


@pytest.mark.parametrize(
    ("given", "dtype", "expected"),
    [
        ("x", "int8", "x"),
        ({"float32": "a", "floating": "b"}, "float32", "a"),
        ({"float32": "a", "floating": "b"}, "float64", "b"),
        ({"floating": "b"}, "int64", None),
        ({"whole": "a", "any": "b"}, "bool", "a"),
        ({"whole": "a", "any": "b"}, "uint8", "a"),
        ({"whole": "a", "any": "b"}, "float32", "b"),
        ({"number": "a"}, "bool", None),
        ({"number": "a", "integer": "b"}, "int16", "b"),
        ({"number": "a", "integer": "b"}, "float64", "a"),
        ({"bool": "a", "number": "b"}, "bool", "a"),
    ],
)
def test_the_most_special_type_counts(given, dtype, expected):
    assert scalar.expression_of(given, dtype) == expected


def test_an_expression_is_spelled_for_a_type():
    template = "tl_exp@(x) + (T)xx * sinh#(x)"
    assert scalar.spelled(template, "float32", {"x": "a[i]"}) == (
        "tl_expf(a[i]) + (float)xx * sinh_float32(a[i])"
    )
    assert scalar.spelled(template, "float64", {}) == "tl_exp(x) + (double)xx * sinh_float64(x)"


def test_functions_stand_before_those_that_call_them():
    text = scalar.functions_for("lcm_int64(x, y) + log_of(x)")
    assert re.findall(r"static inline int64_t (\w+)\(", text) == ["gcd_int64", "lcm_int64"]
    assert "T " not in text
    assert "#(" not in text


def test_what_follows_from_an_expression():
    assert scalar.cost_of("x * y") == scalar.cost_of("clamp#(x, y, y)") == 1
    assert scalar.cost_of("tl_exp@(x)") > 1
    assert scalar.cost_of(Guarded("x", unless="x > 1", otherwise="fmod(x, 2)")) > 1
    assert scalar.condition_of("mask ? value : x") == "mask"
    assert scalar.condition_of("x < 0 ? x : y") is None
    assert scalar.calls_libm("digamma(x)", "float64")  # by way of a function of ours
    assert scalar.calls_libm(Guarded("x", unless="x > 1", otherwise="tl_sin@(x)"), "float32")
    # a comment of a function, and a name that only ends in log, are no calls
    assert not scalar.calls_libm("logit#(x, eps)", "float64")


def test_declarations_are_read_from_the_source():
    twice, is_root = scalar.declarations(SAMPLE)
    assert (twice.name, twice.parameters, twice.dtype) == ("twice", ["x", "n"], "promote")
    assert [t for t in scalar.TYPES if is_root.expression(t)] == ["float32", "float64"]
    assert is_root.scalar["floating"].otherwise == "0"


def test_a_declaration_that_does_not_end_is_reported():
    with pytest.raises(SyntaxError, match="does not end"):
        list(scalar.declarations('cdef Op A = Op("a(Tensor x) -> Tensor", scalar="x"\n'))


def test_a_file_becomes_a_header():
    header = scalar.loops_header(SAMPLE, "sample.pyx")
    assert (
        "static void twice_loop_int8(int8_t *out, const int8_t *x, const int8_t *n, ptrdiff_t count)"
        in header
    )
    assert "out[i] = n[i] * x[i];" in header
    assert "static void is_root_loop_float64(uint8_t *out, const double *y," in header
    assert "is_unusual |= y[i] < 0;" in header
    assert '{"is_root", {[8] = is_root_loop_float32, [9] = is_root_loop_float64}},' in header
    assert "by_hand" not in header
    assert "other_loop" not in header
    assert "tl_math.h" not in header  # its setting for GCC would hold for loops that do not need it
    assert scalar.loops_header("cdef Op A = Op('a(Tensor x) -> Tensor')", "a.pyx") is None


def test_a_bool_is_a_byte_where_the_expression_is_the_same():
    (same,) = scalar.declarations(
        'cdef Op A = Op("a(Tensor x) -> Tensor", dtype="promote", scalar="-x")'
    )
    assert scalar.loop_type(same, "bool") == "uint8"
    assert scalar.loop_type(next(scalar.declarations(SAMPLE)), "bool") == "bool"


# ---------------------------------------------------------------- the ops
def test_every_op_with_an_expression_is_found_in_its_file():
    found = {}
    for path, source in SOURCES.items():
        ops = list(scalar.declarations(source))
        found.update({op.name: op for op in ops})
        is_included = f'cdef extern from "{path.stem}_loops.h"' in source
        assert is_included == source.rstrip().endswith("set_loops(tl_loops)") == bool(ops), path
    assert {op.name for op in POINTWISE} - set(found) == HAVE_THEIR_OWN
    for name, op in found.items():
        assert op == scalar.declared(REGISTRY[name])


def test_an_op_has_loops_for_the_types_that_its_expressions_cover():
    for op in POINTWISE:
        if op.name in HAVE_THEIR_OWN:
            continue
        for dtype in DTYPES:
            if scalar.C_TYPES[dtype.name] is None or is_converted(op, dtype):
                continue
            arguments = [tensorlab.ones(2, dtype=dtype) for _ in range(op.arity)]
            if scalar.declared(op).expression(dtype.name) is None:
                with pytest.raises(tensorlab.errors.UnsupportedDType):
                    op(*arguments)
            else:
                op(*arguments)


def is_converted(op, dtype):
    """Say whether an op computes in another type than its operands have."""
    return scalar.RULES[op.dtype_rule] == "floating" and not dtype.is_floating_point


def test_every_function_is_called_by_an_expression():
    """Of scalar_functions.h nothing is left behind."""
    called = ""
    for op in POINTWISE:
        declaration = scalar.declared(op)
        for dtype in scalar.TYPES:
            expression = declaration.expression(dtype) if op.scalar is not None else None
            if expression is not None:
                called += scalar.functions_for(scalar.spelled(scalar.joined(expression), dtype, {}))
    names = set(re.findall(r"TL_HAS_(\w+)", called))
    for name in scalar.scalar_functions():
        assert name in names or any(f"{name}_{dtype}" in names for dtype in scalar.TYPES), name
