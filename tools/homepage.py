"""Where the project lives on the web, and every link that follows from it.

    python tools/homepage.py            prints the README as a package index shows it
    python tools/homepage.py --write    writes the badges of README.md again

One setting says where: `Repository` in [project.urls] of pyproject.toml.  While OWNER stands in it, the project has no
home yet: the book has no buttons that lead there, and the README for an index keeps the links that it has.
setup.py, the book and tools/release.py ask here.
"""

import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDER = "/OWNER/"
NOTEBOOKS = "notebooks"  # the branch with the chapters as notebooks, which book.yml writes
RELATIVE_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
BADGES = re.compile(r"(?<=<!-- badges -->\n).*?(?=<!-- end of badges -->)", re.DOTALL)
PYTHON = "Programming Language :: Python :: 3."


def project():
    """Return the table `project` of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def repository():
    """Return the address of the repository without a slash at its end, or "" while there is none."""
    address = project()["urls"]["Repository"].rstrip("/")
    return "" if PLACEHOLDER in address else address


def owner_and_name(address):
    return address.split("/")[-2:]


def binder(address, notebook):
    """Return where Binder opens a chapter's notebook, in the environment of that branch."""
    owner, name = owner_and_name(address)
    return f"https://mybinder.org/v2/gh/{owner}/{name}/{NOTEBOOKS}?urlpath={quote(f'lab/tree/{notebook}')}"


def colab(address, notebook):
    """Return where Colab opens a chapter's notebook, whose first cell installs what it was made with."""
    owner, name = owner_and_name(address)
    return f"https://colab.research.google.com/github/{owner}/{name}/blob/{NOTEBOOKS}/{notebook}"


def with_absolute_links(text, address, version):
    """Return Markdown whose relative links lead to the files of that version in the repository."""
    return RELATIVE_LINK.sub(rf"{address}/blob/v{version}/\1", text) if address else text


def readme():
    """Return the README as an index shows it, where relative links would lead nowhere."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return with_absolute_links(text, repository(), project()["version"])


def badges(address, table):
    """Return lines of Markdown: pictures that the forge and the index keep true, or the same facts as text."""
    name, licence = table["name"], table["license"]
    minors = [
        int(line.removeprefix(PYTHON)) for line in table["classifiers"] if line.startswith(PYTHON)
    ]
    pythons = f"Python 3.{min(minors)} to 3.{max(minors)}"
    if not address:
        return f"{pythons} · {licence.replace(' AND ', ', ')}\n"
    workflow, index = f"{address}/actions/workflows/tests.yml", f"https://pypi.org/project/{name}/"
    return "".join(
        f"[![{text}]({picture})]({target})\n"
        for text, picture, target in (
            ("Tests", f"{workflow}/badge.svg?branch=main", workflow),
            ("Version", f"https://img.shields.io/pypi/v/{name}", index),
            (pythons, f"https://img.shields.io/pypi/pyversions/{name}", index),
        )
    )


def with_badges(text):
    return BADGES.sub(lambda _: badges(repository(), project()), text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        file = ROOT / "README.md"
        file.write_text(with_badges(file.read_text(encoding="utf-8")), encoding="utf-8")
    elif len(sys.argv) == 1:
        print(readme(), end="")
    else:
        sys.exit(__doc__)
