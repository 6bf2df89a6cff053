"""Have Sphinx write the book's pages; docs/build_book.py starts this program.

Usage: python docs/write_pages.py OUTPUT [--toc FILE] [--strict] [--fresh] [--jobs N] [--preview PAGE ...]

--strict makes errors of warnings, also of links that lead nowhere.  --preview reads and writes the named pages only
(docs/_ext/executed_pages.py).  --fresh forgets what was read before.
"""

import argparse
import sys
from pathlib import Path

from jupyter_book.sphinx import build_sphinx

ROOT = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--toc", type=Path, default=ROOT / "docs/_toc.yml")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--preview", nargs="+", metavar="PAGE", default=[])
    options = parser.parse_args()
    status = build_sphinx(
        ROOT,
        options.output.resolve(),
        noconfig=True,
        path_config=ROOT / "docs/_config.yml",
        confoverrides={
            "external_toc_path": options.toc.resolve().as_posix(),
            "latex_individualpages": False,
            "nitpicky": options.strict,
            "book_preview": " ".join(options.preview),
        },
        filenames=[str(ROOT / f"{page}.md") for page in options.preview],
        freshenv=options.fresh,
        warningiserror=options.strict,
        keep_going=options.strict,
        jobs=options.jobs,
    )
    sys.exit(1 if status else 0)


if __name__ == "__main__":
    main()
