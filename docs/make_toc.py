"""Write docs/_toc.yml, what Sphinx builds, from docs/contents.toml and the files there are."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs/_ext"))

from book_contents import load_parts  # noqa: E402

GUIDE = ["docs/architecture", "docs/practising", "docs/instructors"]
APPENDICES = [
    "docs/glossary",
    "chapters/26-pitfalls/messages",
    "docs/appendix-differences",
    "docs/programs-below-autograd",
]


def load_sections():
    """Return the book in order as a list of (caption, [(page, title)]); "" is the page's own
    title.
    """
    parts = [("Start here", [(page, "") for page in GUIDE])]
    for caption, chapters in load_parts():  # with their numbers, which their headings leave out
        written = [chapter for chapter in chapters if chapter.is_written]
        parts.append((caption, [(c.page, f"{c.number:02d} {c.title}") for c in written]))
    for caption, entries in (
        ("Appendices", APPENDICES),
        ("API reference", pages("api")),
        ("Decisions", pages("decisions")),
    ):
        parts.append((caption, [(page, "") for page in entries]))
    return [(caption, entries) for caption, entries in parts if entries]


def toc_text():
    """Return the text of _toc.yml: the guide, written chapters by part, the reference pages."""
    lines = ["format: jb-book", "root: docs/index", "parts:"]
    for caption, entries in load_sections():
        lines += [f'  - caption: "{caption}"', "    chapters:"]
        for page, title in entries:
            lines.append(f"      - file: {page}")
            if title:
                lines.append(f'        title: "{title}"')
    return "\n".join(lines) + "\n"


def pages(folder):
    """Return the pages of docs/<folder>, the one that introduces the others first."""
    names = sorted(path.stem for path in (ROOT / "docs" / folder).glob("*.md"))
    names.sort(key=lambda name: name not in ("index", "README"))
    return [f"docs/{folder}/{name}" for name in names]


if __name__ == "__main__":
    target = ROOT / "docs/_toc.yml"
    if not target.exists() or target.read_text(encoding="utf-8") != toc_text():
        target.write_text(toc_text(), encoding="utf-8")
