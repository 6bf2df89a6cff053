"""Random edits of a graph leave the same graph here and in PyTorch, down to the order of users and the names."""

import operator
import random

import pytest

from tensorlab import fx
from tests.fx.texts import describe
from tests.oracle import require_torch

FUNCTIONS = [sum, max, len, dict, operator.concat, operator.countOf]
NAMES = [None, None, "add", "add_1", "x_3", "sum", "class", "a.b", "3"]


class Editor:
    """A graph, and edits drawn from a seed."""

    def __init__(self, fx, seed):
        self.draw = random.Random(seed)
        self.fx, self.graph = fx, fx.Graph()
        self.graph.placeholder("x")
        self.graph.placeholder("y")

    def pick(self):
        return self.draw.choice(list(self.graph.nodes))

    def argument(self, before, depth=0):
        """An argument that uses only nodes before a place."""
        kind = self.draw.randrange(6 if depth < 2 else 3)
        if kind <= 1:
            return self.draw.choice(before)
        if kind == 2:
            return self.draw.choice([1, None, "s", 2.5, True])
        items = [self.argument(before, depth + 1) for _ in range(self.draw.randrange(3))]
        if kind == 3:
            return tuple(items)
        return items if kind == 4 else dict(zip("abc", items, strict=False))

    def arguments(self, before):
        args = tuple(self.argument(before) for _ in range(self.draw.randrange(1, 4)))
        return args, {"k": self.argument(before)} if self.draw.random() < 0.3 else {}

    def edit(self):
        nodes = list(self.graph.nodes)
        edits = [name for name in sorted(vars(Editor)) if name.startswith("edit_")]
        getattr(self, self.draw.choice(edits))(nodes)

    def edit_insert(self, nodes):
        place = self.draw.randrange(1, len(nodes) + 1)
        args, kwargs = self.arguments(nodes[:place])
        after = self.draw.random() < 0.5 or place == len(nodes)
        block = self.graph.inserting_after if after else self.graph.inserting_before
        with block(nodes[place - 1 if after else place]):
            self.graph.create_node(
                "call_function",
                self.draw.choice(FUNCTIONS),
                args,
                kwargs,
                name=self.draw.choice(NAMES),
            )

    edit_insert_too = edit_insert

    def edit_erase(self, nodes):
        node = self.pick()
        if not node.users and len(nodes) > 3:
            self.graph.erase_node(node)

    def edit_replace(self, nodes):
        old, new = sorted(self.draw.sample(range(len(nodes)), 2), reverse=True)
        nodes[old].replace_all_uses_with(
            nodes[new], (lambda user: len(user.name) % 2 == 0) if self.draw.random() < 0.3 else None
        )

    def edit_input(self, nodes):
        node = self.pick()
        if node.all_input_nodes:
            old = self.draw.choice(node.all_input_nodes)
            node.replace_input_with(old, nodes[self.draw.randrange(nodes.index(old) + 1)])

    def edit_arguments(self, nodes):
        place = self.draw.randrange(1, len(nodes))
        args, kwargs = self.arguments(nodes[:place])
        if self.draw.random() < 0.5:
            nodes[place].args = args
        else:
            nodes[place].kwargs = kwargs

    def edit_one_argument(self, nodes):
        place = self.draw.randrange(1, len(nodes))
        if nodes[place].args:
            index = self.draw.randrange(len(nodes[place].args))
            nodes[place].update_arg(index, self.argument(nodes[:place]))

    def edit_move(self, nodes):
        place = self.draw.randrange(1, len(nodes))
        first = max([nodes.index(used) for used in nodes[place].all_input_nodes], default=0)
        target = nodes[self.draw.randrange(first, place)]
        if target.next is not nodes[place]:
            target.append(nodes[place])

    def edit_copy(self, nodes):
        if len(nodes) < 30:
            self.graph.graph_copy(self.graph_of_two(), {})

    def graph_of_two(self):
        other = self.fx.Graph()
        other.output(other.call_function(max, (other.placeholder("x"), 1)))
        return other

    def edit_dead_code(self, nodes):
        if self.draw.random() < 0.2:
            keep = self.draw.randrange(5)
            self.graph.eliminate_dead_code(
                lambda node: node.op == "placeholder" or len(node.name) < keep
            )


@pytest.mark.parametrize("seed", range(25))
def test_the_same_edits_give_the_same_graph(seed):
    torch_fx = require_torch().fx
    ours, theirs = Editor(fx, seed), Editor(torch_fx, seed)
    for _ in range(60):
        ours.edit(), theirs.edit()
        assert describe(ours.graph) == describe(theirs.graph)
    assert [n._sort_key for n in ours.graph.nodes] == [n._sort_key for n in theirs.graph.nodes]
    assert ours.graph.python_code("self").src == theirs.graph.python_code("self").src
    assert str(ours.graph) == str(theirs.graph)


@pytest.mark.parametrize("seed", range(25))
def test_users_and_inputs_say_the_same_after_any_edits(seed):
    editor = Editor(fx, seed)
    for _ in range(60):
        editor.edit()
        nodes = list(editor.graph.nodes)
        editor.graph.lint()
        assert len(nodes) == len(editor.graph.nodes)
        assert nodes == sorted(nodes)
        for node in nodes:
            found = []
            fx.map_arg((node.args, node.kwargs), found.append)
            assert node.all_input_nodes == list(dict.fromkeys(found))
            assert set(node.users) == {user for user in nodes if node in user.all_input_nodes}
