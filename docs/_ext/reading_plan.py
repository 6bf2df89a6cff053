"""The reading plan, drawn from docs/reading_plan.toml and the files that it names.

    ```{reading-plan}
    ```

lists the groups in order. Each has its files with their lines, the days on which they are read, and the
chapters that read them with you. Lines are counted as the map of layers counts them.
"""

import html
import tomllib
from dataclasses import dataclass

from book_contents import CONTENTS, ROOT, load_chapters
from docutils import nodes
from docutils.parsers.rst import Directive
from layer_map import SOURCE_SUFFIXES, box, chapter_text, count_lines

PLAN = ROOT / "docs/reading_plan.toml"


@dataclass(frozen=True)
class Group:
    """One group of the plan, with what is counted: its lines, and its first and last day."""

    title: str
    about: str
    modules: list
    chapters: list
    lines: int
    first_day: int
    last_day: int

    @property
    def days(self):
        """Its days in words."""
        if self.first_day == self.last_day:
            return f"day {self.first_day}"
        return f"days {self.first_day} to {self.last_day}"


def load_plan(path=PLAN):
    """Return the groups in order."""
    plan = tomllib.loads(path.read_text(encoding="utf-8"))
    per_day, before, groups = plan["lines_a_day"], 0, []
    for entry in plan["group"]:
        lines = sum(count_lines(module) for module in entry["modules"])
        first, last = before // per_day + 1, -(-(before + lines) // per_day)
        groups.append(Group(**entry, lines=lines, first_day=first, last_day=last))
        before += lines
    return groups


def file_of(module):
    """Return the file of a module, as a path within the package. A .pxd stands beside many a .pyx."""
    path = module.replace(".", "/")
    package = ROOT / "tensorlab"
    for suffix in SOURCE_SUFFIXES:
        for name in (f"{path}{suffix}", f"{path}/__init__{suffix}"):
            if (package / name).is_file():
                return name
    raise LookupError(f"docs/reading_plan.toml: the package has no module {module}")


def draw(docname):
    """Return the plan as HTML: a list of groups, each with its files, and a line with the sums."""
    groups, chapters = load_plan(), load_chapters()
    lines = ['<ol class="layer-map">']
    for number, group in enumerate(groups, start=1):
        boxes = "".join(
            f"<li>{box(file_of(module), f'{count_lines(module):,} lines')}</li>"
            for module in group.modules
        )
        links = ", ".join(chapter_text(chapters[one], docname) for one in group.chapters)
        lines.append(
            f'<li><p class="layer-name">{number} · {html.escape(group.title)}: '
            f"{group.lines:,} lines, {group.days}</p>"
            f"<p>{html.escape(group.about)} Chapters: {links}.</p><ul>{boxes}</ul></li>"
        )
    lines.append("</ol>")
    total = sum(group.lines for group in groups)
    lines.append(
        f"<p>Together: {total:,} lines in {groups[-1].last_day} days, not counting the examples in docstrings.</p>"
    )
    return "\n".join(lines)


class ReadingPlanDirective(Directive):
    def run(self):
        environment = self.state.document.settings.env
        modules = [module for group in load_plan() for module in group.modules]
        for path in (PLAN, CONTENTS, *(ROOT / "tensorlab" / file_of(one) for one in modules)):
            environment.note_dependency(str(path))
        return [nodes.raw("", draw(environment.docname), format="html")]


def setup(app):
    app.add_directive("reading-plan", ReadingPlanDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
