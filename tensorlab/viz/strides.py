"""Which elements of a storage the indices of tensors touch: a map of memory.

The storage is a strip of cells, one for each element, numbered from 0.  Below it every tensor has a
row, and in it, under each cell, stands the index that reads the cell; a dot says that none does.
Then each tensor is drawn as its user sees it, with the place of every element under its value.

    place        0    1    2    3    4    5
    value        1    2    3    4    5    6
    x          0,0  0,1  0,2  1,0  1,1  1,2
    x.t()      0,0  1,0  2,0  0,1  1,1  2,1

Only public attributes of a tensor are used, so a tensor of PyTorch is drawn as well.
"""

import math
from dataclasses import dataclass
from itertools import product

from .picture import CHARACTER, LINE, MARGIN, Picture, Sheet, dot, label, rectangle

__all__ = ["strides"]

MOST_ELEMENTS = 256  # no one would read a map of more
MOST_INDICES = 3  # lines in a cell; beyond that the last one says how many more there are
PLACES_A_LINE = 8  # fits a telephone without scaling
GRID_HEIGHT = 34


@dataclass
class Reading:
    """One tensor's way over its storage."""

    name: str
    shape: tuple
    strides: tuple
    offset: int

    def place(self, index):
        """The one equation."""
        return self.offset + sum(i * step for i, step in zip(index, self.strides, strict=True))

    def indices(self):
        return product(*map(range, self.shape))

    def indices_at(self):
        """Return {place: the indices that read it, as texts}."""
        found = {}
        for index in self.indices():
            found.setdefault(self.place(index), []).append(index_text(index))
        return found

    def facts(self):
        return f"shape {self.shape}, strides {self.strides}, offset {self.offset}"


@dataclass
class Memory:
    """One storage and the tensors over it."""

    dtype: str
    values: list
    readings: list


def strides(*tensors, names=None):
    """Draw which elements of a storage the indices of some tensors touch; each storage is a strip.

    Parameters
    ----------
    *tensors : Tensors of at most 256 elements, in storages of at most 256
    names : list of str, one for each tensor; a, b, c, ... unless given

    Returns
    -------
    Picture, which a notebook shows; `str` gives it as text, `save(path)` writes a file

    Raises
    ------
    ValueError
        If there are no tensors, too many elements, or another number of names.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import viz
    >>> x = tensorlab.tensor([[1, 2, 3], [4, 5, 6]])
    >>> print(viz.strides(x.as_strided((3, 2), (1, 3)), names=["x.t()"]))
    storage of 6 elements, int64
    place      0    1    2    3    4    5
    value      1    2    3    4    5    6
    x.t()    0,0  1,0  2,0  0,1  1,1  2,1
    x.t(): shape (3, 2), strides (1, 3), offset 0
    """
    names = default_names(len(tensors)) if names is None else list(names)
    if not tensors or len(names) != len(tensors):
        raise ValueError(
            f"viz.strides: {len(tensors)} tensors and {len(names)} names are given; "
            "give at least one tensor, and one name for each"
        )
    memories = read_memories(tensors, names)
    sheet = draw(memories)
    title = f"Strides of {', '.join(names)}"
    description = " ".join(map(describe, memories))
    text = "\n\n".join(map(table, memories))
    return Picture(title, description, text, *sheet.size(), sheet.shapes)


def default_names(n):
    return [chr(ord("a") + i) if i < 26 else f"t{i}" for i in range(n)]


# ---------------------------------------------------------------- reading the tensors
def read_memories(tensors, names):
    """Return one Memory for each storage, in the order in which the tensors name them."""
    memories = {}
    for tensor, name in zip(tensors, names, strict=True):
        storage = tensor.untyped_storage()
        size = storage.nbytes() // tensor.element_size()
        if max(size, tensor.numel()) > MOST_ELEMENTS:
            raise ValueError(
                f"viz.strides: {name} has {tensor.numel()} elements in a storage of {size}; "
                f"at most {MOST_ELEMENTS} can be drawn. Draw a smaller example"
            )
        dtype = str(tensor.dtype).rpartition(".")[2]
        key = (storage.data_ptr(), dtype)
        if key not in memories:
            values = tensor.detach().as_strided((size,), (1,), 0).tolist()
            memories[key] = Memory(dtype, list(map(value_text, values)), [])
        memories[key].readings.append(read_layout(tensor, name))
    return list(memories.values())


def read_layout(tensor, name):
    return Reading(name, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())


def value_text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def index_text(index):
    return ",".join(map(str, index)) or "()"


def cell_lines(indices):
    """Return what a cell says about the indices that read it, line by line."""
    if len(indices) <= MOST_INDICES:
        return indices
    return [*indices[: MOST_INDICES - 1], f"+{len(indices) - MOST_INDICES + 1}"]


# ---------------------------------------------------------------- as words
def describe(memory):
    """Return the text alternative: the storage, and for each tensor where its elements lie."""
    sentences = [
        f"A storage of {len(memory.values)} elements of {memory.dtype}: {', '.join(memory.values)}."
    ]
    for reading in memory.readings:
        places = [str(reading.place(index)) for index in reading.indices()]
        row = max(reading.shape[-1], 1) if reading.shape else 1
        rows = [" ".join(places[i : i + row]) for i in range(0, len(places), row)]
        sentences.append(
            f"{reading.name}, {reading.facts()}, reads the places {'; '.join(rows) or 'none'}."
        )
    return " ".join(sentences)


def table(memory):
    """Return the map as lines of characters, PLACES_A_LINE places at a time."""
    size = len(memory.values)
    found = [reading.indices_at() for reading in memory.readings]
    width = 2 + cell_characters(memory, found)
    left = max(len(name) for name in ["place", *(r.name for r in memory.readings)])
    lines = [f"storage of {size} elements, {memory.dtype}"]
    for first in range(0, size, PLACES_A_LINE):
        places = range(first, min(first + PLACES_A_LINE, size))
        lines += [table_line("place", left, map(str, places), width)]
        lines += [table_line("value", left, (memory.values[p] for p in places), width)]
        for reading, at in zip(memory.readings, found, strict=True):
            cells = [cell_lines(at[p]) if p in at else ["."] for p in places]
            for line in range(max(map(len, cells))):
                texts = [cell[line] if line < len(cell) else "" for cell in cells]
                lines += [table_line("" if line else reading.name, left, texts, width)]
    return "\n".join([*lines, *(f"{r.name}: {r.facts()}" for r in memory.readings)])


def table_line(name, left, texts, width):
    return (f"{name:<{left}}  " + "".join(f"{text:>{width}}" for text in texts)).rstrip()


def cell_characters(memory, found):
    """Return the length of the longest text in a cell."""
    texts = [str(len(memory.values)), *memory.values]
    texts += [text for at in found for cell in at.values() for text in cell_lines(cell)]
    return max(map(len, texts))


# ---------------------------------------------------------------- as a picture
def draw(memories):
    """Return the sheet with all memories, one below the other."""
    sheet = Sheet()
    for number, memory in enumerate(memories):
        found = [reading.indices_at() for reading in memory.readings]
        cell = max(34, math.ceil(cell_characters(memory, found) * CHARACTER) + 8)
        title = "storage" if len(memories) == 1 else f"storage {number + 1}"
        sheet.y += LINE if number else 0
        sheet.write(MARGIN, f"{title}: {len(memory.values)} elements, {memory.dtype}", bold=True)
        for reading in memory.readings:
            sheet.write(MARGIN, f"{reading.name}: {reading.facts()}")
        for first in range(0, len(memory.values), PLACES_A_LINE):
            draw_strip(sheet, memory, found, cell, first)
        draw_grids(sheet, memory, cell)
    return sheet


def draw_strip(sheet, memory, found, cell, first):
    """Draw one line of the storage and, row by row, the indices that read its cells."""
    places = range(first, min(first + PLACES_A_LINE, len(memory.values)))
    names = ["place", *(reading.name for reading in memory.readings)]
    left = MARGIN + math.ceil(max(map(len, names)) * CHARACTER) + 8
    middle = [left + cell * (column + 0.5) for column in range(len(places))]
    right = left + cell * len(places)

    sheet.y += LINE / 2
    sheet.add(label(MARGIN, sheet.y + LINE / 2, "place"))
    for x, place in zip(middle, places, strict=True):
        sheet.add(label(x, sheet.y + LINE / 2, str(place), anchor="middle"))
    sheet.y += LINE
    height = LINE + 8
    sheet.add(label(MARGIN, sheet.y + height / 2, "value"), right=right)
    for x, place in zip(middle, places, strict=True):
        sheet.add(
            rectangle(x - cell / 2, sheet.y, cell, height, fill="storage"),
            label(x, sheet.y + height / 2, memory.values[place], anchor="middle", bold=True),
        )
    sheet.y += height + 4

    for reading, at in zip(memory.readings, found, strict=True):
        cells = [cell_lines(at.get(place, [])) for place in places]
        height = LINE * max(1, *map(len, cells)) + 4
        sheet.add(label(MARGIN, sheet.y + 2 + LINE / 2, reading.name, bold=True))
        for x, lines in zip(middle, cells, strict=True):
            if not lines:
                sheet.add(dot(x, sheet.y + height / 2))
                continue
            sheet.add(
                rectangle(x - cell / 2 + 2, sheet.y, cell - 4, height, radius=6, fill="tensor")
            )
            for number, line in enumerate(lines):
                y = sheet.y + 2 + LINE * (number + 0.5)
                sheet.add(label(x, y, line, anchor="middle"))
        sheet.y += height + 4


def draw_grids(sheet, memory, cell):
    """Draw each tensor as its user sees it, the place of every element under its value.

    A tensor of more than two dimensions is a row of matrices.
    """
    x, widest, below = MARGIN, max(sheet.right, 320), sheet.y
    sheet.y += LINE / 2
    for reading in memory.readings:
        rows, columns = (1, 1, *reading.shape)[-2:]
        for leading in product(*map(range, reading.shape[:-2])):
            caption = reading.name + (f"[{index_text(leading)}]" if leading else "")
            width = max(columns * cell, len(caption) * CHARACTER)
            if x > MARGIN and x + width > widest:
                x, sheet.y = MARGIN, below + LINE / 2
            sheet.add(label(x, sheet.y + LINE / 2, caption, bold=True), right=x + width)
            for row, column in product(range(rows), range(columns)):
                index = (*leading, row, column)[-len(reading.shape) or 2 :]
                left, top = x + column * cell, sheet.y + LINE + 2 + row * GRID_HEIGHT
                draw_element(sheet, memory, reading.place(index), left, top, cell)
            below = max(below, sheet.y + LINE + 2 + rows * GRID_HEIGHT)
            x += width + 2 * MARGIN
    sheet.y = below


def draw_element(sheet, memory, place, left, top, cell):
    middle = left + cell / 2
    sheet.add(
        rectangle(left + 1, top + 1, cell - 2, GRID_HEIGHT - 2, radius=6, fill="tensor"),
        label(middle, top + 11, memory.values[place], anchor="middle", bold=True),
        label(middle, top + 25, f"@{place}", anchor="middle", size=11),
    )
