"""The number of a figure: each captioned figure of a chapter has one, such as 18.3.

A cell asks for a caption in its options:

    ```{code-cell} ipython3
    ---
    mystnb:
      figure:
        caption: Two paths lead from d to a.
    ---
    viz.graph(d)
    ```

Sphinx numbers figures through the whole book; here the number is that of the chapter and of the figure in it.
"""

import re

from docutils import nodes

CHAPTER = re.compile(r"chapters/(\d+)-")


def number_figures(app, doctree):
    match = CHAPTER.match(app.env.docname)
    captions = [figure.next_node(nodes.caption) for figure in doctree.findall(nodes.figure)]
    for number, caption in enumerate(filter(None, captions), start=1):
        name = f"Figure {int(match[1])}.{number}" if match else f"Figure {number}"
        caption.insert(0, nodes.strong("", f"{name}. ", classes=["figure-number"]))


def setup(app):
    app.connect("doctree-read", number_figures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
