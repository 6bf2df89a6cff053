"""What the pages say of an op, from the registry, and from the source where the registry names it.

`facts()` gives an OpFacts for each op that the loaded package has. An op is found in the source by its schema, which
begins with its name; a formula by the name of its function.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import learn
from tensorlab._on_demand import import_all

import_all()  # and with the modules all ops, also those that few programs use

PACKAGE = Path(tensorlab.__file__).parent
SCHEMA = re.compile(r'"(?P<name>\w+)\((?P<first>[^,")]+)')  # as far as its first parameter
RULES = (  # by the number that the registry has
    "that of the operands, promoted",
    "that of the operands, promoted; of integers, the default floating type",
    "bool",
    "that of the operand; of complex numbers, the real type of their parts",
)


@dataclass(frozen=True)
class Formula:
    """The derivative by one or several parameters: the function as the source has it."""

    parameters: tuple
    text: learn.Region


@dataclass(frozen=True)
class OpFacts:
    op: object
    path: str  # tensorlab/ops/pointwise/elementary.pyx
    line: int  # where its declaration begins
    formulas: tuple

    @property
    def name(self):
        return self.op.name

    @property
    def kind(self):
        """Whether it writes or shares memory, in a few words, and its type."""
        words = []
        if self.op.writes:
            words.append("writes over its first argument")
        elif "(a)" in self.op.schema:
            words.append("shares memory with its first argument")
        if self.op.is_pointwise:
            words.append(f"pointwise, type of the result: {RULES[self.op.dtype_rule]}")
        words += [name.replace("_", " ") for name, value in self.op.facets.items() if value is True]
        return "; ".join(words)


@functools.cache
def declarations():
    """Return {(name, first parameter): (path, line)} of all schemas in the source."""
    found = {}
    for file in [*sorted(PACKAGE.glob("ops/**/*.pyx")), *sorted(PACKAGE.glob("_core/**/*.pyx"))]:
        text = file.read_text(encoding="utf-8")
        path = file.relative_to(PACKAGE.parent).as_posix()
        for match in SCHEMA.finditer(text):
            place = path, text.count("\n", 0, match.start()) + 1
            found.setdefault((match["name"], match["first"]), place)
    return found


def declaration(op):
    """Return (path, line) of the schema of an op."""
    match = SCHEMA.match('"' + op.schema)
    return declarations()[match["name"], match["first"]]


@functools.cache
def facts():
    """Return {name: OpFacts} of all ops that make new tensors, and of those that write and have no such form."""
    own = [op for op in REGISTRY.values() if op.functional is None and not is_of_program(op)]
    return {op.name: OpFacts(op, *declaration(op), formulas_of(op)) for op in own}


def is_of_program(op):
    """Whether an op has a namespace, "mine::twice": those of tensorlab have none."""
    return "::" in op.name


def formulas_of(op):
    """Return the formulas of an op, each once, in their order."""
    parameters = {}
    for parameter, formula in op.derivatives.items():
        parameters.setdefault(formula, []).append(parameter)
    return tuple(Formula(tuple(names), text_of(formula)) for formula, names in parameters.items())


def text_of(formula):
    return learn.source(formula.__module__.replace(".", "/") + ".pyx", formula.__name__)


def place(one):
    return "/ops/" not in one.path, one.path, one.line


@functools.cache
def families():
    """Return {path: [OpFacts]}, tensorlab/ops first, the ops in the order of their files."""
    found = {}
    for one in sorted(facts().values(), key=place):
        found.setdefault(one.path, []).append(one)
    return found


def title_of(path):
    """Return the first words of a module's docstring, which say what the family is about."""
    first = (PACKAGE.parent / path).read_text(encoding="utf-8").split("\n")[0].strip('"')
    return re.split(r"(?:: |\. |[:.]$)", first)[0]
