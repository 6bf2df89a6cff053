"""Trees: nested tuples, lists and dicts taken apart into a flat list of leaves, and put together
again.

A traced function that takes a dict of tensors has one placeholder for each; `PyTreeCodeGen` writes
the lines that take its arguments apart and put its result together.
"""

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensorlab.fx.code import CodeGen

__all__ = [
    "PyTreeCodeGen",
    "TreeSpec",
    "tree_flatten",
    "tree_flatten_spec",
    "tree_map",
    "tree_unflatten",
]


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a tree without its leaves: a collection, the keys of a dict, the specs of its items."""

    type: Any = None  # None: a leaf
    context: tuple = ()
    children: tuple["TreeSpec", ...] = ()

    def is_leaf(self):
        """Whether it stands for a leaf."""
        return self.type is None

    @property
    def num_leaves(self):
        """How many leaves there are."""
        return 1 if self.is_leaf() else sum(child.num_leaves for child in self.children)


def _parts(tree):
    """(the type of a collection, its keys, its items); a leaf is no collection."""
    if isinstance(tree, dict):
        return type(tree), tuple(tree), list(tree.values())
    if isinstance(tree, list | tuple):
        return type(tree), (), list(tree)
    return None, (), []


def tree_flatten(tree):
    """Return (the leaves of a tree, its structure)."""
    kind, keys, items = _parts(tree)
    if kind is None:
        return [tree], TreeSpec()
    flat = [tree_flatten(item) for item in items]
    leaves = [leaf for some, _ in flat for leaf in some]
    return leaves, TreeSpec(kind, keys, tuple(spec for _, spec in flat))


def tree_unflatten(leaves, spec):
    """Return the tree of a structure with these leaves."""
    leaves = list(leaves)
    if len(leaves) != spec.num_leaves:
        raise ValueError(
            f"tree_unflatten: {len(leaves)} leaves, and the structure has {spec.num_leaves}"
        )
    return _take(iter(leaves), spec)


def _take(leaves, spec):
    if spec.is_leaf():
        return next(leaves)
    items = [_take(leaves, child) for child in spec.children]
    if issubclass(spec.type, dict):
        return spec.type(zip(spec.context, items, strict=True))
    return spec.type(*items) if hasattr(spec.type, "_fields") else spec.type(items)


def tree_flatten_spec(tree, spec):
    """Return the leaves of a tree in the order of a structure, which it may have more than."""
    if spec.is_leaf():
        return [tree]
    is_dict = issubclass(spec.type, dict)
    items = [tree[key] for key in (spec.context if is_dict else range(len(spec.children)))]
    pairs = zip(items, spec.children, strict=True)
    return [leaf for item, child in pairs for leaf in tree_flatten_spec(item, child)]


def tree_map(function, tree):
    """Apply a function to every leaf."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([function(leaf) for leaf in leaves], spec)


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
