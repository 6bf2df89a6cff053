"""Finding a small graph in a large one.

A pattern is a graph whose placeholders stand for anything.  Its *anchors* are the nodes that only its output
uses.  The search takes a node of the large graph for each anchor, and goes up from there, from users to what
they use, in both graphs at once: a node has many users, but its arguments are definite.
"""

from dataclasses import dataclass, field

from tensorlab._tensor import Tensor
from tensorlab.fx.node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A place where a pattern was found.

    Attributes
    ----------
    anchors : list of Node, of the pattern
    nodes_map : dict, {node of the pattern: node of the graph, or a literal for a placeholder}
    placeholder_nodes : list, what the pattern's placeholders stand for
    returning_nodes : list of Node, those of the graph that the pattern returns
    """

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)


class SubgraphMatcher:
    """Finds a pattern in graphs.

    Parameters
    ----------
    pattern : Graph
    match_output : bool, whether what the pattern returns must be what the graph returns
    match_placeholder : bool, whether placeholders must match placeholders; they stand for
        anything unless True
    remove_overlapping_matches : bool, whether only the first of matches that share nodes counts
    ignore_literals : bool, whether numbers and strings may differ
    """

    def __init__(
        self,
        pattern,
        match_output=False,
        match_placeholder=False,
        remove_overlapping_matches=True,
        ignore_literals=False,
    ):
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if not node.users and not node.is_impure():
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code: nothing uses "
                    f"{node.format_node()}"
                )
        self.pattern = pattern
        self.match_placeholder, self.ignore_literals = match_placeholder, ignore_literals
        self.remove_overlapping_matches = remove_overlapping_matches
        output = pattern.output_node()
        self.placeholders = [node for node in pattern.nodes if node.op == "placeholder"]
        self.returned = output.all_input_nodes
        only_returned = [node for node in self.returned if len(node.users) == 1]
        self.anchors = [output] if match_output else only_returned

    def match(self, graph):
        """List the places of a graph where the pattern is.

        Returns
        -------
        list of InternalMatch; what lies inside a match is used nowhere else, so that it can be replaced
        """
        found = [
            maps
            for maps in self._match_anchors(graph, self.anchors, {})
            if self._is_contained(maps)
        ]
        found = [maps for maps in found if self._is_convex(maps)]
        if self.remove_overlapping_matches:
            found = self._without_overlaps(found)
        return [
            InternalMatch(
                self.anchors,
                maps,
                [maps[node] for node in self.placeholders],
                [maps[node] for node in self.returned],
            )
            for maps in found
        ]

    # ------------------------------------------------------------ going up
    def _match_anchors(self, graph, anchors, maps):
        """Yield a map for each way to find all anchors, given what has been found."""
        if not anchors:
            if maps:
                yield maps
            return
        for node in graph.nodes:
            found = self._match_nodes(anchors[0], node, maps)
            if found is not None:
                yield from self._match_anchors(graph, anchors[1:], found)

    def _match_nodes(self, wanted, node, maps):
        """The map with a node of the pattern, and what it uses, matched to a node; None if they differ."""
        if wanted in maps:
            return maps if maps[wanted] is node else None
        if any(other is node for other in maps.values()) or not self._is_same_call(wanted, node):
            return None
        maps = {**maps, wanted: node}
        if wanted.op == "placeholder":
            return maps
        if len(wanted.args) != len(node.args) or list(wanted.kwargs) != list(node.kwargs):
            return None
        wanted_values = [*wanted.args, *wanted.kwargs.values()]
        return self._match_values(wanted_values, [*node.args, *node.kwargs.values()], maps)

    def _match_values(self, wanted, values, maps):
        if len(wanted) != len(values):
            return None
        for one, other in zip(wanted, values, strict=True):
            if isinstance(one, Node) and isinstance(other, Node):
                maps = self._match_nodes(one, other, maps)
            elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
                maps = self._match_values(one, other, maps)
            else:
                maps = self._match_literal(one, other, maps)
            if maps is None:
                return None
        return maps

    def _match_literal(self, wanted, value, maps):
        """Match what is not two nodes: a placeholder stands for a literal, too, and equal literals are equal."""
        if isinstance(wanted, Node) and wanted.op == "placeholder":
            if wanted in maps:
                known = maps[wanted]
                return maps if type(known) is type(value) and known == value else None
            return {**maps, wanted: value}
        if self.ignore_literals:
            return maps
        is_equal = not isinstance(wanted, Node) and type(wanted) is type(value) and wanted == value
        return maps if is_equal else None

    def _is_same_call(self, wanted, node):
        if wanted.op == "placeholder" and not self.match_placeholder:
            return True
        if wanted.op != node.op:
            return False
        if wanted.op in ("placeholder", "output"):
            return True
        if wanted.op == "get_attr":
            return _are_both_tensors(wanted, node)
        return wanted.target == node.target

    # ------------------------------------------------------------ what can be replaced
    def _inside(self, maps):
        return {
            node: wanted
            for wanted, node in maps.items()
            if wanted.op not in ("placeholder", "output")
        }

    def _is_contained(self, maps):
        """Whether only the match uses its nodes, but for those that the pattern returns."""
        inside = {node: wanted for wanted, node in maps.items() if wanted.op != "placeholder"}
        return all(
            user in inside
            for node, wanted in inside.items()
            if wanted not in self.returned
            for user in node.users
        )

    def _is_convex(self, maps):
        """Whether no way leads out of the match and into it again: it could not become one piece."""
        inside = self._inside(maps)
        seen = set()
        waiting = [user for node in inside for user in node.users if user not in inside]
        while waiting:
            node = waiting.pop()
            if node in inside:
                return False
            if node not in seen:
                seen.add(node)
                waiting.extend(node.users)
        return True

    def _without_overlaps(self, found):
        kept, taken = [], set()
        for maps in found:
            inside = self._inside(maps)
            if not taken & set(inside):
                kept.append(maps)
                taken.update(inside)
        return kept


def _are_both_tensors(wanted, node):
    """Whether two attributes are tensors of one class; their values may differ."""
    values = []
    for one in (wanted, node):
        value = one.graph.owning_module
        for name in one.target.split("."):
            value = getattr(value, name)
        values.append(value)
    return isinstance(values[0], Tensor) and type(values[0]) is type(values[1])
