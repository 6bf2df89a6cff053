"""Rules of simplification, and those about numbers. Each gives the reason why it keeps every bit."""

import math
from typing import Any, NamedTuple

from tensorlab._core.dispatch.facets import Facet
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.compiler.joint.interpreter import is_call
from tensorlab.fx.node import Node


class Rule(NamedTuple):
    reason: str
    make: Any  # function of a Rewriter and the call's arguments: a node with the same elements, or None


# Of any op: the list of its Rules, in the order in which they are tried.
rules = Facet("rules", lambda op: [])


def rule(*ops, reason):
    """Declare a rule for some ops."""

    def declare(make):
        for name in ops:
            rules.of(REGISTRY[name]).append(Rule(reason, make))
        return make

    return declare


def called(x, name):
    return isinstance(x, Node) and is_call(x) and x.target.name == name


def is_floating(x):
    return x.meta["val"].dtype.is_floating_point


# ---------------------------------------------------------------- numbers
def is_number(value, number):
    """Whether an argument is this number, with this sign."""
    return (
        isinstance(value, (int, float))
        and value == number
        and math.copysign(1, value) == math.copysign(1, number)
    )


@rule("mul", reason="x * 1 is x: nan stays nan, -0.0 stays -0.0, and nothing is rounded")
def times_one(make, x, y):
    for one, other in ((x, y), (y, x)):
        if is_number(other, 1):
            return one
    return None


@rule("div", reason="x / 1 is x, for the same reasons")
def over_one(make, x, y):
    return x if is_number(y, 1) else None


@rule("sub", reason="x - 0.0 is x: -0.0 - 0.0 is -0.0")
def minus_zero(make, x, y):
    return x if is_number(y, 0) else None


@rule("add", reason="x + -0.0 is x; x + 0.0 isn't: -0.0 + 0.0 is 0.0. Integers have one zero")
def plus_zero(make, x, y):
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Node) and (
            is_number(other, -0.0) or (is_number(other, 0) and not is_floating(one))
        ):
            return one
    return None


@rule("neg", reason="the sign changes twice; integers wrap around and back")
@rule("bitwise_not", reason="each bit changes twice")
@rule("logical_not", reason="a bool changes twice; what is of another type has another form")
def undone(make, x):
    return x.args[0] if called(x, make.node.target.name) else None


@rule("abs", reason="abs takes the sign away, whatever it was")
def abs_of_sign(make, x):
    if called(x, "abs"):
        return x
    return make.op("abs", x.args[0]) if called(x, "neg") and is_floating(x) else None


@rule("add", reason="x + -y is x - y in IEEE 754, zeros and infinities included; integers wrap")
def plus_negative(make, x, y):
    return make.op("sub", x, y.args[0]) if called(y, "neg") else None


@rule("sub", reason="x - -y is x + y, likewise")
def minus_negative(make, x, y):
    return make.op("add", x, y.args[0]) if called(y, "neg") else None


@rule("mul", reason="two signs cancel in a product")
def product_of_negatives(make, x, y):
    return make.op("mul", x.args[0], y.args[0]) if called(x, "neg") and called(y, "neg") else None


@rule("div", reason="2**k and 2**-k are exact, so both round the same real number")
def over_power_of_two(make, x, y):
    if isinstance(y, (int, float)) and isinstance(x, Node) and is_floating(x):
        fraction, exponent = math.frexp(y)
        if abs(fraction) == 0.5 and -10 < exponent < 10:
            return make.op("mul", x, 1 / y)
    return None


@rule("where", reason="whatever the condition says, the element is the same")
def where_of_same(make, condition, x, y):
    return x if x is y and isinstance(x, Node) else None


@rule("relu", "floor", "ceil", "trunc", "round", reason="a second time they change nothing")
def done_already(make, x):
    return x if called(x, make.node.target.name) else None
