"""The sidebar lists every page by its title, so Sphinx gets the titles alone when it draws the sidebar.

Otherwise it copies the headings of all pages, with every function of the API reference, and throws most of
them away, once for each page: that was a third of the time in which pages are read and written.
"""

from docutils import nodes
from sphinx import addnodes
from sphinx.builders import html

draw = html.global_toctree_for_doc


def draw_titles(environment, page, builder, **options):
    """Return the tree of pages as Sphinx does, with less to copy where only titles are wanted."""
    if not options.get("titles_only"):
        return draw(environment, page, builder, **options)
    if not hasattr(builder, "titles_of_pages"):
        builder.titles_of_pages = {
            name: title_of(headings) for name, headings in environment.tocs.items()
        }
    whole, environment.tocs = environment.tocs, builder.titles_of_pages
    try:
        return draw(environment, page, builder, **options)
    finally:
        environment.tocs = whole


def title_of(headings):
    """Return the headings of a page without those below its title, unless other pages stand among them."""
    if next(headings.findall(addnodes.toctree), None) is not None:
        return headings
    top = nodes.bullet_list()
    for entry in headings.children:
        title = entry.copy()
        title += entry[0].deepcopy()
        top += title
    return top


def setup(app):
    html.global_toctree_for_doc = draw_titles
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
