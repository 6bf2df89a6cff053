"""What each pointwise op computes, as a C expression: the same as its loop in ops/pointwise/*.pyx, to the last bit.

In an expression the op's parameters stand for their values, and

    T           the C type that the op calculates in
    tl_exp@     tl_expf where that is float, tl_exp where it is double; `fma@` likewise
    rest#       a function of helpers.py for that type: rest_float32

Arithmetic with T follows C: small integers are widened and cut again when the result is stored.
`(T)1` and 1.0 differ: the second one makes a float expression double, as it does where an eager
loop mixes the two.
"""

import re
from typing import NamedTuple

from tensorlab.compiler.lowering.c_types import c_type, kind_of


class Guarded(NamedTuple):
    """An expression that becomes SIMD code, and another for blocks where `unless` holds somewhere."""

    usual: str
    unless: str
    otherwise: str


CLAMP = "at_most#(at_least#(x, {0}), {1})"
HUGE_ANGLE = "tl_is_huge@(x)"
HUGE_QUOTIENT = "!(fabs((double)x / (double)y) < 16777216.0) | !(fabsf(y) < INFINITY)"
REST = "(float)copysign(x - trunc((double)x / y) * y, x)"
EXACT_REST = "(T)fmod(x, y)"
DIV_FLOOR = "div_floor_real#(x, y, {})"
TOWARDS = "towards_divisor#({}, y)"

# op: expression, or one for each kind of type ("bool", "integer", "floating"; or a single type), "any" for the others
EXPRESSIONS = {
    # arithmetic.pyx
    "add": {"bool": "x | y", "any": "x + y"},
    "add_scaled": {
        "bool": "x | (alpha & y)",
        "floating": "fma@(alpha, y, x)",
        "integer": "alpha * y + x",
    },
    "sub_scaled": {"floating": "fma@(-alpha, y, x)", "integer": "(T)-alpha * y + x"},
    "sub": "x - y",
    "rsub": "y - x",
    "mul": {"bool": "x & y", "any": "x * y"},
    "neg": "-x",
    # bounds.pyx
    "clamp": CLAMP.format("min", "max"),
    "clamp_backward": "(x >= min) & (x <= max) ? grad : 0",
    "clamp_min": "at_least#(x, min)",
    "clamp_low": "at_least#(x, min)",
    "clamp_max": "at_most#(x, max)",
    "clamp_high": "at_most#(x, max)",
    "keep_grad": "low <= high ? grad : 0",
    "maximum": "at_least#(x, y)",
    "minimum": "at_most#(x, y)",
    "fmax": "(x >= y) | (y != y) ? x : y",
    "fmin": "(x <= y) | (y != y) ? x : y",
    # comparison.pyx
    "eq": "x == y",
    "ne": "x != y",
    "lt": "x < y",
    "le": "x <= y",
    "gt": "x > y",
    "ge": "x >= y",
    "isnan": {"floating": "x != x", "any": "0"},
    "isinf": {"floating": "(x == INFINITY) | (x == -INFINITY)", "any": "0"},
    "isfinite": {"floating": "(x < INFINITY) & (x > -INFINITY)", "any": "1"},
    "isposinf": {"floating": "x == INFINITY", "any": "0"},
    "isneginf": {"floating": "x == -INFINITY", "any": "0"},
    "isclose": "is_close#(x, y, rtol, atol)",
    # division.pyx
    "div": "x / y",
    "reciprocal": "(T)1 / x",
    "div_floor": {
        "float32": Guarded(DIV_FLOOR.format(REST), HUGE_QUOTIENT, DIV_FLOOR.format(EXACT_REST)),
        "floating": DIV_FLOOR.format(EXACT_REST),
        "any": "div_floor_integer#(x, y)",
    },
    "div_trunc": {"floating": "trunc@(x / y)", "any": "div_trunc_integer#(x, y)"},
    "remainder": {
        "float32": Guarded(TOWARDS.format(REST), HUGE_QUOTIENT, TOWARDS.format(EXACT_REST)),
        "floating": TOWARDS.format(EXACT_REST),
        "any": TOWARDS.format("integer_rest#(x, y)"),
    },
    "fmod": {
        "float32": Guarded(REST, HUGE_QUOTIENT, EXACT_REST),
        "floating": EXACT_REST,
        "any": "integer_rest#(x, y)",
    },
    # elementary.pyx
    "exp": "tl_exp@(x)",
    "exp2": "tl_exp2@(x)",
    "expm1": "tl_expm1@(x)",
    "log": "tl_log@(x)",
    "log2": {"float32": "(float)(tl_log(x) * 1.4426950408889634)", "floating": "log2(x)"},
    "log10": {"float32": "(float)(tl_log(x) * 0.4342944819032518)", "floating": "log10(x)"},
    "log1p": "tl_log1p@(x)",
    "sigmoid": "tl_sigmoid@(x)",
    "sigmoid_backward": "grad * ((T)1 - y) * y",
    "logit": "logit#(x, eps)",
    "logaddexp": "logaddexp#(x, y, (T)1)",
    "logaddexp2": "logaddexp#(x, y, (T)0.6931471805599453)",
    "tanh": "tl_tanh@(x)",
    "tanh_backward": "grad * ((T)1 - y * y)",
    # hyperbolic.pyx
    "sinh": "sinh#(x)",
    "cosh": "cosh#(x)",
    "asinh": "asinh#(x)",
    "acosh": "acosh#(x)",
    "atanh": "atanh#(x)",
    # logic.pyx
    "logical_not": "x == 0",
    "logical_and": "(x != 0) & (y != 0)",
    "logical_or": "(x != 0) | (y != 0)",
    "logical_xor": "(x != 0) != (y != 0)",
    "bitwise_not": {"bool": "x ^ 1", "any": "~x"},
    "bitwise_and": "x & y",
    "bitwise_or": "x | y",
    "bitwise_xor": "x ^ y",
    "bitwise_left_shift": "left_shift#(x, y)",
    "bitwise_right_shift": "right_shift#(x, y)",
    # piecewise.pyx
    "hardtanh": CLAMP.format("min_val", "max_val"),
    "hardtanh_backward": "(x > min_val) & (x < max_val) ? grad : 0",
    "hardsigmoid": "at_most#(at_least#(x + (T)3, (T)0), (T)6) / (T)6",
    "hardswish": "x * at_most#(at_least#(x + (T)3, (T)0), (T)6) / (T)6",
    "hardswish_backward": "x <= -3 ? 0 : x < 3 ? grad * (x / (T)3 + (T)0.5) : grad",
    "threshold": "x <= threshold ? value : x",
    "threshold_backward": "x <= threshold ? 0 : grad",
    "softshrink": "x < -lambd ? x + lambd : x > lambd ? x - lambd : x * (T)0",
    "hardshrink": "(x >= -lambd) & (x <= lambd) ? 0 : x",
    "shrink_backward": "(x > lambd) | (x < -lambd) ? grad : 0",
    # powers.pyx
    "pow": {"floating": "pow_real#(x, exponent)", "any": "pow_integer#(x, exponent)"},
    "pow_of_number": {"floating": "pow_real#(x, exponent)", "any": "pow_integer#(x, exponent)"},
    "square": "x * x",
    "pow_3": "x * x * x",
    "pow_half": "tl_sqrt@(x)",
    "pow_minus_half": "tl_rsqrt@(x)",
    "pow_minus_1": "(T)1 / x",
    "pow_minus_2": "(T)1 / (x * x)",
    "sqrt": "tl_sqrt@(x)",
    "rsqrt": "tl_rsqrt@(x)",
    # rectifiers.pyx
    "relu": "x < 0 ? 0 : x",
    "relu_backward": "y <= 0 ? 0 : grad",
    "leaky_relu": "x > 0 ? x : x * negative_slope",
    "leaky_relu_backward": "x > 0 ? grad : grad * negative_slope",
    "elu": "x <= 0 ? negative * tl_expm1@(x * rate) : x * positive",
    "elu_slope": "x <= 0 ? negative * tl_exp@(x * rate) : positive",
    # rounding.pyx
    "floor": {"floating": "floor@(x)", "any": "x"},
    "ceil": {"floating": "ceil@(x)", "any": "x"},
    "trunc": {"floating": "trunc@(x)", "any": "x"},
    "round": {"floating": "rint@(x)", "any": "x"},
    "round_decimals": "rint@(x * factor / divisor) / factor * divisor",
    "frac": "x - trunc@(x)",
    "nan_to_num": {
        "floating": "x == -INFINITY ? neginf : x == INFINITY ? posinf : x != x ? nan : x",
        "any": "x",
    },
    # selection.pyx
    "where": "condition ? x : y",
    "masked_fill": "mask ? value : x",
    # signs.pyx
    "abs": {"floating": "fabs@(x)", "any": "x < 0 ? -x : x"},
    "sign": "(x > 0) - (x < 0)",
    "copysign": "copysign@(x, y)",
    "signbit": {  # GCC 12 fails on a vectorised signbit()
        "float32": "tl_bits_of_float(x) >> 31",
        "floating": "tl_bits_of_double(x) >> 63",
        "any": "x < 0",
    },
    "heaviside": "x == 0 ? values : (T)(x > 0)",
    "nextafter": "nextafter@(x, y)",
    "mantissa": "mantissa#(x)",
    "exponent": "exponent#(x)",
    "ldexp": "x * (T)exp2(y)",
    "angle": "x < 0 ? (T)3.14159265358979323846 : x != x ? x * (T)0 : 0",
    "gcd": "gcd#(x, y)",
    "lcm": "lcm#(x, y)",
    # smooth.pyx
    "gelu": "tl_gelu@(x)",
    "gelu_backward": "grad * gelu_slope#(x)",
    "gelu_tanh": (
        "(T)0.5 * x * ((T)1 + tl_tanh@((T)0.7978845608028654 * (x + (T)0.044715 * x * x * x)))"
    ),
    "gelu_tanh_backward": "gelu_tanh_backward#(grad, x)",
    "silu": "x * tl_sigmoid@(x)",
    "silu_backward": "silu_backward#(grad, x)",
    "mish": "x * tl_tanh@(tl_softplus@(x))",
    "mish_backward": "mish_backward#(grad, x)",
    "softplus": "x * beta > threshold ? x : tl_softplus@(x * beta) / beta",
    "softplus_backward": "x * beta > threshold ? grad : grad * tl_sigmoid@(x * beta)",
    "log_sigmoid": "-tl_softplus@(-x)",
    "log_sigmoid_backward": "grad * tl_sigmoid@(-x)",
    # special.pyx; i0 and i1 are SciPy's functions
    "erf": "tl_erf@(x)",
    "erfc": "(T)erfc(x)",
    "ndtr": "(T)(0.5 * erfc(-0.70710678118654752440 * x))",
    "erfinv": "(T)erfinv(x)",
    "lgamma": "(T)lgamma(x)",
    "digamma": "(T)digamma(x)",
    "polygamma": "(T)polygamma(x, n)",
    "xlogy": "(x == 0) & (y == y) ? 0 : x * tl_log@(y)",
    # trigonometry.pyx
    "sin": Guarded("tl_sin_near@(x, 0)", HUGE_ANGLE, "tl_sin@(x)"),
    "cos": Guarded("tl_sin_near@(x, 1)", HUGE_ANGLE, "tl_cos@(x)"),
    "tan": Guarded(
        "tl_sin_near@(x, 0) / tl_sin_near@(x, 1)", HUGE_ANGLE, "tl_sin@(x) / tl_cos@(x)"
    ),
    "asin": {"float32": "asin_float32(x)", "floating": "asin(x)"},
    "acos": {"float32": "acos_float32(x)", "floating": "acos(x)"},
    "atan": {"float32": "atan_float32(x)", "floating": "atan(x)"},
    "atan2": "atan2@(y, x)",
    "hypot": "hypot@(x, y)",
    "sinc": "sinc#(x)",
    "scale_angle": "x * factor",
    # weighted_sums.pyx
    "addcmul": {
        "floating": "fma@(value * tensor1, tensor2, x)",
        "integer": "(T)(value * tensor1) * tensor2 + x",
    },
    "addcdiv": "x + value * tensor1 / tensor2",
    "lerp": "lerp#(x, end, weight)",
    # pointwise_losses.pyx
    "mse_loss": "(x - y) * (x - y)",
    "mse_loss_backward": "grad * (2.0 * (x - y))",
    "huber_loss": "huber#(x - y, delta)",
    "binary_cross_entropy_of_probabilities": "cross_entropy#(x, y)",
    "binary_cross_entropy_with_logits": (
        "((x > 0 ? x : (T)0) - x * y) + tl_softplus@(-(x > 0 ? x : -x))"
    ),
}

# Parameters that are read in their own type: a mask.
UNCONVERTED = {("where", "condition"), ("masked_fill", "mask")}

# Ops that call libm. The compiler must not see their operands as constants: what it computes for itself is not
# what libm returns.
CALLS_LIBM = frozenset(
    [
        "div_floor",
        "remainder",
        "fmod",
        "log2",
        "log10",
        "pow",
        "pow_of_number",
        "nextafter",
        "mantissa",
        "exponent",
        "ldexp",
        "erfc",
        "ndtr",
        "erfinv",
        "lgamma",
        "digamma",
        "polygamma",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "hypot",
        "sinc",
    ]
)

# Ops that cost as much as several sums; they decide how many elements make a thread worth starting.
COSTLY = re.compile(
    r"tl_(exp|log|sig|sof|tan|erf|gel|sin|pow)|[a-z_]+#|\b(erfc|lgamma|atan2|hypot|fmod|log2|log10)\b"
)


def expression_of(op_name, dtype):
    """Return the expression of an op that calculates in `dtype`, or None if it has none for that type."""
    entry = EXPRESSIONS.get(op_name)
    if not isinstance(entry, dict):
        return entry
    return entry.get(dtype) or entry.get(kind_of(dtype)) or entry.get("any")


def spelled(template, dtype, operands):
    """Put values and a type into an expression."""
    suffix = "f" if dtype == "float32" else ""
    text = re.sub(r"\b[a-z_A-Z]\w*", lambda word: operands.get(word[0], word[0]), template)
    text = re.sub(r"\bT\b", c_type(dtype), text)
    return re.sub(r"(?<=\w)#", f"_{dtype}", text.replace("@", suffix))


def cost_of(op_name):
    """Estimate how many additions an op costs."""
    entry = EXPRESSIONS.get(op_name, "x")
    entry = next(iter(entry.values())) if isinstance(entry, dict) else entry
    text = " ".join(entry) if isinstance(entry, Guarded) else entry
    return 1 + 7 * len(COSTLY.findall(text.replace("at_most#", "").replace("at_least#", "")))
