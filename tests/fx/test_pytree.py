"""Trees taken apart and put together again."""

from collections import OrderedDict, namedtuple

import pytest

from tensorlab.fx.pytree import tree_flatten, tree_flatten_spec, tree_map, tree_unflatten
from tensorlab.utils._pytree import tree_structure

Pair = namedtuple("Pair", "left right")
TREES = [
    3,
    (),
    [],
    {},
    (1, [2, (3,)], {"a": 4, "b": []}),
    Pair(1, [2]),
    OrderedDict(b=1, a=(2, 3)),
    None,
]


@pytest.mark.parametrize("tree", TREES)
def test_a_tree_survives_flattening(tree):
    leaves, spec = tree_flatten(tree)
    assert tree_unflatten(leaves, spec) == tree
    assert type(tree_unflatten(leaves, spec)) is type(tree)
    assert len(leaves) == spec.num_leaves
    assert tree_flatten_spec(tree, spec) == leaves
    assert spec.is_leaf() == (not isinstance(tree, (tuple, list, dict)))
    assert tree_map(lambda leaf: leaf, tree) == tree


def test_leaves_come_in_order():
    assert tree_flatten({"a": [1, (2,)], "b": Pair(3, 4)})[0] == [1, 2, 3, 4]
    assert tree_map(lambda x: x * 2, [1, {"a": (2,)}]) == [2, {"a": (4,)}]


def test_leaves_may_come_one_by_one():
    _, spec = tree_flatten([0, {"a": 0}])
    assert tree_unflatten(iter([1, 2]), spec) == [1, {"a": 2}]


def test_a_structure_takes_what_it_knows():
    _, spec = tree_flatten({"a": 0, "b": (0, 0)})
    assert tree_flatten_spec({"b": (2, 3, 9), "c": 8, "a": 1}, spec) == [1, 2, 3]
    assert tree_flatten_spec([1, 2], tree_structure(0)) == [[1, 2]]


def test_the_number_of_leaves_must_fit():
    _, spec = tree_flatten((1, 2))
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match=f"{len(leaves)} leaves, and the structure has 2"):
            tree_unflatten(leaves, spec)
