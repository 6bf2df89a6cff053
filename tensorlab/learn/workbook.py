"""A reader's own file: `tensorlab-exercises/03.py`, the stubs of a chapter one below the other.

Each exercise begins with a line `# %% 03.2 Its title`, which editors also take for the beginning of
a notebook cell.  What stands above the first of them, and below it up to the next, is what is run;
a mistake in one exercise leaves the others alone.
"""

import os
import re
import shutil
import textwrap
from pathlib import Path

from .exercise import ExerciseError, load_chapter, split_identity

FOLDER = "tensorlab-exercises"
MARK = re.compile(r"^# %% (?P<id>\d\d\.\d{1,2})\b.*$", re.MULTILINE)
WIDTH = 96


def file_text(chapter):
    """Return the text of a reader's file for a Chapter."""
    number = chapter.number
    parts = [
        f'"""Exercises of chapter {number}, {chapter.title}.\n\n'
        f"Check them with `tensorlab check {number}`, one alone with `tensorlab check "
        f"{number}.1`.\nLeave the lines that begin with `# %%` as they are.\n"
        f'"""\n\n{chapter.imports}'
    ]
    parts += [f"{head(exercise)}\n\n{exercise.stub}" for exercise in chapter.exercises]
    return "\n\n\n".join(parts) + "\n"


def head(exercise):
    """Return an exercise's mark and its text as comments."""
    lines = [f"# %% {exercise.id} {exercise.title} ({exercise.kind})", "#"]
    lines += [f"# {line}".rstrip() for line in wrapped(exercise.text, WIDTH).split("\n")]
    return "\n".join(lines)


def wrapped(text, width):
    """Return Markdown as plain lines of at most `width`; code, lists and tables keep theirs."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        if paragraph.lstrip().startswith(KEEPS_LINES) or "\n    " in f"\n{paragraph}":
            paragraphs.append(paragraph)
        else:
            paragraphs.append(textwrap.fill(plain(paragraph), width))
    return "\n\n".join(paragraphs)


KEEPS_LINES = ("```", "- ", "* ", "1. ", "|")
ROLE = re.compile(r"\{[\w:-]+\}`(?:([^`<]+?)\s*<[^`>]*>|([^`]+))`")


MATHS = re.compile(r"\$\$?([^$]+)\$\$?")
PAIRS = r"\times × \cdot · \sum Σ \to → \le ≤ \ge ≥ \lfloor ⌊ \rfloor ⌋ \dots …"  # noqa: RUF001
SIGNS = dict(zip(PAIRS.split()[::2], PAIRS.split()[1::2], strict=True))
SIGNS |= {r"\,": " ", r"\;": " ", r"\mathrm": "", r"\text": "", r"\bar": "grad", r"\mathsf": ""}
SIGNS |= {r"\lVert": "‖", r"\rVert": "‖", r"\nabla": "∇", r"\sqrt": "√", r"\approx": "≈"}
SIGNS |= {r"\varepsilon": "ε", r"\sigma": "σ"}  # noqa: RUF001
COMMAND = re.compile(r"\\(?:[a-zA-Z]+|.)")
FRACTION = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")
FENCED = re.compile(r"([‖⌊]) ?(.+?) ?([‖⌋])")


def plain(text):
    """Return Markdown as it reads in a terminal: roles become words, links their titles."""
    text = ROLE.sub(lambda match: match[1] or match[2], text)
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    return MATHS.sub(plain_maths, text)


def plain_maths(match):
    """Return a formula of TeX as a line of text: signs for commands, (..) for {..}."""
    text = FRACTION.sub(r"(\1) / (\2)", match[1].strip())
    text = COMMAND.sub(lambda command: SIGNS.get(command[0], command[0][1:]), text)
    text = FENCED.sub(r"\1\2\3", text)
    text = re.sub(r"([_^])\{ ?(\w|-\d)\}", r"\1\2", text)
    text = re.sub(r"([_^])\{([^{}]*)\}", r"\1(\2)", text)
    return " ".join(text.replace("{", "").replace("}", "").split())


# ---------------------------------------------------------------- where it lies


def place(number, folder=None):
    """Return the path of the reader's file for a chapter: in, or as, the exercise folder here."""
    number, _ = split_identity(number)
    here = Path(folder) if folder is not None else Path.cwd()
    direct = here / f"{number}.py"
    return direct if here.name == FOLDER or direct.is_file() else here / FOLDER / f"{number}.py"


def start(number, folder=None):
    """Write the reader's file for a chapter and the programs it imports; return the new paths.

    A file that is there stays as it is, whatever is in it.
    """
    chapter = load_chapter(number)
    path = place(number, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    written = []
    if write_new(path, file_text(chapter)):
        written.append(path)
    for name in chapter.files:
        text = (chapter.folder / name).read_text(encoding="utf-8")
        if write_new(path.parent / name, text):
            written.append(path.parent / name)
    return path, written


def write_new(path, text):
    """Write a file that must not exist yet; say whether it was written."""
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def set_aside(path):
    """Move a reader's file out of the way under a name of its own; return that name."""
    for number in range(1, 1000):
        kept = path.with_name(f"{path.stem}-old-{number}{path.suffix}")
        if not os.path.lexists(kept):
            shutil.move(path, kept)
            return kept
    raise ExerciseError(f"{path.parent} is full of old files of {path.name}; remove some")


# ---------------------------------------------------------------- taking it apart


def sections(text):
    """Return {identity or None: code} of a reader's file; None is what stands before the marks.

    Every piece of code begins with as many empty lines as stand before it, so that its line numbers
    are those of the file.
    """
    marks = list(MARK.finditer(text))
    starts = [0, *(mark.start() for mark in marks)]
    ends = [*starts[1:], len(text)]
    names = [None, *(mark["id"] for mark in marks)]
    found = {}
    for name, begin, end in zip(names, starts, ends, strict=True):
        padding = "\n" * text.count("\n", 0, begin)
        code = padding + text[begin:end]
        if name in found:
            raise ExerciseError(
                f"exercise {name} stands in the file twice; keep one of its `# %% {name}` lines"
            )
        found[name] = code
    return found
