"""Reading tensorlab's own source by name: what the book's chapters and their notebooks show.

`source("tensorlab/_core/engine/engine.pyx", "run_backward")` gives the text of one region of an installed
file.  A region is named as a reader would name it, never by line numbers or markers:

    run_backward            a function, class, struct or constant at the left margin of the file
    GraphTask.run           a method of a class
    tanh                    the block under the banner `# ------- tanh`, up to the next banner
    tanh()                  the function, where a banner has the same name

The files are read as text, by indentation: Cython has no parser in the standard library, and a
region that is shown must be what the file says, comments included.
"""

import re
from pathlib import Path

__all__ = ["Region", "find_region", "regions", "source"]

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]

BANNER = re.compile(r"# -{8,} (?P<name>\S.*)")
CYTHON_WORDS = r"(?:cdef|cpdef|ctypedef|inline|public|readonly|extern|api|packed|async)"
DEFINITION = re.compile(
    rf"""(?P<indent>[ ]*)
    (?: (?:{CYTHON_WORDS}\s+)*(?:def|class|struct|union|enum|fused)\s+(?P<named>\w+)
      | (?:cdef|cpdef)\s+[^=(#]*?(?P<function>\w+)\s*\(      # cdef int name(
      | (?:ctypedef|cdef)\s+[^=(#]*?\(\s*\*\s*(?P<pointer>\w+)\s*\)\s*\(  # ctypedef int (*name)(
      | (?:cdef\s+[^=(#]*?)?(?P<constant>\w+)\s*(?::[^=]*)?=(?!=)  # NAME = ..., cdef int NAME = ...
    )""",
    re.VERBOSE,
)
C_FUNCTION = re.compile(r"(?P<indent>)(?:\w[\w\s*]*?)\b(?P<named>\w+)\s*\([^;]*$")
STRING = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#.*')


class Region(str):
    """The text of a region, dedented, that knows where it stands.

    Attributes
    ----------
    path : str, relative to the folder that holds the package, with forward slashes
    name : str, as it was asked for
    first, last : int, line numbers counted from 1, both included
    """

    def __new__(cls, lines, path, name, first):
        indent = min((indent_of(line) for line in lines if line.strip()), default=0)
        region = super().__new__(cls, "\n".join(line[indent:].rstrip() for line in lines))
        region.path, region.name = path, name
        region.first, region.last = first, first + len(lines) - 1
        return region

    def without_docstrings(self):
        """Return the text with every docstring taken out, for excerpts about the code alone."""
        kept, inside, after_colon = [], False, False
        for line in self.split("\n"):
            stripped = line.strip()
            if inside:
                inside = not stripped.endswith('"""')
                continue
            if after_colon and re.match(r'r?"""', stripped):
                inside = not (stripped.endswith('"""') and len(stripped.lstrip("r")) > 5)
                after_colon = False
                continue
            kept.append(line)
            if stripped:
                after_colon = stripped.endswith(":")
        return "\n".join(kept)

    def between(self, start=None, end=None):
        """Return the lines from the first that contains `start` to the next that contains `end`, both shown."""
        lines = self.split("\n")
        first = 0 if start is None else self.find_line(start, 0)
        last = len(lines) - 1 if end is None else self.find_line(end, first)
        return Region(lines[first : last + 1], self.path, self.name, self.first + first)

    def find_line(self, text, first):
        for number, line in enumerate(self.split("\n")[first:], first):
            if text in line:
                return number
        raise LookupError(
            f"source: {self.path} {self.name} has no line with {text!r} after its line {first}"
        )

    def _repr_markdown_(self):
        """Show the code, with its place, in a notebook."""
        language = "c" if self.path.endswith(".h") else "cython"
        return f"`{self.path}`, lines {self.first}-{self.last}\n\n```{language}\n{self}\n```"

    def __repr__(self):
        return f"# {self.path}, lines {self.first}-{self.last}\n{self}"


def source(path, name, *, docstrings=True, start=None, end=None):
    """Return one region of tensorlab's own source, or some lines of it.

    Parameters
    ----------
    path : str, a file of the package, beginning with "tensorlab/"
    name : str, a function, class, Class.method, constant or op banner in it
    docstrings : bool, False leaves docstrings out
    start, end : str, a piece of the first and of the last line to show; without them, to the
        region's ends

    Returns
    -------
    Region, a string that shows itself as code in a notebook

    Raises
    ------
    FileNotFoundError
        If the package has no such file.
    LookupError
        If the file has no such region, or the region no such line.
    """
    file = (PACKAGE_FOLDER.parent / path).resolve()
    if PACKAGE_FOLDER not in file.parents or not file.is_file():
        raise FileNotFoundError(f"source: there is no file {path!r} in the package")
    region = find_region(file.read_text(encoding="utf-8"), name, path)
    region = region.between(start, end)
    if docstrings:
        return region
    return Region(region.without_docstrings().split("\n"), path, name, region.first)


def find_region(text, name, path="<text>"):
    """Return the region called `name` of the source `text`; LookupError if there is none."""
    lines = text.split("\n")
    found = find_banner(lines, name)
    if found is None:
        found = find_definition(lines, name.removesuffix("()"), is_c=path.endswith(".h"))
    if found is None:
        known = ", ".join(regions(text, path)) or "nothing"
        raise LookupError(f"source: {path} has no region {name!r}; it has {known}")
    first, last = found
    while last > first and not lines[last - 1].strip():
        last -= 1
    return Region(lines[first:last], path, name, first + 1)


def regions(text, path="<text>"):
    """Return the names of all regions at the left margin of the source `text`, in order."""
    pattern = C_FUNCTION if path.endswith(".h") else DEFINITION
    names = []
    for line, quiet in zip(text.split("\n"), inside_of_strings(text.split("\n")), strict=True):
        banner = BANNER.fullmatch(line.rstrip())
        match = None if quiet or line[:1] in (" ", "") else pattern.match(line)
        name = banner["name"] if banner else defined_name(match)
        if name and name not in names:
            names.append(name)
    return names


def find_banner(lines, name):
    """Return (first, last) of the block under the banner `name`: the lines [first, last)."""
    banners = [
        (number, match["name"])
        for number, line in enumerate(lines)
        if (match := BANNER.fullmatch(line.rstrip()))
    ]
    for position, (number, found) in enumerate(banners):
        if found == name:
            after = banners[position + 1 :]
            return number, after[0][0] if after else len(lines)
    return None


def find_definition(lines, name, *, is_c=False):
    """Return (first, last) of a definition, with its decorators and the comment right above it."""
    pattern = C_FUNCTION if is_c else DEFINITION
    quiet = inside_of_strings(lines)
    first, last, margin = 0, len(lines), 0
    for depth, part in enumerate(name.split(".")):
        if depth:  # step into the body of the class just found
            first, margin = first + 1, body_margin(lines, quiet, first, last)
        for number in range(first, last):
            match = None if quiet[number] else pattern.match(lines[number])
            if defined_name(match) == part and len(match["indent"]) == margin:
                break
        else:
            return None
        first, last = number, end_of_block(lines, quiet, number, margin, is_c=is_c)
    above = (" " * margin + "@", " " * margin + "# ")
    while first > 0 and lines[first - 1].startswith(above) and not is_banner(lines[first - 1]):
        first -= 1
    return first, last


def is_banner(line):
    return BANNER.fullmatch(line.rstrip()) is not None


def defined_name(match):
    """Return the name that a match of DEFINITION or C_FUNCTION defines."""
    if match is None:
        return None
    return next((v for k, v in match.groupdict().items() if k != "indent" and v), None)


def body_margin(lines, quiet, first, last):
    """Return the indentation of the statements in the block of lines [first, last)."""
    margins = (
        indent_of(line)
        for line, inside in zip(lines[first:last], quiet[first:last], strict=True)
        if line.strip() and not inside
    )
    return min((margin for margin in margins if margin > indent_of(lines[first])), default=-1)


def indent_of(line):
    return len(line) - len(line.lstrip())


def end_of_block(lines, quiet, start, margin, *, is_c=False):
    """Return the number of the first line after the block that begins at `start`."""
    if is_c:
        ends = (n for n in range(start + 1, len(lines)) if lines[n].startswith("}"))
        return next(ends, len(lines) - 1) + 1
    open_brackets = bracket_balance(lines[start])
    number = start + 1
    while number < len(lines):
        line = lines[number]
        if line.strip() and not (indent_of(line) > margin or quiet[number] or open_brackets > 0):
            break
        if not quiet[number]:
            open_brackets += bracket_balance(line)
        number += 1
    while not lines[number - 1].strip():
        number -= 1
    return number


def bracket_balance(line):
    code = STRING.sub("", line)
    return sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))


def inside_of_strings(lines):
    """Say for each line whether it begins inside of a triple-quoted string."""
    inside, quote = [], None
    for line in lines:
        inside.append(quote is not None)
        position = 0
        while True:
            if quote is not None:
                end = line.find(quote, position)
                if end < 0:
                    break
                position, quote = end + 3, None
                continue
            match = STRING.search(line, position)
            if match is None:
                break
            position = match.end()
            if match.group() in ('"""', "'''"):
                quote = match.group()
    return inside
