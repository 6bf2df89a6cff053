"""Verdicts as text, for a terminal and for a notebook."""

import textwrap

from . import judge
from .exercise import find

WIDTH = 88
SIGNS = {
    judge.RIGHT: "right",
    judge.WRONG: "not yet",
    judge.ERROR: "error",
    judge.ENDLESS: "endless",
    judge.MISSING: "missing",
    judge.UNTOUCHED: "not begun",
}


def verdict_text(verdict):
    """Return a verdict as lines of text, the first with what matters most."""
    title = f"{verdict.id} {verdict.title}"
    lines = [f"{title} {'.' * max(3, 60 - len(title))} {SIGNS[verdict.state]}"]
    if verdict.remark:
        lines += textwrap.wrap(verdict.remark, WIDTH - 4)
    table = [("called", verdict.call), ("came", verdict.came), ("expected", verdict.expected)]
    for name, value in table:
        if value:
            lines += textwrap.wrap(
                f"{name + ':':10}{value}", WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False
            )
    lines += verdict.trace.split("\n") if verdict.trace else []
    if verdict.printed.strip():
        lines += [
            "Your code printed:",
            *textwrap.indent(verdict.printed.rstrip(), "| ").split("\n"),
        ]
    if verdict.state in (judge.WRONG, judge.ERROR, judge.ENDLESS) and verdict.idea:
        lines.append(f"Look again: chapter {verdict.id[:2]}, “{verdict.idea}”.")
    return "\n    ".join(lines)


def report(verdicts):
    """Return all verdicts as text, and what to do next."""
    text = "\n\n".join(verdict_text(verdict) for verdict in verdicts)
    right = sum(verdict.is_right for verdict in verdicts)
    if len(verdicts) > 1:
        text += f"\n\n{right} of {len(verdicts)} right."
    stuck = next((v for v in verdicts if v.state not in (judge.RIGHT, judge.UNTOUCHED)), None)
    fresh = next((v for v in verdicts if v.state == judge.UNTOUCHED), None)
    if stuck:
        text += f" Stuck? tensorlab hint {stuck.id}"
    elif fresh and len(verdicts) > 1:
        text += f" Next: {fresh.id} {fresh.title}"
    return text


def show_text(identity):
    """Return the text and the stub of an exercise, as they stand in the reader's file."""
    from .workbook import head

    _, exercises = find(identity)
    return "\n\n".join(f"{head(exercise)}\n\n{exercise.stub}" for exercise in exercises)
