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
    total, reasons = found["cells"], found["only here"].values()
    start = f"Does this page run in PyTorch? We tried, with `torch` from PyTorch {version}: "
    if not reasons:
        return start + f"all of its {total} cells do, unchanged."
    names = [f"`{why}`" for why in reasons if is_name(why)]
    errors = [error_of(why) for why in reasons if not is_name(why)]
    rest = []
    if names:
        verb = "asks" if len(names) == 1 else "ask"
        rest.append(f"{len(names)} {verb} for something that PyTorch hasn't got ({listed(names)})")
    if errors:
        verb = "ends" if len(errors) == 1 else "end"
        rest.append(f"{len(errors)} {verb} there with an error ({listed(errors)})")
    ran = f"{total - len(reasons)} of its {total} cells run unchanged"
    return f"{start}{ran}. Of the others, {' and '.join(rest)}."


def is_name(why):
    """Is the reason the name of something that PyTorch lacks? Else it is an error."""
    return all(part.isidentifier() for part in why.split("."))


def error_of(why):
    """Return the kind of an error; one that ends the process has none."""
    kind, colon, _ = why.partition(":")
    return f"`{kind}`" if colon else "a crash"


def listed(reasons):
    """Return the commonest reasons, and how often each comes."""
    counted = collections.Counter(reasons).most_common()
    shown = [f"{why}: {count}" for why, count in counted[:MOST_REASONS]]
    if more := sum(count for _, count in counted[MOST_REASONS:]):
        shown.append(f"others: {more}")
    return ", ".join(shown)


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
