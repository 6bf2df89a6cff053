"""Write every chapter as a notebook to download; `tensorlab.learn.notebook` makes them.

Usage: python docs/make_notebooks.py FOLDER [--run] [--hosted]

--run runs each in an empty folder, two at a time, and fails where a cell does.  --hosted is for machines of others:
the folder becomes what Binder makes an environment of, with every version pinned, and the notebooks begin with
a cell that installs the same on Colab.
"""

import argparse
import functools
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs"), str(ROOT / "tools")]

import homepage  # noqa: E402
from progress import Durations, Progress  # noqa: E402

from tensorlab.learn.notebook import code_cell, make_notebook  # noqa: E402

AT_ONCE = 2
PINS = ROOT / "docs/hosted/requirements.txt"
PYTHON = "3.12"
INSTALL = """\
# What this notebook was made with. Nothing happens where tensorlab is installed already.
import importlib.util

if importlib.util.find_spec("tensorlab") is None:
    %pip install --quiet {}
"""


def requirements():
    """Return what a chapter needs, this version of the package first, each pinned."""
    pins = PINS.read_text(encoding="utf-8").splitlines()
    project = homepage.project()
    return [f"{project['name']}=={project['version']}", *(one for one in pins if one[0] != "#")]


def make_hosted(notebooks, folder):
    """Begin each notebook with its installation, and write what Binder makes an environment of."""
    for notebook in notebooks.values():
        cell = code_cell(INSTALL.format(" ".join(requirements())).rstrip(), tags=["hide-input"])
        cell.id = "install"
        notebook.cells.insert(1, cell)  # after the title
    (folder / "requirements.txt").write_text("\n".join(requirements()) + "\n", encoding="utf-8")
    (folder / "runtime.txt").write_text(f"python-{PYTHON}\n", encoding="utf-8")


def run_notebook(notebook):
    """Run a notebook as a reader would who downloaded it and nothing else."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        resources = {"metadata": {"path": folder}}
        here = {**os.environ, "TENSORLAB_HOME": home}  # its checks are no reader's progress
        NotebookClient(notebook, timeout=600, resources=resources).execute(env=here)


def run_all(notebooks):
    """Run notebooks, a dict by name. After the first one that fails, no other begins."""
    titles = {name: name.removesuffix(".ipynb") for name in notebooks}
    say = functools.partial(print, flush=True)
    progress = Progress("notebook", titles, Durations(), AT_ONCE, say=say)

    def run(name):
        progress.begins(name)
        try:
            run_notebook(notebooks[name])
        except Exception:
            print(f"{name} failed", file=sys.stderr)
            raise
        progress.ends(name)

    pool = ThreadPoolExecutor(AT_ONCE)
    runs = [pool.submit(run, name) for name in notebooks]
    try:
        for running in runs:
            running.result()
    finally:
        pool.shutdown(cancel_futures=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", action="store_true", help="run each notebook in an empty folder")
    parser.add_argument("--hosted", action="store_true", help="for Binder and Colab")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    chapters = sorted((ROOT / "chapters").glob("[0-9][0-9]-*/index.md"))
    notebooks = {f"{path.parent.name}.ipynb": make_notebook(path) for path in chapters}
    if options.hosted:
        make_hosted(notebooks, options.folder)
    for name, notebook in notebooks.items():
        nbformat.write(notebook, options.folder / name)
    print(f"{len(notebooks)} notebooks are in {options.folder}", flush=True)
    if options.run:
        run_all(notebooks)


if __name__ == "__main__":
    main()
