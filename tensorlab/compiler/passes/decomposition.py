"""Decomposition: composite ops as primitive ones, which code generation fuses or calls.

exact_forms.py and view_forms.py have those that keep every bit, formulas.py and norm_formulas.py
those that reduce and may round otherwise, primitives.py the table of what is left.
"""

from tensorlab._core.device import contiguous_format
from tensorlab._tensor import Tensor
from tensorlab.compiler.joint.interpreter import is_alias, is_call, is_getitem
from tensorlab.compiler.passes.exact_forms import FORMS, WIDE_FORMS
from tensorlab.compiler.passes.formulas import ROWS
from tensorlab.compiler.passes.norm_formulas import NORMS
from tensorlab.compiler.passes.rewriting import rewrite
from tensorlab.compiler.passes.view_forms import part_of_several

FORMULAS = {**ROWS, **NORMS}


def decompose(graph):
    """Replace composite ops; return how many. What a formula makes is decomposed in its turn."""
    count, found = 0, None
    while found != 0:
        found = rewrite(graph, replace, is_composite)
        count += found
    return count


def is_composite(node):
    if is_getitem(node):
        return is_alias(node)
    return is_call(node) and (
        node.target.name in FORMS
        or node.target.name in FORMULAS
        or (node.target.name in WIDE_FORMS and is_wide(node.meta["val"]))
    )


def is_wide(x):
    """Whether results are stored in the type that they are computed in."""
    return x.dtype.itemsize != 2 or not x.dtype.is_floating_point


def replace(rewriter, node):
    if is_getitem(node):
        return rewriter.replace(part_of_several(rewriter, node))
    name = node.target.name
    make = FORMS.get(name) or WIDE_FORMS.get(name) or FORMULAS[name]
    made, value = make(rewriter, *node.args), node.meta["val"]
    if isinstance(value, Tensor):
        return rewriter.replace(row_major(rewriter, made, value))
    if made is None:
        return rewriter.replace_items((None,) * len(value))
    return rewriter.replace_items(
        [row_major(rewriter, *pair) for pair in zip(made, value, strict=True)]
    )


def row_major(rewriter, made, value):
    """`made` in row-major order if the result of the op is: softmax is, whatever the order of its input."""
    if made is None or not value.is_contiguous() or made.meta["val"].is_contiguous():
        return made
    return rewriter.op("clone", made, contiguous_format)
