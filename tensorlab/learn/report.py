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
    judge.READ: "reads the exercises",
    judge.SUSPICIOUS: "suspicious",
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
    if verdict.trace:
        lines += ["This is where it was:"] if verdict.state == judge.ENDLESS else []
        lines += verdict.trace.split("\n")
    if verdict.printed.strip():
        lines += [
            "Your code printed:",
            *textwrap.indent(verdict.printed.rstrip(), "| ").split("\n"),
        ]
    if verdict.state in (judge.WRONG, judge.ERROR, judge.ENDLESS) and verdict.idea:
        lines.append(f"Look again: chapter {verdict.id[:2]}, “{verdict.idea}”.")
    return "\n    ".join(lines)


def report(verdicts, hint="tensorlab hint {}"):
    """Return all verdicts as text, and what to do next; `hint` is how to ask for one."""
    text = ""
    for before, verdict in zip([None, *verdicts], verdicts, strict=False):
        piece = verdict_text(verdict)
        if before is not None:  # one line below the other, but air around longer ones
            text += "\n\n" if "\n" in piece or "\n" in verdict_text(before) else "\n"
        text += piece
    right = sum(verdict.is_right for verdict in verdicts)
    ending = [f"{right} of {len(verdicts)} right."] if len(verdicts) > 1 else []
    stuck = next((v for v in verdicts if v.state not in (judge.RIGHT, judge.UNTOUCHED)), None)
    fresh = next((v for v in verdicts if v.state == judge.UNTOUCHED), None)
    if stuck:
        ending.append(f"Stuck? {hint.format(stuck.id)}")
    elif fresh and len(verdicts) > 1:
        ending.append(f"Next: {fresh.id} {fresh.title}")
    return text + ("\n\n" + " ".join(ending) if ending else "")


def show_text(identity):
    """Return the text and the stub of an exercise, as they stand in the reader's file."""
    from .workbook import head

    _, exercises = find(identity)
    return "\n\n".join(f"{head(exercise)}\n\n{exercise.stub}" for exercise in exercises)
