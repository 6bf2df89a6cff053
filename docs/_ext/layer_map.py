"""The map of layers, drawn from the files that hold the code to them.

    ```{layer-map}
    :show: chapters
    ```

draws the layers of tests/layers.toml, the highest on top.  With `:show: chapters` the boxes are the
modules that a chapter reads (docs/contents.toml), each a link to its chapters; with `:show: modules`
they are all modules of the layer in their order, with the number of their lines.  It is made of
lists, not of a drawing: a reader hears it, a telephone wraps it, and every mode has its colours.
"""

import html
import posixpath
import re
import tomllib

from book_contents import CONTENTS, ROOT, load_chapters
from docutils import nodes
from docutils.parsers.rst import Directive, directives

LAYERS = ROOT / "tests/layers.toml"
SOURCE_SUFFIXES = (".pyx", ".pxd", ".py", ".h")


def load_layers(path=LAYERS):
    """Return the layers, lowest first: dicts with name, modules and, not yet there, planned."""
    return tomllib.loads(path.read_text(encoding="utf-8"))["layer"]


class LayerMapDirective(Directive):
    option_spec = {  # noqa: RUF012 - docutils wants a plain dict
        "show": lambda argument: directives.choice(argument, ("chapters", "modules")),
    }

    def run(self):
        environment = self.state.document.settings.env
        for path in (LAYERS, CONTENTS):
            environment.note_dependency(str(path))
        boxes = module_boxes if self.options.get("show") == "modules" else chapter_boxes
        return [nodes.raw("", draw(boxes, environment.docname), format="html")]


def draw(boxes, docname):
    """Return the map as HTML: a list of layers, each a name and a list of boxes."""
    lines = ['<ol class="layer-map" reversed start="10">']
    for layer in reversed(load_layers()):
        number, _, about = layer["name"].partition(" ")
        inside = [f"<li>{box}</li>" for box in boxes(layer, docname)]
        planned = "" if layer["modules"] else ' class="planned"'
        lines.append(
            f'<li value="{number}"{planned}><p class="layer-name">{number} · {html.escape(about)}'
            f"{'' if layer['modules'] else ' (planned)'}</p>"
            + (f"<ul>{''.join(inside)}</ul>" if inside else "")
            + "</li>"
        )
    return "\n".join([*lines, "</ol>"])


def box(name, facts):
    """Return what stands in a box: a module's name, and a smaller line about it."""
    return f"<code>{html.escape(name)}</code><small>{facts}</small>"


# ---------------------------------------------------------------- the chapters that read a module
def chapter_boxes(layer, docname):
    """Yield a box for each module of a layer that chapters read, with their numbers and titles."""
    known = {*layer["modules"], *layer.get("planned", [])}
    readers = {}
    for chapter in load_chapters().values():
        for module in chapter.modules:
            if (module or "__init__") in known:
                readers.setdefault(module, []).append(chapter)
    order = [*layer["modules"], *layer.get("planned", [])]
    for module in sorted(readers, key=lambda name: order.index(name or "__init__")):
        links = (chapter_text(chapter, docname) for chapter in readers[module])
        yield box(module.removeprefix("_core.") or "tensorlab", "<br>".join(links))


def chapter_text(chapter, docname):
    """Return a link to a chapter, or its bare name if it is not written."""
    label = html.escape(f"{chapter.number:02d} {chapter.title}")
    if not chapter.is_written:
        return f'<span class="unwritten">{label}</span>'
    target = posixpath.relpath(chapter.page, posixpath.dirname(docname)) + ".html"
    return f'<a href="{target}">{label}</a>'


# ---------------------------------------------------------------- all modules
def module_boxes(layer, docname):
    """Yield a box for each module of a layer, in order, with the number of its lines."""
    for module in layer["modules"]:
        if count := count_lines(module):
            yield box(module, f"{count:,} lines")
    for module in layer.get("planned", []):
        yield box(module, "planned")


# What a docstring shows at its end; it may be read when one uses the function, and not when one reads the code.
EXAMPLES = re.compile(r'\n\n *Examples\n *--------\n(?:(?! *""").*\n)* *(?=""")')


def count_lines(module):
    """Return how many lines the files of a module have, without the examples of docstrings; a built file has none."""
    base = ROOT / "tensorlab" / module.replace(".", "/")
    files = [base.with_name(base.name + suffix) for suffix in SOURCE_SUFFIXES]
    files += [base / f"__init__{suffix}" for suffix in SOURCE_SUFFIXES]
    is_built = module == "_build_info"
    texts = [] if is_built else [file.read_text("utf-8") for file in files if file.is_file()]
    return sum(len(EXAMPLES.sub("", text).splitlines()) for text in texts)


def setup(app):
    app.add_directive("layer-map", LayerMapDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
