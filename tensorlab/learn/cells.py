"""What a student has written in a notebook: its cells as the pieces of a file.

In the notebook of a chapter, an exercise is its heading, `### 03.2 Its title`, and the cells below it.
A cell that begins with the line `# %% 03.2` begins an exercise, too.  What stands above them all is
the chapter and is not run; the imports of the chapter's file of stubs are.  A notebook that names
no exercise is one piece, as a file without marks is.
"""

import json
import re

from .exercise import ExerciseError
from .workbook import MARK, sections

HEADING = re.compile(r"^#{1,6} +(?P<id>\d\d\.\d{1,2})\b", re.MULTILINE)
OTHER_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
MAGIC = re.compile(r"^\s*[%!?]")
HELP = re.compile(
    r"^\s*(?:from tensorlab\.learn import .*|(?:check|hint|solution|status|source)\(.*\))\s*$"
)


def read_sections(path, chapter):
    """Return the pieces of a reader's file, a program or a notebook, as `sections` does.

    Raises
    ------
    ExerciseError
        If there is no such file, or it can't be read.
    """
    if not path.is_file():
        raise ExerciseError(f"there is no file {path}")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ExerciseError(f"{path} is not a text in UTF-8") from error
    if path.suffix != ".ipynb":
        return sections(text)
    return notebook_sections(text, path, chapter)


def notebook_sections(text, path, chapter):
    """Return {identity or None: code} of the text of a notebook, as `workbook.sections` does."""
    found, current = {}, None
    for kind, source in cells_of(text, path):
        if kind == "markdown":
            current = identity_in(source, current)
        elif kind == "code":
            current = identity_in(source, current, MARK)
            found.setdefault(current, []).append(plain_code(source))
    if set(found) <= {None}:
        return {None: "\n\n".join([chapter.imports, *found.get(None, [])])}
    pieces = {name: "\n\n".join(parts) for name, parts in found.items() if name is not None}
    return {None: chapter.imports, **pieces}


def identity_in(source, current, pattern=HEADING):
    """Return the exercise that a cell begins; any other heading ends the one at hand."""
    if match := pattern.search(source):
        return match["id"]
    if pattern is HEADING and OTHER_HEADING.search(source):
        return None
    return current


def cells_of(text, path):
    """Yield (kind, source) of a notebook's cells."""
    try:
        cells = json.loads(text)["cells"]
        for cell in cells:
            source = cell["source"]
            yield cell["cell_type"], source if isinstance(source, str) else "".join(source)
    except (ValueError, KeyError, TypeError) as error:
        raise ExerciseError(f"{path} is not a notebook: {type(error).__name__} {error}") from error


def plain_code(source):
    """Return a cell's code without what is for the notebook alone: `%` lines and calls of `check`."""
    lines = source.split("\n")
    if lines and lines[0].startswith("%%"):
        return ""
    return "\n".join("" if MAGIC.match(line) or HELP.match(line) else line for line in lines)
