"""Check what a reader would stumble over; print each finding and exit with 1 if there is any.

Usage: python docs/check_book.py texts     before the build: the Markdown files
       python docs/check_book.py pages     after it: the HTML files

Texts: every chapter is in the table of contents and has its parts in order, every woven region
exists and is short enough, tests that are named exist, every exercise is shown, glossary terms that
are used are in the glossary, figures have alternative text, entries of the table of contents have their files.
Pages: every picture has alternative text, links within the book lead somewhere.
"""

import re
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT), str(DOCS), str(DOCS / "_ext")]

from book_contents import api_target, load_chapters, load_parts, load_tracks  # noqa: E402
from layer_map import load_layers  # noqa: E402
from make_toc import toc_text  # noqa: E402
from source_region import MOST_LINES, problem_with  # noqa: E402

from tensorlab import learn  # noqa: E402
from tensorlab.learn.exercise import read_chapter  # noqa: E402
from tensorlab.learn.notebook import FENCE, split_options  # noqa: E402

# Headings of level two, in order.  Exercises and summary may follow later.
PARTS = [
    "Question and prediction",
    "After this chapter you can",
    "Idea",
    "Build it",
    "Worked trace",
    "Experiment",
    "Break it",
    "Exercises",
    "In PyTorch",
    "Summary",
]
OPTIONAL_PARTS = {"Exercises", "Summary"}
OPEN_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})(?:\{(?P<directive>[\w-]+)\})?(?P<rest>.*)")
CODE_DIRECTIVES = {
    "code-cell",
    "code-block",
    "code",
    "source",
    "literalinclude",
    "math",
    "eval-rst",
}
NAMED_TEST = re.compile(r"\btests/[\w/]+\.py(?:::\w+)?")
TERM = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")
MARKDOWN_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")


# ---------------------------------------------------------------- texts


def check_texts(root=ROOT):
    """Yield one sentence for everything wrong with the Markdown files."""
    chapters = sorted((root / "chapters").glob("*/index.md"))
    yield from check_contents(root, chapters)
    terms = glossary_terms((root / "docs/glossary.md").read_text(encoding="utf-8"))
    for path in [*chapters, *sorted((root / "docs").rglob("*.md"))]:
        if "_build" in path.parts or "notebooks" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        place = path.relative_to(root).as_posix()
        problems = [*check_terms(text, terms), *check_figures(text), *check_regions(text)]
        if path in chapters:
            problems += [*check_parts(text), *check_named_tests(text, root)]
            problems += check_exercises(text, path.with_name("exercises.py"))
        yield from (f"{place}: {problem}" for problem in problems)


def check_contents(root, chapters):
    """Check the table of contents against the folders, both ways."""
    known = {
        chapter.folder for _, part in load_parts(root / "docs/contents.toml") for chapter in part
    }
    for path in chapters:
        if path.parent.name not in known:
            yield f"docs/contents.toml: chapter {path.parent.name} is not listed"
    yield from check_entries(root / "docs/contents.toml")
    for entry in re.findall(r"(?:file|root): (\S+)", toc_text()):
        if not (root / f"{entry}.md").is_file():
            yield f"docs/_toc.yml: {entry} has no file {entry}.md"


def check_entries(path):
    """Check what the table of contents says of each chapter, and the order of the tracks."""
    chapters, layers = load_chapters(path), load_layers()
    modules = {
        name for layer in layers for key in ("modules", "planned") for name in layer.get(key, [])
    }
    for number, chapter in chapters.items():
        for required in chapter.requires:
            if required not in chapters or required >= number:
                yield f"docs/contents.toml: chapter {number} requires {required}; name an earlier one"
        for module in chapter.modules:
            if (module or "__init__") not in modules:
                yield f"docs/contents.toml: chapter {number}: {module} is not in tests/layers.toml"
        for name in chapter.names:
            try:
                api_target(name)
            except LookupError as error:
                yield f"docs/contents.toml: chapter {number}: {error}"
        if chapter.is_written:
            yield from check_promises(chapter)
    for track in load_tracks(path):
        passed = set()
        for number in track.chapters:
            if missing := sorted(set(chapters[number].requires) - passed):
                yield f"docs/contents.toml: track {track.title!r} meets {number} before {missing}"
            passed.add(number)


def check_promises(chapter):
    """Check that a written chapter speaks of the names it explains, and lists what it requires."""
    text = (ROOT / f"{chapter.page}.md").read_text(encoding="utf-8")
    for name in chapter.names:
        if not re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", text):
            yield f"{chapter.page}.md: docs/contents.toml says that it explains {name}; it never says it"
    places = headings(text)
    for (title, start), (_, end) in pairwise(places):
        if title.startswith("After this chapter you can"):
            named = re.findall(r"(?:\{chapter\}`|chapters? )(\d+)", text[start:end])
            for number in sorted(set(map(int, named)) - {*chapter.requires, chapter.number}):
                yield f"{chapter.page}.md needs chapter {number}, which docs/contents.toml does not say"


def blank_code(text):
    """Return `text` with code blanked out, every character in its place; boxes keep their text."""
    lines, boxes, code = [], [], None
    for line in text.split("\n"):
        match = OPEN_FENCE.match(line)
        is_code = code is not None
        if is_code:
            if match and line.rstrip() == code:
                code = None
        elif match and boxes and line.rstrip() == boxes[-1]:
            boxes.pop()
        elif match and match["directive"] and match["directive"] not in CODE_DIRECTIVES:
            boxes.append(match["fence"])
        elif match:
            is_code, code = True, match["fence"]
        lines.append(" " * len(line) if is_code else line)
    return "\n".join(lines)


def headings(text):
    """Return the headings of level two outside of code, as (title, position)."""
    bare = blank_code(text)
    return [(m[1].strip(), m.start()) for m in re.finditer(r"^## (.+)$", bare, re.M)]


def check_parts(text):
    """Check that the parts of BOOK anatomy are there, once and in order."""
    found = []
    for title, _ in headings(text):
        part = next((p for p in PARTS if title == p or title.startswith((p + ":", p + " "))), None)
        if part:
            found.append(part)
    for part in PARTS:
        if found.count(part) > 1:
            yield f"part {part!r} stands there {found.count(part)} times"
        if part not in found and part not in OPTIONAL_PARTS:
            yield f"the part '## {part}' is missing"
    in_order = sorted(found, key=PARTS.index)
    if found != in_order:
        yield f"the parts stand in the order {found}; expected {in_order}"
    if not any(match["directive"] == "source" for match in FENCE.finditer(text)):
        yield "no source is woven in; part 'Build it' shows the shipped code"
    yield from check_section(text, "Question and prediction", r"\{admonition\}", "a prediction box")
    yield from check_section(text, "After this chapter you can", r"^[-*] ", "a list of outcomes")
    yield from check_section(text, "Experiment", r"\{code-cell\}", "a cell that measures")
    yield from check_section(text, "Break it", r"\{code-cell\}", "a cell that breaks something")


def check_section(text, part, pattern, what):
    """Check that the section of `part` holds a match of `pattern`."""
    places = headings(text)
    for index, (title, start) in enumerate(places):
        if title.startswith(part):
            end = places[index + 1][1] if index + 1 < len(places) else len(text)
            if not re.search(pattern, text[start:end], re.M):
                yield f"part {part!r} has no {what.removeprefix('a ')}"


def check_named_tests(text, root):
    """Check that every tests/file.py::test_name that the text promises exists."""
    for named in sorted(set(NAMED_TEST.findall(text))):
        path, _, test = named.partition("::")
        file = root / path
        if not file.is_file():
            yield f"{named} is named, but there is no such file"
        elif test and not re.search(rf"^\s*(?:def|class) {test}\b", file.read_text("utf-8"), re.M):
            yield f"{named} is named, but the file has no such test"


def check_exercises(text, file):
    """Check that a page shows every exercise of its chapter, once and in order."""
    shown = [m["argument"].strip() for m in FENCE.finditer(text) if m["directive"] == "exercise"]
    there = [exercise.id for exercise in read_chapter(file).exercises] if file.is_file() else []
    if shown != there:
        yield f"the page shows the exercises {shown}; exercises.py has {there}"


def check_regions(text):
    """Check every {source} directive as the build would."""
    for match in FENCE.finditer(text):
        if match["directive"] != "source":
            if match["directive"] != "code-cell":
                yield from check_regions(match["body"])
            continue
        path = match["argument"].strip()
        options, _ = split_options(match["body"])
        try:
            docstrings = options.get("docstrings") != "no"
            part = {key: options.get(key) for key in ("start", "end")}
            region = learn.source(path, options["name"], docstrings=docstrings, **part)
        except KeyError:
            yield f"{{source}} {path} has no :name:"
        except (FileNotFoundError, LookupError) as error:
            yield str(error)
        else:
            problem = problem_with(region, int(options.get("most-lines", MOST_LINES)))
            if problem:
                yield f"{{source}} {problem}"


def glossary_terms(text):
    """Return the terms that the glossary defines: the lines that a definition `: ` follows."""
    terms = set()
    for match in FENCE.finditer(text):
        if match["directive"] == "glossary":
            lines = match["body"].split("\n")
            terms |= {
                line.strip() for line in lines if line.strip() and not line.startswith((" ", ":"))
            }
    return terms


def check_terms(text, terms):
    """Check that every {term} is in the glossary, whatever the case of its letters."""
    known = {term.lower() for term in terms}
    for term in sorted(set(TERM.findall(text))):
        if term.strip().lower() not in known:
            yield f"the term {term!r} is not in docs/glossary.md"


def check_figures(text):
    """Check that figures, images and inline pictures have alternative text."""
    for match in FENCE.finditer(text):
        options, _ = split_options(match["body"])
        if match["directive"] in ("figure", "image") and not options.get("alt", "").strip():
            yield f"{{{match['directive']}}} {match['argument'].strip()} has no :alt:"
    bare = blank_code(text)
    for alternative, target in MARKDOWN_IMAGE.findall(bare):
        if not alternative.strip():
            yield f"the image {target} has no alternative text"
    for tag in re.findall(r"<svg\b[^>]*>", bare):
        if "aria-label" not in tag and "aria-labelledby" not in tag:
            yield "an inline <svg> has neither aria-label nor aria-labelledby"


# ---------------------------------------------------------------- pages


class PageReader(HTMLParser):
    """Collects what the checks need of one page."""

    def __init__(self):
        super().__init__()
        self.pictures, self.links, self.anchors = [], [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "img":
            self.pictures.append((values.get("src", ""), values.get("alt")))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])


def read_pages(built):
    pages = {}
    for path in sorted(built.rglob("*.html")):
        if "_static" not in path.parts:
            pages[path] = reader = PageReader()
            reader.feed(path.read_text(encoding="utf-8"))
    return pages


def check_pages(built=DOCS / "_build/html"):
    """Yield one sentence for everything wrong with the built pages."""
    pages = read_pages(built)
    if not pages:
        yield f"{built} has no pages; run make book-html"
    for path, page in pages.items():
        place = path.relative_to(built).as_posix()
        for source, alternative in page.pictures:
            # Sphinx repeats the file name where the author gave no text.
            if alternative is None or alternative.endswith((".png", ".svg")):
                yield f"{place}: the picture {source} has no alternative text"
        for link in page.links:
            if problem := link_problem(link, path, pages):
                yield f"{place}: the link {link} {problem}"


def link_problem(link, path, pages):
    """Return what is wrong with a link within the book, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or link.startswith("#!"):
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "leads to no file"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "leads to a place that its page does not have"
    return None


def main():
    checks = {"texts": check_texts, "pages": check_pages}
    if sys.argv[1:] not in (["texts"], ["pages"]):
        sys.exit("usage: python docs/check_book.py texts|pages")
    problems = list(checks[sys.argv[1]]())
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} finding(s)")


if __name__ == "__main__":
    main()
