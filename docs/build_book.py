"""Build the book into docs/_build/html: check the texts, run every chapter, check the pages.

Usage: python docs/build_book.py [--again]

Nothing is done if nothing changed since the last good build; if only texts changed, only those
pages are made again; if the package changed, every chapter runs again, for its cells show what the
package does.  --again runs everything in any case.
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


def build(again):
    started = time.time()
    run("table of contents", DOCS / "make_toc.py")
    run("check of the texts", DOCS / "check_book.py", "texts")
    jupyter_book = [
        "-c", "from jupyter_book.cli.main import main; main()", "build", ".",
        "--config", "docs/_config.yml", "--toc", "docs/_toc.yml", "--path-output", "docs",
        "-W", "-n", "--keep-going",
    ]  # fmt: skip
    run("pages, with every chapter executed", *jupyter_book, *(["--all"] if again else []))
    (BUILT / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    run("notebooks to download", DOCS / "make_notebooks.py", BUILT / "notebooks")
    run("check of the pages", DOCS / "check_book.py", "pages")
    STAMP.write_text("")
    os.utime(STAMP, (started, started))
    print(f"-- the book is in {BUILT.relative_to(ROOT)}, built in {time.time() - started:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--again", action="store_true", help="run everything, changed or not")
    again = parser.parse_args().again
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
