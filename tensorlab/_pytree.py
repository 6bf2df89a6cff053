"""Trees: nested tuples, lists and dicts taken apart into a flat list of leaves, and put
together again.

    {"x": [1, 2], "y": 3}   ->   leaves [1, 2, 3]   and   a TreeSpec, {"x": [*, *], "y": *}

What a function of tensors takes and returns is such a tree, so anything that wraps functions
(`__torch_dispatch__`, fx, transformations) does it by `tree_map`. Containers of your own take
part after `register_pytree_node`. A None is a leaf.
"""

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from tensorlab import return_types

__all__ = [
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "TreeSpec",
    "key_get",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
]

PyTree = Any


# ---------------------------------------------------------------- ways to a leaf
class SequenceKey(NamedTuple):
    """The step from a list or tuple to an item."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """The item."""
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """The step from a dict to a value."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """The value."""
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """The step from an object to an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The attribute."""
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey
KeyPath = tuple


def keystr(kp):
    """Return a way to a leaf as Python writes it.

    >>> keystr((MappingKey("x"), SequenceKey(0)))
    "['x'][0]"
    """
    return "".join(str(key) for key in kp)


def key_get(obj, kp):
    """Return what a way leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---------------------------------------------------------------- kinds of containers
class Kind(NamedTuple):
    """How a type of containers is taken apart and put together."""

    flatten: Callable  # container -> (items, context)
    unflatten: Callable  # items, context -> container
    flatten_with_keys: Callable | None = None  # container -> ([(key, item), ...], context)
    name: str | None = None  # what files call it


def _numbered(items):
    return [(SequenceKey(k), item) for k, item in enumerate(items)]


def _keyed(mapping):
    return [(MappingKey(key), item) for key, item in mapping.items()]


def _sequence(make):
    return Kind(
        lambda items: (list(items), None),
        lambda items, context: make(items),
        lambda items: (_numbered(items), None),
    )


def _mapping(make, context_of=lambda mapping: list(mapping)):
    return Kind(
        lambda mapping: (list(mapping.values()), context_of(mapping)),
        make,
        lambda mapping: (_keyed(mapping), context_of(mapping)),
    )


def _named_kind(cls):
    return Kind(
        lambda items: (list(items), cls),
        lambda items, context: context(*items),
        lambda items: ([(GetAttrKey(name), getattr(items, name)) for name in cls._fields], cls),
    )


KINDS: dict = {
    list: _sequence(list),
    tuple: _sequence(tuple),
    dict: _mapping(lambda items, keys: dict(zip(keys, items, strict=True))),
    OrderedDict: _mapping(lambda items, keys: OrderedDict(zip(keys, items, strict=True))),
    defaultdict: _mapping(
        lambda items, context: defaultdict(context[0], zip(context[1], items, strict=True)),
        lambda mapping: [mapping.default_factory, list(mapping)],
    ),
    deque: Kind(
        lambda items: (list(items), items.maxlen),
        deque,
        lambda items: (_numbered(items), items.maxlen),
    ),
}
KINDS.update(
    {
        getattr(return_types, name): _sequence(getattr(return_types, name))
        for name in return_types.__all__
    }
)
SUPPORTED_NODES = KINDS  # PyTorch's name


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Let instances of a class be containers.

    Parameters
    ----------
    flatten_fn : function(instance) -> (list of its items, context: what else it takes to make
        it again)
    unflatten_fn : function(items, context) -> instance
    serialized_type_name : str, its name in `treespec_dumps`; the qualified name unless given
    flatten_with_keys_fn : function(instance) -> ([(key, item), ...], context), for
        `tree_map_with_path`

    Raises
    ------
    ValueError
        If the class is one already.
    """
    if cls in KINDS:
        raise ValueError(
            f"register_pytree_node: {cls.__name__} is registered already; register a class once"
        )
    name = serialized_type_name or f"{cls.__module__}.{cls.__qualname__}"
    KINDS[cls] = Kind(flatten_fn, unflatten_fn, flatten_with_keys_fn, name)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Let instances of a dataclass be containers of their fields."""
    names = [one.name for one in dataclasses.fields(cls) if one.init]
    names = [
        one
        for one in (field_names or names)
        if drop_field_names is None or one not in drop_field_names
    ]
    register_pytree_node(
        cls,
        lambda one: ([getattr(one, name) for name in names], names),
        lambda items, context: cls(**dict(zip(context, items, strict=True))),
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=lambda one: (
            [(GetAttrKey(name), getattr(one, name)) for name in names],
            names,
        ),
    )
    return cls


def register_constant(cls):
    """Let instances of a class be part of the structure: they have no leaves."""
    register_pytree_node(cls, lambda one: ([], one), lambda items, one: one)


def kind_of(tree):
    """The Kind of a container, and None for a leaf."""
    cls = type(tree)
    found = KINDS.get(cls)
    if found is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return KINDS.setdefault(cls, _named_kind(cls))
    return found


# ---------------------------------------------------------------- structures
class TreeSpec:
    """The structure of a tree without its leaves.

    Attributes
    ----------
    type : the class of the container; None for a leaf
    context : what else it takes to make it, such as the keys of a dict
    """

    __slots__ = ("_children", "context", "num_leaves", "type")

    def __init__(self, type, context, children_specs=()):
        self.type, self.context, self._children = type, context, tuple(children_specs)
        self.num_leaves = 1 if type is None else sum(one.num_leaves for one in self._children)

    @property
    def num_children(self):
        """How many items the container has."""
        return len(self._children)

    @property
    def num_nodes(self):
        """How many containers and leaves there are."""
        return 1 + sum(one.num_nodes for one in self._children)

    def children(self):
        """The structures of its items."""
        return list(self._children)

    children_specs = property(children)

    def child(self, index):
        """The structure of one item."""
        return self._children[index]

    def is_leaf(self):
        """Whether it stands for a leaf."""
        return self.type is None

    def unflatten(self, leaves):
        """The tree of this structure with these leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree):
        """What a tree of this structure, or one that goes deeper, has where this has leaves.

        Raises
        ------
        ValueError
            If the tree is another one.
        """
        if self.is_leaf():
            return [tree]
        kind = kind_of(tree)
        items, context = ([], None) if kind is None else kind.flatten(tree)
        if type(tree) is not self.type or len(items) != len(self._children):
            raise ValueError(
                f"flatten_up_to: a {self.type.__name__} of {len(self._children)} items is "
                f"needed, "
                f"not {tree!r:.60}"
            )
        if self.type is dict and set(context) != set(self.context):
            raise ValueError(
                f"flatten_up_to: the keys are {context}, and {self.context} are needed"
            )
        if self.type is dict:
            items = [tree[key] for key in self.context]
        pairs = zip(self._children, items, strict=True)
        return [leaf for child, item in pairs for leaf in child.flatten_up_to(item)]

    def __eq__(self, other):
        return (
            isinstance(other, TreeSpec)
            and (self.type, self.context) == (other.type, other.context)
            and self._children == other._children
        )

    def __hash__(self):
        context = self.context if isinstance(self.context, type) else repr(self.context)
        return hash((self.type, context, self._children))

    def __repr__(self):
        if self.is_leaf():
            return "*"
        name = self.type.__name__
        return f"TreeSpec({name}, {self.context!r}, [{', '.join(map(repr, self._children))}])"


LEAF = TreeSpec(None, None)


def treespec_leaf():
    """Return the structure of a leaf."""
    return LEAF


LeafSpec = treespec_leaf


# ---------------------------------------------------------------- apart, and together again
def tree_flatten(tree, is_leaf=None):
    """Return (the leaves of a tree, its TreeSpec); what `is_leaf` says yes to is not taken
    apart.

    >>> leaves, spec = tree_flatten({"x": [1, 2], "y": 3})
    >>> leaves
    [1, 2, 3]
    >>> tree_unflatten([4, 5, 6], spec)
    {'x': [4, 5], 'y': 6}
    """
    leaves = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        leaves.append(tree)
        return LEAF
    items, context = kind.flatten(tree)
    return TreeSpec(type(tree), context, [_flatten(item, leaves, is_leaf) for item in items])


def tree_unflatten(leaves, treespec):
    """Return the tree of a structure with these leaves.

    Raises
    ------
    ValueError
        If there are more or fewer leaves than the structure has.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten: a TreeSpec is needed, not {type(treespec).__name__}; "
            f"tree_flatten returns one"
        )
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten: {len(leaves)} leaves, and the structure has {treespec.num_leaves}"
        )
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves, spec):
    if spec.type is None:
        return next(leaves)
    items = [_unflatten(leaves, child) for child in spec._children]
    return KINDS[spec.type].unflatten(items, spec.context)


def tree_iter(tree, is_leaf=None):
    """Yield the leaves of a tree."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """Return the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """Return the TreeSpec of a tree."""
    return tree_flatten(tree, is_leaf)[1]


# ---------------------------------------------------------------- maps
def tree_map(func, tree, *rests, is_leaf=None):
    """Apply a function to every leaf, and return the tree of the results.

    With more trees the function takes a leaf of each; they must have the structure of the
    first, or go deeper.

    >>> tree_map(lambda x: x * 2, (1, [2]))
    (2, [4])
    """
    if not rests:
        return _map(func, tree, is_leaf)
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(one) for one in rests]
    return _unflatten(map(func, leaves, *others), spec)


def _map(func, tree, is_leaf):
    """The same of one tree, which needs no structure."""
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        return func(tree)
    items, context = kind.flatten(tree)
    return kind.unflatten([_map(func, item, is_leaf) for item in items], context)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Apply a function to every leaf for what it does, and return the tree as it is."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(one) for one in rests]
    for _ in map(func, leaves, *others):
        pass
    return tree


def _only(kinds, func):
    if isinstance(kinds, tuple | type):
        return lambda leaf: func(leaf) if isinstance(leaf, kinds) else leaf
    return lambda leaf: func(leaf) if kinds(leaf) else leaf


def tree_map_only(type_or_types_or_pred, func, tree, is_leaf=None):
    """Apply a function to the leaves of a type, of one of several types, or for which a
    function says yes.

    >>> tree_map_only(int, str, {"a": 1, "b": 2.0})
    {'a': '1', 'b': 2.0}
    """
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None):
    """Do the same for what the function does, and return the tree as it is."""
    return tree_map_(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether a function says yes to every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a function says yes to a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None):
    """Whether a function says yes to every leaf of a type."""
    leaves = tree_leaves(tree, is_leaf)
    return all(pred(leaf) for leaf in leaves if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types, pred, tree, is_leaf=None):
    """Whether a function says yes to a leaf of a type."""
    leaves = tree_leaves(tree, is_leaf)
    return any(pred(leaf) for leaf in leaves if isinstance(leaf, type_or_types))


# ---------------------------------------------------------------- with the way to each leaf
def tree_flatten_with_path(tree, is_leaf=None):
    """Return ([(way to a leaf, leaf), ...], the TreeSpec)."""
    found = []
    _walk((), tree, found, is_leaf)
    return found, tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """Return [(way to a leaf, leaf), ...]."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def _walk(path, tree, found, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else kind_of(tree)
    if kind is None:
        found.append((path, tree))
        return
    if kind.flatten_with_keys is None:
        raise ValueError(
            f"tree_flatten_with_path: {type(tree).__name__} was registered without "
            f"flatten_with_keys_fn, "
            f"so its items have no keys"
        )
    for key, item in kind.flatten_with_keys(tree)[0]:
        _walk((*path, key), item, found, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """Apply a function(way to the leaf, leaf) to every leaf.

    >>> tree_map_with_path(lambda path, x: keystr(path), {"a": [1, 2]})
    {'a': ["['a'][0]", "['a'][1]"]}
    """
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(one) for one in rests]
    results = [func(path, leaf, *more) for (path, leaf), *more in zip(found, *others, strict=True)]
    return _unflatten(iter(results), spec)


# ---------------------------------------------------------------- structures in files
def _names():
    return {_name(cls): cls for cls in KINDS}


def _name(cls):
    return KINDS[cls].name or f"{cls.__module__}.{cls.__qualname__}"


def _dumpable(spec):
    if spec.is_leaf():
        return None
    if spec.type is defaultdict or (spec.context is not None and _is_named(spec.type)):
        if spec.type is defaultdict:
            raise ValueError("treespec_dumps: a defaultdict's factory can't be written to a file")
        context = list(spec.type._fields)
    else:
        context = spec.context
    return {
        "type": _name(spec.type),
        "context": context,
        "children": [_dumpable(child) for child in spec._children],
    }


def _is_named(cls):
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def treespec_dumps(treespec):
    """Return a structure as JSON, for files. Contexts must be what JSON can say.

    Raises
    ------
    ValueError
        If a container has a context that JSON can't say.
    """
    try:
        return json.dumps([1, _dumpable(treespec)])
    except TypeError as error:
        raise ValueError(
            f"treespec_dumps: {error}; its context must be what JSON can say"
        ) from None


def treespec_loads(serialized):
    """Return the structure of what `treespec_dumps` returned.

    Raises
    ------
    ValueError
        If it isn't that, or names a type that isn't registered in this program.
    """
    try:
        version, spec = json.loads(serialized)
    except (ValueError, TypeError):
        raise ValueError(
            f"treespec_loads: {serialized!r:.60} is not what treespec_dumps returns"
        ) from None
    if version != 1:
        raise ValueError(f"treespec_loads: version {version!r} is unknown; this package writes 1")
    return _load(spec, _names())


def _load(spec, names):
    if spec is None:
        return LEAF
    if spec["type"] not in names:
        raise ValueError(
            f"treespec_loads: {spec['type']} is not registered; call register_pytree_node before"
        )
    cls = names[spec["type"]]
    context = cls if _is_named(cls) else spec["context"]
    return TreeSpec(cls, context, [_load(child, names) for child in spec["children"]])


def treespec_pprint(treespec):
    """Return a structure over several lines."""
    return "\n".join(_lines(treespec, ""))


def _lines(spec, indent):
    if spec.is_leaf():
        return [f"{indent}*"]
    head = (
        f"{indent}{spec.type.__name__} {spec.context!r}"
        if spec.context
        else f"{indent}{spec.type.__name__}"
    )
    return [head, *(line for child in spec._children for line in _lines(child, indent + "  "))]
