"""Trees, against PyTorch's."""

import collections
import dataclasses

import pytest

from tensorlab.utils import _pytree as ours
from tests.oracle import require_torch

Point = collections.namedtuple("Point", "x y")
TREES = {
    "leaf": 3,
    "none": None,
    "nothing in it": [(), {}, []],
    "mixed": {"a": [1, (2, 3)], "b": {"c": 4}},
    "named": Point(1, [2, Point(3, 4)]),
    "ordered": collections.OrderedDict(z=1, a=(2,)),
    "default": collections.defaultdict(list, k=[1, 2]),
    "deque": collections.deque([1, [2]], maxlen=3),
    "keys that aren't strings": {1: "x", (2, 3): ["y"]},
}
each_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


@pytest.fixture(scope="module")
def theirs():
    require_torch()
    import torch.utils._pytree

    return torch.utils._pytree


@each_tree
def test_leaves_and_structures_are_those_of_pytorch(tree, theirs):
    leaves, spec = ours.tree_flatten(tree)
    expected, other = theirs.tree_flatten(tree)
    assert leaves == expected
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (
        other.num_leaves,
        other.num_nodes,
        other.num_children,
    )
    again = ours.tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)


@each_tree
def test_ways_to_leaves_are_spelled_as_in_pytorch(tree, theirs):
    found = [(ours.keystr(path), leaf) for path, leaf in ours.tree_leaves_with_path(tree)]
    expected = theirs.tree_leaves_with_path(tree)
    assert found == [(theirs.keystr(path), leaf) for path, leaf in expected]
    for path, leaf in ours.tree_leaves_with_path(tree):
        assert ours.key_get(tree, path) == leaf


@each_tree
def test_functions_of_trees_do_what_they_do_in_pytorch(tree, theirs):
    calls = [
        lambda t: t.tree_map(lambda leaf: [leaf], tree),
        lambda t: t.tree_map(lambda a, b: (a, b), tree, tree),
        lambda t: t.tree_map_only(int, lambda leaf: leaf + 1, tree),
        lambda t: t.tree_map_only((int, str), str, tree),
        lambda t: t.tree_map_only(lambda leaf: leaf == 2, str, tree),
        lambda t: t.tree_map(str, tree, is_leaf=lambda one: isinstance(one, list)),
        lambda t: t.tree_all(lambda leaf: leaf is not None, tree),
        lambda t: t.tree_any(lambda leaf: leaf == 3, tree),
        lambda t: t.tree_all_only(int, lambda leaf: leaf < 3, tree),
        lambda t: t.tree_any_only(str, lambda leaf: leaf == "y", tree),
        lambda t: list(t.tree_iter(tree)),
        lambda t: t.tree_map_only_(int, str, tree),
        lambda t: t.tree_map_(str, tree),
    ]
    for call in calls:
        assert call(ours) == call(theirs)


@each_tree
def test_structures_compare_hash_and_come_back_from_files(tree):
    spec = ours.tree_structure(tree)
    assert spec == ours.tree_structure(tree)
    assert hash(spec) == hash(ours.tree_structure(tree))
    if type(tree) is collections.defaultdict:
        with pytest.raises(ValueError, match="factory can't be written"):
            ours.treespec_dumps(spec)
    elif all(isinstance(key, str) for key in getattr(tree, "keys", tuple)()):
        ours.KINDS.setdefault(Point, ours.kind_of(Point(1, 2)))
        assert ours.treespec_loads(ours.treespec_dumps(spec)) == spec


def test_structures_that_differ_differ():
    specs = [ours.tree_structure(one) for one in (1, [1], (1,), [1, 2], {"a": 1}, {"b": 1}, [[1]])]
    for k, spec in enumerate(specs):
        assert [other == spec for other in specs] == [k == j for j in range(len(specs))]


class Box:
    def __init__(self, inside, label):
        self.inside, self.label = inside, label


@pytest.fixture
def boxes():
    ours.register_pytree_node(
        Box,
        lambda box: ([box.inside], box.label),
        lambda items, label: Box(*items, label),
        flatten_with_keys_fn=lambda box: ([(ours.GetAttrKey("inside"), box.inside)], box.label),
    )
    yield
    del ours.KINDS[Box]


@pytest.mark.usefixtures("boxes")
def test_a_registered_class_is_a_container():
    made = ours.tree_map(lambda x: x + 1, {"box": Box([1, 2], "b")})
    assert (made["box"].inside, made["box"].label) == ([2, 3], "b")
    ((path, leaf), *_) = ours.tree_leaves_with_path([Box(1, "b")])
    assert (ours.keystr(path), leaf) == ("[0].inside", 1)
    with pytest.raises(ValueError, match="Box is registered already"):
        ours.register_pytree_node(Box, None, None)
    spec = ours.tree_structure(Box(1, "b"))
    assert ours.treespec_loads(ours.treespec_dumps(spec)) == spec


def test_dataclasses_and_constants():
    @dataclasses.dataclass
    class Pair:
        left: object
        right: object = 0

    class Setting:
        pass

    ours.register_dataclass(Pair)
    ours.register_constant(Setting)
    try:
        setting = Setting()
        made = ours.tree_map(lambda x: x * 2, [Pair(1, (2,)), setting])
        assert made == [Pair(2, (4,)), setting]
    finally:
        del ours.KINDS[Pair], ours.KINDS[Setting]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.tree_unflatten([1], ours.tree_structure((1, 2))), "1 leaves, and .* has 2"),
        (lambda: ours.tree_map(max, (1, 2), [1, 2]), "a tuple of 2 items is needed"),
        (lambda: ours.tree_map(max, {"a": 1}, {"b": 1}), r"the keys are \['b'\], and \['a'\]"),
        (lambda: ours.treespec_loads("{}"), "is not what treespec_dumps returns"),
        (lambda: ours.treespec_loads("[2, null]"), "version 2 is unknown"),
        (lambda: ours.treespec_loads('[1, {"type": "x.Y"}]'), "x.Y is not registered"),
        (
            lambda: ours.treespec_dumps(ours.tree_structure({(1, 2j): 1})),
            "must be what JSON can say",
        ),
    ],
)
def test_what_does_not_fit_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="a TreeSpec is needed, not tuple"):
        ours.tree_unflatten([1], (1,))


def test_a_structure_prints():
    assert (
        repr(ours.tree_structure((1, [2])))
        == "TreeSpec(tuple, None, [*, TreeSpec(list, None, [*])])"
    )
    assert ours.treespec_pprint(ours.tree_structure({"a": [1]})) == "dict ['a']\n  list\n    *"
