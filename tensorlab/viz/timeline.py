"""Work over time: one lane for each worker, a box for each piece of work, as long as it took.

Two things are drawn so: what the streams of a device did (`timeline`), and the steps of a call
inside each other (`calls`).
"""

from tensorlab.viz.picture import CHARACTER, MARGIN, Picture, Sheet, label, rectangle

__all__ = ["calls", "timeline"]

WIDTH, LANE = 640, 24
KINDS = {"public": "storage", "op": "tensor", "layer": "version", "kernel": "busy"}


def timeline(entries, *, names=None):
    """Draw work of several workers over time.

    Parameters
    ----------
    entries : list of (worker, what, start, end), times in seconds
    names : dict, worker: what it is called; "stream 0" unless given

    Returns
    -------
    Picture

    >>> print(timeline([(0, "copy", 0.0, 0.001), (1, "multiply", 0.001, 0.003)]))
    stream 0      0.000 to    1.000 ms  copy
    stream 1      1.000 to    3.000 ms  multiply
    """
    entries = sorted(entries, key=lambda entry: entry[2])
    names = names or {
        worker: f"stream {worker}" for worker in sorted({entry[0] for entry in entries})
    }
    first = min((entry[2] for entry in entries), default=0.0)
    last = max((entry[3] for entry in entries), default=1.0)
    left = MARGIN + max((len(name) for name in names.values()), default=0) * CHARACTER + 10
    scale = WIDTH / max(last - first, 1e-9)
    sheet = Sheet()
    for row, name in enumerate(names.values()):
        y = sheet.y + row * (LANE + 6)
        sheet.add(label(MARGIN, y + LANE / 2, name), right=left + WIDTH)
    rows = {worker: row for row, worker in enumerate(names)}
    for worker, what, start, end in entries:
        x, y = left + (start - first) * scale, sheet.y + rows[worker] * (LANE + 6)
        sheet.add(*box(x, y, (end - start) * scale, what, "tensor"))
    sheet.y += len(names) * (LANE + 6)
    sheet.write(left, f"{(last - first) * 1e3:.3g} ms in all")
    width, height = sheet.size()
    lines = [
        f"{names[worker]:<10}{(start - first) * 1e3:>9.3f} to {(end - first) * 1e3:>8.3f} ms  "
        f"{what}"
        for worker, what, start, end in entries
    ]
    title = (
        f"What {len(names)} worker{'s' * (len(names) != 1)} did in {(last - first) * 1e3:.3g} ms"
    )
    return Picture(
        title,
        "; ".join(" ".join(line.split()) for line in lines),
        "\n".join(lines),
        width,
        height,
        sheet.shapes,
    )


def calls(trace):
    """Draw the calls that a `trace_dispatch` has followed: a box for each step, and in the row
    below what it contains.

    Parameters
    ----------
    trace : tensorlab.overrides.trace_dispatch

    Returns
    -------
    Picture

    >>> import tensorlab
    >>> with tensorlab.overrides.trace_dispatch(file=False) as trace:
    ...     y = tensorlab.ones(2)
    >>> calls(trace).title
    'One call and the layers that it meets'
    """
    total = sum(event.seconds for event in trace.calls) or 1.0
    sheet, depth = Sheet(), [0]

    def draw(event, x, level):
        depth[0] = max(depth[0], level + 1)
        width = event.seconds * WIDTH / total
        text = event.label.partition(" -> ")[0]
        sheet.add(
            *box(x, sheet.y + level * (LANE + 4), width, text, KINDS.get(event.kind)),
            right=x + width,
        )
        inner = [one for one in event.children if one.kind != "autograd"]
        gap = (
            max(event.seconds - sum(one.seconds for one in inner), 0.0)
            / (len(inner) + 1)
            * WIDTH
            / total
        )
        at = x + gap
        for one in inner:
            draw(one, at, level + 1)
            at += one.seconds * WIDTH / total + gap

    at = MARGIN
    for event in trace.calls:
        draw(event, at, 0)
        at += event.seconds * WIDTH / total
    sheet.y += depth[0] * (LANE + 4)
    sheet.write(
        MARGIN,
        f"{total * 1e6:.0f} us with the trace itself; from above: public function, op, layers, kernel",
    )
    width, height = sheet.size()
    count = len(trace.calls)
    title = (
        "One call and the layers that it meets"
        if count == 1
        else f"{count} calls and the layers that they meet"
    )
    return Picture(title, str(trace), str(trace), width, height, sheet.shapes)


def box(x, y, width, text, fill):
    """A rectangle with as much of a text as fits, and all of it for those who point there."""
    fits = int((width - 6) / CHARACTER)
    shown = text if len(text) <= fits else text[: fits - 1] + "…" if fits > 2 else ""
    tip = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return (
        f"<g><title>{tip}</title>{rectangle(x, y, max(width, 1), LANE, fill=fill)}</g>",
        *([label(x + 3, y + LANE / 2, shown)] if shown else []),
    )
