"""Build the book into docs/_build/html: check the texts, run every chapter, check the pages.

Usage: python docs/build_book.py [--again | --only TEXT] [--serve [--port N]]

Nothing is done if nothing changed since the last good build; if only texts changed, only those
pages are made again; if the package changed, every chapter runs again, for its cells show what the
package does.  --again runs everything in any case.  --only builds the chapters whose folder holds the text, as a
draft for their author, into docs/_build/draft/_build/html; links to other chapters lead nowhere there.

Chapters run several at once, and what they put out is kept: a build that was stopped goes on where it was.
--serve serves the book, and does so before it is complete. As soon as the first chapters have run, a preview
shows them, and later one shows more; what is still to come says so.  The whole book takes the
place of the preview when it has passed its checks.
"""

import argparse
import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT), str(DOCS), str(DOCS / "_ext")]

from progress import Durations, Progress, clock_text  # noqa: E402

BUILT = DOCS / "_build/html"
PREVIEW = DOCS / "_build/preview/html"
PREVIEWS = (1, 5, 20)  # a preview is written when so many chapters have run
FIRST_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>tensorlab</title>
<link rel="icon" href="_static/icon.svg">
<meta http-equiv="refresh" content="0; url=docs/index.html">
<p><a href="docs/index.html">The book</a></p>
</html>
"""
DRAFT = DOCS / "_build/draft"
STAMP = DOCS / "_build/last-good-build"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
AT_ONCE = min(CORES, 8)  # chapters that run, and processes that write pages
STEP = re.compile(r"(reading sources|writing output)\.\.\. .*?\[ *(\d+)%\]")
say = functools.partial(print, flush=True)


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
    with step(title):
        status = subprocess.run([sys.executable, *map(str, command)], cwd=ROOT).returncode
        if status:
            sys.exit(f"book: this step failed: {title}")


@contextlib.contextmanager
def step(title):
    """Say what is done now and how long it usually takes; remember how long it took."""
    durations = Durations()
    usual = durations.usual(title)
    say(f"-- {title}" + (f", usually {clock_text(usual)}" if usual and usual >= 2 else ""))
    started = time.monotonic()
    yield
    durations.remember(title, time.monotonic() - started)


# ---------------------------------------------------------------- the pages
@contextlib.contextmanager
def process_group(*command, **options):
    """Run Python in a group of processes of its own, which is gone when the block is left."""
    arguments = [sys.executable, *map(str, command)]
    process = subprocess.Popen(arguments, cwd=ROOT, start_new_session=True, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def write_pages(title, output, *options):
    """Have Sphinx write pages, and say how far it is."""
    command = ("-u", DOCS / "write_pages.py", output, *options)
    with step(title), process_group(*command, stdout=subprocess.PIPE, text=True) as sphinx:
        said = None
        for line in sphinx.stdout:
            if (match := STEP.search(line)) and said != (now := (match[1], int(match[2]) // 20)):
                said = now
                say(f"   {match[1]}, {match[2]} %")
        if sphinx.wait():
            sys.exit(f"book: this step failed: {title}")


def write_preview(pages, cores):
    """Write a preview of some pages beside the cells that run; without them, if one measures."""
    command = (DOCS / "write_pages.py", PREVIEW, "--preview", *pages)
    log = PREVIEW.parent / "log"
    PREVIEW.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file, process_group(*command, stdout=file, stderr=file) as sphinx:
        cores.background = sphinx
        status = sphinx.wait()
    (PREVIEW / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    if not (PREVIEW / "notebooks").exists():  # these show what cells say, not what they put out
        make = [sys.executable, DOCS / "make_notebooks.py", PREVIEW / "notebooks"]
        subprocess.run(make, cwd=ROOT, stdout=subprocess.DEVNULL)
    if status:
        say(f"-- the preview has gaps; {log.relative_to(ROOT)} says why")


def pages_in_order():
    """Return {page: title} of the whole book, in the order in which it is read."""
    from make_toc import load_sections

    pages = {"docs/index": "the cover"}
    for _, entries in load_sections():
        pages |= {page: title[3:] or heading_of(page) for page, title in entries}
    return pages


def heading_of(page):
    lines = (ROOT / f"{page}.md").read_text(encoding="utf-8").splitlines()
    return next(line[2:] for line in lines if line.startswith("# "))


def execute(pages, site=None, with_previews=False):
    """Run the cells of all pages that did not run yet; meanwhile give `site` progress and previews to show.

    Nothing else runs while the first preview is written, since cells that measure would make it stand still.
    """
    from execute_pages import Execution, ExecutionFailed
    from executed_pages import has_cells, is_executed

    to_run = [page for page in pages if has_cells(page) and not is_executed(page)]
    titles = {page: pages[page] for page in to_run}
    progress = Progress("chapter", titles, Durations(), AT_ONCE, say=say)
    if site is not None:
        site.progress = progress.line

    def run_pages(names, shown):
        with Execution(names, progress, AT_ONCE) as execution:
            for preview in shown:
                execution.wait_for(set(preview) & set(names))
                write_preview(preview, execution.cores)
                site.show(PREVIEW)
            execution.wait_for(names)

    shown = previews(list(pages)) if with_previews else []
    try:
        if shown:
            run_pages([page for page in to_run if page in shown[0]], shown[:1])
        run_pages(to_run, shown[1:])
    except ExecutionFailed as problem:
        sys.exit(f"{problem}\nbook: this cell failed")


def previews(pages):
    """Return what each preview shows: the guide, the glossary, and the first chapters."""
    chapters = [page for page in pages if page.startswith("chapters/")]
    return [
        [*pages[: pages.index(chapters[count])], "docs/glossary"]
        for count in PREVIEWS
        if count < len(chapters)
    ]


def build_draft(text):
    """Build only the chapters whose folder holds `text`, as they are, without the checks of the whole book."""
    pages = sorted((ROOT / "chapters").glob(f"*{text}*/*.md"))
    if not pages:
        sys.exit(f"book: no chapter's folder holds {text!r}")
    DRAFT.mkdir(parents=True, exist_ok=True)
    entries = "".join(f"  - file: {page.relative_to(ROOT).with_suffix('')}\n" for page in pages)
    contents = f"format: jb-book\nroot: docs/glossary\nchapters:\n{entries}"
    (DRAFT / "_toc.yml").write_text(contents, encoding="utf-8")
    execute({str(page.relative_to(ROOT).with_suffix("")): page.parent.name for page in pages})
    run("draft", DOCS / "write_pages.py", DRAFT / "_build/html", "--toc", DRAFT / "_toc.yml")


def build(fresh, site=None):
    """Build the whole book; if it is not `fresh`, what did not change stays. `site` serves it meanwhile."""
    run("table of contents", DOCS / "make_toc.py")
    started = time.time()  # what is written from here on counts as a change
    STAMP.unlink(missing_ok=True)  # from here on, until all went well, there is no good build
    run("check of the texts", DOCS / "check_book.py", "texts")
    shutil.rmtree(PREVIEW.parent, ignore_errors=True)
    execute(pages_in_order(), site, with_previews=fresh and site is not None)
    if site is not None:
        site.progress = lambda: "All chapters have run, and their pages are being written."
    if fresh:
        shutil.rmtree(BUILT, ignore_errors=True)
    options = ["--strict", "--jobs", AT_ONCE, *(["--fresh"] if fresh else [])]
    write_pages("pages", BUILT, *options)
    (BUILT / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    run("notebooks to download", DOCS / "make_notebooks.py", BUILT / "notebooks")
    run("check of the pages", DOCS / "check_book.py", "pages")
    STAMP.parent.mkdir(parents=True, exist_ok=True)
    STAMP.write_text("")
    os.utime(STAMP, (started, started))
    say(f"-- the book is in {BUILT.relative_to(ROOT)}, built in {time.time() - started:.0f} s")


# ---------------------------------------------------------------- the server
class Site:
    """The book as it is served while it is built; its address is printed when there are pages to see."""

    def __init__(self, port):
        from tensorlab.cli.book import open_book

        self.server = open_book(port, PREVIEW)
        if self.server is None:
            sys.exit(1)
        self.progress = lambda: "the check of the texts"
        self.server.progress = lambda: self.progress()
        self.is_announced = False
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def show(self, folder, is_complete=False):
        from tensorlab.cli.book import say_address

        self.server.folder = folder
        if is_complete:
            self.server.progress = None
        if not self.is_announced:
            say_address(self.server)
        self.is_announced = True

    def go_on(self):
        """Serve until Ctrl-C."""
        with contextlib.suppress(KeyboardInterrupt):
            while self.thread.is_alive():
                self.thread.join(1)
        say()


def build_served(to_do, port):
    """Build if there is something `to_do`, a function of a site; serve the book, and what there is of it before."""
    site = Site(port)
    try:
        to_do(site)
    except SystemExit as problem:
        if not site.is_announced:
            raise
        say(problem)
        say("-- the build has stopped; the pages that are there are still served")
        site.progress = lambda: "The build has stopped: a step of it failed."
        site.go_on()
        sys.exit(1)
    site.show(BUILT, is_complete=True)
    shutil.rmtree(PREVIEW.parent, ignore_errors=True)
    site.go_on()


def build_what_changed(again, site=None):
    """Build what changed since the last good build, or everything."""
    built = STAMP.stat().st_mtime if STAMP.exists() else 0.0
    package = newest("tensorlab", suffixes={".py", ".pyx", ".pxd", ".h", ".so", ".mplstyle"})
    machinery = newest("docs", suffixes={".py", ".yml", ".toml", ".css", ".js"})
    texts = newest("chapters", "docs", suffixes={".md", ".py", ".svg", ".json", ".png"})
    if again:
        shutil.rmtree(DOCS / "_build/executed", ignore_errors=True)
    if again or max(package, machinery) > built:
        build(True, site)
    elif texts > built:
        build(False, site)
    else:
        say("-- the book is up to date")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--again", action="store_true", help="run everything, changed or not")
    parser.add_argument(
        "--only", metavar="TEXT", help="only the chapters whose folder holds this text"
    )
    parser.add_argument(
        "--serve", action="store_true", help="serve the pages, also while they are built"
    )
    parser.add_argument(
        "--port", type=int, help="where to serve them; default: the first free one from 8000 on"
    )
    arguments = parser.parse_args()
    try:
        if arguments.only:
            build_draft(arguments.only)
        elif arguments.serve:
            build_served(functools.partial(build_what_changed, arguments.again), arguments.port)
        else:
            build_what_changed(arguments.again)
    except KeyboardInterrupt:
        say("\n-- stopped; the next build goes on from here")
        sys.exit(130)


if __name__ == "__main__":
    main()
