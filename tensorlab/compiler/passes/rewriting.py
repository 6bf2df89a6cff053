"""What all passes share: making nodes beside others, replacing a node where no caller can tell, what ops are made of.

In a functional graph a tensor that is computed inside may be another one that has the same
elements: nothing writes to it. What the graph returns, or an optimizer writes to, is different: the
caller may write to it, so it must stay a tensor of its own. `may_replace` knows that.
"""

from typing import Any, NamedTuple

from tensorlab._core.dispatch.facets import Facet
from tensorlab.compiler.joint.interpreter import is_alias, is_getitem, is_write
from tensorlab.compiler.joint.memory import KEPT, Builder, same_layout


# ---------------------------------------------------------------- memory
def root_of(node):
    """The node whose memory a view shows."""
    while is_alias(node):
        node = node.args[0]
    return node


def leaves(node):
    """Whether the memory of a node, or of a view of it, is returned or written to."""
    return any(
        user.op == "output" or is_write(user) or (shows(user, node) and leaves(user))
        for user in node.users
    )


def shows(user, node):
    """Whether a user's result lies in the memory of the node."""
    return is_getitem(user) or (is_alias(user) and user.args[0] is node)


def may_replace(node, by):
    """Whether all users of `node` can use `by`, which has the same elements, and no caller can tell."""
    root, other = root_of(node), root_of(by)
    if root is other or not leaves(node):
        return True
    return other.op != "placeholder" and not leaves(other)


def same_form(x, y):
    """Whether two tensors have the same shape, type and layout."""
    return (x.shape, x.dtype) == (y.shape, y.dtype) and same_layout(x, y.stride())


# ---------------------------------------------------------------- rewriting
class Rewriter(Builder):
    """Makes nodes before the one that is to be replaced; they take over its place in the program."""

    def __init__(self, node):
        super().__init__(node.graph, {key: node.meta[key] for key in KEPT if key in node.meta})
        self.node = node
        self.made = []

    def call(self, target, args, **meta):
        with self.graph.inserting_before(self.node):
            made = super().call(target, args, **meta)
        self.made.append(made)
        return made

    def replace(self, new):
        """Let the users of the node use `new`; True if that has the same form and no caller can tell."""
        done = new is not None and new is not self.node and fits(self.node, new)
        if done:
            self.node.replace_all_uses_with(new)
            self.graph.erase_node(self.node)
        self.withdraw()
        return done

    def replace_items(self, items):
        """Let the users of the node's results use `items`; True if each can be replaced, and no caller can tell."""
        pairs = [(user, items[user.args[1]]) for user in self.node.users if is_getitem(user)]
        done = len(pairs) == len(self.node.users) and all(
            new is not None and fits(user, new) for user, new in pairs
        )
        if done:
            for user, new in pairs:
                user.replace_all_uses_with(new)
                self.graph.erase_node(user)
            self.graph.erase_node(self.node)
        self.withdraw()
        return done

    def withdraw(self):
        """Erase what was made and isn't used."""
        while self.made:
            one = self.made.pop()
            if not one.users:
                self.graph.erase_node(one)


def fits(node, new):
    """Whether `new` has the form of `node`, to the last stride if it is returned, and may replace it."""
    value, other = node.meta["val"], new.meta["val"]
    if not same_form(value, other) or (leaves(node) and value.stride() != other.stride()):
        return False
    return may_replace(node, new)


def rewrite(graph, function, wanted):
    """Give each call that is `wanted` to `function(rewriter, node)`; count those that it replaces."""
    count = 0
    for node in list(graph.nodes):
        if node.op == "call_function" and not node._erased and wanted(node):
            count += bool(function(Rewriter(node), node))
    return count


# ---------------------------------------------------------------- what ops are made of
class Decomposition(NamedTuple):
    """An op as others: `make` takes a Builder whose `node` is the call, and the call's arguments.

    It returns a node, one for each of several results, or None for a call that it leaves as it is.
    """

    make: Any
    keeps_bits: bool  # else it rounds in other places than the op's kernel


decomposition = Facet("decomposition")


def form(*names, keeps_bits=True):
    """A decorator for what makes these ops, to the last bit."""

    def declare(make):
        decomposition(*names)(Decomposition(make, keeps_bits))
        return make

    return declare


def formula(*names):
    """A decorator for what makes these ops, but for rounding."""
    return form(*names, keeps_bits=False)
