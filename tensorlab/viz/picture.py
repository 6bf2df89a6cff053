"""What all pictures share: a few shapes, one ink, and three ways out.

Lines and text have the ink of the page that the picture stands on (`currentColor`), so that light and dark
pages both show it; fills are pale enough for both.  Nothing depends on colour alone.  Each shape means one thing:

    cell of a storage     a pale blue rectangle with square corners
    element of a tensor   a green rectangle with round corners; a run of them too, dashed if it has gaps
    nothing here          a dot
    whole tensor          a green rectangle with two outlines
    node of a graph       a pill: dashed if it waits or is stale, yellow if ready, thick while it runs
    edge of a graph       a line with a head, the way that gradients go; thick while one does, dashed
                          if it is no longer there
    version               a number on purple: in a circle where it changes, in a square where it is kept,
                          crossed out if it is stale

A notebook shows it in place; `save` writes a file that brings its own ink; `str` and a terminal
give the same facts as plain text.  Left out: layout by measuring text.  Numbers are set in a fixed pitch, and the
width of a character is taken to be 0.62 of its size, which the common fonts stay below.
"""

import math
import zlib
from html import escape
from pathlib import Path

__all__ = ["Picture", "Strip"]

TEXT_SIZE = 12  # pixels
SCALE = (
    1.2  # a notebook shows a picture larger than its coordinates, with text as large as its code
)
LINE = TEXT_SIZE + 3  # from one line of text to the next
MARGIN = 8
CHARACTER = 0.62 * TEXT_SIZE
STRIP_WIDTH = 720
FRAME_GAP = 8  # between the pictures of a strip
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# The palette of the figures (chapters.mplstyle), of Okabe and Ito.
FILLS = {"storage": "#56B4E9", "tensor": "#009E73", "busy": "#E69F00", "version": "#CC79A7"}
WARNING = "#D55E00"

# In a file of its own a picture cannot ask the page for its ink.
OWN_INK = "<style>svg{color:#1c2126}@media (prefers-color-scheme:dark){svg{color:#e8ebee}}</style>"


class Picture:
    """A drawing that shows itself in a notebook, as a file and as text.

    Parameters
    ----------
    title : str, what the picture shows, in a few words
    description : str, the text alternative: everything that the picture says
    text : str, the same as a table of characters, which `str` gives and a terminal shows
    width, height : int, pixels
    shapes : list of str, the SVG elements, drawn in this order
    """

    def __init__(self, title, description, text, width, height, shapes):
        self.title = title
        self.description = description
        self.text = text
        self.width = width
        self.height = height
        self.shapes = shapes

    def __str__(self):
        return self.text

    # What a terminal shows of a picture.
    __repr__ = __str__

    def _svg(self, style="", attributes="", scale=1):
        body = "\n".join(self.shapes)
        # Several pictures may stand on one page, and the names in them must not meet.
        key = f"picture-{zlib.crc32((self.description + body).encode()):08x}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width * scale:g}" height="{self.height * scale:g}" role="img" '
            f'aria-labelledby="{key}-title {key}-text"{attributes} '
            f'font-family="{FONT}" font-size="{TEXT_SIZE}" fill="currentColor">\n'
            f'<title id="{key}-title">{escape(self.title)}</title>\n'
            f'<desc id="{key}-text">{escape(self.description)}</desc>\n'
            f"{style}{body}\n</svg>"
        )

    def _repr_svg_(self):
        return self._svg(style=OWN_INK + "\n")

    def _repr_html_(self):
        # In place rather than as an image, so that the ink is the page's.
        return self._svg(attributes=' style="max-width:100%;height:auto"', scale=SCALE)

    def save(self, path):
        """Write the picture as a file: .svg, or .html with the text below the picture.

        Raises
        ------
        ValueError
            If the name of the file ends in neither.
        """
        path = Path(path)
        if path.suffix not in (".svg", ".html"):
            raise ValueError(
                f"save: {path.name!r} names neither an SVG nor an HTML file; "
                "end it in .svg or .html"
            )
        content = self._repr_svg_() + "\n" if path.suffix == ".svg" else self._page()
        path.write_text(content, encoding="utf-8")

    def _page(self):
        """Return a whole HTML document, light or dark as the reader's system is."""
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width">\n'
            f"<title>{escape(self.title)}</title>\n"
            "<style>:root { color-scheme: light dark } body { margin: 2rem; font-family: sans-serif }"
            " pre { overflow-x: auto }</style>\n"
            f"<h1>{escape(self.title)}</h1>\n{self._repr_html_()}\n"
            f'<pre tabindex="0">{escape(self.text)}</pre>\n</html>\n'
        )


class Strip(Picture):
    """Pictures to be seen one after the other, in lines as wide as there is room.

    A notebook breaks the lines anew for every width, and each picture keeps its own text alternative;
    an SVG file has lines of at most 720 pixels.

    Parameters
    ----------
    title, description, text : str, as of a Picture
    frames : list of Picture
    """

    def __init__(self, title, description, text, frames):
        self.frames = frames
        shapes, x, y, lowest, right = [], 0, 0, 0, 0
        for frame in frames:
            if x and x + frame.width > STRIP_WIDTH:
                x, y = 0, lowest + FRAME_GAP
            shapes.append(f'<g transform="translate({x} {y})">')
            shapes += [*frame.shapes, "</g>"]
            x, lowest = x + frame.width + FRAME_GAP, max(lowest, y + frame.height)
            right = max(right, x - FRAME_GAP)
        super().__init__(title, description, text, right, lowest, shapes)

    def _repr_html_(self):
        frames = "\n".join(frame._repr_html_() for frame in self.frames)
        return (
            f'<div role="group" aria-label="{escape(self.title)}" style="display:flex;'
            f'flex-wrap:wrap;align-items:flex-start;gap:{FRAME_GAP}px">\n{frames}\n</div>'
        )


# ---------------------------------------------------------------- shapes
def rectangle(x, y, width, height, *, radius=0, dashed=False, fill=None, thick=False):
    """Return a box with its outline in ink; `fill` is a key of FILLS, what the box stands for."""
    dashes = ' stroke-dasharray="3 3"' if dashed else ' stroke-width="2.5"' if thick else ""
    colour = f'fill="{FILLS[fill]}" fill-opacity="0.3"' if fill else 'fill="none"'
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
        f'{colour} stroke="currentColor"{dashes}/>'
    )


def label(x, y, text, *, anchor="start", size=TEXT_SIZE, bold=False):
    """Return a line of text whose middle is at height `y`."""
    weight = ' font-weight="700"' if bold else ""
    pixels = f' font-size="{size}"' if size != TEXT_SIZE else ""
    return (
        f'<text x="{x:g}" y="{y + 0.35 * size:g}" text-anchor="{anchor}"{pixels}{weight} '
        f'xml:space="preserve">{escape(text)}</text>'
    )


def dot(x, y):
    """Return a small dot: nothing here."""
    return f'<circle cx="{x:g}" cy="{y:g}" r="1.4" fill-opacity="0.6"/>'


# ---------------------------------------------------------------- from top to bottom
class Sheet:
    """The shapes drawn so far, how far they reach to the right, and where the next ones begin."""

    def __init__(self):
        self.shapes = []
        self.right = 0
        self.y = MARGIN

    def add(self, *shapes, right=0):
        self.shapes += shapes
        self.right = max(self.right, right)

    def write(self, x, text, **how):
        """Add one line of text at the current height, and go below it."""
        self.add(label(x, self.y + LINE / 2, text, **how), right=x + len(text) * CHARACTER)
        self.y += LINE

    def size(self):
        """Return the width and the height of the picture, in pixels."""
        return math.ceil(self.right + MARGIN), math.ceil(self.y + MARGIN)
