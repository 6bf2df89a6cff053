"""Blocks of memory over time: when each was made and given back, how large it is, and which
line made it.

A block is a rectangle: as wide as it lived, as high as it is large. Each lies on the lowest
place that is free for as long as it lives, so what is drawn at a place is what is in use then,
and gaps between blocks are memory that is free and split.
"""

import os
from html import escape

from tensorlab.cpu.memory import readable, spelled
from tensorlab.viz.picture import FILLS, LINE, MARGIN, Picture, Sheet, label

__all__ = ["memory"]

WIDTH, HEIGHT = 640, 240
LEFT = MARGIN + 72  # room for the scale
MOST_BLOCKS = 2000  # the largest ones are drawn
SHOWN = 4  # lines of the program in the legend
LONGEST = 60  # characters of such a line
INKS = list(FILLS.values())


def memory(history):
    """Draw what a MemoryHistory has noted.

    Parameters
    ----------
    history : tensorlab.cpu.MemoryHistory

    Returns
    -------
    Picture

    >>> import tensorlab
    >>> with tensorlab.cpu.MemoryHistory() as history:
    ...     x = tensorlab.ones(1000)
    >>> print(memory(history).title)
    1 block of memory, at most 3.9 KiB at once
    """
    blocks = history.blocks
    peak, _ = history.peak()
    title = (
        f"{len(blocks)} block{'s' * (len(blocks) != 1)} of memory, at most {spelled(peak)} at once"
    )
    largest = sorted(blocks, key=lambda block: -block.nbytes)[:MOST_BLOCKS]
    end = history.events + 1
    placed = places(sorted(largest, key=lambda block: block.made), end)
    top = max((offset + block.nbytes for block, offset in placed), default=1)
    totals = {}
    for block in blocks:
        totals[block.line] = totals.get(block.line, 0) + block.nbytes
    lines = sorted(totals, key=lambda line: -totals[line])
    ink = {line: INKS[k % len(INKS)] for k, line in enumerate(lines)}
    sheet = Sheet()
    sheet.write(MARGIN, title, bold=True)
    ground = sheet.y + HEIGHT
    for block, offset in placed:
        x = LEFT + WIDTH * block.made / end
        width = max(WIDTH * ((block.freed or end) - block.made) / end, 1)
        height = max(HEIGHT * block.nbytes / top, 0.5)
        y = ground - HEIGHT * offset / top - height
        tip = escape(f"{spelled(block.nbytes)}, {short(block.line)}")
        sheet.add(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{ink[block.line]}" '
            f'fill-opacity="0.45" stroke="currentColor" stroke-width="0.4"><title>{tip}</title></rect>',
            right=LEFT + WIDTH,
        )
    sheet.add(
        f'<path d="M{LEFT} {sheet.y}V{ground}H{LEFT + WIDTH}" fill="none" stroke="currentColor"/>',
        label(LEFT - 6, sheet.y + LINE / 2, spelled(top), anchor="end"),
        label(LEFT - 6, ground, "0", anchor="end"),
        label(
            LEFT + WIDTH,
            ground + LINE,
            "blocks made and given back, one after the other",
            anchor="end",
        ),
    )
    sheet.y = ground + 2 * LINE
    for line in lines[:SHOWN]:
        sheet.add(
            f'<rect x="{LEFT}" y="{sheet.y + 3:.1f}" width="10" height="10" fill="{ink[line]}" '
            f'fill-opacity="0.45" stroke="currentColor"/>'
        )
        sheet.write(LEFT + 16, f"{spelled(totals[line])} in all: {short(line)}")
    width, height = sheet.size()
    return Picture(
        title,
        description(blocks, peak, lines, totals),
        text_of(blocks),
        width,
        height,
        sheet.shapes,
    )


def short(line):
    """A line of the program, with its file's name but not its folders, or the start of its code."""
    text = readable(line)
    if text == line:
        return os.path.basename(line)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def places(blocks, end):
    """[(block, offset), ...]: each on the lowest place that is free while it lives."""
    placed = []
    for block in blocks:
        last = block.freed or end
        taken = sorted(
            (offset, offset + other.nbytes)
            for other, offset in placed
            if other.made < last and (other.freed or end) > block.made
        )
        offset = 0
        for low, high in taken:
            if low - offset >= block.nbytes:
                break
            offset = max(offset, high)
        placed.append((block, offset))
    return placed


def description(blocks, peak, lines, totals):
    """The picture in words."""
    made = "; ".join(f"{short(line)} made {totals[line]} bytes" for line in lines[:SHOWN])
    live = sum(block.nbytes for block in blocks if block.freed is None)
    return f"{len(blocks)} blocks, at most {peak} bytes at once, {live} bytes still in use. {made}."


def text_of(blocks):
    """The blocks as a table."""
    rows = [f"{'made':>6} {'freed':>6} {'bytes':>12}  line"]
    rows += [
        f"{block.made:>6} {'' if block.freed is None else block.freed:>6} {block.nbytes:>12}  "
        f"{short(block.line)}"
        for block in blocks[:50]
    ]
    return "\n".join(rows + [f"... and {len(blocks) - 50} more"] * (len(blocks) > 50))
