"""The table of contents: docs/contents.toml read, and drawn by the directive {book-contents}.

A chapter that is not written yet is named, not linked.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx import addnodes

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Chapter:
    folder: str
    about: str

    @property
    def number(self):
        return int(self.folder[:2])

    @property
    def title(self):
        return self.folder[3:].replace("-", " ").capitalize()

    @property
    def page(self):
        return f"chapters/{self.folder}/index"

    @property
    def is_written(self):
        return (ROOT / f"{self.page}.md").is_file()


def load_parts(path=ROOT / "docs/contents.toml"):
    """Return the book as a list of (part title, [Chapter, ...])."""
    parts = tomllib.loads(path.read_text(encoding="utf-8"))["part"]
    return [(part["title"], [Chapter(*entry) for entry in part["chapters"]]) for part in parts]


class ContentsDirective(Directive):
    """Write every part with its chapters, those that exist as links."""

    def run(self):
        self.state.document.settings.env.note_dependency(str(ROOT / "docs/contents.toml"))
        result = []
        for title, chapters in load_parts():
            result.append(nodes.rubric("", title, classes=["part-title"]))
            items = nodes.bullet_list(classes=["book-contents"])
            items.extend(self.item(chapter) for chapter in chapters)
            result.append(items)
        return result

    def item(self, chapter):
        label = f"{chapter.number:02d} {chapter.title}"
        if chapter.is_written:
            name = addnodes.pending_xref(
                "",
                nodes.inline("", label),
                refdomain="std",
                reftype="doc",
                reftarget="/" + chapter.page,
                refdoc=self.state.document.settings.env.docname,
                refexplicit=True,
                refwarn=True,
            )
        else:
            name = nodes.inline("", label, classes=["unwritten"])
        about = chapter.about if chapter.is_written else f"{chapter.about} (not written yet)"
        return nodes.list_item("", nodes.paragraph("", "", name, nodes.Text(f": {about}")))


def add_notebook_link(app, tree):
    """Put a link to the chapter's notebook under its title."""
    folder, _, rest = app.env.docname.removeprefix("chapters/").partition("/")
    if not app.env.docname.startswith("chapters/") or rest != "index":
        return
    title = next(iter(tree.findall(nodes.title)), None)
    if title is None:
        return
    link = nodes.reference(
        "", "Download as a notebook", refuri=f"../../notebooks/{folder}.ipynb", classes=["notebook"]
    )
    position = title.parent.index(title) + 1
    title.parent.insert(position, nodes.paragraph("", "", link, classes=["notebook-link"]))


def setup(app):
    app.add_directive("book-contents", ContentsDirective)
    app.connect("doctree-read", add_notebook_link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
