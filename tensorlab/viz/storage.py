"""Which bytes of a storage tensors read, and which of them two tensors share.

A small storage is drawn byte by byte.  Below each byte, in hexadecimal, every tensor has a row of
boxes, one for each element that it reads, as wide as the element is: its index above, what the
bytes mean in the tensor's dtype below.  So a view with another dtype shows its elements beside
those of its base.  (The low byte comes first: the order of x86 and ARM.)

    byte      0   1   2   3   4   5   6   7
    hex      00  00  80  3f  00  00  00  40
    x       |0              |1
            |1.0            |2.0
    raw     |0  |1  |2  |3  |4  |5  |6  |7
            |0  |0  |128|63 |0  |0  |0  |64

A larger storage is one long bar, and each tensor a bar below it, from the first to the last byte
that it reads, dashed where it leaves bytes out in between.  The sentences are the same for both.

Only public attributes of a tensor are used, so a tensor of PyTorch is drawn as well.
"""

import math
from dataclasses import dataclass
from itertools import combinations, product

from .picture import CHARACTER, LINE, MARGIN, Picture, Sheet, dot, label, rectangle
from .strides import Reading, cell_lines, default_names, index_text, read_layout, value_text

__all__ = ["storage"]

MOST_BYTES = 256  # drawn one by one
MOST_PLACES = 65536  # of a tensor, when what it shares is counted
BYTES_A_LINE = 16
BAR = 560  # pixels, the width of a large storage
BAR_CHARACTERS = 48


@dataclass
class User:
    """One tensor over a storage: its layout, and how many bytes each element has."""

    reading: Reading
    dtype: str
    width: int  # of an element, in bytes
    values: dict  # {place: text}, of a small storage

    @property
    def name(self):
        return self.reading.name

    def is_empty(self):
        return 0 in self.reading.shape

    def extent(self):
        """Return the first byte that the tensor reads and the one after the last."""
        if self.is_empty():
            first = self.reading.offset * self.width
            return first, first
        steps = list(zip(self.reading.shape, self.reading.strides, strict=True))
        first = self.reading.offset + sum((n - 1) * min(step, 0) for n, step in steps)
        last = self.reading.offset + sum((n - 1) * max(step, 0) for n, step in steps)
        return first * self.width, (last + 1) * self.width

    def places(self):
        """Return the set of places that are read, or None if they are too many to be listed."""
        moved = [
            (n, step)
            for n, step in zip(self.reading.shape, self.reading.strides, strict=True)
            if step
        ]
        if math.prod(n for n, _ in moved) > MOST_PLACES:
            return None
        if self.is_empty():
            return set()
        runs = ([i * step for i in range(n)] for n, step in moved)
        return {self.reading.offset + sum(steps) for steps in product(*runs)}

    def read_bytes(self):
        """Return the set of bytes that are read, or None."""
        places = self.places()
        if places is None:
            return None
        return {place * self.width + byte for place in places for byte in range(self.width)}

    def has_gaps(self):
        """Is some byte between the first and the last left out?  None if no one counted."""
        first, end = self.extent()
        found = self.read_bytes()
        return None if found is None else len(found) < end - first

    def facts(self):
        first, end = self.extent()
        place = f"bytes {first} to {end - 1}" if end > first else "no bytes"
        if self.has_gaps():
            place = f"{len(self.read_bytes())} of the {place}"
        return f"{self.dtype}, {self.reading.facts()}: {place}"


@dataclass
class Owner:
    """One storage, with the tensors over it."""

    size: int
    contents: list | None  # the bytes, unless they are too many
    users: list

    def title(self):
        count = len(self.users)
        kind = f"shared by {count} tensors" if count > 1 else "of one tensor"
        return f"storage of {self.size} bytes, {kind}"

    def sentences(self):
        """Return what there is to say of each tensor, and of each two that share bytes."""
        lines = [f"{user.name}: {user.facts()}" for user in self.users]
        for one, other in combinations([user for user in self.users if not user.is_empty()], 2):
            mine, yours = one.read_bytes(), other.read_bytes()
            if mine is None or yours is None:
                continue
            if shared := mine & yours:
                bytes_ = f"bytes {min(shared)} to {max(shared)}"
                if len(shared) < max(shared) - min(shared) + 1:
                    bytes_ = f"{len(shared)} of the {bytes_}"
                lines.append(f"{one.name} and {other.name} share {bytes_}")
            else:
                lines.append(f"{one.name} and {other.name} share no byte")
        return lines


def storage(*tensors, names=None):
    """Draw which bytes of their storages some tensors read, and which they share.

    Storages of at most 256 bytes are drawn byte by byte, with what the bytes mean to each tensor;
    larger ones as bars.  What two tensors share is counted up to 65,536 places.

    Parameters
    ----------
    *tensors : Tensors
    names : list of str, one for each tensor; a, b, c, ... unless given

    Returns
    -------
    Picture, which a notebook shows; `str` gives it as text, `save(path)` writes a file

    Raises
    ------
    ValueError
        If there are no tensors, or another number of names.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import viz
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> viz.storage(x, x.view(tensorlab.int32), names=["x", "bits"])
    storage of 8 bytes, shared by 2 tensors
    byte    0   1   2   3   4   5   6   7
    hex    00  00  80  3f  00  00  00  40
    x     |0              |1
          |1.0            |2.0
    bits  |0              |1
          |1065353216     |1073741824
    x: float32, shape (2,), strides (1,), offset 0: bytes 0 to 7
    bits: int32, shape (2,), strides (1,), offset 0: bytes 0 to 7
    x and bits share bytes 0 to 7
    """
    names = default_names(len(tensors)) if names is None else list(names)
    if not tensors or len(names) != len(tensors):
        raise ValueError(
            f"viz.storage: {len(tensors)} tensors and {len(names)} names are given; "
            "give at least one tensor, and one name for each"
        )
    owners = read_owners(tensors, names)
    sheet = Sheet()
    for owner in owners:
        draw(sheet, owner)
    text = "\n\n".join(map(as_text, owners))
    description = " ".join(map(describe, owners))
    title = f"Storages of {', '.join(names)}"
    return Picture(title, description, text, *sheet.size(), sheet.shapes)


# ---------------------------------------------------------------- reading the tensors
def read_owners(tensors, names):
    """Return one Owner for each storage, in the order in which the tensors name them."""
    owners = {}
    for tensor, name in zip(tensors, names, strict=True):
        memory = tensor.untyped_storage()
        size, width = memory.nbytes(), tensor.element_size()
        # Empty storages may all say that they begin at 0, and are no less different for it.
        key = memory.data_ptr() or (id(tensor), "empty")
        is_small = size <= MOST_BYTES
        if key not in owners:
            owners[key] = Owner(size, memory.tolist() if is_small else None, [])
        dtype = str(tensor.dtype).rpartition(".")[2]
        user = User(read_layout(tensor, name), dtype, width, {})
        if is_small:
            count = size // width
            values = tensor.detach().as_strided((count,), (1,), 0).tolist()
            user.values = dict(enumerate(map(exact_text, values)))
        owners[key].users.append(user)
    return list(owners.values())


def exact_text(value):
    """Return a number so that floating ones are told from integers."""
    text = value_text(value)
    is_bare = isinstance(value, float) and text.lstrip("-").isdigit()
    return f"{text}.0" if is_bare else text


# ---------------------------------------------------------------- as words
def describe(owner):
    contents = ""
    if owner.contents:
        contents = f", in hexadecimal {' '.join(f'{byte:02x}' for byte in owner.contents)}"
    sentences = [f"A {owner.title()}{contents}."]
    for user in owner.users:
        if user.values and not user.is_empty():
            elements = (
                f"[{index_text(index)}] is {user.values[user.reading.place(index)]}"
                for index in user.reading.indices()
            )
            sentences.append(f"{user.name}: {', '.join(elements)}.")
    return " ".join([*sentences, *(f"{line}." for line in owner.sentences())])


def as_text(owner):
    """Return a storage and its tensors as lines of characters."""
    draw_lines = byte_lines if owner.contents is not None else bar_lines
    return "\n".join([owner.title(), *draw_lines(owner), *owner.sentences()])


def byte_lines(owner):
    """Yield the lines of a small storage: bytes, then the boxes of each tensor."""
    left = max(map(len, ["byte", *(user.name for user in owner.users)])) + 2
    cell = 1 + byte_characters(owner)
    for first in range(0, owner.size, BYTES_A_LINE):
        line = range(first, min(first + BYTES_A_LINE, owner.size))
        yield f"{'byte':<{left}}" + "".join(f"{byte:>{cell - 1}} " for byte in line).rstrip()
        hexes = (f"{owner.contents[byte]:02x}" for byte in line)
        yield f"{'hex':<{left}}" + "".join(f"{text:>{cell - 1}} " for text in hexes).rstrip()
        for user in owner.users:
            boxes = user_boxes(user, line)
            for row in range(max((len(texts) for *_, texts in boxes), default=1)):
                text = (user.name if row == 0 else "").ljust(left - 1)
                for start, count, texts in boxes:
                    text = text.ljust(left - 1 + (start - first) * cell)
                    inside = texts[row] if row < len(texts) else ""
                    text += f"|{inside:<{count * cell - 1}}"
                yield text.rstrip()


def user_boxes(user, line):
    """Return (first byte, number of bytes, lines of text) of every element read within `line`."""
    at = user.reading.indices_at() if not user.is_empty() else {}
    boxes = []
    for place in sorted(at):
        first = place * user.width
        # An element of 16 bytes fills a line, and smaller ones never cross its end.
        if line.start <= first < line.stop:
            boxes.append((first, user.width, [*cell_lines(at[place]), user.values[place]]))
    return boxes


def byte_characters(owner):
    """Return how many characters a byte must be wide, for every box to hold its texts."""
    widest = [2, len(str(owner.size - 1))]
    for user in owner.users:
        for _, count, texts in user_boxes(user, range(owner.size)):
            # A box of n bytes has room for n cells and the n - 1 gaps between them.
            widest += [math.ceil((len(text) + 1) / count) - 1 for text in texts]
    return max(widest) + 1


def bar_lines(owner):
    """Yield the lines of a large storage: a bar for each tensor."""
    left = max(len(user.name) for user in owner.users) + 2
    yield " " * left + "#" * BAR_CHARACTERS
    for user in owner.users:
        first, end = user.extent()
        start = min(first * BAR_CHARACTERS // owner.size, BAR_CHARACTERS - 1)
        count = max(math.ceil(end * BAR_CHARACTERS / owner.size) - start, 1)
        sign = "-" if user.has_gaps() else "="
        yield f"{user.name:<{left}}" + " " * start + (sign * count if end > first else ".")


# ---------------------------------------------------------------- as a picture
def draw(sheet, owner):
    """Draw one storage below what stands on the sheet already."""
    sheet.y += LINE if sheet.shapes else 0
    sheet.write(MARGIN, owner.title(), bold=True)
    (draw_bytes if owner.contents is not None else draw_bars)(sheet, owner)
    sheet.y += LINE / 2
    for sentence in owner.sentences():
        sheet.write(MARGIN, sentence)


def left_column(owner, first_name):
    names = [first_name, *(user.name for user in owner.users)]
    return MARGIN + math.ceil(max(map(len, names)) * CHARACTER) + 8


def draw_bytes(sheet, owner):
    left = left_column(owner, "byte")
    cell = max(26, math.ceil(byte_characters(owner) * CHARACTER) + 4)
    for first in range(0, owner.size, BYTES_A_LINE):
        line = range(first, min(first + BYTES_A_LINE, owner.size))
        sheet.y += LINE / 2
        sheet.add(label(MARGIN, sheet.y + LINE / 2, "byte"))
        for byte in line:
            x = left + (byte - first + 0.5) * cell
            sheet.add(label(x, sheet.y + LINE / 2, str(byte), anchor="middle", size=11))
        sheet.y += LINE
        sheet.add(label(MARGIN, sheet.y + LINE / 2 + 4, "hex"), right=left + cell * len(line))
        for byte in line:
            x, text = left + (byte - first) * cell, f"{owner.contents[byte]:02x}"
            sheet.add(
                rectangle(x, sheet.y, cell, LINE + 8, fill="storage"),
                label(x + cell / 2, sheet.y + LINE / 2 + 4, text, anchor="middle"),
            )
        sheet.y += LINE + 12
        for user in owner.users:
            draw_boxes(sheet, user, line, left, cell)


def draw_boxes(sheet, user, line, left, cell):
    """Draw one tensor's elements under the bytes of one line."""
    boxes = user_boxes(user, line)
    height = LINE * max((len(texts) for *_, texts in boxes), default=1) + 4
    sheet.add(label(MARGIN, sheet.y + 2 + LINE / 2, user.name, bold=True))
    covered = {byte for start, count, _ in boxes for byte in range(start, start + count)}
    for start, count, texts in boxes:
        x, width = left + (start - line.start) * cell, count * cell
        sheet.add(rectangle(x + 2, sheet.y, width - 4, height, radius=6, fill="tensor"))
        for row, text in enumerate(texts):
            y = sheet.y + 2 + LINE * (row + 0.5)
            is_value = row == len(texts) - 1
            sheet.add(label(x + width / 2, y, text, anchor="middle", bold=is_value))
    for byte in line:
        if byte not in covered:
            sheet.add(dot(left + (byte - line.start + 0.5) * cell, sheet.y + height / 2))
    sheet.y += height + 4


def draw_bars(sheet, owner):
    """Draw a large storage as a bar, and each tensor as a bar under the bytes that it reads."""
    left, height = left_column(owner, "bytes"), LINE + 4
    sheet.y += LINE / 2
    for text, x, anchor in (("0", left, "start"), (str(owner.size - 1), left + BAR, "end")):
        sheet.add(label(x, sheet.y + LINE / 2, text, anchor=anchor, size=11))
    sheet.add(label(MARGIN, sheet.y + LINE / 2, "bytes"))
    sheet.y += LINE
    sheet.add(rectangle(left, sheet.y, BAR, height, fill="storage"), right=left + BAR)
    sheet.y += height + 4
    for user in owner.users:
        first, end = user.extent()
        sheet.add(label(MARGIN, sheet.y + height / 2, user.name, bold=True))
        x = left + BAR * first / owner.size
        if end == first:
            sheet.add(dot(min(x + 2, left + BAR), sheet.y + height / 2))
        else:
            width = max(BAR * (end - first) / owner.size, 3)
            gaps = bool(user.has_gaps())
            sheet.add(rectangle(x, sheet.y, width, height, radius=6, dashed=gaps, fill="tensor"))
        sheet.y += height + 4
