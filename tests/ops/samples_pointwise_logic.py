"""Samples of the pointwise ops that round, bound, compare and select."""

from tests.ops.samples import (
    FLOATING_DTYPES,
    Sample,
    away_from_zero,
    booleans,
    integers,
    normal,
    uniform,
    values,
)
from tests.ops.samples_pointwise import binary, form, pointwise, unary

NAN, INF = float("nan"), float("inf")


EXTREME = {
    "derivatives": 0,
    "dtypes": ["float32"],
}  # for inputs that integers and halves cannot hold


def specials(rng):
    """Every kind of floating number."""
    return values(0.0, -0.0, 1.5, -2.5, NAN, INF, -INF, 1e-40, -1e30)(rng)


def specials_reversed(rng):
    return specials(rng)[::-1].copy()


def coarse(*shape):
    """Few different numbers, so that pairs are often equal."""
    return lambda rng: rng.integers(-2, 3, shape) / 2


ROUNDING = [
    *[unary(name, away_from_zero) for name in ("floor", "ceil", "trunc", "round", "frac")],
    form("round of halves", lambda T, x: T.round(x), coarse(3, 4), derivatives=0),
    *[
        pointwise(
            f"round decimals {decimals}",
            lambda T, x, decimals=decimals: T.round(x, decimals=decimals),
            uniform(-100, 100, 3, 4),
            inplace=lambda T, x, decimals=decimals: x.round_(decimals=decimals),
            out=lambda T, x, out, decimals=decimals: T.round(x, decimals=decimals, out=out),
            dtypes=["float32", "int64"],
        )
        for decimals in (2, -1)
    ],
    unary("nan_to_num"),
    form(
        "nan_to_num of specials",
        lambda T, x: T.nan_to_num(x, 1.0, neginf=-7),
        specials,
        dtypes=["float32"],
    ),
    form("nan_to_num limits", lambda T, x: T.nan_to_num(x), specials, dtypes=["float32"]),
]

BOUNDS = [
    pointwise(
        "clamp",
        lambda T, x: T.clamp(x, -0.6, 0.8),
        normal(3, 4),
        inplace=lambda T, x: x.clamp_(-0.6, 0.8),
        out=lambda T, x, out: T.clamp(x, -0.6, 0.8, out=out),
        bad=[lambda T, x: T.clamp(x), lambda T, x: x.clamp_(), lambda T, x: T.clamp(x, "a")],
    ),
    form("clamp of specials", lambda T, x: T.clamp(x, -1, 1), specials, **EXTREME),
    form("clamp integers", lambda T, x: T.clamp(x, -1, 2), normal(3, 4)),
    form("clamp inverted", lambda T, x: T.clamp(x, 1, -1), normal(3, 4)),
    form("clamp at its bounds", lambda T, x: T.clamp(x, -0.5, 0.5), coarse(3, 4)),
    form("clamp tensors", lambda T, x, y, z: T.clamp(x, y, z), *[normal(3, 4)] * 3),
    form("clamp low tensor", lambda T, x, y: T.clamp(x, y), *[normal(3, 4)] * 2),
    form("clamp high tensor", lambda T, x, y: T.clamp(x, max=y), *[normal(3, 4)] * 2),
    binary("clamp_min"),
    binary("clamp_max"),
    form("clamp_min number", lambda T, x: T.clamp_min(x, 0.3), normal(3, 4)),
    form("clamp_max number", lambda T, x: x.clamp_max(0.3), normal(3, 4)),
    *[
        binary(name, inplace=False, bad=[lambda T, x, y, name=name: getattr(T, name)(x, 1)])
        for name in ("maximum", "minimum", "fmax", "fmin")
    ],
    *[
        form(
            f"{name} of equals",
            lambda T, x, y, name=name: getattr(T, name)(x, y),
            *[coarse(3, 4)] * 2,
        )
        for name in ("maximum", "minimum", "fmax", "fmin")
    ],
    *[
        form(
            f"{name} of specials",
            lambda T, x, y, name=name: getattr(T, name)(x, y),
            specials,
            specials_reversed,
            derivatives=1,
            dtypes=["float32"],
        )
        for name in ("maximum", "minimum", "fmax", "fmin")
    ],
]

COMPARISON = [
    *[
        binary(name, lambda *shape: coarse(*shape), lambda *shape: coarse(*shape), derivatives=0)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    ],
    *[
        form(
            f"{name} of specials",
            lambda T, x, y, name=name: getattr(T, name)(x, y),
            specials,
            specials_reversed,
            **EXTREME,
        )
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    ],
    form("lt number", lambda T, x: x < 0.5, normal(3, 4), derivatives=0),
    form("lt reflected", lambda T, x: 1 < x, normal(3, 4), derivatives=0),
    form("eq number", lambda T, x: x == 1, coarse(3, 4), derivatives=0),
    *[
        form(name, lambda T, x, name=name: getattr(T, name)(x), specials, **EXTREME)
        for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf")
    ],
    form("isclose", lambda T, x, y: T.isclose(x, y), specials, specials_reversed, **EXTREME),
    form(
        "isclose equal_nan",
        lambda T, x, y: T.isclose(x, y + 1e-7, equal_nan=True),
        specials,
        specials,
        derivatives=0,
        bad=[lambda T, x, y: T.isclose(x, y, rtol=-1), lambda T, x, y: T.isclose(x, 1.0)],
        dtypes=FLOATING_DTYPES[:1],
    ),
]

LOGIC = [
    pointwise("logical_not", lambda T, x: T.logical_not(x), coarse(3, 4), derivatives=0),
    *[
        pointwise(
            name,
            lambda T, x, y, name=name: getattr(T, name)(x, y),
            coarse(3, 4),
            coarse(3, 4),
            derivatives=0,
            bad=[lambda T, x, y, name=name: getattr(T, name)(x, 1)],
        )
        for name in ("logical_and", "logical_or", "logical_xor")
    ],
    *[
        pointwise(f"bitwise_not {kind}", lambda T, x: T.bitwise_not(x), make, derivatives=0)
        for kind, make in (("ints", integers(-9, 9, 3, 4)), ("bools", booleans(3, 4)))
    ],
    *[
        pointwise(
            f"{name} {kind}",
            lambda T, x, y, name=name: getattr(T, name)(x, y),
            make,
            make,
            derivatives=0,
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
        for kind, make in (("ints", integers(-9, 9, 3, 4)), ("bools", booleans(3, 4)))
    ],
    *[
        pointwise(
            name,
            lambda T, x, y, name=name: getattr(T, name)(x, y),
            integers(-9, 9, 3, 4),
            integers(-2, 70, 3, 4),
            derivatives=0,
        )
        for name in ("bitwise_left_shift", "bitwise_right_shift")
    ],
    form(
        "operators of bits",
        lambda T, x: [x & 3, 3 | x, x ^ 5, ~x, x << 2, x >> 1, 2 << x, 100 >> x],
        integers(0, 9, 3, 4),
        derivatives=0,
    ),
]

SELECTION = [
    pointwise(
        "where",
        lambda T, c, x, y: T.where(c, x, y),
        booleans(3, 4),
        normal(3, 4),
        normal(3, 4),
        inplace=False,
        out=lambda T, c, x, y, out: T.where(c, x, y, out=out),
        bad=[
            lambda T, c, x, y: T.where(x, x, y),
            lambda T, c, x, y: T.where(c, x, "a"),
            lambda T, c, x, y: T.where(c, x, T.zeros(7)),
        ],
    ),
    form("where number", lambda T, c, x: T.where(c, x, 0), booleans(3, 4), normal(3, 4)),
    form("where two numbers", lambda T, c: T.where(c, 1.5, 2), booleans(3, 4), derivatives=0),
    form("where method", lambda T, c, x, y: x.where(c, y), booleans(3, 4), *[normal(3, 4)] * 2),
    pointwise(
        "masked_fill",
        lambda T, x, c: T.masked_fill(x, c, 0.5),
        normal(3, 4),
        booleans(3, 4),
        inplace=lambda T, x, c: x.masked_fill_(c, 0.5),
        out=False,
        bad=[
            lambda T, x, c: x.masked_fill(x, 1),
            lambda T, x, c: x.masked_fill(c, T.zeros(2)),
            lambda T, x, c: x.masked_fill_(T.ones(2, 3, 4) > 0, 1),
            lambda T, x, c: x.to(T.uint8).masked_fill(c, 300),
            lambda T, x, c: x.to(T.float16).masked_fill(c, 1e9),
        ],
    ),
    Sample(
        "masked_fill tensor",
        lambda T, x, c, y: T.masked_fill(x, c, y),
        normal(3, 4),
        booleans(3, 4),
        normal(),
    ),
]

SAMPLES: list[Sample] = [*ROUNDING, *BOUNDS, *COMPARISON, *LOGIC, *SELECTION]
