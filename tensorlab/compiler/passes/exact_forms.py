"""Decompositions that keep every bit: an op as others that compute the same, rounding in the same places.

Comparisons, `where`, views and changes of sign don't round, so those in the first part hold for every
type. Those in the second part round where the op does only if each result is stored in the type
that is computed in; half types are computed in float32 and rounded once, so for them the op stays.
"""

import math

# op: function of a Rewriter and the arguments, which returns a node or None
FORMS: dict = {}
WIDE_FORMS: dict = {}


def form(*names, table=FORMS):
    """Declare what an op is made of."""

    def declare(make):
        table.update(dict.fromkeys(names, make))
        return make

    return declare


def wide(*names):
    return form(*names, table=WIDE_FORMS)


def dtype_of(x):
    return x.meta["val"].dtype


def is_floating(x):
    return dtype_of(x).is_floating_point


# ---------------------------------------------------------------- names for the same thing
form("rsub")(lambda make, x, y: make.op("sub", y, x))
form("reciprocal", "pow_minus_1")(lambda make, x: make.op("div", 1, x))
form("square")(lambda make, x: make.op("mul", x, x))
form("pow_half")(lambda make, x: make.op("sqrt", x))
form("pow_minus_half")(lambda make, x: make.op("rsqrt", x))
form("scale_angle")(lambda make, x, factor: make.op("mul", x, factor))
form("hardtanh")(lambda make, x, low, high: make.op("clamp", x, low, high))
form("clamp_low")(lambda make, x, low: make.op("clamp_min", x, low))
form("clamp_high")(lambda make, x, high: make.op("clamp_max", x, high))
form("masked_fill")(lambda make, x, mask, value: make.op("where", mask, value, x))
form("logical_not")(lambda make, x: make.op("eq", x, 0))
form("isnan")(lambda make, x: make.op("ne", x, x))


@form("isposinf")
def isposinf(make, x):
    return make.op("eq", x, math.inf) if is_floating(x) else None


@form("isneginf")
def isneginf(make, x):
    return make.op("eq", x, -math.inf) if is_floating(x) else None


@form("isinf")
def isinf(make, x):
    return make.op("eq", make.op("abs", x), math.inf) if is_floating(x) else None


@form("isfinite")
def isfinite(make, x):
    return make.op("lt", make.op("abs", x), math.inf) if is_floating(x) else None


# ---------------------------------------------------------------- pieces
@form("relu_backward")
def relu_backward(make, y, grad):
    return make.op("where", make.op("le", y, 0), 0, grad)


@form("threshold")
def threshold(make, x, at, value):
    return make.op("where", make.op("le", x, at), value, x) if is_floating(x) else None


@form("threshold_backward")
def threshold_backward(make, grad, x, at):
    return make.op("where", make.op("le", x, at), 0, grad) if is_floating(x) else None


@form("hardtanh_backward")
def hardtanh_backward(make, grad, x, low, high):
    inside = make.op("logical_and", make.op("gt", x, low), make.op("lt", x, high))
    return make.op("where", inside, grad, 0)


@form("clamp_backward")
def clamp_backward(make, x, low, high, grad):
    inside = make.op("logical_and", make.op("ge", x, low), make.op("le", x, high))
    return make.op("where", inside, grad, 0)


@form("shrink_backward")
def shrink_backward(make, grad, x, lambd):
    outside = make.op("logical_or", make.op("gt", x, lambd), make.op("lt", x, -lambd))
    return make.op("where", outside, grad, 0)


@form("hardshrink")
def hardshrink(make, x, lambd):
    inside = make.op("logical_and", make.op("ge", x, -lambd), make.op("le", x, lambd))
    return make.op("where", inside, 0, x)


@form("softshrink")
def softshrink(make, x, lambd):
    below = make.op("add", x, lambd)
    above = make.op(
        "where", make.op("gt", x, lambd), make.op("sub", x, lambd), make.op("mul", x, 0)
    )
    return make.op("where", make.op("lt", x, -lambd), below, above)


@form("leaky_relu")
def leaky_relu(make, x, slope):
    return make.op("where", make.op("gt", x, 0), x, make.op("mul", x, slope))


@form("leaky_relu_backward")
def leaky_relu_backward(make, grad, x, slope):
    return make.op("where", make.op("gt", x, 0), grad, make.op("mul", grad, slope))


@form("keep_grad")
def keep_grad(make, low, high, grad):
    return make.op("where", make.op("le", low, high), grad, 0)


# ---------------------------------------------------------------- float32, float64 and integers
wide("pow_3")(lambda make, x: make.op("mul", make.op("mul", x, x), x))
wide("pow_minus_2")(lambda make, x: make.op("div", 1, make.op("mul", x, x)))
wide("frac")(lambda make, x: make.op("sub", x, make.op("trunc", x)))
wide("silu")(lambda make, x: make.op("mul", x, make.op("sigmoid", x)))


@wide("mse_loss")
def mse_loss(make, x, y):
    difference = make.op("sub", x, y)
    return make.op("mul", difference, difference)


@wide("sigmoid_backward")
def sigmoid_backward(make, grad, y):
    return make.op("mul", make.op("mul", grad, make.op("sub", 1, y)), y)


@wide("tanh_backward")
def tanh_backward(make, grad, y):
    return make.op("mul", grad, make.op("sub", 1, make.op("mul", y, y)))


@wide("addcdiv")
def addcdiv(make, x, tensor1, tensor2, value):
    return make.op("add", x, make.op("div", make.op("mul", tensor1, value), tensor2))
