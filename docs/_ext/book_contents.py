"""The table of contents: docs/contents.toml read, and drawn by two directives.

{book-contents} lists every chapter with the time it takes and the chapters it builds on;
{reading-tracks} lists the ways through the book.  In a text, chapter {chapter}`18` names a chapter
by its number.  A chapter that is not written yet is named, not linked.

Each chapter gets a line under its title (time, chapters it builds on, the notebook and, once the
project has a home on the web, where to run it) and one at its end: the public names that it
explains, with links to the API reference, whose entries link back.
"""

import functools
import importlib
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx import addnodes

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import homepage  # noqa: E402

CONTENTS = ROOT / "docs/contents.toml"


@dataclass(frozen=True)
class Chapter:
    """One entry of docs/contents.toml, which says what the fields mean."""

    folder: str
    about: str
    minutes: int
    requires: list
    modules: list
    names: list

    @property
    def number(self):
        return int(self.folder[:2])

    @functools.cached_property
    def title(self):
        """Its heading; that of a chapter which is not written yet is made of its folder's name."""
        if not self.is_written:
            return self.folder[3:].replace("-", " ").capitalize()
        lines = (ROOT / f"{self.page}.md").read_text(encoding="utf-8").splitlines()
        return next(line[2:].strip() for line in lines if line.startswith("# "))

    @property
    def page(self):
        return f"chapters/{self.folder}/index"

    @property
    def is_written(self):
        return (ROOT / f"{self.page}.md").is_file()


@dataclass(frozen=True)
class Track:
    title: str
    about: str
    chapters: list  # of numbers


@functools.lru_cache(maxsize=4)
def read_contents(path, changed):
    """Return what the file `path` holds, which was changed last at the time `changed`; not to be altered."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def load_parts(path=CONTENTS):
    """Return the book as a list of (part title, [Chapter, ...])."""
    parts = read_contents(path, path.stat().st_mtime_ns)["part"]
    return [(part["title"], [Chapter(**entry) for entry in part["chapter"]]) for part in parts]


def load_chapters(path=CONTENTS):
    """Return {number: Chapter}, in order."""
    return {chapter.number: chapter for _, part in load_parts(path) for chapter in part}


def load_tracks(path=CONTENTS):
    return [Track(**track) for track in read_contents(path, path.stat().st_mtime_ns)["track"]]


def time_text(minutes):
    """Return a length of time as people say it.

    >>> time_text(45), time_text(60), time_text(75), time_text(600)
    ('45 min', '1 h', '1 h 15 min', '10 h')
    """
    hours, rest = divmod(minutes, 60)
    return " ".join(filter(None, [f"{hours} h" if hours else "", f"{rest} min" if rest else ""]))


# ---------------------------------------------------------------- on the cover
class ContentsDirective(Directive):
    """Write every part with its chapters, those that exist as links."""

    def run(self):
        self.state.document.settings.env.note_dependency(str(CONTENTS))
        result = []
        for title, chapters in load_parts():
            result.append(nodes.rubric("", title, classes=["part-title"]))
            items = nodes.bullet_list(classes=["book-contents"])
            items.extend(self.item(chapter) for chapter in chapters)
            result.append(items)
        return result

    def item(self, chapter):
        docname = self.state.document.settings.env.docname
        name = chapter_link(chapter, f"{chapter.number:02d} {chapter.title}", docname)
        line = nodes.paragraph("", "", name, nodes.Text(f": {chapter.about}"))
        facts = nodes.paragraph(classes=["chapter-facts"])
        facts += nodes.Text(time_text(chapter.minutes))
        add_required(facts, chapter, docname)
        if not chapter.is_written:
            facts += nodes.Text(" · not written yet")
        return nodes.list_item("", line, facts)


class TracksDirective(Directive):
    """Write the reading tracks: for whom, how long, and the chapters in their order."""

    def run(self):
        environment = self.state.document.settings.env
        environment.note_dependency(str(CONTENTS))
        chapters = load_chapters()
        result = []
        for track in load_tracks():
            minutes = sum(chapters[number].minutes for number in track.chapters)
            title = nodes.rubric("", "", classes=["part-title"])
            title += nodes.Text(f"{track.title} · {time_text(minutes)}")
            about, _ = self.state.inline_text(track.about, self.lineno)
            steps = nodes.paragraph(classes=["track"])
            for number in track.chapters:
                steps += [nodes.Text(" → ")] if number != track.chapters[0] else []
                label = f"{number:02d} {chapters[number].title}"
                steps += chapter_link(chapters[number], label, environment.docname)
            result += [title, nodes.paragraph("", "", *about), steps]
        return result


def add_required(facts, chapter, docname):
    """Add to a paragraph which chapters a chapter builds on."""
    chapters = load_chapters()
    for position, number in enumerate(chapter.requires):
        facts += nodes.Text(", " if position else " · after ")
        facts += chapter_link(chapters[number], f"{number:02d} {chapters[number].title}", docname)


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
    """Write chapter {chapter}`18` as a link: chapter 18 in chapters, chapter 18 (The engine) on other pages.

    A chapter that is not written is not linked, and always has its title.
    """
    environment = inliner.document.settings.env
    environment.note_dependency(str(CONTENTS))
    chapter = load_chapters().get(int(number)) if number.isdecimal() else None
    if chapter is not None:
        is_plain = chapter.is_written and environment.docname.startswith("chapters/")
        label = str(chapter.number) if is_plain else f"{chapter.number} ({chapter.title})"
        return [chapter_link(chapter, label, environment.docname)], []
    problem = inliner.reporter.error(f"chapter: there is no chapter {number!r}", line=line)
    return [inliner.problematic(source, source, problem)], [problem]


# ---------------------------------------------------------------- in the chapters
def add_chapter_lines(app, tree):
    """Put a line under a chapter's title, and one at its end."""
    docname = app.env.docname
    title = next(iter(tree.findall(nodes.title)), None)
    chapter = next((c for c in load_chapters().values() if c.page == docname), None)
    if chapter is None or title is None:
        return
    app.env.note_dependency(str(CONTENTS))
    facts = nodes.paragraph(classes=["chapter-facts"])
    facts += nodes.Text(f"Chapter {chapter.number} · {time_text(chapter.minutes)}")
    add_required(facts, chapter, docname)
    facts += nodes.Text(" · ")
    target = f"../../notebooks/{chapter.folder}.ipynb"
    facts += nodes.reference("", "Download as a notebook", refuri=target, classes=["notebook"])
    for label, address in launch_links(chapter, homepage.repository()):
        facts += nodes.Text(" · ")
        facts += nodes.reference("", label, refuri=address, classes=["notebook"])
    title.parent.insert(title.parent.index(title) + 1, facts)
    if chapter.names:
        line = nodes.paragraph(classes=["explained-names"])
        line += nodes.Text("In the API reference: ")
        for position, name in enumerate(chapter.names):
            line += [nodes.Text(", ")] if position else []
            line += name_link(name, docname)
        title.parent += line


def launch_links(chapter, repository):
    """Return (label, address) of the services that run a chapter's notebook, none while the book has no home."""
    if not repository:
        return []
    notebook = f"{chapter.folder}.ipynb"
    return [
        ("Run on Binder", homepage.binder(repository, notebook)),
        ("Run on Colab", homepage.colab(repository, notebook)),
    ]


@functools.cache
def api_target(name):
    """Return the full name of what a chapter calls `name`: a public function, else a method."""
    home, _, last = f"tensorlab.{name}".rpartition(".")
    try:
        if hasattr(importlib.import_module(home), last):
            return f"{home}.{last}"
    except ModuleNotFoundError:
        pass
    if hasattr(importlib.import_module("tensorlab").Tensor, name):
        return f"tensorlab.Tensor.{name}"
    raise LookupError(f"tensorlab has no public name {name!r}, and Tensor no such method")


def name_link(name, docname):
    return addnodes.pending_xref(
        "",
        nodes.literal("", name),
        refdomain="py",
        reftype="obj",
        reftarget=api_target(name),
        refdoc=docname,
        refexplicit=True,
        refwarn=True,
    )


def setup(app):
    app.add_directive("book-contents", ContentsDirective)
    app.add_directive("reading-tracks", TracksDirective)
    app.add_role("chapter", chapter_role)
    app.connect("doctree-read", add_chapter_lines)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
