"""Print the whole built book into docs/_build/tensorlab.pdf.

Usage: python docs/make_pdf.py [--page-size A4]

The pages that were built are put together as one, docs/_build/print.html, in the order of the table
of contents, so the numbers in it are those of the site.  Every anchor gets the name of its page in
front, and every link within the book leads to a place in the one page; what is not in it (the
notebooks, the pages with whole source files) is named, not linked.  A browser prints the page:
CHROMIUM or /usr/bin/chromium.  Its outline, the bookmarks of a PDF reader, is made from the
headings.
"""

import argparse
import os
import posixpath
import re
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "docs/_ext")]

from make_toc import load_sections  # noqa: E402
from site_pages import date, version  # noqa: E402

BUILT = ROOT / "docs/_build/html"
PRINTED = ROOT / "docs/_build/tensorlab.pdf"
BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")
PATIENCE = 600_000  # milliseconds, for maths and for printing

# Attributes that hold the id of another element, or several.
REFERENCES = ("aria-labelledby", "aria-describedby", "aria-controls", "for")
# What belongs to a screen: buttons, links beside headings, and what a reader has to open: hints, code of pictures.
SCREEN_ONLY = (
    "script, style:not(svg style), .headerlink, .exercise-details, details.hide, button, .notebook"
)


class Page:
    """One built page: its name, its title, and its text as a tree."""

    def __init__(self, name, title):
        self.name = name
        self.key = re.sub(r"\W+", "-", name)
        self.soup = BeautifulSoup((BUILT / f"{name}.html").read_text("utf-8"), "html.parser")
        self.article = self.soup.select_one("article.bd-article")
        heading = self.article.find("h1")
        if title and heading:  # of a chapter: with its number, which its own heading leaves out
            heading.string = title
        self.title = heading.get_text().strip("#\xb6 ") if heading else name

    def adapt(self, keys):
        """Make the article part of the one page; `keys` maps the pages in it to their anchors."""
        for element in self.article.select(SCREEN_ONLY):
            element.decompose()
        for element in self.article.select("details.sd-dropdown"):  # answers, further listings
            element["open"] = ""
        for element in self.article.find_all(id=True):
            element["id"] = f"{self.key}--{element['id']}"
        for attribute in REFERENCES:
            for element in self.article.find_all(attrs={attribute: True}):
                names = element[attribute]
                names = names.split() if isinstance(names, str) else names
                element[attribute] = " ".join(f"{self.key}--{name}" for name in names)
        for link in self.article.find_all("a", href=True):
            link["href"] = self.target(link["href"], keys)
            if not link["href"]:
                del link["href"]
        for picture in self.article.find_all("img", src=True):
            folder = posixpath.dirname(self.name)
            picture["src"] = posixpath.normpath(posixpath.join("html", folder, picture["src"]))
        return f'<section class="printed-page" id="{self.key}">{self.article.decode_contents()}</section>'

    def target(self, link, keys):
        """Return where a link leads in the one page, or nothing if that is not in it."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return link
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.name), unquote(parts.path)))
        key = keys.get(path.removesuffix(".html")) if parts.path else self.key
        if key is None:
            return ""
        return f"#{key}--{parts.fragment}" if parts.fragment else f"#{key}"


def assemble():
    """Return the whole book as one page."""
    sections = [
        (caption, [Page(name, title) for name, title in entries])
        for caption, entries in [("", [("docs/index", "")]), *load_sections()]
    ]
    keys = {page.name: page.key for _, pages in sections for page in pages}
    cover = sections[0][1][0]
    head = "\n".join(
        str(tag).replace("../_static", "html/_static")
        for tag in cover.soup.select('link[rel="stylesheet"]')
    )
    maths = next(
        page.soup
        for _, pages in sections
        for page in pages
        if page.soup.select('script[src*="mathjax"]')
    )
    for script in maths.find_all("script"):
        if "mathjax" in script.get("src", "") or "window.MathJax" in (script.string or ""):
            head += "\n" + re.sub(r'"(?:\.\./)+_static', '"html/_static', str(script))
    contents, body = [], []
    for caption, pages in sections:
        if caption:
            items = (f'<li><a href="#{page.key}">{page.title}</a></li>' for page in pages)
            contents.append(f"<h2>{caption}</h2><ul>{''.join(items)}</ul>")
        body += [page.adapt(keys) for page in pages]
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light" data-mode="light">
<head><meta charset="utf-8"><title>tensorlab</title>
{head}
</head>
<body class="printed-book">
<section class="printed-page printed-title"><p class="printed-name">tensorlab</p>
<p>The PyTorch that one person can read</p><p>{version()}, {date()}</p></section>
<section class="printed-page printed-contents"><h1>Contents</h1>{"".join(contents)}</section>
<main class="bd-article">{"".join(body)}</main>
</body></html>
"""


def print_page(page_file, size):
    """Let the browser print one page; return the sentences of what went wrong."""
    from playwright.sync_api import sync_playwright

    problems = []
    footer = (
        '<div style="width: 100%; font: 8px sans-serif; color: #444; text-align: center">'
        'tensorlab · <span class="pageNumber"></span></div>'
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("requestfailed", lambda request: problems.append(f"not loaded: {request.url}"))
        page.goto(page_file.as_uri(), wait_until="load")
        page.evaluate("() => window.MathJax?.startup?.promise")
        problems += page.evaluate(
            """() => [...document.querySelectorAll('a[href^="#"]')]
              .filter(link => !document.getElementById(decodeURIComponent(link.hash.slice(1))))
              .map(link => `leads nowhere: ${link.hash}`)"""
        )
        page.pdf(
            path=PRINTED,
            format=size,
            print_background=True,
            display_header_footer=True,
            header_template="<div></div>",
            footer_template=footer,
            margin={"top": "16mm", "bottom": "18mm", "left": "16mm", "right": "16mm"},
            outline=True,
            tagged=True,
        )
        browser.close()
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--page-size", default="A4", help="A4, Letter, ...")
    options = parser.parse_args()
    if not Path(BROWSER).exists():
        sys.exit(
            f"make_pdf: no browser at {BROWSER}, and it is the browser that prints the book; "
            "install chromium or name one: make pdf CHROMIUM=/path/to/chromium"
        )
    if not (BUILT / "docs/index.html").is_file():
        sys.exit("make_pdf: the book is not built; run make book-html first")
    started = time.monotonic()
    page_file = BUILT.parent / "print.html"
    page_file.write_text(assemble(), encoding="utf-8")
    problems = print_page(page_file, options.page_size)
    for problem in problems:
        print(problem)
    size = PRINTED.stat().st_size / 1e6
    seconds = time.monotonic() - started
    print(f"-- {PRINTED.relative_to(ROOT)}: {size:.1f} MB, printed in {seconds:.0f} s")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
