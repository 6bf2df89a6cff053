"""The search page knows error messages, ours and PyTorch's, and which section explains each: search.js uses it."""

import json
from pathlib import Path

from tensorlab import _pitfalls
from tensorlab.cli.explain import PYTORCH, sections

SCRIPT = Path(__file__).with_name("search.js")


def messages():
    """Return {anchor: [title, expression for our message, PyTorch's message]}, in the order in which they are tried."""
    known = sections()
    return {
        f"error-{name}": [known[name][0], ours, *PYTORCH.findall(known[name][1])]
        for name, ours in _pitfalls.SECTIONS.items()
    }


def script():
    """Return what the search page runs after Sphinx's own code."""
    return f"const MESSAGES = {json.dumps(messages())};\n{SCRIPT.read_text(encoding='utf-8')}"


def set_scorer(app, config):
    written = Path(app.doctreedir, SCRIPT.name)
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(script(), encoding="utf-8")
    config.html_search_scorer = str(written)


def setup(app):
    app.connect("config-inited", set_scorer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
