"""Pictures of a profile: events over time, calls inside each other by name, and memory over time."""

from html import escape

from tensorlab.profiler.events import BACKWARD, EVALUATION, INTERNAL, KERNEL, RANGE, spelled_time
from tensorlab.profiler.table import spelled_bytes
from tensorlab.viz.picture import CHARACTER, FILLS, LINE, MARGIN, Picture, Sheet, label

__all__ = ["flame", "memory_picture", "timeline"]

WIDTH, ROW, GAP = 680, 18, 2  # pixels
LEAST = 0.4  # boxes that are narrower are left out
MOST_ROWS = 12  # of calls inside each other
MOST_BOXES = 4000
FILL = {
    EVALUATION: "version",
    BACKWARD: "version",
    RANGE: "busy",
    INTERNAL: "busy",
    KERNEL: "storage",
}


def timeline(events, recording):
    """Draw events over time: a band for each thread, in it a row for each level of calls.

    Returns
    -------
    Picture
    """
    span = max((recording.end - recording.start) / 1e3, 1e-3)
    sheet, lines, drawn = Sheet(), [], 0
    for number, track in enumerate(recording.tracks, 1):
        sheet.write(MARGIN, f"thread {track.native_id} ({track.name})")
        rows = 1
        for event in events:
            if event.thread != number:
                continue
            level = level_of(event)
            width = event.cpu_time_total * WIDTH / span
            if level >= MOST_ROWS or width < LEAST or drawn >= MOST_BOXES:
                continue
            drawn += 1
            rows = max(rows, level + 1)
            x = MARGIN + event.time_range.start * WIDTH / span
            y = sheet.y + level * (ROW + GAP)
            said = f"{event.name}, {event.cpu_time_str}"
            sheet.add(
                box(x, y, width, event.name, FILL.get(event.kind, "tensor"), said),
                right=MARGIN + WIDTH,
            )
            if level == 0:
                lines.append(
                    f"{event.time_range.start:>12.1f} us  {event.cpu_time_str:>10}  {event.name}"
                )
        sheet.y += rows * (ROW + GAP) + GAP
    sheet.write(MARGIN, f"{spelled_time(span)} in all; below each box is what it calls")
    width, height = sheet.size()
    title = f"{len(events)} events in {spelled_time(span)}"
    text = "\n".join(lines[:100])
    return Picture(
        title,
        f"{title}. " + "; ".join(" ".join(line.split()) for line in lines[:20]),
        text,
        width,
        height,
        sheet.shapes,
    )


def level_of(event):
    """How many events it is in."""
    level = 0
    while event.cpu_parent is not None:
        event, level = event.cpu_parent, level + 1
    return level


class Branch:
    """Calls of one name at the same place: how long they took, and what they called."""

    def __init__(self, name, kind):
        self.name, self.kind, self.time, self.count = name, kind, 0.0, 0
        self.inside: dict = {}


def merged(events):
    """The calls of a profile by name: a Branch that has the others inside."""
    root = Branch("everything", RANGE)

    def add(event, branch):
        one = branch.inside.setdefault(event.key, Branch(event.key, event.kind))
        one.time += event.cpu_time_total
        one.count += 1
        for inner in event.cpu_children:
            add(inner, one)

    for event in events:
        if event.cpu_parent is None:
            add(event, root)
    root.time = sum(one.time for one in root.inside.values())
    return root


def flame(events, recording):
    """Draw what took the time: each box is all calls of a name at a place, as wide as they took; above it is what
    they called.

    Returns
    -------
    Picture
    """
    root = merged(events)
    scale = WIDTH / max(root.time, 1e-9)
    boxes, lines, depth = [], [], [0]

    def visit(branch, x, level):
        for one in sorted(branch.inside.values(), key=lambda one: -one.time):
            width = one.time * scale
            if width >= LEAST and level < MOST_ROWS:
                depth[0] = max(depth[0], level + 1)
                boxes.append((x, level, width, one))
                lines.append(
                    f"{spelled_time(one.time):>10} {one.count:>6} x  {'  ' * level}{one.name}"
                )
                visit(one, x, level + 1)
            x += width

    visit(root, MARGIN, 0)
    sheet = Sheet()
    ground = sheet.y + depth[0] * (ROW + GAP)
    for x, level, width, one in boxes:
        y = ground - (level + 1) * (ROW + GAP)
        said = f"{one.name}, {one.count} calls, {spelled_time(one.time)}"
        sheet.add(
            box(x, y, width, one.name, FILL.get(one.kind, "tensor"), said), right=MARGIN + WIDTH
        )
    sheet.y = ground + GAP
    sheet.write(MARGIN, f"{spelled_time(root.time)} in all; above each box is what it calls")
    width, height = sheet.size()
    title = f"What took {spelled_time(root.time)}"
    said = "; ".join(" ".join(line.split()) for line in lines[:20])
    return Picture(title, f"{title}: {said}", "\n".join(lines), width, height, sheet.shapes)


def memory_picture(times, totals):
    """Draw how many bytes were in use over time.

    Parameters
    ----------
    times : list of int, nanoseconds
    totals : list of int, bytes that are in use from then on

    Returns
    -------
    Picture
    """
    height, left = 200, MARGIN + 80
    most = max(totals, default=0)
    first, last = (times[0], times[-1]) if times else (0, 1)
    across, up = (WIDTH - 80) / max(last - first, 1), height / max(most, 1)
    sheet = Sheet()
    ground = sheet.y + LINE + height
    path, y = [f"M{left} {ground}"], ground
    for when, total in zip(times, totals, strict=True):
        x = left + (when - first) * across
        path.append(f"H{x:.1f}")
        y = ground - total * up
        path.append(f"V{y:.1f}")
    path.append(f"V{ground}Z")
    sheet.add(
        f'<path d="{"".join(path)}" fill="{FILLS["storage"]}" fill-opacity="0.45" stroke="currentColor" '
        'stroke-width="0.6"/>',
        f'<path d="M{left} {ground - height}V{ground}H{MARGIN + WIDTH}" fill="none" stroke="currentColor"/>',
        label(left - 6, ground - height, spelled_bytes(most), anchor="end"),
        label(left - 6, ground, "0", anchor="end"),
        right=MARGIN + WIDTH,
    )
    sheet.y = ground + GAP
    sheet.write(left, f"{spelled_time((last - first) / 1e3)} in all")
    width, height = sheet.size()
    title = f"Memory of tensors over time, at most {spelled_bytes(most)}"
    text = "\n".join(
        f"{(when - first) / 1e3:>12.1f} us {spelled_bytes(total):>12}"
        for when, total in list(zip(times, totals, strict=True))[:100]
    )
    return Picture(
        title,
        f"{title}, {len(times)} blocks made or given back.",
        text,
        width,
        height,
        sheet.shapes,
    )


def box(x, y, width, text, fill, said):
    """A box with a name, cut if it is long, and what else is known of it as a tip."""
    room = int((width - 6) / CHARACTER)
    short = "" if room < 3 else text if len(text) <= room else text[: room - 1] + "…"
    shape = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, LEAST):.1f}" height="{ROW}" fill="{FILLS[fill]}" '
        f'fill-opacity="0.45" stroke="currentColor" stroke-width="0.4"><title>{escape(said)}</title></rect>'
    )
    return shape + (label(x + 3, y + ROW / 2, short) if short else "")
