"""A chapter as a notebook that runs wherever tensorlab is installed.

The notebook has the chapter's cells and text.  What only the book understands is translated: a woven
source region becomes a cell that prints it from the installed package, boxes become quotations,
roles become plain text, an exercise becomes a cell to fill in and one that checks it, and files
beside the chapter (a program, recorded results) are written by the first cells.

jupytext reads a chapter's file, and nbformat makes the cells; both come with tensorlab-book[notebooks].
"""

import re

from .exercise import ExerciseError, chapters_folder, find, holds_exercises, split_identity

FENCE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{(?P<directive>[\w-]+)\}[ ]*(?P<argument>[^\n]*)\n"
    r"(?P<body>.*?)^(?P=fence)[ ]*$\n?",
    re.MULTILINE | re.DOTALL,
)
OPTION = re.compile(r"^:(?P<name>[\w-]+):[ ]*(?P<value>.*)$")
ROLE = re.compile(r"\{[\w:-]+\}`([^`]*)`")
BOOK_LINK = re.compile(
    r"(?<!!)\[([^\]]+)\]\((?:\.\./[^)]+|#?[\w-]+)\)"
)  # to a page or place of the book
LABEL = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)
SHOWN_AS_CODE = {"code-block", "code"}
HIDDEN = {"figure", "image", "list-table", "toctree", "bibliography"}


def code_cell(source, **metadata):
    from nbformat.v4 import new_code_cell  # late: not needed for reading directives

    return new_code_cell(source, metadata=metadata)


def markdown_cell(source):
    from nbformat.v4 import new_markdown_cell

    return new_markdown_cell(source)


def split_options(body):
    """Return (options, rest) of a directive's body."""
    options, lines = {}, body.split("\n")
    while lines and (match := OPTION.match(lines[0])):
        options[match["name"]] = match["value"]
        lines.pop(0)
    return options, "\n".join(lines).strip("\n")


def plain_role(match):
    """Return a role as text: `title <target>` as title, code as code, terms as words."""
    text = re.sub(r"\s*<[^>]*>$", "", match[1])
    is_code = re.match(r"\{(py:|func|class|meth|mod|attr|obj|exc)", match[0])
    return f"`{text.lstrip('~!.')}`" if is_code else text


def plain_text(text):
    text = LABEL.sub("", ROLE.sub(plain_role, text))
    return BOOK_LINK.sub(r"\1", text).strip("\n")


def translate(directive, argument, body):
    """Return the cells that stand for one directive."""
    options, content = split_options(body)
    if directive == "source":
        more = ", docstrings=False" if options.get("docstrings") == "no" else ""
        more += "".join(f", {key}={options[key]!r}" for key in ("start", "end") if key in options)
        call = f'source("{argument.strip()}", "{options["name"]}"{more})'
        return [code_cell(f"from tensorlab.learn import source\n\n{call}")]
    if directive == "exercise":
        chapter, exercises = find(argument)
        cells = [cell for exercise in exercises for cell in exercise_cells(exercise)]
        is_first = exercises[0] is chapter.exercises[0]  # what its file of answers begins with
        return [code_cell(chapter.imports), *cells] if is_first else cells
    if directive == "math":
        return [markdown_cell(f"$$\n{content}\n$$")]
    if directive in SHOWN_AS_CODE:
        return [markdown_cell(f"```{argument.strip()}\n{content}\n```")]
    if directive == "literalinclude":
        part = f"`{options['pyobject']}` of " if "pyobject" in options else ""
        text = f"*({part}`{argument.strip()}`, which the first cells of this notebook wrote)*"
        return [markdown_cell(text)]
    if directive in HIDDEN:
        about = options.get("alt") or argument.strip()
        return [markdown_cell(f"*(In the book: {plain_text(about)})*")]
    inner = markdown_cells(content)  # a box: its title and its text, quoted
    title = argument.strip() or directive.replace("-", " ").capitalize()
    heading = markdown_cell(f"> **{plain_text(title)}**")
    for cell in inner:
        if cell.cell_type == "markdown":
            quoted = (f"> {line}".rstrip() for line in cell.source.split("\n"))
            cell.source = "\n".join(quoted)
    if inner and inner[0].cell_type == "markdown":
        heading.source += "\n>\n" + inner.pop(0).source
    return [heading, *inner]


def exercise_cells(exercise):
    """Return an exercise as cells: its text, the stub, its check, and what opens by a click."""
    title = f"### {exercise.id} {exercise.title} ({exercise.kind})"
    folded = [
        (f"Hint {number}", plain_text(hint)) for number, hint in enumerate(exercise.hints, start=1)
    ]
    answer = [fenced(exercise.solution), plain_text(exercise.reason)]
    for wrong in exercise.wrong:
        answer += [f"A common wrong answer. {plain_text(wrong.why)}", fenced(wrong.code)]
    folded.append(("Solution", "\n\n".join(answer)))
    texts = [
        f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>" for summary, text in folded
    ]
    call = f'from tensorlab.learn import check, hint\n\ncheck("{exercise.id}")'
    return [
        markdown_cell(f"{title}\n\n{plain_text(exercise.text)}"),
        code_cell(exercise.stub),
        code_cell(call),
        markdown_cell("\n\n".join(texts)),
    ]


def fenced(code):
    return f"```python\n{code}\n```"


def markdown_cells(text):
    """Return the cells that stand for a piece of MyST Markdown."""
    cells, position = [], 0
    for match in FENCE.finditer(text):
        before = plain_text(text[position : match.start()])
        if before:
            cells.append(markdown_cell(before))
        cells.extend(translate(match["directive"], match["argument"], match["body"]))
        position = match.end()
    rest = plain_text(text[position:])
    return [*cells, markdown_cell(rest)] if rest else cells


def file_cells(folder):
    """Return the cells that write the text files beside a chapter; recording needs the sources."""
    files = sorted(
        path
        for path in folder.iterdir()
        if path.suffix in (".py", ".pyx", ".c", ".json", ".csv", ".txt")
        and path.name != "record.py"
        and not holds_exercises(path)
    )
    return [
        code_cell(f"%%writefile {path.name}\n{path.read_text(encoding='utf-8')}") for path in files
    ]


def make_notebook(chapter):
    """Return the notebook of the chapter file chapters/NN-name/index.md."""
    import jupytext
    import nbformat

    written = jupytext.read(chapter, fmt="md:myst")
    cells = []
    for cell in written.cells:
        if cell.cell_type == "markdown":
            cells.extend(markdown_cells(cell.source))
        else:
            kept = {key: cell.metadata[key] for key in ("tags",) if key in cell.metadata}
            cells.append(code_cell(cell.source, **kept))
    extras = file_cells(chapter.parent)
    cells[1:1] = extras  # after the title
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.validate(notebook)
    return notebook


def chapter_file(number):
    """Return the path of a chapter's text; ExerciseError where there is no such chapter."""
    number, _ = split_identity(number)
    files = {path.parent.name[:2]: path for path in chapters_folder().glob("[0-9][0-9]-*/index.md")}
    if number not in files:
        known = ", ".join(sorted(files)) or "none"
        raise ExerciseError(f"there is no chapter {number} yet; those there are: {known}")
    return files[number]
