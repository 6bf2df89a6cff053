"""Ops by their names in PyTorch's libraries: `ops.aten.add.Tensor`, `ops.mylib.clip.default`.

    ops.aten                an OpNamespace: every name is one, and may still be empty
    ops.aten.add            an OpOverloadPacket: all ops of that name
    ops.aten.add.Tensor     an OpOverload: one op, called with the parameters of its schema

An OpOverload stands for the Op (op.pyx) and is what `__torch_dispatch__` and tools are told. It
adds what a call by PyTorch's schema needs: the names there (`self` for x), and the settings
that have one value here. There is one for each op, made when it is asked for, so `is` compares
them. aten's ops are those that say so in their declarations; an op that aten hasn't got is in
`ops.tensorlab`, and an op of a program in the namespace that the program gave it.
"""

from typing import Any, NamedTuple

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab._core.dispatch.op import Op
from tensorlab._core.dispatch.overload_call import MISSING, OverloadCall, hooked
from tensorlab._core.dispatch.overrides import call_override, is_interception_enabled
from tensorlab._core.dispatch.schema import spell
from tensorlab._on_demand import import_all


# ---------------------------------------------------------------- schemas as PyTorch shows them
class AliasInfo(NamedTuple):
    """What `(a!)` says: `before_set` has the name, and the op writes there if `is_write`."""

    is_write: bool
    before_set: frozenset


class Argument(NamedTuple):
    """A parameter or a result of a FunctionSchema."""

    name: str
    type: str
    default_value: Any
    kwarg_only: bool
    alias_info: AliasInfo | None

    def has_default_value(self):
        """Whether a call may leave it out."""
        return self.default_value is not MISSING


class FunctionSchema:
    """The schema of an op: its name, what it takes, and what it returns.

    >>> from tensorlab import ops
    >>> ops.aten.add.Tensor._schema
    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    >>> [one.name for one in ops.aten.add.Tensor._schema.arguments]
    ['self', 'other', 'alpha']
    """

    def __init__(self, qualified_name, overload_name, parsed):
        self.name = qualified_name  # "aten::add"
        self.overload_name = overload_name  # "Tensor", or "" for the one that has no name
        self.parsed = parsed
        self.arguments = [_argument(one) for one in parsed.parameters]
        self.returns = [
            Argument(name or "", str(kind), MISSING, False, _alias(kind))
            for name, kind in parsed.results
        ]

    @property
    def is_mutable(self):
        """Whether it writes to an argument."""
        return any(one.alias_info and one.alias_info.is_write for one in self.arguments)

    def __repr__(self):
        dot = "." if self.overload_name else ""
        _, _, rest = spell(self.parsed).partition("(")
        return f"{self.name}{dot}{self.overload_name}({rest}"

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))


def _argument(parameter):
    default = MISSING if parameter.default is ... else parameter.default
    kind = parameter.type
    return Argument(parameter.name, str(kind), default, parameter.is_keyword_only, _alias(kind))


def _alias(kind):
    return AliasInfo(kind.is_written, frozenset([kind.alias])) if kind.alias else None


# ---------------------------------------------------------------- one op
class OpOverload(OverloadCall):
    """One op under its name in a library.

    Attributes
    ----------
    op : Op, the record that it stands for
    namespace : str, such as "aten"
    overloadpacket : OpOverloadPacket, all ops of its name
    gives_tensor : bool, whether its result is one tensor

    >>> import tensorlab
    >>> add = tensorlab.ops.aten.add.Tensor
    >>> add, add.name(), add(tensorlab.ones(2), other=tensorlab.ones(2))
    (<OpOverload(op='aten.add', overload='Tensor')>, 'aten::add.Tensor', tensor([2., 2.]))
    """

    def __init__(self, op):
        self.namespace, self._opname, overload = names_of(op)
        self._overloadname = overload or "default"
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__ = f"{self.namespace}.{self.__name__}"
        self.__module__ = f"tensorlab.ops.{self.namespace}"
        parsed = op.aten_signature or op.signature
        self._schema = FunctionSchema(f"{self.namespace}::{self._opname}", overload, parsed)
        kinds = [kind for _, kind in op.signature.results]
        self.gives_tensor = [(one.word, one.is_list) for one in kinds] == [("Tensor", False)]

    @property
    def overloadpacket(self):
        return packet(self.namespace, self._opname)

    def name(self):
        """Its name with the namespace: "aten::add.Tensor"."""
        dot = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{dot}"

    @property
    def is_view(self):
        """Whether its result shows memory of its first argument."""
        return self.op.is_view

    @property
    def is_mutable(self):
        """Whether it writes to an argument."""
        return self._schema.is_mutable

    # ------------------------------------------------------------ names
    def __repr__(self):
        return (
            f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"
        )

    def __str__(self):
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __hash__(self):
        return id(self)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return overload_of, (self.op,)


def names_of(op):
    """(namespace, name, overload) of an op; the overload is "" for the one that has no name."""
    if op.aten is not None:
        namespace, qualified = "aten", op.aten
    elif "::" in op.name:
        namespace, _, qualified = op.name.partition("::")
    else:
        namespace, qualified = "tensorlab", op.name
    name, _, overload = qualified.partition(".")
    return namespace, name, overload


OVERLOADS: dict = {}  # op: its OpOverload


def overload_of(op):
    """The OpOverload of an op."""
    found = OVERLOADS.get(op)
    if found is None:
        if not isinstance(op, Op):
            raise TypeError(f"overload_of: an Op is needed, not {type(op).__name__}")
        found = OVERLOADS.setdefault(op, OpOverload(op))
    return found


# ---------------------------------------------------------------- all ops of a name, all names of a library
class OpOverloadPacket:
    """All ops of one name; calling it calls the first whose parameters fit."""

    def __init__(self, namespace, name):
        self._namespace, self._name = namespace, name
        self.__name__ = name
        self.__qualname__ = self._qualified_op_name = f"{namespace}::{name}"
        self.__module__ = f"tensorlab.ops.{namespace}"

    def _found(self):
        return _index()[self._namespace][self._name]

    def overloads(self):
        """The names of its overloads."""
        return [overload or "default" for overload in self._found()]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._found().get("" if name == "default" else name)
        if found is None:
            raise AttributeError(
                f"{self._qualified_op_name} has no overload {name!r}; there is "
                f"{', '.join(self.overloads())}"
            )
        return overload_of(found())

    def __call__(self, /, *args, **kwargs):
        if is_interception_enabled() and (found := hooked(args, kwargs)):
            return call_override(self, found, args, kwargs)
        mistakes = []
        for found in self._found().values():
            overload = overload_of(found())
            try:
                bound = overload.bind(args, kwargs)
            except TypeError as mistake:
                mistakes.append(str(mistake))
                continue
            return overload.op(*bound)
        raise TypeError("\n".join(mistakes))

    def __dir__(self):
        return [*super().__dir__(), *self.overloads()]

    def __iter__(self):
        return iter(self.overloads())

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self._name}')>"

    def __str__(self):
        return f"{self._namespace}.{self._name}"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return packet, (self._namespace, self._name)


class OpNamespace:
    """The ops of a library."""

    def __init__(self, name):
        self.name = name
        self.__name__ = f"tensorlab.ops.{name}"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in _index().get(self.name, ()):
            import_all()  # it may be in a module that no program has asked for yet
        if name not in _index().get(self.name, ()):
            names = sorted(_index().get(self.name, ()))
            known = (
                f"there are {len(names)}, such as {', '.join(names[:3])}"
                if names
                else "it is empty"
            )
            raise AttributeError(f"ops.{self.name} has no op {name!r}; {known}")
        return packet(self.name, name)

    def __dir__(self):
        import_all()
        return sorted(_index().get(self.name, ()))

    def __repr__(self):
        return f"<ops.{self.name}: {len(_index().get(self.name, ()))} names>"


PACKETS: dict = {}  # (namespace, name): OpOverloadPacket
NAMESPACES: dict = {}  # name: OpNamespace
INDEX: dict = {
    "size": 0,
    "names": {},
}  # names of `size` ops. namespace: {name: {overload: function -> op}}


def _index():
    """All ops by namespace and name; made again when there are more than last time."""
    if INDEX["size"] != len(REGISTRY):
        names = {}

        def add(namespace, name, overload, get):
            names.setdefault(namespace, {}).setdefault(name, {}).setdefault(overload, get)

        for op in REGISTRY.values():
            add(*names_of(op), lambda op=op: op)
        for op in REGISTRY.values():  # the form in place is declared when it is first asked for
            if op.is_pointwise and op.aten is not None and not op.writes:
                namespace, name, overload = names_of(op)
                add(namespace, name + "_", overload, lambda op=op: op.in_place)
        INDEX.update(size=len(REGISTRY), names=names)
    return INDEX["names"]


def forget_index():
    """Let the names be collected again, as ops have gone."""
    INDEX["size"] = 0


def packet(namespace, name):
    """The OpOverloadPacket of a name."""
    key = (namespace, name)
    return PACKETS.get(key) or PACKETS.setdefault(key, OpOverloadPacket(namespace, name))


def namespace(name):
    """The OpNamespace of a name."""
    return NAMESPACES.get(name) or NAMESPACES.setdefault(name, OpNamespace(name))
