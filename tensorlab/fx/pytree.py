"""Traced functions whose arguments and results are trees (utils/_pytree.py).

A traced function that takes a dict of tensors has one placeholder for each; `PyTreeCodeGen` writes
the lines that take its arguments apart and put its result together.
"""

import sys
from typing import Any, NamedTuple

from tensorlab._pytree import TreeSpec, kind_of, tree_flatten, tree_map, tree_unflatten
from tensorlab.fx.code import CodeGen

__all__ = [
    "PyTreeCodeGen",
    "TreeSpec",
    "tree_flatten",
    "tree_flatten_spec",
    "tree_map",
    "tree_unflatten",
]


def tree_flatten_spec(tree, spec):
    """Return the leaves of a tree in the order of a structure, which it may have more than."""
    if spec.is_leaf():
        return [tree]
    is_dict = issubclass(spec.type, dict)
    items = [tree[key] for key in spec.context] if is_dict else kind_of(tree).flatten(tree)[0]
    pairs = zip(items[: spec.num_children], spec.children(), strict=True)
    return [leaf for item, child in pairs for leaf in tree_flatten_spec(item, child)]


class PyTreeInfo(NamedTuple):
    """Names of the parameters, and the structures of arguments and result; None while the result is not known yet."""

    orig_args: list
    in_spec: TreeSpec
    out_spec: Any = None


class PyTreeCodeGen(CodeGen):
    """Writes functions whose arguments and results are trees."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args):
        return tree_flatten(args)[0]

    def process_outputs(self, outputs):
        spec = self.pytree_info.out_spec
        return outputs if spec is None else tree_unflatten(outputs, spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        parameters = list(self.pytree_info.orig_args)
        if parameters and parameters[0] == "self":
            free_vars.insert(0, "self")
        head = super().gen_fn_def(list(parameters), maybe_return_annotation)
        if not free_vars:
            return head
        names = [one.partition(":")[0].partition("=")[0].strip() for one in free_vars]
        tree = f"[{', '.join(parameters)}]"
        return (
            f"{head}\n    {', '.join(names)}, = fx_pytree.tree_flatten_spec({tree}, self._in_spec)"
        )

    def generate_output(self, output_args, *, repr_fn=repr):
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"

    def additional_globals(self):
        this_module = sys.modules[__name__]
        return [("fx_pytree", this_module), ("pytree", this_module)]
