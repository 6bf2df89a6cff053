"""The pages that are made of the registry of ops, whole; nothing on them is written by hand.

{derivatives} writes every op with its schema and the source of its derivatives, family by family, under an index of
names.  {op-tests} writes the table of which samples run which op; it runs them.  And each entry of the API reference
for a function or a method that has an op of its name ends with that op's schema and a link to its derivatives.
"""

import sys

from book_contents import ROOT
from docutils import nodes
from docutils.parsers.rst import Directive
from op_facts import facts, families, title_of
from source_region import address
from tensorlab._core.dispatch.op import REGISTRY

from tensorlab._core.dispatch.schema import in_place, spell


# ---------------------------------------------------------------- the page of all derivatives
class DerivativesDirective(Directive):
    def run(self):
        environment = self.state.document.settings.env
        formulas = sum(len(one.op.derivatives) for one in facts().values())
        differentiable = sum(bool(one.formulas) for one in facts().values())
        summary = (
            f"{len(facts())} ops in {len(families())} files; {differentiable} of them have derivatives, "
            f"by {formulas} parameters."
        )
        index = nodes.bullet_list(classes=["op-index"])
        for name in sorted(facts()):
            index += nodes.list_item("", nodes.paragraph("", "", link_to(name, name)))
        return [
            nodes.paragraph(text=summary),
            index,
            *(self.family(path, ops, environment) for path, ops in families().items()),
        ]

    def family(self, path, ops, environment):
        """Return the section of one file."""
        section = nodes.section(ids=["family-" + nodes.make_id(path)])
        section += nodes.title(text=title_of(path))
        where = nodes.reference(
            "", "", nodes.literal(text=path), refuri=address(environment, path, 1), internal=True
        )
        section += nodes.paragraph("", "", where)
        for one in ops:
            section += self.entry(one, environment)
        return section

    def entry(self, one, environment):
        """Return an op: its schema, which leads to its block in the source, what it is, its formulas."""
        entry = nodes.container(
            ids=[f"op-{one.name}"], names=[f"op-{one.name}"], classes=["op-entry"]
        )
        self.state.document.note_explicit_target(entry)
        schema = nodes.reference(
            "", "", nodes.literal(text=one.op.schema),
            refuri=address(environment, one.path, one.line), internal=True,
        )  # fmt: skip
        entry += nodes.paragraph("", "", schema)
        kind = ". ".join(filter(None, [one.kind, "" if one.formulas else "no derivative"]))
        if kind:
            entry += nodes.paragraph(text=kind[0].upper() + kind[1:] + ".", classes=["op-kind"])
        for formula in one.formulas:
            block = nodes.literal_block(str(formula.text), str(formula.text))
            block["language"] = "cython"
            entry += block
        return entry


def link_to(name, text):
    """Return a link to an op on the page that it stands on."""
    return nodes.reference("", "", nodes.literal(text=text), refid=f"op-{name}", internal=True)


# ---------------------------------------------------------------- the page of the tests
COLUMNS = ("forward", "first", "second", "meta")


class OpTestsDirective(Directive):
    def run(self):
        heads = ["op", *COLUMNS, "again", "formulas", "samples"]
        return [table(heads, test_rows())]


def test_rows():
    """Yield a row for each op: what runs it how often, its parameters whose derivatives run, if calls repeat."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.ops.coverage import coverage

    found, again = coverage()
    for name in sorted(found.ran["forward"].keys() | facts().keys()):
        op = REGISTRY[name]
        counts = [len(found.ran[which].get(name, ())) for which in COLUMNS]
        formulas = [
            p for p in op.derivatives if found.formulas.get(((op.functional or op).name, p))
        ]
        names = set().union(*(found.ran[which].get(name, ()) for which in COLUMNS))
        yield [
            name,
            *(str(count or "") for count in counts),
            "equal" if name in again.equal else "",
            ", ".join(formulas),
            some_of(sorted(names, key=lambda one: (one.split()[0] != name, one))),
        ]


def some_of(names, most=3):
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def table(heads, rows):
    """Return a table with a row of heads; the first column is code."""
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=1) for _ in heads]
    head, body = nodes.thead(), nodes.tbody()
    head += row(nodes.Text(text) for text in heads)
    body += [row([nodes.literal(text=first), *map(nodes.Text, rest)]) for first, *rest in rows]
    group += [head, body]
    return nodes.table("", group, classes=["op-tests"])


def row(cells):
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


# ---------------------------------------------------------------- in the API reference
def op_of(called):
    """Return the facts of the op that a public name leads to, with its schema, or None.

    The op that writes, `tanh_`, has the derivatives of `tanh`. It is registered when it is first called.
    """
    if called in facts():
        return facts()[called], REGISTRY[called].schema
    functional = REGISTRY.get(called.removesuffix("_"))
    if functional is None or not (called in REGISTRY or functional.is_pointwise):
        return None
    return facts()[functional.name], spell(in_place(functional.signature))


def say_which_op(app, what, name, obj, options, lines):
    """End a docstring with the op that the name leads to: its schema, its place and its derivatives."""
    names = [
        name.rpartition(".")[2],
        getattr(obj, "__name__", ""),
    ]  # arccos is another name of acos
    found = next(filter(None, map(op_of, names)), None)
    if found is None or what not in ("function", "method"):
        return
    one, schema = found
    source = f"`source <{address(app.env, one.path, one.line)}>`__"
    parameters = [f"``{param}``" for param in one.op.derivatives]
    derivative = "no derivative"
    if parameters:
        derivative = f":ref:`derivative <op-{one.name}>` by {', '.join(parameters)}"
    text = " · ".join([f"``{schema}``", derivative, source])
    lines += ["", ".. container:: op-facts", "", f"   Op: {text}", ""]


def setup(app):
    app.add_directive("derivatives", DerivativesDirective)
    app.add_directive("op-tests", OpTestsDirective)
    app.connect("autodoc-process-docstring", say_which_op, priority=950)  # after the chapters
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
