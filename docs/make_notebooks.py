"""Write every chapter as a notebook to download; `tensorlab.learn.notebook` makes them.

Usage: python docs/make_notebooks.py FOLDER [--run]

--run runs each in an empty folder and fails where a cell does.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tensorlab.learn.notebook import make_notebook  # noqa: E402


def run_notebook(notebook):
    """Run a notebook as a reader would who downloaded it and nothing else."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        os.environ["TENSORLAB_HOME"] = home  # its checks are no reader's progress
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=600, resources=resources).execute()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", action="store_true", help="run each notebook in an empty folder")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for chapter in sorted((ROOT / "chapters").glob("[0-9][0-9]-*/index.md")):
        notebook = make_notebook(chapter)
        name = f"{chapter.parent.name}.ipynb"
        nbformat.write(notebook, options.folder / name)
        print(name, flush=True)
        if options.run:
            run_notebook(notebook)


if __name__ == "__main__":
    main()
