"""Write every chapter as a notebook to download; `tensorlab.learn.notebook` makes them.

Usage: python docs/make_notebooks.py FOLDER [--run]

--run runs each in an empty folder, two at a time, and fails where a cell does.
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
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from progress import Durations, Progress  # noqa: E402

from tensorlab.learn.notebook import make_notebook  # noqa: E402

AT_ONCE = 2


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
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    notebooks = {}
    for chapter in sorted((ROOT / "chapters").glob("[0-9][0-9]-*/index.md")):
        name = f"{chapter.parent.name}.ipynb"
        notebooks[name] = make_notebook(chapter)
        nbformat.write(notebooks[name], options.folder / name)
    print(f"{len(notebooks)} notebooks are in {options.folder}", flush=True)
    if options.run:
        run_all(notebooks)


if __name__ == "__main__":
    main()
