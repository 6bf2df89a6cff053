"""What the samples mean in NumPy and SciPy: for each name, the same call on arrays.

    REFERENCES["sum dim"](x)    is what tensorlab.sum(x, 1) must give

A function is NumPy's own where it has the op, else the formula of its definition, written for reading and not for
speed. This file has the pointwise ops; its neighbours references_*.py add the others.
"""

import numpy as np
import scipy.special

REFERENCES = {}


def reference(*names):
    """Register a function of arrays for samples of these names."""

    def register(function):
        for name in names:
            assert name not in REFERENCES, name
            REFERENCES[name] = function
        return function

    return register


def sigmoid(x):
    return scipy.special.expit(x)


def softplus(x):
    return np.logaddexp(x, 0)


def softmax(x, axis):
    return scipy.special.softmax(x, axis) if x.size else x


# ------------------------------------------------------------------------------------------------ pointwise
# Ops of the same name, or nearly, in NumPy or SciPy.
SAME_NAME = """
    add sub=subtract mul=multiply neg=negative positive abs sign div=divide true_divide
    floor_divide remainder fmod reciprocal pow=power float_power square sqrt exp exp2 expm1 log log2 log10 log1p
    logaddexp logaddexp2 sin cos tan atan=arctan sinh cosh asinh=arcsinh sinc deg2rad rad2deg asin=arcsin
    acos=arccos atanh=arctanh acosh=arccosh atan2=arctan2 hypot tanh copysign signbit heaviside nextafter
    frexp gcd lcm floor ceil trunc round maximum minimum fmax fmin eq=equal ne=not_equal lt=less
    le=less_equal gt=greater ge=greater_equal isnan isinf isfinite isposinf isneginf logical_not
    logical_and logical_or logical_xor where i0 angle nan_to_num isclose
"""
for word in SAME_NAME.split():
    ours, _, theirs = word.partition("=")
    REFERENCES[ours] = getattr(np, theirs or ours)
for name in ("maximum", "minimum", "fmax", "fmin"):
    REFERENCES[f"{name} of equals"] = REFERENCES[f"{name} of specials"] = REFERENCES[name]
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    REFERENCES[f"{name} of specials"] = REFERENCES[name]
for name in ("and", "or", "xor", "not"):
    function = getattr(np, {"not": "invert"}.get(name, f"bitwise_{name}"))
    REFERENCES[f"bitwise_{name} ints"] = REFERENCES[f"bitwise_{name} bools"] = function
for exponent in (2, 3, 0.5, -0.5, -1, -2, 4, 1, 0, 2.5, -1.5):
    REFERENCES[f"pow {exponent}"] = lambda x, exponent=exponent: x ** float(exponent)
SCIPYS_NAMES = """
    erf erfc erfinv i1 ndtr xlogy logit i0e i1e entr erfcx log_ndtr ndtri xlog1py bessel_j0=j0 bessel_j1=j1
    bessel_y0=y0 bessel_y1=y1 modified_bessel_i0=i0 modified_bessel_i1=i1 modified_bessel_k0=k0 modified_bessel_k1=k1
    scaled_modified_bessel_k0=k0e scaled_modified_bessel_k1=k1e
"""
for word in SCIPYS_NAMES.split():
    ours, _, theirs = word.partition("=")
    REFERENCES[ours] = getattr(scipy.special, theirs or ours)
POLYNOMIALS = """
    chebyshev_polynomial_t=chebyt chebyshev_polynomial_u=chebyu shifted_chebyshev_polynomial_t=sh_chebyt
    shifted_chebyshev_polynomial_u=sh_chebyu hermite_polynomial_h=hermite hermite_polynomial_he=hermitenorm
    laguerre_polynomial_l=laguerre legendre_polynomial_p=legendre
"""
for word in POLYNOMIALS.split():
    ours, _, theirs = word.partition("=")
    function = getattr(scipy.special, f"eval_{theirs}")
    REFERENCES[ours] = lambda x, n, function=function: function(n, x)


def chebyshev_v(x, n):
    """The third kind is what the second differs by from one degree to the next."""
    return scipy.special.eval_chebyu(n, x) - scipy.special.eval_chebyu(n - 1, x)


REFERENCES |= {
    "airy_ai": lambda x: scipy.special.airy(x)[0],
    "spherical_bessel_j0": lambda x: scipy.special.spherical_jn(0, x),
    "chebyshev_polynomial_v": chebyshev_v,
    "chebyshev_polynomial_w": lambda x, n: (-1.0) ** n * chebyshev_v(-x, n),
    "shifted_chebyshev_polynomial_v": lambda x, n: chebyshev_v(2 * x - 1, n),
    "shifted_chebyshev_polynomial_w": lambda x, n: (-1.0) ** n * chebyshev_v(1 - 2 * x, n),
    "hermite_polynomial_h of a number": lambda x: 8 * x**3 - 12 * x,
    "xlog1py number": lambda x: x * np.log1p(2.5),
    "xlog1py reflected": lambda x: 2.5 * np.log1p(x),
    "zeta": lambda y: scipy.special.zeta(3, y),
    "igamma": lambda y: scipy.special.gammainc(1.5, y),
    "igammac": lambda y: scipy.special.gammaincc(1.5, y),
    "mvlgamma": np.vectorize(lambda x: scipy.special.multigammaln(x, 3), otypes=[float]),
}

REFERENCES |= {
    "add number": lambda x: x + 2,
    "add float": lambda x: 1.5 + x,
    "add alpha": lambda x, y: x + 3 * y,
    "add alpha float": lambda x, y: x + 1.5 * y,
    "sub alpha": lambda x, y: x - 2 * y,
    "sub number": lambda x: x - 2,
    "sub reflected": lambda x: 2 - x,
    "rsub": lambda x, y: y - 2 * x,
    "mul number": lambda x: 2 * x,
    "addcmul": lambda x, y, z: x + 2 * y * z,
    "addcdiv": lambda x, y, z: x - 2 * y / z,
    "lerp": lambda x, y, weight: (1 - weight) * x + weight * y,
    "lerp number": lambda x, y: 0.7 * x + 0.3 * y,
    "div number": lambda x: x / 4,
    "div reflected": lambda x: 2 / x,
    "div trunc": lambda x, y: np.trunc(x / y),
    "div floor": lambda x, y: np.floor(x / y),
    "floor_divide reflected": lambda x: 7 // x,
    "remainder number": lambda x: x % 2,
    "remainder reflected": lambda x: 7 % x,
    "pow of negative numbers": lambda x: x * x * x + 1 / (x * x * x) + x * x * x * x,
    "pow reflected": lambda x: np.exp(x * np.log(2)),
    "pow reflected float": lambda x: np.exp(-x * np.log(2)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": sigmoid,
    "exp of large numbers": lambda x: np.exp(30 * x),
    "logit eps": lambda x: scipy.special.logit(np.clip(x, 0.2, 0.8)),
    "sin of large numbers": lambda x: np.sin(1e7 * x),
    "cos of large numbers": lambda x: np.cos(1e7 * x),
    "sinh of 20 x": lambda x: np.sinh(20 * x),
    "cosh of 20 x": lambda x: np.cosh(20 * x),
    "asinh of 20 x": lambda x: np.arcsinh(20 * x),
    "lgamma": scipy.special.gammaln,
    "digamma": scipy.special.psi,
    "polygamma": lambda x: scipy.special.polygamma(2, x),
    "xlogy number": lambda x: x * np.log(2.5),
    "xlogy reflected": lambda x: 2.5 * np.log(x),
    "copysign number": lambda x: -np.abs(x),
    "ldexp": lambda x, y: x * 2.0**y,
    "ldexp float": lambda x, y: x * 2.0**y,
    "frac": lambda x: x - np.trunc(x),
    "round of halves": np.round,
    "round decimals 2": lambda x: np.round(x, 2),
    "round decimals -1": lambda x: np.round(x, -1),
    "nan_to_num of specials": lambda x: np.nan_to_num(x, nan=1, neginf=-7),
    "nan_to_num limits": np.nan_to_num,
    "clamp": lambda x: np.clip(x, -0.6, 0.8),
    "clamp of specials": lambda x: np.clip(x, -1, 1),
    "clamp integers": lambda x: np.clip(x, -1, 2),
    "clamp inverted": lambda x: np.full_like(x, -1),
    "clamp at its bounds": lambda x: np.clip(x, -0.5, 0.5),
    "clamp tensors": lambda x, y, z: np.minimum(np.maximum(x, y), z),
    "clamp low tensor": np.maximum,
    "clamp high tensor": np.minimum,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
    "clamp_min number": lambda x: np.maximum(x, 0.3),
    "clamp_max number": lambda x: np.minimum(x, 0.3),
    "lt number": lambda x: x < 0.5,
    "lt reflected": lambda x: x > 1,
    "eq number": lambda x: x == 1,
    "isclose equal_nan": lambda x, y: np.isclose(x, y + 1e-7, equal_nan=True),
    # NumPy leaves counts of 64 and more open: all bits are gone, but for the sign
    "bitwise_left_shift": lambda x, n: np.where((n < 0) | (n > 63), 0, x << np.clip(n, 0, 63)),
    "bitwise_right_shift": lambda x, n: x >> np.where((n < 0) | (n > 63), 63, n),
    "operators of bits": lambda x: [x & 3, 3 | x, x ^ 5, ~x, x << 2, x >> 1, 2 << x, 100 >> x],
    "where number": lambda mask, x: np.where(mask, x, 0),
    "where two numbers": lambda mask: np.where(mask, 1.5, 2).astype("float32"),
    "where method": lambda mask, x, y: np.where(mask, x, y),
    "masked_fill": lambda x, mask: np.where(mask, 0.5, x),
    "masked_fill tensor": lambda x, mask, y: np.where(mask, y, x),
}

# ------------------------------------------------------------------------------------------------ activations
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "leaky_relu 0.3": lambda x: np.where(x > 0, x, 0.3 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "elu 0.5": lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "celu 2.0": lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2)),
    "gelu": lambda x: x * scipy.special.ndtr(x),
    "silu": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "softplus": softplus,
    "softplus 2.0 3.0": lambda x: np.where(2 * x > 3, x, softplus(2 * x) / 2),
    "logsigmoid": lambda x: -softplus(-x),
    "sigmoid of nn.functional": sigmoid,
    "tanh of nn.functional": np.tanh,
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "hardtanh -0.5 2.0": lambda x: np.clip(x, -0.5, 2),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "threshold 0.1 20.0": lambda x: np.where(x <= 0.1, 20, x),
    "softshrink": lambda x: np.where(np.abs(x) <= 0.5, 0, x - 0.5 * np.sign(x)),
    "hardshrink": lambda x: np.where(np.abs(x) <= 0.5, 0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
}
REFERENCES |= ACTIVATIONS | {f"{name} of specials": f for name, f in ACTIVATIONS.items()}
REFERENCES |= {
    "gelu tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "prelu of channels": lambda x, w: np.where(
        x > 0, x, w.reshape(-1, *[1] * max(x.ndim - 2, 0)) * x
    ),
    "glu": lambda x: np.split(x, 2, 1)[0] * sigmoid(np.split(x, 2, 1)[1]),
    "bad arguments of activations": ACTIVATIONS["relu"],
}
