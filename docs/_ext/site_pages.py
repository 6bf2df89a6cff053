"""What the site has besides its texts: version and date under every page, links to edit them, a page for lost readers.

The date is that of the commit, so the same sources give the same pages: SOURCE_DATE_EPOCH if that
is set, else what git says, else today.

A page links to its source where the project has a home on the web: tools/homepage.py knows.

404.html is all in one file, for a server sends it in answer to addresses of any depth, where a
relative path would lead nowhere.  Its links go from the book's first folder: "/" until its script
has found a better one, for the book may lie in a folder of its host.
"""

import datetime
import os
import subprocess
from pathlib import Path

from book_contents import homepage

TEMPLATE = Path(__file__).with_name("not_found.html")


def version():
    return homepage.project()["version"]


def date(environment=os.environ):
    """Return the day that the sources are from, as 2026-01-31."""
    if seconds := environment.get("SOURCE_DATE_EPOCH"):
        return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).date().isoformat()
    git = ["git", "-C", str(homepage.ROOT), "log", "-1", "--format=%cs"]
    try:
        found = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        found = ""
    return found or datetime.date.today().isoformat()


def set_footer(app, config):
    day = date()
    config.html_theme_options = {
        **config.html_theme_options,
        "extra_footer": f'<p>tensorlab {version()}, <time datetime="{day}">{day}</time></p>',
    }


def set_home(app, config):
    """Give every page a link to edit it."""
    if address := homepage.repository():
        config.html_theme_options = {
            **config.html_theme_options,
            "repository_url": address,
            "repository_branch": "main",
            "use_edit_page_button": True,
        }


def write_not_found(app, error):
    if error is None and app.builder.format == "html":
        page = TEMPLATE.read_text(encoding="utf-8").replace("VERSION", f"{version()}, {date()}")
        Path(app.outdir, "404.html").write_text(page, encoding="utf-8")


def allow_several_readers(app):
    """Let several processes read pages: the one extension that doesn't say it can has nothing to do here."""
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True


def setup(app):
    app.connect("config-inited", set_footer)
    app.connect("builder-inited", allow_several_readers)
    app.connect("config-inited", set_home)
    app.connect("build-finished", write_not_found)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
