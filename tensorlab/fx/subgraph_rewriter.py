"""Replacing one piece of a graph by another, wherever it occurs.

Pattern and replacement are functions with the same parameters, which are traced; matching.py finds the
places.
"""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensorlab.fx._symbolic_trace import symbolic_trace
from tensorlab.fx.graph import Graph
from tensorlab.fx.graph_module import GraphModule, _assign_attr
from tensorlab.fx.matching import SubgraphMatcher
from tensorlab.fx.node import Node
from tensorlab.nn.module import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where the pattern was: its last node, and {node of the pattern: node of the graph}."""

    anchor: Any
    nodes_map: dict


@dataclass
class ReplacedPatterns:
    """A place where the pattern was, as in `Match`, and the nodes that took its place."""

    anchor: Any
    nodes_map: dict
    replacements: list


def replace_pattern(gm, pattern, replacement):
    """Replace a piece of a graph wherever it occurs.

    Parameters
    ----------
    gm : GraphModule, which is changed
    pattern : function or GraphModule; its parameters stand for anything, its calls and literals
        for themselves
    replacement : function or GraphModule with as many parameters

    Returns
    -------
    list of Match

    Notes
    -----
    Names do not count, only what is called with what.  The pattern may stand anywhere; what it does not
    return must not be used outside of it.  Of matches that overlap, the first is replaced.

    Examples
    --------
    >>> import tensorlab
    >>> gm = symbolic_trace(lambda x, y: tensorlab.relu(x * y + 1))
    >>> matches = replace_pattern(gm, lambda a, b: a * b, lambda a, b: tensorlab.maximum(a, b))
    >>> print(gm.code.strip())
    def forward(self, x, y):
        maximum = tensorlab.maximum(x, y);  x = y = None
        add = maximum + 1;  maximum = None
        relu = tensorlab.relu(add);  add = None
        return relu
    """
    return [Match(found.anchor, found.nodes_map) for found in _replace(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm,
    pattern,
    replacement=None,
    match_filters=None,
    ignore_literals=False,
    replacement_callback=None,
):
    """Replace a piece of a graph where some functions agree.

    Parameters
    ----------
    gm, pattern, replacement : as for replace_pattern; a Graph will do, too
    match_filters : list of functions of (match, the graph, the pattern's graph); all must
        return True
    ignore_literals : bool, whether numbers and strings in the pattern stand for any others
    replacement_callback : function of the same, which returns the graph to put in the place of
        a match

    Returns
    -------
    list of ReplacedPatterns

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import fx
    >>> module = fx.symbolic_trace(lambda x: (x + 1) * 2)
    >>> found = replace_pattern_with_filters(module, lambda x: x + 1, lambda x: x - 1)
    >>> len(found), module(tensorlab.ones(1))
    (1, tensor([0.]))
    """
    return _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback)


def _replace(gm, pattern, replacement, filters=None, ignore_literals=False, make_replacement=None):
    graph, wanted = gm.graph, _graph_of(pattern)
    if replacement is None and make_replacement is None:
        raise AssertionError("give either a replacement or a replacement_callback")
    common = None if make_replacement else _graph_of(replacement)
    matches = [
        match
        for match in SubgraphMatcher(wanted, ignore_literals=ignore_literals).match(graph)
        if all(accepts(match, graph, wanted) for accepts in filters or ())
    ]
    replaced, done = {}, []
    for match in matches:
        _follow_replaced(match, replaced)
        new = make_replacement(match, graph, wanted) if make_replacement else common
        added, results = _insert(graph, match, new)
        for old, result in zip(match.returning_nodes, results, strict=True):
            old.replace_all_uses_with(result)
            replaced[old] = result
        for node in reversed(wanted.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        done.append(ReplacedPatterns(match.anchors[0], match.nodes_map, added))
    gm.recompile()
    if isinstance(replacement, Module):
        _copy_attributes(gm, replacement)
    return done


def _graph_of(thing):
    if isinstance(thing, GraphModule):
        return thing.graph
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


def _follow_replaced(match, replaced):
    """Let a match see what earlier ones put in the place of what goes into it."""

    def current(value):
        return replaced.get(value, value) if isinstance(value, Node) else value

    match.placeholder_nodes = [current(value) for value in match.placeholder_nodes]
    match.nodes_map.update(
        {one: current(value) for one, value in match.nodes_map.items() if one.op == "placeholder"}
    )


def _insert(graph, match, replacement):
    """Copy a replacement to the place of a match; return its nodes and its results."""
    inputs = [node for node in replacement.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(
            f"the replacement has {len(inputs)} parameters and the pattern {len(match.placeholder_nodes)}; they must "
            "have the same ones, used or not"
        )
    values = dict(zip(inputs, match.placeholder_nodes, strict=True))
    with graph.inserting_before(_insert_point(graph, match)):
        results = graph.graph_copy(replacement, values)
    results = (results,) if isinstance(results, Node) else tuple(results)
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"the replacement returns {len(results)} values and the pattern {len(match.returning_nodes)}"
        )
    given = [value for value in match.placeholder_nodes if isinstance(value, Node)]
    return [
        value for value in values.values() if isinstance(value, Node) and value not in given
    ], results


def _insert_point(graph, match):
    """The first node that uses a result of the match; if none does, the one after its last result."""
    users = {user for node in match.returning_nodes for user in node.users}
    last = None
    for node in graph.nodes:
        if node in users:
            return node
        if node in match.returning_nodes:
            last = node
    return last.next


def _copy_attributes(gm, replacement):
    """Copy to a module what a replacement brings along: submodules and parameters that are not there."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _find(gm, node.target) is not None:
            continue
        value = _find(replacement, node.target)
        if value is None:
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the '
                "referenced attribute does not exist in the replacement GraphModule"
            )
        _assign_attr(copy.deepcopy(value), gm, node.target)
    gm.graph.lint()


def _find(module, target):
    for name in target.split("."):
        module = getattr(module, name, None)
    return module
