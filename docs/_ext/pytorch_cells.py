"""A last paragraph for each chapter's section "In PyTorch": how many of the page's cells run there.

The numbers are those that tools/cells_in_pytorch.py wrote down (`make record`).
"""

import collections
import json
from pathlib import Path

from docutils import nodes

RECORD = Path(__file__).resolve().parents[1] / "cells_in_pytorch.json"
SECTION = "In PyTorch"
MOST_REASONS = 4


def sentence(found, version):
    """Return the paragraph for one chapter."""
    total, reasons = found["cells"], collections.Counter(found["only here"].values())
    start = f"Does this page run in PyTorch? We tried, with `torch` from PyTorch {version}: "
    left = reasons.total()
    if not left:
        return start + f"all of its {total} cells do, unchanged."
    names = [f"`{why}` ({count})" for why, count in reasons.most_common() if why.isidentifier()]
    rest = "The other one asks" if left == 1 else f"The other {left} ask"
    text = f"{total - left} of its {total} cells run unchanged. {rest} for something that PyTorch hasn't got"
    if names:
        text += (
            ": " + ", ".join(names[:MOST_REASONS]) + (", ..." if len(names) > MOST_REASONS else "")
        )
    return start + text + "."


def add_paragraph(app, doctree):
    folder = Path(app.env.docname).parent.name
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    app.env.note_dependency(str(RECORD))
    if folder not in record["chapters"]:
        return
    for section in doctree.findall(nodes.section):
        if section.next_node(nodes.title).astext() == SECTION:
            pieces = sentence(record["chapters"][folder], record["torch"]).split("`")
            paragraph = nodes.paragraph(classes=["pytorch-cells"])
            for i, piece in enumerate(pieces):
                paragraph += nodes.literal(piece, piece) if i % 2 else nodes.Text(piece)
            section += paragraph


def setup(app):
    app.connect("doctree-read", add_paragraph)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
