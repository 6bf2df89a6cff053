"""The sidebar is drawn from the titles of pages, and the headings of a page stay as they are for the page itself."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/_ext"))

import sidebar_titles


def headings(*below):
    """Return the headings of a page: its title, and what stands below it."""
    link = nodes.reference("", "Title", refuri="page", anchorname="")
    return nodes.bullet_list(
        "", nodes.list_item("", addnodes.compact_paragraph("", "", link), *below)
    )


def test_headings_below_the_title_are_left_out():
    page = headings(headings())
    title = sidebar_titles.title_of(page)
    assert title.astext() == "Title"
    assert len(list(title.findall(nodes.reference))) == 1
    assert len(list(page.findall(nodes.reference))) == 2
    assert title[0][0] is not page[0][0]  # Sphinx writes addresses into what it gets


def test_pages_below_a_page_stay():
    page = headings(nodes.bullet_list("", addnodes.toctree()))
    assert sidebar_titles.title_of(page) is page


def test_the_page_s_own_headings_are_there_again_afterwards(monkeypatch):
    class Environment:
        tocs = {"page": headings(headings())}  # noqa: RUF012

    class Builder:
        pass

    seen = []

    def draw(environment, page, builder, **options):
        seen.append(len(list(environment.tocs["page"].findall(nodes.reference))))

    monkeypatch.setattr(sidebar_titles, "draw", draw)
    environment, builder = Environment(), Builder()
    sidebar_titles.draw_titles(environment, "page", builder, titles_only=True)
    sidebar_titles.draw_titles(environment, "page", builder)
    assert seen == [1, 2]
