"""Simplification: a call that gives what is there already, or what a cheaper one gives, bit for bit.

No rule may be one that nan, an infinity, -0.0 or a denormal number could notice: x + 0 isn't x,
because -0.0 + 0 is 0.0, and x - x isn't 0, because inf - inf is nan. The table says for each rule
why it holds. (The bits inside of a nan aren't looked at.)
"""

from tensorlab._tensor import Tensor
from tensorlab.compiler.joint.interpreter import is_alias, is_call
from tensorlab.compiler.passes.rewriting import rewrite, same_form
from tensorlab.compiler.passes.rules import called, rule, rules


def simplify(graph):
    """Apply the rules to every call, in the order of the graph; return how many calls they replace."""

    def apply(rewriter, node):
        if is_alias(node) and rewriter.replace(shown_already(node)):
            return True
        return is_call(node) and any(
            not node._erased and rewriter.replace(one.make(rewriter, *node.args))
            for one in rules.of(node.target)
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
    return make.op("to_copy", source, x.meta["val"].dtype, None, None)  # unless it is broadcast


@rule(
    "to_copy", reason="numbers of any type go into a wider floating type and back without rounding"
)
def there_and_back(make, x, dtype, *_):
    if not called(x, "to_copy"):
        return None
    narrow, wide = x.args[0].meta["val"].dtype, x.meta["val"].dtype
    return x.args[0] if wide.is_floating_point and wide.itemsize > narrow.itemsize else None


@rule("sum_to_size", reason="a sum over no dimension")
def sum_of_nothing(make, x, size):
    return x  # the Rewriter takes it if it has the form of the sum
