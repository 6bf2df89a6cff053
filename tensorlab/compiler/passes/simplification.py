"""Simplification: a call that gives what is there already, or what a cheaper one gives, bit for bit.

No rule may be one that nan, an infinity, -0.0 or a denormal number could notice: x + 0 isn't x,
because -0.0 + 0 is 0.0, and x - x isn't 0, because inf - inf is nan. The table says for each rule
why it holds. (The bits inside of a nan aren't looked at.)
"""

import math
from typing import NamedTuple

from tensorlab._tensor import Tensor
from tensorlab.compiler.joint.interpreter import is_alias, is_call
from tensorlab.compiler.passes.rewriting import rewrite, same_form
from tensorlab.fx.node import Node


class Rule(NamedTuple):
    ops: tuple
    reason: str
    make: object  # function of a Rewriter and the call's arguments: a node with the same elements, or None


RULES: list[Rule] = []


def rule(*ops, reason):
    """Declare a rule for some ops."""

    def declare(make):
        RULES.append(Rule(ops, reason, make))
        return make

    return declare


def simplify(graph):
    """Apply the rules to every call, in the order of the graph; return how many calls they replace."""

    def apply(rewriter, node):
        if is_alias(node) and rewriter.replace(shown_already(node)):
            return True
        return is_call(node) and any(
            not node._erased and rewriter.replace(one.make(rewriter, *node.args))
            for one in RULES
            if node.target.name in one.ops
        )

    return rewrite(graph, apply, lambda node: is_call(node) or is_alias(node))


# ---------------------------------------------------------------- views
def shown_already(node):
    """A node that shows the same elements of the same memory in the same order: for x.t().t(), x[:], detach."""
    found, one = None, node
    while is_alias(one):
        one = one.args[0]
        if same_place(one.meta["val"], node.meta["val"]):
            found = one
    return found


def same_place(x, y):
    if not isinstance(x, Tensor) or not isinstance(y, Tensor):
        return False  # several views
    one, other = ((z.dtype, z.shape, z.stride(), z.storage_offset()) for z in (x, y))
    return one == other


@rule("view", reason="a view of a view shows the same elements in the same order")
def view_of_view(make, x, size):
    if called(x, "view") and x.args[0].meta["val"].is_contiguous():  # else it may be impossible
        return make.op("view", x.args[0], tuple(make.node.meta["val"].shape))
    return None


@rule("permute", reason="a permutation of a permutation is one")
def permute_of_permute(make, x, dims):
    if called(x, "permute"):
        first = x.args[1]
        return make.op("permute", x.args[0], tuple(first[dim] for dim in dims))
    return None


# ---------------------------------------------------------------- copies
@rule("clone", "lazy_clone", "to_copy", reason="nothing in the graph writes to either of the two")
def copy_of_same_form(make, x, *_):
    return x


@rule("copy", reason="copy makes a new tensor with the elements of its source, in the form of x")
def copy_over(make, x, source):
    if same_form(x.meta["val"], source.meta["val"]):
        return source
    if x.meta["val"].shape == source.meta["val"].shape:
        return make.op("to_copy", source, x.meta["val"].dtype, None, None)
    return None


@rule("to_copy", reason="a floating type goes into a wider one and back without rounding")
def there_and_back(make, x, dtype, *_):
    if not called(x, "to_copy"):
        return None
    narrow, wide = x.args[0].meta["val"].dtype, x.meta["val"].dtype
    both = narrow.is_floating_point and wide.is_floating_point
    return x.args[0] if both and wide.itemsize > narrow.itemsize else None


@rule("with_edges", reason="it is x; the others matter to autograd alone")
def without_edges(make, x, *_):
    return x


@rule("sum_to_size", reason="a sum over no dimension")
def sum_of_nothing(make, x, size):
    return x if tuple(size) == tuple(x.meta["val"].shape) else None


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
    return x if is_number(y, 1) else y if is_number(x, 1) else None


@rule("div", reason="x / 1 is x, for the same reasons")
def over_one(make, x, y):
    return x if is_number(y, 1) else None


@rule("sub", reason="x - 0.0 is x: -0.0 - 0.0 is -0.0")
def minus_zero(make, x, y):
    return x if is_number(y, 0) else None


@rule("add", reason="x + -0.0 is x; x + 0.0 isn't, as -0.0 + 0.0 is 0.0. Integers have one zero")
def plus_zero(make, x, y):
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Node) and (
            is_number(other, -0.0) or (is_number(other, 0) and not is_floating(one))
        ):
            return one
    return None


@rule("neg", reason="the sign changes twice; integers wrap around and back")
def negative_of_negative(make, x):
    return x.args[0] if called(x, "neg") else None


@rule("bitwise_not", reason="each bit changes twice")
def not_of_not(make, x):
    return x.args[0] if called(x, "bitwise_not") else None


@rule("logical_not", reason="a bool changes twice; what is of another type has another form")
def logical_not_of_not(make, x):
    return x.args[0] if called(x, "logical_not") else None


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


def called(x, name):
    return isinstance(x, Node) and is_call(x) and x.target.name == name


def is_floating(x):
    return x.meta["val"].dtype.is_floating_point
