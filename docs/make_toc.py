"""Write docs/_toc.yml, what Sphinx builds, from docs/contents.toml and the files there are."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs/_ext"))

from book_contents import load_parts  # noqa: E402

GUIDE = ["docs/architecture", "docs/practising", "docs/instructors"]
APPENDICES = ["docs/glossary", "docs/appendix-differences"]


def toc_text():
    """Return the text of _toc.yml: the guide, written chapters by part, the reference pages."""
    titles = {}  # of chapters: with their numbers, which their own headings leave out
    for _, chapters in load_parts():
        titles.update({c.page: f"{c.number:02d} {c.title}" for c in chapters})
    parts = [("Start here", GUIDE)]
    parts += [
        (title, [chapter.page for chapter in chapters if chapter.is_written])
        for title, chapters in load_parts()
    ]
    parts.append(("Appendices", APPENDICES))
    parts.append(("API reference", pages("api")))
    parts.append(("Decisions", pages("decisions")))
    lines = ["format: jb-book", "root: docs/index", "parts:"]
    for title, entries in parts:
        if entries:
            lines += [f'  - caption: "{title}"', "    chapters:"]
            for entry in entries:
                lines.append(f"      - file: {entry}")
                if entry in titles:
                    lines.append(f'        title: "{titles[entry]}"')
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
