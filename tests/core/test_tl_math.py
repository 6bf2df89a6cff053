"""The functions of tl_math.h: special values, errors, identical bits, vectorised loops."""

import re
import subprocess

import numpy as np
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from benchmarks.math_accuracy import (
    FLAGS,
    GUARDED,
    HEADER,
    PLAIN,
    REFERENCES,
    WITHIN_ONE,
    MathLibrary,
    error_in_ulp,
    find_compiler,
    float32_patterns,
    loops_source,
)
from tensorlab._core.loops import scalar

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
INF, NAN = np.inf, np.nan
STEP = 2141  # two million float32 bit patterns
# Largest error in ULP, as stated in the header: float32, float64. gelu's is for x > -1.
LIMITS = {
    "exp": (1.0, 1.0),
    "exp2": (1.2, 1.2),
    "log": (0.9, 0.9),
    "tanh": (2.5, 2.6),
    "sigmoid": (2.5, 2.5),
    "erf": (2.7, 2.7),
    "gelu": (5.0, 5.0),
    "expm1": (1.9, 2.0),
    "log1p": (1.5, 1.5),
    "softplus": (2.8, 2.8),
    "sqrt": (0.5, 0.5),
    "rsqrt": (1.5, 1.5),
    "sin": (1.6, 1.0),
    "cos": (1.6, 1.0),
    "atan": (1.6, 1.4),
    "asin": (2.6, 2.2),
    "acos": (2.8, 2.3),
    "erfinv": (2.7, 3.6),
    "lgamma": (6.1, 5.0),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return MathLibrary(tmp_path_factory.mktemp("tl_math"), "native")


def special_values(dtype):
    """(argument, exact result) pairs of each function."""
    tiny = np.finfo(dtype).smallest_subnormal
    high, low, denormal = (89, -104, -103.0) if dtype == np.float32 else (710, -746, -745.0)
    most, least = (128, -149) if dtype == np.float32 else (1024, -1074)
    odd = [(0, 0), (-0.0, -0.0), (NAN, NAN), (-tiny, -tiny), (tiny, tiny)]
    return {
        "exp": [(0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (NAN, NAN), (high, INF), (low, 0),
                (1e30, INF), (-1e30, 0), (denormal, tiny)],
        "exp2": [(0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (NAN, NAN), (10, 1024), (1e30, INF),
                 (-1e30, 0), (most, INF), (most - 1, 2.0 ** (most - 1)), (least, tiny),
                 (least - 1, 0), (least - 0.75, tiny)],
        "log": [(0, -INF), (-0.0, -INF), (1, 0), (INF, INF), (-1, NAN), (-INF, NAN), (NAN, NAN),
                (-tiny, NAN)],
        "tanh": [*odd, (INF, 1), (-INF, -1), (50, 1), (-1e30, -1)],
        "sigmoid": [(0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0), (NAN, NAN), (1e30, 1), (-1e30, 0),
                    (denormal, tiny)],
        "erf": [(0, 0), (-0.0, -0.0), (NAN, NAN), (INF, 1), (-INF, -1), (7, 1), (-1e30, -1)],
        "gelu": [(0, 0), (-0.0, -0.0), (NAN, NAN), (INF, INF), (-INF, -0.0), (-50, -0.0),
                 (50, 50), (1e30, 1e30), (-1e30, -0.0), (-tiny, -0.0)],
        "expm1": [*odd, (INF, INF), (-INF, -1), (high, INF), (-1e30, -1)],
        "log1p": [*odd, (INF, INF), (-1, -INF), (-2, NAN), (-INF, NAN),
                  (np.finfo(dtype).max, dtype(np.log(np.finfo(dtype).max, dtype=np.float64)))],
        "softplus": [(INF, INF), (-INF, 0), (NAN, NAN), (1e30, 1e30), (-1e30, 0), (denormal, tiny)],
        "sqrt": [(0, 0), (-0.0, -0.0), (NAN, NAN), (INF, INF), (-1, NAN), (4, 2)],
        "rsqrt": [(0, INF), (NAN, NAN), (INF, 0), (-1, NAN), (4, 0.5)],
        "sin": [*odd, (INF, NAN), (-INF, NAN)],
        "cos": [(0, 1), (-0.0, 1), (NAN, NAN), (tiny, 1), (INF, NAN), (-INF, NAN)],
        "atan": [*odd, (INF, dtype(np.pi / 2)), (-INF, dtype(-np.pi / 2)), (1, dtype(np.pi / 4))],
        "asin": [*odd, (1, dtype(np.pi / 2)), (-1, dtype(-np.pi / 2)), (1.5, NAN), (-INF, NAN)],
        "acos": [(1, 0), (-1, dtype(np.pi)), (0, dtype(np.pi / 2)), (-0.0, dtype(np.pi / 2)),
                 (NAN, NAN), (1.5, NAN), (-INF, NAN)],
        "erfinv": [(0, 0), (-0.0, -0.0), (NAN, NAN), (1, INF), (-1, -INF), (1.5, NAN), (-INF, NAN)],
        "lgamma": [(0, INF), (-0.0, INF), (1, 0), (2, 0), (-1, INF), (INF, INF), (-INF, INF), (NAN, NAN),
                   (np.finfo(dtype).max, INF), (tiny, dtype(-np.log(np.float64(tiny))))],
    }  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", REFERENCES)
def test_special_values_are_exact(library, name, dtype):
    rows = np.array(special_values(dtype)[name] * 16, dtype)  # long enough for the vector loop
    x, expected = np.ascontiguousarray(rows[:, 0]), rows[:, 1]
    result = library(name, x)
    same = (result == expected) & (np.signbit(result) == np.signbit(expected))
    same |= np.isnan(result) & np.isnan(expected)
    assert same.all(), f"{name}({x[~same][:3]}) is {result[~same][:3]}, not {expected[~same][:3]}"


@pytest.mark.parametrize("name", REFERENCES)
def test_float32_error_is_within_the_stated_limit(library, name):
    limit, worst = LIMITS[name][0], 0
    with np.errstate(all="ignore"):
        for x in float32_patterns(STEP, chunk=2**19):
            if name == "gelu":
                x = x[~(x <= -1)]
            if x.size == 0:
                continue
            exact = REFERENCES[name](x.astype(np.float64))
            worst = max(worst, error_in_ulp(library(name, x), exact).max())
    assert worst <= limit, f"{name}: off by {worst:.2f} ULP, and {limit} are stated"


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_float32_angles_next_to_quarter_turns_lose_nothing(library, name):
    """Where most of an angle cancels: the three numbers nearest to each multiple of pi/2 that is not huge."""
    x = (np.arange(1, 2**14) * (np.pi / 2)).astype(np.float32)
    x = np.concatenate([np.nextafter(x, np.float32(0)), x, np.nextafter(x, np.float32(INF))])
    exact = REFERENCES[name](x.astype(np.float64))
    assert error_in_ulp(library(name, x), exact).max() <= LIMITS[name][0]


def samples_of(name):
    """Arguments for float64: small, middling, large; for sin and cos also multiples of pi/2."""
    rng = np.random.default_rng(0)
    wide = 700 if name in ("exp", "exp2", "sigmoid", "expm1", "softplus") else 6
    x = [
        rng.uniform(-1, 1, 400),
        rng.uniform(-wide, wide, 400),
        np.exp(rng.uniform(-30, 3, 400)) * rng.choice([-1, 1], 400),
    ]
    if name in WITHIN_ONE:
        near_one = 1 - np.exp(rng.uniform(-36, 0, 400))
        return np.concatenate([x[0], near_one, -near_one])
    if name in ("sin", "cos"):
        x += [rng.uniform(-(2**21), 2**21, 400), rng.integers(1, 2**19, 400) * (np.pi / 2)]
    x = np.concatenate(x)
    if name == "lgamma":  # around its zeros, and how it grows on both sides
        near = np.ldexp(rng.uniform(-1, 1, 600), -rng.integers(1, 50, 600))
        return np.concatenate([np.abs(x), 1 + near, 2 + near, np.exp(rng.uniform(-700, 690, 600))])
    if name in ("log", "sqrt", "rsqrt"):
        return np.concatenate([np.abs(x), np.exp(rng.uniform(-740, 700, 400))])
    if name == "log1p":
        return np.concatenate([np.where(x <= -1, -x, x), np.exp(rng.uniform(0, 700, 400))])
    return x[x > -1] if name == "gelu" else x


def exact_values(mp):
    """The functions in mpmath's precision, by our names."""
    same = (
        "exp",
        "log",
        "tanh",
        "erf",
        "expm1",
        "log1p",
        "sqrt",
        "sin",
        "cos",
        "atan",
        "asin",
        "acos",
    )
    return {name: getattr(mp, name) for name in same} | {
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "gelu": lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2,
        "softplus": lambda x: mp.log1p(mp.exp(x)),
        "rsqrt": lambda x: 1 / mp.sqrt(x),
        "exp2": lambda x: mp.mpf(2) ** x,
        "lgamma": mp.loggamma,
        "erfinv": lambda x: exact_erfinv(mp, x),
    }


def exact_erfinv(mp, x):
    """Newton's method on log erfc(y) = log(1 - |x|), which nothing cancels in where x is near 1."""
    y, size = mp.mpf(float(REFERENCES["erfinv"](float(abs(x))))), abs(x)
    for _ in range(5):
        tail = mp.erfc(y)
        y += (mp.log(tail) - mp.log(1 - size)) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return mp.sign(x) * y


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", REFERENCES)
def test_float64_error_is_within_the_stated_limit(library, name, every):
    mp = pytest.importorskip("mpmath", reason="needs mpmath for values beyond double").mp
    limit, x = LIMITS[name][1], np.ascontiguousarray(samples_of(name)[::every])
    with mp.workprec(1100):  # log1p(exp(-700)) needs a thousand bits
        function = exact_values(mp)[name]
        for argument, result in zip(x, library(name, x), strict=True):
            exact = function(mp.mpf(float(argument)))
            error = abs(mp.mpf(float(result)) - exact) / float(np.spacing(abs(float(exact))))
            assert error <= limit, f"{name}({argument!r}) is off by {float(error):.2f} ULP"


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 1.3e-7), (np.float64, 5e-16)])
def test_gelu_is_off_by_little_of_its_argument_everywhere(library, dtype, limit):
    x = np.linspace(-20, 20, 500_001).astype(dtype)
    difference = np.abs(library("gelu", x) - REFERENCES["gelu"](x.astype(np.float64)))
    assert (difference <= limit * np.abs(x)).all()


def test_erf_and_tanh_never_leave_their_range(library):
    for dtype in (np.float32, np.float64):
        x = np.linspace(2, 30, 500_001).astype(dtype)
        for name in ("erf", "tanh"):
            assert library(name, x).max() == 1
            assert library(name, -x).min() == -1


def test_results_do_not_depend_on_the_position_in_the_array(library):
    x = np.random.default_rng(0).uniform(-8, 8, 600).astype(np.float32)
    x[300] = 1e30  # sin and cos take this block through libm, and log both for its negative numbers
    for name in REFERENCES:
        with np.errstate(all="ignore"):
            whole = library(name, x)
            singly = np.concatenate([library(name, x[i : i + 1]) for i in range(x.size)])
        assert np.array_equal(whole, singly, equal_nan=True), name


def test_every_build_gives_the_same_bits(library, tmp_path):
    builds = {
        "unoptimised": MathLibrary(tmp_path, "unoptimised", ["-O0", "-ffp-contract=off"]),
        "baseline": MathLibrary(tmp_path, "baseline", FLAGS),
    }
    bits = np.arange(0, 2**32, 65521, dtype=np.uint64)
    few = bits.astype(np.uint32).view(np.float32)
    many = (bits << np.uint64(32) | bits).view(np.float64)
    for x in (few, many):
        for name in REFERENCES:
            expected = library(name, x)
            for build, other in builds.items():
                same = np.array_equal(other(name, x), expected, equal_nan=True)
                assert same, f"{name} of {x.dtype} differs in the {build} build"


def test_every_loop_is_vectorised(tmp_path):
    report = MathLibrary(tmp_path, "report", [*FLAGS, "-march=native", "-fopt-info-vec-optimized"])
    found = re.findall(r"(\w+\.[ch]):(\d+):\d+: optimized: +loop vectorized", report.messages)
    if not found:
        pytest.skip("this compiler does not report its loops as GCC does")
    vectorised = {(file, int(line)) for file, line in found}
    for number, line in enumerate(loops_source().splitlines(), 1):
        name = re.search(r"tl_(\w+?)f?\(x\[i\]\)", line)
        if (name and name[1] in PLAIN) or any(f"void {one}" in line for one in GUARDED):
            assert ("report.c", number) in vectorised, f"not vectorised: {line}"


NEED_SELECTS = [
    *("add", "tanh_backward", "elu", "elu_slope", "xlogy", "softshrink", "nan_to_num"),
    *("hardswish", "huber_loss"),
]


@pytest.mark.parametrize("name", NEED_SELECTS)
def test_loops_of_formulas_are_vectorised(tmp_path, name):
    """Those that choose between cases, among them: with a calculation in a branch they would not be."""
    op = scalar.declared(REGISTRY[name])
    loops = [scalar.loop(op, dtype) for dtype in ("float32", "float64")]
    text = "\n".join(loops).replace("static void", "void")
    (tmp_path / "loops.c").write_text(
        f'#include "scalar_loops.h"\n#include "tl_math.h"\n{scalar.functions_for(text)}\n{text}'
    )
    asked = subprocess.run([find_compiler(), "--version"], capture_output=True, text=True)
    if "Free Software Foundation" not in asked.stdout:
        pytest.skip("this compiler does not report its loops as GCC does")
    flags = [*FLAGS, "-march=native", "-fopt-info-vec-optimized", f"-I{HEADER.parent}"]
    command = [find_compiler(), *flags, "-c", "loops.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = re.findall(r"loops\.c:\d+:\d+: optimized: +loop vectorized", done.stderr)
    assert len(found) >= 2


def test_float64_powers_are_within_the_stated_limit():
    """Of tl_power, by way of the op: bases near 1 and large exponents magnify what the logarithm loses."""
    mp = pytest.importorskip("mpmath", reason="needs mpmath for values beyond double").mp
    rng = np.random.default_rng(0)
    near_one = 1 + rng.uniform(0.5, 1, 300) * 2.0 ** rng.integers(-45, -1, 300)
    x = np.concatenate([rng.uniform(0.1, 2, 300), np.exp(rng.uniform(-740, 700, 300)), near_one])
    y = rng.uniform(-700, 700, 900) / np.abs(np.log(x))
    result = tensorlab.pow(tensorlab.from_numpy(x), tensorlab.from_numpy(y)).numpy()
    with mp.workprec(200):
        for base, exponent, power in zip(x, y, result, strict=True):
            exact = mp.mpf(float(base)) ** mp.mpf(float(exponent))
            error = abs(mp.mpf(float(power)) - exact) / float(np.spacing(float(exact)))
            assert error <= 1.7, f"{base!r} ** {exponent!r} is off by {float(error):.2f} ULP"


PAIRS = {"atan2": np.arctan2, "hypot": np.hypot}
ENDS = [0.0, 1, 2, INF, NAN]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_numbers_at_the_ends(name, dtype):
    """The signs of zeros, equal and infinite sides, nan, and numbers whose squares are too large or too small."""
    limits = np.finfo(dtype)
    ends = [*ENDS, limits.max, limits.tiny, limits.smallest_subnormal]
    y, x = np.meshgrid([*ends, *np.negative(ends)], [*ends, *np.negative(ends)])
    y, x = (np.tile(one.astype(dtype).ravel(), 4) for one in (y, x))
    result = getattr(tensorlab, name)(tensorlab.from_numpy(y), tensorlab.from_numpy(x)).numpy()
    with np.errstate(all="ignore"):
        expected = PAIRS[name](y, x)
        near = np.abs(result - expected) <= 2 * np.spacing(np.abs(expected))
    same = ((result == expected) | near) & (np.signbit(result) == np.signbit(expected))
    same |= np.isnan(result) & np.isnan(expected)
    assert same.all(), f"{name}({y[~same][:3]}, {x[~same][:3]}) is {result[~same][:3]}"


@pytest.mark.parametrize(("name", "limit"), [("atan2", 1.7), ("hypot", 0.51)])
def test_float32_functions_of_two_numbers_are_within_the_stated_limit(name, limit):
    rng = np.random.default_rng(0)
    patterns = np.concatenate(list(float32_patterns(STEP)))
    near = rng.standard_normal((2, 10**6)).astype(np.float32)
    for y, x in (near, (patterns, rng.permutation(patterns))):
        result = getattr(tensorlab, name)(tensorlab.from_numpy(y), tensorlab.from_numpy(x)).numpy()
        with np.errstate(all="ignore"):
            exact = PAIRS[name](y.astype(np.float64), x.astype(np.float64))
            worst = error_in_ulp(result, exact).max()
        assert worst <= limit


@pytest.mark.parametrize(("name", "limit"), [("atan2", 1.4), ("hypot", 1.1)])
def test_float64_functions_of_two_numbers_are_within_the_stated_limit(name, limit):
    mp = pytest.importorskip("mpmath", reason="needs mpmath for values beyond double").mp
    rng = np.random.default_rng(0)
    y, x = rng.standard_normal((2, 900))
    y[:300] *= np.exp(rng.uniform(-20, 20, 300))
    for scale in (1e-200, 1e200):
        y, x = np.concatenate([y, y[:300] * scale]), np.concatenate([x, x[:300] * scale])
    result = getattr(tensorlab, name)(tensorlab.from_numpy(y), tensorlab.from_numpy(x)).numpy()
    with mp.workprec(200):
        for one, other, length in zip(y, x, result, strict=True):
            exact = getattr(mp, name)(mp.mpf(float(one)), mp.mpf(float(other)))
            error = abs(mp.mpf(float(length)) - exact) / float(np.spacing(abs(float(exact))))
            assert error <= limit, f"{name}({one!r}, {other!r}) is off by {float(error):.2f} ULP"


def test_powers_of_float64_at_the_ends():
    ends = [0.0, 5e-324, 1e-310, 0.5, 1 - 2**-53, 1, 1 + 2**-52, 2, 1e300, INF, NAN]
    powers = [0.0, 5e-324, 0.5, 1, 2, 3, 1e19, 1e300, INF, NAN]
    x = np.array([sign * base for sign in (1, -1) for base in ends])[:, None]
    y = np.array([sign * power for sign in (1, -1) for power in powers])
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    result = (tensorlab.from_numpy(x) ** tensorlab.from_numpy(y)).numpy()
    np.testing.assert_allclose(result, expected, rtol=4e-16, atol=5e-324)
    known = ~np.isnan(expected)
    assert np.array_equal(np.signbit(result)[known], np.signbit(expected)[known])
