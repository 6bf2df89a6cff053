"""Which block of memory some tensors read after each step of a program: when a copy happens.

    step                 x    y
    start                A
    y = x._lazy_clone()  A    A
    y.add_(1)            A    (B)

Time goes down, and each tensor has a column.  A letter stands for a block of memory; a letter in
brackets is a block that the tensor did not read before.  The picture draws a shaded cell for each
block, which reaches over the neighbours that share it.
"""

from string import ascii_uppercase

from .picture import CHARACTER, TEXT_SIZE, Picture, label, rectangle

__all__ = ["Copies"]

ROW = 2 * TEXT_SIZE + 10
MARGIN = 8
LEAST_COLUMN = 46


class Copies:
    """A record of the memory that tensors read, taken whenever you note a step.

    It only looks at addresses, so it ends no sharing, as `data_ptr()` would.

    Parameters
    ----------
    **tensors : Tensor, by the name that its column gets

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import viz
    >>> x = tensorlab.zeros(3)
    >>> log = viz.Copies(x=x)
    >>> y = x._lazy_clone()
    >>> log.note("y = x._lazy_clone()", y=y)
    >>> _ = y.add_(1)
    >>> log.note("y.add_(1)")
    >>> print(log)
    step                 x  y
    start                A
    y = x._lazy_clone()  A  A
    y.add_(1)            A  (B)
    """

    def __init__(self, **tensors):
        if not tensors:
            raise ValueError("viz.Copies: no tensors are given; name them, as in Copies(x=x)")
        self.tensors = {}
        self.blocks = {}  # address: letter
        self.steps = []  # of (text, {column: letter}, columns whose tensor reads another block)
        self.note("start", **tensors)

    def note(self, step, **tensors):
        """Look where all tensors are after a step.

        Parameters
        ----------
        step : str, the statement that has just run
        **tensors : Tensor, those that the step made, each with a new column
        """
        self.tensors.update(tensors)
        before = self.steps[-1][1] if self.steps else {}
        now = {name: self.letter(x._storage_address()) for name, x in self.tensors.items()}
        moved = {name for name in before if now[name] != before[name]}
        self.steps.append((step, now, moved))

    def letter(self, address):
        """Return the letter of a block; blocks get theirs in the order of appearance."""
        n = len(self.blocks)
        return self.blocks.setdefault(address, ascii_uppercase[n % 26] + str(n // 26 or ""))

    def __str__(self):
        rows = [["step", *self.tensors]]
        for step, now, moved in self.steps:
            cells = (
                f"({now[name]})" if name in moved else now.get(name, "") for name in self.tensors
            )
            rows.append([step, *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (map(str.ljust, row, widths) for row in rows)
        return "\n".join("  ".join(line).rstrip() for line in lines)

    __repr__ = __str__

    def picture(self):
        """Return the record as a Picture."""
        names = list(self.tensors)
        left = MARGIN + max(len(step) for step, _, _ in self.steps) * CHARACTER + 2 * MARGIN
        column = max(LEAST_COLUMN, *(len(name) * CHARACTER + 12 for name in names))
        shapes = [
            label(left + (i + 0.5) * column, MARGIN + ROW / 2, name, anchor="middle", bold=True)
            for i, name in enumerate(names)
        ]
        for number, (step, now, moved) in enumerate(self.steps, 1):
            y = MARGIN + ROW * (number + 0.5)
            shapes.append(label(MARGIN, y, step))
            for first, last, block in runs(names, now):
                width = (last - first + 1) * column - 8
                shapes.append(
                    rectangle(left + first * column + 4, y - 12, width, 24, fill="storage")
                )
                for i in range(first, last + 1):
                    x = left + (i + 0.5) * column
                    shapes.append(label(x, y, block, anchor="middle", bold=names[i] in moved))
                    if names[i] in moved:
                        shapes.append(ring(x, y))
        words = [f"{step}: {sentence(now, moved)}" for step, now, moved in self.steps]
        title = f"Memory that {', '.join(names)} read, step by step"
        width, height = (
            left + column * len(names) + MARGIN,
            2 * MARGIN + ROW * (len(self.steps) + 1),
        )
        return Picture(title, "; ".join(words) + ".", str(self), round(width), height, shapes)

    def _repr_html_(self):
        return self.picture()._repr_html_()

    def _repr_svg_(self):
        return self.picture()._repr_svg_()

    def save(self, path):
        """Write the record as a file: .svg or .html."""
        self.picture().save(path)


def runs(names, now):
    """List (first column, last column, block) for neighbours that read the same block."""
    found = []
    for i, name in enumerate(names):
        if name not in now:
            continue
        if found and found[-1][1] == i - 1 and found[-1][2] == now[name]:
            found[-1][1] = i
        else:
            found.append([i, i, now[name]])
    return found


def sentence(now, moved):
    """Return one step in words, for the picture's text alternative."""
    return ", ".join(
        f"{name} reads block {block}" + (", a copy of its own" if name in moved else "")
        for name, block in now.items()
    )


def ring(x, y):
    """Return the circle around what has just changed."""
    return f'<circle cx="{x:.1f}" cy="{y}" r="10" fill="none" stroke="currentColor"/>'
