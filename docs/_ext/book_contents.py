"""The table of contents: docs/contents.toml read, and drawn by the directive {book-contents}.

In a text, chapter {chapter}`18` names a chapter by its number.  A chapter that is not written yet
is named, not linked.
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
        name = chapter_link(chapter, label, self.state.document.settings.env.docname)
        about = chapter.about if chapter.is_written else f"{chapter.about} (not written yet)"
        return nodes.list_item("", nodes.paragraph("", "", name, nodes.Text(f": {about}")))


def chapter_link(chapter, label, docname):
    """Return a link to a chapter from the page `docname`, or its bare name if it is not written."""
    if not chapter.is_written:
        return nodes.inline("", label, classes=["unwritten"])
    return addnodes.pending_xref(
        "",
        nodes.inline("", label),
        refdomain="std",
        reftype="doc",
        reftarget="/" + chapter.page,
        refdoc=docname,
        refexplicit=True,
        refwarn=True,
    )


def chapter_role(role, source, number, line, inliner, options=None, content=None):
    """Write chapter {chapter}`18` as: chapter 18 (The engine)."""
    environment = inliner.document.settings.env
    environment.note_dependency(str(ROOT / "docs/contents.toml"))
    for _, part in load_parts():
        for chapter in part:
            if str(chapter.number) == number:
                label = f"{chapter.number} ({chapter.title})"
                return [chapter_link(chapter, label, environment.docname)], []
    problem = inliner.reporter.error(f"chapter: there is no chapter {number!r}", line=line)
    return [inliner.problematic(source, source, problem)], [problem]


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
    app.add_role("chapter", chapter_role)
    app.connect("doctree-read", add_notebook_link)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
