"""Schemas: what an op takes and returns, in PyTorch's schema language.

    sum(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
    sort(Tensor x, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
    fill_(Tensor(a!) x, Tensor value) -> Tensor(a!)
    view(Tensor(a) x, int[] size) -> Tensor(a)

A type is a word, `[]` for a list of them, `?` where None will do. `(a!)` marks a tensor that the op writes to, `(a)`
one whose memory the result shares. As in PyTorch, a pointwise op takes a number in the place of a tensor. What follows
`*` is given by name in public functions; a layer that passes a call on gives everything by position.

The schema of aten's op (aten is PyTorch's library of ops) has other names, for x is `self` there, settings of
factories that have one value here (`FACTORY_SETTINGS`), and what the declaration says in `fixed`. `aten_schema` makes
it. That of `add` is

    add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
"""

import re
from typing import NamedTuple

from tensorlab._core.dtypes import BY_NAME, dtype

# The words of the language, and what may be passed for each.
TYPES = {
    "Tensor": "a Tensor",
    "Scalar": "a number, or a Tensor of no dimensions",
    "int": "an int",
    "float": "a number",
    "bool": "a bool",
    "str": "a string",
    "ScalarType": "a dtype",
    "Device": "a device",
    "Layout": "a layout",
    "MemoryFormat": "a memory format",
    "Generator": "a Generator",
    "Index": "an index, as in x[index]",
    "Class": "a class",
    "Any": "any object",
}

# What PyTorch's own schemas, and those of programs, say besides.
SYNONYMS = {"SymInt": "int", "number": "Scalar"}

HEAD = re.compile(r"(?P<name>[\w:.]+)\((?P<parameters>.*)\) -> (?P<results>.+)", re.DOTALL)
TYPE = (
    r"(?P<word>\w+)(?:\((?P<alias>\w+)(?P<writes>!?)\))?"
    r"(?P<optional_items>\?(?=\[))?(?P<list>\[\d*\])?(?P<optional>\?)?"
)
PARAMETER = re.compile(TYPE + r" (?P<name>\w+)(?:=(?P<default>.+))?")
RESULT = re.compile(TYPE + r"(?: (?P<name>\w+))?")

CONSTANTS = {"None": None, "True": True, "False": False, "inf": float("inf"), **BY_NAME}


class Type(NamedTuple):
    word: str  # a key of TYPES
    is_list: bool
    is_optional: bool
    has_optional_items: bool  # a list in which None may stand, such as Tensor?[]
    alias: str | None  # the name in Tensor(a!)
    is_written: bool

    def __str__(self):
        alias = f"({self.alias}{'!' * self.is_written})" if self.alias else ""
        items = "?" * self.has_optional_items + "[]" if self.is_list else ""
        return self.word + alias + items + "?" * self.is_optional


class Parameter(NamedTuple):
    name: str
    type: Type
    default: object  # `...`: it must be given
    is_keyword_only: bool


class Schema(NamedTuple):
    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[
        tuple[str | None, Type], ...
    ]  # (name, type); a single unnamed one for `-> Tensor`


def parse(text):
    """Return the Schema that `text` spells out.

    Raises
    ------
    ValueError
        If it is not in the language; the message says which part is not.
    """
    head = HEAD.fullmatch(text)
    if head is None:
        raise ValueError(f"schema: {text!r} is not of the form 'name(parameters) -> results'")
    parameters = parse_parameters(head["parameters"])
    results = head["results"]
    inner = results[1:-1] if results.startswith("(") else results
    named = []
    for part in split(inner):
        found = RESULT.fullmatch(part)
        if found is None:
            raise ValueError(
                f"schema: in {text!r}, {part!r} is no result such as 'Tensor' or 'Tensor(a!)'"
            )
        named.append((found["name"], type_of(found, text)))
    return Schema(head["name"], tuple(parameters), tuple(named))


def parse_parameters(text):
    """The Parameters that a list spells out."""
    parameters, is_keyword_only = [], False
    for part in split(text):
        if part == "*":
            is_keyword_only = True
            continue
        found = PARAMETER.fullmatch(part)
        if found is None:
            raise ValueError(
                f"schema: in {text!r}, {part!r} is no parameter such as 'int[]? dim=None'"
            )
        default = ... if found["default"] is None else constant(found["default"])
        parameters.append(Parameter(found["name"], type_of(found, text), default, is_keyword_only))
    return parameters


def split(text):
    """The parts of a list with commas."""
    return [part for part in text.split(", ") if part]


def constant(text):
    """The value that a default spells out."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return tuple(constant(one) for one in text[1:-1].split(",") if one)
    return float(text) if "." in text or "e" in text else int(text)


def type_of(found, text):
    word = SYNONYMS.get(found["word"], found["word"])
    if word not in TYPES:
        raise ValueError(
            f"schema: in {text!r}, {found['word']!r} is none of the types {', '.join(TYPES)}"
        )
    return Type(
        word,
        found["list"] is not None,
        found["optional"] is not None,
        found["optional_items"] is not None,
        found["alias"],
        found["writes"] == "!",
    )


def in_place(schema):
    """The schema of the op that writes its result over the first argument: add -> add_."""
    first, *others = schema.parameters
    written = first.type._replace(alias="a", is_written=True)
    return Schema(schema.name + "_", (first._replace(type=written), *others), ((None, written),))


def in_place_overload(aten):
    """The overload of aten's op that writes: index_fill.int_Scalar -> index_fill_.int_Scalar."""
    if aten is None:
        return None
    name, dot, overload = aten.partition(".")
    return f"{name}_{dot}{overload}"


# Where a factory takes a type and a device, aten's takes these settings besides. There is one
# layout here, and no pinned memory.
FACTORY_SETTINGS = {"dtype": "Layout? layout=None", "device": "bool? pin_memory=None"}


def aten_schema(schema, aten, names, fixed):
    """The schema of aten's op that an op is: with aten's names, its settings of factories, and what is `fixed`."""
    parameters = [one._replace(name=names.get(one.name, one.name)) for one in schema.parameters]
    settings = FACTORY_SETTINGS if {"dtype", "device"} <= {one.name for one in parameters} else {}
    parts = []
    for one in parameters:
        parts.append(one)
        if one.name in settings:
            parts += parse_parameters("*, " + settings[one.name])
    parts += parse_parameters(fixed)
    return Schema(aten, tuple(parts), schema.results)


def spell(schema):
    """The text of a schema; `parse` reads it again."""
    parts = []
    for i, one in enumerate(schema.parameters):
        if one.is_keyword_only and not (i and schema.parameters[i - 1].is_keyword_only):
            parts.append("*")
        default = "" if one.default is ... else f"={spell_constant(one.default)}"
        parts.append(f"{one.type} {one.name}{default}")
    results = [f"{kind} {name}" if name else str(kind) for name, kind in schema.results]
    returned = (
        results[0]
        if len(results) == 1 and schema.results[0][0] is None
        else f"({', '.join(results)})"
    )
    return f"{schema.name}({', '.join(parts)}) -> {returned}"


def spell_constant(value):
    if isinstance(value, tuple):
        return f"[{','.join(map(str, value))}]"
    if isinstance(value, dtype):
        return str(value).rpartition(".")[2]
    return f'"{value}"' if isinstance(value, str) else str(value)
