"""Samples of the pointwise ops on numbers: arithmetic, division, powers, elementary functions, rounding, bounds."""

from tests.ops.samples import (
    ALL_DTYPES,
    FLOATING_DTYPES,
    Sample,
    away_from_zero,
    integers,
    normal,
    positive,
    uniform,
)


def pointwise(name, call, *inputs, inplace=True, out=True, **options):
    """A sample of a pointwise op with the usual in-place and out= forms."""
    return Sample(name, call, *inputs, pointwise=True, inplace=inplace, out=out, **options)


def unary(name, make=normal, **options):
    """A sample of T.name(x)."""
    return pointwise(name, lambda T, x: getattr(T, name)(x), make(3, 4), **options)


def binary(name, make_x=normal, make_y=normal, **options):
    """A sample of T.name(x, y)."""
    return pointwise(
        name, lambda T, x, y: getattr(T, name)(x, y), make_x(3, 4), make_y(3, 4), **options
    )


def form(name, call, *inputs, **options):
    """A sample of another way to call an op: values and derivatives only."""
    return pointwise(name, call, *inputs, inplace=False, out=False, **options)


def special(name, make=normal, **options):
    """A sample of T.special.name(x), where neither the package nor a tensor has the function."""
    call = lambda T, x, out=None: getattr(T.special, name)(x, out=out)
    return pointwise(name, call, make(3, 4), **{"inplace": False, "out": call, **options})


def bad_operands(name):
    """Calls with something that is neither tensor nor number, and with shapes that do not fit."""
    return [
        lambda T, x, *rest: getattr(T, name)(x, "a"),
        lambda T, x, *rest: getattr(T, name)(x, None),
        lambda T, x, *rest: getattr(T, name)(x, T.zeros(7)),
        lambda T, x, *rest: getattr(x, name + "_")(T.zeros(2, 3, 4)),
    ]


ARITHMETIC = [
    binary("add", bad=[*bad_operands("add"), lambda T, x, y: x + "a"]),
    binary("sub", bad=bad_operands("sub")),
    binary("mul", bad=bad_operands("mul")),
    form("add number", lambda T, x: x + 2, normal(3, 4)),
    form("add float", lambda T, x: 1.5 + x, normal(3, 4)),
    pointwise(
        "add alpha",
        lambda T, x, y: T.add(x, y, alpha=3),
        normal(3, 4),
        normal(3, 4),
        inplace=lambda T, x, y: x.add_(y, alpha=3),
        out=lambda T, x, y, out: T.add(x, y, alpha=3, out=out),
    ),
    form("add alpha float", lambda T, x, y: T.add(x, y, alpha=1.5), normal(3, 4), normal(3, 4)),
    pointwise(
        "sub alpha",
        lambda T, x, y: T.sub(x, y, alpha=2),
        normal(3, 4),
        normal(3, 4),
        inplace=lambda T, x, y: x.sub_(y, alpha=2),
        out=False,
    ),
    form("sub number", lambda T, x: x - 2, normal(3, 4)),
    form("sub reflected", lambda T, x: 2 - x, normal(3, 4)),
    form("rsub", lambda T, x, y: T.rsub(x, y, alpha=2), normal(3, 4), normal(3, 4)),
    form("mul number", lambda T, x: 2 * x, normal(3, 4)),
    unary("neg"),
    form("positive", lambda T, x: +x, normal(3, 4)),
    unary("abs", away_from_zero),
    unary("sign", away_from_zero),
    pointwise(
        "addcmul",
        lambda T, x, y, z: T.addcmul(x, y, z, value=2),
        normal(3, 4),
        normal(3, 4),
        normal(3, 4),
        inplace=lambda T, x, y, z: x.addcmul_(y, z, value=2),
        out=lambda T, x, y, z, out: T.addcmul(x, y, z, value=2, out=out),
        bad=[lambda T, x, y, z: T.addcmul(x, y, 2), lambda T, x, y, z: x.addcmul_(y[:2], z)],
    ),
    pointwise(
        "addcdiv",
        lambda T, x, y, z: T.addcdiv(x, y, z, value=-2),
        normal(3, 4),
        normal(3, 4),
        away_from_zero(3, 4),
        inplace=lambda T, x, y, z: x.addcdiv_(y, z, value=-2),
        out=lambda T, x, y, z, out: T.addcdiv(x, y, z, value=-2, out=out),
    ),
    pointwise("lerp", lambda T, x, y, w: T.lerp(x, y, w), normal(3, 4), normal(3, 4), normal(3, 4)),
    pointwise(
        "lerp number",
        lambda T, x, y: T.lerp(x, y, 0.3),
        normal(3, 4),
        normal(3, 4),
        inplace=lambda T, x, y: x.lerp_(y, 0.3),
        out=lambda T, x, y, out: T.lerp(x, y, 0.3, out=out),
        bad=[lambda T, x, y: T.lerp(x, 1.0, 0.3), lambda T, x, y: T.lerp(x, y.to(T.float32), 0.3)],
    ),
]

DIVISION = [
    binary("div", normal, away_from_zero, bad=bad_operands("div")),
    form("div number", lambda T, x: x / 4, normal(3, 4)),
    form("div reflected", lambda T, x: 2 / x, away_from_zero(3, 4)),
    binary("true_divide", normal, away_from_zero, inplace=False),
    *[
        pointwise(
            f"div {mode}",
            lambda T, x, y, mode=mode: T.div(x, y, rounding_mode=mode),
            normal(3, 4),
            positive(3, 4),
            inplace=lambda T, x, y, mode=mode: x.div_(y, rounding_mode=mode),
            out=lambda T, x, y, out, mode=mode: T.div(x, y, rounding_mode=mode, out=out),
            bad=[lambda T, x, y: T.div(x, y, rounding_mode="up")],
            # in bfloat16 PyTorch rounds the quotient before it cuts it
            dtypes=[dtype for dtype in ALL_DTYPES if dtype != "bfloat16"],
        )
        for mode in ("trunc", "floor")
    ],
    form("floor_divide", lambda T, x, y: x // y, normal(3, 4), away_from_zero(3, 4), derivatives=0),
    form("floor_divide reflected", lambda T, x: 7 // x, away_from_zero(3, 4), derivatives=0),
    binary("remainder", normal, away_from_zero),
    form("remainder number", lambda T, x: x % 2, normal(3, 4)),
    form("remainder reflected", lambda T, x: 7 % x, away_from_zero(3, 4), derivatives=0),
    binary("fmod", normal, away_from_zero),
    unary("reciprocal", away_from_zero),
]

POWERS = [
    *[
        pointwise(
            f"pow {exponent}",
            lambda T, x, exponent=exponent: T.pow(x, exponent),
            positive(3, 4),
            inplace=lambda T, x, exponent=exponent: x.pow_(exponent),
            out=lambda T, x, out, exponent=exponent: T.pow(x, exponent, out=out),
        )
        for exponent in (2, 3, 0.5, -0.5, -1, -2, 4, 1, 0, 2.5, -1.5)
    ],
    form("pow of negative numbers", lambda T, x: x**3 + x**-3 + x**4, away_from_zero(3, 4)),
    binary("pow", positive, normal, dtypes=["float32", "float16", "bfloat16", "uint8"]),
    # here PyTorch gives row-major results for any layout of y
    form("pow reflected", lambda T, y: 2**y, uniform(0.1, 2, 3, 4), same_strides=False),
    form("pow reflected float", lambda T, y: 0.5**y, normal(3, 4), same_strides=False),
    pointwise(
        "float_power",
        lambda T, x, y: T.float_power(x, y),
        positive(3, 4),
        normal(3, 4),
        dtypes=["float32", "float16", "uint8"],
    ),
    unary("square"),
    unary("sqrt", positive),
    unary("rsqrt", positive),
]

ELEMENTARY = [
    *[unary(name) for name in ("exp", "exp2", "expm1", "sigmoid", "tanh")],
    *[unary(name, positive) for name in ("log", "log2", "log10", "log1p")],
    form("exp of large numbers", lambda T, x: T.exp(30 * x), normal(3, 4)),
    pointwise("logit", lambda T, x: T.logit(x), uniform(0.1, 0.9, 3, 4)),
    pointwise(
        "logit eps",
        lambda T, x: T.logit(x, 0.2),
        uniform(0.05, 0.95, 3, 4),
        inplace=lambda T, x: x.logit_(0.2),
        out=lambda T, x, out: T.logit(x, 0.2, out=out),
    ),
    binary("logaddexp", inplace=False),
    binary("logaddexp2", inplace=False),
]

TRIGONOMETRY = [
    *[unary(name) for name in ("sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "sinc")],
    *[unary(name) for name in ("deg2rad", "rad2deg")],
    *[unary(name, lambda *shape: uniform(-0.9, 0.9, *shape)) for name in ("asin", "acos", "atanh")],
    unary("acosh", lambda *shape: uniform(1.1, 5, *shape)),
    *[
        form(
            f"{name} of large numbers",
            lambda T, x, name=name: getattr(T, name)(1e7 * x),
            normal(3, 4),
        )
        for name in ("sin", "cos")
    ],
    *[
        form(
            f"{name} of 20 x",
            lambda T, x, name=name: getattr(T, name)(20 * x),
            normal(3, 4),
            tolerance=10,
        )
        for name in ("sinh", "cosh", "asinh")
    ],
    binary("atan2", bad=[lambda T, x, y: T.atan2(x, 1)]),
    binary("hypot", bad=[lambda T, x, y: T.hypot(x, 1)]),
]

# Ops whose loops call SciPy's functions.
SCIPYS = {
    *("i0", "i0e", "i1", "i1e", "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"),
    *("modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1"),
    *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "erfcx", "log_ndtr", "ndtri"),
    *("igamma", "igammac", "_standard_gamma_grad", "_dirichlet_grad"),
    "power_derivative",  # not SciPy's, but a loop as well
}
WITHOUT_DERIVATIVE = {  # as in PyTorch
    **dict.fromkeys(["airy_ai", "bessel_j0", "bessel_j1", "spherical_bessel_j0"], normal),
    **dict.fromkeys(["modified_bessel_i0", "modified_bessel_i1"], normal),
    **dict.fromkeys(["bessel_y0", "bessel_y1"], positive),
    **dict.fromkeys(["modified_bessel_k0", "modified_bessel_k1"], positive),
    **dict.fromkeys(["scaled_modified_bessel_k0", "scaled_modified_bessel_k1"], positive),
}
POLYNOMIALS = [
    *[f"chebyshev_polynomial_{kind}" for kind in "tuvw"],
    *[f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"],
    *("hermite_polynomial_h", "hermite_polynomial_he"),
    *("laguerre_polynomial_l", "legendre_polynomial_p"),
]
# PyTorch has no half types there
LONGER_DTYPES = ["float32", "int64", "int32", "int16", "int8", "uint8"]


def special_binary(name, make_x, make_y, **options):
    """A sample of T.special.name(x, y)."""
    return pointwise(
        name,
        lambda T, x, y: getattr(T.special, name)(x, y),
        make_x(3, 4),
        make_y(3, 4),
        **{
            "inplace": False,
            "out": lambda T, x, y, out: getattr(T.special, name)(x, y, out=out),
            **options,
        },
    )


SPECIAL = [
    *[unary(name) for name in ("erf", "erfc")],
    unary("erfinv", lambda *shape: uniform(-0.9, 0.9, *shape)),
    unary("lgamma", positive, tolerance=10),
    unary("digamma", positive, tolerance=10),
    pointwise(
        "polygamma",
        lambda T, x: T.polygamma(2, x),
        positive(3, 4),
        inplace=False,
        out=lambda T, x, out: T.polygamma(2, x, out=out),
        tolerance=1e3,
        bad=[lambda T, x: T.polygamma(-1, x)],
    ),
    unary("i0", tolerance=10),
    special("i1", tolerance=10),
    special("ndtr", out=False),  # with out= PyTorch records a copy: test_pointwise.py
    special("i0e", away_from_zero, tolerance=10),
    special("i1e", away_from_zero, tolerance=10),
    special("entr", positive),
    special("erfcx", tolerance=10, dtypes=LONGER_DTYPES),
    special("log_ndtr", tolerance=10, dtypes=LONGER_DTYPES),
    special("ndtri", lambda *shape: uniform(0.1, 0.9, *shape), tolerance=10, dtypes=LONGER_DTYPES),
    *[
        special(name, make, derivatives=0, tolerance=20, dtypes=LONGER_DTYPES)
        for name, make in WITHOUT_DERIVATIVE.items()
    ],
    *[
        special_binary(
            name,
            normal,
            lambda *shape: integers(0, 9, *shape),
            derivatives=0,
            tolerance=100,
            dtypes=LONGER_DTYPES,
        )
        for name in POLYNOMIALS
    ],
    form(
        "hermite_polynomial_h of a number",
        lambda T, x: T.special.hermite_polynomial_h(x, 3),
        normal(3, 4),
        derivatives=0,
        dtypes=LONGER_DTYPES,
    ),
    special_binary("xlog1py", positive, positive),
    form("xlog1py number", lambda T, x: T.special.xlog1py(x, 2.5), normal(3, 4)),
    form(
        "xlog1py reflected",
        lambda T, x: T.special.xlog1py(2.5, x),
        positive(3, 4),
        same_strides=False,
    ),
    form(
        "zeta",
        lambda T, y: T.special.zeta(y.detach() * 0 + 3, y),
        positive(3, 4),
        tolerance=20,
        dtypes=LONGER_DTYPES,
    ),
    *[
        form(
            name,
            lambda T, y, name=name: getattr(T, name)(y.detach() * 0 + 1.5, y),
            positive(3, 4),
            tolerance=20,
            dtypes=FLOATING_DTYPES,
            bad=[lambda T, y, name=name: getattr(T, name)(y, 1.0)],
        )
        for name in ("igamma", "igammac")
    ],
    pointwise(
        "mvlgamma",
        lambda T, x: T.mvlgamma(x, 3),
        uniform(2, 6, 3, 4),
        inplace=lambda T, x: x.mvlgamma_(3),
        out=lambda T, x, out: T.mvlgamma(x, 3, out=out),
        tolerance=20,
        bad=[lambda T, x: T.mvlgamma(x, 0)],
        same_strides=False,
    ),
    binary("xlogy", positive, positive),
    form("xlogy number", lambda T, x: T.xlogy(x, 2.5), normal(3, 4)),
    form("xlogy reflected", lambda T, x: T.xlogy(2.5, x), positive(3, 4), same_strides=False),
]

SIGNS = [
    binary("copysign", away_from_zero, away_from_zero),
    form("copysign number", lambda T, x: T.copysign(x, -1), away_from_zero(3, 4)),
    unary("signbit", inplace=False, derivatives=0),
    pointwise(
        "heaviside",
        lambda T, x, y: T.heaviside(x, y),
        integers(-2, 3, 3, 4),
        integers(-2, 3, 3, 4),
        derivatives=0,
        bad=[lambda T, x, y: T.heaviside(x, y.to(T.float32))],
    ),
    binary("nextafter"),
    form("frexp", lambda T, x: tuple(T.frexp(x)), normal(3, 4), dtypes=FLOATING_DTYPES),
    # for negative integers PyTorch's derivative is 0, which is wrong
    pointwise("ldexp", lambda T, x, y: T.ldexp(x, y), normal(3, 4), integers(0, 4, 3, 4)),
    form("ldexp float", lambda T, x, y: T.ldexp(x, y), normal(3, 4), normal(3, 4)),
    unary("angle", away_from_zero, inplace=False, derivatives=1),
    *[
        pointwise(
            name,
            lambda T, x, y, name=name: getattr(T, name)(x, y),
            integers(-30, 30, 3, 4),
            integers(-30, 30, 3, 4),
            derivatives=0,
            bad=[lambda T, x, y, name=name: getattr(T, name)(x.to(T.float32), y)],
        )
        for name in ("gcd", "lcm")
    ],
]

SAMPLES = [
    *ARITHMETIC,
    *DIVISION,
    *POWERS,
    *ELEMENTARY,
    *TRIGONOMETRY,
    *SPECIAL,
    *SIGNS,
]
