"""What the version counters of some tensors said after each step of a program: a timeline.

    step                 y    view  z's y
    start                0    0
    z = y * y            0    0     [0]
    view.zero_()        (1)  (1)    [0] stale

Time goes down, and each tensor has a column.  A number in brackets has just changed.  What a node
has saved has a column too, with the version that it remembers, which never changes: as soon as the
tensor's counter says something else, the saved tensor is stale, and unpacking it raises.
"""

from .picture import CHARACTER, TEXT_SIZE, WARNING, Picture, label, rectangle

__all__ = ["Versions"]

ROW = 2 * TEXT_SIZE + 4
MARGIN = 8
LEAST_COLUMN = 46


class Versions:
    """A record of version counters, read from live tensors whenever you note a step.

    Parameters
    ----------
    **tensors : Tensor, by the name that its column gets

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import viz
    >>> x = tensorlab.ones(2)
    >>> log = viz.Versions(x=x, alias=x.detach(), data=x.data)
    >>> _ = x.zero_()
    >>> log.note("x.zero_()")
    >>> print(log)
    step       x    alias  data
    start      0    0      0
    x.zero_()  (1)  (1)    0
    """

    def __init__(self, **tensors):
        if not tensors:
            raise ValueError("viz.Versions: no tensors are given; name them, as in Versions(x=x)")
        self.tensors = tensors
        self.saved = {}  # name: (tensor's name, version)
        self.steps = []  # of (text, {column: version}, names of the columns that changed)
        self.note("start")

    def note(self, step, *, saves=None):
        """Read all counters after a step.

        Parameters
        ----------
        step : str, the statement that has just run
        saves : dict from the name of a new column to the name of the tensor that a node has saved
        """
        for name, tensor in (saves or {}).items():
            self.saved[name] = (tensor, self.tensors[tensor]._version)
        now = {name: tensor._version for name, tensor in self.tensors.items()}
        before = self.steps[-1][1] if self.steps else now
        changed = {name for name in now if now[name] != before[name]}
        now.update({name: version for name, (_, version) in self.saved.items()})
        self.steps.append((step, now, changed))

    def is_stale(self, name, now):
        """Does the column `name` remember another version than its tensor now has?"""
        return name in self.saved and now[name] != now[self.saved[name][0]]

    def cell(self, name, now, changed):
        """Return what the text says in one cell."""
        if name not in now:
            return ""
        if name in self.saved:
            return f"[{now[name]}]" + (" stale" if self.is_stale(name, now) else "")
        return f"({now[name]})" if name in changed else str(now[name])

    def __str__(self):
        columns = [*self.tensors, *self.saved]
        rows = [["step", *columns]]
        for step, now, changed in self.steps:
            rows.append([step, *(self.cell(name, now, changed) for name in columns)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (map(str.ljust, row, widths) for row in rows)
        return "\n".join("  ".join(line).rstrip() for line in lines)

    __repr__ = __str__

    def picture(self):
        """Return the timeline as a Picture."""
        columns = [*self.tensors, *self.saved]
        left = MARGIN + max(len(step) for step, _, _ in self.steps) * CHARACTER + 2 * MARGIN
        places, x = {}, left
        for name in columns:
            width = max(LEAST_COLUMN, len(name) * CHARACTER + 12)
            places[name] = x + width / 2
            x += width
        shapes = [
            label(places[name], MARGIN + ROW / 2, name, anchor="middle", bold=True)
            for name in columns
        ]
        last = {}
        for number, (step, now, changed) in enumerate(self.steps, 1):
            y = MARGIN + ROW * (number + 0.5)
            shapes.append(label(MARGIN, y, step))
            for name in filter(now.__contains__, columns):
                if name in last:
                    shapes.append(life_line(places[name], last[name], y))
                stale, is_new = self.is_stale(name, now), name in changed
                shapes += mark(places[name], y, now[name], name in self.saved, is_new, stale)
                last[name] = y
        words = [f"{step}: {self.sentence(now, changed)}" for step, now, changed in self.steps]
        title = f"Versions of {', '.join(self.tensors)}, step by step"
        height = MARGIN * 2 + ROW * (len(self.steps) + 1)
        return Picture(title, "; ".join(words) + ".", str(self), round(x + MARGIN), height, shapes)

    def sentence(self, now, changed):
        """Return one step in words, for the picture's text alternative."""
        parts = [
            f"{name} {'keeps' if name in self.saved else 'is at'} {version}"
            + (", just changed" if name in changed else "")
            + (", stale" if self.is_stale(name, now) else "")
            for name, version in now.items()
        ]
        return ", ".join(parts)

    def _repr_html_(self):
        return self.picture()._repr_html_()

    def _repr_svg_(self):
        return self.picture()._repr_svg_()

    def save(self, path):
        """Write the timeline as a file: .svg or .html."""
        self.picture().save(path)


def life_line(x, above, below):
    """Return the line between two numbers of a column."""
    return (
        f'<path d="M{x:.1f} {above + 9:.1f} V{below - 9:.1f}" stroke="currentColor" '
        f'stroke-opacity="0.5"/>'
    )


def mark(x, y, version, is_saved, is_new, is_stale):
    """Return a version: in a square if it was saved, crossed out if stale, in a circle if new."""
    number = label(x, y, str(version), anchor="middle", bold=is_saved or is_new)
    if is_saved:
        box = rectangle(x - 9, y - 9, 18, 18, fill="version")
        cross = f'<path d="M{x - 12:.1f} {y + 12} L{x + 12:.1f} {y - 12}" stroke="{WARNING}" stroke-width="2"/>'
        return [box, number, cross] if is_stale else [box, number]
    if is_new:
        ring = f'<circle cx="{x:.1f}" cy="{y}" r="9.5" fill="none" stroke="currentColor"/>'
        return [ring, number]
    return [number]
