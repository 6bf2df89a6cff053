"""What the cells of the book put out, kept from one build to the next.

`docs/execute_pages.py` runs the cells of a page and keeps the notebook in docs/_build/executed; when
Sphinx reads the page, myst-nb gets the outputs from there.  The name of a notebook ends with a digest of everything
that its outputs depend on, so what is out of date is never found: the page and the files beside it,
the package as it is built, the program that runs cells, the installed distributions, the
machine.  A page that has no notebook is executed by myst-nb, as without this extension.

`book_preview` names the pages of a preview, which shows the beginning of the book while the rest is still
executed.  Every other page is read as a bare title, so that links lead to its address.
"""

import functools
import hashlib
import importlib.metadata
import os
import platform
import sys
from pathlib import Path

import nbformat
import yaml
from book_contents import ROOT
from myst_nb import sphinx_ as myst_nb_sphinx
from myst_nb.core.execute import NotebookClientBase
from myst_nb.core.read import is_myst_markdown_notebook

STORE = ROOT / "docs/_build/executed"
PACKAGE_SUFFIXES = {".py", ".pyx", ".pxd", ".h", ".so", ".pyd", ".mplstyle"}
MACHINERY = ("docs/execute_pages.py", "docs/_ext/executed_pages.py")
CONFIG = yaml.safe_load((ROOT / "docs/_config.yml").read_text(encoding="utf-8"))


def text_of(page):
    return (ROOT / f"{page}.md").read_text(encoding="utf-8")


def has_cells(page):
    """Is the page a notebook, written in Markdown?"""
    return is_myst_markdown_notebook(text_of(page))


# ---------------------------------------------------------------- what outputs depend on
def digest_of(files):
    """Return a digest of the names and the bytes of some files."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT).as_posix()} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def visible_files(folder):
    """Return the files under a folder that people put there, as distinct from caches of programs."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(
            part == "__pycache__" or part.startswith(".") for part in path.relative_to(folder).parts
        )
    ]


@functools.cache
def common_digest():
    """Return a digest of what the outputs of every page depend on."""
    package = [p for p in visible_files(ROOT / "tensorlab") if p.suffix in PACKAGE_SUFFIXES]
    installed = sorted(f"{d.name} {d.version}" for d in importlib.metadata.distributions())
    settings = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("TENSORLAB_"))
    facts = [
        digest_of([*package, *(ROOT / name for name in MACHINERY)]),
        *(str(CONFIG["execute"]), str(CONFIG["parse"])),
        *(sys.version, platform.platform(), platform.machine(), str(os.cpu_count())),
        *(*installed, *settings),
    ]
    return hashlib.blake2b("\n".join(facts).encode(), digest_size=16).hexdigest()


def key_of(page):
    """Return a digest of everything that the outputs of a page depend on."""
    chapters = ROOT / "chapters"
    # A page of the guide may speak of all exercises; a chapter's cells see their own folder.
    beside = (ROOT / page).parent if page.startswith("chapters/") else chapters
    files = [path for path in visible_files(beside) if path.suffix != ".md"]
    own = digest_of([*files, ROOT / f"{page}.md"])
    return hashlib.blake2b(f"{common_digest()} {own}".encode(), digest_size=16).hexdigest()


# ---------------------------------------------------------------- the store
def place_of(page, key):
    return STORE / f"{page.replace('/', '.')}-{key}.ipynb"


def is_executed(page):
    return place_of(page, key_of(page)).is_file()


def store(page, key, notebook):
    """Keep an executed notebook, in one step, instead of older ones of its page."""
    STORE.mkdir(parents=True, exist_ok=True)
    place = place_of(page, key)
    unfinished = place.with_suffix(".unfinished")
    nbformat.write(notebook, unfinished)
    unfinished.replace(place)
    for older in STORE.glob(f"{page.replace('/', '.')}-*.ipynb"):
        if older != place:
            older.unlink()


class StoredOutputs(NotebookClientBase):
    """What myst-nb asks for the outputs of cells; here they come from an executed notebook."""

    def start_client(self):
        executed = self._kwargs["executed"]
        for cell, done in zip(self.notebook.cells, executed.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = done.outputs, done.execution_count
        self.notebook.metadata.language_info = executed.metadata.language_info


def create_client(execute, notebook, source, config, logger, read_format=None):
    """Return StoredOutputs for a page that was executed; else what myst-nb would take, `execute`."""
    page = Path(source).relative_to(ROOT).with_suffix("").as_posix()
    place = place_of(page, key_of(page))
    if not place.is_file():
        return execute(notebook, source, config, logger, read_format)
    executed = nbformat.read(place, as_version=4)
    return StoredOutputs(notebook, Path(source), config, logger, executed=executed)


# ---------------------------------------------------------------- the preview
def leave_out(app, page, content):
    """Make a bare title of a page that the preview does not show."""
    shown = app.config.book_preview.split()
    if shown and page not in shown:
        lines = content[0].splitlines()
        content[0] = next((line for line in lines if line.startswith("# ")), "# ") + "\n"


def find_changed(app, environment, added, changed, removed):
    """Have pages read again whose outputs are others now, and those that the last preview did not show."""
    keys = {page: key_of(page) for page in environment.found_docs if has_cells(page)}
    before = getattr(environment, "executed_keys", keys)
    environment.executed_keys = keys
    shown = set(app.config.book_preview.split())
    shown_before = getattr(environment, "book_preview", shown)
    environment.book_preview = shown
    return sorted(
        (shown - shown_before) | {page for page in keys if before.get(page) != keys[page]}
    )


def setup(app):
    app.add_config_value("book_preview", "", "")
    app.connect("source-read", leave_out)
    app.connect("env-get-outdated", find_changed)
    myst_nb_sphinx.create_client = functools.partial(create_client, myst_nb_sphinx.create_client)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
