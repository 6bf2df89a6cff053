"""Build the book into docs/_build/html: check the texts, run every chapter, check the pages.

Usage: python docs/build_book.py [--again | --only TEXT]

Nothing is done if nothing changed since the last good build; if only texts changed, only those
pages are made again; if the package changed, every chapter runs again, for its cells show what the
package does.  --again runs everything in any case.  --only builds the chapters whose folder holds the text, as a
draft for their author, into docs/_build/draft/_build/html; links to other chapters lead nowhere there.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BUILT = DOCS / "_build/html"
FIRST_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>tensorlab</title>
<link rel="icon" href="_static/icon.svg">
<meta http-equiv="refresh" content="0; url=docs/index.html">
<p><a href="docs/index.html">The book</a></p>
</html>
"""
JUPYTER_BOOK = [
    *("-c", "from jupyter_book.cli.main import main; main()", "build", "."),
    *("--config", "docs/_config.yml"),
]
DRAFT = DOCS / "_build/draft"
STAMP = DOCS / "_build/last-good-build"


def newest(*folders, suffixes):
    """Return the time of the newest change under `folders` of a file with one of `suffixes`."""
    skipped = {"_build", "__pycache__", ".ipynb_checkpoints"}
    return max(
        (
            path.stat().st_mtime
            for folder in folders
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and path.suffix in suffixes and not skipped.intersection(path.parts)
        ),
        default=0.0,
    )


def run(title, *command):
    """Run one step of the build in sight of the reader; leave with its status if it fails."""
    print(f"-- {title}", flush=True)
    status = subprocess.run([sys.executable, *map(str, command)], cwd=ROOT).returncode
    if status:
        sys.exit(f"book: this step failed: {title}")


def build_draft(text):
    """Build only the chapters whose folder holds `text`, as they are, without the checks of the whole book."""
    chapters = sorted(path.parent.name for path in (ROOT / "chapters").glob(f"*{text}*/index.md"))
    if not chapters:
        sys.exit(f"book: no chapter's folder holds {text!r}")
    DRAFT.mkdir(parents=True, exist_ok=True)
    entries = "".join(f"  - file: chapters/{name}/index\n" for name in chapters)
    contents = f"format: jb-book\nroot: docs/glossary\nchapters:\n{entries}"
    (DRAFT / "_toc.yml").write_text(contents, encoding="utf-8")
    run("draft", *JUPYTER_BOOK, "--toc", DRAFT / "_toc.yml", "--path-output", DRAFT)


def build(again):
    run("table of contents", DOCS / "make_toc.py")
    started = time.time()  # what is written from here on counts as a change
    run("check of the texts", DOCS / "check_book.py", "texts")
    options = ["--toc", "docs/_toc.yml", "--path-output", "docs", "-W", "-n", "--keep-going"]
    run(
        "pages, with every chapter executed", *JUPYTER_BOOK, *options, *(["--all"] if again else [])
    )
    (BUILT / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    run("notebooks to download", DOCS / "make_notebooks.py", BUILT / "notebooks")
    run("check of the pages", DOCS / "check_book.py", "pages")
    STAMP.write_text("")
    os.utime(STAMP, (started, started))
    print(f"-- the book is in {BUILT.relative_to(ROOT)}, built in {time.time() - started:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--again", action="store_true", help="run everything, changed or not")
    parser.add_argument(
        "--only", metavar="TEXT", help="only the chapters whose folder holds this text"
    )
    arguments = parser.parse_args()
    if arguments.only:
        build_draft(arguments.only)
        return
    again = arguments.again
    built = STAMP.stat().st_mtime if STAMP.exists() else 0.0
    package = newest("tensorlab", suffixes={".py", ".pyx", ".pxd", ".h", ".so", ".mplstyle"})
    machinery = newest("docs", suffixes={".py", ".yml", ".toml", ".css", ".js"})
    texts = newest("chapters", "docs", suffixes={".md", ".py", ".svg", ".json", ".png"})
    if again or max(package, machinery) > built:
        shutil.rmtree(BUILT, ignore_errors=True)
        build(again=True)
    elif texts > built:
        build(again=False)
    else:
        print("-- the book is up to date")


if __name__ == "__main__":
    main()
