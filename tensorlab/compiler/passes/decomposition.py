"""Decomposition: composite ops as primitive ones, which code generation fuses or calls.

view_forms.py has views, and formulas.py and norm_formulas.py what reduces and may round
otherwise. An op that none of them mentions stays as it is: a pointwise one is fused by its
scalar expression, any other one is called.
"""

from tensorlab._core.device import contiguous_format
from tensorlab._tensor import Tensor
from tensorlab.compiler.joint.interpreter import facet_of, is_call, is_getitem
from tensorlab.compiler.joint.memory import View, as_one_view, part
from tensorlab.compiler.passes import formulas, norm_formulas, view_forms  # noqa: F401 - they register
from tensorlab.compiler.passes.rewriting import decomposition, rewrite


def decompose(graph):
    """Replace composite ops; return how many. What a formula makes is decomposed in its turn."""
    count, found = 0, None
    while found != 0:
        found = rewrite(graph, replace, is_composite)
        count += found
    return count


def is_composite(node):
    if is_getitem(node):
        return facet_of(node.args[0], part) is not None
    return is_call(node) and decomposition.of(node.target) is not None


def replace(rewriter, node):
    if is_getitem(node):
        return rewriter.replace(made_alone(rewriter, node))
    made, value = decomposition.of(node.target).make(rewriter, *node.args), node.meta["val"]
    if isinstance(value, Tensor):
        return rewriter.replace(row_major(rewriter, made, value))
    if made is None:
        return rewriter.replace_items((None,) * len(value))
    return rewriter.replace_items(
        [row_major(rewriter, *pair) for pair in zip(made, value, strict=True)]
    )


def made_alone(make, node):
    """One of the views that split or unbind have made, as a view that is made alone."""
    call, item = node.args
    view = as_one_view(View(call.target, tuple(call.args[1:]), item))
    return make.call(view.op, (call.args[0], *view.args))


def row_major(rewriter, made, value):
    """`made` in row-major order if the result of the op is: softmax is, whatever the order of its input."""
    if made is None or not value.is_contiguous() or made.meta["val"].is_contiguous():
        return made
    return rewriter.op("clone", made, contiguous_format)
