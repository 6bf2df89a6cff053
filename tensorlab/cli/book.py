"""tensorlab book: serve the built book, or open a chapter as a notebook in JupyterLab."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from .command import add_command

PORT = 8000
NOTEBOOKS = "tensorlab-notebooks"


def add(commands):
    parser = add_command(
        commands,
        "book",
        run,
        "serve the book, or open a chapter as a notebook",
        with_exercises=False,
    )
    parser.add_argument("chapter", nargs="?", help="its number, such as 03; default: the cover")
    parser.add_argument(
        "--notebook", action="store_true", help=f"write it into {NOTEBOOKS}/ and open JupyterLab"
    )
    parser.add_argument("--port", type=int, help=f"default: the first free one from {PORT} on")
    parser.add_argument("--open", action="store_true", help="open the browser too")


def run(options):
    return open_notebook(options.chapter) if options.notebook else serve(options)


# ---------------------------------------------------------------- the pages


def serve(options):
    """Serve the pages until Ctrl-C."""
    from tensorlab.learn.server import BUILT

    if not (BUILT / "index.html").is_file():
        return explain_missing(BUILT)
    page = page_of(options.chapter, BUILT)
    server = open_book(options.port, BUILT)
    if server is None:
        return 1
    address = say_address(server, page)
    if options.open:
        import webbrowser

        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


def open_book(port, folder):
    """Return a server of the pages in `folder` on `port`, by default the first free one from PORT on.

    If there is none, complain and return None.
    """
    from tensorlab.learn.server import TRIES, NoFreePort, open_server

    asked = port is not None
    try:
        server = open_server(port if asked else PORT, folder, 1 if asked else TRIES)
    except (NoFreePort, OverflowError) as error:
        print(f"tensorlab book: {error}, as in --port {PORT + 1000}", file=sys.stderr)
        return None
    if not asked and server.server_port != PORT:
        print(f"book: port {PORT} is in use, so it is another one")
    return server


def say_address(server, page=""):
    """Print the address of a page, and return it."""
    address = f"http://127.0.0.1:{server.server_port}/{page}"
    print(f"book: {address} (stop with Ctrl-C)", flush=True)
    return address


def page_of(chapter, built):
    """Return the address of a chapter's page below the book's; "" for the cover."""
    if chapter is None:
        return ""
    from tensorlab.learn.exercise import ExerciseError
    from tensorlab.learn.notebook import chapter_file

    folder = chapter_file(chapter).parent.name
    page = f"chapters/{folder}/index.html"
    if not (built / page).is_file():
        raise ExerciseError(
            f"chapter {folder[:2]} is not in the built book; make book-html adds it"
        )
    return page


def explain_missing(built):
    """Say how to get the pages; return the exit code."""
    root = built.parents[2]
    if (root / "docs" / "build_book.py").is_file():
        print(f"tensorlab book: it is not built yet; run make book-html in {root}", file=sys.stderr)
    else:
        print(
            "tensorlab book: the pages are built in a checkout of tensorlab, with make book; the "
            "installed package has the chapters as notebooks: tensorlab book 03 --notebook",
            file=sys.stderr,
        )
    return 1


# ---------------------------------------------------------------- notebooks


def open_notebook(chapter):
    """Write a chapter's notebook, unless it is there, and open it in JupyterLab."""
    from tensorlab.learn.exercise import ExerciseError
    from tensorlab.learn.notebook import chapter_file, make_notebook

    if chapter is None:
        raise ExerciseError("which chapter? As in: tensorlab book 03 --notebook")
    source = chapter_file(chapter)
    target = Path(NOTEBOOKS, f"{source.parent.name}.ipynb")
    if not target.exists():
        missing = [name for name in ("jupytext", "nbformat") if not is_there(name)]
        if missing:
            return explain_extra(f"{' and '.join(missing)} to make the notebook")
        import nbformat

        target.parent.mkdir(exist_ok=True)
        nbformat.write(make_notebook(source), target)
        print(f"{target} is written.")
    else:
        print(f"{target} is there already and stays as it is.")
    if not is_there("jupyterlab"):
        return explain_extra("JupyterLab to open it")
    command = [sys.executable, "-m", "jupyterlab", str(target)]
    return subprocess.run(command, env=environment()).returncode


def is_there(module):
    return importlib.util.find_spec(module) is not None


def explain_extra(what):
    print(
        f"tensorlab book: this needs {what}: pip install 'tensorlab-book[notebooks]'",
        file=sys.stderr,
    )
    return 1


def environment():
    """Return an environment in which the notebook's kernel finds this very package."""
    from tensorlab.learn.answers import environment as child_environment

    return child_environment()
